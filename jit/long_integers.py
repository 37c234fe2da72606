"""Sums of products of 64-bit integers, where only 32-bit ones are multiplied by an instruction.

With a = a1 2^32 + a0 and b alike, a b = a0 b0 + (a0 b1 + a1 b0) 2^32, since the rest wraps. One
instruction multiplies the low halves of all lanes to 64 bits, another one the halves of `a` by
those of `b` that changed places, to 32 bits each. Either product goes to a sum of its own, and only
the sums are put together: two multiplications instead of three, and no shifts.
"""

from __future__ import annotations

from tensorop.jit.arithmetic import Arithmetic, Number, indices
from tensorop.jit.builder import INT32, Value
from tensorop.jit.instructions import vector_type


class LongIntegers(Arithmetic):
    """Vectors of 64-bit integers. A sum under construction has two parts: products of low halves,
    and crossed products, which count 2^32 times."""

    sum_parts = 2

    @property
    def empty_sum(self) -> Number:
        return self.zero + self.zero

    def accumulate(self, a: Number, b: Number, sums: Number) -> Number:
        (x,), (y,), (low, crossed), builder = a, b, sums, self.builder
        (mask,) = self.constant((1 << 32) - 1)
        product = builder.mul(builder.and_(x, mask), builder.and_(y, mask))
        changed = [i ^ 1 for i in range(2 * self.lanes)]
        in_halves = self._halves(y)
        swapped = builder.shuffle_vector(in_halves, in_halves, indices(changed))
        products = builder.mul(self._halves(x), swapped)
        crossed = builder.add(self._halves(crossed), products)
        return builder.add(low, product), builder.bitcast(crossed, self.type)

    def total(self, sums: Number) -> Number:
        (low, crossed), builder, (width,) = sums, self.builder, self.constant(32)
        both = builder.add(crossed, builder.lshr(crossed, width))
        return (builder.add(low, builder.shl(both, width)),)

    def _halves(self, value: Value) -> Value:
        return self.builder.bitcast(value, vector_type(INT32, 2 * self.lanes))
