"""What kernels for batches of small products there are, and the words of their descriptor: for the
generators (jit/batch.py, jit/items.py), and for whoever chooses kernels and writes descriptors."""

from __future__ import annotations

from enum import IntEnum
from typing import Literal

from tensorop.jit.elements import element
from tensorop.jit.lines import LINE
from tensorop.jit.target import Target
from tensorop.tuples import NamedTuple

BatchAccess = Literal["unit", "zero", "strided", "repeated"]
LONGEST = 4  # rows and columns of a tile at most, in vectors of the batch or of sums
SUMS = 8  # vectors of sums in a tile that hide how long each step of one takes
WIDEST = 8  # columns of a tile at most, where items come one after the other or K is inside


class BatchWord(IntEnum):
    """Words of the descriptor. Strides are in bytes; the slots are those of `slots.Slot`. Those
    of X are read where it is strided."""

    IN0_SLOT = 0
    IN1_SLOT = 1
    OUT_SLOT = 2
    IN0_M = 3
    IN0_K = 4
    IN0_X = 5
    IN1_K = 6
    IN1_N = 7
    IN1_X = 8
    OUT_M = 9
    OUT_N = 10
    OUT_X = 11
    WORDS = 12

    @classmethod
    def strides(cls) -> tuple[BatchWord, ...]:
        """Those that are strides."""
        return tuple(word for word in cls if cls.IN0_M <= word < cls.WORDS)


class BatchKernel(NamedTuple):
    """A batch of products of one dtype, register tile and access of X in each tensor.

    rows, columns: the register tile in vectors. conj0, conj1: the input is read conjugated.
    period: elements of an input that a vector "repeated" has again and again. depth: steps of the
    sum, where the code has each of them; 0 where their number is that of the call.
    """

    dtype: str
    rows: int
    columns: int
    in0: BatchAccess = "unit"
    in1: BatchAccess = "unit"
    out: BatchAccess = "unit"
    conj0: bool = False
    conj1: bool = False
    period: int = 0
    depth: int = 0

    @property
    def name(self) -> str:
        """The name of the generated function."""
        flags = "_conj0" * self.conj0 + "_conj1" * self.conj1
        if self.period:
            flags = f"{flags}_period{self.period}"
        if self.depth:
            flags = f"{flags}_depth{self.depth}"
        tile = f"{self.rows}x{self.columns}"
        return f"batch_{self.dtype}_{tile}_{self.in0}_{self.in1}_{self.out}{flags}"

    @property
    def gathers(self) -> bool:
        """Whether vectors are put together of elements that are apart, or taken apart."""
        return "strided" in (self.in0, self.in1, self.out)

    def lanes(self, target: Target) -> int:
        """Matrices that one vector holds an element of."""
        kind = element(self.dtype)
        return target.lanes(kind.accumulator.part) if kind.vectorises else 1


class DotsKernel(NamedTuple):
    """Products of one dtype as dot products of rows: K is consecutive in both inputs.

    rows, columns: the register tile. left: rows of the last tile, where M is no multiple of `rows`.
    asks: memory is asked for what lies further on in the rows of in1, which come from there.
    in_turn: the rows of in1 that a tile has are read one after the other.
    """

    dtype: str
    rows: int
    columns: int
    left: int = 0
    asks: bool = False
    in_turn: bool = False

    @property
    def name(self) -> str:
        """The name of the generated function."""
        left = f"_left{self.left}" if self.left else ""
        flags = "_asking" * self.asks + "_in_turn" * self.in_turn
        return f"dots_{self.dtype}_{self.rows}x{self.columns}{left}{flags}"


