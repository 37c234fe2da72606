"""Register tiles of GEMM kernels: how many vectors of A by how many columns of B stay in registers.

A tile of v vectors by c columns needs v * c accumulators, v registers for A and one or two for B.
From it follow the cycles of one step of K: the multiply-adds on two pipes, the loads on two ports
(one for every vector and, broadcast, every column), and at least the latency of the chain of an
accumulator. The first tile of a list is the best for large matrices; `choose_tile` finds the one
that wastes least on small ones.

Static facts only: the tile decides in which order results are rounded.
"""

from __future__ import annotations

from functools import cache
from math import inf

from tensorop.jit.elements import Element
from tensorop.jit.lines import LINE
from tensorop.jit.target import Target
from tensorop.tuples import NamedTuple


class Tile(NamedTuple):
    """vectors: vectors of A, the vector side; columns: elements of B, the broadcast side."""

    vectors: int
    columns: int


_LATENCY = 5.0  # cycles of a multiply-add, and of waiting for a register
_PIPES = 2.0  # multiply-adds a cycle, and loads a cycle
_TILE = 0.25  # the loop around a tile, and its store, spread over the steps of K
_NEAR = 1.03  # a tile that is better on large matrices may cost so much more
_RUNS = 1.05  # a tile whose rows are consecutive in C may cost so much more
_WHOLE = 1.1  # a tile that has whole stretches of C
_WIDEST = 0.75  # of the registers may hold sums
_FROM_L2 = 16.0  # bytes a cycle that come from L2 while memory is read or written besides

_WIDE = (
    Tile(3, 8), Tile(2, 12), Tile(2, 8), Tile(1, 12), Tile(4, 4), Tile(1, 8), Tile(1, 4)
)  # fmt: skip
_NARROW = (Tile(2, 4), Tile(1, 8), Tile(1, 4))
_COMPLEX = (Tile(1, 4), Tile(1, 2))
_HALVES = (Tile(2, 3), Tile(1, 4), Tile(1, 2))

# (registers, multiply-add exists, parts of a number) -> tiles, best first. Complex tiles hold two
# accumulators a position; without multiply-add a product needs a register of its own.
_FLOAT: dict[tuple[int, bool, int], tuple[Tile, ...]] = {
    (32, True, 1): _WIDE,
    (32, True, 2): (Tile(2, 6), Tile(1, 12), Tile(1, 8), *_COMPLEX),
    (16, True, 1): (Tile(2, 6), Tile(3, 4), *_NARROW),
    (16, True, 2): (Tile(1, 6), *_COMPLEX),
    (16, False, 1): _NARROW,
    (16, False, 2): _COMPLEX,
}
_X87 = {1: (Tile(2, 2), Tile(1, 2), Tile(1, 1)), 2: (Tile(1, 2), Tile(1, 1))}


def tiles(target: Target, element: Element) -> tuple[Tile, ...]:
    """The register tiles for a dtype, best first for large matrices."""
    if not element.vectorises:
        return _X87[element.parts]
    if element.is_float:
        return _FLOAT[target.registers, target.fma, element.parts]
    if element.part == 1 and element.kind != "b":  # no 8-bit multiply: widened, twice the registers
        return _NARROW
    if in_halves(target, element):
        return _HALVES
    return _WIDE if target.registers >= 32 else _NARROW


def in_halves(target: Target, element: Element) -> bool:
    """Whether products are summed as those of `jit/long_integers.py`."""
    return element.kind in "iu" and element.part == 8 and target.multiplies_halves


def cycles(target: Target, element: Element, tile: Tile) -> float:
    """Cycles of one step of K of a tile, as far as they do not depend on the dtype."""
    products = tile.vectors * tile.columns * element.parts**2 * (1 if target.fma else 2)
    loads = (tile.vectors + tile.columns) * element.parts
    return max(products / _PIPES, loads / _PIPES, _LATENCY * element.parts) + _TILE


