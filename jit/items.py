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

from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, cycle

from llvmlite import ir

from tensorop.jit.abi import Frame
from tensorop.jit.arithmetic import Arithmetic, Number, indices
from tensorop.jit.batch_abi import BatchWord, ItemsKernel
from tensorop.jit.builder import WORD, Code, Value
from tensorop.jit.elements import element
from tensorop.jit.lines import LINE
from tensorop.jit.scalars import Scalars, flat, grouped
from tensorop.jit.slots import AxisSlot
from tensorop.jit.target import Target
from tensorop.tuples import NamedTuple

FAR = 6000  # bytes at least from an item that is read to one that is asked for


class _Ahead(NamedTuple):
    """What is asked for of an input: bytes from one item to another, a part for each step of K, and
    what that makes for each tile of columns and each row of tiles."""

    word: BatchWord
    distance: Value
    part: Value
    column: Value
    row: Value


def generate(kernel: ItemsKernel, target: Target) -> ir.Module:
    """The module of a kernel; ValueError where it would store parts of vectors past the caches."""
    cut = any(n & (n - 1) for n in kernel.pieces(target))
    if kernel.past and cut and not kernel.joins(target):
        raise ValueError(f"no masked stores past the caches: {kernel.name}")
    return _Items(kernel, target).generate()


