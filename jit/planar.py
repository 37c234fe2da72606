"""Products of records that lie end to end: as many at once as a vector has lanes.

    for x, m, n:  out[x, m, n] = sum over k of in0[x, m, k] * in1[x, k, n]

Points, 3x3 matrices, tensors of a mesh's elements: the records of a few neighbours are loaded as
vectors, taken apart in registers (`channels.py`), so that a vector holds the same element of each,
multiplied element by element, and put together again. What is left of the batch is done by vectors
of its last records, of which some are computed once more. Where out is read, or the batch shorter
than vectors are, records are done one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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

# The vectors of some elements of records, by their place in these.
Elements = dict[int, Value]
# Elements of the records of in0, in1 and out.
Position = tuple[int, int, int]


def generate(kernel: PlanarKernel, target: Target) -> ir.Module:
    """The module of a kernel."""
    return _Planar(kernel, target).generate()


class _Planar:
    """The generator of one kernel."""

    def __init__(self, kernel: PlanarKernel, target: Target) -> None:
        self.kernel = kernel
        self.code = code = Code(target, kernel.name)
        kind = element(kernel.dtype)
        self.size, self.lanes = kind.size, target.lanes(kind.size)
        self.vector = self.lanes * self.size
        self.of, self.one = Arithmetic(code, kind, self.lanes), Arithmetic(code, kind, 1)
        self.scalars, self.long = Scalars(code, kind), kernel.long(target)
        self.tensors = [
            code.pointer(code.frame, code.word(code.descriptor, tensor)) for tensor in range(3)
        ]

    def generate(self) -> ir.Module:
        code = self.code
        x = code.word(code.frame, Frame.SIZE + AxisSlot.X)
        with code.either(code.builder.or_(self.scalars.reads, code.less(x, self.lanes))) as (
            one_by_one,
            together,
        ):
            with one_by_one, code.loop(x) as record:
                self._by_elements(self._places(record), self.kernel.dims)
            with together:
                (self._vectors_past if self.kernel.past else self._vectors)(x)
        return code.finish()

    def _vectors(self, x: Value) -> None:
        code = self.code
        with code.loop(x, step=self.lanes) as index:
            first = code.min(index, code.sub(x, self.lanes))
            self._store(first, self._records(first))

    def _vectors_past(self, x: Value) -> None:
        """Whole lines past the caches, wherever out begins in one: what a vector has of the line
        that it does not complete is completed by the next one. The first and the last vectors are
        stored as they are, and so is what the last of those between them have left."""
        code, of = self.code, self.of
        pairs = LinePairs(code, of)
        missing = code.within_line(code.sub(0, code.builder.ptrtoint(self.tensors[2], WORD)))
        last = code.sub(x, self.lanes)
        with code.reduce(x, [of.zero[0]], step=self.lanes) as carried:
            index, (before,) = carried.index, carried.values
            first = code.min(index, last)
            vectors = self._records(first)
            inside = code.builder.and_(code.less(0, index), code.less(index, last))
            with code.either(inside) as (between, ends):
                with between:
                    place = code.at(self._places(index)[2], code.sub(missing, LINE))
                    for i, (left, vector) in enumerate(pairwise([before, *vectors])):
                        line = pairs.completed(left, missing, vector)
                        of.store_past_caches((line,), code.at(place, i * LINE))
                with ends:
                    with code.when(code.less(0, index)):
                        of.store((before,), code.at(self._places(index)[2], -LINE))
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
        places, sums = self._places(first), _Sums(self.of)
        elements: list[Elements] = [{}, {}]
        for tensor, count in enumerate(self.kernel.records[:2]):
            if tensor != self.long:
                vectors = [self._load(places[tensor], i * self.lanes) for i in range(count)]
                elements[tensor] = dict(enumerate(part(self.code, vectors)))
        if self.long is None:
            sums.add(self._positions(), elements)
        else:
            for piece in self._pieces(places[self.long]):
                elements[self.long] = piece
                sums.add(self._positions(), elements)
                sums.settle()
        return join(self.code, [self.scalars.alone(self.of, number)[0] for number in sums.of_all()])

    def _load(self, place: Value, at: int, of: Arithmetic | None = None) -> Value:
        return (of or self.of).load(self.code.at(place, at * self.size))[0]

    def _pieces(self, place: Value) -> Iterator[Elements]:
        """The elements of long records, some that lie side by side together: as rows of a tile,
        which is transposed. The last ones may reach back to those before."""
        code, kernel = self.code, self.kernel
        assert self.long is not None
        count, piece = kernel.records[self.long], kernel.piece(code.target)
        of, done = Arithmetic(code, element(kernel.dtype), piece), 0
        while done < count:
            start = min(done, count - piece)
            rows = [self._load(place, lane * count + start, of) for lane in range(self.lanes)]
            columns = enumerate(transpose(code, rows, piece, self.size), start)
            yield {at: column for at, column in columns if at >= done}
            done = start + piece

    def _store(self, first: Value, vectors: Sequence[Value]) -> None:
        place = self._places(first)[2]
        for i, vector in enumerate(vectors):
            self.of.store((vector,), self.code.at(place, i * self.vector))

    def _by_elements(self, places: Sequence[Value], dims: Sequence[RecordDim]) -> None:
        """A single record: its results over some dimensions."""
        code, one, scalars = self.code, self.one, self.scalars
        outer = next((d for d in dims if d.out), None)
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
        one.store((value[0],), place)

    def _total(self, places: Sequence[Value], dims: Sequence[RecordDim], total: Number) -> Number:
        """A number and the sum of the products over some dimensions."""
        if not dims:
            a, b = map(self.one.load, places)
            return self.one.fma(a, b, total)
        with self.code.reduce(self.code.int(dims[0].size), list(total)) as carried:
            moved = self._moved(places, dims[0], carried.index)
            carried.update(list(self._total(moved, dims[1:], tuple(carried.values))))
        return tuple(carried.values)

    def _moved(self, places: Sequence[Value], dim: RecordDim, index: Value) -> list[Value]:
        """The same some positions along a dimension."""
        return [
            self.code.at(place, self.code.mul(index, step * self.size)) if step else place
            for place, step in zip(places, dim[1:], strict=False)
        ]

    def _positions(self) -> Iterator[Position]:
        """Of every product what it multiplies, and what it is added to."""
        dims = self.kernel.dims
        for at in product(*[range(d.size) for d in dims]):
            a, b, c = (sum(i * d[t] for i, d in zip(at, dims, strict=True)) for t in (1, 2, 3))
            yield a, b, c


class _Sums:
    """The elements of records of out, as far as they have been summed."""

    def __init__(self, of: Arithmetic) -> None:
        self.of = of
        self.found: dict[int, Number] = {}

    def add(self, positions: Iterator[Position], elements: Sequence[Elements]) -> None:
        """Add the products of those elements that are there."""
        in0, in1 = elements
        for i, j, out in positions:
            if i in in0 and j in in1:
                a, b = (in0[i],), (in1[j],)
                before = self.found.get(out)
                self.found[out] = self.of.mul(a, b) if before is None else self.of.fma(a, b, before)

    def settle(self) -> None:
        """Have what there is summed before anything else is read: LLVM would rather begin with the
        next elements, until registers are full."""
        if not self.of.code.target.free_masks:
            return
        for out, (total,) in self.found.items():
            type_ = ir.FunctionType(total.type, [total.type])
            kept = self.of.builder.asm(type_, "", "=v,0,~{memory}", [total], True)
            self.found[out] = (kept,)

    def of_all(self) -> list[Number]:
        return [self.found[out] for out in sorted(self.found)]
