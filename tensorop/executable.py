"""From a `TensorOp` to something that runs: schedules, bound and prepared, cached.

An `Executable` is one operation for one setting of threads. It usually is a single bound schedule;
a first or last touch that no kernel call can hold runs as a stage of its own. Executables are
immutable, keep no scratch, and are shared by everybody who asks for the same operation (a bounded
cache, least recently used first out).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from tensorop.bind import bind
from tensorop.debug import Level, show, wants
from tensorop.divided import DividedSum
from tensorop.explain import describe, summary
from tensorop.ir import CONTRACTIONS, REDUCTIONS, Primitive, Schedule, TensorOp
from tensorop.jit.elements import element
from tensorop.jit.library import kernel_address
from tensorop.known import forget, known_by, learn
from tensorop.optimizer.choice import MODEL, Choice
from tensorop.optimizer.divide import divide
from tensorop.optimizer.machine import host_machine
from tensorop.optimizer.normalise import normalise
from tensorop.optimizer.pipeline import SHARE_WORK, Stage, plan_stages
from tensorop.optimizer.realign import Realigned, moved, realign
from tensorop.rearranged import Rearranged
from tensorop.runnable import Operand, Runnable
from tensorop.runtime import Prepared, Words, run, scalars
from tensorop.threads import get_num_threads
from tensorop.widened import Widened, cuts_sums

__all__ = [
    "Executable",
    "are_too_many",
    "cache_clear",
    "executable_of",
    "known_by",
    "learn",
    "plan_for",
    "plan_for_operation",
    "preferred_order",
    "single_plan",
]

CACHED = 8192  # executables
MOST_TABLES = 256 << 20  # bytes of tables that cached plans may hold, about
MANY = 64  # threads: a sum that is not even divided among so many never is
_NO_OPERAND = -1
_COPIES = frozenset({Primitive.COPY, Primitive.CONJ})
_SCALED = CONTRACTIONS | {Primitive.SUM}


class _Ready(NamedTuple):
    """A stage that can be launched: which of the operands (or of bias) are its in0, in1 and out."""

    schedule: Schedule
    plan: Prepared
    operands: tuple[int, int, int, int]
    scaled: bool  # alpha and beta are its


class Executable:
    """An operation that can be run any number of times, from any thread.

    op: the operation. threads: how many threads may share it; None: the setting in force at each
    call. choice: decisions taken in place of the model's.
    """

    note = ""
    __slots__ = (
        "_adds",
        "_choice",
        "_defaults",
        "_optimize",
        "_ready",
        "_reduces",
        "_scalar",
        "op",
        "threads",
    )

    def __init__(
        self, op: TensorOp, optimize: bool, threads: int | None, choice: Choice = MODEL
    ) -> None:
        small = prod(d.size for d in op.dimensions) < SHARE_WORK
        self.op, self._optimize, self._choice = op, optimize, choice
        self.threads = 1 if small and optimize else threads
        self._reduces = len(op.tensors) == 2 and op.main in REDUCTIONS
        self._scalar = scalar_type(op.dtype)
        self._defaults, self._adds = _words(1, 0, self._scalar), _words(1, 1, self._scalar)
        self._ready: dict[int, tuple[_Ready, ...]] = {}
        self._stages(self.threads or get_num_threads())

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        """The schedules for the setting of threads in force, one a stage."""
        return tuple(s.schedule for s in self._stages(self.threads or get_num_threads()))

    def run(
        self,
        arrays: Sequence[Operand],
        alpha: Any = None,
        beta: Any = None,
        bias: Operand | None = None,
    ) -> None:
        """As `Runnable.run`."""
        stages = self._ready.get(self.threads or get_num_threads())
        if stages is None:
            stages = self._stages(get_num_threads())
        words: Words | int = 0
        if self.op.first_touch != Primitive.NONE:
            beta = 1 if self.op.first_touch == Primitive.COPY else None
        if alpha is not None or beta is not None:
            alpha, beta = 1 if alpha is None else alpha, 0 if beta is None else beta
            if (alpha != 1 or beta != 0) and self.op.main in _COPIES:
                sum_of(self.op, self.threads).run(arrays, alpha, beta)
                return
            self._check_scalars(alpha, beta)
            words = self._adds if alpha == beta == 1 else _scalars(alpha, beta, self._scalar)
        operands: list[Any] = [*arrays, 0 if bias is None else bias, 0]
        for _, plan, (in0, in1, out, aux), scaled in stages:
            run(
                plan,
                operands[in0],
                operands[in1],
                operands[out],
                operands[aux],
                words if scaled else 0,
            )

    def _check_scalars(self, alpha: Any, beta: Any) -> None:
        """Sums are scaled; other reductions can at most start from what out holds (beta = 1)."""
        main = self.op.main
        if main not in _SCALED and (alpha != 1 or beta not in ((0, 1) if self._reduces else (0,))):
            raise ValueError(f"{main} takes no alpha = {alpha!r} and beta = {beta!r}")

    def _stages(self, threads: int) -> tuple[_Ready, ...]:
        ready = self._ready.get(threads)
        if ready is None:
            # Without a lock, which a signal handler or a forked child might wait for in vain: two
            # threads may both plan, and the plans are the same.
            planned = plan_stages(
                self.op, host_machine(), threads, optimize=self._optimize, choice=self._choice
            )
            _show(self.op, [stage.schedule for stage in planned])
            made = tuple(self._prepare(stage, threads) for stage in planned)
            ready = self._ready.setdefault(threads, made)
        return ready

    def _prepare(self, stage: Stage, threads: int) -> _Ready:
        global _tables
        target = host_machine().target
        bound = bind(stage.schedule, target)
        _tables += bound.words.nbytes
        kernels = [kernel_address(kernel, target) for kernel in bound.kernels]
        plan = bound.placed(kernels, threads, self._defaults)
        return _Ready(stage.schedule, plan, self._sources(stage), stage.main)

    def _sources(self, stage: Stage) -> tuple[int, int, int, int]:
        """Positions of in0, in1, out and bias in the operands, of which the last is none."""
        count = len(self.op.tensors)
        bias, nothing = count, _NO_OPERAND
        inputs = list(range(count - 1)) if stage.main else [count - 1]
        if stage.reads_bias:
            inputs = [bias]
        if stage.schedule.swapped:
            inputs.reverse()
        in0, in1 = [*inputs, nothing][:2]
        return in0, in1, count - 1, bias


def _show(op: TensorOp, schedules: list[Schedule]) -> None:
    """What the debug levels say of a new plan, and whether it is in order."""
    if wants(Level.PLAN):
        for schedule in schedules:
            schedule.verify()
    show(Level.PLAN, lambda: f"tensorop: {summary(op, schedules)}")
    lines = (f"  {line}" for schedule in schedules for line in describe(schedule))
    show(Level.PASSES, lambda: "\n".join(lines))


@cache
def scalar_type(dtype: str) -> np.dtype[Any]:
    """The numpy dtype of alpha and beta: that of the accumulator."""
    return np.dtype(element(dtype).accumulator.name)


def _scalars(alpha: Any, beta: Any, dtype: np.dtype[Any]) -> Words:
    return scalars(np.asarray(alpha).astype(dtype)[()], np.asarray(beta).astype(dtype)[()])


@cache
def _words(alpha: int, beta: int, dtype: np.dtype[Any]) -> Words:
    """alpha and beta of the calls that do not say otherwise; nobody writes these words."""
    return _scalars(alpha, beta, dtype)


@lru_cache(maxsize=CACHED)
def plan_for(op: TensorOp, threads: int | None) -> Runnable:
    """The executable of an operation, optimised.

    Parameters
    ----------
    op : TensorOp
    threads : int or None
        None: the setting in force at each call.
    """
    return executable_of(op, threads)


@lru_cache(maxsize=CACHED)
def plan_for_operation(op: TensorOp, optimize: bool, threads: int | None) -> Runnable:
    """The executable of an explicit operation: as written, or optimised."""
    return executable_of(op, threads) if optimize else _as_it_lies(op, False, threads)


def executable_of(op: TensorOp, threads: int | None, choice: Choice = MODEL) -> Runnable:
    """A new executable, optimised. It is not kept: `plan_for` does that."""
    if choice == MODEL and threads != 1 and divide(normalise(op).op, MANY) is not None:
        return DividedSum(op, threads, lambda part: _undivided(part, threads, MODEL))
    return _undivided(op, threads, choice)


def _undivided(op: TensorOp, threads: int | None, choice: Choice) -> Runnable:
    machine = host_machine()
    parts = _realigned(op) if choice.orders is None else moved(op, dict(choice.orders))
    if not parts.orders:
        return _as_it_lies(op, True, threads, choice)

    def main(part: TensorOp) -> Runnable:
        return _as_it_lies(part, True, threads, choice)

    return Rearranged(parts, machine, main, lambda part: _as_it_lies(part, True, threads))


@lru_cache(maxsize=CACHED)
def _as_new(op: TensorOp) -> Realigned:
    """Which tensors had better be moved if out is a new array, in any order."""
    return realign(op, host_machine(), out_is_new=True)


def _realigned(op: TensorOp) -> Realigned:
    """Which tensors had better be moved. None where none is even if moving out costs nothing: that
    is known already where a preferred order was asked for."""
    parts = _as_new(op)
    return realign(op, host_machine()) if parts.orders else parts


def _as_it_lies(
    op: TensorOp, optimize: bool, threads: int | None, choice: Choice = MODEL
) -> Executable | Widened:
    executable = Executable(op, optimize, threads, choice)
    if any(cuts_sums(schedule) for schedule in executable.schedules):
        return Widened(op, lambda part: plan_for(part, threads))
    return executable


def preferred_order(op: TensorOp) -> tuple[float, tuple[str, ...]]:
    """What an operation into a new array costs, 0 where it is well as it is; and the names of out's
    dimensions, outermost first, where it had better have another order than it has."""
    parts = _as_new(op)
    # Names are the caller's own: operations that differ in nothing else have the search in common.
    dims = normalise(op).op.dimensions
    return parts.cycles, tuple(dims[i].name for i in parts.orders.get(op.out, ()))


def single_plan(executable: Runnable) -> tuple[Prepared, tuple[int, int, int, int]] | None:
    """The one plan that every call without alpha and beta runs as it is, and which operands are its
    in0, in1, out and bias; None where a call has several, or the threads in force to look up."""
    if not isinstance(executable, Executable) or executable.threads is None:
        return None
    stages = executable._stages(executable.threads)
    if len(stages) > 1:
        return None
    return stages[0].plan, stages[0].operands


def sum_of(op: TensorOp, threads: int | None) -> Runnable:
    """The executable of alpha * in0 + beta * out, in place of a copy of in0."""
    tensors = op.tensors
    if op.main == Primitive.CONJ:
        tensors = (tensors[0]._replace(conj=not tensors[0].conj), *tensors[1:])
    return plan_for(replace(op, main=Primitive.SUM, tensors=tensors), threads)


_tables = 0  # bytes of the tables of all plans since the last time that they were forgotten


def are_too_many() -> bool:
    """Whether the plans made so far hold more memory than a cache should: their number is bounded,
    but the offset tables of one may take a mebibyte."""
    return _tables > MOST_TABLES


def cache_clear() -> None:
    """Forget all executables; running ones stay valid."""
    global _tables
    _tables = 0
    plan_for.cache_clear()
    plan_for_operation.cache_clear()
    _as_new.cache_clear()
    forget()
