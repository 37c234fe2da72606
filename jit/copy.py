"""Copies of two-dimensional blocks through offset tables: packing, permuting, widening.

X is the axis whose positions are consecutive in the source (in chunks, see jit/tables.py), Y the
other one. Two ways to go:

along (jit/copy_along.py): X is consecutive in the target too. Every chunk is moved as vectors.
across (jit/copy_across.py): Y is consecutive in the target. Square tiles are read along X,
    transposed in registers and written along Y; into more than the caches hold, in the order and
    with the stores that memory is fast with (jit/copy_streaming.py).

A pack is a copy into panels: its target tables count from the block, and the last panel, where it
is not full, is zeroed first. Elements that are neither converted, conjugated nor made planar are
moved as bits. No byte outside the positions of the block is read or written.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from llvmlite import ir

from tensorop.jit.builder import Code
from tensorop.jit.copy_across import Across
from tensorop.jit.copy_along import Along
from tensorop.jit.copy_block import Block
from tensorop.jit.copy_streaming import Streaming
from tensorop.jit.mover import Mover, mover
from tensorop.jit.target import Target

LARGEST_TILE = 16  # lanes of a tile that is transposed in registers


@dataclass(frozen=True, slots=True)
class CopyKernel:
    """A copy from a dtype to the same one, or from a half type to float32.

    conj: conjugate. planar: the target holds real and imaginary parts apart (complex only).
    tile: most lanes of a tile that is transposed (across): no more than runs of Y are long.
    streaming: the target is more than the caches hold (across).
    """

    source: str
    target: str
    mode: Literal["along", "across"]
    conj: bool = False
    planar: bool = False
    tile: int = LARGEST_TILE
    streaming: bool = False

    def lanes(self, target: Target) -> int:
        """Elements of a vector; across, the longest chunk."""
        return self._mover(target).lanes

    def _mover(self, target: Target) -> Mover:
        widest = mover(self.source, self.target, target, self.conj, self.planar)
        if self.mode == "along":
            return widest
        return replace(widest, lanes=min(widest.lanes, self.tile))

    @property
    def name(self) -> str:
        """The name of the generated function."""
        flags = "_conj" * self.conj + "_planar" * self.planar + "_streaming" * self.streaming
        mode = self.mode if self.mode == "along" else f"across{self.tile}"
        return f"copy_{self.source}_{self.target}_{mode}{flags}"

    def generate(self, target: Target) -> ir.Module:
        code = Code(target, self.name)
        block = self._form(code, self._mover(target))
        block.pad_last_panel()
        block.copy()
        return code.finish()

    @property
    def _form(self) -> type[Block]:
        if self.mode == "along":
            return Along
        return Streaming if self.streaming else Across
