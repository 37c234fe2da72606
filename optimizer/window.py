"""Windows: long axes are gone through piece by piece, so that their offset tables stay short.

Kernels find the positions of an axis in tables (jit/tables.py), which are as long as the axis. Of a
long one a *window* is tabled: a loop outside of everything else moves the tensors from window to
window, and inside it positions are counted anew. Every window of a loop lies as the first one does:
it holds whole inner dimensions of the axis, and part of one dimension, or one position of it. The
last window may be shorter; where one would be, tables may not list positions in any other order
than theirs (`are_alike`).

    for M in windows of 32768, counted anew:  (what the schedule was)
"""

from __future__ import annotations

from itertools import pairwise
from math import prod

from tensorop.ir import ExecType
from tensorop.jit.copy_abi import CopyKernel
from tensorop.jit.gemm_abi import GemmKernel
from tensorop.optimizer.balance import balanced
from tensorop.schedule import Axis, Call, Loop, Pack, Schedule

LONGEST = 1 << 15  # positions of a window
LEAST = 1 << 10  # the same: where windows of one length would have fewer, the last is shorter
MULTIPLE = 192  # of which a window of a single dimension is a multiple: whole register tiles


def windows(axis: Axis) -> tuple[int, ...]:
    """The windows of an axis, outermost loop first; none where it is short.

    >>> from tensorop.ir import Dimension, DimType
    >>> d = [Dimension(DimType.M, size, (1, 0, 1)) for size in (7, 500, 90)]
    >>> windows(Axis("M", DimType.M, tuple(d)))
    (45000, 22500)
    """
    found, size = [], axis.size
    for d in axis.dimensions:
        if size <= LONGEST:
            break
        inner = size // d.size
        if inner == 1:
            found.append(balanced(d.size, LONGEST, MULTIPLE))
            break
        if inner <= LONGEST:
            most = LONGEST // inner
            even = next(n for n in range(most, 0, -1) if d.size % n == 0)
            found.append(inner * (even if even * inner >= LEAST else most))
            break
        if d.size > 1:
            found.append(inner)
        size = inner
    return tuple(found)


def window_of(axis: Axis, blocks: tuple[int, ...]) -> Axis:
    """The part of an axis that its windows cover, one after the other."""
    if not blocks:
        return axis
    dims = axis.dimensions
    for block in blocks:
        inner = prod(d.size for d in dims)
        for i, d in enumerate(dims):
            inner //= d.size
            if inner <= block:
                kept = (d.sized(block // inner),) if block > inner else ()
                dims = (*kept, *dims[i + 1 :])
                break
    return axis._replace(dimensions=dims)


def tabled_part(axis: Axis) -> Axis:
    """What is tabled of an axis."""
    return window_of(axis, windows(axis))


def are_alike(axis: Axis) -> bool:
    """Whether the windows of an axis are equally long, the last one too."""
    sizes = [axis.size, *windows(axis)]
    return not any(size % block for size, block in pairwise(sizes))


def windowed(schedule: Schedule) -> Schedule:
    """The same schedule, with long axes that kernels address through tables in windows."""
    names: dict[str, None] = {}
    for _, step in schedule.steps():
        if isinstance(step, Pack):
            names |= {step.lanes: None, step.depth: None}
        elif isinstance(step, Call) and isinstance(step.kernel, GemmKernel):
            names |= dict.fromkeys(step.axes[:2])
        elif isinstance(step, Call) and isinstance(step.kernel, CopyKernel):
            names |= dict.fromkeys(step.axes)
    body, notes = schedule.body, list(schedule.notes)
    for name in filter(None, names):
        blocks = windows(schedule.axis(name))
        for block in reversed(blocks):
            body = (Loop(name, block, ExecType.SEQ, body, anew=True),)
        if blocks:
            notes.append(f"window: {blocks[-1]} of {name} at a time")
    return schedule if body is schedule.body else schedule._replace(body=body, notes=tuple(notes))
