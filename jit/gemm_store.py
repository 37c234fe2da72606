"""The end of a GEMM tile: C = alpha * acc, + beta * C, or C + alpha * acc.

While the frame's FIRST is 1, this is the only or the first block of K: C is scaled by beta, and not
read at all where the call says that beta is zero. Later blocks of K add to C.

`Result.store` is the fast way, straight from the accumulators: a full tile whose rows are
consecutive in C, or lie in runs no shorter than a vector, or in pieces of vectors that are all
equally long, alpha one, beta zero or not the first block of K. `Result.overwrite` is the same at
the edges of C and onto a stage, in the first block only. Everything else (scalars, rows of C that
are scattered) goes through a buffer on the stack and `Flush`, one small function of loops that all
tiles of a kernel share. Its loads wait until what was put there is in L1, behind stores to C that
may have to wait for memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from llvmlite import ir

from tensorop.jit.abi import BETA_IS_ONE, CallRecord, Frame
from tensorop.jit.abi import WORD as WORD_BYTES
from tensorop.jit.arithmetic import Arithmetic, Number
from tensorop.jit.builder import BYTE, POINTER, VOID, WORD, Code, Value
from tensorop.jit.elements import Element
from tensorop.jit.functions import UNARY_FUNCTIONS
from tensorop.jit.gemm_abi import GemmWord, Store, masks_stores
from tensorop.jit.gemm_stage import Stage
from tensorop.jit.slots import AxisSlot
from tensorop.tuples import NamedTuple


class Place(NamedTuple):
    """Where the rows of a vector lie in C, as bytes from a column's beginning: `length` of them
    from `first` on, and the others, if any, where they would if the first one were at `second`.
    length: None where all belong together. pieces: where every piece begins, if there are more."""

    first: Value
    length: Value | None = None
    second: Value | None = None
    pieces: tuple[Value, ...] = ()


class Sums(NamedTuple):
    """The sums of a tile, column by column: where its vectors of so many lanes lie, and its first
    column, counted from the block's first."""

    numbers: Sequence[Number]
    places: Sequence[Place]
    column: Value
    lanes: int


class Cell(NamedTuple):
    """What is stored of one of a tile's vectors at a place in every column: the first `length` of
    its rows, those `behind` them, or, without a length, all; of a piece all `rows` from `start`
    on."""

    vector: int
    place: Value
    length: Value | None = None
    behind: bool = False
    start: int = 0
    rows: int = 0


