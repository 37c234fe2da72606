"""Repeated calls of several steps and of mixed dtypes: what they are where nothing is known."""

from __future__ import annotations

import threading
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tensorop
from tensorop import known, warm
from tensorop.jit.entry import machine
from tensorop.jit.warm import COUNT, MOST_OPERANDS, Table, array_api
from tests.known_calls import ARRAY_DTYPES, array

pytestmark = [
    pytest.mark.skipif(array_api() is None, reason="arrays are not read by generated code"),
    pytest.mark.usefixtures("nothing_known"),
]


CHAINS = (
    "i,ij,j->", "ij,jk,kl->il", "ij,jk,kl->li", "bi,ij,bj->b", "i,j,k->kij", "ij,jk,kl,li,ij->jk",
    "ijb,jk,kl->lk", "i,i,i,i,i,i->i",
)  # fmt: skip


@pytest.mark.parametrize("spec", CHAINS)
@pytest.mark.parametrize("dtype", ARRAY_DTYPES)
def test_calls_of_several_steps(spec: str, dtype: str) -> None:
    terms = spec.split("->")[0].split(",")
    for view in range(4):
        operands = [array(term, dtype, i, (view + i) % 4) for i, term in enumerate(terms)]
        for _ in range(3):
            tensorop.einsum(spec, *operands)
        operands = [array(term, dtype, 9 + i, (view + i) % 4) for i, term in enumerate(terms)]
        expected = tensorop.einsum("".join(list(spec)), *operands, optimize=True)
        numpys = np.einsum(spec, *[x.astype("f8") if dtype == "float16" else x for x in operands])
        np.testing.assert_array_equal(expected, numpys.astype(dtype))
        result = warm.run((spec, *operands), None)
        if result is None:  # more steps than are known, since all are cast first
            assert dtype == "float16" and len(terms) > 4
            continue
        assert type(result) is type(expected)
        assert result.dtype == expected.dtype and result.strides == expected.strides
        np.testing.assert_array_equal(result, expected)
        for less in (operands[:-1], operands[1:], [*operands, operands[0]]):
            assert warm.run((spec, *less), None) is None
        if not result.ndim:
            continue
        out = np.ones_like(result)
        for _ in range(3):
            tensorop.einsum(spec, *operands, out=out)
        out[...] = 1
        assert warm.run((spec, *operands), out) is out
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("out", [False, True])
@pytest.mark.parametrize("dtypes", [("f4", "f8"), ("i4", "f8"), ("f8", "c16"), ("f2", "f4", "i2")])
def test_what_has_to_be_cast_is_cast_by_kernels(dtypes: tuple[str, ...], out: bool) -> None:
    """As a step of its own; repeated elements once."""
    for spec in ("ij,jk->ik", "ij,jk->ki", "ij,ij->", "ij,jk,ik->k"):
        terms = spec.split("->")[0].split(",")
        kinds = [dtypes[i % len(dtypes)] for i in range(len(terms))]
        for view in range(5):
            operands = [
                array(term, dtype, i, view % 4)
                for i, (term, dtype) in enumerate(zip(terms, kinds, strict=True))
            ]
            if view == 4:
                operands = [np.broadcast_to(x[:1], x.shape) for x in operands]
            expected = np.einsum(spec, *operands)
            given = {"out": np.zeros_like(expected)} if out and expected.ndim else {}
            for _ in range(3):
                np.testing.assert_array_equal(tensorop.einsum(spec, *operands, **given), expected)
            again = warm.run((spec, *operands), given.get("out"))
            assert again is not None or view == 4  # whose sums may be of equal numbers
            if again is not None:
                np.testing.assert_array_equal(again, expected)
                assert again.dtype == expected.dtype


