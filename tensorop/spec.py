"""The language: from the text of a spec to labels with sizes.

Two stages, each cached by its caller: `parse` (or `parse_lists` for the sublist form) reads the text
once into a `Spec`; `resolve` takes the shapes of the operands, replaces every ellipsis by labels of
its own and finds the size of each label: a `Contraction`, in which labels are small integers. Neither
looks at strides, dtypes or data.

The grammar is numpy.einsum's, with any character but white space and `, - > .` as a label, and any
non-negative integer in the sublist form. Every error names the operand, the label and the sizes, and
points at the place in the spec.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn

from tensorop.errors import EinsumError

Label = str | int


@dataclass(frozen=True, slots=True)
class Term:
    """The labels of one operand, or of the output.

    ellipsis: the number of labels before the `...`, None where there is none.
    columns: where each label stands in the spec; column: where the term begins; length: its extent.
    """

    labels: tuple[Label, ...]
    ellipsis: int | None
    columns: tuple[int, ...]
    column: int
    length: int


@dataclass(frozen=True, slots=True, eq=False)
class Spec:
    """A parsed spec. `output` is always there: an implicit one is worked out while parsing."""

    text: str
    operands: tuple[Term, ...]
    output: Term

    def fail(self, message: str, at: int, length: int = 1) -> NoReturn:
        raise EinsumError(message, self.text, at, length)


@dataclass(frozen=True, slots=True, eq=False)
class Contraction:
    """A spec with shapes: the labels of every axis, as indices into `names` and `sizes`.

    operands: per operand, the label of each axis (a label that repeats is a diagonal).
    output: the labels of the output. summed: the other labels, in the order of the alphabet.
    """

    spec: Spec
    names: tuple[str, ...]
    sizes: tuple[int, ...]
    operands: tuple[tuple[int, ...], ...]
    output: tuple[int, ...]
    summed: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the result."""
        return tuple(self.sizes[label] for label in self.output)


@lru_cache(maxsize=4096)
def parse(text: str) -> Spec:
    """Read a spec such as `"ij,jk->ik"`.

    Raises
    ------
    EinsumError
        A stray character, a broken ellipsis or arrow, an output label that repeats or that no
        operand has.

    Examples
    --------
    >>> parse("ij,jk").output.labels
    ('i', 'k')
    """
    arrow = text.find("-")
    inputs, output = (text, None) if arrow < 0 else (text[:arrow], text[arrow + 2 :])
    if output is not None and text[arrow : arrow + 2] != "->":
        raise EinsumError("'-' must be part of '->', before the output", text, arrow)
    terms, column = [], 0
    for part in inputs.split(","):
        terms.append(_parse_term(text, part, column))
        column += len(part) + 1
    if output is None:
        return Spec(text, tuple(terms), _implicit_output(terms, len(text)))
    return _checked(Spec(text, tuple(terms), _parse_term(text, output, arrow + 2)))


def _parse_term(text: str, part: str, start: int) -> Term:
    labels: list[Label] = []
    columns: list[int] = []
    ellipsis: int | None = None
    at = 0
    while at < len(part):
        character = part[at]
        if character == ".":
            if part[at : at + 3] != "..." or ellipsis is not None:
                why = "an operand has at most one '...'" if ellipsis is not None else "not '...'"
                raise EinsumError(f"'.' must be part of an ellipsis: {why}", text, start + at)
            ellipsis = len(labels)
            at += 3
            continue
        if character in ",->":
            raise EinsumError(f"{character!r} has no meaning here", text, start + at)
        if not character.isspace():
            labels.append(character)
            columns.append(start + at)
        at += 1
    return Term(tuple(labels), ellipsis, tuple(columns), start, len(part))


