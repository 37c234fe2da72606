"""All passes, in order: from a `TensorOp` to a `Schedule`.

    normalise -> fuse -> widen -> regime:
        blocked      large contractions: orient -> five loops, packed (blocked.py)
        permute      copies between layouts (permute.py)
        interleave   copies of a few channels, put together or taken apart (interleave.py)
        reorder      copies of items that vectors hold (reorder.py)
        batch        many small products, vectors along the batch (batch.py)
        items        the same, one after the other (items.py)
        tiny         the same, so small that each is straight-line code (tiny.py)
        planar       products of short records, taken apart in registers (planar.py)
        gathered     small products whose operands lie anywhere (gathered.py)
        dots         products of few rows that lie along the sum (dots.py)
        stream       products in which nothing is used twice: vectors over rows, in loops
        nest         everything else: identify -> order -> parallelise -> a kernel in its loops

regime.py says which.
"""

from __future__ import annotations

from math import prod

from tensorop.ir import REDUCTIONS, Dimension, DimType, ExecType, Primitive, Tensor, TensorOp
from tensorop.optimizer.batch import batched
from tensorop.optimizer.blocked import blocked
from tensorop.optimizer.choice import MODEL, Choice
from tensorop.optimizer.dots import dots_of, dotted
from tensorop.optimizer.follow import follow, lead
from tensorop.optimizer.fuse import fuse
from tensorop.optimizer.gathered import gathered_of, gathering
from tensorop.optimizer.group import group
from tensorop.optimizer.identify import identify
from tensorop.optimizer.interleave import channels_of, interleaved, runs_on
from tensorop.optimizer.items import itemised, items_of
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.nest import is_product, nest
from tensorop.optimizer.normalise import normalise
from tensorop.optimizer.order import order
from tensorop.optimizer.orient import exchange, orient
from tensorop.optimizer.parallelise import even_count, parallelise
from tensorop.optimizer.permute import permute, staged
from tensorop.optimizer.permute_digits import permute_digits
from tensorop.optimizer.planar import planar_of, planar_products
from tensorop.optimizer.regime import Regime, choose_alike
from tensorop.optimizer.reorder import reorder, reordered_of
from tensorop.optimizer.result import Passes
from tensorop.optimizer.tiny import tiny_of, tiny_products
from tensorop.optimizer.touch import touched
from tensorop.optimizer.transfer import sharers
from tensorop.optimizer.vectors import reduced, streamed
from tensorop.optimizer.widen import widen
from tensorop.schedule import Call, Schedule
from tensorop.tuples import NamedTuple


class Stage(NamedTuple):
    """One of the schedules that an operation runs as, one after the other.

    main: it is the operation's main step, on its inputs; else it works on out in place, or, with
    reads_bias, copies the bias to out.
    """

    schedule: Schedule
    main: bool = True
    reads_bias: bool = False


def plan_stages(
    op: TensorOp, machine: Machine, threads: int, *, optimize: bool = True, choice: Choice = MODEL
) -> tuple[Stage, ...]:
    """All schedules of an operation: its touches are part of the main one where its kernel calls
    can hold them, else stages of their own."""
    if not optimize:
        return (Stage(as_written(op, machine, threads)),)
    schedule = optimise(op, machine, threads, choice)
    calls = [s for _, s in schedule.steps() if isinstance(s, Call)]
    touched = any(call.when == "last" for call in calls)
    fused = touched or any(getattr(c.kernel, "epilogue", "none") != "none" for c in calls)
    stages = [Stage(schedule)]
    if op.first_touch == Primitive.COPY and not any(c.when == "first" for c in calls):
        copy = optimise(_on_output(op, Primitive.COPY), machine, threads)
        stages.insert(0, Stage(copy, main=False, reads_bias=True))
    if op.last_touch != Primitive.NONE and not fused:
        stages.append(Stage(optimise(_on_output(op, op.last_touch), machine, threads), main=False))
    return tuple(stages)


def _on_output(op: TensorOp, main: Primitive) -> TensorOp:
    """A unary operation over the output, in place or from a tensor laid out like it."""
    dtype, out = op.dtype, op.out
    dimensions = tuple(
        d._replace(type=DimType.C, strides=(d.strides[out],) * 2, exec=ExecType.SEQ)
        for d in op.dimensions
        if d.type != DimType.K
    )
    return TensorOp((Tensor("in0", dtype), Tensor("out", dtype)), dimensions, main)


