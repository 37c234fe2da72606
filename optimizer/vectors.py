"""The two dimensions that a stream kernel runs over: vectors along one, rows along the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from tensorop.ir import Dimension, DimType, ExecType, TensorOp
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.stream_cost import Streams

FEW_POINTS = 4096  # below, the rows follow from a rule


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
