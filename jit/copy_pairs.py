"""Packing into panels of pairs (see `bfloat_pairs.py`), with lanes that are consecutive in memory.

The elements of two rows are put side by side, in every lane. Behind the last row, if it has none to
go with, come zeros.
"""

from __future__ import annotations

from tensorop.jit.abi import Frame
from tensorop.jit.arithmetic import Arithmetic, indices
from tensorop.jit.builder import INT32, Value
from tensorop.jit.copy_abi import CopyDescriptor
from tensorop.jit.copy_block import Block
from tensorop.jit.elements import element

STRIP = 8  # pairs of rows of a strip: few pages at a time, each a stream that is read on


class Pairs(Block):
    """Every chunk of X, for every two y."""

    def copy(self) -> None:
        code, xs, d = self.code, self._xs(), CopyDescriptor
        self.y_target = self._pointer(d.Y_TARGET)
        self.lanes = code.target.lanes(4)
        self.halves = Arithmetic(code, element("uint16"), self.lanes)
        self.pairs = Arithmetic(code, element("uint32"), self.lanes)
        start = self._of_axis(Frame.START, d.Y_AXIS)
        self.stop = code.add(start, self._of_axis(Frame.SIZE, d.Y_AXIS))
        with code.loop(self.stop, start=start, step=2 * STRIP) as strip:
            last = code.min(code.add(strip, 2 * STRIP), self.stop)
            with (
                self._records(xs) as (first, offset, length),
                code.loop(length, step=self.lanes) as i,
                code.loop(last, start=strip, step=2) as y,
            ):
                source = code.at(self.source, code.add(offset, code.mul(i, 2)))
                column = code.add(code.word(self.x_target, first), code.mul(i, 4))
                count = code.min(self.lanes, code.sub(length, i))
                self._move(source, code.at(self.target, column), y, count)

    def _move(self, source: Value, target: Value, y: Value, count: Value) -> None:
        code, builder = self.code, self.code.builder
        following = code.add(y, 1)
        is_last = code.equal(following, self.stop)
        following = builder.select(is_last, y, following)
        (low,), (high,) = (
            self.halves.load(code.at(source, code.word(self.y_source, row)), count)
            for row in (y, following)
        )
        none = self.halves.zero[0]
        high = builder.select(is_last, none, high)
        order = [i + row for i in range(self.lanes) for row in (0, self.lanes)]
        both = builder.shuffle_vector(low, high, indices(order))
        number = builder.bitcast(both, self.pairs.shaped(INT32))
        self.pairs.store((number,), code.at(target, code.word(self.y_target, y)), count)