class _Walk(NamedTuple):
    """What a kernel goes through a block with: full tiles, then single vectors (or a masked tile)
    below, and narrower tiles on the right. For each width the cycles of a tile of one
    vector, two and so on. middle: only of a kernel that has tiles of that width."""

    tile: Tile
    rows: int
    lanes: int
    full: tuple[float, ...]
    middle: tuple[float, ...]
    tail: tuple[float, ...]

    def cycles(self, m: int, n: int, batch_reduce: bool, masked: bool = False) -> float:
        """Of m rows and n columns."""
        down, left = divmod(m, self.rows)
        vectors = -(-left // self.lanes)

        def rows(tiles: tuple[float, ...]) -> float:
            edge = tiles[vectors - 1] if masked and vectors else vectors * tiles[0]
            return down * tiles[-1] + edge

        columns = self.tile.columns
        across, left = divmod(n, columns)
        middle, tail = middle_columns(columns), tail_columns(columns)
        halves = 0
        if batch_reduce and middle:
            if across and left == split_columns(columns):
                across, left = across - 1, left + columns
            halves, left = divmod(left, middle)
        return (
            across * rows(self.full)
            + halves * rows(self.middle)
            + -(-left // tail) * rows(self.tail)
        )


@cache
def _walks(target: Target, element: Element) -> tuple[_Walk, ...]:
    """The walks of all tiles of a dtype."""
    lanes = target.lanes(element.accumulator.part) if element.vectorises else 1

    def costs(tile: Tile, width: int) -> tuple[float, ...]:
        return tuple(cycles(target, element, Tile(v + 1, width)) for v in range(tile.vectors))

    return tuple(
        _Walk(
            tile,
            tile.vectors * lanes,
            lanes,
            costs(tile, tile.columns),
            costs(tile, middle_columns(tile.columns)),
            costs(tile, tail_columns(tile.columns)),
        )
        for tile in tiles(target, element)
    )


def _fitting(target: Target, element: Element, m: int, n: int, busy: bool) -> list[_Walk]:
    """The walks whose tiles are no taller than m rows need. busy: of those, if one has all of its
    columns, the ones that multiply a vector by so many that L2 has the time for the next."""
    fitting = [walk for walk in _walks(target, element) if walk.rows - walk.lanes < m]
    if not busy:
        return fitting
    fed = [walk for walk in fitting if _bytes_a_cycle(target, element, walk.tile) <= _FROM_L2]
    return fed if any(walk.tile.columns <= n for walk in fed) else fitting


def _bytes_a_cycle(target: Target, element: Element, tile: Tile) -> float:
    """Bytes of vectors that a tile takes in a cycle of its products."""
    pipes = _PIPES / 2 if target.half_units else _PIPES
    return target.vector_bytes * pipes / (tile.columns * element.parts)


def choose_tile(
    target: Target,
    element: Element,
    m: int,
    n: int,
    run: int | None = None,
    batch_reduce: bool = False,
    whole: bool = False,
    masked: bool = False,
    binary: bool = False,
    busy: bool = False,
) -> Tile:
    """The tile that walks m rows and n columns in the fewest cycles, or the first in the list that
    is near it. No tile is taller than m needs: its panels would be mostly padding. Where only `run`
    rows are consecutive in C, tiles whose rows all are, if any, go first; unless they take longer,
    where `whole`: vectors of other tiles are not cut either. A `batch_reduce` kernel has tiles of a
    middle width, too. masked: rows that are left over are a tile, its last vector masked. binary:
    tiles of a power of two columns go first, unless they take longer. busy: L2 has other things to
    do than to hand out the vectors.
    """
    fitting = _fitting(target, element, m, n, busy)
    found = {walk.tile: walk.cycles(m, n, batch_reduce, masked) for walk in fitting}
    if run is not None and run < m:
        limit = _RUNS * min(found.values()) if whole else inf
        first = [w.tile for w in fitting if run % w.rows == 0 and found[w.tile] <= limit]
        found = {tile: found[tile] for tile in first} or found
    limit = _NEAR * min(found.values())
    near = [tile for tile, total in found.items() if total <= limit]
    return next((t for t in near if binary and t.columns.bit_count() == 1), near[0])


def tallest_tile(target: Target, element: Element, m: int, n: int) -> Tile:
    """The tile of the longest columns that are whole cache lines, of those that take hardly longer
    than the best one for m rows and n columns."""
    fitting = _fitting(target, element, m, n, busy=True)
    found = {walk.tile: walk.cycles(m, n, False) for walk in fitting}
    limit = _NEAR * min(found.values())
    whole = [w for w in fitting if w.rows * element.size % LINE == 0 and found[w.tile] <= limit]
    return max(whole or fitting[:1], key=lambda walk: walk.rows).tile


def tile_of_columns(target: Target, element: Element, columns: int) -> Tile | None:
    """The tallest tile of so many columns, if it takes hardly longer than the first of the list."""
    if not element.is_float or element.parts > 1 or columns > _WIDEST * target.registers:
        return None
    tile = Tile(min(3, int(_WIDEST * target.registers) // columns), columns)
    first = tiles(target, element)[0]
    each, best = (cycles(target, element, t) / (t.vectors * t.columns) for t in (tile, first))
    return tile if each <= _WHOLE * best else None


@cache
def tail_columns(columns: int) -> int:
    """Columns of the narrower tile at the right edge: panels are whole multiples of it."""
    return max(d for d in (1, 2, 3, 4) if columns % d == 0 and d <= max(1, columns // 2))


@cache
def middle_columns(columns: int, packed: bool = False) -> int:
    """Columns of a tile between the full and the narrower one: two thirds, 0 where that is no
    number of them, or, of packed panels, does not end where a narrower tile may begin."""
    middle = 2 * columns // 3 if columns % 3 == 0 else 0
    return 0 if packed and middle % tail_columns(columns) else middle


@cache
def split_columns(columns: int, packed: bool = False) -> int:
    """Columns left over that, with those of the last full tile, make two tiles of the middle width;
    0 where there are no such, or a tile would reach from one packed panel into the next."""
    middle = middle_columns(columns, packed)
    return 2 * middle - columns if middle and not packed else 0
