"""Every test of numpy's test_einsum.py, run against tensorop (see numpy_suite.py)."""

from __future__ import annotations

import numpy as np

from tensorop.einsum import cache_info
from tests.numpy_suite import LEFT_OUT, load

globals().update(load())


def test_the_suite_runs_against_tensorop() -> None:
    before = cache_info()
    vars(globals()["TestEinsum"])["test_einsum_sums_int8"](globals()["TestEinsum"]())
    after = cache_info()
    assert after.hits + after.misses > before.hits + before.misses
    assert np.einsum.__module__ == "numpy"


def test_what_is_left_out_is_skipped_for_its_reason() -> None:
    """Those that this numpy has: its versions differ in a few tests."""
    found = []
    for name, reason in LEFT_OUT.items():
        holder, test = name.split(".")
        if (method := getattr(globals()[holder], test, None)) is not None:
            (mark,) = method.pytestmark
            found.append((mark.name, mark.kwargs["reason"]) == ("skip", reason))
    assert found and all(found)
