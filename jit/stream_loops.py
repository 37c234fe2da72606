"""Generates the code of stream kernels (see `jit/stream.py` for what they compute).

Loops over vectors along X where every tensor is consecutive or broadcast in it: those that sum are
in `stream_sums.py`; where nothing is reduced, these are

- `_map`: rows of Y, strips of vectors of X. Where more is written than the caches hold, whole lines
  of a row go past these (`_map_lines`).
- `_map_joined`: the same of short rows that lie end to end, some of which are gone through as one
  (`jit/stream_joined.py`).

What is no sum, where masks have their price, ends with a vector that overlaps the one before. Code
is kept short rather than unrolled far: it is compiled while the caller waits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from llvmlite import ir

from tensorop.jit.arithmetic import Number
from tensorop.jit.builder import WORD, Value
from tensorop.jit.lines import LEAST_PART, LINE
from tensorop.jit.stream_abi import JOINED, StreamKernel, picks
from tensorop.jit.stream_steps import Row
from tensorop.jit.stream_strips import Strip
from tensorop.jit.stream_sums import Sums
from tensorop.jit.target import Target

_ALIGNED = 512  # bytes of a row of out from which on its vectors are lines, wherever it begins
_SHORT_ROWS = 2, 4  # vectors of rows that are gone through at once


def generate(kernel: StreamKernel, target: Target) -> ir.Module:
    """The module of a kernel."""
    return Stream(kernel, target).generate()


class Stream(Sums):
    """The generator of one kernel."""

    def generate(self) -> ir.Module:
        form = self.form
        if form.strided and form.updates:
            self._sum_anywhere()
        elif form.out == "reduced":
            self._sum_over_x()
        elif form.outer_reduced:
            self._sum_over_y()
        elif form.joined:
            self._map_joined()
        else:
            self._map()
        return self.code.finish()

    def _map(self) -> None:
        code = self.code
        past = self.form.past and self.lanes.width * self.element.size >= LEAST_PART
        if past:
            for rows, out in self._each_row():
                self._map_lines(rows, out, self.x)
            code.fence()
        elif self._reaches_lines and self._fast and self.form.source is None:
            self._map_rows_of(_SHORT_ROWS)
        else:
            self._map_rows_of(())

    def _each_row(self) -> Iterator[tuple[list[Row], Value]]:
        """A loop over Y: the inputs, and where out lies."""
        with self.code.loop(self.y) as y:
            yield self.rows(y), self.code.at(self.out, self.code.mul(y, self.out_stride))

    def _map_rows_of(self, lengths: Sequence[int]) -> None:
        """Rows of at most so many vectors are gone through at once, under masks that are the same
        for all; longer ones strip by strip."""
        code, lanes = self.code, self.lanes
        if not lengths:
            for rows, out in self._each_row():
                self._map_from_line(rows, out, self.x)
            return
        with code.either(code.less(lengths[0] * lanes.width, self.x)) as (long, short):
            with long:
                self._map_rows_of(lengths[1:])
            with short:
                counts = self._counts(code.int(0), self.x, lengths[0])
                strip = Strip(code.int(0), lanes, [lanes.of.kept(count) for count in counts])
                for rows, out in self._each_row():
                    self._store_strip(strip, self._map_strip(strip, rows), out)

    @property
    def _reaches_lines(self) -> bool:
        """Whether vectors are lines, and out consists of such: a vector that is stored to two lines
        takes as long as two."""
        line = self.lanes.width * self.element.size == LINE and self._masks_all
        return line and self.form.out == "unit"

    def _map_from_line(self, rows: list[Row], out: Value, length: Value) -> None:
        """A row of out; of a long one first what lies before its first whole line."""
        if not self._reaches_lines:
            self._map_row(rows, out, length)
            return
        code, size = self.code, self.element.size
        before = code.within_line(code.sub(0, code.builder.ptrtoint(out, WORD)))
        is_long = code.less(_ALIGNED // size, length)
        head = code.builder.select(is_long, code.builder.udiv(before, code.int(size)), code.int(0))
        with code.when(code.nonzero(head)):
            strip = Strip(code.int(0), self.lanes, [head])
            self._store_strip(strip, self._map_strip(strip, rows), out)
        self._map_part(rows, out, head, length)

    def _map_part(self, rows: list[Row], out: Value, start: Value, stop: Value) -> None:
        """The positions of a row from one to another."""
        code, size = self.code, self.element.size
        places = [code.at(row.address, code.mul(start, row.step)) for row in rows]
        moved = [row._replace(address=at) for row, at in zip(rows, places, strict=True)]
        self._map_row(moved, code.at(out, code.mul(start, size)), code.sub(stop, start))

    def _map_lines(self, rows: list[Row], out: Value, length: Value) -> None:
        """A row of out by whole lines past the caches, with what lies before and behind them; all
        of it as usual where out is read, or elements do not begin where lines do."""
        code, size, lanes = self.code, self.element.size, self.lanes
        line = max(LINE // size, lanes.width)
        begun = code.within_line(out)
        usual = code.nonzero(code.builder.and_(begun, code.int(size - 1)))
        if self.scalars is not None:
            usual = code.builder.or_(usual, self.scalars.reads)
        before = code.within_line(code.sub(0, begun))
        head = code.min(code.builder.udiv(before, code.int(size)), length)
        head = code.builder.select(usual, length, head)
        behind = code.add(head, self.multiple(code.sub(length, head), line))
        with code.loop(code.int(2)) as part:
            is_first = code.equal(part, 0)
            start = code.builder.select(is_first, code.int(0), behind)
            stop = code.builder.select(is_first, head, length)
            self._map_part(rows, out, start, stop)
        with code.loop(behind, start=head, step=line) as x:
            columns = [code.add(x, i) for i in range(0, line, lanes.width)]
            loaded = [[self.load(row, lanes, column, None) for row in rows] for column in columns]
            values = [self.compute(lanes.of, inputs) for inputs in loaded]
            if self.scalars is not None:
                values = [self.scalars.alone(lanes.of, value) for value in values]
            for column, value in zip(columns, values, strict=True):
                lanes.of.store_past_caches(value, code.at(out, code.mul(column, size)))

    def _map_row(self, rows: list[Row], out: Value, length: Value) -> None:
        code, lanes, vectors = self.code, self.lanes, self.vectors(4)
        if vectors == 1 or code.target.free_masks or not isinstance(self.out_step, int):
            for strip in self._strips(length, vectors, 1):
                self._store_strip(strip, self._map_strip(strip, rows), out)
            return
        with code.either(code.less(lanes.width - 1, length)) as (long, short):
            with long:
                # The last vector ends with the row, over part of the one before: it is computed
                # before that is stored, since out may be an input, or read.
                last = Strip(code.sub(length, lanes.width), lanes, [None])
                places = self._places(last, out)
                values = self.updated(lanes.of, self._map_strip(last, rows), places)
                whole = self.multiple(length, vectors * lanes.width)
                for strip in self._whole_strips(whole, last.x, vectors):
                    self._store_strip(strip, self._map_strip(strip, rows), out)
                with code.when(code.less(whole, length)):
                    self.put(lanes.of, values, places)
            with short:
                for strip in self._tail(length, code.int(0)):
                    self._store_strip(strip, self._map_strip(strip, rows), out)

    def _map_strip(self, strip: Strip, rows: list[Row]) -> list[Number]:
        loaded = [
            [self.load(row, strip.lanes, x, count) for row in rows]
            for x, count in zip(self._columns(strip), strip.counts, strict=True)
        ]
        return [self.compute(strip.lanes.of, inputs) for inputs in loaded]

    def _map_joined(self) -> None:
        """So many rows at a time that they are whole vectors."""
        code, (in0, in1) = self.code, self.inputs
        plain = in1.access == "zero" and self.form.source is None
        lanes, picked = self.lanes.width, plain and picks(self.form.dtype, code.target)
        together = code.mul(1 if picked else code.builder.udiv(code.int(JOINED), self.x), lanes)
        most = code.min(together, self.y)
        same = [(in0, self.form.one_row), (in1, in1.access == "unit")]
        buffers = [self.repeated_row(one, most) if is_same else None for one, is_same in same]
        if picked:
            return self.map_picking(in0, in1, buffers[0])
        elements = self.buffer() if in1.access == "zero" else None
        with code.loop(self.y, step=together) as y:
            count, first = code.min(together, code.sub(self.y, y)), code.mul(y, self.x)
            if elements is not None:
                start = code.at(in1.address, code.mul(y, in1.stride))
                self.fill_with_elements(elements, start, in1.stride, count)
            dense = code.at(in0.address, code.mul(first, in0.size))
            places = (buffers[0] or dense, buffers[1] or elements)
            rows = [
                Row(place, one.size, one.conjugated, None, in0.ahead if place is dense else 0)
                for place, one in zip(places, self.inputs, strict=True)
            ]
            out = code.at(self.out, code.mul(first, self.element.size))
            self._map_from_line(rows, out, code.mul(count, self.x))
