"""Copies of small items, end to end, whose elements change places (see jit/reorder.py).

C               SHARED     further dimensions
  X             SHARED     the items
    reordering kernel over X
"""

from __future__ import annotations

from math import prod

import numpy as np

from tensorop.ir import Dimension, DimType, ExecType, Primitive, TensorOp
from tensorop.jit.elements import element
from tensorop.jit.reorder_abi import ReorderKernel
from tensorop.optimizer.balance import balanced
from tensorop.optimizer.machine import Machine
from tensorop.schedule import Axis, Call, Loop, Schedule, Step
from tensorop.tuples import NamedTuple

MOST = 2  # vectors that hold an item
FILLED = 0.75  # of two, from which on they are better than a few channels (interleave.py)
WORD_BYTES = 8  # of an element that has lanes
CALL = 1 << 18  # bytes that one call moves
IN, OUT = 0, 1


class Reordered(NamedTuple):
    """The dimensions of an item, that along which items follow one another, and the order of the
    elements: see `ReorderKernel`. fills: an item fits one vector, or fills most of two."""

    inside: tuple[Dimension, ...]
    along: Dimension
    size: int
    order: tuple[int, ...]
    fills: bool


def reordered_of(op: TensorOp, machine: Machine) -> Reordered | None:
    """The items of a copy; None where there are none that vectors hold.

    Parameters
    ----------
    op : TensorOp
        Fused; all C.
    """
    size = element(op.dtype).size
    if op.main != Primitive.COPY or any(t.conj or t.dtype != op.dtype for t in op.tensors):
        return None
    vector = machine.target.vector_bytes // size
    dims = sorted(op.dimensions, key=lambda d: abs(d.strides[IN]))
    for count in range(2, len(dims)):
        inside = tuple(dims[:count])
        items = prod(d.size for d in inside)
        if items > MOST * vector:
            return None
        if all(_end_to_end(inside, tensor) for tensor in (IN, OUT)):
            along = next((d for d in dims[count:] if d.strides == (items, items)), None)
            fills = items <= vector or items >= FILLED * MOST * vector
            return along and Reordered(inside, along, *_order(inside, size), fills)
    return None


def _end_to_end(dims: tuple[Dimension, ...], tensor: int) -> bool:
    """Whether the elements of some dimensions fill the memory from the first to the last."""
    step = 1
    for d in sorted(dims, key=lambda d: d.strides[tensor]):
        if d.strides[tensor] != step:
            return False
        step *= d.size
    return True


def _order(inside: tuple[Dimension, ...], size: int) -> tuple[int, tuple[int, ...]]:
    """Bytes of what is moved, and which of it goes where: an element may be several words."""
    places = [np.zeros(1, np.int64)] * 2
    for d in inside:
        places = [
            np.add.outer(np.arange(d.size) * d.strides[t], places[t]).ravel() for t in (IN, OUT)
        ]
    order = places[IN][np.argsort(places[OUT])]
    unit = min(size, WORD_BYTES)
    words = np.add.outer(order * (size // unit), np.arange(size // unit)).ravel()
    return unit, tuple(words.tolist())


def reorder(op: TensorOp, found: Reordered, machine: Machine, threads: int) -> Schedule:
    """The schedule of such a copy.

    Parameters
    ----------
    threads : int
        Shares to divide it into.
    """
    x, bytes_ = found.along, element(op.dtype).size * prod(d.size for d in found.inside)
    others = [d for d in op.dimensions if d is not x and d not in found.inside]
    others.sort(key=lambda d: -abs(d.strides[OUT]))
    past = bytes_ * x.size * prod(d.size for d in others) > machine.l3 // 2
    kernel = ReorderKernel(found.size, found.order, past)
    axes = [Axis(f"C{i}", DimType.C, (d,)) for i, d in enumerate(others)]
    body: tuple[Step, ...] = (Call(kernel, (IN, OUT), ("X",)),)
    count = max(1, CALL // bytes_)
    if threads > 1:
        count = min(count, max(1, x.size * prod(d.size for d in others) // (4 * threads)))
    count = balanced(x.size, min(x.size, count), 1)
    how = ExecType.SHARED if threads > 1 else ExecType.SEQ
    if count < x.size:
        body = (Loop("X", count, how, body),)
    for axis in reversed(axes):
        body = (Loop(axis.name, 1, how, body),)
    # An item is one position: nothing loops over what is inside.
    item = Axis("E", DimType.C, found.inside)
    note = f"reorder: items of {bytes_} bytes{', past the caches' * past}"
    all_axes = (*axes, Axis("X", DimType.C, (x,)), item)
    return Schedule(op, all_axes, body, shares=threads, notes=(note,))
