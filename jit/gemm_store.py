"""The end of a GEMM tile: C = alpha * acc, + beta * C, or C + alpha * acc.

While the frame's FIRST is 1, this is the only or the first block of K: C is scaled by beta, and not
read at all where the call says that beta is zero. Later blocks of K add to C. Two ways to reach C:

columns: the rows of C are consecutive in memory; a column is a table entry, vectors go straight from
    the accumulators.
scatter: both sides are addressed by tables. The tile goes through a buffer on the stack, from which
    every chunk of consecutive rows is moved as vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llvmlite import ir

from tensorop.jit.abi import WORD, AxisSlot, CallRecord, Frame, Slot
from tensorop.jit.builder import BYTE, Code, Value
from tensorop.jit.elements import Arithmetic, Element, Number


@dataclass(frozen=True)
class Patch:
    """The part of a tile that one store covers.

    column: first column, counted from the block's; columns: how many the tile has; valid: how many
    of them are C's, None for all. lanes: of a vector; count: valid lanes of the last vector, None
    for all.
    """

    column: Value
    columns: int
    valid: Value | None
    lanes: int
    count: Value | None


class Result:
    """C and the scalars that a result is combined with."""

    def __init__(self, code: Code, element: Element, column_table: Value) -> None:
        self.code, self.element = code, element
        self.out = code.pointer(code.frame, Slot.OUT)
        start = code.word(code.frame, Frame.START + AxisSlot.N)
        self.column_table = code.at(column_table, code.mul(start, WORD))
        self.call = code.pointer(code.frame, Frame.CALL)
        self.first = code.nonzero(code.word(code.frame, Frame.FIRST))
        reads_out = code.nonzero(code.word(self.call, CallRecord.READS_OUT))
        self.reads = code.builder.or_(code.builder.not_(self.first), reads_out)
        self.scales = code.nonzero(code.word(self.call, CallRecord.SCALES))

    def scaled(self, sums: Sequence[Number], lanes: int) -> list[Number]:
        """alpha * sums; not multiplied where alpha is one."""
        code, sums = self.code, list(sums)
        vector = Arithmetic(code, self.element.accumulator, lanes)
        before = code.builder.block
        with code.when(self.scales):
            alpha = vector.splat(self._scalar(CallRecord.ALPHA))
            products = [vector.mul(alpha, number) for number in sums]
            multiplied = code.builder.block
        return [
            tuple(
                self._either(x, before, y, multiplied) for x, y in zip(plain, product, strict=True)
            )
            for plain, product in zip(sums, products, strict=True)
        ]

    def _either(self, a: Value, from_a: ir.Block, b: Value, from_b: ir.Block) -> Value:
        phi = self.code.builder.phi(a.type)
        phi.add_incoming(a, from_a)
        phi.add_incoming(b, from_b)
        return phi

    def _scalar(self, word: CallRecord) -> Number:
        scalar = Arithmetic(self.code, self.element.accumulator, 1)
        return scalar.load(self.code.at(self.call, word * WORD))

    def column(self, index: Value) -> Value:
        """Address of a column, counted from the block's first."""
        return self.code.at(self.out, self.code.word(self.column_table, index))

    def store(self, sums: Sequence[Number], row: Value, patch: Patch) -> None:
        """Store a tile of scaled sums whose rows are consecutive from `row` (in bytes)."""
        with self.code.either(self.reads) as (then, otherwise):
            with then:
                self._store_columns(sums, row, patch, Update(self, patch.lanes))
            with otherwise:
                self._store_columns(sums, row, patch, None)

    def _store_columns(
        self, sums: Sequence[Number], row: Value, patch: Patch, update: Update | None
    ) -> None:
        vectors = len(sums) // patch.columns
        for column in range(patch.columns):
            numbers = sums[column * vectors : (column + 1) * vectors]
            if patch.valid is None or column == 0:
                self._store_column(numbers, column, row, patch, update)
            else:
                with self.code.when(self.code.less(column, patch.valid)):
                    self._store_column(numbers, column, row, patch, update)

    def _store_column(
        self,
        numbers: Sequence[Number],
        column: int,
        row: Value,
        patch: Patch,
        update: Update | None,
    ) -> None:
        code, stored = self.code, Arithmetic(self.code, self.element, patch.lanes)
        address = code.at(self.column(code.add(patch.column, column)), row)
        for vector, number in enumerate(numbers):
            place = code.at(address, vector * patch.lanes * self.element.size)
            count = patch.count if vector == len(numbers) - 1 else None
            if update is not None:
                number = update.combine(stored.load(place, count), number)
            stored.store(number, place, count)


