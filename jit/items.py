"""Products of many small matrices, one after the other, with vectors along their rows.

    for x, m, n:  out[m, n, x] (op)= sum over k of in0[m, k, x] * in1[k, n, x]

M is consecutive in in0 and in out. A matrix is so small that what surrounds its sums counts as much
as they do: so tiles fit it exactly, with nothing masked, packed or left over, and all matrices are
gone through in one call. A tile is `width` elements along M, some vectors of which the last may be
half as wide, by `columns`; its sums stay in registers over all of K.

Source: A. Heinecke et al., LIBXSMM: accelerating small matrix multiplications by runtime code
generation (2016), whose kernels are made for one size each; these are for all its multiples.
"""

from __future__ import annotations

from itertools import accumulate, chain

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
        self.vectors = [Arithmetic(code, kind, lanes) for lanes in kernel.pieces(target)]
        starts = accumulate((of.lanes for of in self.vectors[:-1]), initial=0)
        self.starts = [start * kind.size for start in starts]  # bytes
        self.one = Arithmetic(code, kind, 1)
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
        part = min(LINE, self.vectors[0].lanes * self.size)
        fits = code.equal(builder.and_(places, code.int(part - 1)), 0)
        return builder.and_(fits, builder.not_(self.scalars.reads))

    def _after(self, address: Value, count: Value | int, word: BatchWord) -> Value:
        return self.code.at(address, self.code.mul(self.words[word], count))

    def _sums(self, a: Value, b: Value, k: Value) -> list[Number]:
        """The sums over K of a tile, the vectors of a column after those of the one before."""
        code, columns = self.code, self.kernel.columns
        zeros = flat([of.zero for of in self.vectors] * columns)
        with code.repeat(k, [a, b, *zeros]) as carried:
            at, beside, *parts = carried.values
            loaded = [of.load(p) for of, p in self._pieces(at)]
            old, sums = iter(grouped(parts, self.parts)), []
            for column in range(columns):
                scalar = self.one.load(self._after(beside, column, BatchWord.IN1_N))
                for of, vector in zip(self.vectors, loaded, strict=True):
                    sums.append(of.fma(vector, of.splat(scalar), next(old)))
            following = (
                self._after(at, 1, BatchWord.IN0_K),
                self._after(beside, 1, BatchWord.IN1_K),
            )
            carried.update([*following, *flat(sums)])
        return grouped(carried.values[2:], self.parts)

    def _pieces(self, address: Value) -> list[tuple[Arithmetic, Value]]:
        """The vectors of a column that begins there."""
        places = (self.code.at(address, start) for start in self.starts)
        return list(zip(self.vectors, places, strict=True))

    def _store(self, sums: list[Number], c: Value) -> None:
        scalars = self.scalars
        columns = (self._after(c, i, BatchWord.OUT_N) for i in range(self.kernel.columns))
        places = chain.from_iterable(self._pieces(column) for column in columns)
        pieces = [(*place, number) for place, number in zip(places, sums, strict=True)]

        def alone() -> list[Value]:
            return flat([scalars.alone(of, number) for of, _, number in pieces])

        def combined() -> list[Value]:
            return flat([scalars.combined(of, n, of.load(place)) for of, place, n in pieces])

        def usual() -> None:
            parts = self.code.choose(scalars.reads, combined, alone)
            for (of, place, _), number in zip(pieces, grouped(parts, self.parts), strict=True):
                of.store(number, place)

        if self.past is None:
            usual()
            return
        with self.code.either(self.past) as (past, through):
            with past:
                for of, place, number in pieces:
                    of.store_past_caches(scalars.alone(of, number), place)
            with through:
                usual()
