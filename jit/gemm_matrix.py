"""The macro-kernel of registers that hold matrices (AMX).

A register has sixteen rows of a cache line. One instruction adds to a matrix of 16 x 16 sums the
products of one whose rows lie along K, and of one whose rows are groups of steps of K, of sixteen
lanes. These are the panel of B, which has K in lines, and that of A, which has groups as others do
(`groups.py`). A tile of C is four matrices of sums. Some tiles, one below the other, go through K
in segments, so short that L1 holds that of B's panel for all of them, while those of A's come from
L2; in between their sums are kept on the stack, from where they reach C, too.

    for every line of K:   S00 += B0 A0,  S01 += B0 A1,  S10 += B1 A0,  S11 += B1 A1

Where K is whole lines, each of the four matrices has a register, which is loaded before the first
product. What else is left of K has two that are configured for that many steps, so that nothing is
configured anew meanwhile; whole lines then have one for B and one for A. A matrix that has no row
of C is left out; rows and columns that C does not have are computed out of whatever the panels hold
there, and not stored.

Numbers below the least normal one are zeros; sums of bfloat16 are rounded to nearest, as float32.
All signs of bytes have an instruction each.

Source: Intel, "Intel 64 and IA-32 Architectures Software Developer's Manual", volume 1, chapter 18,
and volume 2, LDTILECFG, TDPBF16PS and TDPBSSD.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product

from llvmlite import ir

from tensorop.jit.abi import Frame
from tensorop.jit.arithmetic import Arithmetic
from tensorop.jit.builder import BYTE, VOID, WORD, Value
from tensorop.jit.elements import element
from tensorop.jit.gemm_abi import MATRIX, GemmKernel
from tensorop.jit.gemm_macro import MacroKernel
from tensorop.jit.gemm_store import Sums
from tensorop.jit.instructions import Whole
from tensorop.jit.lines import LINE
from tensorop.jit.slots import AxisSlot
from tensorop.jit.target import Target
from tensorop.tuples import NamedTuple

HALVES = 2  # matrices along each side of a tile
SUMS = HALVES * HALVES  # the first registers, [column half][row half]
COLUMNS, GROUPS = 4, 5  # that hold a matrix of B, and one of A
LEFT_COLUMNS, LEFT_GROUPS = 6, 7  # the same of what is left of K
ALL_COLUMNS, ALL_GROUPS = (4, 6), (5, 7)  # the same of both halves, if nothing is
LINES = 8  # of K that a panel of B has in L1 meanwhile
STRIP = 16  # tiles that use them
BYTES_OF_ROWS, ROWS = 2, 6  # words of the configuration, of which each has 2 or 1 bytes a register


class _Part(NamedTuple):
    """What is added to a tile: where it begins in the panels of A and B, where its sums are kept
    meanwhile, how many lines of K and what is left behind them; whether they are the first."""

    a: Value
    b: Value
    sums: Value
    lines: Value
    left: Value
    first: Value


class MatrixKernel(MacroKernel):
    """The walk over a block of C, in tiles of four matrices."""

    def __init__(self, kernel: GemmKernel, target: Target) -> None:
        super().__init__(kernel, target)
        code = self.code
        self.whole = code.builder.udiv(self.k, code.int(MATRIX))
        self.left = code.builder.and_(self.k, code.int(MATRIX - 1))
        self.even = code.equal(self.left, 0)
        self.group_row = self.mr * self.part  # bytes of a row of groups in a panel of A
        self.lines = kernel.columns * LINE  # bytes of a line of K of all columns

    def generate(self) -> ir.Module:
        self.flush.generate()
        self._read_operands()
        code, nr, mr = self.code, self.kernel.columns, self.mr
        # Rows that lie apart in C are read as whole vectors, past the end of the last column.
        self.strip = code.stack(BYTE, STRIP * self._tile_bytes + LINE)
        self._configure()
        segments = code.max(1, code.builder.udiv(code.add(self.whole, LINES - 1), code.int(LINES)))
        one = code.equal(segments, 1)  # the sums of a tile are stored while L1 has them
        strip = code.builder.select(one, code.int(mr), code.int(STRIP * mr))
        with code.loop(self.n, step=nr) as n:
            columns = code.min(nr, code.sub(self.n, n))
            b = code.at(self.b, code.mul(code.builder.udiv(n, code.int(nr)), self.b_panel))
            self._fill_pairs(b)
            with code.loop(self.m, step=strip) as m:
                a = code.at(self.a, code.mul(code.builder.udiv(m, code.int(mr)), self.a_panel))
                rows = code.min(strip, code.sub(self.m, m))
                self._strip(a, b, segments, rows, columns)
                with self._tiles(rows) as (number, row, left):
                    sums = code.at(self.strip, code.mul(number, self._tile_bytes))
                    self._store_tile(sums, code.add(m, row), left, n, columns)
        self._do("tilerelease")
        return code.finish()

    def _store_tile(self, sums: Value, m: Value, rows: Value, n: Value, columns: Value) -> None:
        """To C: of whole tiles one column after the other, if they are one there, too."""
        code, result, lanes = self.code, self.result, self.lanes
        if self.kernel.store != "columns":
            self._flush(m, rows, n, columns, sums)
            return
        whole = code.equal(code.mul(rows, columns), self.mr * self.kernel.columns)
        straight = code.builder.and_(whole, code.builder.not_(result.needs_scalars()))
        with code.either(straight) as (then, otherwise):
            with then:
                places = result.places(m, HALVES, lanes, "columns")
                number = Arithmetic(code, self.accumulator, lanes)
                with code.loop(columns) as column:
                    source = code.at(sums, code.mul(column, self.group_row))
                    both = [number.load(code.at(source, half * LINE)) for half in range(HALVES)]
                    result.store(Sums(both, places, code.add(n, column), lanes))
            with otherwise:
                self._flush(m, rows, n, columns, sums)

    @property
    def _tile_bytes(self) -> int:
        return self.kernel.columns * self.group_row

    @contextmanager
    def _tiles(self, rows: Value) -> Iterator[tuple[Value, Value, Value]]:
        """A loop over the tiles of some rows: their number, first row, and how many rows it has."""
        code = self.code
        with code.loop(rows, step=self.mr) as row:
            number = code.builder.udiv(row, code.int(self.mr))
            yield number, row, code.min(self.mr, code.sub(rows, row))

    def _strip(self, a: Value, b: Value, segments: Value, rows: Value, columns: Value) -> None:
        """The sums of the tiles of some rows: a segment of K after the other, of which that of the
        panel of B is in L1 then, for all tiles."""
        code = self.code
        with code.loop(segments) as segment:
            lines = code.min(LINES, code.sub(self.whole, code.mul(segment, LINES)))
            right = code.at(b, code.mul(segment, LINES * self.lines))
            above = code.at(a, code.mul(segment, LINES * MATRIX * self.group_row))
            last = code.equal(code.add(segment, 1), segments)
            left = code.builder.select(last, self.left, code.int(0))
            with self._tiles(rows) as (number, _, height):
                part = _Part(
                    code.at(above, code.mul(number, self.a_panel)),
                    right,
                    code.at(self.strip, code.mul(number, self._tile_bytes)),
                    lines,
                    left,
                    code.equal(segment, 0),
                )
                self._add(part, height, columns)

    def _configure(self) -> None:
        """Sixteen rows of a line in every register, but for what is left of K."""
        code, builder = self.code, self.code.builder
        left = builder.select(self.even, code.int(MATRIX), self.left)
        words = [code.int(0)] * (LINE // 8)
        words[0] = code.int(1)  # palette
        words[BYTES_OF_ROWS] = code.int(sum(LINE << (16 * i) for i in range(SUMS)))
        short = builder.shl(code.mul(left, self.part), code.int(16 * (LEFT_COLUMNS - SUMS)))
        lines_above = sum(LINE << (16 * (i - SUMS)) for i in (COLUMNS, GROUPS, LEFT_GROUPS))
        words[BYTES_OF_ROWS + 1] = builder.or_(short, code.int(lines_above))
        few = builder.shl(left, code.int(8 * LEFT_GROUPS))
        whole = sum(MATRIX << (8 * i) for i in range(LEFT_GROUPS))
        words[ROWS] = builder.or_(few, code.int(whole))
        memory = code.stack(WORD, len(words))
        for i, word in enumerate(words):
            code.set_word(memory, i, word)
        self._do("ldtilecfg", memory)

    def _fill_pairs(self, b: Value) -> None:
        """Where the last step of K is the first of a pair, the other is zero in B, as in A."""
        code, size = self.code, element(self.kernel.inputs[1]).size
        if self.kernel.together != 2:  # anything times zero is zero, of whole numbers
            return
        k = code.word(code.frame, Frame.SIZE + AxisSlot.K)
        with code.when(code.nonzero(code.builder.and_(k, code.int(1)))):
            at = code.mul(k, size)  # of lines, in the first column
            inside = code.within_line(at)
            line = code.mul(code.builder.udiv(at, code.int(LINE)), self.lines)
            place = code.at(b, code.add(line, inside))
            zero = ir.Constant(ir.IntType(8 * size), 0)
            with code.loop(self.kernel.columns) as column:
                code.store(zero, code.at(place, code.mul(column, LINE)))

    def _add(self, part: _Part, rows: Value, columns: Value) -> None:
        """Add to the sums of a tile, but to those of no row or no column."""
        code = self.code
        with code.either(code.less(MATRIX, columns)) as (two, one):
            for branch, across in ((two, HALVES), (one, 1)):
                with branch, code.either(code.less(MATRIX, rows)) as (both, upper):
                    with both:
                        self._sums(part, HALVES, across)
                    with upper:
                        self._sums(part, 1, across)

    def _sums(self, part: _Part, down: int, across: int) -> None:
        code = self.code
        numbers = [n * HALVES + m for n in range(across) for m in _back_and_forth(down, n)]

        def each(what: str) -> None:
            for number in numbers:
                n, m = divmod(number, HALVES)
                at = n * MATRIX * self.group_row + m * LINE
                self._move(what, number, part.sums, at, self.group_row)

        with code.either(part.first) as (begins, goes_on):
            with begins:
                for number in numbers:
                    self._do("tilezero", self._register(number))
            with goes_on:
                each("tileloadd64")
        with code.either(self.even) as (even, uneven):
            with even, self._lines(part) as (a, b):
                self._whole_line(a, b, down, across)
            with uneven:
                with self._lines(part) as (a, b):
                    self._line(a, b, (COLUMNS, GROUPS), down, across)
                with code.when(code.nonzero(part.left)):
                    a = code.at(part.a, code.mul(part.lines, MATRIX * self.group_row))
                    b = code.at(part.b, code.mul(part.lines, self.lines))
                    self._line(a, b, (LEFT_COLUMNS, LEFT_GROUPS), down, across)
        each("tilestored64")

    @contextmanager
    def _lines(self, part: _Part) -> Iterator[tuple[Value, Value]]:
        """A loop over whole lines of K: where those of A and B are."""
        code = self.code
        with code.reduce(part.lines, [part.a, part.b]) as carried:
            a, b = carried.values
            yield a, b
            carried.update([code.at(a, MATRIX * self.group_row), code.at(b, self.lines)])

    def _whole_line(self, a: Value, b: Value, down: int, across: int) -> None:
        """A line of K, where all matrices of it have registers."""
        columns, groups = ALL_COLUMNS[:across], ALL_GROUPS[:down]
        of_b = [(register, b, n * MATRIX * LINE, LINE) for n, register in enumerate(columns)]
        of_a = [(register, a, m * LINE, self.group_row) for m, register in enumerate(groups)]
        for matrix in (*of_b[:1], *of_a, *of_b[1:]):  # as products need them
            self._move("tileloadd64", *matrix)
        for n, m in product(range(across), range(down)):
            numbers = n * HALVES + m, columns[n], groups[m]
            self._do(self._instruction, *map(self._register, numbers))

    def _line(self, a: Value, b: Value, registers: tuple[int, int], down: int, across: int) -> None:
        """A line of K, or what is left of it: from one matrix to the next one side stays."""
        columns, groups = registers
        for n in range(across):
            self._move("tileloadd64", columns, b, n * MATRIX * LINE, LINE)
            for i, m in enumerate(_back_and_forth(down, n)):
                if n == 0 or i > 0:
                    self._move("tileloadd64", groups, a, m * LINE, self.group_row)
                numbers = n * HALVES + m, columns, groups
                self._do(self._instruction, *map(self._register, numbers))

    @property
    def _instruction(self) -> str:
        """The instruction."""
        if self.kernel.together == 2:
            return "tdpbf16ps"
        lanes, columns = ("su"[dtype.startswith("u")] for dtype in self.kernel.inputs)
        return f"tdpb{columns}{lanes}d"

    def _move(self, what: str, register: int, memory: Value, at: int, step: int) -> None:
        """A register from or to memory, rows so many bytes apart."""
        self._do(what, self._register(register), self.code.at(memory, at), self.code.int(step))

    @staticmethod
    def _register(number: int) -> Value:
        return Whole(BYTE, number)

    def _do(self, what: str, *arguments: Value) -> None:
        self.code.call(f"llvm.x86.{what}", VOID, arguments)


def _back_and_forth(down: int, n: int) -> Sequence[int]:
    """The order of the matrices of a column half: each begins where the one before has ended."""
    return range(down)[:: -1 if n % 2 else 1]
