"""How a copy kernel holds elements between load and store.

As bits where nothing happens to them, as numbers where they are widened (half types to float32),
conjugated or laid apart (planar): see `copy_abi.Carried`.
"""

from __future__ import annotations

from tensorop.jit.arithmetic import Arithmetic, Number
from tensorop.jit.builder import Code, Value
from tensorop.jit.elements import Element
from tensorop.jit.lines import LEAST_PART, LINE
from tensorop.jit.target import Target
from tensorop.jit.transpose import transpose
from tensorop.tuples import NamedTuple


class Mover(NamedTuple):
    """Moves `lanes` elements at a time, or tiles of as many columns.

    source: what is loaded; stored: what is stored (planar: one part); units: machine words that
    an element is moved as; squares: how many square tiles, one below the other, a tile has.
    """

    source: Element
    stored: Element
    lanes: int
    units: int = 1
    conj: bool = False
    planar: bool = False
    squares: int = 1

    @property
    def rows(self) -> int:
        """Rows of a tile, which are the elements of a vector that is stored."""
        return self.lanes * self.squares

    @property
    def source_bytes(self) -> int:
        return self.source.size * self.units

    @property
    def stored_bytes(self) -> int:
        """From one element to the next in the target."""
        return self.stored.size * self.units

    @property
    def moves_bits(self) -> bool:
        """Whether elements are stored as they were loaded."""
        return self.source == self.stored and not self.conj and not self.planar

    def load(self, code: Code, address: Value, count: Value | None = None) -> Number:
        """Elements as they are stored; of `count` only so many are read (needs `masks`)."""
        vector = Arithmetic(code, self.source, self.lanes * self.units)
        number = vector.load(address, self._units(code, count))
        return vector.conj(number) if self.conj else number

    def store(
        self, code: Code, number: Number, address: Value, plane: Value, count: Value | None = None
    ) -> None:
        """Store a column, or what `load` gave where it is one as well; `plane`: bytes from real to
        imaginary parts (planar)."""
        vector = self._stored(code)
        count = self._units(code, count)
        if not self.planar:
            vector.store(number, address, count)
            return
        vector.store(number[:1], address, count)
        vector.store(number[1:], code.at(address, plane), count)

    def line_vectors(self, target: Target) -> int:
        """How many vectors are a whole cache line, 0 where they are no part of one that can be
        stored past the caches."""
        size = self.rows * self.stored_bytes
        is_part = LEAST_PART <= size <= target.vector_bytes and LINE % size == 0
        return LINE // size if is_part and not self.planar else 0

    def _stored(self, code: Code) -> Arithmetic:
        return Arithmetic(code, self.stored, self.rows * self.units)

    def _units(self, code: Code, count: Value | None) -> Value | None:
        return count if count is None or self.units == 1 else code.mul(count, self.units)

    def transposed(self, code: Code, rows: list[Number]) -> list[Number]:
        """The columns of `rows` loaded rows."""
        lanes, size, units = self.lanes, self.stored.part * self.units, self.units
        planes = [transpose(code, plane, lanes, size, units) for plane in zip(*rows, strict=True)]
        return list(zip(*planes, strict=True))

    def masks(self, target: Target) -> bool:
        """Whether fewer than `lanes` elements can be moved at once."""
        return self.lanes > 1 and {self.source.part, self.stored.part} <= target.masked
