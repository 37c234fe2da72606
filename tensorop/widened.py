"""Half-type operations whose results no single kernel call can hold, by way of float32.

A partial sum stored in a half type would be rounded once a block of K, and a result before its last
touch, which reads it back. Where a schedule cuts K (a sum over three or more strides that do not
fuse, or over more elements than a window has), or the last touch is a call or a schedule of its
own, the operands are cast to dense float32, the operation runs in it, and its result is rounded
once. Of the largest operand only as much is cast at a time as stays in a cache, where the optimizer
prefers that (`optimizer/pieces.py`). So it is for batches of small products, which float32 has
better ways for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from tensorop.ir import (
    CONTRACTIONS,
    SCALED,
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
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.normalise import normalised
from tensorop.optimizer.realign import cycles
from tensorop.optimizer.regime import choose_alike
from tensorop.runnable import Operand, Plan, Runnable
from tensorop.schedule import Call, Loop, Schedule

PlanPair = Callable[[TensorOp, TensorOp, int], Runnable | None]

WIDE = "float32"
BATCH = 64  # products from which on casts of all of them may pay
SURELY = 4  # times as long, by estimate, that these take packed one by one
APIECE = "blocked", "dots"  # ways in which every product of a batch is run by itself
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


def takes_less(op: TensorOp, machine: Machine) -> bool:
    """Whether a batch of products in a half type had better run in float32: casts of all take less
    than to pack or to widen the operands of each by itself."""
    if not element(op.dtype).half or op.main not in CONTRACTIONS:
        return False
    op = normalised(op)
    if op.size_of(DimType.C) < BATCH or choose_alike(op, machine).name not in APIECE:
        return False
    casts, wide = _in_float32(op)
    price = sum([cycles(each, machine) for each in (*casts, wide)])
    return price * SURELY < cycles(op, machine)


class Widened:
    """An operation run in float32.

    Parameters
    ----------
    op : TensorOp
    plan : Plan
        Makes executables of the casts and the operation.
    pair : callable, optional
        Makes an executable of a cast and the operation, which reads what that has written as its
        input of that number, if they had better run piece by piece.
    """

    note = "in float32, through temporaries: no kernel call holds a result until it is complete"

    def __init__(self, op: TensorOp, plan: Plan, pair: PlanPair | None = None) -> None:
        self.op, (casts, wide) = op, _in_float32(op)
        self._sizes = [prod([d.size for d in cast.dimensions]) for cast in casts]
        # The largest input, if it is cast by what runs the operation.
        self._paired, largest = -1, max(range(op.out), key=self._sizes.__getitem__)
        together = pair(casts[largest], wide, largest) if pair and _is_plain(op) else None
        if together is not None:
            self._paired = largest
        self._main = together or plan(wide)
        self._casts = {t: plan(cast) for t, cast in enumerate(casts) if t != self._paired}
        self._narrow = plan(_cast(op, op.out, back=True))

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        casts = [cast for t, cast in self._casts.items() if t != self.op.out]
        parts = (*casts, self._main, self._narrow)
        return tuple(schedule for part in parts for schedule in part.schedules)

    def run(
        self,
        arrays: Sequence[Operand],
        alpha: Any = None,
        beta: Any = None,
        bias: Operand | None = None,
    ) -> None:
        """As `Runnable.run`."""
        out, wide = self.op.out, list(arrays)
        for t, cast in self._casts.items():
            wide[t] = vector(self._sizes[t], np.dtype(np.float32))
            if t < out:
                cast.run((arrays[t], wide[t]))
        initial = bias if bias is not None else arrays[out]
        if bias is not None or beta is not None:
            self._casts[out].run((initial, wide[out]))
        if self._paired >= 0:  # which the first of the two steps reads
            wide.insert(0, wide.pop(self._paired))
        if bias is not None:
            self._main.run(wide, alpha, beta, wide[-1].copy())
        else:
            self._main.run(wide, alpha, beta)
        self._narrow.run((wide[-1], arrays[out]))


def _in_float32(op: TensorOp) -> tuple[list[TensorOp], TensorOp]:
    """The casts of all tensors, out among them, and the operation on what they write."""
    tensors = tuple([t._replace(dtype=WIDE) for t in op.tensors])
    dense = [_dense(op, t) for t in range(len(tensors))]
    dimensions = [
        d._replace(strides=tuple([steps.get(i, 0) for steps in dense]))
        for i, d in enumerate(op.dimensions)
    ]
    main = Primitive.COPY if op.main == Primitive.CAST else op.main  # operands have been cast
    wide = op._replace(tensors=tensors, dimensions=tuple(dimensions), main=main)
    return [_cast(op, t) for t in range(len(tensors))], wide


def _is_plain(op: TensorOp) -> bool:
    """Whether it may be the second of two steps: a sum that nothing else is done to, of dimensions
    that have names to be known by."""
    names = {d.name for d in op.dimensions}
    untouched = op.first_touch == op.last_touch == Primitive.NONE
    return untouched and op.main in SCALED and len(names) == len(op.dimensions) and "" not in names


def _dense(op: TensorOp, tensor: int) -> dict[int, int]:
    """Strides in elements of a dense tensor that lies as one does, by the numbers of its
    dimensions."""
    own = [(abs(d.strides[tensor]), i) for i, d in enumerate(op.dimensions) if d.strides[tensor]]
    strides, step = {}, 1
    for _, i in sorted(own):
        strides[i] = step
        step *= op.dimensions[i].size
    return strides


def _cast(op: TensorOp, tensor: int, *, back: bool = False) -> TensorOp:
    """The cast of a tensor to its dense form, or back."""
    dimensions = []
    for i, step in sorted(_dense(op, tensor).items()):
        d = op.dimensions[i]
        strides = (step, d.strides[tensor]) if back else (d.strides[tensor], step)
        dimensions.append(Dimension(DimType.C, d.size, strides, ExecType.SEQ, d.name))
    types = (WIDE, op.dtype) if back else (op.tensors[tensor].dtype, WIDE)
    tensors = tuple([Tensor(*each) for each in zip(("in0", "out"), types, strict=True)])
    return TensorOp(tensors, tuple(dimensions), Primitive.CAST)
