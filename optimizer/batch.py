"""Batches of small matrix products, with vectors along the batch (see jit/batch.py).

    C               SHARED     further batch dimensions
      X  xc         SHARED     the batch along the vectors, as much of it as L2 holds
        M, N        SEQ        further dimensions that are not one axis with the kernel's
          K         SEQ
            batch kernel over M, N, K and X

Every matrix is used up while it is in the cache: its rows are read again for every tile of columns.
"""

from __future__ import annotations

from math import prod

from tensorop.ir import (
    Axis,
    Call,
    Dimension,
    DimType,
    ExecType,
    Loop,
    Schedule,
    Step,
    TensorOp,
)
from tensorop.jit.batch import BatchAccess, BatchKernel, tile_of
from tensorop.jit.elements import element
from tensorop.optimizer.blocked import balanced, call_work, ceiling
from tensorop.optimizer.lanes import kernel_axis, lane_dimension
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.touch import touches


def batched(op: TensorOp, machine: Machine, threads: int) -> Schedule:
    """The schedule of a batch.

    Parameters
    ----------
    op : TensorOp
        Fused; has a `lane_dimension`.
    threads : int
        Shares to divide the batch into.
    """
    lane = lane_dimension(op)
    assert lane is not None
    m, n, k = (kernel_axis(op, t) for t in (DimType.M, DimType.N, DimType.K))
    x = Axis("X", DimType.C, (lane,))
    inside = [id(d) for axis in (m, n, k, x) for d in axis.dimensions]
    outside = [d for d in op.dimensions if id(d) not in inside]
    rows, columns = tile_of(m.size, n.size, op.dtype, machine.target)
    in0, in1, out = (_access(stride) for stride in lane.strides)
    conj0, conj1, _ = (tensor.conj for tensor in op.tensors)
    kernel = BatchKernel(op.dtype, rows, columns, in0, in1, out, conj0, conj1)
    body: tuple[Step, ...] = (Call(kernel, (0, 1, 2), ("M", "N", "K", "X")),)
    block = block_of(op, lane, machine)
    others = prod(d.size for d in outside if d.type == DimType.C)
    if threads > 1 and others * ceiling(lane.size, block) < 4 * threads:
        parts = ceiling(4 * threads, others)
        block = min(block, balanced(lane.size, lane.size // parts, machine.lanes(op.dtype)))
    most = max(rows, call_work(machine, element(op.dtype)) // (n.size * k.size * block))
    axes = []
    for i, d in enumerate(sorted(outside, key=_outermost_last)):
        axes.append(Axis(f"{d.type}{i}", d.type, (d,)))
        if d.type != DimType.C:
            body = (Loop(axes[-1].name, 1, ExecType.SEQ, body),)
    if most < m.size:
        body = (Loop("M", balanced(m.size, most, rows), ExecType.SEQ, body),)
    how = ExecType.SHARED if threads > 1 else ExecType.SEQ
    if block < lane.size:
        body = (*touches(op, lane), *body)
        body = (Loop("X", block, how, body),)
    for axis in axes:
        if axis.type == DimType.C:
            body = (Loop(axis.name, 1, how, body),)
    note = f"batch: vectors along {lane.name or 'C'}, {block} at a time, tile {rows}x{columns}"
    return Schedule(op, (*axes[::-1], m, n, k, x), body, shares=threads, notes=(note,))


def block_of(op: TensorOp, lane: Dimension, machine: Machine) -> int:
    """How much of the batch at a time: so that half of L2 holds it. An odd number of vectors, so
    that rows of temporaries as long as a block do not fall into the same few sets of a cache."""
    size, lanes = element(op.dtype).size, machine.lanes(op.dtype)
    kept = [d for d in op.dimensions if d.type != DimType.C]
    each = sum(prod(d.size for d in kept if d.strides[t]) for t in range(3)) * size
    most = max(1, machine.l2 // 2 // (each * lanes) - 1) | 1
    vectors = ceiling(lane.size, lanes)
    return min(lane.size, (ceiling(vectors, ceiling(vectors, most)) | 1) * lanes)


def _access(stride: int) -> BatchAccess:
    return "unit" if stride == 1 else "strided"


def _outermost_last(d: Dimension) -> tuple[object, ...]:
    """Innermost first: K, then the others, the nearest in out first."""
    return d.type == DimType.C, d.type != DimType.K, abs(d.strides[2])