class Result:
    """C, and how a result is combined with it, as the words of a call say.

    past: full tiles are stored past the caches, where C is not read and its first row begins with a
    line. joined: their columns lie one behind the other, so that what a cut vector has behind its
    line is the beginning of the same line of the column before.
    """

    def __init__(
        self,
        code: Code,
        element: Element,
        epilogue: str,
        *,
        past: bool = False,
        joined: bool = False,
    ) -> None:
        self.code, self.element, self.epilogue = code, element, epilogue
        self.joined = joined
        self.last = code.nonzero(code.word(code.frame, Frame.LAST))
        self.out = code.pointer(code.frame, code.word(code.descriptor, GemmWord.C_SLOT))
        start = code.word(code.frame, Frame.START + AxisSlot.N)
        table = code.pointer(code.descriptor, GemmWord.C_N_TABLE)
        self.column_table = code.at(table, code.mul(start, WORD_BYTES))
        self.call = code.pointer(code.frame, Frame.CALL)
        reads_out = code.word(self.call, CallRecord.READS_OUT)
        first = code.nonzero(code.word(code.frame, Frame.FIRST))
        # Where beta is one, the first block of K adds to C as the later ones do.
        self.first = code.builder.and_(first, code.builder.not_(code.equal(reads_out, BETA_IS_ONE)))
        self.scales = code.nonzero(code.word(self.call, CallRecord.SCALES))
        self.reads_out = code.nonzero(reads_out)
        self.past = self._goes_past() if past else None

    def row(self, index: Value) -> Value:
        """Byte offset of a row, counted from the block's first, where a tile's are consecutive."""
        return self.code.word(self._by_row(GemmWord.C_M_TABLE), self._position(index))

    def places(
        self,
        index: Value,
        vectors: int,
        lanes: int,
        store: Store,
        count: Value | None = None,
        piece: int = 0,
        runs: GemmWord = GemmWord.C_M_RUNS,
    ) -> list[Place]:
        """The vectors of a tile that begins with a row, counted from the block's first; of
        consecutive rows perhaps only some lanes of the last one. runs: the table of theirs."""
        code = self.code
        if store == "pieces":
            table = code.at(
                self._by_row(GemmWord.C_M_TABLE), code.mul(self._position(index), WORD_BYTES)
            )
            rows = range(0, vectors * lanes, piece)
            starts, each = [code.word(table, row) for row in rows], lanes // piece
            parts = (tuple(starts[i * each : (i + 1) * each]) for i in range(vectors))
            return [Place(part[0], pieces=part) for part in parts]
        if store == "columns":
            row, size = self.row(index), lanes * self.element.size
            starts = [code.add(row, vector * size) for vector in range(vectors)]
            return [*map(Place, starts[:-1]), Place(starts[-1], count)]
        record = code.builder.udiv(self._position(index), code.int(lanes))
        record = code.at(self._by_row(runs), code.mul(record, 3 * WORD_BYTES))
        words = [[code.word(record, 3 * vector + i) for i in range(3)] for vector in range(vectors)]
        return [Place(first, length, second) for length, first, second in words]

    def _by_row(self, table: GemmWord) -> Value:
        return self.code.pointer(self.code.descriptor, table)

    def _position(self, index: Value) -> Value:
        """Absolute position of a row, counted from the block's first."""
        return self.code.add(self.code.word(self.code.frame, Frame.START + AxisSlot.M), index)

    def column(self, index: Value) -> Value:
        """Address of a column, counted from the block's first."""
        return self.code.at(self.out, self.code.word(self.column_table, index))

    def finished(self, value: Arithmetic, number: Number) -> Number:
        """What is stored: after the last block of K the epilogue of the sum."""
        if self.epilogue == "none":
            return number
        after = UNARY_FUNCTIONS[self.epilogue](value, number)
        select = self.code.builder.select
        return tuple(select(self.last, x, y) for x, y in zip(after, number, strict=True))

    def needs_scalars(self) -> Value:
        """Whether alpha or beta enter this store."""
        scales_out = self.code.builder.and_(self.first, self.reads_out)
        return self.code.builder.or_(self.scales, scales_out)

    def is_plain(self) -> Value:
        """Whether C is overwritten by what is summed, and nothing else."""
        return self.code.builder.and_(self.first, self.code.builder.not_(self.needs_scalars()))

    def _goes_past(self) -> Value:
        code, builder = self.code, self.code.builder
        first = code.at(self.out, code.word(self._by_row(GemmWord.C_M_TABLE), 0))
        reads = builder.or_(self.needs_scalars(), builder.not_(self.first))
        return builder.and_(code.equal(code.within_line(first), 0), builder.not_(reads))

    def prefetch(self, places: Sequence[Place], column: Value, columns: int, lanes: int) -> None:
        """Ask for a tile of C in time for its store, unless that goes past the caches."""
        if self.past is None:
            self._prefetch(places, column, columns, lanes)
            return
        with self.code.when(self.code.builder.not_(self.past)):
            self._prefetch(places, column, columns, lanes)

    def _prefetch(self, places: Sequence[Place], column: Value, columns: int, lanes: int) -> None:
        """The line of the last row of every vector."""
        code, last = self.code, (lanes - 1) * self.element.size
        table = code.at(self.column_table, code.mul(column, WORD_BYTES))
        for n in range(columns):
            address = code.at(self.out, code.word(table, n))
            for first, _, second, pieces in places:
                for piece in pieces or (first if second is None else code.add(second, last),):
                    code.prefetch(code.at(address, piece))

    def ask_for_ends(
        self, places: Sequence[Place], column: Value, columns: int, lanes: int, last: Value
    ) -> None:
        """Ask for the lines that are stored in parts, where others are stored past the caches: a
        store that waits for memory holds up all that come after it. None from column `last` on."""
        assert self.past is not None
        code, end = self.code, (lanes - 1) * self.element.size
        table = code.at(self.column_table, code.mul(column, WORD_BYTES))
        starts = (columns - 1,) if self.joined else range(columns)
        rests = (0,) if self.joined else range(columns)
        exists = code.builder.icmp_signed("<=", code.add(column, columns), last)
        with code.when(code.builder.and_(self.past, exists)):
            for first, length, second, _ in places:
                assert length is not None and second is not None
                with code.when(code.less(length, lanes)):
                    for cut, offset in ((starts, first), (rests, code.add(second, end))):
                        for n in cut:
                            address = code.at(self.out, code.word(table, n))
                            code.prefetch(code.at(address, offset), write=True)

    def store(self, tile: Sums) -> None:
        """Overwrite C by a full tile, or add it: no scalars."""
        with self.code.either(self.first) as (overwrites, adds):
            with overwrites:
                if self.past is None:
                    self._finishing(partial(self._store, tile))
                else:
                    with self.code.either(self.past) as (past, through):
                        with past:
                            self._store(tile, past=True)
                        with through:
                            self._store(tile)
            with adds:
                self._finishing(partial(self._store, tile, adds=True))

    def overwrite(self, tile: Sums, valid: Value | None, stage: Stage | None = None) -> None:
        """Overwrite C by a tile at its edge, or a stage by any tile, of which perhaps only some
        columns are valid."""
        self._finishing(partial(self._store, tile, valid, stage=stage))

    def _finishing(self, store: Callable[..., None]) -> None:
        """Store, where there is an epilogue perhaps finishing."""
        if self.epilogue == "none":
            store()
            return
        with self.code.either(self.last) as (then, otherwise):
            with then:
                store(finishes=True)
            with otherwise:
                store()

    def _store(
        self,
        tile: Sums,
        valid: Value | None = None,
        *,
        adds: bool = False,
        finishes: bool = False,
        past: bool = False,
        stage: Stage | None = None,
    ) -> None:
        code, (sums, places, first, lanes) = self.code, tile
        vectors, columns = len(places), len(sums) // len(places)
        table = code.at(self.column_table, code.mul(first, WORD_BYTES))

        def arithmetic(lanes: int) -> tuple[Arithmetic, Arithmetic]:
            """On what is stored, and on what is summed."""
            kinds = self.element, self.element.accumulator
            return Arithmetic(code, kinds[0], lanes), Arithmetic(code, kinds[1], lanes)

        def put(n: int, cells: Sequence[Cell]) -> None:
            column = stage.column(n) if stage else code.at(self.out, code.word(table, n))
            for vector, at, length, behind, start, rows in cells:
                target, total = code.at(column, at), sums[n * vectors + vector]
                stored, summed = arithmetic(rows or lanes)
                if rows:
                    total = summed.part(total, start)
                if adds:
                    total = summed.add(stored.load(target, length, behind=behind), total)
                if finishes:
                    total = UNARY_FUNCTIONS[self.epilogue](summed, total)
                if past and length is None:
                    stored.store_past_caches(total, target)
                else:
                    stored.store(total, target, length, behind=behind)

        def every_column(*cells: Cell) -> None:
            for n in range(columns):
                if n == 0 or valid is None:
                    put(n, cells)
                    continue
                with code.when(code.less(n, valid)):
                    put(n, cells)

        def join(vector: int, at: Value, length: Value) -> None:
            """The lines between columns: the `length` rows that one ends with, and those that the
            next one begins with."""
            _, summed = arithmetic(lanes)
            for n in range(columns - 1):
                ends, begins = (sums[i * vectors + vector] for i in (n, n + 1))
                line = summed.blended(ends, begins, length)
                place = code.at(code.at(self.out, code.word(table, n)), at)
                summed.store_past_caches(line, place)

        if places[0].pieces:
            rows = lanes // len(places[0].pieces)
            pieces = (
                (v, i, at) for v, place in enumerate(places) for i, at in enumerate(place.pieces)
            )
            every_column(*(Cell(v, at, start=i * rows, rows=rows) for v, i, at in pieces))
            return
        if all(place.second is None for place in places):
            every_column(*(Cell(v, place.first, place.length) for v, place in enumerate(places)))
            return
        for vector, (first, length, second, _) in enumerate(places):
            assert length is not None and second is not None
            with code.either(code.equal(length, lanes)) as (together, apart):
                with together:
                    every_column(Cell(vector, first))
                with apart:
                    start = Cell(vector, first, length)
                    rest = Cell(vector, second, length, behind=True)
                    if past and self.joined:
                        put(0, [rest])
                        join(vector, first, length)
                        put(columns - 1, [start])
                    else:
                        every_column(start, rest)


