"""numpy's own test_einsum.py, of the installed numpy, with `tensorop` in numpy's place.

`load` runs the source of that module with a stand-in for `numpy`, whose einsum and einsum_path are
ours, and returns its tests. `LEFT_OUT` names the tests that can't hold here, and why.
"""

from __future__ import annotations

import importlib.util
import sys
import types
from typing import Any

import numpy as np
import numpy.testing  # numpy imports it lazily: while the stand-in is there, into the stand-in
import pytest

from tensorop.einsum import einsum
from tensorop.functions import einsum_path

OBJECTS = "it contracts object arrays, whose elements no machine code can multiply"
LEFT_OUT = {
    "TestEinsum.test_einsum_object_errors": OBJECTS,
    "TestEinsum.test_einsum_sums_object": OBJECTS,
    "TestEinsum.test_object_loop": OBJECTS,
    "TestEinsum.test_einsum_0d_out": (
        "it writes a float64 result into an int64 out, which casting='safe', the default, forbids; "
        "numpy checks the rule only without optimize=, tensorop always"
    ),
    "TestEinsum.test_subscript_range": (
        "its last assertions want sublist labels above 51 refused; tensorop takes any non-negative "
        "integer (test_einsum_semantics.py tests the range)"
    ),
}


class _Numpy(types.ModuleType):
    """numpy, with our functions in place of its own."""

    einsum = staticmethod(einsum)
    einsum_path = staticmethod(einsum_path)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def load() -> dict[str, Any]:
    """The tests of numpy's module by name, as pytest collects them."""
    spec = importlib.util.find_spec("numpy._core.tests.test_einsum")
    if spec is None or spec.origin is None:
        pytest.skip("this numpy was installed without its tests", allow_module_level=True)
    module = importlib.util.module_from_spec(spec)
    sys.modules["numpy"] = _Numpy("numpy")
    try:
        spec.loader.exec_module(module)
    finally:
        sys.modules["numpy"] = np
    assert np.testing is numpy.testing
    tests = {k: v for k, v in vars(module).items() if k.lower().startswith("test")}
    for name, reason in LEFT_OUT.items():
        holder, test = name.split(".")
        method = getattr(tests.get(holder), test, None)
        if method is not None:
            setattr(tests[holder], test, pytest.mark.skip(reason=reason)(method))
    return tests
