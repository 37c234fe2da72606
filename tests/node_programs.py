"""Programs of driver nodes for tests: as a tree, as words, and their plain meaning.

`Words` lays a tree out as `jit/abi.py` says; `interpret` says, in Python and without any of the
driver's tricks, which kernel calls it stands for and what the frame holds at each.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from tensorop import runtime
from tensorop.jit.abi import CallRecord, Frame, Node
from tensorop.jit.builder import WORD, Code
from tensorop.jit.library import load_linked
from tensorop.jit.slots import NodeKind, Slot, When
from tensorop.jit.target import current_target

ROW = 32  # words of a row of the log: the frame but for its last word, and the call's name


@dataclass(frozen=True)
class Move:
    slot: int
    stride: int = 0
    table: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Loop:
    body: tuple[Step, ...]
    axis: int = -1
    extent: int = -1
    block: int = 1
    kloop: int = 0
    poll: bool = False
    anew: bool = False
    begin: int = 0
    moves: tuple[Move, ...] = ()


@dataclass(frozen=True)
class Call:
    name: int
    when: When = When.ALWAYS


@dataclass(frozen=True)
class Region:
    loop: Loop
    depth: int = 1
    shares: int = 1
    moves: tuple[Move, ...] = ()


Step = Loop | Call | Region


# as words


@dataclass
class Words:
    """Nodes, tables and descriptors at fixed addresses, and the log that calls are recorded in."""

    rows: int
    kernel: int = 0
    descriptor: tuple[int, ...] = ()  # of calls of that kernel
    kept: list[np.ndarray] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.log = np.zeros((self.rows + 1, ROW), np.int64)
        self.kernel = self.kernel or recorder()

    def keep(self, values: object) -> int:
        words = np.array(values, np.int64)
        self.kept.append(words)
        return words.ctypes.data

    def body(self, steps: tuple[Step, ...]) -> int:
        following = 0
        for step in reversed(steps):
            following = self.step(step, following)
        return following

    def step(self, step: Step, following: int) -> int:
        node = np.zeros(Node.WORDS, np.int64)
        node[Node.NEXT] = following
        if isinstance(step, Call):
            node[Node.KIND] = NodeKind.CALL
            node[Node.KERNEL] = self.kernel
            recording = (self.log.ctypes.data, step.name, self.rows)
            node[Node.DESCRIPTOR] = self.keep(self.descriptor or recording)
            node[Node.WHEN] = step.when
        elif isinstance(step, Loop):
            node[Node.KIND] = NodeKind.LOOP
            node[Node.CHILD] = self.body(step.body)
            node[Node.AXIS], node[Node.EXTENT] = step.axis, step.extent
            node[Node.BLOCK], node[Node.KLOOP] = step.block, step.kloop
            node[Node.POLL], node[Node.ANEW] = step.poll, step.anew
            node[Node.BEGIN] = step.begin
            self.moves(node, step.moves)
        else:
            node[Node.KIND] = NodeKind.REGION
            node[Node.CHILD] = self.step(step.loop, 0)
            node[Node.DEPTH], node[Node.SHARES] = step.depth, step.shares
            self.moves(node, step.moves)
        return self.keep(node)

    def moves(self, node: np.ndarray, moves: tuple[Move, ...]) -> None:
        node[Node.MOVES] = len(moves)
        for i, move in enumerate(moves):
            table = self.keep(move.table) if move.table is not None else 0
            first = Node.FIRST_MOVE + 3 * i
            node[first : first + 3] = move.slot, move.stride, table

    def recorded(self) -> list[tuple[int, ...]]:
        count = int(self.log[0, 0])
        assert count <= self.rows
        return [tuple(row) for row in self.log[1 : count + 1].tolist()]

    def clear(self) -> None:
        self.log[:] = 0


def record_words(node: int, frame: np.ndarray) -> np.ndarray:
    record = np.zeros(CallRecord.WORDS, np.int64)
    record[CallRecord.NODE], record[CallRecord.FRAME] = node, frame.ctypes.data
    frame[Frame.CALL] = record.ctypes.data
    return record


def start_frame(sizes: dict[int, int] | None = None) -> np.ndarray:
    frame = np.zeros(Frame.WORDS, np.int64)
    frame[Frame.SIZE : Frame.SIZE + 8] = 1
    frame[Frame.FIRST] = frame[Frame.LAST] = 1
    for axis, size in (sizes or {}).items():
        frame[Frame.SIZE + axis] = size
    return frame


@lru_cache(maxsize=1)
def recorder() -> int:
    """A kernel that writes the frame it is given, and who it is, to the next row of a log."""
    code = Code(current_target(), "recorder")
    log, rows = code.pointer(code.descriptor, 0), code.word(code.descriptor, 2)
    row = code.add(code.atomic("add", log, 1), 1)
    with code.when(code.builder.not_(code.less(rows, row))):
        place = code.at(log, code.mul(row, ROW * 8))
        for word in range(ROW - 1):
            code.set_word(place, word, code.word(code.frame, word))
        code.set_word(place, ROW - 1, code.word(code.descriptor, 1))
    return _loaded(code)


@lru_cache(maxsize=1)
def counter() -> int:
    """A kernel that takes time: descriptor[0] turns, then it adds 1 to the word at OUT."""
    code = Code(current_target(), "counter")
    turns = code.stack(WORD, align=8)
    with code.loop(code.word(code.descriptor, 0)) as i:
        code.atomic("xchg", turns, i)
    out = code.pointer(code.frame, Slot.OUT)
    code.set_word(out, 0, code.add(code.word(out, 0), 1))
    return _loaded(code)


@lru_cache(maxsize=1)
def crowd() -> int:
    """A kernel that counts who is inside: descriptor[0] turns, with the count in word 0 at OUT and
    the largest count ever in word 1."""
    code = Code(current_target(), "crowd")
    words, turns = code.pointer(code.frame, Slot.OUT), code.stack(WORD, align=8)
    inside = code.add(code.atomic("add", words, 1), 1)
    code.atomic("max", code.at(words, 8), inside)
    with code.loop(code.word(code.descriptor, 0)) as i:
        code.atomic("xchg", turns, i)
    code.atomic("sub", words, 1)
    return _loaded(code)


def _loaded(code: Code) -> int:
    code.finish()
    name = code.module.name
    return load_linked(lambda: code.module, current_target(), [name])[name]


# as meaning


def interpret(steps: tuple[Step, ...], frame: list[int]) -> Iterator[tuple[int, ...]]:
    """The rows that the recorder writes, region shares one after the other."""
    for step in steps:
        if isinstance(step, Call):
            flag = {When.ALWAYS: 1, When.FIRST: frame[Frame.FIRST], When.LAST: frame[Frame.LAST]}
            if flag[step.when]:
                yield (*frame[: ROW - 1], step.name)
        elif isinstance(step, Loop):
            for number in range(step.begin, _count(step, frame)):
                inside = _iteration(step, frame, number)
                assert inside is not None
                yield from interpret(step.body, inside)
        else:
            yield from _interpret_region(step, frame)


def _extent(loop: Loop, frame: list[int]) -> int:
    inherits = loop.axis >= 0 and loop.extent < 0
    return frame[Frame.SIZE + loop.axis] if inherits else loop.extent


def _count(loop: Loop, frame: list[int]) -> int:
    return max(0, math.ceil(_extent(loop, frame) / loop.block))


def _iteration(loop: Loop, frame: list[int], number: int) -> list[int] | None:
    """The frame in an iteration; None where the loop has no such iteration."""
    extent, i = _extent(loop, frame), number * loop.block
    if i >= extent:
        return None
    inside, outer = list(frame), 0
    index = number
    if loop.axis >= 0:
        inside[Frame.SIZE + loop.axis] = min(loop.block, extent - i)
    if loop.axis >= 0 and not loop.anew:
        outer = frame[Frame.START + loop.axis]
        index = inside[Frame.START + loop.axis] = outer + i
    for move in loop.moves:
        if move.table is not None:
            inside[move.slot] += move.table[index] - move.table[outer]
        else:
            inside[move.slot] += move.stride * number
    if loop.kloop == Node.OWN_SUMS:
        inside[Frame.FIRST] = inside[Frame.LAST] = 1
    if loop.kloop:
        inside[Frame.FIRST] &= int(i == 0)
        inside[Frame.LAST] &= int(i + loop.block >= extent)
    return inside


def _chain(region: Region) -> list[Loop]:
    loops = [region.loop]
    while len(loops) < region.depth:
        (inner,) = loops[-1].body
        assert isinstance(inner, Loop)
        loops.append(inner)
    return loops


def _interpret_region(region: Region, frame: list[int]) -> Iterator[tuple[int, ...]]:
    loops, counts, largest = _chain(region), [], list(frame)
    for loop in loops:
        counts.append(_count(loop, largest))
        largest = _iteration(loop, largest, 0) or largest
    total = math.prod(counts)
    for share in range(region.shares):
        own = list(frame)
        own[Frame.SHARE], own[Frame.ROLE] = share, max(1, frame[Frame.ROLE])
        for move in region.moves:
            own[move.slot] += move.stride * share
        for flat in range(total * share // region.shares, total * (share + 1) // region.shares):
            inside: list[int] | None = own
            for loop, number in zip(loops, np.unravel_index(flat, counts), strict=True):
                inside = _iteration(loop, inside, int(number)) if inside is not None else None
            if inside is not None:
                yield from interpret(loops[-1].body, inside)


# a plan that takes long


def long_plan(seconds: float, threads: int, shares: int = 8) -> tuple[runtime.Prepared, np.ndarray]:
    """A prepared plan of about so many seconds of work for one thread, and the words it writes:
    every share counts its steps in a word of its own."""
    counts = np.zeros(shares, np.int64)
    words = Words(rows=1, kernel=counter(), descriptor=(20_000,))
    frame = start_frame()
    frame[Slot.OUT] = counts.ctypes.data

    def plan(steps: int) -> runtime.Prepared:
        loop = Loop((Call(1),), extent=steps, poll=True)
        share = Loop((loop,), extent=shares, moves=(Move(Slot.OUT, 8),))
        node = words.body((Region(share, shares=shares),))
        return runtime.prepare(node, frame, long=True, threads=threads, keep=words)

    probe = runtime.prepare(words.body((Loop((Call(1),), extent=20),)), frame)
    begin = time.perf_counter()
    runtime.run(probe, 0, 0, 0)
    step = (time.perf_counter() - begin) / 20
    counts[:] = 0
    return plan(max(1, round(seconds / step / shares))), counts
