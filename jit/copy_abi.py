"""What copy kernels there are, and the words of their descriptor: for the generator (jit/copy.py),
and for whoever chooses kernels and writes descriptors."""

from __future__ import annotations

from enum import IntEnum
from typing import Literal

from tensorop.jit.elements import Element, element
from tensorop.jit.lines import LINE
from tensorop.jit.target import Target
from tensorop.tuples import NamedTuple

LARGEST_TILE = 16  # lanes of a tile that is transposed in registers
STAGE = 1 << 16  # bytes at most of a region that is staged, with a line in front of every run
BAND = 1 << 10, 1 << 9  # bytes and columns of a block at most (lines)
ELSEWHERE = -1  # a digit of the place in a vector that was none of it before (digits)
TILE_WORDS = 2  # of a tile of digits: where it begins in the source, and in the target
RUN_WORDS = 2  # of a run of a region: its offset in the stage, and in the target


def band_columns(size: int) -> int:
    """Columns of a block at most, of elements of so many bytes (lines)."""
    most, columns = BAND
    return min(most // size, columns)


def line_squares(size: int) -> int:
    """Square tiles, one below the other, whose columns of elements of so many bytes are lines."""
    return max(1, LINE // (LARGEST_TILE * size))


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
    Z_AXIS, Z_SOURCE, Z_TARGET: a third axis outside the tiles, and its offsets (across); or the
    regions, of which X and Y are one (staged).
    REGIONS: positions of Z (staged). RUNS, RUN_COUNT, RUN_BYTES: the runs of the target that a
    region has (RUN_WORDS), all equally long, and in the stage each behind a line that is free;
    X_TARGET and Y_CHUNKS count from the stage. ASKS, ASK_COUNT: offsets of which every line of the
    source has one; the table goes on, up to one for each line that is stored and TILE_ASKS for each
    tile.
    WIDTH: lanes of a panel, 0 where nothing is padded; LANES_TARGET: offsets in the target by lane
    position; ROW: bytes of a row of a panel; LANES_AXIS, DEPTH_AXIS: axis slots of a panel's lanes
    and rows.
    COLUMNS_ALIKE, ROWS_ALIKE: whether all columns of the target, or all rows of the source, begin
    alike in a line (lines; X is one run of the source, Y one of the target: no chunks are read).
    LOADS, STORES: offsets of the vectors of a tile (digits). There X_CHUNKS holds tiles of the
    depth (TILE_WORDS); Y_SOURCE and Y_TARGET go by groups of lanes, of which a tile has one.
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
    REGIONS = 22
    RUNS = 23
    RUN_COUNT = 24
    RUN_BYTES = 25
    ASKS = 26
    ASK_COUNT = 27
    LOADS = 28
    STORES = 29
    COLUMNS_ALIKE = 30
    ROWS_ALIKE = 31
    TILE_ASKS = 32


class Carried(NamedTuple):
    """What an element is between load and store: bits where nothing happens to it.

    source: what is loaded; stored: what is stored (planar: one part); units: machine words that an
    element is moved as.
    """

    source: Element
    stored: Element
    units: int
    conj: bool

    def lanes(self, target: Target) -> int:
        """Elements that a vector holds."""
        if not self.source.vectorises:
            return 1
        return target.lanes(self.stored.part * self.units)


CopyMode = Literal["along", "rows", "groups", "across", "staged", "lines", "digits"]
ALONG: frozenset[CopyMode] = frozenset({"along", "rows", "groups"})


class CopyKernel(NamedTuple):
    """A copy from a dtype to the same one, or from a half type to float32.

    mode: along where X is consecutive in the target too, or rows where so it is and the target is
    more than the caches hold (not conjugated), or groups where a few y are put side by side (as an
    element of a panel: of uint32); else across, or staged where the target is more than the caches
    hold, or lines where, besides, columns are long and the target can put two vectors together
    (Target.shifts_lines); or digits where many dimensions have few positions each.
    conj: conjugate. planar: the target holds real and imaginary parts apart (complex only).
    tile: most lanes of a tile that is transposed (not along): no more than runs of Y are long.
    squares: how many square tiles, one below the other, are transposed together, so that a vector
    that is stored holds a column of all of them.
    channels: columns of a tile, or (joins) its rows, where they are few and lie beside one another
    in the source, or in the target: then a tile has as many vectors, of so many bytes, on both
    sides (staged).
    row: elements of a row that source and target have alike, in which Y consists (staged).
    order: of the digits of the place in a vector (digits; see jit/digits.py).
    ragged: so many elements are one that is moved; where they do not make up a block, the last ones
    were read with those before, which are shifted out, and zeros in (across).
    asks: what is read next is asked for meanwhile (along or across).
    """

    source: str
    target: str
    mode: CopyMode
    conj: bool = False
    planar: bool = False
    tile: int = LARGEST_TILE
    squares: int = 1
    channels: int = 0
    joins: bool = False
    vector: int = 0
    order: tuple[int, ...] = ()
    ragged: int = 0
    asks: bool = False
    row: int = 0

    def lanes(self, target: Target) -> int:
        """Elements of a vector; across, the longest chunk."""
        lanes = self.carried().lanes(target)
        if self.mode == "digits":
            return 1 << len(self.order)
        if self.row:
            return 1
        if self.channels:
            return self.along if self.joins else self.channels
        return lanes if self.mode in ALONG else min(lanes, self.tile)

    def rows(self, target: Target) -> int:
        """Across, the longest chunk of Y."""
        if self.row:
            return self.row
        if self.channels:
            return self.channels if self.joins else self.along
        return self.lanes(target) * self.squares

    @property
    def along(self) -> int:
        """Positions of a vector of a channel."""
        return self.vector // element(self.source).size

    def carried(self) -> Carried:
        """As what elements are moved.

        Raises
        ------
        ValueError
            No such copy exists.
        """
        source, stored = element(self.source), element(self.target)
        conj = self.conj and source.parts == 2
        if self.mode == "rows" and (conj or self.planar or source != stored):
            raise ValueError("whole rows are moved as bits")
        if self.asks and self.mode not in ("along", "across"):
            raise ValueError(f"no copy {self.mode} that asks")
        if self.mode == "groups":
            if self.source not in ("uint8", "uint16") or self.target != "uint32":
                raise ValueError(f"no groups of {self.source} in {self.target}")
            return Carried(source, source, 1, False)
        if source != stored and not (source.half and stored == element("float32")):
            raise ValueError(f"no copy kernel from {self.source} to {self.target}")
        if self.planar and source.parts == 1:
            raise ValueError(f"{self.source} has no imaginary part to lay apart")
        if self.planar:
            return Carried(source, stored.real, 1, conj)
        if source != stored or conj:
            return Carried(source, stored, 1, conj)
        bits = element(f"uint{8 * min(source.size, 8)}")
        return Carried(bits, bits, max(1, source.size // 8), False)

    @property
    def name(self) -> str:
        """The name of the generated function."""
        flags = "_conj" * self.conj + "_planar" * self.planar
        flags += f"_ragged{self.ragged}" if self.ragged else ""
        flags += "_asking" * self.asks
        tile = f"{self.tile}" + f"x{self.tile * self.squares}" * (self.squares > 1)
        if self.channels:
            tile = f"_{'join' if self.joins else 'part'}{self.channels}_{8 * self.vector}"
        mode = self.mode if self.mode in ALONG else self.mode + tile
        if self.row:
            mode = f"{self.mode}_row{self.row}"
        if self.mode == "digits":
            mode += "".join(f"_{digit}".replace("-1", "x") for digit in self.order)
        return f"copy_{self.source}_{self.target}_{mode}{flags}"
