"""Copies across whose columns follow one another in the target, into more than the caches hold.

Rows of the target are short then, and end anywhere in a cache line: so the columns of some tiles
are put together in a buffer that L2 holds, from where whole lines are stored past the caches.
"""

from __future__ import annotations

from dataclasses import replace

from llvmlite import ir

from tensorop.jit.abi import Frame
from tensorop.jit.builder import BYTE, WORD, Value
from tensorop.jit.copy_abi import ROOM, CopyDescriptor
from tensorop.jit.copy_across import Across
from tensorop.jit.copy_block import Chunks
from tensorop.jit.instructions import vector_type
from tensorop.jit.lines import LINE

STRIP = 8  # chunks of X at a time, if there is room: lines that are read on for
_WORDS = vector_type(ir.IntType(64), LINE // 8)


class Woven(Across):
    """Strip after strip of X, with all of Y. The buffer begins with the bytes of the last line that
    is not complete."""

    def copy(self) -> None:
        code, xs, ys = self.code, self._xs(), self._ys()
        room = code.stack(BYTE, ROOM + 2 * LINE)
        first, _, _ = self._record(xs, xs.first)
        begin = code.at(self.target, code.word(self.x_target, first))
        phase = code.builder.and_(code.builder.ptrtoint(begin, WORD), code.int(LINE - 1))
        row = code.mul(self._of_axis(Frame.SIZE, CopyDescriptor.Y_AXIS), self.mover.stored_bytes)
        # Where the buffer's first byte goes, how many of its bytes are there, and how many of those
        # are none of this block's.
        state = [code.at(begin, code.sub(0, phase)), phase, phase]
        chunks = code.builder.udiv(code.int(ROOM), code.mul(row, self.mover.lanes))
        strip = code.min(chunks, STRIP)
        with code.reduce(xs.stop, state, xs.first, strip) as carried:
            place, held, foreign = carried.values
            last = code.min(code.add(carried.index, strip), xs.stop)
            x_first, _, _ = self._record(xs, carried.index)
            column = code.word(self.x_target, x_first)
            into = code.at(code.at(room, held), code.sub(0, column))
            self._weave(replace(xs, first=carried.index, stop=last), ys, into, xs.stop)
            end, _, columns = self._record(xs, code.sub(last, 1))
            # Chunks may lie behind the end of the block.
            count = code.sub(code.min(code.add(end, columns), xs.end), x_first)
            held = code.add(held, code.mul(code.max(count, 0), row))
            lines = code.builder.and_(held, code.int(-LINE))
            any_lines = code.less(0, lines)
            with code.when(any_lines):
                self._store_lines(room, place, lines, foreign)
            foreign = code.builder.select(any_lines, code.int(0), foreign)
            carried.update([code.at(place, lines), code.sub(held, lines), foreign])
        place, held, foreign = carried.values
        self._store_bytes(room, place, foreign, held)
        code.fence()

    def _weave(self, xs: Chunks, ys: Chunks, into: Value, stop: Value) -> None:
        """Every tile of a strip to the buffer; the same of the next strip is asked for."""
        code = self.code
        with self._records(ys) as (y_first, y_offset, rows), code.loop(xs.stop, xs.first) as chunk:
            x_first, x_offset, columns = self._record(xs, chunk)
            later = code.min(code.add(chunk, code.sub(xs.stop, xs.first)), code.sub(stop, 1))
            ahead = code.at(self.source, self._record(xs, later)[1])
            for i in range(self.mover.rows):
                row = code.word(self.y_source, code.add(y_first, code.min(i, code.sub(rows, 1))))
                code.prefetch(code.at(ahead, row))
            source = code.at(self.source, x_offset)
            self._move_tile(source, code.at(into, y_offset), (y_first, rows), (x_first, columns))

    def _store_lines(self, room: Value, place: Value, count: Value, foreign: Value) -> None:
        """`count` bytes of whole lines; of the first perhaps only what is this block's. What is
        left of the buffer goes to its beginning."""
        code = self.code
        is_whole = code.equal(foreign, 0)
        with code.when(code.builder.not_(is_whole)):
            self._store_bytes(room, place, foreign, code.int(LINE))
        start = code.builder.select(is_whole, code.int(0), code.int(LINE))
        with code.loop(count, start=start, step=LINE) as at:
            code.store_past_caches(code.load(code.at(room, at), _WORDS, 8), code.at(place, at))
        code.store(code.load(code.at(room, count), _WORDS, 8), room, 8)

    def _store_bytes(self, room: Value, place: Value, start: Value, stop: Value) -> None:
        """Bytes of the buffer, one by one: an array may begin anywhere."""
        code = self.code
        with code.loop(stop, start=start) as at:
            code.store(code.load(code.at(room, at), BYTE), code.at(place, at))
