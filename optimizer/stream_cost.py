"""What a stream schedule costs: vectors along one dimension, rows along another, loops around them.

An estimate of the same kind as those of cost.py.
"""

from __future__ import annotations

from math import ceil, prod

from tensorop.ir import Dimension, DimType, TensorOp
from tensorop.jit.elements import GATHERED, NEAR_STEPS, element
from tensorop.jit.gemm_abi import masks_stores
from tensorop.jit.lines import LINE
from tensorop.optimizer.joined import spread
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.strands import strands
from tensorop.optimizer.transfer import (
    FOLLOWED,
    LINE_CYCLES,
    MEMORY,
    PAGE,
    UNNOTICED,
    bytes_of,
    level_of,
    transfer,
    walk_cycles,
)

CALL = 90.0  # a kernel call and the loops around it
ROW = 8.0  # a row of a stream kernel that is summed; TOGETHER: with others
TOGETHER = 4.5
DOWN = 4.0  # one that is added to others; KEPT: one of out
KEPT = 7.0
VECTOR = 2.5  # a vector of it, from L1; SUMMED: to a sum in a register
SUMMED = 0.65
STRIP = 4  # of them at a time; ALONE: more for one of those left over, PART: for a part of one
ALONE = 1.5
PART = 3.5
FILL = 150.0  # a call that puts a short row together with itself, to be joined to others
REPEATED = 4.0  # an element that is repeated for a short row, which is joined to others
KEPT_MASKED = 4.0  # the same, and a vector of it, where masks are free
VECTOR_MASKED = 1.5
UPDATED = 1.9  # a vector of a sum that is added to what out holds
FOLDED = 5.5  # the sum of a vector
SCALAR = 9.0  # an element of it, where a tensor is strided; LANE: of each such tensor, if gathered
LANE = 1.0
OVERLAPPED = 1.0  # to translate an address by the second level: of a vector, several at a time
NEAR = 0.2  # the same of an input whose vectors are picked out of a few others


def stream_cycles(
    op: TensorOp, inner: Dimension, rows: Dimension | None, machine: Machine
) -> float:
    """Estimate vectors along one dimension, rows along another, loops around them."""
    points, y = prod(d.size for d in op.dimensions), rows.size if rows else 1
    other = spread(op, rows, inner)
    begun = CALL + (FILL if other is not None and inner.strides[other] else 0.0)
    loops = [d for d in op.dimensions if d is not inner and d is not rows]
    followed = strands(op, rows, inner, loops, machine) is not None
    y = min(y, machine.streams) if followed else y
    total = points / inner.size * (_row(op, inner, rows, machine) + begun / y)
    held = sum(bytes_of(op, t) for t in range(len(op.tensors)))
    for t in range(len(op.tensors)):
        if abs(inner.strides[t]) > 1:
            total += points * _lone(op, t, inner, rows, machine)
            continue
        total += transfer(bytes_of(op, t), held, machine, written=t == op.out)
        if inner.strides[t] and not followed:
            total += points / inner.size * _row_start(op, t, inner, rows, machine)
    return total + _read_again(op, (inner, rows), machine)


def _read_again(op: TensorOp, kernel: tuple[Dimension | None, ...], machine: Machine) -> float:
    """Cycles to read an input again for every step of loops that it does not have, where each of
    two inputs lacks some: the loops of only one can be innermost. What a step of the loops that
    both have needs of it waits in the level that holds as much."""
    loops = [d for d in op.dimensions if not any(d is k for k in kernel)]
    shared = prod(d.size for d in loops if all(d.strides[: op.out]))
    total = []
    for t in range(op.out):
        times = prod(d.size for d in loops if not d.strides[t])
        read, waiting = bytes_of(op, t), bytes_of(op, t) / shared
        again = (times - 1) * transfer(read, waiting, machine)
        total.append(again if waiting > machine.l1 else 0.0)
    return min(total) if len(total) > 1 else 0.0


