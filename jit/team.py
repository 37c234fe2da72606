"""The thread team: POSIX threads that help with one parallel region at a time, as generated code.

The claim protocol. The team's STATE is one word: generation | OPEN | number of workers inside. The
caller of a region opens it; a worker enters by adding one to STATE, by compare-and-swap and only
while it is open; everybody inside draws shares from one counter. The caller draws too, so it takes
whatever nobody claimed; then it closes the region and waits for those inside only. A worker that
sleeps, was descheduled, or did not survive a fork therefore delays nobody, and a caller that finds
the team busy simply runs its shares alone.

Workers wait for the next region spinning for a while, then asleep on a futex. They are created by
the first region that wants them, with signals blocked (Python's handlers run on its main thread),
and never end. The words of the team and this code are immortal for the same reason.

A worker may run on every CPU that the caller may, but the one on which the caller is: some systems
put a thread that wakes on the CPU of the one that wakes it, to let the others rest, and the two
then take turns for tens of milliseconds. The caller looks where it is at every region, and only
once it has been moved there is something to be done.

Linux on x86-64 and AArch64 only: elsewhere (`team_support.supported()`) regions run on the caller.
"""

from __future__ import annotations

import platform
import signal
from enum import IntEnum

from llvmlite import ir

from tensorop.jit.abi import CallRecord, Frame, Node
from tensorop.jit.builder import INT32, POINTER, VOID, WORD, Code, Value
from tensorop.jit.records import cell, function, return_if, symbol, words
from tensorop.jit.slots import Role
from tensorop.jit.target import Target
from tensorop.jit.team_support import FUTEX, TeamCode

_WAIT, _WAKE = 128, 129  # FUTEX_WAIT, FUTEX_WAKE | FUTEX_PRIVATE_FLAG

_OPEN, _INSIDE = 1 << 31, (1 << 31) - 1  # parts of STATE, below the generation
_SPIN_NANOSECONDS = 100_000  # a worker, before it sleeps
_SPINS_OF_CALLER = 2_000  # turns of waiting for those inside, before it dozes
_DOZE_NANOSECONDS = 2_000_000  # at most: the caller also has to look for signals
_SIGNAL_SET_BYTES = 128
_MOST_CPUS = 1024  # as many as the C library's own sets have
_MOST_PLACED = 8  # workers; where there are more, a single CPU is one of many

ABANDONED = 2  # what cancels a region in whose middle the process forked


class Team(IntEnum):
    """Words of the team. What is written often by different threads lies on lines of its own."""

    STATE = 0
    WAKE = 8  # generation of the last region: workers wait until it changes
    NEXT = 16  # the next share to be drawn
    NODE = 24  # the open region
    FRAME = 25
    SPANS = 26
    SHARES = 27
    LIMIT = 28  # how many workers may be inside
    SLEEPERS = 32  # workers asleep on WAKE
    DOZING = 40  # 1 while the caller is asleep on STATE
    BUSY = 48  # 1 while a region runs
    WORKERS = 49  # how many there are
    REFUSED = 50  # 1 when the system refused to create one: no further attempts
    EPOCH = 51  # how many forks lie between this process and the first one
    ACQUIRE = TeamCode.ACQUIRE  # where the code is that the driver calls
    REGION = TeamCode.REGION
    CPU = 54  # where the caller of the last region was; NOWHERE: workers are to be placed anew
    ROOM = 55  # for how many workers there are other CPUs
    PLACED = 56  # the first workers, as `pthread_create` gave them
    WORDS = 64


NOWHERE = -1


def _emit_pause(module: ir.Module, target: Target) -> None:
    """`system.pause`: a breath in a spin."""
    code, _ = function(module, target, "system.pause", result=VOID)
    family = target.triple.split("-")[0]
    if family == "x86_64":
        code.call("llvm.x86.sse2.pause", VOID, [])
    elif family in ("aarch64", "arm64"):
        code.call("llvm.aarch64.hint", VOID, [ir.Constant(INT32, 1)])
    code.finish()


def team_module(target: Target) -> ir.Module:
    """The module of the team and its functions. It calls `FROM_DRIVER` of the driver's module, and
    `team.address` has to be called first, which tells the driver of the team's code."""
    module = ir.Module("team")
    team = ir.GlobalVariable(module, ir.ArrayType(WORD, Team.WORDS), "team")
    team.initializer, team.align = ir.Constant(team.value_type, None), 64
    code, _ = function(module, target, "team.address", result=POINTER)
    _emit_pause(module, target)
    _emit_futex(module, target)
    _emit_acquire(module, target)
    _emit_region(module, target)
    for word, name in ((TeamCode.ACQUIRE, "team.acquire"), (TeamCode.REGION, "team.region")):
        code.set_word(symbol("team"), word, code.builder.ptrtoint(symbol(name), WORD))
    code.finish(symbol("team"))
    _emit_join(module, target)
    _emit_work(module, target)
    _emit_grow(module, target)
    _emit_place(module, target)
    _emit_worker(module, target)
    _emit_await(module, target)
    _emit_enter(module, target)
    _emit_exit(module, target)
    _emit_forked(module, target)
    return module


