"""What kernels for products of records there are: for the generator (jit/planar.py), and for
whoever chooses kernels. Their descriptor has the slots of in0, in1 and out."""

from __future__ import annotations

from math import prod

from tensorop.jit.elements import element
from tensorop.jit.lines import LINE
from tensorop.jit.target import Target
from tensorop.tuples import NamedTuple

SPARE = 4  # registers beside the elements of all records
MOST = 144  # multiply-adds of a record
BESIDE_LONG = 24  # elements of the other records where an input has more than registers hold
LEAST_PIECE = 4  # elements of a long record that are taken apart together, or more


class RecordDim(NamedTuple):
    """A dimension within records: its size, and the elements from one position to the next in in0,
    in1 and out. Over one without a step in out is summed."""

    size: int
    in0: int
    in1: int
    out: int


class PlanarKernel(NamedTuple):
    """Products of records of one form and dtype: each tensor has them end to end.

    dims: of a record, outermost first. past: lines are stored past the caches where out is not read
    (`Target.shifts_lines`).
    """

    dtype: str
    dims: tuple[RecordDim, ...]
    past: bool = False

    @property
    def records(self) -> tuple[int, int, int]:
        """Elements of a record of in0, in1 and out."""
        a, b, c = (prod([d.size for d in self.dims if d[t]]) for t in (1, 2, 3))
        return a, b, c

    @property
    def products(self) -> int:
        """Multiply-adds of a record."""
        return prod([d.size for d in self.dims])

    def long(self, target: Target) -> int | None:
        """The input whose records registers have no room for: they are taken apart in pieces."""
        *inputs, _ = records = self.records
        if sum(records) + SPARE <= target.registers:
            return None
        return max(range(2), key=inputs.__getitem__)

    def piece(self, target: Target) -> int:
        """Elements of long records that are taken apart together: a power of two."""
        elements, piece = max(self.records[:2]), target.lanes(element(self.dtype).size)
        while piece > elements:
            piece //= 2
        return piece

    def fits(self, target: Target) -> bool:
        """Whether registers have room for all records but pieces of one, the code is not too long,
        and vectors are lines, of which one shuffle puts any elements of two together."""
        if target.picks(element(self.dtype).size) != LINE or self.products > MOST:
            return False
        if self.long(target) is None:
            return True
        others = sum(self.records) - max(self.records[:2])
        return self.piece(target) >= LEAST_PIECE and others <= BESIDE_LONG

    def moves(self, target: Target) -> tuple[int, int]:
        """Vectors that are loaded and stored for as many records as there are lanes, and shuffles
        of two vectors."""
        lanes, long = target.lanes(element(self.dtype).size), self.long(target)
        whole = [n for tensor, n in enumerate(self.records) if tensor != long]
        moved, shuffled = sum(whole), sum(map(shuffles, whole))
        if long is not None:
            piece = self.piece(target)
            elements = -(-self.records[long] // piece) * piece
            moved += elements * lanes // piece
            shuffled += elements * (lanes // piece - 1 + piece.bit_length() - 1)
        return moved, shuffled

    @property
    def name(self) -> str:
        """The name of the generated function."""
        dims = "_".join("x".join(map(str, d)) for d in self.dims)
        return f"planar_{self.dtype}_{dims}{'_past' * self.past}"


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
