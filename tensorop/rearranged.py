"""Products whose output is consecutive along a batch dimension, by way of a temporary.

A matrix product writes one batch item at a time. Where the items lie interleaved in out (heads of
an attention, fastest in the result), every item would touch every cache line of it. Instead the
items are written one after the other to a dense temporary, which a permuting copy then brings into
out's layout: each line of out is written once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from tensorop.ir import (
    CONTRACTIONS,
    Dimension,
    DimType,
    ExecType,
    Primitive,
    Schedule,
    Tensor,
    TensorOp,
)
from tensorop.jit.elements import element
from tensorop.memory import vector
from tensorop.optimizer.machine import Machine

Array = np.ndarray[Any, Any]


def interleaves(op: TensorOp, schedule: Schedule, machine: Machine) -> bool:
    """Whether a schedule writes items of a batch that lie interleaved in out, and out is large."""
    if op.main not in CONTRACTIONS or op.first_touch != Primitive.NONE:
        return False
    if op.last_touch != Primitive.NONE or "M" not in {a.name for a in schedule.axes}:
        return False
    if element(op.dtype).half:  # with beta, the temporary would round a second time
        return False
    kept = [d for d in op.dimensions if d.type != DimType.K and d.size > 1]
    if not kept:
        return False
    fastest = min(kept, key=lambda d: abs(d.strides[op.out]))
    size = prod(d.size for d in kept) * element(op.dtype).size
    return fastest.type == DimType.C and size > machine.l1


class Rearranged:
    """A contraction into a dense temporary, then a copy. `plan` makes executables of both."""

    def __init__(self, op: TensorOp, plan: Callable[[TensorOp], Any]) -> None:
        self.op = op
        order = sorted((d for d in op.dimensions if d.type != DimType.K), key=_outermost_first(op))
        steps, step = dict[int, int](), 1
        for d in reversed(order):
            steps[id(d)] = step
            step *= d.size
        self._size = step
        out = op.out
        dense = tuple(
            replace(d, strides=(*d.strides[:out], steps.get(id(d), 0))) for d in op.dimensions
        )
        self._main = plan(op.with_dimensions(dense))
        copied = tuple(
            Dimension(DimType.C, d.size, (steps[id(d)], d.strides[out]), ExecType.SEQ, d.name)
            for d in order
        )
        tensors = (Tensor("in0", op.dtype), Tensor("out", op.dtype))
        self._copy = plan(TensorOp(tensors, copied, Primitive.COPY))

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        return (*self._main.schedules, *self._copy.schedules)

    def run(
        self,
        arrays: Sequence[Array],
        alpha: Any = None,
        beta: Any = None,
        bias: Array | None = None,
    ) -> None:
        """As `Executable.run`."""
        *inputs, out = arrays
        items = vector(self._size, out.dtype)
        self._main.run((*inputs, items), alpha, None)
        self._copy.run((items, out), None, beta)


def _outermost_first(op: TensorOp) -> Callable[[Dimension], tuple[object, ...]]:
    """Batch dimensions, then the side that is not consecutive in its input, then the other."""
    sides = {
        side: any(d.strides[tensor] == 1 for d in op.of_type(side))
        for side, tensor in ((DimType.M, 0), (DimType.N, 1))
    }
    last = DimType.N if sides[DimType.N] and not sides[DimType.M] else DimType.M

    def key(d: Dimension) -> tuple[object, ...]:
        return d.type != DimType.C, d.type == last, -abs(d.strides[op.out])

    return key