@lru_cache(maxsize=4096)
def parse_lists(inputs: tuple[tuple[Any, ...], ...], output: tuple[Any, ...] | None) -> Spec:
    """Read the sublist form: one tuple of integers and `Ellipsis` an operand.

    Raises
    ------
    EinsumError
        A negative integer, or anything that `parse` would refuse.
    TypeError
        An entry is neither an integer nor `Ellipsis`.
    """
    texts = [_list_text(entries) for entries in inputs]
    text = ", ".join(texts)
    terms, column = [], 0
    for entries, shown in zip(inputs, texts, strict=True):
        terms.append(_list_term(text, entries, column))
        column += len(shown) + 2
    if output is None:
        return Spec(text, tuple(terms), _implicit_output(terms, len(text)))
    whole = f"{text} -> {_list_text(output)}"
    return _checked(Spec(whole, tuple(terms), _list_term(whole, output, len(text) + 4)))


def _list_text(entries: tuple[Any, ...]) -> str:
    return f"[{', '.join('...' if e is Ellipsis else str(e) for e in entries)}]"


def _list_term(text: str, entries: tuple[Any, ...], start: int) -> Term:
    labels: list[Label] = []
    columns: list[int] = []
    ellipsis: int | None = None
    column = start + 1
    for entry in entries:
        if entry is Ellipsis:
            if ellipsis is not None:
                raise EinsumError("an operand has at most one ellipsis", text, column, 3)
            ellipsis = len(labels)
            column += 5
            continue
        if entry < 0:
            raise EinsumError("a label must not be negative", text, column, len(str(entry)))
        labels.append(entry)
        columns.append(column)
        column += len(str(entry)) + 2
    return Term(tuple(labels), ellipsis, tuple(columns), start, len(_list_text(entries)))


def sublist(entries: Iterable[Any]) -> tuple[Any, ...]:
    """The entries of one sublist as a hashable tuple of ints and `Ellipsis`."""
    return tuple(e if e is Ellipsis else _integer(e) for e in entries)


def _integer(entry: Any) -> int:
    try:
        if isinstance(entry, bool):
            raise TypeError
        return operator.index(entry)
    except TypeError:
        raise TypeError(
            f"each subscript must be either an integer or an ellipsis, not {entry!r}"
        ) from None


def _implicit_output(terms: Sequence[Term], column: int) -> Term:
    """The broadcast dimensions, then every label that occurs once, in the alphabet's order."""
    counts = Counter(label for term in terms for label in term.labels)
    once = [label for label, count in counts.items() if count == 1]
    labels = tuple(sorted(once))  # type: ignore[type-var]  # all str, or all int
    return Term(labels, 0, (column,) * len(labels), column, 0)


def _checked(spec: Spec) -> Spec:
    known = {label for term in spec.operands for label in term.labels}
    seen: set[Label] = set()
    for label, column in zip(spec.output.labels, spec.output.columns, strict=True):
        if label in seen:
            spec.fail(f"the output has label {label!r} twice", column, len(str(label)))
        if label not in known:
            spec.fail(f"no operand has the output's label {label!r}", column, len(str(label)))
        seen.add(label)
    return spec


def resolve(
    spec: Spec, shapes: Sequence[tuple[int, ...]], out_shape: tuple[int, ...] | None = None
) -> Contraction:
    """Give every label its size.

    shapes: one an operand. out_shape: that of a given `out`, along which size 1 broadcasts too.

    Raises
    ------
    EinsumError
        Too many or too few operands or axes, or sizes of a label that disagree.

    Examples
    --------
    >>> resolve(parse("...ij,jk"), [(7, 2, 3), (3, 4)]).shape
    (7, 2, 4)
    """
    if len(shapes) != len(spec.operands):
        raise EinsumError(
            f"the spec has {len(spec.operands)} operand(s), but {len(shapes)} were given", spec.text
        )
    table = _Labels(spec)
    extra = [_broadcast_rank(spec, i, len(shape)) for i, shape in enumerate(shapes)]
    operands = [table.axes(term, n) for term, n in zip(spec.operands, extra, strict=True)]
    if spec.output.ellipsis is None and any(extra):
        spec.fail(
            "operands have dimensions under '...', so the output needs a '...' too",
            spec.output.column,
            spec.output.length,
        )
    output = table.axes(spec.output, max(extra, default=0))
    for i, (labels, shape) in enumerate(zip(operands, shapes, strict=True)):
        table.measure(i, labels, shape)
    if out_shape is not None:
        table.measure_out(output, out_shape)
    return table.contraction(operands, output)


