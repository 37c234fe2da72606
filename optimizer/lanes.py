"""The batch dimension that vectors of a product can run along, and what is then in the kernel."""

from __future__ import annotations

from tensorop.ir import CONTRACTIONS, Axis, Dimension, DimType, TensorOp
from tensorop.jit.elements import GATHERED, element

FAR = 16  # elements from one item of the batch to the next at most that are worth gathering


def lane_dimension(op: TensorOp) -> Dimension | None:
    """The batch dimension whose items are nearest to one another, if vectors can run along it."""
    kind = element(op.dtype)
    products = all(op.of_type(t) for t in (DimType.M, DimType.N, DimType.K))
    if op.main not in CONTRACTIONS or not products or not kind.vectorises:
        return None
    if kind.half and len(kernel_axis(op, DimType.K).dimensions) < len(op.of_type(DimType.K)):
        return None  # sums would be rounded on the way
    reach = FAR if op.dtype in GATHERED else 1
    near = [d for d in op.of_type(DimType.C) if all(0 < s <= reach for s in d.strides)]
    return min(near, key=lambda d: sum(d.strides), default=None)


def kernel_axis(op: TensorOp, type_: DimType) -> Axis:
    """What the kernel runs over of a type: all dimensions where they are one, else the longest."""
    dims = op.of_type(type_)
    axis = Axis(type_.value, type_, tuple(sorted(dims, key=lambda d: [-abs(s) for s in d.strides])))
    if all(axis.stride(tensor) is not None for tensor in range(3)):
        return axis
    return Axis(type_.value, type_, (max(dims, key=lambda d: d.size),))
