"""Asking for the operands of some items of a batch before they are multiplied, one after the other.

Where the batch index is not the outermost of a tensor, an item of the batch lies in many short rows
far apart, but those of neighbouring items go on where they end. So the loop over the batch is cut:
some items are asked for, in rows as long as all of them, then used one by one.

    for b in blocks:  touch in0, in1, out;  for b of the block: (what the schedule was)
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import prod

from tensorop.ir import Dimension, DimType, ExecType, TensorOp
from tensorop.jit.elements import element
from tensorop.jit.gemm_abi import GemmKernel
from tensorop.jit.touch_abi import TouchKernel
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.transfer import MEMORY, level_of
from tensorop.schedule import Call, Loop, Schedule, Step

LONG = 2048  # bytes of a row that the hardware asks ahead in by itself
ROW = 512  # bytes of a row that are asked for at a time
WORK = 2048  # multiply-adds of vectors that are worth a call for each tensor
STREAMS = 1.5  # times as many rows as it follows at a time before asking pays
SOON = 4  # part of what a shared L3 keeps, that is there when it is needed
LONG_ITEM = 8192  # multiply-adds of a product during which what is asked for can come


def touched(schedule: Schedule, machine: Machine) -> Schedule:
    """The same schedule, with the operands of its batch asked for in blocks where that pays."""
    op = schedule.op
    dimension, block = touch_block(op, machine)
    if schedule.shares > 1:  # blocks are what threads share
        block = min(block, op.size_of(DimType.C) // (4 * schedule.shares))
    if dimension is None or block < 2 or any(a.name == "X" for a in schedule.axes):
        return schedule
    old = next((a for a in schedule.axes if a.dimensions == (dimension,)), None)
    asks = [c for c in touches(op, dimension, machine) if c.tensors[0] not in _asked(schedule)]
    if old is None or not asks:
        return schedule

    def cut(body: tuple[Step, ...]) -> tuple[Step, ...] | None:
        """The loops over the batch, the one over the dimension in two; None if it is not there."""
        loop = body[0]
        if len(body) > 1 or not isinstance(loop, Loop) or loop.block != 1:
            return None
        if loop.axis != old.name:
            inside = cut(loop.body)
            return None if inside is None else (loop._replace(body=inside),)
        each = Loop("X", 1, ExecType.SEQ, loop.body)
        return (Loop("X", block, loop.exec, (*asks, each)),)

    body = cut(schedule.body)
    if body is None:
        return schedule
    axes = tuple(a._replace(name="X") if a is old else a for a in schedule.axes)
    note = f"touch: {block} of {dimension.name or 'C'} asked for at a time"
    return schedule._replace(axes=axes, body=body, notes=(*schedule.notes, note))


def _asked(schedule: Schedule) -> range:
    """The tensors that the product of a schedule asks for itself."""
    kernels = [step.kernel for _, step in schedule.steps() if isinstance(step, Call)]
    return range(max([k.asks for k in kernels if isinstance(k, GemmKernel)], default=0))


@lru_cache(maxsize=256)  # estimates and passes ask about the same operation
def touch_block(op: TensorOp, machine: Machine) -> tuple[Dimension | None, int]:
    """The batch dimension along which to ask, and for how many of its items at a time: so few that
    the core is still multiplying those before while they come, at most half of what L2 holds. Of 0
    where L3 holds the operation: its rows come soon enough without. From one that is far and shared
    only little does, or what is soon multiplied, so that asking shows."""
    nearest = _nearest(op)
    if nearest is None or len(op.tensors) != 3:
        return None, 0
    item = item_bytes(op)
    block = min(nearest.size, machine.l2 // 2 // item)
    held = item * op.size_of(DimType.C)
    if held <= machine.l2 or block < 2:
        return None, 0
    asked = touches(op, nearest, machine)
    steps = [_step(op, t, nearest) for call in asked for t in call.tensors]
    if max(steps, default=0) * block < LONG:
        return None, 0
    each = prod(op.size_of(t) for t in (DimType.M, DimType.N, DimType.K))
    soon = machine.near_l3 or held <= machine.kept // SOON or each < LONG_ITEM
    if soon and level_of(held, machine) < MEMORY:
        return nearest, 0
    worth = WORK * machine.lanes(op.dtype) // each
    return nearest, min(block, max(2, ROW // min(steps), worth))


def touches(op: TensorOp, dimension: Dimension, machine: Machine) -> tuple[Call, ...]:
    """A step for every tensor whose items along a batch dimension lie in short rows, if these are
    more than the hardware follows."""
    short, count = _short(op, dimension)
    if count <= STREAMS * machine.streams:
        return ()
    return tuple(Call(TouchKernel(writes=t == op.out), (t,), ("X",)) for t in short)


def follows(op: TensorOp, machine: Machine) -> bool:
    """Whether the hardware follows all rows of the items of a batch, from one item to the next."""
    nearest = _nearest(op)
    if nearest is None:
        return False
    short, count = _short(op, nearest)
    return len(short) == 3 and count <= STREAMS * machine.streams


def _nearest(op: TensorOp) -> Dimension | None:
    """The innermost loop over the batch."""
    return min(op.of_type(DimType.C), key=lambda d: abs(d.strides[op.out]), default=None)


def _short(op: TensorOp, dimension: Dimension) -> tuple[list[int], int]:
    """The tensors whose items lie in short rows, that are long together, and how many rows."""
    steps = [_step(op, tensor, dimension) for tensor in range(3)]
    short = [t for t, step in enumerate(steps) if 0 < step < LONG <= step * dimension.size]
    return short, streams(op, dimension, short)


def _step(op: TensorOp, tensor: int, dimension: Dimension) -> int:
    """Bytes from one item to the next."""
    return dimension.strides[tensor] * element(op.tensors[tensor].dtype).size


def streams(op: TensorOp, dimension: Dimension, tensors: Iterable[int]) -> int:
    """How many rows an item has in some tensors."""
    return sum([prod([d.size for d in item_rows(op, t, dimension)]) for t in tensors])


def item_rows(op: TensorOp, tensor: int, dimension: Dimension) -> list[Dimension]:
    """The dimensions of an item whose positions are rows: what lies outside the batch."""
    step = abs(dimension.strides[tensor])
    return [d for d in op.dimensions if abs(d.strides[tensor]) > step and d.type != DimType.C]


def item_bytes(op: TensorOp) -> int:
    """Bytes of an item of the batch, in all tensors."""
    kept = [d for d in op.dimensions if d.type != DimType.C]
    return sum(
        [
            element(tensor.dtype).size * prod([d.size for d in kept if d.strides[t]])
            for t, tensor in enumerate(op.tensors)
        ]
    )
