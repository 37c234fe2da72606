"""Batches of products of records that lie end to end, or of sums over them (see jit/planar.py).

C               SHARED     further batch dimensions
  X  xc         SHARED     the batch dimension along which records follow one another
    planar kernel over M, N, K, X, and Y: batch dimensions within records
"""

from __future__ import annotations

from math import prod

from tensorop.ir import CONTRACTIONS, Dimension, DimType, ExecType, Primitive, TensorOp
from tensorop.jit.elements import element
from tensorop.jit.planar_abi import PlanarKernel, RecordDim
from tensorop.optimizer.balance import balanced, call_work
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.past import LONG_CALL, leaves_caches
from tensorop.optimizer.transfer import outgrows_l3
from tensorop.schedule import Axis, Call, Loop, Schedule, Step
from tensorop.tuples import NamedTuple

SHORT = 8  # elements of records where one input has fewer of its own
ROW = 12  # numbers of a row whose sum takes no longer than that of a record
LONGEST = 512  # elements of the records of all tensors
MANY = 64  # records that are worth code of their own; LONGER: for each term of long code
LONGER = 8
SIDES = (DimType.M, DimType.N, DimType.K)


class Planar(NamedTuple):
    """The kernel for a batch; the dimension along which records follow one another, and the batch
    dimensions inside them."""

    kernel: PlanarKernel
    along: Dimension
    inside: tuple[Dimension, ...]


def planar_of(op: TensorOp, machine: Machine) -> Planar | None:
    """How a batch of products, or of sums, fits such a kernel; None where it does not.

    Parameters
    ----------
    op : TensorOp
        Fused.
    """
    if op.main not in CONTRACTIONS and op.main != Primitive.SUM:
        return None
    many = [d for d in op.dimensions if d.size >= MANY and d.type != DimType.K]
    if not many or any(t.dtype != op.dtype for t in op.tensors):
        return None
    kind = element(op.dtype)
    if kind.accumulator is not kind or not kind.vectorises or kind.part < 4:
        return None
    many.sort(key=lambda d: -d.strides[op.out])
    return next(filter(None, (_along(op, d, machine) for d in many)), None)


def _along(op: TensorOp, along: Dimension, machine: Machine) -> Planar | None:
    records = along.strides
    moved = [t for t, record in enumerate(records) if record]
    if min(records) < 0 or not records[op.out] or len(moved) < 2 or sum(records) > LONGEST:
        return None
    inside = tuple([d for d in op.of_type(DimType.C) if d is not along and _is_in(d, records)])
    sides = [d for side in SIDES for d in op.of_type(side) if d.size > 1 and d is not along]
    dims = (*inside, *sides)
    if _are_rows(op, sides, moved, machine):
        return None
    code = prod([d.size for d in dims]) * element(op.dtype).parts ** 2
    if not dims or along.size < LONGER * code or not all(_is_in(d, records) for d in sides):
        return None
    for tensor in moved:
        elements, last = 1, 1
        for d in dims:
            elements *= d.size if d.strides[tensor] else 1
            last += (d.size - 1) * d.strides[tensor]
        # An input may have elements in between that nobody reads, out has none.
        if last > records[tensor] or (tensor == op.out and elements < records[tensor]):
            return None
    conj = tuple([t.conj for t in op.tensors[: op.out]])
    forms = tuple([RecordDim(d.size, d.strides) for d in dims])
    kernel = PlanarKernel(op.dtype, records, forms, conj=conj)
    if not kernel.fits(machine.target):
        return None
    lines = kernel.long(machine.target) != op.out  # which pieces of records are not
    stored = along.size * records[op.out] * element(op.dtype).size
    past = lines and stored >= LONG_CALL and leaves_caches(op, machine, sums_inside=True)
    # Others go through records that are not very short as fast if an input is the same for all, or
    # a factor for each and nothing is summed; also such as nothing is summed of in the caches.
    same, summed = len(moved) < len(records), any(d.type == DimType.K for d in sides)
    factor = not summed and min(records) <= 1
    if ((same or factor) and max(records) > SHORT) or (same and not summed and not past):
        return None
    return Planar(kernel._replace(past=past), along, inside)


def _are_rows(op: TensorOp, sides: list[Dimension], moved: list[int], machine: Machine) -> bool:
    """Whether records are rows of floating numbers, all of which are summed, so long that vectors
    along them take less: the sums of four rows are folded together. From memory that is sooner, as
    the hardware follows rows that are read, and not pieces of records."""
    kind, inputs = element(op.dtype), [t for t in moved if t != op.out]
    if not kind.is_float or kind.parts > 1 or [d.type for d in sides] != [DimType.K]:
        return False
    if any(sides[0].strides[t] != 1 for t in inputs):
        return False
    if outgrows_l3(op, machine):
        return sides[0].size >= SHORT
    return sides[0].size >= (ROW if len(inputs) > 1 else max(ROW, machine.lanes(op.dtype) + 1))


def _is_in(d: Dimension, records: tuple[int, ...]) -> bool:
    """Whether a dimension is part of records."""
    within = [0 <= s < record for s, record in zip(d.strides, records, strict=True) if record]
    return all(within) and min(d.strides) >= 0


def planar_products(op: TensorOp, planar: Planar, machine: Machine, threads: int) -> Schedule:
    """The schedule of a batch.

    Parameters
    ----------
    threads : int
        Shares to divide the batch into.
    """
    kernel, x, inside = planar
    others = [d for d in op.of_type(DimType.C) if d is not x and d not in inside]
    others.sort(key=lambda d: -abs(d.strides[op.out]))
    axes = [Axis(f"C{i}", DimType.C, (d,)) for i, d in enumerate(others)]
    tensors = tuple(range(len(op.tensors)))
    body: tuple[Step, ...] = (Call(kernel, tensors, ("M", "N", "K", "Y", "X")),)
    count = call_work(machine, element(op.dtype)) // kernel.terms
    if threads > 1:
        items = x.size * prod([d.size for d in others])
        count = min(count, items // (4 * threads))
    count = balanced(x.size, max(1, min(x.size, count)), machine.lanes(op.dtype))
    how = ExecType.SHARED if threads > 1 else ExecType.SEQ
    if count < x.size:
        body = (Loop("X", count, how, body),)
    for axis in reversed(axes):
        body = (Loop(axis.name, 1, how, body),)
    sides = [Axis(t.value, t, tuple([d for d in op.of_type(t) if d is not x])) for t in SIDES]
    note = f"planar: {count} in a call{', out past the caches' * kernel.past}"
    axes += [*sides, Axis("Y", x.type, inside), Axis("X", x.type, (x,))]
    return Schedule(op, tuple(axes), body, shares=threads, notes=(note,))
