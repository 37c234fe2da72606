"""Long sums of floats are sums of the sums of blocks, whose errors do not grow with all terms.

The terms have random signs, so that what rounding adds to a sum is a random walk. The unit is what
the sum itself is likely to be, the root of the sum of the squares. Added one after the other, in as
many accumulators as the kernels have, every sum here would be off by twice the bound at least.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tensorop

BOUND = 1.3e-6
LONG_SUMS = [
    ("stream", "i->", [(1 << 22,)]),
    ("stream", "i,i->", [(1 << 21,)] * 2),
    ("stream", "ij,ji->", [(900, 1000), (1000, 900)]),
    ("stream", "ij,j->i", [(4, 1 << 20), (1 << 20,)]),
    ("stream", "ij->j", [(1 << 17, 20)]),
    ("stream", "kij,kij->ij", [(1 << 16, 3, 3)] * 2),
    ("brgemm", "ijk,kjl->il", [(8, 400, 300), (300, 400, 8)]),
    ("gemm", "ki,kj->ij", [(1 << 18, 12)] * 2),
    ("batch", "kib,kjb->ijb", [(60000, 4, 8)] * 2),
]


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("kernel, spec, shapes", LONG_SUMS, ids=[row[1] for row in LONG_SUMS])
def test_errors_do_not_grow_with_all_terms(
    kernel: str, spec: str, shapes: list[tuple[int, ...]], dtype: str
) -> None:
    rng, errors = np.random.default_rng(0), []
    for _ in range(4):
        exact = [rng.standard_normal(shape) for shape in shapes]
        if dtype == "complex64":
            exact = [x + 1j * rng.standard_normal(x.shape) for x in exact]
        operands = [x.astype(dtype) for x in exact]
        exact = [x.astype(np.result_type(dtype, np.float64)) for x in operands]
        squares = np.einsum(spec, *(abs(x) ** 2 for x in exact), optimize=True)
        error = tensorop.einsum(spec, *operands, threads=1)
        error = error - np.einsum(spec, *exact, optimize=True)
        errors.append(np.sqrt((abs(error) ** 2).sum() / squares.sum()))
    if dtype == "float32":
        called = tensorop.compile(spec, *operands, threads=1).explain().splitlines()[-1]
        assert called.strip().startswith(f"{kernel}_")
    assert np.sqrt(np.mean(np.square(errors))) < BOUND


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_nor_do_those_of_elements_that_lie_apart(dtype: str) -> None:
    """Vectors of them are gathered, or there are none, and a single accumulator."""
    rng, errors = np.random.default_rng(0), []
    for _ in range(16):
        x = rng.standard_normal(1 << 18).astype(dtype)[:: 1 << 2]
        error = tensorop.einsum("i->", x, threads=1) - x.sum(dtype=np.result_type(dtype, float))
        errors.append(abs(error) / np.sqrt((abs(x) ** 2).sum()))
    assert np.sqrt(np.mean(np.square(errors))) < BOUND


def test_integers_and_half_types_are_summed_in_one_call() -> None:
    """Integers do not round, and what is kept of a half type would have to be."""
    for dtype in ("int64", "float16"):
        plan = tensorop.compile("i->", (1 << 18,), dtypes=dtype, threads=1)
        assert "for " not in plan.explain()


@pytest.mark.parametrize(
    ("spec", "b", "s"),
    [
        ("b->", 1 << 23, 1), ("b,b->", 1 << 23, 1), ("bs->s", 1 << 20, 3), ("bs->s", 1 << 20, 20),
        ("bs,b->s", 1 << 18, 130), ("sb->s", 1 << 22, 3), ("sb,b->s", 1 << 22, 5),
        ("bs,bs->s", 1 << 19, 40),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_half_types_are_rounded_once_after_long_sums(name: str, spec: str, b: int, s: int) -> None:
    """Also where each term is rounded in the same direction; in calls that are not cut along it."""
    dtype = np.dtype(name if name == "float16" else ml_dtypes.bfloat16)
    terms = spec.split("->")[0].split(",")
    whole = [np.full([{"b": b, "s": s}[x] for x in term], 0.3 / 64, dtype) for term in terms]
    apart = [
        x[::-2] if term[0] == "b" else x[:, ::-2] for x, term in zip(whole, terms, strict=True)
    ]
    for operands in (whole, apart):
        steps = operands[0].shape[terms[0].index("b")]
        expected = float(whole[0].flat[0]) ** len(terms) * steps
        result = tensorop.einsum(spec, *operands, threads=1).astype(np.float64)
        np.testing.assert_allclose(result, expected, rtol=0.51 * float(ml_dtypes.finfo(dtype).eps))
    assert "through temporaries" not in tensorop.compile(spec, *whole, threads=1).explain()


@pytest.mark.parametrize("layout", ["new", "out", "strided", "reversed", "misaligned", "itself"])
@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_results_of_several_steps_are_rounded_once(name: str, layout: str) -> None:
    """From float32 to the nearest number of a half type, beyond the largest to infinity."""
    dtype, rng = np.dtype(getattr(ml_dtypes, name, name)), np.random.default_rng(5)
    a, b, c = (rng.standard_normal((37, 53)).astype(dtype) for _ in range(3))
    a[3, 4], a[5, 6], b[7, 8], b[9, 10] = np.inf, np.nan, 6e4, 1e-5
    a[7, 8], c[9, 10] = 6e4, 1e-3
    with np.errstate(all="ignore"):
        exact = (a.astype("f4") * b.astype("f4") * c.astype("f4")).astype(dtype)
    if layout == "new":
        given = tensorop.einsum("ij,ij,ij->ji", a, b, c)
        assert np.array_equal(given.T.view("u2")[exact == exact], exact.view("u2")[exact == exact])
        return
    raw = np.zeros(4 * 37 * 53 + 2, np.uint8)
    out = {
        "out": lambda: np.empty((37, 53), dtype),
        "strided": lambda: np.empty((37, 106), dtype)[:, ::2],
        "reversed": lambda: np.empty((53, 37), dtype).T[::-1],
        "misaligned": lambda: np.ndarray((37, 53), dtype, raw, offset=1),
        "itself": lambda: a,
    }[layout]()
    assert tensorop.einsum("ij,ij,ij->ij", a, b, c, out=out) is out
    same = np.ascontiguousarray(out).view("u2") == exact.view("u2")
    assert np.all(same | np.isnan(exact.astype("f4"))) and np.isnan(out[5, 6])
    assert np.isinf(out[3, 4]) and (name == "bfloat16" or np.isinf(out[7, 8]))


@pytest.mark.usefixtures("usual_machine")
@pytest.mark.parametrize("spec", ["bij,bjk->bik", "bji,bjk->bki", "bcij,bckj->bcik"])
@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_batches_of_small_half_products_run_in_float32(name: str, spec: str) -> None:
    """Where that is estimated to take less: not where few of them, or large ones, are packed."""
    dtype = np.dtype(name if name == "float16" else ml_dtypes.bfloat16)
    rng = np.random.default_rng(0)
    for count, size, wide in ((900, 3, True), (5, 3, False), (70, 40, False)):
        sizes = {"b": count, "i": size, "j": size + 1, "k": size, "c": 2}
        inputs, out = spec.split("->")
        a, b = (
            rng.integers(-3, 4, [sizes[x] for x in term]).astype(dtype)
            for term in inputs.split(",")
        )
        plan = tensorop.compile(spec, a, b, threads=1)
        assert ("in float32" in plan.explain()) == wide
        exact = np.einsum(spec, a.astype(np.float64), b.astype(np.float64))
        np.testing.assert_array_equal(plan(a, b), exact.astype(dtype))
        given = np.ones([sizes[x] for x in out], dtype)
        tensorop.einsum(spec, a, b, out=given, alpha=2, beta=3, threads=1)
        np.testing.assert_array_equal(given, (2 * exact + 3).astype(dtype))


@pytest.mark.usefixtures("usual_machine")
def test_what_runs_in_float32_is_cast_as_it_lies_and_piece_by_piece() -> None:
    """The largest operand never as a whole; nor any against the order of its elements."""
    spec, b, s, t = "bs,bt->st", 200_000, 90, 8
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-1, 2, (b, n)).astype(np.float16) for n in (s, t))
    plan = tensorop.compile(spec, x, y, threads=1)
    text = plan.explain()
    assert "in float32" in text and "stream_copy_float16_float32_unit_unit" in text
    assert "strided" not in text
    casts = text.split("cast in float32")[1:]
    assert max(int(part.split("strides in elements")[1].split()[1]) for part in casts) < b * s // 2
    np.testing.assert_array_equal(plan(x, y), (x.T.astype(np.float64) @ y).astype(np.float16))
