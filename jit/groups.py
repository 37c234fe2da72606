"""Sums of products of several steps of K an instruction: pairs of bfloat16, quads of bytes.

Panels hold groups: of every lane the elements of consecutive steps of K, side by side, which are as
long as an element of the sums. What walks a panel of those therefore walks one of groups, in fewer
steps.

The instruction for bfloat16 takes numbers below the least normal one for zero; its sums are rounded
after each product, to nearest, as float32. That for bytes multiplies unsigned ones by signed ones,
and its sums wrap as those of int32 do. Where both sides are of one sign, the bytes of A have their
highest bit inverted, which moves them by 128 into the range of the other sign: products are then
those that are meant and those of B with 128, whatever A is. So the sums of a column begin with what
takes these away (`Starts`), and zeros behind the last step of K in B add nothing.

Source: Intel, "Intel 64 and IA-32 Architectures Software Developer's Manual", volume 2, VDPBF16PS
and VPDPBUSD.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorop.jit.arithmetic import Arithmetic, Number
from tensorop.jit.builder import Code, Value
from tensorop.jit.elements import Element, element
from tensorop.jit.gemm_abi import BYTES
from tensorop.jit.instructions import vector_type
from tensorop.jit.types import BFLOAT

HIGHEST = 0x80808080 - (1 << 32)  # the highest bit of each byte of an int32
COLUMNS = 4  # whose sums are a vector
UNROLL = 4  # steps of K whose sums of columns are apart, so that they need not wait


def grouped(code: Code, sums: Element, lanes: int, inputs: tuple[str, ...]) -> Arithmetic:
    """The arithmetic on vectors of sums; those that are multiplied hold the bits of groups."""
    if inputs[0] == "bfloat16":
        return BfloatPairs(code, sums, lanes)
    return ByteQuads(code, sums, lanes, inputs)


class BfloatPairs(Arithmetic):
    """Vectors of float32; those that are multiplied hold the bits of pairs."""

    def accumulate(self, a: Number, b: Number, sums: Number) -> Number:
        name = f"llvm.x86.avx512bf16.dpbf16ps.{32 * self.lanes}"
        arguments = [sums[0], self._pairs(a[0]), self._pairs(b[0])]
        return (self.code.intrinsic(name, self.type, arguments),)

    def _pairs(self, value: Value) -> Value:
        return self.builder.bitcast(value, vector_type(BFLOAT, 2 * self.lanes))


class ByteQuads(Arithmetic):
    """Vectors of int32; those that are multiplied hold the bits of quads. inputs: the dtypes of A
    and B."""

    def __init__(self, code: Code, sums: Element, lanes: int, inputs: tuple[str, ...]) -> None:
        super().__init__(code, sums, lanes)
        self.moves, self._b_is_signed = moves(inputs), inputs[1] == "int8"

    def accumulate(self, a: Number, b: Number, sums: Number) -> Number:
        (x,), (y,) = a, b
        if self.moves:
            x = self.builder.xor(x, self.constant(HIGHEST)[0])
        unsigned, signed = (x, y) if self._b_is_signed else (y, x)
        # LLVM knows the instruction's operands as bytes from version 21 on; this form it converts.
        name = f"llvm.x86.avx512.vpdpbusd.{32 * self.lanes}"
        return (self.code.intrinsic(name, self.type, [sums[0], unsigned, signed]),)


def moves(inputs: tuple[str, ...]) -> bool:
    """Whether A is moved into the range of the other sign."""
    return len(set(inputs)) == 1 and inputs[0] in BYTES


class Starts:
    """What the sums of the columns of a panel of B begin with, for any rows: less what the products
    of an A of zeros add up to."""

    def __init__(self, code: Code, columns: int, inputs: tuple[str, ...]) -> None:
        self.code, self.columns = code, columns
        self.vector = ByteQuads(code, element("uint32"), COLUMNS, inputs)
        self.address = code.stack(self.vector.type, columns // COLUMNS)

    def fill(self, panel: Value, depth: Value) -> None:
        """For the columns of a panel of so many steps."""
        code, vector, step = self.code, self.vector, 4 * self.columns
        vectors = range(0, step, 4 * COLUMNS)
        several = code.builder.and_(depth, code.int(-UNROLL))
        sums = [vector.zero[0]] * (UNROLL * len(vectors))
        with code.reduce(several, [panel, *sums], step=UNROLL) as carried:
            place, *sums = carried.values
            offsets = [step * i + offset for i in range(UNROLL) for offset in vectors]
            sums = self._added(place, offsets, sums)
            carried.update([code.at(place, UNROLL * step), *sums])
        place, *sums = carried.values
        while len(sums) > len(vectors):
            half = len(sums) // 2
            sums = [code.builder.add(a, b) for a, b in zip(sums[:half], sums[half:], strict=True)]
        with code.reduce(depth, [place, *sums], start=several) as carried:
            place, *sums = carried.values
            carried.update([code.at(place, step), *self._added(place, vectors, sums)])
        for offset, total in zip(vectors, carried.values[1:], strict=True):
            vector.store(vector.sub(vector.zero, (total,)), code.at(self.address, offset))

    def _added(self, place: Value, offsets: Sequence[int], sums: Sequence[Value]) -> list[Value]:
        """Sums with the columns at some offsets added."""
        vector = self.vector
        loaded = (vector.load(self.code.at(place, offset)) for offset in offsets)
        each = zip(loaded, sums, strict=True)
        return [vector.accumulate(vector.zero, b, (total,))[0] for b, total in each]