def _broadcast_rank(spec: Spec, i: int, rank: int) -> int:
    """How many dimensions of operand i its ellipsis stands for."""
    term = spec.operands[i]
    n = len(term.labels)
    if rank < n or (term.ellipsis is None and rank > n):
        hint = "" if rank < n or term.ellipsis is not None else "; name them or add a '...'"
        spec.fail(
            f"operand {i} has {rank} dimension(s), but the spec names {n}{hint}",
            term.column,
            term.length,
        )
    return rank - n


class _Labels:
    """The labels met so far, numbered, and their sizes. Labels under an ellipsis count from its
    right end, where numpy aligns them."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.numbers: dict[Any, int] = {}
        self.sizes: list[int] = []
        self.measured_by: list[int] = []  # the operand that a size was read from

    def axes(self, term: Term, extra: int) -> tuple[int, ...]:
        at = term.ellipsis or 0
        under_ellipsis = [("...", place) for place in reversed(range(extra))]
        if term.ellipsis is None:
            under_ellipsis = []
        keys = (*term.labels[:at], *under_ellipsis, *term.labels[at:])
        return tuple(self._number(key) for key in keys)

    def _number(self, key: Any) -> int:
        if key not in self.numbers:
            self.numbers[key] = len(self.sizes)
            self.sizes.append(1)
            self.measured_by.append(-1)
        return self.numbers[key]

    def measure(self, i: int, labels: tuple[int, ...], shape: tuple[int, ...]) -> None:
        within: dict[int, int] = {}
        for axis, (label, size) in enumerate(zip(labels, shape, strict=True)):
            if within.setdefault(label, size) != size:
                self._fail(i, axis, len(shape), f"size {size} here, but {within[label]} before")
            known = self.sizes[label]
            if self.measured_by[label] < 0 or known == 1:
                self.sizes[label] = size
                self.measured_by[label] = i
            elif size not in (1, known):
                other = f"{known} in operand {self.measured_by[label]}"
                self._fail(i, axis, len(shape), f"size {size}, but {other}")

    def measure_out(self, labels: tuple[int, ...], shape: tuple[int, ...]) -> None:
        if len(labels) != len(shape):
            self._fail_out(f"out has {len(shape)} dimension(s), but the result has {len(labels)}")
        for axis, (label, size) in enumerate(zip(labels, shape, strict=True)):
            if self.sizes[label] == 1:
                self.sizes[label] = size
            elif self.sizes[label] != size:
                self._fail_out(
                    f"axis {axis} of out has size {size}, but its label {self.name(label)!r} "
                    f"has size {self.sizes[label]}"
                )

    def name(self, label: int) -> str:
        return _name(list(self.numbers)[label])

    def _fail(self, i: int, axis: int, rank: int, sizes: str) -> NoReturn:
        term = self.spec.operands[i]
        before, extra = term.ellipsis or 0, rank - len(term.labels)
        if before <= axis < before + extra:
            self.spec.fail(
                f"axis {axis} of operand {i}, under '...', has {sizes}", term.column, term.length
            )
        place = axis if axis < before else axis - extra
        label = term.labels[place]
        self.spec.fail(
            f"label {label!r} of operand {i} has {sizes}", term.columns[place], len(str(label))
        )

    def _fail_out(self, message: str) -> NoReturn:
        self.spec.fail(message, self.spec.output.column, self.spec.output.length)

    def contraction(
        self, operands: Sequence[tuple[int, ...]], output: tuple[int, ...]
    ) -> Contraction:
        # A label that is not in the output is summed: never one under an ellipsis.
        kept = set(output)
        summed = sorted((key, n) for key, n in self.numbers.items() if n not in kept)
        return Contraction(
            self.spec,
            tuple(_name(key) for key in self.numbers),
            tuple(self.sizes),
            tuple(operands),
            output,
            tuple(n for _, n in summed),
        )


def _name(key: Any) -> str:
    return f"...{key[1]}" if isinstance(key, tuple) else str(key)
