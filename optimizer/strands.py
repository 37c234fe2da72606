"""Sums of short rows that lie far apart in a large input, a few of which are read along together.

Vectors along what is kept, rows down the sum: a kernel call adds so many of them in registers, and
the next one goes on where each of them ended, if the loop around it does so. The caches then see a
few strands that go straight on, and out is read and written once for all of them; while a sum that
is finished first jumps to a row at every step, and one a row at a time comes back to out for each.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorop.ir import CONTRACTIONS, Dimension, DimType, TensorOp
from tensorop.jit.elements import element
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.transfer import MEMORY, bytes_of, level_of

LEAST_STRAND = 4096  # bytes, of which the first lines come late
FOLLOWING = MEMORY - 1  # the level from which lines come in time, of as many strands


def strands(
    op: TensorOp,
    rows: Dimension | None,
    inner: Dimension | None,
    loops: Sequence[Dimension],
    machine: Machine,
) -> Dimension | None:
    """The loop that goes on where rows end, in the larger input and in out; None where none does,
    or where the rows come from elsewhere than from L3."""
    if op.main not in CONTRACTIONS or rows is None or inner is None:
        return None
    if rows.type != DimType.K or inner.type == DimType.K:
        return None
    large = max((0, 1), key=lambda t: bytes_of(op, t))
    if level_of(bytes_of(op, large), machine) != FOLLOWING:
        return None
    if not inner.strides[large] == inner.strides[op.out] == 1:
        return None
    least = LEAST_STRAND // (element(op.dtype).size * inner.size)
    for d in loops:
        if d.size >= least and d.strides[large] == d.strides[op.out] == inner.size:
            return d
    return None
