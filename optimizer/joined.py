"""Rows that a stream kernel joins: short ones, which lie end to end in one input and in out.

In the other input they are one row for all, or an element each: the channels of an image times a
factor for each channel, or points times a factor for each point. Alone such a row is less than a
few vectors, most of it loops and masks; as part of the whole it is a few elements more.
"""

from __future__ import annotations

from tensorop.ir import BINARY, CONTRACTIONS, Dimension, DimType, TensorOp
from tensorop.jit.elements import element
from tensorop.jit.stream_abi import JOINED, picks
from tensorop.jit.target import Target

MANY = 32  # rows for which it pays to put together what is the same for all
NARROW = 128  # bytes of a row from which on one that is an element of the other input goes alone,
# where vectors of such rows are not picked out of one of these elements, or are parts of sums
TIMES = 4  # as many rows as one has elements for which it pays to repeat it beside an element each
WHOLE = 4  # vectors from which on a row of nothing else goes alone, if it is the same for all


def spread(
    op: TensorOp, rows: Dimension | None, inner: Dimension | None, target: Target
) -> int | None:
    """The input that is to be spread over the others, where rows can be joined; None where not. Of
    operations that are no product it is in1."""
    if op.main not in CONTRACTIONS | BINARY or rows is None or inner is None:
        return None
    several = 1 < inner.size <= JOINED and rows.size > 1
    if not several or DimType.K in (rows.type, inner.type):
        return None
    if not _end_to_end(inner, rows, op.out):
        return None
    size = element(op.dtype).size
    stored = picks(op.dtype, target) and not op.of_type(DimType.K)
    narrow = stored or inner.size * size < NARROW
    vectors, part = divmod(inner.size, target.lanes(size))
    for dense in (0, 1) if op.main in CONTRACTIONS else (0,):
        other = 1 - dense
        elements = inner.strides[other] == 0 and narrow
        alone = rows.size < TIMES * inner.size or (not part and vectors >= WHOLE)
        if elements and _one_row(inner, rows, dense) and not alone:
            return other
        if _end_to_end(inner, rows, dense) and (elements or _one_row(inner, rows, other)):
            return other
    return None


def _one_row(inner: Dimension, rows: Dimension, tensor: int) -> bool:
    """Whether the same elements are in many rows of a tensor."""
    return inner.strides[tensor] == 1 and rows.strides[tensor] == 0 and rows.size >= MANY


def _end_to_end(inner: Dimension, rows: Dimension, tensor: int) -> bool:
    return inner.strides[tensor] == 1 and rows.strides[tensor] == inner.size
