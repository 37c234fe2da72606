"""Copies that put a few channels beside one another, or take them apart.

The pixels of an image hold red, green and blue of a point; the planes of a network's input hold all
of red, then all of green: vectors of both lie in memory, so nothing is gathered or scattered, and
the rest is shuffles in registers (jit/channels.py). As many vectors as there are channels hold the
same positions on both sides.

The last positions are moved once more together with some before them, so that no byte outside is
touched; fewer than a vector has are moved one by one.
"""

from __future__ import annotations

from llvmlite import ir

from tensorop.jit.abi import Frame
from tensorop.jit.builder import Code, Value
from tensorop.jit.channels import join, part
from tensorop.jit.instructions import vector_type
from tensorop.jit.interleave_abi import InterleaveKernel, InterleaveWord
from tensorop.jit.target import Target


def generate(kernel: InterleaveKernel, target: Target) -> ir.Module:
    """The module of a kernel."""
    return Interleave(kernel, target).generate()


class Interleave:
    """The generator of one kernel."""

    def __init__(self, kernel: InterleaveKernel, target: Target) -> None:
        self.kernel = kernel
        self.code = code = Code(target, kernel.name)
        self.element = ir.IntType(8 * kernel.size)
        self.vector = vector_type(self.element, kernel.lanes)
        self.source = code.pointer(code.frame, self._word(InterleaveWord.SOURCE_SLOT))
        self.target = code.pointer(code.frame, self._word(InterleaveWord.TARGET_SLOT))
        self.apart = self._word(InterleaveWord.APART)
        self.x, self.y = (
            code.word(code.frame, code.add(self._word(axis), Frame.SIZE))
            for axis in (InterleaveWord.X_AXIS, InterleaveWord.Y_AXIS)
        )

    def _word(self, word: InterleaveWord) -> Value:
        return self.code.word(self.code.descriptor, word)

    def generate(self) -> ir.Module:
        """Row after row: whole vectors, then what is left."""
        code, lanes = self.code, self.kernel.lanes
        whole = code.builder.and_(self.x, code.int(-lanes))
        down = self._word(InterleaveWord.Y_SOURCE), self._word(InterleaveWord.Y_TARGET)
        with code.loop(self.y) as y:
            source, target = (
                code.at(base, code.mul(y, step))
                for base, step in zip((self.source, self.target), down, strict=True)
            )
            with code.loop(whole, step=lanes) as x:
                self._move_vectors(source, target, x)
            is_left, fills = code.less(whole, self.x), code.less(lanes - 1, self.x)
            with code.when(is_left), code.either(fills) as (again, alone):
                with again:
                    self._move_vectors(source, target, code.sub(self.x, lanes))
                with alone, code.loop(self.x) as x:
                    self._move_elements(source, target, x)
        return code.finish()

    def _beside(self, base: Value, x: Value) -> Value:
        """Where the channels of a position lie beside one another."""
        return self.code.at(base, self.code.mul(x, self.kernel.channels * self.kernel.size))

    def _channel(self, base: Value, x: Value, channel: int) -> Value:
        """Where a position of a channel lies among others of that channel."""
        start = self.code.at(base, self.code.mul(self.apart, channel))
        return self.code.at(start, self.code.mul(x, self.kernel.size))

    def _move_vectors(self, source: Value, target: Value, x: Value) -> None:
        code, channels = self.code, range(self.kernel.channels)
        joined = self._beside(target if self.kernel.joins else source, x)
        beside = [code.at(joined, i * self.kernel.lanes * self.kernel.size) for i in channels]
        apart = [self._channel(source if self.kernel.joins else target, x, i) for i in channels]
        places = (apart, beside) if self.kernel.joins else (beside, apart)
        vectors = [code.load(place, self.vector) for place in places[0]]
        moved = join(code, vectors) if self.kernel.joins else part(code, vectors)
        for vector, place in zip(moved, places[1], strict=True):
            code.store(vector, place)

    def _move_elements(self, source: Value, target: Value, x: Value) -> None:
        code = self.code
        for i in range(self.kernel.channels):
            if self.kernel.joins:
                place = code.at(self._beside(target, x), i * self.kernel.size)
                code.store(code.load(self._channel(source, x, i), self.element), place)
            else:
                place = code.at(self._beside(source, x), i * self.kernel.size)
                code.store(code.load(place, self.element), self._channel(target, x, i))
