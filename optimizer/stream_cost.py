"""What a stream schedule costs: vectors along one dimension, rows along another, loops around them.

An estimate of the same kind as those of cost.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, inf, prod

from tensorop.ir import CONTRACTIONS, Dimension, DimType, TensorOp
from tensorop.jit.elements import FEW_LANES, MOST_LANES, NEAR_STEPS, element
from tensorop.jit.gemm_abi import masks_stores
from tensorop.jit.lines import LINE
from tensorop.jit.stream_abi import picks
from tensorop.optimizer.joined import spread
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.prices import SUMMED, VECTOR
from tensorop.optimizer.strands import FOLLOWING, strands
from tensorop.optimizer.transfer import (
    FOLLOWED,
    LINE_CYCLES,
    LONG_ROW_CYCLES,
    MEMORY,
    PAGE,
    UNNOTICED,
    bytes_of,
    level_apart,
    level_of,
    outgrows_l3,
    transfer,
    walk_cycles,
)

CALL = 90.0  # a kernel call and the loops around it
ROW = 8.0  # a row of a stream kernel that is summed; TOGETHER: with others
TOGETHER = 4.5
DOWN = 4.0  # one that is added to others; KEPT: one of out
KEPT = 7.0
STRIP = 4  # vectors at a time; ALONE: more for one of those left over, PART: for a part of one
ALONE = 1.5
PART = 3.5
FILL = 150.0  # a call that puts a short row together with itself, to be joined to others
REPEATED = 4.0  # an element that is repeated for a short row, which is joined to others
NUMBER = 80.0  # a call that finds out which rows vectors are in
PICKED = 1.4  # a vector whose elements are picked
KEPT_MASKED = 4.0  # the same, and a vector of it, where masks are free
VECTOR_MASKED = 1.5
WAITED = 9.0  # times what a line takes that others come beside, where all else waits for it
HIDDEN = 0.1  # of the time that what is in L2 takes, where it is read while others are waited for
UPDATED = 1.9  # a vector of a sum that is added to what out holds
FOLDED = 5.5  # the sum of a vector
SCALAR = 9.0  # an element of it, where a tensor is strided; LANE: of each such tensor, if gathered
LANE = 1.0
MASKED = 2.0  # times that of a lane, of a vector some elements of which do not count
OVERLAPPED = 1.0  # to translate an address by the second level: of a vector, several at a time
NEAR = 0.2  # the same of an input whose vectors are picked out of a few others


def _has_one_row(op: TensorOp, rows: Dimension | None, inner: Dimension) -> bool:
    """Whether an input has the same row again and again."""
    return rows is not None and any(
        inner.strides[t] == 1 and rows.strides[t] == 0 for t in range(op.out)
    )


def stream_cycles(
    op: TensorOp, inner: Dimension, rows: Dimension | None, machine: Machine
) -> float:
    """Estimate vectors along one dimension, rows along another, loops around them."""
    return Streams(op, machine).cycles(inner, rows)


class Streams:
    """The estimates of one operation: what all choices of vectors and rows have in common is worked
    out once, since many of them are compared."""

    def __init__(self, op: TensorOp, machine: Machine) -> None:
        self._op, self._machine = op, machine
        self._tensors, dims = range(len(op.tensors)), op.dimensions
        self._points = prod([d.size for d in dims])
        self._lanes = machine.lanes(op.dtype)
        self._bytes = [bytes_of(op, t) for t in self._tensors]
        self._sizes = [element(t.dtype).size for t in op.tensors]
        self._held = held = sum(self._bytes)
        self._moved = [
            transfer(size, held, machine, written=t == op.out) for t, size in enumerate(self._bytes)
        ]
        self._moves: dict[int, tuple[bool, float]] = {}
        self._in_memory = level_of(held, machine) == MEMORY
        self._outgrows_l3 = outgrows_l3(op, machine)
        self._has_strands = op.main in CONTRACTIONS and (
            level_of(max(self._bytes[: op.out]), machine) == FOLLOWING
        )
        self._sums = sum(d.type == DimType.K for d in dims)
        # Iterations of what both inputs have, and of what each lacks.
        inputs = range(op.out)
        self._shared = prod([d.size for d in dims if all(d.strides[: op.out])])
        self._lacking = [prod([d.size for d in dims if not d.strides[t]]) for t in inputs]

    def cheapest(
        self, pairs: Iterable[tuple[Dimension | None, Dimension]]
    ) -> tuple[float, Dimension | None, Dimension]:
        """Of pairs of rows and vectors the first of those that take least, and what it takes."""
        least, found = (inf, 0), None
        # Vectors along what most tensors have side by side are looked at first: the others are then
        # seen to take longer before all of their estimate is made.
        promising = sorted(enumerate(pairs), key=lambda pair: self._scattered(pair[1][1]))
        for position, (rows, inner) in promising:
            this = self.cycles(inner, rows, least[0]), position
            if this < least or found is None:
                least, found = this, (rows, inner)
        assert found is not None
        return least[0], *found

    def _scattered(self, inner: Dimension) -> int:
        """How many tensors have elements of a vector apart."""
        return sum([abs(step) > 1 for step in inner.strides])

    def cycles(self, inner: Dimension, rows: Dimension | None, limit: float = inf) -> float:
        """Estimate vectors along one dimension, rows along another. Where that is above a limit it
        may be too low, but for that."""
        op, machine = self._op, self._machine
        y = rows.size if rows else 1
        other = spread(op, rows, inner, machine.target)
        begun = CALL
        if other is not None:
            begun += FILL if _has_one_row(op, rows, inner) else 0.0
            begun += NUMBER if inner.strides[other] == 0 and not self._sums else 0.0
        followed = self._has_strands and self._follows(inner, rows)
        y = min(y, machine.streams) if followed else y
        calls = self._points / inner.size
        total = calls * (self._row(inner, rows, other) + begun / y)
        for t in self._tensors:
            if total > limit:
                return total
            step = inner.strides[t]
            if abs(step) > 1:
                total += self._points * self._lone(t, inner, rows)
                continue
            total += self._moved[t]
            if step and not followed:
                total += calls * self._row_start(t, inner, rows)
            elif rows is not None and not step:
                total += calls / y * self._waited_for(t, inner, rows)
        return total + self._read_again(inner, rows)

    def _follows(self, inner: Dimension, rows: Dimension | None) -> bool:
        loops = [d for d in self._op.dimensions if d is not inner and d is not rows]
        return strands(self._op, rows, inner, loops, self._machine) is not None

    def _read_again(self, inner: Dimension, rows: Dimension | None) -> float:
        """Cycles to read an input again for every step of loops that it does not have, where each
        of two inputs lacks some: the loops of only one can be innermost, around what a call has of
        it. What a step of the loops that both have needs of the other waits in the level that holds
        as much."""
        if len(self._lacking) == 1:
            return 0.0
        kernel, shared = (inner,) if rows is None else (inner, rows), self._shared
        for d in kernel:
            if d.strides[0] and d.strides[1]:
                shared //= d.size
        calls, whole = [], []
        for t, times in enumerate(self._lacking):
            piece = self._sizes[t]
            for d in kernel:
                if d.strides[t]:
                    piece *= d.size
                else:
                    times //= d.size
            shown = HIDDEN if piece <= self._machine.l2 // 2 else 1.0
            again = 0.0 if self._in_memory else shown * self._again(t, times, piece)
            calls.append(again)
            whole.append(self._again(t, times, self._bytes[t] / shared))
        return min(calls[0] + whole[1], whole[0] + calls[1])

    def _again(self, tensor: int, times: int, waiting: float) -> float:
        """Cycles to read an input so many times, but the first one, from where it waits."""
        if times == 1 or waiting <= self._machine.l1:
            return 0.0
        return (times - 1) * transfer(self._bytes[tensor], waiting, self._machine)

    def _row(self, inner: Dimension, rows: Dimension | None, other: int | None) -> float:
        """Cycles of one row, from L1; other: see `spread`."""
        op, lanes = self._op, self._lanes
        if other is not None and rows is not None:
            vectors, elements = inner.size / lanes, inner.strides[other] == 0
            if elements and not self._sums and picks(op.dtype, self._machine.target):
                return PICKED * vectors + (LANE if rows.strides[other] != 1 else 0.0)
            return (REPEATED if elements else 0.0) + VECTOR * vectors
        kind, part = element(op.dtype), inner.size % lanes
        strided, moved = self._apart(inner)
        if strided and not kind.vectorises:
            return ROW + SCALAR * inner.size
        vectors = ceil(inner.size / lanes)
        down = rows is not None and rows.type == DimType.K
        along = inner.type == DimType.K
        again = self._sums > along + down
        work = moved + vectors * (UPDATED if again else 0.0)
        free = masks_stores(op.dtype, self._machine.target)
        if not (along or down or strided or again) and free:
            return work + KEPT_MASKED + VECTOR_MASKED * vectors
        if not (along or down):
            alone = 0 if strided else vectors - inner.size // (STRIP * lanes) * STRIP
            return work + KEPT + VECTOR * vectors + ALONE * alone + (PART if part else 0.0)
        work += SUMMED * vectors
        if not along:
            return work + DOWN
        together = rows and not down and rows.size >= STRIP and not strided
        return work + (TOGETHER if together and kind.is_float and not kind.half else ROW + FOLDED)

    def _apart(self, inner: Dimension) -> tuple[bool, float]:
        """Whether a tensor has the elements of a row apart, and the cycles to gather or to scatter
        them; the same for all rows."""
        known = self._moves.get(id(inner))
        if known is None:
            apart = [t for t in self._tensors if inner.strides[t] not in (0, 1)]
            known = bool(apart), sum([self._moving(t, inner) for t in apart])
            self._moves[id(inner)] = known
        return known

    def _moving(self, tensor: int, inner: Dimension) -> float:
        """Cycles to gather the elements that a row has of an input, or to scatter those of out."""
        op, lanes = self._op, min(self._lanes, MOST_LANES)
        parts, part = element(op.dtype).parts, inner.size % lanes
        near, written = inner.strides[tensor] * parts in NEAR_STEPS, tensor == op.out
        each = NEAR if near and not written else LANE
        # Of part of a vector all lanes are read, one by one if they are few, count they or not.
        last = part * LANE
        if part and not written:
            taken = near and lanes > FEW_LANES and masks_stores(op.dtype, self._machine.target)
            last = lanes * (NEAR if taken else MASKED * LANE)
        return parts * (each * (inner.size - part) + last)

    def _row_start(self, tensor: int, inner: Dimension, rows: Dimension | None) -> float:
        """Cycles to get at a row of consecutive elements, where the next row does not go on there
        and the hardware has to notice anew that they are consecutive."""
        size = element(self._op.tensors[tensor].dtype).size
        length, step = inner.size * size, abs(rows.strides[tensor]) * size if rows else PAGE
        if step < max(LINE, 2 * length):
            return 0.0
        if length >= PAGE:
            # Of others, several are gone along for long, each of which is followed.
            summed = inner.type == DimType.K
            return LONG_ROW_CYCLES if summed and self._outgrows_l3 else 0.0
        if step <= FOLLOWED:
            return transfer(step - length, self._bytes[tensor], self._machine)
        each = LINE_CYCLES[level_of(self._bytes[tensor], self._machine)]
        unnoticed = min(UNNOTICED, ceil(length / LINE)) * each
        return unnoticed + walk_cycles(rows.size if rows else 1, step)

    def _waited_for(self, tensor: int, inner: Dimension, rows: Dimension) -> float:
        """Cycles to get at the elements that a call has of an input with one for each of its rows,
        where those of the next call lie elsewhere: the vectors wait for them."""
        op, level = self._op, level_of(self._bytes[tensor], self._machine)
        loops = [d for d in op.dimensions if d is not inner and d is not rows]
        if tensor == op.out or not rows.strides[tensor] or not loops or level < FOLLOWING:
            return 0.0
        large = max(range(op.out), key=self._bytes.__getitem__)
        following = min(loops, key=lambda d: abs(d.strides[large]) or inf)
        size = self._sizes[tensor]
        length = rows.size * abs(rows.strides[tensor]) * size
        if length >= PAGE or abs(following.strides[tensor]) * size <= max(LINE, 2 * length):
            return 0.0
        return min(UNNOTICED, ceil(length / LINE)) * WAITED * LINE_CYCLES[level]

    def _lone(self, tensor: int, inner: Dimension, rows: Dimension | None) -> float:
        """Cycles for one element of a tensor that is walked through by its stride. Its lines wait
        in the level that holds them all until their next element is asked for: those of one row, or
        of a vector where sums go down the rows, if the next row has them; those of a call, if the
        next one of a sum has them; or else the whole tensor."""
        op, machine, mine = self._op, self._machine, self._bytes[tensor]
        size = element(op.tensors[tensor].dtype).size
        step, written = abs(inner.strides[tensor]) * size, tensor == op.out
        beyond = abs(rows.strides[tensor]) * size if rows else 0
        waiting: float = mine
        down = rows is not None and rows.type == DimType.K != inner.type
        if 0 < beyond < LINE:
            count = min(inner.size, self._lanes) if down else inner.size
            # What a row has of the others passes by meanwhile.
            others = [n for t, n in enumerate(self._sizes) if t != tensor and inner.strides[t]]
            waiting = count * (min(step, LINE) + sum(others))
        elif any(
            d.type == DimType.K and d is not inner and 0 < abs(d.strides[tensor]) * size < LINE
            for d in op.dimensions
        ):
            waiting = min(waiting, inner.size * (rows.size if rows else 1) * min(step, LINE))
        if step < LINE and (inner.size * step >= UNNOTICED * LINE or beyond <= FOLLOWED):
            # Lines that follow one another.
            each = transfer(size, mine, machine, written=written)
            return max(each, transfer(step, waiting, machine, written=written))
        dense = down and rows is not None and step == rows.size * beyond
        if dense and mine > machine.l2 and not self._in_memory:
            # What is summed lies end to end, from one vector to the next.
            return transfer(beyond, mine, machine)
        first = LINE_CYCLES[level_of(mine, machine)] * size / LINE
        if self._in_memory:  # as of tensors whose elements are not apart
            first = max(first, transfer(size, self._held, machine, written=written))
        again = LINE_CYCLES[level_apart(waiting, step, machine)]
        return max(first, again) + walk_cycles(inner.size, step, OVERLAPPED)
