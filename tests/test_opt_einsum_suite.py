"""opt_einsum's own suite on `backend="tensorop"` (see opt_einsum_suite.py)."""

from __future__ import annotations

import numpy as np
import pytest
from opt_einsum.backends.dispatch import get_func

import tensorop
from tensorop.einsum import cache_info
from tests.opt_einsum_suite import (
    BACKEND,
    contract_expression,
    load,
    on_tensorop,
    original_contract,
)

globals().update(load())


@pytest.mark.parametrize("name", ["einsum", "tensordot", "transpose"])
def test_opt_einsum_finds_our_functions(name: str) -> None:
    assert get_func(name, BACKEND) is getattr(tensorop, name)


def test_contractions_run_on_tensorop() -> None:
    a, b = np.ones((3, 4)), np.ones((4, 5, 7, 11))
    before = cache_info()
    on_tensorop(original_contract)("ij,jklm->ikl", a, b)
    contract_expression("ij,jklm->ikm", a.shape, b.shape)(a, b)
    after = cache_info()
    assert after.misses > before.misses
