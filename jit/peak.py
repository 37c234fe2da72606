"""The arithmetic roof of a machine: a kernel that does nothing but multiply and add.

Independent chains `acc = acc * x + y` of the widest vector, enough of them to hide the latency of
the multiply-add on any machine we know: 24 where the register file has 32 registers. Where it has
16, 24 chains would be spilled and understate the peak; 12 still cover latency times ports, so the
percentages that are built on them are the stricter ones.

Descriptor: iterations, address of two vectors x and y (read) that the sum of the chains overwrites
(so that nothing is left out). The benchmark runs it on as many threads as the row beside it.
"""

from __future__ import annotations

from llvmlite import ir

from tensorop.jit.builder import Code, Value
from tensorop.jit.target import Target
from tensorop.tuples import NamedTuple

UNROLL = 4
ITERATIONS, VECTORS = 0, 1  # words of the descriptor

_ELEMENTS: dict[str, tuple[ir.Type, str, int]] = {
    "float32": (ir.FloatType(), "f32", 4),
    "float64": (ir.DoubleType(), "f64", 8),
    "int16": (ir.IntType(16), "", 2),
    "int32": (ir.IntType(32), "", 4),
    "int64": (ir.IntType(64), "", 8),
}


class PeakKernel(NamedTuple):
    """Chains of multiply-adds of one dtype: float32, float64, int16, int32 or int64."""

    dtype: str

    @property
    def name(self) -> str:
        """The name of the generated function."""
        return f"peak_{self.dtype}"

    def chains(self, target: Target) -> int:
        """Independent accumulators: as many as stay in registers beside x and y."""
        return 24 if target.registers >= 32 else 12

    def lanes(self, target: Target) -> int:
        return target.lanes(_ELEMENTS[self.dtype][2])

    def flops(self, target: Target) -> int:
        """Operations of one iteration; a multiply and an add count as two."""
        return 2 * UNROLL * self.chains(target) * self.lanes(target)

    def generate(self, target: Target) -> ir.Module:
        element, suffix, _ = _ELEMENTS[self.dtype]
        lanes = self.lanes(target)
        vector = ir.VectorType(element, lanes)
        code = Code(target, self.name)
        memory = code.pointer(code.descriptor, VECTORS)
        x, y = code.load(memory, vector), code.load(code.at(memory, target.vector_bytes), vector)

        def multiply_add(accumulator: Value) -> Value:
            if not suffix:
                return code.builder.add(code.builder.mul(accumulator, x), y)
            if target.fma:
                name = f"llvm.fma.v{lanes}{suffix}"
                return code.intrinsic(name, vector, [accumulator, x, y])
            return code.builder.fadd(code.builder.fmul(accumulator, x), y)

        # Every chain starts from a value of its own, or LLVM would see that they are all one.
        start = [y]
        for _ in range(self.chains(target) - 1):
            start.append(multiply_add(start[-1]))
        with code.reduce(code.word(code.descriptor, ITERATIONS), start) as carried:
            values = carried.values
            for _ in range(UNROLL):
                values = [multiply_add(value) for value in values]
            carried.update(values)
        add = code.builder.fadd if suffix else code.builder.add
        total = carried.values[0]
        for value in carried.values[1:]:
            total = add(total, value)
        code.store(total, memory)
        return code.finish()
