"""The five loops around a matrix product kernel, for contractions larger than the caches.

    N  nc            SEQ       in1 block: stays in L3
      K  kc          SEQ       pack the in1 block into panels of nr lanes (all threads)
        M  mc        SHARED    pack the in0 block into panels of mr lanes: stays in L2 (each thread
                               its part of M, in blocks)
          gemm                 micro-tiles mr x nr, K unrolled, over the whole block

All dimensions of a type form one flat axis, read and stored through offset tables, so that every
layout reaches the same kernel with full blocks. Threads share M, N, or a grid of both
(`sharing.py`).

Block sizes follow from the caches: an mc x kc block of in0 takes a little over half of L2, a
kc x nc block of in1 its part of L3, and a kc x nr panel of in1 is no longer than L1. It comes from
L2 all the same, because in0 streams past it, but asked for in time; and a long kc means few passes
over out.

Where in0 is a single block, it is packed once, and blocks of in1 are short: the next one is asked
for while this one is multiplied, if L2 holds both.

Where K is a single block and consecutive in in1, the columns of a tile are as good where they lie:
each is read from L1 by all of a block of M, as a panel would be, and nothing is packed of in1.

Source: Goto and van de Geijn, Anatomy of high-performance matrix multiplication (2008); Van Zee and
Smith, Implementing high-performance complex matrix multiplication (2017); Matthews,
High-performance tensor contraction without transposition (2018) for the offset tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import prod
from operator import mul

from tensorop.ir import Dimension, DimType, ExecType, TensorOp
from tensorop.jit.elements import element
from tensorop.jit.gemm_abi import (
    MATRIX,
    MATRIX_TILE,
    GemmKernel,
    Store,
    masks_stores,
    multiplies_matrices,
)
from tensorop.jit.lines import LINE, LONG_ROW
from tensorop.jit.tiles import Tile, choose_tile, tallest_tile, tile_of_columns
from tensorop.optimizer.ahead import is_far, is_slow
from tensorop.optimizer.balance import balanced, ceiling, share_of
from tensorop.optimizer.blocks import STEPS, Blocks, block_sizes
from tensorop.optimizer.choice import MODEL, Choice
from tensorop.optimizer.digits import has_tile
from tensorop.optimizer.groups import inputs_in_groups
from tensorop.optimizer.kernel_kind import epilogue_of, kernel_dtype
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.orient import (
    columns_lie,
    output_axis,
    piece_of,
    reads_most,
    summed_axis,
    tiles_are_cut,
)
from tensorop.optimizer.parallelise import BALANCED, busy
from tensorop.optimizer.past import (
    KEEPS_UP,
    Units,
    are_joined,
    by_stage,
    in_lines,
    tiles_leave_caches,
    whole_runs,
)
from tensorop.optimizer.sharing import DIVIDED, Division, Product, Work
from tensorop.optimizer.transfer import MEMORY, bytes_of, level_of
from tensorop.optimizer.window import tabled_part, windowed
from tensorop.schedule import Axis, Call, Loop, Pack, Schedule
from tensorop.tuples import NamedTuple

IN0, IN1 = 0, 1
STRETCH = 1024  # bytes of out that a tile stores side by side, below which more are better
WRITTEN = 4  # times as much as is read: what counts is how tiles are stored
MIN_ROWS = 4  # tiles of a block of M that are enough for a panel of in1 to pay
STAGED = 0.75  # of the team's time that is work: a stage is worth that some of it is not
TURNS = 8  # panels of a block that are enough where packing and the product take turns
PACKED_AT_ONCE = 4  # part of L3 that a team packs of in0 at once
TURNS_AGAIN = 32  # the same where the other input is packed again in every turn
LITTLE = 32  # part of L2 that may be asked for while blocks are multiplied, where L3 is far


def axes_of(op: TensorOp, tile: tuple[int, int]) -> tuple[Axis, ...]:
    """One axis M, N and K each, and an axis for every batch dimension, outermost first.
    tile: the register tile in elements."""
    batch = sorted(op.of_type(DimType.C), key=lambda d: -abs(d.strides[op.out]))
    return (
        *(Axis(f"C{i}", DimType.C, (d,)) for i, d in enumerate(batch)),
        Axis("M", DimType.M, _vector_order(op, *tile)),
        Axis("N", DimType.N, _broadcast_order(op)),
        summed_axis(op),
    )


def _vector_order(op: TensorOp, rows: int, columns: int) -> tuple[Dimension, ...]:
    """M as it lies in out, but for the dimension whose elements share lines of in0: it comes right
    after the rows of a tile, so that a block covers whole lines of in0, not an element of each.

    Where out is as large as in0 (N as long as K), those are the rows that lie side by side in it,
    with no more than the columns of a tile between them. Else they are those of the fastest."""
    *others, fastest = output_axis(op, DimType.M).dimensions
    inside, length = [fastest], fastest.size
    while others and length < rows and not reads_most(op):
        beside, reach = others[-1], inside[0].size * abs(inside[0].strides[op.out])
        if abs(beside.strides[op.out]) > columns * reach:
            break
        inside.insert(0, others.pop())
        length *= beside.size
    return (*_nearest_last(others, IN0, op), *inside)


def _broadcast_order(op: TensorOp) -> tuple[Dimension, ...]:
    """N as it lies in out: the columns of a tile are then neighbours, and do not fall into the same
    few sets of the cache. Only where in1 is larger than out (K longer than M), the dimension whose
    elements share lines of in1 runs fastest; out is addressed by a table, so that any order serves
    it."""
    dims = output_axis(op, DimType.N).dimensions
    larger = op.size_of(DimType.K) > op.size_of(DimType.M)
    return tuple(_nearest_last(dims, IN1, op)) if larger else dims


def _nearest_last(dims: Sequence[Dimension], tensor: int, op: TensorOp) -> list[Dimension]:
    """The dimension with the shortest steps in a tensor runs fastest, if it shares lines there."""
    size = element(op.tensors[tensor].dtype).size
    steps = [abs(d.strides[tensor]) * size for d in dims]
    last = steps.index(min(steps)) if min(steps, default=LINE) < LINE else len(dims)
    return [*dims[:last], *dims[last + 1 :], *dims[last : last + 1]]


def _cut_fastest(op: TensorOp, rows: int, lanes: int) -> TensorOp:
    """Split the fastest M dimension where another one is consecutive in in0: a block then reaches
    far along that one. Vectors are transposed into panels best where they fill them together.
    Where out is as large as in0, whole runs of it count for more."""
    if not tiles_are_cut(op):
        return op
    fastest = output_axis(op, DimType.M).dimensions[-1]
    least = 8 if fastest.size <= rows else 4  # a short one is read far along as it is
    parts = (lanes, lanes // 2, *range(rows, 3, -1))
    fitting = (n for n in parts if n >= least and rows % n == 0 and fastest.size % n == 0)
    inner = next(fitting, fastest.size)
    return _cut(op, fastest, inner) if inner < fastest.size else op


def _cut_summed(op: TensorOp) -> TensorOp:
    """Split the fastest K dimension where the inputs are consecutive along different ones, so that
    a block of K reaches along both."""
    dims = summed_axis(op).dimensions
    if len(dims) < 2:
        return op
    second, fastest = dims[-2:]
    if 1 not in second.strides[:2] or 1 not in fastest.strides[:2]:
        return op
    inner = next((n for n in (*range(16, 49), *range(15, 3, -1)) if fastest.size % n == 0), 0)
    if not inner or inner == fastest.size:
        return op
    return _cut(op, fastest, inner)


def _cut(op: TensorOp, dimension: Dimension, inner: int) -> TensorOp:
    """A dimension as two, the inner one of the given size, which divides it."""
    rest = [d.cut(inner) if d is dimension else (d,) for d in op.dimensions]
    return op.with_dimensions(tuple(d for pair in rest for d in pair))


def blocked(
    op: TensorOp, machine: Machine, threads: int, swapped: bool, choice: Choice = MODEL
) -> Schedule:
    """The five loops for a contraction, in0 being the vector side.

    Parameters
    ----------
    op : TensorOp
        Oriented and fused; at least one K.
    threads : int
        Shares to divide the work into.
    choice : Choice
        What a search has decided of tile, blocks and loop order.
    """
    kind = element(op.dtype)
    op, axes, tile, inputs, matrices = _laid_out(op, machine, choice.tile)
    rows = GemmKernel(op.dtype, tile.vectors, tile.columns).rows(machine.target)
    m_axis, n_axis, k_axis = (tabled_part(axis) for axis in axes[-3:])
    m, n, k = m_axis.size, n_axis.size, k_axis.size
    batch = [a for a in axes if a.type == DimType.C]
    items = prod([a.size for a in batch])
    batch_shared = threads > 1 and (items >= 4 * threads or busy(items, threads) >= BALANCED)
    inner_threads = 1 if batch_shared else threads
    how, parts = _along_one_axis(op, (m_axis, n_axis, k_axis), tile, inner_threads, machine)
    together = kind.accumulator.size // element(inputs[0]).size if inputs else 1
    step = kind.accumulator.size // together  # bytes of a panel for each lane and step of K
    whole = MATRIX * together if matrices else STEPS

    def sized(m: int, n: int, longest: int, sharers: int = 1) -> Blocks:
        lanes, each = (rows, tile.columns), machine._replace(l3=machine.l3 // sharers)
        found = block_sizes(each, kind, (m, n, k), lanes, choice.scales, together, whole)
        return found._replace(mc=min(found.mc, longest))

    local = _local_rows(m_axis, n_axis, op, rows, machine)
    if choice.scales[0] != 1.0:
        local = balanced(m, round(local * choice.scales[0]), rows)
    blocks = sized(*parts, m)
    sharing = inner_threads if how == "rows" else 1
    stored = _stored(op, axes, rows, tile, blocks, sharing, machine)
    if matrices:
        stored = _Stored("columns" if stored.how == "columns" else "scatter", False, axes[-3])
    blocks = blocks._replace(mc=min(blocks.mc, local))
    axes = (*axes[:-3], stored.rows, *axes[-2:])
    lies = not matrices and columns_lie(op, axes[-2], axes[-1], blocks.kc)
    if not lies and inner_threads == 1 and blocks.mc >= m and is_slow(op, IN1, m, machine):
        # Where K is in several blocks, in0 is packed again for every block of in1.
        turns = TURNS if blocks.kc >= k else TURNS_AGAIN
        nc = _turn(machine, n, tile.columns, blocks.kc * step, choice.scales[1], turns)
        blocks = blocks._replace(nc=min(blocks.nc, nc))
    # A product knows what is packed next where its own thread does so, in its own order.
    ask0, ask1 = (
        not choice.rows_first
        and not matrices
        and _asked(op, tensor, blocks, (parts[0], n, k), machine)
        for tensor in (IN0, IN1)
    )
    ask0 &= inner_threads == 1 or how == "rows"
    ask1 &= inner_threads == 1 and not lies
    if (stored.past or stored.units is not None) and ask0:
        mc = _turn(machine, m, rows, blocks.kc * step, choice.scales[0])
        blocks = blocks._replace(mc=min(blocks.mc, mc))
    if stored.units is not None:
        blocks, parts = _in_units(blocks, parts, m, stored.units)
    elif inner_threads > 1 and not _mostly_writes(op):
        work = Work(m, n, k, rows, tile.columns, rows // tile.vectors, lies, inner_threads, items)
        most = machine.l3 // PACKED_AT_ONCE // (blocks.kc * step)
        found = work.in_a_grid(how, blocks, lambda m, n, t: sized(m, n, local, t), most)
        if found is not None:
            (how, blocks, parts), ask0 = found, False
    kernel = GemmKernel(
        kernel_dtype(op),
        tile.vectors,
        tile.columns,
        "packed",
        "consecutive" if lies else "packed",
        stored.how,
        epilogue=epilogue_of(op),
        inputs=inputs,
        asks=ask0 + ask1,
        past=stored.past,
        joined=stored.joined,
        piece=stored.piece,
        near=stored.piece > 0 and bytes_of(op, op.out) <= machine.l2,
        matrices=matrices,
        panels=1 if stored.units is None or inputs else stored.units.panels,
    )
    call = Call(kernel, (0, 1, 2), ("M", "N", "K"))
    pack0 = Pack(IN0, "M", rows, "K", ask0, not ask0 and is_far(op, IN0, machine))
    asks1 = not ask1 and is_far(op, IN1, machine)
    pack1 = () if lies else (Pack(IN1, "N", tile.columns, "K", ask1, asks1),)
    product = Product(blocks, (m, k), pack0, pack1, call, rows_first=bool(choice.rows_first))
    body = product.alone() if inner_threads == 1 else product.shared(how, parts, inner_threads)
    shared = batch_shared or (inner_threads > 1 and how == "apart")
    for axis in reversed(batch):
        body = (Loop(axis.name, 1, ExecType.SHARED if shared else ExecType.SEQ, body),)
    note = _note(kernel, rows, blocks, stored.rows.turned)
    if inner_threads > 1:
        note += f", threads divide {DIVIDED[how]}"
    return windowed(Schedule(op, axes, body, shares=threads, swapped=swapped, notes=(note,)))


def _along_one_axis(
    op: TensorOp, axes: tuple[Axis, Axis, Axis], tile: Tile, threads: int, machine: Machine
) -> tuple[Division, tuple[int, int]]:
    """Which of M and N threads share, if it is one of them, and the part of each that one has."""
    m, n = axes[0].size, axes[1].size
    rows = GemmKernel(op.dtype, tile.vectors, tile.columns).rows(machine.target)
    part = share_of(n, threads, tile.columns)
    even = n / (threads * part)  # columns cost each
    by_columns = even >= BALANCED and _written_by_n(op, axes, tile, machine)
    if by_columns or _evenness(m, rows, threads) < min(BALANCED, even):
        return "columns", (m, part)
    return "rows", (share_of(m, threads, rows), n)


def _note(kernel: GemmKernel, rows: int, blocks: Blocks, turned: tuple[int, int]) -> str:
    """What was decided. turned: by so many rows, of so many each."""
    by, length = turned
    return (
        f"packed: tile {rows}x{kernel.columns}, blocks mc={blocks.mc} nc={blocks.nc} "
        f"kc={blocks.kc}, C stored {kernel.store}{', past the caches' * kernel.past}"
        f"{f', every {length} rows turned by {by}' if by else ''}"
        f"{', B read where it lies' * (kernel.b == 'consecutive')}"
    )


class _Laid(NamedTuple):
    """An operation with its axes, for a register tile; the dtypes of its inputs where panels hold
    groups of steps of K, and whether registers hold matrices of these."""

    op: TensorOp
    axes: tuple[Axis, ...]
    tile: Tile
    inputs: tuple[str, ...]
    matrices: bool


def _laid_out(op: TensorOp, machine: Machine, tile: Tile | None) -> _Laid:
    """By matrices where registers hold them, and nothing else is asked for."""
    inputs, out = [t.dtype for t in op.tensors[:2]], op.dtype
    if tile in (None, MATRIX_TILE) and multiplies_matrices(machine.target, inputs, out):
        found = _with_tile(op, machine, MATRIX_TILE, matrices=True)
        if found.inputs:
            return found
    return _with_tile(op, machine, tile or _model_tile(op, machine), matrices=False)


def _with_tile(op: TensorOp, machine: Machine, tile: Tile, *, matrices: bool) -> _Laid:
    rows = GemmKernel(op.dtype, tile.vectors, tile.columns).rows(machine.target)
    op = _cut_summed(_cut_fastest(op, rows, rows // tile.vectors))
    axes = axes_of(op, (rows, tile.columns))
    # Of long axes a window at a time is blocked, packed and shared.
    m, n, k = (tabled_part(axis) for axis in axes[-3:])
    inputs = inputs_in_groups(op, machine, (m, n), k, matrices=matrices)
    return _Laid(op, axes, tile, inputs, matrices)


def _turn(
    machine: Machine, size: int, lanes: int, depth: int, scale: float, turns: int = TURNS
) -> int:
    """The block of an axis of panels of so many lanes, and bytes of depth, where packing reads
    memory in turns with the product: short turns, but with enough panels."""
    most = round(machine.l2 * 3 / 16 / depth * scale)
    return balanced(size, max(most, turns * lanes), lanes)


def _asked(
    op: TensorOp, tensor: int, blocks: Blocks, sizes: tuple[int, int, int], machine: Machine
) -> bool:
    """Whether the next block of an input is asked for: there is one, it fits into L2, and it comes
    from so far that the time shows. Where L3 is far what is asked for holds up what the loop over K
    needs from L2: more than little takes longer than what it saves (20 of 400 random contractions
    take 0.85 of the time without it on Granite Rapids, one as little as 0.35)."""
    (m, n, k), (mc, nc, kc) = sizes, blocks
    lanes, block, partners = ((m, mc, nc), (n, nc, m))[tensor]
    follows = block < lanes or kc < k
    most = machine.l2 if machine.near_l3 else machine.l2 // LITTLE
    fits = block * kc * element(op.tensors[tensor].dtype).size <= most
    return follows and fits and is_slow(op, tensor, partners, machine)


def _local_rows(m: Axis, n: Axis, op: TensorOp, rows: int, machine: Machine) -> int:
    """The longest block of M that is good for the walk through `out`.

    A kernel stores all of its block of M for a few columns, then for the next few. Where dimensions
    of M lie outside those of N in a large `out`, that would go through all of it for every few
    columns: the block then ends where they begin, or after whole cache lines of in0.
    """
    itemsize = element(op.tensors[IN0].dtype).size
    widest = max((d.strides[op.out] for d in n.dimensions if d.size > 1), default=0)
    inside = prod(d.size for d in m.dimensions if d.strides[op.out] < widest)
    if inside == m.size or m.size * n.size * element(op.dtype).size <= machine.l2:
        return m.size
    whole_lines = 1
    if any(d.strides[IN0] == 1 for d in m.dimensions):
        inner = m.dimensions[::-1]
        read = next(i for i, d in enumerate(inner) if d.strides[IN0] == 1)
        whole_lines = prod(d.size for d in inner[:read]) * min(inner[read].size, LINE // itemsize)
    return balanced(m.size, max(inside, whole_lines, MIN_ROWS * rows), rows)


class _Stored(NamedTuple):
    """How tiles reach out, whether that is past the caches, the rows in the order of that, how many
    are a piece, and of how many a block is a multiple and has at most, if not as many as may be;
    whether the columns of a tile lie one behind the other."""

    how: Store
    past: bool
    rows: Axis
    piece: int = 0
    units: Units | None = None
    joined: bool = False


def _stored(
    op: TensorOp,
    axes: tuple[Axis, ...],
    rows: int,
    tile: Tile,
    blocks: Blocks,
    sharing: int,
    machine: Machine,
) -> _Stored:
    """As columns where the rows of every panel are consecutive in out, as runs where these are no
    shorter than vectors, which are then stored in two parts, as pieces where vectors consist of
    such as are all equally long; by way of a stage where that leaves each of the threads `sharing`
    the rows its part."""
    m, n, k = axes[-3:]
    run, lanes = m.unit_run(op.out), rows // tile.vectors
    how: Store = "scatter"
    if run >= m.size or run % rows == 0:
        how = "columns"
    elif run >= lanes and masks_stores(op.dtype, machine.target):
        how = "runs"
    elif (piece := piece_of(op, run, lanes)) > 1:
        return _Stored("pieces", False, m, piece)
    whole = how != "scatter" and blocks.kc >= k.size
    past = whole and tiles_leave_caches(op, m, lanes if how == "runs" else rows, machine)
    if past and not op.tensors[op.out].begins:
        return _Stored(how, past, m)
    joined = past and are_joined(op, m, n, tile.columns)
    turned = in_lines(op, m, machine, joined=joined) if past else None
    if turned is not None:
        return _Stored("runs", past, turned, joined=joined)
    units = whole_runs(op, (m, n), tile, blocks.mc, machine) if whole else None
    if units is not None and _evenness(tabled_part(m).size, units.rows, sharing) >= STAGED:
        return _Stored("staged", False, m, units=units)
    return _Stored(how, past, m)


def _in_units(
    blocks: Blocks, parts: tuple[int, int], m: int, units: Units
) -> tuple[Blocks, tuple[int, int]]:
    """Blocks and parts of M that consist of units: blocks are perhaps longer than the walk through
    out, or turns of packing, would have them."""
    part = min(m, ceiling(parts[0], units.rows) * units.rows)
    longest = min(blocks.mc, units.most)
    mc = part if part <= longest else balanced(part, longest, units.rows)
    return blocks._replace(mc=mc), (part, parts[1])


def _model_tile(op: TensorOp, machine: Machine) -> Tile:
    """The register tile, if no search has decided it."""
    m, n = op.size_of(DimType.M), op.size_of(DimType.N)
    m_axis, lanes = output_axis(op, DimType.M), GemmKernel(op.dtype, 1, 1).lanes(machine.target)
    run, kind = m_axis.unit_run(op.out), element(op.dtype)
    written = run * kind.size >= LONG_ROW and _mostly_writes(op)
    if written and tiles_leave_caches(op, m_axis, lanes, machine):
        return tallest_tile(machine.target, kind, m, n)
    whole = run % lanes == 0 and masks_stores(op.dtype, machine.target)
    asked = is_slow(op, IN0, n, machine)
    tile = choose_tile(machine.target, kind, m, n, run, whole=whole, busy=asked)
    if tile.columns.bit_count() > 1:
        binary = choose_tile(machine.target, kind, m, n, run, whole=whole, binary=True, busy=asked)
        tile = binary if _fits_better(op, binary.columns, tile.columns) else tile
    if run * tile.columns * kind.size < STRETCH and not by_stage(op, run, machine):
        columns = _columns_together(op, machine)
        if tile.columns < columns:
            return tile_of_columns(machine.target, kind, columns) or tile
    return tile


def _fits_better(op: TensorOp, columns: int, others: int) -> bool:
    """Whether in1 is packed faster into panels of a power of two columns than into others: by
    digits, which then fill vectors; or because these others end within its dimensions."""
    dims = _broadcast_order(op)
    n_axis = Axis("N", DimType.N, dims)
    if has_tile(n_axis, summed_axis(op), IN1, columns, element(op.dtype).parts):
        return True
    inner = list(accumulate((d.size for d in dims[:0:-1]), mul))
    return any(n % others and others % n for n in inner) and not any(
        n % columns and columns % n for n in inner
    )


def _columns_together(op: TensorOp, machine: Machine) -> int:
    """Columns that lie side by side in a large out, rows of M before and behind them: what a tile
    of all of them stores follows what the tile before has stored, as a stream. 1: there are none,
    memory keeps up with any tile, or no tile stores parts of vectors."""
    near = level_of(bytes_of(op, op.out), machine) < MEMORY
    deep = op.size_of(DimType.K) >= KEEPS_UP
    if near or deep or not masks_stores(op.dtype, machine.target):
        return 1
    m, n = (output_axis(op, side) for side in (DimType.M, DimType.N))
    run = m.unit_run(op.out)
    columns = n.even_run(op.out, run)
    follows = any(d.strides[op.out] == run * columns for d in m.dimensions)
    return columns if follows else 1


def _evenness(size: int, lanes: int, threads: int) -> float:
    """The part of the team's time that is work when the panels of an axis are shared."""
    return busy(ceiling(size, lanes), threads)


def _written_by_n(
    op: TensorOp, axes: tuple[Axis, Axis, Axis], tile: Tile, machine: Machine
) -> bool:
    """Whether a product mostly writes, M lies inside N in out, and is a single block: threads that
    share N then write an area each, and in1 is packed once all the same."""
    m, n, k = axes
    reach = max(abs(d.strides[op.out]) for d in m.dimensions)
    if not _mostly_writes(op) or all(abs(d.strides[op.out]) < reach for d in n.dimensions):
        return False
    rows = GemmKernel(op.dtype, tile.vectors, tile.columns).rows(machine.target)
    sizes = m.size, n.size, k.size
    return block_sizes(machine, element(op.dtype), sizes, (rows, tile.columns)).mc >= m.size


def _mostly_writes(op: TensorOp) -> bool:
    return bytes_of(op, op.out) >= WRITTEN * (bytes_of(op, IN0) + bytes_of(op, IN1))
