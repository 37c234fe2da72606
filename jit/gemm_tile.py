"""One register tile of a GEMM: its operands' addresses and the loop over K.

The tile has a *vector side* (rows: `vectors` vectors of consecutive elements of A, the last one
perhaps half as wide) and a *broadcast side* (columns: single elements of B). Every step of K loads
the vectors once, then broadcasts one element of B after the other and multiplies it into a column
of accumulators:

    for k:  a[v] = A[k, v];  for n:  b = broadcast B[k, n];  for v:  acc[v, n] += a[v] * b

Accumulators stay in registers from the first K to the last, also across the blocks of a
batch-reduce. Addresses advance by one row a step, which costs an addition for an unpacked operand
and nothing for a packed one, where rows are constant distances apart.

Source: K. Goto, R. van de Geijn, "Anatomy of High-Performance Matrix Multiplication", ACM TOMS 34
(2008).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Protocol

from llvmlite import ir

from tensorop.jit.arithmetic import Arithmetic, Number
from tensorop.jit.builder import BYTE, POINTER, Code, Value
from tensorop.jit.lines import LINE
from tensorop.tuples import NamedTuple

Step = Value | int
Multiples = dict[int, Value]  # 1, 3, 5 -> so many times a stride
SEGMENT = 8  # steps of K between two errands: a few lines of memory each may be on their way
LAG = 2  # segments after the last errand
PER_BLOCK = 2  # columns to run errands for in a block of a batch-reduce
UNROLL = 2  # steps of K in the loop of a segment, at least
NEAR = 8 * LINE  # bytes that a panel of B is asked for ahead, into L1
REACH = 7  # columns that one pointer reaches with the strides s, 3s, 5s and the scales 1, 2, 4


def multiples_of(code: Code, stride: Value) -> Multiples:
    return {1: stride, 3: code.mul(stride, 3), 5: code.mul(stride, 5)}


def reach(code: Code, pointer: Value, count: int, multiples: Multiples) -> Value:
    """`count` strides further, for up to six, as one address of the form pointer + scale * index:
    few registers hold the addresses of many elements."""
    if count == 0:
        return pointer
    multiple = next(m for m in (5, 3, 1) if count % m == 0 and count // m in (1, 2, 4))
    scaled = ir.ArrayType(BYTE, count // multiple)
    return code.builder.gep(pointer, [multiples[multiple]], source_etype=scaled)


class Rows(NamedTuple):
    """The vector side: where the vectors of one step of K lie.

    step: bytes from one K to the next, and its multiples where it is not known when the kernel is
    generated; block: bytes from one batch-reduce block to the next.
    plane: bytes from real to imaginary parts (0: the elements are real).
    valid: lanes of the last vector that may be read, None for all.
    ahead: bytes that vectors are asked for ahead of their turn, 0 for not at all; near: into L1.
    """

    vectors: int
    address: Value
    step: Step
    block: Step
    plane: int
    valid: Value | None = None
    ahead: Step = 0
    near: bool = True
    multiples: Multiples | None = None

    def after(self, code: Code, pointer: Value, steps: int) -> Value:
        """The address some steps of K further."""
        if self.multiples is None:
            return code.at(pointer, code.mul(self.step, steps))
        return reach(code, pointer, steps, self.multiples)

    def load(self, parts: Sequence[Arithmetic], pointer: Value) -> list[Number]:
        """The vectors of one step of K. parts: of each of them, arithmetic on one part."""
        numbers: list[Number] = []
        for vector, of in enumerate(parts):
            count = self.valid if vector == self.vectors - 1 else None
            place = of.code.at(pointer, vector * parts[0].lanes * of.element.part)
            number = of.load(place, count)
            if self.plane:
                number += of.load(of.code.at(place, self.plane))
            numbers.append(number)
        return numbers

    def prefetch(self, parts: Arithmetic, pointer: Value) -> None:
        """Ask for the vectors of one step of K."""
        size = parts.lanes * parts.element.part
        for plane in {0, self.plane}:
            for offset in range(0, self.vectors * size, LINE):
                parts.code.prefetch(parts.code.at(pointer, plane + offset), near=self.near)


class Walk(NamedTuple):
    """Memory that a tile goes through, to read it or to ask for it: where it begins, and the bytes
    from one step of K, and from one batch-reduce block, to the next. last: where the last block is
    if not after the others."""

    address: Value
    step: Step
    block: Step
    last: Value | None = None


class PackedColumns(NamedTuple):
    """The broadcast side in a panel: the elements of one step of K are consecutive.

    A panel is read again for every panel of A. Where these are longer than L1 they push it out, and
    it comes from L2 each time: so it is asked for a little ahead. Of the next panel, which is still
    in L3, every tile asks for its part (into L2).

    stream: where in the next panel this tile begins to ask, None for not at all; stream_step: bytes
    from one step of K to the next. starts: where the numbers are that the sums of the columns begin
    with, None for zeros.
    """

    columns: int
    address: Value
    step: int
    block: Step
    plane: int
    stream: Value | None = None
    stream_step: Step = 0
    starts: Value | None = None

    def pointers(self, code: Code) -> list[Value]:
        """The addresses that the elements of one step of K are reached from."""
        return [self.address]

    def streams(self, code: Code) -> list[Walk]:
        """What is asked for meanwhile."""
        return [] if self.stream is None else [Walk(self.stream, self.stream_step, 0)]

    def ask(self, code: Code, pointer: Value, streamed: Sequence[Value], step: int) -> None:
        """Ask for what will be read later, in the `step`-th of some unrolled steps of K."""
        if step % max(1, LINE // self.step) == 0:
            for offset in range(0, self.step, LINE):
                code.prefetch(code.at(pointer, NEAR + offset))
        if step % 2 == 0:
            for far in streamed:
                code.prefetch(code.at(far, code.mul(self.stream_step, step)), near=False)

    def load(self, scalar: Arithmetic, pointers: Sequence[Value], column: int) -> Number:
        place = scalar.code.at(pointers[0], column * scalar.element.part)
        number = scalar.load(place)
        if self.plane:
            number += scalar.load(scalar.code.at(place, self.plane))
        return number


class StridedColumns(NamedTuple):
    """The broadcast side where it lies, any stride between columns.

    Columns are addressed as pointer + scale * multiple, so that few registers hold the addresses
    of many columns: a pointer every seven columns and the strides s, 3s and 5s. With `offsets`
    (byte offsets of the columns, some perhaps repeated) each column has a register of its own.

    Columns of a batch-reduce block usually lie side by side. As if they did, those of the next
    block are asked for (into L1), and in the last block those that the next tile begins with.

    stream: what the next call reads and is asked for meanwhile (into L2), `stream_block` bytes
    further with each batch-reduce block; None for nothing. stream_step: bytes of the columns in one
    step of K. plane: bytes from the real to the imaginary part (0: the elements are real).
    """

    columns: int
    address: Value
    step: Value
    block: Step
    multiples: Multiples  # of the stride
    offsets: Sequence[Value] = ()
    stream: Value | None = None
    stream_block: Step = 0
    stream_step: Step = 0
    plane: int = 0

    def pointers(self, code: Code) -> list[Value]:
        """The addresses that the elements of one step of K are reached from."""
        if self.offsets:
            return [self.address]
        starts = range(0, self.columns, REACH)
        return [code.at(self.address, code.mul(self.multiples[1], start)) for start in starts]

    def streams(self, code: Code) -> list[Walk]:
        """What is asked for meanwhile."""
        if self.stream is None:
            return []
        if isinstance(self.block, int):
            return [Walk(self.stream, self.stream_step, 0)]
        following = code.at(self.address, self.block)
        next_tile = code.at(self.address, code.mul(self.multiples[1], self.columns))
        return [
            Walk(self.stream, self.stream_step, self.stream_block),
            Walk(following, self.stream_step, self.block, next_tile),
        ]

    def ask(self, code: Code, pointer: Value, streamed: Sequence[Value], step: int) -> None:
        """Ask for what will be read later, in the `step`-th of some unrolled steps of K."""
        if streamed:
            far, *near = (code.at(s, code.mul(self.stream_step, step)) for s in streamed)
            if step % 2 == 0 or not near:
                code.prefetch(far, near=False)
            for n in near:
                code.prefetch(n)

    def load(self, scalar: Arithmetic, pointers: Sequence[Value], column: int) -> Number:
        if self.offsets:
            place = scalar.code.at(pointers[0], self.offsets[column])
        else:
            group, within = divmod(column, REACH)
            place = reach(scalar.code, pointers[group], within, self.multiples)
        number = scalar.load(place)
        if self.plane:
            number += scalar.load(scalar.code.at(place, self.plane))
        return number


Columns = PackedColumns | StridedColumns


class Turn(Protocol):
    """What is done a little at a time while a tile is computed."""

    def take_turn(self) -> None:
        """Generate what is done in a segment of K."""


# Code that asks for some columns of C: (the first, how many).
Errand = Callable[[Value, int], None]


def opaque(code: Code, address: Value) -> Value:
    """The same address; LLVM can no longer tell where it came from.

    Its loop strength reduction would otherwise turn the addresses `pointer + scale * multiple` into
    one long chain of additions, one before each load.
    """
    return code.builder.asm(ir.FunctionType(POINTER, [POINTER]), "", "=r,0", [address], False)


class TileProduct:
    """The accumulators of a tile after all of K."""

    def __init__(
        self,
        whole: Arithmetic,
        vectors: Sequence[Arithmetic],
        rows: Rows,
        columns: Columns,
        turns: Sequence[Turn] = (),
    ) -> None:
        """vectors: of each vector of rows, arithmetic on (planar) vectors of the accumulator;
        whole: on those of the result, which may be wider than the last of them; turns: what takes
        a turn in every segment of K."""
        self.turns = turns
        self.code, self.whole, self.vectors = whole.code, whole, vectors
        real = whole.element.real
        self.parts = [Arithmetic(self.code, real, vector.lanes) for vector in vectors]
        self.scalar = Arithmetic(self.code, real, 1)
        self.rows, self.columns = rows, columns
        pointers = [Walk(p, columns.step, columns.block) for p in columns.pointers(self.code)]
        self.read = 1 + len(pointers)
        row = Walk(rows.address, rows.step, rows.block)
        self.walks = [row, *pointers, *columns.streams(self.code)]

    def compute(
        self,
        depth: Value,
        blocks: Value | None,
        unroll: int,
        errand: Errand | None = None,
    ) -> list[Number]:
        """acc[column * vectors + vector] = the sum of `depth` products, of every block.

        errand: what is run for every column meanwhile. What it asks of memory should neither come
        at once, where K is long enough, nor too late.
        """
        sums = [
            part
            for column in range(self.columns.columns)
            for vector in self.vectors
            for part in self._start(vector, column)
        ]
        values = [*(walk.address for walk in self.walks), *sums]
        if blocks is not None:
            values = self._blocks(values, blocks, depth, unroll, errand)
        elif self.turns or (errand is not None and unroll == 1):
            # Two steps on vectors of different lengths are scheduled out of the registers.
            least = UNROLL if len({of.lanes for of in self.vectors}) == 1 else 1
            values = self._segments(values, depth, max(least, unroll), errand)
        else:
            if errand is not None:
                errand(self.code.int(0), self.columns.columns)
            values = self._block(values, depth, unroll)
        vectors = cycle(self.vectors)
        sums = self._numbers(values[len(self.walks) :])
        return [self._total(vector, number) for vector, number in zip(vectors, sums, strict=False)]

    def _start(self, vector: Arithmetic, column: int) -> Number:
        """What the sums of a vector of a column begin with."""
        if isinstance(self.columns, StridedColumns) or self.columns.starts is None:
            return vector.empty_sum
        place = self.code.at(self.columns.starts, column * self.scalar.element.part)
        return vector.splat(self.scalar.load(place))

    def _numbers(self, flat: Sequence[Value]) -> list[Number]:
        parts = self.whole.sum_parts
        return [tuple(flat[i : i + parts]) for i in range(0, len(flat), parts)]

    def _total(self, vector: Arithmetic, sums: Number) -> Number:
        """A finished sum, as wide as any: nobody reads what half a vector is filled up with."""
        number = vector.total(sums)
        return number if vector.lanes == self.whole.lanes else self.whole.repeated(number)

    # Loops over K. They carry the addresses that they walk and the sums.

    def _blocks(
        self,
        values: list[Value],
        blocks: Value,
        depth: Value,
        unroll: int,
        errand: Errand | None,
    ) -> list[Value]:
        """The blocks of a batch-reduce: where one ends the addresses jump to the next."""
        code, columns = self.code, self.columns.columns
        jumps = [code.sub(walk.block, code.mul(walk.step, depth)) for walk in self.walks]
        some = min(PER_BLOCK, columns)
        if errand is not None:
            with code.when(code.less(code.mul(blocks, some), columns)):
                errand(code.int(0), columns)
        with code.repeat(blocks, values) as carried:
            if errand is not None:
                errand(code.min(code.mul(carried.index, some), columns - some), some)
            values = self._block(carried.values, depth, unroll)
            last_follows = code.equal(carried.index, code.sub(blocks, 2))
            for i, (walk, jump) in enumerate(zip(self.walks, jumps, strict=True)):
                values[i] = code.at(values[i], jump)
                if walk.last is not None:
                    values[i] = code.builder.select(last_follows, walk.last, values[i])
            carried.update(values)
        return carried.values

    def _block(self, values: list[Value], depth: Value, unroll: int) -> list[Value]:
        code = self.code
        if unroll == 1:
            with code.repeat(depth, values) as carried:
                carried.update(self._steps(carried.values, 1))
            return carried.values
        whole = code.builder.and_(depth, code.int(-unroll))
        with code.reduce(whole, values, step=unroll) as carried:
            carried.update(self._steps(carried.values, unroll))
        with code.reduce(depth, carried.values, start=whole) as carried:
            carried.update(self._steps(carried.values, 1))
        return carried.values

    def _segments(
        self, values: list[Value], depth: Value, unroll: int, errand: Errand | None
    ) -> list[Value]:
        """A block in segments of K, with the errands before the last but LAG of them."""
        code, columns = self.code, self.columns.columns
        if errand is not None:
            with code.when(code.less(depth, SEGMENT * (columns + LAG))):
                errand(code.int(0), columns)
        segments = code.builder.udiv(depth, code.int(SEGMENT))
        begin = code.sub(segments, columns + LAG)
        with code.reduce(code.sub(depth, code.mul(segments, SEGMENT)), values) as carried:
            carried.update(self._steps(carried.values, 1))
        with code.reduce(segments, carried.values) as outer:
            for each in self.turns:
                each.take_turn()
            if errand is not None:
                column = code.sub(outer.index, begin)
                due = code.builder.icmp_unsigned("<", column, code.int(columns))
                with code.when(code.builder.and_(code.less(-1, begin), due)):
                    errand(column, 1)
            with code.repeat(code.int(SEGMENT // unroll), outer.values) as carried:
                carried.update(self._steps(carried.values, unroll))
            outer.update(carried.values)
        return outer.values

    def _steps(self, carried: list[Value], count: int) -> list[Value]:
        """`count` steps of K on [addresses, sums]."""
        code, columns = self.code, self.columns
        a, *b = carried[: self.read]
        streams = carried[self.read : len(self.walks)]
        sums = self._numbers(carried[len(self.walks) :])
        if not isinstance(self.rows.step, int):
            a = opaque(code, a)
        if isinstance(columns, StridedColumns):
            b = [opaque(code, pointer) for pointer in b]
        ahead = self._ahead(a)
        for step in range(count):
            if ahead is not None:
                self.rows.prefetch(self.parts[0], self.rows.after(code, ahead, step))
            columns.ask(code, b[0], streams, step)
            sums = self._multiply(self.rows.after(code, a, step), b, sums)
            b = [code.at(pointer, columns.step) for pointer in b]
        a = self.rows.after(code, a, count)
        streams = [code.at(s, code.mul(columns.stream_step, count)) for s in streams]
        return [a, *b, *streams, *(part for number in sums for part in number)]

    def _ahead(self, row: Value) -> Value | None:
        """The address of the vectors that are asked for at that of others, if any."""
        code, ahead = self.code, self.rows.ahead
        if isinstance(ahead, int):
            return code.at(row, ahead) if ahead else None
        return opaque(code, code.at(row, ahead))

    def _multiply(self, row: Value, pointers: list[Value], sums: list[Number]) -> list[Number]:
        a = self.rows.load(self.parts, row)
        after: list[Number] = []
        for column in range(self.columns.columns):
            b = self.columns.load(self.scalar, pointers, column)
            for vector, of in zip(a, self.vectors, strict=True):
                after.append(of.accumulate(vector, of.splat(b), sums[len(after)]))
        return after
