"""Batches of small matrix products, one after the other in one kernel call (see jit/items.py).

    C               SHARED     further batch dimensions
      X  xc         SHARED     the batch dimension that is nearest in out
        items kernel over M, N, K and X

Where the items lie in short rows between each other, a block of them is asked for at a time.
"""

from __future__ import annotations

from tensorop.ir import CONTRACTIONS, Dimension, DimType, ExecType, TensorOp
from tensorop.jit.batch_abi import ItemsKernel, items_tile
from tensorop.jit.elements import element
from tensorop.jit.gemm_abi import masks_stores
from tensorop.jit.lines import LEAST_PART, LINE
from tensorop.jit.target import Target
from tensorop.optimizer.balance import balanced, call_work
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.orient import exchange
from tensorop.optimizer.past import leaves_caches
from tensorop.optimizer.touch import item_bytes, touch_block, touches
from tensorop.optimizer.transfer import all_bytes, bytes_of
from tensorop.schedule import Axis, Call, Loop, Schedule, Step
from tensorop.tuples import NamedTuple

ASKED_ITEM = 256  # bytes of an input's item that is asked for
LEAST_SUM = 4  # steps of K for a tile of any width
LATE_ITEM = 1024  # of one that comes late otherwise


class Items(NamedTuple):
    """How a batch fits a kernel. op: in0 is the vector side; swapped: it was in1."""

    op: TensorOp
    swapped: bool
    width: int
    columns: int
    rest: int

    @property
    def kernel(self) -> ItemsKernel:
        return ItemsKernel(self.op.dtype, self.width, self.columns, self.rest)


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
    # Parts of vectors want a kernel for each size: it has to be worth it.
    large = all_bytes(op) > machine.l1
    masked = (
        large
        and op.size_of(DimType.K) >= LEAST_SUM
        and kind.is_float
        and masks_stores(op.dtype, machine.target)
    )
    for swapped in (False, True):
        turned = exchange(op) if swapped else op
        (m,), (n,) = turned.of_type(DimType.M), turned.of_type(DimType.N)
        if m.strides[0] == 1 and m.strides[op.out] == 1:
            sizes = m.size, n.size
            tile = items_tile(*sizes, op.dtype, machine.target, masked=masked)
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
    columns = _columns_of_lines(items, x, machine.target)
    if past := columns > 0 and leaves_caches(op, machine, sums_inside=True):
        items = items._replace(columns=columns, rest=n.size % columns)
    along = max(1, min(x.size, call_work(machine, element(op.dtype)) // (m.size * n.size * k.size)))
    asked, block = touch_block(op, machine)
    apart = asked == x and block > 0
    asks = not apart and asks_ahead(items, machine)
    kernel = items.kernel._replace(past=past, asks=asks)
    body: tuple[Step, ...] = (Call(kernel, (0, 1, 2), ("M", "N", "K", "X")),)
    if apart:
        along = min(along, block)
        touched = (c for c in touches(op, x, machine) if not (past and c.tensors == (op.out,)))
        body = (*touched, *body)
    if threads > 1:
        share = op.size_of(DimType.C) // (4 * threads)
        along = min(along, max(1, share))
    how = ExecType.SHARED if threads > 1 else ExecType.SEQ
    along = balanced(x.size, along, 1)
    if along < x.size:
        body = (Loop("X", along, how, body),)
    for axis in reversed(axes):
        body = (Loop(axis.name, 1, how, body),)
    note = f"items: {along} in a call, tile {kernel.width}x{kernel.columns}"
    note += ", out past the caches" * past
    all_axes = (
        *axes,
        *(Axis(d.type.value, d.type, (d,)) for d in (m, n, k)),
        Axis("X", x.type, (x,)),
    )
    return Schedule(op, all_axes, body, shares=threads, swapped=items.swapped, notes=(note,))


def _columns_of_lines(items: Items, x: Dimension, target: Target) -> int:
    """The most columns of tiles that store lines of out at once, or in parts that follow one
    another; 0 where no tiles do."""
    op = items.op
    size, ((m,), (n,)) = element(op.dtype).size, map(op.of_type, (DimType.M, DimType.N))
    if items.width * size % LINE == 0:
        return items.columns
    dense = n.strides[op.out] == m.size and x.strides[op.out] == m.size * n.size
    if not dense or items.width < m.size or items.width * size < LEAST_PART:
        return 0
    kernel = items.kernel._replace(rest=0, past=True)
    able = (c for c in range(items.columns, 0, -1) if n.size % c == 0)
    if joined := next((c for c in able if kernel._replace(columns=c).joins(target)), 0):
        return joined
    whole = items.width < target.lanes(size) and not items.width & (items.width - 1)
    return items.columns if whole else 0


def asks_ahead(items: Items, machine: Machine, least: int = ASKED_ITEM) -> bool:
    """Whether later items are asked for: those of so many bytes in inputs that L2 does not hold, if
    they lie end to end. The hardware finds out anew on every page that lines follow one another."""
    op, size = items.op, element(items.op.dtype).size
    if sum(bytes_of(op, t) for t in range(op.out)) <= machine.l2:
        return False
    x = min(op.of_type(DimType.C), key=lambda d: abs(d.strides[op.out]))
    m, n, k = (op.size_of(side) for side in (DimType.M, DimType.N, DimType.K))
    tiles = m // items.width * -(-n // items.columns)
    lines = tiles * k  # one with each step of a product
    parts = (m * k, k * n)
    dense = all(x.strides[t] == parts[t] for t in range(op.out))
    return dense and least <= min(parts) * size <= max(parts) * size <= lines * LINE
