"""Nodes and descriptors of staged copies: their regions, and where a region lies.

The loops around a staged copy become a list of its regions, because each asks memory for the next
one. All are equally large: where parts do not come out even, the last one reaches back.
"""

from __future__ import annotations

import numpy as np

from tensorop.bind_copies import CopyWords, reaching_back
from tensorop.bind_tables import AXIS_SLOTS
from tensorop.ir import ExecType
from tensorop.jit.abi import Node
from tensorop.jit.copy_abi import CopyDescriptor, CopyKernel
from tensorop.jit.lines import LINE
from tensorop.jit.slots import NodeKind
from tensorop.jit.tables import Words, chunks, offsets
from tensorop.schedule import Axis, Call, Loop, Step
from tensorop.tuples import NamedTuple

AT_ONCE = 1 << 22  # bytes that a kernel call moves: between calls the driver looks for interruption
SOURCE, TARGET, STAGE = range(3)


class _Region(NamedTuple):
    """The first region.

    x, y: its part of both axes, of dimensions with strides in source, target and stage.
    """

    x: Axis
    y: Axis

    def all(self, tensor: int) -> Axis:
        """All dimensions, in the order of a tensor."""
        dims = (*self.x.dimensions, *self.y.dimensions)
        return self.x._replace(
            dimensions=tuple(sorted(dims, key=lambda d: -abs(d.strides[tensor])))
        )


def staged_copy(step: Step) -> tuple[list[Loop], Call] | None:
    """The loops over the regions of a staged copy, and the copy, where a step is these."""
    loops = []
    while isinstance(step, Loop):
        loops.append(step)
        step = step.body[0]
    if isinstance(step, Call) and isinstance(step.kernel, CopyKernel):
        return (loops, step) if step.kernel.mode == "staged" else None
    return None


