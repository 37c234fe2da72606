"""Results that are stored past the caches.

A line that is written in part is read first, and what is written drives out what is there. Both are
for nothing where a result is written once, in whole lines, and is more than the caches keep until
somebody reads it: copies of 64 MB take half the time.
"""

from __future__ import annotations

from math import lcm

from tensorop.ir import DimType, Primitive, TensorOp
from tensorop.jit.elements import element
from tensorop.jit.gemm_abi import MOST_RUNS, panels_on_stage, stores_stretches
from tensorop.jit.lines import LINE, LONG_ROW
from tensorop.jit.tiles import Tile
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.transfer import outgrows_l3
from tensorop.optimizer.window import are_alike, tabled_part, windows
from tensorop.schedule import Axis
from tensorop.tuples import NamedTuple

KEEPS_UP = 72  # terms of a sum in whose time a line is read, and written
LONG_CALL = 1 << 14  # bytes of out in a call that its fence is nothing against


class Units(NamedTuple):
    """Of what blocks by way of a stage consist: multiples of so many `rows`, whole runs and whole
    tiles, at most `most`; `panels` of columns that the stage has together."""

    rows: int
    most: int
    panels: int


def tiles_leave_caches(op: TensorOp, m: Axis, rows: int, machine: Machine) -> bool:
    """Whether the tiles of a matrix product are stored past the caches: whole lines of an out that
    leaves them, if that begins with a line.

    Parameters
    ----------
    m : Axis
        All rows.
    rows : int
        Of a tile, where these are consecutive in out; or of a vector, of runs that are longer.
    """
    kind, out = element(op.dtype), op.out
    if kind.parts > 1 or kind.half or not kind.vectorises:
        return False
    run = m.unit_run(out)
    steps = [abs(d.strides[out]) for d in op.dimensions if abs(d.strides[out]) >= run]
    if run < m.size:
        steps.append(run)
    whole = not any(step * kind.size % LINE for step in (rows, *steps))
    return whole and leaves_caches(op, machine, sums_inside=True)


def are_joined(op: TensorOp, m: Axis, n: Axis, columns: int) -> bool:
    """Whether the columns of every full tile lie one behind the other in out."""
    n = tabled_part(n)
    beside = n.even_run(op.out, tabled_part(m).unit_run(op.out))
    return beside == n.size or beside % columns == 0


def in_lines(op: TensorOp, m: Axis, machine: Machine, *, joined: bool) -> Axis | None:
    """All rows of tiles that leave the caches, in an order in which vectors are whole lines of an
    out that begins within one: stretches that lie side by side in it begin with the first element
    of a line, and end with those before it. None where that cannot be, or is not worth it.

    joined: columns lie one behind the other.
    """
    kind, begins = element(op.dtype), op.tensors[op.out].begins
    run = tabled_part(m).unit_run(op.out)
    by, left = divmod(-begins % LINE, kind.size)
    long = joined or run * kind.size >= LONG_ROW
    whole = left == 0 and run * kind.size % LINE == 0 and long
    stored = kind.part in machine.target.masked
    return m._replace(turned=(by, run)) if whole and stored and are_alike(m) else None


def whole_runs(
    op: TensorOp, sides: tuple[Axis, Axis], tile: Tile, longest: int, machine: Machine
) -> Units | None:
    """Of what blocks consist where tiles reach out by way of a stage (`jit/gemm_stage.py`). None
    where they do not: out stays in the caches; its runs are shorter than a line, or so long that a
    stage or a block cannot hold them; sums are so long that memory keeps up with them; or the
    columns of a tile do not lie side by side.

    Parameters
    ----------
    sides : (Axis, Axis)
        All rows, and all columns.
    longest : int
        Rows of a block.
    """
    m, n = sides
    size, run = element(op.dtype).size, m.unit_run(op.out)
    if not by_stage(op, run, machine):
        return None
    rows, run_bytes = tile.vectors * LINE // size, run * size
    unit, most = lcm(run, rows), MOST_RUNS * run
    beside = min(n.even_run(op.out, run), tile.columns)
    stretches = beside * run_bytes >= LONG_ROW
    whole = not any(block % run for block in windows(m))
    panels = panels_on_stage(run, rows, tile.columns, size)
    fits = panels and min(unit, m.size) <= min(longest, most)
    return Units(unit, most, panels) if stretches and whole and fits else None


def by_stage(op: TensorOp, run: int, machine: Machine) -> bool:
    """Whether runs of so many rows are worth a stage, where that holds them: see `whole_runs`."""
    deep = op.size_of(DimType.K) >= KEEPS_UP
    short = run * element(op.dtype).size < LINE
    if deep or short or not stores_stretches(op.dtype, machine.target):
        return False
    return leaves_caches(op, machine, sums_inside=True)


def leaves_caches(op: TensorOp, machine: Machine, sums_inside: bool = False) -> bool:
    """Whether out is stored once and for all, and most of it would be gone from the caches before
    somebody else reads it.

    Parameters
    ----------
    op : TensorOp
    machine : Machine
    sums_inside : bool
        Sums are complete before they are stored.
    """
    again = op.of_type(DimType.K) and not sums_inside
    touched = op.first_touch == Primitive.COPY or op.last_touch != Primitive.NONE
    return not again and not touched and outgrows_l3(op, machine)
