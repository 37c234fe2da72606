"""Batches of products of records that lie end to end (see jit/planar.py).

C               SHARED     further batch dimensions
  X  xc         SHARED     the batch dimension along which records follow one another
    planar kernel over M, N, K and X
"""

from __future__ import annotations

from tensorop.ir import CONTRACTIONS, Dimension, DimType, ExecType, TensorOp
from tensorop.jit.elements import element
from tensorop.jit.planar_abi import PlanarKernel, RecordDim
from tensorop.optimizer.balance import balanced, call_work
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.past import leaves_caches
from tensorop.schedule import Axis, Call, Loop, Schedule, Step
from tensorop.tuples import NamedTuple

MANY = 64  # records that are worth code of their own
SIDES = (DimType.M, DimType.N, DimType.K)


class Planar(NamedTuple):
    """The kernel for a batch, and the dimension along which records follow one another."""

    kernel: PlanarKernel
    along: Dimension


def planar_of(op: TensorOp, machine: Machine) -> Planar | None:
    """How a batch of products fits such a kernel; None where it does not.

    Parameters
    ----------
    op : TensorOp
        Fused.
    """
    kind, batch = element(op.dtype), op.of_type(DimType.C)
    if op.main not in CONTRACTIONS or not batch or any(t.dtype != op.dtype for t in op.tensors):
        return None
    if kind.parts > 1 or kind.accumulator is not kind or not kind.vectorises or kind.size < 4:
        return None
    inner = [d for side in SIDES for d in op.of_type(side) if d.size > 1]
    kernel = PlanarKernel(op.dtype, tuple([RecordDim(d.size, *d.strides) for d in inner]))
    records = kernel.records
    along = next((d for d in batch if d.strides == records), None)
    if not inner or along is None or along.size < MANY or not kernel.fits(machine.target):
        return None
    if not all(_is_dense(inner, tensor) for tensor in range(3)):
        return None
    past = leaves_caches(op, machine, sums_inside=True)
    return Planar(kernel._replace(past=past), along)


def _is_dense(inner: list[Dimension], tensor: int) -> bool:
    """Whether the elements of a record lie side by side."""
    step = 1
    for d in sorted([d for d in inner if d.strides[tensor]], key=lambda d: d.strides[tensor]):
        if d.strides[tensor] != step:
            return False
        step *= d.size
    return True


def planar_products(op: TensorOp, planar: Planar, machine: Machine, threads: int) -> Schedule:
    """The schedule of a batch.

    Parameters
    ----------
    threads : int
        Shares to divide the batch into.
    """
    kernel, x = planar
    others = [d for d in op.of_type(DimType.C) if d is not x]
    others.sort(key=lambda d: -abs(d.strides[op.out]))
    axes = [Axis(f"C{i}", DimType.C, (d,)) for i, d in enumerate(others)]
    body: tuple[Step, ...] = (Call(kernel, (0, 1, 2), ("M", "N", "K", "X")),)
    count = call_work(machine, element(op.dtype)) // kernel.products
    if threads > 1:
        count = min(count, op.size_of(DimType.C) // (4 * threads))
    count = balanced(x.size, max(1, min(x.size, count)), machine.lanes(op.dtype))
    how = ExecType.SHARED if threads > 1 else ExecType.SEQ
    if count < x.size:
        body = (Loop("X", count, how, body),)
    for axis in reversed(axes):
        body = (Loop(axis.name, 1, how, body),)
    sides = [Axis(t.value, t, op.of_type(t)) for t in SIDES]
    note = f"planar: {count} in a call{', out past the caches' * kernel.past}"
    axes += [*sides, Axis("X", x.type, (x,))]
    return Schedule(op, tuple(axes), body, shares=threads, notes=(note,))
