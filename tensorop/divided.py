"""A sum whose parts threads share: partial results, then their sum (`optimizer/divide.py`).

All are linked into a single plan (`LinkedSum`), so that a warm call is one call of generated code.
`DividedSum` runs them from Python: with alpha or beta, and where they cannot be linked; and it is
what the plan is tested against.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorop.bind_tables import OPERANDS, TEMPORARIES, Part
from tensorop.executable import Stage
from tensorop.ir import TensorOp
from tensorop.jit.elements import element
from tensorop.jit.slots import Slot
from tensorop.linked import InParts, chained, link, placed, room, scheduled
from tensorop.memory import vector
from tensorop.optimizer.divide import Divided
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.realign import KEPT, Realigned
from tensorop.runnable import Operand, Plan, Runnable, address
from tensorop.schedule import Schedule

_BYTE = np.dtype(np.uint8)
_NOTE = "the sum is divided among threads: partial results, then their sum"
_COPY, _PARTIAL = TEMPORARIES  # slots of what one part of a plan leaves to another


class LinkedSum(InParts):
    """A `Planner`. main: how the partial results are made."""

    note = _NOTE

    def __init__(
        self, op: TensorOp, divided: Divided, main: Realigned, apart: Callable[[], Runnable]
    ) -> None:
        super().__init__(apart)
        self._op, self._divided, self._main = op, divided, main

    @staticmethod
    def may_link(divided: Divided, main: Realigned, machine: Machine) -> bool:
        """Whether there are no more parts than fit a plan, and no more partial results than a
        thread may keep from call to call."""
        if divided.size * element(divided.main.dtype).size + main.held > KEPT:
            return False
        return not main.orders or (len(main.orders) == 1 and main.links(machine))

    def stages(self, threads: int) -> tuple[Stage, ...]:
        """As `Planner.stages`: a single one."""
        partial = self._divided.size * element(self._divided.main.dtype).size
        temporaries = room(self._main, (_COPY,)) | {_PARTIAL: partial}
        return (chained(self._op, self._linked(threads), temporaries),)

    def schedules(self, threads: int) -> tuple[Schedule, ...]:
        """As `Planner.schedules`."""
        return tuple(part.schedule for part in self._linked(threads))

    def of(self, op: TensorOp) -> LinkedSum:
        """As `Planner.of`: where out begins makes no difference to partial results."""
        return self

    def _linked(self, threads: int) -> list[Part]:
        divided, size = self._divided, element(self._divided.main.dtype).size
        parts = link(self._main, threads, out=_PARTIAL, free=(_COPY,))
        if divided.rest is not None:
            slots = (*OPERANDS[: divided.rest.out], _PARTIAL)
            further = [size * offset for offset in divided.offsets]
            parts.append(placed(scheduled(divided.rest, threads), slots, further))
        total = scheduled(self._divided.total, threads)
        return [*parts, Part(total, (_PARTIAL, Slot.OUT))]


class DividedSum:
    """A sum in parts. `plan` makes executables of these."""

    note = _NOTE

    def __init__(self, op: TensorOp, divided: Divided, plan: Plan) -> None:
        self.op = op
        size = element(divided.main.dtype).size
        self._bytes = divided.size * size
        self._offsets = [offset * size for offset in divided.offsets]
        self._main, self._total = plan(divided.main), plan(divided.total)
        self._rest = None if divided.rest is None else plan(divided.rest)

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        steps = (self._main, self._rest, self._total)
        return tuple(s for step in steps if step is not None for s in step.schedules)

    def run(
        self,
        arrays: Sequence[Operand],
        alpha: Any = None,
        beta: Any = None,
        bias: Operand | None = None,
    ) -> None:
        """As `Runnable.run`; a divided sum has no first touch that would start from a bias."""
        *inputs, out = arrays
        partial = vector(self._bytes, _BYTE)
        self._main.run((*inputs, partial))
        if self._rest is not None:
            operands = zip((*inputs, partial), self._offsets, strict=True)
            self._rest.run([address(x) + offset for x, offset in operands])
        self._total.run((partial, out), alpha, beta)
