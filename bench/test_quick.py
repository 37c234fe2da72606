"""The contractions of `python -m tensorop bench`, one thread, ours and numpy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tensorop.bench.cases import Case, quick_cases

Contraction = Callable[[Case, str], Callable[[], object]]


@pytest.mark.parametrize("library", ["tensorop", "numpy"])
@pytest.mark.parametrize("case", quick_cases(), ids=lambda case: case.name)
def test_quick(benchmark: Any, contraction: Contraction, case: Case, library: str) -> None:
    benchmark.group = f"{case.name} ({case.dtype})"
    benchmark.extra_info.update(work=case.work, unit=case.unit)
    benchmark(contraction(case, library))
