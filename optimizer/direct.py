"""Matrix products whose operands are read where they lie: where packing costs more than it saves.

Packing reads and writes an operand once more. It pays where that is read often afterwards, and
reached badly as it lies. The vector side must be consecutive in its input and in out; then these
products are run straight from the operands:

- small: everything stays in L2 and the rows of the vector side are near one another, or all of
  that side is in L2;
- thin, the vector side short: it stays in L2, and the other operand, consecutive along K, streams
  past it once, some of its rows at a time; unless its own rows are far from one another, and used
  often;
- thin, the other side short: the vector side streams past, in blocks of a few rows, each several
  pages long, along which it is asked for;
- thin, and its rows of some length: strips of the vector side as wide as a register tile are read
  from memory once, each asked for while that before it is multiplied by all columns;
- all results fit a register tile: both inputs are read once, over two dimensions of the sum.

A small matrix that is applied to each of many is a batch of such products, though its other input
is the same for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tensorop.ir import Dimension, DimType, TensorOp
from tensorop.jit.elements import element
from tensorop.jit.gemm_abi import masks_stores
from tensorop.jit.tiles import tiles
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.touch import touch_block
from tensorop.optimizer.transfer import PAGE, lines_held
from tensorop.tuples import NamedTuple

DENSE = 4  # rows of the vector side at most so many times their length apart
FEW = 16  # columns below which the vector side is not worth packing; MANY: from which on it is,
MANY = 48  # where its rows are far from one another, or come from memory in strips
SHORT_VECTORS = 128  # elements of the vector side that the other one streams past
# Of a row in a block: further along, another row is gone from the caches. Where L3 is near, blocks
# have more and longer rows: 0.55 to 0.85 of the time for four rows of 4096 on a Zen 4.
ROW_BYTES = 8192
NEAR_BLOCK = 1 << 15, 64  # bytes of a row, rows
LEAST = 8  # columns that are worth a strip
STRIPS = 2  # of a row, at least, so that most follow one another
ALIKE = 1024  # bytes of a page: rows whole multiples of that apart begin alike
ROWS = 96  # that lie pages apart: more are too many places of memory at once
LEAST_SUM = 512  # steps of K in a block that make its rows long enough to stream


def direct(op: TensorOp, machine: Machine) -> str | None:
    """Why a product is read where it lies; None where its operands are to be packed."""
    kind = element(op.dtype)
    if kind.parts > 1 or kind.half or any(t.conj for t in op.tensors):
        return None
    items = as_items(op)
    dims = {t: items.of_type(t) for t in (DimType.M, DimType.N, DimType.K)}
    if len(dims[DimType.M]) != 1 or len(dims[DimType.N]) != 1 or len(dims[DimType.K]) > 2:
        return None
    for vector, other, tensor in _sides(items):
        if vector.strides[tensor] != 1 or vector.strides[op.out] != 1:
            continue
        near = min(abs(d.strides[tensor]) for d in dims[DimType.K]) <= DENSE * vector.size
        if items is not op:
            if near and _applies(items, vector, other, tensor, machine):
                return "a matrix that stays in L1 is applied to many, which lie end to end"
        elif _held(op) * kind.size <= machine.l2 // 2:
            asked, _ = touch_block(op, machine)
            near |= _at_hand(op, tensor, machine)
            if near or other.size <= FEW or asked is not None:
                return "operands fit in L2 and are consecutive along the vector side"
        elif (
            (near or other.size < MANY)
            and _stays(op, vector, kind.size, machine)
            and _streams(op, 1 - tensor)
        ):
            return "the vector side is short: it stays in the caches while the other streams past"
        elif len(dims[DimType.K]) == 2 and _in_one_tile(op, vector, other, machine):
            return "few results, which stay in registers: both sides are used once"
        elif other.size <= FEW and len(dims[DimType.K]) == 1:
            return "one side is short: the other is used once, and read where it lies"
        if in_strips(items, (vector, other, *dims[DimType.K]), machine):
            return "one side is thin: strips of the other are used once, and read where they lie"
    return None


def _at_hand(op: TensorOp, tensor: int, machine: Machine) -> bool:
    """Whether rows of the vector side may be far from one another: L2 holds all of it, and L1 those
    of an item, which are not in each other's way."""
    size = element(op.dtype).size
    rows = min(op.of_type(DimType.K), key=lambda d: abs(d.strides[tensor]))
    kept = lines_held(abs(rows.strides[tensor]) * size, machine.l1, PAGE)
    return op.reached(tensor) * size <= machine.l2 // 2 and rows.size <= kept


