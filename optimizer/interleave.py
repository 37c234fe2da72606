"""Copies that put a few channels beside one another, or take them apart (see jit/interleave.py).

C               SHARED     further dimensions
  X             SHARED     positions, where they are many
    interleaving kernel over X, channels, and the innermost of the further dimensions (Y)
"""

from __future__ import annotations

from tensorop.ir import Dimension, DimType, ExecType, Primitive, TensorOp
from tensorop.jit.elements import element
from tensorop.jit.interleave_abi import InterleaveKernel, shuffled
from tensorop.jit.target import SEGMENT, Target
from tensorop.optimizer.balance import balanced
from tensorop.schedule import Axis, Call, Loop, Schedule, Step
from tensorop.tuples import NamedTuple

MOST = 8  # channels: more make a tile that is worth transposing
CALL = 1 << 16  # elements that one call moves
STREAMS = 4  # channels that memory reads, or stores, at a time
STREAM = 1 << 16  # bytes of a channel that is long
NEAR = 1 << 10  # bytes of channels that are short
IN, OUT = 0, 1


class Channels(NamedTuple):
    """The channels of a copy, its positions, and whether channels lie apart in the source."""

    channel: Dimension
    position: Dimension
    joins: bool


def channels_of(op: TensorOp) -> Channels | None:
    """What lies beside one another on one side of a copy, and apart on the other; None where
    nothing does.

    Parameters
    ----------
    op : TensorOp
        Fused; all C.
    """
    size = element(op.dtype).size
    if op.main != Primitive.COPY or op.tensors[IN].conj or size not in (1, 2, 4, 8):
        return None
    for beside, apart in ((IN, OUT), (OUT, IN)):
        channel = next((d for d in op.dimensions if d.strides[beside] == 1), None)
        if channel is None or channel.size > MOST:
            continue
        for d in op.dimensions:
            if d.strides[beside] == channel.size and d.strides[apart] == 1:
                fills = d.size * size >= SEGMENT
                return Channels(channel, d, beside == OUT) if fills else None
    return None


def runs_on(op: TensorOp, channels: Channels) -> bool:
    """Whether memory is fast without more ado: along every channel, if they are long, and no more
    than it can follow at a time; or if they are short, and lie together on both sides."""
    channel, position, joins = channels
    length = position.size * element(op.dtype).size
    if length >= STREAM:
        return channel.size <= STREAMS
    return channel.size * length <= NEAR and channel.strides[IN if joins else OUT] == position.size


def interleaved(op: TensorOp, channels: Channels, target: Target, threads: int) -> Schedule:
    """The schedule of such a copy.

    Parameters
    ----------
    threads : int
        Shares to divide it into.
    """
    channel, position, joins = channels
    rest = [d for d in op.dimensions if d is not channel and d is not position]
    rest.sort(key=lambda d: -abs(d.strides[OUT]))
    others, rows = rest[:-1], rest[-1:]
    x, y, e = (
        Axis(name, DimType.C, tuple(dims))
        for name, dims in (("X", [position]), ("Y", rows), ("E", [channel]))
    )
    outer = [Axis(f"C{i}", DimType.C, (d,)) for i, d in enumerate(others)]
    size = element(op.dtype).size
    vector = shuffled(target, size, channel.size)
    vector = vector if vector <= position.size * size else SEGMENT
    kernel = InterleaveKernel(size, channel.size, joins, vector)
    body: tuple[Step, ...] = (Call(kernel, (IN, OUT), ("X", "Y", "E")),)
    columns = balanced(position.size, CALL // channel.size, 64)
    count = max(1, CALL // (channel.size * columns))
    how = ExecType.SHARED if threads > 1 else ExecType.SEQ
    if threads > 1:
        count = min(count, max(1, y.size // (4 * threads)))
        if y.size < 4 * threads:
            columns = min(columns, balanced(position.size, max(64, position.size // threads), 64))
    if columns < position.size:
        body = (Loop("X", columns, how, body),)
    if count < y.size:
        body = (Loop("Y", count, how, body),)
    for axis in reversed(outer):
        body = (Loop(axis.name, 1, how, body),)
    what = f"{channel.size} channels {'put beside one another' if joins else 'taken apart'}"
    return Schedule(op, (*outer, y, x, e), body, shares=threads, notes=(what,))
