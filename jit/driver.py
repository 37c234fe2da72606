"""The driver: one generated function that interprets every plan.

`i64 driver.run(node *, frame *)` walks a body of nodes (`jit/abi.py`): it loops, calls kernels and
opens parallel regions, and leaves the frame as it found it. It is recursive over the nesting of the
nodes, so a new contraction costs no compilation, only a few words of data; the interpretation costs
some nanoseconds a kernel call. It returns 0, or the reason for which the call was cancelled.

    driver.run     a body: loops, calls, regions
    driver.region  a region: through the team (`jit/team.py`) if it is free, else alone
    driver.share   one share of a region, on a frame of its own
    driver.chain   a share's part of the flat iteration space of nested loops
    driver.poll    cancelled? time to look for signals?

They live in one module with the entries of `jit/entry_code.py`. The team's code is loaded when a
plan first wants it, and the driver finds it by the team's own words.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from llvmlite import ir

from tensorop.jit.abi import WORD as WORD_BYTES
from tensorop.jit.abi import CallRecord, Frame, Node
from tensorop.jit.builder import INT32, POINTER, VOID, WORD, Code, Value
from tensorop.jit.records import cell, copy_words, function, null, return_if, words
from tensorop.jit.slots import AxisSlot, NodeKind, Role, When
from tensorop.jit.target import Target
from tensorop.jit.team_support import TeamCode, in_process
from tensorop.tuples import NamedTuple

MAX_DEPTH = len(AxisSlot)  # loops in the chain of a region
_MOVE_WORDS = 3


def emit_driver(module: ir.Module, target: Target) -> None:
    """Write the driver's functions into a module."""
    _emit_clock(module, target)
    _emit_run(module, target)
    _emit_region(module, target)
    _emit_spans(module, target)
    _emit_share(module, target)
    _emit_chain(module, target)
    _emit_poll(module, target)


# loops


def _extent(code: Code, node: Value, frame: Value) -> Value:
    """How many elements a LOOP covers: its own, or the current block of its axis."""
    extent, axis = code.word(node, Node.EXTENT), code.word(node, Node.AXIS)
    inherits = code.builder.and_(code.less(extent, 0), code.builder.not_(code.less(axis, 0)))
    return code.builder.select(inherits, code.word(frame, code.add(axis, Frame.SIZE)), extent)


class _Cells(NamedTuple):
    """Where an iteration writes: words of the frame, or, for what the loop does not have (an axis,
    a K), words that nobody reads. So the iteration itself needs no branch."""

    start: Value
    size: Value
    first: Value
    last: Value

    @staticmethod
    def of(
        code: Code, node: Value, frame: Value, has_axis: Value, counts: Value, axis: Value
    ) -> _Cells:
        nobody = words(code, 1)
        choose, over_k = code.builder.select, code.nonzero(code.word(node, Node.KLOOP))
        return _Cells(
            start=choose(counts, cell(code, frame, code.add(axis, Frame.START)), nobody),
            size=choose(has_axis, cell(code, frame, code.add(axis, Frame.SIZE)), nobody),
            first=choose(over_k, cell(code, frame, Frame.FIRST), nobody),
            last=choose(over_k, cell(code, frame, Frame.LAST), nobody),
        )

    def all(self) -> tuple[Value, ...]:
        return self.start, self.size, self.first, self.last