def _get(code: Code, team: Value, word: Team) -> Value:
    return code.atomic_load(cell(code, team, word))


def _set(code: Code, team: Value, word: Team, value: Value | int) -> Value:
    return code.atomic("xchg", cell(code, team, word), value)


def _both(code: Code, *conditions: Value) -> Value:
    result = conditions[0]
    for condition in conditions[1:]:
        result = code.builder.and_(result, condition)
    return result


def _emit_futex(module: ir.Module, target: Target) -> None:
    """`system.futex(address, operation, value, timeout)`: the kernel compares 32 bits, and on these
    little-endian machines the address of a word is that of its lower half."""
    code, arguments = function(
        module, target, "system.futex", "address", "operation:", "value:", "timeout"
    )
    number = code.int(FUTEX[platform.machine()])
    code.finish(code.call("syscall", WORD, [number, *arguments]))


def _futex(
    code: Code, address: Value, operation: int, value: Value, timeout: Value | None = None
) -> None:
    limit = timeout if timeout is not None else ir.Constant(POINTER, None)
    code.call("system.futex", WORD, [address, code.int(operation), value, limit])


# the caller


def _emit_acquire(module: ir.Module, target: Target) -> None:
    """Whether the caller of a region has got the team for it."""
    code, (team, node, frame) = function(module, target, "team.acquire", "team", "node", "frame")
    record = code.pointer(frame, Frame.CALL)
    helpers = code.less(0, code.word(record, CallRecord.WORKERS))
    with code.when(_both(code, helpers, code.less(1, code.word(node, Node.SHARES)))):
        free = code.compare_exchange(cell(code, team, Team.BUSY), 0, 1)
        code.leave(code.builder.zext(free, WORD))
    code.finish(code.int(0))


def _emit_region(module: ir.Module, target: Target) -> None:
    """Run a region with the team, which the caller has acquired."""
    code, (team, node, frame, spans) = function(
        module, target, "team.region", "team", "node", "frame", "spans"
    )
    record, shares = code.pointer(frame, Frame.CALL), code.word(node, Node.SHARES)
    limit = code.min(code.word(record, CallRecord.WORKERS), code.sub(shares, 1))
    with code.when(code.less(_get(code, team, Team.WORKERS), limit)):
        code.call("team.grow", WORD, [team, limit])
    cpu = code.builder.sext(code.call("sched_getcpu", INT32, []), WORD)
    moved = code.builder.not_(code.equal(code.word(team, Team.CPU), cpu))
    with code.when(code.builder.or_(moved, code.less(code.word(team, Team.ROOM), limit))):
        code.call("team.place", WORD, [team, cpu, limit])
    code.set_word(team, Team.NODE, code.builder.ptrtoint(node, WORD))
    code.set_word(team, Team.FRAME, code.builder.ptrtoint(frame, WORD))
    code.set_word(team, Team.SPANS, code.builder.ptrtoint(spans, WORD))
    code.set_word(team, Team.SHARES, shares)
    _set(code, team, Team.LIMIT, limit)
    _set(code, team, Team.NEXT, 0)
    epoch = _get(code, team, Team.EPOCH)
    generation = code.add(_get(code, team, Team.WAKE), 1)
    above = code.builder.shl(generation, code.int(32))
    _set(code, team, Team.STATE, code.builder.or_(above, code.int(_OPEN)))
    _set(code, team, Team.WAKE, generation)
    with code.when(code.nonzero(_get(code, team, Team.SLEEPERS))):
        _futex(code, cell(code, team, Team.WAKE), _WAKE, limit)
    code.call("team.work", WORD, [team, code.int(Role.OWNER)])
    code.atomic("and", cell(code, team, Team.STATE), ~_OPEN)
    code.call("team.join", WORD, [team, frame, epoch])
    cancel = cell(code, record, CallRecord.CANCEL)
    forked = code.builder.not_(code.equal(_get(code, team, Team.EPOCH), epoch))
    with code.either(forked) as (in_child, in_parent):
        with in_child:
            code.atomic("xchg", cancel, ABANDONED)
        with in_parent:
            _set(code, team, Team.BUSY, 0)
    code.finish(code.atomic_load(cancel))


