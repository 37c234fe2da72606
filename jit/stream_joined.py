"""Short rows that lie end to end: a stream kernel goes through them as one.

Alone such a row is less than a few vectors, most of it loops and masks. What an input has for each
of them has to be spread out to lie like the rows do. One row for all is put together with itself in
a buffer, end to end. So is one element for each; but where one instruction picks elements of a
vector wherever they are, the elements of as many rows as a vector has lanes stay in one, and each
vector of the rows picks those of the rows that it has a part of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from llvmlite import ir

from tensorop.jit.arithmetic import Number, numbers
from tensorop.jit.builder import BYTE, Value
from tensorop.jit.stream_abi import JOINED
from tensorop.jit.stream_steps import Input, Row, StreamSteps

_TOGETHER = 4  # rows whose elements are repeated in turn
_PICKED = 2  # vectors of joined rows that are worked on at once


class JoinedSteps(StreamSteps):
    """What rows that are joined need besides: inputs spread out."""

    def buffer(self) -> Value:
        """Room for rows end to end. The last vector of one may reach into the next, written after
        it."""
        return self.code.stack(BYTE, (JOINED + 1) * self.lanes.width * self.source.size)

    def repeated_row(self, given: Input, count: Value) -> Value:
        """A buffer with the one row of an input so many times, end to end."""
        code, size, one, buffer = self.code, self.source.size, self.scalar.source, self.buffer()
        with code.loop(self.x) as x:
            at = code.mul(x, size)
            one.store(one.load(code.at(given.address, at)), code.at(buffer, at))
        total, of = code.mul(count, self.x), self.lanes.source
        doublings = (JOINED * self.lanes.width).bit_length()
        with code.repeat(code.int(doublings), [self.x]) as carried:
            (filled,) = carried.values
            more = code.min(filled, code.sub(total, filled))
            end = code.at(buffer, code.mul(filled, size))
            with code.loop(more, step=self.lanes.width) as x:
                at = code.mul(x, size)
                of.store(of.load(code.at(buffer, at)), code.at(end, at))
            carried.update([code.add(filled, more)])
        return buffer

    def fill_with_elements(self, buffer: Value, first: Value, stride: Value, count: Value) -> None:
        """So many rows, each of one element of the second input."""
        code, of = self.code, self.lanes.source

        def every(y: Value) -> Number:
            return of.splat(self.scalar.source.load(code.at(first, code.mul(y, stride))))

        narrow = code.less(self.x, self.lanes.width + 1)
        several = code.builder.select(narrow, self.multiple(count, _TOGETHER), code.int(0))
        width = code.mul(self.x, self.source.size)
        with code.loop(several, step=_TOGETHER) as y:
            rows = [code.add(y, i) for i in range(_TOGETHER)]
            for value, row in [(every(row), row) for row in rows]:
                of.store(value, code.at(buffer, code.mul(row, width)))
        with code.loop(count, start=several) as y:
            value, start = every(y), code.at(buffer, code.mul(y, width))
            with code.loop(self.x, step=self.lanes.width) as x:
                of.store(value, code.at(start, code.mul(x, self.source.size)))

    def map_picking(self, dense: Input, spread: Input, buffer: Value | None) -> None:
        """Rows of which the second input has an element each; buffer: where the first one has the
        same for all."""
        code, lanes, numbered = self.code, self.lanes.width, _RowNumbers(self)
        with code.loop(self.y, step=lanes) as y:
            rows, first = code.min(code.sub(self.y, y), lanes), code.mul(y, self.x)
            place = code.at(spread.address, code.mul(y, spread.stride))
            elements = self._elements(place, spread.stride, rows)
            start = buffer or code.at(dense.address, code.mul(first, dense.size))
            ahead = 0 if buffer else dense.ahead
            row = Row(start, dense.size, dense.conjugated, None, ahead)
            out = code.at(self.out, code.mul(first, self.element.size))
            total = code.mul(rows, self.x)
            whole, scaled = self.multiple(total, _PICKED * lanes), numbered.first
            for begin, end, vectors in ((code.int(0), whole, _PICKED), (whole, total, 1)):
                step = vectors * lanes
                with code.reduce(end, [scaled], start=begin, step=step) as carried:
                    *each, following = numbered.of(carried.values[0], vectors)
                    picked = [self.lanes.of.picked(elements, one) for one in each]
                    count = (
                        None if end is whole else code.min(code.sub(total, carried.index), lanes)
                    )
                    self._map_picked(row, picked, carried.index, count, out)
                    carried.update([following])
                (scaled,) = carried.values

    def _map_picked(
        self, row: Row, picked: Sequence[Number], start: Value, count: Value | None, out: Value
    ) -> None:
        """A few vectors of joined rows from `start` on, or what there is of one."""
        code, lanes = self.code, self.lanes
        columns = [code.add(start, i * lanes.width) for i in range(len(picked))]
        loaded = [self.load(row, lanes, x, count) for x in columns]
        values = [self.compute(lanes.of, pair) for pair in zip(loaded, picked, strict=True)]
        places = [(code.at(out, code.mul(x, self.element.size)), count) for x in columns]
        self.store(lanes.of, values, places)

    def _elements(self, address: Value, stride: Value, rows: Value) -> Number:
        """The elements of as many rows as there are lanes, or fewer."""
        code, of, lanes = self.code, self.lanes.source, self.lanes.width

        def apart() -> Number:
            ways = (lambda c=c: of.gather_singly(address, stride, c) for c in (rows, None))
            return tuple(code.choose(code.less(rows, lanes), *ways))

        beside = code.equal(stride, self.source.size)
        return tuple(code.choose(beside, lambda: of.load(address, rows), apart))


class _RowNumbers:
    """Which row each lane of a vector is in, if the first vector begins with one. Division is done
    by multiplication; from vector to vector the product goes up."""

    def __init__(self, steps: JoinedSteps) -> None:
        code, self._of, count = steps.code, steps.lanes.of, steps.lanes.width
        self._builder, self._integer = code.builder, ir.IntType(8 * steps.element.size)
        # Exact, since a position times what the factor is too large by stays under 1.
        shift = (JOINED * count * JOINED - 1).bit_length()
        factor = code.builder.udiv(code.add(steps.x, (1 << shift) - 1), steps.x)
        self.first = code.builder.mul(self._every(factor), numbers(self._integer, range(count)))
        self._step, self._shift = self._every(code.mul(factor, count)), self._every(code.int(shift))

    def _every(self, word: Value) -> Value:
        (every,) = self._of.splat((self._builder.trunc(word, self._integer),))
        return every

    def of(self, scaled: Value, vectors: int) -> Iterator[Value]:
        """The rows of some vectors, then the product for the next one."""
        for _ in range(vectors):
            yield self._builder.lshr(scaled, self._shift)
            scaled = self._builder.add(scaled, self._step)
        yield scaled
