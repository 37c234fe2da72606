"""Whether the addresses that a list of dimensions reaches lie where they may.

Three questions, asked before a `TensorOperation` runs, since its strides are the caller's word
alone: does every address lie inside the array (`require_inside`), does `out` hold every result at
an address of its own (`overlapping`), and does `out` share memory with what is read
(`shares_elements`).

An array is taken as what its elements cover in memory, whatever its own axes: axes that follow one
another without a gap count as one, so for any array without gaps the question is that of the lowest
and the highest address. In an array with gaps, say a block of a larger matrix, each step of a
dimension is taken apart into steps along the array's axes, and must stay inside every one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.exceptions import TooHardError
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from tensorop.ir import Dimension
from tensorop.tuples import NamedTuple

_ENUMERATE = 1 << 20  # addresses that `overlapping` compares one by one
# numpy's bound on the search for a common address. Its types know the two named values only.
_MAX_WORK: Any = 1 << 16


class _Axis(NamedTuple):
    """A run of `size` positions, `step` bytes apart; the array's first element is at `start`."""

    size: int
    step: int
    start: int


def reach(dimensions: Sequence[Dimension], tensor: int) -> tuple[int, int]:
    """Lowest and highest element that the dimensions reach, counted from the base address."""
    ends = [(d.size - 1) * d.strides[tensor] for d in dimensions]
    return sum(min(e, 0) for e in ends), sum(max(e, 0) for e in ends)


def require_inside(
    array: NDArray[Any], dimensions: Sequence[Dimension], tensor: int, role: str
) -> None:
    """ValueError unless every address the dimensions reach in `tensor` is an element of `array`."""
    if array.size == 0:
        raise ValueError(f"{role} has no elements (shape {array.shape})")
    axes = _axes(array)
    low, high = [0] * len(axes), [0] * len(axes)
    for i, d in enumerate(dimensions):
        if d.size == 1:
            continue
        steps = _steps(d.strides[tensor] * array.itemsize, d.size, axes)
        if steps is None:
            raise ValueError(
                f"{role}: dimension {i} ({d.type}, size {d.size}, stride {d.strides[tensor]}) "
                f"steps between the elements of an array with strides {array.strides} bytes"
            )
        ends = [step * (d.size - 1) for step in steps]
        low = [a + min(end, 0) for a, end in zip(low, ends, strict=True)]
        high = [b + max(end, 0) for b, end in zip(high, ends, strict=True)]
    for axis, a, b in zip(axes, low, high, strict=True):
        if axis.start + a < 0 or axis.start + b >= axis.size:
            raise ValueError(_outside(array, dimensions, tensor, role))


def overlapping(dimensions: Sequence[Dimension], tensor: int) -> bool:
    """Whether two different positions of the dimensions have one address in `tensor`.

    Dimensions that step over everything inside them are sure; of the others addresses are compared
    one by one, up to a million. Beyond that the answer is False: not detected.
    """
    doubtful = sorted((abs(d.strides[tensor]), d.size) for d in dimensions if d.size > 1)
    while doubtful and doubtful[-1][0] > sum(s * (n - 1) for s, n in doubtful[:-1]):
        doubtful.pop()
    offsets = np.zeros(1, np.int64)
    for stride, size in doubtful:
        if offsets.size * size > _ENUMERATE:
            return False
        offsets = np.add.outer(offsets, stride * np.arange(size)).ravel()
    return np.unique(offsets).size < offsets.size


def apart(
    first: NDArray[Any], second: NDArray[Any], spans: tuple[tuple[int, int], tuple[int, int]]
) -> bool:
    """Whether what is reached in one array (`spans`: from `reach`, for both) ends before it begins
    in the other: the cheap answer to `shares_elements`, and the usual one."""
    (a_low, a_high), (b_low, b_high) = spans
    a, b = first.__array_interface__["data"][0], second.__array_interface__["data"][0]
    a_size, b_size = first.itemsize, second.itemsize
    before: bool = a + (a_high + 1) * a_size <= b + b_low * b_size
    after: bool = b + (b_high + 1) * b_size <= a + a_low * a_size
    return before or after


def shares_elements(
    first: NDArray[Any],
    second: NDArray[Any],
    dimensions: Sequence[Dimension],
    tensors: tuple[int, int],
) -> bool:
    """Whether the dimensions reach a common address in the two arrays (True where the search is too
    hard to end)."""
    a, b = (
        as_strided(
            array,
            [d.size for d in dimensions if d.size > 1],
            [d.strides[tensor] * array.itemsize for d in dimensions if d.size > 1],
        )
        for array, tensor in zip((first, second), tensors, strict=True)
    )
    try:
        return np.shares_memory(a, b, max_work=_MAX_WORK)
    except TooHardError:
        return True


def _axes(array: NDArray[Any]) -> list[_Axis]:
    """What the array covers, innermost first: steps made positive, gapless or overlapping axes
    joined."""
    own = sorted(
        (abs(s), n, 0 if s > 0 else n - 1)
        for n, s in zip(array.shape, array.strides, strict=True)
        if n > 1 and s != 0
    )
    axes = [_Axis(1, array.itemsize, 0)]
    for step, size, start in own:
        inner = axes[-1]
        ratio, rest = divmod(step, inner.step)
        if rest == 0 and ratio <= inner.size:
            joined = (size - 1) * ratio + inner.size
            axes[-1] = _Axis(joined, inner.step, inner.start + start * ratio)
        else:
            axes.append(_Axis(size, step, start))
    return axes


def _steps(stride: int, size: int, axes: Sequence[_Axis]) -> list[int] | None:
    """A stride in bytes as a number of steps along each axis, or None if there is none."""
    steps: list[int] = []
    for i in reversed(range(len(axes))):
        whole = abs(stride) // axes[i].step
        rest = abs(stride) - whole * axes[i].step
        room = sum(axis.step * (axis.size - 1) for axis in axes[:i])
        if i and rest * (size - 1) > room:  # one more step here, and back along the inner axes
            whole += 1
        signed = whole if stride >= 0 else -whole
        steps.insert(0, signed)
        stride -= signed * axes[i].step
    return steps if stride == 0 else None


def _outside(array: NDArray[Any], dimensions: Sequence[Dimension], tensor: int, role: str) -> str:
    low, high = reach(dimensions, tensor)
    farthest = max(dimensions, key=lambda d: (d.size - 1) * abs(d.strides[tensor]))
    return (
        f"{role}: its dimensions reach elements {low} to {high} from the first one, not all "
        f"of them elements of an array of shape {array.shape} and strides {array.strides} bytes; "
        f"dimension {dimensions.index(farthest)} ({farthest.type}, size {farthest.size}, stride "
        f"{farthest.strides[tensor]}) reaches farthest"
    )
