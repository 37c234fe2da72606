"""Operand order: which input is the vector side.

A matrix product kernel holds vectors along M and broadcasts along N. So M should be the side that
has the unit stride of the output: its results are then stored as vectors. Where neither side has
it, or that side is too short to fill a vector, the model below counts the padding and the price of
scattered stores and takes the cheaper order. Exchanging the operands exchanges M and N, nothing
else: the sums keep their order.
"""

from __future__ import annotations

from math import gcd

from tensorop.ir import Dimension, DimType, Tensor, TensorOp
from tensorop.jit.elements import element
from tensorop.jit.gemm_abi import stores_pieces
from tensorop.schedule import Axis
from tensorop.tuples import NamedTuple

NEAR = 2  # times their length that columns of in1 are apart at most, to be read where they lie
SHORT_COLUMN = 512  # bytes of those that may be further apart
SCATTER = 16.0  # multiply-adds of a vector unit that storing one lone element costs
_OTHER = {DimType.M: DimType.N, DimType.N: DimType.M}


class OrientResult(NamedTuple):
    """A `PassResult`, and whether in0 and in1 changed places."""

    op: TensorOp
    note: str
    swapped: bool = False


def exchange(op: TensorOp) -> TensorOp:
    """The same operation with in0 and in1 exchanged, so M is N and N is M."""
    in0, in1, out = op.tensors
    tensors = (Tensor("in0", in1.dtype, in1.conj), Tensor("in1", in0.dtype, in0.conj), out)
    dimensions = tuple([_exchanged(d) for d in op.dimensions])
    return TensorOp(tensors, dimensions, op.main, op.first_touch, op.last_touch)


def _exchanged(d: Dimension) -> Dimension:
    in0, in1, out = d.strides
    return Dimension(_OTHER.get(d.type, d.type), d.size, (in1, in0, out), d.exec, d.name)


def orient(op: TensorOp, lanes: int) -> OrientResult:
    """Put the better vector side first.

    Parameters
    ----------
    op : TensorOp
        A contraction.
    lanes : int
        Elements in a vector register.

    Returns
    -------
    OrientResult
    """
    as_given, swapped = _cost(op, lanes, DimType.M), _cost(op, lanes, DimType.N)
    if swapped < as_given:
        return OrientResult(
            exchange(op), f"in1 is the vector side: cost {swapped:.3g} < {as_given:.3g}", True
        )
    return OrientResult(op, f"in0 is the vector side: cost {as_given:.3g} <= {swapped:.3g}")


def vectors_along_n(op: TensorOp, lanes: int) -> bool:
    """Whether in1 is the better vector side."""
    return _cost(op, lanes, DimType.N) < _cost(op, lanes, DimType.M)


def _cost(op: TensorOp, lanes: int, side: DimType) -> float:
    """Vector multiply-adds of one batch item with vectors along a side, with padding, and the price
    of its stores."""
    m, n, k = op.size_of(side), op.size_of(_OTHER[side]), op.size_of(DimType.K)
    padded = -(-m // lanes)
    run = output_axis(op, side).unit_run(op.out)
    pieces = -(-m // lanes) if run >= min(m, lanes) else -(-m // run)
    return padded * n * k + (SCATTER / lanes) * pieces * n


def output_axis(op: TensorOp, type_: DimType) -> Axis:
    """All dimensions of one type as an axis whose fastest is the one that steps least in out."""
    return Axis(type_.value, type_, op.as_out(type_))


def summed_axis(op: TensorOp) -> Axis:
    """All of K; its fastest dimension is the one at consecutive addresses of an input, if any, and
    the next one that of the other input."""

    def widest_first(d: Dimension) -> tuple[int, int]:
        steps = [abs(s) or 1 << 62 for s in d.strides[:2]]
        return -min(steps), -max(steps)

    return Axis("K", DimType.K, tuple(sorted(op.of_type(DimType.K), key=widest_first)))


def piece_of(op: TensorOp, run: int, lanes: int) -> int:
    """Rows of the pieces, all equally long, that vectors are stored in where so many rows are
    consecutive in out; 1 where they are not stored so."""
    return gcd(run, lanes) if stores_pieces(op.dtype) else 1


def reads_most(op: TensorOp) -> bool:
    """Whether in0 is larger than out."""
    return op.size_of(DimType.K) > op.size_of(DimType.N)


def tiles_are_cut(op: TensorOp) -> bool:
    """Whether the tiles of a matrix product hold parts of two dimensions of M: that along which
    out is consecutive, and that along which in0 is, where more is read than stored."""
    return reads_most(op) and any(
        d.strides[0] == 1 for d in output_axis(op, DimType.M).dimensions[:-1]
    )


def columns_lie(op: TensorOp, n: Axis, k: Axis, longest: int) -> bool:
    """Whether a kernel reads columns of in1 where they lie, instead of from packed panels.

    They have to be consecutive, of at most `longest` elements in all, and near one another: long
    ones that lie far apart would share few sets of the cache.
    """
    if k.stride(1) != 1 or k.size > longest or (apart := n.stride(1)) is None:
        return False
    kind = element(op.dtype)
    if kind.accumulator is not kind or kind.parts > 1 or op.tensors[1].conj:
        return False
    if op.tensors[1].dtype != op.dtype:
        return False
    return abs(apart) <= NEAR * k.size or k.size * kind.size <= SHORT_COLUMN
