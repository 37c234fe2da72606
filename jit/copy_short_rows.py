"""Staged copies of rows that source and target have alike, and that are short.

Rows of less than a few lines, stored one by one, would complete hardly a line at a time. They are
put together in the stage, each moved as it is, in a few parts that may overlap.
"""

from __future__ import annotations

from llvmlite import ir

from tensorop.jit.builder import WORD, Code, Value
from tensorop.jit.copy_abi import CopyDescriptor
from tensorop.jit.copy_block import Chunks
from tensorop.jit.copy_parts import WORD_BYTES
from tensorop.jit.copy_staged import Staged
from tensorop.jit.instructions import vector_type
from tensorop.jit.mover import Mover

TOGETHER = 4  # rows of X that are moved at a time


class ShortRows(Staged):
    """Y has the rows of a region that follow one another in the stage, and X the others."""

    def __init__(self, code: Code, mover: Mover, row: int) -> None:
        super().__init__(code, mover)
        self.size = row * mover.stored_bytes

    def _fill(self, xs: Chunks, ys: Chunks, source: Value, stage: Value, following: Value) -> None:
        code, asks = self.code, self._word(CopyDescriptor.TILE_ASKS)
        whole = code.sub(
            xs.stop, code.builder.urem(code.sub(xs.stop, xs.first), code.int(TOGETHER))
        )
        with code.reduce(ys.stop, [code.int(0)], start=ys.first) as below:
            y, offset, _ = self._record(ys, below.index)
            row, into = code.at(source, code.word(self.y_source, y)), code.at(stage, offset)
            (asked,) = below.values
            after = code.add(asked, asks)
            with code.loop(after, start=asked) as ask:
                self._ask(following, ask)
            for first, stop, together in ((xs.first, whole, TOGETHER), (whole, xs.stop, 1)):
                with code.loop(stop, start=first, step=together) as x:
                    for i in range(together):
                        x_first, x_offset, _ = self._record(xs, code.add(x, i))
                        self._move(code.at(row, x_offset), code.at(into, self._column(x_first)))
            below.update([after])

    def _move(self, source: Value, target: Value) -> None:
        """One row: equal parts, of which the last one ends with it."""
        code, size = self.code, self.size
        part = min(code.target.vector_bytes, 1 << (size.bit_length() - 1))
        type_ = ir.IntType(8 * part)
        if part > WORD_BYTES:
            type_ = vector_type(WORD, part // WORD_BYTES)
        places = [*range(0, size - part, part), size - part]
        for at, value in [(at, code.load(code.at(source, at), type_)) for at in places]:
            code.store(value, code.at(target, at))
