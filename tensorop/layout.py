"""Where the elements lie: strides of results as numpy.einsum would choose them, and of copies.

In go labels, shapes and strides, out come strides: no arrays, so that a contraction can be planned
before its operands exist. `result_strides` follows the rule by which numpy's iterator lays out what
it allocates (`order`); a test compares the two on random operands.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorop.contraction import Contraction
from tensorop.tuples import NamedTuple

Strides = tuple[int, ...]

# numpy iterates over at most so many axes; beyond them only the output's axes are sorted.
_NUMPY_AXES = 64


class Operand(NamedTuple):
    """An operand as the loops see it: each label once, and only labels along which it moves.

    A repeated label has the sum of its strides (a diagonal); a label of size 1, or along which the
    operand repeats (stride 0), is left out. strides: in the unit of those that went in.
    """

    labels: tuple[int, ...]
    strides: Strides

    def stride(self, label: int) -> int:
        """The stride along a label, 0 where the operand does not move."""
        return self.strides[self.labels.index(label)] if label in self.labels else 0


def combine(labels: Sequence[int], shape: Sequence[int], strides: Sequence[int]) -> Operand:
    """The operand with one stride a label."""
    total: dict[int, int] = {}
    for label, size, stride in zip(labels, shape, strides, strict=True):
        if size != 1:
            total[label] = total.get(label, 0) + stride
    if 0 in total.values():
        total = {label: stride for label, stride in total.items() if stride != 0}
    return Operand(tuple(total), tuple(total.values()))


def packed(axes: Sequence[int], shape: Sequence[int], itemsize: int) -> Strides:
    """Strides of an array without gaps whose axes, fastest first, are `axes`."""
    strides, step = [0] * len(shape), itemsize
    for axis in axes:
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides)


def like(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> Strides:
    """Strides of an array without gaps whose axes are in the same order as in the given one."""
    # Axes of equal stride in C order: the last one runs fastest.
    axes = sorted(range(len(shape)), key=lambda axis: (abs(strides[axis]), -axis))
    return packed(axes, shape, itemsize)


def is_fortran(
    labels: Sequence[int], shape: Sequence[int], strides: Sequence[int], itemsize: int
) -> bool:
    """Whether an operand, its diagonals taken, lies in memory in Fortran order without gaps."""
    total: dict[int, int] = {}
    for label, stride in zip(labels, strides, strict=True):
        total[label] = total.get(label, 0) + stride
    sizes = dict(zip(labels, shape, strict=True))
    if 0 in sizes.values():
        return True
    step = itemsize
    for label, size in sizes.items():
        if size > 1 and total[label] != step:
            return False
        step *= size
    return True


def result_strides(
    contraction: Contraction, operands: Sequence[Operand], order: str, itemsize: int
) -> Strides:
    """Strides of a newly allocated result, in bytes.

    order: "C", "F", or "K" (as close to the operands' own order as they agree).
    """
    shape = contraction.shape
    axes: Sequence[int] = range(len(shape))
    if order == "C":
        axes = tuple(reversed(axes))
    elif order == "K":
        axes = _keep_order(contraction, operands)
    return packed(axes, shape, itemsize)


def _keep_order(contraction: Contraction, operands: Sequence[Operand]) -> list[int]:
    """The output's axes, fastest first: numpy's stable insertion sort of all axes by stride.

    Where two operands disagree about two axes, C order wins. Summed axes take part, because the
    comparison is not transitive.
    """
    labels = list(contraction.output)
    if len(labels) + len(contraction.summed) <= _NUMPY_AXES:
        labels += contraction.summed
    table = [dict(zip(o.labels, o.strides, strict=True)) for o in operands]
    strides = [[abs(t.get(label, 0)) for t in table] for label in labels]
    sorted_axes: list[int] = []
    for axis in reversed(range(len(labels))):
        place = len(sorted_axes)
        for at in reversed(range(len(sorted_axes))):
            faster = _is_faster(strides[axis], strides[sorted_axes[at]])
            if faster is False:
                break
            if faster:
                place = at
        sorted_axes.insert(place, axis)
    return [axis for axis in sorted_axes if axis < len(contraction.output)]


def _is_faster(new: Sequence[int], old: Sequence[int]) -> bool | None:
    """Whether an axis with strides `new` belongs inside one with `old`; None: nothing says so."""
    pairs = [(n, o) for n, o in zip(new, old, strict=True) if n and o]
    if not pairs:
        return None
    return all(o > n for n, o in pairs)
