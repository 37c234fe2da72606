"""What binding a schedule starts from: where panels lie, which axes go by tables, and the tables.

`ScheduleTables` answers the questions that nodes and descriptors (`bind.py`, `bind_copies.py`)
ask of a schedule, and keeps the words that they point to.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorop.ir import DimType, ExecType
from tensorop.jit.abi import Node
from tensorop.jit.copy_abi import CopyKernel
from tensorop.jit.elements import Element, element
from tensorop.jit.gemm_abi import GemmKernel
from tensorop.jit.image import Image
from tensorop.jit.kernel import Kernel
from tensorop.jit.lines import LINE
from tensorop.jit.slots import AxisSlot, NodeKind, Slot, When
from tensorop.jit.tables import Words, offsets
from tensorop.jit.target import Target
from tensorop.optimizer.window import window_of
from tensorop.schedule import BIAS, Axis, Call, Loop, Pack, Schedule, Step
from tensorop.tuples import NamedTuple

AXIS_SLOTS = {
    "M": AxisSlot.M,
    "N": AxisSlot.N,
    "K": AxisSlot.K,
    "BR": AxisSlot.BR,
    "X": AxisSlot.X,
    "Y": AxisSlot.Y,
    "Z": AxisSlot.SPARE0,  # the regions of a staged copy
    "": AxisSlot.SPARE1,  # an axis that an operation does not have: one position
}
OPERANDS = (Slot.IN0, Slot.IN1)
PACK_SLOTS = (Slot.PACK0, Slot.PACK1)
TEMPORARIES = (Slot.SPARE0, Slot.SPARE1)  # of what one part of a plan leaves to another


class Panels(NamedTuple):
    """Where the panels of one packed tensor lie: block sizes and strides in bytes.

    row: of `together` positions along the depth, of every lane; lane: from one lane to the next.
    """

    pack: Pack
    lanes_block: int
    depth_block: int
    row: int
    panel: int
    plane: int
    private: bool  # every share of a region has panels of its own
    together: int = 1
    lane: int = 0

    @property
    def in_lines(self) -> bool:
        """Whether every lane has lines along the depth."""
        return self.lane == LINE

    @property
    def bytes(self) -> int:
        total = -(-self.lanes_block // self.pack.width) * self.panel
        return -(-total // LINE) * LINE


class Part(NamedTuple):
    """A schedule, and the slots of the frame that its tensors are in, each input's and out's.

    further: how many bytes further than where a slot says each of them begins; none: no bytes.
    sums: in a chain that is a loop over K, whether what it writes is summed over that loop, or its
    sums are its own (None: there is no such loop).
    """

    schedule: Schedule
    slots: tuple[Slot, ...]
    further: tuple[int, ...] = ()
    sums: bool | None = None

    @staticmethod
    def alone(schedule: Schedule) -> Part:
        """What runs on a call's operands."""
        return Part(schedule, (*OPERANDS[: schedule.op.out], Slot.OUT))


class Around(NamedTuple):
    """A loop around the parts of a chain, piece by piece.

    number: of pieces. moves: bytes from one piece to the next, by the slots that move. shares: how
    many threads divide the pieces among themselves, each with temporaries of its own. sums: it is
    a loop over K. rest: parts of what is left when all pieces are done.
    """

    number: int
    moves: tuple[tuple[Slot, int], ...]
    shares: int
    sums: bool
    rest: tuple[Part, ...]


class _Packed(NamedTuple):
    """Where panels are good for: the loops that the packing and what follows are both in, and the
    blocks of all axes there."""

    around: tuple[Loop, ...]
    blocks: dict[str, int]