def dots_tile(m: int, target: Target) -> tuple[int, int, int]:
    """The rows and columns of a tile of dot products of m rows, and the rows of the last one if
    those are fewer: rows evenly, and as many columns as registers have room for."""
    rows = -(-m // -(-m // LONGEST))
    # Beside the sums there are a vector of each row, and one of a column.
    return rows, min(WIDEST, (target.registers - 1 - rows) // rows), m % rows


class ItemsKernel(NamedTuple):
    """Products of one dtype and tile, one item of the batch after the other.

    width: elements of a tile along M, consecutive in in0 and out, of which M is a multiple.
    columns: of a tile. rest: of the last one, where N is no multiple of them. past: tiles are
    stored past the caches, where out is not read, and their vectors begin where such stores may.
    asks: what later items have of the inputs is asked for, each of which has no gaps, and no more
    lines than its product has steps.
    """

    dtype: str
    width: int
    columns: int
    rest: int = 0
    past: bool = False
    asks: bool = False

    def joins(self, target: Target) -> bool:
        """Whether vectors of a tile, whose columns lie end to end, are put together to lines that
        are stored past the caches: those end within these, but also where the tile does."""
        size = element(self.dtype).part
        cut = self.width % target.lanes(size) > 1  # else by single elements
        ends = not self.rest and self.width * self.columns * size % LINE == 0
        return self.past and cut and ends

    def pieces(self, target: Target) -> tuple[int, ...]:
        """The elements of a column of a tile by vectors: full ones, then perhaps part of one."""
        lanes = target.lanes(element(self.dtype).part)
        whole, rest = divmod(self.width, lanes)
        return (lanes,) * whole + (rest,) * (rest > 0)

    @property
    def name(self) -> str:
        """The name of the generated function."""
        flags = "_past" * self.past + "_asking" * self.asks
        columns = f"{self.columns}{f'and{self.rest}' if self.rest else ''}"
        return f"items_{self.dtype}_{self.width}x{columns}{flags}"


def items_tile(
    m: int, n: int, dtype: str, target: Target, *, masked: bool
) -> tuple[int, int, int] | None:
    """The width, columns and rest of an `ItemsKernel` for matrices of m x n; None where there are
    none.

    The widest that fits exactly: two or three vectors, perhaps with half of one, or down to a
    quarter of one where no more are needed; masked: or else with any part of one.
    """
    lanes = target.lanes(element(dtype).part)
    half, quarter = lanes // 2, lanes // 4
    wide = (2 * lanes, 3 * lanes, 2 * lanes + half)
    narrow = (lanes + half, lanes, half, quarter) if m < 2 * lanes else ()
    widths = [w for w in (*wide, *narrow) if w > 1 and m % w == 0]
    if masked and not (widths and (widths[0] == m or widths[0] >= lanes)):
        widths = [m] if m <= 3 * lanes else widths
    if not widths:
        return None
    vectors = -(-widths[0] // lanes)
    most = min(WIDEST, (target.registers - 2) // vectors - 1)
    columns, rest = max(c for c in range(1, most + 1) if n % c == 0), 0
    if masked and columns < min(n, most) and columns * vectors < SUMS:
        columns = -(-n // -(-n // most))
        rest = n % columns
    return widths[0], columns, rest


def tile_of(m: int, n: int, dtype: str, target: Target) -> tuple[int, int]:
    """The register tile for matrices of m x n: of those whose sums and one vector of each side's
    fit the registers, the one that loads least."""
    parts = element(dtype).parts
    room = (target.registers - 4) // parts
    down, across = range(1, min(m, LONGEST) + 1), range(1, min(n, LONGEST) + 1)
    fitting = [(r, c) for r in down for c in across if r * c + c + 1 <= room]

    def loads(tile: tuple[int, int]) -> tuple[int, int]:
        return n * tiles(m, tile[0]) + m * tiles(n, tile[1]), -tile[0] * tile[1]

    return min(fitting, key=loads)


def depth_of(kernel: BatchKernel, k: int, target: Target) -> int:
    """The depth of a kernel for sums of k steps: all of them, where one input is the same for all
    of the batch, and registers hold what a tile has of it beside the sums; else 0."""
    sides = (kernel.in0, kernel.rows), (kernel.in1, kernel.columns)
    same = sum(count for access, count in sides if access == "zero")
    if not same or kernel.gathers or element(kernel.dtype).parts > 1:
        return 0
    # A vector of the other input is loaded as it is needed.
    return k if kernel.rows * kernel.columns + same * k + 1 < target.registers else 0


def tiles(size: int, width: int) -> int:
    """How many tiles a side takes: whole ones, and those of a single row or column."""
    return size // width + size % width
