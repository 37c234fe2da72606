"""Results that are stored past the caches.

A line that is written in part is read first, and what is written drives out what is there. Both are
for nothing where a result is written once, in whole lines, and is more than the caches keep until
somebody reads it: copies of 64 MB take half the time.
"""

from __future__ import annotations

from tensorop.ir import DimType, Primitive, TensorOp
from tensorop.jit.elements import element
from tensorop.jit.gemm_abi import LONG_ROW, STAGE
from tensorop.jit.lines import LINE
from tensorop.optimizer.balance import balanced
from tensorop.optimizer.machine import Machine
from tensorop.schedule import Axis


def tiles_leave_caches(op: TensorOp, m: Axis, rows: int, machine: Machine) -> bool:
    """Whether the tiles of a matrix product, of so many rows, are stored past the caches: whole
    lines of an out that leaves them, if that begins with a line.

    Parameters
    ----------
    m : Axis
        All rows; those of a tile are consecutive in out.
    """
    kind, out = element(op.dtype), op.out
    if kind.parts > 1 or kind.half or not kind.vectorises:
        return False
    run = m.unit_run(out)
    steps = [abs(d.strides[out]) for d in op.dimensions if abs(d.strides[out]) >= run]
    whole = not any(step * kind.size % LINE for step in (rows, *steps))
    return whole and leaves_caches(op, machine, sums_inside=True)


def stage_run(op: TensorOp, m: Axis, tile: tuple[int, int], block: int) -> int:
    """Elements of the rows of out that the full tiles of a block of M are stored as from their
    kernel's stage; 0: the stage does not hold them, or rows are too short.

    Parameters
    ----------
    m : Axis
        What is tabled of M.
    tile : (rows, columns)
        The register tile in elements.
    """
    (rows, columns), size, run = tile, element(op.dtype).size, m.unit_run(op.out)
    even = run == m.size or block % run == 0 or run % block == 0
    fits = block // rows * rows * columns * size <= STAGE
    run = min(run, block)
    return run if even and fits and run * size >= LONG_ROW else 0


def staged_block(op: TensorOp, m: Axis, tile: tuple[int, int], most: int) -> int:
    """The longest block of M, of at most so many positions, that has a `stage_run`; 0: none has."""
    rows, columns = tile
    largest = min(most, STAGE // (columns * element(op.dtype).size))
    blocks = [min(most, m.size), balanced(m.size, largest, rows)]
    blocks += range(largest // rows * rows, 0, -rows)
    return next((block for block in blocks if stage_run(op, m, tile, block)), 0)


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
    held = sum(element(t.dtype).size * op.reached(i) for i, t in enumerate(op.tensors))
    return not again and not touched and held > machine.l3 * 3 // 4
