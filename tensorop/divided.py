"""A sum whose parts threads share: partial results, then their sum (`optimizer/divide.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorop.ir import TensorOp
from tensorop.jit.elements import element
from tensorop.memory import vector
from tensorop.optimizer.divide import Divided
from tensorop.runnable import Operand, Plan, address
from tensorop.schedule import Schedule

_BYTE = np.dtype(np.uint8)


class DividedSum:
    """A sum in parts. `plan` makes executables of these."""

    note = "the sum is divided among threads: partial results, then their sum"

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
            further = [address(x) + offset for x, offset in zip(inputs, self._offsets, strict=True)]
            self._rest.run((*further, partial), 1, 1)
        self._total.run((partial, out), alpha, beta)