class _Items:
    """The generator of one kernel."""

    def __init__(self, kernel: ItemsKernel, target: Target) -> None:
        self.kernel = kernel
        self.code = code = Code(target, kernel.name)
        kind = element(kernel.dtype)
        self.pieces = kernel.pieces(target)
        # Where part of a vector is no such itself, it is masked.
        self.vectors = [Arithmetic(code, kind, 1 << (n - 1).bit_length()) for n in self.pieces]
        self.counts = [
            of.kept(code.int(n)) if n < of.lanes else None
            for of, n in zip(self.vectors, self.pieces, strict=True)
        ]
        starts = accumulate(self.pieces[:-1], initial=0)
        self.starts = [start * kind.size for start in starts]  # bytes
        self.one = Arithmetic(code, kind, 1)
        self.line = Arithmetic(code, kind, LINE // kind.size) if kernel.joins(target) else None
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
        self.past = self._goes_past(out, m) if kernel.past else None
        self._find_ahead(m, n, k)
        whole = code.sub(n, kernel.rest)
        with code.loop(x) as item, code.loop(m, step=kernel.width) as row:
            for first, stop, columns in ((0, whole, kernel.columns), (whole, n, kernel.rest)):
                if columns:
                    with code.loop(stop, first, columns) as column:
                        self._tile((in0, in1, out), (item, row, column), k, columns)
        if kernel.past:
            code.fence()
        return code.finish()

    def _tile(
        self,
        tensors: tuple[Value, Value, Value],
        position: tuple[Value, Value, Value],
        k: Value,
        columns: int,
    ) -> None:
        """A tile of so many columns that begins at an item, row and column."""
        code, w, (in0, in1, out), (item, row, column) = self.code, BatchWord, tensors, position
        down = code.mul(row, self.size)
        aheads = [
            code.at(self._after(base, item, ahead.word), self._further(ahead, row, column))
            for base, ahead in zip((in0, in1), self.aheads, strict=False)
        ]
        a = code.at(self._after(in0, item, w.IN0_X), down)
        b = self._after(self._after(in1, item, w.IN1_X), column, w.IN1_N)
        c = self._after(self._after(out, item, w.OUT_X), column, w.OUT_N)
        self._store(self._sums((a, b), k, aheads, columns), code.at(c, down), columns)

    def _goes_past(self, out: Value, m: Value) -> Value:
        """Whether out is not read, and all tiles begin where vectors may be stored past caches, or
        lines do, if vectors are joined to such."""
        code, builder, column = self.code, self.code.builder, self.words[BatchWord.OUT_N]
        width, part = self.kernel.width * self.size, LINE
        places = builder.or_(builder.ptrtoint(out, WORD), self.words[BatchWord.OUT_X])
        if self.line is None:
            part = min(LINE, self.vectors[0].lanes * self.size)
            below = builder.select(code.less(self.kernel.width, m), code.int(width), code.int(0))
            places = builder.or_(builder.or_(places, column), below)
        fits = code.equal(builder.and_(places, code.int(part - 1)), 0)
        if self.line is not None:
            fits = builder.and_(fits, code.equal(column, width))
        return builder.and_(fits, builder.not_(self.scalars.reads))

    def _find_ahead(self, m: Value, n: Value, k: Value) -> None:
        """What is asked for of each input, if anything is."""
        code, kernel, self.aheads = self.code, self.kernel, []
        divide = code.builder.udiv
        across = divide(code.sub(code.add(n, kernel.columns), 1), code.int(kernel.columns))
        steps = code.mul(code.mul(divide(m, code.int(kernel.width)), across), k)
        for word in (BatchWord.IN0_X, BatchWord.IN1_X) if kernel.asks else ():
            item = self.words[word]
            distance = code.mul(item, code.add(divide(code.int(FAR), code.max(1, item)), 1))
            part = divide(code.sub(code.add(item, steps), 1), code.max(1, steps))
            column = code.mul(part, k)
            self.aheads.append(_Ahead(word, distance, part, column, code.mul(column, across)))

    def _further(self, ahead: _Ahead, row: Value, column: Value) -> Value:
        """Bytes from an item of an input to what a tile begins to ask for."""
        code, kernel = self.code, self.kernel
        rows = code.mul(code.builder.udiv(row, code.int(kernel.width)), ahead.row)
        columns = code.mul(code.builder.udiv(column, code.int(kernel.columns)), ahead.column)
        return code.add(ahead.distance, code.add(rows, columns))

    def _after(self, address: Value, count: Value | int, word: BatchWord) -> Value:
        return self.code.at(address, self.code.mul(self.words[word], count))

    def _sums(
        self, start: tuple[Value, Value], k: Value, aheads: Sequence[Value], columns: int
    ) -> list[Number]:
        """The sums over K of a tile, the vectors of a column after those of the one before; aheads:
        from where on is asked for what later items have."""
        code, first = self.code, 2 + len(aheads)
        zeros = flat([of.zero for of in self.vectors] * columns)
        with code.repeat(k, [*start, *aheads, *zeros]) as carried:
            (at, beside, *further), parts = carried.values[:first], carried.values[first:]
            for address in further:
                code.prefetch(address, near=False)
            loaded = [of.load(p, count) for of, p, count in self._vectors(at)]
            old, sums = iter(grouped(parts, self.parts)), []
            for column in range(columns):
                scalar = self.one.load(self._after(beside, column, BatchWord.IN1_N))
                for of, vector in zip(self.vectors, loaded, strict=True):
                    sums.append(of.fma(vector, of.splat(scalar), next(old)))
            following = (
                self._after(at, 1, BatchWord.IN0_K),
                self._after(beside, 1, BatchWord.IN1_K),
                *(code.at(p, ahead.part) for p, ahead in zip(further, self.aheads, strict=True)),
            )
            carried.update([*following, *flat(sums)])
        return grouped(carried.values[first:], self.parts)

    def _vectors(self, address: Value) -> list[tuple[Arithmetic, Value, Value | None]]:
        """The vectors of a column that begins there: their arithmetic, places and masks."""
        places = (self.code.at(address, start) for start in self.starts)
        return list(zip(self.vectors, places, self.counts, strict=True))

    def _store(self, sums: list[Number], c: Value, columns: int) -> None:
        scalars = self.scalars
        starts = (self._after(c, i, BatchWord.OUT_N) for i in range(columns))
        vectors = list(chain.from_iterable(map(self._vectors, starts)))

        def alone() -> list[Value]:
            pairs = zip(vectors, sums, strict=True)
            return flat([scalars.alone(of, number) for (of, *_), number in pairs])

        def combined() -> list[Value]:
            triples = (
                (of, n, of.load(*place)) for (of, *place), n in zip(vectors, sums, strict=True)
            )
            return flat([scalars.combined(*triple) for triple in triples])

        def usual() -> None:
            parts = self.code.choose(scalars.reads, combined, alone)
            for (of, *place), number in zip(vectors, grouped(parts, self.parts), strict=True):
                of.store(number, *place)

        if self.past is None:
            usual()
            return
        with self.code.either(self.past) as (past, through):
            with past:
                numbers = [
                    (of, place, scalars.alone(of, number))
                    for (of, place, _), number in zip(vectors, sums, strict=True)
                ]
                for of, place, number in self._joined(c, numbers) if self.line else numbers:
                    of.store_past_caches(number, place)
            with through:
                usual()

    def _joined(
        self, c: Value, vectors: Sequence[tuple[Arithmetic, Value, Number]]
    ) -> Iterator[tuple[Arithmetic, Value, Number]]:
        """The lines of a tile whose columns lie end to end, of the vectors that they consist of."""
        of = self.line
        assert of is not None
        counts = cycle(self.pieces)
        owners = [(number[0], i) for *_, number in vectors for i in range(next(counts))]
        for first in range(0, len(owners), of.lanes):
            line: Value | None = None
            here = owners[first : first + of.lanes]
            for vector in dict.fromkeys(vector for vector, _ in here):
                mine = [lane if owner is vector else 0 for owner, lane in here]
                wide = self.code.builder.shuffle_vector(vector, vector, indices(mine))
                chosen = [i + of.lanes * (owner is vector) for i, (owner, _) in enumerate(here)]
                pair = line or wide
                line = self.code.builder.shuffle_vector(pair, wide, indices(chosen))
            assert line is not None
            yield of, self.code.at(c, first * self.size), (line,)
