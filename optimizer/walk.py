"""How a stream kernel walks through memory: decisions of `nest.py`, from where X and Y lie.

A kernel goes along X by vectors, for all rows Y of a call. What it had better do follows from the
level of the caches that holds the tensors, and from what the hardware reads ahead by itself: how
many rows and how much of each a call has, which inputs it asks for, and whether rows that are
summed go one after the other.
"""

from __future__ import annotations

from math import prod

from tensorop.ir import SCALED, Dimension, DimType, ExecType, TensorOp
from tensorop.jit.elements import element
from tensorop.jit.lines import LINE, LONG_ROW
from tensorop.jit.stream_abi import StreamKernel
from tensorop.optimizer.balance import longest_sum
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.strands import strands
from tensorop.optimizer.transfer import MEMORY, PAGE, all_bytes, bytes_of, level_of, outgrows_l3
from tensorop.schedule import Axis

STREAM_BLOCK = 1 << 20  # elements of one stream call: below about 10 ms, to look for interruption
LONG_ROWS = 2048  # bytes of rows in L3 that the hardware has found before they end
SOME_LINES = 320  # of such, end to end, which are worth asking for where L3 is near
ROW_LINES = 2  # of a row, up to which several are as one
STRIP = 256  # bytes of a row that a call goes down along: of more, it comes back to all the rows


def stream_order(op: TensorOp) -> tuple[Dimension | None, Dimension | None]:
    """The PRIM dimensions as (outer, inner) axes of a stream kernel."""
    prim = [d for d in op.dimensions if d.exec == ExecType.PRIM]
    rows, inner = [None, None, *prim][-2:]
    return rows, inner