def optimise(op: TensorOp, machine: Machine, threads: int, choice: Choice = MODEL) -> Schedule:
    """Decide everything that `choice` leaves open.

    Parameters
    ----------
    op : TensorOp
    machine : Machine
    threads : int
        Threads the caller allows; small operations use one, or a few.

    Returns
    -------
    Schedule
        With the notes of all passes.
    """
    passes = Passes()
    if choice != MODEL:
        passes.notes.append(f"a search has found: {choice}")
    op = passes.run(normalise, op).op
    op = passes.run(fuse, op).op
    op = passes.run(widen, op, quiet=True).op
    threads = sharers(op, threads)
    regime = choose_alike(op, machine)
    if choice.regime is not None and choice.regime != regime.name:
        regime = Regime(choice.regime, "chosen by a search")
    passes.notes.append(f"regime: {regime.name}, {regime.why}")
    schedule = _scheduled(op, machine, threads, regime, passes, choice)
    return schedule._replace(notes=(*passes.notes, *schedule.notes))


def as_written(op: TensorOp, machine: Machine, threads: int) -> Schedule:
    """The operation with the execution types it came with, and no pass run."""
    shared = prod(d.size for d in op.dimensions if d.exec == ExecType.SHARED)
    return nest(op, machine, min(shared, threads))


def _scheduled(
    op: TensorOp,
    machine: Machine,
    threads: int,
    regime: Regime,
    passes: Passes,
    choice: Choice,
) -> Schedule:
    if regime.name == "permute":
        return permute(op, machine, threads)
    if regime.name == "interleave" and (channels := channels_of(op)) is not None:
        better = None if runs_on(op, channels) else staged(op, machine, threads)
        if better is None and channels.position.size < machine.lanes(op.dtype):
            better = permute_digits(op, machine, threads)
        return better or interleaved(op, channels, machine.target, threads)
    if regime.name == "reorder" and (found := reordered_of(op, machine)) is not None:
        return reorder(op, found, machine, threads)
    if regime.name == "batch":
        return batched(op, machine, threads)
    if regime.name == "tiny" and (tiny := tiny_of(op, machine)) is not None:
        return tiny_products(tiny, machine, threads)
    if regime.name == "planar" and (planar := planar_of(op, machine)) is not None:
        return planar_products(op, planar, machine, threads)
    if regime.name == "gathered" and (small := gathered_of(op, machine)) is not None:
        return touched(gathering(small, threads), machine)
    if regime.name == "dots" and (dots := dots_of(op, machine)) is not None:
        return dotted(dots, machine, threads)
    if regime.name == "items" and (items := items_of(op, machine)) is not None:
        return itemised(items, machine, threads)
    if regime.name == "blocked":
        oriented = passes.run(orient, op, machine.lanes(op.dtype))
        swapped = choice.swapped
        if swapped is None or swapped == oriented.swapped:
            schedule = blocked(oriented.op, machine, threads, oriented.swapped, choice)
            return touched(schedule, machine)
        passes.notes.append(f"orient: in{int(swapped)} is the vector side, chosen by a search")
        swapping = exchange(op) if swapped else op
        return touched(blocked(swapping, machine, threads, swapped, choice), machine)
    op = streamed(op, machine) if regime.name == "stream" else passes.run(identify, op).op
    if op.main in REDUCTIONS:
        op = passes.run(reduced, op, machine, quiet=True).op
    op = passes.run(order, op).op
    op = passes.run(group, op, machine, quiet=True).op
    if regime.name == "stream":
        op = passes.run(lead, op, machine, threads, quiet=True).op
    shared = passes.run(parallelise, _splittable(op, threads), threads)
    if regime.name == "stream":
        op = passes.run(follow, shared.op, machine, threads, quiet=True).op
        return nest(op, machine, shared.shares, paired=True, threads=threads)
    return touched(nest(shared.op, machine, shared.shares, threads=threads), machine)


def _splittable(op: TensorOp, threads: int) -> TensorOp:
    """Cut a dimension of a matrix product's kernel in two where the loops alone give no thread its
    share, and equal parts do: the register tile then fits a part. Others are cut in the nest."""
    loops = prod(d.size for d in op.dimensions if _shares(d))
    if threads == 1 or loops >= threads or not is_product(op):
        return op
    kept = [d for d in op.dimensions if d.exec == ExecType.PRIM and d.type != DimType.K]
    longest = max(kept, key=lambda d: d.size)
    count = even_count(longest.size, threads, min(longest.size // 2, 4 * threads))
    if not count:
        return op
    outer, inner = longest.cut(longest.size // count)
    rest = [inner if d is longest else d for d in op.dimensions]
    return op.with_dimensions((outer.executed(ExecType.SEQ), *rest))


def _shares(d: Dimension) -> bool:
    return d.exec != ExecType.PRIM and d.type != DimType.K
