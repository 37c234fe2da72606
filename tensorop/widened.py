"""Half-type operations whose results no single kernel call can hold, by way of float32.

A partial sum stored in a half type would be rounded once a block of K, and a result before its last
touch, which reads it back. Where a schedule cuts K (a sum over three or more strides that do not
fuse, or over more elements than a window has), or the last touch is a call or a schedule of its
own, the operands are cast to dense float32, the operation runs in it, and its result is rounded
once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorop.ir import (
    TRANSCENDENTAL,
    Dimension,
    DimType,
    ExecType,
    Primitive,
    Tensor,
    TensorOp,
)
from tensorop.jit.elements import element
from tensorop.memory import vector
from tensorop.runnable import Operand, Plan
from tensorop.schedule import Call, Loop, Schedule

WIDE = "float32"
COMPUTED = TRANSCENDENTAL | {Primitive.SQUARE, Primitive.SQRT, Primitive.RECIPROCAL}  # and rounded


def rounds_early(op: TensorOp, schedules: Sequence[Schedule]) -> bool:
    """Whether a half-type result would be stored before it is complete, if the operation ran as
    these schedules, one after the other."""
    if not element(op.dtype).half:
        return False
    steps = [(schedule, step) for schedule in schedules for _, step in schedule.steps()]
    if op.last_touch in COMPUTED and op.main != Primitive.COPY:
        apart = len(schedules) > 1 and schedules[-1].op.main == op.last_touch
        if apart or any(isinstance(s, Call) and s.when == "last" for _, s in steps):
            return True
    axes = [(schedule.axis(s.axis), s.block) for schedule, s in steps if isinstance(s, Loop)]
    return any(axis.type == DimType.K and block < axis.size for axis, block in axes)


class Widened:
    """An operation run in float32. `plan` makes executables of the casts and the operation."""

    note = "in float32, through temporaries: no kernel call holds a result until it is complete"

    def __init__(self, op: TensorOp, plan: Plan) -> None:
        self.op = op
        self._sizes, strides = [], []
        self._casts = []
        for t in range(len(op.tensors)):
            dims = [d for d in op.dimensions if d.strides[t]]
            dense = _dense([d.size for d in dims])
            self._sizes.append(int(np.prod([d.size for d in dims], dtype=np.int64)))
            strides.append({id(d): s for d, s in zip(dims, dense, strict=True)})
            self._casts.append(plan(_cast(dims, t, dense, op.tensors[t].dtype, WIDE)))
        out = op.out
        dims = [d for d in op.dimensions if d.strides[out]]
        dense = _dense([d.size for d in dims])
        self._narrow = plan(_cast(dims, out, dense, WIDE, op.dtype, back=True))
        wide = tuple(
            d._replace(strides=tuple(table.get(id(d), 0) for table in strides))
            for d in op.dimensions
        )
        tensors = tuple(t._replace(dtype=WIDE) for t in op.tensors)
        main = Primitive.COPY if op.main == Primitive.CAST else op.main  # operands have been cast
        self._main = plan(op._replace(tensors=tensors, dimensions=wide, main=main))

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        parts = (*self._casts[:-1], self._main, self._narrow)
        return tuple(schedule for part in parts for schedule in part.schedules)

    def run(
        self,
        arrays: Sequence[Operand],
        alpha: Any = None,
        beta: Any = None,
        bias: Operand | None = None,
    ) -> None:
        """As `Runnable.run`."""
        wide = [vector(size, np.dtype(np.float32)) for size in self._sizes]
        for cast, source, target in zip(self._casts[:-1], arrays[:-1], wide[:-1], strict=True):
            cast.run((source, target))
        initial = bias if bias is not None else arrays[-1]
        if bias is not None or beta is not None:
            self._casts[-1].run((initial, wide[-1]))
        if bias is not None:
            self._main.run(wide, alpha, beta, wide[-1].copy())
        else:
            self._main.run(wide, alpha, beta)
        self._narrow.run((wide[-1], arrays[-1]))


def _dense(sizes: list[int]) -> list[int]:
    """C-order strides in elements."""
    strides, step = [], 1
    for size in reversed(sizes):
        strides.append(step)
        step *= size
    return strides[::-1]


def _cast(
    dims: list[Dimension],
    tensor: int,
    dense: list[int],
    source: str,
    target: str,
    *,
    back: bool = False,
) -> TensorOp:
    """The cast of a tensor to its dense form, or back."""
    dimensions = []
    for d, step in zip(dims, dense, strict=True):
        strides = (step, d.strides[tensor]) if back else (d.strides[tensor], step)
        dimensions.append(Dimension(DimType.C, d.size, strides, ExecType.SEQ, d.name))
    tensors = (Tensor("in0", source), Tensor("out", target))
    return TensorOp(tensors, tuple(dimensions), Primitive.CAST)
