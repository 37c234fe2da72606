"""Batches of tiny matrix products that lie end to end (see jit/tiny.py).

C               SHARED     further batch dimensions
  X  xc         SHARED     the batch dimension along which matrices follow one another
    tiny kernel over M, N, K and X
"""

from __future__ import annotations

from math import prod

from tensorop.ir import CONTRACTIONS, Dimension, DimType, ExecType, TensorOp
from tensorop.jit.elements import GATHERED, element
from tensorop.jit.tiny_abi import MOST, TinyKernel
from tensorop.optimizer.balance import balanced, call_work
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.orient import exchange
from tensorop.optimizer.past import leaves_caches
from tensorop.schedule import Axis, Call, Loop, Schedule, Step
from tensorop.tuples import NamedTuple

MANY = 64  # products that are worth code of their own


class Tiny(NamedTuple):
    """A batch, and the kernel for it. op: in0 is the vector side; swapped: it was in1."""

    op: TensorOp
    swapped: bool
    kernel: TinyKernel
    along: Dimension


def tiny_of(op: TensorOp, machine: Machine) -> Tiny | None:
    """How a batch fits such a kernel; None where it does not.

    Parameters
    ----------
    op : TensorOp
        Fused.
    """
    sides = (DimType.M, DimType.N, DimType.K)
    if op.main not in CONTRACTIONS or op.dtype not in GATHERED:
        return None
    if any(len(op.of_type(t)) != 1 for t in sides) or op.size_of(DimType.C) < MANY:
        return None
    if prod(op.size_of(t) for t in sides) > MOST * machine.lanes(op.dtype):
        return None
    for swapped in (False, True):
        turned = exchange(op) if swapped else op
        (m,), (n,), (k,) = map(turned.of_type, sides)
        dense = m.size * k.size, k.size * n.size, m.size * n.size
        along = next((d for d in turned.of_type(DimType.C) if d.strides == dense), None)
        down = k.strides[1] == 1 and n.strides[1] == k.size
        across = n.strides[1] == 1 and k.strides[1] == n.size
        columns = m.strides == (1, 0, 1) and (k.strides[0], n.strides[2]) == (m.size, m.size)
        if along is None or not columns or not (down or across) or along.size < MANY:
            continue
        kernel = TinyKernel(op.dtype, m.size, n.size, k.size, down)
        target = machine.target
        if len(kernel.pieces(target).starts) * n.size * k.size > MOST:
            continue
        past = kernel.fills_lines(target) and leaves_caches(op, machine, sums_inside=True)
        return Tiny(turned, swapped, kernel._replace(past=past), along)
    return None


def tiny_products(tiny: Tiny, machine: Machine, threads: int) -> Schedule:
    """The schedule of a batch.

    Parameters
    ----------
    threads : int
        Shares to divide the batch into.
    """
    op, kernel, x = tiny.op, tiny.kernel, tiny.along
    others = [d for d in op.of_type(DimType.C) if d is not x]
    others.sort(key=lambda d: -abs(d.strides[op.out]))
    axes = [Axis(f"C{i}", DimType.C, (d,)) for i, d in enumerate(others)]
    body: tuple[Step, ...] = (Call(kernel, (0, 1, 2), ("M", "N", "K", "X")),)
    count = call_work(machine, element(op.dtype)) // (kernel.m * kernel.n * kernel.k)
    if threads > 1:
        count = min(count, op.size_of(DimType.C) // (4 * threads))
    count = balanced(x.size, max(1, min(x.size, count)), 1)
    how = ExecType.SHARED if threads > 1 else ExecType.SEQ
    if count < x.size:
        body = (Loop("X", count, how, body),)
    for axis in reversed(axes):
        body = (Loop(axis.name, 1, how, body),)
    sides = [Axis(t.value, t, op.of_type(t)) for t in (DimType.M, DimType.N, DimType.K)]
    note = f"tiny: {count} in a call{', out past the caches' * kernel.past}"
    axes += [*sides, Axis("X", x.type, (x,))]
    return Schedule(op, tuple(axes), body, shares=threads, swapped=tiny.swapped, notes=(note,))
