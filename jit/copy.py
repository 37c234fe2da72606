"""Copies of two-dimensional blocks through offset tables: packing, permuting, widening.

X is the axis whose positions are consecutive in the source (in chunks, see jit/tables.py), Y the other
one. Two ways to go:

along: X is consecutive in the target too. Every chunk is moved as vectors, for every y.
across: Y is consecutive in the target. Square tiles are read along X, transposed in registers
    (jit/transpose.py) and written along Y.

A pack is a copy into panels: its target tables count from the block, and the last panel, where it is
not full, is zeroed first. Elements that are neither converted, conjugated nor made planar are moved as
bits. No byte outside the positions of the block is read or written.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Literal

from llvmlite import ir

from tensorop.jit.abi import WORD as WORD_BYTES
from tensorop.jit.abi import Frame
from tensorop.jit.builder import Code, Value
from tensorop.jit.elements import Arithmetic, Element, Number, element
from tensorop.jit.target import Target
from tensorop.jit.transpose import transpose

RECORD_BYTES = 3 * WORD_BYTES  # of a chunk: first position, byte offset, length
LONG = 8  # vectors from which on a chunk is walked along X inside
UNROLL = 4  # rows, or vectors, in the inner loops
LARGEST_TILE = 16  # lanes of a tile that is transposed in registers


class CopyWord(IntEnum):
    """Descriptor of a CopyKernel. Offsets and strides are in bytes; tables go by absolute position.

    SOURCE_SLOT, TARGET_SLOT: frame slots with the base addresses. X_AXIS, Y_AXIS: axis slots.
    X_CHUNKS, X_BEGIN, X_GRANULE: `tables.chunks` of X in the source; a block of X starts at a
    multiple of the granule. Y_CHUNKS, Y_BEGIN, Y_GRANULE: of Y in the target (across).
    X_TARGET, Y_TARGET: offsets in the target by x and by y (Y_TARGET: along). Y_SOURCE: in the
    source by y.
    PLANE: from a real to its imaginary part in the target (planar).
    WIDTH: lanes of a panel, 0 where nothing is padded; PANEL: bytes of a panel; ROW: of one of its
    rows; LANES_AXIS, DEPTH_AXIS: axis slots of a panel's lanes and rows.
    """

    SOURCE_SLOT = 0
    TARGET_SLOT = 1
    X_AXIS = 2
    Y_AXIS = 3
    X_CHUNKS = 4
    X_BEGIN = 5
    X_GRANULE = 6
    X_TARGET = 7
    Y_SOURCE = 8
    Y_TARGET = 9
    Y_CHUNKS = 10
    Y_BEGIN = 11
    Y_GRANULE = 12
    PLANE = 13
    WIDTH = 14
    PANEL = 15
    ROW = 16
    LANES_AXIS = 17
    DEPTH_AXIS = 18
    WORDS = 20


@dataclass(frozen=True, slots=True)
class CopyKernel:
    """A copy from one dtype to the same one, or from a half type to float32.

    conj: conjugate. planar: the target holds real and imaginary parts apart (complex only).
    """

    source: str
    target: str
    mode: Literal["along", "across"]
    conj: bool = False
    planar: bool = False

    def lanes(self, target: Target) -> int:
        """Elements of a vector; for "across" the longest chunk of Y."""
        return _Mover(self, target).lanes

    def generate(self, target: Target) -> ir.Module:
        return _CopyGenerator(self, target).generate()


class _Mover:
    """How elements are held between load and store.

    units: machine words that one element is moved as (bits only). lanes: elements of a vector.
    """

    def __init__(self, kernel: CopyKernel, target: Target) -> None:
        source, stored = element(kernel.source), element(kernel.target)
        conj = kernel.conj and source.parts == 2
        if source != stored and not (source.half and stored == element("float32")):
            raise ValueError(f"no copy from {kernel.source} to {kernel.target}")
        if kernel.planar and source.parts == 1:
            raise ValueError(f"{kernel.source} has no imaginary part to lay apart")
        self.conj, self.planar, self.bits = conj, kernel.planar, False
        self.source_size, self.target_size = source.size, stored.size
        self.units = 1
        if source == stored and not conj and not kernel.planar:
            self.bits = True
            self.units = max(1, source.size // 8)
            source = stored = element(f"uint{8 * min(source.size, 8)}")
        self.source, self.stored = source, stored
        self.wide = source.vectorises  # else one element at a time
        step = max(source.part, stored.part) * self.units
        self.lanes = target.lanes(step) if self.wide else 1
        if kernel.mode == "across":
            self.lanes = min(self.lanes, LARGEST_TILE)
        self.part_bytes = stored.part * self.units  # of what one register holds for an element
        self.masked = {source.part, stored.part} <= target.masked

    def values(self, code: Code) -> tuple[Arithmetic, Arithmetic]:
        """Arithmetic that loads from the source and that stores to the target."""
        stored = self.stored.real if self.planar else self.stored
        lanes = self.lanes * self.units
        return Arithmetic(code, self.source, lanes), Arithmetic(code, stored, lanes)

    def one(self) -> _Mover:
        """The same for single elements."""
        single = object.__new__(_Mover)
        single.__dict__.update(self.__dict__, lanes=1)
        return single


class _CopyGenerator:
    def __init__(self, kernel: CopyKernel, target: Target) -> None:
        self.kernel, self.target = kernel, target
        flags = "_conj" * kernel.conj + "_planar" * kernel.planar
        name = f"copy_{kernel.source}_{kernel.target}_{kernel.mode}{flags}"
        self.code = Code(target, name)
        self.mover = _Mover(kernel, target)
