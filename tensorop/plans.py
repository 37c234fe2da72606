"""The cache of executables, in front of the optimizer: what this process has, or the disk knows.

The optimizer and what binds its schedules take longer to import than most calls to run. They are
needed only for operations that no process has planned before (`plan_store.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

from tensorop import executable, plan_store
from tensorop.by_threads import ByThreads
from tensorop.errors import whole
from tensorop.executable import Executable, Planner, Single, Stage, are_too_many, threads_for
from tensorop.ir import TensorOp
from tensorop.jit.entry import begin
from tensorop.jit.guard import importing
from tensorop.known import forget, learn
from tensorop.runnable import Runnable
from tensorop.runtime import LONG_WORK, run
from tensorop.threads import get_num_threads

if TYPE_CHECKING:
    from tensorop.schedule import Schedule

__all__ = [
    "are_too_many",
    "cache_clear",
    "learn",
    "multiplies_bytes",
    "plan_for",
    "plan_for_operation",
    "plan_pair",
    "plan_three_m",
    "preferred_order",
    "run",
    "single_plan",
]

CACHED = 8192  # operations


@cache
def _planning() -> Any:
    with importing:
        from tensorop import planning

    return whole(planning)


def _planning_of(op: TensorOp) -> Any:
    """What plans an operation."""
    if prod([d.size for d in op.dimensions]) >= LONG_WORK:
        begin()  # to compile what its plan will wait for
    return _planning()


class _Kept:
    """A `Planner` that asks the disk, then the optimizer, and tells the disk what that said.

    planned: the optimizer's, where it has been asked before. found: what the disk said for some
    number of threads. beside: of what `plan_pair` makes, the first operation, and what it writes.
    """

    def __init__(
        self,
        op: TensorOp,
        threads: int | None,
        planned: Planner | None = None,
        found: dict[int, tuple[Stage, ...]] | None = None,
        beside: tuple[TensorOp, int] | tuple[()] = (),
    ) -> None:
        self.op, self._threads, self._planned = op, threads, planned
        self._found, self._beside = found or {}, beside

    def stages(self, threads: int) -> tuple[Stage, ...]:
        """As `Planner.stages`."""
        found = self._found.pop(threads, None)
        if found is None and self._planned is None:
            found = plan_store.find(self.op, self._threads, threads, *self._beside)
        if found is None:
            found = self._optimizer().stages(threads)
            plan_store.note(self.op, self._threads, threads, found, *self._beside)
        return found

    def schedules(self, threads: int) -> tuple[Schedule, ...]:
        """As `Planner.schedules`."""
        return self._optimizer().schedules(threads)

    def of(self, op: TensorOp) -> Planner:
        """As `Planner.of`."""
        return _Kept(op, self._threads, beside=self._beside)

    @property
    def note(self) -> str:
        """As `Planner.note`."""
        return self._optimizer().note

    @property
    def scaled(self) -> Runnable | None:
        """As `Planner.scaled`."""
        return self._optimizer().scaled

    def _optimizer(self) -> Planner:
        if self._planned is None:
            made = _planning_of(self.op)
            given = (self.op, self._threads, plan_for, *self._beside)
            self._planned = made.pair_planner(*given) if self._beside else made.planner_of(*given)
        return self._planned


@lru_cache(maxsize=CACHED)
def plan_for(op: TensorOp, threads: int | None) -> Runnable:
    """The executable of an operation, optimised.

    Parameters
    ----------
    op : TensorOp
    threads : int or None
        None: the setting in force at each call.
    """
    allowed = threads_for(op, threads)
    count = allowed or get_num_threads()
    found = plan_store.find(op, threads, count)
    if found is not None:
        return Executable(op, allowed, _Kept(op, threads, found={count: found}), plan_for)
    if threads is None and plan_store.is_marked(op, "by threads"):
        return ByThreads(op, lambda count: plan_for(op, count))
    made: Runnable = _planning_of(op).executable_of(
        op, threads, plan_for, planner=lambda planned: _Kept(op, threads, planned)
    )
    if isinstance(made, ByThreads):
        plan_store.mark(op, "by threads")
    return made


@lru_cache(maxsize=CACHED)
def plan_three_m(op: TensorOp, threads: int | None) -> Runnable | None:
    """The executable of an operation by three real products, None where that is not for it."""
    made: Runnable | None = _planning_of(op).three_m(op, threads, plan_for)
    return made


@lru_cache(maxsize=CACHED)
def plan_for_operation(op: TensorOp, optimize: bool, threads: int | None) -> Runnable:
    """The executable of an explicit operation: as written, or optimised."""
    if optimize:
        return plan_for(op.undecided(), threads)
    written: Runnable = _planning_of(op).as_written(op, threads, plan_for)
    return written


@lru_cache(maxsize=CACHED)
def plan_pair(
    first: TensorOp, second: TensorOp, reads: int, threads: int | None
) -> Runnable | None:
    """The executable of two operations, of which the second reads what the first has written as its
    input `reads`, if they had better run piece by piece. Its arrays are the inputs of the first,
    the others of the second, and out."""
    allowed, beside = threads_for(second, threads), (first, reads)
    count = allowed or get_num_threads()
    found = plan_store.find(second, threads, count, *beside)
    if found is None and plan_store.is_marked(second, "apart", *beside):
        return None
    planned = None
    if found is None:
        planned = _planning_of(second).pair_planner(second, threads, plan_for, *beside)
        if planned is None:
            plan_store.mark(second, "apart", *beside)
            return None
    kept = _Kept(second, threads, planned, {} if found is None else {count: found}, beside)
    return Executable(second, allowed, kept, plan_for)


def preferred_order(op: TensorOp) -> tuple[float, tuple[str, ...]]:
    """What an operation into a new array costs, 0 where it is well as it is; and the names of out's
    dimensions, outermost first, where it had better have another order than it has."""
    price, order = _preference(op)
    # Names are the caller's own: operations that differ in nothing else have the search in common.
    return price, tuple(op.dimensions[i].name for i in order)


def multiplies_bytes(op: TensorOp) -> bool:
    """Whether a product of bytes into int32 had better be given them as they are."""
    with importing:
        from tensorop.optimizer import groups, machine

    return groups.multiplies_bytes(op, machine.host_machine())


@lru_cache(maxsize=CACHED)
def _preference(op: TensorOp) -> tuple[float, Sequence[int]]:
    found = plan_store.find_order(op)
    if found is None:
        found = _planning_of(op).preferred_order(op)
        plan_store.note_order(op, *found)
    return found


def single_plan(runnable: Runnable, threads: int | None, begins: int | None) -> Single | None:
    """See `Executable.single`; None for what is none, for no number of threads."""
    single = getattr(runnable, "single", None)
    return single(threads, begins) if single else None


def cache_clear() -> None:
    """Forget all executables; running ones stay valid. What is to be kept of them goes to disk."""
    plan_store.save()
    executable.forget_tables()
    plan_for.cache_clear()
    plan_for_operation.cache_clear()
    plan_three_m.cache_clear()
    plan_pair.cache_clear()
    _preference.cache_clear()
    if _planning.cache_info().currsize:
        _planning().forget()
    forget()
