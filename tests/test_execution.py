"""Operations through the whole back end, optimised, against the plain reference."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tensorop.executable import Executable, plan_for, plan_for_operation
from tensorop.ir import CONTRACTIONS, Primitive
from tests.strategies import COMMON_DTYPES, Case, cases
from tests.tolerance import assert_right

# Kernels are compiled on first use, so single examples take long.
PATIENT = [HealthCheck.too_slow, HealthCheck.data_too_large]


def check(case: Case, threads: int, beta_given: bool = True) -> None:
    operands = case.fresh()
    arrays = [x.buffer[x.start :] for x in operands]
    bias = None if case.bias is None else case.bias.buffer[case.bias.start :]
    plan = plan_for_operation(case.op, True, threads)
    plan.run(arrays, case.alpha, case.beta, bias)
    assert_right(case.op, case.operands, operands[-1], case.alpha, case.beta, case.bias)


@settings(max_examples=300, deadline=None, suppress_health_check=PATIENT)
@given(cases(dtypes=COMMON_DTYPES), st.integers(1, 3))
def test_any_operation(case: Case, threads: int) -> None:
    check(case, threads)


@settings(max_examples=150, deadline=None, suppress_health_check=PATIENT)
@given(cases(kinds=["contraction"]), st.integers(1, 3))
def test_any_contraction_in_any_dtype(case: Case, threads: int) -> None:
    check(case, threads)


def test_stages_are_shared_between_callers() -> None:
    case = cases(kinds=["contraction"], dtypes=["float32"]).example()
    assert plan_for(case.op, 1) is plan_for(case.op, 1)