def _emit_join(module: ir.Module, target: Target) -> None:
    """Wait for the workers inside a closed region: spinning, then dozing, and looking for signals.
    (After a fork in the middle of the region there is nobody to wait for.)"""
    code, (team, frame, epoch) = function(module, target, "team.join", "team", "frame", "epoch:")
    timeout = words(code, 2)
    code.set_word(timeout, 0, 0)
    code.set_word(timeout, 1, _DOZE_NANOSECONDS)
    with code.forever():
        with code.loop(_SPINS_OF_CALLER):
            inside = code.builder.and_(_get(code, team, Team.STATE), code.int(_INSIDE))
            with code.when(code.equal(inside, 0)):
                code.leave(0)
            code.call("system.pause", VOID, [])
        code.call("driver.poll", WORD, [frame])
        with code.when(code.builder.not_(code.equal(_get(code, team, Team.EPOCH), epoch))):
            code.leave(0)
        _set(code, team, Team.DOZING, 1)
        state = _get(code, team, Team.STATE)
        with code.when(code.nonzero(code.builder.and_(state, code.int(_INSIDE)))):
            _futex(code, cell(code, team, Team.STATE), _WAIT, state, timeout)
        _set(code, team, Team.DOZING, 0)
    _finish_endless(code)


def _finish_endless(code: Code) -> None:
    code.builder.unreachable()
    with code.builder.goto_block(code.entry):
        code.builder.branch(code.function.basic_blocks[1])


def _emit_work(module: ir.Module, target: Target) -> None:
    """Draw shares of the region and run them until there are none, or the call is cancelled."""
    code, (team, role) = function(module, target, "team.work", "team", "role:")
    node, frame = code.pointer(team, Team.NODE), code.pointer(team, Team.FRAME)
    spans, shares = code.pointer(team, Team.SPANS), code.word(team, Team.SHARES)
    with code.forever():
        share = code.atomic("add", cell(code, team, Team.NEXT), 1)
        with code.when(code.builder.not_(code.less(share, shares))):
            code.leave(0)
        return_if(code, code.call("driver.share", WORD, [node, frame, spans, share, role]))
    _finish_endless(code)


