"""Copies whose Y is consecutive in the target: square tiles, transposed in registers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from tensorop.jit.abi import Frame
from tensorop.jit.builder import Value
from tensorop.jit.copy_abi import CopyDescriptor
from tensorop.jit.copy_block import Block

FEW = 3  # vectors' worth of elements up to which a partial tile is moved one by one
STRIP_CHUNKS = 8  # chunks of a strip


class Across(Block):
    """A tile is read along X, transposed (jit/transpose.py) and written along Y."""

    def copy(self) -> None:
        """Tiles of a strip of X, one strip for every z: so a row is read on over a few lines that
        follow one another, which is how memory is fast, before the next z is somewhere else."""
        code, xs, ys = self.code, self._xs(), self._ys()
        with (
            self._records(ys) as (y_first, y_offset, rows),
            code.loop(xs.stop, start=xs.first, step=STRIP_CHUNKS) as strip,
            self._outside() as (source_offset, target_offset),
        ):
            source = code.at(self.source, source_offset)
            target = code.at(code.at(self.target, y_offset), target_offset)
            last = code.min(code.add(strip, STRIP_CHUNKS), xs.stop)
            chunks = replace(xs, first=strip, stop=last)
            with self._records(chunks) as (x_first, x_offset, columns):
                tile = code.at(source, x_offset)
                self._move_tile(tile, target, (y_first, rows), (x_first, columns))

    @contextmanager
    def _outside(self) -> Iterator[tuple[Value, Value]]:
        """A loop over z: offsets in the source and in the target."""
        code, d = self.code, CopyDescriptor
        start = self._of_axis(Frame.START, d.Z_AXIS)
        stop = code.add(start, self._of_axis(Frame.SIZE, d.Z_AXIS))
        sources, targets = self._pointer(d.Z_SOURCE), self._pointer(d.Z_TARGET)
        with code.loop(stop, start=start) as z:
            yield code.word(sources, z), code.word(targets, z)

    def _move_tile(
        self, source: Value, target: Value, y: tuple[Value, Value], x: tuple[Value, Value]
    ) -> None:
        code, lanes = self.code, self.mover.lanes
        (_, rows), (_, columns) = y, x
        if lanes == 1:
            with code.when(code.nonzero(code.mul(rows, columns))):
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
            mover.store(code, number, code.at(target, column), self.plane, count)

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