class ScheduleTables:
    """A schedule, and the tables made for it so far, which an image gathers.

    passed: by the identity of a loop, how it goes from one part of panels to the next.
    """

    def __init__(self, part: Part, target: Target, image: Image) -> None:
        schedule = part.schedule
        self.schedule, self.target, self.op = schedule, target, schedule.op
        self.image, self.slots, self.further, self.sums = image, *part[1:]
        self.steps = [step for _, step in schedule.steps()]
        self.sizes = {axis.name: axis.size for axis in schedule.axes}
        self.windows = {axis.name: self._window(axis) for axis in schedule.axes}
        self.tables: dict[tuple[str, int], int] = {}
        self.panels: dict[int, Panels] = {}
        self.passed: dict[int, list[tuple[int, int, int]]] = {}
        self._find_panels(schedule.body, dict(self.sizes), {})
        self.tabled = self._tabled()
        self.biased = any(BIAS in step.tensors for step in self.steps if isinstance(step, Call))

    def _find_panels(
        self,
        body: tuple[Step, ...],
        blocks: dict[str, int],
        packs: dict[Pack, _Packed],
        around: tuple[Loop, ...] = (),
    ) -> None:
        """Panels are as large as the block in which both the packing and the product are, and
        private to a share where one SHARED loop holds both. Loops further inside over their lanes
        go from one part of them to the next. `packs`: what is packed before a step; `around`: the
        loops around this body."""
        for step in body:
            if isinstance(step, Loop):
                before = set(packs)
                part = {**blocks, step.axis: min(step.block, blocks[step.axis])}
                self._find_panels(step.body, part, packs, (*around, step))
                for pack in packs.keys() - before:
                    packs[pack] = _Packed(around, blocks)
            elif isinstance(step, Pack):
                packs[step] = _Packed(around, blocks)
            elif isinstance(step.kernel, GemmKernel):
                for pack, (common, held) in packs.items():
                    room = {**blocks, pack.lanes: held[pack.lanes]}
                    private = any(loop.exec == ExecType.SHARED for loop in common)
                    self.panels[pack.tensor] = panels = self._panel(
                        pack, step.kernel, room, private
                    )
                    for loop in around[len(common) :]:
                        if loop.axis == pack.lanes:
                            parts = loop.block // pack.width * panels.panel
                            move = int(PACK_SLOTS[pack.tensor]), parts, 0
                            self.passed.setdefault(id(loop), []).append(move)

    def _panel(
        self, pack: Pack, kernel: GemmKernel, blocks: dict[str, int], private: bool
    ) -> Panels:
        kind = self._element(self.op.out).accumulator
        depth, lanes, plane = blocks[pack.depth], blocks[pack.lanes], pack.width * kind.part
        together, lane, size = kernel.together, kind.part, kind.size
        if kernel.in_lines(pack.tensor):
            together, lane, size = LINE // self._element(pack.tensor).size, LINE, LINE
        row = pack.width * size
        panel = -(-depth // together) * row
        return Panels(pack, lanes, depth, row, panel, plane, private, together, lane)

    def _tabled(self) -> set[tuple[str, int]]:
        """Which axes of which tensors kernels address through tables: loops leave them alone."""
        out = self.op.out
        found = {(name, t) for t, p in self.panels.items() for name in (p.pack.lanes, p.pack.depth)}
        for step in self.steps:
            if not isinstance(step, Call):
                continue
            if isinstance(step.kernel, CopyKernel):
                found |= {(axis, t) for axis in step.axes for t in step.tensors}
            elif isinstance(step.kernel, GemmKernel):
                found |= {(step.axes[0], out), (step.axes[1], out)}
        return found

    def _element(self, tensor: int) -> Element:
        return element(self.op.tensors[tensor].dtype)

    def _slot(self, tensor: int) -> Slot:
        return Slot.AUX if tensor == BIAS else self.slots[tensor]

    def _axis(self, name: str) -> Axis:
        return self.schedule.axis(name) if name else Axis("", DimType.C, ())

    def _window(self, axis: Axis) -> Axis:
        """What tables have of an axis: the part that a loop counts anew in."""
        anew = [step for step in self.steps if isinstance(step, Loop) and step.anew]
        return window_of(axis, tuple([x.block for x in anew if x.axis == axis.name]))

    def _tabled_axis(self, name: str) -> Axis:
        return self.windows[name] if name else self._axis(name)

    def _offsets(self, name: str, tensor: int) -> Words:
        return offsets(self._tabled_axis(name), tensor, self._element(tensor).size)

    def _table(self, name: str, tensor: int) -> int:
        """An axis' table of byte offsets in a tensor."""
        key = (name, tensor)
        if key not in self.tables:
            self.tables[key] = self.image.keep(self._offsets(name, tensor))
        return self.tables[key]

    def _step(self, name: str, tensor: int) -> int:
        """Bytes between neighbours on an axis that is affine in a tensor."""
        tensor = self.op.out if tensor == BIAS else tensor
        stride = self._axis(name).stride(tensor)
        if stride is None:
            raise ValueError(f"axis {name} has no single stride in tensor {tensor}")
        return stride * self._element(tensor).size

    def _displaced(self, name: str, tensor: int, position: int) -> int:
        """Bytes from the beginning of an axis to a position of it."""
        offset = 0
        for d in reversed(self._axis(name).dimensions):
            position, index = divmod(position, d.size)
            offset += index * d.strides[tensor]
        return offset * self._element(tensor).size

    def _call(self, kernel: Kernel, descriptor: Words, when: str) -> Words:
        """A node that calls a kernel."""
        words = np.zeros(Node.WORDS, np.int64)
        words[Node.KIND] = NodeKind.CALL
        words[Node.KERNEL] = self.image.kernel(kernel)
        words[Node.DESCRIPTOR] = self.image.keep(descriptor)
        words[Node.WHEN] = When[when.upper()]
        return words

    def _in_block(self, name: str, *steps: Step) -> Words:
        """Every position of an axis, counted from the beginning of the block it is in where all of
        some steps run. Blocks of an inner loop begin anew in every block of an outer one."""
        position = np.arange(self._tabled_axis(name).size, dtype=np.int64)
        first, *others = (self._loops_around(self.schedule.body, step) for step in steps)
        for loop in first:
            common = all(any(loop is each for each in loops) for loops in others)
            if loop.axis == name and not loop.anew and common:
                position %= loop.block
        return position

    def _loops_around(self, body: tuple[Step, ...], wanted: Step) -> tuple[Loop, ...]:
        """The loops that hold a step, outermost first."""
        for step in body:
            if step is wanted:
                return ()
            if isinstance(step, Loop) and any(s is wanted for s in _inside(step.body)):
                return (step, *self._loops_around(step.body, wanted))
        return ()


def _inside(body: tuple[Step, ...]) -> Iterator[Step]:
    """Every step of a body, at any depth."""
    for step in body:
        yield step
        if isinstance(step, Loop):
            yield from _inside(step.body)
