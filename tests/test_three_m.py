"""Complex products by three real ones: the same sums, within the bound that is documented."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorop
from tensorop import three_m
from tensorop.config import CACHE_DIR, THREE_M
from tensorop.plans import plan_for
from tensorop.three_m import LEAST, ThreeM

SPECS = {
    "ij,jk->ik": ((7, 9), (9, 5)),
    "ji,kj->ki": ((9, 7), (5, 9)),
    "bij,bjk->ibk": ((3, 7, 9), (3, 9, 5)),
    "iaj,jkb->abik": ((4, 3, 6), (6, 5, 2)),
    "ijl,ljk->ki": ((7, 4, 3), (3, 4, 5)),
}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if it paid for any size."""
    monkeypatch.setattr(three_m, "LEAST", 2)


def numbers(rng: np.random.Generator, shape: Any, dtype: str) -> np.ndarray:
    """Products and sums of these are exact, in whatever order."""
    parts = rng.integers(-9, 10, (2, *shape))
    return (parts[0] + 1j * parts[1]).astype(dtype)


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("conj", [(), (0,), (1,), (0, 1)])
def test_products(small: None, spec: str, dtype: str, conj: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    a, b = (numbers(rng, shape, dtype) for shape in SPECS[spec])
    sides = [x.conj() if i in conj else x for i, x in enumerate((a, b))]
    expected = np.einsum(spec, *sides)
    plan = tensorop.compile(spec, a, b, conj=conj, three_m=True)
    assert isinstance(plan.executables[0], ThreeM) and "3M" in plan.explain()
    np.testing.assert_array_equal(plan(a, b), expected)
    np.testing.assert_array_equal(
        tensorop.einsum(spec, a, b, conj=conj, three_m=True, threads=2), expected
    )
    start = numbers(rng, expected.shape, dtype)
    for alpha, beta in ((2 - 1j, 0), (1, 1), (-1, 3j), (0.5j, 1)):
        out = start.copy()
        plan(a, b, out=out, alpha=alpha, beta=beta)
        np.testing.assert_array_equal(out, alpha * expected + beta * start)


def test_views(small: None) -> None:
    """Steps of either sign in all three tensors; what lies between elements of out stays."""
    rng = np.random.default_rng(2)
    a, b = numbers(rng, (14, 27), "complex64")[::-2, ::3], numbers(rng, (5, 9), "complex64").T
    room = numbers(rng, (7, 10), "complex64")
    kept, out = room.copy(), room[:, ::-2]
    tensorop.einsum("ij,jk->ik", a, b, out=out, three_m=True)
    np.testing.assert_array_equal(out, np.matmul(a, b))
    np.testing.assert_array_equal(room[:, ::2], kept[:, ::2])


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_the_bound(dtype: str) -> None:
    """Also where imaginary parts are small, of which the usual way loses nothing."""
    rng = np.random.default_rng(3)
    n = LEAST
    a, b = (rng.standard_normal((n, n)) + 1j * s * rng.standard_normal((n, n)) for s in (1, 1e-6))
    a, b = a.astype(dtype), b.astype(dtype)
    result = tensorop.einsum("ij,jk->ik", a, b, three_m=True)
    wide = "complex128" if dtype == "complex64" else "clongdouble"
    error = result - np.matmul(a.astype(wide), b.astype(wide))
    sums = [np.abs(x.real) + np.abs(x.imag) for x in (a, b)]
    bound = 4 * n * np.finfo(dtype).eps * np.matmul(*sums)
    assert np.all(np.abs(error.real) <= bound) and np.all(np.abs(error.imag) <= bound)


def test_it_is_used_where_it_is_asked_for_and_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    def runs(n: int, dtype: str = "complex64", **options: Any) -> bool:
        plan = tensorop.compile("ij,jk->ik", (n, n), (n, n), dtypes=dtype, **options)
        return isinstance(plan.executables[0], ThreeM)

    assert runs(LEAST, three_m=True)
    assert not runs(LEAST) and not runs(LEAST - 1, three_m=True)
    assert not runs(LEAST, "float32", three_m=True)
    monkeypatch.setenv(THREE_M.name, "1")
    tensorop.cache_clear()
    assert runs(LEAST) and not runs(LEAST, three_m=False)
    tensorop.cache_clear()


def test_what_it_is_not_for_is_tuned_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(
        "tensorop.tuning.plan_for", lambda op, n: asked.append(op) or plan_for(op, n)
    )
    with CACHE_DIR(str(tmp_path)):
        a = np.ones((8, 8), "complex64")
        tensorop.einsum("ij,jk", a, a, tune=True, three_m=True)
    assert len(asked) == 1
