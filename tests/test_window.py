"""Windows of long axes: they lie as the first one does, tables stay short, and nothing is wrong."""

from __future__ import annotations

import time
from collections.abc import Iterator
from math import prod

import numpy as np
import pytest

import tensorop
from tensorop import executable
from tensorop.ir import Axis, Dimension, DimType
from tensorop.jit.tables import offsets
from tensorop.optimizer import window
from tensorop.optimizer.window import window_of, windows
from tests.random_einsums import check, draw


@pytest.fixture(params=[(37, 2, 1), (16, 4, 1), (24, 6, 12)])
def short(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Windows of a few positions."""
    for name, value in zip(("LONGEST", "LEAST", "MULTIPLE"), request.param, strict=True):
        monkeypatch.setattr(window, name, value)
    tensorop.cache_clear()
    yield
    tensorop.cache_clear()


def axis(rng: np.random.Generator) -> Axis:
    sizes = rng.choice([1, 2, 3, 5, 7, 12, 31, 64, 100, 1001], int(rng.integers(1, 5)))
    dims = [Dimension(DimType.M, int(n), (int(rng.integers(-9, 9)), 0, 1)) for n in sizes]
    return Axis("M", DimType.M, tuple(dims))


@pytest.mark.parametrize("seed", range(40))
def test_every_window_lies_as_the_first_one(seed: int, short: None) -> None:
    m = axis(np.random.default_rng(seed))
    blocks = windows(m)
    every, one = offsets(m, 0, 4), offsets(window_of(m, blocks), 0, 4)
    assert window_of(m, blocks).size == (min(blocks) if blocks else m.size)
    assert list(blocks) == sorted(set(blocks), reverse=True)
    starts = [0]
    ends = [m.size]
    for block in blocks:
        spans = list(zip(starts, ends, strict=True))
        starts = [s for a, b in spans for s in range(a, b, block)]
        ends = [min(s + block, b) for a, b in spans for s in range(a, b, block)]
    assert sum(b - a for a, b in zip(starts, ends, strict=True)) == m.size
    for start, end in zip(starts, ends, strict=True):
        assert (every[start:end] - every[start] == one[: end - start]).all()
    if len([d for d in m.dimensions if d.size > 1]) > 1 and len(blocks) == 1:
        assert m.size % blocks[0] == 0 or prod(d.size for d in m.dimensions[1:]) == 1


@pytest.mark.parametrize("seed", range(80))
def test_random_contractions_in_short_windows(seed: int, short: None) -> None:
    check(draw(np.random.default_rng([9, seed])))


def test_a_short_axis_has_none() -> None:
    short = Axis("M", DimType.M, (Dimension(DimType.M, window.LONGEST, (1, 0, 1)),))
    assert windows(short) == ()


@pytest.mark.parametrize(
    ("spec", "shapes"),
    [
        ("ij,jk->ik", [(2**40, 3), (3, 3)]),
        ("ij,jk->ik", [(2**38, 2**20), (2**20, 2**20)]),
        ("nchw,oc->nohw", [(32, 3, 512, 512), (8, 3)]),
        ("nhwc,co->nhwo", [(32, 512, 509, 3), (3, 8)]),
        ("ij,jk->ki", [(1_000_003, 256), (256, 512)]),
        ("abc,dcb->da", [(70, 3000, 4000), (80, 4000, 3000)]),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_tables_stay_short(spec: str, shapes: list[tuple[int, ...]], dtype: str) -> None:
    tensorop.compile(spec, *shapes, dtypes=dtype)  # kernels are compiled
    tensorop.cache_clear()
    before, start = executable._tables, time.perf_counter()
    plan = tensorop.compile(spec, *shapes, dtypes=dtype, threads=1)
    assert plan.schedules
    assert executable._tables - before < 4 << 20
    assert time.perf_counter() - start < 0.5
    assert "windows of" in plan.explain()


def test_the_cache_is_bounded_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    tensorop.cache_clear()
    monkeypatch.setattr(executable, "MOST_TABLES", 4 << 20)
    right = np.eye(3)
    for n in range(40_000, 40_060):
        left = np.ones((n, 3))
        np.testing.assert_array_equal(tensorop.matmul(left, right), left)
        assert executable._tables < 6 << 20
    assert 0 < tensorop.cache_info().currsize < 60
