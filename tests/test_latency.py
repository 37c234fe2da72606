"""What a first and a warm call must not pay for: imports of the back end, look-ups, optimisation.

The short cuts of warm calls go by shape, dtype and one flag. Here is what they must not confuse:
layouts that the flag does not vouch for, sizes that do not fit, operands in the other order.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorop
from tensorop.calls import cache_clear, cache_info, call_for, contiguous_call
from tensorop.jit.builder import Code
from tensorop.jit.target import current_target

HEAVY = ("llvmlite", "opt_einsum", "ml_dtypes", "tensorop.planning", "tensorop.jit.generate")


def test_importing_leaves_optimizer_and_generators_alone() -> None:
    program = f"import sys, tensorop; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_every_public_name_can_be_had() -> None:
    assert set(tensorop.__all__) <= set(dir(tensorop))
    for name in tensorop.__all__:
        assert getattr(tensorop, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = tensorop.nonsense


def _matrices() -> dict[str, tuple[Any, Any]]:
    rng = np.random.default_rng(5)
    a, b = rng.integers(-9, 9, (4, 3)).astype(float), rng.integers(-9, 9, (3, 5)).astype(float)
    read_only = a.copy()
    read_only.flags.writeable = False
    return {
        "plain": (a, b),
        "again": (a + 1, b - 1),
        "read-only": (read_only, b),
        "Fortran order": (np.asfortranarray(a), np.asfortranarray(b)),
        "reversed": (a[::-1], b[:, ::-1]),
        "byte-swapped": (a.astype(">f8"), b),
        "other dtype": (a.astype("f4"), b.astype("i2")),
        "lists": (a.tolist(), b.tolist()),
        "subclass": (np.ma.array(a), b),
        "one row": (a[:1], b),
        "no rows": (a[:0], b),
        "nothing summed": (a[:, :0], b[:0]),
    }


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "einsum": lambda a, b: tensorop.einsum("ik,kj->ij", a, b),
    "transposed": lambda a, b: tensorop.einsum("ik,kj->ji", a, b).T,
    "matmul": tensorop.matmul,
    "compiled": lambda a, b: tensorop.compile("ik,kj->ij", np.asarray(a), np.asarray(b))(a, b),
}


@pytest.mark.parametrize("call", CALLS)
def test_short_cuts_take_every_layout(call: str) -> None:
    for _ in range(2):  # the second time from the cache
        for name, (a, b) in _matrices().items():
            expected = np.matmul(np.asarray(a, "f8"), np.asarray(b, "f8"))
            np.testing.assert_array_equal(CALLS[call](a, b), expected, err_msg=name)


def test_a_result_without_axes_is_a_scalar() -> None:
    a = np.arange(4.0)
    assert type(tensorop.einsum("i,i->", a, a)) is np.float64
    assert type(tensorop.compile("i,i->", a, a)(a, a)) is np.float64


def test_short_cuts_refuse_what_does_not_fit() -> None:
    a, b = np.ones((4, 3)), np.ones((1, 5))
    plan = tensorop.compile("ik,kj->ij", (4, 3), (3, 5))
    with pytest.raises(tensorop.EinsumError, match="must agree"):
        tensorop.matmul(a, b)  # matrices do not broadcast along the summed axis
    assert tensorop.einsum("ik,kj->ij", a, b).shape == (4, 5)  # labels do
    with pytest.raises(tensorop.EinsumError, match="operand 1 has shape"):
        plan(a, b)
    with pytest.raises(TypeError, match="operand 1 has dtype float32"):
        plan(a, np.ones((3, 5), "f4"))


def test_matmul_and_einsum_lay_their_results_out_each_its_own_way() -> None:
    """In one cache, under one spec and layouts: what einsum keeps in order, matmul does not."""
    a, b = np.ones((2, 3)), np.ones((3, 4))
    spec = "ik,kj->ij"
    cache_clear()
    assert tensorop.einsum(spec, a, b).flags.c_contiguous
    tensorop.matmul(a, b)
    assert call_for.cache_info().currsize == 2


def test_the_cache_counts_short_cuts() -> None:
    a = np.ones((2, 2))
    cache_clear()
    for _ in range(3):
        tensorop.einsum("ij,jk->ik", a, a)
    info = cache_info()
    assert info.misses == info.currsize == 1
    assert info.hits in (1, 2)  # the third may have been known to generated code
    assert contiguous_call.cache_info().currsize == 1
    cache_clear()
    assert cache_info().currsize == contiguous_call.cache_info().currsize == 0


def test_arithmetic_on_known_numbers_is_not_generated() -> None:
    code = Code(current_target(), "folded")
    n = code.word(code.descriptor, 0)
    lines = len(code.builder.block.instructions)
    assert code.add(2, 3).get_reference() == "5"
    assert code.mul(n, 1) is n and code.add(0, n) is n and code.sub(n, 0) is n
    assert code.mul(n, 0).get_reference() == "0" and code.at(code.frame, 0) is code.frame
    assert len(code.builder.block.instructions) == lines
    assert code.sub(0, n).get_reference() != n.get_reference()
    assert len(code.builder.block.instructions) == lines + 1


@pytest.mark.parametrize("dtype", ["f4", "c16", "i2", "?", "f2"])
def test_small_chains(dtype: str) -> None:
    """Several steps on the caller's own arrays, with sums before, between and after products."""
    rng = np.random.default_rng(3)
    shapes = {"i": 3, "j": 4, "k": 5, "l": 2, "m": 6}
    for spec in ("ij,jk,kl->il", "ijm,jk,kl->lk", "ij,jk,kl->", "i,j,k->kij", "im,mj,i,j->ij"):
        operands = [
            rng.integers(0, 3, [shapes[x] for x in term]).astype(dtype)
            for term in spec.split("->")[0].split(",")
        ]
        exact = [x.astype("f8" if dtype != "c16" else "c16") for x in operands]
        expected = np.einsum(spec, *exact)
        for _ in range(2):
            np.testing.assert_array_equal(
                tensorop.einsum(spec, *operands), expected.astype(dtype), err_msg=spec
            )
        plan = tensorop.compile(spec, *operands)
        assert plan._call._chain
        out = np.ones_like(expected.astype(dtype))
        assert plan(*operands, out=out) is out
        np.testing.assert_array_equal(out, expected.astype(dtype), err_msg=spec)


def test_large_intermediates_are_given_back_early() -> None:
    plan = tensorop.compile("ij,jk,kl->il", (400, 3), (3, 400), (400, 3), optimize=False)
    assert not plan._call._chain
