"""Functions and plans that generated code stands before: explained, and called without Python."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import pydoc
import sys
import weakref
from itertools import islice
from typing import Any

import numpy as np
import pytest

import tensorop
from tensorop.jit.warm import array_api
from tests.known_calls import Calls, differs, frames_of

pytestmark = [
    pytest.mark.skipif(array_api() is None, reason="arrays are not read by generated code"),
    pytest.mark.usefixtures("nothing_known"),
]


def test_random_calls_do_the_same_by_generated_code_and_by_python() -> None:
    for call in islice(Calls(1), 2500):
        assert not differs(call)


def test_no_frame_of_python() -> None:
    """In what is known; a keyword that says nothing new costs some."""
    a, out = np.ones((4, 4)), np.zeros((4, 4))
    plan = tensorop.compile("ij,jk->ik", a, a)
    calls: list[Any] = [
        lambda: plan(a, a),
        lambda: plan(a, a, out=out),
        lambda: plan(a, a, out=out, alpha=2, beta=1),
        lambda: tensorop.einsum("ij,jk->ik", a, a),
        lambda: tensorop.einsum("ij,jk->ik", a, a, alpha=2.0, out=out),
        lambda: tensorop.einsum("ij->j", a),
        lambda: tensorop.matmul(a, a),
        lambda: tensorop.matmul(a, a, out),
        lambda: tensorop.matmul(a, a, out=out),
        lambda: tensorop.vecdot(a, a),
    ]
    for call in calls:
        tensorop.cache_clear()
        assert frames_of(call)
        call(), call()
        assert not frames_of(call)
    tensorop.einsum("ij,jk->ik", a, a), tensorop.einsum("ij,jk->ik", a, a)
    assert frames_of(lambda: tensorop.einsum("ij,jk->ik", a, a, optimize=True)) == ["einsum"]


@pytest.mark.parametrize("name", ["einsum", "matmul", "vecdot"])
def test_functions_explain_themselves(name: str) -> None:
    function = getattr(tensorop, name)
    assert type(function) is type(len)
    assert (function.__name__, function.__qualname__) == (name, name)
    assert pickle.loads(pickle.dumps(function)) is function
    assert copy.deepcopy(function) is function
    parameters = inspect.signature(function).parameters
    assert parameters["out"].default is None and parameters["order"].default == "K"
    text = pydoc.plain(pydoc.render_doc(function))
    assert f"{name}(" in text and "Parameters" in text and "owner" not in text


def test_what_functions_do_not_take() -> None:
    """They are told so by Python, also where the rest of the call is known."""
    a, out = np.ones((4, 4)), np.zeros((4, 4))
    for _ in range(3):
        for function in (tensorop.matmul, tensorop.vecdot):
            target = out if function is tensorop.matmul else out[0]
            assert function(a, a, out=target) is target
            for wrong in ({"alpha": 1}, {"beta": 1, "out": target}, {"other": 3}):
                with pytest.raises(TypeError, match="unexpected keyword"):
                    function(a, a, **wrong)
            with pytest.raises(TypeError, match="multiple values"):
                function(a, a, target, out=target)
            for few in ((), (a,), (a, a, target, None)):
                with pytest.raises(TypeError, match="positional"):
                    function(*few)
        assert tensorop.matmul(a, a, None).base is None
        with pytest.raises(tensorop.EinsumError, match="needs a spec"):
            tensorop.einsum()
    assert (out == 4).all()


def test_a_plan_is_called_without_python() -> None:
    a, b, out = np.ones((5, 6)), np.ones((6, 4)), np.zeros((5, 4))
    plan = tensorop.compile("ij,jk->ik", a, b)
    assert type(plan) is not tensorop.Plan and isinstance(plan, tensorop.Plan)
    assert "operands" in str(inspect.signature(plan))
    assert (plan.__call__(a, b) == 6).all()
    for _ in range(3):
        assert plan(a, b, out=out) is out and (out == 6).all()
        assert (plan(a, b) == 6).all()
        assert (plan(a.tolist(), b, alpha=2, beta=1, out=out) == 18).all()
        assert plan(*(a, b), **{"o" + "ut": out}) is out and (out == 6).all()
        with pytest.raises(TypeError, match="unexpected keyword"):
            plan(a, b, other=out)
        with pytest.raises(tensorop.EinsumError, match="called with 0"):
            plan()
        with pytest.raises(tensorop.EinsumError, match="called with 1"):
            plan(b)
    total = tensorop.compile("ij->i", a)
    for _ in range(3):
        assert (total(a) == 6).all()
    assert tensorop.compile("ij->ji", a)(a).base is a  # nothing to be learnt
    object.__delattr__(plan, "_own")
    with pytest.raises(RuntimeError, match="destroyed"):  # as the garbage collector may leave it
        plan(a, b)


def test_plans_die_with_their_last_reference() -> None:
    """They are in no circle, and what they were called with is not kept."""
    a, b, out = np.ones((4, 4)), np.ones((4, 4)), np.zeros((4, 4))
    plan = tensorop.compile("ij,jk->ik", a, b)
    odd = {"beta": 1}

    def call(plan: tensorop.Plan) -> None:
        plan(a, b)
        plan(a, b, out=out)
        plan(a, b, out=out, **odd)
        for wrong in ((a,), (a, b, out), (a, 3)):
            with pytest.raises((ValueError, TypeError)):
                plan(*wrong)

    for _ in range(10):
        call(plan)
    kept = (a, b, out, a.dtype, None, odd)
    gc.collect()  # what other tests have left refers to None, too
    before = [sys.getrefcount(x) for x in kept]
    for _ in range(2000):
        call(plan)
    gc.collect()
    after = [sys.getrefcount(x) for x in kept]
    # A leak would be one a call; None also comes and goes elsewhere.
    assert all(abs(x - y) < 500 for x, y in zip(after, before, strict=True))
    gc.disable()
    try:
        gone = weakref.ref(plan)
        del plan
        assert gone() is None
    finally:
        gc.enable()