def _emit_grow(module: ir.Module, target: Target) -> None:
    """Create workers until there are `wanted`. A new thread inherits the creator's signal mask: all
    blocked, except those by which a fault of its own reports itself."""
    code, (team, wanted) = function(module, target, "team.grow", "team", "wanted:")
    blocked, before, thread = (words(code, n) for n in (_SIGNAL_SET_BYTES // 8,) * 2 + (1,))
    code.call("sigfillset", INT32, [blocked])
    for fault in (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL):
        code.call("sigdelset", INT32, [blocked, ir.Constant(INT32, fault)])
    replace, nobody = ir.Constant(INT32, signal.SIG_SETMASK), ir.Constant(POINTER, None)
    code.call("pthread_sigmask", INT32, [replace, blocked, before])
    with code.forever() as leave:
        enough = code.builder.not_(code.less(_get(code, team, Team.WORKERS), wanted))
        refused = code.nonzero(_get(code, team, Team.REFUSED))
        with code.when(code.builder.or_(enough, refused)):
            leave()
        arguments = [thread, nobody, symbol("team.worker"), team]
        error = code.call("pthread_create", INT32, arguments)
        with code.either(code.nonzero(error)) as (failed, created):
            with failed:
                _set(code, team, Team.REFUSED, 1)
            with created:
                code.call("pthread_detach", INT32, [code.word(thread, 0)])
                before_it = code.atomic("add", cell(code, team, Team.WORKERS), 1)
                with code.when(code.less(before_it, _MOST_PLACED)):
                    code.set_word(team, code.add(before_it, Team.PLACED), code.word(thread, 0))
                code.set_word(team, Team.CPU, NOWHERE)
    code.call("pthread_sigmask", INT32, [replace, before, nobody])
    code.finish(code.int(0))


def _emit_place(module: ir.Module, target: Target) -> None:
    """Keep workers away from the caller's CPU, if there is another one for each that is wanted."""
    code, (team, cpu, wanted) = function(module, target, "team.place", "team", "cpu:", "wanted:")
    code.set_word(team, Team.CPU, cpu)
    cpus, size = words(code, _MOST_CPUS // 64), code.int(_MOST_CPUS // 8)
    unknown = code.call("sched_getaffinity", INT32, [ir.Constant(INT32, 0), size, cpus])
    known = code.builder.icmp_unsigned("<", cpu, code.int(_MOST_CPUS))
    with code.when(code.builder.or_(code.nonzero(unknown), code.builder.not_(known))):
        code.leave(0)
    part = code.builder.lshr(cpu, code.int(6))
    own = code.builder.shl(code.int(1), code.builder.and_(cpu, code.int(63)))
    together = code.word(cpus, part)
    others = code.builder.and_(together, code.builder.not_(own))
    code.set_word(cpus, part, others)
    with code.reduce(_MOST_CPUS // 64, [code.int(0)]) as count:
        here = code.call("llvm.ctpop.i64", WORD, [code.word(cpus, count.index)])
        count.update([code.add(count.values[0], here)])
    code.set_word(team, Team.ROOM, count.values[0])
    with code.when(code.less(count.values[0], wanted)):
        code.set_word(team, Team.CPU, NOWHERE)
        code.set_word(cpus, part, together)
        with code.when(code.equal(count.values[0], 0)):
            code.leave(0)  # the caller is bound to its CPU, workers perhaps are not
    with code.loop(code.min(_get(code, team, Team.WORKERS), _MOST_PLACED)) as i:
        worker = code.word(team, code.add(i, Team.PLACED))
        code.call("pthread_setaffinity_np", INT32, [worker, size, cpus])
    code.finish(code.int(0))


# a worker


def _emit_worker(module: ir.Module, target: Target) -> None:
    code, (team,) = function(module, target, "team.worker", "team", result=POINTER)
    seen = words(code, 1)
    code.set_word(seen, 0, 0)
    with code.forever():
        generation = code.call("team.await", WORD, [team, code.word(seen, 0)])
        code.set_word(seen, 0, generation)
        with code.when(code.nonzero(code.call("team.enter", WORD, [team]))):
            code.call("team.work", WORD, [team, code.int(Role.WORKER)])
            code.call("team.exit", WORD, [team])
    _finish_endless(code)


def _emit_await(module: ir.Module, target: Target) -> None:
    """Wait for another generation than the one `seen`; returns it."""
    code, (team, seen) = function(module, target, "team.await", "team", "seen:")

    def return_if_new() -> None:
        generation = _get(code, team, Team.WAKE)
        with code.when(code.builder.not_(code.equal(generation, seen))):
            code.leave(generation)

    clock = code.call("system.clock", WORD, [])
    end = code.add(clock, _SPIN_NANOSECONDS)
    with code.forever() as leave:
        with code.loop(32):
            return_if_new()
            code.call("system.pause", VOID, [])
        with code.when(code.less(end, code.call("system.clock", WORD, []))):
            leave()
    sleepers = cell(code, team, Team.SLEEPERS)
    with code.forever():
        # The caller first changes WAKE, then looks for sleepers; the kernel compares WAKE once more
        # before it puts anyone to sleep: so no wake-up is lost.
        code.atomic("add", sleepers, 1)
        _futex(code, cell(code, team, Team.WAKE), _WAIT, seen)
        code.atomic("sub", sleepers, 1)
        return_if_new()
    _finish_endless(code)


def _emit_enter(module: ir.Module, target: Target) -> None:
    """Whether the worker has got into the open region, if there is one."""
    code, (team,) = function(module, target, "team.enter", "team")
    with code.forever():
        state = _get(code, team, Team.STATE)
        closed = code.equal(code.builder.and_(state, code.int(_OPEN)), 0)
        inside = code.builder.and_(state, code.int(_INSIDE))
        full = code.builder.not_(code.less(inside, _get(code, team, Team.LIMIT)))
        with code.when(code.builder.or_(closed, full)):
            code.leave(0)
        entered = code.compare_exchange(cell(code, team, Team.STATE), state, code.add(state, 1))
        with code.when(entered):
            code.leave(1)
    _finish_endless(code)


def _emit_exit(module: ir.Module, target: Target) -> None:
    """Leave the region; the last one out of a closed one wakes the caller if it dozes."""
    code, (team,) = function(module, target, "team.exit", "team")
    state = code.atomic("sub", cell(code, team, Team.STATE), 1)
    last = code.equal(code.builder.and_(state, code.int(_OPEN | _INSIDE)), 1)
    with code.when(_both(code, last, code.nonzero(_get(code, team, Team.DOZING)))):
        _futex(code, cell(code, team, Team.STATE), _WAKE, code.int(1))
    code.finish(code.int(0))


def _emit_forked(module: ir.Module, target: Target) -> None:
    """What a forked child runs first: it has no workers, and nobody is in a region."""
    code, (team,) = function(module, target, "team.forked", "team")
    for word in (Team.STATE, Team.SLEEPERS, Team.DOZING, Team.BUSY, Team.WORKERS, Team.REFUSED):
        _set(code, team, word, 0)
    _set(code, team, Team.CPU, NOWHERE)
    code.atomic("add", cell(code, team, Team.EPOCH), 1)
    code.finish(code.int(0))