def _applies(
    op: TensorOp, vector: Dimension, other: Dimension, tensor: int, machine: Machine
) -> bool:
    """Whether a matrix of few columns is applied to items that fill vectors and fit in L2; in L1,
    where several tiles read them, they come from memory and, over two dimensions of the sum, are
    not asked for ahead."""
    size, lanes, summed = element(op.dtype).size, machine.lanes(op.dtype), op.of_type(DimType.K)
    filled = vector.size % lanes == 0 or masks_stores(op.dtype, machine.target)
    item = vector.size * op.size_of(DimType.K) * size
    far = op.reached(tensor) * size > machine.l2 and other.size > FEW and len(summed) > 1
    fits = _held(op) * size <= machine.l2 // 2 and not (far and item > machine.l1)
    return lanes <= vector.size and filled and other.size < MANY and fits


def in_strips(op: TensorOp, dims: Sequence[Dimension], machine: Machine) -> bool:
    """Whether strips of the vector side are read from beyond L2, each once, and L2 holds two of
    them and all of the other side. Their rows are near one another, or few; far ones that begin
    alike in a page would be in each other's way.

    Parameters
    ----------
    dims : the vector side, the other one, and those of the sum
    """
    vector, other, *summed = dims
    if len(summed) != 1 or not LEAST <= other.size < MANY:
        return False
    (k,), size, tensor = summed, element(op.dtype).size, 0 if vector.type == DimType.M else 1
    strip = tiles(machine.target, element(op.dtype))[0].vectors * machine.lanes(op.dtype)
    held = (2 * strip + other.size) * k.size * size
    reads = op.reached(tensor) * size
    once = max(op.reached(op.out) * size, machine.l2 + 1) <= reads and held <= machine.l2 // 2
    step = abs(k.strides[tensor]) * size
    apart = step <= PAGE or (step % ALIKE and (step <= 4 * PAGE or k.size <= ROWS))
    return once and bool(apart) and vector.size >= STRIPS * strip


def as_items(op: TensorOp) -> TensorOp:
    """A product whose vector side is consecutive along one of several dimensions, with the others
    as those of a batch (`abkm,kn->abnm`); any other product as it is."""
    for side, tensor in ((DimType.M, 0), (DimType.N, 1)):
        dims = op.of_type(side)
        if any(d.strides[tensor] == d.strides[op.out] == 1 for d in dims):
            kept = [
                d._replace(type=DimType.C) if d.type == side and d.strides[tensor] != 1 else d
                for d in op.dimensions
            ]
            return op.with_dimensions(tuple(kept)) if len(dims) > 1 else op
    return op


def _sides(op: TensorOp) -> Iterator[tuple[Dimension, Dimension, int]]:
    """Each side as the vector side, the other one, and the input that has the vectors."""
    m, n = op.of_type(DimType.M)[0], op.of_type(DimType.N)[0]
    yield m, n, 0
    yield n, m, 1


def _held(op: TensorOp) -> int:
    """Elements of one product of the batch."""
    m, n, k = (op.size_of(t) for t in (DimType.M, DimType.N, DimType.K))
    return m * k + k * n + m * n


def _stays(op: TensorOp, vector: Dimension, size: int, machine: Machine) -> bool:
    """Whether the vector side can be kept in L2, in blocks of one K at least."""
    if vector.size > SHORT_VECTORS:
        return False
    fits = vector.size * op.size_of(DimType.K) * size <= machine.l2 // 2
    return fits or len(op.of_type(DimType.K)) == 1


def _in_one_tile(op: TensorOp, vector: Dimension, other: Dimension, machine: Machine) -> bool:
    """Whether one register tile has all results, so that each input is read once."""
    lanes = machine.lanes(op.dtype)
    return any(
        vector.size <= tile.vectors * lanes and other.size <= tile.columns
        for tile in tiles(machine.target, element(op.dtype))
    )


def _streams(op: TensorOp, tensor: int) -> bool:
    """Whether an input is consecutive along K."""
    return any(d.strides[tensor] == 1 for d in op.of_type(DimType.K))


class Part(NamedTuple):
    """How many elements of the vector side and of K a call works on; whether the vector side is
    asked for along its rows."""

    rows: int
    steps: int
    along: bool = False


def blocks(vector: Dimension, other: Dimension, k: Dimension, size: int, machine: Machine) -> Part:
    """What a call works on, in0 being the vector side.

    All of them where in0 stays in L2. A short vector side is cut along K until it does, if K is
    what lies next in either input; a long one into blocks of few rows.
    """
    if vector.size * k.size * size <= machine.l2 // 2:
        return Part(vector.size, k.size)
    near = k.strides[1] == 1 or abs(k.strides[0]) <= DENSE * vector.size
    if vector.size <= SHORT_VECTORS and near:
        return Part(vector.size, max(LEAST_SUM, machine.l2 // 2 // (vector.size * size)))
    if other.size <= FEW:
        length, steps = NEAR_BLOCK if machine.near_l3 else (ROW_BYTES, 2 * machine.streams)
        return Part(length // size, steps, along=True)
    return Part(vector.size, k.size)
