"""The loops of stream kernels that sum.

- `_sum_over_y`: accumulators for a strip of X, perhaps for all of a row, stay in registers while Y
  runs inside. A strip of one vector has several, each for every so many-th row, so that their
  chains overlap. Of long rows from memory, strips are of one vector, so that each is a stream.
- `_sum_over_x`: several independent accumulators along X, folded pairwise. Rows of floating types
  that are short, or share the second input, are done several at a time: their chains overlap, what
  they share is loaded once, and their vectors are folded together, into a vector of their sums.
  Rows from memory that lie end to end are done one after the other: several at a time are too many
  places for the hardware to read ahead at.

`_sum_anywhere` is the scalar form for any strides.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tensorop.jit.arithmetic import Arithmetic, Number
from tensorop.jit.asked import AHEAD
from tensorop.jit.builder import Value
from tensorop.jit.fold import fold_each
from tensorop.jit.scalars import flat, grouped
from tensorop.jit.stream_steps import ROWS, Input, Lanes, Row
from tensorop.jit.stream_strips import Strip, Strips

_SHORT = 16  # vectors of X: rows that are longer fill the registers alone
_STRIP = 4  # vectors of X that are summed down Y
_CHAINS = 4  # of a strip of one vector: what a sum's latency leaves room for
_STREAMS = 8  # rows from memory that are summed at a time
_BLOCK = 2048  # terms that are added up one after the other where a call has more of them


class Sums(Strips):
    """Reductions and products that sum, over either axis."""

    def _sum_over_y(self) -> None:
        if self._converts:
            # Wider rows keep strips of several vectors: calls of half types go down all rows.
            with self.code.either(self.code.less(self.x, self.lanes.width + 1)) as (narrow, wide):
                with narrow:
                    self._sum_down(1, _CHAINS)
                with wide:
                    self._sum_down(self.vectors(self.form.width or _STRIP), 1)
            return
        if self.form.width or not self._fast or not self._asks:
            self._sum_down(self.vectors(self.form.width or _STRIP), _CHAINS)
            return
        code = self.code
        several = code.less(_STREAMS - 1, self.y)
        long = code.less(_STRIP * self.lanes.width, self.x)
        with code.either(code.builder.and_(several, long)) as (in_turn, whole):
            with in_turn:
                self._sum_down(1, _STREAMS)
            with whole:
                self._sum_down(self.vectors(_STRIP), _CHAINS)

    def _sum_down(self, most: int, together: int) -> None:
        """Sum strips of at most so many vectors of X down Y, those of one vector so many rows at a
        time."""
        for strip in self._strips(self.x, most, most):
            chains = self._together(together) if len(strip.counts) == 1 else 1
            of = [strip.lanes.of] * len(strip.counts)
            down = partial(self._sum_strip, strip, chains)
            totals = self._in_blocks(of, self.y, _BLOCK * chains, down)
            self._store_strip(strip, totals, self.out)

    def _sum_strip(
        self, strip: Strip, chains: int, start: Value | int, stop: Value
    ) -> list[Number]:
        """The sums of a strip down some rows, so many of which are added up at a time."""
        totals = [self.identity(strip.lanes.of)] * (chains * len(strip.counts))
        done, add = start, partial(self._add_ys, strip)
        if chains > 1:
            done = self._after_whole(start, stop, chains)
            totals = self._repeat(start, done, chains, totals, add)
            totals = [self._pairwise(strip.lanes.of, totals)]
        return self._repeat(done, stop, 1, totals, add)

    def _in_blocks(
        self, of: list[Arithmetic], size: Value, block: int, sums: _Sums
    ) -> list[Number]:
        """Totals over so many positions, `sums` being those from one on to another one: of many,
        what blocks add up to is added up in turn, so that the errors of the roundings do not show
        (`optimizer/balance.py`)."""
        code = self.code
        if not self.form.in_blocks:
            return sums(0, size)
        none = [self.identity(each) for each in of]
        with code.reduce(size, flat(none), step=block) as carried:
            new = sums(carried.index, code.min(code.add(carried.index, block), size))
            carried.update(flat(self._combined(of, grouped(carried.values, 1), new)))
        return grouped(carried.values, 1)

    def _combined(self, of: list[Arithmetic], a: list[Number], b: list[Number]) -> list[Number]:
        return [self.combine(*each) for each in zip(of, a, b, strict=True)]

    def _after_whole(self, start: Value | int, stop: Value, unit: int) -> Value:
        """Where whole units from a position on end."""
        if start == 0:
            return self.multiple(stop, unit)
        return self.code.add(start, self.multiple(self.code.sub(stop, start), unit))

    def _together(self, most: int) -> int:
        """How many rows are summed down at a time, each into totals of its own: at most so many."""
        if not (self._adds_apart or self._converts):
            return 1
        return max(self.vectors(most), min(most, self.code.target.registers // 4))

    def _add_ys(self, strip: Strip, y: Value, totals: list[Number]) -> list[Number]:
        """Add as many rows from y on to the totals as these have room for."""
        columns, of = self._columns(strip), strip.lanes.of
        rows = [self.rows(self.code.add(y, i)) for i in range(len(totals) // len(columns))]
        if len(rows) > 1 and self._asks:
            rows = self._asking_on(rows, strip.x)
        elif self._converts and self._asks:
            rows = [[self._asking_below(*pair) for pair in zip(rows[0], self.inputs, strict=True)]]
        each = [
            [self.load(one, strip.lanes, x, count) for one in row]
            for row in rows
            for x, count in zip(columns, strip.counts, strict=True)
        ]
        return [self.accumulate(of, *pair) for pair in zip(totals, each, strict=True)]

    def _asking_on(self, rows: list[list[Row]], x: Value) -> list[list[Row]]:
        """Rows that are read together, of which what comes after x is asked for: where they end, in
        as many that come after them."""
        code, aheads = self.code, []
        for given in self.inputs:
            length = code.mul(self.x, given.step)
            goes_on = code.less(code.add(code.mul(x, given.step), AHEAD), length)
            below = code.sub(code.mul(given.stride, len(rows)), length)
            aheads.append(code.builder.select(goes_on, code.int(AHEAD), code.add(below, AHEAD)))
        return [
            [
                one._replace(ahead=ahead) if one.ahead else one
                for one, ahead in zip(inputs, aheads, strict=True)
            ]
            for inputs in rows
        ]

    def _asking_below(self, row: Row, given: Input) -> Row:
        """A part of a row of an input, which is asked for some rows further down."""
        return row._replace(ahead=self.code.mul(given.stride, _STREAMS)) if row.ahead else row

    def _sum_over_x(self) -> None:
        code = self.code
        if self.form.outer_reduced:
            self._store_totals(self._totals(self._sum_all(self.y, self.x), 1), [self.out])
            return
        done = self._sum_several_rows() if self._rows > 1 else code.int(0)
        with code.loop(self.y, start=done) as y:
            self._sum_rows([y], self._chains)

    def _sum_several_rows(self) -> Value:
        """As many rows as can be done several at a time, and how many that are."""
        code, done = self.code, self.multiple(self.y, self._rows)
        ways = [(done, True)]
        if len(self.inputs) == 2:
            shared, none = code.equal(self.inputs[1].stride, 0), code.int(0)
            ways = [(code.builder.select(shared, done, none), True)]
            short = code.less(self.x, _SHORT * self.lanes.width)
            apart = code.builder.select(short, done, none)
            ways.append((code.builder.select(shared, none, apart), False))
            done = code.builder.select(shared, done, apart)
        for rows, share in ways:
            with code.loop(rows, step=self._rows) as y:
                self._sum_rows([code.add(y, i) for i in range(self._rows)], 1, share)
        return done

    @property
    def _rows(self) -> int:
        """How many rows are summed together."""
        return ROWS if (self._fast or self._converts) and not self.form.in_turn else 1

    @property
    def _chains(self) -> int:
        """Independent accumulators that keep up with two loads a cycle: each accumulation has a
        latency of four cycles, and takes one load or two."""
        return self.vectors(8 if len(self.inputs) == 1 else 4)

    def _sum_rows(self, ys: list[Value], vectors: int, share: bool = True) -> None:
        """out at several y: the sums along X of as many rows, which may share the second input."""
        code = self.code
        rows = [self.rows(y) for y in ys]
        if share:
            rows = [[row[0], *rows[0][1:]] for row in rows]
        totals = self._in_blocks(
            self._accumulators(len(ys), vectors),
            self.x,
            _BLOCK * vectors * self.lanes.width,
            partial(self._along_x, rows, totals=self._fresh(len(ys), vectors)),
        )
        addresses = [code.at(self.out, code.mul(y, self.out_stride)) for y in ys]
        self._store_totals(self._totals(totals, len(ys)), addresses)

    def _sum_all(
        self, rows: Value, length: Value, at: tuple[Value, Value] | None = None
    ) -> list[Number]:
        """Totals of all of some rows; at: of single elements one by one, the place of the first."""
        code, vectors = self.code, self._chains if at is None else 1
        of = self._accumulators(1, vectors)

        def add(y: Value, totals: list[Number]) -> list[Number]:
            row = [self.rows(y) if at is None else self.rows(code.add(at[0], y), at[1])]
            if not self.form.in_blocks:
                return self._along_x(row, 0, length, totals)
            sums = partial(self._along_x, row, totals=self._fresh(1, vectors))
            new = self._in_blocks(of, length, _BLOCK * vectors * self.lanes.width, sums)
            return self._combined(of, totals, new)

        def some(start: Value | int, stop: Value) -> list[Number]:
            return self._repeat(start, stop, 1, self._fresh(1, vectors), add)

        return self._in_blocks(of, rows, _BLOCK, some)

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
            totals = self._sum_all(summed[0], summed[1], (y, x))
            offset = code.add(code.mul(y, self.out_stride), code.mul(x, self.out_step))
            self._store_totals(self._totals(totals, 1), [code.at(self.out, offset)])

    def _accumulators(self, rows: int, vectors: int) -> list[Arithmetic]:
        """What totals are: `vectors` of each row, then, where scalars do the tail, one of each."""
        return [self.lanes.of] * (rows * vectors) + [self.scalar.of] * (rows * self._scalar_tail)

    def _fresh(self, rows: int, vectors: int) -> list[Number]:
        """Empty totals."""
        return [self.identity(of) for of in self._accumulators(rows, vectors)]

    def _along_x(
        self, rows: list[list[Row]], start: Value | int, stop: Value, totals: list[Number]
    ) -> list[Number]:
        """Add the positions from one on to another one of some rows to their totals."""
        last = totals[-len(rows) :] if self._scalar_tail else []
        totals = totals[: len(totals) - len(last)]
        lanes, vectors = self.lanes, len(totals) // len(rows)
        whole = self._after_whole(start, stop, vectors * lanes.width)

        def step(width: Lanes, limit: Value | None = None) -> _Step:
            return lambda x, totals: self._add_rows(rows, width, x, totals, limit)

        if vectors > 1 or not self._masks_all:
            totals = self._repeat(start, whole, vectors * lanes.width, totals, step(lanes))
        else:  # the loop below does all, which makes shorter code
            whole = self.code.int(start) if isinstance(start, int) else start
        heads = totals[::vectors]
        if not self._scalar_tail:
            masks = stop if lanes.width > 1 else None
            heads = self._repeat(whole, stop, lanes.width, heads, step(lanes, masks))
        else:
            single = self._after_whole(start, stop, lanes.width)
            heads = self._repeat(whole, single, lanes.width, heads, step(lanes))
            last = self._repeat(single, stop, 1, last, step(self.scalar))
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
        count = None if limit is None else code.min(code.sub(limit, x), lanes.width)
        vectors, results = len(totals) // len(rows), list(totals)
        for i in range(vectors):
            at = code.add(x, i * lanes.width) if i else x
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
        of, vectors = self.lanes.of, (len(totals) - len(last)) // rows
        mine = [self._pairwise(of, totals[r * vectors : (r + 1) * vectors]) for r in range(rows)]
        folded = fold_each(of, mine, self.combine)
        if not last:
            return folded
        pairs = zip(folded, last, strict=True)
        return [self.combine(self.scalar.of, total, tail) for total, tail in pairs]

    def _pairwise(self, of: Arithmetic, totals: list[Number]) -> Number:
        """Several totals as one."""
        while len(totals) > 1:
            pairs = zip(totals[::2], totals[1::2], strict=True)
            totals = [self.combine(of, a, b) for a, b in pairs]
        return totals[0]

    def _repeat(
        self, start: Value | int, stop: Value, step: int, totals: list[Number], body: _Step
    ) -> list[Number]:
        """A loop that carries totals."""
        parts = self.element.parts
        with self.code.reduce(stop, flat(totals), start, step) as carried:
            carried.update(flat(body(carried.index, grouped(carried.values, parts))))
        return grouped(carried.values, parts)

    def _store_totals(self, totals: list[Number], addresses: list[Value]) -> None:
        self.store(self.scalar.of, totals, [(address, None) for address in addresses])


_Step = Callable[[Value, list[Number]], list[Number]]
_Sums = Callable[[Value | int, Value], list[Number]]
