"""Conversions between half types and float32, bit by bit, on every target."""

from __future__ import annotations

from functools import lru_cache

import ml_dtypes
import numpy as np
import pytest

from tensorop.jit.stream import stream_kernel
from tensorop.jit.target import Target
from tests.stream_calls import TARGETS, numpy_dtype, run_flat

pytestmark = [
    pytest.mark.parametrize("target", TARGETS),
    pytest.mark.parametrize("half", ["float16", "bfloat16"]),
]
PATTERNS = np.arange(65536, dtype=np.uint16)


def oracle(half: str) -> np.dtype:
    return np.dtype(np.float16) if half == "float16" else np.dtype(ml_dtypes.bfloat16)


def bits(values: np.ndarray) -> np.ndarray:
    return values.view(np.uint16 if values.dtype.itemsize == 2 else np.uint32)


@lru_cache(maxsize=2)
def dense_float32(half: str) -> np.ndarray:
    """Every half number, every middle between two of them and the float32 numbers next to both; all
    exponents; subnormal numbers; infinities; NaN of many payloads; a million random patterns."""
    exact = PATTERNS.view(oracle(half)).astype(np.float32)
    exact = np.sort(exact[np.isfinite(exact)])
    with np.errstate(over="ignore"):
        middle = ((exact[1:].astype(np.float64) + exact[:-1]) / 2).astype(np.float32)
    centres = np.concatenate([exact, middle, [np.inf, -np.inf]]).astype(np.float32)
    around = [bits(centres) + np.uint32(step % 2**32) for step in (-2, -1, 0, 1, 2)]
    rng = np.random.default_rng(1)
    exponents = np.arange(512, dtype=np.uint32) << 23
    mantissas = np.array([0, 1, 0xFFF, 0x1000, 0x1001, 0x1FFF, 0x7FFF, 0x8000, 0x7FFFFF], np.uint32)
    edges = (exponents[:, None] | mantissas).ravel()
    random = rng.integers(0, 2**32, 1_000_000, np.uint32)
    subnormal = rng.integers(0, 1 << 24, 100_000, np.uint32)
    return np.concatenate([*around, edges, random, subnormal]).view(np.float32)


def test_widen_every_pattern(target: Target, half: str) -> None:
    halves = PATTERNS.view(oracle(half))
    wide = run_flat(
        stream_kernel("cast", "float32", source=half), target, halves, dtype=np.dtype(np.float32)
    )
    with np.errstate(invalid="ignore"):
        right = halves.astype(np.float32)
    number = ~np.isnan(right)
    np.testing.assert_array_equal(bits(wide)[number], bits(right)[number])
    assert np.isnan(wide[~number]).all()
    assert (np.signbit(wide) == np.signbit(right)).all()


def test_narrow_dense_samples(target: Target, half: str) -> None:
    values = dense_float32(half)
    got = run_flat(
        stream_kernel("cast", half, source="float32"), target, values, dtype=numpy_dtype(half)
    )
    with np.errstate(all="ignore"):
        right = values.astype(oracle(half))
    number = ~np.isnan(values)
    np.testing.assert_array_equal(bits(got)[number], bits(right)[number])
    # NaN stays NaN, quiet, with its sign, also where the payload lies in the bits cut off.
    patterns = bits(got)[~number]
    exponent, quiet = (0x7C00, 0x0200) if half == "float16" else (0x7F80, 0x0040)
    assert (patterns & exponent == exponent).all()
    assert (patterns & quiet == quiet).all()
    assert ((patterns >> 15) == (bits(values)[~number] >> 31)).all()


def test_round_trip_every_pattern(target: Target, half: str) -> None:
    """float32 holds every half number, so there and back changes nothing but signalling NaN."""
    halves = PATTERNS.view(oracle(half))
    wide = run_flat(
        stream_kernel("cast", "float32", source=half), target, halves, dtype=np.dtype(np.float32)
    )
    back = run_flat(
        stream_kernel("cast", half, source="float32"), target, wide, dtype=numpy_dtype(half)
    )
    number = ~np.isnan(wide)
    np.testing.assert_array_equal(bits(back)[number], PATTERNS[number])
    assert np.isnan(back.astype(np.float32))[~number].all()


@pytest.mark.parametrize("count", [1, 3, 17])
def test_scalar_and_tail(target: Target, half: str, count: int) -> None:
    """Short arrays run through masked vectors or scalars, and give the same."""
    values = dense_float32(half)
    for start in range(0, len(values) - count, len(values) // 97):
        part = values[start : start + count].copy()
        got = run_flat(
            stream_kernel("cast", half, source="float32"), target, part, dtype=numpy_dtype(half)
        )
        with np.errstate(all="ignore"):
            right = part.astype(oracle(half))
        number = ~np.isnan(part)
        np.testing.assert_array_equal(bits(got)[number], bits(right)[number])
