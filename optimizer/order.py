"""Loop order: which loop runs outside which.

In goes a `TensorOp` whose primitive is chosen, out comes one whose loops stand outermost first:

- C outermost: a batch shares nothing with the next, so nothing is reused across it;
- then M and N, the widest stride in `out` outermost, so that `out` is walked through as it lies
  and the blocks of neighbouring iterations are neighbours;
- K loops innermost, directly around the primitive: a block of `out` is then finished while it is
  still in registers or L1, and first and last touch happen once, right before and after.

For one-input and binary operations the rule is the same; where `out` ties (broadcast dimensions
can't be in `out`), the wider stride in the inputs goes outside. PRIM dimensions stay last, in
their order."""

from __future__ import annotations

from tensorop.ir import Dimension, DimType, ExecType, TensorOp
from tensorop.optimizer.result import PassResult, listing


def order(op: TensorOp) -> PassResult:
    """Sort the loops.

    Parameters
    ----------
    op : TensorOp

    Returns
    -------
    PassResult
        The same dimensions in another order: loops outermost first, then PRIM ones.
    """
    loops = [d for d in op.dimensions if d.exec != ExecType.PRIM]
    prim = [d for d in op.dimensions if d.exec == ExecType.PRIM]
    contracts = any(d.type in (DimType.M, DimType.N) for d in op.dimensions)
    ordered = sorted(loops, key=lambda d: (_level(d, contracts), _widest_first(d)))
    note = f"loops {listing(ordered)}"
    if any(d.type == DimType.K for d in loops):
        note += "; K innermost, so that a block of out is finished before the next is begun"
    return PassResult(op.with_dimensions((*ordered, *prim)), note)


def _level(d: Dimension, contracts: bool) -> int:
    if d.type == DimType.K:
        return 2
    return 0 if d.type == DimType.C and contracts else 1


def _widest_first(d: Dimension) -> tuple[int, ...]:
    return tuple(-abs(s) for s in (d.strides[-1], *d.strides[:-1]))
