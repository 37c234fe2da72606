"""A sum whose parts threads share: partial results, then their sum (`optimizer/divide.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorop.ir import Schedule, TensorOp
from tensorop.jit.elements import element
from tensorop.memory import vector
from tensorop.optimizer.divide import divide
from tensorop.optimizer.normalise import normalise
from tensorop.runnable import Operand, Plan, Runnable, address
from tensorop.threads import get_num_threads

_BYTE = np.dtype(np.uint8)


class DividedSum:
    """An operation that may be divided among threads. `plan` makes executables of its parts, and of
    all of it where one thread is asked for."""

    def __init__(self, op: TensorOp, threads: int | None, plan: Plan) -> None:
        self.op, self.threads = op, threads
        self._plan = plan
        self._ready: dict[int, Runnable | _Parts] = {}

    def _for_threads(self) -> Runnable | _Parts:
        """What runs for the setting of threads in force: the parts, or the operation as a whole."""
        count = self.threads or get_num_threads()
        if count not in self._ready:
            divided = divide(normalise(self.op).op, count)
            whole = divided is None
            self._ready[count] = self._plan(self.op) if whole else _Parts(divided, self._plan)
        return self._ready[count]

    @property
    def note(self) -> str:
        return self._for_threads().note

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        return tuple(self._for_threads().schedules)

    def run(
        self,
        arrays: Sequence[Operand],
        alpha: Any = None,
        beta: Any = None,
        bias: Operand | None = None,
    ) -> None:
        """As `Runnable.run`."""
        self._for_threads().run(arrays, alpha, beta, bias)


class _Parts:
    """The executables of the parts."""

    note = "the sum is divided among threads: partial results, then their sum"

    def __init__(self, divided: Any, plan: Plan) -> None:
        size = element(divided.main.dtype).size
        self._bytes = divided.size * size
        self._offsets = [offset * size for offset in divided.offsets]
        self._main, self._total = plan(divided.main), plan(divided.total)
        self._rest = None if divided.rest is None else plan(divided.rest)

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        steps = (self._main, self._rest, self._total)
        return tuple(s for step in steps if step is not None for s in step.schedules)

    def run(self, arrays: Sequence[Operand], alpha: Any, beta: Any, bias: object) -> None:
        """As `Runnable.run`; a divided sum has no first touch that would start from a bias."""
        *inputs, out = arrays
        partial = vector(self._bytes, _BYTE)
        self._main.run((*inputs, partial))
        if self._rest is not None:
            further = [address(x) + offset for x, offset in zip(inputs, self._offsets, strict=True)]
            self._rest.run((*further, partial), 1, 1)
        self._total.run((partial, out), alpha, beta)
