"""Copies of two-dimensional blocks through offset tables: packing, permuting, widening.

X is the axis whose positions are consecutive in the source (in chunks, see jit/tables.py), Y the
other one. Two ways to go:

along: X is consecutive in the target too. Every chunk is moved as vectors, for every y.
across: Y is consecutive in the target. Square tiles are read along X, transposed in registers
    (jit/transpose.py) and written along Y.

A pack is a copy into panels: its target tables count from the block, and the last panel, where it
is not full, is zeroed first. Elements that are neither converted, conjugated nor made planar are
moved as bits. No byte outside the positions of the block is read or written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Literal

from llvmlite import ir

from tensorop.jit.abi import WORD as WORD_BYTES
from tensorop.jit.abi import Frame
from tensorop.jit.builder import BYTE, LINE, WORD, Code, Value
from tensorop.jit.elements import Arithmetic, element
from tensorop.jit.mover import Mover, mover
from tensorop.jit.target import Target

RECORD_BYTES = 3 * WORD_BYTES  # of a chunk: first position, byte offset, length
LONG = 8  # vectors from which on a chunk is walked along X inside
UNROLL = 4  # vectors in the body of an inner loop
FEW = 3  # vectors' worth of elements up to which a partial tile is moved one by one
STRIP = 16  # rows of a strip (along)
STRIP_CHUNKS = 8  # chunks of a strip (across)
TILE_ROWS = 4  # rows of tiles that are moved together, and
LONG_ROWS = 400  # positions of X from which on rows of windows pay (streaming)
TILES_AHEAD = 2  # tiles along X that are asked for ahead (streaming, columns not at lines)
LARGEST_TILE = 16  # lanes of a tile that is transposed in registers


# The first chunk of a block, the end of its chunks, and the table of chunks.
_Chunks = tuple[Value, Value, Value]


class CopyDescriptor(IntEnum):
    """Descriptor of a CopyKernel. Offsets and strides are in bytes; tables go by absolute position.

    SOURCE_SLOT, TARGET_SLOT: frame slots with the base addresses. X_AXIS, Y_AXIS: axis slots.
    X_CHUNKS, X_BEGIN, X_GRANULE: `tables.chunks` of X in the source; a block of X starts at a
    multiple of the granule. Along, the positions of a chunk are consecutive in the target too;
    across, a chunk is at most `CopyKernel.lanes` long.
    X_TARGET, Y_TARGET: offsets in the target by x and by y (Y_TARGET: along). Y_SOURCE: in the
    source by y.
    Y_CHUNKS, Y_BEGIN, Y_GRANULE: the same of Y in the target (across); Y_TARGET is not read then.
    PLANE: from a real to its imaginary part in the target (planar).
    Z_AXIS, Z_SOURCE, Z_TARGET: a third axis outside the tiles, and its offsets (across).
    WIDTH: lanes of a panel, 0 where nothing is padded; LANES_TARGET: offsets in the target by lane
    position; ROW: bytes of a row of a panel; LANES_AXIS, DEPTH_AXIS: axis slots of a panel's lanes
    and rows.
    """

    SOURCE_SLOT = 0
    TARGET_SLOT = 1
    X_AXIS = 2
    Y_AXIS = 3
    X_CHUNKS = 4
    X_BEGIN = 5
    X_GRANULE = 6
    X_TARGET = 7
    Y_SOURCE = 8
    Y_TARGET = 9
    Y_CHUNKS = 10
    Y_BEGIN = 11
    Y_GRANULE = 12
    PLANE = 13
    WIDTH = 14
    LANES_TARGET = 15
    ROW = 16
    LANES_AXIS = 17
    DEPTH_AXIS = 18
    Z_AXIS = 19
    Z_SOURCE = 20
    Z_TARGET = 21


@dataclass(frozen=True, slots=True)
class CopyKernel:
    """A copy from a dtype to the same one, or from a half type to float32.

    conj: conjugate. planar: the target holds real and imaginary parts apart (complex only).
    tile: most lanes of a tile that is transposed (across): no more than runs of Y are long.
    streaming: the target is more than the caches hold (across).
    """

    source: str
    target: str
    mode: Literal["along", "across"]
    conj: bool = False
    planar: bool = False
    tile: int = LARGEST_TILE
    streaming: bool = False

    def lanes(self, target: Target) -> int:
        """Elements of a vector; across, the longest chunk."""
        return self._mover(target).lanes

    def _mover(self, target: Target) -> Mover:
        widest = mover(self.source, self.target, target, self.conj, self.planar)
        if self.mode == "along":
            return widest
        return replace(widest, lanes=min(widest.lanes, self.tile))

    @property
    def name(self) -> str:
        """The name of the generated function."""
        flags = "_conj" * self.conj + "_planar" * self.planar + "_streaming" * self.streaming
        mode = self.mode if self.mode == "along" else f"across{self.tile}"
        return f"copy_{self.source}_{self.target}_{mode}{flags}"

    def generate(self, target: Target) -> ir.Module:
        code = Code(target, self.name)
        block = _Block(code, self._mover(target))
        block.pad_last_panel()
        if self.mode == "along":
            block.along()
        elif self.streaming:
            block.across_streaming()
        else:
            block.across()
        if self.streaming:
            code.fence()
        return code.finish()


class _Block:
    """The block that a call copies."""

    def __init__(self, code: Code, mover: Mover) -> None:
        self.code, self.mover, self.past_caches = code, mover, False
        self.source = code.pointer(code.frame, self._word(CopyDescriptor.SOURCE_SLOT))
        self.target = code.pointer(code.frame, self._word(CopyDescriptor.TARGET_SLOT))
        self.x_target = self._pointer(CopyDescriptor.X_TARGET)
        self.y_source = self._pointer(CopyDescriptor.Y_SOURCE)
        self.plane = self._word(CopyDescriptor.PLANE)

    def _word(self, word: CopyDescriptor) -> Value:
        return self.code.word(self.code.descriptor, word)

    def _pointer(self, word: CopyDescriptor) -> Value:
        return self.code.pointer(self.code.descriptor, word)

    def _of_axis(self, base: Frame, axis: CopyDescriptor) -> Value:
        """START or SIZE of an axis."""
        return self.code.word(self.code.frame, self.code.add(self._word(axis), base))

    def pad_last_panel(self) -> None:
        """Zero a panel that the block fills only in part."""
        code, width = self.code, self._word(CopyDescriptor.WIDTH)
        with code.when(code.nonzero(width)):
            start = self._of_axis(Frame.START, CopyDescriptor.LANES_AXIS)
            size = self._of_axis(Frame.SIZE, CopyDescriptor.LANES_AXIS)
            whole = code.mul(code.builder.udiv(size, width), width)
            with code.when(code.less(whole, size)):
                row = self._word(CopyDescriptor.ROW)
                depth = self._of_axis(Frame.SIZE, CopyDescriptor.DEPTH_AXIS)
                panel = self._pointer(CopyDescriptor.LANES_TARGET)
                offset = code.word(panel, code.add(start, whole))
                self._zero(code.at(self.target, offset), code.mul(row, depth))

    def _zero(self, address: Value, count: Value) -> None:
        code, width = self.code, self.code.target.vector_bytes
        whole = code.builder.and_(count, code.int(-width))
        for lanes, start, stop in ((width, code.int(0), whole), (1, whole, count)):
            zeros = Arithmetic(code, element("uint8"), lanes)
            with code.loop(stop, start=start, step=lanes) as i:
                zeros.store(zeros.zero, code.at(address, i))

    def _chunk_range(
        self,
        axis: CopyDescriptor,
        records: CopyDescriptor,
        begin: CopyDescriptor,
        granule: CopyDescriptor,
    ) -> _Chunks:
        code, per = self.code, self._word(granule)
        start, size = self._of_axis(Frame.START, axis), self._of_axis(Frame.SIZE, axis)
        blocks = code.builder.udiv(code.add(code.add(start, size), code.sub(per, 1)), per)
        table = self._pointer(begin)
        first = code.word(table, code.builder.udiv(start, per))
        return first, code.word(table, blocks), self._pointer(records)

    def _record(self, records: Value, chunk: Value) -> tuple[Value, Value, Value]:
        """First position, byte offset, length."""
        record = self.code.at(records, self.code.mul(chunk, RECORD_BYTES))
        return (self.code.word(record, 0), self.code.word(record, 1), self.code.word(record, 2))

    @contextmanager
    def _records(
        self, records: Value, first: Value, stop: Value
    ) -> Iterator[tuple[Value, Value, Value]]:
        """A loop over chunks: first position, byte offset, length."""
        code = self.code
        with code.loop(stop, start=first) as chunk:
            yield self._record(records, chunk)

    def _chunks(
        self,
        axis: CopyDescriptor,
        records: CopyDescriptor,
        begin: CopyDescriptor,
        granule: CopyDescriptor,
        body: Callable[[Value, Value, Value], None],
    ) -> None:
        """body(first, offset, length) for every chunk of the block."""
        first, stop, table = self._chunk_range(axis, records, begin, granule)
        with self._records(table, first, stop) as (position, offset, length):
            body(position, offset, length)

    def _x_chunks(self, body: Callable[[Value, Value, Value], None]) -> None:
        d = CopyDescriptor
        self._chunks(d.X_AXIS, d.X_CHUNKS, d.X_BEGIN, d.X_GRANULE, body)

    # along

    def along(self) -> None:
        code = self.code
        self.y_target = self._pointer(CopyDescriptor.Y_TARGET)
        start = self._of_axis(Frame.START, CopyDescriptor.Y_AXIS)
        stop = code.add(start, self._of_axis(Frame.SIZE, CopyDescriptor.Y_AXIS))
        # In strips, so that the rows of a strip are read on from chunk to chunk: few pages at a
        # time, each as a stream that the hardware prefetches.
        with code.loop(stop, start=start, step=STRIP) as y:
            self.y_start, self.y_stop = y, code.min(code.add(y, STRIP), stop)
            self._x_chunks(self._move_chunk)

    def _move_chunk(self, first: Value, offset: Value, length: Value) -> None:
        code, lanes = self.code, self.mover.lanes
        source = code.at(self.source, offset)
        target = code.at(self.target, code.word(self.x_target, first))
        with code.either(code.less(LONG * lanes - 1, length)) as (long, short):
            with long, code.loop(self.y_stop, start=self.y_start) as y:
                self._move_run(*self._places(source, target, y), length)
            with short:
                self._move_columns(source, target, length)

    def _places(self, source: Value, target: Value, y: Value) -> tuple[Value, Value]:
        code = self.code
        source = code.at(source, code.word(self.y_source, y))
        return source, code.at(target, code.word(self.y_target, y))

    def _move_run(self, source: Value, target: Value, length: Value) -> None:
        """One y of a long chunk."""
        code, lanes = self.code, self.mover.lanes
        body = lanes * UNROLL
        unrolled = code.sub(length, code.builder.urem(length, code.int(body)))
        with code.loop(unrolled, step=body) as i:
            self._move(source, target, i, UNROLL)
        whole = code.builder.and_(length, code.int(-lanes))
        with code.loop(whole, start=unrolled, step=lanes) as i:
            self._move(source, target, i, 1)
        self._rest(whole, length, lambda i, count: self._move(source, target, i, 1, count))

    def _move_columns(self, source: Value, target: Value, length: Value) -> None:
        """Every y of one or two vectors at a time of a short chunk."""
        code, lanes = self.code, self.mover.lanes
        pairs = code.builder.and_(length, code.int(-2 * lanes))
        whole = code.builder.and_(length, code.int(-lanes))
        with code.loop(pairs, step=2 * lanes) as i:
            self._move_column(source, target, i, 2)
        with code.loop(whole, start=pairs, step=lanes) as i:
            self._move_column(source, target, i, 1)
        self._rest(whole, length, lambda i, n: self._move_column(source, target, i, 1, n))

    def _rest(
        self, whole: Value, length: Value, move: Callable[[Value, Value | None], None]
    ) -> None:
        """The elements behind the last whole vector: one alone or without masks as scalars, which
        is what a count of None means for them."""
        code, mover = self.code, self.mover
        if mover.lanes == 1:
            return
        vectors = mover
        scalar = replace(mover, lanes=1)
        if not mover.masks(code.target):
            self.mover = scalar
            with code.loop(length, start=whole) as i:
                move(i, None)
        else:
            rest = code.sub(length, whole)
            with code.when(code.equal(rest, 1)):
                self.mover = scalar
                move(whole, None)
                self.mover = vectors
            with code.when(code.less(1, rest)):
                move(whole, rest)
        self.mover = vectors

    def _move_column(
        self, source: Value, target: Value, i: Value, vectors: int, count: Value | None = None
    ) -> None:
        code = self.code
        source = code.at(source, code.mul(i, self.mover.source_bytes))
        target = code.at(target, code.mul(i, self.mover.stored_bytes))
        rows = UNROLL // vectors
        size = code.sub(self.y_stop, self.y_start)
        unrolled = code.add(self.y_start, code.builder.and_(size, code.int(-rows)))
        for start, stop, step in (
            (self.y_start, unrolled, rows),
            (unrolled, self.y_stop, 1),
        ):
            with code.loop(stop, start=start, step=step) as y:
                for row in range(step):
                    places = self._places(source, target, code.add(y, row))
                    self._move(*places, code.int(0), vectors, count)

    def _move(
        self, source: Value, target: Value, i: Value, vectors: int, count: Value | None = None
    ) -> None:
        """Vectors from element `i` on."""
        code, mover = self.code, self.mover
        source = code.at(source, code.mul(i, mover.source_bytes))
        target = code.at(target, code.mul(i, mover.stored_bytes))
        steps = [vector * mover.lanes for vector in range(vectors)]
        numbers = [
            mover.load(code, code.at(source, step * mover.source_bytes), count) for step in steps
        ]
        for step, number in zip(steps, numbers, strict=True):
            place = code.at(target, step * mover.stored_bytes)
            mover.store(code, number, place, self.plane, count)

    # across

    def across(self) -> None:
        """Tiles of a strip of X, one strip for every z: so a row is read on over a few lines that
        follow one another, which is how memory is fast, before the next z is somewhere else."""
        code, d = self.code, CopyDescriptor
        first, end, records = self._chunk_range(d.X_AXIS, d.X_CHUNKS, d.X_BEGIN, d.X_GRANULE)

        def strips(y_first: Value, y_offset: Value, rows: Value) -> None:
            with (
                code.loop(end, start=first, step=STRIP_CHUNKS) as strip,
                self._outside() as (source_offset, target_offset),
            ):
                source = code.at(self.source, source_offset)
                target = code.at(code.at(self.target, y_offset), target_offset)
                last = code.min(code.add(strip, STRIP_CHUNKS), end)
                with self._records(records, strip, last) as (x_first, x_offset, columns):
                    tile = code.at(source, x_offset)
                    self._move_tile(tile, target, (y_first, rows), (x_first, columns))

        self._chunks(d.Y_AXIS, d.Y_CHUNKS, d.Y_BEGIN, d.Y_GRANULE, strips)

    @contextmanager
    def _outside(self) -> Iterator[tuple[Value, Value]]:
        """A loop over z: offsets in the source and in the target."""
        code, d = self.code, CopyDescriptor
        start = self._of_axis(Frame.START, d.Z_AXIS)
        stop = code.add(start, self._of_axis(Frame.SIZE, d.Z_AXIS))
        sources, targets = self._pointer(d.Z_SOURCE), self._pointer(d.Z_TARGET)
        with code.loop(stop, start=start) as z:
            yield code.word(sources, z), code.word(targets, z)

    def across_streaming(self) -> None:
        """Where all columns lie alike in cache lines: one row of tiles after the other, which reads
        as many streams as a tile has rows, on and on, so that the hardware prefetches them, and
        stores whole lines past the caches. Else some rows of tiles at a time, so that lines are
        completed while they are in L1, and both sides are asked for."""
        code, d = self.code, CopyDescriptor
        xs = self._chunk_range(d.X_AXIS, d.X_CHUNKS, d.X_BEGIN, d.X_GRANULE)
        ys = self._chunk_range(d.Y_AXIS, d.Y_CHUNKS, d.Y_BEGIN, d.Y_GRANULE)
        source, target = self.source, self.target
        with self._outside() as (source_offset, target_offset):
            self.source = code.at(source, source_offset)
            self.target = code.at(target, target_offset)
            if not self.mover.fills_lines:
                self._columns_of_tiles(xs, ys)
                return
            run, alike, head = self._lie(ys)
            size = self._of_axis(Frame.SIZE, d.X_AXIS)
            long = code.builder.and_(run, code.less(LONG_ROWS - 1, size))
            with code.either(code.builder.and_(run, alike)) as (then, else_):
                with then:
                    self._rows_of_tiles(xs, ys, head)
                with else_, code.either(long) as (windows, otherwise):
                    with windows:
                        self._rows_of_windows(xs, ys)
                    with otherwise:
                        self._columns_of_tiles(xs, ys)

    def _lie(self, ys: _Chunks) -> tuple[Value, Value, Value]:
        """Whether the columns of the block are consecutive, whether all begin at the same place of
        a cache line, and how many rows there are in the first to the next line."""
        code, d = self.code, CopyDescriptor
        start = self._of_axis(Frame.START, d.X_AXIS)
        stop = code.add(start, self._of_axis(Frame.SIZE, d.X_AXIS))
        first = code.word(self.x_target, start)
        with code.reduce(stop, [code.int(0)], start) as columns:
            apart = code.sub(code.word(self.x_target, columns.index), first)
            columns.update([code.builder.or_(columns.values[0], apart)])
        size = code.int(self.mover.stored_bytes)
        y_first, y_offset, _ = self._record(ys[2], ys[0])
        with code.reduce(ys[1], [code.int(0)], ys[0]) as rows:
            position, offset, _ = self._record(ys[2], rows.index)
            down = code.mul(code.sub(position, y_first), size)
            gap = code.sub(code.sub(offset, y_offset), down)
            rows.update([code.builder.or_(rows.values[0], gap)])
        run = code.equal(rows.values[0], 0)
        base = code.builder.ptrtoint(code.at(code.at(self.target, y_offset), first), WORD)
        to_line = code.builder.and_(code.sub(0, base), code.int(LINE - 1))
        whole = code.equal(code.builder.urem(to_line, size), 0)
        same = code.equal(code.builder.and_(columns.values[0], code.int(LINE - 1)), 0)
        return code.builder.and_(run, whole), same, code.builder.udiv(to_line, size)

    def _rows_of_tiles(self, xs: _Chunks, ys: _Chunks, head: Value) -> None:
        """Columns that are consecutive: first `head` rows up to a line, then whole lines."""
        code, lanes = self.code, self.mover.lanes
        start, y_offset, _ = self._record(ys[2], ys[0])
        size = self._of_axis(Frame.SIZE, CopyDescriptor.Y_AXIS)
        stop = code.add(start, size)
        short = code.builder.select(code.equal(head, 0), code.int(0), code.sub(lanes, head))
        self.past_caches = True
        with code.loop(stop, start=code.sub(start, short), step=lanes) as line:
            y = code.max(line, start)
            rows = code.sub(code.min(code.add(line, lanes), stop), y)
            down = code.mul(code.sub(y, start), self.mover.stored_bytes)
            target = code.at(self.target, code.add(y_offset, down))
            with self._records(xs[2], xs[0], xs[1]) as (x_first, x_offset, columns):
                source = code.at(self.source, x_offset)
                self._move_tile(source, target, (y, rows), (x_first, columns))
        self.past_caches = False

    def _rows_of_windows(self, xs: _Chunks, ys: _Chunks) -> None:
        """Consecutive columns that begin anywhere in a line: of two tiles one below the other each
        column has a line somewhere. The first and the last rows are stored as they are."""
        code, lanes, size = self.code, self.mover.lanes, self.mover.stored_bytes
        start, y_offset, _ = self._record(ys[2], ys[0])
        count = self._of_axis(Frame.SIZE, CopyDescriptor.Y_AXIS)
        stop = code.add(start, count)
        windows = code.builder.udiv(code.max(code.sub(count, lanes - 1), 0), code.int(lanes))
        tail = code.add(start, code.mul(windows, lanes))

        def at_row(y: Value) -> Value:
            down = code.mul(code.sub(y, start), size)
            return code.at(self.target, code.add(y_offset, down))

        with code.loop(2) as end:
            first = code.equal(end, 0)
            low = code.builder.select(first, start, tail)
            high = code.builder.select(first, code.min(code.add(start, lanes), tail), stop)
            with code.loop(high, start=low, step=lanes) as y:
                rows = code.min(lanes, code.sub(high, y))
                with self._records(xs[2], xs[0], xs[1]) as (x_first, x_offset, columns):
                    source = code.at(self.source, x_offset)
                    self._move_tile(source, at_row(y), (y, rows), (x_first, columns))
        room = code.stack(BYTE, 2 * lanes * LINE)
        with code.loop(tail, start=start, step=lanes) as y:
            target = at_row(y)
            with self._records(xs[2], xs[0], xs[1]) as (x_first, x_offset, columns):
                source = code.at(self.source, x_offset)
                with code.either(code.equal(columns, lanes)) as (full, partial):
                    with full:
                        self._store_lines(source, target, y, x_first, room)
                    with partial:
                        place = (y, code.int(lanes)), (x_first, columns)
                        self._transpose(source, target, *place, partial=True)

    def _store_lines(
        self, source: Value, target: Value, y: Value, x_first: Value, room: Value
    ) -> None:
        """The first whole line of each column from row `y` on, past the caches."""
        code, mover = self.code, self.mover
        for below in range(2):
            loaded = []
            for i in range(mover.lanes):
                row = code.word(self.y_source, code.add(y, below * mover.lanes + i))
                loaded.append(mover.load(code, code.at(source, row)))
            for i, number in enumerate(mover.transposed(code, loaded)):
                mover.store(code, number, code.at(room, (2 * i + below) * LINE), self.plane)
        for i in range(mover.lanes):
            column = code.at(target, code.word(self.x_target, code.add(x_first, i)))
            address = code.builder.ptrtoint(column, WORD)
            up = code.builder.and_(code.sub(0, address), code.int(LINE - 1))
            line = mover.stored_vector(code, code.at(code.at(room, 2 * i * LINE), up))
            mover.store_past_caches(code, line, code.at(column, up))

    def _columns_of_tiles(self, xs: _Chunks, ys: _Chunks) -> None:
        code = self.code
        last = code.sub(xs[1], 1)
        with (
            code.loop(ys[1], start=ys[0], step=TILE_ROWS) as y_start,
            code.loop(xs[1], start=xs[0]) as x_chunk,
            code.loop(code.min(code.add(y_start, TILE_ROWS), ys[1]), start=y_start) as y_chunk,
        ):
            x_first, x_offset, columns = self._record(xs[2], x_chunk)
            y_first, y_offset, rows = self._record(ys[2], y_chunk)
            source, target = code.at(self.source, x_offset), code.at(self.target, y_offset)
            later = self._record(xs[2], code.min(code.add(x_chunk, TILES_AHEAD), last))
            self._ask(code.at(self.source, later[1]), target, (y_first, rows), later)
            self._move_tile(source, target, (y_first, rows), (x_first, columns))

    def _ask(
        self, source: Value, target: Value, y: tuple[Value, Value], x: tuple[Value, Value, Value]
    ) -> None:
        """Ask for the rows of a tile, and for where its columns go."""
        code = self.code
        end = code.sub(code.mul(y[1], self.mover.stored_bytes), 1)
        for i in range(self.mover.lanes):
            row = code.word(self.y_source, code.add(y[0], code.min(i, code.sub(y[1], 1))))
            code.prefetch(code.at(source, row))
            column = code.word(self.x_target, code.add(x[0], code.min(i, code.sub(x[2], 1))))
            code.prefetch(code.at(code.at(target, column), end), write=True)

    def _move_tile(
        self, source: Value, target: Value, y: tuple[Value, Value], x: tuple[Value, Value]
    ) -> None:
        code, lanes = self.code, self.mover.lanes
        (_, rows), (_, columns) = y, x
        if lanes == 1:
            self._transpose(source, target, y, x, partial=False)
            return
        full = code.builder.and_(code.equal(rows, lanes), code.equal(columns, lanes))
        with code.either(full) as (then, otherwise):
            with then:
                self._transpose(source, target, y, x, partial=False)
            with otherwise:
                if not self.mover.masks(code.target):
                    self._scalars(source, target, y, x)
                    return
                worthwhile = code.less(FEW * lanes, code.mul(rows, columns))
                with code.either(worthwhile) as (many, few):
                    with many:
                        self._transpose(source, target, y, x, partial=True)
                    with few:
                        self._scalars(source, target, y, x)

    def _transpose(
        self,
        source: Value,
        target: Value,
        y: tuple[Value, Value],
        x: tuple[Value, Value],
        partial: bool,
    ) -> None:
        """Rows and columns that a partial tile does not have repeat its last one: they are read,
        but not stored."""
        code, mover = self.code, self.mover
        (y_first, rows), (x_first, columns) = y, x

        def nearest(i: int, size: Value) -> Value:
            return code.min(i, code.sub(size, 1)) if partial else code.int(i)

        loaded = []
        for i in range(mover.lanes):
            row = code.word(self.y_source, code.add(y_first, nearest(i, rows)))
            loaded.append(mover.load(code, code.at(source, row), columns if partial else None))
        for i, number in enumerate(mover.transposed(code, loaded)):
            column = code.word(self.x_target, code.add(x_first, nearest(i, columns)))
            count = None
            if partial:
                count = code.builder.select(code.less(i, columns), rows, code.int(0))
            place = code.at(target, column)
            if self.past_caches and not partial:
                mover.store_past_caches(code, number, place)
            else:
                mover.store(code, number, place, self.plane, count)

    def _scalars(
        self, source: Value, target: Value, y: tuple[Value, Value], x: tuple[Value, Value]
    ) -> None:
        code, scalar = self.code, replace(self.mover, lanes=1)
        (y_first, rows), (x_first, columns) = y, x
        with code.loop(rows) as i:
            row = code.at(source, code.word(self.y_source, code.add(y_first, i)))
            line = code.at(target, code.mul(i, scalar.stored_bytes))
            with code.loop(columns) as j:
                number = scalar.load(code, code.at(row, code.mul(j, scalar.source_bytes)))
                place = code.at(line, code.word(self.x_target, code.add(x_first, j)))
                scalar.store(code, number, place, self.plane)
