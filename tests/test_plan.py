"""`compile` and the plans it makes."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import tensorop
from tensorop.jit.gemm_abi import GemmKernel

RNG = np.random.default_rng(0)


def arrays(*shapes: tuple[int, ...], dtype: str = "float64") -> list[np.ndarray]:
    return [RNG.standard_normal(shape).astype(dtype) for shape in shapes]


def test_from_shapes_and_from_arrays() -> None:
    a, b = arrays((6, 7), (7, 8), dtype="float32")
    plans = [
        tensorop.compile("ij,jk->ik", (6, 7), (7, 8), dtypes="float32"),
        tensorop.compile("ij,jk->ik", (6, 7), (7, 8), dtypes=["f4", np.float32]),
        tensorop.compile("ij,jk->ik", a, b),
        tensorop.compile("ij,jk->ik", a, (7, 8), dtypes="float32"),
        tensorop.compile("ij,jk->ik", (6, 7), (7, 8), dtypes="f4", strides=[None, (32, 4)]),
    ]
    for plan in plans:
        np.testing.assert_allclose(plan(a, b), a @ b, atol=1e-5)
    assert len({plan.explain() for plan in plans}) == 1


def test_planned_for_given_strides_and_right_for_others() -> None:
    a, b = arrays((40, 30), (40, 50))
    plan = tensorop.compile("ij,jk->ik", (30, 40), (40, 50), strides=[(8, 240), None])
    for left in (a.T, np.ascontiguousarray(a.T), np.repeat(a.T, 2, 1)[:, ::2]):
        np.testing.assert_allclose(plan(left, b), a.T @ b)


def test_out_alpha_beta() -> None:
    a, b, c = arrays((5, 6), (6, 7), (5, 7))
    plan = tensorop.compile("ij,jk->ik", a, b)
    expected = 2 * a @ b - 0.5 * c
    assert plan(a, b, out=c, alpha=2, beta=-0.5) is c
    np.testing.assert_allclose(c, expected)
    with pytest.raises(ValueError, match="no out was given"):
        plan(a, b, beta=1)


def test_calls_that_were_not_planned_for() -> None:
    plan = tensorop.compile("ij,jk->ik", (5, 6), (6, 7))
    a, b = np.ones((5, 6)), np.ones((6, 7))
    with pytest.raises(tensorop.EinsumError, match="planned for 2 operands, called with 1"):
        plan(a)
    with pytest.raises(tensorop.EinsumError, match=r"operand 1 has shape \(7, 6\), planned for"):
        plan(a, b.T)
    with pytest.raises(TypeError, match="operand 0 has dtype float32, planned for float64"):
        plan(a.astype("f4"), b)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"dtypes": ["f4"]}, "1 dtypes for 2 operands"),
        ({"strides": [(8,), None]}, "1 strides for the shape"),
        ({"strides": [(2**70, 8), None]}, "no array has the strides"),
        ({"strides": [(2**62, 8), None]}, "no array has the strides"),
        ({"strides": [None]}, "1 strides for 2 operands"),
        ({"threads": 0}, "threads"),
        ({"conj": (2,)}, "conj names operand 2"),
        ({"order": "Z"}, "order must be one of"),
    ],
)
def test_requests_without_sense(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tensorop.compile("ij,jk->ik", (5, 6), (6, 7), **keywords)


def test_strides_are_one_tuple_an_operand() -> None:
    with pytest.raises(TypeError, match="strides are ints"):
        tensorop.compile("ij->i", (3, 3), strides=[(8, 1.5)])
    for shape in ((3, 2.0), 3, ((1.0, 2.0), (3.0, 4.0))):
        with pytest.raises(TypeError, match="a shape is a tuple of ints"):
            tensorop.compile("ij->i", shape)
    for name in ("tune", "three_m"):
        with pytest.raises(TypeError, match=f"{name} must be a bool"):
            tensorop.einsum("ij->i", np.ones((3, 3)), **{name: "no"})
    with pytest.raises(TypeError, match="strides: a tuple for each operand"):
        tensorop.compile("ij,jk->ik", (5, 6), (6, 7), strides=(48, 8))


def test_conj_and_dtype() -> None:
    a, b = (x + 1j * y for x, y in (arrays((4, 5), (4, 5)), arrays((5, 6), (5, 6))))
    plan = tensorop.compile("ij,jk->ik", a, b, conj=(0,))
    np.testing.assert_allclose(plan(a, b), a.conj() @ b)
    wide = tensorop.compile("ij,jk->ik", (4, 5), (5, 6), dtypes="float32", dtype="float64")
    assert wide(*arrays((4, 5), (5, 6), dtype="float32")).dtype == np.float64


def test_flops_and_bytes() -> None:
    plan = tensorop.compile("bij,bjk->bik", (3, 4, 5), (3, 5, 6), dtypes="complex64")
    assert plan.flops == 8 * 3 * 4 * 5 * 6
    assert plan.bytes == 8 * 3 * (4 * 5 + 5 * 6 + 4 * 6)
    view = tensorop.compile("ij->ji", (4, 5))
    assert view.flops == 0 and view.bytes == 2 * 8 * 20


def test_repr_is_one_line() -> None:
    plan = tensorop.compile("ij,jk->ik", (64, 32), (32, 16), dtypes="float32")
    assert repr(plan) == "<Plan ij,jk->ik of 64x32, 32x16 in float32, 65,536 flops>"


def test_explain_says_what_is_done() -> None:
    text = tensorop.compile("ij,jk,kl->il", (60, 50), (50, 40), (40, 30)).explain()
    assert "ij,jk,kl->il   60x50 float64, 50x40 float64, 40x30 float64" in text
    assert " flops, " in text and " flops a byte" in text
    assert text.count("\nstep ") == 2 and text.count("  schedule, ") == 2
    swapped = np.ones((4, 5)).astype(">f8")
    assert "operand 0 is copied to float64 first" in tensorop.compile("ij->j", swapped).explain()
    assert "nothing is computed" in tensorop.compile("ij->ji", (4, 5)).explain()


def test_explain_says_whose_labels_it_has() -> None:
    tensorop.cache_clear()
    first = tensorop.compile("ij,jk->ik", (31, 32), (32, 33)).explain()
    assert "labels" not in first
    other = tensorop.compile("kb,bi->ki", (31, 32), (32, 33)).explain()
    assert "  as planned before for other labels: i is k, k is i, j is b\n" in other


@pytest.mark.parametrize(("rows", "steps"), [(8, 1), (800, 2)])
def test_a_sum_over_one_operand_alone_is_a_step_of_its_own_where_that_pays(
    rows: int, steps: int
) -> None:
    plan = tensorop.compile("b,bc->b", (rows,), (rows, 9))
    assert len(plan.schedules) == steps
    a, b = np.arange(rows) - 3.0, np.arange(rows * 9.0).reshape(rows, 9)
    np.testing.assert_allclose(plan(a, b), a * b.sum(1))


def test_a_plan_without_work_has_no_schedule() -> None:
    plan = tensorop.compile("ij->ji", (4, 5))
    assert not plan.schedules
    with pytest.raises(ValueError, match="nothing is computed"):
        _ = plan.schedule


def test_the_schedule_is_that_with_the_most_arithmetic() -> None:
    plan = tensorop.compile("ij,jk,kl->il", (6, 5), (5, 400), (400, 300))
    assert plan.schedule in plan.schedules
    assert plan.schedule.op.flops == max(schedule.op.flops for schedule in plan.schedules)
    plan.schedule.verify()


def test_code_of_all_kernels() -> None:
    """Also of those that pack."""
    plan = tensorop.compile("aebf,dfce->abcd", (20, 30, 20, 30), (40, 30, 40, 30), dtypes="f4")
    kernels = plan.kernels()
    names = [kernel.name for kernel in kernels]
    assert any(isinstance(kernel, GemmKernel) for kernel in kernels)
    assert any(name.startswith("copy_") for name in names)
    assert len(set(names)) == len(names)
    for name in names:
        assert f'define void @"{name}"' in plan.llvm_ir()
        assert f"{name}:" in plan.asm()


def test_nothing_of_it_is_set() -> None:
    plan = tensorop.compile("ij,jk->ik", (2, 3), (3, 4))
    for name in ("spec", "threads", "other"):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(plan, name, None)
    with pytest.raises(AttributeError, match="immutable"):
        del plan.spec
    assert plan.spec == "ij,jk->ik"


def test_errors_name_what_was_called() -> None:
    plan = tensorop.compile("i,i->", (2,), (2,))
    with pytest.raises(TypeError, match=r"Plan\.__call__\(\).*threads"):
        plan(np.ones(2), np.ones(2), threads=1)
    assert "spec" in (type(plan).__doc__ or "")
    with pytest.raises(TypeError, match="a list is no shape"):
        tensorop.compile("i,i->", [2], [2])


def test_pickles_and_plans_anew() -> None:
    a, b = arrays((8, 9), (9, 10))
    plan = tensorop.compile("ij,jk->ik", a, b, threads=1)
    data = pickle.dumps(plan)
    tensorop.cache_clear()
    again = pickle.loads(data)
    assert again is not plan and again.explain() == plan.explain() and again.threads == 1
    np.testing.assert_allclose(again(a, b), a @ b)


def test_one_plan_in_many_threads() -> None:
    a, b = arrays((150, 130), (130, 170))
    plan, expected = tensorop.compile("ij,jk->ik", a, b, threads=2), a @ b
    with ThreadPoolExecutor(8) as pool:
        for result in pool.map(lambda _: plan(a, b), range(80)):
            np.testing.assert_allclose(result, expected)


def test_plans_survive_a_cleared_cache() -> None:
    a, b = arrays((8, 9), (9, 10))
    plan = tensorop.compile("ij,jk->ik", a, b)
    tensorop.cache_clear()
    assert tensorop.cache_info().currsize == 0
    np.testing.assert_allclose(plan(a, b), a @ b)


@pytest.mark.parametrize(
    ("arguments", "kind", "says"),
    [
        ((5, (3,)), TypeError, "spec is a str"),
        (((3,), [0]), TypeError, "spec is a str"),
        (("i->i", (-3,)), ValueError, "no array has the shape"),
        (("ij->ji", (2**64, 2)), ValueError, "no array has the shape"),
        (("ij->i", (2**63, 2)), ValueError, "no array has the shape"),
    ],
)
def test_bad_arguments_are_refused(arguments: tuple, kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says):
        tensorop.compile(*arguments)
    with pytest.raises(TypeError, match="conj must be"):
        tensorop.compile("i->i", (3,), conj="0")


def test_more_threads_than_anyone_has() -> None:
    a = np.random.default_rng(0).random((300, 300))
    for count in (100_000, 2**31 - 1):
        plan = tensorop.compile("ij,jk->ik", a, a, threads=count)
        assert max(schedule.shares for schedule in plan.schedules) <= 1024


def test_masks_are_not_dropped() -> None:
    """Nor by plans, which einsum refuses them as."""
    a, b = np.arange(6.0).reshape(2, 3), np.ones((3, 2))
    masked = np.ma.masked_array(a, a > 3)
    with pytest.raises(TypeError, match="MaskedArray"):
        tensorop.compile("ij,jk->ik", masked, b)
    plan = tensorop.compile("ij,jk->ik", a, b)
    for _ in range(4):
        np.testing.assert_array_equal(plan(a, b), a @ b)
        with pytest.raises(TypeError, match="MaskedArray"):
            plan(masked, b)
