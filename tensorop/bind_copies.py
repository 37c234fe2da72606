"""Descriptors of the copy kernels: packing into panels, and permuting copies.

A pack reads a block of a tensor through offset tables and writes panels. Which of its axes is
consecutive in the source decides the way (`_way`); where it is not the fastest one, positions are
taken in the order of their addresses, so that they form runs all the same.

Source: D. A. Matthews, "High-Performance Tensor Contraction without Transposition", SISC 40 (2018).
"""

from __future__ import annotations

from math import gcd

import numpy as np

from tensorop.bind_tables import AXIS_SLOTS, PACK_SLOTS, Part, ScheduleTables
from tensorop.jit.copy_abi import ALONG, LARGEST_TILE, CopyDescriptor, CopyKernel
from tensorop.jit.elements import element
from tensorop.jit.gemm_abi import GemmKernel
from tensorop.jit.image import Image
from tensorop.jit.lines import LINE
from tensorop.jit.tables import Words, chunks
from tensorop.jit.target import Target
from tensorop.optimizer.digits import Tile, tile_of
from tensorop.optimizer.groups import lie_in_groups
from tensorop.optimizer.widen import WIDE
from tensorop.optimizer.window import are_alike
from tensorop.schedule import Call, Loop, Pack, Schedule
from tensorop.tuples import NamedTuple

MIN_GROUP = 4  # lanes of a group, below which transposing lanes with lanes does not pay


def pack_kernel(schedule: Schedule, pack: Pack, target: Target) -> CopyKernel:
    """The kernel that a pack of a schedule runs."""
    return CopyWords(Part.alone(schedule), target, Image())._packing(pack).kernel


class _Packing(NamedTuple):
    """How a tensor gets into its panels.

    way: `along` where the lanes are consecutive in the source (or nothing is), `across` where the
    depth is, `within` where another part of the lanes is than the fastest: lanes are then
    transposed with lanes. `groups`: along, into panels of groups; `across groups` where these are
    consecutive in the source. `lines`: the depth of every lane, into lines; `across lines` where
    the lanes are consecutive in the source. `digits`: where dimensions are short, as tiles of their
    digits (optimizer/digits.py). together: lanes that are moved as one wide element. group: see
    `_group`.
    """

    way: str
    together: int
    group: int
    kernel: CopyKernel
    tile: Tile | None = None


