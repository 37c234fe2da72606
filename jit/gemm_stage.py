"""The stage of a GEMM kernel: where tiles wait until whole lines of C are stored past the caches.

A line that is written in part is read first, and what is written drives out what is there. Tiles
are whole lines only where C begins with one, which new arrays seldom do. Elsewhere the tiles of a
panel of columns are put down in a stage, and stored from there, line by line, while the next panel
is computed: some in every segment of K, so that memory is written all the time, few stores wait,
and arithmetic goes on. The ends of rows, parts of lines, are asked for a panel ahead.

Stores past the caches: Intel 64 and IA-32 Architectures Optimization Reference Manual, 9.6.
"""

from __future__ import annotations

from enum import IntEnum

from llvmlite import ir

from tensorop.jit.abi import WORD as WORD_BYTES
from tensorop.jit.abi import Frame
from tensorop.jit.builder import BYTE, POINTER, VOID, WORD, Code, Value
from tensorop.jit.copy_parts import move_end, move_line
from tensorop.jit.gemm_abi import LONG_ROW, STAGE, GemmKernel, GemmWord
from tensorop.jit.lines import LINE
from tensorop.jit.slots import AxisSlot, Slot

RECORD = 3  # words: where something is in the stage, in its column of C, and which column, in bytes
RECORD_BYTES = RECORD * WORD_BYTES


