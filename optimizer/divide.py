"""Sums divided among threads: where there is much to sum and little that is kept.

Threads share what is kept. Where that is a number or a few rows, a summed dimension is cut into
parts instead, each part's sum becomes an element of a batch of partial results, and these are added
up in their order afterwards. So the result depends on the number of threads asked for, which
decides the number of parts, and on nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tensorop.ir import CONTRACTIONS, Dimension, DimType, Primitive, Tensor, TensorOp
from tensorop.jit.elements import element
from tensorop.optimizer.balance import ceiling
from tensorop.optimizer.parallelise import BALANCED, busy
from tensorop.optimizer.transfer import bytes_of, sharers
from tensorop.tuples import NamedTuple

LEAST_POINTS = 4_000_000  # multiply-adds from which on parts pay; LEAST_BYTES: that are read
LEAST_BYTES = 1 << 20
PARTS = 4  # for a thread, or as many as leave no rest
REST = 8  # the part of a dimension, one in so many, that may be left
SHORT_PIECE = 4096  # bytes in a row that are too few to jump after them
SHORT_ROW = 256  # elements for a thread that would be as many shares of the lines of a row
FEW_ROWS = 32  # rows or columns of a product for a thread that are worth a share of their own

# A product of which both sides are longer than that, and its sum much the longest:
SHORT_POINTS = 3 * LEAST_POINTS  # multiply-adds from which on parts pay
SHORT_OUT = 16  # times as much is read of the operands as all parts have to add up
LONG_SIDE = 1024  # rows or columns for a thread that it takes no division to share evenly
TILE = 48, 16  # rows and columns, about, that a thread has at least of a product
FEW_TILES = 2  # for a thread, which may be uneven
NARROW = 5  # rows or columns below which reading bounds it: threads share the others


class Divided(NamedTuple):
    """A sum as operations of its parts.

    main: into `partial`, dense, the part outermost. rest: what does not fill a part, which is one
    more; its operands begin `offsets` elements further. total: of the parts, into out. size:
    elements of `partial`.
    """

    main: TensorOp
    rest: TensorOp | None
    offsets: tuple[int, ...]
    total: TensorOp
    size: int


def divide(op: TensorOp, threads: int) -> Divided | None:
    """Cut a normalised sum into parts for so many threads; None where it had better stay whole."""
    found = cut(op, threads)
    if found is None:
        return None
    whole, count = found
    length, left = divmod(whole.size, count)
    kept = [d for d in op.dimensions if d.type != DimType.K]
    size = prod(d.size for d in kept)
    dense = _dense(kept)

    def part(long: int) -> list[Dimension]:
        """The operation's dimensions with one part of the sum, into a partial result."""
        sizes = [long if d is whole else d.size for d in op.dimensions]
        steps = [(*d.strides[:-1], dense.get(id(d), 0)) for d in op.dimensions]
        every = zip(op.dimensions, sizes, steps, strict=True)
        return [d._replace(size=n, strides=strides) for d, n, strides in every]

    steps = tuple(length * s for s in whole.strides[:-1])
    parts = Dimension(DimType.C, count, (*steps, size), name="part")
    rest = op.with_dimensions(tuple(part(left))) if left else None
    places = count + (rest is not None)
    totals = [
        Dimension(DimType.K, places, (size, 0), name="part"),
        *(Dimension(DimType.C, d.size, (dense[id(d)], d.strides[-1]), name=d.name) for d in kept),
    ]
    tensors = (Tensor("in0", op.dtype), Tensor("out", op.dtype))
    return Divided(
        op.with_dimensions((parts, *part(length))),
        rest,
        tuple(count * step for step in (*steps, size)),
        TensorOp(tensors, tuple(totals), Primitive.SUM),
        size * places,
    )


def cut(op: TensorOp, threads: int) -> tuple[Dimension, int] | None:
    """The dimension of a normalised sum that is cut for so many threads, and into how many parts;
    None where the sum had better stay whole."""
    plain = op.first_touch == op.last_touch == Primitive.NONE and not element(op.dtype).half
    sums = op.main in CONTRACTIONS or op.main == Primitive.SUM
    threads = sharers(op, threads)
    if threads == 1 or not (plain and sums and is_large(op)):
        return None
    few, short = _keeps_few(op, threads), _is_short(op, threads)
    if not (few or short):  # which is known sooner than what would be cut
        return None
    multiples = [n * threads for n in (*range(PARTS, 2 * PARTS), 3, 2)]
    found = _longest_pieces(op, threads, multiples, even=_is_narrow(op))
    if found is None and _is_uneven(op, threads):
        every = range(threads, 2 * PARTS * threads)
        counts = [n for n in every if busy(n, threads) >= BALANCED]
        found = _longest_pieces(op, threads, counts, even=True)
    if found is None:
        return None
    return found if short or _lies_inside(op, found[0], threads) else None