@contextmanager
def _iterations(
    code: Code, node: Value, frame: Value, extent: Value, first: Value, stop: Value
) -> Iterator[Value]:
    """The iterations of a LOOP from number `first` up to element `stop`: the frame set for each,
    and restored after them. Yields the number of the iteration."""
    axis, block = code.word(node, Node.AXIS), code.word(node, Node.BLOCK)
    interval = code.word(node, Node.POLL)
    polls = code.nonzero(interval)
    between = code.sub(interval, 1)
    has_axis = code.builder.not_(code.less(axis, 0))
    on = code.equal(code.word(node, Node.ANEW), 0)
    counts = code.builder.and_(has_axis, on)  # positions on, from block to block
    cells = _Cells.of(code, node, frame, has_axis, counts, axis)
    before = [code.load(address, WORD, WORD_BYTES) for address in cells.all()]
    was_start, _, *was = before
    own = code.equal(code.word(node, Node.KLOOP), Node.OWN_SUMS)
    was_first, was_last = [code.builder.select(own, code.int(1), flag) for flag in was]
    entry = words(code, Node.MAX_MOVES)
    moves = _Moves(code, node, frame, entry)
    moves.remember()
    origin = code.builder.select(counts, was_start, code.int(0))
    with code.reduce(stop, [first], code.mul(first, block), block) as loop:
        element, (number,) = loop.index, loop.values
        due = code.equal(code.builder.and_(number, between), 0)
        with code.when(code.builder.and_(polls, due)):
            return_if(code, code.call("driver.poll", WORD, [frame]))
        after = code.add(element, block)
        start = code.add(was_start, element)
        is_first = code.builder.zext(code.equal(element, 0), WORD)
        is_last = code.builder.zext(code.builder.not_(code.less(after, extent)), WORD)
        code.store(start, cells.start, WORD_BYTES)
        code.store(code.min(block, code.sub(extent, element)), cells.size, WORD_BYTES)
        code.store(code.builder.and_(was_first, is_first), cells.first, WORD_BYTES)
        code.store(code.builder.and_(was_last, is_last), cells.last, WORD_BYTES)
        moves.apply(number, code.builder.select(counts, start, number), origin)
        yield number
        loop.update([code.add(number, 1)])
    for address, value in zip(cells.all(), before, strict=True):
        code.store(value, address, WORD_BYTES)
    moves.undo()


class _Moves:
    """The moves of a node: how its iterations displace addresses of the frame."""

    def __init__(self, code: Code, node: Value, frame: Value, entry: Value) -> None:
        self.code, self.node, self.frame, self.entry = code, node, frame, entry
        self.count = code.word(node, Node.MOVES)

    @contextmanager
    def _each(self) -> Iterator[tuple[Value, Value, Value]]:
        code = self.code
        with code.loop(self.count) as i:
            first = code.add(code.mul(i, _MOVE_WORDS), Node.FIRST_MOVE)
            move = cell(code, self.node, first)
            yield i, move, code.word(move, 0)

    def remember(self) -> None:
        code = self.code
        with self._each() as (i, _, slot):
            code.set_word(self.entry, i, code.word(self.frame, slot))

    def apply(self, number: Value, index: Value, origin: Value) -> None:
        """slot = entry value + stride * number, or + table[index] - table[origin]."""
        code = self.code
        with self._each() as (i, move, slot):
            base, table = code.word(self.entry, i), code.pointer(move, 2)
            with code.either(null(code, table)) as (affine, scattered):
                with affine:
                    step = code.mul(code.word(move, 1), number)
                    code.set_word(self.frame, slot, code.add(base, step))
                with scattered:
                    step = code.sub(code.word(table, index), code.word(table, origin))
                    code.set_word(self.frame, slot, code.add(base, step))

    def undo(self) -> None:
        code = self.code
        with self._each() as (i, _, slot):
            code.set_word(self.frame, slot, code.word(self.entry, i))


# bodies


def _emit_run(module: ir.Module, target: Target) -> None:
    code, (first, frame) = function(module, target, "driver.run", "node", "frame")
    current = code.stack(POINTER, align=WORD_BYTES)
    code.store(first, current, WORD_BYTES)
    with code.forever() as leave:
        node = code.load(current, POINTER, WORD_BYTES)
        kind = code.word(node, Node.KIND)
        with code.when(code.equal(kind, NodeKind.CALL)):
            _call_kernel(code, node, frame)
        with code.when(code.equal(kind, NodeKind.LOOP)):
            extent, child = _extent(code, node, frame), code.pointer(node, Node.CHILD)
            # Most loops run hot around a single kernel: that one is called without a recursion.
            kernel, descriptor, alone = _only_kernel(code, child)
            every = _iterations(code, node, frame, extent, code.word(node, Node.BEGIN), extent)
            with every, code.either(alone) as (leaf, body):
                with leaf:
                    code.call_address(kernel, VOID, [descriptor, frame])
                with body:
                    return_if(code, code.call("driver.run", WORD, [child, frame]))
        with code.when(code.equal(kind, NodeKind.REGION)):
            return_if(code, code.call("driver.region", WORD, [node, frame]))
        following = code.pointer(node, Node.NEXT)
        code.store(following, current, WORD_BYTES)
        with code.when(null(code, following)):
            leave()
    code.finish(code.int(0))


