"""Matrix products of few rows as dot products, read where they lie (see jit/dots.py).

    C               SHARED     further batch dimensions
      N  nc         SHARED     the rows of in1, of which there are more
        K  kc       SEQ        as much of in0 as a quarter of L2 holds
          dots kernel over M, N, K and X, the batch dimension that is nearest in in1

Packing pays where it is read often afterwards: for a few rows of in0, it takes longer than the
product. Where in1 has the items of the batch in rows between each other, a call takes as few rows
of it as a tile has, and goes on along them from item to item.
"""

from __future__ import annotations

from tensorop.ir import CONTRACTIONS, DimType, ExecType, TensorOp
from tensorop.jit.batch_abi import DotsKernel, dots_tile
from tensorop.jit.elements import element
from tensorop.optimizer.balance import balanced, call_work, longest_sum
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.orient import exchange
from tensorop.optimizer.transfer import bytes_of, outgrows_l3
from tensorop.schedule import Axis, Call, Loop, Schedule, Step
from tensorop.tuples import NamedTuple

MOST_ROWS = 16  # of in0, each tile of which reads a tile of in1 again
FEW_TILES = 3  # of rows that L2 does not hold, of a product of few rows by few


class Dots(NamedTuple):
    """A product with in0 as the side of fewer rows; swapped: it was in1."""

    op: TensorOp
    swapped: bool
    kernel: DotsKernel


def dots_of(op: TensorOp, machine: Machine) -> Dots | None:
    """How a product is one of dot products; None where its inputs are not both consecutive along
    the sum, or neither has few rows, or those of several tiles are more than L2 holds while
    many rows of the other one go by.

    Parameters
    ----------
    op : TensorOp
        Fused.
    """
    kind = element(op.dtype)
    if op.main not in CONTRACTIONS or kind.parts > 1 or kind.accumulator.part < 4:
        return None
    if not kind.vectorises or any(t.dtype != op.dtype for t in op.tensors):
        return None
    sides = op.of_type(DimType.M), op.of_type(DimType.N), op.of_type(DimType.K)
    if [*map(len, sides)] != [1, 1, 1]:
        return None
    (m,), (n,), (k,) = sides
    rows = min(m.size, n.size)
    if k.strides[:2] != (1, 1) or rows < 2 or rows > MOST_ROWS:
        return None
    swapped = n.size < m.size
    op = exchange(op) if swapped else op
    asks, in_turn = bytes_of(op, 1) > machine.l2, _in_turn(op, machine)
    kernel = DotsKernel(op.dtype, *dots_tile(rows, machine.target), asks and not in_turn, in_turn)
    tiles = -(-rows // kernel.rows)
    if kind.half and (tiles > 1 or rows * k.size * kind.size > machine.l2 // 4):
        return None  # what is widened again and again, or a sum in parts, rounded between them
    # A call for all of both sides has a part of the sum, which L2 keeps for all tiles.
    few = max(m.size, n.size) <= MOST_ROWS and tiles <= FEW_TILES and not op.of_type(DimType.C)
    if tiles > 1 and rows * k.size * kind.size > machine.l2 and not few:
        return None
    return Dots(op, swapped, kernel)


def _in_turn(op: TensorOp, machine: Machine) -> bool:
    """Whether the rows of in1 lie end to end in memory: a single stream, which the hardware follows
    (see `in_turn` in walk.py). For each of them L1 has to hold the rows of in0, and those of half
    types are widened."""
    (m,), (n,), (k,) = (op.of_type(t) for t in (DimType.M, DimType.N, DimType.K))
    kind = element(op.dtype)
    fits = m.size * k.size * kind.size <= machine.l1 * 3 // 8 and not kind.half
    end_to_end = machine.follows_streams and n.strides[1] == k.size
    return fits and end_to_end and outgrows_l3(op, machine)


def dotted(found: Dots, machine: Machine, threads: int) -> Schedule:
    """The schedule of such a product, or of a batch of them.

    Parameters
    ----------
    threads : int
        Shares to divide the work into.
    """
    op, kernel, kind = found.op, found.kernel, element(found.op.dtype)
    (m,), (n,), (k,) = (op.of_type(t) for t in (DimType.M, DimType.N, DimType.K))
    *others, x = [*sorted(op.of_type(DimType.C), key=lambda d: -abs(d.strides[1])), None]
    if x is None and others:
        x = others.pop()
    outer = [Axis(f"C{i}", DimType.C, (d,)) for i, d in enumerate(others)]
    sides = [Axis(d.type.value, d.type, (d,)) for d in (m, n, k)]
    along = Axis("X", DimType.C, (x,) if x is not None else ())
    lanes = machine.lanes(op.dtype)
    kept = machine.l2 // 4 // (m.size * kind.size)
    summed = min(longest_sum(kind, k.size, lanes), max(lanes, kept // lanes * lanes))
    if summed < k.size:
        summed = balanced(k.size, summed, lanes)
    work = call_work(machine, kind) // (m.size * summed)
    apart = x is not None and abs(x.strides[1]) < abs(n.strides[1])
    columns = kernel.columns if apart else max(1, work // kernel.columns) * kernel.columns
    if threads > 1 and not apart:
        columns = min(columns, balanced(n.size, -(-n.size // (4 * threads)), kernel.columns))
    items = max(1, min(along.size, work // min(columns, n.size)))
    how = ExecType.SHARED if threads > 1 else ExecType.SEQ
    body: tuple[Step, ...] = (Call(kernel, (0, 1, 2), ("M", "N", "K", "X")),)
    if summed < k.size:
        body = (Loop("K", summed, ExecType.SEQ, body),)
    inside = [("X", balanced(along.size, items, 1), along.size), ("N", columns, n.size)]
    for name, block, size in inside:
        if block < size:
            body = (Loop(name, block, how, body),)
    for axis in reversed(outer):
        body = (Loop(axis.name, 1, how, body),)
    note = f"dots: tile {kernel.rows}x{kernel.columns}, {min(columns, n.size)} rows of in1 a call"
    axes = (*outer, *sides, along)
    return Schedule(op, axes, body, shares=threads, swapped=found.swapped, notes=(note,))
