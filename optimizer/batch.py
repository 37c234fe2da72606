"""Batches of small matrix products, with vectors along the batch (see jit/batch.py).

    C               SHARED     further batch dimensions
      X  xc         SHARED     the batch along the vectors, as much of it as L2 holds
        M, N        SEQ        further dimensions that are not one axis with the kernel's
          K         SEQ
            batch kernel over M, N, K and X

Every matrix is used up while it is in the cache: its rows are read again for every tile of columns.
Where that would leave too little of the batch for a run of whole lines, the loops over M and N,
and over blocks of the kernel's, are SHARED ones outside that over X, but for dimensions that lie
within a line of out.
"""

from __future__ import annotations

from math import prod

from tensorop.ir import Dimension, DimType, ExecType, TensorOp
from tensorop.jit.batch_abi import (
    LONGEST,
    WIDEST,
    BatchAccess,
    BatchKernel,
    depth_of,
    tile_of,
)
from tensorop.jit.elements import element
from tensorop.jit.lines import LINE
from tensorop.optimizer.balance import balanced, call_work, ceiling, longest_sum, without_rest
from tensorop.optimizer.lanes import Lanes, as_batch, kernel_axis, lanes_of
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.parallelise import BALANCED, busy
from tensorop.optimizer.touch import touches
from tensorop.schedule import Axis, Call, Loop, Schedule, Step
from tensorop.tuples import NamedTuple

LEAST = 2  # vectors of the batch in a block of whole items; RUN: where the items go in parts
RUN = 9


class BatchBlocks(NamedTuple):
    """How much of the batch at a time, and of the kernel's M and N. whole: the loops over M and N
    lie inside that over the batch; else, since an item is too large, outside but for short steps in
    out."""

    x: int
    m: int
    n: int
    whole: bool = True


