"""Products of many small matrices, one after the other, with vectors along their rows.

    for x, m, n:  out[m, n, x] (op)= sum over k of in0[m, k, x] * in1[k, n, x]

M is consecutive in in0 and in out. A matrix is so small that what surrounds its sums counts as much
as they do: so tiles fit it exactly, with nothing masked, packed or left over, and all matrices are
gone through in one call. A tile is `width` elements along M, perhaps half of a vector or two of
them, by `columns`; its sums stay in registers over all of K.

Source: A. Heinecke et al., LIBXSMM: accelerating small matrix multiplications by runtime code
generation (2016), whose kernels are made for one size each; these are for all its multiples.
"""

from __future__ import annotations

from llvmlite import ir

from tensorop.jit.abi import Frame
from tensorop.jit.arithmetic import Arithmetic, Number
from tensorop.jit.batch_abi import BatchWord, ItemsKernel
from tensorop.jit.builder import WORD, Code, Value
from tensorop.jit.elements import element
from tensorop.jit.lines import LINE
from tensorop.jit.scalars import Scalars, flat, grouped
from tensorop.jit.slots import AxisSlot
from tensorop.jit.target import Target


def generate(kernel: ItemsKernel, target: Target) -> ir.Module:
    """The module of a kernel."""
    return _Items(kernel, target).generate()


class _Items:
    """The generator of one kernel."""

    def __init__(self, kernel: ItemsKernel, target: Target) -> None:
        self.kernel = kernel
        self.code = code = Code(target, kernel.name)
        kind = element(kernel.dtype)
        self.of, self.one = Arithmetic(code, kind, kernel.width), Arithmetic(code, kind, 1)
        self.size, self.parts = kind.size, kind.parts
        self.scalars = Scalars(code, kind)
        # Read once: what is stored might be these words, for all that LLVM knows.
        self.words = {word: code.word(code.descriptor, word) for word in BatchWord.strides()}

    def generate(self) -> ir.Module:
        code, w, kernel = self.code, BatchWord, self.kernel
        m, n, k, x = (
            code.word(code.frame, Frame.SIZE + axis)
            for axis in (AxisSlot.M, AxisSlot.N, AxisSlot.K, AxisSlot.X)
        )
        in0, in1, out = (
            code.pointer(code.frame, code.word(code.descriptor, slot))
            for slot in (w.IN0_SLOT, w.IN1_SLOT, w.OUT_SLOT)
        )
        self.past = self._goes_past(out) if kernel.past else None
        with (
            code.loop(x) as item,
            code.loop(m, step=kernel.width) as row,
            code.loop(n, step=kernel.columns) as column,
        ):
            down = code.mul(row, self.size)
            a = code.at(self._after(in0, item, w.IN0_X), down)
            b = self._after(self._after(in1, item, w.IN1_X), column, w.IN1_N)
            c = self._after(self._after(out, item, w.OUT_X), column, w.OUT_N)
            self._store(self._sums(a, b, k), code.at(c, down))
        if kernel.past:
            code.fence()
        return code.finish()

    def _goes_past(self, out: Value) -> Value:
        """Whether out is not read, and all tiles begin where vectors may be stored past caches."""
        code, builder = self.code, self.code.builder
        places = builder.ptrtoint(out, WORD)
        for word in (BatchWord.OUT_X, BatchWord.OUT_N):
            places = builder.or_(places, self.words[word])
        part = min(LINE, self.kernel.width * self.size)
        fits = code.equal(builder.and_(places, code.int(part - 1)), 0)
        return builder.and_(fits, builder.not_(self.scalars.reads))

    def _after(self, address: Value, count: Value | int, word: BatchWord) -> Value:
        return self.code.at(address, self.code.mul(self.words[word], count))

    def _sums(self, a: Value, b: Value, k: Value) -> list[Number]:
        """The sums over K of a tile, one a column."""
        code, of, columns = self.code, self.of, range(self.kernel.columns)
        zeros = flat([of.zero] * len(columns))
        with code.repeat(k, [a, b, *zeros]) as carried:
            at, beside, *parts = carried.values
            vector = of.load(at)
            sums = [
                of.fma(vector, of.splat(self.one.load(self._after(beside, i, BatchWord.IN1_N))), s)
                for i, s in zip(columns, grouped(parts, self.parts), strict=True)
            ]
            following = (
                self._after(at, 1, BatchWord.IN0_K),
                self._after(beside, 1, BatchWord.IN1_K),
            )
            carried.update([*following, *flat(sums)])
        return grouped(carried.values[2:], self.parts)

    def _store(self, sums: list[Number], c: Value) -> None:
        of, scalars = self.of, self.scalars
        places = [self._after(c, i, BatchWord.OUT_N) for i in range(len(sums))]

        def alone() -> list[Value]:
            return flat([scalars.alone(of, number) for number in sums])

        def combined() -> list[Value]:
            pairs = zip(sums, places, strict=True)
            return flat([scalars.combined(of, number, of.load(place)) for number, place in pairs])

        def usual() -> None:
            parts = self.code.choose(scalars.reads, combined, alone)
            for number, place in zip(grouped(parts, self.parts), places, strict=True):
                of.store(number, place)

        if self.past is None:
            usual()
            return
        with self.code.either(self.past) as (past, through):
            with past:
                for number, place in zip(sums, places, strict=True):
                    of.store_past_caches(scalars.alone(of, number), place)
            with through:
                usual()
