"""Windows of long axes: they lie as the first one does, tables stay short, and nothing is wrong."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import tensorop
from tensorop import executable, plans
from tensorop.ir import Dimension, DimType, Primitive, Tensor, TensorOp
from tensorop.jit.tables import offsets
from tensorop.optimizer import window
from tensorop.optimizer.window import are_alike, window_of, windows
from tensorop.schedule import Axis
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
    lengths = {end - start for start, end in zip(starts, ends, strict=True)}
    assert are_alike(m) == (len(lengths) == 1)


@pytest.mark.parametrize("seed", range(80))
def test_random_contractions_in_short_windows(seed: int, short: None) -> None:
    check(draw(np.random.default_rng([9, seed])))


def test_a_short_axis_has_none() -> None:
    short = Axis("M", DimType.M, (Dimension(DimType.M, window.LONGEST, (1, 0, 1)),))
    assert windows(short) == ()


@pytest.mark.parametrize(
    ("spec", "shapes"),
    [
        ("ij,jk->ik", [(2**38, 20), (20, 20)]),
        ("ij,jk->ik", [(2**38, 2**20), (2**20, 2**20)]),
        ("nchw,oc->nohw", [(8, 48, 512, 509), (80, 48)]),
        ("nhwc,co->nhwo", [(32, 512, 509, 48), (48, 80)]),
        ("ij,jk->ki", [(1_000_003, 256), (256, 512)]),
        ("abc,dcb->da", [(70, 3000, 4000), (80, 4000, 3000)]),
        ("bak,kc->abc", [(3, 1_000_003, 200), (200, 160)]),  # a prime
        ("abc,dca->bd", [(1_000_003, 70, 3), (80, 3, 1_000_003)]),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_tables_stay_short(spec: str, shapes: list[tuple[int, ...]], dtype: str) -> None:
    tensorop.cache_clear()
    plan = tensorop.compile(spec, *shapes, dtypes=dtype, order="C", threads=1)
    assert plan.schedules
    assert 0 < executable._tables < 4 << 20
    assert "windows of" in plan.explain()


@pytest.mark.parametrize("size", [2**20, 2**20 + 1])
def test_tables_of_permutations_stay_short(size: int) -> None:
    """abc->cab"""
    strides = ((11 * size, size), (11, 1), (1, 5 * size))
    dims = (Dimension(DimType.C, n, s) for n, s in zip((5, size, 11), strides, strict=True))
    op = TensorOp((Tensor("in0", "int8"), Tensor("out", "int8")), tuple(dims), Primitive.COPY)
    tensorop.cache_clear()
    plan = plans.plan_for(op, 1)
    assert 0 < executable._tables < 4 << 20
    assert any("regions" in note for schedule in plan.schedules for note in schedule.notes)


def test_the_cache_is_bounded_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    tensorop.cache_clear()
    monkeypatch.setattr(executable, "MOST_TABLES", 4 << 20)
    right = np.eye(20)
    for n in range(40_000, 40_060):
        left = np.ones((n, 20))
        np.testing.assert_array_equal(tensorop.matmul(left, right), left)
        assert executable._tables < 6 << 20
    assert 0 < tensorop.cache_info().currsize < 60


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("spec", ["bak,kc->abc", "abk,ck->bac", "kba,kc->abc", "akb,kc->bca"])
def test_a_last_window_may_be_shorter(spec: str, order: str) -> None:
    """Some of the axis lies outside of a dimension whose size is a prime."""
    rng = np.random.default_rng(0)
    sizes = {"a": 3 if spec[0] == "a" else 10_007, "b": 10_007 if spec[0] == "a" else 3}
    sizes |= {"k": 40, "c": 10}
    inputs, _ = spec.split("->")
    operands = [
        np.asarray(rng.integers(-3, 4, [sizes[x] for x in term]).astype("f4"), order=order)
        for term in inputs.split(",")
    ]
    expected = np.einsum(spec, *operands)
    np.testing.assert_array_equal(tensorop.einsum(spec, *operands), expected)
    out = np.empty_like(expected, order=order)
    np.testing.assert_array_equal(tensorop.einsum(spec, *operands, out=out), expected)


@pytest.mark.parametrize("step", [1, -1])
def test_a_long_sum_in_either_direction(step: int) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(-3, 4, (50, 70_001)).astype("f8"), rng.integers(-3, 4, (70_001, 60))
    a = a[:, ::step]
    np.testing.assert_array_equal(tensorop.einsum("ik,kj->ij", a, b.astype("f8")), a @ b)
