"""What the optimizer's estimates say: they grow with what is to be done, and each cost that was
measured has its price."""

from __future__ import annotations

import numpy as np
import pytest

from tensorop.ir import Dimension, DimType, Primitive, Tensor, TensorOp
from tensorop.jit.lines import LINE
from tensorop.jit.target import current_target
from tensorop.optimizer import cost
from tensorop.optimizer import realign as passes
from tensorop.optimizer.cost import least_cycles, planar_cycles
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.planar import planar_of
from tensorop.optimizer.realign import cycles, realign
from tensorop.optimizer.regime import choose
from tensorop.optimizer.stream_cost import stream_cycles
from tensorop.optimizer.transfer import (
    BYTES_PER_CYCLE,
    LINE_CYCLES,
    MEMORY,
    bytes_of,
)
from tests.test_blocked import draw
from tests.test_realign import MACHINE, contraction


def test_reading_again_has_its_price() -> None:
    """Of two inputs that each lack a loop, one is read again for every step of the other's."""
    both = contraction("mck,nck->mnc", m=20, n=30, c=1000, k=50)
    m, c, k, n = both.dimensions
    assert (m.name, c.name, k.name, n.name) == ("m", "c", "k", "n")
    small = MACHINE._replace(l1=1 << 10, l2=1 << 12, l3=1 << 14)

    def dearer(op: TensorOp) -> float:
        """Than with caches that hold everything."""
        roomy = MACHINE._replace(l1=1 << 30, l2=1 << 30, l3=1 << 31)
        return stream_cycles(op, k, c, small) - stream_cycles(op, k, c, roomy)

    again = min(29 * bytes_of(both, 0), 19 * bytes_of(both, 1))
    once = bytes_of(both, 0) + bytes_of(both, 1) + bytes_of(both, 2)
    assert dearer(both) > 0.9 * again / BYTES_PER_CYCLE[MEMORY]
    lacks_none = both.with_dimensions((m._replace(size=1), c, k, n))
    assert dearer(lacks_none) < 2 * once / BYTES_PER_CYCLE[MEMORY]


def test_lines_that_follow_no_others_have_their_price() -> None:
    """Two elements of a row share a line, and the next row has another one: those that are near one
    another are read ahead."""
    near = contraction("ab,ab->ab", "float64", a=1 << 20, b=4)
    a, b = near.dimensions
    apart = {s: a._replace(strides=(s, *a.strides[1:])) for s in (8, 1 << 10)}
    picked = b._replace(size=2, strides=(2, 1, 1))
    prices = [
        stream_cycles(near.with_dimensions((rows, picked)), picked, rows, MACHINE)
        for rows in apart.values()
    ]
    assert prices[1] > prices[0] + LINE_CYCLES[MEMORY] / 8 * a.size


def test_writing_takes_longer_than_reading() -> None:
    """A line is read before it is written: as many bytes take longer if some are written."""
    spread, summed = (contraction(s, a=4000, b=4000) for s in ("ab,a->ab", "ab,ab->a"))
    sizes = [sum(bytes_of(op, t) for t in range(3)) for op in (spread, summed)]
    assert sizes[0] == sizes[1]
    reads = sizes[0] / BYTES_PER_CYCLE[MEMORY]
    assert least_cycles(spread, MACHINE) > 1.4 * reads > least_cycles(summed, MACHINE)


def test_sums_down_what_lies_end_to_end_have_their_price() -> None:
    """Vectors whose elements are apart, but of which all rows that are summed lie together."""
    a, b = Dimension(DimType.C, 36442, (54, 1, 1)), Dimension(DimType.K, 27, (2, 36442, 0))
    tensors = tuple(Tensor(role, "float64") for role in ("in0", "in1", "out"))
    op = TensorOp(tensors, (a, b), Primitive.GEMM)
    machine = Machine(current_target(), l1=48 << 10, l2=1 << 20, l3=32 << 20)
    assert stream_cycles(op, a, b, machine) < stream_cycles(op, b, a, machine)


def test_parts_of_vectors_that_are_gathered_have_their_price() -> None:
    """Each of their lanes is read by itself, whether it counts or not: they take longer than whole
    ones."""
    lanes, tensors = MACHINE.lanes("float64"), [Tensor(t, "float64") for t in ("in0", "in1", "out")]

    def cycles_of(size: int) -> float:
        x = Dimension(DimType.C, size, (5, 1, 1))
        y = Dimension(DimType.C, 8, (5 * size, size, size))
        return stream_cycles(TensorOp(tuple(tensors), (y, x), Primitive.GEMM), x, y, MACHINE)

    assert lanes == 1 or cycles_of(2 * lanes - 1) > cycles_of(2 * lanes)


