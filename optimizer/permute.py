"""A permuting copy: consecutive addresses on both sides, whatever the permutation.

The dimensions that step least in the source form one axis (X), those that step least in the target
another (Y); a tile of both is transposed in registers. Small leading dimensions are grouped until
a tile is full: an axis may run over several dimensions, since the kernel reads and stores through
offset tables. Where source and target share their fastest dimension there is nothing to transpose:
runs of it are moved along Y. The other dimensions are loops, in the order of the target. What does
not fit in the caches is read and written in longer runs.

Source: Springer, Su, Bientinesi, HPTT: a high-performance tensor transposition C++ library (2017).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from math import prod
from typing import NamedTuple

from tensorop.ir import Dimension, DimType, ExecType, Primitive, TensorOp
from tensorop.jit.copy_abi import ALONG, LARGEST_TILE, ROOM, CopyKernel, CopyMode
from tensorop.jit.elements import element
from tensorop.jit.target import SEGMENT, Target
from tensorop.optimizer.balance import balanced
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.window import LONGEST, tabled_part, windowed
from tensorop.schedule import Axis, Call, Loop, Schedule, Step

FULL = 64  # positions of an axis that make a tile worthwhile
BLOCK = 128  # positions of X and of Y in one call: source and target lines of a block fit in L1
PAGE = 4096  # bytes of X in a call, for a large target: hardware prefetches within a page
LONG_Y = 512  # positions of Y then
LONG_CALL = 4096  # the same for a target that only memory holds, whose lines are to be whole: the
# first and last rows of a call are none. Half of that page, and of LONG_Y, is enough for a call.
RUN = 4096  # positions of X in a call that nothing holds up
PART = 1 << 12  # positions that are enough for an axis of which a dimension has only a part
SHARED_ROWS = 64  # positions of Y for each thread, below which those of X are shared
LONG_RUN = 512  # bytes in a row of the target that make whole lines worth waiting for
IN, OUT = 0, 1


class _Way(NamedTuple):
    """How to go about a copy.

    mode: of its kernel. enough: positions of X and of Y that need no further dimension. table:
    positions of an axis that offset tables may cover. columns, rows: most positions of X and of Y
    in one call.
    """

    mode: CopyMode
    enough: tuple[int, int]
    table: int
    columns: int
    rows: int


def permute(op: TensorOp, machine: Machine, threads: int) -> Schedule:
    """The schedule of a copy between two layouts.

    Parameters
    ----------
    op : TensorOp
        Fused; all C.
    """
    way = _way(op, machine)
    x_dims, y_dims, rest = _grouped(op, way.enough, way.table)
    if way.mode == "streaming" and _returns(x_dims[-1].strides[OUT], op.dtype, machine):
        way = way._replace(mode="windowed")
    op = op.with_dimensions((*rest, *y_dims, *x_dims))
    x, y = Axis("X", DimType.C, tuple(x_dims)), Axis("Y", DimType.C, tuple(y_dims))
    # The conjugate of what is read conjugated is what lies there.
    conj = op.tensors[IN].conj != (op.main == Primitive.CONJ)
    kernel = CopyKernel(op.dtype, op.dtype, way.mode, conj=conj)
    if way.mode not in ALONG:
        run = y.unit_run(OUT)
        kernel = replace(kernel, tile=_tile(x.unit_run(IN), run))
        kernel = replace(kernel, squares=_squares(kernel, run, machine.target))
    call = Call(kernel, (IN, OUT), ("X", "Y"))
    rest.sort(key=lambda d: -abs(d.strides[OUT]))
    outer = [Axis(f"C{i}", DimType.C, (d,)) for i, d in enumerate(rest)]
    share_loops = threads > 1 and prod(axis.size for axis in outer) >= 2 * threads
    # Y goes outside, so that a row of the source is read on and on; X where threads share it.
    blocks = [(x, way.columns), (y, way.rows)]
    sharers = 1 if share_loops else threads
    if sharers > 1 and (way.mode == "woven" or y.size < min(x.size, SHARED_ROWS * threads)):
        blocks.reverse()
    body = _looped((call,), *blocks[0], 1)
    body = _looped(body, *blocks[1], sharers)
    for axis in reversed(outer):
        how = ExecType.SHARED if share_loops else ExecType.SEQ
        body = (Loop(axis.name, 1, how, body),)
    note = f"copy {way.mode}: X over {_names(x_dims)}, Y over {_names(y_dims)}"
    return windowed(Schedule(op, (*outer, x, y), body, shares=threads, notes=(note,)))


def _way(op: TensorOp, machine: Machine) -> _Way:
    """By where source and target lie, and by what level of memory holds them."""
    size = element(op.dtype).size
    held = prod(d.size for d in op.dimensions) * size
    enough, table, rows = (FULL, FULL), LONGEST, BLOCK
    # Half of a cache: source and target together are more than it holds. An eighth of L3: others
    # use it, too.
    huge = held > machine.l3 // 2
    near = machine.l3 // 8 if machine.near_l3 else machine.l2 // 2
    large = huge or (held > near and _run(op) * size >= LONG_RUN)
    if huge:  # long runs count, wherever they end
        enough, table, rows = (PAGE // size // 2, LONG_Y // 2), sys.maxsize, LONG_CALL
    elif large:
        enough, rows = (PAGE // size, LONG_Y), LONG_Y
    if op.dimensions and _nearest(op.dimensions, IN).strides[OUT] == 1:
        conj = op.main == Primitive.CONJ or op.tensors[IN].conj
        return _Way("rows" if huge and not conj else "along", enough, table, RUN, BLOCK)
    if huge and _weaves(op, size):
        return _Way("woven", (1, 1), table, RUN, rows)
    if large:
        return _Way("streaming", enough, table, PAGE // size, rows)
    return _Way("across", enough, table, BLOCK, rows)


def _returns(step: int, dtype: str, machine: Machine) -> bool:
    """Whether neighbouring columns lie so far apart in the target that one part of L3 would take
    all of their lines."""
    return machine.turn > 0 and step * element(dtype).size % machine.turn == 0


def _nearest(dimensions: Iterable[Dimension], tensor: int) -> Dimension:
    """The dimension that steps least in a tensor."""
    return min(dimensions, key=lambda d: abs(d.strides[tensor]) or 1 << 62)


def _weaves(op: TensorOp, size: int) -> bool:
    """Whether what is a long run of the source lies in steps of a short run in the target: all of a
    block is then one run of it."""
    x, y = (next((d for d in op.dimensions if d.strides[t] == 1), None) for t in (IN, OUT))
    if x is None or y is None or x is y or x.strides[OUT] != y.size:
        return False
    whole = tabled_part(Axis("Y", DimType.C, (y,))).size == y.size
    if not (whole and LARGEST_TILE <= y.size <= ROOM // (4 * LARGEST_TILE * size)):
        return False
    # Long runs of the source, or short ones that follow one another, and of the target a long one.
    dense = y.strides[IN] == x.size and x.size * y.size * size >= PAGE
    return dense or 4 * x.size * size >= PAGE


def _looped(body: tuple[Step, ...], axis: Axis, most: int, threads: int) -> tuple[Step, ...]:
    """The body for blocks of an axis, of at most so many positions; threads share them."""
    block = balanced(axis.size, most, 64)
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


def _names(dims: list[Dimension]) -> str:
    return ", ".join(f"{d.name or d.type}={d.size}" for d in dims) or "nothing"


def _grouped(
    op: TensorOp, full: tuple[int, int], table: int
) -> tuple[list[Dimension], list[Dimension], list[Dimension]]:
    """The dimensions of X and Y, outermost first: by turns the next one in the source and the next
    one in the target, while they are needed to fill a tile, and as much of them as a table may
    cover. And all others, which are loops."""
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
    return x, y, rest


def _cut(d: Dimension, enough: int, most: int) -> tuple[Dimension, Dimension]:
    """A dimension as a loop over parts and a part: the shortest of enough positions that divides
    it, or, without one, the longest that is not too long."""
    divisors = [n for n in range(1, min(most, d.size) + 1) if d.size % n == 0]
    inner = next((n for n in divisors if n >= enough), divisors[-1])
    strides = tuple(inner * s for s in d.strides)
    return d._replace(size=d.size // inner, strides=strides), d._replace(size=inner)
