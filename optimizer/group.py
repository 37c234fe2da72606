"""Loop tiling for L2: loops around a batch-reduce that reads its operands where they lie.

In goes a `TensorOp` in loop order whose kernel dimensions are blocks of both inputs. The innermost
loop walks through all blocks of one input, once for every block of the other. Out comes one where

- a kernel call sums no more blocks of K than L2 holds together with the next ones; the others are a
  loop outside all others, as in the packed five loops;
- the innermost loop is cut in two, one over groups whose blocks stay in L2, and one over the blocks
  of a group:

    [K] [groups of N] [M] [N of a group] | K, K, M, N in the kernel

What is in L3 anyway is streamed about as fast as it is multiplied, so that a short group, which
changes the block of the other input more often, does not pay there.

Only whole divisors are used; a size that has none near the wanted one stays as it is. All follows
from sizes and cache sizes, so that sums keep their order for any number of threads.

Source: K. Goto, R. van de Geijn, "Anatomy of High-Performance Matrix Multiplication", ACM TOMS 34
(2008)."""

from __future__ import annotations

from tensorop.ir import Dimension, DimType, ExecType, TensorOp
from tensorop.jit.elements import element
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.result import PassResult, listing
from tensorop.optimizer.split import split_size
from tensorop.optimizer.transfer import all_bytes


def group(op: TensorOp, machine: Machine) -> PassResult:
    """Cut the loops around a batch-reduce so that what they read again stays in L2.

    Parameters
    ----------
    op : TensorOp
        Loops outermost first (`order`), then the kernel dimensions.
    machine : Machine

    Returns
    -------
    PassResult
        The same operation, with up to two dimensions more.
    """
    loops = [d for d in op.dimensions if d.exec != ExecType.PRIM]
    prim = [d for d in op.dimensions if d.exec == ExecType.PRIM]
    if [d.type for d in loops[-2:]] not in (_MN, _MN[::-1]) or _types(prim) != _BATCH_REDUCE:
        return PassResult(op, "no batch-reduce in loops over M and N")
    *batch, outer, inner = loops
    blocks, step = sorted((d for d in prim if d.type == DimType.K), key=_distance, reverse=True)
    m, n = (next(d for d in prim if d.type == t) for t in _MN)
    size = element(op.dtype).size
    both = (m.size + n.size) * step.size * size  # bytes of a block of each input
    far = all_bytes(op) > machine.l3
    rest, summed = None, blocks
    if far or both * blocks.size > machine.l2 // 2:
        rest, summed = _cut(blocks, machine.l2 // 4 // both)
    side = m if inner.type == DimType.M else n
    groups, members = _cut(inner, machine.l2 // 2 // (side.size * step.size * summed.size * size))
    if not far and members.size < LONG_GROUP:
        groups, members = None, inner
    around = [d for d in (rest, groups) if d is not None]
    if not around:
        return PassResult(op, f"blocks of {listing([inner])} are read as they come")
    kernel = [summed if d is blocks else d for d in prim]
    dimensions = (*batch, *around, outer, members, *kernel)
    return PassResult(op.with_dimensions(dimensions), f"outside, for L2: {listing(around)}")


LONG_GROUP = 8  # blocks of a group from which on it pays where all is in L3
_MN = [DimType.M, DimType.N]
_BATCH_REDUCE = sorted([DimType.M, DimType.N, DimType.K, DimType.K])


def _types(dimensions: list[Dimension]) -> list[DimType]:
    return sorted(d.type for d in dimensions)


def _distance(d: Dimension) -> int:
    return max(abs(s) for s in d.strides)


def _cut(d: Dimension, most: int) -> tuple[Dimension | None, Dimension]:
    """A loop over parts and a part of at most so many elements, or None and the whole."""
    if d.size <= most:
        return None, d
    part = split_size(d.size, 1, max(1, most))
    if not part.exact or 2 * part.kernel < most:
        return None, d
    loop, inner = d.cut(part.kernel)
    return loop.executed(ExecType.SEQ), inner
