"""Operations that differ in sizes by a little, and the one of them that stands for all.

What takes long to decide, such as which tensors had better lie otherwise (`realign.py`), hardly
depends on whether a side has 1000 elements or 1010: but it does on how many are left over after
vectors. So a decision is made for an operation of sizes that few have, and every one that it stands
for is planned at the price of what its exact sizes decide: as where a dimension grows by an element
at every call. The stand-in follows from the operation alone, so that plans do not depend on what
was planned before.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod

from tensorop.ir import Dimension, TensorOp

EXACT = 32  # a size up to which everything may depend on it
PARTS = 8  # into which the sizes from a power of two to the next one are divided
LONGEST = 1 << 26  # multiply-adds that take about as long as a decision: it is then made for each


@lru_cache(maxsize=256)  # a search asks, and then the passes do
def stand_in(op: TensorOp) -> TensorOp:
    """The operation that stands for this one.

    Each of its sizes is at most an eighth smaller, and divided by the same powers of two as far as
    such steps go, but for 2: rows a whole number of pages apart are a matter of their own. Where
    dimensions of a tensor lie end to end, so do the stand-in's; else their strides are the same.

    >>> from tensorop.ir import Dimension, DimType, Primitive, Tensor, TensorOp
    >>> def rows(n): return Dimension(DimType.C, n, (30, 1)), Dimension(DimType.C, 30, (1, n))
    >>> tensors = Tensor("in0", "float32"), Tensor("out", "float32")
    >>> stand_in(TensorOp(tensors, rows(1000), Primitive.COPY)).dimensions == rows(968)
    True
    """
    return _of_sizes(op, [_sizes(d.size)[0] for d in op.dimensions])


@lru_cache(maxsize=256)
def largest(op: TensorOp) -> TensorOp:
    """The largest of the operations that have this one's stand-in: what holds of both holds of all
    in between, where it is a matter of what the caches have room for."""
    return _of_sizes(op, [_sizes(d.size)[1] for d in op.dimensions])


def _of_sizes(op: TensorOp, sizes: list[int]) -> TensorOp:
    dims = op.dimensions
    exact = [d.size for d in dims]
    if sizes == exact or prod(exact) > LONGEST:
        return op
    columns = [_strides(dims, sizes, t) for t in range(len(op.tensors))]
    each = zip(dims, sizes, zip(*columns, strict=True), strict=True)
    return op.with_dimensions(
        tuple([Dimension(d.type, n, strides, d.exec, d.name) for d, n, strides in each])
    )


def _sizes(size: int) -> tuple[int, int]:
    """The smallest and the largest size that are decided on as this one is."""
    if size <= EXACT:
        return size, size
    part = (1 << (size.bit_length() - 1)) // PARTS
    divisor = size & -size
    left, begin = 1 if divisor == 2 else divisor, size // part * part
    return (begin + left, begin + part - left) if left < part else (begin, begin)


def _strides(dims: tuple[Dimension, ...], sizes: list[int], tensor: int) -> list[int]:
    """Strides of a tensor whose dimensions have these sizes."""
    steps = [d.strides[tensor] for d in dims]
    end = new_end = 1  # of the dimensions so far, from the shortest steps on
    for i in sorted([i for i, step in enumerate(steps) if step], key=lambda i: abs(steps[i])):
        step = abs(steps[i])
        new = new_end if step == end else step
        end, new_end = step * dims[i].size, new * sizes[i]
        steps[i] = new if steps[i] > 0 else -new
    return steps