class CopyWords(ScheduleTables):
    """Writes the descriptors of copy kernels."""

    def __init__(self, part: Part, target: Target, image: Image) -> None:
        super().__init__(part, target, image)
        self._packings: dict[Pack, _Packing] = {}

    def _copy_words(self, call: Call) -> Words:
        """A copy between two layouts: positions of both axes by absolute tables."""
        d, (x, y), (source, target) = CopyDescriptor, call.axes, call.tensors
        size = self._element(source).size
        words = np.zeros(len(d), np.int64)
        words[d.SOURCE_SLOT], words[d.TARGET_SLOT] = self._slot(source), self._slot(target)
        self._set_y(words, y, self._offsets(y, source), self._offsets(y, target))
        if call.kernel.mode == "digits":
            lanes, deep = self._tabled_axis(y), self._tabled_axis(x)
            tile = tile_of(lanes, deep, source, 1 << len(call.kernel.order), 1)
            assert tile is not None
            ways = [[self._offsets(name, t) for name in (y, x)] for t in call.tensors]
            self._set_tiles(words, (y, x), tile, ways[0], ways[1], deep.size)
            words[d.LOADS] = self.image.keep(tile.loads * size)
            words[d.STORES] = self.image.keep(tile.stores(ways[1][1], 0))
            return words
        granule, read, reached = (
            self._blocks_of(x),
            self._offsets(x, source),
            self._offsets(x, target),
        )
        if call.kernel.mode in ALONG:  # runs must be consecutive on both sides
            records, begin = chunks(_common_runs(read, reached, size), size, granule, granule)
            records[:, 1] = read[records[:, 0]]
            self._set_x(words, x, (records, begin), granule, reached)
            return words
        if call.kernel.mode == "lines":
            words[d.X_AXIS], words[d.X_TARGET] = AXIS_SLOTS[x], self.image.keep(reached)
            words[d.COLUMNS_ALIKE] = _begin_alike(reached)
            words[d.ROWS_ALIKE] = _begin_alike(self._offsets(y, source))
            return words
        lanes, rows = call.kernel.lanes(self.target), call.kernel.rows(self.target)
        records, begin = chunks(read, size, lanes, granule)
        records = reaching_back(records, size, lanes, granule)
        self._set_x(words, x, (records, begin), granule, reached)
        granule = self._blocks_of(y)
        records, begin = chunks(self._offsets(y, target), size, rows, granule)
        records = reaching_back(records, size, rows, granule)
        self._set_y_chunks(words, (records, begin), granule)
        self._set_z(words, "", np.zeros(1, np.int64), np.zeros(1, np.int64))
        return words

    def _blocks_of(self, name: str) -> int:
        """The block length of an axis at the innermost loop over it."""
        block = max(1, self.sizes[name])
        for step in self.steps:
            if isinstance(step, Loop) and step.axis == name:
                block = min(block, step.block)
        return block

    def _packing(self, pack: Pack) -> _Packing:
        """How a pack is done, decided once."""
        if pack not in self._packings:
            panels = self.panels[pack.tensor]
            if panels.in_lines:
                self._packings[pack] = self._lining(pack)
            elif panels.together > 1:
                self._packings[pack] = self._grouping(pack, panels.together)
            else:
                self._packings[pack] = self._moving(pack)
        return self._packings[pack]

    def _moving(self, pack: Pack) -> _Packing:
        """How elements get into panels as they are, or as numbers of another type."""
        digits = self._digits(pack)
        if digits is not None:
            kind = f"uint{8 * self._element(pack.tensor).part}"
            kernel = CopyKernel(kind, kind, "digits", order=digits.order)
            return _Packing("digits", 1, 1, kernel, digits)
        together, group = self._together(pack), self._group(pack)
        way = "across" if together > 1 else self._way(pack, group)
        run = pack.width // together if way == "across" else group
        tile = LARGEST_TILE if way == "along" else _tile(run)
        kernel = self._copy_kernel(pack, way, together, tile)
        return _Packing(way, together, group, kernel)

    def _grouping(self, pack: Pack, together: int) -> _Packing:
        """How elements get into groups of so many."""
        depth = self._tabled_axis(pack.depth)
        if lie_in_groups(depth, pack.tensor, together):
            ragged = together if depth.size % together else 0
            kernel = CopyKernel("uint32", "uint32", "across", tile=_tile(pack.width), ragged=ragged)
            return _Packing("across groups", 1, 1, kernel)
        kernel = CopyKernel(f"uint{8 * self._element(pack.tensor).size}", "uint32", "groups")
        return _Packing("groups", 1, 1, kernel)

    def _lining(self, pack: Pack) -> _Packing:
        """How elements get into lines along the depth."""
        lanes, depth = (
            any(d.strides[pack.tensor] == 1 for d in self._tabled_axis(name).dimensions[-1:])
            for name in (pack.lanes, pack.depth)
        )
        kind = f"uint{8 * self._element(pack.tensor).size}"
        if lanes and not depth:
            return _Packing("across lines", 1, 1, CopyKernel(kind, kind, "across"))
        return _Packing("lines", 1, 1, CopyKernel(kind, kind, "along"))

    def _copy_kernel(self, pack: Pack, way: str, together: int, tile: int) -> CopyKernel:
        tensor = self.op.tensors[pack.tensor]
        kind, asks = element(tensor.dtype), pack.asks and way != "within"
        if together > 1:
            wide = WIDE[together * kind.size]
            return CopyKernel(wide, wide, "across", tile=tile, asks=asks)
        return CopyKernel(
            tensor.dtype,
            kind.accumulator.name,
            "along" if way == "along" else "across",
            conj=tensor.conj and kind.parts == 2,
            planar=kind.parts == 2,
            tile=tile,
            asks=asks,
        )

    def _way(self, pack: Pack, group: int) -> str:
        """The way of a pack (`_Packing`) that moves elements one by one."""
        lanes, depth = (self._tabled_axis(name) for name in (pack.lanes, pack.depth))
        consecutive = [d.strides[pack.tensor] == 1 for d in lanes.dimensions]
        if any(d.strides[pack.tensor] == 1 for d in depth.dimensions) and not any(consecutive[-1:]):
            return "across"
        grouped = group >= MIN_GROUP and are_alike(self.schedule.axis(pack.lanes))
        if any(consecutive[:-1]) and grouped:
            return "within"
        return "along"

    def _digits(self, pack: Pack) -> Tile | None:
        """A tile of digits, where a vector that is read has some of both axes."""
        t, kind = pack.tensor, self._element(pack.tensor)
        if kind.accumulator is not kind or self.op.tensors[t].conj:
            return None
        lanes, depth = (self._tabled_axis(name) for name in (pack.lanes, pack.depth))
        longest = self.target.lanes(kind.part)
        tile = tile_of(lanes, depth, t, min(longest, pack.width & -pack.width), kind.parts)
        alike = all(are_alike(self.schedule.axis(name)) for name in (pack.lanes, pack.depth))
        return tile if tile and alike and tile.fits(self.panels[t].depth_block) else None

    def _together(self, pack: Pack) -> int:
        """How many lanes are moved as one wide element: those of a short dimension of consecutive
        elements, where the depth goes on right behind it. In wide elements it is the depth that is
        consecutive."""
        t, kind = pack.tensor, self._element(pack.tensor)
        lanes, depth = (self._tabled_axis(x).dimensions for x in (pack.lanes, pack.depth))
        by, _ = self._tabled_axis(pack.lanes).turned
        plain = kind.accumulator is kind and kind.parts == 1
        if not plain or len(lanes) < 2 or lanes[-1].strides[t] != 1:
            return 1
        *others, last = lanes
        count = min((abs(d.strides[t]) or last.size + 1 for d in depth), default=0)
        whole = all(size % max(count, 1) == 0 for size in (last.size, pack.width, by))
        if count < 2 or not whole or count * kind.size not in WIDE:
            return 1
        return 1 if any(d.strides[t] % count for d in (*others, *depth)) else count

    def _group(self, pack: Pack) -> int:
        """Lanes of a panel that belong to one run of the fastest dimension, wherever it starts."""
        axis = self._tabled_axis(pack.lanes)
        dims, (by, _) = axis.dimensions, axis.turned
        return gcd(pack.width, dims[-1].size, by) if dims else 1

    def _pack_words(self, pack: Pack) -> Words:
        d, panels, t = CopyDescriptor, self.panels[pack.tensor], pack.tensor
        way, count, _, kernel, tile = self._packing(pack)
        size, kind = self._element(t).size, self._element(self.op.out).accumulator
        step = kind.part
        product = next(
            step
            for step in self.steps
            if isinstance(step, Call) and isinstance(step.kernel, GemmKernel)
        )
        lanes_at = self._in_block(pack.lanes, pack, product)
        lanes = lanes_at // pack.width * panels.panel + lanes_at % pack.width * panels.lane
        depth_at = self._in_block(pack.depth, product)
        depth = depth_at // panels.together * panels.row
        if panels.in_lines:
            depth += depth_at % panels.together * size
        words = np.zeros(len(d), np.int64)
        words[d.SOURCE_SLOT], words[d.TARGET_SLOT] = self._slot(t), PACK_SLOTS[t]
        words[d.PLANE] = panels.plane
        words[d.WIDTH], words[d.ROW] = pack.width, panels.row // panels.together
        words[d.LANES_TARGET] = self.image.keep(lanes)
        words[d.LANES_AXIS], words[d.DEPTH_AXIS] = AXIS_SLOTS[pack.lanes], AXIS_SLOTS[pack.depth]
        vector = kernel.lanes(self.target)
        read, deep = self._offsets(pack.lanes, t), self._offsets(pack.depth, t)
        if tile is not None:
            names, block = (pack.lanes, pack.depth), panels.depth_block
            self._set_tiles(words, names, tile, [read, deep], [lanes, depth], block)
            words[d.LOADS] = self.image.keep(tile.loads * kind.part)
            words[d.STORES] = self.image.keep(tile.stores(depth, panels.plane))
            return words
        if way == "lines":  # lanes that do not exist are not stored, whatever they hold
            words[d.WIDTH], block = 0, panels.depth_block
            records, begin = chunks(_common_runs(deep, depth, size), size, block, block)
            records[:, 1] = deep[records[:, 0]]
            self._set_x(words, pack.depth, (records, begin), block, depth)
            self._set_y(words, pack.lanes, read, lanes)
        elif way == "across lines":
            words[d.WIDTH], block = 0, panels.depth_block
            self._set_x(
                words, pack.lanes, chunks(read, size, vector, pack.width), pack.width, lanes
            )
            self._set_y(words, pack.depth, deep, depth)
            found = chunks(depth, size, kernel.rows(self.target), block)
            self._set_y_chunks(words, found, block)
            self._set_z(words, "", np.zeros(1, np.int64), np.zeros(1, np.int64))
        elif way in ("along", "groups"):
            found = chunks(read, size, pack.width, pack.width)
            self._set_x(words, pack.lanes, found, pack.width, lanes)
            self._set_y(words, pack.depth, deep, depth)
        elif way == "across groups":  # in positions of groups, of which a ragged one reaches back
            together = panels.together
            groups = deep[::together].copy()
            groups[-1] = deep[-together]
            granule = -(-panels.depth_block // together)
            found = chunks(groups, together * size, vector, granule)
            self._set_x(words, pack.depth, found, panels.depth_block, depth[::together])
            self._set_y(words, pack.lanes, read, lanes)
            self._set_y_chunks(words, chunks(lanes, step, vector, pack.width), pack.width)
            self._set_z(words, "", np.zeros(1, np.int64), np.zeros(1, np.int64))
        elif way == "across":
            # In the order of addresses, so that any consecutive dimension of the depth makes runs.
            block, order = panels.depth_block, np.arange(len(deep))
            if are_alike(self.schedule.axis(pack.depth)):
                order = np.lexsort((deep, order // block))
            found = chunks(deep[order], size * count, vector, block)
            self._set_x(words, pack.depth, found, block, depth[order])
            self._set_y(words, pack.lanes, read[::count], lanes[::count])
            found = chunks(lanes[::count], step * count, vector, pack.width // count)
            self._set_y_chunks(words, found, pack.width)  # in lanes, as the axis counts
            self._set_z(words, "", np.zeros(1, np.int64), np.zeros(1, np.int64))
        else:
            self._set_within(words, pack, lanes, step, vector)
            self._set_z(words, pack.depth, deep, depth)
        return words

    def _set_tiles(
        self,
        words: Words,
        names: tuple[str, str],
        tile: Tile,
        source: list[Words],
        target: list[Words],
        granule: int,
    ) -> None:
        """Groups of lanes, and tiles of the depth of every block in the order of addresses."""
        d, (read, deep), (lanes, depth) = CopyDescriptor, source, target
        count = 1 << len(tile.order)
        self._set_y(words, names[0], read[::count], lanes[::count])
        first = tile.starts(len(deep))
        block = first // granule
        first = first[np.lexsort((deep[first], block))]
        records = np.stack([deep[first], depth[first]], axis=1)
        blocks = np.arange(-(-len(deep) // granule) + 1)
        words[d.X_AXIS], words[d.X_GRANULE] = AXIS_SLOTS[names[1]], granule
        words[d.X_CHUNKS] = self.image.keep(records)
        words[d.X_BEGIN] = self.image.keep(np.searchsorted(np.sort(block), blocks))

    def _set_x(
        self, words: Words, name: str, found: tuple[Words, Words], granule: int, target: Words
    ) -> None:
        """X, whose `chunks` have been found."""
        d = CopyDescriptor
        words[d.X_AXIS], words[d.X_GRANULE] = AXIS_SLOTS[name], granule
        words[d.X_CHUNKS], words[d.X_BEGIN] = map(self.image.keep, found)
        words[d.X_TARGET] = self.image.keep(target)

    def _set_y(self, words: Words, name: str, source: Words, target: Words) -> None:
        d = CopyDescriptor
        words[d.Y_AXIS] = AXIS_SLOTS[name]
        words[d.Y_SOURCE], words[d.Y_TARGET] = self.image.keep(source), self.image.keep(target)

    def _set_y_chunks(self, words: Words, found: tuple[Words, Words], granule: int) -> None:
        d = CopyDescriptor
        words[d.Y_CHUNKS], words[d.Y_BEGIN] = map(self.image.keep, found)
        words[d.Y_GRANULE] = granule

    def _set_z(self, words: Words, name: str, source: Words, target: Words) -> None:
        d = CopyDescriptor
        words[d.Z_AXIS] = AXIS_SLOTS[name]
        words[d.Z_SOURCE], words[d.Z_TARGET] = self.image.keep(source), self.image.keep(target)

    def _set_within(self, words: Words, pack: Pack, lanes: Words, step: int, vector: int) -> None:
        """X: the groups of a block in the order of their addresses, so that they form runs along
        the consecutive dimension; Y: the lanes of a group; Z: the depth."""
        t, group = pack.tensor, self._packing(pack).group
        source, size = self._offsets(pack.lanes, t), self._element(t).size
        starts = np.arange(0, len(source), group)
        blocks = starts - self._in_block(pack.lanes, pack)[starts]
        order = starts[np.lexsort((source[starts], blocks))]
        # Runs end where blocks do: blocks are moved apart to tell them.
        number = np.searchsorted(np.unique(blocks), np.sort(blocks))
        apart = 2 * int(np.abs(source).max()) + 2 * size
        records, _ = chunks(source[order] + number * apart, size, vector, len(order))
        records[:, 1] = source[order[records[:, 0]]]
        panels = np.arange(0, len(source) + pack.width, pack.width)
        begin = np.searchsorted(np.sort(blocks)[records[:, 0]], panels)
        self._set_x(words, pack.lanes, (records, begin), pack.width, lanes[order])
        inside = np.arange(group, dtype=np.int64) * step
        self._set_y(words, "", source[:group] - source[0], inside)
        self._set_y_chunks(words, chunks(inside, step, vector, group), group)


def _tile(run: int) -> int:
    """Lanes of the tiles that a pack transposes, of so many lanes of a panel that lie in a run: the
    run fills them. Where only pairs would, parts of large tiles are fewer."""
    filled = run & -run
    return min(LARGEST_TILE, filled) if filled > 2 else LARGEST_TILE


LEFT = 2  # positions at the end of a run that are moved one by one


def reaching_back(records: Words, size: int, lanes: int, granule: int) -> Words:
    """Chunks at the end of a run that are too short for a tile begin earlier in their granule: a
    full tile, which moves some elements again, takes less time than part of one."""
    first, offset, length = records.T
    missing = lanes - length
    follows = np.zeros(len(records), bool)
    follows[1:] = (
        (first[1:] == first[:-1] + length[:-1])
        & (offset[1:] == offset[:-1] + length[:-1] * size)
        & (missing[1:] <= length[:-1])
        & (first[1:] % granule > 0)
    )
    back = np.where(follows & (length > LEFT), missing, 0)
    return np.stack([first - back, offset - back * size, length + back], axis=1)


def _begin_alike(offsets: Words) -> bool:
    """Whether what lies there begins everywhere alike in a line."""
    return not np.any((offsets - offsets[0]) % LINE)


def _common_runs(source: Words, target: Words, size: int) -> Words:
    """Offsets whose runs are the runs of both tables: broken wherever either is."""
    broken = np.zeros(len(source), np.int64)
    broken[1:] = (np.diff(source) != size) | (np.diff(target) != size)
    return np.arange(len(source), dtype=np.int64) * size + np.cumsum(broken) * size
