"""Dimension splitting: a dimension too long for a kernel becomes outer x kernel.

In goes a `TensorOp` and the sizes a kernel takes; out comes one in which every dimension longer
than the maximum is two: an outer one for the loops and a kernel part of at most the maximum. The
kernel part divides the size and is a multiple of what the register tile wants (16 for M, 4 for N,
1 for K unless the machine's tile asks for others), so that every kernel call is full:

- without a minimum, the largest such part: M = 1600, maximum 1024 -> 2 x 800;
- with one, both parts are at least the minimum and the most balanced such pair is taken, of two
  equally balanced ones that with the larger kernel: M = 1600, minimum 16 -> 50 x 32.

Where no such divisor exists, as for primes, the size can't be a product. A `Dimension` has one
size, so it stays whole and a `Block` in the result says how to cut it: `Loop(axis, block)` runs
it in blocks of that many elements, of which the last is short. Block sizes follow the same rules
and are evened out, so that the short block is as long as it can be: 1601 with maximum 1024 -> 816
+ 785."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tensorop.ir import Dimension, DimType, TensorOp
from tensorop.optimizer.result import describe
from tensorop.tuples import NamedTuple

MULTIPLES: Mapping[DimType, int] = {DimType.M: 16, DimType.N: 4, DimType.K: 1, DimType.C: 1}


class Parts(NamedTuple):
    """How a size is cut: `outer` blocks of `kernel` elements, the last of `last` elements."""

    outer: int
    kernel: int
    last: int

    @property
    def exact(self) -> bool:
        return self.last == self.kernel


class Block(NamedTuple):
    """A dimension that could not be split by a divisor: run it in blocks of `parts.kernel`.

    dimension: position in the dimensions of the resulting operation.
    """

    dimension: int
    parts: Parts


class SplitResult(NamedTuple):
    """A `PassResult`, and the dimensions left to be cut into blocks with a short last one."""

    op: TensorOp
    note: str
    blocks: tuple[Block, ...]


def split(
    op: TensorOp,
    max_kernel: int | Mapping[DimType, int],
    min_kernel: int | None = None,
    multiples: Mapping[DimType, int] | None = None,
) -> SplitResult:
    """Split the dimensions that are longer than a kernel takes.

    Parameters
    ----------
    op : TensorOp
    max_kernel : int or mapping of DimType to int
        Longest kernel part, for all types or by type; a type not in the mapping is not split.
    min_kernel : int, optional
        Smallest outer and kernel part. A dimension that has no such pair is split as without it.
    multiples : mapping of DimType to int, optional
        What the kernel part is a multiple of, where the register tile asks for other numbers than
        16 for M, 4 for N and 1 for K and C.

    Returns
    -------
    SplitResult
        The outer part takes the place of the dimension, the kernel part follows it directly.
        `blocks` holds the dimensions that stayed whole.
    """
    wanted = {**MULTIPLES, **(multiples or {})}
    dimensions: list[Dimension] = []
    blocks: list[Block] = []
    notes: list[str] = []
    for d in op.dimensions:
        maximum = max_kernel if isinstance(max_kernel, int) else max_kernel.get(d.type, d.size)
        parts = split_size(d.size, wanted[d.type], maximum, min_kernel)
        if parts.outer == 1:
            dimensions.append(d)
        elif parts.exact:
            notes.append(f"{describe(d)} into {parts.outer} x {parts.kernel}")
            dimensions += d.cut(parts.kernel)
        else:
            why = f"no multiple of {wanted[d.type]} up to {maximum} divides it"
            notes.append(f"{describe(d)} in blocks of {parts.kernel}, last {parts.last}: {why}")
            blocks.append(Block(len(dimensions), parts))
            dimensions.append(d)
    note = f"split {'; '.join(notes)}" if notes else "nothing longer than a kernel takes"
    return SplitResult(op.with_dimensions(tuple(dimensions)), note, tuple(blocks))


def split_size(size: int, multiple: int, max_kernel: int, min_kernel: int | None = None) -> Parts:
    """Cut one size by the rules of the module; a size up to `max_kernel` is one block.

    Examples
    --------
    >>> split_size(1600, 16, 1024)
    Parts(outer=2, kernel=800, last=800)
    >>> split_size(1600, 16, 1024, min_kernel=16)
    Parts(outer=50, kernel=32, last=32)
    >>> split_size(1601, 16, 1024)
    Parts(outer=2, kernel=816, last=785)
    """
    if multiple < 1 or max_kernel < 1 or (min_kernel is not None and min_kernel < 1):
        raise ValueError(
            f"below 1: multiple {multiple}, maximum {max_kernel} or minimum {min_kernel}"
        )
    if size <= max_kernel:
        return Parts(1, size, size)
    exact = [p for p in _exact(size, multiple, max_kernel) if p.kernel > 1]
    if min_kernel is not None:
        for pairs in (exact, _near_root(size, multiple, max_kernel, min_kernel)):
            fitting = [p for p in pairs if min(p.outer, p.kernel) >= min_kernel]
            if fitting:
                return min(fitting, key=_imbalance)
    if exact:
        return max(exact, key=lambda p: p.kernel)
    return _even(size, multiple, max_kernel)


def _parts(size: int, kernel: int) -> Parts:
    outer = -(-size // kernel)
    return Parts(outer, kernel, size - (outer - 1) * kernel)


def _exact(size: int, multiple: int, max_kernel: int) -> list[Parts]:
    """Every pair whose kernel part divides the size and is a multiple of `multiple`."""
    if size % multiple:
        return []
    rest = size // multiple
    low = [d for d in range(1, math.isqrt(rest) + 1) if rest % d == 0]
    kernels = {multiple * d for d in low} | {size // d for d in low}
    return [_parts(size, kernel) for kernel in sorted(kernels) if kernel <= max_kernel]


def _near_root(size: int, multiple: int, max_kernel: int, min_kernel: int) -> list[Parts]:
    """The multiples next to the square root, within the limits: the most balanced blocks."""
    low = -(-min_kernel // multiple) * multiple
    high = max_kernel // multiple * multiple
    root = math.isqrt(size) // multiple * multiple
    kernels = {min(max(root + i * multiple, low), high) for i in (0, 1)}
    return [_parts(size, kernel) for kernel in sorted(kernels) if kernel > 0]


def _imbalance(parts: Parts) -> tuple[float, int]:
    larger, smaller = max(parts.outer, parts.kernel), min(parts.outer, parts.kernel)
    return larger / smaller, -parts.kernel


def _even(size: int, multiple: int, max_kernel: int) -> Parts:
    """As few blocks as the maximum allows, and those as even as the multiple allows."""
    step = multiple if multiple <= max_kernel else 1
    largest = max_kernel // step * step
    outer = -(-size // largest)
    even = -(-size // outer)
    return _parts(size, -(-even // step) * step)
