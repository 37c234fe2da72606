"""Copies across whose target is more than the caches hold.

A line that is stored in part is read first, and a hardware prefetcher follows few streams: so lines
are stored whole, past the caches, and the source is read in long runs, where the layout allows it.
"""

from __future__ import annotations

from dataclasses import replace

from tensorop.jit.abi import Frame
from tensorop.jit.builder import WORD, Value
from tensorop.jit.copy_abi import CopyDescriptor
from tensorop.jit.copy_block import Chunks
from tensorop.jit.copy_windows import Windows
from tensorop.jit.lines import LINE

TILE_ROWS = 4  # rows of tiles that are moved together
TILES_AHEAD = 2  # tiles along X that are asked for ahead
LEAST_LINES = 3  # of a run of a column, so that whole lines pay


class Streaming(Windows):
    """Tiles in the order, and with the stores, that memory is fast with."""

    MOST_TOGETHER = 32

    def copy(self) -> None:
        """Whole lines past the caches, where columns have long runs in the target, else columns of
        tiles."""
        code, xs, ys = self.code, self._xs(), self._ys()
        source, target = self.source, self.target
        with self._outside() as (source_offset, target_offset):
            self.source = code.at(source, source_offset)
            self.target = code.at(target, target_offset)
            if self.line_vectors:
                self._runs(xs, ys)
            else:
                self._columns_of_tiles(xs, ys)
        code.fence()

    def _lie(self, xs: Chunks, ys: Chunks) -> tuple[Value, Value]:
        """Whether columns have long runs in the target, of elements of which some begin with a
        line; and whether all columns begin at the same place of a cache line."""
        code, d = self.code, CopyDescriptor
        start = self._of_axis(Frame.START, d.X_AXIS)
        stop = code.add(start, self._of_axis(Frame.SIZE, d.X_AXIS))
        first = self.column_offset(start)
        with code.reduce(stop, [code.int(0)], start) as columns:
            apart = code.sub(self.column_offset(columns.index), first)
            columns.update([code.builder.or_(columns.values[0], apart)])
        with code.reduce(ys.stop, [code.int(0)], ys.first) as runs:
            ends = code.builder.zext(self._ends_run(ys, runs.index), WORD)
            runs.update([code.add(runs.values[0], ends)])
        _, y_offset, _ = self._record(ys, ys.first)
        place = code.builder.ptrtoint(code.at(code.at(self.target, y_offset), first), WORD)
        whole = code.equal(code.builder.urem(place, code.int(self.mover.stored_bytes)), 0)
        rows = self._of_axis(Frame.SIZE, d.Y_AXIS)
        long = code.less(code.mul(runs.values[0], LEAST_LINES * self.line_rows), rows)
        alike = code.equal(code.builder.and_(columns.values[0], code.int(LINE - 1)), 0)
        return code.builder.and_(long, whole), alike

    def _ends_run(self, ys: Chunks, chunk: Value) -> Value:
        """Whether the next chunk of Y does not go on in the target where this one ends: it may
        begin before that."""
        code, last = self.code, self.code.sub(ys.stop, 1)

        def origin(chunk: Value) -> Value:
            first, offset, _ = self._record(ys, chunk)
            return code.sub(offset, code.mul(first, self.mover.stored_bytes))

        following = code.min(code.add(chunk, 1), last)
        return code.builder.not_(code.equal(origin(chunk), origin(following)))

    def _runs(self, xs: Chunks, ys: Chunks) -> None:
        """One run of the columns after the other where runs are long, else all of them at once."""
        code, last = self.code, self.code.sub(ys.stop, 1)
        lines, alike = self._lie(xs, ys)
        with code.reduce(ys.stop, [ys.first], ys.first) as runs:
            (first,), chunk = runs.values, runs.index
            after = code.add(chunk, 1)
            ends = code.builder.and_(lines, self._ends_run(ys, chunk))
            ends = code.builder.or_(ends, code.equal(chunk, last))
            run = replace(ys, first=first, stop=after)
            start, stop, _ = self._run(run)
            long = code.less(self.line_rows - 1, code.sub(stop, start))
            with code.when(ends), code.either(code.builder.and_(lines, long)) as (then, else_):
                with then:
                    self._lines(xs, run, alike)
                with else_:
                    self._columns_of_tiles(xs, run)
            runs.update([code.builder.select(ends, after, first)])

    def _lines(self, xs: Chunks, ys: Chunks, alike: Value) -> None:
        """Whole lines of a run: straight from the registers where they hold those of a tile."""
        if self.together < self.line_vectors:
            self._windows(xs, ys)
            return
        with self.code.either(alike) as (aligned, anywhere):
            with aligned:
                self._rows_of_tiles(xs, ys)
            with anywhere:
                self._windows(xs, ys)

    def _rows_of_tiles(self, xs: Chunks, ys: Chunks) -> None:
        """A run of columns that all begin at the same place of a line: one row of tiles after the
        other, which reads as many streams as a tile has rows, on and on, so that the hardware
        prefetches them, and stores whole lines past the caches from the first one on."""
        code, line_rows, d = self.code, self.line_rows, CopyDescriptor
        start, stop, y_offset = self._run(ys)
        first = self.column_offset(self._of_axis(Frame.START, d.X_AXIS))
        base = code.builder.ptrtoint(code.at(code.at(self.target, y_offset), first), WORD)
        to_line = code.builder.and_(code.sub(0, base), code.int(LINE - 1))
        head = code.builder.udiv(to_line, code.int(self.mover.stored_bytes))
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
        code, per, (first, count) = self.code, self.mover.rows, y
        with code.loop(count, step=per) as down:
            rows = code.add(first, down), code.min(per, code.sub(count, down))
            place = code.at(target, code.mul(down, self.mover.stored_bytes))
            self._move_tile(source, place, rows, x)

    def _move_lines(self, source: Value, target: Value, y: Value, x_first: Value) -> None:
        """Tiles one below the other that are a whole line of each column, past the caches."""
        code, mover = self.code, self.mover
        rows = range(0, self.line_rows, mover.rows)
        tiles = [self._load_tile(source, code.add(y, i)) for i in rows]
        for i, column in enumerate(zip(*tiles, strict=True)):
            place = code.at(target, self.column_offset(code.add(x_first, i)))
            for below, number in enumerate(column):
                mover.store_past_caches(code, number, code.at(place, below * self.part))

    def _columns_of_tiles(self, xs: Chunks, ys: Chunks) -> None:
        """A few rows of tiles at a time, through the caches: lines are completed while they are in
        L1, and both sides are asked for."""
        code, last = self.code, self.code.sub(xs.stop, 1)
        # Small tiles share the lines of their rows, but not those of their columns in short runs.
        every = max(1, LINE // (2 * self.mover.lanes * self.mover.source_bytes))
        ahead = max(TILES_AHEAD, every)
        with (
            code.loop(ys.stop, start=ys.first, step=TILE_ROWS) as y_start,
            code.loop(xs.stop, start=xs.first) as x_chunk,
            code.loop(
                code.min(code.add(y_start, TILE_ROWS), ys.stop), start=y_start, step=self.together
            ) as y_chunk,
        ):
            x_first, x_offset, columns = self._record(xs, x_chunk)
            source = code.at(self.source, x_offset)
            tiles = code.min(code.add(y_chunk, self.together), ys.stop)
            below = replace(ys, first=y_chunk, stop=tiles)
            with code.when(code.equal(code.builder.urem(x_chunk, code.int(every)), 0)):
                later = self._record(xs, code.min(code.add(x_chunk, ahead), last))
                self._ask_rows(code.at(self.source, later[1]), below)
            later = self._record(xs, code.min(code.add(x_chunk, TILES_AHEAD), last))
            self._ask_columns(below, later)
            self._move_tiles(source, self.target, below, (x_first, columns))

    def _ask_rows(self, source: Value, ys: Chunks) -> None:
        """Ask for the rows of the first tiles."""
        code = self.code
        with self._records(ys) as (first, _, rows):
            for i in range(self.mover.rows):
                row = code.word(self.y_source, code.add(first, code.min(i, code.sub(rows, 1))))
                code.prefetch(code.at(source, row))

    def _ask_columns(self, ys: Chunks, x: tuple[Value, Value, Value]) -> None:
        """Ask for where columns go: for where the first tiles end."""
        code, (x_first, _, columns) = self.code, x
        with self._records(ys) as (_, offset, rows):
            end = code.sub(code.mul(rows, self.mover.stored_bytes), 1)
            target = code.at(code.at(self.target, offset), end)
            for i in range(self.mover.lanes):
                column = code.add(x_first, code.min(i, code.sub(columns, 1)))
                code.prefetch(code.at(target, self.column_offset(column)), write=True)


class Windowed(Streaming):
    """The same with several lines of a column stored one after the other, wherever they begin."""

    def _rows_of_tiles(self, xs: Chunks, ys: Chunks) -> None:
        self._windows(xs, ys)
