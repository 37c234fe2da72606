"""Small matrix products whose operands lie anywhere: one kernel call an item, and nothing packed.

    C  SHARED     batch dimensions
      gemm kernel over M, N and K, which puts the panels of its vector side together itself

Packing is two calls more, each of which takes as long as such a product. So the kernel brings the
vector side into panels on its stack (`jit/gemm_gather.py`), and reads elements of the other side
where they lie. Any strides will do, on both sides, and complex numbers, too.
"""

from __future__ import annotations

from tensorop.ir import CONTRACTIONS, Dimension, DimType, ExecType, TensorOp
from tensorop.jit.elements import element
from tensorop.jit.gemm_abi import PANEL_BYTES, GemmKernel, Store, left_over, masks_stores
from tensorop.jit.tiles import choose_tile
from tensorop.optimizer.kernel_kind import epilogue_of, kernel_dtype
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.orient import exchange
from tensorop.optimizer.prices import PANELS, SPREAD, STORED
from tensorop.optimizer.touch import item_bytes
from tensorop.schedule import Axis, Call, Loop, Schedule, Step
from tensorop.tuples import NamedTuple

# Prices in cycles of one core.
_ALONE = 4.0  # an element that is stored alone
_BEGUN = 60.0  # a kernel that looks at the strides, and waits for what it has put on the stack
_BROUGHT = 1.5  # a vector of a panel, and PICKED an element that comes alone
_PICKED = 2.5


class Gathered(NamedTuple):
    """How a product fits such a kernel. op: in0 is the vector side; swapped: it was in1. cycles: of
    one item, from L1."""

    op: TensorOp
    swapped: bool
    kernel: GemmKernel
    cycles: float


def gathered_of(op: TensorOp, machine: Machine) -> Gathered | None:
    """How a product fits a kernel, the better side being that of the vectors; None where its
    operands have to be converted, or L1 and the stack do not hold an item and its panels.

    Parameters
    ----------
    op : TensorOp
        Fused.
    """
    kind = element(op.dtype)
    if op.main not in CONTRACTIONS or kind.half or not kind.vectorises:
        return None
    if any(t.conj or t.dtype != op.dtype for t in op.tensors):
        return None
    if any(len(op.of_type(t)) != 1 for t in (DimType.M, DimType.N, DimType.K)):
        return None
    if item_bytes(op) > machine.l1:
        return None
    ways = (_way(op, False, machine), _way(exchange(op), True, machine))
    return min(filter(None, ways), key=lambda way: way.cycles, default=None)


def _way(op: TensorOp, swapped: bool, machine: Machine) -> Gathered | None:
    (m,), (n,), (k,) = (op.of_type(t) for t in (DimType.M, DimType.N, DimType.K))
    kind, target = element(op.dtype), machine.target
    store: Store = "columns" if m.strides[op.out] == 1 else "strided"
    masked = store == "columns" and masks_stores(op.dtype, target)
    tile = choose_tile(target, kind, m.size, n.size, masked=masked)
    lanes = machine.lanes(op.dtype)
    rows = tile.vectors * lanes
    if -(-m.size // rows) * rows * k.size * kind.size > PANEL_BYTES:
        return None
    left, halved = left_over(m.size % rows if masked else 0, lanes)
    kernel = GemmKernel(
        kernel_dtype(op),
        tile.vectors,
        tile.columns,
        "gathered",
        "direct",
        store,
        epilogue=epilogue_of(op),
        left=left,
        halved=halved,
    )
    return Gathered(op, swapped, kernel, _work(op, (m, n, k), store, machine))


def _work(
    op: TensorOp, dims: tuple[Dimension, Dimension, Dimension], store: Store, machine: Machine
) -> float:
    """Cycles of an item: panels, multiply-adds, and what is stored."""
    (m, n, k), kind = dims, element(op.dtype)
    vectors, parts = -(-m.size // machine.lanes(op.dtype)), kind.parts
    in_vectors, by_vectors = m.strides[0] == 1, store == "columns"
    if masks_stores(op.dtype, machine.target) and parts == 1:
        in_vectors |= m.strides[0] in (2, -1) or (k.strides[0] == 1 and kind.size >= 4)
        by_vectors |= m.strides[op.out] == 2
    brought = vectors * _BROUGHT if in_vectors else m.size * _PICKED
    products = n.size * max(vectors * PANELS * parts**2, SPREAD * parts)
    stored = vectors * STORED if by_vectors else m.size * _ALONE
    return _BEGUN + k.size * (brought * parts + products) + n.size * stored * parts


def gathering(found: Gathered, threads: int) -> Schedule:
    """The schedule of a product, or of a batch of them.

    Parameters
    ----------
    threads : int
        Shares to divide the batch into.
    """
    op = found.op
    batch = sorted(op.of_type(DimType.C), key=lambda d: -abs(d.strides[op.out]))
    outer = [Axis(f"C{i}", DimType.C, (d,)) for i, d in enumerate(batch)]
    sides = [Axis(t.value, t, op.of_type(t)) for t in (DimType.M, DimType.N, DimType.K)]
    how = ExecType.SHARED if threads > 1 else ExecType.SEQ
    body: tuple[Step, ...] = (Call(found.kernel, (0, 1, 2), ("M", "N", "K")),)
    for axis in reversed(outer):
        body = (Loop(axis.name, 1, how, body),)
    note = "gemm that puts the panels of its vector side together"
    axes = (*outer, *sides)
    return Schedule(op, axes, body, shares=threads, swapped=found.swapped, notes=(note,))