class Buffer:
    """A tile of sums on the stack: [column][part][row].

    Vectors are read past a column's end, so there is room behind the last one.
    """

    def __init__(self, code: Code, element: Element, rows: int, columns: int, lanes: int) -> None:
        self.code, self.element, self.rows = code, element, rows
        self.address = code.stack(BYTE, columns * rows * element.size + lanes * element.part)

    def put(self, sums: Sequence[Number], row: Value | int, columns: int, lanes: int) -> None:
        """Keep the sums of a tile whose first row is `row` of the buffer."""
        part_bytes = self.element.part
        parts = Arithmetic(self.code, self.element.real, lanes)
        place = self.code.at(self.address, self.code.mul(row, part_bytes))
        vectors = len(sums) // columns
        for i, number in enumerate(sums):
            column, vector = divmod(i, vectors)
            for plane, part in enumerate(number):
                line = (column * self.element.parts + plane) * self.rows + vector * lanes
                parts.store((part,), self.code.at(place, line * part_bytes))


class Flush:
    """Generator of the function that stores a buffer.

    `flush(descriptor, frame, buffer, m, rows, column, columns)`: the first `columns` columns and
    `rows` rows of the buffer are C's from row `m` and column `column` of the block on. If not
    `consecutive`, they are the first ones of a granule of C's chunks.
    """

    TYPE = ir.FunctionType(VOID, [POINTER, POINTER, POINTER, WORD, WORD, WORD, WORD])

    def __init__(
        self, code: Code, element: Element, epilogue: str, rows: int, lanes: int, consecutive: bool
    ) -> None:
        self.code = Code(code.target, f"{code.function.name}_flush", self.TYPE, code.module)
        self.code.function.linkage = "internal"
        self.name, self.rows, self.lanes = self.code.function.name, rows, lanes
        self.element, self.epilogue, self.consecutive = element, epilogue, consecutive

    def generate(self) -> None:
        code = self.code
        _, _, self.buffer, m, rows, column, self.columns = code.function.args
        self.result = result = Result(code, self.element, self.epilogue)
        self.table = code.at(result.column_table, code.mul(column, WORD_BYTES))
        self.needs_scalars = result.needs_scalars()
        self.reads = code.builder.or_(code.builder.not_(result.first), result.reads_out)
        if self.consecutive:
            self._store_run(code.int(0), result.row(m), rows)
        else:
            self._store_chunks(m, rows)
        code.finish()

    def _store_chunks(self, m: Value, rows: Value) -> None:
        code = self.code
        start = code.word(code.frame, Frame.START + AxisSlot.M)
        granule = code.builder.udiv(code.add(start, m), code.int(self.rows))
        records = code.pointer(code.descriptor, GemmWord.C_M_CHUNKS)
        begin = code.pointer(code.descriptor, GemmWord.C_M_BEGIN)
        stop = code.word(begin, code.add(granule, 1))
        with code.loop(stop, start=code.word(begin, granule)) as chunk:
            record = code.at(records, code.mul(chunk, 3 * WORD_BYTES))
            first, offset, length = (code.word(record, word) for word in range(3))
            row = code.sub(first, code.mul(granule, self.rows))
            # A block may end before the granule does.
            self._store_run(row, offset, code.min(length, code.max(code.sub(rows, row), 0)))

    def _store_run(self, row: Value, offset: Value, length: Value) -> None:
        """Rows that are consecutive in C: from `row` of the buffer to byte `offset` of columns."""
        code, stored = self.code, Arithmetic(self.code, self.element, self.lanes)
        if self.consecutive and masks_stores(self.element.name, code.target):  # less to compile
            with code.loop(length, step=self.lanes) as i:
                count = stored.kept(code.min(self.lanes, code.sub(length, i)))
                self._store_vectors(row, offset, i, count, self.lanes)
            return
        whole = code.builder.and_(length, code.int(-self.lanes))
        with code.loop(whole, step=self.lanes) as i:
            self._store_vectors(row, offset, i, None, self.lanes)
        if self.lanes == 1:
            return
        rest = code.sub(length, whole)
        if not self.consecutive:  # where single rows are many
            with code.when(code.equal(rest, 1)):
                self._store_vectors(row, offset, whole, None, 1)
        with code.when(code.less(0 if self.consecutive else 1, rest)):
            self._store_vectors(row, offset, whole, rest, self.lanes)

    def _store_vectors(
        self, row: Value, offset: Value, i: Value, count: Value | None, lanes: int
    ) -> None:
        """The same rows of every column."""
        code, result, part_bytes = self.code, self.result, self.element.accumulator.part
        parts = Arithmetic(code, self.element.accumulator.real, lanes)
        sums = Arithmetic(code, self.element.accumulator, lanes)
        stored = Arithmetic(code, self.element, lanes)
        source = code.at(self.buffer, code.mul(code.add(row, i), part_bytes))
        target = code.at(result.out, code.add(offset, code.mul(i, self.element.size)))

        def each_column(combined: Callable[[Number, Value], Number]) -> None:
            with code.loop(self.columns) as n:
                here = code.at(source, code.mul(n, self.rows * self.element.accumulator.size))
                number: Number = ()
                for plane in range(self.element.parts):
                    number += parts.load(code.at(here, plane * self.rows * part_bytes))
                place = code.at(target, code.word(self.table, n))
                stored.store(result.finished(sums, combined(number, place)), place, count)

        def scalar(word: int) -> Number:
            one = Arithmetic(code, self.element.accumulator, 1)
            return sums.splat(one.load(code.at(result.call, word * WORD_BYTES)))

        def scaled(number: Number, place: Value) -> Number:
            """alpha * number, and + beta * C or + C where C is read."""
            alpha, beta = scalar(CallRecord.ALPHA), scalar(CallRecord.BETA)

            def updated() -> Number:
                old = stored.load(place, count)
                times = self._where(result.first, lambda: sums.mul(beta, old), old)
                return sums.add(times, product)

            product = self._where(result.scales, lambda: sums.mul(alpha, number), number)
            return self._where(self.reads, updated, product)

        with code.either(self.needs_scalars) as (then, otherwise):
            with then:
                each_column(scaled)
            with otherwise, code.either(result.first) as (first, later):
                with first:
                    each_column(lambda number, place: number)
                with later:
                    each_column(lambda number, place: sums.add(stored.load(place, count), number))

    def _where(self, condition: Value, then: Callable[[], Number], otherwise: Number) -> Number:
        """`then()` if the condition holds, computed only then."""
        return tuple(self.code.choose(condition, then, lambda: otherwise))
