"""What GEMM kernels there are, and the words of their descriptor: for the generators (jit/gemm.py),
and for whoever chooses kernels and writes descriptors."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Literal

from tensorop.ir import TRANSCENDENTAL, UNARY, Primitive
from tensorop.jit.elements import element
from tensorop.jit.lines import LINE
from tensorop.jit.target import Target
from tensorop.jit.tiles import Tile
from tensorop.tuples import NamedTuple

Access = Literal["packed", "direct", "consecutive", "gathered"]
Store = Literal["columns", "runs", "staged", "pieces", "strided", "scatter"]
# The other functions are more code than the tiles around them: they go over out afterwards.
EPILOGUES = frozenset(
    main.value for main in UNARY - TRANSCENDENTAL - {Primitive.ZERO, Primitive.CAST}
)

PANEL_BYTES = 16384  # of the panels of A that a kernel puts together on its stack
STAGE_BYTES = 16384  # of the runs of C that it puts together there
STAGE_LAG = 2  # tiles that are computed before a run that is complete is sent off from there
MOST_PANELS = 4  # whose tiles of the same rows are put together there
SHORT_RUN = 3072  # bytes of a run of all their columns: longer ones are as fast, or slower
MOST_RUNS = 128  # of a block: lines that its runs begin and end with wait on the stack, too
BYTES = ("int8", "uint8")  # are multiplied in groups of four
MATRIX = 16  # rows of a matrix in a register, each a line, which is 16 sums
MATRIX_TILE = Tile(2, 2 * MATRIX)  # of the sums of four matrices


def multiplies(target: Target, inputs: Sequence[str], sums: str) -> bool:
    """Whether a target has an instruction for groups of these dtypes."""
    if set(inputs) <= set(BYTES):
        return target.byte_quads and sums in ("int32", "uint32")
    return target.bfloat_pairs and {*inputs, sums} == {"bfloat16"}


def multiplies_matrices(target: Target, inputs: Sequence[str], sums: str) -> bool:
    """Whether a target has registers for matrices of these dtypes."""
    into = ("int32", "uint32") if set(inputs) <= set(BYTES) else ("bfloat16",)
    return bool(inputs) and set(inputs) <= set(target.matrices) and sums in into


class GemmWord(IntEnum):
    """Descriptor of a GemmKernel. Strides are in bytes; tables hold byte offsets.

    A_SLOT, B_SLOT, C_SLOT: frame slots with the block addresses of the operands (panels, or the
    data itself) and of C.
    A_PANEL, B_PANEL: bytes between panels (packed). A_K, B_K: between steps of K (direct).
    A_M: between rows of A (gathered). B_N: between columns of B (direct).
    A_BR, B_BR: between batch-reduce blocks. C_M: between rows of C (store="strided").
    AHEAD: the records (`jit/gemm_ahead.py`) of what is asked for ahead (asks).
    B_NEXT: from this block of B to one without gaps that is asked for meanwhile (batch-reduce; 0
    for none).
    C_N_TABLE: offset of every column of C, by absolute position.
    C_M_CHUNKS, C_M_BEGIN: `tables.chunks` over the rows of C with the tile's rows as granule, by
    absolute position; a block starts at a multiple of them (not store="columns").
    C_M_RUNS: of the rows of every vector how many belong to its first run in C, that run's offset,
    and what the offset of the first row would be if it belonged to the next run; by absolute
    position, as the chunks (store="runs" and "staged", there up to the end of the last tile).
    C_M_STAGED: the same of where they are on the stage.
    C_M_TABLE: offset of every row of C, by absolute position (store="columns", where the rows of a
    tile are consecutive; store="pieces" and "staged"; past: that of the first one).
    C_RUN, C_HELD: rows of a run, and how many the stage holds (store="staged"): see `runs_held`.
    """

    A_SLOT = 0
    B_SLOT = 1
    A_PANEL = 2
    A_K = 3
    A_BR = 4
    B_PANEL = 5
    B_K = 6
    B_N = 7
    B_BR = 8
    C_N_TABLE = 9
    C_M_CHUNKS = 10
    C_M_BEGIN = 11
    C_M_RUNS = 12
    C_M_TABLE = 13
    B_NEXT = 14
    AHEAD = 15
    C_SLOT = 16
    A_M = 17
    C_M = 18
    C_RUN = 19
    C_HELD = 20
    C_M_STAGED = 21
    WORDS = 22


class GemmKernel(NamedTuple):
    """A GEMM of one dtype, register tile and way to reach its operands.

    dtype: of C; A and B too, but packed half types are float32, and groups are of `inputs`.
    vectors, columns: the register tile. batch_reduce: also sum over axis slot BR.
    epilogue: a unary primitive that is applied to C after the last block of K.
    asks: of so many operands, the third being C, the block that comes next is asked for meanwhile
    (A packed, or direct where no batch-reduce is).
    along: A, direct, is asked for along its rows, of which a call goes along few; into L2.
    far: A, direct, comes from memory, and is asked for into L2, not L1.
    strips: all columns of as many rows as a tile has are computed before the next rows are, so that
    A is read from memory once; those are asked for meanwhile (A direct, no batch-reduce, asks=1).
    left: vectors that the rows that do not fill a tile always take, which then are a tile, the last
    of its vectors masked (`masks_rows`). 0: not known, or no masks. halved: that one is half as
    wide, as none of them has more rows: where vectors are worked on in halves, it takes half the
    time.
    past: the vectors of full tiles, if they are not cut, are whole lines of C, where the first row
    begins with one: where C is not read, those are stored past the caches (store="columns" or
    "runs", real numbers, no epilogue).
    joined: the columns of a full tile lie one behind the other in C, so that vectors that are cut
    make whole lines with those of the next column (past, store="runs").
    near: C is small enough to be in the caches: its pieces are not asked for.
    matrices: registers hold matrices (`gemm_matrix.py`): panels of B have, for every column, lines
    along K one after the other (`inputs`).
    inputs: the dtypes of A and B where packed panels hold groups of steps of K (`groups.py`), on a
    target that multiplies these.
    store: "columns" where the rows of a tile are consecutive in C, "runs" where those of a vector
    belong to two runs at most (where masks are free), "staged" where such runs are equally long and
    their columns lie side by side in a C that leaves the caches (`gemm_stage.py`; A is packed, real
    numbers, no batch-reduce), "pieces" where those of a vector are so many
    consecutive ones after the other, `piece` each, "strided" where rows are one stride apart,
    "scatter" where a chunk table says which are consecutive.
    panels: of B whose tiles of some rows are computed one after the other (store="staged").
    """

    dtype: str
    vectors: int
    columns: int
    a: Access = "packed"
    b: Access = "packed"
    store: Store = "columns"
    batch_reduce: bool = False
    epilogue: str = "none"
    inputs: tuple[str, ...] = ()
    asks: int = 0
    left: int = 0
    past: bool = False
    piece: int = 0
    near: bool = False
    halved: bool = False
    matrices: bool = False
    along: bool = False
    joined: bool = False
    strips: bool = False
    panels: int = 1
    far: bool = False

    @property
    def name(self) -> str:
        """The name of the generated function."""
        kind = "brgemm" if self.batch_reduce else "gemm"
        tile = f"{self.vectors}x{self.columns}"
        panels = "_".join(self.inputs) if self.inputs else f"{self.a}_{self.b}"
        name = f"{kind}_{self.dtype}_{tile}_{panels}_{self.store}{self.piece or ''}"
        if self.asks:
            name = f"{name}_asking{self.asks}"
        if self.along or self.strips:
            name = f"{name}{'_along' * self.along}{'_strips' * self.strips}"
        if self.far:
            name = f"{name}_far"
        if self.left:
            name = f"{name}_left{self.left}{'_halved' * self.halved}"
        if self.past:
            name = f"{name}_past{'_joined' * self.joined}"
        if self.panels > 1:
            name = f"{name}_by{self.panels}"
        if self.near:
            name = f"{name}_near"
        if self.matrices:
            name = f"{name}_matrices"
        return name if self.epilogue == "none" else f"{name}_{self.epilogue}"

    @property
    def together(self) -> int:
        """Steps of K that are an element of a panel."""
        whole = element(self.dtype).accumulator.size
        return whole // element(self.inputs[0]).size if self.inputs else 1

    def in_lines(self, tensor: int) -> bool:
        """Whether the panels of an input have lines along K."""
        return self.matrices and tensor == 1

    def lanes(self, target: Target) -> int:
        """Rows of one vector."""
        real = element(self.dtype).accumulator.real
        return target.lanes(real.size) if real.vectorises else 1

    def rows(self, target: Target) -> int:
        """Rows of a tile: the width of a packed panel of A."""
        return self.vectors * self.lanes(target)


def lag(panels: int) -> int:
    """Tiles of one panel before a run that is complete is sent off from a stage."""
    return -(-STAGE_LAG // panels)


def runs_held(run: int, rows: int, panels: int) -> int:
    """Runs of so many rows on a stage: those that a tile of some rows is part of, or one of the
    tiles before it whose runs have not been sent off."""
    return -(-(lag(panels) + 1) * rows // run) + 1


def panels_on_stage(run: int, rows: int, columns: int, size: int) -> int:
    """Of how many panels, of a tile's columns, a stage holds runs of so many rows, which are at
    least a line each; 0 for of none. Blocks of C begin with a run and a tile, and are of at most
    MOST_RUNS, whole ones."""
    if run * size < LINE:
        return 0
    panels, together = MOST_PANELS, run * columns * size
    while panels > 1 and panels * together > SHORT_RUN:
        panels //= 2
    while panels and runs_held(run, rows, panels) * panels * together > STAGE_BYTES:
        panels //= 2
    return panels


def masks_stores(dtype: str, target: Target) -> bool:
    """Whether parts of vectors are stored at no cost, so that there are kernels that store runs."""
    kind = element(dtype)
    return target.free_masks and kind.vectorises and kind.part in target.masked


def stores_stretches(dtype: str, target: Target) -> bool:
    """Whether there are kernels that put tiles together on a stage."""
    kind = element(dtype)
    line = kind.accumulator is kind and kind.parts == 1 and target.lanes(kind.size) * kind.size
    return line == LINE and masks_stores(dtype, target)


def stores_pieces(dtype: str) -> bool:
    """Whether there are kernels that store vectors piece by piece."""
    kind = element(dtype)
    return kind.is_float and kind.vectorises and kind.accumulator is kind


def left_over(rows: int, lanes: int) -> tuple[int, bool]:
    """The vectors that so many rows take, and whether half of the last one would do.

    >>> left_over(24, 16), left_over(25, 16), left_over(0, 16)
    ((2, True), (2, False), (0, False))
    """
    whole, rest = divmod(rows, lanes)
    return whole + (rest > 0), 0 < rest <= lanes // 2


def masks_rows(kernel: GemmKernel, target: Target) -> bool:
    """Whether there may be a tile whose last vector is masked."""
    return (
        kernel.a in ("direct", "gathered")
        and kernel.store == "columns"
        and masks_stores(kernel.dtype, target)
    )
