"""The table of dtypes and primitives, against the words of the documentation."""

from __future__ import annotations

import pytest

from tensorop.dtype_rules import ALLOWED, KINDS, check_dtype, dtype_name
from tensorop.ir import Primitive
from tests import strategies


@pytest.mark.parametrize(
    ("dtype", "main", "fits"),
    [
        ("float16", "relu", True),
        ("bfloat16", "sqrt", True),
        ("longdouble", "reciprocal", True),
        ("float32", "conj", True),
        ("float32", "and", False),
        ("complex64", "conj", True),
        ("complex64", "relu", False),
        ("complex128", "min", False),
        ("int8", "square", True),
        ("uint64", "abs", True),
        ("int32", "div", False),
        ("int32", "sqrt", False),
        ("int32", "reciprocal", False),
        ("bool", "or", True),
        ("bool", "gemm", True),
        ("bool", "relu", False),
        ("bool", "add", False),
        ("bool", "sum", False),
    ],
)
def test_dtype_rules(dtype: str, main: str, fits: bool) -> None:
    if fits:
        check_dtype(dtype, Primitive(main), "main")
    else:
        with pytest.raises(TypeError, match=f"main: no {main} for dtype {dtype}; .* dtypes allow"):
            check_dtype(dtype, Primitive(main), "main")


def test_dtype_table_is_complete() -> None:
    assert set(ALLOWED) == set(KINDS.values())
    for dtype in KINDS:
        assert dtype_name(strategies.numpy_dtype(dtype)) == dtype
        assert {Primitive.NONE, Primitive.ZERO, Primitive.COPY} <= ALLOWED[KINDS[dtype]]
