"""Products of bfloat16 in pairs, on machines that have the instruction: the same as any others."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tensorop
from tensorop.jit.gemm_abi import GemmKernel
from tensorop.jit.generate import generate
from tensorop.jit.target import current_target, host_targets
from tensorop.schedule import Call

needs_pairs = pytest.mark.skipif(
    not current_target().bfloat_pairs, reason="no instruction multiplies pairs of bfloat16 here"
)
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
EPS = float(ml_dtypes.finfo(BFLOAT16).eps)


def in_pairs(plan: tensorop.Plan) -> bool:
    """Whether the matrix product of a plan goes by pairs."""
    steps = [step for schedule in plan.schedules for _, step in schedule.steps()]
    return any(isinstance(s, Call) and getattr(s.kernel, "pairs", False) for s in steps)


def drawn(rng: np.random.Generator, shape: tuple[int, ...], order: str = "C") -> np.ndarray:
    return np.asarray(rng.random(shape) * 2 - 1, order=order).astype(BFLOAT16)


def check(spec: str, *operands: np.ndarray, threads: int = 1) -> None:
    with tensorop.threads(threads):
        got = tensorop.einsum(spec, *operands).astype(np.float64)
    wide = [operand.astype(np.float64) for operand in operands]
    exact = np.einsum(spec, *wide, optimize=True)
    size = np.einsum(spec, *map(np.abs, wide), optimize=True)
    summed = operands[0].size * operands[1].size
    bound = EPS * np.abs(exact) + (np.sqrt(summed) + 8) * float(np.finfo(np.float32).eps) * size
    assert (np.abs(got - exact) <= bound).all()


@needs_pairs
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("k", [2, 64, 200, 301])
@pytest.mark.parametrize(
    ("spec", "pairs_of_odd"),
    [
        ("ik,kj->ij", False),
        ("ki,kj->ij", True),
        ("ik,jk->ij", False),
        ("ki,jk->ij", False),
        ("ki,kj->ji", True),
    ],
)
def test_every_layout(spec: str, pairs_of_odd: bool, k: int, threads: int) -> None:
    rng = np.random.default_rng(k)
    sizes = {"i": 211, "j": 173, "k": k}
    first, second = spec.split("->")[0].split(",")
    shapes = [tuple(sizes[label] for label in term) for term in (first, second)]
    check(spec, *(drawn(rng, shape) for shape in shapes), threads=threads)
    plan = tensorop.compile(spec, *shapes, dtypes="bfloat16", threads=1)
    if k > 100:
        assert in_pairs(plan) == (k % 2 == 0 or pairs_of_odd)


@needs_pairs
@pytest.mark.parametrize(
    ("spec", "shapes"),
    [
        ("bik,bkj->bij", [(3, 150, 90), (3, 90, 120)]),
        ("abcd,cdef->abef", [(9, 11, 12, 14), (12, 14, 10, 13)]),
        ("acbd,dcef->abef", [(9, 12, 11, 14), (14, 12, 10, 13)]),  # pairs across dimensions
        ("cdab,efcd->abef", [(12, 14, 9, 11), (10, 13, 12, 14)]),
        ("acb,cde->abde", [(30, 33, 20), (33, 11, 40)]),
    ],
)
def test_several_dimensions(spec: str, shapes: list[tuple[int, ...]]) -> None:
    rng = np.random.default_rng(0)
    for threads in (1, 2):
        check(spec, *(drawn(rng, shape) for shape in shapes), threads=threads)


@needs_pairs
@pytest.mark.parametrize("k", [96, 97])
def test_views_and_edges(k: int) -> None:
    rng = np.random.default_rng(1)
    left, right = drawn(rng, (2 * k, 131)), drawn(rng, (k, 3 * 127))
    check("ki,kj->ij", left[::2, 3:], right[:, ::3])
    check("ki,kj->ij", left[::-2, 3:], right[:, :127])
    check("ik,kj->ij", left[:k].T, right[:, 100:101])


@needs_pairs
def test_small_integers_are_exact() -> None:
    rng = np.random.default_rng(2)
    left, right = (rng.integers(-2, 3, shape).astype(BFLOAT16) for shape in ((90, 63), (63, 70)))
    exact = left.astype(np.int64) @ right.astype(np.int64)
    got = tensorop.matmul(np.ascontiguousarray(left.T).T, right)
    np.testing.assert_array_equal(got.astype(np.float32), exact.astype(BFLOAT16).astype("f4"))


@needs_pairs
def test_what_is_not_finite_stays_where_it_is() -> None:
    left, right = np.ones((130, 100), BFLOAT16), np.ones((100, 70), BFLOAT16)
    left[3, 99], left[4, 0], right[7, 5] = np.nan, np.inf, np.nan
    with np.errstate(invalid="ignore"):
        expected = left.astype("f4") @ right.astype("f4")
    np.testing.assert_array_equal(tensorop.matmul(left, right).astype("f4"), expected)


@needs_pairs
def test_updates_and_epilogues() -> None:
    rng = np.random.default_rng(3)
    left, right, out = (drawn(rng, shape) for shape in ((100, 80), (80, 90), (100, 90)))
    before = out.astype(np.float64)
    product = left.astype(np.float64) @ right.astype(np.float64)
    tensorop.einsum("ik,kj->ij", left, right, out=out, alpha=2.0, beta=0.5)
    expected = 2 * product + 0.5 * before
    np.testing.assert_allclose(out.astype(np.float64), expected, rtol=2 * EPS, atol=1e-4)


def test_kernels_of_pairs_are_for_bfloat16_and_their_targets() -> None:
    for target in host_targets():
        with pytest.raises(ValueError, match="no pairs"):
            generate(GemmKernel("float16", 1, 4, pairs=True), target)
        if not target.bfloat_pairs:
            with pytest.raises(ValueError, match="no pairs"):
                generate(GemmKernel("bfloat16", 1, 4, pairs=True), target)
