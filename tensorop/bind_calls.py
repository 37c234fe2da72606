"""The descriptors of kernel calls: the words that say where a kernel reads and writes, and how.

Every family of kernels names its words in its own module of `jit`; those of copies, and of copies
by way of a stage, are in `bind_copies.py` and `bind_staged.py`.
"""

from __future__ import annotations

from math import lcm, prod

import numpy as np

from tensorop.bind_staged import StagedWords
from tensorop.bind_tables import AXIS_SLOTS, PACK_SLOTS
from tensorop.jit.batch_abi import BatchKernel, BatchWord, DotsKernel, ItemsKernel
from tensorop.jit.copy_abi import CopyKernel
from tensorop.jit.gemm_abi import MOST_RUNS, GemmKernel, GemmWord, panels_on_stage, runs_held
from tensorop.jit.interleave_abi import InterleaveKernel, InterleaveWord
from tensorop.jit.lines import LINE
from tensorop.jit.planar_abi import PlanarKernel
from tensorop.jit.reorder_abi import ReorderKernel
from tensorop.jit.stream import StreamDescriptor
from tensorop.jit.tables import Words, chunks, filled_up, lines, on_stage, two_runs
from tensorop.jit.tiny_abi import TinyKernel
from tensorop.jit.touch_abi import TouchKernel, TouchWord
from tensorop.optimizer.direct import DENSE
from tensorop.optimizer.touch import item_rows
from tensorop.schedule import Call, Pack


