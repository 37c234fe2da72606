"""What reordering kernels there are, and the words of their descriptor: for the generator
(jit/reorder.py), and for whoever chooses kernels and writes descriptors."""

from __future__ import annotations

import zlib
from enum import IntEnum

from tensorop.tuples import NamedTuple


class ReorderWord(IntEnum):
    """Words of the descriptor; the slots are those of `slots.Slot`."""

    SOURCE_SLOT = 0
    TARGET_SLOT = 1
    WORDS = 2


class ReorderKernel(NamedTuple):
    """A copy of items of a few elements that lie end to end on both sides, the elements of each in
    the same other order.

    size: bytes of an element, 1, 2, 4 or 8. order: for every element of an item of the target,
    which one of the source it is. past: the target is more than the caches hold, and stored past
    them.
    """

    size: int
    order: tuple[int, ...]
    past: bool = False

    @property
    def name(self) -> str:
        """The name of the generated function."""
        number = zlib.crc32(repr(self.order).encode())
        return f"reorder_{8 * self.size}_{len(self.order)}_{number:08x}{'_past' * self.past}"
