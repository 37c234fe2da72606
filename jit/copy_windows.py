"""Columns that begin anywhere in a cache line, stored as whole lines.

Lines that end within a vector of a tile cannot be stored from registers. So a window of rows is
transposed into a buffer that L2 holds, and lines are stored from there, wherever they begin.
"""

from __future__ import annotations

from dataclasses import replace

from tensorop.jit.builder import BYTE, WORD, Code, Value
from tensorop.jit.copy_across import Across
from tensorop.jit.copy_block import Chunks
from tensorop.jit.copy_parts import move_both, with_part
from tensorop.jit.lines import LINE
from tensorop.jit.mover import Mover

WINDOW = 8  # lines of a column that are put together
PITCH = (WINDOW + 1) * LINE  # bytes from one column of the buffer to the next
STRIP = 24  # chunks of X whose columns it has room for
COLUMNS_AHEAD = 8  # columns whose ends are asked for ahead


class Windows(Across):
    """Tiles that go to memory by way of a buffer.

    A run is some rows of Y that are consecutive in the target, in every column of X.
    """

    def __init__(self, code: Code, mover: Mover) -> None:
        super().__init__(code, mover)
        self.line_rows = self.line_vectors * mover.rows
        self.part = mover.rows * mover.stored_bytes  # bytes of a vector

    def _run(self, ys: Chunks) -> tuple[Value, Value, Value]:
        """First and last but one position, and the offset in the target, of a run. Its last chunks
        may lie behind the end of the block."""
        start, offset, _ = self._record(ys, ys.first)
        last, _, rows = self._record(ys, self.code.sub(ys.stop, 1))
        return start, self.code.min(self.code.add(last, rows), ys.end), offset

    def _windows(self, xs: Chunks, ys: Chunks) -> None:
        """A run of columns that begin anywhere in a line. Windows of some lines' worth of rows are
        transposed into a buffer, a strip of X at a time, from where every column's whole lines are
        stored; the last one, which is not complete, waits there for the next window."""
        code, window = self.code, WINDOW * self.line_rows
        start, stop, y_offset = self._run(ys)
        room = code.stack(BYTE, STRIP * self.mover.lanes * PITCH)
        with code.loop(xs.stop, start=xs.first, step=STRIP) as strip:
            chunks = replace(xs, first=strip, stop=code.min(code.add(strip, STRIP), xs.stop))
            with code.loop(stop, start=start, step=window) as y:
                down = code.mul(code.sub(y, start), self.mover.stored_bytes)
                rows = code.min(window, code.sub(stop, y))
                ends = code.equal(y, start), code.equal(code.add(y, rows), stop)
                self._fill(chunks, y, rows, stop, code.at(room, LINE))
                target = code.at(self.target, code.add(y_offset, down))
                self._store_lines(chunks, target, room, rows, ends)

    def _fill(self, xs: Chunks, y_start: Value, count: Value, stop: Value, room: Value) -> None:
        """Transpose some rows into the buffer, and ask for those that follow."""
        code, per, size = self.code, self.mover.rows, self.mover.stored_bytes
        x_start, _, _ = self._record(xs, xs.first)
        into = self._with_columns(lambda x: code.mul(code.sub(x, x_start), PITCH))
        tiles_of_line = max(1, LINE // (self.mover.lanes * self.mover.source_bytes))
        with code.loop(count, step=per) as down, code.loop(xs.stop, start=xs.first) as chunk:
            x_first, x_offset, columns = self._record(xs, chunk)
            y, rows = code.add(y_start, down), code.min(per, code.sub(count, down))
            source = code.at(self.source, x_offset)
            with code.when(code.equal(code.builder.urem(chunk, code.int(tiles_of_line)), 0)):
                later = code.min(code.add(y, per), code.sub(stop, per))
                for i in range(per):
                    code.prefetch(code.at(source, code.word(self.y_source, code.add(later, i))))
            place = code.at(room, code.mul(down, size))
            into._move_tile(source, place, (y, rows), (x_first, columns))

    def _store_lines(
        self, xs: Chunks, target: Value, room: Value, rows: Value, ends: tuple[Value, Value]
    ) -> None:
        """What the buffer has of every column: whole lines past the caches, and where a run begins
        and ends the rest. The line before is in the buffer, too."""
        code, (is_first, is_last) = self.code, ends
        filled = code.mul(rows, self.mover.stored_bytes)
        x_start, _, _ = self._record(xs, xs.first)
        x_last, _, columns = self._record(xs, code.sub(xs.stop, 1))
        stop = code.min(code.add(x_last, columns), xs.end)  # the last chunks may lie behind it
        with code.loop(stop, start=x_start) as x:
            column = code.at(target, self.column_offset(x))
            mine = code.at(room, code.add(code.mul(code.sub(x, x_start), PITCH), LINE))
            later = code.min(code.add(x, COLUMNS_AHEAD), code.sub(stop, 1))
            following = code.at(target, self.column_offset(later))
            begun = code.builder.and_(code.builder.ptrtoint(column, WORD), code.int(LINE - 1))
            is_part = code.builder.and_(is_first, code.less(0, begun))
            with code.when(is_part):
                code.prefetch(following, write=True)
                self._move_bytes(mine, column, code.sub(LINE, begun))
            back, end = code.sub(0, begun), code.add(begun, filled)
            lines = code.builder.udiv(end, code.int(LINE))
            with code.loop(lines, start=code.builder.zext(is_part, WORD)) as line:
                at = code.add(back, code.mul(line, LINE))
                self._move_line(code.at(mine, at), code.at(column, at), past_caches=True)
            with code.either(is_last) as (then, else_):
                with then:
                    code.prefetch(code.at(following, filled), write=True)
                    at = code.add(back, code.mul(lines, LINE))
                    left = code.sub(filled, at)
                    self._move_bytes(code.at(mine, at), code.at(column, at), left)
                with else_:
                    self._move_line(code.at(mine, code.sub(filled, LINE)), code.at(mine, -LINE))

    def _move_line(self, source: Value, target: Value, past_caches: bool = False) -> None:
        """As many bytes as a line has; past the caches only where they are one."""
        code, mover = self.code, self.mover
        for at in range(0, LINE, self.part):
            number, place = mover.stored_vector(code, code.at(source, at)), code.at(target, at)
            if past_caches:
                mover.store_past_caches(code, number, place)
            else:
                mover.store(code, number, place, self.plane)

    def _move_bytes(self, source: Value, target: Value, count: Value) -> None:
        """Fewer bytes than a line has."""
        code = self.code
        with_part(
            code,
            count,
            LINE // 2,
            self.mover.stored_bytes,
            lambda part: move_both(code, source, target, count, part),
        )
