"""Copies along whose target is more than the caches hold: whole lines go past these.

A line that is stored in part is read first. Of a row that is long enough, all lines but the first
and the last are stored whole; and where the next row goes on behind it, the line that both have a
part of is put together in a register. With every line that is stored, one of a later row is asked
for: a hardware prefetcher begins anew with every row. Of a very long row its own lines are.
"""

from __future__ import annotations

from contextlib import nullcontext

from tensorop.jit.arithmetic import Arithmetic
from tensorop.jit.builder import WORD, Code, Value
from tensorop.jit.copy_along import STRIP, Along
from tensorop.jit.copy_block import Chunks
from tensorop.jit.copy_parts import move_end, move_line
from tensorop.jit.elements import element
from tensorop.jit.lines import LINE
from tensorop.jit.mover import Mover
from tensorop.tuples import NamedTuple

LONG = 3 * LINE  # bytes: two lines are whole, wherever it begins
AHEAD = 64 * LINE  # bytes that are asked for ahead, about


class _Row(NamedTuple):
    """Where a row lies, and how long it is; `asked`: where as much lies that is asked for.
    `joined`, `joins`: whether it begins and ends in a line that it has together with the row before
    and with the next one, which lies at `following` in the source."""

    source: Value
    target: Value
    size: Value
    asked: Value
    joined: Value
    joins: Value
    following: Value


class Rows(Along):
    """Every chunk of X, for every y: long ones a line at a time."""

    def __init__(self, code: Code, mover: Mover) -> None:
        super().__init__(code, mover)
        target, byte = code.target, element("uint8")
        self.puts_together = target.free_masks and target.lanes(byte.size) == LINE
        self.bytes = Arithmetic(code, byte, LINE)

    def copy(self) -> None:
        super().copy()
        self.code.fence()

    def _is_long(self, target: Value, length: Value) -> Value:
        """Whether it has some whole lines wherever it begins, or lines and nothing else, be they
        parts of two rows. A chunk behind the end of the block is empty."""
        code = self.code
        size, place = code.mul(length, self.mover.stored_bytes), code.builder.ptrtoint(target, WORD)
        beside = code.builder.or_(place, size)
        if self.puts_together:
            beside = code.builder.select(self._joins(self.first, size), size, beside)
        beside = code.within_line(beside)
        lines = code.builder.and_(code.less(0, size), code.equal(beside, 0))
        return code.builder.or_(code.less(LONG - 1, size), lines)

    def _joins(self, y: Value, size: Value) -> Value:
        """Whether there is a next row in the block, and it follows a row of so many bytes."""
        code = self.code
        after = code.min(self.last, code.add(y, 1))
        step = code.sub(code.word(self.y_target, after), code.word(self.y_target, y))
        return code.equal(step, size)

    def _move_long(
        self, chunks: Chunks, chunk: Value, places: tuple[Value, Value], length: Value
    ) -> None:
        code = self.code
        size = code.mul(length, self.mover.stored_bytes)
        later, rows = self._later(chunks, chunk, size)
        with code.loop(self.y_stop, start=self.y_start) as y:
            source, target = self._places(*places, y)
            before = code.max(self.first, code.sub(y, 1))
            after = code.min(self.last, code.add(y, 1))
            asked = code.word(self.y_source, code.min(self.last, code.add(y, rows)))
            asked, ahead = code.at(later, asked), code.at(source, AHEAD)
            row = _Row(
                source,
                target,
                size,
                asked=code.builder.select(code.less(AHEAD, size), ahead, asked),
                joined=code.builder.and_(code.less(self.first, y), self._joins(before, size)),
                joins=self._joins(y, size),
                following=code.at(places[0], code.word(self.y_source, after)),
            )
            self._move_row(row)

    def _later(self, chunks: Chunks, chunk: Value, size: Value) -> tuple[Value, Value]:
        """The chunk that comes after one of `size` bytes, in row 0 of the source, and how many rows
        further down: the next one, the first one of the next strip, or the only one."""
        code, select = self.code, self.code.builder.select
        after = code.add(chunk, 1)
        goes_on = code.less(after, chunks.stop)
        following = select(goes_on, after, chunks.first)
        _, offset, _ = self._record(chunks, following)
        near = code.min(STRIP, code.add(code.builder.udiv(code.int(AHEAD), size), 1))
        rows = select(code.equal(following, chunk), near, code.int(STRIP))
        return code.at(self.source, offset), select(goes_on, code.int(0), rows)

    def _move_row(self, row: _Row) -> None:
        """A row that has a whole line, or parts of two of which others have the rest."""
        code, (source, target, size, asked, *_) = self.code, row
        begun = code.within_line(target)
        head = code.within_line(code.sub(0, begun))
        lines = code.builder.and_(code.sub(size, head), code.int(-LINE))
        after = code.add(head, lines)
        with code.when(code.builder.not_(row.joined)) if self.puts_together else nullcontext():
            move_end(code, source, target, head)
        with code.loop(after, start=head, step=LINE) as at:
            move_line(code, code.at(source, at), code.at(target, at))
            code.prefetch(code.at(asked, at), near=False)
        code.prefetch(code.at(asked, after), near=False)
        source, target, rest = code.at(source, after), code.at(target, after), code.sub(size, after)
        if not self.puts_together:
            move_end(code, source, target, rest)
            return
        with code.when(code.nonzero(rest)), code.either(row.joins) as (together, alone):
            with together:
                (end,) = self.bytes.load(source, rest)
                begin = code.at(row.following, code.sub(0, rest))
                (begin,) = self.bytes.load(begin, rest, behind=True)
                self.bytes.store_past_caches((code.builder.or_(end, begin),), target)
            with alone:
                move_end(code, source, target, rest)
