"""Copies across into more than the caches hold: region after region, by way of a stage in L1.

A region is a box of positions whose lines, on both sides, follow one another in long runs. It is
transposed into the stage, in the order of the target, and stored from there: whole lines past the
caches, and only the ends of runs in part. Memory is not to wait for either: with every tile that is
transposed, a few lines of the region after the next one are asked for, so that its own tiles find
them in L2, whatever a hardware prefetcher makes of rows that end soon. Of many requests at a time
some are dropped by the hardware, so all are made again with the lines that are stored.

Stores past the caches: Intel 64 and IA-32 Architectures Optimization Reference Manual, 9.6.
"""

from __future__ import annotations

from tensorop.jit.abi import WORD as WORD_BYTES
from tensorop.jit.abi import Frame
from tensorop.jit.builder import BYTE, WORD, Code, Value
from tensorop.jit.copy_abi import RUN_WORDS, STAGE, CopyDescriptor
from tensorop.jit.copy_across import Across
from tensorop.jit.copy_block import Chunks
from tensorop.jit.copy_parts import move_end, move_line
from tensorop.jit.instructions import vector_type
from tensorop.jit.lines import LINE
from tensorop.jit.mover import Mover

ANEW = -1  # in place of how much of a run has been stored: its end is not in the stage
_WORDS = vector_type(WORD, LINE // WORD_BYTES)


class Staged(Across):
    """Every region of a block of Z. X and Y have all of a region, at offsets in the stage, where a
    line is free in front of every run."""

    def __init__(self, code: Code, mover: Mover) -> None:
        super().__init__(code, mover)
        self.asks = self._pointer(CopyDescriptor.ASKS)

    def copy(self) -> None:
        code, d, xs, ys = self.code, CopyDescriptor, self._xs(), self._ys()
        stage = code.stack(BYTE, STAGE)
        start = self._of_axis(Frame.START, d.Z_AXIS)
        stop = code.add(start, self._of_axis(Frame.SIZE, d.Z_AXIS))
        sources, targets = self._pointer(d.Z_SOURCE), self._pointer(d.Z_TARGET)
        last = code.sub(self._word(d.REGIONS), 1)
        with code.reduce(stop, [code.int(ANEW)], start=start) as regions:
            z, (stored,) = regions.index, regions.values
            after, following = code.add(z, 1), [code.min(code.add(z, i), last) for i in range(3)]
            places = [code.at(self.source, code.word(sources, region)) for region in following]
            here, there = code.word(targets, z), code.word(targets, following[1])
            later = self._stored(code.sub(there, here))
            later = code.builder.select(code.less(after, stop), later, code.int(ANEW))
            self._fill(xs, ys, places[0], stage, places[2])
            self._store_runs(stage, code.at(self.target, here), places[1], (stored, later))
            regions.update([later])
        code.fence()

    def _stored(self, step: Value) -> Value:
        """How many bytes of the next region's runs have been stored with those of this one, which
        lie a step before: it reaches back where parts do not come out even. ANEW where it does not
        begin where this one ends, or runs are too short to have the first line of a chain."""
        code, size = self.code, self._word(CopyDescriptor.RUN_BYTES)
        follows = code.builder.and_(code.less(0, step), code.less(step, code.add(size, 1)))
        follows = code.builder.and_(follows, code.less(LINE - 1, size))
        return code.builder.select(follows, code.sub(size, step), code.int(ANEW))

    def _fill(self, xs: Chunks, ys: Chunks, source: Value, stage: Value, following: Value) -> None:
        """Transpose a region into the stage, and ask for a later one."""
        code, asks = self.code, self._word(CopyDescriptor.TILE_ASKS)
        with code.reduce(ys.stop, [code.int(0)], start=ys.first) as below:
            y_first, y_offset, rows = self._record(ys, below.index)
            into = code.at(stage, y_offset)
            with code.reduce(xs.stop, below.values, start=xs.first) as beside:
                x_first, x_offset, columns = self._record(xs, beside.index)
                (asked,) = beside.values
                after = code.add(asked, asks)
                with code.loop(after, start=asked) as ask:
                    self._ask(following, ask)
                place = code.at(source, x_offset)
                self._move_tile(place, into, (y_first, rows), (x_first, columns))
                beside.update([after])
            below.update(beside.values)

    def _store_runs(
        self, stage: Value, target: Value, following: Value, joins: tuple[Value, Value]
    ) -> None:
        """Store the runs of a region, and ask for the next one, with every line and, since there
        may be fewer, once more in the end. Where runs go on with the next region, what is left of a
        line waits in front of what it has new."""
        code, d, (stored, later) = self.code, CopyDescriptor, joins
        runs, count, size = self._pointer(d.RUNS), self._word(d.RUN_COUNT), self._word(d.RUN_BYTES)
        continues = code.less(ANEW, stored)
        new = code.max(stored, 0)
        left = code.sub(size, new)
        with code.reduce(count, [code.int(0)]) as asked:
            record = code.at(runs, code.mul(asked.index, RUN_WORDS * WORD_BYTES))
            staged, offset = code.word(record, 0), code.word(record, 1)
            run = code.at(stage, staged)
            source, place = code.at(run, new), code.at(target, code.add(offset, new))
            begun = code.within_line(place)
            head = code.within_line(code.sub(0, begun))
            head = code.min(head, left)
            with code.when(code.builder.not_(continues)):
                move_end(code, source, place, head)
            first = code.builder.select(continues, code.sub(0, begun), head)
            lines = code.builder.lshr(code.sub(left, first), code.int(LINE.bit_length() - 1))
            asking = following, asked.values[0]
            self._store_lines(code.at(source, first), code.at(place, first), lines, asking)
            with code.either(code.less(ANEW, later)) as (waits, ends):
                with waits:
                    end = code.load(code.at(run, code.sub(size, LINE)), _WORDS, 1)
                    code.store(end, code.at(run, code.sub(later, LINE)), 1)
                with ends:
                    at = code.add(first, code.mul(lines, LINE))
                    move_end(code, code.at(source, at), code.at(place, at), code.sub(left, at))
            asked.update([code.add(asked.values[0], lines)])
        with code.loop(self._word(d.ASK_COUNT)) as ask:
            self._ask(following, ask)

    def _store_lines(
        self, source: Value, target: Value, lines: Value, asking: tuple[Value, Value]
    ) -> None:
        code, (following, asked) = self.code, asking
        with code.loop(lines) as line:
            at = code.mul(line, LINE)
            move_line(code, code.at(source, at), code.at(target, at))
            self._ask(following, code.add(asked, line))

    def _ask(self, source: Value, number: Value) -> None:
        """Ask for a line of a region, into L2."""
        place = self.code.word(self.asks, number)
        self.code.prefetch(self.code.at(source, place), near=False)
