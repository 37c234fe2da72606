"""What a schedule costs: an estimate in cycles of one core, to rank ways of running an operation.

Arithmetic and memory are added up, for each kind of schedule in its way: all but those of streams
(stream_cost.py). Memory is what a tensor has of bytes over the bandwidth of the level that holds
the operation's data; bytes count again where a cache line is come back to after it is gone. The
prices are those of a vector machine of about four instructions a cycle, in units of its vectors and
cache sizes; only their ratios matter, and nothing is timed, so that a machine of the same features
decides the same.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, prod

from tensorop.ir import Dimension, DimType, TensorOp
from tensorop.jit.batch_abi import tiles
from tensorop.jit.elements import NEAR_STEPS, element
from tensorop.jit.gemm_abi import masks_stores
from tensorop.jit.lines import LINE, LONG_ROW
from tensorop.jit.planar_abi import PlanarKernel
from tensorop.optimizer.ahead import is_slow, read_ahead
from tensorop.optimizer.batch import BatchBlocks, blocks_of, kernel_of
from tensorop.optimizer.digits import has_tile
from tensorop.optimizer.direct import as_items
from tensorop.optimizer.dots import Dots
from tensorop.optimizer.gathered import Gathered
from tensorop.optimizer.items import LATE_ITEM, Items, asks_ahead
from tensorop.optimizer.lanes import SMALL, as_batch, kernel_axis, lanes_of
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.orient import (
    columns_lie,
    exchange,
    output_axis,
    piece_of,
    summed_axis,
    tiles_are_cut,
    vectors_along_n,
)
from tensorop.optimizer.past import leaves_caches, tiles_leave_caches
from tensorop.optimizer.planar import Planar
from tensorop.optimizer.prices import BESIDE, PANELS, PRODUCT, SPREAD, STORED, SUMMED, VECTOR
from tensorop.optimizer.stream_cost import CALL, VECTOR_MASKED
from tensorop.optimizer.tiny import Tiny
from tensorop.optimizer.touch import STREAMS, follows, streams, touch_block
from tensorop.optimizer.transfer import (
    BYTES_PER_CYCLE,
    LINE_CYCLES,
    MEMORY,
    PAGE,
    UNNOTICED,
    all_bytes,
    all_transfers,
    bytes_of,
    level_of,
    transfer,
    walk_cycles,
)

# A regime is chosen by estimates, and layouts are compared by those of their regimes.
remembered = lru_cache(maxsize=256)

HIDDEN = 0.5  # of the time to read what is asked for while panels are multiplied
ITEMS_HIDDEN = 0.65  # the same while items without gaps are
CUT = 11.5  # a vector of a finished column where columns end within vectors
IN_RUNS = 6.0  # the same, where masks are free
PIECE = 7.0  # a piece of a column that is shorter than a vector; EQUAL: where all are equally long
EQUAL = 2.5
NARROW = 4  # lanes of a panel of N that are stored together at least
PACKED = 0.6  # an element that is packed in a long run; RUN: to begin a run
RUN = 4.4
OTHER = 3.5  # one that is packed in runs along another dimension than the fastest of a panel
DEEP = 1.5  # one in runs along a dimension of the sum that is not its fastest
FAR = 3.0  # times as long as a read takes a store to a line of memory that follows no other
PICKED = 6.7  # one that is packed alone
ITEM = 830.0  # one matrix product of a batch: packing and calls for small panels
ITEM_READ = 415.0  # the same, where columns are read where they lie
TILE = 14.0  # a tile of a batch along the lanes; SAME_TILE: where an input is the same for all
SAME_TILE = 2.0
BEGUN = 40.0  # to begin such a tile
LATENCY = 4.0  # of a step of its sum, where that is too long to overlap with the next: LONG_SUM
LONG_SUM = 16
SPLAT = 0.4  # a number of that input
LOADED = (0.2, 1.2)  # one of its vectors, from L1 and from L2
FINISHED = 9.0  # a tile that fits an item; STEP: of K; LOAD: an element or vector of it
STEP = 1.2
LOAD = 0.4
STORED_WHOLE = 1.0  # a vector of it
FACTOR = 0.25  # an element of a product that is all straight-line code; RESULT: a vector of its
RESULT = 0.5
GATHER = 1.0  # an element of a vector of the batch whose elements are apart
PASSED = 1.0  # a vector that is loaded or stored once; SHUFFLED: put together of two
SHUFFLED = 0.6
MOVED = 0.09  # a byte that a permuting copy moves
READ_RUN = 0.6  # to begin a run of the source, WRITTEN_RUN of the target
WRITTEN_RUN = 1.6
DOTS = 30.0  # a tile of dot products; FOLDED_DOT: of a sum of it, to end as a number in out
FOLDED_DOT = 4.0
LATENCY_OF_DOTS = 2.7  # of a step of a sum
WIDENED = 1.5  # a vector of a half type that becomes one of float32
PACKED_HALF = 1.8  # times what it takes, that packed products of half types are estimated at
REORDERED = 1.5  # a vector of items whose elements change places
SHORT = 8  # consecutive elements that are too few for vectors
PAST = 0.42  # of the time to write to memory, past the caches
ASKED = 0.6  # of what it costs to begin a row, where it is asked for with those of other items
COLUMNS = 8  # of a tile


def permuted_cycles(op: TensorOp, machine: Machine) -> float:
    """Estimate a permuting copy by tiles."""
    count, moved = prod(d.size for d in op.dimensions), 2 * bytes_of(op, 0)
    read, written = (
        max((d.size for d in op.dimensions if abs(d.strides[t]) == 1), default=1) for t in (0, 1)
    )
    begun = count * (READ_RUN / read + WRITTEN_RUN / written)
    return begun + moved / 2 * MOVED + all_transfers(op, machine)


def reordered_cycles(op: TensorOp, machine: Machine) -> float:
    """Estimate a copy of small items whose elements change places."""
    vectors = bytes_of(op, 0) / machine.target.vector_bytes
    return CALL + vectors * REORDERED + all_transfers(op, machine)


def least_cycles(op: TensorOp, machine: Machine) -> float:
    """What a good schedule takes: every element once, every operation in full vectors."""
    points = prod(d.size for d in op.dimensions)
    product = all(op.of_type(t) for t in (DimType.M, DimType.N, DimType.K))
    vector = VECTOR_MASKED if masks_stores(op.dtype, machine.target) else VECTOR
    price = PRODUCT if product else SUMMED if op.of_type(DimType.K) else vector
    return points / machine.lanes(op.dtype) * price + all_transfers(op, machine)


def bound_cycles(op: TensorOp, machine: Machine) -> float:
    """What an estimate of an operation of two inputs hardly ever stays under, however its tensors
    lie: not worth looking for less."""
    lanes, memory = machine.lanes(op.dtype), all_transfers(op, machine)
    m, n, k, items = _sizes(op)
    if items > 1 or min(m, n, k) == 1 or min(m, n) * k <= SMALL:
        return max(m * n * k * items / lanes * PRODUCT, memory)
    # One matrix product: vectors along the better side, nothing packed, whole columns stored.
    price = PANELS * element(op.dtype).parts ** 2
    sides = (_columns(m, n, k, lanes, price, STORED), _columns(n, m, k, lanes, price, STORED))
    work = CALL + min(sides)
    return max(work, memory) + BESIDE * min(work, memory)


@remembered
def product_cycles(op: TensorOp, machine: Machine) -> float:
    """Matrix products from packed panels."""
    memory = _item_memory(op, machine)
    if vectors_along_n(op, machine.lanes(op.dtype)):
        op = exchange(op)
    n_axis, k_axis = output_axis(op, DimType.N), output_axis(op, DimType.K)
    m, n, k, items = _sizes(op)
    lies = columns_lie(op, n_axis, k_axis, machine.l1 // (COLUMNS * element(op.dtype).size))
    work = (ITEM_READ if lies else ITEM) * items + _panels(op, machine, lies)
    if items == 1 and is_slow(op, 0, n, machine):
        vectors = ceil(m / machine.lanes(op.dtype))
        products = n * vectors * k * PANELS * element(op.dtype).parts ** 2
        memory -= HIDDEN * min(products, transfer(bytes_of(op, 0), bytes_of(op, 0), machine))
    stored = PAST * _written_past(op, k, machine)
    if not stored:
        return work + memory
    return memory - stored / PAST + max(work, stored) + BESIDE * min(work, stored)


def _written_past(op: TensorOp, k: int, machine: Machine) -> float:
    """The part of the memory's cycles that goes to an out which is stored past the caches."""
    if not leaves_caches(op, machine, sums_inside=True):
        return 0.0
    m = output_axis(op, DimType.M)
    size, run = element(op.dtype).size, m.unit_run(op.out)
    if k > machine.l1 // (COLUMNS * size) or run * size < LONG_ROW:
        return 0.0
    if not tiles_leave_caches(op, m, LINE // size, machine):
        return 0.0
    held = all_bytes(op)
    return transfer(bytes_of(op, op.out), held, machine, written=True)


@remembered
def _item_memory(op: TensorOp, machine: Machine) -> float:
    """Cycles to move the tensors of matrix products, one item of the batch after the other: items
    may lie in short rows between those of others, or share cache lines, which are come back to."""
    batch = op.of_type(DimType.C)
    if not batch:
        return all_transfers(op, machine)
    size, total = element(op.dtype).size, 0.0
    bytes_each = [bytes_of(op, t) for t in range(len(op.tensors))]
    held = sum(bytes_each)
    asked = touch_block(op, machine)[0] is not None
    followed = follows(op, machine)
    for t, mine in enumerate(bytes_each):
        level, steps = level_of(mine, machine), [abs(d.strides[t]) * size for d in op.dimensions]
        own = [abs(d.strides[t]) * size for d in batch]
        # Parts of an item that are each on another page are got at one by one.
        if max(own) < PAGE <= max(steps):
            apart = [d.size for d, step in zip(op.dimensions, steps, strict=True) if step >= PAGE]
            total += op.size_of(DimType.C) * prod(apart) * walk_cycles(prod(apart), PAGE)
        again = min(LINE // size, prod(map(_on_a_line, batch, own)))
        if again > 1 and not asked and not followed:
            total += mine * again / LINE * LINE_CYCLES[level]
            continue
        total += transfer(mine, held, machine, written=t == op.out)
        step = min(own)
        if not followed and 0 < step < PAGE and max(steps) > step:
            lines = min(UNNOTICED, ceil(step / LINE)) * LINE_CYCLES[level]
            total += mine / max(step, LINE) * lines * (ASKED if asked else 1.0)
    return total


def _on_a_line(dimension: Dimension, step: int) -> int:
    """How many items along a dimension of the batch, so many bytes apart, share a cache line."""
    return min(dimension.size, -(-LINE // step)) if step else dimension.size


@remembered
def direct_cycles(op: TensorOp, machine: Machine) -> float:
    """Matrix products straight from the operands, whose vector side is consecutive in out."""
    op = as_items(op)
    memory = _item_memory(op, machine)
    if not any(d.type == DimType.M and d.strides[op.out] == 1 for d in op.dimensions):
        op = exchange(op)
    lanes, (m, n, k, items) = machine.lanes(op.dtype), _sizes(op)
    # Where columns end within vectors, and L1 does not hold an item until its lines are complete.
    item, held = m * n * element(op.dtype).size, bytes_of(op, op.out)
    cut = m % lanes > 0 and item > machine.l1 and held > machine.l2
    stored = STORED if not cut else IN_RUNS if masks_stores(op.dtype, machine.target) else CUT
    work = items * (CALL + _columns(m, n, k, lanes, PANELS, stored))
    memory += _alone_again(op, ceil(m / (2 * lanes)), machine)
    sides = [op.of_type(t) for t in (DimType.M, DimType.N, DimType.K)]
    if all(len(dims) == 1 for dims in sides):
        read = sum([bytes_of(op, t) for t in read_ahead(op, [d for (d,) in sides], machine)])
        memory -= HIDDEN * min(work, transfer(read, read, machine))
    return max(work, memory) + BESIDE * min(work, memory)


def _columns(m: int, n: int, k: int, lanes: int, price: float, stored: float) -> float:
    """Cycles of n columns of k sums in vectors of m rows; price: of a multiply-add of vectors,
    stored: of a finished vector."""
    vectors = ceil(m / lanes)
    return n * (k * max(vectors * price, SPREAD) + vectors * stored)


@remembered
def batch_cycles(op: TensorOp, machine: Machine) -> float:
    """Batches of matrix products with vectors along the batch, of an operation that can."""
    taken = as_batch(op)
    assert taken is not None
    found = lanes_of(taken, machine)
    op, lane = found.op, found.along
    kind, lanes = element(op.dtype), machine.lanes(op.dtype)
    blocks = blocks_of(op, lane, machine)
    block = blocks.x
    sides = DimType.M, DimType.N, DimType.K
    m, n, k = (kernel_axis(op, t).size for t in sides)
    outside = prod(map(op.size_of, sides)) / (m * n * k)
    again = op.size_of(DimType.K) > k
    kernel = kernel_of(found, (m, n, k), machine)
    rows, columns = kernel.rows, kernel.columns
    down, across = tiles(m, rows), tiles(n, columns)
    held = sum(bytes_of(op, t) for t in range(3))
    level = held / lane.size * block > machine.l1
    vectors = (m * across * k, n * down * k, m * n * (2 if again else 1))  # of one of the batch
    splat = 0.0 if kernel.depth else SPLAT
    loaded = sum(
        v * (LOADED[level] if s else splat) for v, s in zip(vectors, lane.strides, strict=True)
    )
    tile = TILE if all(lane.strides) else SAME_TILE
    waited = down * across * k * LATENCY if k >= LONG_SUM else 0.0
    plain = max(m * n * k * PRODUCT * kind.parts**2, waited) + down * across * tile + loaded
    line = LINE_CYCLES[held / op.size_of(DimType.C) * lanes > machine.l1]
    apart = sum(
        v * (_apart(s, lanes) + (s > 1) * lanes * s * kind.size / LINE * line)
        for v, s in zip(vectors, lane.strides, strict=True)
    )
    whole, left = divmod(lane.size, lanes)
    if not apart:  # the last vector is masked; where elements are apart it is done one by one
        whole, left = ceil(lane.size / lanes), 0
    around = outside * op.size_of(DimType.C) / lane.size
    work = whole * (plain + apart) + left * plain
    work += ceil(lane.size / block) * (CALL + down * across * BEGUN)
    if not apart and lane.size % lanes:
        work += m * n * CUT
    work *= around
    memory = all_transfers(op, machine) + _come_back_to(op, (m, n), blocks, machine)
    asked = blocks.whole and block < lane.size
    followed = streams(op, lane, range(3)) <= STREAMS * machine.streams
    begun = 0.0 if followed else ASKED if asked else 1.0
    # A block has a part of each row of the tensors, which are as far apart as they are long; of
    # rows that lie end to end, whole ones follow one another.
    lengths = [max(1, lane.size * step * kind.size) for step in lane.strides]
    counts = [bytes_of(op, t) / n if lane.strides[t] else 0.0 for t, n in enumerate(lengths)]
    for t, (count, length) in enumerate(zip(counts, lengths, strict=True)):
        run = length / lane.size * block
        joined = run == length and any(d.strides[t] * kind.size == length for d in op.dimensions)
        if run < PAGE and not joined:
            lines = min(UNNOTICED, ceil(run / LINE)) * LINE_CYCLES[level_of(held, machine)]
            walk = walk_cycles(ceil(sum(counts)), length)
            memory += count * length / run * (begun * lines + walk)
    return max(work, memory) + BESIDE * min(work, memory)


def dots_cycles(found: Dots, machine: Machine) -> float:
    """Matrix products as dot products of rows."""
    op, (rows, columns) = found.op, found.kernel[1:3]
    m, n, k, items = _sizes(op)
    steps = ceil(k / machine.lanes(op.dtype))

    widened = WIDENED if element(op.dtype).half else 0.0

    def tile(rows: int, columns: int) -> float:
        sums = rows * columns
        step = max(sums * PANELS, LATENCY_OF_DOTS) + (rows + columns) * widened
        return DOTS + steps * step + sums * FOLDED_DOT

    across = [(columns, n // columns), (1, n % columns)]
    down = [(rows, m // rows), (found.kernel.left, min(1, found.kernel.left))]
    each = sum(tile(r, c) * i * j for r, i in down if i for c, j in across)
    # The first tile of rows waits for memory; the others read what it has brought.
    work, memory = CALL + items * each, _item_memory(op, machine)
    first = work / ceil(m / rows)
    total = max(first, memory) + BESIDE * min(first, memory) + work - first
    return total * (PACKED_HALF if element(op.dtype).half else 1.0)


def items_cycles(items: Items, machine: Machine) -> float:
    """Batches of matrix products, one after the other in a call."""
    op, lanes = items.op, machine.lanes(items.op.dtype)
    m, n, k, count = _sizes(op)
    vectors, columns = ceil(items.width / lanes), items.columns
    step = STEP + max(vectors * columns * PRODUCT, (vectors + columns) * LOAD)
    tile = FINISHED + k * step + vectors * columns * STORED_WHOLE
    work = count * m / items.width * n / columns * tile
    memory = _item_memory(op, machine) + _alone_again(op, m // items.width, machine)
    if asks_ahead(items, machine, LATE_ITEM):
        read = sum(bytes_of(op, t) for t in range(op.out))
        memory -= ITEMS_HIDDEN * min(work, transfer(read, read, machine))
    return max(work, memory) + BESIDE * min(work, memory)


def gathered_cycles(found: Gathered, machine: Machine) -> float:
    """Small matrix products whose kernel puts panels together itself."""
    work = found.op.size_of(DimType.C) * (CALL + found.cycles)
    memory = _item_memory(found.op, machine)
    return max(work, memory) + BESIDE * min(work, memory)


def tiny_cycles(tiny: Tiny, machine: Machine) -> float:
    """Batches of tiny matrix products, each of them straight-line code."""
    op, kernel = tiny.op, tiny.kernel
    vectors = len(kernel.pieces(machine.target).starts)
    sums, factors = kernel.n * vectors, kernel.n * kernel.k
    each = sums * kernel.k * PRODUCT + (factors + kernel.k * vectors) * FACTOR + sums * RESULT
    work = op.size_of(DimType.C) * each
    memory = _item_memory(op, machine)
    return max(work, memory) + BESIDE * min(work, memory)


def planar_cycles(planar: Planar, op: TensorOp, machine: Machine) -> float:
    """Batches of records that are taken apart in registers."""
    kernel, kind = planar.kernel, element(op.dtype)
    lanes = machine.target.lanes(kind.part)
    moved, shuffled = kernel.moves(machine.target)
    each = moved * PASSED + shuffled * SHUFFLED + kernel.terms * PRODUCT * kind.parts**2
    batch = [d for d in op.dimensions if d is planar.along or d.type == DimType.C]
    records = prod([d.size for d in batch]) / prod([d.size for d in planar.inside])
    calls = records / planar.along.size
    work, memory = records / lanes * each + calls * CALL, all_transfers(op, machine)
    memory += _in_pieces(kernel, op, machine)
    return max(work, memory) + BESIDE * min(work, memory)


def _in_pieces(kernel: PlanarKernel, op: TensorOp, machine: Machine) -> float:
    """Cycles that lines of long records wait for memory: pieces of as many records as there are
    lanes are read in turn, which the hardware does not follow if all of these are a page."""
    long = kernel.long(machine.target)
    held = all_bytes(op)
    if long is None or long == op.out or level_of(held, machine) != MEMORY:
        return 0.0
    unnoticed = min(1.0, kernel.parts[long] * LINE / PAGE)
    return bytes_of(op, long) / LINE * unnoticed * LINE_CYCLES[MEMORY]


def _alone_again(op: TensorOp, passes: int, machine: Machine) -> float:
    """Cycles to read in1 again, if L1 does not hold its lines, for each item that has the same;
    where each of its elements is on a line of its own, for each tile of rows of all items: then
    also if their pages are more than are translated at once."""
    size = element(op.dtype).size
    mine = [d for d in op.dimensions if d.type != DimType.C and d.strides[1]]
    lines = prod([d.size for d in mine])
    reach = sum((d.size - 1) * abs(d.strides[1]) for d in mine) * size
    missed = LINE_CYCLES[1] if min(reach, lines * LINE) > machine.l1 else 0.0
    if any(abs(d.strides[1]) * size < LINE for d in mine):
        same = prod([d.size for d in op.of_type(DimType.C) if not d.strides[1]])
        again = op.size_of(DimType.C) * (1 - 1 / same)
        return again * min(lines, reach // LINE) * missed
    walk = walk_cycles(lines, min((abs(d.strides[1]) * size for d in mine), default=0))
    return op.size_of(DimType.C) * lines * (passes * missed + (passes - 1) * walk)


def _come_back_to(
    op: TensorOp, sizes: tuple[int, int], blocks: BatchBlocks, machine: Machine
) -> float:
    """Cycles to read a side of a batch again for every block of the other one, which lies outside
    the loop over the batch."""
    total = 0.0
    for tensor, (size, block) in enumerate(zip(sizes[::-1], (blocks.n, blocks.m), strict=True)):
        side = bytes_of(op, tensor)
        total += (ceil(size / block) - 1) * transfer(side, side, machine)
    return total


def _apart(step: int, lanes: int) -> float:
    """Cycles to put a vector together, or to take it apart, beyond those of a vector that is
    consecutive."""
    if step < 2:
        return 0.0
    return float(step) if step in NEAR_STEPS else GATHER * lanes


def _panels(op: TensorOp, machine: Machine, lies: bool) -> float:
    """Packing, multiply-adds and stores of all items, with vectors along M; lies: in1 is read where
    it lies."""
    lanes = machine.lanes(op.dtype)
    m, n, k, items = _sizes(op)
    vectors = ceil(m / lanes)
    run = output_axis(op, DimType.M).unit_run(op.out)
    pieces = m / run * PIECE
    if (piece := piece_of(op, run, lanes)) > 1:
        pieces = m / piece * EQUAL
    if run >= min(m, lanes):
        cut = IN_RUNS if masks_stores(op.dtype, machine.target) else CUT
        pieces = vectors * (STORED if run >= m or run % lanes == 0 else cut)
    if items == 1:
        pieces += m / _stored_together(op, lanes) * FAR * _far(op, op.out, machine)
    packed = m * k * _packing(op, 0, DimType.M, machine)
    if not lies:
        packed += n * k * _packing(op, 1, DimType.N, machine)
    return items * (n * (vectors * k * PANELS * element(op.dtype).parts ** 2 + pieces) + packed)


def _sizes(op: TensorOp) -> tuple[int, int, int, int]:
    """Of M, N, K and C."""
    size = op.size_of
    return size(DimType.M), size(DimType.N), size(DimType.K), size(DimType.C)


def _far(op: TensorOp, tensor: int, machine: Machine) -> float:
    """How many cycles longer it takes to read a line that follows no other, of a tensor that only
    memory holds."""
    in_memory = level_of(bytes_of(op, tensor), machine) == MEMORY
    return LINE_CYCLES[MEMORY] - LINE / BYTES_PER_CYCLE[MEMORY] if in_memory else 0.0


def _stored_together(op: TensorOp, lanes: int) -> int:
    """Elements of out, one beside the other, that a tile stores."""
    if tiles_are_cut(op):
        return lanes
    together, columns = 1, 1
    for d in sorted(op.dimensions, key=lambda d: abs(d.strides[op.out])):
        if d.type == DimType.K:
            continue
        if abs(d.strides[op.out]) != together or columns >= COLUMNS:
            break
        together *= min(d.size, COLUMNS // columns) if d.type == DimType.N else d.size
        columns *= d.size if d.type == DimType.N else 1
    return together


def _packing(op: TensorOp, tensor: int, side: DimType, machine: Machine) -> float:
    """Cycles to pack an element: in runs along the fastest dimension of the sum or the one that is
    fastest in out, of which a panel holds whole runs, or else along another one."""
    for unit in op.dimensions:
        if unit.strides[tensor] in (1, -1) and unit.type != DimType.C:
            break
    else:
        return PICKED
    axis, depth = output_axis(op, side), output_axis(op, DimType.K)
    lanes = machine.lanes(op.dtype) if side == DimType.M else NARROW
    if has_tile(axis, depth, tensor, lanes, element(op.dtype).parts):
        return PACKED
    dims = axis.dimensions
    if unit.type == DimType.K and unit != summed_axis(op).dimensions[-1]:
        return DEEP + RUN / unit.size
    if unit.type != DimType.K and dims and unit != dims[-1]:
        return OTHER + _far(op, tensor, machine) * element(op.dtype).size / LINE
    return PACKED + RUN / unit.size
