"""Operations through the whole back end, optimised, against the plain reference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tensorop import planning
from tensorop.executable import Executable
from tensorop.ir import CONTRACTIONS, Dimension, DimType, Primitive, Tensor, TensorOp
from tensorop.jit.lines import LINE
from tensorop.optimizer.machine import host_machine
from tensorop.plans import plan_for, plan_for_operation
from tensorop.threads import threads
from tests.strategies import COMMON_DTYPES, Case, cases, examples
from tests.tolerance import assert_right

# Kernels are compiled on first use, so single examples take long.
PATIENT = [HealthCheck.too_slow, HealthCheck.data_too_large]


def check(case: Case, threads: int) -> None:
    if case.op.main not in CONTRACTIONS | {Primitive.SUM, Primitive.COPY, Primitive.CONJ}:
        case = replace(case, alpha=None, beta=None)
    operands = case.fresh()
    arrays = [x.array for x in operands]
    bias = None if case.bias is None else case.bias.array
    plan = plan_for_operation(case.op, True, threads)
    plan.run(arrays, case.alpha, case.beta, bias)
    assert_right(case.op, case.operands, operands[-1], case.alpha, case.beta, case.bias)


@settings(max_examples=examples(300), suppress_health_check=PATIENT)
@given(cases(dtypes=COMMON_DTYPES), st.integers(1, 3))
def test_any_operation(case: Case, threads: int) -> None:
    check(case, threads)


@settings(max_examples=examples(150), suppress_health_check=PATIENT)
@given(cases(kinds=["contraction"]), st.integers(1, 3))
def test_any_contraction_in_any_dtype(case: Case, threads: int) -> None:
    check(case, threads)


@pytest.mark.parametrize("reads_conjugated", [False, True])
@pytest.mark.parametrize("main", [Primitive.COPY, Primitive.CONJ])
def test_conjugating_permutation(main: Primitive, reads_conjugated: bool) -> None:
    dimensions = (Dimension(DimType.C, 5, (7, 1)), Dimension(DimType.C, 7, (1, 5)))
    tensors = (Tensor("in0", "complex64", reads_conjugated), Tensor("out", "complex64"))
    source = (np.arange(35) + 1j * np.arange(35, 0, -1)).astype("complex64")
    out = np.zeros(35, "complex64")
    plan_for_operation(TensorOp(tensors, dimensions, main), True, 1).run((source, out))
    expected = source.reshape(5, 7).T
    if (main == Primitive.CONJ) != reads_conjugated:
        expected = expected.conj()
    np.testing.assert_array_equal(out.reshape(7, 5), expected)


def test_planning_may_be_interrupted_by_the_same_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal handler that contracts, too."""
    n = 300
    strides = ((n, 0, n), (0, 1, 1), (1, n, 0))
    types = zip((DimType.M, DimType.N, DimType.K), strides, strict=True)
    op = TensorOp(
        tuple(Tensor(role, "float64") for role in ("in0", "in1", "out")),
        tuple(Dimension(t, n, s) for t, s in types),
        Primitive.GEMM,
    )
    a, out, inside = np.eye(n), np.empty((n, n)), np.empty((n, n))
    plan = Executable(op, None, planning.Planned(op), plan_for)
    plan_stages, left = planning.plan_stages, [1]

    def interrupted(*args: Any, **kwargs: Any) -> Any:
        if left.pop(0) if left else 0:
            plan.run((a, a, inside))
        return plan_stages(*args, **kwargs)

    monkeypatch.setattr(planning, "plan_stages", interrupted)
    with threads(7):  # for which there is no plan yet
        plan.run((a, a, out))
    assert not left
    np.testing.assert_array_equal(out, a)
    np.testing.assert_array_equal(inside, a)


def test_an_out_that_begins_within_a_line_is_planned_for_once() -> None:
    """Where tiles are whole lines that are stored past the caches; by who planned the operation."""
    told: list[int] = []

    class Told(planning.Planned):
        def of(self, op: TensorOp) -> planning.Planned:
            told.append(op.tensors[-1].begins)
            return super().of(op)

    m, n, k = 1024, host_machine().l3 // 4096, 3
    sides = ((DimType.M, m, (1, 0, 1)), (DimType.N, n, (0, k, m)), (DimType.K, k, (m, 1, 0)))
    tensors = tuple(Tensor(role, "float32") for role in ("in0", "in1", "out"))
    op = TensorOp(tensors, tuple(Dimension(*side) for side in sides), Primitive.GEMM)
    plan = Executable(op, 1, Told(op), plan_for)
    if "past the caches" not in str(plan.schedules[0].notes):
        pytest.skip("nothing is stored past the caches")
    assert plan.single(1) is None and plan.single(1, 0) is not None
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((k, m), (n, k)))
    room = np.empty(n * m + 32, np.float32)
    first = -room.ctypes.data % LINE // 4
    for shift in (0, 4, 4, 12, 16):
        out = room[first + shift :][: n * m].reshape(n, m)
        plan.run([a, b, out], 2, 0)
        np.testing.assert_array_equal(out, 2 * (b @ a))
    assert told == [16, 48]