def _only_kernel(code: Code, body: Value) -> tuple[Value, Value, Value]:
    """Kernel and descriptor of a body, and whether it is a single unconditional call."""
    is_call = code.equal(code.word(body, Node.KIND), NodeKind.CALL)
    always = code.equal(code.word(body, Node.WHEN), When.ALWAYS)
    single = null(code, code.pointer(body, Node.NEXT))
    alone = code.builder.and_(code.builder.and_(is_call, always), single)
    return code.pointer(body, Node.KERNEL), code.pointer(body, Node.DESCRIPTOR), alone


def _call_kernel(code: Code, node: Value, frame: Value) -> None:
    when = code.word(node, Node.WHEN)
    # FIRST and LAST are neighbours in the frame in the order of their conditions.
    flag = code.word(frame, code.add(when, Frame.FIRST - When.FIRST))
    with code.when(code.builder.or_(code.equal(when, When.ALWAYS), code.nonzero(flag))):
        kernel, descriptor = code.pointer(node, Node.KERNEL), code.pointer(node, Node.DESCRIPTOR)
        code.call_address(kernel, VOID, [descriptor, frame])


# regions


def _emit_region(module: ir.Module, target: Target) -> None:
    code, (node, frame) = function(module, target, "driver.region", "node", "frame")
    spans = words(code, MAX_DEPTH + 1)
    code.call("driver.spans", WORD, [node, frame, spans])
    role = code.word(frame, Frame.ROLE)
    with code.when(code.equal(role, Role.CALLER)):
        team = code.pointer(code.pointer(frame, Frame.CALL), CallRecord.TEAM)
        with code.when(code.builder.not_(null(code, team))):
            acquire = code.pointer(team, TeamCode.ACQUIRE)
            run = code.pointer(team, TeamCode.REGION)
            acquired = code.call_address(acquire, WORD, [team, node, frame])
            with code.when(code.nonzero(acquired)):
                code.leave(code.call_address(run, WORD, [team, node, frame, spans]))
    with code.loop(code.word(node, Node.SHARES)) as share:
        alone = [node, frame, spans, share, code.max(role, Role.OWNER)]
        return_if(code, code.call("driver.share", WORD, alone))
    code.finish(code.int(0))


def _emit_spans(module: ir.Module, target: Target) -> None:
    """spans[d] = how many iterations of the flat space lie in loop d of the chain and below.

    Counted in the first blocks, which are the largest: on a copy of the frame, each loop leaves the
    size that its first iteration would.
    """
    code, (node, frame, spans) = function(module, target, "driver.spans", "node", "frame", "spans")
    trial, chain = words(code, Frame.WORDS), code.stack(POINTER, align=WORD_BYTES)
    copy_words(code, trial, frame, Frame.WORDS)
    code.store(code.pointer(node, Node.CHILD), chain, WORD_BYTES)
    depth = code.word(node, Node.DEPTH)
    with code.loop(depth) as d:
        loop = code.load(chain, POINTER, WORD_BYTES)
        extent, block = _extent(code, loop, trial), code.word(loop, Node.BLOCK)
        count = code.builder.sdiv(code.sub(code.add(extent, block), 1), block)
        code.set_word(spans, d, code.max(count, 0))
        axis = code.word(loop, Node.AXIS)
        with code.when(code.builder.not_(code.less(axis, 0))):
            code.set_word(trial, code.add(axis, Frame.SIZE), code.min(block, extent))
        code.store(code.pointer(loop, Node.CHILD), chain, WORD_BYTES)
    code.set_word(spans, depth, 1)
    with code.loop(depth) as i:
        d = code.sub(code.sub(depth, i), 1)
        below = code.word(spans, code.add(d, 1))
        code.set_word(spans, d, code.mul(code.word(spans, d), below))
    code.finish(code.int(0))