def _longest_pieces(
    op: TensorOp, threads: int, counts: Sequence[int], *, even: bool
) -> tuple[Dimension, int] | None:
    """The summed dimension of which parts are read in the fewest pieces, and how many parts: one
    of some counts if that leaves no rest. None where no dimension is long enough, or the larger
    input would be read in short pieces. even: without a rest, any is long enough."""
    least = PARTS * threads

    def count(d: Dimension) -> int:
        return next((n for n in counts if d.size % n == 0), least)

    def reaches(d: Dimension) -> dict[int, int]:
        """How far a part reaches, about, by the operands that have the dimension."""
        length = max(1, d.size // (count(d) if even else least))
        return {t: length * abs(s) for t, s in enumerate(d.strides[:-1]) if s}

    def pieces(d: Dimension) -> float:
        return sum([bytes_of(op, t) / reach for t, reach in reaches(d).items()])

    def divides(d: Dimension) -> bool:
        if not any(d.strides[:-1]):  # the same numbers again and again: nothing is read in parts
            return False
        return d.size >= 2 * least or (even and d.size % count(d) == 0)

    long = [d for d in op.of_type(DimType.K) if divides(d)]
    best = min([d for d in long if d.size % count(d) * REST <= d.size], key=pieces, default=None)
    if best is None:
        return None
    large = max(reaches(best), key=lambda t: bytes_of(op, t))
    if _is_narrow(op) and reaches(best)[large] * element(op.dtype).size < SHORT_PIECE:
        return None
    return best, count(best)


def _keeps_few(op: TensorOp, threads: int) -> bool:
    """Whether threads that share what is kept would have too little each, or share its lines, if
    that lies inside what is cut."""
    worth = _reads_once(op) or (_is_narrow(op) and _is_long(op))
    kept = prod([op.size_of(t) for t in (DimType.M, DimType.N, DimType.C)])
    return worth and kept < SHORT_ROW * threads


def _is_short(op: TensorOp, threads: int) -> bool:
    """Whether they would in any case: rows and columns are few, or few beside the sum."""
    m, n, batch = (op.size_of(t) for t in (DimType.M, DimType.N, DimType.C))
    if batch >= threads:
        return False
    added, read = PARTS * threads * m * n, (m + n) * op.size_of(DimType.K)
    large = m * n * op.size_of(DimType.K) >= SHORT_POINTS and min(m, n) >= NARROW
    times = 1 if _is_uneven(op, threads) else SHORT_OUT
    short = large and added * times <= read and max(m, n) < LONG_SIDE * threads
    return short or max(m, n) < FEW_ROWS * threads


def _reads_once(op: TensorOp) -> bool:
    """Whether it is no matrix product."""
    return min(op.size_of(DimType.M), op.size_of(DimType.N)) == 1


def _lies_inside(op: TensorOp, whole: Dimension, threads: int) -> bool:
    """Whether what is kept lies inside the parts of a dimension in the larger input, so near that
    threads would share its lines, or jump over what is not theirs."""
    large = max(range(op.out), key=lambda t: bytes_of(op, t))
    kept = [d for d in op.dimensions if d.type != DimType.K and d.strides[large]]
    near = 2 * SHORT_PIECE * threads // element(op.dtype).size
    return bool(kept) and all(
        abs(d.strides[large]) < abs(whole.strides[large]) and abs(d.strides[large]) * d.size <= near
        for d in kept
    )


def is_large(op: TensorOp) -> bool:
    """Whether a sum takes so long that the calls of its parts do not show."""
    if _is_long(op):
        return True
    read = sum(bytes_of(op, t) for t in range(op.out))
    return read >= LEAST_BYTES and _is_narrow(op)


def _is_narrow(op: TensorOp) -> bool:
    """Whether reading bounds it."""
    return min(op.size_of(DimType.M), op.size_of(DimType.N)) < NARROW


def _is_uneven(op: TensorOp, threads: int) -> bool:
    """Whether the tiles of a product leave threads idle that share these."""
    m, n = op.size_of(DimType.M), op.size_of(DimType.N)
    tiles = ceiling(max(m, n), TILE[0]) * ceiling(min(m, n), TILE[1])
    return busy(tiles, threads) < BALANCED and tiles < FEW_TILES * threads


def _is_long(op: TensorOp) -> bool:
    return prod([d.size for d in op.dimensions]) >= LEAST_POINTS


def _dense(kept: list[Dimension]) -> dict[int, int]:
    """Strides of kept dimensions in a dense result of the order of out, by identity."""
    steps, step = {}, 1
    for d in sorted(kept, key=lambda d: abs(d.strides[-1])):
        steps[id(d)] = step
        step *= d.size
    return steps
