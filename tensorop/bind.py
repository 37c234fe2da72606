"""Bind a schedule to machine words: nodes for the driver, descriptors and tables for the kernels.

In goes a `Schedule`, out comes a `Bound`: the address of the first node, a frame to start from, and
how much scratch a call needs. Every kernel the schedule names is compiled here if it does not exist
yet. A Bound is immutable and holds no scratch, so any number of threads can run it at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import gcd, prod

import numpy as np

from tensorop.ir import (
    BIAS,
    Axis,
    Call,
    DimType,
    ExecType,
    Loop,
    Pack,
    Schedule,
    Step,
)
from tensorop.jit.abi import AxisSlot, Frame, Node, NodeKind, Slot, When
from tensorop.jit.compiler import kernel_address
from tensorop.jit.copy import LARGEST_TILE, CopyDescriptor, CopyKernel
from tensorop.jit.elements import Element, element
from tensorop.jit.gemm import GemmKernel, GemmWord
from tensorop.jit.stream import StreamDescriptor
from tensorop.jit.tables import Words, chunks, offsets
from tensorop.jit.target import Target

_AXIS_SLOTS = {
    "M": AxisSlot.M,
    "N": AxisSlot.N,
    "K": AxisSlot.K,
    "BR": AxisSlot.BR,
    "X": AxisSlot.X,
    "Y": AxisSlot.Y,
    "": AxisSlot.SPARE1,  # an axis that an operation does not have: one position
}
_PACK_SLOTS = (Slot.PACK0, Slot.PACK1)
POLL_WORK = 1_000_000  # multiply-adds between two looks for interruption, about
LONG_WORK = 2_000_000  # above which other Python threads may run meanwhile
MIN_GROUP = 4  # lanes of a group, below which transposing lanes with lanes does not pay
_LINE = 64


@dataclass(frozen=True, slots=True)
class Bound:
    """A schedule as words.

    node: address of the first node. frame: the words a call starts from (addresses of the operands
    are added by the call). scratch: bytes, and at which offset each slot's buffer begins.
    """

    node: int
    frame: Words
    scratch_bytes: int
    scratch_slots: tuple[tuple[int, int], ...]
    long: bool
    shares: int
    kept: tuple[Words, ...] = field(repr=False)


def bind(schedule: Schedule, target: Target) -> Bound:
    """Compile what is missing and write the words.

    Parameters
    ----------
    schedule : Schedule
    target : Target
        Instruction set of the kernels.
    """
    return _Binder(schedule, target).bound()


@dataclass(frozen=True, slots=True)
class _Panels:
    """Where the panels of one packed tensor lie: block sizes and strides in bytes."""

    pack: Pack
    lanes_block: int
    depth_block: int
    row: int
    panel: int
    plane: int
    private: bool  # every share of a region has panels of its own

    @property
    def bytes(self) -> int:
        total = -(-self.lanes_block // self.pack.width) * self.panel
        return -(-total // _LINE) * _LINE


class _Binder:
    def __init__(self, schedule: Schedule, target: Target) -> None:
        self.schedule, self.target, self.op = schedule, target, schedule.op
        self.kept: list[Words] = []
        self.sizes = {axis.name: axis.size for axis in schedule.axes}
        self.tables: dict[tuple[str, int], int] = {}
        self.panels: dict[int, _Panels] = {}
        self._find_panels(schedule.body, dict(self.sizes), {}, frozenset())
        self.tabled = self._tabled()
        self.biased = any(
            BIAS in step.tensors for _, step in schedule.steps() if isinstance(step, Call)
        )

    # what the schedule implies

    def _find_panels(
        self,
        body: tuple[Step, ...],
        blocks: dict[str, int],
        packs: dict[Pack, frozenset[int]],
        sharing: frozenset[int],
    ) -> None:
        """Panels are as large as the blocks of the matrix product that reads them, and private to
        a share where one SHARED loop holds both the packing and the product. `packs` maps what is
        packed before a step to the SHARED loops around it; `sharing`: those around this body."""
        for step in body:
            if isinstance(step, Loop):
                inside = {**blocks, step.axis: min(step.block, blocks[step.axis])}
                shared = step.exec == ExecType.SHARED
                around = sharing | {id(step)} if shared else sharing
                self._find_panels(step.body, inside, packs, around)
            elif isinstance(step, Pack):
                packs[step] = sharing
            elif isinstance(step.kernel, GemmKernel):
                for pack, around in packs.items():
                    panels = self._panel(pack, blocks, bool(around & sharing))
                    self.panels[pack.tensor] = panels

    def _panel(self, pack: Pack, blocks: dict[str, int], private: bool) -> _Panels:
        kind = self._element(pack.tensor).accumulator
        depth = blocks[pack.depth]
        row = pack.width * kind.size
        return _Panels(
            pack, blocks[pack.lanes], depth, row, depth * row, pack.width * kind.part, private
        )

    def _tabled(self) -> set[tuple[str, int]]:
        """Which axes of which tensors kernels address through tables: loops leave them alone."""
        out = self.op.out
        found = {(name, t) for t, p in self.panels.items() for name in (p.pack.lanes, p.pack.depth)}
        for _, step in self.schedule.steps():
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
        if tensor == BIAS:
            return Slot.AUX
        return Slot.OUT if tensor == self.op.out else Slot(tensor)

    def _axis(self, name: str) -> Axis:
        return self.schedule.axis(name) if name else Axis("", DimType.C, ())

    # words

    def _keep(self, words: Words) -> int:
        words = np.ascontiguousarray(words, np.int64)
        self.kept.append(words)
        return int(words.ctypes.data)

    def _offsets(self, name: str, tensor: int) -> Words:
        return offsets(self._axis(name), tensor, self._element(tensor).size)

    def _table(self, name: str, tensor: int) -> int:
        """The address of an axis' table of byte offsets in a tensor."""
        key = (name, tensor)
        if key not in self.tables:
            self.tables[key] = self._keep(self._offsets(name, tensor))
        return self.tables[key]

    def _step(self, name: str, tensor: int) -> int:
        """Bytes between neighbours on an axis that is affine in a tensor."""
        tensor = self.op.out if tensor == BIAS else tensor
        stride = self._axis(name).stride(tensor)
        if stride is None:
            raise ValueError(f"axis {name} has no single stride in tensor {tensor}")
        return stride * self._element(tensor).size

    # the whole

    def bound(self) -> Bound:
        node = self._body(self.schedule.body, dict(self.sizes), False)
        frame = np.zeros(Frame.WORDS, np.int64)
        frame[Frame.FIRST] = frame[Frame.LAST] = 1
        frame[Frame.SIZE : Frame.SIZE + len(AxisSlot)] = 1
        for name, size in self.sizes.items():
            if name in _AXIS_SLOTS:
                frame[Frame.SIZE + _AXIS_SLOTS[name]] = size
        used, slots = 0, []
        for tensor, panels in sorted(self.panels.items()):
            slots.append((int(_PACK_SLOTS[tensor]), used))
            used += panels.bytes * (self.schedule.shares if panels.private else 1)
        work = self._work(self.schedule.body, dict(self.sizes))
        return Bound(
            node,
            frame,
            used,
            tuple(slots),
            work >= LONG_WORK,
            self.schedule.shares,
            tuple(self.kept),
        )

    def _body(self, body: tuple[Step, ...], blocks: dict[str, int], region: bool) -> int:
        """Write a body, last step first; the address of its first node."""
        following = 0
        for step in reversed(body):
            if isinstance(step, Loop):
                words = self._loop(step, blocks, region)
            elif isinstance(step, Pack):
                words = self._call(self._copy_kernel(step), self._pack_words(step), "always")
            else:
                words = self._call(step.kernel, self._descriptor(step), step.when)
            words[Node.NEXT] = following
            following = self._keep(words)
        return following

    def _call(self, kernel: object, descriptor: Words, when: str) -> Words:
        words = np.zeros(Node.WORDS, np.int64)
        words[Node.KIND] = NodeKind.CALL
        words[Node.KERNEL] = kernel_address(kernel, self.target)  # type: ignore[arg-type]
        words[Node.DESCRIPTOR] = self._keep(descriptor)
        words[Node.WHEN] = When[when.upper()]
        return words

    # loops

    def _loop(self, loop: Loop, blocks: dict[str, int], region: bool) -> Words:
        if loop.exec == ExecType.SHARED and not region and self.schedule.shares > 1:
            return self._region(loop, blocks)
        inside = {**blocks, loop.axis: min(loop.block, blocks[loop.axis])}
        words = np.zeros(Node.WORDS, np.int64)
        words[Node.KIND] = NodeKind.LOOP
        words[Node.CHILD] = self._body(loop.body, inside, region)
        slot = _AXIS_SLOTS.get(loop.axis, -1)
        words[Node.AXIS] = slot
        words[Node.EXTENT] = self.sizes[loop.axis] if slot < 0 else -1
        words[Node.BLOCK] = loop.block
        words[Node.KLOOP] = self._axis(loop.axis).type == DimType.K
        words[Node.POLL] = self._poll_interval(loop, blocks, inside)
        self._set_moves(words, self._moves(loop))
        return words

    def _poll_interval(self, loop: Loop, blocks: dict[str, int], inside: dict[str, int]) -> int:
        """Every how many iterations a loop looks for interruption: a look costs as much as a small
        kernel call, and loops that are over soon leave it to the loop around them."""
        once = max(1, self._work(loop.body, inside))
        count = -(-blocks[loop.axis] // inside[loop.axis])
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
        words[Node.CHILD] = self._keep(self._loop(loop, blocks, True))
        words[Node.DEPTH] = depth
        words[Node.SHARES] = self.schedule.shares
        private = [(_PACK_SLOTS[t], p.bytes, 0) for t, p in self.panels.items() if p.private]
        self._set_moves(words, [(int(slot), size, table) for slot, size, table in private])
        return words

    def _moves(self, loop: Loop) -> list[tuple[int, int, int]]:
        moves = []
        axis = self._axis(loop.axis)
        tensors = [*range(len(self.op.tensors)), *([BIAS] if self.biased else [])]
        for tensor in tensors:
            actual = self.op.out if tensor == BIAS else tensor
            if (loop.axis, actual) in self.tabled:
                continue
            if axis.stride(actual) is None:
                moves.append((int(self._slot(tensor)), 0, self._table(loop.axis, actual)))
            elif step := self._step(loop.axis, actual):
                moves.append((int(self._slot(tensor)), step * loop.block, 0))
        return moves

    def _set_moves(self, words: Words, moves: list[tuple[int, int, int]]) -> None:
        words[Node.MOVES] = len(moves)
        for i, move in enumerate(moves):
            first = Node.FIRST_MOVE + 3 * i
            words[first : first + 3] = move

    def _work(self, body: tuple[Step, ...], blocks: dict[str, int]) -> int:
        """Multiply-adds, or elements, of one run of a body."""
        total = 0
        for step in body:
            if isinstance(step, Loop):
                room, block = blocks[step.axis], min(step.block, blocks[step.axis])
                inside = {**blocks, step.axis: block}
                total += -(-room // block) * self._work(step.body, inside)
            elif isinstance(step, Call):
                points = 1
                for name in step.axes:
                    points *= blocks.get(name, 1)
                total += points
        return total

    # descriptors

    def _descriptor(self, call: Call) -> Words:
        if isinstance(call.kernel, GemmKernel):
            return self._gemm_words(call)
        if isinstance(call.kernel, CopyKernel):
            return self._copy_words(call)
        return self._stream_words(call)

    def _gemm_words(self, call: Call) -> Words:
        d, kernel = GemmWord, call.kernel
        m, n, k = call.axes[:3]
        words = np.zeros(max(d) + 1, np.int64)
        for tensor, slot, panel, how in (
            (0, d.A_SLOT, d.A_PANEL, kernel.a),
            (1, d.B_SLOT, d.B_PANEL, kernel.b),
        ):
            if how == "packed":
                words[slot] = _PACK_SLOTS[tensor]
                words[panel] = self.panels[tensor].panel
            else:
                words[slot] = self._slot(tensor)
        if kernel.a == "direct":
            words[d.A_K] = self._step(k, 0)
        if kernel.b == "direct":
            words[d.B_K], words[d.B_N] = self._step(k, 1), self._step(n, 1)
        if kernel.batch_reduce:
            br = call.axes[3]
            words[d.A_BR], words[d.B_BR] = self._step(br, 0), self._step(br, 1)
            words[d.B_NEXT] = self._next_block(call)
        out = self.op.out
        words[d.C_N_TABLE], words[d.C_M_TABLE] = self._table(n, out), self._table(m, out)
        if kernel.store == "scatter":
            size = self._element(out).size
            rows = kernel.rows(self.target)
            records, begin = chunks(self._offsets(m, out), size, kernel.lanes(self.target), rows)
            words[d.C_M_CHUNKS], words[d.C_M_BEGIN] = self._keep(records), self._keep(begin)
        return words

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
        around = [loop for loop in self._loops_around(self.schedule.body, call)]
        moving = [loop for loop in around if self._axis(loop.axis).stride(1)]
        follows = bool(moving) and self._axis(moving[-1].axis).stride(1) == size
        return size * self._element(1).size if follows else 0

    def _stream_words(self, call: Call) -> Words:
        d, (x, y) = StreamDescriptor, call.axes
        words = np.zeros(max(d) + 1, np.int64)
        words[d.X_AXIS], words[d.Y_AXIS] = _AXIS_SLOTS[x], _AXIS_SLOTS[y]
        names = ("IN0", "IN1", "OUT") if len(call.tensors) == 3 else ("IN0", "OUT")
        for tensor, name in zip(call.tensors, names, strict=True):
            words[d[f"{name}_SLOT"]] = self._slot(tensor)
            words[d[f"X_{name}"]], words[d[f"Y_{name}"]] = self._step(x, tensor), self._step(
                y, tensor
            )
        return words

    def _copy_words(self, call: Call) -> Words:
        """A copy between two layouts: positions of both axes by absolute tables."""
        d, (x, y), (source, target) = CopyDescriptor, call.axes, call.tensors
        size = self._element(source).size
        words = np.zeros(max(d) + 1, np.int64)
        words[d.SOURCE_SLOT], words[d.TARGET_SLOT] = self._slot(source), self._slot(target)
        self._set_y(words, y, source, self._offsets(y, target))
        granule, reached = self._blocks_of(x), self._offsets(x, target)
        if call.kernel.mode == "along":  # runs must be consecutive on both sides
            read = self._offsets(x, source)
            records, begin = chunks(_common_runs(read, reached, size), size, granule, granule)
            records[:, 1] = read[records[:, 0]]
            words[d.X_AXIS], words[d.X_GRANULE] = _AXIS_SLOTS[x], granule
            words[d.X_CHUNKS], words[d.X_BEGIN] = self._keep(records), self._keep(begin)
            words[d.X_TARGET] = self._keep(reached)
            return words
        lanes = call.kernel.lanes(self.target)
        self._set_x(words, x, source, lanes, granule, reached)
        self._set_y_chunks(words, self._offsets(y, target), size, lanes, self._blocks_of(y))
        self._set_z(words, "", np.zeros(1, np.int64), np.zeros(1, np.int64))
        return words

    def _blocks_of(self, name: str) -> int:
        """The block length of an axis at the innermost loop over it."""
        block = max(1, self.sizes[name])
        for _, step in self.schedule.steps():
            if isinstance(step, Loop) and step.axis == name:
                block = min(block, step.block)
        return block

    # packing

    def _copy_kernel(self, pack: Pack) -> CopyKernel:
        tensor = self.op.tensors[pack.tensor]
        kind = element(tensor.dtype)
        return CopyKernel(
            tensor.dtype,
            kind.accumulator.name,
            "along" if self._way(pack) == "along" else "across",
            conj=tensor.conj and kind.parts == 2,
            planar=kind.parts == 2,
            tile=self._tile(pack),
        )

    def _tile(self, pack: Pack) -> int:
        """Lanes of the tiles that a pack transposes: runs of a panel's lanes fill them."""
        way = self._way(pack)
        if way == "along":
            return LARGEST_TILE
        run = pack.width if way == "across" else self._group(pack)
        return min(LARGEST_TILE, run & -run) if run > 1 else LARGEST_TILE

    def _way(self, pack: Pack) -> str:
        """How a tensor gets into its panels: `along` where the lanes are consecutive in the source
        (or nothing is), `across` where the depth is, `within` where another part of the lanes
        is than the fastest: lanes are then transposed with lanes."""
        lanes, depth = self._axis(pack.lanes), self._axis(pack.depth)
        consecutive = [d.strides[pack.tensor] == 1 for d in lanes.dimensions]
        if any(d.strides[pack.tensor] == 1 for d in depth.dimensions) and not any(consecutive[-1:]):
            return "across"
        if any(consecutive[:-1]) and self._group(pack) >= MIN_GROUP:
            return "within"
        return "along"

    def _group(self, pack: Pack) -> int:
        """Lanes of a panel that belong to one run of the fastest dimension, wherever it starts."""
        return gcd(pack.width, self._axis(pack.lanes).dimensions[-1].size)

    def _pack_words(self, pack: Pack) -> Words:
        d, panels, t = CopyDescriptor, self.panels[pack.tensor], pack.tensor
        kernel, way = self._copy_kernel(pack), self._way(pack)
        kind = self._element(t).accumulator
        step = kind.part if kernel.planar else kind.size
        kind_size = self._element(t).size
        product = next(c for _, c in self.schedule.steps() if isinstance(c, Call))
        lanes_at = self._in_block(pack.lanes, product)
        lanes = lanes_at // pack.width * panels.panel + lanes_at % pack.width * step
        depth = self._in_block(pack.depth, product) * panels.row
        words = np.zeros(max(d) + 1, np.int64)
        words[d.SOURCE_SLOT], words[d.TARGET_SLOT] = self._slot(t), _PACK_SLOTS[t]
        words[d.PLANE] = panels.plane
        words[d.WIDTH], words[d.ROW] = pack.width, panels.row
        words[d.LANES_TARGET] = self._keep(lanes)
        words[d.LANES_AXIS], words[d.DEPTH_AXIS] = _AXIS_SLOTS[pack.lanes], _AXIS_SLOTS[pack.depth]
        vector = kernel.lanes(self.target)
        if way == "along":
            self._set_x(words, pack.lanes, t, pack.width, pack.width, lanes)
            self._set_y(words, pack.depth, t, depth)
        elif way == "across":
            # In the order of addresses, so that any consecutive dimension of the depth makes runs.
            source, block = self._offsets(pack.depth, t), panels.depth_block
            order = np.lexsort((source, np.arange(len(source)) // block))
            self._set_x_order(
                words, pack.depth, source[order], kind_size, vector, block, depth[order]
            )
            self._set_y(words, pack.lanes, t, lanes)
            self._set_y_chunks(words, lanes, step, vector, pack.width)
            self._set_z(words, "", np.zeros(1, np.int64), np.zeros(1, np.int64))
        else:
            self._set_within(words, pack, lanes, step, vector)
            self._set_z(words, pack.depth, self._offsets(pack.depth, t), depth)
        return words

    def _set_x(
        self, words: Words, name: str, tensor: int, longest: int, granule: int, target: Words
    ) -> None:
        d, size = CopyDescriptor, self._element(tensor).size
        self._set_x_order(words, name, self._offsets(name, tensor), size, longest, granule, target)

    def _set_x_order(
        self,
        words: Words,
        name: str,
        source: Words,
        size: int,
        longest: int,
        granule: int,
        target: Words,
    ) -> None:
        d = CopyDescriptor
        records, begin = chunks(source, size, longest, granule)
        words[d.X_AXIS], words[d.X_GRANULE] = _AXIS_SLOTS[name], granule
        words[d.X_CHUNKS], words[d.X_BEGIN] = self._keep(records), self._keep(begin)
        words[d.X_TARGET] = self._keep(target)

    def _set_y(self, words: Words, name: str, tensor: int, target: Words) -> None:
        d = CopyDescriptor
        words[d.Y_AXIS] = _AXIS_SLOTS[name]
        words[d.Y_SOURCE], words[d.Y_TARGET] = self._table(name, tensor), self._keep(target)

    def _set_y_chunks(
        self, words: Words, target: Words, step: int, longest: int, granule: int
    ) -> None:
        d = CopyDescriptor
        records, begin = chunks(target, step, longest, granule)
        words[d.Y_CHUNKS], words[d.Y_BEGIN] = self._keep(records), self._keep(begin)
        words[d.Y_GRANULE] = granule

    def _set_z(self, words: Words, name: str, source: Words, target: Words) -> None:
        d = CopyDescriptor
        words[d.Z_AXIS] = _AXIS_SLOTS[name]
        words[d.Z_SOURCE], words[d.Z_TARGET] = self._keep(source), self._keep(target)

    def _set_within(
        self, words: Words, pack: Pack, lanes: Words, step: int, vector: int
    ) -> None:
        """X: the groups of a block in the order of their addresses, so that they form runs along
        the consecutive dimension; Y: the lanes of a group; Z: the depth."""
        d, t, group = CopyDescriptor, pack.tensor, self._group(pack)
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
        words[d.X_AXIS], words[d.X_GRANULE] = _AXIS_SLOTS[pack.lanes], pack.width
        words[d.X_CHUNKS], words[d.X_BEGIN] = self._keep(records), self._keep(begin)
        words[d.X_TARGET] = self._keep(lanes[order])
        words[d.Y_AXIS] = _AXIS_SLOTS[""]
        words[d.Y_SOURCE] = self._keep(source[:group])
        self._set_y_chunks(words, np.arange(group, dtype=np.int64) * step, step, vector, group)

    def _in_block(self, name: str, step: Step) -> Words:
        """Every position of an axis, counted from the beginning of the block it is in where a step
        runs. Blocks of an inner loop begin anew in every block of an outer one."""
        position = np.arange(self._axis(name).size, dtype=np.int64)
        for loop in self._loops_around(self.schedule.body, step):
            if loop.axis == name:
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


def _common_runs(source: Words, target: Words, size: int) -> Words:
    """Offsets whose runs are the runs of both tables: broken wherever either is."""
    broken = np.zeros(len(source), np.int64)
    broken[1:] = (np.diff(source) != size) | (np.diff(target) != size)
    return np.arange(len(source), dtype=np.int64) * size + np.cumsum(broken) * size


