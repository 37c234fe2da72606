"""Copies across whose target is more than the caches hold.

A line that is stored in part is read first, and a hardware prefetcher follows few streams: so lines
are stored whole, past the caches, and the source is read in long runs, where the layout allows it.
"""

from __future__ import annotations

from collections.abc import Iterable

from tensorop.jit.abi import Frame
from tensorop.jit.arithmetic import Number
from tensorop.jit.builder import BYTE, LINE, WORD, Code, Value
from tensorop.jit.copy_abi import CopyDescriptor
from tensorop.jit.copy_across import Across
from tensorop.jit.copy_block import Chunks
from tensorop.jit.mover import Mover

TILE_ROWS = 4  # rows of tiles that are moved together
TILES_AHEAD = 2  # tiles along X that are asked for ahead
COLUMNS = 400  # columns of a block from which on rows of windows pay
LONG_COLUMNS = 96  # the same where columns are long
LONG = 1024  # positions of Y in a long column


class Streaming(Across):
    """Tiles in the order, and with the stores, that memory is fast with."""

    def __init__(self, code: Code, mover: Mover) -> None:
        super().__init__(code, mover)
        self.line_vectors = mover.line_vectors(code.target)
        self.line_rows = self.line_vectors * mover.lanes

    def copy(self) -> None:
        """Where all columns lie alike in cache lines: one row of tiles after the other, which reads
        as many streams as a tile has rows, on and on, so that the hardware prefetches them, and
        stores whole lines past the caches. Else some rows of tiles at a time, so that lines are
        completed while they are in L1, and both sides are asked for."""
        code, xs, ys = self.code, self._xs(), self._ys()
        source, target = self.source, self.target
        with self._outside() as (source_offset, target_offset):
            self.source = code.at(source, source_offset)
            self.target = code.at(target, target_offset)
            if self.line_vectors:
                self._whole_lines(xs, ys)
            else:
                self._columns_of_tiles(xs, ys)
        code.fence()

    def _whole_lines(self, xs: Chunks, ys: Chunks) -> None:
        """Whole lines past the caches, where the columns of the block allow it."""
        code = self.code
        run, alike, head = self._lie(ys)
        x_size = self._of_axis(Frame.SIZE, CopyDescriptor.X_AXIS)
        y_size = self._of_axis(Frame.SIZE, CopyDescriptor.Y_AXIS)
        enough = code.builder.select(
            code.less(y_size, LONG), code.int(COLUMNS), code.int(LONG_COLUMNS)
        )
        long = code.builder.and_(run, code.less(code.sub(enough, 1), x_size))
        with code.either(code.builder.and_(run, alike)) as (then, else_):
            with then:
                self._rows_of_tiles(xs, ys, head)
            with else_, code.either(long) as (windows, otherwise):
                with windows:
                    self._rows_of_windows(xs, ys)
                with otherwise:
                    self._columns_of_tiles(xs, ys)

    def _lie(self, ys: Chunks) -> tuple[Value, Value, Value]:
        """Whether the columns of the block are consecutive, whether all begin at the same place of
        a cache line, and how many rows there are in the first to the next line."""
        code, d = self.code, CopyDescriptor
        start = self._of_axis(Frame.START, d.X_AXIS)
        stop = code.add(start, self._of_axis(Frame.SIZE, d.X_AXIS))
        first = code.word(self.x_target, start)
        with code.reduce(stop, [code.int(0)], start) as columns:
            apart = code.sub(code.word(self.x_target, columns.index), first)
            columns.update([code.builder.or_(columns.values[0], apart)])
        size = code.int(self.mover.stored_bytes)
        y_first, y_offset, _ = self._record(ys, ys.first)
        with code.reduce(ys.stop, [code.int(0)], ys.first) as rows:
            position, offset, _ = self._record(ys, rows.index)
            down = code.mul(code.sub(position, y_first), size)
            gap = code.sub(code.sub(offset, y_offset), down)
            rows.update([code.builder.or_(rows.values[0], gap)])
        run = code.equal(rows.values[0], 0)
        base = code.builder.ptrtoint(code.at(code.at(self.target, y_offset), first), WORD)
        to_line = code.builder.and_(code.sub(0, base), code.int(LINE - 1))
        whole = code.equal(code.builder.urem(to_line, size), 0)
        same = code.equal(code.builder.and_(columns.values[0], code.int(LINE - 1)), 0)
        return code.builder.and_(run, whole), same, code.builder.udiv(to_line, size)

    def _rows_of_tiles(self, xs: Chunks, ys: Chunks, head: Value) -> None:
        """Columns that are consecutive: first `head` rows up to a line, then whole lines."""
        code, line_rows = self.code, self.line_rows
        start, y_offset, _ = self._record(ys, ys.first)
        size = self._of_axis(Frame.SIZE, CopyDescriptor.Y_AXIS)
        stop = code.add(start, size)
        short = code.builder.select(code.equal(head, 0), code.int(0), code.sub(line_rows, head))
        with code.loop(stop, start=code.sub(start, short), step=line_rows) as line:
            y = code.max(line, start)
            rows = code.sub(code.min(code.add(line, line_rows), stop), y)
            down = code.mul(code.sub(y, start), self.mover.stored_bytes)
            target = code.at(self.target, code.add(y_offset, down))
            whole = code.equal(rows, line_rows)
            with self._records(xs) as (x_first, x_offset, columns):
                source = code.at(self.source, x_offset)
                full = code.builder.and_(whole, code.equal(columns, self.mover.lanes))
                with code.either(full) as (lines, parts):
                    with lines:
                        self._move_lines(source, target, y, x_first)
                    with parts:
                        self._move_rows(source, target, (y, rows), (x_first, columns))

    def _move_rows(
        self, source: Value, target: Value, y: tuple[Value, Value], x: tuple[Value, Value]
    ) -> None:
        """Tiles one below the other, through the caches."""
        code, lanes, (first, count) = self.code, self.mover.lanes, y
        with code.loop(count, step=lanes) as down:
            rows = code.add(first, down), code.min(lanes, code.sub(count, down))
            place = code.at(target, code.mul(down, self.mover.stored_bytes))
            self._move_tile(source, place, rows, x)

    def _move_lines(self, source: Value, target: Value, y: Value, x_first: Value) -> None:
        """Tiles one below the other that are a whole line of each column, past the caches."""
        code, mover = self.code, self.mover
        tiles = [self._load_tile(source, y, range(i, i + mover.lanes)) for i in self._tile_rows(1)]
        for i, column in enumerate(zip(*tiles, strict=True)):
            place = code.at(target, code.word(self.x_target, code.add(x_first, i)))
            for below, number in enumerate(column):
                at = code.at(place, below * code.target.vector_bytes)
                mover.store_past_caches(code, number, at)

    def _tile_rows(self, lines: int) -> range:
        """The first row of every tile of some lines."""
        return range(0, lines * self.line_rows, self.mover.lanes)

    def _load_tile(self, source: Value, y: Value, rows: Iterable[int]) -> list[Number]:
        """The columns of some rows, counted from `y` on."""
        code = self.code
        places = [code.word(self.y_source, code.add(y, i)) for i in rows]
        loaded = [self.mover.load(code, code.at(source, place)) for place in places]
        return self.mover.transposed(code, loaded)

    def _rows_of_windows(self, xs: Chunks, ys: Chunks) -> None:
        """Consecutive columns that begin anywhere in a line: of two lines' worth of rows each
        column has a line somewhere. The first and the last rows are stored as they are."""
        code, line_rows, size = self.code, self.line_rows, self.mover.stored_bytes
        start, y_offset, _ = self._record(ys, ys.first)
        count = self._of_axis(Frame.SIZE, CopyDescriptor.Y_AXIS)
        stop = code.add(start, count)
        complete = code.max(code.sub(count, line_rows - 1), 0)
        windows = code.builder.udiv(complete, code.int(line_rows))
        tail = code.add(start, code.mul(windows, line_rows))

        def at_row(y: Value) -> Value:
            down = code.mul(code.sub(y, start), size)
            return code.at(self.target, code.add(y_offset, down))

        with code.loop(2) as end:
            first = code.equal(end, 0)
            low = code.builder.select(first, start, tail)
            high = code.builder.select(first, code.min(code.add(start, line_rows), tail), stop)
            with code.loop(high, start=low, step=line_rows) as y:
                rows = code.min(line_rows, code.sub(high, y))
                with self._records(xs) as (x_first, x_offset, columns):
                    source = code.at(self.source, x_offset)
                    self._move_rows(source, at_row(y), (y, rows), (x_first, columns))
        room = code.stack(BYTE, 2 * self.mover.lanes * LINE)
        with code.loop(tail, start=start, step=line_rows) as y:
            target = at_row(y)
            with self._records(xs) as (x_first, x_offset, columns):
                source = code.at(self.source, x_offset)
                with code.either(code.equal(columns, self.mover.lanes)) as (full, partial):
                    with full:
                        self._store_lines(source, target, y, x_first, room)
                    with partial:
                        place = (y, code.int(line_rows)), (x_first, columns)
                        self._move_rows(source, target, *place)

    def _store_lines(
        self, source: Value, target: Value, y: Value, x_first: Value, room: Value
    ) -> None:
        """The first whole line of each column from row `y` on, past the caches."""
        code, mover = self.code, self.mover
        # A line that begins in the first line's worth of rows ends before the last row of the
        # second, which may not exist: its neighbour is read for it.
        last, vector_bytes = 2 * self.line_rows - 2, code.target.vector_bytes
        for below, first in enumerate(self._tile_rows(2)):
            rows = [min(first + i, last) for i in range(mover.lanes)]
            for i, number in enumerate(self._load_tile(source, y, rows)):
                place = code.at(room, 2 * i * LINE + below * vector_bytes)
                mover.store(code, number, place, self.plane)
        for i in range(mover.lanes):
            column = code.at(target, code.word(self.x_target, code.add(x_first, i)))
            address = code.builder.ptrtoint(column, WORD)
            up = code.builder.and_(code.sub(0, address), code.int(LINE - 1))
            line, place = code.at(code.at(room, 2 * i * LINE), up), code.at(column, up)
            for at in range(0, LINE, vector_bytes):
                number = mover.stored_vector(code, code.at(line, at))
                mover.store_past_caches(code, number, code.at(place, at))

    def _columns_of_tiles(self, xs: Chunks, ys: Chunks) -> None:
        code = self.code
        last = code.sub(xs.stop, 1)
        with (
            code.loop(ys.stop, start=ys.first, step=TILE_ROWS) as y_start,
            code.loop(xs.stop, start=xs.first) as x_chunk,
            code.loop(code.min(code.add(y_start, TILE_ROWS), ys.stop), start=y_start) as y_chunk,
        ):
            x_first, x_offset, columns = self._record(xs, x_chunk)
            y_first, y_offset, rows = self._record(ys, y_chunk)
            source, target = code.at(self.source, x_offset), code.at(self.target, y_offset)
            later = self._record(xs, code.min(code.add(x_chunk, TILES_AHEAD), last))
            self._ask(code.at(self.source, later[1]), target, (y_first, rows), later)
            self._move_tile(source, target, (y_first, rows), (x_first, columns))

    def _ask(
        self, source: Value, target: Value, y: tuple[Value, Value], x: tuple[Value, Value, Value]
    ) -> None:
        """Ask for the rows of a tile, and for where its columns go."""
        code = self.code
        end = code.sub(code.mul(y[1], self.mover.stored_bytes), 1)
        for i in range(self.mover.lanes):
            row = code.word(self.y_source, code.add(y[0], code.min(i, code.sub(y[1], 1))))
            code.prefetch(code.at(source, row))
            column = code.word(self.x_target, code.add(x[0], code.min(i, code.sub(x[2], 1))))
            code.prefetch(code.at(code.at(target, column), end), write=True)
