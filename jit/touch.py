"""Ask for a block of a tensor before it is used, in the order in which it lies.

Memory is fast where many lines follow one another: the hardware then asks ahead. A schedule that
uses a little of many rows at a time gives it no such order, and so this kernel walks along all of
every row first; what it asks for waits in L2. It reads nothing, so that results do not depend on
it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from llvmlite import ir

from tensorop.jit.abi import Frame
from tensorop.jit.builder import LINE, Code
from tensorop.jit.target import Target


class TouchWord(IntEnum):
    """Words of the descriptor: the `abi.Slot` with the block's address; a table of the byte offsets
    of its rows, and how many they are; the `abi.AxisSlot` along a row, and the bytes of one of its
    positions."""

    SLOT = 0
    TABLE = 1
    ROWS = 2
    AXIS = 3
    STEP = 4
    WORDS = 5


@dataclass(frozen=True, slots=True)
class TouchKernel:
    """A walk along all rows of a block. writes: the block will be written."""

    writes: bool = False

    @property
    def name(self) -> str:
        """The name of the generated function."""
        return "touch_write" if self.writes else "touch"

    def generate(self, target: Target) -> ir.Module:
        code = Code(target, self.name)
        slot, rows, axis, step = (
            code.word(code.descriptor, word)
            for word in (TouchWord.SLOT, TouchWord.ROWS, TouchWord.AXIS, TouchWord.STEP)
        )
        block = code.pointer(code.frame, slot)
        table = code.pointer(code.descriptor, TouchWord.TABLE)
        size = code.mul(code.word(code.frame, code.add(axis, Frame.SIZE)), step)
        last = code.sub(size, 1)
        with code.loop(rows) as row:
            begin = code.at(block, code.word(table, row))
            with code.loop(last, step=LINE) as offset:
                code.prefetch(code.at(begin, offset), near=False, write=self.writes)
            code.prefetch(code.at(begin, last), near=False, write=self.writes)
        return code.finish()
