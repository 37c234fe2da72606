"""Does it work at all? One small thing of every kind, in seconds; `make smoke` runs this file."""

from __future__ import annotations

import math
import pickle
import threading

import numpy as np
import pytest

import tensorop

RNG = np.random.default_rng(0)

CASES = [
    ("ij,jk->ik", (67, 33), (33, 49)),
    ("bij,bjk->bik", (5, 17, 19), (5, 19, 23)),
    ("bqhd,bkhd->bhqk", (2, 9, 3, 16), (2, 11, 3, 16)),
    ("aged,cbfg->fedcba", (4, 5, 3, 2), (3, 2, 4, 5)),
    ("ij,j->i", (31, 64), (64,)),
    ("i,i->", (1000,), (1000,)),
    ("i,j->ij", (13,), (17,)),
    ("abcd->dcba", (3, 5, 7, 9)),
    ("ij->j", (40, 50)),
    ("ii->", (21, 21)),
    ("aebe->ab", (4, 3, 5, 3)),
]
TOLERANCE = {"float32": 1e-4, "float64": 1e-12, "complex64": 1e-4, "complex128": 1e-12, "int32": 0}


def operand(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    if dtype == "int32":
        return RNG.integers(-9, 10, shape, dtype)
    parts = RNG.standard_normal((2, *shape))
    return (parts[0] + 1j * parts[1] if dtype.startswith("c") else parts[0]).astype(dtype)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_einsum_is_numpys(case: tuple, dtype: str) -> None:
    spec, *shapes = case
    operands = [operand(shape, dtype) for shape in shapes]
    expected = np.einsum(spec, *operands)
    result = tensorop.einsum(spec, *operands)
    assert result.dtype == expected.dtype
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(result, expected, rtol=0, atol=TOLERANCE[dtype] * scale)


def test_three_operands_and_views() -> None:
    a, b, c = (operand(shape, "float64") for shape in ((6, 7), (7, 8), (8, 9)))
    np.testing.assert_allclose(tensorop.einsum("ij,jk,kl", a, b, c), a @ b @ c)
    assert np.shares_memory(tensorop.einsum("ij->ji", a), a)


def test_out_alpha_beta_conj() -> None:
    a, b = operand((5, 6), "complex128"), operand((6, 7), "complex128")
    out = operand((5, 7), "complex128")
    expected = 2 * (a.conj() @ b) + 3 * out
    got = tensorop.einsum("ij,jk->ik", a, b, out=out, alpha=2, beta=3, conj=(0,))
    assert got is out
    np.testing.assert_allclose(out, expected)


def test_relatives() -> None:
    a, b = operand((4, 5), "float64"), operand((5, 6), "float64")
    np.testing.assert_allclose(tensorop.matmul(a, b), a @ b)
    np.testing.assert_allclose(tensorop.tensordot(a, b, 1), a @ b)
    np.testing.assert_allclose(tensorop.inner(a, a), np.inner(a, a))
    np.testing.assert_allclose(tensorop.outer(a, b), np.outer(a, b))
    np.testing.assert_allclose(tensorop.vecdot(a, a), (a * a).sum(-1))
    np.testing.assert_array_equal(tensorop.permute_dims(a, (1, 0)), a.T)


def test_plan_is_called_often_and_explains_itself() -> None:
    plan = tensorop.compile("ij,jk->ik", (12, 13), (13, 14), dtypes=["float32", "float32"])
    a, b = operand((12, 13), "float32"), operand((13, 14), "float32")
    for again in (plan, pickle.loads(pickle.dumps(plan))):
        np.testing.assert_allclose(again(a, b), a @ b, atol=1e-5)
    assert plan.flops == 2 * 12 * 13 * 14
    assert "ij,jk->ik" in plan.explain()


def test_explicit_operation() -> None:
    m, n, k = 32, 24, 16
    operation = tensorop.TensorOperation(
        dtype="float32",
        first_touch="zero",
        main="gemm",
        last_touch="relu",
        dim_types=("M", "N", "K"),
        exec_types=("prim", "prim", "prim"),
        sizes=(m, n, k),
        strides_in0=(1, 0, m),
        strides_in1=(0, k, 1),
        strides_out=(1, m, 0),
    )
    operation.setup()
    a, b = operand((k, m), "float32"), operand((n, k), "float32")
    out = np.full((n, m), np.nan, "float32")
    operation.execute(a, b, out)
    np.testing.assert_allclose(out, np.maximum(b @ a, 0), atol=1e-4)


def test_threads_agree_bit_for_bit_with_themselves() -> None:
    a, b = operand((256, 192), "float32"), operand((192, 320), "float32")
    results = [tensorop.einsum("ij,jk->ik", a, b, threads=2) for _ in range(5)]
    assert all(np.array_equal(results[0], result) for result in results)
    np.testing.assert_allclose(results[0], a @ b, atol=1e-3)


def test_many_python_threads_at_once() -> None:
    a, b = operand((64, 64), "float64"), operand((64, 64), "float64")
    wrong = []

    def work() -> None:
        for _ in range(20):
            if not np.allclose(tensorop.einsum("ij,jk->ik", a, b), a @ b):
                wrong.append(threading.get_ident())

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_errors_say_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="j"):
        tensorop.einsum("ij,jk->ik", np.ones((2, 3)), np.ones((4, 5)))


def test_nan_goes_through() -> None:
    a = np.full((3, 4), math.nan, "float32")
    assert np.isnan(tensorop.einsum("ij,kj->ik", a, np.zeros((5, 4), "float32"))).all()
