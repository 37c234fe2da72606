"""A permuting copy: consecutive addresses on both sides, whatever the permutation.

The dimensions that step least in the source form one axis (X), those that step least in the target
another (Y); a tile of both is transposed in registers. Small leading dimensions are grouped until
a tile is full: an axis may run over several dimensions, since the kernel reads and stores through
offset tables. Where source and target share their fastest dimension there is nothing to transpose:
runs of it are moved along Y. The other dimensions are loops, in the order of the target. What does
not fit in the caches goes down long bands (optimizer/bands.py), region by region
(optimizer/regions.py), or in longer runs. Regions are stored in runs of several lines, and so come
first where single lines of the target would collide in memory.

Source: Springer, Su, Bientinesi, HPTT: a high-performance tensor transposition C++ library (2017).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from math import prod

from tensorop.ir import Dimension, DimType, ExecType, Primitive, TensorOp
from tensorop.jit.copy_abi import (
    LARGEST_TILE,
    STAGE,
    CopyKernel,
    CopyMode,
    band_columns,
    line_squares,
)
from tensorop.jit.elements import element
from tensorop.jit.lines import LINE
from tensorop.jit.target import SEGMENT, Target
from tensorop.optimizer.balance import balanced
from tensorop.optimizer.bands import bands
from tensorop.optimizer.interleave import MOST
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.permute_digits import permute_digits
from tensorop.optimizer.regions import regions
from tensorop.optimizer.transfer import PAGE, lines_held
from tensorop.optimizer.window import LONGEST, tabled_part, windowed
from tensorop.schedule import Axis, Call, Loop, Schedule, Step

FULL = 64  # positions of an axis that make a tile worthwhile
BLOCK = 128  # positions of X and of Y in one call: source and target lines of a block fit in L1
LONG_BLOCK = 1024  # of X, of rows that come from memory one by one
ROWS = 4096  # positions of Y in a call that goes down a band, which is not interrupted
RUN = 4096  # positions of X in a call that nothing holds up
PART = 1 << 12  # positions that are enough for an axis of which a dimension has only a part
SHARED_ROWS = 64  # positions of Y for each thread, below which those of X are shared
FAR = 1 << 11, 256  # bytes of X and positions of Y that are enough of rows that only memory holds
WAYS = 8  # lines of a set of L1, at least
SMALL = 8  # lanes of tiles whose rows a set holds
ROOM = 24 << 10  # bytes of a stage; half of a larger L1: lines of the source need the other half
WORD_BYTES = 8
COLLISION = 512  # bytes: memory takes lines that lie multiples of it apart 2.5 times as slowly
LONG_ROWS = 192  # bytes of rows that are stored line by line wherever they begin
LONG_RUN = 512  # bytes in a row of the target that make whole lines worth waiting for
IN, OUT = 0, 1


def permute(op: TensorOp, machine: Machine, threads: int) -> Schedule:
    """The schedule of a copy between two layouts.

    Parameters
    ----------
    op : TensorOp
        Fused; all C.
    """
    if op.dimensions and _nearest(op.dimensions, IN).strides[OUT] == 1:
        found = _short_rows(op, machine, threads)
        return found or _rows(op, threads, _is_huge(op, machine))
    ways = (staged, banded) if _columns_collide(op, machine) else (banded, staged)
    found = next(filter(None, (way(op, machine, threads) for way in ways)), None)
    found = found or permute_digits(op, machine, threads)
    if found is not None:
        return found
    x, y, rest = _grouped(op, (FULL, FULL), LONGEST)
    kernel = _tiled(op, "across", x.unit_run(IN), y.unit_run(OUT), machine.target)
    # Lines of the target get their parts from one tile after the other.
    size = element(op.dtype).size
    held = max(_lines_held(x, OUT, size), LARGEST_TILE if size == 1 else SMALL)
    if held < kernel.lanes(machine.target) and size > 1:
        kernel = kernel._replace(tile=SMALL, squares=1)
    columns = min(held, BLOCK)
    if machine.from_memory:
        kernel, columns = kernel._replace(asks=True), max(held, LONG_BLOCK)
    return _blocked(op, kernel, (x, y), rest, (columns, BLOCK), threads)


def _is_huge(op: TensorOp, machine: Machine) -> bool:
    """Whether source and target together are more than the last cache keeps."""
    return _bytes(op) > min(machine.l3, machine.kept) // 2


def _goes_past_caches(op: TensorOp, machine: Machine) -> bool:
    """Whether most of the target would be gone from the caches before anybody reads it."""
    # An eighth of L3: others use it, too.
    near = machine.l3 // 8 if machine.near_l3 else machine.l2 // 2
    long = _run(op) * element(op.dtype).size >= LONG_RUN
    return _is_huge(op, machine) or (long and _bytes(op) > near)


def _columns_collide(op: TensorOp, machine: Machine) -> bool:
    """Whether lines of neighbouring columns, stored one by one, hinder one another in memory more
    than a stage costs. Those of several dimensions do so less than a stage that is most of L1: of
    64^4 in float32, without one, 0.7 of the time on a Zen 4, of 32 KB, and 1.25 on a Zen 5."""
    apart = abs(_nearest(op.dimensions, IN).strides[OUT]) * element(op.dtype).size
    pays = len(op.dimensions) == 2 or 2 * _room(machine) <= machine.l1
    return pays and apart % COLLISION == 0


def _bytes(op: TensorOp) -> int:
    return prod(d.size for d in op.dimensions) * element(op.dtype).size


def _rows(op: TensorOp, threads: int, huge: bool) -> Schedule:
    """Source and target share their fastest dimension."""
    bytes_, rows = FAR
    enough = (bytes_ // element(op.dtype).size, rows) if huge else (FULL, FULL)
    x, y, rest = _grouped(op, enough, sys.maxsize if huge else LONGEST)
    conj = _conjugates(op)
    plain = not conj and op.main != Primitive.CONJ
    kernel = CopyKernel(op.dtype, op.dtype, "rows" if huge and plain else "along", conj=conj)
    return _blocked(op, kernel, (x, y), rest, (RUN, BLOCK), threads)


def _short_rows(op: TensorOp, machine: Machine, threads: int) -> Schedule | None:
    """The same, of rows that are not long and no lines: region by region, as if they were elements.
    None where the caches hold all, or others do not lie whole rows apart."""
    row, size = _nearest(op.dimensions, IN), element(op.dtype).size
    others = [d for d in op.dimensions if d is not row]
    whole = not any(step % row.size for d in others for step in d.strides)
    short = row.size * size < LONG_ROWS and row.size * size % LINE
    plain = not _conjugates(op) and op.main != Primitive.CONJ
    if not (others and whole and short and plain and _is_huge(op, machine)):
        return None
    apart = {d._replace(strides=tuple(s // row.size for s in d.strides)): d for d in others}
    vector, room = machine.target.vector_bytes, _room(machine)
    found = regions([*apart], row.size * size, vector, room)
    if found is None or len(apart) < len(others):
        return None
    x, y, rest = ([apart[d] for d in dims] for dims in (found.x, found.y, found.rest))
    kernel = CopyKernel(op.dtype, op.dtype, "staged", row=row.size)
    parts = found.columns, found.rows * row.size
    return _by_regions(op, kernel, (x, [*y, row], rest), parts, threads)


def _blocked(
    op: TensorOp,
    kernel: CopyKernel,
    sides: tuple[Axis, Axis],
    rest: list[Dimension],
    most: tuple[int, int],
    threads: int,
) -> Schedule:
    """Blocks of both axes, inside loops over the rest; threads share the loops, or one axis."""
    (x, y), (columns, rows) = sides, most
    op = op.with_dimensions((*rest, *y.dimensions, *x.dimensions))
    call = Call(kernel, (IN, OUT), ("X", "Y"))
    rest.sort(key=lambda d: -abs(d.strides[OUT]))
    outer = [Axis(f"C{i}", DimType.C, (d,)) for i, d in enumerate(rest)]
    share_loops = threads > 1 and prod(axis.size for axis in outer) >= 2 * threads
    # Y goes outside, so that a row of the source is read on and on; X where threads share it.
    blocks = [(x, columns), (y, rows)]
    sharers = 1 if share_loops else threads
    if sharers > 1 and y.size < min(x.size, SHARED_ROWS * threads):
        blocks.reverse()
    body = _looped((call,), *blocks[0], 1)
    body = _looped(body, *blocks[1], sharers)
    for axis in reversed(outer):
        how = ExecType.SHARED if share_loops else ExecType.SEQ
        body = (Loop(axis.name, 1, how, body),)
    return windowed(Schedule(op, (*outer, x, y), body, threads, notes=(_note(kernel, x, y),)))


def banded(op: TensorOp, machine: Machine, threads: int) -> Schedule | None:
    """Band by band; None where the caches hold all, or there are no long rows and columns."""
    size = element(op.dtype).size
    if size > LINE // 4 or not machine.target.shifts_lines(size) or _conjugates(op):
        return None
    found = bands(op.dimensions, size) if _goes_past_caches(op, machine) else None
    if found is None:
        return None
    x, y = Axis("X", DimType.C, tuple(found.x)), Axis("Y", DimType.C, tuple(found.y))
    kernel = CopyKernel(op.dtype, op.dtype, "lines", squares=line_squares(size))
    return _blocked(op, kernel, (x, y), found.rest, (band_columns(size), ROWS), threads)


def staged(op: TensorOp, machine: Machine, threads: int) -> Schedule | None:
    """Region by region, in the order of the target; None where the caches hold all, or there are no
    runs in the target."""
    size, vector = element(op.dtype).size, machine.target.vector_bytes
    if not _goes_past_caches(op, machine):
        return None
    found = regions(op.dimensions, size, vector, _room(machine))
    if found is None:
        return None
    x, y = Axis("X", DimType.C, tuple(found.x)), Axis("Y", DimType.C, tuple(found.y))
    columns, rows = min(x.unit_run(IN), found.columns), min(y.unit_run(OUT), found.rows)
    kernel = _channels(op, (x, y), (columns, rows), machine.target)
    if kernel is None:
        kernel = _tiled(op, "staged", columns, rows, machine.target)
        if kernel.rows(machine.target) > _lines_held(y, IN, size):
            # Small ones, of which the next one finds the lines of its rows still there.
            kernel = kernel._replace(tile=LARGEST_TILE if size == 1 else SMALL, squares=1)
    sides = found.x, found.y, found.rest
    return _by_regions(op, kernel, sides, (found.columns, found.rows), threads)


def _room(machine: Machine) -> int:
    """Bytes of a stage."""
    return min(STAGE, machine.l1, max(ROOM, machine.l1 // 2))


def _by_regions(
    op: TensorOp,
    kernel: CopyKernel,
    sides: tuple[list[Dimension], list[Dimension], list[Dimension]],
    parts: tuple[int, int],
    threads: int,
) -> Schedule:
    """Loops over regions, of so many positions of X and Y, in the order of the target."""
    *both, rest = sides
    x, y = (Axis(name, DimType.C, tuple(dims)) for name, dims in zip("XY", both, strict=True))
    rest = sorted(rest, key=lambda d: -abs(d.strides[OUT]))
    op = op.with_dimensions((*rest, *y.dimensions, *x.dimensions))
    body: tuple[Step, ...] = (Call(kernel, (IN, OUT), ("X", "Y")),)
    outer = [Axis(f"C{i}", DimType.C, (d,)) for i, d in enumerate(rest)]
    blocks = [*((axis, 1) for axis in outer), (y, parts[1]), (x, parts[0])]
    blocks = [(axis, block) for axis, block in blocks if block < axis.size]
    for axis, block in sorted(blocks, key=lambda found: abs(found[0].dimensions[0].strides[OUT])):
        how = ExecType.SHARED if threads > 1 else ExecType.SEQ
        body = (Loop(axis.name, block, how, body),)
    note = f"{_note(kernel, x, y)}; regions of {parts[0]} by {parts[1]}"
    return Schedule(op, (*outer, x, y), body, threads, notes=(note,))


def _conjugates(op: TensorOp) -> bool:
    """The conjugate of what is read conjugated is what lies there."""
    return op.tensors[IN].conj != (op.main == Primitive.CONJ)


def _note(kernel: CopyKernel, x: Axis, y: Axis) -> str:
    return f"copy {kernel.mode}: X over {_names(x.dimensions)}, Y over {_names(y.dimensions)}"


def _tiled(op: TensorOp, mode: CopyMode, columns: int, rows: int, target: Target) -> CopyKernel:
    """The kernel that transposes tiles, of runs of so many columns in the source and rows in the
    target."""
    tile = _tile(columns, rows)
    kernel = CopyKernel(op.dtype, op.dtype, mode, conj=_conjugates(op), tile=tile)
    return kernel._replace(squares=_squares(kernel, rows, target))


def _nearest(dimensions: Iterable[Dimension], tensor: int) -> Dimension:
    """The dimension that steps least in a tensor."""
    return min(dimensions, key=lambda d: abs(d.strides[tensor]) or 1 << 62)


def _looped(body: tuple[Step, ...], axis: Axis, most: int, threads: int) -> tuple[Step, ...]:
    """The body for blocks of an axis, of at most so many positions; threads share them."""
    block = balanced(axis.size, most, min(64, most))
    if threads > 1:
        size = tabled_part(axis).size
        block = min(block, balanced(size, max(1, size // (4 * threads)), 16))
        return (Loop(axis.name, block, ExecType.SHARED, body),)
    return (Loop(axis.name, block, ExecType.SEQ, body),) if block < axis.size else body


def _tile(*runs: int) -> int:
    """Lanes of the tiles: what the shorter run of consecutive elements fills. Runs of other than
    four that are shorter than eight are moved as parts of large tiles: those are fewer."""
    shortest = min(runs)
    return next(
        (n for n in (LARGEST_TILE, 8) if n <= shortest), 4 if shortest == 4 else LARGEST_TILE
    )


def _channels(
    op: TensorOp, sides: tuple[Axis, Axis], runs: tuple[int, int], target: Target
) -> CopyKernel | None:
    """The kernel for tiles of a few columns that lie beside one another in the source, or of a few
    rows that do so in the target; None where they do not, or are lines: those are squares."""
    size = element(op.dtype).size
    if size > WORD_BYTES or _conjugates(op):
        return None
    for joins, run, other, tensor in ((False, *runs, IN), (True, *runs[::-1], OUT)):
        positions = sides[0 if joins else 1].dimensions[-1]
        few = 1 < run <= MOST and run * size < LINE
        beside = few and positions.strides[tensor] == run
        vector = next((n for n in (target.picks(size), SEGMENT) if n <= other * size), 0)
        if beside and vector:
            return CopyKernel(
                op.dtype, op.dtype, "staged", channels=run, joins=joins, vector=vector
            )
    return None


def _lines_held(axis: Axis, tensor: int, size: int) -> int:
    """How many positions of an axis have lines of a tensor that L1 holds at a time, one of each:
    these are read again, or written in parts."""
    step = abs(axis.dimensions[-1].strides[tensor]) * size
    return lines_held(step, WAYS * PAGE, PAGE)


def _squares(kernel: CopyKernel, run: int, target: Target) -> int:
    """Square tiles that fill a vector with their columns, where a square is a segment of it that
    shuffles stay within; no more than are in a run of the target."""
    lanes, carried = kernel.lanes(target), kernel.carried()
    size = carried.stored.size * carried.units
    if carried.conj or lanes * size < SEGMENT:
        return 1
    most = min(target.vector_bytes // (lanes * size), run // lanes)
    return 1 << max(0, most.bit_length() - 1)


def _run(op: TensorOp) -> int:
    """Elements in a row of the target that are none of the source."""
    run = 1
    for d in sorted(op.dimensions, key=lambda d: abs(d.strides[OUT])):
        if d.strides[OUT] != run or d.strides[IN] == 1:
            break
        run *= d.size
    return run


def _names(dims: Iterable[Dimension]) -> str:
    return ", ".join(f"{d.name or d.type}={d.size}" for d in dims) or "nothing"


def _grouped(op: TensorOp, full: tuple[int, int], table: int) -> tuple[Axis, Axis, list[Dimension]]:
    """X and Y: by turns the next dimension in the source and the next one in the target, while they
    are needed to fill a tile, and as much of them as a table may cover. And all others, which are
    loops."""
    rest = list(op.dimensions)
    x: list[Dimension] = []
    y: list[Dimension] = []

    for _ in op.dimensions:
        for group, tensor, enough in ((x, IN, full[0]), (y, OUT, full[1])):
            size = prod(d.size for d in group)
            if not rest or (group and size >= enough):
                continue
            whole = part = _nearest(rest, tensor)
            others = [d for d in rest if d is not whole]
            if group and size * whole.size > table:
                outer, part = _cut(whole, PART // size, table // size)
                if part.size < 2:
                    continue
                others.append(outer)
            group.insert(0, part)
            rest = others
    return Axis("X", DimType.C, tuple(x)), Axis("Y", DimType.C, tuple(y)), rest


def _cut(d: Dimension, enough: int, most: int) -> tuple[Dimension, Dimension]:
    """A dimension as a loop over parts and a part: the shortest of enough positions that divides
    it, or, without one, the longest that is not too long."""
    divisors = [n for n in range(1, min(most, d.size) + 1) if d.size % n == 0]
    inner = next((n for n in divisors if n >= enough), divisors[-1])
    return d.cut(inner)
