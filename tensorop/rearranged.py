"""An operation some of whose tensors go through dense temporaries of another order.

`optimizer/realign.py` says which, and why. Inputs are permuted before the operation; an output is
computed in its temporary, and permuted (with beta) after it. What is large goes piece by piece
along one dimension, so that a temporary is used while it is in the cache. What is small is linked
into a single plan (`linked.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorop.ir import DimType
from tensorop.jit.elements import element
from tensorop.memory import vector
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.realign import Realigned
from tensorop.runnable import Operand, Plan, address
from tensorop.schedule import Schedule

_BYTE = np.dtype(np.uint8)


class Rearranged:
    """An operation on temporaries. `main` makes an executable of it, `copy` of their copies."""

    def __init__(self, parts: Realigned, machine: Machine, main: Plan, copy: Plan) -> None:
        self.op = parts.op
        along, block = parts.block(machine)
        dimension = parts.op.dimensions[along]
        starts = range(0, dimension.size, block)
        sizes = [min(block, dimension.size - start) for start in starts]
        self.note = parts.note
        if len(sizes) > 1:
            self.note += f"; in {len(sizes)} pieces along {dimension.name}, of which this is one"
        pieces = {
            size: _Piece(parts.part(along, size), main, copy) for size in dict.fromkeys(sizes)
        }
        self._adds = dimension.type == DimType.K
        steps = [stride * element(self.op.dtype).size for stride in dimension.strides]
        self._pieces = [
            ([start * step for step in steps], pieces[size])
            for start, size in zip(starts, sizes, strict=True)
        ]

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        """Of one piece."""
        return self._pieces[0][1].schedules

    def run(
        self,
        arrays: Sequence[Operand],
        alpha: Any = None,
        beta: Any = None,
        bias: Operand | None = None,
    ) -> None:
        """As `Runnable.run`."""
        if len(self._pieces) == 1:
            self._pieces[0][1].run(arrays, alpha, beta, bias)
            return
        addresses = [address(array) for array in arrays]
        start = None if bias is None else address(bias)
        for offsets, piece in self._pieces:
            operands = [a + offset for a, offset in zip(addresses, offsets, strict=True)]
            piece.run(operands, alpha, beta, None if start is None else start + offsets[-1])
            beta = 1 if self._adds else beta


class _Piece:
    """All of an operation, or a part of it along one dimension."""

    def __init__(self, parts: Realigned, main: Plan, copy: Plan) -> None:
        size = element(parts.op.dtype).size
        self._main = main(parts.main())
        self._copies = {t: (parts.size(t) * size, copy(parts.copy(t))) for t in parts.orders}
        self._writes = self._copies.pop(parts.op.out, None)

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        before = [copy for _, copy in self._copies.values()]
        after = [self._writes[1]] if self._writes else []
        return tuple(s for part in (*before, self._main, *after) for s in part.schedules)

    def run(self, operands: Sequence[Operand], alpha: Any, beta: Any, bias: Operand | None) -> None:
        used = list(operands)
        for tensor, (size, copy) in self._copies.items():
            used[tensor] = vector(size, _BYTE)
            copy.run((operands[tensor], used[tensor]))
        if self._writes is None:
            self._main.run(used, alpha, beta, bias)
            return
        size, copy = self._writes
        used[-1] = vector(size, _BYTE)
        self._main.run(used, alpha, None)
        copy.run((used[-1], operands[-1]), None, beta)