def _emit_share(module: ir.Module, target: Target) -> None:
    code, (node, frame, spans, share, role) = function(
        module, target, "driver.share", "node", "frame", "spans", "share:", "role:"
    )
    own = words(code, Frame.WORDS)
    copy_words(code, own, frame, Frame.WORDS)
    code.set_word(own, Frame.SHARE, share)
    code.set_word(own, Frame.ROLE, role)
    return_if(code, code.call("driver.poll", WORD, [own]))
    moves = _Moves(code, node, own, words(code, Node.MAX_MOVES))
    moves.remember()
    moves.apply(share, share, code.int(0))
    total, shares = code.word(spans, 0), code.word(node, Node.SHARES)
    low = code.builder.sdiv(code.mul(total, share), shares)
    high = code.builder.sdiv(code.mul(total, code.add(share, 1)), shares)
    with code.when(code.less(low, high)):
        loop, depth = code.pointer(node, Node.CHILD), code.word(node, Node.DEPTH)
        code.leave(code.call("driver.chain", WORD, [loop, own, spans, depth, low, high]))
    code.finish(code.int(0))


def _emit_chain(module: ir.Module, target: Target) -> None:
    """Iterations low to high of the flat space of `depth` nested loops, `spans[0]` in all."""
    code, (node, frame, spans, depth, low, high) = function(
        module, target, "driver.chain", "node", "frame", "spans", "depth:", "low:", "high:"
    )
    inner, child = code.word(spans, 1), code.pointer(node, Node.CHILD)
    extent, block = _extent(code, node, frame), code.word(node, Node.BLOCK)
    first = code.builder.sdiv(low, inner)
    after = code.add(code.builder.sdiv(code.sub(high, 1), inner), 1)
    stop = code.min(code.mul(after, block), extent)
    with _iterations(code, node, frame, extent, first, stop) as number:
        with code.when(code.equal(depth, 1)):
            return_if(code, code.call("driver.run", WORD, [child, frame]))
        with code.when(code.less(1, depth)):
            done = code.mul(number, inner)
            part = [code.max(code.sub(low, done), 0), code.min(code.sub(high, done), inner)]
            below = [child, frame, cell(code, spans, 1), code.sub(depth, 1), *part]
            return_if(code, code.call("driver.chain", WORD, below))
    code.finish(code.int(0))


# interruption


def _emit_clock(module: ir.Module, target: Target) -> None:
    """`system.clock`: nanoseconds of the monotonic clock."""
    code, _ = function(module, target, "system.clock")
    if hasattr(time, "CLOCK_MONOTONIC") and in_process("clock_gettime"):
        now = words(code, 2)
        code.call("clock_gettime", INT32, [ir.Constant(INT32, time.CLOCK_MONOTONIC), now])
        seconds, rest = code.word(now, 0), code.word(now, 1)
        code.finish(code.add(code.mul(seconds, 1_000_000_000), rest))
    else:  # Windows
        code.finish(code.mul(code.call("GetTickCount64", WORD, []), 1_000_000))


def _emit_poll(module: ir.Module, target: Target) -> None:
    code, (frame,) = function(module, target, "driver.poll", "frame")
    record = code.pointer(frame, Frame.CALL)
    cancel = cell(code, record, CallRecord.CANCEL)
    return_if(code, code.atomic_load(cancel))
    with code.when(code.equal(code.word(frame, Frame.ROLE), Role.WORKER)):
        code.leave(0)
    poll = code.pointer(record, CallRecord.POLL_FUNCTION)
    with code.when(null(code, poll)):
        code.leave(0)
    now = code.call("system.clock", WORD, [])
    with code.when(code.less(now, code.word(record, CallRecord.DEADLINE))):
        code.leave(0)
    stop = code.call_address(poll, WORD, [record])
    with code.when(code.nonzero(stop)):
        code.atomic("xchg", cancel, 1)
    code.finish(stop)
