"""opt_einsum's own tests, of the installed opt_einsum, contracting on `backend="tensorop"`.

opt_einsum's suite has no switch for the backend. `load` therefore runs the source of its test
modules with `contract` and `contract_expression` that ask for `tensorop` wherever a test asks for
numpy or for nothing in particular. Its `test_parser`, `test_paths` and `test_blas` contract
nothing, and `test_backends` is about other libraries and object arrays, so they are not run.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import opt_einsum
import pytest
from opt_einsum.contract import ContractExpression

MODULES = ("test_contract", "test_input", "test_edge_cases", "test_sharing")
BACKEND = "tensorop"
NUMPYS = ("auto", "numpy", None)


def on_tensorop(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with numpy's place as a backend taken by tensorop."""

    def replaced(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("backend", "auto") in NUMPYS:
            kwargs["backend"] = BACKEND
        return function(*args, **kwargs)

    return replaced


class Expression(ContractExpression):
    """A contract expression that runs on tensorop."""

    def __call__(self, *arrays: Any, **kwargs: Any) -> Any:
        if kwargs.get("backend", "auto") in NUMPYS:
            kwargs["backend"] = BACKEND
        return super().__call__(*arrays, **kwargs)


def contract_expression(*args: Any, **kwargs: Any) -> Any:
    expression = original_expression(*args, **kwargs)
    expression.__class__ = Expression
    return expression


original_contract = opt_einsum.contract
original_expression = opt_einsum.contract_expression


@contextmanager
def replaced_entries() -> Iterator[None]:
    """opt_einsum's entries, replaced while a test module imports them."""
    opt_einsum.contract = on_tensorop(original_contract)
    opt_einsum.contract_expression = contract_expression
    try:
        yield
    finally:
        opt_einsum.contract = original_contract
        opt_einsum.contract_expression = original_expression


def load() -> dict[str, Any]:
    """The tests of all modules, by module and name, as pytest collects them."""
    tests: dict[str, Any] = {}
    for name in MODULES:
        for key, test in vars(_module(name)).items():
            if key.startswith("test_"):
                tests[f"{name}_{key.removeprefix('test_')}"] = test
    return tests


def _module(name: str) -> Any:
    spec = importlib.util.find_spec(f"opt_einsum.tests.{name}")
    if spec is None or spec.loader is None:
        pytest.skip("this opt_einsum was installed without its tests", allow_module_level=True)
    module = importlib.util.module_from_spec(spec)
    with replaced_entries():
        spec.loader.exec_module(module)
    if hasattr(module, "backends"):
        # test_sharing.py names its backends, numpy and other libraries.
        module.backends[:] = [BACKEND]
        module.to_backend[BACKEND] = lambda array: array
    return module
