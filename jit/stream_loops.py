"""Generates the code of stream kernels (see `jit/stream.py` for what they compute).

Three shapes of loops, over vectors along X where every tensor is consecutive or broadcast in it:

- `_map`: nothing is reduced; rows of Y, strips of vectors of X.
- `_sum_over_y`: accumulators for a strip of X stay in registers while Y runs inside.
- `_sum_over_x`: several independent accumulators along X, folded pairwise. Rows of floating types
  that share the second input are done four at a time: it is loaded once and their chains overlap.

`_sum_anywhere` is the scalar form for any strides. Tails are masked where the machine has masks for
the element size, else done by single vectors and then scalars: no byte outside is ever touched.
Code is kept short rather than unrolled far: it is compiled while the caller waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from llvmlite import ir

from tensorop.jit.arithmetic import Number
from tensorop.jit.builder import Value
from tensorop.jit.scalars import flat, grouped
from tensorop.jit.stream_abi import StreamKernel
from tensorop.jit.stream_steps import Lanes, Row, StreamSteps
from tensorop.jit.target import Target

_ROWS = 4  # rows of Y that one pass along X sums


@dataclass(frozen=True, slots=True)
class Strip:
    """Vectors of X: the first position, the width, and how many lanes of each vector count."""

    x: Value
    lanes: Lanes
    counts: list[Value | None]


def generate(kernel: StreamKernel, target: Target) -> ir.Module:
    """The module of a kernel."""
    return Stream(kernel, target).generate()


class Stream(StreamSteps):
    """The generator of one kernel."""

    def generate(self) -> ir.Module:
        form = self.form
        if form.strided and form.updates:
            self._sum_anywhere()
        elif form.out == "reduced":
            self._sum_over_x()
        elif form.outer_reduced:
            self._sum_over_y()
        else:
            self._map()
        return self.code.finish()

    # the shapes of loops

    def _map(self) -> None:
        code = self.code
        with code.loop(self.y) as y:
            rows, out = self.rows(y), code.at(self.out, code.mul(y, self.out_stride))
            for strip in self._strips(self.vectors(4), 1):
                columns = self._columns(strip)
                loaded = [
                    [self.load(row, strip.lanes, x, count) for row in rows]
                    for x, count in zip(columns, strip.counts, strict=True)
                ]
                values = [self.compute(strip.lanes.of, inputs) for inputs in loaded]
                self._store_strip(strip, values, out)

    def _sum_over_y(self) -> None:
        for strip in self._strips(self.vectors(4), self.vectors(4)):
            columns, of = self._columns(strip), strip.lanes.of

            def step(y: Value, totals: list[Number], s: Strip = strip) -> list[Number]:
                rows = self.rows(y)
                return [
                    self.accumulate(
                        s.lanes.of, total, [self.load(row, s.lanes, x, n) for row in rows]
                    )
                    for total, x, n in zip(totals, self._columns(s), s.counts, strict=True)
                ]

            start = [self.identity(of)] * len(columns)
            self._store_strip(strip, self._repeat(0, self.y, 1, start, step), self.out)

    def _sum_over_x(self) -> None:
        code = self.code
        if self.form.outer_reduced:
            state = self._fresh(1, self._chains)

            def row(y: Value, totals: list[Number]) -> list[Number]:
                return self._along_x([self.rows(y)], self.x, totals)

            totals = self._repeat(0, self.y, 1, state, row)
            self._store_totals(self._totals(totals, 1), [self.out])
            return
        several = code.int(0)
        if self._several_rows:
            several = self._multiple(self.y, _ROWS)
            if len(self.inputs) == 2:  # rows done together share the second input
                shared = code.equal(self.inputs[1].stride, 0)
                several = code.builder.select(shared, several, code.int(0))
            with code.loop(several, step=_ROWS) as y:
                self._sum_rows([code.add(y, i) for i in range(_ROWS)], 1)
        with code.loop(self.y, start=several) as y:
            self._sum_rows([y], self._chains)

    @property
    def _several_rows(self) -> bool:
        """Only for types that contractions are fast in: the code takes as long again to compile."""
        return self.element.is_float and not self.element.half and not self.form.gathers

    @property
    def _chains(self) -> int:
        """Independent accumulators that keep up with two loads a cycle: each accumulation has a
        latency of four cycles, and takes one load or two."""
        return self.vectors(8 if len(self.inputs) == 1 else 4)

    def _sum_rows(self, ys: list[Value], vectors: int) -> None:
        """out at several y: the sums along X of as many rows, which share the second input."""
        code = self.code
        rows = [self.rows(y) for y in ys]
        rows = [[row[0], *rows[0][1:]] for row in rows]
        totals = self._along_x(rows, self.x, self._fresh(len(ys), vectors))
        addresses = [code.at(self.out, code.mul(y, self.out_stride)) for y in ys]
        self._store_totals(self._totals(totals, len(ys)), addresses)

    def _sum_anywhere(self) -> None:
        """Any strides, an axis reduced where out has a stride of 0 along it: loops over the kept
        positions around loops over the reduced ones; for each axis one of the two has length 1."""
        code = self.code
        kept, summed = [], []
        for size, stride in ((self.y, self.out_stride), (self.x, self.out_step)):
            stays = code.equal(stride, 0)
            kept.append(code.builder.select(stays, code.int(1), size))
            summed.append(code.builder.select(stays, size, code.int(1)))
        with code.loop(kept[0]) as y, code.loop(kept[1]) as x:

            def row(z: Value, totals: list[Number]) -> list[Number]:
                return self._along_x([self.rows(code.add(y, z), x)], summed[1], totals)

            totals = self._repeat(0, summed[0], 1, self._fresh(1, 1), row)
            offset = code.add(code.mul(y, self.out_stride), code.mul(x, self.out_step))
            self._store_totals(self._totals(totals, 1), [code.at(self.out, offset)])

    # strips of X

    def _strips(self, vectors: int, tail: int) -> Iterator[Strip]:
        """Loops that cover X: by strips of several vectors, then the rest. What the caller writes
        for each strip becomes the body of its loop."""
        code, lanes = self.code, self.lanes
        if lanes.count == 1:
            with code.loop(self.x) as x:
                yield Strip(x, lanes, [None])
            return
        whole = code.int(0)
        if vectors > tail or not self._masks_all:
            whole = self._multiple(self.x, vectors * lanes.count)
            with code.loop(whole, step=vectors * lanes.count) as x:
                yield Strip(x, lanes, [None] * vectors)
        if self.masked:
            with code.loop(self.x, start=whole, step=tail * lanes.count) as x:
                yield Strip(x, lanes, self._counts(x, tail))
            return
        single = self._multiple(self.x, lanes.count)
        if vectors > 1:
            with code.loop(single, start=whole, step=lanes.count) as x:
                yield Strip(x, lanes, [None])
        with code.loop(self.x, start=single) as x:
            yield Strip(x, self.scalar, [None])

    def _multiple(self, n: Value, unit: int) -> Value:
        """n rounded down to a multiple of a power of two."""
        return self.code.builder.and_(n, self.code.int(-unit))

    def _counts(self, x: Value, vectors: int) -> list[Value | None]:
        """How many lanes of each of the vectors from x on lie inside."""
        code, lanes = self.code, self.lanes.count
        rest = code.sub(self.x, x)
        if vectors == 1:
            return [code.min(rest, lanes)]
        return [code.max(code.min(code.sub(rest, i * lanes), lanes), 0) for i in range(vectors)]

    def _columns(self, strip: Strip) -> list[Value]:
        count = strip.lanes.count
        return [self.code.add(strip.x, i * count) for i in range(len(strip.counts))]

    def _store_strip(self, strip: Strip, values: list[Number], out: Value) -> None:
        code = self.code
        addresses = [code.at(out, code.mul(x, self.out_step)) for x in self._columns(strip)]
        self.store(strip.lanes.of, values, addresses, strip.counts)

    # sums along X

    def _fresh(self, rows: int, vectors: int) -> list[Number]:
        """Empty totals: `vectors` of each row, then, where scalars do the tail, one of each."""
        totals = [self.identity(self.lanes.of)] * (rows * vectors)
        return totals + [self.identity(self.scalar.of)] * (rows if self._scalar_tail else 0)

    @property
    def _masks_all(self) -> bool:
        """Whether a loop may mask every vector of it, so that it needs no second one for a tail."""
        free = self.masked and self.code.target.free_masks
        return self.lanes.count == 1 or (free and not self.form.gathers)

    @property
    def _scalar_tail(self) -> bool:
        return self.lanes.count > 1 and not self.masked

    def _along_x(self, rows: list[list[Row]], n: Value, totals: list[Number]) -> list[Number]:
        """Add the first n positions of some rows to their totals."""
        last = totals[-len(rows) :] if self._scalar_tail else []
        totals = totals[: len(totals) - len(last)]
        lanes, vectors = self.lanes, len(totals) // len(rows)
        whole = self._multiple(n, vectors * lanes.count)

        def step(width: Lanes, limit: Value | None = None) -> _Step:
            return lambda x, totals: self._add_rows(rows, width, x, totals, limit)

        if vectors > 1 or not self._masks_all:
            totals = self._repeat(0, whole, vectors * lanes.count, totals, step(lanes))
        else:  # the loop below does all, which makes shorter code
            whole = self.code.int(0)
        heads = totals[::vectors]
        if not self._scalar_tail:
            masks = n if lanes.count > 1 else None
            heads = self._repeat(whole, n, lanes.count, heads, step(lanes, masks))
        else:
            single = self._multiple(n, lanes.count)
            heads = self._repeat(whole, single, lanes.count, heads, step(lanes))
            last = self._repeat(single, n, 1, last, step(self.scalar))
        totals[::vectors] = heads
        return totals + last

    def _add_rows(
        self,
        rows: list[list[Row]],
        lanes: Lanes,
        x: Value,
        totals: list[Number],
        limit: Value | None,
    ) -> list[Number]:
        """Add the vectors from x on, where given only positions below `limit`, to the totals."""
        code, of = self.code, lanes.of
        count = None if limit is None else code.min(code.sub(limit, x), lanes.count)
        vectors, results = len(totals) // len(rows), list(totals)
        for i in range(vectors):
            at = code.add(x, i * lanes.count) if i else x
            loaded: dict[int, Number] = {}  # by identity: rows may share an input
            for r, inputs in enumerate(rows):
                for row in inputs:
                    if id(row) not in loaded:
                        loaded[id(row)] = self.load(row, lanes, at, count)
                old = totals[r * vectors + i]
                new = self.accumulate(of, old, [loaded[id(row)] for row in inputs])
                # Lanes outside hold 0 * inf = NaN if one input is broadcast, and no identity.
                results[r * vectors + i] = new if count is None else of.keep(count, new, old)
        return results

    def _totals(self, totals: list[Number], rows: int) -> list[Number]:
        """Every row's total as a scalar, folded pairwise."""
        last = totals[-rows:] if self._scalar_tail else []
        vectors = (len(totals) - len(last)) // rows
        results = []
        for r in range(rows):
            mine = totals[r * vectors : (r + 1) * vectors]
            while len(mine) > 1:
                pairs = zip(mine[::2], mine[1::2], strict=True)
                mine = [self.combine(self.lanes.of, a, b) for a, b in pairs]
            total = self.lanes.of.fold(mine[0], self.combine)
            results.append(self.combine(self.scalar.of, total, last[r]) if last else total)
        return results

    def _repeat(
        self, start: Value | int, stop: Value, step: int, totals: list[Number], body: _Step
    ) -> list[Number]:
        """A loop that carries totals."""
        parts = self.element.parts
        with self.code.reduce(stop, flat(totals), start, step) as carried:
            carried.update(flat(body(carried.index, grouped(carried.values, parts))))
        return grouped(carried.values, parts)

    def _store_totals(self, totals: list[Number], addresses: list[Value]) -> None:
        self.store(self.scalar.of, totals, addresses, [None] * len(totals))


_Step = Callable[[Value, list[Number]], list[Number]]
