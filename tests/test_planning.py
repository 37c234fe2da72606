"""Planning is quick: what makes it so decides as the plain way does, and the effort, counted in
Python calls since times are not the same twice, stays in bounds and grows with what is planned."""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Iterator, Sequence
from functools import _lru_cache_wrapper
from itertools import pairwise
from math import prod
from types import FrameType
from typing import Any

import numpy as np
import pytest

import tensorop
from tensorop import planning, plans
from tensorop.bench.cases import Case
from tensorop.bench.random_cases import random_cases
from tensorop.calls import call_for, contiguous
from tensorop.config import CACHE
from tensorop.ir import Dimension, DimType, Primitive, Tensor, TensorOp
from tensorop.jit.elements import GATHERED
from tensorop.layout import packed
from tensorop.optimizer import realign as passes
from tensorop.optimizer.cost import bound_cycles, least_cycles
from tensorop.optimizer.fuse import fused
from tensorop.optimizer.layouts import SMALL, Layouts
from tensorop.optimizer.machine import Machine, host_machine
from tensorop.optimizer.normalise import normalised
from tensorop.optimizer.realign import (
    FEWER,
    FREE,
    GAIN,
    LINK,
    NEAR_BEST,
    NEW,
    UNSURE,
    Realigned,
    realign,
)
from tensorop.optimizer.stream_cost import stream_cycles
from tensorop.optimizer.vectors import FEW_POINTS, least_stream_cycles, vectors_and_rows
from tensorop.program import Options

MACHINE = host_machine()


def operation(case: Case) -> TensorOp:
    """The step of a case of the suite `random`."""
    dtype = np.dtype(case.dtype)
    layouts = []
    for shape, steps in zip(case.shapes, case.layouts, strict=False):
        strides = steps or packed(range(len(shape))[::-1], shape, 1)
        layouts.append((shape, tuple(s * dtype.itemsize for s in strides), dtype, True))
    options = tuple(Options(order="C"))
    return call_for(case.spec, tuple(layouts), None, options, 1).program.steps[-1].op


@pytest.fixture(scope="module")
def operations() -> list[TensorOp]:
    """Random products of two tensors, normalised."""
    cases = [*random_cases(5, 30, (1e4, 1e6)), *random_cases(6, 30, (1e6, 1e8))]
    found = [normalised(operation(case)) for case in cases]
    return [op for op in found if len(op.tensors) == 3]


# ---------------------------------------------------------------- what is decided


def test_the_cheapest_stream_is_the_first_of_all(operations: Sequence[TensorOp]) -> None:
    tried = 0
    for op in operations:
        op = op.with_dimensions(fused(op.dimensions)[0])
        if len(op.dimensions) < 2 or np.prod([d.size for d in op.dimensions]) < FEW_POINTS:
            continue
        pairs = [(y, x) for x in op.dimensions for y in op.dimensions if x is not y]
        every = [stream_cycles(op, x, y, MACHINE) for y, x in pairs]
        rows, inner = vectors_and_rows(op, op.dimensions, MACHINE)
        first = pairs[every.index(min(every))]
        assert rows is first[0] and inner is first[1]
        assert least_stream_cycles(op, MACHINE) == min(every)
        tried += 1
    assert tried > 20


def plain_fused(dimensions: Sequence[Dimension]) -> list[Dimension]:
    """The smallest seeker with its smallest partner, until there is none."""
    left = list(dimensions)

    def pair() -> tuple[Dimension, Dimension] | None:
        by_size = sorted(left, key=lambda d: d.size)
        for a in by_size:
            for b in by_size:
                for outer, inner in ((b, a), (a, b)):
                    ends = tuple(inner.size * s for s in inner.strides)
                    same = (outer.type, outer.exec) == (inner.type, inner.exec)
                    if a is not b and same and outer.strides == ends:
                        return outer, inner
        return None

    while (found := pair()) is not None:
        outer, inner = found
        both = inner._replace(size=outer.size * inner.size, name=outer.name + inner.name)
        left = [both if d is inner else d for d in left if d is not outer]
    return left


def test_fusing_is_that_of_pairs() -> None:
    rng, fewer = random.Random(0), 0
    for _ in range(300):
        dims = []
        for type_, present in ((DimType.M, (1, 0, 1)), (DimType.K, (1, 1, 0))):
            step = 1
            for i in range(rng.randint(0, 6)):
                size = rng.choice((2, 2, 3, 4))
                dims.append(Dimension(type_, size, tuple(step * p for p in present), name=str(i)))
                step *= size if rng.random() < 0.7 else 2 * size
        rng.shuffle(dims)
        found, merged = fused(dims)
        expected = plain_fused(dims)
        assert list(found) == expected
        assert [d.name for d in found] == [d.name for d in expected]
        assert len(found) + len(merged) == len(dims)
        fewer += bool(merged)
    assert fewer > 100


