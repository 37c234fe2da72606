"""Strips: the vectors of X that a stream kernel works on at once.

Tails are masked where the machine has masks for the element size, else done by single vectors and
then scalars: no byte outside is ever touched.
"""

from __future__ import annotations

from collections.abc import Iterator

from tensorop.jit.arithmetic import Number
from tensorop.jit.builder import Value
from tensorop.jit.stream_joined import JoinedSteps
from tensorop.jit.stream_steps import Lanes, Place
from tensorop.tuples import NamedTuple


class Strip(NamedTuple):
    """Vectors of X: the first position, the width, and how many lanes of each vector count."""

    x: Value
    lanes: Lanes
    counts: list[Value | None]


class Strips(JoinedSteps):
    """Ways to go along X, by strips."""

    @property
    def _fast(self) -> bool:
        """Whether short sums are worth code of their own, which takes as long again to compile:
        those of types that contractions are fast in."""
        return self.element.is_float and not self.element.half and not self.form.gathers

    @property
    def _converts(self) -> bool:
        """Whether a half type takes few instructions to convert."""
        half = self.element.half
        return bool(half) and (half != "float16" or self.code.target.half) and not self.form.gathers

    @property
    def _adds_apart(self) -> bool:
        """Whether sums down rows of less than a vector have several totals, each for every so
        many-th row: also those of integers."""
        kind = self.element
        return self._fast or (kind.kind in "iu" and kind.part >= 4 and not self.form.gathers)

    @property
    def _asks(self) -> bool:
        """Whether what is read later of an input is asked for."""
        return self.form.asks0 or self.form.asks1

    @property
    def _masks_all(self) -> bool:
        """Whether a loop may mask every vector of it, so that it needs no second one for a tail."""
        free = self.masked and self.code.target.free_masks
        return self.lanes.width == 1 or (free and not self.form.gathers)

    @property
    def _scalar_tail(self) -> bool:
        return self.lanes.width > 1 and not self.masked

    def _strips(self, length: Value, vectors: int, tail: int) -> Iterator[Strip]:
        """Loops that cover so much of X: by strips of several vectors, then the rest. What the
        caller writes for each strip becomes the body of its loop."""
        code, lanes = self.code, self.lanes
        if lanes.width == 1:
            with code.loop(length) as x:
                yield Strip(x, lanes, [None])
            return
        whole = self.multiple(length, vectors * lanes.width)
        if not self.masked:
            single = self.multiple(length, lanes.width)
            yield from self._whole_strips(whole, single, vectors)
            yield from self._tail(length, single)
            return
        if vectors > tail or not self._masks_all:
            with code.loop(whole, step=vectors * lanes.width) as x:
                yield Strip(x, lanes, [None] * vectors)
        else:
            whole = code.int(0)
        if tail > 1 and self._adds_apart:
            narrow = code.less(code.sub(length, whole), lanes.width + 1)
            wide = code.builder.select(narrow, whole, length)
            with code.loop(wide, start=whole, step=tail * lanes.width) as x:
                yield Strip(x, lanes, self._counts(x, length, tail))
            whole, tail = wide, 1
        with code.loop(length, start=whole, step=tail * lanes.width) as x:
            yield Strip(x, lanes, self._counts(x, length, tail))

    def _whole_strips(self, whole: Value, length: Value, vectors: int) -> Iterator[Strip]:
        """Loops over several vectors at a time, then over single ones, of which the last one may
        reach over the end."""
        code, lanes = self.code, self.lanes
        with code.loop(whole, step=vectors * lanes.width) as x:
            yield Strip(x, lanes, [None] * vectors)
        if vectors > 1:
            with code.loop(length, start=whole, step=lanes.width) as x:
                yield Strip(x, lanes, [None])

    def _tail(self, length: Value, start: Value) -> Iterator[Strip]:
        """Less than a vector, from `start` on."""
        code, lanes = self.code, self.lanes
        if self.masked:
            with code.loop(length, start=start, step=lanes.width) as x:
                yield Strip(x, lanes, self._counts(x, length, 1))
        else:
            with code.loop(length, start=start) as x:
                yield Strip(x, self.scalar, [None])

    def _counts(self, x: Value, length: Value, vectors: int) -> list[Value | None]:
        """How many lanes of each of the vectors from x on lie inside."""
        code, lanes = self.code, self.lanes.width
        rest = code.sub(length, x)
        if vectors == 1:
            return [code.min(rest, lanes)]
        return [code.max(code.min(code.sub(rest, i * lanes), lanes), 0) for i in range(vectors)]

    def _columns(self, strip: Strip) -> list[Value]:
        count = strip.lanes.width
        return [self.code.add(strip.x, i * count) for i in range(len(strip.counts))]

    def _places(self, strip: Strip, out: Value) -> list[Place]:
        code = self.code
        addresses = [code.at(out, code.mul(x, self.out_step)) for x in self._columns(strip)]
        return list(zip(addresses, strip.counts, strict=True))

    def _store_strip(self, strip: Strip, values: list[Number], out: Value) -> None:
        self.store(strip.lanes.of, values, self._places(strip, out))
