"""Generates the code of stream kernels (see `jit/stream.py` for what they compute).

Three shapes of loops, over vectors along X where every tensor is consecutive or broadcast in it:

- `_map`: nothing is reduced; rows of Y, strips of vectors of X.
- `_sum_over_y`: accumulators for a strip of X stay in registers while Y runs inside.
- `_sum_over_x`: several independent accumulators along X, folded pairwise. Short rows are done four
  at a time, so that their chains overlap and an input that is the same for all is loaded once.

`_sum_anywhere` is the scalar form for any strides. Tails are masked where the machine has masks for the
element size, else done by single vectors and then scalars: no byte outside is ever touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from llvmlite import ir

from tensorop.jit.abi import WORD, CallRecord, Frame
from tensorop.jit.builder import Code, Value
from tensorop.jit.elements import Arithmetic, Element, Number, element
from tensorop.jit.functions import BINARY_FUNCTIONS, UNARY_FUNCTIONS, cast
from tensorop.jit.stream_form import Access, StreamDescriptor, StreamForm
from tensorop.jit.target import Target

_ROWS = 4
_SINGLE = 4
_STR=1
FORCE=0
_STRIP=8
_TAIL=4
_MULTI = 1
_HEAVY = frozenset({"sqrt", "reciprocal", "div", "abs"})  # of complex types: long code


@dataclass(frozen=True, slots=True)
class _Lanes:
    """Arithmetic at one width: of the inputs as they lie in memory, and of the results."""

    source: Arithmetic
    of: Arithmetic
    count: int


@dataclass(frozen=True, slots=True)
class _Row:
    """One input at one y: the address of its first element and the bytes from one to the next, or
    the one element that it has for every x."""

    address: Value
    step: Value | int
    conjugated: bool
    everywhere: Number | None


@dataclass(frozen=True, slots=True)
class _Strip:
    """Vectors of X: the first position, the width, and how many lanes of each vector count."""

    x: Value
    lanes: _Lanes
    counts: list[Value | None]


@dataclass(frozen=True, slots=True)
class _Scalars:
    """What the call record says about the update of out."""

    alpha: Number
    beta: Number
    scales: Value
    first: Value
    reads: Value  # not (first and out is overwritten)


class Stream:
    """The generator of one kernel."""

    def __init__(self, form: StreamForm, target: Target) -> None:
        self.form = form
        self.code = Code(target, form.name)
        self.element, self.source = element(form.dtype), element(form.source or form.dtype)
        parts = (self.element.accumulator.part, self.source.accumulator.part)
        self.lanes = self._lanes(1 if form.strided else target.lanes(max(parts)))
        self.scalar = self._lanes(1)
        self.masked = {self.element.part, self.source.part} <= target.masked
        self.x = self.code.mul(self._size(StreamDescriptor.X_AXIS), form.per_x)
        self.y = self._size(StreamDescriptor.Y_AXIS)
        self.out = self._address(StreamDescriptor.OUT_SLOT)
        self.out_step = self._word(StreamDescriptor.X_OUT) if form.strided else self.element.size
        self.out_stride = self._word(StreamDescriptor.Y_OUT)
        self.inputs = self._open_inputs()
        self.scalars = self._read_call() if form.updates else None

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

    # what the descriptor and the frame say

    def _word(self, word: StreamDescriptor) -> Value:
        return self.code.word(self.code.descriptor, word)

    def _size(self, word: StreamDescriptor) -> Value:
        code, axis = self.code, self._word(word)
        size = code.word(code.frame, code.add(code.max(axis, 0), Frame.SIZE))
        return code.builder.select(code.less(axis, 0), code.int(1), size)

    def _address(self, word: StreamDescriptor) -> Value:
        return self.code.pointer(self.code.frame, self._word(word))

    def _open_inputs(self) -> list[tuple[Access, bool, Value, Value | int, Value]]:
        """Access, conjugation, address and both strides of every input."""
        form, words = self.form, StreamDescriptor
        described = [
            (form.in0, form.conj0, words.IN0_SLOT, words.X_IN0, words.Y_IN0),
            (form.in1, form.conj1, words.IN1_SLOT, words.X_IN1, words.Y_IN1),
        ]
        return [
            (
                access,
                conjugated,
                self._address(slot),
                self._word(x) if access == "strided" else self.source.size,
                self._word(y),
            )
            for access, conjugated, slot, x, y in described
            if access is not None and form.main != "zero"
        ]

    def _read_call(self) -> _Scalars:
        code = self.code
        call = code.pointer(code.frame, Frame.CALL)
        plain = Arithmetic(code, self.element.accumulator, 1)
        scales = code.nonzero(code.word(call, CallRecord.SCALES))
        first = code.nonzero(code.word(code.frame, Frame.FIRST))

        def factor(word: CallRecord, asked: Value) -> Number:
            given, one = plain.load(code.at(call, word * WORD)), plain.constant(1)
            return tuple(
                code.builder.select(asked, a, b) for a, b in zip(given, one, strict=True)
            )

        reads_out = code.nonzero(code.word(call, CallRecord.READS_OUT))
        reads = code.builder.or_(code.builder.not_(first), reads_out)
        alpha, beta = factor(CallRecord.ALPHA, scales), factor(CallRecord.BETA, first)
        return _Scalars(alpha, beta, scales, first, reads)

    def _lanes(self, count: int) -> _Lanes:
        return _Lanes(
            Arithmetic(self.code, self.source, count),
            Arithmetic(self.code, self.element, count),
            count,
        )

    def _vectors(self, most: int) -> int:
        """How many vectors of X are worked on at once: at most `most`, fewer where the code of one
        is long or takes many registers."""
        kinds = (self.element, self.source)
        if not all(kind.vectorises for kind in kinds):
            return 1
        if any(kind.half == "float16" for kind in kinds) and not self.code.target.half:
            return min(most, 2)
        if any(kind.parts == 2 for kind in kinds):
            return 1 if self.form.main in _HEAVY else max(1, most // 2)
        multiplies = self.form.main in ("gemm", "mul", "prod", "square")
        byte = self.element.part == 1 and self.element.kind in "iu"  # no such multiplication
        return max(1, most // 4) if byte and multiplies else most

    # one element, or one vector of them

    def _rows(self, y: Value, x: Value | None = None) -> list[_Row]:
        """The inputs at one y, from position x on."""
        code, rows = self.code, []
        for access, conjugated, base, step, stride in self.inputs:
            address = code.at(base, code.mul(y, stride))
            if x is not None:
                address = code.at(address, code.mul(x, step))
            row = _Row(address, step, conjugated, None)
            if access == "zero":
                row = _Row(address, 0, conjugated, self._load(row, self.scalar, code.int(0), None))
            rows.append(row)
        return rows

    def _load(self, row: _Row, lanes: _Lanes, x: Value, count: Value | None) -> Number:
        if row.everywhere is not None:
            return lanes.of.splat(row.everywhere)
        address = self.code.at(row.address, self.code.mul(x, row.step))
        value = lanes.source.load(address, count)
        if row.conjugated:
            value = lanes.source.conj(value)
        return cast(lanes.source, lanes.of, value) if self.form.source else value

    def _compute(self, of: Arithmetic, inputs: Sequence[Number]) -> Number:
        """The primitive without its reduction."""
        main = self.form.main
        if main == "zero":
            return of.zero
        if len(inputs) == 2:
            return BINARY_FUNCTIONS["mul" if main == "gemm" else main](of, *inputs)
        return inputs[0] if self.form.updates else UNARY_FUNCTIONS[main](of, inputs[0])

    def _accumulate(self, of: Arithmetic, total: Number, inputs: Sequence[Number]) -> Number:
        if self.form.main == "gemm":
            return of.fma(inputs[0], inputs[1], total)
        return self._combine(of, total, inputs[0])

    def _combine(self, of: Arithmetic, a: Number, b: Number) -> Number:
        main = {"gemm": "add", "sum": "add", "prod": "mul"}.get(self.form.main, self.form.main)
        return BINARY_FUNCTIONS[main](of, a, b)

    def _identity(self, of: Arithmetic) -> Number:
        main = self.form.main
        if main in ("min", "max"):
            return of.constant(_extreme(self.element, largest=main == "min"))
        return of.constant(1 if main in ("prod", "and") else 0)

    # the shapes of loops

    def _map(self) -> None:
        code = self.code
        with code.loop(self.y) as y:
            rows, out = self._rows(y), code.at(self.out, code.mul(y, self.out_stride))
            for strip in self._strips(self._vectors(4), 1):
                columns = self._columns(strip)
                loaded = [
                    [self._load(row, strip.lanes, x, count) for row in rows]
                    for x, count in zip(columns, strip.counts, strict=True)
                ]
                values = [self._compute(strip.lanes.of, inputs) for inputs in loaded]
                self._store_strip(strip, values, out)

    def _sum_over_y(self) -> None:
        for strip in self._strips(self._vectors(_STRIP), self._vectors(_TAIL)):
            columns, of = self._columns(strip), strip.lanes.of

            def step(y: Value, totals: list[Number], s: _Strip = strip) -> list[Number]:
                rows = self._rows(y)
                return [
                    self._accumulate(
                        s.lanes.of, total, [self._load(row, s.lanes, x, n) for row in rows]
                    )
                    for total, x, n in zip(totals, self._columns(s), s.counts, strict=True)
                ]

            start = [self._identity(of)] * len(columns)
            self._store_strip(strip, self._repeat(0, self.y, 1, start, step), self.out)

    def _sum_over_x(self) -> None:
        code = self.code
        if self.form.outer_reduced:
            state = self._fresh(1, self._vectors(8))

            def row(y: Value, totals: list[Number]) -> list[Number]:
                return self._along_x([self._rows(y)], self.x, totals)

            totals = self._repeat(0, self.y, 1, state, row)
            self._store_totals(self._totals(totals, 1), [self.out])
            return
        several = code.builder.and_(self.y, code.int(-_ROWS))
        if len(self.inputs) == 2:  # the second input is taken to be the same for all rows
            several = code.builder.select(code.equal(self.inputs[1][-1], 0), several, code.int(0))
        if _ROWS == 1: several = code.int(0)
        if _ROWS > 1:
         with code.loop(several, step=_ROWS) as y:
             self._sum_rows([code.add(y, i) for i in range(_ROWS)], self._vectors(_MULTI))
        with code.loop(self.y, start=several) as y:
            self._sum_rows([y], self._vectors(_SINGLE))

    def _sum_rows(self, ys: list[Value], vectors: int) -> None:
        """out at several y: the sums along X of as many rows, which share the second input."""
        code = self.code
        rows = [self._rows(y) for y in ys]
        rows = [[row[0], *rows[0][1:]] for row in rows]
        totals = self._along_x(rows, self.x, self._fresh(len(ys), vectors))
        addresses = [code.at(self.out, code.mul(y, self.out_stride)) for y in ys]
        self._store_totals(self._totals(totals, len(ys)), addresses)

    def _sum_anywhere(self) -> None:
        """Any strides, either axis reduced where out has a stride of 0 along it: loops over the kept
        positions around loops over the reduced ones, of which one of each axis has length 1."""
        code = self.code
        kept, summed = [], []
        for size, stride in ((self.y, self.out_stride), (self.x, self.out_step)):
            stays = code.equal(stride, 0)
            kept.append(code.builder.select(stays, code.int(1), size))
            summed.append(code.builder.select(stays, size, code.int(1)))
        with code.loop(kept[0]) as y, code.loop(kept[1]) as x:

            def row(z: Value, totals: list[Number]) -> list[Number]:
                return self._along_x([self._rows(code.add(y, z), x)], summed[1], totals)

            totals = self._repeat(0, summed[0], 1, self._fresh(1, self._vectors(_STR)), row)
            offset = code.add(code.mul(y, self.out_stride), code.mul(x, self.out_step))
            self._store_totals(self._totals(totals, 1), [code.at(self.out, offset)])

    # strips of X

    def _strips(self, vectors: int, tail: int) -> Iterator[_Strip]:
        """Loops that cover X: by strips of several vectors, then the rest. What the caller writes
        for each strip becomes the body of its loop."""
        code, lanes = self.code, self.lanes
        if lanes.count == 1:
            with code.loop(self.x) as x:
                yield _Strip(x, lanes, [None])
            return
        whole = code.int(0)
        if vectors > tail or not self.masked or FORCE:
            whole = self._multiple(self.x, vectors * lanes.count)
            with code.loop(whole, step=vectors * lanes.count) as x:
                yield _Strip(x, lanes, [None] * vectors)
        if self.masked:
            with code.loop(self.x, start=whole, step=tail * lanes.count) as x:
                yield _Strip(x, lanes, self._counts(x, tail))
            return
        single = self._multiple(self.x, lanes.count)
        if vectors > 1:
            with code.loop(single, start=whole, step=lanes.count) as x:
                yield _Strip(x, lanes, [None])
        with code.loop(self.x, start=single) as x:
            yield _Strip(x, self.scalar, [None])

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

    def _columns(self, strip: _Strip) -> list[Value]:
        count = strip.lanes.count
        return [
            self.code.add(strip.x, i * count) if i else strip.x for i in range(len(strip.counts))
        ]

    def _store_strip(self, strip: _Strip, values: list[Number], out: Value) -> None:
        code = self.code
        addresses = [code.at(out, code.mul(x, self.out_step)) for x in self._columns(strip)]
        self._store(strip.lanes.of, values, addresses, strip.counts)

    # sums along X

    def _fresh(self, rows: int, vectors: int) -> list[Number]:
        """Empty totals: `vectors` of each row, then, where scalars do the tail, one of each."""
        totals = [self._identity(self.lanes.of)] * (rows * vectors)
        return totals + [self._identity(self.scalar.of)] * (rows if self._scalar_tail else 0)

    @property
    def _scalar_tail(self) -> bool:
        return self.lanes.count > 1 and not self.masked

    def _along_x(self, rows: list[list[_Row]], n: Value, totals: list[Number]) -> list[Number]:
        """Add the first n positions of some rows to their totals."""
        last = totals[-len(rows) :] if self._scalar_tail else []
        totals = totals[: len(totals) - len(last)]
        lanes, vectors = self.lanes, len(totals) // len(rows)
        whole = self._multiple(n, vectors * lanes.count)

        def step(width: _Lanes, limit: Value | None = None) -> _Step:
            return lambda x, totals: self._add_rows(rows, width, x, totals, limit)

        if vectors > 1 or self._scalar_tail:
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
        rows: list[list[_Row]],
        lanes: _Lanes,
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
                        loaded[id(row)] = self._load(row, lanes, at, count)
                old = totals[r * vectors + i]
                new = self._accumulate(of, old, [loaded[id(row)] for row in inputs])
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
                mine = [self._combine(self.lanes.of, a, b) for a, b in pairs]
            total = self.lanes.of.fold(mine[0], self._combine)
            results.append(self._combine(self.scalar.of, total, last[r]) if last else total)
        return results

    def _repeat(
        self, start: Value | int, stop: Value, step: int, totals: list[Number], body: _Step
    ) -> list[Number]:
        """A loop that carries totals."""
        parts = self.element.parts
        with self.code.reduce(stop, _flat(totals), start, step) as carried:
            carried.update(_flat(body(carried.index, _grouped(carried.values, parts))))
        return _grouped(carried.values, parts)

    # the store

    def _store_totals(self, totals: list[Number], addresses: list[Value]) -> None:
        self._store(self.scalar.of, totals, addresses, [None] * len(totals))

    def _store(
        self,
        of: Arithmetic,
        values: list[Number],
        addresses: list[Value],
        counts: Sequence[Value | None],
    ) -> None:
        """Write results, combined with what out holds where the call asks for it."""
        places = list(zip(addresses, counts, strict=True))
        if self.scalars is not None:
            values = self._updated(of, self.scalars, values, places)
        for value, (address, count) in zip(values, places, strict=True):
            of.store(value, address, count)

    def _updated(
        self,
        of: Arithmetic,
        scalars: _Scalars,
        values: list[Number],
        places: list[tuple[Value, Value | None]],
    ) -> list[Number]:
        scaled = self.form.main in ("gemm", "sum")

        def alone() -> list[Value]:
            if not scaled:
                return _flat(values)
            return _flat([self._times(of, scalars.alpha, v, scalars.scales) for v in values])

        def combined() -> list[Value]:
            old = [of.load(address, count) for address, count in places]
            pairs = zip(values, old, strict=True)
            if not scaled:
                return _flat([self._combine(of, v, o) for v, o in pairs])
            return _flat([self._scaled_sum(of, scalars, v, o) for v, o in pairs])

        return _grouped(self.code.choose(scalars.reads, combined, alone), self.element.parts)

    def _scaled_sum(self, of: Arithmetic, scalars: _Scalars, value: Number, old: Number) -> Number:
        """alpha * value + beta * old."""
        old = self._times(of, scalars.beta, old, scalars.first)
        if self.element.parts == 1:
            return of.fma(of.splat(scalars.alpha), value, old)
        return of.add(self._times(of, scalars.alpha, value, scalars.scales), old)

    def _times(self, of: Arithmetic, factor: Number, value: Number, condition: Value) -> Number:
        """The value times a factor that is one unless the condition holds: for real types nothing
        needs to be asked, but in complex arithmetic 1 * inf is not inf."""
        product = of.mul(of.splat(factor), value)
        if self.element.parts == 1:
            return product
        select = self.code.builder.select
        return tuple(select(condition, a, b) for a, b in zip(product, value, strict=True))


_Step = Callable[[Value, list[Number]], list[Number]]


def _flat(numbers: Sequence[Number]) -> list[Value]:
    return [part for number in numbers for part in number]


def _grouped(values: Sequence[Value], parts: int) -> list[Number]:
    return [tuple(values[i : i + parts]) for i in range(0, len(values), parts)]


def _extreme(kind: Element, largest: bool) -> float:
    """The largest or smallest value of a type."""
    if kind.is_float:
        return float("inf") if largest else float("-inf")
    bits = 8 * kind.size
    if kind.kind == "u":
        return 2**bits - 1 if largest else 0
    return 2 ** (bits - 1) - 1 if largest else -(2 ** (bits - 1))
