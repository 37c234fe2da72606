"""What interleaving kernels there are, and the words of their descriptor: for the generator
(jit/interleave.py), and for whoever chooses kernels and writes descriptors."""

from __future__ import annotations

from enum import IntEnum

from tensorop.jit.target import SEGMENT, Target
from tensorop.tuples import NamedTuple

WIDE = 3.0  # what a shuffle of a whole vector takes of that of a segment; it reads its order, too


def shuffled(target: Target, size: int, channels: int) -> int:
    """Bytes of the vectors that are best shuffled: the widest ones, or segments.

    Parameters
    ----------
    size : bytes of an element
    """

    def steps(vector: int) -> float:
        lanes, odd, halvings = vector // size, channels, 0
        while odd % 2 == 0:
            odd, halvings = odd // 2, halvings + 1
        return (halvings + min(odd, lanes) - 1) / lanes

    wide = target.picks(size)
    return wide if WIDE * steps(wide) <= steps(SEGMENT) else SEGMENT


class InterleaveWord(IntEnum):
    """Words of the descriptor. Strides are in bytes; the slots are those of `slots.Slot` and
    `slots.AxisSlot`. APART: from one channel to the next where they lie apart; Y_SOURCE, Y_TARGET:
    from one y to the next."""

    SOURCE_SLOT = 0
    TARGET_SLOT = 1
    X_AXIS = 2
    Y_AXIS = 3
    APART = 4
    Y_SOURCE = 5
    Y_TARGET = 6
    WORDS = 7


class InterleaveKernel(NamedTuple):
    """A copy of a few channels between two layouts: one beside the other, element by element, and
    apart from one another, each consecutive along X.

    size: bytes of an element, 1, 2, 4 or 8. channels: how many, at least 2. joins: they lie apart
    in the source, and beside one another in the target; else the other way round. vector: bytes of
    the vectors that are shuffled.
    """

    size: int
    channels: int
    joins: bool
    vector: int = SEGMENT

    @property
    def lanes(self) -> int:
        """Positions of X that vectors of all channels hold."""
        return self.vector // self.size

    @property
    def name(self) -> str:
        """The name of the generated function."""
        what = "join" if self.joins else "part"
        return f"{what}{self.channels}_{8 * self.size}_{8 * self.vector}"