class CallWords(StagedWords):
    """Writes the descriptors of calls."""

    def _descriptor(self, call: Call) -> Words:
        if isinstance(call.kernel, GemmKernel):
            return self._gemm_words(call)
        if isinstance(call.kernel, CopyKernel):
            return self._copy_words(call)
        if isinstance(call.kernel, (BatchKernel, DotsKernel, ItemsKernel, TinyKernel)):
            return self._batch_words(call)
        if isinstance(call.kernel, TouchKernel):
            return self._touch_words(call)
        if isinstance(call.kernel, InterleaveKernel):
            return self._interleave_words(call)
        if isinstance(call.kernel, (PlanarKernel, ReorderKernel)):
            return np.array([self._slot(tensor) for tensor in call.tensors], np.int64)
        return self._stream_words(call)

    def _gemm_words(self, call: Call) -> Words:
        d, kernel = GemmWord, call.kernel
        m, n, k = call.axes[:3]
        words = np.zeros(d.WORDS, np.int64)
        for tensor, slot, panel, how in (
            (0, d.A_SLOT, d.A_PANEL, kernel.a),
            (1, d.B_SLOT, d.B_PANEL, kernel.b),
        ):
            if how == "packed":
                words[slot] = PACK_SLOTS[tensor]
                words[panel] = self.panels[tensor].panel
            else:
                words[slot] = self._slot(tensor)
        words[d.C_SLOT] = self._slot(self.op.out)
        if kernel.a != "packed":
            words[d.A_K] = self._step(k, 0)
        if kernel.a == "gathered":
            words[d.A_M] = self._step(m, 0)
        if kernel.b != "packed":
            words[d.B_K], words[d.B_N] = self._step(k, 1), self._step(n, 1)
        if kernel.batch_reduce:
            br = call.axes[3]
            words[d.A_BR], words[d.B_BR] = self._step(br, 0), self._step(br, 1)
            words[d.B_NEXT] = self._next_block(call)
        out = self.op.out
        words[d.C_N_TABLE], words[d.C_M_TABLE] = self._table(n, out), self._table(m, out)
        if kernel.store != "columns":
            size, lanes = self._element(out).size, kernel.lanes(self.target)
            records, begin = chunks(self._offsets(m, out), size, lanes, kernel.rows(self.target))
            words[d.C_M_CHUNKS] = self.image.keep(records)
            words[d.C_M_BEGIN] = self.image.keep(begin)
            if kernel.store == "strided":
                words[d.C_M] = self._step(m, out)
            elif kernel.store == "runs":
                self._check_joined(call)
                words[d.C_M_RUNS] = self.image.keep(two_runs(self._offsets(m, out), size, lanes))
            elif kernel.store == "staged":
                run, held = self._runs_on_stage(call)
                offsets, rows = self._offsets(m, out), kernel.rows(self.target)
                in_out = two_runs(filled_up(offsets, rows), size, lanes)
                words[d.C_M_RUNS] = self.image.keep(in_out)
                staged = (
                    on_stage(len(offsets), run, held, kernel.panels * kernel.columns, rows) * size
                )
                words[d.C_M_STAGED] = self.image.keep(two_runs(staged, size, lanes))
                words[d.C_RUN], words[d.C_HELD] = run, held
        if kernel.asks:
            packed = kernel.a == "packed"
            records = self._ahead_words(call) if packed else self._next_words(call)
            words[d.AHEAD] = self.image.keep(records)
        return words

    def _check_joined(self, call: Call) -> None:
        """Refuse tiles whose columns do not lie one behind the other, where the kernel joins them.

        Raises
        ------
        ValueError
        """
        kernel, (m, n), out = call.kernel, call.axes[:2], self.op.out
        if not kernel.joined:
            return
        columns, offsets = kernel.columns, self._offsets(n, out)
        tiles = offsets[: len(offsets) // columns * columns].reshape(-1, columns)
        run = self._tabled_axis(m).unit_run(out) * self._element(out).size
        around = self._loops_around(self.schedule.body, call)
        blocks = [s.block for s in around if s.axis == n and s.block < len(offsets)]
        if (np.diff(tiles) != run).any() or any(block % columns for block in blocks):
            raise ValueError(f"columns in blocks of {blocks} do not lie one behind the other")

    def _runs_on_stage(self, call: Call) -> tuple[int, int]:
        """Rows of a run of out, and runs that a stage holds.

        Raises
        ------
        ValueError
            Blocks or runs are such as the kernel cannot store by way of a stage.
        """
        kernel, m, out = call.kernel, call.axes[0], self.op.out
        run, rows = self._axis(m).unit_run(out), kernel.rows(self.target)
        total, around = self._tabled_axis(m).size, self._loops_around(self.schedule.body, call)
        blocks = [s.block for s in around if s.axis == m and not s.anew and s.block < total]
        whole = total % run == 0 and not any(block % lcm(run, rows) for block in blocks)
        few = min([total, *blocks]) <= MOST_RUNS * run
        holds = panels_on_stage(run, rows, kernel.columns, self._element(out).size)
        if not (whole and few and kernel.panels <= holds):
            raise ValueError(f"blocks of {blocks} rows, in runs of {run}, do not fit a stage")
        return run, runs_held(run, rows, kernel.panels)

    def _ahead_words(self, call: Call) -> Words:
        """The records of what is asked for ahead (`jit/gemm_ahead.py`), one after the other."""
        words: list[int] = []
        for name in call.axes[:3]:
            words += (self._tabled_axis(name).size, self._block(name, call))
        for pack in self.steps:
            if not isinstance(pack, Pack) or not pack.ahead:
                continue
            words.append(self._slot(pack.tensor))
            depth = self._tabled_axis(pack.depth).dimensions
            deep = any(d.strides[pack.tensor] == 1 for d in depth)
            for name in (pack.depth, pack.lanes) if deep else (pack.lanes, pack.depth):
                itemsize = self._element(pack.tensor).size
                found = lines(self._tabled_axis(name), pack.tensor, itemsize)
                words += (AXIS_SLOTS[name], *map(self.image.keep, found))
        return np.array(words, np.int64)

    def _next_words(self, call: Call) -> Words:
        """The records of the blocks that the next call reads where they lie, one for each operand;
        rows that are near one another are one, gaps and all."""
        words: list[int] = []
        m, n, k = call.axes[:3]
        for tensor, names in enumerate(((m, k), (n, k), (m, n))):
            sides = sorted((abs(self._step(s, tensor)), self._block(s, call)) for s in names)
            (near, count), (step, rows) = sides
            row = (count - 1) * near + self._element(tensor).size
            offset, together = self._following(call, tensor), 1
            if step <= DENSE * row:
                row, rows = (rows - 1) * step + row, 1
            elif 0 < offset <= row + LINE:
                together = min(rows, call.together)
                row += (together - 1) * offset
            words += (offset, step, together, row, -(-rows // together) * -(-row // LINE))
        return np.array(words, np.int64)

    def _block(self, name: str, call: Call) -> int:
        """The longest block of an axis that a call is given."""
        around = self._loops_around(self.schedule.body, call)
        blocks = [loop.block for loop in around if loop.axis == name]
        return min(self._tabled_axis(name).size, *blocks, 1 << 62)

    def _next_block(self, call: Call) -> int:
        """Bytes to the block of in1 that the next call reads, where it follows this one: too many
        small steps for the hardware to foresee."""
        axes = [self._axis(name) for name in call.axes[1:]]
        size = prod(axis.size for axis in axes)
        steps = sorted((abs(axis.stride(1) or 0), axis.size) for axis in axes if axis.size > 1)
        dense = 1
        for stride, count in steps:
            if stride != dense:
                return 0
            dense *= count
        size *= self._element(1).size
        return size if self._following(call, 1) == size else 0

    def _following(self, call: Call, tensor: int) -> int:
        """Bytes from the block of an input that a call reads to that which the next call does, as
        far as the innermost loop that moves it goes; 0 where none does."""
        around = self._loops_around(self.schedule.body, call)
        moving = [loop for loop in around if self._axis(loop.axis).stride(tensor)]
        return moving[-1].block * self._step(moving[-1].axis, tensor) if moving else 0

    def _stream_words(self, call: Call) -> Words:
        d, (x, y) = StreamDescriptor, call.axes
        words = np.zeros(len(d), np.int64)
        words[d.X_AXIS], words[d.Y_AXIS] = AXIS_SLOTS[x], AXIS_SLOTS[y]
        names = ("IN0", "IN1", "OUT") if len(call.tensors) == 3 else ("IN0", "OUT")
        for tensor, name in zip(call.tensors, names, strict=True):
            words[d[f"{name}_SLOT"]] = self._slot(tensor)
            words[d[f"X_{name}"]], words[d[f"Y_{name}"]] = (
                self._step(x, tensor),
                self._step(y, tensor),
            )
        return words

    def _batch_words(self, call: Call) -> Words:
        """Slots, then strides: the words of `BatchWord` in their order."""
        m, n, k, x = call.axes
        words = np.zeros(BatchWord.WORDS, np.int64)
        words[: BatchWord.IN0_M] = [self._slot(tensor) for tensor in call.tensors]
        steps = [((m, k, x), 0), ((k, n, x), 1), ((m, n, x), 2)]
        words[BatchWord.IN0_M :] = [
            0 if axis == x and self._axis(x).stride(t) is None else self._step(axis, t)
            for axes, t in steps
            for axis in axes
        ]
        return words

    def _interleave_words(self, call: Call) -> Words:
        d, (x, y, e), (source, target) = InterleaveWord, call.axes, call.tensors
        words = np.zeros(d.WORDS, np.int64)
        words[d.SOURCE_SLOT], words[d.TARGET_SLOT] = self._slot(source), self._slot(target)
        words[d.X_AXIS], words[d.Y_AXIS] = AXIS_SLOTS[x], AXIS_SLOTS[y]
        words[d.APART] = self._step(e, source if call.kernel.joins else target)
        words[d.Y_SOURCE], words[d.Y_TARGET] = self._step(y, source), self._step(y, target)
        return words

    def _touch_words(self, call: Call) -> Words:
        """The table has the rows in the order in which they lie."""
        (tensor,), (name,) = call.tensors, call.axes
        (along,), size = self._axis(name).dimensions, self._element(tensor).size
        offsets = np.zeros(1, np.int64)
        for d in item_rows(self.op, tensor, along):
            steps = np.arange(d.size, dtype=np.int64) * (d.strides[tensor] * size)
            offsets = np.add.outer(offsets, steps).ravel()
        words = np.zeros(TouchWord.WORDS, np.int64)
        words[TouchWord.SLOT], words[TouchWord.AXIS] = self._slot(tensor), AXIS_SLOTS[name]
        words[TouchWord.TABLE] = self.image.keep(np.sort(offsets))
        words[TouchWord.ROWS] = offsets.size
        words[TouchWord.STEP] = self._step(name, tensor)
        return words
