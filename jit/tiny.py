"""Products of tiny matrices that lie end to end, each as straight-line code.

    for x, m, n:  out[m, n, x] (op)= sum over k of in0[m, k, x] * in1[k, n, x]

Rotations, gates, 4x4 transforms: a product is less than what a loop around its sums would cost, so
there is none but that over the products, and every address is a constant from where its matrices
begin. A column that is no whole vector is computed as one: what is stored behind it is what is
stored next, the following column or matrix. So the last matrix of a call is done element by
element, as are all where out is read.

Source: A. Heinecke et al., LIBXSMM: accelerating small matrix multiplications by runtime code
generation (2016), for code of one size each.
"""

from __future__ import annotations

from llvmlite import ir

from tensorop.jit.abi import Frame
from tensorop.jit.arithmetic import Arithmetic, Number
from tensorop.jit.batch_abi import BatchWord
from tensorop.jit.builder import WORD, Code, Value
from tensorop.jit.elements import element
from tensorop.jit.scalars import Scalars, flat, grouped
from tensorop.jit.slots import AxisSlot
from tensorop.jit.target import Target
from tensorop.jit.tiny_abi import SUMS, TinyKernel


def generate(kernel: TinyKernel, target: Target) -> ir.Module:
    """The module of a kernel."""
    return _Tiny(kernel, target).generate()


class _Tiny:
    """The generator of one kernel."""

    def __init__(self, kernel: TinyKernel, target: Target) -> None:
        self.kernel, self.pieces = kernel, kernel.pieces(target)
        self.code = code = Code(target, kernel.name)
        kind = element(kernel.dtype)
        self.size = kind.size
        self.of, self.one = Arithmetic(code, kind, self.pieces.width), Arithmetic(code, kind, 1)
        self.scalars = Scalars(code, kind)
        self.in0, self.in1, self.out = (
            code.pointer(code.frame, code.word(code.descriptor, slot))
            for slot in (BatchWord.IN0_SLOT, BatchWord.IN1_SLOT, BatchWord.OUT_SLOT)
        )

    def generate(self) -> ir.Module:
        code, kernel = self.code, self.kernel
        x = code.word(code.frame, Frame.SIZE + AxisSlot.X)
        whole = code.sub(x, 1) if self.pieces.beyond else x
        whole = code.builder.select(self.scalars.reads, code.int(0), whole)
        if kernel.past:
            self._products_past(whole)
        else:
            self._products(whole)
        with code.loop(x, start=whole) as item:
            self._by_elements(*self._matrices(item))
        return code.finish()

    def _products(self, count: Value, past: bool = False) -> None:
        with self.code.loop(count) as item:
            self._product(*self._matrices(item), past)

    def _products_past(self, count: Value) -> None:
        """Past the caches, if vectors begin where such stores may."""
        code, part = self.code, self.pieces.width * self.size
        place = code.builder.and_(code.builder.ptrtoint(self.out, WORD), code.int(part - 1))
        with code.either(code.equal(place, 0)) as (past, through):
            with past:
                self._products(count, past=True)
                code.fence()
            with through:
                self._products(count)

    def _matrices(self, item: Value) -> tuple[Value, Value, Value]:
        kernel = self.kernel
        sizes = (kernel.m * kernel.k, kernel.k * kernel.n, kernel.m * kernel.n)
        bases = (self.in0, self.in1, self.out)
        a, b, c = (
            self.code.at(base, self.code.mul(item, size * self.size))
            for base, size in zip(bases, sizes, strict=True)
        )
        return a, b, c

    def _place(self, base: Value, elements: int) -> Value:
        return self.code.at(base, elements * self.size)

    def _product(self, a: Value, b: Value, c: Value, past: bool) -> None:
        """As many columns at a time as there are registers for."""
        kernel, starts = self.kernel, self.pieces.starts
        together = max(1, SUMS // len(starts))
        for first in range(0, kernel.n, together):
            columns = range(first, min(first + together, kernel.n))
            sums = self._sums(a, b, columns)
            for column, parts in zip(columns, sums, strict=True):
                for start, number in zip(starts, parts, strict=True):
                    place = self._place(c, column * kernel.m + start)
                    number = self.scalars.alone(self.of, number)
                    (self.of.store_past_caches if past else self.of.store)(number, place)

    def _sums(self, a: Value, b: Value, columns: range) -> list[list[Number]]:
        """Of each column the sums over K."""
        kernel, of = self.kernel, self.of
        sums: list[list[Number]] = []
        for k in range(kernel.k):
            places = [self._place(a, k * kernel.m + start) for start in self.pieces.starts]
            vectors = [of.load(place) for place in places]
            steps = [self._in1(k, column) for column in columns]
            factors = [of.splat(self.one.load(self._place(b, step))) for step in steps]
            if not sums:
                sums = [[of.mul(vector, f) for vector in vectors] for f in factors]
                continue
            sums = [
                [of.fma(vector, f, s) for vector, s in zip(vectors, parts, strict=True)]
                for f, parts in zip(factors, sums, strict=True)
            ]
        return sums

    def _in1(self, k: int, n: int) -> int:
        """Where an element of in1 is."""
        return n * self.kernel.k + k if self.kernel.down else k * self.kernel.n + n

    def _by_elements(self, a: Value, b: Value, c: Value) -> None:
        code, kernel, one, scalars = self.code, self.kernel, self.one, self.scalars
        step_k, step_n = (1, kernel.k) if kernel.down else (kernel.n, 1)
        with code.loop(code.int(kernel.n)) as n, code.loop(code.int(kernel.m)) as m:
            row, column = self._after(a, m, 1), self._after(b, n, step_n)
            with code.reduce(code.int(kernel.k), flat([one.zero])) as carried:
                (total,) = grouped(carried.values, 1)
                left = one.load(self._after(row, carried.index, kernel.m))
                right = one.load(self._after(column, carried.index, step_k))
                carried.update(flat([one.fma(left, right, total)]))
            (total,) = grouped(carried.values, 1)
            place = self._after(self._after(c, n, kernel.m), m, 1)
            parts = code.choose(
                scalars.reads,
                lambda: flat([scalars.combined(one, total, one.load(place))]),
                lambda: flat([scalars.alone(one, total)]),
            )
            one.store(grouped(parts, 1)[0], place)

    def _after(self, base: Value, count: Value, elements: int) -> Value:
        return self.code.at(base, self.code.mul(count, elements * self.size))
