"""Regions of a permuting copy: boxes of positions that are dense on both sides.

Memory is fast along runs: of the source, whose lines are asked for, and of the target, whose lines
are stored whole. A region takes some of the dimensions that step least in the source, and some of
those that step least in the target, the last one of each perhaps only in part. How many, an
estimate of the time of a position decides, among all that fill the stage.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from math import prod

from tensorop.ir import Dimension
from tensorop.jit.lines import LINE
from tensorop.optimizer.balance import balanced, ceiling
from tensorop.tuples import NamedTuple

IN, OUT = 0, 1
MULTIPLE = 16  # of which long parts are multiples
GROWTH = 6  # quarters of a short part that the next one has at least
WASTE = 1.07  # times as many positions as there are may be moved, where parts do not come out even

# What takes as long as a line of the source that is asked for.
ASKED = 2.0  # another run of the source
STORED = 1.2  # a line that is stored
MOVED = 0.8  # a line's worth of a tile that is transposed
RUN = 3.0  # another run of the target
END = 15.0  # a part of a line that is stored where runs begin and end
REGION = 30.0  # another region

Parts = tuple[int, ...]


class Regions(NamedTuple):
    """x, y: the dimensions of X and of Y, outermost first: those that step least in the source and
    in the target; rest: those of which a region has one position. columns, rows: positions of X and
    of Y in a region; run: how many of a region follow one another in the target."""

    x: list[Dimension]
    y: list[Dimension]
    rest: list[Dimension]
    columns: int
    rows: int
    run: int


def regions(dims: Sequence[Dimension], size: int, vector: int, room: int) -> Regions | None:
    """The regions of a copy of elements of `size` bytes; None where the stage has no room for any.

    Parameters
    ----------
    vector : int
        Bytes of a vector.
    room : int
        Bytes of the stage, in which a line is free in front of every run of the target.
    """
    orders = [
        sorted(range(len(dims)), key=lambda i: abs(dims[i].strides[t]) or sys.maxsize)
        for t in (IN, OUT)
    ]
    ways = [list(_prefixes(dims, order)) for order in orders]
    best: tuple[float, _Box] | None = None
    for parts in _filling(ways, room // size):
        box = _Box(dims, orders, parts, size)
        if box.staged <= room and box.run * size >= LINE:
            cost = box.cost(vector)
            if best is None or cost < best[0]:
                best = cost, box
    return None if best is None else best[1].regions()


def _filling(ways: list[list[Parts]], most: int) -> set[Parts]:
    """Every part of one side, together with the largest three parts of the other side of which no
    more than `most` positions are taken in: not all leave room for the lines that are free."""
    found: set[Parts] = set()
    for taken, others in (ways, reversed(ways)):
        for parts in taken:
            both = (tuple(map(max, parts, more)) for more in others)
            fitting = (fits for fits, _ in groupby(parts for parts in both if prod(parts) <= most))
            found.update(islice(fitting, 3))
    return found


def _prefixes(dims: Sequence[Dimension], order: list[int]) -> Iterator[Parts]:
    """Parts of all dimensions that take those of an order one after the other, long ones first."""
    parts, found = [1] * len(dims), []
    for i in order:
        for part in _evenly(dims[i].size):
            parts[i] = part
            found.append(tuple(parts))
    return reversed(found)


def _evenly(size: int) -> Iterator[int]:
    """Parts that cut a dimension about evenly, each some longer than the one before."""
    part = 1
    while part < size:
        yield part
        if size <= 4 * MULTIPLE:
            longer = range(max(part + 1, GROWTH * part // 4), size)
            part = next((n for n in longer if ceiling(size, n) * n <= WASTE * size), size)
        else:
            part = max(2 * part, balanced(size, 2 * part, MULTIPLE) if part >= MULTIPLE else 0)
    yield size


class _Box:
    """A region, of so much of every dimension."""

    def __init__(
        self, dims: Sequence[Dimension], orders: list[list[int]], parts: Parts, size: int
    ) -> None:
        self.dims, self.orders, self.parts, self.size = dims, orders, parts, size
        self.volume = prod(parts)
        self.run = self._run(OUT, orders[OUT])
        self.runs = self.volume // self.run

    @property
    def staged(self) -> int:
        """Bytes of the stage."""
        return self.volume * self.size + self.runs * LINE

    def _run(self, tensor: int, order: Sequence[int]) -> int:
        """Consecutive positions along some of the dimensions."""
        run = 1
        for i in order:
            if self.parts[i] > 1:
                if self.dims[i].strides[tensor] != run:
                    break
                run *= self.parts[i]
        return run

    def _chain(self) -> int:
        """Consecutive positions of the target that regions go on and on along, in its order."""
        chain, begun = 1, False
        for i in self.orders[OUT]:
            whole = self.parts[i] == self.dims[i].size
            if self.dims[i].strides[OUT] != chain or (begun and self.parts[i] > 1):
                break
            chain, begun = chain * self.dims[i].size, begun or not whole
        return chain

    def sides(self) -> tuple[list[int], list[int]]:
        """The dimensions of X and of Y, by turns what comes next in the source and in the target;
        what is taken in part comes last, outermost."""
        sides: tuple[list[int], list[int]] = ([], [])
        for nexts in zip(*self.orders, strict=True):
            for i, side in zip(nexts, sides, strict=True):
                if self.parts[i] > 1 and i not in (*sides[IN], *sides[OUT]):
                    side.insert(0, i)
        cuts = [[i for i in side if self.parts[i] < self.dims[i].size] for side in sides]
        for side, cut, others in zip(sides, cuts, reversed(cuts), strict=True):
            whole = [i for i in side if i not in cut]
            side[:] = [*cut[-1:], *others[:-1], *whole]
        return sides

    def cost(self, vector: int) -> float:
        """Estimate what a position takes."""
        size, parts = self.size, self.parts
        asked = ASKED * (self.volume // self._run(IN, self.orders[IN]))
        lines = self.volume * size / LINE
        ends = 2 * self.volume / self._chain()
        tiles = 1
        for t, side in enumerate(self.sides()):
            run = self._run(t, side[::-1])
            lanes = min(MULTIPLE, max(1, vector // size))
            tiles *= ceiling(run, lanes) * lanes * (prod(parts[i] for i in side) // run)
        cost = asked + lines * (1 + STORED) + MOVED * tiles * size / LINE
        cost += RUN * self.runs + END * ends + REGION
        covered = prod(
            ceiling(d.size, part) * part / d.size for d, part in zip(self.dims, parts, strict=True)
        )
        return cost * covered / self.volume

    def regions(self) -> Regions:
        x, y = self.sides()
        rest = [d for i, d in enumerate(self.dims) if i not in (*x, *y)]
        columns, rows = (prod(self.parts[i] for i in side) for side in (x, y))
        in_x, in_y = ([self.dims[i] for i in side] for side in (x, y))
        return Regions(in_x, in_y, rest, columns, rows, self.run)
