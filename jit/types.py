"""The LLVM types of elements: how a part of one lies in memory, and what it is computed in."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from tensorop.jit.elements import Element


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


class _Bfloat(ir.Type):
    """bfloat16 as instructions know it, which llvmlite has no name for."""

    def _to_string(self) -> str:
        return "bfloat"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Bfloat)

    def __hash__(self) -> int:
        return hash(_Bfloat)


BFLOAT = _Bfloat()
_FLOATS: dict[int, Any] = {4: ir.FloatType(), 8: ir.DoubleType(), 16: _X87()}


def storage(element: Element) -> ir.Type:
    """The type of one part in memory."""
    if element.half:
        return ir.IntType(16)
    if element.kind in "iub":
        return ir.IntType(8 * element.part)
    return _FLOATS[element.part]


def computed(element: Element) -> ir.Type:
    """The type that one part is computed in."""
    return ir.FloatType() if element.half else storage(element)