def width(op: TensorOp, x: Axis, y: Axis, machine: Machine) -> int:
    """How many registers a row takes, where they have room for the sums of all of it: the rows are
    then read one after the other, as they lie, and out once. An even number, so that there are
    fewer kernels; 0 where there are too many, or parts of vectors have their price. Calls of half
    types go down all rows, whatever part of them they go along, which are far from one another: of
    rows from memory it is a large part."""
    kind = element(op.dtype)
    vectors = -(-x.size // machine.lanes(op.dtype)) * kind.parts
    fits = vectors <= machine.target.registers * 3 // 4
    long = x.size * kind.size > STRIP
    wide = y.type == DimType.K != x.type and long and machine.target.free_masks
    if kind.half:
        wide &= outgrows_l3(op, machine)
        return wide * (-(-vectors // 2) * 2 if fits else machine.target.registers // 2)
    return -(-vectors // 2) * 2 if wide and fits else 0


def asked(op: TensorOp, x: Axis, y: Axis, machine: Machine) -> list[bool]:
    """Which inputs are asked for: large ones where all is more than the caches hold. For sums along
    X, of which a vector is no more than a load and an addition, and for short rows, also those that
    only L3 holds. Where the hardware follows long rows by itself, only these are: others, in L3, or
    in memory if L3 is far. Where it is near, even asking for these costs more than it saves (on
    a Zen 4, 70 random contractions take 0.91 of the time without it), but for rows of some lines
    which are multiplied by what stays nearer."""
    held = [bytes_of(op, t) for t in range(len(op.tensors))]
    row, level = x.size * element(op.dtype).size, level_of(sum(held), machine)
    large = [each > machine.l2 for each in held[:-1]]
    if element(op.dtype).half and 0 < width(op, x, y, machine) < x.size // machine.lanes(op.dtype):
        return large  # row by row, of each a part
    far = row <= STRIP or x.type == DimType.K or level == MEMORY
    if not machine.asks_in_rows:
        far &= row <= LONG_ROWS and (level < MEMORY or not machine.near_l3)
        if machine.near_l3:
            _, alone = _end_to_end(op, x, y, machine)
            beside = large in ([True, False], [False, True])
            far &= x.type == DimType.K and beside and row >= (SOME_LINES if alone else LONG_ROW)
    return [far and each for each in large]


def in_turn(op: TensorOp, x: Axis, y: Axis, machine: Machine) -> bool:
    """Whether rows that are summed lie end to end in memory: one after the other they are a single
    stream, which the hardware follows; it does not follow several that are near one another, unless
    all of them are a few lines. What all rows have in common has to stay in L1: where it comes from
    L2 for every row, several rows at a time that share it are faster. So they are from L3, and from
    memory if L3 is far, where rows are long, share anything, or are asked for; and rows from memory
    that share anything and are asked for, up to the length that the hardware takes to follow."""
    level, large = _end_to_end(op, x, y, machine)
    if x.type != DimType.K or not large:
        return False
    row, alone = x.size * element(op.tensors[0].dtype).size, large == op.out
    as_l3 = level < MEMORY or not machine.near_l3
    if as_l3 and (row > LONG_ROWS or not alone or machine.asks_in_rows):
        return False
    if machine.asks_in_rows and not alone and row < LONG_ROWS // 2:
        return False
    return row > ROW_LINES * LINE and (alone or row <= machine.l1 // 2)


def rows_and_columns(
    op: TensorOp, x: Axis, y: Axis, machine: Machine, kernel: StreamKernel
) -> tuple[int, int]:
    """How much of Y and of X a stream kernel is called for."""
    kind, scalars = element(op.dtype), kernel.strided  # a single accumulator, and no vectors
    rows, columns = max(1, STREAM_BLOCK // x.size), STREAM_BLOCK
    if kind.half:  # whose sums are rounded between calls
        rows = y.size if y.type == DimType.K else rows
        columns = x.size if x.type == DimType.K else columns
    strips = x.size * kind.size > STRIP and not kernel.width
    strips = strips or bool(strands(op, *stream_order(op), op.dimensions, machine))
    down, again = y.type == DimType.K != x.type, _meets_lines_again(op, x, y)
    if down and strips and not (kind.half or again):
        rows = _rows_down(op, x, y, machine)
        columns = STREAM_BLOCK // rows
    elif again and not down and x.size * LINE > machine.l1:
        columns = machine.l1 // 2 // LINE
    if _comes_back(op, x, y, machine) and machine.l1 // 2 < kind.size * x.size <= machine.l2:
        columns = machine.l1 // 2 // kind.size
    if op.main in SCALED:
        summed = [axis.size for axis in (x, y) if axis.type == DimType.K]
        lanes = machine.lanes(op.dtype) if x.type == DimType.K and not scalars else 1
        # A term of complex numbers is two products.
        longest = longest_sum(kind, prod(summed), max(1, lanes // kind.parts))
        if x.type == DimType.K:
            columns = min(columns, longest)
            rows = max(rows, STREAM_BLOCK // columns)
        if y.type == DimType.K:
            rows = min(rows, max(1, longest // prod(summed[:-1])))
    return rows, columns


def _rows_down(op: TensorOp, x: Axis, y: Axis, machine: Machine) -> int:
    """How many long rows sums go down along together. As many as are read ahead in: out, which each
    call goes along, is gone along fewer times. Those that begin alike in a page are in one
    another's way, and so are those of several inputs, unless all are asked for. But where rows lie
    end to end, a single one is one stream: if an L3 that is near keeps little of them, and L1 has
    room for it and out, that is faster."""
    size = element(op.dtype).size
    _, large = _end_to_end(op, x, y, machine)
    fits = 0 < x.size * size * large <= machine.l1 * 3 // 8
    if fits and machine.follows_streams and outgrows_l3(op, machine):
        return 1
    alike = any(size * (y.stride(t) or 1) % PAGE == 0 for t in range(op.out))
    moving = sum(bool(y.stride(t)) and bool(x.stride(t)) for t in range(op.out))
    most = machine.down if machine.asks_in_rows else max(1, machine.down // max(1, moving))
    return min(most, machine.streams) if alike else most


def _end_to_end(op: TensorOp, x: Axis, y: Axis, machine: Machine) -> tuple[int, int]:
    """The level that holds all tensors, and how many inputs are more than L2 holds, if the rows of
    all of these lie end to end, else 0. Those do not count of which all rows have the same."""
    held = [bytes_of(op, t) for t in range(len(op.tensors))]
    large = [t for t in range(op.out) if held[t] > machine.l2 and y.stride(t) != 0]
    whole = all((x.stride(t), y.stride(t)) == (1, x.size) for t in large)
    return level_of(sum(held), machine), len(large) if whole else 0


def _meets_lines_again(op: TensorOp, x: Axis, y: Axis) -> bool:
    """Whether the lines of a row, one for every element of an input, have those of the next."""
    for t, tensor in enumerate(op.tensors[: op.out] if y.size > 1 else ()):
        along, down = (abs(axis.stride(t) or 0) * element(tensor.dtype).size for axis in (x, y))
        if 0 < down < LINE <= along:
            return True
    return False


def _comes_back(op: TensorOp, x: Axis, y: Axis, machine: Machine) -> bool:
    """Whether it is an outer product in the caches: what one input has of X is read for every y.
    To memory, long rows are faster."""
    if y.size == 1 or DimType.K in (x.type, y.type) or level_of(all_bytes(op), machine) == MEMORY:
        return False
    return all(bool(x.stride(t)) != bool(y.stride(t)) for t in range(op.out))
