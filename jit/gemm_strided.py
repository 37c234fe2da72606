"""Sums of a GEMM tile to rows of C that are any stride apart, which nothing is added to.

Every second row is stored as vectors of which every second lane is left out, where masks are free;
all else goes one by one.
"""

from __future__ import annotations

from tensorop.jit.arithmetic import Arithmetic, Number, indices
from tensorop.jit.builder import INT32, Value
from tensorop.jit.gemm_abi import masks_stores
from tensorop.jit.gemm_store import Buffer, Result
from tensorop.jit.instructions import Whole


class Strided:
    """The code that stores a buffer. apart: bytes from row to row of C."""

    def __init__(self, result: Result, buffer: Buffer, apart: Value, lanes: int) -> None:
        self.code, self.result, self.buffer = result.code, result, buffer
        self.apart, self.lanes = apart, lanes

    def store(self, m: Value, rows: Value, column: Value, columns: Value) -> None:
        """The first rows and columns of the buffer, which are those of C from row `m` and `column`
        of the block on."""
        code, element = self.code, self.result.element
        first = code.mul(m, self.apart)
        takes_vectors = element.parts == 1 and masks_stores(element.name, code.target)
        with code.loop(columns) as n:
            source = code.at(self.buffer.address, code.mul(n, self._column_bytes))
            target = code.at(self.result.column(code.add(column, n)), first)
            if takes_vectors:
                with code.either(code.equal(self.apart, 2 * element.size)) as (near, far):
                    with near:
                        self._every_second(source, target, rows)
                    with far:
                        self._one_by_one(source, target, rows)
            else:
                self._one_by_one(source, target, rows)

    @property
    def _column_bytes(self) -> int:
        return self.buffer.rows * self.buffer.element.size

    def _one_by_one(self, source: Value, target: Value, rows: Value) -> None:
        """Out of parts of vectors, as long as there are enough rows."""
        code, several = self.code, max(1, self.lanes // 2)
        whole = code.builder.and_(rows, code.int(-several))
        with code.reduce(whole, [target], step=several) as each:
            each.update([self._take_apart(source, each.index, each.values[0], several)])
        with code.reduce(rows, each.values, start=whole) as each:
            each.update([self._take_apart(source, each.index, each.values[0], 1)])

    def _take_apart(self, source: Value, row: Value, there: Value, count: int) -> Value:
        """Store so many numbers; where the next one belongs."""
        code, element, part = self.code, self.result.element, self.buffer.element.part
        number: Number = ()
        for plane in range(element.parts):
            here = code.at(source, code.mul(code.add(row, plane * self.buffer.rows), part))
            number += Arithmetic(code, self.buffer.element.real, count).load(here)
        number = self.result.finished(Arithmetic(code, element, count), number)
        one = Arithmetic(code, element, 1)
        for i in range(count):
            one.store(self._lane(number, i) if count > 1 else number, there)
            there = code.at(there, self.apart)
        return there

    def _lane(self, number: Number, lane: int) -> Number:
        place = Whole(INT32, lane)
        return tuple(self.code.builder.extract_element(part, place) for part in number)

    def _every_second(self, source: Value, target: Value, rows: Value) -> None:
        """Two vectors for one, each with half of its elements; between them nothing is stored."""
        code, element, lanes = self.code, self.result.element, self.lanes
        vector = Arithmetic(code, element, lanes)
        with code.loop(rows, step=lanes) as row:
            number = vector.load(code.at(source, code.mul(row, element.size)))
            (value,) = self.result.finished(vector, number)
            reach = code.sub(code.mul(code.sub(rows, row), 2), 1)
            place = code.at(target, code.mul(row, 2 * element.size))
            for half in (0, 1):
                order = indices([half * lanes // 2 + i // 2 for i in range(lanes)])
                spread = code.builder.shuffle_vector(value, value, order)
                left = code.max(0, code.min(lanes, code.sub(reach, half * lanes)))
                at = code.at(place, half * lanes * element.size)
                vector.store((spread,), at, vector.every_second(left))
