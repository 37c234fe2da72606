"""The configurations of the suite `seed` on one thread: as written and optimised."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tensorop.bench.cases import Operation, seed_operations
from tensorop.bench.contestants import OperationRun


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("index", range(len(seed_operations())))
def test_seed(benchmark: Any, tmp_path: Path, index: int, dtype: str) -> None:
    operation: Operation = seed_operations(dtype)[index]
    benchmark.group = operation.name
    benchmark.extra_info.update(work=operation.work, unit=operation.unit)
    benchmark(OperationRun(operation, tmp_path, []).call(threads=1))