def test_layouts_are_those_of_plain_sorting(operations: Sequence[TensorOp]) -> None:
    for op, is_new in itertools.product(operations, (False, True)):
        plans = Layouts(op, out_is_new=is_new).plans()
        found = [[plan(t) for t in range(3)] for plan in plans]
        assert found == [[plan(t) for t in range(3)] for plan in plain_layouts(op, is_new)]


def plain_layouts(op: TensorOp, out_is_new: bool) -> Iterator[Any]:
    """The dimensions of a tensor, sorted as they lie in it and then by a key."""
    dims, out = op.dimensions, op.out

    def ordered(tensor: int, key: Any) -> tuple[int, ...]:
        has = [i for i, d in enumerate(dims) if d.strides[tensor]]
        has.sort(key=lambda i: -abs(dims[i].strides[tensor]))
        return tuple(sorted(has, key=lambda i: key(dims[i])))

    guide = max((0, 1), key=op.reached) if out_is_new else out

    def as_matrices(last: DimType, t: int) -> tuple[int, ...]:
        def key(d: Dimension) -> tuple[object, ...]:
            side = {DimType.M: 0, DimType.N: 1}.get(d.type, guide) if t == out else t
            return d.type != DimType.C, t == out and d.type == last, -abs(d.strides[side])

        return ordered(t, key)

    def as_read(last: DimType, t: int) -> tuple[int, ...]:
        side = 0 if last == DimType.M else 1

        def key(d: Dimension) -> tuple[object, ...]:
            guide = 1 - side if d.type == DimType.K else side
            return d.type != DimType.C, d.type == last, -abs(d.strides[guide])

        return ordered(t, key) if t == side else as_matrices(last, t)

    def as_lanes(t: int) -> tuple[int, ...]:
        def key(d: Dimension) -> tuple[object, ...]:
            return d.type == DimType.C, -abs(d.strides[out if d.type == DimType.C else t])

        return ordered(t, key)

    def as_summed(side: int, t: int) -> tuple[int, ...]:
        sums = [abs(d.strides[side]) for d in op.of_type(DimType.K)]

        def key(d: Dimension) -> tuple[int, int]:
            reads, other = (abs(d.strides[s]) for s in (side, 1 - side))
            return -reads if reads else -min(sums), -other

        return ordered(t, key if t == out else lambda d: 0)

    points = prod(d.size for d in dims if d.type != DimType.C)
    has_lanes = bool(op.of_type(DimType.C)) and points <= SMALL and op.dtype not in GATHERED

    def like(leader: int, t: int) -> tuple[int, ...]:
        return ordered(t, lambda d: (d.strides[leader] != 0, -abs(d.strides[leader])))

    if all(op.of_type(t) for t in (DimType.M, DimType.N, DimType.K)):
        for way in (as_matrices, as_read):
            yield from (lambda t, w=way, s=s: w(s, t) for s in (DimType.M, DimType.N))
        if has_lanes:
            yield as_lanes
    yield from (lambda t, s=s: like(s, t) for s in range(3))
    if {d.type for d in dims} == {DimType.M, DimType.N, DimType.K}:
        yield from (lambda t, s=s: as_summed(s, t) for s in (0, 1))


def plain_realign(op: TensorOp, out_is_new: bool) -> Realigned:
    """`realign` of a product, dimension by dimension, with every candidate looked at."""
    lies, bound = passes.cycles(op, MACHINE), bound_cycles(op, MACHINE)
    given = Realigned(op, cycles=lies)
    above, surely = lies / least_cycles(op, MACHINE), passes.cycles(op, MACHINE, True)
    if bound >= FREE * lies or above < NEAR_BEST:
        return given
    out_is_new = out_is_new and above >= NEW
    may_copy = LINK + bound < GAIN * lies
    if not may_copy and not out_is_new:
        return given
    chosen, least = given, surely
    for candidate in passes._candidates(op, range(3) if may_copy else (2,), MACHINE):
        copied = [t for t in candidate.orders if not (out_is_new and t == op.out)]
        own = candidate._replace(orders={t: candidate.orders[t] for t in copied})
        price = passes._begun(own, MACHINE)
        price += sum(passes.cycles(candidate.copy(t), MACHINE) for t in copied)
        if price + bound >= least or not own.fits(MACHINE):
            continue
        price += passes.cycles(candidate.main(), MACHINE, True) + own.in_pieces(MACHINE)
        free = min(FREE * surely, UNSURE * lies)
        if price < min(least, GAIN * lies if copied else free):
            chosen, least = candidate._replace(cycles=price), price
    return chosen


def test_a_search_finds_what_one_over_all_dimensions_finds() -> None:
    moved = joined = same = 0
    for case in random_cases(9, 60, (1e5, 1e7)):
        given = normalised(operation(case))
        for op in (given, given.with_dimensions(tuple(halves(given)))):
            op = normalised(op)
            if len(op.tensors) != 3:
                continue
            for out_is_new in (False, True):
                found = realign(op, MACHINE, out_is_new=out_is_new)
                plain = plain_realign(op, out_is_new)
                # Candidates are left out by what others take, which is no bound of theirs.
                assert FEWER * found.cycles <= plain.cycles or not plain.cycles, case.spec
                moved += bool(found.orders)
                same += found.orders == plain.orders
                joined += bool(found.orders) and len(fused(op.dimensions)[0]) < len(op.dimensions)
    assert moved > 40 and joined > 10 and same > 0.95 * 4 * 60


