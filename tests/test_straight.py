"""Loops straight from the operands: what comes back to a cache, and what does not."""

from __future__ import annotations

from math import inf, isinf

import numpy as np
import pytest

import tensorop
from tensorop.ir import TensorOp
from tensorop.optimizer.fuse import fused
from tensorop.optimizer.normalise import normalise
from tensorop.optimizer.pipeline import optimise
from tensorop.optimizer.regime import choose
from tensorop.optimizer.straight import straight_cycles
from tests.test_realign import MACHINE, contraction

ROOMY = MACHINE._replace(l1=1 << 40, l2=1 << 41, l3=1 << 42)


@pytest.mark.parametrize(
    ("spec", "dtype", "fits"),
    [
        ("ki,kj->ji", "float32", True),
        ("ik,jk->ij", "float32", False),  # rows of neither side are vectors
        ("ki,kj->ij", "complex64", False),  # planar: packed
        ("ki,kj->ij", "float16", False),
        ("ab,ab->ab", "float32", False),  # no matrix product
    ],
)
def test_vectors_have_to_be_consecutive(spec: str, dtype: str, fits: bool) -> None:
    op = contraction(spec, dtype, i=64, j=40, k=50, a=64, b=64)
    assert isinf(straight_cycles(op, MACHINE)) != fits


def test_conjugates_are_packed() -> None:
    op = contraction("ki,kj->ij", "float32", i=64, j=40, k=50)
    in0, *others = op.tensors
    assert straight_cycles(op, MACHINE) < inf
    assert isinf(straight_cycles(op._replace(tensors=(in0._replace(conj=True), *others)), MACHINE))


def test_more_of_anything_takes_longer() -> None:
    sizes = {"i": 96, "j": 40, "k": 50, "l": 6}
    least = straight_cycles(contraction("lki,kj->lji", "float32", **sizes), MACHINE)
    for label, size in sizes.items():
        more = contraction("lki,kj->lji", "float32", **{**sizes, label: 2 * size})
        assert straight_cycles(more, MACHINE) > 1.2 * least, label


@pytest.mark.parametrize("level", ["l1", "l2", "l3"])
def test_what_a_cache_does_not_hold_costs_more(level: str) -> None:
    """Loops over l come back to in1, of 1.6 MB, which waits while the rest goes past."""
    op = contraction("lki,kj->lji", "float32", i=32, j=2000, k=200, l=64)
    small = ROOMY._replace(**{level: 1 << 16})
    assert straight_cycles(op, small) > 1.02 * straight_cycles(op, ROOMY)


def test_one_loop_over_the_same_lines_finds_them() -> None:
    """in1 waits in L2 for the next step of l, but not if what is between is larger."""
    near = contraction("lki,kj->lji", "float32", i=16, j=64, k=64, l=1000)
    far = contraction("lmki,kmj->lmji", "float32", i=16, j=64, k=64, l=50, m=20)
    machine = MACHINE._replace(l2=1 << 16, l3=1 << 40)
    held = machine._replace(l2=1 << 39)

    def missed(op: TensorOp) -> float:
        return straight_cycles(op, machine) - straight_cycles(op, held)

    assert missed(far) > missed(near)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("spec", "sizes"),
    [
        # Two sums along which the inputs lie differently, a few results.
        ("eabghcd,agbhdcf->fdea", {"a": 3, "b": 6, "c": 5, "d": 8, "e": 2, "f": 3, "g": 7, "h": 4}),
        ("acfed,ecfba->bd", {"a": 3, "b": 10, "c": 7, "d": 3, "e": 76, "f": 6}),
        ("aed,bace->cdab", {"a": 8, "b": 10, "c": 18, "d": 3, "e": 44}),
    ],
)
def test_loops_give_what_einsum_gives(spec: str, sizes: dict[str, int], dtype: str) -> None:
    inputs, _ = spec.split("->")
    rng = np.random.default_rng(5)
    operands = [
        rng.integers(-3, 4, [sizes[label] for label in term]).astype(dtype)
        for term in inputs.split(",")
    ]
    # Small integers: every sum is exact.
    np.testing.assert_array_equal(tensorop.einsum(spec, *operands), np.einsum(spec, *operands))


def test_loops_are_chosen_where_results_are_few() -> None:
    sizes = {"a": 3, "b": 10, "c": 7, "d": 3, "e": 76, "f": 6}
    op = normalise(contraction("acfed,ecfba->bd", "float64", **sizes)).op
    op = op.with_dimensions(fused(op.dimensions)[0])
    regime = choose(op, MACHINE)
    assert (regime.name, "loops" in regime.why) == ("nest", True)
    assert any("straight from the operands" in note for note in optimise(op, MACHINE, 1).notes)
