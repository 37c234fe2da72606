"""Generates the code of stream kernels (see `jit/stream.py` for what they compute).

Four shapes of loops, over vectors along X where every tensor is consecutive or broadcast in it:

- `_map`: nothing is reduced; rows of Y, strips of vectors of X. Where more is written than the
  caches hold, whole lines of a row go past these (`_map_lines`).
- `_map_joined`: the same of short rows that lie end to end, some of which are gone through as one
  (`jit/stream_joined.py`).
- `_sum_over_y`: accumulators for a strip of X, perhaps for all of a row, stay in registers while Y
  runs inside. A strip of one vector has several, each for every so many-th row, so that their
  chains overlap. Of long rows from memory, strips are of one vector, so that each is a stream.
- `_sum_over_x`: several independent accumulators along X, folded pairwise. Rows of floating types
  that are short, or share the second input, are done several at a time: their chains overlap, what
  they share is loaded once, and their vectors are folded together, into a vector of their sums.

`_sum_anywhere` is the scalar form for any strides. Tails are masked where the machine has masks for
the element size, else done by single vectors and then scalars: no byte outside is ever touched.
What is no sum, where masks have their price, ends with a vector that overlaps the one before. Code
is kept short rather than unrolled far: it is compiled while the caller waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from llvmlite import ir

from tensorop.jit.arithmetic import Arithmetic, Number
from tensorop.jit.asked import AHEAD
from tensorop.jit.builder import WORD, Value
from tensorop.jit.fold import fold_each
from tensorop.jit.lines import LEAST_PART, LINE
from tensorop.jit.scalars import flat, grouped
from tensorop.jit.stream_abi import JOINED, StreamKernel, picks
from tensorop.jit.stream_joined import JoinedSteps
from tensorop.jit.stream_steps import ROWS, Lanes, Place, Row
from tensorop.jit.target import Target
from tensorop.tuples import NamedTuple

_ALIGNED = 512  # bytes of a row of out from which on its vectors are lines, wherever it begins
_SHORT_ROWS = 2, 4  # vectors of rows that are gone through at once
_SHORT = 16  # vectors of X: rows that are longer fill the registers alone
_STRIP = 4  # vectors of X that are summed down Y
_CHAINS = 4  # of a strip of one vector: what a sum's latency leaves room for
_STREAMS = 8  # rows from memory that are summed at a time


class Strip(NamedTuple):
    """Vectors of X: the first position, the width, and how many lanes of each vector count."""

    x: Value
    lanes: Lanes
    counts: list[Value | None]


def generate(kernel: StreamKernel, target: Target) -> ir.Module:
    """The module of a kernel."""
    return Stream(kernel, target).generate()


class Stream(JoinedSteps):
    """The generator of one kernel."""

    def generate(self) -> ir.Module:
        form = self.form
        if form.strided and form.updates:
            self._sum_anywhere()
        elif form.out == "reduced":
            self._sum_over_x()
        elif form.outer_reduced:
            self._sum_over_y()
        elif form.joined:
            self._map_joined()
        else:
            self._map()
        return self.code.finish()

    # the shapes of loops

    def _map(self) -> None:
        code = self.code
        past = self.form.past and self.lanes.width * self.element.size >= LEAST_PART
        if past:
            for rows, out in self._each_row():
                self._map_lines(rows, out, self.x)
            code.fence()
        elif self._reaches_lines and self._fast and self.form.source is None:
            self._map_rows_of(_SHORT_ROWS)
        else:
            self._map_rows_of(())

    def _each_row(self) -> Iterator[tuple[list[Row], Value]]:
        """A loop over Y: the inputs, and where out lies."""
        with self.code.loop(self.y) as y:
            yield self.rows(y), self.code.at(self.out, self.code.mul(y, self.out_stride))

    def _map_rows_of(self, lengths: Sequence[int]) -> None:
        """Rows of at most so many vectors are gone through at once, under masks that are the same
        for all; longer ones strip by strip."""
        code, lanes = self.code, self.lanes
        if not lengths:
            for rows, out in self._each_row():
                self._map_from_line(rows, out, self.x)
            return
        with code.either(code.less(lengths[0] * lanes.width, self.x)) as (long, short):
            with long:
                self._map_rows_of(lengths[1:])
            with short:
                counts = self._counts(code.int(0), self.x, lengths[0])
                strip = Strip(code.int(0), lanes, [lanes.of.kept(count) for count in counts])
                for rows, out in self._each_row():
                    self._store_strip(strip, self._map_strip(strip, rows), out)

    @property
    def _reaches_lines(self) -> bool:
        """Whether vectors are lines, and out consists of such: a vector that is stored to two lines
        takes as long as two."""
        line = self.lanes.width * self.element.size == LINE and self._masks_all
        return line and self.form.out == "unit"

    def _map_from_line(self, rows: list[Row], out: Value, length: Value) -> None:
        """A row of out; of a long one first what lies before its first whole line."""
        if not self._reaches_lines:
            self._map_row(rows, out, length)
            return
        code, size = self.code, self.element.size
        before = code.within_line(code.sub(0, code.builder.ptrtoint(out, WORD)))
        is_long = code.less(_ALIGNED // size, length)
        head = code.builder.select(is_long, code.builder.udiv(before, code.int(size)), code.int(0))
        with code.when(code.nonzero(head)):
            strip = Strip(code.int(0), self.lanes, [head])
            self._store_strip(strip, self._map_strip(strip, rows), out)
        self._map_part(rows, out, head, length)

    def _map_part(self, rows: list[Row], out: Value, start: Value, stop: Value) -> None:
        """The positions of a row from one to another."""
        code, size = self.code, self.element.size
        places = [code.at(row.address, code.mul(start, row.step)) for row in rows]
        moved = [row._replace(address=at) for row, at in zip(rows, places, strict=True)]
        self._map_row(moved, code.at(out, code.mul(start, size)), code.sub(stop, start))

    def _map_lines(self, rows: list[Row], out: Value, length: Value) -> None:
        """A row of out by whole lines past the caches, with what lies before and behind them; all
        of it as usual where out is read, or elements do not begin where lines do."""
        code, size, lanes = self.code, self.element.size, self.lanes
        line = max(LINE // size, lanes.width)
        begun = code.within_line(out)
        usual = code.nonzero(code.builder.and_(begun, code.int(size - 1)))
        if self.scalars is not None:
            usual = code.builder.or_(usual, self.scalars.reads)
        before = code.within_line(code.sub(0, begun))
        head = code.min(code.builder.udiv(before, code.int(size)), length)
        head = code.builder.select(usual, length, head)
        behind = code.add(head, self.multiple(code.sub(length, head), line))
        with code.loop(code.int(2)) as part:
            is_first = code.equal(part, 0)
            start = code.builder.select(is_first, code.int(0), behind)
            stop = code.builder.select(is_first, head, length)
            self._map_part(rows, out, start, stop)
        with code.loop(behind, start=head, step=line) as x:
            columns = [code.add(x, i) for i in range(0, line, lanes.width)]
            loaded = [[self.load(row, lanes, column, None) for row in rows] for column in columns]
            values = [self.compute(lanes.of, inputs) for inputs in loaded]
            if self.scalars is not None:
                values = [self.scalars.alone(lanes.of, value) for value in values]
            for column, value in zip(columns, values, strict=True):
                lanes.of.store_past_caches(value, code.at(out, code.mul(column, size)))

    def _map_row(self, rows: list[Row], out: Value, length: Value) -> None:
        code, lanes, vectors = self.code, self.lanes, self.vectors(4)
        if vectors == 1 or code.target.free_masks or not isinstance(self.out_step, int):
            for strip in self._strips(length, vectors, 1):
                self._store_strip(strip, self._map_strip(strip, rows), out)
            return
        with code.either(code.less(lanes.width - 1, length)) as (long, short):
            with long:
                # The last vector ends with the row, over part of the one before: it is computed
                # before that is stored, since out may be an input, or read.
                last = Strip(code.sub(length, lanes.width), lanes, [None])
                places = self._places(last, out)
                values = self.updated(lanes.of, self._map_strip(last, rows), places)
                whole = self.multiple(length, vectors * lanes.width)
                for strip in self._whole_strips(whole, last.x, vectors):
                    self._store_strip(strip, self._map_strip(strip, rows), out)
                with code.when(code.less(whole, length)):
                    self.put(lanes.of, values, places)
            with short:
                for strip in self._tail(length, code.int(0)):
                    self._store_strip(strip, self._map_strip(strip, rows), out)

    def _map_strip(self, strip: Strip, rows: list[Row]) -> list[Number]:
        loaded = [
            [self.load(row, strip.lanes, x, count) for row in rows]
            for x, count in zip(self._columns(strip), strip.counts, strict=True)
        ]
        return [self.compute(strip.lanes.of, inputs) for inputs in loaded]

    def _map_joined(self) -> None:
        """So many rows at a time that they are whole vectors."""
        code, (in0, in1) = self.code, self.inputs
        plain = in1.access == "zero" and self.form.source is None
        lanes, picked = self.lanes.width, plain and picks(self.form.dtype, code.target)
        together = code.mul(1 if picked else code.builder.udiv(code.int(JOINED), self.x), lanes)
        most = code.min(together, self.y)
        same = [(in0, self.form.one_row), (in1, in1.access == "unit")]
        buffers = [self.repeated_row(one, most) if is_same else None for one, is_same in same]
        if picked:
            return self.map_picking(in0, in1, buffers[0])
        elements = self.buffer() if in1.access == "zero" else None
        with code.loop(self.y, step=together) as y:
            count, first = code.min(together, code.sub(self.y, y)), code.mul(y, self.x)
            if elements is not None:
                start = code.at(in1.address, code.mul(y, in1.stride))
                self.fill_with_elements(elements, start, in1.stride, count)
            dense = code.at(in0.address, code.mul(first, in0.size))
            places = (buffers[0] or dense, buffers[1] or elements)
            rows = [
                Row(place, one.size, one.conjugated, None, in0.ahead if place is dense else 0)
                for place, one in zip(places, self.inputs, strict=True)
            ]
            out = code.at(self.out, code.mul(first, self.element.size))
            self._map_from_line(rows, out, code.mul(count, self.x))

    def _sum_over_y(self) -> None:
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
            chains = self.vectors(together) if self._fast and len(strip.counts) == 1 else 1
            totals = [self.identity(strip.lanes.of)] * (chains * len(strip.counts))
            done = self.code.int(0)
            if chains > 1:
                done = self.multiple(self.y, chains)
                totals = self._repeat(0, done, chains, totals, partial(self._add_ys, strip))
                totals = [self._pairwise(strip.lanes.of, totals)]
            totals = self._repeat(done, self.y, 1, totals, partial(self._add_ys, strip))
            self._store_strip(strip, totals, self.out)

    def _add_ys(self, strip: Strip, y: Value, totals: list[Number]) -> list[Number]:
        """Add as many rows from y on to the totals as these have room for."""
        columns, of = self._columns(strip), strip.lanes.of
        rows = [self.rows(self.code.add(y, i)) for i in range(len(totals) // len(columns))]
        if len(rows) > 1 and self._asks:
            rows = self._asking_on(rows, strip.x)
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

    def _sum_over_x(self) -> None:
        code = self.code
        if self.form.outer_reduced:
            state = self._fresh(1, self._chains)

            def row(y: Value, totals: list[Number]) -> list[Number]:
                return self._along_x([self.rows(y)], self.x, totals)

            totals = self._repeat(0, self.y, 1, state, row)
            self._store_totals(self._totals(totals, 1), [self.out])
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
    def _fast(self) -> bool:
        """Whether short sums are worth code of their own, which takes as long again to compile:
        those of types that contractions are fast in."""
        return self.element.is_float and not self.element.half and not self.form.gathers

    @property
    def _asks(self) -> bool:
        """Whether what is read later of an input is asked for."""
        return self.form.asks0 or self.form.asks1

    @property
    def _rows(self) -> int:
        """How many rows are summed together."""
        return ROWS if self._fast else 1

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
        if tail > 1 and self._fast:
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

    # sums along X

    def _fresh(self, rows: int, vectors: int) -> list[Number]:
        """Empty totals: `vectors` of each row, then, where scalars do the tail, one of each."""
        totals = [self.identity(self.lanes.of)] * (rows * vectors)
        return totals + [self.identity(self.scalar.of)] * (rows if self._scalar_tail else 0)

    @property
    def _masks_all(self) -> bool:
        """Whether a loop may mask every vector of it, so that it needs no second one for a tail."""
        free = self.masked and self.code.target.free_masks
        return self.lanes.width == 1 or (free and not self.form.gathers)

    @property
    def _scalar_tail(self) -> bool:
        return self.lanes.width > 1 and not self.masked

    def _along_x(self, rows: list[list[Row]], n: Value, totals: list[Number]) -> list[Number]:
        """Add the first n positions of some rows to their totals."""
        last = totals[-len(rows) :] if self._scalar_tail else []
        totals = totals[: len(totals) - len(last)]
        lanes, vectors = self.lanes, len(totals) // len(rows)
        whole = self.multiple(n, vectors * lanes.width)

        def step(width: Lanes, limit: Value | None = None) -> _Step:
            return lambda x, totals: self._add_rows(rows, width, x, totals, limit)

        if vectors > 1 or not self._masks_all:
            totals = self._repeat(0, whole, vectors * lanes.width, totals, step(lanes))
        else:  # the loop below does all, which makes shorter code
            whole = self.code.int(0)
        heads = totals[::vectors]
        if not self._scalar_tail:
            masks = n if lanes.width > 1 else None
            heads = self._repeat(whole, n, lanes.width, heads, step(lanes, masks))
        else:
            single = self.multiple(n, lanes.width)
            heads = self._repeat(whole, single, lanes.width, heads, step(lanes))
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
