"""Batches of small matrix products, one after the other in one kernel call (see jit/items.py).

    C               SHARED     further batch dimensions
      X  xc         SHARED     the batch dimension that is nearest in out
        items kernel over M, N, K and X

Where the items lie in short rows between each other, a block of them is asked for at a time.
"""

from __future__ import annotations

from tensorop.ir import CONTRACTIONS, Dimension, DimType, ExecType, TensorOp
from tensorop.jit.batch_abi import ItemsKernel, exact_tile
from tensorop.jit.elements import element
from tensorop.jit.lines import LEAST_PART, LINE
from tensorop.optimizer.balance import balanced, call_work
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.orient import exchange
from tensorop.optimizer.past import leaves_caches
from tensorop.optimizer.touch import item_bytes, touch_block, touches
from tensorop.schedule import Axis, Call, Loop, Schedule, Step
from tensorop.tuples import NamedTuple


class Items(NamedTuple):
    """How a batch fits a kernel. op: in0 is the vector side; swapped: it was in1."""

    op: TensorOp
    swapped: bool
    width: int
    columns: int


def items_of(op: TensorOp, machine: Machine) -> Items | None:
    """How the items of a batch fit a kernel; None where they do not, where half of L1 does not hold
    one, or there is no batch.

    Parameters
    ----------
    op : TensorOp
        Fused.
    """
    kind = element(op.dtype)
    if op.main not in CONTRACTIONS or not op.of_type(DimType.C):
        return None
    if kind.parts > 1 or kind.half or not kind.vectorises or kind.kind == "b":
        return None
    if any(len(op.of_type(t)) != 1 for t in (DimType.M, DimType.N, DimType.K)):
        return None
    if item_bytes(op) > machine.l1 // 2:
        return None
    for swapped in (False, True):
        turned = exchange(op) if swapped else op
        (m,), (n,) = turned.of_type(DimType.M), turned.of_type(DimType.N)
        if m.strides[0] == 1 and m.strides[op.out] == 1:
            tile = exact_tile(m.size, n.size, op.dtype, machine.target)
            return None if tile is None else Items(turned, swapped, *tile)
    return None


def itemised(items: Items, machine: Machine, threads: int) -> Schedule:
    """The schedule of a batch.

    Parameters
    ----------
    threads : int
        Shares to divide the batch into.
    """
    op = items.op
    (m,), (n,), (k,) = (op.of_type(t) for t in (DimType.M, DimType.N, DimType.K))
    *others, x = sorted(op.of_type(DimType.C), key=lambda d: -abs(d.strides[op.out]))
    axes = [Axis(f"C{i}", DimType.C, (d,)) for i, d in enumerate(others)]
    past = _fills_lines(items, x) and leaves_caches(op, machine, sums_inside=True)
    kernel = ItemsKernel(op.dtype, items.width, items.columns, past)
    body: tuple[Step, ...] = (Call(kernel, (0, 1, 2), ("M", "N", "K", "X")),)
    along = max(1, min(x.size, call_work(machine, element(op.dtype)) // (m.size * n.size * k.size)))
    asked, block = touch_block(op, machine)
    if asked == x and block:
        along = min(along, block)
        asks = (c for c in touches(op, x, machine) if not (past and c.tensors == (op.out,)))
        body = (*asks, *body)
    if threads > 1:
        share = op.size_of(DimType.C) // (4 * threads)
        along = min(along, max(1, share))
    how = ExecType.SHARED if threads > 1 else ExecType.SEQ
    along = balanced(x.size, along, 1)
    if along < x.size:
        body = (Loop("X", along, how, body),)
    for axis in reversed(axes):
        body = (Loop(axis.name, 1, how, body),)
    note = f"items: {along} in a call, tile {items.width}x{items.columns}"
    note += ", out past the caches" * past
    all_axes = (
        *axes,
        *(Axis(d.type.value, d.type, (d,)) for d in (m, n, k)),
        Axis("X", x.type, (x,)),
    )
    return Schedule(op, all_axes, body, shares=threads, swapped=items.swapped, notes=(note,))


def _fills_lines(items: Items, x: Dimension) -> bool:
    """Whether a line of out is stored at once, or in parts that follow one another."""
    op = items.op
    size, ((m,), (n,)) = element(op.dtype).size, map(op.of_type, (DimType.M, DimType.N))
    if items.width * size % LINE == 0:
        return True
    dense = n.strides[op.out] == m.size and x.strides[op.out] == m.size * n.size
    return dense and items.width == m.size and items.width * size >= LEAST_PART
