"""Copies along whose target is more than the caches hold: whole lines go past these.

A line that is stored in part is read first. Of a row that is long enough, all lines but the first
and the last are stored whole.
"""

from __future__ import annotations

from tensorop.jit.builder import WORD, Value
from tensorop.jit.copy_along import Along
from tensorop.jit.copy_parts import move_end, move_line
from tensorop.jit.lines import LINE

LONG = 3 * LINE  # bytes: two lines are whole, wherever it begins


class Rows(Along):
    """Every chunk of X, for every y: long ones a line at a time."""

    def copy(self) -> None:
        super().copy()
        self.code.fence()

    def _is_long(self, target: Value, length: Value) -> Value:
        """Whether it has some whole lines wherever it begins, or lines and nothing else. A chunk
        behind the end of the block is empty."""
        code = self.code
        size, place = code.mul(length, self.mover.stored_bytes), code.builder.ptrtoint(target, WORD)
        beside = code.builder.and_(code.builder.or_(place, size), code.int(LINE - 1))
        lines = code.builder.and_(code.less(0, size), code.equal(beside, 0))
        return code.builder.or_(code.less(LONG - 1, size), lines)

    def _move_run(self, source: Value, target: Value, length: Value) -> None:
        """One y of a long chunk, which has a whole line."""
        code = self.code
        size = code.mul(length, self.mover.stored_bytes)
        begun = code.builder.and_(code.builder.ptrtoint(target, WORD), code.int(LINE - 1))
        head = code.builder.and_(code.sub(0, begun), code.int(LINE - 1))
        lines = code.builder.and_(code.sub(size, head), code.int(-LINE))
        after = code.add(head, lines)
        move_end(code, source, target, head)
        with code.loop(after, start=head, step=LINE) as at:
            move_line(code, code.at(source, at), code.at(target, at))
        move_end(code, code.at(source, after), code.at(target, after), code.sub(size, after))
