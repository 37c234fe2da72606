"""Something that runs an operation: its stages, placed, for any number of threads.

An `Executable` usually has a single stage; a first or last touch that no kernel call can hold is a
stage of its own. Where its stages come from is a `Planner`'s business: the optimizer's
(`planning.py`), or the disk's (`plans.py`). Where whole cache lines of out are stored, an out that
begins within a line is run by stages of its own. Executables are immutable, keep no scratch, and
are shared by everybody who asks for the same operation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tensorop.ir import REDUCTIONS, SCALED, Primitive, TensorOp
from tensorop.jit.elements import element
from tensorop.jit.kernel import Kernel
from tensorop.jit.lines import LINE
from tensorop.optimizer.transfer import sharers
from tensorop.runnable import Operand, Runnable, address
from tensorop.runtime import Bound, Prepared, Words, run, scalars
from tensorop.threads import get_num_threads
from tensorop.tuples import NamedTuple

if TYPE_CHECKING:
    from tensorop.schedule import Schedule

MOST_TABLES = 256 << 20  # bytes of tables that cached plans may hold, about
NO_OPERAND = -1
_COPIES = frozenset({Primitive.COPY, Primitive.CONJ})


def threads_for(op: TensorOp, threads: int | None) -> int | None:
    """How many threads may share an operation: small ones are run by one, whatever the setting."""
    return threads if sharers(op, 2) > 1 else 1


class Stage(NamedTuple):
    """One of the steps that an operation runs as, one after the other.

    bound: its words. addresses: of the kernels that these name. operands: which of the operands
    (the operation's, then the bias; NO_OPERAND) are its in0, in1, out and bias. scaled: alpha and
    beta are its. lines: it stores whole lines of out, if that begins with one. kernels: their
    descriptions, of a stage that was not kept on disk.
    """

    bound: Bound
    addresses: Sequence[int]
    operands: tuple[int, int, int, int]
    scaled: bool
    lines: bool
    kernels: tuple[Kernel, ...] = ()


PlanFor = Callable[[TensorOp, int | None], Runnable]  # of an operation and a number of threads


class Planner(Protocol):
    """Says how an operation is run."""

    def stages(self, threads: int) -> tuple[Stage, ...]:
        """Its stages, for so many threads."""

    def schedules(self, threads: int) -> tuple[Schedule, ...]:
        """The schedules that these stages are made of."""

    def of(self, op: TensorOp) -> Planner:
        """What says the same of another operation."""

    @property
    def note(self) -> str:
        """As `Runnable.note`."""

    @property
    def scaled(self) -> Runnable | None:
        """What runs the operation with an alpha or a beta; None where a stage takes them."""


class Single(NamedTuple):
    """A stage that can be launched: its plan, the operands that are in0, in1, out and bias of that,
    and whether it takes alpha and beta."""

    plan: Prepared
    operands: tuple[int, int, int, int]
    scaled: bool


class Executable:
    """An operation that can be run any number of times, from any thread.

    op: the operation. threads: how many threads may share it; None: the setting in force at each
    call. planner: says how it is run. plan_for: makes executables of other operations: a copy with
    an alpha or a beta is one.
    """

    __slots__ = (
        "_adds",
        "_begun",
        "_defaults",
        "_lines",
        "_plan_for",
        "_planner",
        "_ready",
        "_reduces",
        "_scalar",
        "op",
        "threads",
    )

    def __init__(
        self, op: TensorOp, threads: int | None, planner: Planner, plan_for: PlanFor
    ) -> None:
        self.op, self.threads = op, threads
        self._planner, self._plan_for = planner, plan_for
        self._reduces = len(op.tensors) == 2 and op.main in REDUCTIONS
        self._scalar = scalar_type(op.dtype)
        self._defaults, self._adds = _words(1, 0, self._scalar), _words(1, 1, self._scalar)
        self._ready: dict[int, tuple[Single, ...]] = {}
        self._lines, self._begun = False, dict[int, Executable]()
        self._stages(self.threads or get_num_threads())

    @property
    def note(self) -> str:
        """As `Runnable.note`."""
        return self._planner.note

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        """The schedules for the setting of threads in force, in the order in which they run."""
        return self._planner.schedules(self.threads or get_num_threads())

    def single(self, threads: int | None, begins: int | None = None) -> Single | None:
        """The one plan that every call without alpha and beta runs as it is, if so many threads are
        in force (None: whatever is), and out begins so many bytes behind the start of a line (None:
        anywhere); None where a call has several, or depends on what is not said."""
        threads = threads if self.threads is None else self.threads
        stages = self._stages(threads) if threads is not None else ()
        if self._lines and begins != 0:
            return None if begins is None else self._beginning(begins).single(threads)
        return stages[0] if len(stages) == 1 else None

    def run(
        self,
        arrays: Sequence[Operand],
        alpha: Any = None,
        beta: Any = None,
        bias: Operand | None = None,
    ) -> None:
        """As `Runnable.run`."""
        if self._lines and (begins := address(arrays[-1]) % LINE):
            self._beginning(begins).run(arrays, alpha, beta, bias)
            return
        stages = self._ready.get(self.threads or get_num_threads())
        if stages is None:
            stages = self._stages(get_num_threads())
        words: Words | int = 0
        if self.op.first_touch != Primitive.NONE:
            beta = 1 if self.op.first_touch == Primitive.COPY else None
        if alpha is not None or beta is not None:
            alpha, beta = 1 if alpha is None else alpha, 0 if beta is None else beta
            if (alpha != 1 or beta != 0) and self.op.main in _COPIES:
                self._plan_for(_sum_of(self.op), self.threads).run(arrays, alpha, beta)
                return
            self._check_scalars(alpha, beta)
            if not any(stage.scaled for stage in stages) and (alpha != 1 or beta != 0):
                apart = self._planner.scaled
                assert apart is not None
                apart.run(arrays, alpha, beta, bias)
                return
            words = self._adds if alpha == beta == 1 else _scalars(alpha, beta, self._scalar)
        operands: list[Any] = [*arrays, 0 if bias is None else bias, 0]
        for plan, (in0, in1, out, aux), scaled in stages:
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
        if main not in SCALED and (alpha != 1 or beta not in ((0, 1) if self._reduces else (0,))):
            raise ValueError(f"{main} takes no alpha = {alpha!r} and beta = {beta!r}")

    def _beginning(self, begins: int) -> Executable:
        """What runs the operation into an out that begins so many bytes after a line does."""
        found = self._begun.get(begins)
        if found is None:
            *inputs, out = self.op.tensors
            op = self.op._replace(tensors=(*inputs, out._replace(begins=begins)))
            made = Executable(op, self.threads, self._planner.of(op), self._plan_for)
            found = self._begun.setdefault(begins, made)
        return found

    def _stages(self, threads: int) -> tuple[Single, ...]:
        ready = self._ready.get(threads)
        if ready is None:
            # Without a lock, which a signal handler or a forked child might wait for in vain: two
            # threads may both plan, and the plans are the same.
            stages = self._planner.stages(threads)
            self._lines |= not self.op.tensors[-1].begins and any(s.lines for s in stages)
            made = [self._place(stage, threads) for stage in stages]
            ready = self._ready.setdefault(threads, tuple(made))
        return ready

    def _place(self, stage: Stage, threads: int) -> Single:
        global _tables
        _tables += stage.bound.words.nbytes
        plan = stage.bound.placed(stage.addresses, threads, self._defaults)
        return Single(plan, stage.operands, stage.scaled)


def _sum_of(op: TensorOp) -> TensorOp:
    """alpha * in0 + beta * out, in place of a copy of in0."""
    tensors = op.tensors
    if op.main == Primitive.CONJ:
        tensors = (tensors[0]._replace(conj=not tensors[0].conj), *tensors[1:])
    return op._replace(main=Primitive.SUM, tensors=tensors)


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


_tables = 0  # bytes of the tables of all plans since the last time that they were forgotten


def are_too_many() -> bool:
    """Whether the plans made so far hold more memory than a cache should: their number is bounded,
    but the offset tables of one may take a mebibyte."""
    return _tables > MOST_TABLES


def forget_tables() -> None:
    """Plans were dropped: begin to count anew."""
    global _tables
    _tables = 0
