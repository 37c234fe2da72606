"""Primitive identification: which dimensions run inside the kernel.

In goes a `TensorOp`, out comes one whose innermost dimensions are PRIM and stand last, in the order
the primitive names them, and whose main primitive says which kernel it is:

- contraction: an M, an N and a K; a second K becomes the batch-reduce dimension and the operation
  a BRGEMM, so that the block of `out` stays in registers across both. C never enters the kernel.
- unary: the unit-stride dimension of `in0` and that of `out`. Two different ones: the kernel
  transposes in registers. One: it streams along it, over rows of the next dimension where there
  is one.
- binary: the unit-stride dimension of `out`, and a second one that has unit stride in an input,
  or else is the next in `out`.
- reduction: the C of unit stride in `out` and the K that steps least in `in0`.

Kernels are fast where addresses are next to each other, so unit strides decide; without one the
smallest stride does, and of equal ones the longest dimension.
"""

from __future__ import annotations

from collections.abc import Iterable

from tensorop.ir import CONTRACTIONS, UNARY, Dimension, DimType, ExecType, Primitive, TensorOp
from tensorop.optimizer.result import listing
from tensorop.tuples import NamedTuple


class IdentifyResult(NamedTuple):
    """A `PassResult`, and the primitive's dimensions by their role.

    m, n, k, br: contractions (and k: reductions). None where the operation has no such dimension:
        the kernel then sees a size of 1.
    inner, rows: elementwise operations and reductions: the dimension along the vectors, and the
        second one. transposes: a unary whose `inner` (unit stride in out) is not that of in0, which
        is then `rows`.
    """

    op: TensorOp
    note: str
    m: Dimension | None = None
    n: Dimension | None = None
    k: Dimension | None = None
    br: Dimension | None = None
    inner: Dimension | None = None
    rows: Dimension | None = None
    transposes: bool = False


def identify(op: TensorOp) -> IdentifyResult:
    """Choose the PRIM dimensions and the primitive.

    Parameters
    ----------
    op : TensorOp
        Execution types of earlier decisions are forgotten: what is not PRIM becomes SEQ.

    Returns
    -------
    IdentifyResult
        The operation with its loops in the order given, then the PRIM dimensions.
    """
    op = op.undecided()
    if op.main in CONTRACTIONS:
        return _contraction(op)
    if len(op.tensors) == 3:
        return _binary(op)
    return _unary(op) if op.main in UNARY else _reduction(op)


def vector_side(prim: list[Dimension]) -> DimType:
    """Along which side of a matrix product, M or N, its vectors run: the one with unit stride in
    the output and its input, if one has, else in out."""
    m, n = (next(d for d in prim if d.type == t) for t in (DimType.M, DimType.N))
    if n.strides[2] == 1 and (m.strides[2] != 1 or (n.strides[1] == 1 and m.strides[0] != 1)):
        return DimType.N
    return DimType.M


def _contraction(op: TensorOp) -> IdentifyResult:
    in0, in1, out = range(3)
    m = _nearest(op.of_type(DimType.M), (out, in0))
    n = _nearest(op.of_type(DimType.N), (out, in1))
    k = _nearest(op.of_type(DimType.K), (in0, in1), summed=True)
    others = [d for d in op.of_type(DimType.K) if d is not k]
    br = _nearest(others, (in0, in1), summed=True)
    chosen = [d for d in (br, m, n, k) if d is not None]
    why = "no second K" if br is None else "a second K is batch-reduce"
    prim = _prim(op, chosen, Primitive.GEMM if br is None else Primitive.BRGEMM)
    m, n, k, br = (_as_prim(d) for d in (m, n, k, br))
    note = f"{prim.main} over {listing(chosen)}: {why}"
    return IdentifyResult(prim, note, m=m, n=n, k=k, br=br)


def _unary(op: TensorOp) -> IdentifyResult:
    read = _nearest(op.dimensions, (0, 1))
    inner = _nearest(op.dimensions, (1, 0))
    transposes = read is not inner
    rows = read if transposes else _nearest([d for d in op.dimensions if d is not inner], (1, 0))
    chosen = [d for d in (rows, inner) if d is not None]
    how = "in0 and out have different inner dimensions: transposing" if transposes else "streaming"
    return _elementwise(op, chosen, f"{op.main} over {listing(chosen)}: {how}", transposes)


def _binary(op: TensorOp) -> IdentifyResult:
    in0, in1, out = range(3)
    inner = _nearest(op.dimensions, (out, in0, in1))
    others = [d for d in op.dimensions if d is not inner]
    # An input whose unit stride lies elsewhere is read along it inside the kernel, not across it.
    unit = [d for d in others if 1 in (abs(d.strides[in0]), abs(d.strides[in1]))]
    rows = _nearest(unit or others, (out, in0, in1))
    chosen = [d for d in (rows, inner) if d is not None]
    return _elementwise(op, chosen, f"{op.main} over {listing(chosen)}")


def _reduction(op: TensorOp) -> IdentifyResult:
    c = _nearest(op.of_type(DimType.C), (1, 0))
    k = _nearest(op.of_type(DimType.K), (0,), summed=True)
    # The vectors run along whichever of the two steps least in in0.
    chosen = [d for d in (c, k) if d is not None]
    along_c = c is not None and (k is None or abs(c.strides[0]) <= abs(k.strides[0]))
    chosen = chosen[::-1] if along_c else chosen
    how = "vectors along out" if along_c else "vectors along K"
    result = _elementwise(op, chosen, f"{op.main} over {listing(chosen)}: {how}")
    return result._replace(k=_as_prim(k))


def _elementwise(
    op: TensorOp, chosen: list[Dimension], note: str, transposes: bool = False
) -> IdentifyResult:
    roles = [_as_prim(d) for d in chosen]
    return IdentifyResult(
        _prim(op, chosen),
        note,
        inner=roles[-1] if roles else None,
        rows=roles[0] if len(roles) > 1 else None,
        transposes=transposes,
    )


def _nearest(
    dimensions: Iterable[Dimension], tensors: tuple[int, ...], *, summed: bool = False
) -> Dimension | None:
    """The dimension that steps least: in the first of the tensors, then in the next ones; a summed
    one in whichever of them it steps least. A stride of 0 is no step, and comes last."""

    found = tuple(dimensions)
    if len(found) < 2:
        return found[0] if found else None

    def key(d: Dimension) -> tuple[object, ...]:
        steps = [abs(d.strides[t]) or float("inf") for t in tensors]
        return (min(steps) if summed else 0, steps, -d.size)

    return min(found, key=key)


def _as_prim(d: Dimension | None) -> Dimension | None:
    return None if d is None else d.executed(ExecType.PRIM)


def _prim(op: TensorOp, chosen: list[Dimension], main: Primitive | None = None) -> TensorOp:
    """The loops as they were, then the chosen dimensions as PRIM."""
    # By identity: two different dimensions may compare equal.
    loops = [d for d in op.dimensions if not any(d is c for c in chosen)]
    dimensions = (*loops, *[d.executed(ExecType.PRIM) for d in chosen])
    return TensorOp(op.tensors, dimensions, main or op.main, op.first_touch, op.last_touch)
