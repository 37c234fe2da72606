"""From a `TensorOp` to something that runs, by way of the optimizer; `plans.py` caches it.

Usually that is an `Executable`, of one schedule for one setting of threads. Some operations run as
several: with tensors in another order (`linked.py`, `rearranged.py`), with a sum divided among
threads (`divided.py`), or in float32 (`widened.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache

from tensorop.bind import bind
from tensorop.by_threads import ByThreads
from tensorop.divided import DividedSum, LinkedSum
from tensorop.executable import NO_OPERAND, Executable, PlanFor, Planner, Stage, threads_for
from tensorop.explain import show_planned
from tensorop.ir import Primitive, TensorOp
from tensorop.jit.elements import element
from tensorop.jit.entry import kernel_addresses
from tensorop.jit.gemm_abi import GemmKernel
from tensorop.linked import Linked
from tensorop.optimizer import pipeline
from tensorop.optimizer.choice import MODEL, Choice
from tensorop.optimizer.divide import Divided, cut, divide, is_large
from tensorop.optimizer.groups import narrows
from tensorop.optimizer.machine import host_machine
from tensorop.optimizer.normalise import normalised
from tensorop.optimizer.pieces import Pair, copied, in_pieces
from tensorop.optimizer.pipeline import plan_stages
from tensorop.optimizer.realign import Realigned, moved, realign
from tensorop.optimizer.stand_in import stand_in
from tensorop.pieced import Apart, Pieced, PiecedCopy
from tensorop.rearranged import Rearranged
from tensorop.runnable import Runnable
from tensorop.schedule import Schedule
from tensorop.threads import get_num_threads
from tensorop.three_m import ThreeM
from tensorop.three_m import is_for as is_three_m
from tensorop.widened import Widened, rounds_early, takes_less

RECENT = 64  # operations whose layout was asked for, and that are not planned yet
COUNTS = (2, 4, 8, 16, 32, 64)  # threads: a sum that is divided among none of these never is


class Planned:
    """What the optimizer decides on an operation.

    optimize: else it is run as it is written. choice: decisions taken in place of the model's.
    """

    note = ""
    scaled: Runnable | None = None  # the main stage takes alpha and beta

    def __init__(self, op: TensorOp, optimize: bool = True, choice: Choice = MODEL) -> None:
        self.op, self._optimize, self._choice = op, optimize, choice
        self._planned: dict[int, tuple[pipeline.Stage, ...]] = {}

    def stages(self, threads: int) -> tuple[Stage, ...]:
        """As `Planner.stages`. The schedules are forgotten: they are many times as large as what is
        made of them, and planned anew for the few who ask to see them."""
        planned = self._plan(threads)
        self._planned.pop(threads, None)
        show_planned(self.op, [stage.schedule for stage in planned])
        return tuple([self._bound(stage) for stage in planned])

    def schedules(self, threads: int) -> tuple[Schedule, ...]:
        """As `Planner.schedules`."""
        return tuple([stage.schedule for stage in self._plan(threads)])

    def of(self, op: TensorOp) -> Planned:
        """As `Planner.of`."""
        return Planned(op, self._optimize, self._choice)

    def _plan(self, threads: int) -> tuple[pipeline.Stage, ...]:
        planned = self._planned.get(threads)
        if planned is None:
            planned = plan_stages(
                self.op, host_machine(), threads, optimize=self._optimize, choice=self._choice
            )
            self._planned[threads] = planned
        return planned

    def _bound(self, stage: pipeline.Stage) -> Stage:
        target = host_machine().target
        bound, kernels = bind(stage.schedule, target)
        addresses = kernel_addresses(kernels, target, bound.brief)
        lines = any(isinstance(kernel, GemmKernel) and kernel.past for kernel in kernels)
        return Stage(bound, addresses, self._sources(stage), stage.main, lines, kernels)

    def _sources(self, stage: pipeline.Stage) -> tuple[int, int, int, int]:
        """Positions of in0, in1, out and bias in the operands, of which the last is none."""
        count = len(self.op.tensors)
        bias = count
        inputs = list(range(count - 1)) if stage.main else [count - 1]
        if stage.reads_bias:
            inputs = [bias]
        if stage.schedule.swapped:
            inputs.reverse()
        in0, in1 = [*inputs, NO_OPERAND][:2]
        return in0, in1, count - 1, bias


def executable_of(
    op: TensorOp,
    threads: int | None,
    plan_for: PlanFor,
    *,
    choice: Choice = MODEL,
    planner: Callable[[Planner], Planner] | None = None,
) -> Runnable:
    """A new executable, optimised; nothing of it is cached.

    Parameters
    ----------
    op : TensorOp
    threads : int or None
        How many may share the work; None: the setting in force at each call.
    plan_for : callable
        Makes executables of operations that this one runs in parts.
    choice : Choice
        Decisions taken in place of the model's.
    planner : callable, optional
        Makes what an executable of all of the operation asks in place of the optimizer; for the
        model's decisions only.
    """
    assert choice == MODEL or planner is None
    divides = choice == MODEL and _divides(op)
    if threads_for(op, threads) is None and (divides or element(op.dtype).half):
        if choice == MODEL:
            return ByThreads(op, lambda count: plan_for(op, count))
        made = cache(lambda count: executable_of(op, count, plan_for, choice=choice))
        return ByThreads(op, made)
    divided = divide(normalised(op), threads) if divides and threads is not None else None
    if divided is None:
        return _undivided(op, threads, plan_for, choice, planner)
    linked = _linked_sum(op, divided, threads, plan_for)
    if linked is None:
        return DividedSum(op, divided, lambda part: _undivided(part, threads, plan_for))
    return Executable(op, threads, linked if planner is None else planner(linked), plan_for)


def planner_of(op: TensorOp, threads: int | None, plan_for: PlanFor) -> Planner:
    """What the optimizer decides on an operation that a single executable runs."""
    divided = divide(normalised(op), threads) if threads is not None and _divides(op) else None
    linked = None if divided is None else _linked_sum(op, divided, threads, plan_for)
    if linked is not None:
        return linked
    parts = _realigned(op)
    return _in_parts(parts, threads, plan_for, MODEL) or Planned(op)


def pair_planner(
    second: TensorOp, threads: int | None, plan_for: PlanFor, first: TensorOp, reads: int
) -> Planner | None:
    """What the optimizer decides on two operations, of which the second reads what the first has
    written as its input `reads`; None where they had better run one after the other."""
    pair = Pair(first, second, reads)

    def apart() -> Runnable:
        return Apart(plan_for(first, threads), plan_for(second, threads), pair.between, reads)

    pieces = in_pieces(pair, host_machine())
    return None if pieces is None else Pieced(pair, pieces, apart)


def three_m(op: TensorOp, threads: int | None, plan_for: PlanFor) -> Runnable | None:
    """A complex product as three real ones; None for what cannot be run so, or gains nothing."""
    return ThreeM(op, lambda part: plan_for(part, threads)) if is_three_m(op) else None


def as_written(op: TensorOp, threads: int | None, plan_for: PlanFor) -> Runnable:
    """The executable of an explicit operation without optimisation; but a half-type result is
    rounded once, whatever its loops."""
    planned = Planned(op, optimize=False)
    if rounds_early(op, planned.schedules(threads or get_num_threads())):
        return Widened(op.undecided(), lambda part: plan_for(part, threads))
    return Executable(op, threads, planned, plan_for)


def preferred_order(op: TensorOp) -> tuple[float, tuple[int, ...]]:
    """What an operation into a new array costs, 0 where it is well as it is; and positions of the
    dimensions of out, outermost first, where it had better have another order than it has."""
    given = normalised(op)
    parts = _into_new(given)
    order = parts.orders.get(op.out, ())
    dims = given.dimensions
    at = {id(d): i for i, d in enumerate(op.dimensions)}
    return parts.cycles, tuple(at[id(dims[i])] for i in order)


def _divides(op: TensorOp) -> bool:
    """Whether a sum is divided among threads, if there are enough of them."""
    if not is_large(op) or narrows(op):
        return False
    return _is_cut(stand_in(normalised(op)))


@lru_cache(maxsize=RECENT)
def _is_cut(op: TensorOp) -> bool:
    return any(cut(op, count) is not None for count in COUNTS)


def _undivided(
    op: TensorOp,
    threads: int | None,
    plan_for: PlanFor,
    choice: Choice = MODEL,
    planner: Callable[[Planner], Planner] | None = None,
) -> Runnable:
    parts = _realigned(op) if choice.orders is None else moved(op, dict(choice.orders))
    if not parts.orders or (choice == MODEL and takes_less(op, host_machine())):
        return _as_it_lies(op, threads, plan_for, choice, planner)
    planned = _in_parts(parts, threads, plan_for, choice)
    if planned is None:
        return _apart(parts, threads, plan_for, choice)
    kept = planned if planner is None else planner(planned)
    return Executable(op, threads_for(op, threads), kept, plan_for)


def _linked_sum(
    op: TensorOp, divided: Divided, threads: int | None, plan_for: PlanFor
) -> LinkedSum | None:
    """A divided sum as a single plan, if it can be one."""

    def apart() -> Runnable:
        return DividedSum(op, divided, lambda part: _undivided(part, threads, plan_for))

    main = _realigned(divided.main)
    may = LinkedSum.may_link(divided, main, host_machine())
    return LinkedSum(op, divided, main, apart) if may else None


def _in_parts(
    parts: Realigned, threads: int | None, plan_for: PlanFor, choice: Choice
) -> Planner | None:
    """What makes an operation and the copies of its tensors a single plan, if that can be one."""

    def apart() -> Rearranged:
        return _apart(parts, threads, plan_for, choice)

    if choice == MODEL and parts.may_be_cut:
        pieces = in_pieces(copied(parts), host_machine())
        if pieces is not None:
            return PiecedCopy(parts, pieces, apart)
    return Linked(parts, choice, apart) if parts.links(host_machine()) else None


def _apart(parts: Realigned, threads: int | None, plan_for: PlanFor, choice: Choice) -> Rearranged:
    def main(part: TensorOp) -> Runnable:
        return _as_it_lies(part, threads, plan_for, choice)

    def copy(part: TensorOp) -> Runnable:
        return _as_it_lies(part, threads, plan_for)

    return Rearranged(parts, host_machine(), main, copy)


def _as_it_lies(
    op: TensorOp,
    threads: int | None,
    plan_for: PlanFor,
    choice: Choice = MODEL,
    planner: Callable[[Planner], Planner] | None = None,
) -> Executable | Widened:
    threads, planned = threads_for(op, threads), Planned(op, choice=choice)
    early = rounds_early(op, planned.schedules(threads or get_num_threads()))
    if early or (choice == MODEL and takes_less(op, host_machine())):

        def pair(first: TensorOp, second: TensorOp, reads: int) -> Executable | None:
            pieces = pair_planner(second, threads, plan_for, first, reads)
            return None if pieces is None else Executable(second, threads, pieces, plan_for)

        return Widened(op, lambda part: plan_for(part, threads), pair)
    return Executable(op, threads, planned if planner is None else planner(planned), plan_for)


@lru_cache(maxsize=RECENT)
def _into_new(op: TensorOp) -> Realigned:
    """Which tensors of a normalised operation had better be moved where out is new."""
    return realign(op, host_machine(), out_is_new=True)


def _realigned(op: TensorOp) -> Realigned:
    """Which tensors had better be moved, out being where it is: what a search for a new out has
    found, as it is asked first, or, if that would have moved out, a search of its own."""
    given = normalised(op)
    found = _into_new(given)
    if op.main == Primitive.SUM or op.out in found.orders:
        return realign(given, host_machine())
    return found._replace(op=given)  # whose names are its own


def forget() -> None:
    """Forget what is cached here."""
    _into_new.cache_clear()
    _is_cut.cache_clear()
