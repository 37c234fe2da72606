"""An operation some of whose tensors go through dense temporaries of another order.

`optimizer/realign.py` says which, and why. Inputs are permuted before the operation; an output is
computed in its temporary, and permuted (with beta) after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorop.ir import Schedule, TensorOp
from tensorop.memory import vector
from tensorop.optimizer.realign import Realigned

Array = np.ndarray[Any, Any]


class Rearranged:
    """An operation on temporaries. `plan` makes executables of its parts."""

    def __init__(self, parts: Realigned, plan: Callable[[TensorOp], Any]) -> None:
        self.op = op = parts.op
        self._main = plan(parts.main())
        self._copies = {t: (parts.size(t), plan(parts.copy(t))) for t in parts.orders}
        self._writes = self._copies.pop(op.out, None)

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        before = [copy for _, copy in self._copies.values()]
        after = [self._writes[1]] if self._writes else []
        return tuple(s for part in (*before, self._main, *after) for s in part.schedules)

    def run(
        self,
        arrays: Sequence[Array],
        alpha: Any = None,
        beta: Any = None,
        bias: Array | None = None,
    ) -> None:
        """As `Executable.run`."""
        used, out = list(arrays), arrays[-1]
        for tensor, (size, copy) in self._copies.items():
            used[tensor] = vector(size, out.dtype)
            copy.run((arrays[tensor], used[tensor]))
        if self._writes is None:
            self._main.run(used, alpha, beta, bias)
            return
        size, copy = self._writes
        used[-1] = vector(size, out.dtype)
        self._main.run(used, alpha, None)
        copy.run((used[-1], out), None, beta)
