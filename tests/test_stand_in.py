"""Operations of nearly the same sizes are decided on alike, and about as well as each by itself."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import gcd, log, prod

import numpy as np
import pytest

import tensorop
from tensorop import planning
from tensorop.bench.random_cases import random_cases
from tensorop.ir import Dimension, DimType, Primitive, Tensor, TensorOp
from tensorop.optimizer import realign as search
from tensorop.optimizer.fuse import fused
from tensorop.optimizer.machine import host_machine
from tensorop.optimizer.normalise import normalised
from tensorop.optimizer.realign import Realigned, realign
from tensorop.optimizer.regime import EVERYWHERE, choose, choose_alike
from tensorop.optimizer.stand_in import EXACT, LONGEST, largest, stand_in
from tests.test_planning import operation
from tests.test_realign import contraction

MACHINE = host_machine()._replace(l1=32 << 10, l2=1 << 20, l3=32 << 20)


def products() -> Iterator[TensorOp]:
    """Random products of two tensors, normalised, that are not their own stand-ins."""
    for case in (*random_cases(21, 80, (1e4, 1e6)), *random_cases(22, 80, (1e6, 1e8))):
        op = normalised(operation(case))
        if len(op.tensors) == 3 and stand_in(op) is not op:
            yield op


def offsets(op: TensorOp, tensor: int) -> list[int]:
    """Of all elements of a tensor."""
    dims = [d for d in op.dimensions if d.strides[tensor]]
    steps = [range(0, d.size * d.strides[tensor], d.strides[tensor]) for d in dims]
    return [sum(at) for at in product(*steps)]


def test_sizes_are_a_little_smaller_and_leave_as_much_over() -> None:
    stood = set()
    for size in range(1, 3000):
        op = contraction("ij,jk->ik", i=size, j=2, k=3)
        found = next(d.size for d in stand_in(op).dimensions if d.type == DimType.M)
        assert found == size if size <= EXACT else 7 * size <= 8 * found <= 8 * size
        if size >= 16 * EXACT // 2:
            left, divisor = gcd(found, 16), gcd(size, 16)
            assert left == divisor or (left, divisor) == (1, 2)
        stood.add(found)
    assert len(stood) < 300
    large = contraction("ij,jk->ik", i=1001, j=1001, k=1001)
    assert prod([d.size for d in large.dimensions]) > LONGEST and stand_in(large) is large


def test_the_largest_has_the_same_stand_in() -> None:
    reached = {}
    for size in range(1, 3000):
        op = contraction("ij,jk->ik", i=size, j=2, k=3)
        most = largest(op)
        assert stand_in(most) == stand_in(op) and largest(most) == most
        last = next(d.size for d in most.dimensions if d.type == DimType.M)
        assert last >= size and reached.setdefault(stand_in(op), last) == last


def test_a_stand_in_that_is_run_otherwise_is_not_trusted() -> None:
    """It fits where the operation does not, and would be left as it lies."""
    op = normalised(contraction("caeb,bcde->cbad", a=135, b=77, c=9, d=34, e=3))
    alone = search._searched.__wrapped__
    assert alone(op, MACHINE, False).orders and not alone(stand_in(op), MACHINE, False).orders
    assert realign(op, MACHINE).orders == alone(op, MACHINE, False).orders


def test_tensors_lie_as_those_they_stand_for() -> None:
    """End to end, with the same gaps, forwards or backwards; and no element of out is in two."""
    apart = 0
    for op in products():
        found = stand_in(op)
        assert found._replace(dimensions=()) == op._replace(dimensions=())
        for t in range(3):
            old, new = ([(d.size, d.strides[t]) for d in x.dimensions] for x in (op, found))
            ends = {abs(step) * size: i for i, (size, step) in enumerate(old) if step}
            for (_, before), (_, after) in zip(old, new, strict=True):
                assert (before > 0) == (after > 0) and (before < 0) == (after < 0)
                inner = ends.get(abs(before))
                if inner is None and abs(before) != 1:
                    assert before == after
                    apart += before != 0
                elif inner is not None:
                    assert abs(after) in (abs(new[inner][1]) * new[inner][0], abs(before))
        if found.reached(2) < 10_000:
            written = offsets(found, 2)
            assert len(set(written)) == len(written)
    assert apart > 10


def test_strides_of_an_array_that_reaches_further_stay() -> None:
    """Rows of a cache: of 4096 for 100 columns, of which 90 are asked for, backwards."""
    tensors = tuple(Tensor(role, "float32") for role in ("in0", "in1", "out"))
    dims = (
        Dimension(DimType.M, 1001, (-100, 0, 1)),
        Dimension(DimType.N, 70, (0, 1, 1001)),
        Dimension(DimType.K, 90, (1, 70, 0)),
    )
    found = stand_in(TensorOp(tensors, dims, Primitive.GEMM)).dimensions
    assert [(d.size, d.strides) for d in found] == [
        (961, (-100, 0, 1)),
        (65, (0, 1, 961)),
        (89, (1, 65, 0)),
    ]


@pytest.mark.parametrize("out_is_new", [False, True])
def test_what_is_moved_costs_as_little_as_what_a_search_of_its_own_finds(out_is_new: bool) -> None:
    same, asked, lost = 0, 0, 0.0
    for op in products():
        found = realign(op, MACHINE, out_is_new=out_is_new)
        own = search._searched(op, MACHINE, out_is_new)
        asked += 1
        same += found.orders == own.orders
        if found.orders != own.orders:
            lost += log(cost(found, out_is_new) / cost(own, out_is_new))
    assert asked > 50 and same > 0.9 * asked and lost < 0.02 * asked


def cost(chosen: Realigned, out_is_new: bool) -> float:
    """Cycles of an operation and of the copies of what is moved."""
    copied = [t for t in chosen.orders if not (out_is_new and t == chosen.op.out)]
    own = chosen._replace(orders={t: chosen.orders[t] for t in copied})
    copies = search._begun(own, MACHINE) + search._copying(MACHINE)(chosen, copied)
    return copies + search.cycles(chosen.main(), MACHINE, bool(chosen.orders))


def test_the_regime_is_the_one_of_the_exact_sizes() -> None:
    ops = [op.with_dimensions(fused(op.dimensions)[0]) for op in products()]
    pairs = [(choose_alike(op, MACHINE).name, choose(op, MACHINE).name) for op in ops]
    assert sum(a == b for a, b in pairs) > 0.95 * len(pairs)
    # What depends on exact sizes is decided by them.
    assert all(a == b for a, b in pairs if a not in EVERYWHERE)


def test_a_dimension_that_grows_is_searched_for_a_few_times() -> None:
    planning.forget()
    search._searched.cache_clear()
    for n in range(256, 512):
        realign(contraction("hd,hnd->hn", h=8, d=64, n=n), MACHINE)
    assert search._searched.cache_info().misses <= 8 * 5


def test_results_are_right_at_all_sizes() -> None:
    rng = np.random.default_rng(3)
    for n in (*range(60, 75), *range(120, 136)):
        a = rng.integers(-4, 5, (2, n, 3, 17)).astype("float32")
        b = rng.integers(-4, 5, (2, n, 3, 17)).astype("float32")
        spec = "bqhd,bkhd->bhqk"
        expected = np.einsum(spec, a, b, optimize=True)
        np.testing.assert_array_equal(tensorop.einsum(spec, a, b), expected)


def test_temporaries_of_the_exact_sizes_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else another search is made, for these; and labels are those of the operation asked about."""
    op = normalised(contraction("ab,ba->ba", a=588, b=403))
    found, limit = realign(op, MACHINE), 4 * 588 * 403 - 1
    assert found.orders and found.held > limit > 4 * prod(d.size for d in stand_in(op).dimensions)
    search._searched.cache_clear()
    monkeypatch.setattr(search, "MOST", limit)
    for labels in ("ab", "xy"):
        named = op.with_dimensions(
            tuple(d._replace(name=label) for d, label in zip(op.dimensions, labels, strict=True))
        )
        parts = realign(named, MACHINE)
        assert parts.fits(MACHINE) and parts.orders != found.orders
        assert [d.name for d in parts.op.dimensions] == [*labels]
    search._searched.cache_clear()
