"""Bind schedules to machine words: nodes for the driver, descriptors and tables for the kernels.

In goes a `Schedule`, or several that run one after the other and hand on temporaries; out come a
`Bound` (runtime.py), which is data only, and the kernels that it names: no address is in it, and no
kernel is loaded or compiled yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tensorop.bind_calls import CallWords
from tensorop.bind_staged import staged_copy
from tensorop.bind_tables import AXIS_SLOTS, PACK_SLOTS, Around, Part
from tensorop.ir import DimType, ExecType
from tensorop.jit.abi import Frame, Node
from tensorop.jit.image import REFERENCE, Image
from tensorop.jit.kernel import Kernel
from tensorop.jit.lines import LINE
from tensorop.jit.slots import AxisSlot, NodeKind, Slot
from tensorop.jit.tables import Words
from tensorop.jit.target import Target
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


class _Binder(CallWords):
    """Writes the nodes of a schedule."""

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
        return [*moves, *self.passed.get(id(loop), ())]

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


def _iterations(loop: Loop, blocks: dict[str, int]) -> tuple[int, dict[str, int]]:
    """How many iterations a loop has, and the blocks of all axes in the first."""
    room, block = blocks[loop.axis], min(loop.block, blocks[loop.axis])
    return -(-room // block), {**blocks, loop.axis: block}
