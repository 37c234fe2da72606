"""The language: from the text of a spec to terms of labels.

`parse` (or `parse_lists` for the sublist form) reads a spec once into a `Spec`, which knows of
every label where it stands, so that all later errors can point at it. Shapes come in afterwards,
in `contraction.py`.

The grammar is numpy.einsum's, with any character but white space and `, - > .` as a label, and any
non-negative integer in the sublist form.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NoReturn

from tensorop.errors import EinsumError
from tensorop.tuples import NamedTuple

Label = str | int


class Term(NamedTuple):
    """The labels of one operand, or of the output.

    ellipsis: the number of labels before the `...`, None where there is none.
    columns: where each label stands in the spec; column: where the term begins; length: its extent.
    """

    labels: tuple[Label, ...]
    ellipsis: int | None
    columns: tuple[int, ...]
    column: int
    length: int


class Spec(NamedTuple):
    """A parsed spec. `output` is always there: an implicit one is worked out while parsing."""

    text: str
    operands: tuple[Term, ...]
    output: Term

    def fail(self, message: str, at: int, length: int = 1) -> NoReturn:
        raise EinsumError(message, self.text, at, length)


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
    labels = tuple(sorted(once))
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
