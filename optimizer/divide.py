"""Sums divided among threads: where there is much to sum and little that is kept.

Threads share what is kept. Where that is a number or a few rows, the longest summed dimension is
cut into parts instead, each part's sum becomes an element of a batch of partial results, and these
are added up in their order afterwards. So the result depends on the number of threads asked for,
which decides the number of parts, and on nothing else.
"""

from __future__ import annotations

from math import prod

from tensorop.ir import CONTRACTIONS, Dimension, DimType, Primitive, Tensor, TensorOp
from tensorop.jit.elements import element
from tensorop.optimizer.transfer import bytes_of
from tensorop.tuples import NamedTuple

LEAST_POINTS = 4_000_000  # multiply-adds from which on parts pay; LEAST_BYTES: of what is read once
LEAST_BYTES = 1 << 22
SHORT_ROW = 256  # elements for a thread that would be as many shares of the lines of a row
FEW_ROWS = 32  # rows or columns of a product for a thread that are worth a share of their own
PARTS = 4  # of a sum for a thread
SHORT_OUT = 16  # times as much is read of the operands as all parts have to add up


class Divided(NamedTuple):
    """A sum as operations of its parts.

    main: into `partial`, dense, the part outermost. rest: what does not fill a part, added to the
    first part's; its operands begin `offsets` elements further. total: of the parts, into out.
    size: elements of `partial`.
    """

    main: TensorOp
    rest: TensorOp | None
    offsets: tuple[int, ...]
    total: TensorOp
    size: int


def divide(op: TensorOp, threads: int) -> Divided | None:
    """Cut a normalised sum into parts for so many threads; None where it had better stay whole."""
    summed = [d for d in op.of_type(DimType.K) if d.size >= 2 * PARTS * threads]
    if threads == 1 or not summed or not _pays(op, threads):
        return None
    longest = max(summed, key=lambda d: (d.size, max(abs(s) for s in d.strides)))
    count = PARTS * threads
    length, left = divmod(longest.size, count)
    kept = [d for d in op.dimensions if d.type != DimType.K]
    size = prod(d.size for d in kept)
    dense = _dense(kept)

    def part(long: int) -> list[Dimension]:
        """The operation's dimensions with one part of the sum, into a partial result."""
        sizes = [long if d is longest else d.size for d in op.dimensions]
        steps = [(*d.strides[:-1], dense.get(id(d), 0)) for d in op.dimensions]
        every = zip(op.dimensions, sizes, steps, strict=True)
        return [d._replace(size=n, strides=strides) for d, n, strides in every]

    steps = tuple(length * s for s in longest.strides[:-1])
    parts = Dimension(DimType.C, count, (*steps, size), name="part")
    rest = op.with_dimensions(tuple(part(left))) if left else None
    totals = [
        Dimension(DimType.K, count, (size, 0), name="part"),
        *(Dimension(DimType.C, d.size, (dense[id(d)], d.strides[-1]), name=d.name) for d in kept),
    ]
    tensors = (Tensor("in0", op.dtype), Tensor("out", op.dtype))
    return Divided(
        op.with_dimensions((parts, *part(length))),
        rest,
        tuple(count * step for step in steps),
        TensorOp(tensors, tuple(totals), Primitive.SUM),
        size * count,
    )


def _pays(op: TensorOp, threads: int) -> bool:
    plain = op.first_touch == op.last_touch == Primitive.NONE and not element(op.dtype).half
    sums = op.main in CONTRACTIONS or op.main == Primitive.SUM
    return plain and sums and _keeps_few(op, threads) and is_large(op)


def _keeps_few(op: TensorOp, threads: int) -> bool:
    """Whether threads that share what is kept would have too little each, or share its lines."""
    m, n, batch = (op.size_of(t) for t in (DimType.M, DimType.N, DimType.C))
    if _reads_once(op) and _lies_inside(op) and m * n * batch < SHORT_ROW * threads:
        return True
    if batch >= threads:
        return False
    added, read = PARTS * threads * m * n, (m + n) * op.size_of(DimType.K)
    short = not _reads_once(op) and added * SHORT_OUT <= read
    return short or max(m, n) < FEW_ROWS * threads


def _reads_once(op: TensorOp) -> bool:
    """Whether it is no matrix product."""
    return min(op.size_of(DimType.M), op.size_of(DimType.N)) == 1


def _lies_inside(op: TensorOp) -> bool:
    """Whether what is kept lies inside what is summed: threads would share its cache lines."""
    kept = [d for d in op.dimensions if d.type != DimType.K]
    return bool(kept) and all(
        max(abs(d.strides[t]) for d in kept) < min(abs(d.strides[t]) for d in op.of_type(DimType.K))
        for t in range(op.out)
    )


def is_large(op: TensorOp) -> bool:
    """Whether a sum takes so long that the calls of its parts do not show."""
    if prod([d.size for d in op.dimensions]) >= LEAST_POINTS:
        return True
    read = sum(bytes_of(op, t) for t in range(op.out))
    return read >= LEAST_BYTES and _reads_once(op)


def _dense(kept: list[Dimension]) -> dict[int, int]:
    """Strides of kept dimensions in a dense result of the order of out, by identity."""
    steps, step = {}, 1
    for d in sorted(kept, key=lambda d: abs(d.strides[-1])):
        steps[id(d)] = step
        step *= d.size
    return steps
