"""An operation that is run in one way or another, as the threads in force are.

Into how many parts a sum is divided (`divided.py`) is the threads' business; and whether a
half-type sum can be held by single kernel calls, or is run in float32 (`widened.py`), depends on
how its schedule shares the work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorop.executable import Executable, Single
from tensorop.ir import TensorOp
from tensorop.runnable import Operand, Runnable
from tensorop.schedule import Schedule
from tensorop.threads import get_num_threads


class ByThreads:
    """An operation for any number of threads; `plan` makes an executable for one number, and
    remembers it."""

    def __init__(self, op: TensorOp, plan: Callable[[int], Runnable]) -> None:
        self.op, self._plan = op, plan

    @property
    def note(self) -> str:
        return self._plan(get_num_threads()).note

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        return self._plan(get_num_threads()).schedules

    def single(self, threads: int | None, begins: int | None = None) -> Single | None:
        """See `Executable.single`."""
        runnable = None if threads is None else self._plan(threads)
        return runnable.single(threads, begins) if isinstance(runnable, Executable) else None

    def run(
        self,
        arrays: Sequence[Operand],
        alpha: Any = None,
        beta: Any = None,
        bias: Operand | None = None,
    ) -> None:
        """As `Runnable.run`."""
        self._plan(get_num_threads()).run(arrays, alpha, beta, bias)
