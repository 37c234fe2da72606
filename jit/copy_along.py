"""Copies whose X is consecutive in the source and in the target: chunks are moved as vectors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tensorop.jit.abi import Frame
from tensorop.jit.builder import Code, Value
from tensorop.jit.copy_abi import CopyDescriptor
from tensorop.jit.copy_block import Block, Chunks
from tensorop.jit.copy_parts import move_both, with_part
from tensorop.jit.mover import Mover
from tensorop.jit.target import SEGMENT

LONG = 8  # vectors from which on a chunk is walked along X inside
UNROLL = 4  # vectors in the body of an inner loop
STRIP = 16  # rows of a strip


class Along(Block):
    """Every chunk of X, for every y.

    asks: of short chunks, the rows of the next strip are asked for; long ones are streams that the
    hardware notices.
    """

    def __init__(self, code: Code, mover: Mover, *, asks: bool = False) -> None:
        super().__init__(code, mover)
        self.asks = asks

    def copy(self) -> None:
        code, xs = self.code, self._xs()
        self.y_target = self._pointer(CopyDescriptor.Y_TARGET)
        start = self._of_axis(Frame.START, CopyDescriptor.Y_AXIS)
        stop = code.add(start, self._of_axis(Frame.SIZE, CopyDescriptor.Y_AXIS))
        self.first, self.last = start, code.sub(stop, 1)
        # In strips, so that the rows of a strip are read on from chunk to chunk: few pages at a
        # time, each as a stream that the hardware prefetches.
        with code.loop(stop, start=start, step=STRIP) as y:
            self.y_start, self.y_stop = y, code.min(code.add(y, STRIP), stop)
            with code.loop(xs.stop, start=xs.first) as chunk:
                self._move_chunk(xs, chunk)

    def _move_chunk(self, chunks: Chunks, chunk: Value) -> None:
        code = self.code
        first, offset, length = self._record(chunks, chunk)
        source = code.at(self.source, offset)
        target = code.at(self.target, code.word(self.x_target, first))
        with code.either(self._is_long(target, length)) as (long, short):
            with long:
                self._move_long(chunks, chunk, (source, target), length)
            with short:
                self._move_columns(source, target, length)

    def _is_long(self, target: Value, length: Value) -> Value:
        """Whether a chunk is walked along X inside."""
        return self.code.less(LONG * self.mover.lanes - 1, length)

    def _move_long(
        self, chunks: Chunks, chunk: Value, places: tuple[Value, Value], length: Value
    ) -> None:
        """Every y of the strip, of a long chunk that lies at such places in the row 0 of both."""
        with self.code.loop(self.y_stop, start=self.y_start) as y:
            self._move_run(*self._places(*places, y), length)

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
        if lanes > 1:  # the last ones once more together with some before them
            with code.when(code.less(whole, length)):
                self._move(source, target, code.sub(length, lanes), 1)

    def _move_columns(self, source: Value, target: Value, length: Value) -> None:
        """Every y of one or two vectors at a time of a short chunk."""
        code, lanes = self.code, self.mover.lanes
        pairs = code.builder.and_(length, code.int(-2 * lanes))
        whole = code.builder.and_(length, code.int(-lanes))
        with code.loop(pairs, step=2 * lanes) as i:
            self._move_column(source, target, i, 2)
        with code.loop(whole, start=pairs, step=lanes) as i:
            self._move_column(source, target, i, 1)
        if lanes > 1:
            with code.when(code.less(whole, length)):
                self._move_last_columns(source, target, whole, length)

    def _move_last_columns(self, source: Value, target: Value, whole: Value, length: Value) -> None:
        """Every y of the elements behind the last whole vector: masked where that costs nothing,
        else once more together with some before them."""
        code, mover = self.code, self.mover
        if code.target.free_masks and mover.masks(code.target):
            self._move_masked(source, target, whole, code.sub(length, whole))
            return
        with code.either(code.less(mover.lanes - 1, length)) as (again, few):
            with again:
                self._move_column(source, target, code.sub(length, mover.lanes), 1)
            with few:
                if mover.moves_bits:
                    self._move_parts(source, target, code.mul(length, mover.stored_bytes))
                else:
                    self._move_scalars(source, target, code.int(0), length)

    def _move_masked(self, source: Value, target: Value, start: Value, count: Value) -> None:
        """Every y of so many elements from `start` on: in the shortest vectors that hold them,
        since a masked one that lies in two lines takes long, whatever its mask."""
        size = max(self.mover.source_bytes, self.mover.stored_bytes)
        with self.code.either(self.code.equal(count, 1)) as (one, several):
            with one:
                self._move_scalars(source, target, start, self.code.add(start, 1))
            with several:
                self._move_in_shortest(max(2, SEGMENT // size), source, target, start, count)

    def _move_in_shortest(
        self, lanes: int, source: Value, target: Value, start: Value, count: Value
    ) -> None:
        """With vectors of so many lanes, or twice or four times as many, where these are needed."""
        if lanes >= self.mover.lanes:
            self._move_column(source, target, start, 1, count)
            return
        with self.code.either(self.code.less(lanes, count)) as (longer, fits):
            with longer:
                self._move_in_shortest(2 * lanes, source, target, start, count)
            with fits, self._in_vectors_of(lanes):
                self._move_column(source, target, start, 1, count)

    @contextmanager
    def _in_vectors_of(self, lanes: int) -> Iterator[None]:
        mover, self.mover = self.mover, self.mover._replace(lanes=lanes)
        yield
        self.mover = mover

    def _move_scalars(self, source: Value, target: Value, start: Value, stop: Value) -> None:
        with self._in_vectors_of(1), self.code.loop(stop, start=start) as i:
            self._move_column(source, target, i, 1)

    def _move_parts(self, source: Value, target: Value, size: Value) -> None:
        """Every y of fewer bytes than a vector has."""
        code, mover = self.code, self.mover
        half = mover.lanes * mover.stored_bytes // 2

        def move(part: int) -> None:
            with code.loop(self.y_stop, start=self.y_start) as y:
                move_both(code, *self._places(source, target, y), size, part)

        with_part(code, size, half, mover.stored_bytes, move)

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
                for row in range(step if self.asks else 0):
                    self._ask(source, code.add(y, row + STRIP), vectors)
                for row in range(step):
                    places = self._places(source, target, code.add(y, row))
                    self._move(*places, code.int(0), vectors, count)

    def _ask(self, source: Value, y: Value, vectors: int) -> None:
        """Ask for the vectors that are at a place in a row further down, or in the last one."""
        code, size = self.code, self.mover.lanes * self.mover.source_bytes
        row = code.at(source, code.word(self.y_source, code.min(y, self.last)))
        for vector in range(vectors):
            code.prefetch(code.at(row, vector * size), near=False)

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
