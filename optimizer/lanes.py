"""The batch dimension that vectors of a product can run along, and what is then in the kernel."""

from __future__ import annotations

from functools import lru_cache

from tensorop.ir import CONTRACTIONS, Dimension, DimType, TensorOp
from tensorop.jit.elements import GATHERED, element
from tensorop.optimizer.machine import Machine
from tensorop.schedule import Axis
from tensorop.tuples import NamedTuple

FAR = 16  # elements from one item of the batch to the next at most that are worth gathering
SMALL = 256  # elements of a matrix at most that is applied to many vectors
MANY = 64  # of those at least, or a multiple of WHOLE, so that few lanes are left over
WHOLE = 16
_PRODUCT = (DimType.M, DimType.N, DimType.K)


class Lanes(NamedTuple):
    """What the lanes of vectors run over.

    op: in which the dimensions of the lanes are all of type C. dimensions: those, outermost first.
    along: the same as one, with the strides that a kernel goes by. repeated: the input that has the
    innermost of them only, so that a vector has its elements again and again.
    """

    op: TensorOp
    dimensions: tuple[Dimension, ...]
    along: Dimension
    repeated: int | None = None


def lanes_of(op: TensorOp, machine: Machine) -> Lanes:
    """The lanes of an operation that has a `lane_dimension`. Where it is too short to fill them,
    and lies inside another one in both tensors that have that, part of the other one fills them
    with it, if L1 keeps the tensor that has not."""
    lane, lanes, kind = lane_dimension(op), machine.lanes(op.dtype), element(op.dtype)
    assert lane is not None
    items = lanes // lane.size
    if items < 2 or lanes % lane.size or lane.strides != (1, 1, 1) or kind.parts > 1:
        return Lanes(op, (lane,), lane)
    for d in op.of_type(DimType.M) + op.of_type(DimType.N):
        if d.size % items or sorted(d.strides) != [0, lane.size, lane.size] or d.size == items:
            continue
        without = d.strides.index(0)
        if op.reached(without) * kind.size > machine.l1 // 2:
            continue
        outer, inner = d.cut(items)
        inner = inner._replace(type=DimType.C)
        dims = [part for e in op.dimensions for part in ((outer, inner) if e is d else (e,))]
        along = lane._replace(size=lanes)
        return Lanes(op.with_dimensions(tuple(dims)), (inner, lane), along, without)
    return Lanes(op, (lane,), lane)


@lru_cache(maxsize=1024)  # estimates and passes ask about the same operation
def as_batch(op: TensorOp) -> TensorOp | None:
    """A product of matrices as a batch that vectors can run along: as it is, or, where a small
    matrix is applied to many vectors near one another, with these as a batch, whose other input is
    the same for all (`ij,xjb->xib`, a gate on a qubit; `ij,nj->ni`, a rotation of points). None
    where it is neither."""
    if op.main not in CONTRACTIONS or not all(op.of_type(t) for t in _PRODUCT):
        return None
    if lane_dimension(op) is not None:
        return op
    reach, summed = _reach(op), op.size_of(DimType.K)
    many = [
        d
        for type_, other, tensor in ((DimType.M, DimType.N, 0), (DimType.N, DimType.M, 1))
        if op.size_of(other) * summed <= SMALL
        for d in op.of_type(type_)
        if 0 < d.strides[tensor] <= reach and 0 < d.strides[op.out] <= reach
        if d.size >= MANY or d.size % WHOLE == 0
    ]
    if not many:
        return None
    lane = max(many, key=lambda d: d.size)
    batch = [d._replace(type=DimType.C) if d is lane else d for d in op.dimensions]
    op = op.with_dimensions(tuple(batch))
    return op if lane_dimension(op) is not None else None


def lane_dimension(op: TensorOp) -> Dimension | None:
    """The batch dimension whose items are nearest to one another, if vectors can run along it."""
    kind = element(op.dtype)
    if not kind.vectorises:
        return None
    if kind.half and len(kernel_axis(op, DimType.K).dimensions) < len(op.of_type(DimType.K)):
        return None  # sums would be rounded on the way
    reach = _reach(op)
    near = [d for d in op.of_type(DimType.C) if all(0 <= s <= reach for s in d.strides)]
    near = [d for d in near if d.strides[op.out] and any(d.strides[: op.out])]
    return min(near, key=lambda d: sum(d.strides), default=None)


def _reach(op: TensorOp) -> int:
    return FAR if op.dtype in GATHERED else 1


def kernel_axis(op: TensorOp, type_: DimType) -> Axis:
    """What the kernel runs over of a type: all dimensions where they are one, else the longest."""
    dims = op.of_type(type_)
    axis = Axis(type_.value, type_, tuple(sorted(dims, key=lambda d: [-abs(s) for s in d.strides])))
    if all(axis.stride(tensor) is not None for tensor in range(3)):
        return axis
    return Axis(type_.value, type_, (max(dims, key=lambda d: d.size),))
