"""Element types, as kernels see them.

`element(name)` describes a dtype: how it lies in memory and in which type it is computed. Half
types are computed in float32, bool by and/or, integers wrap as numpy's do, and complex numbers are
two parts of a floating type. `jit/arithmetic.py` writes the arithmetic on them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir


class _X87(ir.Type):
    """x86's 80-bit float, which llvmlite has no name for."""

    null = "0xK00000000000000000000"

    def _to_string(self) -> str:
        return "x86_fp80"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _X87)

    def __hash__(self) -> int:
        return hash(_X87)

    def format_constant(self, value: float) -> str:
        raw = np.array(value, np.longdouble).tobytes()[:10]
        return "0xK" + raw[::-1].hex().upper()


X87 = _X87()


@dataclass(frozen=True, slots=True)
class Element:
    """A dtype as kernels see it.

    kind: f float, i signed, u unsigned, b bool; complex numbers are two parts of kind f.
    size: bytes of an element in memory; part: bytes of one part in memory.
    """

    name: str
    kind: str
    size: int
    part: int
    parts: int = 1
    half: str = ""  # "float16" or "bfloat16": stored so, computed in float32

    @property
    def is_float(self) -> bool:
        return self.kind == "f"

    @property
    def storage(self) -> ir.Type:
        """The LLVM type of one part in memory."""
        if self.half:
            return ir.IntType(16)
        if self.kind in "iub":
            return ir.IntType(8 * self.part)
        return _FLOATS[self.part]

    @property
    def computed(self) -> ir.Type:
        """The LLVM type that one part is computed in."""
        return ir.FloatType() if self.half else self.storage

    @property
    def accumulator(self) -> Element:
        """The element type of partial results and packed panels."""
        return element("float32") if self.half else self

    @property
    def real(self) -> Element:
        """The element type of one part."""
        if self.parts == 1:
            return self
        name = "longdouble" if self.part > 8 else f"float{8 * self.part}"
        return Element(name, self.kind, self.part, self.part)

    @property
    def vectorises(self) -> bool:
        return not isinstance(self.storage, _X87)


_FLOATS: dict[int, Any] = {4: ir.FloatType(), 8: ir.DoubleType(), 16: X87}


@cache
def element(name: str) -> Element:
    """The element type of a dtype name (numpy's names, and `bfloat16`, `longdouble`,
    `clongdouble`).

    Raises
    ------
    KeyError
        No kernels exist for this dtype.
    """
    if name in _SPECIAL:
        return _SPECIAL[name]
    kind, bits = name.rstrip("0123456789"), name.lstrip("abcdefghijklmnopqrstuvwxyz")
    size = int(bits or 0) // 8
    if kind in ("int", "uint") and size in (1, 2, 4, 8):
        return Element(name, kind[0], size, size)
    if kind == "float" and size in (4, 8):
        return Element(name, "f", size, size)
    if kind == "complex" and size in (8, 16):
        return Element(name, "f", size, size // 2, 2)
    raise KeyError(f"no kernels for dtype {name!r}")


_SPECIAL = {
    "bool": Element("bool", "b", 1, 1),
    "float16": Element("float16", "f", 2, 2, half="float16"),
    "bfloat16": Element("bfloat16", "f", 2, 2, half="bfloat16"),
    "longdouble": Element("longdouble", "f", 16, 16),
    "clongdouble": Element("clongdouble", "f", 32, 16, 2),
}
