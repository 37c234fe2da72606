"""Plain loop nests: how the calls of a stream kernel are cut, and that sums are right however."""

from __future__ import annotations

import numpy as np
import pytest

import tensorop
from tensorop.ir import Loop
from tensorop.optimizer import nest
from tensorop.optimizer.machine import host_machine
from tests.strategies import numpy_dtype


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int16"])
@pytest.mark.parametrize(("rows", "columns"), [(100, 5), (100, 300), (37, 70_000), (4, 3000)])
def test_sums_over_rows_take_some_at_a_time(rows: int, columns: int, dtype: str) -> None:
    """Of long rows, so many that the hardware follows them; short ones all at once."""
    rng = np.random.default_rng(rows)
    a = rng.integers(-9, 9, (rows, columns)).astype(numpy_dtype(dtype))
    plan = tensorop.compile("km->m", a, threads=1)
    loops = [step for _, step in plan.schedule.steps() if isinstance(step, Loop)]
    streams = host_machine().streams
    long = columns * a.itemsize > nest.STRIP
    blocks = {loop.axis: loop.block for loop in loops}
    assert blocks.get("Y", rows) == (min(streams, rows) if long else rows)
    assert blocks.get("X", columns) <= nest.STREAM_BLOCK // streams
    np.testing.assert_array_equal(plan(a), a.sum(0, dtype=a.dtype))
