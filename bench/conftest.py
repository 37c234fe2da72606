"""What the pytest-benchmark suites share: operands of a case, and both libraries' calls.

Run them with `make bench`. They are for watching one's own changes (`pytest bench
--benchmark-save`, `--benchmark-compare`): pytest-benchmark times one thing after another, so
figures that are to be quoted come from `python -m tensorop bench`, which asks everyone in turn.
"""

from __future__ import annotations

import os
from collections.abc import Callable

# numpy reads this when it is loaded: as many threads as we are given, which is one.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest

import tensorop
from tensorop.bench.cases import Case
from tensorop.bench.contestants import random_array

LIBRARIES = ("tensorop", "numpy")


@pytest.fixture
def contraction() -> Callable[[Case, str], Callable[[], object]]:
    """`contraction(case, library)`: a call without arguments that does the case's work."""

    def make(case: Case, library: str) -> Callable[[], object]:
        *shapes, output = case.shapes
        operands = [random_array(shape, case.dtype, seed) for seed, shape in enumerate(shapes)]
        if library == "numpy":
            if case.returns_view:
                return lambda: np.array(np.einsum(case.spec, *operands), order="C")
            return lambda: np.einsum(case.spec, *operands, optimize=True)
        if case.returns_view:
            return lambda: tensorop.einsum(
                case.spec, *operands, out=np.empty(output, case.dtype), threads=1
            )
        return lambda: tensorop.einsum(case.spec, *operands, threads=1)

    return make
