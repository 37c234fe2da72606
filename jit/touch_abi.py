"""What touch kernels there are, and the words of their descriptor: for the generator
(jit/touch.py), and for whoever chooses kernels and writes descriptors."""

from __future__ import annotations

from enum import IntEnum

from tensorop.tuples import NamedTuple


class TouchWord(IntEnum):
    """Words of the descriptor: the `slots.Slot` with the block's address; a table of the byte
    offsets of its rows, and how many they are; the `slots.AxisSlot` along a row, and the bytes of
    one of its positions."""

    SLOT = 0
    TABLE = 1
    ROWS = 2
    AXIS = 3
    STEP = 4
    WORDS = 5


class TouchKernel(NamedTuple):
    """A walk along all rows of a block. writes: the block will be written."""

    writes: bool = False

    @property
    def name(self) -> str:
        """The name of the generated function."""
        return "touch_write" if self.writes else "touch"
