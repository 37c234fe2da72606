"""Sums of products of bfloat16, two products an instruction.

Panels hold pairs: of every lane the elements of two consecutive steps of K, side by side, which are
as long as a float32. What walks a panel of float32 therefore walks one of pairs, in half the steps.

The instruction takes numbers below the least normal one for zero; its sums are rounded after each
product, to nearest, as float32.

Source: Intel, "Intel 64 and IA-32 Architectures Software Developer's Manual", volume 2, VDPBF16PS.
"""

from __future__ import annotations

from tensorop.jit.arithmetic import Arithmetic, Number
from tensorop.jit.builder import Value
from tensorop.jit.instructions import vector_type
from tensorop.jit.types import BFLOAT


class BfloatPairs(Arithmetic):
    """Vectors of float32; those that are multiplied hold the bits of pairs."""

    def accumulate(self, a: Number, b: Number, sums: Number) -> Number:
        name = f"llvm.x86.avx512bf16.dpbf16ps.{32 * self.lanes}"
        arguments = [sums[0], self._pairs(a[0]), self._pairs(b[0])]
        return (self.code.intrinsic(name, self.type, arguments),)

    def _pairs(self, value: Value) -> Value:
        return self.builder.bitcast(value, vector_type(BFLOAT, 2 * self.lanes))
