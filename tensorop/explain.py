"""Schedules as text: what `plan.explain()` prints.

Of each step the dimensions with their strides, what each pass did and why, and the loop nest with
its kernels, outermost first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tensorop.debug import Level, show, wants
from tensorop.ir import Dimension, ExecType, TensorOp
from tensorop.optimizer.result import listing
from tensorop.schedule import BIAS, Call, Loop, Pack, Schedule, Step


def summary(op: TensorOp, schedules: Sequence[Schedule]) -> str:
    """A planned operation in one line."""
    steps = (step for schedule in schedules for _, step in schedule.steps())
    kernels = dict.fromkeys(step.kernel.name for step in steps if isinstance(step, Call))
    shares = max(schedule.shares for schedule in schedules)
    over = f"{op.main} in {op.dtype} over {listing(op.dimensions)}"
    return f"{over}: {', '.join(kernels)}, {shares} share{'s' if shares > 1 else ''}"


def show_planned(op: TensorOp, schedules: Sequence[Schedule]) -> None:
    """What the debug levels say of a new plan, and whether it is in order."""
    if not wants(Level.PLAN):
        return
    for schedule in schedules:
        schedule.verify()
    show(Level.PLAN, lambda: f"tensorop: {summary(op, schedules)}")
    lines = (f"  {line}" for schedule in schedules for line in describe(schedule))
    show(Level.PASSES, lambda: "\n".join(lines))


def describe(schedule: Schedule) -> Iterator[str]:
    """The lines of one schedule."""
    op = schedule.op
    names = _tensor_names(schedule)
    yield f"{op.main} in {op.dtype}" + (" (in0 and in1 exchanged)" if schedule.swapped else "")
    yield from _dimensions(op, names)
    yield "passes"
    yield from (f"  {note}" for note in schedule.notes)
    yield f"schedule, {schedule.shares} share{'s' if schedule.shares > 1 else ''}"
    yield from _body(schedule, schedule.body, names, "  ")


def _tensor_names(schedule: Schedule) -> list[str]:
    names = [tensor.role for tensor in schedule.op.tensors]
    if schedule.swapped:
        names[0], names[1] = names[1], names[0]
    return names


def _dimensions(op: TensorOp, names: list[str]) -> Iterator[str]:
    header = "  ".join(f"{name:>8}" for name in names)
    yield f"  type  size      {header}   strides in elements"
    for d in op.dimensions:
        yield f"  {_row(d)}"


def _row(d: Dimension) -> str:
    strides = "  ".join(f"{stride:>8}" for stride in d.strides)
    return f"{d.type:4}  {d.size:<8}  {strides}   {d.name}".rstrip()


def _body(
    schedule: Schedule, body: tuple[Step, ...], names: list[str], indent: str
) -> Iterator[str]:
    for step in body:
        if isinstance(step, Loop):
            yield f"{indent}{_loop(schedule, step)}"
            yield from _body(schedule, step.body, names, indent + "  ")
        elif isinstance(step, Pack):
            ahead = ", the next ones asked for meanwhile" if step.ahead else ""
            yield f"{indent}pack {names[step.tensor]}: panels of {step.width} {step.lanes}{ahead}"
        else:
            yield f"{indent}{_call(step, names)}"


def _loop(schedule: Schedule, loop: Loop) -> str:
    size = schedule.axis(loop.axis).size
    shared = " shared" if loop.exec == ExecType.SHARED else ""
    step = "each" if loop.block == 1 else f"blocks of {loop.block}"
    if loop.anew:
        step = f"windows of {loop.block}"
    return f"for {loop.axis} of {size}, {step}{shared}"


def _call(call: Call, names: list[str]) -> str:
    operands = ", ".join("bias" if t == BIAS else names[t] for t in call.tensors)
    when = {"first": "before the first K block: ", "last": "after the last K block: "}
    over = ", ".join(axis for axis in call.axes if axis) or "one element"
    ahead = f", the next {call.together} asked for meanwhile" if call.together > 1 else ""
    return f"{when.get(call.when, '')}{call.kernel.name} on {operands} over {over}{ahead}"
