"""The first pass: one spelling for every operation that means the same.

In goes any `TensorOp`, out comes one without dimensions of size 1 (they move no address and cost
a loop), with the others in a fixed order: by type C, M, N, K; within a type the widest stride of
`out` (for K: of the inputs) outermost. Later passes and the plan cache then see one list,
whatever the order of labels in the caller's spec. Nothing is merged here: that is `fuse`.
Execution types stay."""

from __future__ import annotations

from tensorop.ir import Dimension, DimType, TensorOp
from tensorop.optimizer.result import PassResult, listing

_RANK = {DimType.C: 0, DimType.M: 1, DimType.N: 2, DimType.K: 3}


def normalise(op: TensorOp) -> PassResult:
    """Drop dimensions of size 1 and sort the rest.

    Parameters
    ----------
    op : TensorOp

    Returns
    -------
    PassResult
        The same operation, and what was dropped. It may have no dimension left: one point.
    """
    normal = normalised(op)
    dropped = [d for d in op.dimensions if d.size == 1]
    note = f"dropped {listing(dropped)} (size 1)" if dropped else "nothing to drop"
    if normal.dimensions != tuple([d for d in op.dimensions if d.size > 1]):
        note += f"; sorted to {listing(normal.dimensions)}"
    return PassResult(normal, note)


def normalised(op: TensorOp) -> TensorOp:
    """The operation that `normalise` makes."""
    kept = [d for d in op.dimensions if d.size > 1]
    return op.with_dimensions(tuple(sorted(kept, key=_position)))


def _position(d: Dimension) -> tuple[object, ...]:
    """Sort key: type, then outermost first. The strides themselves break ties, so that the order
    does not depend on the caller's."""
    *read, written = map(abs, d.strides)
    return _RANK[d.type], -written, [-step for step in read], d.size, d.strides
