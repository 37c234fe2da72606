"""What of a program runs at once: a step, or two of them piece by piece.

In goes a `Program`, out come its `Run`s, each with its executable. Two steps are a run where the
optimizer prefers that (`optimizer/pieces.py`), which is asked only where L2 does not hold what lies
between them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tensorop import plans
from tensorop.dtypes import DType, is_half, name_of
from tensorop.errors import whole
from tensorop.executable import PlanFor
from tensorop.ir import SCALED
from tensorop.jit.elements import element
from tensorop.jit.guard import importing
from tensorop.optimizer.machine import host_machine
from tensorop.program import Program
from tensorop.runnable import Runnable
from tensorop.tree import Step
from tensorop.tuples import NamedTuple


@cache
def _tuning() -> Any:
    """As `plans`, of what a search has found."""
    with importing:
        from tensorop import tuning

    return whole(tuning)


class Run(NamedTuple):
    """One step, or two.

    steps: these. inputs: the slots that it reads, those of the first step before the other ones of
    the second: slots are the caller's operands, and then what each run writes. size: elements of
    the intermediate result, None where it writes the result itself. factor: as that of the last
    step, as a scalar; None for 1.
    """

    steps: tuple[Step, ...]
    executable: Runnable
    inputs: tuple[int, ...]
    size: int | None
    factor: Any


def runs_of(program: Program, threads: int | None, tune: bool, three_m: bool) -> tuple[Run, ...]:
    """The runs of a program, in order. For the rest see `Call`."""
    plan: PlanFor = _tuning().plan_for if tune else plans.plan_for
    by_three = plans.plan_three_m if three_m and program.work.kind == "c" else None
    pairs = {} if tune or by_three else _pairs(program, threads)
    taken, runs = {first.output for first, _ in pairs.values()}, list[Run]()
    slots, operands = dict[int, int](), program.steps[0].output if program.steps else 0
    for step in program.steps:
        if step.output in taken:
            continue
        steps: tuple[Step, ...] = (step,)
        inputs = step.inputs
        if step.output in pairs:
            first, executable = pairs[step.output]
            steps = (first, step)
            inputs = (*first.inputs, *[slot for slot in inputs if slot != first.output])
        else:
            three = by_three and by_three(step.op, threads)
            executable = three or plan(step.op, threads)
        inputs = tuple([slots.get(slot, slot) for slot in inputs])
        slots[step.output] = operands + len(runs)
        factor = _factor(step.factor, program.work)
        runs.append(Run(steps, executable, inputs, step.size, factor))
    return tuple(runs)


def _pairs(program: Program, threads: int | None) -> dict[int, tuple[Step, Runnable]]:
    """Steps that run together with one before them, by what they write: that one, and what runs
    both. Where most lies between two is looked at first; a step is in one pair."""
    made_by = {step.output: step for step in program.steps if step.size is not None}
    found: list[tuple[int, Step, Step]] = []
    for second in program.steps:
        for first in [made_by[slot] for slot in second.inputs if slot in made_by]:
            between = (first.size or 0) * element(first.op.dtype).size
            if between > host_machine().l2 and second.op.main in SCALED:
                found.append((between, first, second))
    pairs, used = dict[int, tuple[Step, Runnable]](), set[int]()
    for _, first, second in sorted(found, key=lambda pair: -pair[0]):
        if used.isdisjoint({first.output, second.output}):
            reads = second.inputs.index(first.output)
            together = plans.plan_pair(first.op, second.op, reads, threads)
            if together is not None:
                pairs[second.output] = first, together
                used |= {first.output, second.output}
    return pairs


def _factor(factor: int, dtype: DType) -> Any:
    """A step's factor as a scalar that the back end takes, None for 1. Integers wrap."""
    if factor == 1:
        return None
    if dtype.kind in "iu":
        return np.array(factor % 2**64, np.uint64).astype(dtype)[()]
    largest = int(np.finfo(np.longdouble).max)
    value = np.array(np.longdouble(factor) if factor <= largest else np.longdouble(np.inf))
    with np.errstate(over="ignore"):
        return value.astype(np.float32 if is_half(name_of(dtype)) else dtype)[()]
