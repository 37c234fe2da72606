"""Which dtypes each primitive allows: the table behind `TensorOperation.setup()` and the docs.

A dtype belongs to one kind (`KINDS`), and each kind allows a set of primitives (`ALLOWED`).
Elementwise minimum and the minimum of a reduction are one entry, `min`; the table does not know
arity. What is not in the table is a TypeError before anything is planned.

=========  ==============================================================================
kind       primitives
=========  ==============================================================================
floating   all but and, or
extended   all but and, or, exp, tanh, sigmoid, gelu (longdouble)
complex    all but and, or, min, max, relu, exp, tanh, sigmoid, gelu
integer    zero copy cast abs neg relu square add sub mul min max sum prod gemm brgemm
bool       zero copy cast and or gemm brgemm (a contraction multiplies by and, sums by or)
=========  ==============================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tensorop.dtypes import name_of
from tensorop.ir import TRANSCENDENTAL
from tensorop.ir import Primitive as P

KINDS: Mapping[str, str] = {
    **dict.fromkeys(("float16", "bfloat16", "float32", "float64"), "floating"),
    "longdouble": "extended",
    **dict.fromkeys(("complex64", "complex128", "clongdouble"), "complex"),
    **dict.fromkeys(("int8", "int16", "int32", "int64"), "integer"),
    **dict.fromkeys(("uint8", "uint16", "uint32", "uint64"), "integer"),
    "bool": "bool",
}

_EVERY = frozenset({P.NONE, P.ZERO, P.COPY, P.CAST, P.GEMM, P.BRGEMM})
_FLOATING = frozenset(P) - {P.AND, P.OR}
_EXTENDED = _FLOATING - TRANSCENDENTAL
_INTEGER = _EVERY | {P.ABS, P.NEG, P.RELU, P.SQUARE, P.ADD, P.SUB, P.MUL, P.MIN, P.MAX}

ALLOWED: Mapping[str, frozenset[P]] = {
    "floating": _FLOATING,
    "extended": _EXTENDED,
    "complex": _EXTENDED - {P.MIN, P.MAX, P.RELU},
    "integer": _INTEGER | {P.SUM, P.PROD},
    "bool": _EVERY | {P.AND, P.OR},
}


def dtype_name(dtype: Any) -> str:
    """The name of a dtype in this table; TypeError if it is unknown or byte-swapped.

    Examples
    --------
    >>> dtype_name("f4"), dtype_name(complex), dtype_name("bfloat16")
    ('float32', 'complex128', 'bfloat16')
    """
    if isinstance(dtype, str) and dtype == "bfloat16":  # numpy knows it once ml_dtypes is there
        return "bfloat16"
    try:
        known = np.dtype(dtype)
    except TypeError as error:
        raise TypeError(f"dtype {dtype!r} is unknown: {error}") from None
    if not known.isnative:
        raise TypeError(f"dtype {known.str} is byte-swapped; convert to {known.newbyteorder('=')}")
    return name_of(known)


def check_dtype(name: str, primitive: P, entry: str) -> None:
    """TypeError if the primitive (given as `entry`) does not exist for the dtype."""
    kind = KINDS[name]
    if primitive not in ALLOWED[kind]:
        known = ", ".join(p for p in P if p in ALLOWED[kind] and p != P.NONE)
        raise TypeError(f"{entry}: no {primitive} for dtype {name}; {kind} dtypes allow {known}")
