"""Packs of many short dimensions, whose digits change places in registers (jit/digits.py).

Complex numbers are pairs of real ones: which part of a number it is, is a digit, too.

A group of lanes is what a vector of a panel holds of one position of the depth. Positions of the
depth of which a vector that is read holds several form a tile; tables hold where its vectors begin,
on both sides.
"""

from __future__ import annotations

from tensorop.jit.abi import WORD as WORD_BYTES
from tensorop.jit.abi import Frame
from tensorop.jit.builder import Code
from tensorop.jit.copy_abi import ELSEWHERE, TILE_WORDS, CopyDescriptor, CopyKernel
from tensorop.jit.copy_block import Block
from tensorop.jit.digits import permuted
from tensorop.jit.mover import Mover


class Digits(Block):
    """Y: groups of lanes; X: tiles of the depth."""

    def __init__(self, code: Code, mover: Mover, kernel: CopyKernel) -> None:
        super().__init__(code, mover)
        self.order = kernel.order

    def copy(self) -> None:
        """All tiles of a group, one group after the other."""
        code, d, lanes = self.code, CopyDescriptor, self.mover.lanes
        vectors = range(1 << self.order.count(ELSEWHERE))
        reading, storing = self._pointer(d.LOADS), self._pointer(d.STORES)
        loads, stores = ([code.word(at, i) for i in vectors] for at in (reading, storing))
        y_target, xs = self._pointer(d.Y_TARGET), self._xs()
        start = code.builder.udiv(self._of_axis(Frame.START, d.Y_AXIS), code.int(lanes))
        count = code.builder.udiv(self._of_axis(Frame.SIZE, d.Y_AXIS), code.int(lanes))
        with code.loop(code.add(start, count), start=start) as group:
            source = code.at(self.source, code.word(self.y_source, group))
            target = code.at(self.target, code.word(y_target, group))
            with code.loop(xs.stop, start=xs.first) as tile:
                record = code.at(xs.records, code.mul(tile, TILE_WORDS * WORD_BYTES))
                here, there = (
                    code.at(base, code.word(record, i)) for i, base in enumerate((source, target))
                )
                loaded = [self.mover.load(code, code.at(here, at))[0] for at in loads]
                for vector, at in zip(permuted(code, loaded, self.order), stores, strict=True):
                    self.mover.store(code, (vector,), code.at(there, at), self.plane)
