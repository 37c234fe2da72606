"""Copies that put a few channels beside one another, or take them apart.

The pixels of an image hold red, green and blue of a point; the planes of a network's input hold all
of red, then all of green: vectors of both lie in memory, so nothing is gathered or scattered, and
the rest is shuffles in registers. As many vectors as there are channels hold the same positions on
both sides. An even number of channels is halved: what stands at even and at odd places is put
together, or taken apart, alone. An odd number is merged vector by vector.

The last positions are moved once more together with some before them, so that no byte outside is
touched; fewer than a vector has are moved one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from tensorop.jit.abi import Frame
from tensorop.jit.builder import INT32, Code, Value
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
        moved = self._join(vectors) if self.kernel.joins else self._part(vectors)
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

    # shuffles

    def _part(self, vectors: Sequence[Value]) -> list[Value]:
        """The channels of vectors that follow one another."""
        n, lanes = len(vectors), self.kernel.lanes
        if n == 1:
            return list(vectors)
        if n % 2:
            return [self._picked(vectors, [i * n + c for i in range(lanes)]) for c in range(n)]
        pairs = list(zip(vectors[::2], vectors[1::2], strict=True))
        halves = [
            self._part([self._shuffle(*pair, range(odd, 2 * lanes, 2)) for pair in pairs])
            for odd in (0, 1)
        ]
        return [channel for pair in zip(*halves, strict=True) for channel in pair]

    def _join(self, channels: Sequence[Value]) -> list[Value]:
        """Vectors that follow one another, of channels."""
        n, lanes = len(channels), self.kernel.lanes
        if n == 1:
            return list(channels)
        if n % 2:
            spots = [(i % n) * lanes + i // n for i in range(n * lanes)]
            return [self._picked(channels, spots[i * lanes : (i + 1) * lanes]) for i in range(n)]
        half = lanes // 2
        joined = []
        for pair in zip(self._join(channels[::2]), self._join(channels[1::2]), strict=True):
            for first in (0, half):
                turns = [i + side for i in range(first, first + half) for side in (0, lanes)]
                joined.append(self._shuffle(*pair, turns))
        return joined

    def _picked(self, vectors: Sequence[Value], spots: Sequence[int]) -> Value:
        """A vector of these elements of several vectors."""
        lanes = self.kernel.lanes
        owners = sorted({spot // lanes for spot in spots})
        first, second = owners[0], owners[min(1, len(owners) - 1)]

        def place(spot: int, base: int) -> int:
            """Where a spot is, the vector `base` being the second of the two."""
            return spot % lanes + (lanes if spot // lanes == base else 0)

        picked = self._shuffle(
            vectors[first],
            vectors[second],
            [place(s, second) if s // lanes in (first, second) else 0 for s in spots],
        )
        for owner in owners[2:]:
            order = [lanes + s % lanes if s // lanes == owner else i for i, s in enumerate(spots)]
            picked = self._shuffle(picked, vectors[owner], order)
        return picked

    def _shuffle(self, a: Value, b: Value, order: Sequence[int]) -> Value:
        type_ = ir.VectorType(INT32, len(order))
        mask = ir.Constant(type_, [ir.Constant(INT32, i) for i in order])
        return self.code.builder.shuffle_vector(a, b, mask)