class Listed(IntEnum):
    """What every panel has to store, in words: how many LINES, and ROWS, there are, and a record of
    each line, of the beginning of each row and of the part of a line at its end."""

    LINE_COUNT = 0
    ROW_COUNT = 1
    LINES = 2
    ROWS = 2 + RECORD * (STAGE // LINE)
    WORDS = 2 + RECORD * (STAGE // LINE) + 2 * RECORD * (STAGE // LONG_ROW)


class Pending(IntEnum):
    """What is still to be stored of a panel: how many lines are LEFT, and the record of the first;
    its STAGE, and the offsets of its COLUMNS in C; EACH turn's lines."""

    LEFT = 0
    LINE = 1
    STAGE = 2
    COLUMNS = 3
    EACH = 4
    WORDS = 5


class Stage:
    """Room for the full tiles of two panels of columns: one is filled, the other one stored.

    active: whether tiles are put down, which they are where C does not begin with a line. size: of
    an element; rows: of a panel, in full tiles; turns: how often it is about to `take_turn`.
    """

    def __init__(
        self, code: Code, kernel: GemmKernel, size: int, active: Value, rows: Value, turns: Value
    ) -> None:
        self.code, self.active, self.turns = code, active, turns
        self.size, self.columns, self.column_bytes = size, kernel.columns, code.mul(rows, size)
        self.address = code.stack(BYTE, 2 * STAGE)
        self.listed, self.pending = (code.stack(WORD, words.WORDS) for words in (Listed, Pending))
        self.out = code.pointer(code.frame, Slot.OUT)
        first = code.word(code.frame, Frame.START + AxisSlot.N)
        self.table = _entry(code, code.pointer(code.descriptor, GemmWord.C_N_TABLE), first)
        self._list, self._finish = _List(code, kernel, size), _Finish(code)
        for word in (Pending.LEFT, Pending.EACH):
            code.set_word(self.pending, word, 0)
        with code.when(active):
            arguments = [code.descriptor, code.frame, self.listed, self.out, rows]
            code.call(self._list.name, VOID, arguments)

    def generate(self) -> None:
        """The functions that a panel is begun and finished with."""
        self._list.generate()
        self._finish.generate()

    def place(self, panel: Value, row: Value, column: int) -> Value:
        """Where a column of a panel is put down, from a row on."""
        code = self.code
        above = code.add(code.mul(self.column_bytes, column), code.mul(row, self.size))
        return code.at(self._room(panel), above)

    def begin(self, panel: Value) -> None:
        """Before the tiles of a panel, or after all: the one before it, if any, is to be stored."""
        code, before = self.code, self.code.sub(panel, 1)
        with code.when(code.builder.and_(self.active, code.less(0, panel))):
            count = code.word(self.listed, Listed.LINE_COUNT)
            each = code.builder.udiv(code.sub(code.add(count, self.turns), 1), self.turns)
            for word, value in (
                (Pending.LEFT, count),
                (Pending.LINE, _address(code, _entry(code, self.listed, Listed.LINES))),
                (Pending.STAGE, _address(code, self._room(before))),
                (Pending.COLUMNS, _address(code, self._offsets(before))),
                (Pending.EACH, each),
            ):
                code.set_word(self.pending, word, value)

    def take_turn(self) -> None:
        """Store the next lines."""
        left = self.code.word(self.pending, Pending.LEFT)
        count = self.code.min(left, self.code.word(self.pending, Pending.EACH))
        _store_lines(self.code, self.pending, self.out, left, count)

    def end(self, panel: Value, following: Value) -> None:
        """After the tiles of a panel: what is left of the one before it is stored, and the ends of
        another one's rows are asked for."""
        code = self.code
        with code.when(code.builder.and_(self.active, code.less(0, panel))):
            arguments = [self.pending, self.out, self.listed, self._offsets(following)]
            code.call(self._finish.name, VOID, arguments)

    def _room(self, panel: Value) -> Value:
        half = self.code.builder.and_(panel, self.code.int(1))
        return self.code.at(self.address, self.code.mul(half, STAGE))

    def _offsets(self, panel: Value) -> Value:
        """The offsets of a panel's columns in C."""
        return _entry(self.code, self.table, self.code.mul(panel, self.columns))


def _address(code: Code, pointer: Value) -> Value:
    return code.builder.ptrtoint(pointer, WORD)


def _entry(code: Code, words: Value, index: Value | int) -> Value:
    return code.at(words, code.mul(index, WORD_BYTES))


def _begun(code: Code, out: Value) -> Value:
    """Bytes of a line before C begins."""
    return code.builder.and_(_address(code, out), code.int(LINE - 1))


def _place(code: Code, out: Value, columns: Value, record: Value) -> Value:
    """Where in C something lies."""
    column = code.word(code.at(columns, code.word(record, 2)), 0)
    return code.at(code.at(out, code.word(record, 1)), column)


def _store_lines(code: Code, pending: Value, out: Value, left: Value, count: Value) -> None:
    """Store so many of the lines that are left."""
    first, stage, columns = (
        code.pointer(pending, word) for word in (Pending.LINE, Pending.STAGE, Pending.COLUMNS)
    )
    size = code.mul(count, RECORD_BYTES)
    with code.loop(size, step=RECORD_BYTES) as at:
        record = code.at(first, at)
        line = code.at(stage, code.word(record, 0))
        move_line(code, line, _place(code, out, columns, record))
    code.set_word(pending, Pending.LINE, _address(code, code.at(first, size)))
    code.set_word(pending, Pending.LEFT, code.sub(left, count))


class _List:
    """Generator of `list(descriptor, frame, listed, out, rows)`: what every panel of so many rows
    has to store."""

    TYPE = ir.FunctionType(VOID, [POINTER, POINTER, POINTER, POINTER, WORD])

    def __init__(self, code: Code, kernel: GemmKernel, size: int) -> None:
        self.code = _function(code, "list", self.TYPE)
        self.name, self.columns, self.size = self.code.function.name, kernel.columns, size

    def generate(self) -> None:
        code, size = self.code, self.size
        _, _, listed, out, rows = code.function.args
        first = code.word(code.frame, Frame.START + AxisSlot.M)
        table = _entry(code, code.pointer(code.descriptor, GemmWord.C_M_TABLE), first)
        run, begun = code.word(code.descriptor, GemmWord.STAGE_RUN), _begun(code, out)
        head = code.sub(LINE, begun)
        records = [_entry(code, listed, at) for at in (Listed.LINES, Listed.ROWS)]
        with code.reduce(self.columns, records) as columns:
            column = code.mul(columns.index, WORD_BYTES)
            above = code.mul(columns.index, code.mul(rows, size))
            with code.reduce(rows, columns.values, step=run) as runs:
                offset = code.word(table, runs.index)
                staged = code.add(above, code.mul(runs.index, size))
                length = code.mul(code.min(run, code.sub(rows, runs.index)), size)
                line, row = runs.values

                def listing(record: Value, at: Value | int) -> Value:
                    words = code.add(staged, at), code.add(offset, at), column
                    for i, word in enumerate(words):
                        code.set_word(record, i, word)
                    return code.at(record, RECORD_BYTES)

                with code.reduce(code.sub(length, begun), [line], head, LINE) as lines:
                    lines.update([listing(lines.values[0], lines.index)])
                row = listing(listing(row, 0), code.sub(length, begun))
                runs.update([lines.values[0], row])
            columns.update(runs.values)
        for word, at, end in zip(Listed, records, columns.values, strict=False):
            count = code.sub(_address(code, end), _address(code, at))
            each = RECORD_BYTES if word == Listed.LINE_COUNT else 2 * RECORD_BYTES
            code.set_word(listed, word, code.builder.udiv(count, code.int(each)))
        code.finish()


class _Finish:
    """Generator of `finish(pending, out, listed, following)`: store the lines that are left, and
    the ends of rows, and ask for those of a panel the offsets of whose columns are given."""

    TYPE = ir.FunctionType(VOID, [POINTER, POINTER, POINTER, POINTER])

    def __init__(self, code: Code) -> None:
        self.code = _function(code, "finish", self.TYPE)
        self.name = self.code.function.name

    def generate(self) -> None:
        code = self.code
        pending, out, listed, following = code.function.args
        left, begun = code.word(pending, Pending.LEFT), _begun(code, out)
        _store_lines(code, pending, out, left, left)
        stage, columns = (code.pointer(pending, w) for w in (Pending.STAGE, Pending.COLUMNS))
        rows = _entry(code, listed, Listed.ROWS)
        with code.loop(code.word(listed, Listed.ROW_COUNT)) as row:
            head = code.at(rows, code.mul(row, 2 * RECORD_BYTES))
            tail = code.at(head, RECORD_BYTES)
            for record, count in ((head, code.sub(LINE, begun)), (tail, begun)):
                end = code.at(stage, code.word(record, 0))
                move_end(code, end, _place(code, out, columns, record), count)
                code.prefetch(_place(code, out, following, record), write=True)
        code.finish()


def _function(code: Code, name: str, type_: ir.FunctionType) -> Code:
    """A function of a kernel's own."""
    made = Code(code.target, f"{code.function.name}_{name}", type_, code.module)
    made.function.linkage = "internal"
    return made
