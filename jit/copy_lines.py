"""Copies across into more than the caches hold whose columns are long: straight into whole lines.

A tile of as many rows as a line has elements is transposed in registers and stored past the caches,
column by column. Columns begin anywhere in a line: what a tile has of the line that it does not
complete waits, and the next tile, further down, puts its own elements behind it (`_Waiting`). Where
all columns begin alike, the rows in front of the first line go first, and nothing has to wait.

A block of X is a band of the source, gone down from row to row. Rows that come later are asked for,
a whole row at a time, since memory is fast along rows, and once more when they are nearer: some of
many requests are dropped by the hardware.

Stores past the caches: Intel 64 and IA-32 Architectures Optimization Reference Manual, 9.6.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tensorop.jit.abi import Frame
from tensorop.jit.arithmetic import Arithmetic
from tensorop.jit.builder import BYTE, WORD, Code, Value
from tensorop.jit.copy_abi import CopyDescriptor, band_columns
from tensorop.jit.copy_across import Across
from tensorop.jit.line_pairs import LinePairs
from tensorop.jit.lines import LINE
from tensorop.jit.mover import Mover
from tensorop.tuples import NamedTuple

AHEAD = 32  # rows further down, at least, that are asked for; half as far for the second time


class _Columns(NamedTuple):
    """Columns of the block; `begun`: how many a vector of the source that begins where a multiple
    of its size does has in front of the first, where all rows begin alike: fewer than a strip has,
    so that no row of a tile lies across lines."""

    start: Value
    stop: Value
    begun: Value


class _Rows(NamedTuple):
    """Rows of the block, and those of them, from `first` to `last`, that make whole tiles."""

    start: Value
    stop: Value
    first: Value
    last: Value


class _Strip(NamedTuple):
    """As many columns as a tile has: the number of the strip in the block, its first column, and
    where that lies in the source."""

    number: Value
    x: Value
    source: Value


class Lines(Across):
    """X is one run of the source, Y one of the target."""

    def __init__(self, code: Code, mover: Mover) -> None:
        super().__init__(code, mover)
        self.vector = Arithmetic(code, mover.stored, mover.rows * mover.units)

    def copy(self) -> None:
        code = self.code
        alike = code.nonzero(self._word(CopyDescriptor.COLUMNS_ALIKE))
        columns = self._columns()
        rows = self._rows(columns, alike)
        self._move_others(columns, rows)
        with code.when(code.less(rows.first, rows.last)):
            with code.either(alike) as (direct, waiting):
                with direct:
                    self._move_direct(columns, rows)
                with waiting:
                    self._move_waiting(columns, rows)
            code.fence()

    def _block(self, axis: CopyDescriptor) -> tuple[Value, Value]:
        start = self._of_axis(Frame.START, axis)
        return start, self.code.add(start, self._of_axis(Frame.SIZE, axis))

    def _columns(self) -> _Columns:
        code, d = self.code, CopyDescriptor
        (start, stop), (y, _) = self._block(d.X_AXIS), self._block(d.Y_AXIS)
        row = code.at(self._from(start), code.word(self.y_source, y))
        vector = self.mover.lanes * self.mover.source_bytes
        begun = code.builder.and_(code.builder.ptrtoint(row, WORD), code.int(vector - 1))
        begun = code.builder.udiv(begun, code.int(self.mover.source_bytes))
        alike = code.nonzero(self._word(d.ROWS_ALIKE))
        return _Columns(start, stop, code.builder.select(alike, begun, code.int(0)))

    def _rows(self, columns: _Columns, alike: Value) -> _Rows:
        """None make whole tiles where there are fewer columns than a tile has, or elements lie
        across lines."""
        code, mover = self.code, self.mover
        start, stop = self._block(CopyDescriptor.Y_AXIS)
        missing = self._missing(self._place(columns.start, start))
        head = code.builder.udiv(missing, code.int(mover.stored_bytes))
        first = code.add(start, code.builder.select(alike, head, code.int(0)))
        here = code.builder.ptrtoint(self.target, WORD)
        begun = code.builder.and_(here, code.int(mover.stored_bytes - 1))
        fits = code.less(mover.lanes - 1, columns.stop)
        fits = code.builder.and_(fits, code.equal(begun, 0))
        fits = code.builder.and_(fits, code.less(first, stop))
        first = code.builder.select(fits, first, stop)
        whole = code.builder.and_(code.sub(stop, first), code.int(-mover.rows))
        return _Rows(start, stop, first, code.add(first, whole))

    def _from(self, x: Value) -> Value:
        """Where a column lies in the source, in a row that begins with it."""
        return self.code.at(self.source, self.code.mul(x, self.mover.source_bytes))

    def _place(self, x: Value, y: Value) -> Value:
        """Where an element goes."""
        code = self.code
        row = code.at(self.target, code.mul(y, self.mover.stored_bytes))
        return code.at(row, self._column(x))

    def _missing(self, place: Value) -> Value:
        """Bytes up to the next line."""
        code = self.code
        address = code.builder.ptrtoint(place, WORD)
        return code.within_line(code.sub(0, address))

    def _move_others(self, columns: _Columns, rows: _Rows) -> None:
        """The rows above the whole tiles, and those below."""
        code, mover = self.code, self.mover
        with code.loop(2) as below:
            under = code.nonzero(below)
            start = code.builder.select(under, rows.last, rows.start)
            stop = code.builder.select(under, rows.stop, rows.first)
            with (
                code.loop(stop, start=start, step=mover.rows) as y,
                code.loop(columns.stop, start=columns.start, step=mover.lanes) as x,
            ):
                high = code.min(mover.rows, code.sub(stop, y))
                wide = code.min(mover.lanes, code.sub(columns.stop, x))
                into = code.at(self.target, code.mul(y, mover.stored_bytes))
                self._move_tile(self._from(x), into, (y, high), (x, wide))

    @contextmanager
    def _strips(self, columns: _Columns) -> Iterator[_Strip]:
        """The strips of the block: some columns are in two of them, at its ends."""
        code, lanes = self.code, self.mover.lanes
        first = code.sub(columns.start, columns.begun)
        with code.loop(self._strip_count(columns)) as number:
            x = code.max(code.add(first, code.mul(number, lanes)), columns.start)
            x = code.min(x, code.sub(columns.stop, lanes))
            yield _Strip(number, x, self._from(x))

    def _strip_count(self, columns: _Columns) -> Value:
        code, lanes = self.code, self.mover.lanes
        count = code.add(code.sub(columns.stop, columns.start), columns.begun)
        return code.builder.udiv(code.add(count, lanes - 1), code.int(lanes))

    def _move_direct(self, columns: _Columns, rows: _Rows) -> None:
        """Every column of a tile is a line."""
        code, ask = self.code, _Ask(self, columns, rows)
        with (
            code.loop(rows.last, start=rows.first, step=self.mover.rows) as y,
            self._strips(columns) as strip,
        ):
            ask(strip, y)
            for i, number in enumerate(self._load_tile(strip.source, y)):
                place = self._place(code.add(strip.x, i), y)
                self.vector.store_past_caches(number, place)

    def _move_waiting(self, columns: _Columns, rows: _Rows) -> None:
        code, mover, ask = self.code, self.mover, _Ask(self, columns, rows)
        strips = band_columns(mover.source_bytes) // mover.lanes + 1  # the ends may be short
        waiting = _Waiting(code, self.vector, mover.lanes, strips)
        with code.loop(rows.last, start=rows.first, step=mover.rows) as y:
            begins = code.equal(y, rows.first)
            with self._strips(columns) as strip:
                ask(strip, y)
                tile = [v for (v,) in self._load_tile(strip.source, y)]
                places = [self._place(code.add(strip.x, i), y) for i in range(mover.lanes)]
                missing = [self._missing(place) for place in places]
                slots = waiting.slots(strip)
                with code.either(begins) as (begin, go_on):
                    with begin:
                        self._store_parts(tile, places, missing)
                    with go_on:
                        for slot, value, place, bytes_ in zip(
                            slots, tile, places, missing, strict=True
                        ):
                            line = waiting.completed(slot, value, bytes_)
                            begun = code.at(place, code.sub(bytes_, LINE))
                            self.vector.store_past_caches((line,), begun)
                for slot, value in zip(slots, tile, strict=True):
                    code.store(value, slot, LINE)
        last = code.sub(rows.last, mover.rows)
        with self._strips(columns) as strip:
            places = [self._place(code.add(strip.x, i), last) for i in range(mover.lanes)]
            missing = [self._missing(place) for place in places]
            kept = [code.load(slot, self.vector.type, LINE) for slot in waiting.slots(strip)]
            self._store_parts(kept, places, missing, behind=True)

    def _store_parts(
        self,
        values: Sequence[Value],
        places: Sequence[Value],
        missing: Sequence[Value],
        behind: bool = False,
    ) -> None:
        """Of columns what lies in front of the first line that begins in them, or `behind`."""
        code, size = self.code, self.mover.stored.size
        for value, place, bytes_ in zip(values, places, missing, strict=True):
            count = code.builder.udiv(bytes_, code.int(size))
            self.vector.store((value,), place, count, behind=behind)


class _Waiting:
    """What every column of a band has of the tile before."""

    def __init__(self, code: Code, vector: Arithmetic, lanes: int, strips: int) -> None:
        self.code, self.type, self.lanes = code, vector.type, lanes
        self.memory = code.stack(BYTE, strips * lanes * LINE)
        self.pairs = LinePairs(code, vector)

    def slots(self, strip: _Strip) -> list[Value]:
        """Where the columns of a strip wait."""
        first = self.code.at(self.memory, self.code.mul(strip.number, self.lanes * LINE))
        return [self.code.at(first, i * LINE) for i in range(self.lanes)]

    def completed(self, slot: Value, value: Value, missing: Value) -> Value:
        """The line that is complete with the first `missing` bytes of a value."""
        return self.pairs.completed(self.code.load(slot, self.type, LINE), missing, value)


class _Ask:
    """Asks for rows further down, into L2, some with every strip; from the last row on, for those
    of the band beside this one."""

    def __init__(self, lines: Lines, columns: _Columns, rows: _Rows) -> None:
        code, mover = lines.code, lines.mover
        self.lines, self.code, self.rows = lines, code, rows
        strips = lines._strip_count(columns)
        self.share = code.builder.udiv(code.add(strips, mover.rows - 1), strips)
        self.width = code.mul(code.sub(columns.stop, columns.start), mover.source_bytes)
        self.here, self.beside = lines._from(columns.start), lines._from(columns.stop)

    def __call__(self, strip: _Strip, y: Value) -> None:
        """Ask for the share that a strip has of the rows of a tile."""
        code, tile = self.code, self.lines.mover.rows
        start = code.mul(strip.number, self.share)
        stop = code.min(code.add(start, self.share), tile)
        with code.loop(stop, start=start) as row:
            for ahead in (max(AHEAD, 2 * tile), max(AHEAD, 2 * tile) // 2):
                self._ask(code.add(code.add(y, ahead), row))

    def _ask(self, y: Value) -> None:
        code, (start, stop, *_) = self.code, self.rows
        inside = code.less(y, stop)
        again = code.min(code.add(start, code.sub(y, stop)), code.sub(stop, 1))
        row = code.word(self.lines.y_source, code.builder.select(inside, y, again))
        band = code.at(code.builder.select(inside, self.here, self.beside), row)
        with code.loop(code.add(self.width, 1), step=LINE) as at:
            code.prefetch(code.at(band, at), near=False)
