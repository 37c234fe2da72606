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
from itertools import product

from llvmlite import ir

from tensorop.jit.abi import Frame
from tensorop.jit.arithmetic import Arithmetic, Number
from tensorop.jit.builder import WORD, Code, Value
from tensorop.jit.channels import join, part
from tensorop.jit.elements import element
from tensorop.jit.line_pairs import LinePairs
from tensorop.jit.lines import LINE
from tensorop.jit.planar_abi import PlanarKernel
from tensorop.jit.scalars import Scalars, flat
from tensorop.jit.slots import AxisSlot
from tensorop.jit.target import Target

Term = tuple[int, int]  # elements of the records of in0 and in1 that are multiplied


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
        self.scalars = Scalars(code, kind)
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
                self._record(self._places(record))
            with together:
                last = code.sub(x, self.lanes)
                if self.kernel.past:
                    self._vectors_past(last)
                else:
                    self._vectors(last)
                self._store(last, self._records(last))
        return code.finish()

    def _vectors(self, stop: Value) -> None:
        with self.code.loop(stop, step=self.lanes) as first:
            self._store(first, self._records(first))

    def _vectors_past(self, stop: Value) -> None:
        """Whole lines past the caches, wherever out begins in one: what a vector has of the line
        that it does not complete is completed by the next one."""
        code = self.code
        pairs = LinePairs(code, self.of)
        missing = code.within_line(code.sub(0, code.builder.ptrtoint(self.tensors[2], WORD)))
        vectors = self._records(code.int(0))
        self._store(code.int(0), vectors)
        with code.reduce(stop, vectors[-1:], start=self.lanes, step=self.lanes) as carried:
            (before,) = carried.values
            place = code.at(self._places(carried.index)[2], code.sub(missing, LINE))
            for i, vector in enumerate(self._records(carried.index)):
                line = pairs.completed(before, missing, vector)
                self.of.store_past_caches((line,), code.at(place, i * LINE))
                before = vector
            carried.update([before])
        code.fence()
        # What is left of the last line is part of the last vector, of the last records before those
        # that come now.
        rest = code.builder.and_(code.add(stop, self.lanes - 1), code.int(-self.lanes))
        end = self._places(code.max(rest, self.lanes))[2]
        self.of.store((carried.values[0],), code.at(end, -LINE))

    def _places(self, record: Value) -> list[Value]:
        """Where a record begins in each tensor."""
        return [
            self.code.at(base, self.code.mul(record, elements * self.size))
            for base, elements in zip(self.tensors, self.kernel.records, strict=True)
        ]

    def _records(self, first: Value) -> list[Value]:
        """The results of as many records as there are lanes, as they lie."""
        code, of = self.code, self.of
        inputs = [
            part(code, [of.load(code.at(place, i * self.vector))[0] for i in range(elements)])
            for place, elements in zip(self._places(first), self.kernel.records[:2], strict=False)
        ]
        numbers = [self._sum(of, inputs, terms) for terms in self._outputs()]
        return join(code, [self.scalars.alone(of, number)[0] for number in numbers])

    def _store(self, first: Value, vectors: Sequence[Value]) -> None:
        place = self._places(first)[2]
        for i, vector in enumerate(vectors):
            self.of.store((vector,), self.code.at(place, i * self.vector))

    def _record(self, places: Sequence[Value]) -> None:
        """A single record."""
        code, one, scalars = self.code, self.one, self.scalars
        in0, in1, out = (
            [code.at(place, i * self.size) for i in range(elements)]
            for place, elements in zip(places, self.kernel.records, strict=True)
        )
        inputs = [[one.load(place)[0] for place in each] for each in (in0, in1)]
        sums = [self._sum(one, inputs, terms) for terms in self._outputs()]
        values = code.choose(
            scalars.reads,
            lambda: flat(
                [
                    scalars.combined(one, number, one.load(place))
                    for number, place in zip(sums, out, strict=True)
                ]
            ),
            lambda: flat([scalars.alone(one, number) for number in sums]),
        )
        for value, place in zip(values, out, strict=True):
            one.store((value,), place)

    def _sum(
        self, of: Arithmetic, inputs: Sequence[Sequence[Value]], terms: Sequence[Term]
    ) -> Number:
        in0, in1 = inputs
        (i, j), *others = terms
        total = of.mul((in0[i],), (in1[j],))
        for i, j in others:
            total = of.fma((in0[i],), (in1[j],), total)
        return total

    def _outputs(self) -> list[list[Term]]:
        """The terms of each element of a record of out."""
        found: list[list[Term]] = [[] for _ in range(self.kernel.records[2])]
        for in0, in1, out in self._positions():
            found[out].append((in0, in1))
        return found

    def _positions(self) -> Iterator[tuple[int, ...]]:
        """Of every product the elements of the records of in0, in1 and out."""
        dims = self.kernel.dims
        for at in product(*[range(d.size) for d in dims]):
            yield tuple(sum(i * d[t] for i, d in zip(at, dims, strict=True)) for t in (1, 2, 3))
