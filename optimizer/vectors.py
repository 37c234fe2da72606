"""The two dimensions that a stream kernel runs over: vectors along one, rows along the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from tensorop.ir import Dimension, DimType, ExecType, TensorOp
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.result import PassResult, listing
from tensorop.optimizer.stream_cost import Streams
from tensorop.optimizer.transfer import L3, bytes_of, level_of

FEW_POINTS = 4096  # below, the rows follow from a rule
# Of what a reduction takes along what is nearest in its input, another pair has to stay under such
# a part; FAR_CLEARLY: where more than L2 holds is gone through out of order.
CLEARLY, FAR_CLEARLY = 0.7, 0.45


def streamed(op: TensorOp, machine: Machine) -> TensorOp:
    """The operation with its loops, then rows and vectors as PRIM dimensions: the pair that an
    estimate finds cheapest."""
    chosen = vectors_and_rows(op, op.dimensions, machine)
    loops = [d for d in op.dimensions if not any(d is c for c in chosen)]
    return op.with_dimensions((*loops, *(d._replace(exec=ExecType.PRIM) for d in chosen)))


def vectors_and_rows(
    op: TensorOp, dimensions: Sequence[Dimension], machine: Machine
) -> list[Dimension]:
    """Of some dimensions of an operation the rows, if there are two, and then the vectors."""
    if len(dimensions) < 2:
        return list(dimensions)
    _, *pair = Streams(op, machine).cheapest(_pairs(op, dimensions))
    return [d for d in pair if d is not None]


def reduced(op: TensorOp, machine: Machine) -> PassResult:
    """Another pair for a reduction than what is nearest in its input, if it clearly takes less.

    Parameters
    ----------
    op : TensorOp
        Loops outermost first, then the PRIM dimensions.

    Returns
    -------
    PassResult
        The same dimensions, perhaps others of them PRIM.
    """
    nearest = [d for d in op.dimensions if d.exec == ExecType.PRIM]
    if len(op.dimensions) < 2 or len(nearest) > 2:
        return PassResult(op, "nothing to choose")
    rows, inner = [None, *nearest][-2:]
    assert inner is not None
    streams = Streams(op, machine)
    near = level_of(bytes_of(op, 0), machine) < L3
    limit = (CLEARLY if near else FAR_CLEARLY) * streams.cycles(inner, rows)
    cycles, *pair = streams.cheapest(_pairs(op, op.dimensions))
    if cycles >= limit:
        return PassResult(op, "vectors along what is nearest in in0")
    chosen = [d for d in pair if d is not None]
    loops = [d.executed(ExecType.SEQ) for d in op.dimensions if not any(d is c for c in chosen)]
    prim = [d.executed(ExecType.PRIM) for d in chosen]
    return PassResult(op.with_dimensions((*loops, *prim)), f"{listing(prim)} take clearly less")


def least_stream_cycles(op: TensorOp, machine: Machine) -> float:
    """What vectors along some dimension of an operation take, with rows along the best other."""
    return Streams(op, machine).cheapest(_pairs(op, op.dimensions))[0]


def _pairs(
    op: TensorOp, dimensions: Sequence[Dimension]
) -> Iterator[tuple[Dimension | None, Dimension]]:
    """Rows and vectors that are worth an estimate."""
    few = prod([d.size for d in op.dimensions]) < FEW_POINTS
    for inner in dimensions:
        others = [d for d in dimensions if d is not inner]
        if few or not others:
            yield max(others, key=_as_rows, default=None), inner
        else:
            yield from ((d, inner) for d in others)


def _as_rows(d: Dimension) -> tuple[object, ...]:
    """Summed rows stay in registers; kept ones share what does not depend on them."""
    return d.type == DimType.K, d.type != DimType.C, d.size
