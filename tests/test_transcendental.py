"""exp, tanh, sigmoid and gelu: how many units in the last place they are off, and their ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import mpmath
import numpy as np
import pytest

import tensorop
from tensorop.jit.stream import stream_kernel
from tensorop.jit.target import Target
from tests.stream_calls import TARGETS, numpy_dtype, run_flat

MAINS = ("exp", "tanh", "sigmoid", "gelu")
# From the smallest result that is not 0 to the largest, or to where it no longer changes.
RANGES = {
    "float64": {"exp": (-745, 709.7), "tanh": (-20, 20), "sigmoid": (-744, 40), "gelu": (-38.4, 9)},
    "float32": {"exp": (-103, 88.7), "tanh": (-10, 10), "sigmoid": (-103, 18), "gelu": (-14, 6)},
}
on_targets = pytest.mark.parametrize("target", TARGETS)


def exact(main: str, x: float) -> Any:
    """With 40 digits."""
    with mpmath.workdps(40):
        a = mpmath.mpf(x)
        if main == "exp":
            return mpmath.exp(a)
        if main == "tanh":
            return mpmath.tanh(a)
        if main == "sigmoid":
            return 1 / (1 + mpmath.exp(-a)) if x >= 0 else mpmath.exp(a) / (1 + mpmath.exp(a))
        return a * mpmath.erfc(-a / mpmath.sqrt(2)) / 2


def errors(main: str, x: np.ndarray, got: np.ndarray) -> list[float]:
    """In units of the last place of the exact result."""
    info, found = np.finfo(x.dtype), []
    for argument, result in zip(x.tolist(), got.tolist(), strict=True):
        right = exact(main, argument)
        exponent = max(mpmath.frexp(right)[1] - info.nmant - 1, info.minexp - info.nmant)
        found.append(float(abs(result - right) / mpmath.mpf(2) ** exponent))
    return found


@on_targets
@pytest.mark.parametrize("dtype", RANGES)
@pytest.mark.parametrize("main", MAINS)
def test_units_in_the_last_place(target: Target, dtype: str, main: str) -> None:
    rng = np.random.default_rng(1)
    near = rng.standard_normal(250) * 10.0 ** rng.uniform(-12, 0.5, 250)
    x = np.concatenate([rng.uniform(*RANGES[dtype][main], 250), near]).astype(dtype)
    got = run_flat(stream_kernel(main, dtype), target, x)
    assert max(errors(main, x, got)) <= (2 if dtype == "float64" else 0.6)


FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "exp": np.exp,
    "tanh": np.tanh,
    "sigmoid": lambda x: np.where(x < 0, np.exp(-np.abs(x)), 1) / (1 + np.exp(-np.abs(x))),
}


@pytest.mark.parametrize("main", FUNCTIONS)
def test_float32_all_over(main: str) -> None:
    """Every 4,999th of all float32, of both signs."""
    bits = np.arange(0, 1 << 32, 4999, dtype=np.uint64).astype(np.uint32)
    x = bits.view(np.float32)
    x = x[np.isfinite(x)]
    out = np.empty_like(x)
    elementwise(main, x.size, "float32").execute(x, None, out)
    with np.errstate(all="ignore"):
        right = FUNCTIONS[main](x.astype(np.float64))
        unit = np.abs(np.spacing(right.astype(np.float32))).astype(float)
        close = np.abs(out - right) <= 0.6 * unit
        assert np.all(close | (out == right.astype(np.float32)))


@on_targets
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("main", MAINS)
def test_every_half(target: Target, dtype: str, main: str) -> None:
    """As float32 rounded once more."""
    kind = numpy_dtype(dtype)
    x = np.arange(1 << 16, dtype=np.uint16).view(kind)
    x = x[np.isfinite(x.astype(np.float32))]
    got = run_flat(stream_kernel(main, dtype), target, x)
    wide = run_flat(stream_kernel(main, "float32"), target, x.astype(np.float32))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(got.view(np.uint16), wide.astype(kind).view(np.uint16))
    assert ml_dtypes.finfo(kind).bits == 16


@on_targets
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ends(target: Target, dtype: str) -> None:
    inf = np.inf
    x = np.array([np.nan, -inf, inf, -0.0, 0.0, -1e30, 1e30, 1e-40, -1e-40], dtype)
    expected = {
        "exp": [np.nan, 0, inf, 1, 1, 0, inf, 1, 1],
        "tanh": [np.nan, -1, 1, -0.0, 0, -1, 1, x[7], x[8]],
        "sigmoid": [np.nan, 0, 1, 0.5, 0.5, 0, 1, 0.5, 0.5],
        "gelu": [np.nan, -0.0, inf, -0.0, 0, -0.0, x[6], x[7] / 2, x[8] / 2],
    }
    for main, values in expected.items():
        got, right = run_flat(stream_kernel(main, dtype), target, x), np.array(values, dtype)
        np.testing.assert_allclose(got, right, rtol=1e-6, atol=0, err_msg=main)
        np.testing.assert_array_equal(np.signbit(got[1:]), np.signbit(right[1:]), err_msg=main)


def elementwise(main: str, size: int, dtype: str) -> tensorop.TensorOperation:
    return tensorop.TensorOperation(
        dtype=dtype,
        main=main,
        dim_types=("C",),
        exec_types=("prim",),
        sizes=(size,),
        strides_in0=(1,),
        strides_out=(1,),
    )


@pytest.mark.parametrize("main", MAINS)
@pytest.mark.parametrize("optimize", [False, True])
def test_after_a_product(main: str, optimize: bool) -> None:
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((37, 20)), rng.standard_normal((20, 45))
    out = np.empty((37, 45))
    tensorop.TensorOperation(
        dtype="float64",
        first_touch="zero",
        main="gemm",
        last_touch=main,
        dim_types=("M", "N", "K"),
        exec_types=("prim", "prim", "prim"),
        sizes=(37, 45, 20),
        strides_in0=(20, 0, 1),
        strides_in1=(0, 1, 45),
        strides_out=(45, 1, 0),
        optimize=optimize,
    ).execute(a, b, out)
    sums = tensorop.matmul(a, b)
    expected = np.empty_like(sums)
    elementwise(main, sums.size, "float64").execute(sums, None, expected)
    np.testing.assert_allclose(out, expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("dtype", ["longdouble", "complex64", "int32", "bool"])
def test_other_dtypes_are_refused(dtype: str) -> None:
    with pytest.raises(TypeError, match="no exp for dtype"):
        elementwise("exp", 4, dtype).setup()