def test_what_no_kernel_casts_is_cast_by_numpy() -> None:
    a, b = array("ij", "float32", 1), array("jk", "float64", 2)
    raw = np.zeros(a.nbytes + 1, np.uint8)[1:].view("f4").reshape(a.shape)
    raw[...] = a
    for other in (a.astype(">f4"), raw):
        for _ in range(3):
            np.testing.assert_array_equal(tensorop.einsum("ij,jk->ik", other, b), a @ b)
        assert warm.run(("ij,jk->ik", other, b), None) is None
    for _ in range(3):  # numbers that do not fit
        result = tensorop.einsum("ij,jk->ik", b.T, a.T, dtype="i4", casting="unsafe")
    np.testing.assert_array_equal(result, (b.T @ a.T).astype("i4"))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_types_are_rounded_once_also_with_factors(dtype: str) -> None:
    """Those are for the sums, which are in float32."""
    spec, kind = "ij,jk,kl->il", np.dtype(getattr(ml_dtypes, dtype, dtype))
    operands = [array(term, "float32", i).astype(kind) for i, term in enumerate(("ij", "jk", "kl"))]
    exact = np.einsum(spec, *(x.astype("f4") for x in operands))
    for _ in range(3):
        out = np.full(exact.shape, 2, kind)
        tensorop.einsum(spec, *operands, out=out)
        np.testing.assert_array_equal(out, exact.astype(kind))
        tensorop.einsum(spec, *operands, out=out, alpha=3, beta=0.5)
        both = 3 * exact + exact.astype(kind).astype("f4") / 2
        np.testing.assert_array_equal(out, both.astype(kind))
        assert warm.run((spec, *operands), out, 3, 0.5) is None
        tensorop.einsum(spec, *operands)
    result = warm.run((spec, *operands), None)
    assert result is not None and result.dtype == kind
    np.testing.assert_array_equal(result, exact.astype(kind))


def test_factors_of_several_steps() -> None:
    """alpha and beta are the last one's."""
    spec, kept = "ij,jk,kl->il", np.arange(10.0).reshape(5, 2)
    operands = [array(term, "float64", i) for i, term in enumerate(("ij", "jk", "kl"))]
    expected = 3 * np.einsum(spec, *operands) + 0.5 * kept
    for _ in range(5):
        out = kept.copy()
        tensorop.einsum(spec, *operands, out=out, alpha=3, beta=0.5)
        np.testing.assert_array_equal(out, expected)
    out = kept.copy()
    assert warm.run((spec, *operands), out, 3, 0.5) is out
    np.testing.assert_array_equal(out, expected)


def test_out_that_is_one_of_many_operands() -> None:
    spec, size = "ij,jk,kl->il", (4, 4)
    a, b, c = (np.random.default_rng(i).random(size) for i in range(3))
    for _ in range(3):
        tensorop.einsum(spec, a, b, c, out=np.zeros(size))
    for at in range(3):
        operands = [x.copy() for x in (a, b, c)]
        assert warm.run((spec, *operands), operands[at]) is None
        expected = a @ b @ c
        tensorop.einsum(spec, *operands, out=operands[at])
        np.testing.assert_allclose(operands[at], expected)


def test_more_operands_or_steps_than_are_known() -> None:
    chain, long = "a,ab,b", "a" + ",a" * MOST_OPERANDS
    ones = np.ones(3)
    for spec, operands in (
        (f"{long}->a", [ones] * (MOST_OPERANDS + 1)),
        ("ab,cd,ef,gh,ij,kl->", [np.ones((3, 3))] * 6),
        (f"{chain},{chain}".replace(",a,", ",c,"), [ones, np.ones((3, 3)), ones] * 2),
    ):
        for _ in range(5):
            result = tensorop.einsum(spec, *operands)
        np.testing.assert_allclose(result, np.einsum(spec, *operands))
    assert all(len(key.split("->")[0].split(",")) <= MOST_OPERANDS for key, _ in _records())


def _records() -> list[Any]:
    return list(known._records.values())


@pytest.mark.parametrize("n", [110, 300])
def test_results_of_steps_lie_in_buffers(n: int) -> None:
    """Those that do not fit the stack; and other threads run between the steps of long ones."""
    spec = "ij,jk,kl->il"
    rng = np.random.default_rng(5)
    wrong: list[Any] = []

    def work(seed: int) -> None:
        a, b, c = (np.random.default_rng((seed, i)).random((n, n)) for i in range(3))
        expected = a @ b @ c
        for _ in range(40):
            result = tensorop.einsum(spec, a, b, c, threads=None)
            if not np.allclose(result, expected):
                wrong.append(result)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(COUNT + 2)]
    for worker in workers:
        worker.start()
    for _ in range(20):
        tensorop.einsum("ij,ij->", *rng.random((2, 4, 4)))
        known.forget()
    for worker in workers:
        worker.join()
    assert not wrong
    tensorop.cache_clear()  # else what was forgotten is learnt again only after many calls
    operands = [rng.random((n, n)) for _ in range(3)]
    for _ in range(3):
        tensorop.einsum(spec, *operands)
    with tensorop.threads(1):
        for _ in range(3):
            result = tensorop.einsum(spec, *operands)
        np.testing.assert_allclose(warm.run((spec, *operands), None), result)
    assert not known._table(machine().warm.get().table)[Table.BUFFERS + 1 :: 2].any()
