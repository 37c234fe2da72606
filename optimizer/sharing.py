"""How a team of threads divides a product of packed panels among itself (`blocked.py`).

    rows      all pack the block of in1; then each packs and multiplies its part of M
    columns   all pack the block of in0; then each packs and multiplies its part of N
    grid      all pack both; then each multiplies its part of the tiles of a grid over M and N
    apart     each packs and multiplies its part of a grid over a batch, M and N, by itself

One axis is cut into as few parts as there are threads: where these are many, the last panels leave
some idle, or parts are so thin that what is packed for them is hardly used. A grid has more parts
than threads, and everything is packed once, but nobody multiplies before all is packed. Apart,
nobody waits for anybody, but what several parts need is packed for each of them.

Two-dimensional division of a product: T. Smith et al., "Anatomy of High-Performance Many-Threaded
Matrix Multiplication", IPDPS (2014).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Literal

from tensorop.ir import ExecType
from tensorop.optimizer.balance import balanced, ceiling, share_of
from tensorop.optimizer.blocks import Blocks
from tensorop.schedule import Call, Loop, Pack, Step
from tensorop.tuples import NamedTuple

Division = Literal["rows", "columns", "grid", "apart"]
DIVIDED = {
    "rows": "rows",
    "columns": "columns",
    "grid": "a grid of rows and columns, packed by all",
    "apart": "a grid of items, rows and columns",
}
# Of the estimate of parts along one axis, that a grid must stay under. What other threads have
# packed comes from their caches, which is not in it: apart, there is none of that.
GAIN = {"grid": 0.96, "apart": 0.995}
MOST_ROUNDS = 12  # parts of a grid for a thread
MOST_PARTS = 4  # of M, for each thread
REGION = 1500.0  # cycles until all threads have begun and ended what they share; EACH: for each
EACH = 60.0
LEFT = 1.25  # times as long a vector takes that is alone
SHORTEST = 16  # columns of a part, below which panels of in0 come from L2 too often
FINER = 4  # parts of in1 for a thread, where all pack it


class InGrid(NamedTuple):
    """A division among threads in two dimensions: the blocks, and the parts of M and N."""

    how: Division
    blocks: Blocks
    parts: tuple[int, int]


class Work(NamedTuple):
    """A product for a team, and what the ways to divide it take, in the time of a multiply-add of
    vectors, in which about an element is packed.

    m, n, k: elements of its axes, of which a batch has `items`. rows, columns: of a register tile,
    whose vectors have `lanes`. lies: in1 is read where it lies. threads: in the team.
    """

    m: int
    n: int
    k: int
    rows: int
    columns: int
    lanes: int
    lies: bool
    threads: int
    items: int = 1

    def in_a_grid(
        self, how: Division, blocks: Blocks, sized: Callable[[int, int, int], Blocks], most: int
    ) -> InGrid | None:
        """The better grid, if it takes less than parts along one axis.

        Parameters
        ----------
        how : str
            "rows" or "columns", with their blocks.
        sized : callable
            The blocks of so much of M and N, for so many threads that have L3 among themselves.
        most : int
            Rows that all threads may pack at once, K in one block.
        """
        one = (self._by_rows if how == "rows" else self._by_columns)(blocks)
        every = sized(self.m, self.n, 1)
        region = self.m if self.m <= most else balanced(self.m, most, self.rows)
        together, parts = _together(self, every, region)
        apart, alone = _apart(self, sized(self.m, self.n, self.threads).nc)
        if apart <= together and apart < GAIN["apart"] * one:
            return InGrid("apart", sized(*alone, self.threads), alone)
        if together < GAIN["grid"] * one:
            return InGrid("grid", every._replace(mc=region), parts)
        return None

    def _by_rows(self, b: Blocks) -> float:
        part, blocks = share_of(self.m, self.threads, self.rows), ceiling(self.n, b.nc)
        packed = blocks * part * self.k
        packed += share_of(self.n, self.threads, self.columns) * self.packed1
        regions = blocks * ceiling(self.k, b.kc) * (1 if self.lies else 2)
        return self.items * (self.multiplied(part, self.n) + packed + regions * self.region_cost)

    def _by_columns(self, b: Blocks) -> float:
        part, blocks = share_of(self.n, self.threads, self.columns), ceiling(self.m, b.mc)
        packed = blocks * share_of(min(b.mc, self.m), self.threads, self.rows) * self.k
        packed += blocks * part * self.packed1
        regions = 2 * blocks * ceiling(self.k, b.kc)
        return self.items * (self.multiplied(self.m, part) + packed + regions * self.region_cost)

    def multiplied(self, m: int, n: int) -> float:
        """So many rows and columns: whole tiles, and vectors of rows that do not fill one."""
        whole, left = divmod(m, self.rows)
        vectors = whole * self.rows / self.lanes + LEFT * ceiling(left, self.lanes)
        return vectors * ceiling(n, self.columns) * self.columns * self.k

    @property
    def packed1(self) -> int:
        """Steps of K that are packed of in1."""
        return 0 if self.lies else self.k

    @property
    def region_cost(self) -> float:
        """Of what all threads share, and wait for each other at its end."""
        return REGION + EACH * self.threads

    def grids(
        self, m: int, n: int, items: int, longest: int
    ) -> Iterator[tuple[int, tuple[int, int]]]:
        """Grids worth a look: how many of their parts a thread has, and these parts of M and N.
        There are as many of N as fill some rounds."""
        tiles, across = ceiling(m, self.rows), ceiling(n, self.columns)
        shortest = min(n, ceiling(SHORTEST, self.columns) * self.columns)
        along = ceiling(m, longest)
        most = max(along, min(tiles, MOST_PARTS * self.threads))
        while along <= most:
            part = ceiling(tiles, along)
            row = min(m, part * self.rows)
            count = items * ceiling(tiles, part)
            first = ceiling(count, self.threads)
            every = range(first, max(first, MOST_ROUNDS) + 1)
            for cuts in {min(rounds * self.threads // count, across) for rounds in every}:
                cut = max(share_of(n, cuts, self.columns), shortest)
                yield ceiling(count * ceiling(n, cut), self.threads), (row, cut)
            along = ceiling(tiles, part - 1) if part > 1 else tiles + 1


@lru_cache(maxsize=64)  # a plan asks a few times
def _together(work: Work, b: Blocks, region: int) -> tuple[float, tuple[int, int]]:
    """The time of a grid that all pack, so many rows at once, and its parts."""
    n, blocks, regions = min(b.nc, work.n), ceiling(work.n, b.nc), ceiling(work.m, region)
    packed = share_of(region, work.threads, work.rows) * work.k
    time, _, parts = min(
        (rounds * work.multiplied(*parts), -parts[0] * parts[1], parts)
        for rounds, parts in work.grids(region, n, 1, b.mc)
    )
    total = regions * (time + packed) + share_of(n, work.threads, work.columns) * work.packed1
    waits = ceiling(work.k, b.kc) * (2 * regions + (not work.lies))
    return work.items * blocks * (total + waits * work.region_cost), parts


@lru_cache(maxsize=64)
def _apart(work: Work, nc: int) -> tuple[float, tuple[int, int]]:
    """The same where each thread packs for itself."""

    def time(m: int, n: int) -> float:
        return work.multiplied(m, n) + m * work.k * ceiling(n, nc) + n * work.packed1

    least, _, parts = min(
        (rounds * time(*parts), -parts[0] * parts[1], parts)
        for rounds, parts in work.grids(work.m, work.n, work.items, work.m)
    )
    return least + work.region_cost, parts


class Product(NamedTuple):
    """The loops around a product of packed panels.

    sizes: elements of M and K of what one thread, or the team, works on. pack1: none where in1 is
    read where it lies.
    """

    blocks: Blocks
    sizes: tuple[int, int]
    pack0: Pack
    pack1: tuple[Pack, ...]
    call: Call
    rows_first: bool

    def alone(self) -> tuple[Step, ...]:
        """For one thread."""
        b, (m, k) = self.blocks, self.sizes
        rows: tuple[Step, ...] = (
            self.pack0,
            Loop("N", b.nc, ExecType.SEQ, (*self.pack1, self.call)),
        )
        if b.mc >= m and b.kc >= k:  # in0 is a single block, and packed once and for all
            return rows
        if self.rows_first:
            return (Loop("K", b.kc, ExecType.SEQ, (Loop("M", b.mc, ExecType.SEQ, rows),)),)
        inner: tuple[Step, ...] = (
            *self.pack1,
            Loop("M", b.mc, ExecType.SEQ, (self.pack0, self.call)),
        )
        return (Loop("N", b.nc, ExecType.SEQ, (Loop("K", b.kc, ExecType.SEQ, inner),)),)

    def shared(self, how: Division, parts: tuple[int, int], threads: int) -> tuple[Step, ...]:
        """For a team. parts: of M and N, for each thread."""
        if how == "rows":
            return self._rows(parts[0], threads)
        if how == "columns":
            return self._columns(parts[1], threads)
        if how == "grid":
            return self._grid(parts, threads)
        of_one = self._replace(sizes=(parts[0], self.sizes[1]))
        return (_over_grid(parts, of_one.alone()),)

    def _rows(self, part: int, threads: int) -> tuple[Step, ...]:
        b = self.blocks
        mine = Loop("M", b.mc, ExecType.SEQ, (self.pack0, self.call))
        inner = (*self._pack1(threads), Loop("M", part, ExecType.SHARED, (mine,)))
        return (Loop("N", b.nc, ExecType.SEQ, (Loop("K", b.kc, ExecType.SEQ, inner),)),)

    def _columns(self, part: int, threads: int) -> tuple[Step, ...]:
        b = self.blocks
        mine = Loop("N", b.nc, ExecType.SEQ, (*self.pack1, self.call))
        fill = min(b.mc, balanced(b.mc, max(b.mc // threads, 1), self.pack0.width))
        inner = (
            Loop("M", fill, ExecType.SHARED, (self.pack0,)),
            Loop("N", part, ExecType.SHARED, (mine,)),
        )
        return (Loop("K", b.kc, ExecType.SEQ, (Loop("M", b.mc, ExecType.SEQ, inner),)),)

    def _grid(self, parts: tuple[int, int], threads: int) -> tuple[Step, ...]:
        b, (m, _) = self.blocks, self.sizes
        fill = Loop("M", share_of(b.mc, threads, self.pack0.width), ExecType.SHARED, (self.pack0,))
        inner: tuple[Step, ...] = fill, _over_grid(parts, (self.call,))
        if b.mc < m:
            inner = (Loop("M", b.mc, ExecType.SEQ, inner),)
        inner = (*self._pack1(threads), *inner)
        return (Loop("N", b.nc, ExecType.SEQ, (Loop("K", b.kc, ExecType.SEQ, inner),)),)

    def _pack1(self, threads: int) -> list[Loop]:
        """All threads pack the block of in1, if it is packed."""
        nc, loops = self.blocks.nc, []
        for pack in self.pack1:
            fill = min(nc, balanced(nc, max(nc // (FINER * threads), 1), pack.width))
            loops.append(Loop("N", fill, ExecType.SHARED, (pack,)))
        return loops


def _over_grid(parts: tuple[int, int], body: tuple[Step, ...]) -> Loop:
    """Threads divide the parts of M and N, those of N inside."""
    return Loop("M", parts[0], ExecType.SHARED, (Loop("N", parts[1], ExecType.SHARED, body),))
