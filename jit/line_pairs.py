"""Lines put together in registers of what two vectors that follow one another have of them."""

from __future__ import annotations

from llvmlite import ir

from tensorop.jit.arithmetic import Arithmetic
from tensorop.jit.builder import BYTE, INT32, Code, Value
from tensorop.jit.instructions import vector_type
from tensorop.jit.lines import LINE

# By the bytes of what is put together: the type of its number, and LLVM's name of vectors of it.
_PICKS = {1: (BYTE, "qi"), 2: (ir.IntType(16), "hi"), 4: (INT32, "d")}


class LinePairs:
    """Of vectors that are as long as lines, and begin anywhere in one (`Target.shifts_lines`)."""

    def __init__(self, code: Code, vector: Arithmetic) -> None:
        self.code, self.type = code, vector.type
        self.size = min(max(_PICKS), vector.element.size)
        kind, self.name = _PICKS[self.size]
        self.parts = vector_type(kind, LINE // self.size)
        self.order = code.stack(BYTE, 2 * LINE)
        for i in range(2 * LINE // self.size):
            code.store(kind(i), code.at(self.order, i * self.size), self.size)

    def completed(self, before: Value, missing: Value, value: Value) -> Value:
        """The line that is complete with the first `missing` bytes of a value, whole elements."""
        code, cast = self.code, self.code.builder.bitcast
        order = code.load(code.at(self.order, missing), self.parts, self.size)
        name = f"llvm.x86.avx512.vpermi2var.{self.name}.{8 * LINE}"
        line = [cast(before, self.parts), order, cast(value, self.parts)]
        return cast(code.intrinsic(name, self.parts, line), self.type)