class StagedWords(CopyWords):
    """Writes what runs staged copies."""

    def _staged_words(self, loops: list[Loop], call: Call) -> Words:
        """A node that runs a call for some regions after the other, perhaps by several threads."""
        sources, targets = self._starts(loops, call)
        count, shares = len(sources), self.schedule.shares
        self.sizes["Z"] = count
        region = self._first_region(loops, call)
        words = self._region_words(call, region)
        d = CopyDescriptor
        words[d.Z_AXIS], words[d.REGIONS] = AXIS_SLOTS["Z"], count
        words[d.Z_SOURCE], words[d.Z_TARGET] = self.image.keep(sources), self.image.keep(targets)
        moved = region.x.size * region.y.size * self._element(call.tensors[TARGET]).size
        node = np.zeros(Node.WORDS, np.int64)
        node[Node.KIND], node[Node.AXIS], node[Node.EXTENT] = NodeKind.LOOP, AXIS_SLOTS["Z"], -1
        node[Node.CHILD] = self.image.keep(self._call(call.kernel, words, call.when))
        node[Node.BLOCK], node[Node.POLL] = max(1, AT_ONCE // moved), 1
        if shares == 1 or not any(loop.exec == ExecType.SHARED for loop in loops):
            return node
        node[Node.BLOCK] = max(1, min(int(node[Node.BLOCK]), count // (4 * shares)))
        shared = np.zeros(Node.WORDS, np.int64)
        shared[Node.KIND], shared[Node.CHILD] = NodeKind.REGION, self.image.keep(node)
        shared[Node.DEPTH], shared[Node.SHARES] = 1, shares
        return shared

    def _starts(self, loops: list[Loop], call: Call) -> tuple[Words, Words]:
        """Byte offsets of all regions in source and target. A block of an axis is part of its
        outermost dimension."""
        found = []
        for tensor in call.tensors:
            starts = np.zeros(1, np.int64)
            for loop in loops:
                axis = self._axis(loop.axis)
                first = np.minimum(np.arange(0, axis.size, loop.block), axis.size - loop.block)
                outermost = axis.dimensions[0]
                inner = axis.size // outermost.size
                step = outermost.strides[tensor] * self._element(tensor).size
                starts = np.add.outer(starts, first // inner * step).ravel()
            found.append(starts)
        return found[SOURCE], found[TARGET]

    def _first_region(self, loops: list[Loop], call: Call) -> _Region:
        source, target = call.tensors
        blocks = {loop.axis: loop.block for loop in loops}
        sides: dict[str, Axis] = {}
        for name in call.axes:
            axis = self._axis(name)
            if name in blocks:
                outermost, *inner = axis.dimensions
                part = blocks[name] * outermost.size // axis.size
                axis = axis._replace(dimensions=(outermost.sized(part), *inner))
            strides = [(d.strides[source], d.strides[target], 0) for d in axis.dimensions]
            dims = [d._replace(strides=s) for d, s in zip(axis.dimensions, strides, strict=True)]
            sides[name] = axis._replace(dimensions=tuple(dims))
        x, y = (sides[name] for name in call.axes)
        in_order, size = _Region(x, y).all(TARGET), self._element(target).size
        run = in_order.unit_run(TARGET)
        # As in the target, but with a line in front of every run.
        step, staged = 1, {}
        for d in reversed(in_order.dimensions):
            staged[d] = d._replace(strides=(*d.strides[:STAGE], step))
            step *= d.size
            if step == run:
                step += LINE // size
        x, y = (a._replace(dimensions=tuple(staged[d] for d in a.dimensions)) for a in (x, y))
        return _Region(x, y)

    def _region_words(self, call: Call, region: _Region) -> Words:
        d, kernel = CopyDescriptor, call.kernel
        source, target = call.tensors
        size = self._element(source).size
        words = np.zeros(len(d), np.int64)
        words[d.SOURCE_SLOT], words[d.TARGET_SLOT] = self._slot(source), self._slot(target)

        def table(axis: Axis, tensor: int) -> Words:
            return offsets(axis, tensor, size)

        def runs_of(at: Words, longest: int, across: Words) -> tuple[Words, Words]:
            """Chunks; positions of a channel are also broken where the channels of one are not
            followed by those of the next."""
            apart = np.zeros(len(at), np.int64)
            if kernel.channels and longest == kernel.along:
                broken = np.diff(across) != kernel.channels * size
                apart[1:] = np.cumsum(broken) * (int(np.abs(at).max()) + 2 * size)
            records, begin = chunks(at + apart, size, longest, len(at))
            records = reaching_back(records, size, longest, len(at))
            records[:, 1] = at[records[:, 0]]
            return records, begin

        (x, y), staged = region, table(region.y, STAGE) + LINE
        in_x = runs_of(table(x, SOURCE), kernel.lanes(self.target), table(x, STAGE))
        self._set_x(words, "", in_x, x.size, table(x, STAGE))
        self._set_y(words, "", table(y, SOURCE), staged)
        in_y = runs_of(staged, kernel.rows(self.target), table(y, SOURCE))
        self._set_y_chunks(words, in_y, y.size)
        every = region.all(TARGET)
        run = every.unit_run(TARGET)
        runs = np.stack([table(every, STAGE) + LINE, table(every, TARGET)], axis=1)[::run]
        words[d.RUNS], words[d.RUN_COUNT] = self.image.keep(runs), len(runs)
        words[d.RUN_BYTES] = run * size
        every = region.all(SOURCE)
        asks = _lines(table(every, SOURCE), every.unit_run(SOURCE), size)
        tiles = len(in_y[0]) * (1 if kernel.row else len(in_x[0]))
        each = -(-len(asks) // tiles)
        words[d.ASK_COUNT], words[d.TILE_ASKS] = len(asks), each
        stored = len(runs) * (run * size // LINE + 1)  # lines at most, each of which asks for one
        asks = np.pad(asks, (0, max(stored, tiles * each) - len(asks)), mode="edge")
        words[d.ASKS] = self.image.keep(asks)
        return words


def _lines(places: Words, run: int, size: int) -> Words:
    """Offsets of which every line has one, of runs of elements."""
    first = places[::run]
    if run * size < LINE:
        lines = first // LINE
        others: Words = first[1:][lines[1:] != lines[:-1]]
        return np.append(first[:1], others)
    inside = np.append(np.arange(0, run * size, LINE, dtype=np.int64), run * size - 1)
    asked: Words = np.add.outer(first, inside).ravel()
    return asked
