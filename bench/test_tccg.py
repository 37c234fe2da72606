"""The 48 contractions of the TCCG benchmark, scaled to 0.5 GFLOP, one thread, ours and numpy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tensorop.bench.cases import Case, tccg_cases

Contraction = Callable[[Case, str], Callable[[], object]]


@pytest.mark.parametrize("library", ["tensorop", "numpy"])
@pytest.mark.parametrize("case", tccg_cases(gflop=0.5), ids=lambda case: case.name)
def test_tccg(benchmark: Any, contraction: Contraction, case: Case, library: str) -> None:
    benchmark.group = f"{case.name} {case.spec}"
    benchmark.extra_info.update(work=case.work, unit=case.unit)
    benchmark.pedantic(contraction(case, library), rounds=9, warmup_rounds=1)