@pytest.mark.parametrize("columns", [40, 64, 100])
def test_pieces_of_records_from_memory_have_their_price(columns: int) -> None:
    """They are many places at once: rows are then summed as they lie; in L3 they may stay."""
    dims = Dimension(DimType.M, 1 << 18, (columns, 1)), Dimension(DimType.K, columns, (1, 0))
    op = TensorOp((Tensor("in0", "float32"), Tensor("out", "float32")), dims, Primitive.SUM)
    near = Machine(current_target(), l1=32 << 10, l2=1 << 20, l3=1 << 30)
    far = near._replace(l3=8 << 20)
    planar = planar_of(op, near)
    if planar is None:
        pytest.skip("records are not taken apart on this target")
    waits = planar_cycles(planar, op, far) - planar_cycles(planar, op, near)
    assert waits > bytes_of(op, 0) / LINE * LINE_CYCLES[MEMORY] / 2
    assert choose(op, far).name == "nest"


def test_elements_that_rows_wait_for_have_their_price() -> None:
    """Those that one call has of an input lie far from those of the next, unless a copy of it is as
    the larger input lies."""
    T = DimType
    rows = (T.K, 223, (162864, 29, 0)), (T.C, 18, (1508, 6467, 1508))
    d, e = Dimension(T.C, 29, (52, 1, 52)), Dimension(T.M, 52, (1, 0, 1))
    tensors = tuple(Tensor(role, "float32") for role in ("in0", "in1", "out"))
    machine = Machine(current_target(), l1=32 << 10, l2=1 << 18, l3=32 << 20)
    outer = [Dimension(*row) for row in rows]
    near = [outer[0].stepping((162864, 18 * 29, 0)), outer[1].stepping((1508, 29, 1508))]
    costs = [
        stream_cycles(TensorOp(tensors, (*loops, d, e), Primitive.GEMM), e, d, machine)
        for loops in (near, outer)
    ]
    assert costs[1] > 1.02 * costs[0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_estimates_grow_with_what_is_to_be_done(dtype: str) -> None:
    sizes = {"a": 512, "b": 384, "c": 64}
    well = cycles(contraction("ab,ab->ab", dtype, **sizes), MACHINE)
    across = cycles(contraction("ab,ba->ab", dtype, **sizes), MACHINE)
    assert well < 0.6 * across
    assert least_cycles(contraction("ab,ab->ab", dtype, **sizes), MACHINE) <= well
    small = cycles(contraction("ac,cb->ab", dtype, **sizes), MACHINE)
    large = cycles(contraction("ac,cb->ab", dtype, **{**sizes, "c": 128}), MACHINE)
    assert 1.3 * small < large < 2.5 * small


def test_stores_far_apart_cost_most_in_memory() -> None:
    """Lines of which a tile stores a part only are read first: where they come from memory, out
    that ends runs within a vector costs more than one that does not, for the same bytes."""
    sizes = {"a": 72, "b": 24, "c": 72, "d": 72, "e": 72}
    held = MACHINE._replace(l3=1 << 40)

    def dearer(machine: Machine) -> float:
        apart, whole = (
            cycles(contraction(spec, "float64", **sizes), machine)
            for spec in ("aebd,ce->dcba", "aebd,ce->cabd")
        )
        return apart - whole

    assert dearer(MACHINE) > 1.5 * dearer(held) > 0


@pytest.mark.parametrize(("columns", "shows"), [(24, True), (2400, False)])
def test_what_is_asked_for_ahead_costs_less(
    columns: int, shows: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part of the time to read a large input once, if it is multiplied by few columns."""
    op = contraction("ba,cb->ca", a=40_000, b=360, c=columns)
    asked = cost.product_cycles.__wrapped__(op, MACHINE)
    monkeypatch.setattr(cost, "HIDDEN", 0.0)
    saved = cost.product_cycles.__wrapped__(op, MACHINE) - asked
    read = max(bytes_of(op, t) for t in (0, 1)) / BYTES_PER_CYCLE[MEMORY]
    assert 0 < saved < read if shows else saved == 0


PLAIN = ("ij,jk->ik", "ji,jk->ik", "ij,kj->ik", "ji,kj->ki", "ij,jk->ki", "jik,kl->lij")


SIDES = {"i": 90, "j": 70, "k": 110, "l": 50}


@pytest.mark.parametrize("dtype", ["float32", "complex64", "float16"])
@pytest.mark.parametrize("out_is_new", [False, True])
def test_the_bound_hides_nothing(
    dtype: str, out_is_new: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a search comes to is the same without it."""
    rng, moved = np.random.default_rng(4), 0
    for case in (*range(150), *PLAIN):
        op = draw(rng, dtype)[0] if isinstance(case, int) else contraction(case, dtype, **SIDES)
        found = realign(op, MACHINE, out_is_new=out_is_new)
        passes._searched.cache_clear()
        with monkeypatch.context() as patch:
            patch.setattr(passes, "bound_cycles", lambda op, machine: 0.0)
            assert realign(op, MACHINE, out_is_new=out_is_new).orders == found.orders, op
        passes._searched.cache_clear()
        moved += bool(found.orders)
    assert moved > 5
