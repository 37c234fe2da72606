"""What kernels for records there are: for the generator (jit/planar.py), and for whoever chooses
kernels. Their descriptor has the slots of the inputs and of out."""

from __future__ import annotations

from math import prod

from tensorop.jit.elements import element
from tensorop.jit.lines import LINE
from tensorop.jit.target import Target
from tensorop.tuples import NamedTuple

SPARE = 4  # registers beside the elements of all records
MOST = 108  # products, or elements summed, of a record
BESIDE_LONG = 24  # real numbers of the other records where one has more than registers hold
LEAST_PIECE = 4  # real numbers of a long record that are taken apart together, or more


class RecordDim(NamedTuple):
    """A dimension within records: its size, and of every tensor, out being the last, the elements
    from one position to the next. Over one without a step in out is summed."""

    size: int
    steps: tuple[int, ...]


class PlanarKernel(NamedTuple):
    """Products of two records each, or sums over one, of one form and dtype. Records follow one
    another without gaps; one of an input may have elements that nobody reads.

    records: of every tensor the elements of a record; 0 for an input that is the same for all,
    whose elements lie anywhere. dims: of a record, outermost first. past: lines are stored past the
    caches where out is not read (`Target.shifts_lines`, and its records are not `long`). conj: of
    the inputs, those that are read conjugated.
    """

    dtype: str
    records: tuple[int, ...]
    dims: tuple[RecordDim, ...]
    past: bool = False
    conj: tuple[bool, ...] = (False, False)

    @property
    def parts(self) -> tuple[int, ...]:
        """Of every tensor the real numbers of a record."""
        parts = element(self.dtype).parts
        return tuple([parts * n for n in self.records])

    @property
    def terms(self) -> int:
        """Products of a record, or elements that are summed."""
        return prod([d.size for d in self.dims])

    @property
    def reaches_on(self) -> bool:
        """Whether a record of an input goes on behind its last element that is read: the last one
        need not be there as a whole."""
        last = [1 + sum([(d.size - 1) * d.steps[t] for d in self.dims]) for t in self.inputs]
        return any(n < record for n, record in zip(last, self.records, strict=False) if record)

    @property
    def inputs(self) -> range:
        """The numbers of the inputs; out is the tensor behind them."""
        return range(len(self.records) - 1)

    def long(self, target: Target) -> int | None:
        """The tensor whose records registers have no room for: they are taken apart, or put
        together, in pieces."""
        most, all_ = max(self.parts), sum(self.parts)
        if all_ + SPARE <= target.registers or all_ - most > BESIDE_LONG:
            return None
        return self.parts.index(most) if self.piece(target) >= LEAST_PIECE else None

    def piece(self, target: Target) -> int:
        """Real numbers of long records that are taken apart together: a power of two."""
        piece = target.lanes(element(self.dtype).part)
        while piece > max(self.parts):
            piece //= 2
        return piece

    def fits(self, target: Target) -> bool:
        """Whether most of all records are in registers, or they have room for all but pieces of
        one, the code is not too long, and vectors are lines, of which one shuffle puts any elements
        of two together."""
        kind = element(self.dtype)
        if target.picks(kind.part) != LINE or self.terms * kind.parts**2 > MOST:
            return False
        return self.long(target) is not None or sum(self.parts) <= 2 * target.registers - 2 * SPARE

    def moves(self, target: Target) -> tuple[int, int]:
        """Vectors that are loaded and stored for as many records as there are lanes, also those
        that registers have no room for meanwhile, and shuffles of two vectors."""
        lanes, long = target.lanes(element(self.dtype).part), self.long(target)
        whole = [n for tensor, n in enumerate(self.parts) if tensor != long]
        moved, shuffled = sum(whole), sum(map(shuffles, whole))
        if long is None:
            moved += 4 * max(0, moved + SPARE - target.registers)
        else:
            piece = self.piece(target)
            numbers = -(-self.parts[long] // piece) * piece
            moved += numbers * lanes // piece
            shuffled += numbers * (lanes // piece - 1 + piece.bit_length() - 1)
        return moved, shuffled

    @property
    def name(self) -> str:
        """The name of the generated function."""
        records = "x".join(map(str, self.records))
        dims = "_".join("x".join(map(str, (d.size, *d.steps))) for d in self.dims)
        conj = "".join(f"_conj{i}" for i, conj in enumerate(self.conj) if conj)
        return f"planar_{self.dtype}_{records}_of_{dims}{'_past' * self.past}{conj}"


def shuffles(channels: int) -> int:
    """Shuffles of two vectors that take so many vectors of records of so many elements apart, or
    put them together (jit/channels.py).

    >>> shuffles(1), shuffles(4), shuffles(9)
    (0, 8, 36)
    """
    each, left, factor = 0, channels, 2
    while left > 1:
        if left % factor:
            factor += 1
            continue
        each, left = each + factor - 1, left // factor
    return channels * each
