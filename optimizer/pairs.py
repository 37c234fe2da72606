"""Products of bfloat16 in pairs: two steps of K an instruction, where the machine has one.

The panels of such a kernel hold pairs of consecutive steps of K. They are made as fast as those of
single elements where an input is consecutive along the lanes of its panels, or along K and pairs
are no two parts of dimensions; other layouts, and sums that tables do not hold whole, go through
float32.
"""

from __future__ import annotations

from tensorop.ir import DimType, TensorOp
from tensorop.optimizer.machine import Machine
from tensorop.schedule import Axis


def in_pairs(op: TensorOp, machine: Machine, lanes: tuple[Axis, Axis], k: Axis) -> bool:
    """Whether a matrix product from panels is one of pairs.

    Parameters
    ----------
    op : TensorOp
    machine : Machine
    lanes : (M, N)
        The axes along the lanes of either side's panels.
    k : Axis
        What tables hold of K.
    """
    if op.dtype != "bfloat16" or not machine.target.bfloat_pairs:
        return False
    if k.size < op.size_of(DimType.K):
        return False
    return all(_unit(axis, t) or lie_in_pairs(k, t) for t, axis in enumerate(lanes))


def lie_in_pairs(k: Axis, tensor: int) -> bool:
    """Whether every two steps of K are neighbours in a tensor."""
    return _unit(k, tensor) and k.dimensions[-1].size % 2 == 0


def _unit(axis: Axis, tensor: int) -> bool:
    return bool(axis.dimensions) and axis.dimensions[-1].strides[tensor] == 1
