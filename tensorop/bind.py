"""Bind schedules to machine words: nodes for the driver, descriptors and tables for the kernels.

In goes a `Schedule`, or several that run one after the other and hand on temporaries; out come a
`Bound` (runtime.py), which is data only, and the kernels that it names: no address is in it, and no
kernel is loaded or compiled yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import lcm, prod

import numpy as np

from tensorop.bind_staged import StagedWords, staged_copy
from tensorop.bind_tables import AXIS_SLOTS, PACK_SLOTS, Around, Part
from tensorop.ir import DimType, ExecType
from tensorop.jit.abi import Frame, Node
from tensorop.jit.batch_abi import BatchKernel, BatchWord, DotsKernel, ItemsKernel
from tensorop.jit.copy_abi import CopyKernel
from tensorop.jit.gemm_abi import MOST_RUNS, GemmKernel, GemmWord, panels_on_stage, runs_held
from tensorop.jit.image import REFERENCE, Image
from tensorop.jit.interleave_abi import InterleaveKernel, InterleaveWord
from tensorop.jit.kernel import Kernel
from tensorop.jit.lines import LINE
from tensorop.jit.planar_abi import PlanarKernel
from tensorop.jit.reorder_abi import ReorderKernel
from tensorop.jit.slots import AxisSlot, NodeKind, Slot
from tensorop.jit.stream import StreamDescriptor
from tensorop.jit.tables import Words, chunks, filled_up, lines, on_stage, two_runs
from tensorop.jit.target import Target
from tensorop.jit.tiny_abi import TinyKernel
from tensorop.jit.touch_abi import TouchKernel, TouchWord
from tensorop.optimizer.direct import DENSE
from tensorop.optimizer.touch import item_rows
from tensorop.runtime import LONG_WORK, Bound
from tensorop.schedule import BIAS, Call, Loop, Pack, Schedule, Step

POLL_WORK = 1_000_000  # multiply-adds between two looks for interruption, about
FEW_CALLS = 2048  # of kernels: Python makes them in some milliseconds


def bind(schedule: Schedule, target: Target) -> tuple[Bound, tuple[Kernel, ...]]:
    """Write the words; the kernels are numbered as they name them.

    Parameters
    ----------
    schedule : Schedule
    target : Target
        Instruction set of the kernels.
    """
    return bind_chain([Part.alone(schedule)], {}, target)


def bind_chain(
    parts: Sequence[Part],
    temporaries: Mapping[Slot, int],
    target: Target,
    around: Around | None = None,
) -> tuple[Bound, tuple[Kernel, ...]]:
    """Write the words of schedules that run one after the other.

    Parameters
    ----------
    parts : sequence of Part
    temporaries : mapping of slot to size
        Bytes of what some parts write and others read, in slots that no operand has.
    target : Target
        Instruction set of the kernels.
    around : Around, optional
        The loop that all of them are in.
    """
    image = Image()
    count, apart, rest = (around.number, around.shares, around.rest) if around else (1, 1, ())
    binders = [_Binder(part, target, image) for part in (*parts, *rest)]
    work = [binder.work() for binder in binders]
    shares = max(apart, *(binder.schedule.shares for binder in binders))
    long = count * sum(work) >= LONG_WORK
    calls = count * sum(binder.calls() for binder in binders)
    first = binders[work.index(max(work))]
    needed = dict(temporaries)
    for binder in binders:
        for slot, size in binder.scratch():
            needed[slot] = max(size, needed.get(slot, 0))
    needed = {slot: -(-size // LINE) * LINE for slot, size in sorted(needed.items())}

    def chain(links: Sequence[_Binder], node: int = 0) -> int:
        for binder in reversed(links):
            of_all = binder is first
            node = binder.body(node) if of_all else binder.framed(first.frame_sizes(), node)
        return node

    node = chain(binders[len(parts) :])
    if around is None:
        node = chain(binders)
    else:
        node = _around(around, chain(binders[: len(parts)]), needed, node, image)
    frame = np.zeros(Frame.WORDS, np.int64)
    frame[Frame.FIRST] = frame[Frame.LAST] = 1
    frame[Frame.SIZE : Frame.SIZE + len(AxisSlot)] = first.frame_sizes()
    used, slots = 0, []
    for slot, size in needed.items():
        slots.append((int(slot), used))
        used += size * apart
    return Bound(
        node - REFERENCE,
        frame,
        image.words(),
        used,
        tuple(slots),
        long,
        not long and shares == 1 and calls <= FEW_CALLS,
        shares,
    ), image.kernels


def _around(
    around: Around, body: int, scratch: Mapping[Slot, int], following: int, image: Image
) -> int:
    """Write the loop around a body, and what divides it among threads: a reference to its node."""
    words = np.zeros(Node.WORDS, np.int64)
    words[Node.KIND], words[Node.AXIS], words[Node.CHILD] = NodeKind.LOOP, -1, body
    words[Node.EXTENT], words[Node.BLOCK] = around.number, 1
    words[Node.KLOOP], words[Node.POLL] = around.sums, 1
    _set_moves(words, [(int(slot), step, 0) for slot, step in around.moves])
    if around.shares > 1:
        loop, words = words, np.zeros(Node.WORDS, np.int64)
        words[Node.KIND], words[Node.CHILD] = NodeKind.REGION, image.keep(loop)
        words[Node.DEPTH], words[Node.SHARES] = 1, around.shares
        _set_moves(words, [(int(slot), size, 0) for slot, size in scratch.items()])
    words[Node.NEXT] = following
    return image.keep(words)


def _set_moves(words: Words, moves: list[tuple[int, int, int]]) -> None:
    words[Node.MOVES] = len(moves)
    for i, move in enumerate(moves):
        first = Node.FIRST_MOVE + 3 * i
        words[first : first + 3] = move


class _Binder(StagedWords):
    """Writes nodes, and the descriptors of the other kernels."""

    def body(self, following: int = 0) -> int:
        """Write the schedule: a reference to its first node. Another one follows on its last."""
        own = self.sums is False
        if not self.further and not own:
            return self._body(self.schedule.body, dict(self.sizes), False, following)
        words = np.zeros(Node.WORDS, np.int64)
        words[Node.KIND], words[Node.AXIS], words[Node.NEXT] = NodeKind.LOOP, -1, following
        # What is further is the second iteration, which has moved on, and adds to sums before it.
        number = int(bool(self.further))
        words[Node.BEGIN], words[Node.EXTENT], words[Node.BLOCK] = number, number + 1, 1
        words[Node.KLOOP] = Node.OWN_SUMS if own else bool(self.sums)
        words[Node.CHILD] = self._body(self.schedule.body, dict(self.sizes), False)
        moves = zip(self.slots, self.further, strict=bool(self.further))
        _set_moves(words, [(int(slot), step, 0) for slot, step in moves])
        return self.image.keep(words)

    def framed(self, others: Words, following: int) -> int:
        """The same, where the frame has the sizes of another schedule: loops of one step, one
        around the other, set them."""
        node, sizes = self.body(), self.frame_sizes()
        *inner, outermost = np.flatnonzero(sizes != others).tolist() or [AxisSlot.X]
        for axis in (*inner, outermost):
            words = np.zeros(Node.WORDS, np.int64)
            words[Node.KIND], words[Node.AXIS] = NodeKind.LOOP, axis
            words[Node.EXTENT] = words[Node.BLOCK] = sizes[axis]
            words[Node.CHILD], words[Node.NEXT] = node, following if axis == outermost else 0
            node = self.image.keep(words)
        return node

    def frame_sizes(self) -> Words:
        """Of every axis of the frame; 1 of those that the schedule does not have."""
        sizes = np.ones(len(AxisSlot), np.int64)
        for name, size in self.sizes.items():
            if name in AXIS_SLOTS:
                sizes[AXIS_SLOTS[name]] = size
        return sizes

    def scratch(self) -> list[tuple[Slot, int]]:
        """Bytes of panels, by the slots that they are in."""
        return [
            (PACK_SLOTS[tensor], panels.bytes * (self.schedule.shares if panels.private else 1))
            for tensor, panels in self.panels.items()
        ]

    def work(self) -> int:
        """Multiply-adds, or elements."""
        return self._work(self.schedule.body, dict(self.sizes))

    def calls(self) -> int:
        """How many kernel calls, about: copies by way of a stage take a few for one."""
        return self._calls(self.schedule.body, dict(self.sizes))

    def _body(
        self, body: tuple[Step, ...], blocks: dict[str, int], region: bool, following: int = 0
    ) -> int:
        """Write a body, last step first; a reference to its first node."""
        for step in reversed(body):
            if staged := staged_copy(step):
                words = self._staged_words(*staged)
            elif isinstance(step, Loop):
                words = self._loop(step, blocks, region)
            elif isinstance(step, Pack):
                words = self._call(self._packing(step).kernel, self._pack_words(step), "always")
            else:
                words = self._call(step.kernel, self._descriptor(step), step.when)
            words[Node.NEXT] = following
            following = self.image.keep(words)
        return following

    # loops

    def _loop(self, loop: Loop, blocks: dict[str, int], region: bool) -> Words:
        if loop.exec == ExecType.SHARED and not region and self.schedule.shares > 1:
            return self._region(loop, blocks)
        count, inside = _iterations(loop, blocks)
        words = np.zeros(Node.WORDS, np.int64)
        words[Node.KIND] = NodeKind.LOOP
        words[Node.CHILD] = self._body(loop.body, inside, region)
        slot = AXIS_SLOTS.get(loop.axis, -1)
        words[Node.AXIS] = slot
        words[Node.EXTENT] = self.sizes[loop.axis] if slot < 0 else -1
        words[Node.BLOCK] = loop.block
        words[Node.KLOOP] = self._axis(loop.axis).type == DimType.K
        words[Node.ANEW] = loop.anew
        words[Node.POLL] = self._poll_interval(loop, inside, count)
        _set_moves(words, self._moves(loop))
        return words

    def _poll_interval(self, loop: Loop, inside: dict[str, int], count: int) -> int:
        """Every how many iterations a loop looks for interruption: a look costs as much as a small
        kernel call, and loops that are over soon leave it to the loop around them."""
        once = max(1, self._work(loop.body, inside))
        if once * count < POLL_WORK:
            return 0
        return 1 << max(0, (POLL_WORK // once).bit_length() - 1)

    def _region(self, loop: Loop, blocks: dict[str, int]) -> Words:
        depth, innermost = 1, loop
        while (
            len(innermost.body) == 1
            and isinstance(innermost.body[0], Loop)
            and innermost.body[0].exec == ExecType.SHARED
            and depth < len(AxisSlot)
        ):
            depth, innermost = depth + 1, innermost.body[0]
        words = np.zeros(Node.WORDS, np.int64)
        words[Node.KIND] = NodeKind.REGION
        words[Node.CHILD] = self.image.keep(self._loop(loop, blocks, True))
        words[Node.DEPTH] = depth
        words[Node.SHARES] = self.schedule.shares
        private = [(PACK_SLOTS[t], p.bytes, 0) for t, p in self.panels.items() if p.private]
        _set_moves(words, [(int(slot), size, table) for slot, size, table in private])
        return words

    def _moves(self, loop: Loop) -> list[tuple[int, int, int]]:
        moves = []
        axis = self._axis(loop.axis)
        tensors = [*range(len(self.op.tensors)), *([BIAS] if self.biased else [])]
        for tensor in tensors:
            actual = self.op.out if tensor == BIAS else tensor
            if loop.anew:
                if step := self._displaced(loop.axis, actual, loop.block):
                    moves.append((int(self._slot(tensor)), step, 0))
                continue
            if (loop.axis, actual) in self.tabled:
                continue
            if axis.stride(actual) is None:
                moves.append((int(self._slot(tensor)), 0, self._table(loop.axis, actual)))
            elif step := self._step(loop.axis, actual):
                moves.append((int(self._slot(tensor)), step * loop.block, 0))
        return moves

    def _work(self, body: tuple[Step, ...], blocks: dict[str, int]) -> int:
        """Multiply-adds, or elements, of one run of a body."""
        total = 0
        for step in body:
            if isinstance(step, Loop):
                count, inside = _iterations(step, blocks)
                total += count * self._work(step.body, inside)
            elif isinstance(step, Call):
                points = 1
                for name in step.axes:
                    points *= blocks.get(name, 1)
                total += points
        return total

    def _calls(self, body: tuple[Step, ...], blocks: dict[str, int]) -> int:
        total = 0
        for step in body:
            if isinstance(step, Loop):
                count, inside = _iterations(step, blocks)
                total += count * self._calls(step.body, inside)
            else:
                total += 1
        return total

    # descriptors

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


def _iterations(loop: Loop, blocks: dict[str, int]) -> tuple[int, dict[str, int]]:
    """How many iterations a loop has, and the blocks of all axes in the first."""
    room, block = blocks[loop.axis], min(loop.block, blocks[loop.axis])
    return -(-room // block), {**blocks, loop.axis: block}
