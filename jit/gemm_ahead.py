"""Asking memory, while a product runs, for the blocks of operands that are needed after it.

Packing and multiplying take turns: while one reads memory, the other's multipliers wait. So a
product of panels also asks for the lines of what is packed next, some in every segment of its loop
over K, and packing finds them in L2. Lines that nobody reads afterwards cost a load slot each,
nothing more: any address may be asked for.

Operands that are read where they lie are asked for as the rows of the next block (`Following`),
those that are packed by their lines (`Ahead`): all sums of an offset along one axis and one along
the other. Both are listed, without those in a line listed before; of the fast axis they lie side by
side. Arrays begin anywhere in a line, numpy's large ones 16 bytes behind its begin: so what a block
has of a row reaches into a line that is listed behind it, and is asked for as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from tensorop.jit.abi import WORD as WORD_BYTES
from tensorop.jit.abi import Frame
from tensorop.jit.builder import POINTER, WORD, Code, Value
from tensorop.jit.lines import LINE
from tensorop.jit.slots import AxisSlot
from tensorop.tuples import NamedTuple

LOOPS = (AxisSlot.M, AxisSlot.K, AxisSlot.N)  # over blocks, the innermost first


class AxisWord(IntEnum):
    """Record of an axis, by axis slot: its SIZE, and the length of the BLOCKs of it."""

    SIZE = 0
    BLOCK = 1
    WORDS = 2


class AheadWord(IntEnum):
    """Record of an operand, behind those of the axes. SLOT: the frame slot with its address. For
    its fast and its slow axis: AXIS, the axis slot; LINES, offsets in bytes; COUNTS, how many of
    them lie before a position, for all positions and the end."""

    SLOT = 0
    FAST_AXIS = 1
    FAST_LINES = 2
    FAST_BEGINS = 3
    FAST_ENDS = 4
    SLOW_AXIS = 5
    SLOW_LINES = 6
    SLOW_BEGINS = 7
    SLOW_ENDS = 8
    WORDS = 9


class NextWord(IntEnum):
    """Record of an operand that is read where it lies. OFFSET: bytes from the block of a call to
    that of the next one. STEP: from one row of a block to the next. TOGETHER: of so many blocks,
    one behind the other, a row is asked for at once, but only every so many rows. BYTES: of a row
    of all of them. LINES: of memory that are asked for."""

    OFFSET = 0
    STEP = 1
    TOGETHER = 2
    BYTES = 3
    LINES = 4
    WORDS = 5


class Ahead:
    """What is packed next of some operands, asked for in about `turns` turns a call."""

    def __init__(self, code: Code, records: Value, operands: int, turns: Value) -> None:
        blocks = _NextBlocks(code, records)
        first = (len(LOOPS) * AxisWord.WORDS + i * AheadWord.WORDS for i in range(operands))
        self._operands = [
            _Operand(code, code.at(records, words * WORD_BYTES), blocks, code.max(turns, 1))
            for words in first
        ]

    def take_turn(self) -> None:
        """Ask for the next lines."""
        for operand in self._operands:
            operand.take_turn()


class _NextBlocks:
    """Of every axis, where its block of the next call begins and ends, and whether that is another
    one: kept on the stack, by axis slot. After the last call of all, none is."""

    BEGIN, END, MOVED, WORDS = range(4)

    def __init__(self, code: Code, records: Value) -> None:
        self.code, self.place = code, code.stack(WORD, len(LOOPS) * self.WORDS)
        moved: dict[AxisSlot, Value] = {}
        carries: Value | None = None  # whether the loops inside begin anew
        for axis in LOOPS:
            record = code.at(records, axis * AxisWord.WORDS * WORD_BYTES)
            size, block = (code.word(record, word) for word in (AxisWord.SIZE, AxisWord.BLOCK))
            start, length = (code.word(code.frame, at + axis) for at in (Frame.START, Frame.SIZE))
            if carries is not None:
                length = code.builder.select(carries, length, code.int(0))
            following = code.add(start, length)
            carries = code.builder.icmp_signed(">=", following, size)
            begin = code.builder.select(carries, code.int(0), following)
            moved[axis] = code.builder.icmp_signed("!=", begin, start)
            code.set_word(self.place, axis * self.WORDS + self.BEGIN, begin)
            code.set_word(
                self.place, axis * self.WORDS + self.END, code.min(code.add(begin, block), size)
            )
        assert carries is not None
        for axis, value in moved.items():
            value = code.builder.and_(value, code.builder.not_(carries))
            word = axis * self.WORDS + self.MOVED
            code.set_word(self.place, word, code.builder.zext(value, WORD))

    def of(self, axis: Value) -> list[Value]:
        """BEGIN, END, MOVED of an axis slot."""
        first = self.code.mul(axis, self.WORDS)
        return [self.code.word(self.place, self.code.add(first, i)) for i in range(self.WORDS)]


class _Lines(NamedTuple):
    """The offsets of lines that are asked for: from `begin` to `end` of a list."""

    offsets: Value
    begin: Value
    end: Value
    moved: Value


class _Operand:
    """What is asked for of one operand; how far it has been is kept on the stack."""

    def __init__(self, code: Code, record: Value, blocks: _NextBlocks, turns: Value) -> None:
        self.code = code
        self.address = code.pointer(code.frame, code.word(record, AheadWord.SLOT))
        self.fast = self._lines(code.at(record, AheadWord.FAST_AXIS * WORD_BYTES), blocks)
        self.slow = self._lines(code.at(record, AheadWord.SLOW_AXIS * WORD_BYTES), blocks)
        lengths = (code.sub(lines.end, lines.begin) for lines in (self.fast, self.slow))
        moved = code.nonzero(code.builder.or_(self.fast.moved, self.slow.moved))
        count = code.builder.select(moved, code.mul(*lengths), code.int(0))
        self.each = code.builder.udiv(code.add(count, code.sub(turns, 1)), turns)
        self.state = code.stack(WORD, 3)  # lines left, and the position in both lists
        for i, value in enumerate((count, self.fast.begin, self.slow.begin)):
            code.set_word(self.state, i, value)

    def _lines(self, record: Value, blocks: _NextBlocks) -> _Lines:
        code = self.code
        offsets, begins, ends = (code.pointer(record, i) for i in range(1, 4))
        begin, end, moved = blocks.of(code.word(record, 0))
        return _Lines(offsets, code.word(begins, begin), code.word(ends, end), moved)

    def take_turn(self) -> None:
        code, select = self.code, self.code.builder.select
        left, *position = (code.word(self.state, i) for i in range(3))
        count = code.min(left, self.each)
        with code.reduce(count, position) as carried:
            i, j = carried.values
            offset = code.add(code.word(self.fast.offsets, i), code.word(self.slow.offsets, j))
            code.prefetch(code.at(self.address, offset), near=False)
            after = code.add(i, 1)
            ends = code.equal(after, self.fast.end)
            carried.update([select(ends, self.fast.begin, after), select(ends, code.add(j, 1), j)])
        for i, value in enumerate((code.sub(left, count), *carried.values)):
            code.set_word(self.state, i, value)


class Following:
    """The blocks of operands that the next call reads where they lie, asked for in about `turns`
    turns a call: of each operand its address, and the first of them has its record (`NextWord`) at
    `records`, the others behind it."""

    def __init__(self, code: Code, records: Value, operands: Sequence[Value], turns: Value) -> None:
        self._operands = [
            _Rows(code, code.at(records, i * NextWord.WORDS * WORD_BYTES), operand, turns)
            for i, operand in enumerate(operands)
        ]

    def take_turn(self) -> None:
        """Ask for the next lines."""
        for operand in self._operands:
            operand.take_turn()


class NextStrip:
    """The rows of A that are read next where they lie, asked for while all columns of the ones
    before are computed, in about `turns` turns: the first operand that has its record (`NextWord`)
    at `records`.

    size: rows of A, of which a strip has so many `bytes` side by side in each of `depth` steps of
    K, `step` bytes apart.
    """

    def __init__(
        self,
        code: Code,
        records: Value,
        operand: Value,
        *,
        size: Value,
        bytes_: int,
        depth: Value,
        step: Value,
        turns: Value,
    ) -> None:
        self.code, self.operand = code, operand
        self.size, self.bytes, self.step = size, bytes_, step
        self.after = code.word(records, NextWord.OFFSET)
        turns = code.max(turns, 1)
        self.each = code.builder.udiv(code.add(depth, code.sub(turns, 1)), turns)
        self.state = code.stack(WORD, 1)  # the address of a step of K

    def begin(self, strip: Value) -> None:
        """Begin with what follows the strip that is so many bytes behind the first: the next one,
        or the first one of the next call."""
        code = self.code
        following = code.add(strip, self.bytes)
        inside = code.less(following, self.size)
        further = code.builder.select(inside, following, self.after)
        address = code.add(code.builder.ptrtoint(self.operand, WORD), further)
        # The line that it begins in has been asked for as the end of the strip before.
        begun = code.within_line(code.sub(0, address))
        code.set_word(self.state, 0, code.add(address, begun))

    def take_turn(self) -> None:
        """Ask for the lines of the next steps of K."""
        code = self.code
        with code.reduce(self.each, [code.word(self.state, 0)]) as carried:
            (address,) = carried.values
            for offset in range(0, self.bytes, LINE):
                place = code.builder.inttoptr(code.add(address, offset), POINTER)
                code.prefetch(place, near=False)
            carried.update([code.add(address, self.step)])
        code.set_word(self.state, 0, carried.values[0])


class _Rows:
    """The lines of rows at equal distances; how far it has been is kept on the stack.

    Memory is slow at short rows. So where blocks that follow one another lie side by side, a call
    asks for a row of several of them at once, but for a part of the rows only: the next calls ask
    for the others.
    """

    def __init__(self, code: Code, record: Value, operand: Value, turns: Value) -> None:
        self.code, builder = code, code.builder
        offset, step, together, self.bytes, lines = (
            code.word(record, word) for word in range(NextWord.WORDS)
        )
        turns = code.max(turns, 1)
        self.each = builder.udiv(code.add(lines, code.sub(turns, 1)), turns)
        self.state = code.stack(WORD, 2)  # the row, and the offset in it
        address = builder.ptrtoint(operand, WORD)
        # Calls take turns at the rows, as the place of their block says.
        turn = builder.urem(builder.udiv(address, code.max(offset, 1)), together)
        self.step = code.mul(step, together)
        code.set_word(self.state, 0, code.add(code.add(address, offset), code.mul(turn, step)))
        code.set_word(self.state, 1, code.int(0))

    def take_turn(self) -> None:
        code, select = self.code, self.code.builder.select
        with code.reduce(self.each, [code.word(self.state, i) for i in range(2)]) as carried:
            row, offset = carried.values
            code.prefetch(code.builder.inttoptr(code.add(row, offset), POINTER), near=False)
            after = code.add(offset, LINE)
            ends = code.builder.icmp_signed(">=", after, self.bytes)
            following = select(ends, code.add(row, self.step), row)
            carried.update([following, select(ends, code.int(0), after)])
        for i, value in enumerate(carried.values):
            code.set_word(self.state, i, value)