def test_plans_do_not_depend_on_what_was_planned_before() -> None:
    """Nor on whether the order of a new result was searched for, or known from the disk."""
    moved = 0
    for case in random_cases(9, 60, (1e5, 1e7)):
        op = normalised(operation(case))
        if len(op.tensors) != 3:
            continue
        planning.forget()
        found = planning._realigned(op)
        planning.forget()
        _, order = planning.preferred_order(op)
        assert planning._realigned(op) == found
        if not order:
            continue
        moved += 1
        steps, step = {}, 1
        for i in reversed(order):
            steps[i], step = step, step * op.dimensions[i].size
        dims = enumerate(op.dimensions)
        new = op.with_dimensions(
            tuple(d.stepping((*d.strides[:-1], steps.get(i, 0))) for i, d in dims)
        )
        after = planning._realigned(new)
        planning.forget()
        assert planning._realigned(new) == after
    assert moved > 10


def test_the_order_of_a_new_result_takes_one_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it stays as it is."""
    searched = []

    def search(op: TensorOp, machine: Machine, *, out_is_new: bool = False) -> Realigned:
        searched.append(out_is_new)
        return realign(op, machine, out_is_new=out_is_new)

    monkeypatch.setattr(planning, "realign", search)
    a, b = np.ones((30, 20, 40), np.float32), np.ones((40, 50), np.float32)
    tensorop.cache_clear()
    with CACHE(0):
        tensorop.einsum("abk,kc->abc", a, b)
    assert searched == [True]


def halves(op: TensorOp) -> Iterator[Dimension]:
    """The dimensions of even size in two."""
    for d in op.dimensions:
        if d.size % 2 == 0 and d.size > 2:
            yield d._replace(size=2, strides=tuple(s * (d.size // 2) for s in d.strides))
            yield d._replace(size=d.size // 2)
        else:
            yield d


def test_operations_differ_in_all_but_names() -> None:
    tensors = tuple(Tensor(role, "float32") for role in ("in0", "in1", "out"))
    dims = (Dimension(DimType.M, 3, (1, 0, 1), name="i"), Dimension(DimType.K, 4, (3, 1, 0)))
    op = TensorOp(tensors, dims, Primitive.GEMM)
    same = op.with_dimensions((dims[0]._replace(name="x"), dims[1]))
    assert op == same and (op != same) is False and hash(op) == hash(same)
    others = [
        op.with_dimensions(dims[::-1]),
        op.with_dimensions((dims[0].sized(5), dims[1])),
        op._replace(main=Primitive.BRGEMM),
        op._replace(tensors=(tensors[0]._replace(conj=True), *tensors[1:])),
        op._replace(last_touch=Primitive.RELU),
    ]
    assert all(op != other for other in others) and op != tuple(op)


# ---------------------------------------------------------------- how long it takes


def calls_to_plan(spec: str, shapes: Sequence[tuple[int, ...]], optimize: Any = "auto") -> int:
    """Python calls to plan a contraction whose kernels exist."""
    layouts = tuple(contiguous(shape, np.dtype("float32")) for shape in shapes)
    options = tuple(Options(optimize=optimize))
    call_for.__wrapped__(spec, layouts, None, options, 1)
    plans.cache_clear()
    for name, module in list(sys.modules.items()):
        for value in vars(module).values() if name.startswith("tensorop.optimizer") else ():
            if isinstance(value, _lru_cache_wrapper) and value.cache_info().maxsize != 1:
                value.cache_clear()
    count = 0

    def profile(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        call_for.__wrapped__(spec, layouts, None, options, 1)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.usefixtures("usual_machine")
def test_a_product_is_planned_in_few_calls() -> None:
    assert calls_to_plan("ij,jk->ik", [(37, 53), (53, 91)]) < 1300


def test_effort_grows_as_the_operands_do() -> None:
    def chain(length: int) -> float:
        sizes = random.Random(length).choices(range(8, 40), k=length + 1)
        labels = [chr(192 + i) for i in range(length + 1)]
        spec, shapes = ",".join(map("".join, pairwise(labels))), list(pairwise(sizes))
        return calls_to_plan(f"{spec}->{labels[0]}{labels[-1]}", shapes, False) / (length - 1)

    assert chain(40) < 1.25 * chain(10)


def test_effort_grows_as_the_labels_do() -> None:
    def state(qubits: int) -> int:
        """Of operands that agree on no two neighbours: nothing fuses."""
        labels = "abcdefghijklmnopqrstuvwxyz"[:qubits]
        a, b = labels[::2] + labels[1::4], labels[3::4] + labels[::2][::-1]
        out = "".join(sorted({*a} ^ {*b}, reverse=True))
        return calls_to_plan(f"{a},{b}->{out}", [(2,) * len(a), (2,) * len(b)])

    assert state(24) < 2.5 * state(12)