def batched(op: TensorOp, machine: Machine, threads: int) -> Schedule:
    """The schedule of a batch.

    Parameters
    ----------
    op : TensorOp
        Fused; can be had `as_batch`.
    threads : int
        Shares to divide the batch into.
    """
    taken = as_batch(op)
    assert taken is not None
    found = lanes_of(taken, machine)
    op, lane = found.op, found.along
    m, n, k = (kernel_axis(op, t) for t in (DimType.M, DimType.N, DimType.K))
    x = Axis("X", DimType.C, found.dimensions)
    held = [id(d) for axis in (m, n, k, x) for d in axis.dimensions]
    others = sorted((d for d in op.dimensions if id(d) not in held), key=_nearest_first)
    axes = [Axis(f"{d.type}{i}", d.type, (d,)) for i, d in enumerate(others)]
    kernel = kernel_of(found, (m.size, n.size, k.size), machine)
    rows, columns = kernel.rows, kernel.columns
    blocks = blocks_of(op, lane, machine)
    # Threads share whole items, or else products too, but not the lines of out that these lie in.
    line = LINE // element(op.dtype).size
    kept = [axis for axis in axes if axis.type in (DimType.M, DimType.N)]
    near = [a for a in kept if blocks.whole or abs(a.dimensions[0].strides[op.out]) < line]
    apart = [a for a in kept if a not in near]
    cut = without_rest if threads > 1 and not blocks.whole else balanced
    bm, bn = cut(m.size, blocks.m, rows), cut(n.size, blocks.n, columns)
    items = op.size_of(DimType.C) // lane.size * prod([a.size for a in apart])
    items *= 1 if blocks.whole else ceiling(m.size, bm) * ceiling(n.size, bn)
    along, regions = blocks.x, items * ceiling(lane.size, blocks.x)
    if regions < 4 * threads and busy(regions, threads) < BALANCED:
        part = lane.size * items // (4 * threads)
        along = min(along, balanced(lane.size, part, machine.lanes(op.dtype)))
    most = max(rows, call_work(machine, element(op.dtype)) // (blocks.n * k.size * along))
    sides = [("M", cut(m.size, min(blocks.m, most), rows)), ("N", bn)]
    summed = [("K", longest_sum(element(op.dtype), k.size))]
    summed += [(axis.name, 1) for axis in axes if axis.type == DimType.K]
    batch = [(axis.name, 1) for axis in axes if axis.type == DimType.C]
    inside = [*(sides if blocks.whole else ()), *((axis.name, 1) for axis in near)]
    outside = [*(() if blocks.whole else sides), *((axis.name, 1) for axis in apart), *batch]
    body: tuple[Step, ...] = (Call(kernel, (0, 1, 2), ("M", "N", "K", "X")),)
    sizes = {axis.name: axis.size for axis in (*axes, m, n, k, x)}
    for name, block in summed + inside:
        if block < sizes[name]:
            body = (Loop(name, block, ExecType.SEQ, body),)
    if blocks.whole and along < lane.size:
        body = (*touches(op, lane, machine), *body)
    for name, block in [("X", along), *outside]:
        if block < sizes[name]:
            body = (Loop(name, block, ExecType.SHARED if threads > 1 else ExecType.SEQ, body),)
    note = f"batch: vectors along {lane.name or 'C'}, {along} at a time, tile {rows}x{columns}"
    return Schedule(op, (*axes[::-1], m, n, k, x), body, shares=threads, notes=(note,))


def kernel_of(found: Lanes, sizes: tuple[int, int, int], machine: Machine) -> BatchKernel:
    """The kernel that runs over so much of M, N and K."""
    op, (m, n, k) = found.op, sizes
    rows, columns = tile_for(found, (m, n), machine)
    in0, in1, out = (
        "repeated" if t == found.repeated else _access(stride)
        for t, stride in enumerate(found.along.strides)
    )
    conj0, conj1, _ = (tensor.conj for tensor in op.tensors)
    period = found.dimensions[-1].size if found.repeated is not None else 0
    kernel = BatchKernel(op.dtype, rows, columns, in0, in1, out, conj0, conj1, period)
    return kernel._replace(depth=depth_of(kernel, k, machine.target))


def tile_for(found: Lanes, sizes: tuple[int, int], machine: Machine) -> tuple[int, int]:
    """The register tile for kernels that run over so much of M and N. Where one input is repeated
    from L1, while the other one comes from memory, that one is read as few times as possible: its
    rows often fall into the same few sets of the caches."""
    op, repeated = found.op, found.repeated
    size, usual = element(op.dtype).size, tile_of(*sizes, op.dtype, machine.target)
    if repeated is None or op.reached(1 - repeated) * size <= machine.l2:
        return usual
    across = sizes[repeated]
    widest = max(n for n in range(1, WIDEST + 1) if across % n == 0)
    if widest <= LONGEST:
        return usual
    return (1, widest) if repeated else (widest, 1)


def blocks_of(op: TensorOp, lane: Dimension, machine: Machine) -> BatchBlocks:
    """Blocks of which half of L2 holds all tensors. An odd number of vectors of the batch, so that
    rows of temporaries as long as a block do not fall into the same few sets of a cache; whole rows
    where one of the inputs is the same for all, of as many items as have room."""
    lanes = machine.lanes(op.dtype)
    m, n = (kernel_axis(op, t).size for t in (DimType.M, DimType.N))
    kept = [d for d in op.dimensions if d.type != DimType.C]
    item = sum(prod(d.size for d in kept if d.strides[t]) for t in range(3))
    room = machine.l2 // 2 // (lanes * element(op.dtype).size)  # vectors
    vectors, k = ceiling(lane.size, lanes), op.size_of(DimType.K)
    short, long = sorted((m, n))

    def part(run: int) -> int:
        return min(long, (room // run - short * k) // (short + k))

    rows = not all(lane.strides) and part(vectors) >= min(LONGEST, long)
    if room >= min(LEAST, vectors) * item and not rows:
        most = max(1, room // item - 1) | 1
        return BatchBlocks(
            min(lane.size, (ceiling(vectors, ceiling(vectors, most)) | 1) * lanes), m, n
        )
    run = vectors if rows else min(RUN, vectors)
    some = max(1, part(run))
    return BatchBlocks(
        min(lane.size, run * lanes),
        min(m, some) if m > n else m,
        n if m > n else min(n, some),
        False,
    )


def _access(stride: int) -> BatchAccess:
    return "zero" if stride == 0 else "unit" if stride == 1 else "strided"


def _nearest_first(d: Dimension) -> int:
    return abs(d.strides[2])
