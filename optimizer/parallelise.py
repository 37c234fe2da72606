"""Parallelisation: which loops are divided among threads.

In goes a `TensorOp` with its loops in order and a number of threads; out comes one whose
outermost M, N and C loops are SHARED, as many as give every thread its share. SHARED loops are
neighbours: they form one flat space of iterations, cut into contiguous balanced shares.

K is never shared: two threads would add to the same element of `out`. That takes private partial
sums and a sum of those in fixed order, which is another pair of operations (`divide.py`). The
number of shares depends on the sizes and on `threads` alone, so that the same setting gives the
same bits in every run."""

from __future__ import annotations

from tensorop.ir import Dimension, DimType, ExecType, TensorOp
from tensorop.optimizer.result import listing
from tensorop.tuples import NamedTuple

BALANCED = 0.9  # a thread may idle this much short of the whole region


class ParallelResult(NamedTuple):
    """A `PassResult`, and the number of shares (1: nothing is shared)."""

    op: TensorOp
    note: str
    shares: int = 1


def parallelise(op: TensorOp, threads: int) -> ParallelResult:
    """Make loops SHARED until there are enough shares for the team.

    Parameters
    ----------
    op : TensorOp
        Loops outermost first (`order`); earlier SHARED marks are forgotten.
    threads : int
        Size of the team, at least 1.

    Returns
    -------
    ParallelResult
    """
    if threads < 1:
        raise ValueError(f"a team has at least 1 thread, not {threads}")
    plain = [d.executed(ExecType.SEQ) if d.exec == ExecType.SHARED else d for d in op.dimensions]
    first, count, space = _choose(plain, threads)
    shared = [d.executed(ExecType.SHARED) for d in plain[first : first + count]]
    op = op.with_dimensions((*plain[:first], *shared, *plain[first + count :]))
    shares = min(space, threads)
    if threads == 1:
        note = "one thread: nothing to share"
    elif count:
        note = f"shared {listing(shared)}: {space} iterations in {shares} shares"
    else:
        note = "no M, N or C loop to share"
    return ParallelResult(op, note, shares)


def _choose(dimensions: list[Dimension], threads: int) -> tuple[int, int, int]:
    """Where the shared loops begin, how many they are, and how many iterations they have: the
    outermost run of neighbouring M, N and C loops, as short as keeps the team busy."""
    sharable = [d.exec != ExecType.PRIM and d.type != DimType.K for d in dimensions]
    if threads == 1 or True not in sharable:
        return 0, 0, 1
    first, count, space = sharable.index(True), 0, 1
    for d, may in zip(dimensions[first:], sharable[first:], strict=True):
        if not may or busy(space, threads) >= BALANCED:
            break
        count, space = count + 1, space * d.size
    return (first, count, space) if space > 1 else (0, 0, 1)


def even_count(size: int, threads: int, most: int) -> int:
    """The fewest equal parts of a dimension that keep a team busy, at most so many; 0: none do."""
    counts = (n for n in range(threads, most + 1) if size % n == 0)
    return next((n for n in counts if busy(n, threads) >= BALANCED), 0)


def busy(space: int, threads: int) -> float:
    """The part of the team's time that is work, when `space` equal iterations are shared."""
    return space / (-(-space // threads) * threads)
