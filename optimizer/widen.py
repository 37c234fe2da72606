"""Wide elements: a few neighbours that a copy keeps together are moved as one.

Where the fastest dimension of source and target is the same short one, a copy moves it bit by bit:
two float32 are then an element of eight bytes, and the other dimensions are what is permuted. So
vectors and tiles are full of what is moved, however short that dimension is.
"""

from __future__ import annotations

from tensorop.ir import Dimension, Primitive, TensorOp
from tensorop.jit.elements import element
from tensorop.optimizer.regime import permutes
from tensorop.optimizer.result import PassResult, describe

# By bytes. Permuting and packing move elements of any of these types as bits; what is as long as a
# clongdouble would be loaded as numbers, and lose bits, by the other kernels.
WIDE = {2: "uint16", 4: "uint32", 8: "uint64", 16: "complex128", 32: "clongdouble"}
BITS = (2, 4, 8, 16)


def widen(op: TensorOp) -> PassResult:
    """Take neighbours as one element.

    Parameters
    ----------
    op : TensorOp
        Fused. Only copies that convert, conjugate and compute nothing become wider.

    Returns
    -------
    PassResult
    """
    nothing = PassResult(op, "nothing to widen")
    if op.main != Primitive.COPY or op.tensors[0].dtype != op.dtype:
        return nothing
    if any(tensor.conj for tensor in op.tensors) or op.last_touch != Primitive.NONE:
        return nothing
    together = next((d for d in op.dimensions if d.strides == (1, 1)), None)
    if together is None or len(op.dimensions) < 3:
        return nothing
    size = element(op.dtype).size
    counts = [wide // size for wide in WIDE if wide > size and wide % size == 0]
    for count in reversed(counts):
        if together.size % count == 0 and _apart(op, together, count):
            wider = _wider(op, together, count, WIDE[count * size])
            if count * size in BITS or permutes(wider):
                note = f"{count} of {describe(together)} are one element of {count * size} bytes"
                return PassResult(wider, note)
    return nothing


def _apart(op: TensorOp, together: Dimension, count: int) -> bool:
    """Whether every other dimension steps over whole wide elements."""
    others = (d for d in op.dimensions if d is not together)
    return not any(stride % count for d in others for stride in d.strides)


def _wider(op: TensorOp, together: Dimension, count: int, dtype: str) -> TensorOp:
    dims = []
    for d in op.dimensions:
        if d is not together:
            dims.append(d.stepping(tuple([stride // count for stride in d.strides])))
        elif d.size > count:
            dims.append(d.sized(d.size // count))
    tensors = tuple([tensor._replace(dtype=dtype) for tensor in op.tensors])
    return TensorOp(tensors, tuple(dims), op.main, op.first_touch, op.last_touch)
