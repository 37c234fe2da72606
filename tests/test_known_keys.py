"""By what repeated calls are known: keywords, specs made for a call, sublists, views."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorop
from tensorop import known
from tensorop.jit.warm import array_api
from tests.known_calls import array, frames_of

pytestmark = [
    pytest.mark.skipif(array_api() is None, reason="arrays are not read by generated code"),
    pytest.mark.usefixtures("nothing_known"),
]


def test_keywords_are_known_with_their_calls() -> None:
    a, b = array("ij", "float64", 1, 1), array("jk", "float64", 2, 1)
    for given in (
        {"order": "C"},
        {"order": "F"},
        {"dtype": "c16"},
        {"dtype": np.float64},
        {"threads": 1},
        {"conj": (0,)},
        {"casting": "unsafe"},
        {"optimize": "greedy"},
        {"optimize": False},
        {"optimize": ((0, 1),)},
    ):
        right = tensorop.einsum("".join(["ij,", "jk->ik"]), a, b, **given)
        for _ in range(3):
            result = tensorop.einsum("ij,jk->ik", a, b, **given)
        assert result.dtype == right.dtype and result.strides == right.strides
        np.testing.assert_array_equal(result, right)
        frames = frames_of(lambda given=given: tensorop.einsum("ij,jk->ik", a, b, **given))
        assert ("contract" in frames) == (type(given.get("optimize")) is tuple)
    for wrong in (
        {"threads": 1.0},
        {"threads": True},
        {"order": ["C"]},
        {"optimize": 1},
        {"optimize": 0},
        {"optimize": ((0.0, 1.0),)},
        {"conj": (False,)},
        {"conj": (0.0,)},
    ):
        for _ in range(3):
            with pytest.raises((TypeError, ValueError)):
                tensorop.einsum("ij,jk->ik", a, b, **wrong)
    asked: list[int] = []

    def optimizer(*_: Any) -> list[tuple[int, ...]]:
        asked.append(1)
        return [(0, 1), (0, 1)]

    for _ in range(5):
        tensorop.einsum("ij,jk,kl->il", a, b, b.T, optimize=optimizer)
    assert len(asked) == 5


def test_specs_that_are_made_for_a_call() -> None:
    a, b = array("ij", "float64", 1), array("jk", "float64", 2)

    def made() -> np.ndarray:
        return tensorop.einsum(",".join(["ij", "jk"]) + "->ik", a, b)

    own = "".join(["ij,jk", "->ik"])
    for _ in range(4):
        np.testing.assert_array_equal(made(), a @ b)
    assert "contract" not in frames_of(made)
    assert len(known._records) == 1
    for _ in range(6):
        tensorop.einsum(own, a, b)
    assert not frames_of(lambda: tensorop.einsum(own, a, b))
    lists = [tensorop.einsum([[1.0, 2], [3, 4]], [0, 1], [5.0, 6], [1], [0]) for _ in range(4)]
    np.testing.assert_array_equal(lists, [[17, 39]] * 4)


def test_sublists_are_not_taken_for_others() -> None:
    a = array("ij", "float64", 1)[:4, :4]
    for _ in range(4):
        for given in ({}, {"order": "C"}, {"dtype": "f8"}, {"threads": 1}):
            plain = tensorop.einsum(2.0, [], a, [0, 1], [0, 1], **given)
            turned = tensorop.einsum(2.0, [], a, [0, 1], [1, 0], **given)
            np.testing.assert_array_equal(plain, 2 * a)
            np.testing.assert_array_equal(turned, 2 * a.T)


def test_views_of_one_operand() -> None:
    a = array("ij", "float64", 1)
    for _ in range(3):
        view = tensorop.einsum("ij->ji", a)
        assert np.shares_memory(view, a) and view.flags.writeable
        np.testing.assert_array_equal(view, a.T)
        for spec in ("ij->k", "i->i", "ii->i"):
            with pytest.raises(tensorop.EinsumError):
                tensorop.einsum(spec, a)