def _row(op: TensorOp, inner: Dimension, rows: Dimension | None, machine: Machine) -> float:
    """Cycles of one row, from L1."""
    lanes = machine.lanes(op.dtype)
    other = spread(op, rows, inner)
    if other is not None:
        repeated = REPEATED if inner.strides[other] == 0 else 0.0
        return repeated + VECTOR * inner.size / lanes
    strided = sum(s not in (0, 1) for s in inner.strides)
    if strided and op.dtype not in GATHERED:
        return ROW + SCALAR * inner.size
    apart = sum(
        (NEAR if s in NEAR_STEPS and t != op.out else LANE)
        for t, s in enumerate(inner.strides)
        if s not in (0, 1)
    )
    vectors = ceil(inner.size / lanes)
    summed = [d for d in (inner, rows) if d and d.type == DimType.K]
    again = any(d.type == DimType.K and d not in summed for d in op.dimensions)
    work = apart * inner.size + vectors * (UPDATED if again else 0.0)
    if not (summed or strided or again) and masks_stores(op.dtype, machine.target):
        return work + KEPT_MASKED + VECTOR_MASKED * vectors
    if not summed:
        alone = 0 if strided else vectors - inner.size // (STRIP * lanes) * STRIP
        part = PART if inner.size % lanes else 0.0
        return work + KEPT + VECTOR * vectors + ALONE * alone + part
    work += SUMMED * vectors
    if inner.type != DimType.K:
        return work + DOWN
    kind = element(op.dtype)
    together = rows and rows.type != DimType.K and rows.size >= STRIP and not strided
    return work + (TOGETHER if together and kind.is_float and not kind.half else ROW + FOLDED)


def _row_start(
    op: TensorOp, tensor: int, inner: Dimension, rows: Dimension | None, machine: Machine
) -> float:
    """Cycles to get at a row of consecutive elements, where the next row does not go on there and
    the hardware has to notice anew that they are consecutive."""
    size = element(op.tensors[tensor].dtype).size
    length, step = inner.size * size, abs(rows.strides[tensor]) * size if rows else PAGE
    if length >= PAGE or step < max(LINE, 2 * length):
        return 0.0
    if step <= FOLLOWED:
        return transfer(step - length, bytes_of(op, tensor), machine)
    each = LINE_CYCLES[level_of(bytes_of(op, tensor), machine)]
    unnoticed = min(UNNOTICED, ceil(length / LINE)) * each
    return unnoticed + walk_cycles(rows.size if rows else 1, step)


def _lone(
    op: TensorOp, tensor: int, inner: Dimension, rows: Dimension | None, machine: Machine
) -> float:
    """Cycles for one element of a tensor that is walked through by its stride. Its lines wait in
    the level that holds them all until their next element is asked for: those of one row, or of a
    vector where sums go down the rows, if the next row has them; those of a call, if the next one
    of a sum has them; or else the whole tensor."""
    size = element(op.tensors[tensor].dtype).size
    step, written = abs(inner.strides[tensor]) * size, tensor == op.out
    beside = [d for d in op.dimensions if 0 < abs(d.strides[tensor]) * size < LINE]
    down = rows is not None and rows.type == DimType.K != inner.type
    waiting = bytes_of(op, tensor)
    if rows in beside:
        between = min(inner.size, machine.lanes(op.dtype)) if down else inner.size
        waiting = between * min(step, LINE)
    elif any(d.type == DimType.K and d is not inner for d in beside):
        waiting = min(waiting, inner.size * (rows.size if rows else 1) * min(step, LINE))
    beyond = abs(rows.strides[tensor]) * size if rows else 0
    if step < LINE and (inner.size * step >= UNNOTICED * LINE or beyond <= FOLLOWED):
        # Lines that follow one another.
        all_of_it = bytes_of(op, tensor)
        each = transfer(size, all_of_it, machine, written=written)
        return max(each, transfer(step, waiting, machine, written=written))
    first = LINE_CYCLES[level_of(bytes_of(op, tensor), machine)] * size / LINE
    held = sum(bytes_of(op, t) for t in range(len(op.tensors)))
    if level_of(held, machine) == MEMORY:  # as of tensors whose elements are not apart
        first = max(first, transfer(size, held, machine, written=written))
    again = LINE_CYCLES[level_of(waiting, machine)]
    return max(first, again) + walk_cycles(inner.size, step, OVERLAPPED)