class Update:
    """What a result is combined with where C is read: beta * C on the first block of K, else C."""

    def __init__(self, result: Result, lanes: int) -> None:
        self.result = result
        self.vector = Arithmetic(result.code, result.element.accumulator, lanes)
        self.beta = result._scalar(CallRecord.BETA)
        if result.element.parts == 1:
            one = Arithmetic(result.code, result.element.accumulator, 1).constant(1)
            self.beta = (result.code.builder.select(result.first, self.beta[0], one[0]),)
        self.beta = self.vector.splat(self.beta)

    def combine(self, old: Number, sums: Number) -> Number:
        """A complex one would turn infinities into NaN, so there the product is selected instead."""
        if len(old) == 1:
            return self.vector.fma(self.beta, old, sums)
        select, first = self.result.code.builder.select, self.result.first
        products = self.vector.mul(self.beta, old)
        kept = tuple(select(first, x, y) for x, y in zip(products, old, strict=True))
        return self.vector.add(sums, kept)


class ScatterBuffer:
    """A tile of sums on the stack, and its way to C chunk by chunk.

    The layout is [column][part][row]. Vectors are read past a column's end, so there is room behind
    the last one.
    """

    def __init__(self, result: Result, rows: int, columns: int, lanes: int) -> None:
        self.result, self.code, self.rows, self.lanes = result, result.code, rows, lanes
        self.element = result.element.accumulator
        self.column_bytes = rows * self.element.size
        size = columns * self.column_bytes + lanes * self.element.part
        self.buffer = self.code.stack(BYTE, size)

    def put(self, sums: Sequence[Number], row: Value | int, columns: int, lanes: int) -> None:
        """Keep the sums of a tile whose first row is `row` of the buffer."""
        parts = Arithmetic(self.code, self.element.real, lanes)
        place = self.code.at(self.buffer, self.code.mul(row, self.element.part))
        vectors = len(sums) // columns
        for i, number in enumerate(sums):
            column, vector = divmod(i, vectors)
            offset = column * self.column_bytes + vector * lanes * self.element.part
            for plane, part in enumerate(number):
                plane_offset = plane * self.rows * self.element.part
                parts.store((part,), self.code.at(place, offset + plane_offset))

    def flush(self, records: Value, begin: Value, granule: Value, column: Value, valid: Value) -> None:
        """Store the buffer's rows, which are all of a granule of C's rows."""
        code = self.code
        last = code.word(begin, code.add(granule, 1))
        with code.loop(last, start=code.word(begin, granule)) as chunk:
            record = code.at(records, code.mul(chunk, 3 * WORD))
            first, offset, length = (code.word(record, word) for word in range(3))
            row = code.sub(first, code.mul(granule, self.rows))
            whole = code.builder.and_(length, code.int(-self.lanes))
            with code.loop(whole, step=self.lanes) as i:
                self._flush_vectors(row, offset, i, None, column, valid)
            if self.lanes > 1:
                with code.when(code.less(whole, length)):
                    rest = code.sub(length, whole)
                    self._flush_vectors(row, offset, whole, rest, column, valid)

    def _flush_vectors(
        self, row: Value, offset: Value, i: Value, count: Value | None, column: Value, valid: Value
    ) -> None:
        """The same rows of every column."""
        code, result = self.code, self.result
        stored = Arithmetic(code, result.element, self.lanes)
        parts = Arithmetic(code, self.element.real, self.lanes)
        source = code.at(self.buffer, code.mul(code.add(row, i), self.element.part))
        shift = code.add(offset, code.mul(i, result.element.size))
        with code.loop(valid) as n:
            here = code.at(source, code.mul(n, self.column_bytes))
            number = tuple(
                part
                for plane in range(self.element.parts)
                for part in parts.load(code.at(here, plane * self.rows * self.element.part))
            )
            place = code.at(result.column(code.add(column, n)), shift)
            with code.either(result.reads) as (then, otherwise):
                with then:
                    update = Update(result, self.lanes)
                    stored.store(update.combine(stored.load(place, count), number), place, count)
                with otherwise:
                    stored.store(number, place, count)
