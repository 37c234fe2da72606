"""What a call costs before any arithmetic: 4x4 matrices, warm."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorop


@pytest.mark.parametrize("how", ["tensorop.einsum", "tensorop plan", "numpy.einsum"])
def test_small_call(benchmark: Any, how: str) -> None:
    a, b = np.ones((4, 4)), np.ones((4, 4))
    plan = tensorop.compile("ij,jk->ik", a, b)
    calls = {
        "tensorop.einsum": lambda: tensorop.einsum("ij,jk->ik", a, b),
        "tensorop plan": lambda: plan(a, b),
        "numpy.einsum": lambda: np.einsum("ij,jk->ik", a, b),
    }
    benchmark.group = "4x4 matrix product, float64"
    benchmark(calls[how])


def test_new_plan(benchmark: Any) -> None:
    """A plan for a shape that was not seen before; kernels exist already."""
    sizes = iter(range(10, 1 << 30))

    def plan() -> None:
        n = next(sizes)
        tensorop.compile("ij,jk->ik", (n, 64), (64, 48), dtypes=["float32", "float32"])

    benchmark.group = "new plan"
    benchmark(plan)
