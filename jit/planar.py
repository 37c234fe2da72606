"""Products of records that lie end to end, and sums over them, a vector of records at a time.

    for x, c, m, n:  out[x, c, m, n] = sum over k of in0[x, c, m, k] * in1[x, c, k, n]

Points, 3x3 matrices, tensors of a mesh's elements: the records of a few neighbours are loaded as
vectors, taken apart in registers (`channels.py`), so that a vector holds the same element of each,
multiplied element by element, and put together again. What is left of the batch is done by vectors
of its last records, of which some are computed once more. Where out is read, or the batch shorter
than vectors are, records are done one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, product

from llvmlite import ir

from tensorop.jit.abi import Frame
from tensorop.jit.arithmetic import Arithmetic, Number
from tensorop.jit.builder import WORD, Code, Value
from tensorop.jit.channels import join, part
from tensorop.jit.elements import element
from tensorop.jit.line_pairs import LinePairs
from tensorop.jit.lines import LINE
from tensorop.jit.planar_abi import PlanarKernel, RecordDim
from tensorop.jit.scalars import Scalars, flat
from tensorop.jit.slots import AxisSlot
from tensorop.jit.target import Target
from tensorop.jit.transpose import transpose

# Some elements of records, by their place in these.
Elements = dict[int, Number]
# Elements of the records of all tensors that belong together, that of out being the last.
Position = tuple[int, ...]


def generate(kernel: PlanarKernel, target: Target) -> ir.Module:
    """The module of a kernel."""
    return _Planar(kernel, target).generate()


class _Planar:
    """The generator of one kernel."""

    def __init__(self, kernel: PlanarKernel, target: Target) -> None:
        self.kernel = kernel
        self.code = code = Code(target, kernel.name)
        self.kind = kind = element(kernel.dtype)
        self.size, self.lanes = kind.size, target.lanes(kind.part)
        self.of, self.one = Arithmetic(code, kind, self.lanes), Arithmetic(code, kind, 1)
        self.real = Arithmetic(code, kind.real, self.lanes)
        self.scalars, self.long = Scalars(code, kind), kernel.long(target)
        self.piece = Arithmetic(code, kind.real, kernel.piece(target))
        self.tensors = [
            code.pointer(code.frame, code.word(code.descriptor, tensor))
            for tensor in range(len(kernel.records))
        ]

    def generate(self) -> ir.Module:
        code = self.code
        x = code.word(code.frame, Frame.SIZE + AxisSlot.X)
        whole = code.sub(x, 1) if self.kernel.reaches_on else x
        alone = code.builder.or_(self.scalars.reads, code.less(whole, self.lanes))
        with code.when(code.builder.not_(alone)):
            (self._vectors_past if self.kernel.past else self._vectors)(whole)
        with code.loop(x, start=code.builder.select(alone, code.int(0), whole)) as record:
            self._by_elements(self._places(record), self.kernel.dims)
        return code.finish()

    def _vectors(self, count: Value) -> None:
        code, out = self.code, self.kernel.inputs.stop
        with code.loop(count, step=self.lanes) as index:
            first = code.min(index, code.sub(count, self.lanes))
            if self.long == out:
                self._in_pieces(first)
            else:
                self._store(first, self._records(first))

    def _vectors_past(self, count: Value) -> None:
        """Whole lines past the caches, wherever out begins in one: what a vector has of the line
        that it does not complete is completed by the next one. The first and the last vectors are
        stored as they are, and so is what the last of those between them have left."""
        code, of = self.code, self.real
        pairs = LinePairs(code, of)
        missing = code.within_line(code.sub(0, code.builder.ptrtoint(self.tensors[-1], WORD)))
        last = code.sub(count, self.lanes)
        with code.reduce(count, [of.zero[0]], step=self.lanes) as carried:
            index, (before,) = carried.index, carried.values
            first = code.min(index, last)
            vectors = self._records(first)
            inside = code.builder.and_(code.less(0, index), code.less(index, last))
            with code.either(inside) as (between, ends):
                with between:
                    place = code.at(self._places(index)[-1], code.sub(missing, LINE))
                    for i, (left, vector) in enumerate(pairwise([before, *vectors])):
                        line = pairs.completed(left, missing, vector)
                        of.store_past_caches((line,), code.at(place, i * LINE))
                with ends:
                    with code.when(code.less(0, index)):
                        of.store((before,), code.at(self._places(index)[-1], -LINE))
                    self._store(first, vectors)
            carried.update(vectors[-1:])
        code.fence()

    def _places(self, record: Value) -> list[Value]:
        """Where a record begins in each tensor."""
        return [
            self.code.at(base, self.code.mul(record, elements * self.size))
            for base, elements in zip(self.tensors, self.kernel.records, strict=True)
        ]

    def _records(self, first: Value) -> list[Value]:
        """The results of as many records as there are lanes, as they lie."""
        *places, _ = self._places(first)
        inputs, sums = self._inputs(places), _Sums(self.of)
        if self.long is None:
            sums.add(self._positions(), inputs)
        else:
            for piece in self._taken_apart(places[self.long]):
                inputs[self.long] = piece
                sums.add(self._positions(), inputs)
                sums.settle()
        return join(self.code, self._results(sums))

    def _store(self, first: Value, vectors: Sequence[Value]) -> None:
        place = self._places(first)[-1]
        for i, vector in enumerate(vectors):
            self.real.store((vector,), self._at(place, i * self.lanes))

    def _inputs(self, places: Sequence[Value]) -> list[Elements]:
        """Of each input the elements, but of long records none."""
        found: list[Elements] = []
        for tensor, place in enumerate(places):
            if not self.kernel.records[tensor]:
                found.append(self._same(tensor, place))
                continue
            count = 0 if tensor == self.long else self.kernel.parts[tensor]
            vectors = [self.real.load(self._at(place, i * self.lanes))[0] for i in range(count)]
            found.append(self._elements(tensor, part(self.code, vectors)) if count else {})
        return found

    def _same(self, tensor: int, place: Value) -> Elements:
        """The elements of an input that is the same for all records."""
        found: Elements = {}
        for at in sorted({position[tensor] for position in self._positions()}):
            number = self.one.load(self.code.at(place, at * self.size))
            number = self.one.conj(number) if self.kernel.conj[tensor] else number
            found[at] = self.of.splat(number)
        return found

    def _elements(self, tensor: int, numbers: Sequence[Value], start: int = 0) -> Elements:
        """The elements of an input that consist of these real numbers, the first of which is the
        `start`-th of a record."""
        parts, conj = self.kind.parts, self.kernel.conj[tensor]
        found: Elements = {}
        for i in range(0, len(numbers), parts):
            number = tuple(numbers[i : i + parts])
            found[(start + i) // parts] = self.of.conj(number) if conj else number
        return found

    def _results(self, sums: _Sums) -> list[Value]:
        return flat([self.scalars.alone(self.of, number) for number in sums.in_order()])

    def _at(self, place: Value, numbers: int) -> Value:
        """So many real numbers further."""
        return self.code.at(place, numbers * self.kind.part)

    # Records that are long: some numbers that lie side by side are the rows of a tile, which is
    # transposed. The last ones may reach back to those before.

    def _pieces(self) -> Iterator[int]:
        """Where the pieces of long records begin."""
        assert self.long is not None
        count, piece = self.kernel.parts[self.long], self.piece.lanes
        for done in range(0, count, piece):
            yield min(done, count - piece)

    def _taken_apart(self, place: Value) -> Iterator[Elements]:
        """The elements of long records of an input, each once."""
        assert self.long is not None
        count, piece, done = self.kernel.parts[self.long], self.piece.lanes, 0
        for start in self._pieces():
            places = [self._at(place, lane * count + start) for lane in range(self.lanes)]
            rows = [self.piece.load(place)[0] for place in places]
            columns = transpose(self.code, rows, piece, self.kind.part)
            yield self._elements(self.long, columns[done - start :], done)
            done = start + piece

    def _in_pieces(self, first: Value) -> None:
        """The results of as many records as there are lanes, to out, where they are long."""
        piece = self.piece.lanes
        *places, out = self._places(first)
        inputs = self._inputs(places)
        for start in self._pieces():
            sums, here = _Sums(self.of), range(start, start + piece)
            places_here = (at for at in self._positions() if at[-1] * self.kind.parts in here)
            sums.add(places_here, inputs)
            columns, squares = self._results(sums), range(0, self.lanes, piece)
            parts = [self.piece.part((column,), s)[0] for s in squares for column in columns]
            rows = transpose(self.code, parts, piece, self.kind.part)
            for lane in range(self.lanes):
                row = self.piece.part((rows[lane % piece],), lane // piece * piece)
                self.piece.store(row, self._at(out, lane * self.kernel.parts[-1] + start))

    # One by one.

    def _by_elements(self, places: Sequence[Value], dims: Sequence[RecordDim]) -> None:
        """A single record: its results over some dimensions."""
        code, one, scalars = self.code, self.one, self.scalars
        outer = next((d for d in dims if d.steps[-1]), None)
        if outer is not None:
            with code.loop(code.int(outer.size)) as i:
                moved = self._moved(places, outer, i)
                self._by_elements(moved, [d for d in dims if d is not outer])
            return
        *inputs, place = places
        total = self._total(inputs, dims, one.zero)
        value = code.choose(
            scalars.reads,
            lambda: flat([scalars.combined(one, total, one.load(place))]),
            lambda: flat([scalars.alone(one, total)]),
        )
        one.store(tuple(value), place)

    def _total(self, places: Sequence[Value], dims: Sequence[RecordDim], total: Number) -> Number:
        """A number and the sum over some dimensions."""
        if not dims:
            numbers = [self.one.load(place) for place in places]
            conj = zip(numbers, self.kernel.conj, strict=False)
            return _added(self.one, [self.one.conj(a) if c else a for a, c in conj], total)
        with self.code.reduce(self.code.int(dims[0].size), list(total)) as carried:
            moved = self._moved(places, dims[0], carried.index)
            carried.update(list(self._total(moved, dims[1:], tuple(carried.values))))
        return tuple(carried.values)

    def _moved(self, places: Sequence[Value], dim: RecordDim, index: Value) -> list[Value]:
        """The same some positions along a dimension."""
        return [
            self.code.at(place, self.code.mul(index, step * self.size)) if step else place
            for place, step in zip(places, dim.steps, strict=False)
        ]

    def _positions(self) -> Iterator[Position]:
        """Of every product, or element that is summed, what belongs together."""
        dims, tensors = self.kernel.dims, range(len(self.kernel.records))
        for at in product(*[range(d.size) for d in dims]):
            yield tuple(
                [sum([i * d.steps[t] for i, d in zip(at, dims, strict=True)]) for t in tensors]
            )


class _Sums:
    """Elements of records of out, as far as they have been summed."""

    def __init__(self, of: Arithmetic) -> None:
        self.of = of
        self.found: dict[int, Number] = {}

    def add(self, positions: Iterable[Position], inputs: Sequence[Elements]) -> None:
        """Add what those elements belong to that are there."""
        for *places, out in positions:
            if all(place in known for place, known in zip(places, inputs, strict=True)):
                factors = [known[at] for at, known in zip(places, inputs, strict=True)]
                self.found[out] = _added(self.of, factors, self.found.get(out))

    def settle(self) -> None:
        """Have what there is summed before anything else is read: LLVM would rather begin with the
        next elements, until registers are full."""
        if not self.of.code.target.free_masks:
            return
        for out, total in self.found.items():
            self.found[out] = tuple([self._settled(part) for part in total])

    def _settled(self, part: Value) -> Value:
        type_ = ir.FunctionType(part.type, [part.type])
        return self.of.builder.asm(type_, "", "=v,0,~{memory}", [part], True)

    def in_order(self) -> list[Number]:
        """All of them, as they lie."""
        return [self.found[out] for out in sorted(self.found)]


def _added(of: Arithmetic, factors: Sequence[Number], total: Number | None) -> Number:
    """A number, or the product of two, and what it is added to."""
    if len(factors) == 1:
        return factors[0] if total is None else of.add(total, factors[0])
    a, b = factors
    return of.mul(a, b) if total is None else of.fma(a, b, total)
