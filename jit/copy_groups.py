"""Packing into panels of groups (see `groups.py`), with lanes that are consecutive in memory.

The elements of two or four rows are put side by side, in every lane. Where the last rows are no
whole group, zeros come behind them.
"""

from __future__ import annotations

from tensorop.jit.abi import Frame
from tensorop.jit.arithmetic import Arithmetic, indices
from tensorop.jit.builder import Code, Value
from tensorop.jit.copy_abi import CopyDescriptor, CopyKernel
from tensorop.jit.copy_block import Block, Chunks
from tensorop.jit.elements import element
from tensorop.jit.mover import Mover
from tensorop.jit.types import storage

STRIP = 16  # rows of a strip: few pages at a time, each a stream that is read on


class Groups(Block):
    """Every chunk of X, for every few y."""

    def __init__(self, code: Code, mover: Mover, kernel: CopyKernel) -> None:
        super().__init__(code, mover)
        row, group = element(kernel.source), element(kernel.target)
        self.together, self.lanes = group.size // row.size, code.target.lanes(group.size)
        self.rows = Arithmetic(code, row, self.lanes)
        self.groups = Arithmetic(code, group, self.lanes)

    def copy(self) -> None:
        code, xs, d = self.code, self._xs(), CopyDescriptor
        self.y_target = self._pointer(d.Y_TARGET)
        start, size = (self._of_axis(base, d.Y_AXIS) for base in (Frame.START, Frame.SIZE))
        left = code.builder.and_(size, code.int(self.together - 1))
        stop = code.sub(code.add(start, size), left)
        with code.loop(stop, start=start, step=STRIP) as strip:
            self._move_all(xs, strip, code.min(code.add(strip, STRIP), stop), None)
        with code.when(code.nonzero(left)):
            self._move_all(xs, stop, code.add(stop, 1), left)

    def _move_all(self, xs: Chunks, start: Value, stop: Value, left: Value | None) -> None:
        """The groups of some y; left: how many rows the group has, if not all."""
        code = self.code
        with self._records(xs) as (first, offset, length), code.loop(length, step=self.lanes) as i:
            source = code.at(self.source, code.add(offset, code.mul(i, self.rows.element.size)))
            target = code.at(self.target, code.word(self.x_target, first))
            target = code.at(target, code.mul(i, self.groups.element.size))
            count = self.rows.kept(code.min(self.lanes, code.sub(length, i)))
            with code.loop(stop, start=start, step=self.together) as y:
                self._move(source, code.at(target, code.word(self.y_target, y)), y, count, left)

    def _move(
        self, source: Value, target: Value, y: Value, count: Value, left: Value | None
    ) -> None:
        builder = self.code.builder
        rows = [self._row(source, y, i, count, left) for i in range(self.together)]
        while len(rows) > 1:
            lanes, half = rows[0].type.count, len(rows) // 2
            order = indices([i + row for i in range(lanes) for row in (0, lanes)])
            both = zip(rows[:half], rows[half:], strict=True)
            rows = [builder.shuffle_vector(a, b, order) for a, b in both]
        number = builder.bitcast(rows[0], self.groups.shaped(storage(self.groups.element)))
        self.groups.store((number,), target, count)

    def _row(self, source: Value, y: Value, i: int, count: Value, left: Value | None) -> Value:
        """The i-th row of a group; zeros where that is `left` behind."""
        code, select = self.code, self.code.builder.select
        exists = None if left is None else code.less(i, left)
        at = i if exists is None else select(exists, code.int(i), code.int(0))
        place = code.at(source, code.word(self.y_source, code.add(y, at)))
        row = self.rows.load(place, count)[0]
        return row if exists is None else select(exists, row, self.rows.zero[0])
