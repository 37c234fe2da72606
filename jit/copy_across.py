"""Copies whose Y is consecutive in the target: tiles, transposed in registers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tensorop.jit.abi import Frame
from tensorop.jit.arithmetic import Number
from tensorop.jit.builder import BYTE, Code, Value
from tensorop.jit.copy_abi import CopyDescriptor
from tensorop.jit.copy_block import Block, Chunks
from tensorop.jit.copy_parts import move_both, with_part
from tensorop.jit.mover import Mover

MOST_TOGETHER = 16  # vectors of tiles that are stored together: more take long to compile
FEW = 3  # vectors' worth of elements up to which a partial tile is moved one by one
STRIP_CHUNKS = 8  # chunks of a strip


class Across(Block):
    """A tile is read along X, transposed (jit/transpose.py) and written along Y.

    Where a vector is less than a cache line, tiles below one another are stored together, so that
    lines are stored whole: halves of them might not find each other in the cache, where columns lie
    a power of two apart.

    asks: the rows of the tiles below are asked for.
    """

    def __init__(self, code: Code, mover: Mover, *, asks: bool = False) -> None:
        super().__init__(code, mover)
        self.asks = asks
        line = mover.line_vectors(code.target)
        self.together = max(1, min(line, MOST_TOGETHER // mover.lanes))

    def copy(self) -> None:
        """Tiles of a strip of X, one strip for every z: so a row is read on over a few lines that
        follow one another, which is how memory is fast, before the next z is somewhere else."""
        code, xs, ys = self.code, self._xs(), self._ys()
        first, _, rows = self._record(ys, code.max(0, code.sub(ys.stop, 1)))
        self.last = code.max(0, code.sub(code.add(first, rows), 1))
        with (
            code.loop(ys.stop, start=ys.first, step=self.together) as y_start,
            code.loop(xs.stop, start=xs.first, step=STRIP_CHUNKS) as strip,
            self._outside() as (source_offset, target_offset),
        ):
            source = code.at(self.source, source_offset)
            target = code.at(self.target, target_offset)
            last = code.min(code.add(strip, STRIP_CHUNKS), xs.stop)
            chunks = xs._replace(first=strip, stop=last)
            y_stop = code.min(code.add(y_start, self.together), ys.stop)
            below = ys._replace(first=y_start, stop=y_stop)
            with self._records(chunks) as (x_first, x_offset, columns):
                self._move_tiles(code.at(source, x_offset), target, below, (x_first, columns))

    def _column(self, x: Value) -> Value:
        """Where a column lies in the target."""
        return self.code.word(self.x_target, x)

    @contextmanager
    def _outside(self) -> Iterator[tuple[Value, Value]]:
        """A loop over z: offsets in the source and in the target."""
        code, d = self.code, CopyDescriptor
        start = self._of_axis(Frame.START, d.Z_AXIS)
        stop = code.add(start, self._of_axis(Frame.SIZE, d.Z_AXIS))
        sources, targets = self._pointer(d.Z_SOURCE), self._pointer(d.Z_TARGET)
        with code.loop(stop, start=start) as z:
            yield code.word(sources, z), code.word(targets, z)

    def _move_tiles(self, source: Value, target: Value, ys: Chunks, x: tuple[Value, Value]) -> None:
        """The tiles of a chunk of X and a few of Y, no more than are stored together."""
        code, count = self.code, self.together
        if self.asks:
            self._ask(source, ys)
        if count == 1:
            self._move_each(source, target, ys, x)
            return
        last = code.sub(ys.stop, 1)
        records = [self._record(ys, code.min(code.add(ys.first, i), last)) for i in range(count)]
        full = code.equal(code.sub(ys.stop, ys.first), count)
        full = code.builder.and_(full, code.equal(x[1], self.mover.lanes))
        for _, _, rows in records:
            full = code.builder.and_(full, code.equal(rows, self.mover.rows))
        with code.either(full) as (together, apart):
            with together:
                tiles = [self._load_tile(source, y) for y, _, _ in records]
                targets = [code.at(target, offset) for _, offset, _ in records]
                for i, column in enumerate(zip(*tiles, strict=True)):
                    place = self._column(code.add(x[0], i))
                    for below, number in zip(targets, column, strict=True):
                        self.mover.store(code, number, code.at(below, place), self.plane)
            with apart:
                self._move_each(source, target, ys, x)

    def _ask(self, source: Value, ys: Chunks) -> None:
        """Ask for the rows of as many tiles below; below the last ones, for the last row."""
        code, below = self.code, self.together * self.mover.rows
        first, _, _ = self._record(ys, ys.first)
        for i in range(below):
            y = code.min(code.add(first, below + i), self.last)
            code.prefetch(code.at(source, code.word(self.y_source, y)), near=False)

    def _move_each(self, source: Value, target: Value, ys: Chunks, x: tuple[Value, Value]) -> None:
        """The same, one by one."""
        with self._records(ys) as (y_first, y_offset, rows):
            self._move_tile(source, self.code.at(target, y_offset), (y_first, rows), x)

    def _load_tile(self, source: Value, y: Value) -> list[Number]:
        """The columns of a tile whose first row is `y`."""
        code = self.code
        places = [code.word(self.y_source, code.add(y, i)) for i in range(self.mover.rows)]
        loaded = [self.mover.load(code, code.at(source, place)) for place in places]
        return self.mover.transposed(code, loaded)

    def _move_tile(
        self, source: Value, target: Value, y: tuple[Value, Value], x: tuple[Value, Value]
    ) -> None:
        code, mover, (_, rows), (_, columns) = self.code, self.mover, y, x
        if mover.rows == 1:
            with code.when(code.nonzero(code.mul(rows, columns))):
                self._transpose(source, target, y, x)
            return
        full = code.builder.and_(code.equal(rows, mover.rows), code.equal(columns, mover.lanes))
        with code.either(full) as (whole, part):
            with whole:
                self._transpose(source, target, y, x)
            with part:
                self._move_part(source, target, y, x)

    def _move_part(
        self, source: Value, target: Value, y: tuple[Value, Value], x: tuple[Value, Value]
    ) -> None:
        """A tile that is not full: through masks where they are free, or a buffer."""
        code, mover = self.code, self.mover
        masks = mover.masks(code.target)
        if mover.planar and not masks:
            self._scalars(source, target, y, x)
            return
        worthwhile = code.less(FEW * mover.rows, code.mul(y[1], x[1]))
        with code.either(worthwhile) as (many, few):
            with many:
                if masks and (mover.planar or code.target.free_masks):
                    self._transpose_masked(source, target, y, x)
                else:
                    self._transpose_buffered(source, target, y, x)
            with few:
                self._scalars(source, target, y, x)

    def _transpose(
        self, source: Value, target: Value, y: tuple[Value, Value], x: tuple[Value, Value]
    ) -> None:
        """A whole tile."""
        for i, number in enumerate(self._load_tile(source, y[0])):
            place = self._column(self.code.add(x[0], i))
            self.mover.store(self.code, number, self.code.at(target, place), self.plane)

    def _transpose_masked(
        self, source: Value, target: Value, y: tuple[Value, Value], x: tuple[Value, Value]
    ) -> None:
        """Rows and columns that a partial tile does not have repeat its last one: they are read,
        but not stored."""
        code, mover, (y_first, rows), (x_first, columns) = self.code, self.mover, y, x
        loaded = []
        for i in range(mover.rows):
            row = code.add(y_first, code.min(i, code.sub(rows, 1)))
            place = code.at(source, code.word(self.y_source, row))
            loaded.append(mover.load(code, place, columns))
        for i, number in enumerate(mover.transposed(code, loaded)):
            column = code.add(x_first, code.min(i, code.sub(columns, 1)))
            count = code.builder.select(code.less(i, columns), rows, code.int(0))
            place = code.at(target, self._column(column))
            mover.store(code, number, place, self.plane, count)

    def _transpose_buffered(
        self, source: Value, target: Value, y: tuple[Value, Value], x: tuple[Value, Value]
    ) -> None:
        """The rows of a partial tile are put into a buffer, and its columns; anything is in what it
        does not have."""
        code, mover, (y_first, rows), (x_first, columns) = self.code, self.mover, y, x
        width, height = mover.lanes * mover.source_bytes, mover.rows * mover.stored_bytes
        read = code.stack(BYTE, mover.rows * width)
        written = code.stack(BYTE, mover.lanes * height)
        length, depth = code.mul(columns, mover.source_bytes), code.mul(rows, mover.stored_bytes)

        def load(part: int) -> None:
            with code.loop(rows) as i:
                row = code.at(source, code.word(self.y_source, code.add(y_first, i)))
                move_both(code, row, code.at(read, code.mul(i, width)), length, part)

        def store(part: int) -> None:
            with code.loop(columns) as i:
                column = code.at(target, self._column(code.add(x_first, i)))
                move_both(code, code.at(written, code.mul(i, height)), column, depth, part)

        with_part(code, length, width, mover.source_bytes, load)
        loaded = [mover.load(code, code.at(read, i * width)) for i in range(mover.rows)]
        for i, number in enumerate(mover.transposed(code, loaded)):
            mover.store(code, number, code.at(written, i * height), self.plane)
        with_part(code, depth, height, mover.stored_bytes, store)

    def _scalars(
        self, source: Value, target: Value, y: tuple[Value, Value], x: tuple[Value, Value]
    ) -> None:
        code, scalar = self.code, self.mover._replace(lanes=1, squares=1)
        (y_first, rows), (x_first, columns) = y, x
        with code.loop(rows) as i:
            row = code.at(source, code.word(self.y_source, code.add(y_first, i)))
            line = code.at(target, code.mul(i, scalar.stored_bytes))
            with code.loop(columns) as j:
                number = scalar.load(code, code.at(row, code.mul(j, scalar.source_bytes)))
                place = code.at(line, self._column(code.add(x_first, j)))
                scalar.store(code, number, place, self.plane)
