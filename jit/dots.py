"""Products of matrices as dot products of their rows, with vectors along the sum.

    for x, m, n:  out[m, n, x] (op)= sum over k of in0[m, k, x] * in1[n, k, x]

K is consecutive in in0 and in in1, so that nothing is packed, transposed or spread: a tile is the
sums, each a vector, of some rows of either. They stay in registers over all of K, for which every
vector of a row is loaded once, and are folded together at the end (`fold.py`). If the rows of in0
are those of one tile, in1 is gone through once, as fast as memory is: a layer with few inputs.
"""

from __future__ import annotations

from llvmlite import ir

from tensorop.jit.abi import Frame
from tensorop.jit.arithmetic import Arithmetic, Number
from tensorop.jit.asked import ahead_in_rows
from tensorop.jit.batch_abi import BatchWord, DotsKernel
from tensorop.jit.builder import Code, Value
from tensorop.jit.elements import element
from tensorop.jit.fold import fold_each
from tensorop.jit.scalars import Scalars, flat, grouped
from tensorop.jit.slots import AxisSlot
from tensorop.jit.target import Target


def generate(kernel: DotsKernel, target: Target) -> ir.Module:
    """The module of a kernel."""
    return _Dots(kernel, target).generate()


class _Dots:
    """The generator of one kernel."""

    def __init__(self, kernel: DotsKernel, target: Target) -> None:
        self.kernel = kernel
        self.code = code = Code(target, kernel.name)
        kind = element(kernel.dtype)
        self.size, self.lanes = kind.size, target.lanes(kind.accumulator.part)
        self.vector, self.one = (Arithmetic(code, kind, lanes) for lanes in (self.lanes, 1))
        self.scalars = Scalars(code, kind)
        # Read once: what is stored might be these words, for all that LLVM knows.
        self.words = {word: code.word(code.descriptor, word) for word in BatchWord.strides()}

    def generate(self) -> ir.Module:
        code, w, rows = self.code, BatchWord, self.kernel.rows
        m, n, self.k, x = (
            code.word(code.frame, Frame.SIZE + axis)
            for axis in (AxisSlot.M, AxisSlot.N, AxisSlot.K, AxisSlot.X)
        )
        in0, in1, out = (
            code.pointer(code.frame, code.word(code.descriptor, slot))
            for slot in (w.IN0_SLOT, w.IN1_SLOT, w.OUT_SLOT)
        )
        rest = code.builder.and_(self.k, code.int(self.lanes - 1))
        self.whole = code.sub(self.k, rest)
        self.rest = self.vector.kept(rest)
        columns, self.ahead = self.kernel.columns, None
        if self.kernel.asks:
            length = code.mul(self.k, self.size)
            self.ahead = ahead_in_rows(code, length, self.words[w.IN1_N], columns)
        tiled = code.mul(code.builder.udiv(n, code.int(columns)), columns)
        full = code.mul(code.builder.udiv(m, code.int(rows)), rows)
        with code.loop(x) as item:
            a = self._after(in0, item, w.IN0_X)
            b = self._after(in1, item, w.IN1_X)
            c = self._after(out, item, w.OUT_X)
            for start, stop, width in ((0, tiled, columns), (tiled, n, 1)):
                with code.loop(stop, start=start, step=width) as column:
                    beside = self._after(b, column, w.IN1_N)
                    stored = self._after(c, column, w.OUT_N)
                    with code.loop(full, step=rows) as row:
                        self._tile(a, beside, stored, row, rows, width)
                    if self.kernel.left:
                        self._tile(a, beside, stored, full, self.kernel.left, width)
        return code.finish()

    def _after(self, address: Value, count: Value | int, word: BatchWord) -> Value:
        return self.code.at(address, self.code.mul(self.words[word], count))

    def _tile(self, a: Value, b: Value, c: Value, row: Value, rows: int, columns: int) -> None:
        first = self._after(a, row, BatchWord.IN0_M)
        down = [self._after(first, i, BatchWord.IN0_M) for i in range(rows)]
        beside = [self._after(b, i, BatchWord.IN1_N) for i in range(columns)]
        sums = fold_in_powers(self.vector, self._sums(down, beside))
        self._store(sums, self._after(c, row, BatchWord.OUT_M), rows, columns)

    def _sums(self, down: list[Value], beside: list[Value]) -> list[Number]:
        """Vectors of sums, those of a column after those of the one before."""
        groups = [[place] for place in beside] if self.kernel.in_turn else [beside]
        return [number for group in groups for number in self._together(down, group)]

    def _together(self, down: list[Value], beside: list[Value]) -> list[Number]:
        """Those of some columns, which are gone along at the same time."""
        code, vector = self.code, self.vector
        zeros = flat([vector.zero] * (len(down) * len(beside)))
        with code.reduce(self.whole, zeros, step=self.lanes) as carried:
            offset = code.mul(carried.index, self.size)
            carried.update(self._step(down, beside, offset, carried.values))
        # What is left, at most once.
        with code.reduce(self.k, carried.values, start=self.whole, step=self.lanes) as last:
            offset = code.mul(last.index, self.size)
            last.update(self._step(down, beside, offset, last.values, self.rest))
        return grouped(last.values, 1)

    def _step(
        self,
        down: list[Value],
        beside: list[Value],
        offset: Value,
        sums: list[Value],
        count: Value | None = None,
    ) -> list[Value]:
        code, vector, old = self.code, self.vector, iter(grouped(sums, 1))
        rows = [vector.load(code.at(place, offset), count) for place in down]
        after = []
        for place in beside:
            at = code.at(place, offset)
            if self.ahead is not None and count is None:
                code.prefetch(code.at(at, self.ahead))
            column = vector.load(at, count)
            after += [vector.fma(row, column, next(old)) for row in rows]
        return flat(after)

    def _store(self, sums: list[Number], c: Value, rows: int, columns: int) -> None:
        scalars, one = self.scalars, self.one
        places = [
            self._after(self._after(c, j, BatchWord.OUT_N), i, BatchWord.OUT_M)
            for j in range(columns)
            for i in range(rows)
        ]
        pairs = list(zip(sums, places, strict=True))

        def alone() -> list[Value]:
            return flat([scalars.alone(one, value) for value in sums])

        def combined() -> list[Value]:
            return flat([scalars.combined(one, value, one.load(at)) for value, at in pairs])

        stored = self.code.choose(scalars.reads, combined, alone)
        for place, number in zip(places, grouped(stored, 1), strict=True):
            one.store(number, place)


def fold_in_powers(of: Arithmetic, values: list[Number]) -> list[Number]:
    """The sum of the lanes of each value, powers of two of them together."""
    if not values:
        return []
    together = min(1 << (len(values).bit_length() - 1), of.lanes)
    folded = fold_each(of, values[:together], lambda half, a, b: half.add(a, b))
    return folded + fold_in_powers(of, values[together:])
