"""A spec with shapes: every label gets its size.

In go a `Spec` and the shapes of the operands (and of a given `out`), out comes a `Contraction`, in
which labels are small integers and every ellipsis has become labels of its own. It looks neither at
strides nor at dtypes or data. Errors name the operand, the label and the sizes, and point at the
place in the spec.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NoReturn

from tensorop.errors import EinsumError
from tensorop.spec import Spec, Term
from tensorop.tuples import NamedTuple


class Contraction(NamedTuple):
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
        return tuple([self.sizes[label] for label in self.output])


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
    >>> from tensorop.spec import parse
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


@lru_cache(maxsize=4096)
def resolved(
    spec: Spec, shapes: tuple[tuple[int, ...], ...], out_shape: tuple[int, ...] | None
) -> Contraction:
    """`resolve`, remembered: the same shapes come in many dtypes, layouts and with many options."""
    return resolve(spec, shapes, out_shape)


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
        return tuple([self._number(key) for key in keys])

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
