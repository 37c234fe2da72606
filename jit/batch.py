"""Products of many small matrices at once: a batch index runs along the lanes of the vectors.

    for m, n, x:  out[m, n, x] (op)= sum over k of in0[m, k, x] * in1[k, n, x]

Where the matrices are too small, or their elements too far apart, to fill vectors with rows of one
matrix, a vector holds the same element of many. Nothing is packed. A register tile of
`rows` by `columns` vectors keeps its sums over all of K, so that every vector that is loaded serves
several products; what is left over of M and N is done in tiles one row or one column wide.

X is consecutive, or strided: vectors are then gathered, and results scattered; or an input is the
same for all of the batch, and its elements are broadcast; or some neighbours are, again and again,
where vectors hold several items of a short batch (X is then whole vectors). M, N and K may have any
strides. Results are stored as `abi.CallRecord` says (see jit/scalars.py).

Source: A. Heinecke et al., LIBXSMM: accelerating small matrix multiplications by runtime code
generation (2016); its packed GEMM has the same layout.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from llvmlite import ir

from tensorop.jit.abi import Frame
from tensorop.jit.arithmetic import Arithmetic, Number
from tensorop.jit.batch_abi import BatchKernel, BatchWord
from tensorop.jit.builder import Code, Value
from tensorop.jit.elements import GATHERED, element
from tensorop.jit.scalars import Scalars, flat, grouped
from tensorop.jit.slots import AxisSlot
from tensorop.jit.target import Target


def generate(kernel: BatchKernel, target: Target) -> ir.Module:
    """The module of a kernel; ValueError where vectors of its dtype are not gathered."""
    if kernel.gathers and kernel.dtype not in GATHERED:
        raise ValueError(f"vectors of {kernel.dtype} are not gathered")
    return _Batch(kernel, target).generate()


class _Batch:
    """The generator of one kernel."""

    def __init__(self, kernel: BatchKernel, target: Target) -> None:
        self.kernel = kernel
        self.code = code = Code(target, kernel.name)
        self.element = element(kernel.dtype)
        self.lanes = kernel.lanes(target)
        self.masked = not kernel.gathers and self.element.part in target.masked
        self.m, self.n, self.k, self.x = (
            code.word(code.frame, Frame.SIZE + axis)
            for axis in (AxisSlot.M, AxisSlot.N, AxisSlot.K, AxisSlot.X)
        )
        self.in0, self.in1, self.out = (
            code.pointer(code.frame, self._word(word))
            for word in (BatchWord.IN0_SLOT, BatchWord.IN1_SLOT, BatchWord.OUT_SLOT)
        )
        known = {"unit": self.element.size, "zero": 0, "repeated": 0}
        self.x_in0, self.x_in1, self.x_out = (
            known[access] if access in known else self._word(word)
            for access, word in (
                (kernel.in0, BatchWord.IN0_X),
                (kernel.in1, BatchWord.IN1_X),
                (kernel.out, BatchWord.OUT_X),
            )
        )
        self.scalars = Scalars(code, self.element)

    def _word(self, word: BatchWord) -> Value:
        return self.code.word(self.code.descriptor, word)

    def generate(self) -> ir.Module:
        code = self.code
        for first_m, stop_m, rows in self._parts(self.m, self.kernel.rows):
            for first_n, stop_n, columns in self._parts(self.n, self.kernel.columns):
                with (
                    code.loop(stop_m, first_m, rows) as m,
                    code.loop(stop_n, first_n, columns) as n,
                ):
                    self._tile(m, n, rows, columns)
        return code.finish()

    def _parts(self, size: Value, width: int) -> Iterator[tuple[Value, Value, int]]:
        """Where the tiles of a side begin and end: whole ones, then what is left, one by one."""
        code = self.code
        whole = code.mul(code.builder.udiv(size, code.int(width)), width)
        yield code.int(0), whole, width
        if width > 1:
            yield whole, size, 1

    def _tile(self, m: Value, n: Value, rows: int, columns: int) -> None:
        """A tile of out, for all of the batch."""
        code, w = self.code, BatchWord
        in0 = self._lines(self.in0, m, rows, self._word(w.IN0_M))
        in1 = self._lines(self.in1, n, columns, self._word(w.IN1_N))
        out_m = self._lines(self.out, m, rows, self._word(w.OUT_M))
        out = [p for row in out_m for p in self._lines(row, n, columns, self._word(w.OUT_N))]
        whole = code.mul(code.builder.udiv(self.x, code.int(self.lanes)), self.lanes)
        masks = self.masked and self.lanes > 1
        all_masked = masks and code.target.free_masks
        strips = [(code.int(0), self.x if all_masked else whole, self.lanes, all_masked)]
        if self.lanes > 1 and not all_masked and not self.kernel.period:
            strips.append((whole, self.x, self.lanes if masks else 1, masks))
        for first, stop, lanes, masked in strips:
            of = Arithmetic(code, self.element, lanes)
            same = [self._same(of, lines, tensor) for tensor, lines in enumerate((in0, in1))]
            with code.loop(stop, first, lanes) as x:
                count = of.kept(code.min(lanes, code.sub(stop, x))) if masked else None
                sides = self._at_x(in0, x, 0), self._at_x(in1, x, 1)
                if self.kernel.depth:
                    sums = self._sums_of_all(of, sides, same, count)
                else:
                    sums = self._sums(of, *sides, count)
                self._store(of, sums, self._at_x(out, x, 2), count)

    def _lines(self, address: Value, first: Value, count: int, stride: Value) -> list[Value]:
        code = self.code
        return [code.at(address, code.mul(code.add(first, i), stride)) for i in range(count)]

    def _at_x(self, lines: Sequence[Value], x: Value, tensor: int) -> list[Value]:
        step = (self.x_in0, self.x_in1, self.x_out)[tensor]
        return [self.code.at(line, self.code.mul(x, step)) for line in lines]

    def _sums(
        self, of: Arithmetic, in0: list[Value], in1: list[Value], count: Value | None
    ) -> list[Number]:
        """The sums over K of a tile, rows outside."""
        code = self.code
        steps = [self._word(BatchWord.IN0_K), self._word(BatchWord.IN1_K)]
        zeros = flat([of.zero] * (len(in0) * len(in1)))
        with code.repeat(self.k, [code.int(0), code.int(0), *zeros]) as carried:
            down, across, *parts = carried.values
            sums = grouped(parts, self.element.parts)
            b = [self._load(of, code.at(p, across), 1, count) for p in in1]
            after = []
            for i, p in enumerate(in0):
                a = self._load(of, code.at(p, down), 0, count)
                for j, number in enumerate(b):
                    after.append(of.fma(a, number, sums[i * len(in1) + j]))
            offsets = [code.add(o, s) for o, s in zip((down, across), steps, strict=True)]
            carried.update([*offsets, *flat(after)])
        return grouped(carried.values[2:], self.element.parts)

    def _same(self, of: Arithmetic, lines: list[Value], tensor: int) -> list[list[Number]]:
        """What an input has for each step of a sum that the code has all of, if it is the same for
        all of the batch."""
        access = (self.kernel.in0, self.kernel.in1)[tensor]
        steps = self.kernel.depth if access == "zero" else 0
        return [self._at_step(of, lines, tensor, step, None) for step in range(steps)]

    def _at_step(
        self, of: Arithmetic, lines: list[Value], tensor: int, step: int, count: Value | None
    ) -> list[Number]:
        """What an input has for a step of the sum, of each line of a tile."""
        word = (BatchWord.IN0_K, BatchWord.IN1_K)[tensor]
        offset = self.code.mul(self._word(word), step)
        return [self._load(of, self.code.at(line, offset), tensor, count) for line in lines]

    def _sums_of_all(
        self,
        of: Arithmetic,
        sides: tuple[list[Value], list[Value]],
        same: list[list[list[Number]]],
        count: Value | None,
    ) -> list[Number]:
        """The same of all steps of a sum, without a loop."""
        sums = [of.zero] * (len(sides[0]) * len(sides[1]))
        for step in range(self.kernel.depth):
            a, b = (
                same[t][step] if same[t] else self._at_step(of, sides[t], t, step, count)
                for t in (0, 1)
            )
            pairs = [(x, y) for x in a for y in b]
            sums = [of.fma(*pair, total) for pair, total in zip(pairs, sums, strict=True)]
        return sums

    def _load(self, of: Arithmetic, address: Value, tensor: int, count: Value | None) -> Number:
        kernel = self.kernel
        access, step, conj = (
            (kernel.in0, self.x_in0, kernel.conj0),
            (kernel.in1, self.x_in1, kernel.conj1),
        )[tensor]
        if access == "zero":
            value = of.splat(Arithmetic(self.code, self.element, 1).load(address))
        elif access == "repeated":
            value = of.repeated(Arithmetic(self.code, self.element, kernel.period).load(address))
        elif access == "strided" and of.lanes > 1:
            value = of.gather(address, step)
        else:
            value = of.load(address, count)
        return of.conj(value) if conj else value

    def _store(
        self, of: Arithmetic, sums: list[Number], places: list[Value], count: Value | None
    ) -> None:
        scatters = not isinstance(self.x_out, int) and of.lanes > 1

        def old(place: Value) -> Number:
            return of.gather(place, self.x_out) if scatters else of.load(place, count)

        def alone() -> list[Value]:
            return flat([self.scalars.alone(of, number) for number in sums])

        def combined() -> list[Value]:
            pairs = zip(sums, places, strict=True)
            return flat([self.scalars.combined(of, number, old(place)) for number, place in pairs])

        parts = self.code.choose(self.scalars.reads, combined, alone)
        for number, place in zip(grouped(parts, self.element.parts), places, strict=True):
            if scatters:
                of.scatter(number, place, self.x_out)
            else:
                of.store(number, place, count)
