"""What a stream kernel is, as data: the words of its descriptor and the fields of its description.

`jit/stream.py` says what the kernels do and builds the descriptions, `jit/stream_loops.py`
generates their code; both read this.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Literal

from tensorop.ir import REDUCTIONS, Primitive
from tensorop.jit.elements import GATHERED, element
from tensorop.jit.target import Target
from tensorop.tuples import NamedTuple

Access = Literal["unit", "zero", "strided", "scattered", "reduced"]

JOINED = 64  # positions of X at most where rows are joined


def picks(dtype: str, target: Target) -> bool:
    """Whether vectors of joined rows, each of which has one element of an input, are picked out of
    a vector of these elements: of the types that most work is done in."""
    return dtype in GATHERED and target.shifts_lines(element(dtype).size)


REDUCING = frozenset(main.value for main in REDUCTIONS | {Primitive.GEMM})


class StreamDescriptor(IntEnum):
    """Words of the descriptor. Strides are in bytes. X_IN0, X_IN1 are read where access is strided;
    X_OUT and Y_OUT must be 0 where the axis is reduced. The slots are those of `slots.Slot` and
    `slots.AxisSlot`; an axis slot of -1 is an axis of size 1."""

    IN0_SLOT = 0
    IN1_SLOT = 1
    OUT_SLOT = 2
    X_AXIS = 3
    Y_AXIS = 4
    X_IN0 = 5
    X_IN1 = 6
    X_OUT = 7
    Y_IN0 = 8
    Y_IN1 = 9
    Y_OUT = 10


class StreamKernel(NamedTuple):
    """The description of a stream kernel; build it by `stream_kernel`.

    main: the primitive. dtype: type of the output, and of the arithmetic (half types: float32).
    source: dtype of the inputs where it is another one; they are cast as they are loaded.
    in0, in1, out: access of X; in1 is None with one input. A kernel whose out is strided is one of
    scalars, for types that have no vectors: it serves every access by strides, and both axes may be
    reduced (a stride of 0 in out). One of vectors gathers them from strided inputs, and stores them
    element by element to an out that is scattered.
    outer_reduced: Y is reduced. conj0, conj1: the input is read conjugated.
    joined: the rows of in0 and out lie end to end, those of in1 are one row, or one element each.
    one_row: in0 has one row for all, too, and in1 an element each.
    past: whole lines of out are stored past the caches, where out is not read.
    width: vectors of a row that are summed down all rows at once, where Y is reduced: all of it, or
    many, if it is of a half type; 0: a few.
    in_turn: rows are summed along X one after the other, not several at a time.
    in_blocks: sums are of more terms than may be added one after the other: blocks of them are.
    asks0, asks1: what is read later of the input is asked for: it is in memory.
    per_x: elements of `dtype` that make one position of X.
    """

    main: str
    dtype: str
    source: str | None
    in0: Access
    in1: Access | None
    out: Access
    outer_reduced: bool = False
    conj0: bool = False
    conj1: bool = False
    joined: bool = False
    one_row: bool = False
    past: bool = False
    width: int = 0
    in_turn: bool = False
    in_blocks: bool = False
    asks0: bool = False
    asks1: bool = False
    per_x: int = 1

    @property
    def name(self) -> str:
        """The name of the generated function."""
        flags = {
            "outer": self.outer_reduced,
            "conj0": self.conj0,
            "conj1": self.conj1,
            "joined": self.joined,
            "one_row": self.one_row,
            "past": self.past,
            "in_turn": self.in_turn,
            "in_blocks": self.in_blocks,
            "asking0": self.asks0,
            "asking1": self.asks1,
        }
        words = ("stream", self.main, self.source, self.dtype, self.in0, self.in1, self.out)
        named = [word for word in words if word] + [flag for flag, on in flags.items() if on]
        wide = [f"wide{self.width}"] if self.width else []
        return "_".join(named + wide + ["pairs"] * (self.per_x - 1))

    @property
    def strided(self) -> bool:
        return self.out == "strided"

    @property
    def gathers(self) -> bool:
        """Whether vectors are put together of elements that are apart, or taken apart."""
        return not self.strided and bool({self.in0, self.in1, self.out} & {"strided", "scattered"})

    @property
    def updates(self) -> bool:
        """Whether the result may have to be combined with what out holds."""
        return self.main in REDUCING and (self.in1 is None or self.main == "gemm")
