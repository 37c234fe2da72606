"""Elementwise functions and casts against numpy, through the stream kernels that use them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tensorop.jit.stream import stream_kernel
from tensorop.jit.target import Target
from tests.stream_calls import (
    COMPLEX,
    DTYPES,
    FLOATS,
    TARGETS,
    Case,
    numpy_dtype,
    run_flat,
)

on_targets = pytest.mark.parametrize("target", TARGETS)
UNARY = ("relu", "square", "sqrt", "reciprocal", "abs", "neg", "conj", "copy", "zero")
BINARY = ("add", "sub", "mul", "div", "min", "max", "and", "or")


def allowed(main: str, dtype: str) -> bool:
    if main in ("copy", "zero", "conj"):
        return True
    if dtype == "bool" or main in ("and", "or"):
        return dtype == "bool" and main in ("and", "or")
    if dtype in COMPLEX:
        return main not in ("relu", "min", "max")
    return dtype in FLOATS or main not in ("sqrt", "reciprocal", "div")


def table(mains: tuple[str, ...]) -> list[object]:
    """Target, dtype and primitive: all on the best target, on the others what differs there."""
    telling = ("float32", "float16", "complex64", "longdouble", "int8", "uint64", "bool")
    return [
        pytest.param(target.values[0], dtype, main, id=f"{target.id}-{dtype}-{main}")
        for target in TARGETS
        for dtype in (DTYPES if target is TARGETS[0] else telling)
        for main in mains
        if allowed(main, dtype)
    ]


@pytest.mark.parametrize(("target", "dtype", "main"), table(UNARY))
def test_unary(target: Target, dtype: str, main: str) -> None:
    for x, y in ((1, 1), (3, 2), (83, 3)):
        Case(main, dtype, x=x, y=y, pad=x % 2).check(target)
    if main != "zero":
        Case(main, dtype, x=45, y=2, in_place=True).check(target)
    if dtype in FLOATS and main != "zero":
        Case(main, dtype, x=50, y=2, special=True).check(target)


@pytest.mark.parametrize(("target", "dtype", "main"), table(BINARY))
def test_binary(target: Target, dtype: str, main: str) -> None:
    for x, y in ((2, 1), (83, 3)):
        Case(main, dtype, in1="unit", x=x, y=y, pad=x % 2).check(target)
    if dtype in FLOATS:
        Case(main, dtype, in1="unit", x=70, y=2, special=True).check(target)


@on_targets
@pytest.mark.parametrize("access", [("unit", "zero"), ("zero", "unit"), ("strided", "zero")])
def test_binary_access(target: Target, access: tuple[str, str]) -> None:
    out = "strided" if "strided" in access else "unit"
    for main, dtype, x in itertools.product(("sub", "div"), ("float32", "complex128"), (1, 20, 90)):
        Case(main, dtype, *access, out, x=x, y=3, negative=x == 20, at_end=x > 1).check(target)


@on_targets
@pytest.mark.parametrize("dtype", ["float32", "complex64", "float16", "longdouble", "int64"])
def test_unary_access(target: Target, dtype: str) -> None:
    for in0, out in (("zero", "unit"), ("strided", "strided")):
        for x in (1, 40):
            Case("neg", dtype, in0, None, out, x=x, y=3, negative=x == 1).check(target)


# complex functions at the edges

_EDGES = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan]


def edges(dtype: str) -> np.ndarray:
    """Complex numbers of every combination of special, huge and tiny parts."""
    kind = numpy_dtype(dtype)
    info = np.finfo(kind)
    parts = [*_EDGES, info.max, info.tiny, info.smallest_subnormal, info.max / 4, -info.tiny]
    grid = np.empty((len(parts), len(parts)), kind)
    grid.real, grid.imag = np.meshgrid(np.array(parts, info.dtype), np.array(parts, info.dtype))
    return grid.ravel()


@on_targets
@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("main", ["sqrt", "abs"])
def test_complex_edges(target: Target, main: str, dtype: str) -> None:
    """Infinities, zeros with their signs, NaN, overflow and subnormal numbers."""
    values = edges(dtype)
    got = run_flat(stream_kernel(main, dtype), target, values)
    with np.errstate(all="ignore"):
        expected = np.sqrt(values) if main == "sqrt" else np.abs(values).astype(values.dtype)
    eps = 4 * np.finfo(values.dtype).eps
    for part in ("real", "imag"):
        mine, right = getattr(got, part), getattr(expected, part)
        np.testing.assert_allclose(
            mine, right, rtol=eps, atol=2 * np.finfo(values.dtype).smallest_subnormal
        )
        sure = ~np.isnan(right) & ~np.isnan(values.imag)
        assert (np.signbit(mine) == np.signbit(right))[sure].all()


@on_targets
@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_division_is_smiths(target: Target, dtype: str) -> None:
    """Divisions that overflow in the textbook formula."""
    info = np.finfo(numpy_dtype(dtype))
    big, small = info.max / 2, info.tiny * 4
    a = np.array([big + big * 1j, 1, small + small * 1j, 3 + 4j, 1j, 2], numpy_dtype(dtype))
    b = np.array([big - big * 1j, small + 0j, small - small * 1j, 0.5j, 4, 1 + 1j], a.dtype)
    got = run_flat(stream_kernel("div", dtype, in1="unit"), target, a, b)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(got, a / b, rtol=4 * info.eps)
        inverse = run_flat(stream_kernel("reciprocal", dtype), target, b)
        np.testing.assert_allclose(inverse, np.reciprocal(b), rtol=4 * info.eps)


@on_targets
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_division_by_zero(target: Target, dtype: str) -> None:
    a = np.array([1 + 2j, -1 + 0j, 0, complex(np.inf, 1)], dtype)
    b = np.array([0, complex(-0.0, 0.0), 0, complex(0.0, -0.0)], dtype)
    got = run_flat(stream_kernel("div", dtype, in1="unit"), target, a, b)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(got, a / b)


@on_targets
@pytest.mark.parametrize("main", ["min", "max", "relu"])
def test_nan_passes(target: Target, main: str) -> None:
    a = np.array([np.nan, 1, np.nan, -np.inf, np.inf, -1] * 5, np.float32)
    b = np.array([1, np.nan, np.nan, np.inf, -np.inf, -2] * 5, np.float32)
    if main == "relu":
        np.testing.assert_array_equal(
            run_flat(stream_kernel(main, "float32"), target, a), np.maximum(a, 0)
        )
        return
    got = run_flat(stream_kernel(main, "float32", in1="unit"), target, a, b)
    np.testing.assert_array_equal(got, {"min": np.minimum, "max": np.maximum}[main](a, b))


# casts


def samples(source: str, dtype: str) -> np.ndarray:
    """Values of `source`, edges among them, whose conversion to `dtype` is defined."""
    rng = np.random.default_rng(len(source) * 31 + len(dtype))
    kind, into = numpy_dtype(source), numpy_dtype(dtype)
    if source == "bool":
        return rng.random(77) < 0.5
    if kind.kind in "iu":
        info = np.iinfo(kind)
        near = [info.min, info.max, 0, 1, info.max - 1, info.max // 2 + 1]
        anything = rng.integers(info.min, info.max, 50, kind, endpoint=True)
        return np.concatenate([np.array(near, kind), anything, anything >> (kind.itemsize * 4)])
    limit = 60000.0 if source != "bfloat16" else 1e30
    if into.kind in "iu":
        info = np.iinfo(into)
        limit = min(limit, float(info.max) * 0.99)
    scale = limit ** rng.uniform(-1 if into.kind not in "iu" else 0, 1, 90)
    signs = rng.choice([-1, 1], 90) if into.kind != "u" else np.ones(90)
    values = np.concatenate([signs * scale, [0.0, 0.5, 1.5, 2.5]])
    if into.kind not in "iu":
        values = np.concatenate([values, [np.inf, -np.inf, np.nan, -0.0]])
    if kind.kind == "c":
        parts = values
        values = np.empty(len(parts), np.complex128)
        values.real, values.imag = parts, rng.permutation(parts)
    with np.errstate(all="ignore"):
        return values.astype(kind)


@on_targets
@pytest.mark.parametrize("source", DTYPES)
def test_cast(target: Target, source: str) -> None:
    """Between every two dtypes on the best target; the other targets take every fourth pair."""
    best = target == TARGETS[0].values[0]
    for i, dtype in enumerate(DTYPES):
        if dtype == source or (not best and (i + DTYPES.index(source)) % 4):
            continue
        values = samples(source, dtype)
        kernel = stream_kernel("cast", dtype, source=source)
        got = run_flat(kernel, target, values, dtype=numpy_dtype(dtype))
        with np.errstate(all="ignore"):
            plain = values if dtype in (*COMPLEX, "bool") else values.real
            right = rounded(plain, dtype)
            if dtype == "bfloat16":  # whose NaN numpy's comparison does not know
                got, right = got.astype(np.float32), right.astype(np.float32)
            np.testing.assert_array_equal(got, right, f"{source} -> {dtype}")


def rounded(values: np.ndarray, dtype: str) -> np.ndarray:
    """astype that rounds once: to half types the nearer of the two neighbours, ties to even."""
    kind = numpy_dtype(dtype)
    if kind.itemsize != 2 or kind.kind in "iu" or values.dtype.itemsize < 8:
        return values.astype(kind)
    if values.dtype.kind in "iu":
        return values.astype(np.float32).astype(kind)
    guess = values.astype(np.float32).astype(kind)
    bits = guess.view(np.uint16)
    best = guess.copy()
    for step in (-1, 1):
        other = (bits + np.uint16(step % 65536)).view(kind)
        was, now = (abs(c.astype(np.longdouble) - values) for c in (best, other))
        even = (other.view(np.uint16) & 1) == 0
        better = (now < was) | ((now == was) & even)
        best = np.where(better & np.isfinite(guess) & (guess != 0), other, best)
    return best


@on_targets
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("source", ["float64", "longdouble"])
def test_casts_to_half_round_once(target: Target, source: str, dtype: str) -> None:
    """Just beside the middle between two half numbers, where float32 would fall into the middle."""
    bits = np.arange(0x0001, 0x7C00 if dtype == "float16" else 0x7F7F, 7, dtype=np.uint16)
    low, high = (b.view(numpy_dtype(dtype)).astype(source) for b in (bits, bits + np.uint16(1)))
    middle = (low + high) / 2
    beside = np.spacing(middle)
    finite = np.isfinite(high)
    low, high, middle, beside = (a[finite] for a in (low, high, middle, beside))
    even = np.where((bits[finite] & 1) == 0, low, high)
    values = np.concatenate([middle - beside, middle + beside, middle, -middle - beside])
    right = np.concatenate([low, high, even, -high])
    kernel = stream_kernel("cast", dtype, source=source)
    got = run_flat(kernel, target, values, dtype=numpy_dtype(dtype))
    np.testing.assert_array_equal(got.astype(source), right)


@on_targets
def test_cast_access(target: Target) -> None:
    for x in (1, 9, 70):
        Case("cast", "int16", source="float64", x=x, y=3, pad=1, at_end=x != 9).check(target)
        Case("cast", "float32", "zero", source="complex64", x=x, y=3).check(target)
        Case("cast", "float32", "strided", None, "strided", source="int8", x=x, y=2).check(target)
