"""What every copy kernel does with its block: reads the descriptor, walks chunks, pads a panel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager

from tensorop.jit.abi import WORD as WORD_BYTES
from tensorop.jit.abi import Frame
from tensorop.jit.arithmetic import Arithmetic
from tensorop.jit.builder import INT32, Code, Value
from tensorop.jit.copy_abi import CopyDescriptor
from tensorop.jit.elements import element
from tensorop.jit.mover import Mover
from tensorop.jit.slots import AxisSlot
from tensorop.tuples import NamedTuple

RECORD_BYTES = 3 * WORD_BYTES  # of a chunk: first position, byte offset, length


class Chunks(NamedTuple):
    """The chunks of an axis in a block, the table of chunks (jit/tables.py), and the position at
    which the block ends: perhaps before its last chunk does."""

    first: Value
    stop: Value
    records: Value
    end: Value


class Block(ABC):
    """The block that a call copies."""

    def __init__(self, code: Code, mover: Mover) -> None:
        self.code, self.mover = code, mover
        self.source = code.pointer(code.frame, self._word(CopyDescriptor.SOURCE_SLOT))
        self.target = code.pointer(code.frame, self._word(CopyDescriptor.TARGET_SLOT))
        self.x_target = self._pointer(CopyDescriptor.X_TARGET)
        self.y_source = self._pointer(CopyDescriptor.Y_SOURCE)
        self.plane = self._word(CopyDescriptor.PLANE)

    def _word(self, word: CopyDescriptor) -> Value:
        return self.code.word(self.code.descriptor, word)

    def _pointer(self, word: CopyDescriptor) -> Value:
        return self.code.pointer(self.code.descriptor, word)

    def _of_axis(self, base: int, axis: CopyDescriptor) -> Value:
        """START or SIZE of an axis."""
        return self.code.word(self.code.frame, self.code.add(self._word(axis), base))

    @abstractmethod
    def copy(self) -> None:
        """Write the code that copies the block."""

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

    def shift_last_row(self, together: int) -> None:
        """Where the depth of a block is not made up of so many elements: its last row holds, in
        front, elements of the row before."""
        code, d, builder = self.code, CopyDescriptor, self.code.builder
        depth, start, size = (
            self._of_axis(base, axis)
            for base, axis in (
                (Frame.SIZE, d.DEPTH_AXIS),
                (Frame.START, d.LANES_AXIS),
                (Frame.SIZE, d.LANES_AXIS),
            )
        )
        left = builder.and_(depth, code.int(together - 1))
        with code.when(code.nonzero(left)):
            row = code.mul(self._word(d.ROW), code.sub(depth, left))
            bits = code.mul(code.sub(together, left), 8 * self.mover.source_bytes // together)
            bits = builder.trunc(bits, INT32)
            lanes = self._pointer(d.LANES_TARGET)
            with code.loop(code.add(start, size), start=start) as lane:
                place = code.at(self.target, code.add(code.word(lanes, lane), row))
                code.store(builder.lshr(code.load(place, INT32), bits), place)

    def _zero(self, address: Value, count: Value) -> None:
        code, width = self.code, self.code.target.vector_bytes
        whole = code.builder.and_(count, code.int(-width))
        for lanes, start, stop in ((width, code.int(0), whole), (1, whole, count)):
            zeros = Arithmetic(code, element("uint8"), lanes)
            with code.loop(stop, start=start, step=lanes) as i:
                zeros.store(zeros.zero, code.at(address, i))

    def _xs(self) -> Chunks:
        d = CopyDescriptor
        return self._chunks(d.X_AXIS, d.X_CHUNKS, d.X_BEGIN, d.X_GRANULE)

    def _ys(self) -> Chunks:
        d = CopyDescriptor
        return self._chunks(d.Y_AXIS, d.Y_CHUNKS, d.Y_BEGIN, d.Y_GRANULE)

    def _chunks(
        self,
        axis: CopyDescriptor,
        records: CopyDescriptor,
        begin: CopyDescriptor,
        granule: CopyDescriptor,
    ) -> Chunks:
        code, per = self.code, self._word(granule)
        start, size = self._of_axis(Frame.START, axis), self._of_axis(Frame.SIZE, axis)
        end = code.add(start, size)
        blocks = code.builder.udiv(code.add(end, code.sub(per, 1)), per)
        table = self._pointer(begin)
        first = code.word(table, code.builder.udiv(start, per))
        # The lanes of a group are no axis of their own: a block has all of them.
        no_axis = code.equal(self._word(axis), AxisSlot.SPARE1)
        end = code.builder.select(no_axis, code.add(start, per), end)
        return Chunks(first, code.word(table, blocks), self._pointer(records), end)

    def _record(self, chunks: Chunks, chunk: Value) -> tuple[Value, Value, Value]:
        """First position, byte offset, length; none of a chunk that lies behind the end."""
        code = self.code
        record = code.at(chunks.records, code.mul(chunk, RECORD_BYTES))
        first, offset, length = (code.word(record, i) for i in range(3))
        return first, offset, code.min(length, code.max(code.sub(chunks.end, first), 0))

    @contextmanager
    def _records(self, chunks: Chunks) -> Iterator[tuple[Value, Value, Value]]:
        """A loop over chunks: first position, byte offset, length."""
        with self.code.loop(chunks.stop, start=chunks.first) as chunk:
            yield self._record(chunks, chunk)
