"""Results that leave the caches: whole lines, turned rows, and runs by way of a stage, in the five
loops with tiny caches; against the plain reference."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import pytest

import tensorop
from tensorop.bind import bind
from tensorop.bind_copies import pack_kernel
from tensorop.ir import Dimension, DimType, Primitive, Tensor, TensorOp
from tensorop.jit.builder import Code, Value
from tensorop.jit.gemm_abi import stores_stretches
from tensorop.jit.lines import LINE
from tensorop.jit.target import current_target
from tensorop.optimizer import blocked as five_loops
from tensorop.optimizer import window
from tensorop.optimizer.items import itemised, items_of
from tensorop.optimizer.machine import host_machine
from tensorop.optimizer.past import leaves_caches
from tensorop.schedule import Call, Loop, Pack, Schedule
from tests.asked import Asked, aligned
from tests.strategies import numpy_dtype
from tests.test_blocked import TINY, does_the_same


@pytest.mark.parametrize(("m", "past"), [(3072, True), (3076, False)])
def test_what_leaves_the_caches_is_stored_past_them(m: int, past: bool) -> None:
    """Columns that are whole lines, of a result that begins with a line, or not."""
    rng = np.random.default_rng(m)
    n = min(host_machine().l3, host_machine().kept) // (4 * m) + 1
    a, b = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((6, m), (n, 6)))
    plan = tensorop.compile("km,nk->nm", a, b, threads=1)
    if current_target().vector_bytes == LINE:
        assert ("past the caches" in plan.explain()) == past
    expected = b @ a
    room = np.empty(expected.size + 2 * LINE, np.float32)
    first = -room.ctypes.data % LINE // 4
    for shift in (0, 1, 4, 12):
        out = room[first + shift :][: expected.size].reshape(n, m)
        np.testing.assert_array_equal(plan(a, b, out=out), expected)
    np.testing.assert_array_equal(plan(a, b, out=out, beta=1), 2 * expected)


def test_what_an_l3_that_many_share_does_not_keep_leaves_it() -> None:
    dims = Dimension(DimType.N, 3000, (0, 1, 3072)), Dimension(DimType.M, 3072, (1, 0, 1))
    op = TensorOp(tuple(Tensor(r, "float32") for r in ("in0", "in1", "out")), dims, Primitive.GEMM)
    machine = host_machine()._replace(l3=480 << 20)
    for kept, past in ((64 << 20, False), (32 << 20, True), (1 << 60, False)):
        assert leaves_caches(op, machine._replace(kept=kept), sums_inside=True) == past, kept


def does_the_same_in_place(
    op: TensorOp,
    schedule: Schedule,
    rng: np.random.Generator,
    threads: int,
    *factors: tuple[int, int],
) -> None:
    """For every alpha and beta; the result begins within a line as the operation says, and what is
    beside it is not touched."""
    dtype = numpy_dtype(op.dtype)
    in0, in1, inside = (prod(d.size for d in op.dimensions if d.strides[t]) for t in range(3))
    room = np.zeros(inside + 2 * LINE, dtype)
    first = (-room.ctypes.data % LINE + (op.tensors[op.out].begins or 0)) // dtype.itemsize
    inputs = [rng.integers(-4, 5, size).astype(dtype) for size in (in0, in1)]
    for each in factors:
        does_the_same(op, schedule, [*inputs, room[first : first + inside]], threads, *each)
    assert not room[:first].any() and not room[first + inside :].any()


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int16"])
def test_rows_are_turned_where_out_begins_within_a_line(
    dtype: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In blocks, windows and every way of packing."""
    monkeypatch.setattr(window, "LONGEST", 1 << 10)
    monkeypatch.setattr(window, "LEAST", 1 << 7)
    rng = np.random.default_rng(threads)
    size, kinds = numpy_dtype(dtype).itemsize, set()
    if size not in TINY.target.masked:
        pytest.skip("no masks to store parts of vectors with")
    for _ in range(40):
        run = [int(n) for n in (rng.choice([1, 2, 4, 16]), rng.choice([128, 256, 320, 640]))]
        sizes = [int(rng.integers(1, 4)), *run[:: int(rng.choice([1, -1]))]]
        n, k, shift = (int(x) for x in rng.integers(1, (90, 20, LINE // size)))
        inside = prod(sizes)
        strides = [[0] * 5 for _ in range(3)]
        for tensor, own in ((0, [0, 1, 2, 4]), (1, [3, 4])):
            step = 1
            for i in rng.permutation(own):
                strides[tensor][i] = step
                step *= [*sizes, n, k][i]
        strides[2] = [sizes[1] * sizes[2], sizes[2], 1, inside, 0]
        types = (DimType.M,) * 3 + (DimType.N, DimType.K)
        rows = zip(types, [*sizes, n, k], zip(*strides, strict=True), strict=True)
        tensors = (
            Tensor("in0", dtype),
            Tensor("in1", dtype),
            Tensor("out", dtype, begins=shift * size),
        )
        dims = tuple(Dimension(*row) for row in rows if row[1] > 1)
        op = TensorOp(tensors, dims, Primitive.GEMM)
        if not op.of_type(DimType.K):
            continue
        schedule = five_loops.blocked(op, TINY, threads, False)
        by, length = schedule.axis("M").turned
        assert by in (0, LINE // size - shift)
        packs = [s for _, s in schedule.steps() if isinstance(s, Pack) and s.tensor == 0]
        (call,) = [s for _, s in schedule.steps() if isinstance(s, Call)]
        assert call.kernel.past or not by
        if by:
            mode = pack_kernel(schedule, packs[0], TINY.target).mode
            anew = any(s.anew for _, s in schedule.steps() if isinstance(s, Loop))
            kinds |= {mode, length, anew}
        does_the_same_in_place(op, schedule, rng, threads, (1, 0))
    assert {"along", "across", True, False} <= kinds and len(kinds) > 6


def staged_case(
    sizes: Sequence[int], dtype: str, begins: int, rng: np.random.Generator | None = None
) -> TensorOp:
    """A product whose result is [m1][n1][m0][n0][run], a size that is 1 being left out; inputs in
    any order."""
    m1, n1, m0, n0, run, k = sizes
    own = [m1, m0, run, n1, n0, k]
    strides = [[0] * 6 for _ in range(3)]
    for tensor, labels in ((0, [0, 1, 2, 5]), (1, [3, 4, 5])):
        step = 1
        for i in labels[::-1] if rng is None else rng.permutation(labels):
            strides[tensor][i] = step
            step *= own[i]
    step = 1
    for i in (2, 4, 1, 3, 0):
        strides[2][i] = step
        step *= own[i]
    types = (DimType.M,) * 3 + (DimType.N,) * 2 + (DimType.K,)
    rows = zip(types, own, zip(*strides, strict=True), strict=True)
    tensors = Tensor("in0", dtype), Tensor("in1", dtype), Tensor("out", dtype, begins=begins)
    return TensorOp(tensors, tuple(Dimension(*r) for r in rows if r[1] > 1), Primitive.GEMM)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int16"])
def test_runs_are_stored_by_way_of_a_stage(
    dtype: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In blocks, windows and every way of packing; nothing beside the result is touched."""
    monkeypatch.setattr(window, "LONGEST", 1 << 10)
    monkeypatch.setattr(window, "LEAST", 1 << 7)
    if not stores_stretches(dtype, TINY.target):
        pytest.skip("no masks, or vectors that are no lines")
    rng = np.random.default_rng(threads)
    size, seen = numpy_dtype(dtype).itemsize, set()
    for _ in range(60):
        run = int(rng.integers(16, 36)) * 16 // size
        outer = [int(n) for n in rng.choice([1, 2, 3, 5, 9], 3)]
        sizes = [*outer, int(rng.integers(1, 60)), run, int(rng.integers(2, 30))]
        shift = int(rng.integers(LINE // size))
        op = staged_case(sizes, dtype, shift * size, rng)
        machine = TINY._replace(l2=1 << int(rng.integers(15, 19)))
        schedule = five_loops.blocked(op, machine, threads, False)
        (call,) = [s for _, s in schedule.steps() if isinstance(s, Call)]
        anew = any(s.anew for _, s in schedule.steps() if isinstance(s, Loop))
        seen.add((call.kernel.store, anew))
        does_the_same_in_place(op, schedule, rng, threads, *((1, 0), (1, 1), (2, 0), (2, 3)))
    assert {("staged", False), ("staged", True)} <= seen


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int16"])
def test_cut_lines_are_joined_where_columns_lie_one_behind_the_other(
    dtype: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In runs of whole lines, short ones too, where out begins within a line."""
    monkeypatch.setattr(window, "LONGEST", 1 << 10)
    monkeypatch.setattr(window, "LEAST", 1 << 7)
    size = numpy_dtype(dtype).itemsize
    if size not in TINY.target.masked or TINY.target.vector_bytes != LINE:
        pytest.skip("no masks, or vectors that are no lines")
    rng, seen = np.random.default_rng(threads), set()
    for _ in range(40):
        run = int(rng.choice([1, 2, 3, 5, 8])) * LINE // size
        m1, n1, m0 = (int(n) for n in rng.choice([1, 2, 3, 9], 3))
        n0 = int(rng.choice([24, 48, 25]))
        sizes = (m1, n1, m0, n0, run, int(rng.integers(2, 30)))
        shift = int(rng.integers(1, LINE // size))
        op = staged_case(sizes, dtype, shift * size, rng)
        schedule = five_loops.blocked(op, TINY, threads, False)
        (call,) = [s for _, s in schedule.steps() if isinstance(s, Call)]
        seen.add((call.kernel.joined, n0, min(n1, m0) > 1))
        does_the_same_in_place(op, schedule, rng, threads, *((1, 0), (1, 1), (2, 3)))
    assert {(True, 24, True), (True, 48, True), (True, 25, False)} <= seen
    assert (True, 25, True) not in seen


def test_columns_that_lie_apart_are_not_joined() -> None:
    """A schedule whose kernel joins them is refused."""
    if 4 not in TINY.target.masked or TINY.target.vector_bytes != LINE:
        pytest.skip("no masks, or vectors that are no lines")
    op = staged_case((1, 1, 1, 800, 64, 5), "float32", 16)
    schedule = five_loops.blocked(op, TINY, 1, False)
    (call,) = [s for _, s in schedule.steps() if isinstance(s, Call)]
    assert call.kernel.joined
    bind(schedule, TINY.target)
    apart = [
        d._replace(strides=(*d.strides[:2], 2 * d.strides[2])) if d.type == DimType.N else d
        for d in schedule.op.dimensions
    ]
    axes = [
        a._replace(dimensions=tuple(d for d in apart if d.type == a.type)) for a in schedule.axes
    ]
    moved = schedule._replace(op=schedule.op.with_dimensions(tuple(apart)), axes=tuple(axes))
    with pytest.raises(ValueError, match="one behind the other"):
        bind(moved, TINY.target)


def test_parts_of_runs_are_not_stored_by_way_of_a_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a window that cuts a run; and whole runs are shared only if every thread gets its part."""
    op = staged_case((1, 1, 1, 400, 272, 7), "int16", 0)
    uneven = staged_case((1, 1, 30, 400, 100, 32), "float64", 0)
    machine = TINY._replace(l2=1 << 20)
    schedules = [five_loops.blocked(uneven, machine, threads, False) for threads in (1, 4)]
    schedules.append(five_loops.blocked(op, machine, 1, False))
    monkeypatch.setattr(window, "LONGEST", 1 << 8)
    monkeypatch.setattr(window, "LEAST", 1 << 7)
    schedules.append(five_loops.blocked(op, machine, 1, False))
    stores = [s.kernel.store for x in schedules for _, s in x.steps() if isinstance(s, Call)]
    if not stores_stretches("float64", TINY.target):
        assert "staged" not in stores
        return
    assert [store == "staged" for store in stores] == [True, False, True, False]


@pytest.mark.parametrize("begins", [0, 4, 12])
@pytest.mark.parametrize(("m", "n"), [(3, 100), (25, 8)])
def test_lines_of_a_stage_are_completed(
    m: int, n: int, begins: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the next panel, the next run, or one before it: without stores past the caches, all but
    the first and the last part of a line of the result stay as they were."""
    op = staged_case((1, 1, m, n, 76, 5), "float32", 4 * begins)
    schedule = five_loops.blocked(op, TINY._replace(l2=1 << 20), 1, False)
    (call,) = [s for _, s in schedule.steps() if isinstance(s, Call)]
    if call.kernel.store != "staged":
        pytest.skip("no masks, or vectors that are no lines")
    rng, inside = np.random.default_rng(0), m * n * 76
    a, b, room = (aligned(rng.integers(1, 5, size)) for size in (m * 380, n * 5, inside + LINE))
    out = room[begins : begins + inside]
    monkeypatch.setattr(Code, "store_past_caches", lambda *arguments: None)
    out[:] = np.nan
    Asked(a).execute(schedule, [a, b, out])
    lanes = LINE // 4
    whole = (begins + inside) // lanes - -(-begins // lanes)
    assert np.isnan(out).sum() == whole * lanes


@pytest.mark.parametrize(("m0", "n0"), [(25, 8), (3, 60)])
def test_parts_of_lines_are_asked_for_before_they_are_stored(
    m0: int, n0: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every line that is stored through the caches, as nothing completed it."""
    op = staged_case((3, 4, m0, n0, 76, 5), "float32", 16)
    schedule = five_loops.blocked(op, TINY._replace(l2=1 << 20), 1, False)
    (call,) = [s for _, s in schedule.steps() if isinstance(s, Call)]
    if call.kernel.store != "staged":
        pytest.skip("no masks, or vectors that are no lines")
    rng = np.random.default_rng(0)
    in0, in1, inside = (prod(d.size for d in op.dimensions if d.strides[t]) for t in range(3))
    a, b, room = (aligned(rng.integers(1, 5, size)) for size in (in0, in1, inside + LINE))
    room[:] = np.nan
    asked = Asked(room)

    def ask(code: Code, address: Value, *, near: bool = True, write: bool = False) -> None:
        if write:
            asked.ask(code, address, near=False)

    monkeypatch.setattr(Code, "prefetch", ask)
    monkeypatch.setattr(Code, "store_past_caches", lambda *arguments: None)
    asked.execute(schedule, [a, b, room[4 : 4 + inside]])
    lanes = LINE // 4
    through = np.flatnonzero(~np.isnan(room)) // lanes
    assert 2 < len(np.unique(through)) < inside // lanes // 4
    assert asked.lines[np.unique(through)].all()


@pytest.mark.parametrize("begins", [0, 4, 12])
@pytest.mark.parametrize("n", [48, 50])
def test_whole_lines_are_stored_past_the_caches(
    n: int, begins: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever out begins: without such stores all of its vectors but those at the ends of rows,
    and in the columns that fill no tile, stay as they were; those at the ends of rows, too, but at
    the ends of tiles."""
    m, k = 384, 5
    sides = ((DimType.M, m, (1, 0, 1)), (DimType.N, n, (0, k, m)), (DimType.K, k, (m, 1, 0)))
    dims = tuple(Dimension(type_, size, strides) for type_, size, strides in sides)
    out = Tensor("out", "float32", begins=4 * begins)
    tensors = (Tensor("in0", "float32"), Tensor("in1", "float32"), out)
    op = TensorOp(tensors, dims, Primitive.GEMM)
    schedule = five_loops.blocked(op, TINY, 1, False)
    (call,) = [s for _, s in schedule.steps() if isinstance(s, Call)]
    if not call.kernel.past:
        pytest.skip("nothing is stored past the caches")
    rng = np.random.default_rng(0)
    a, b, room = (aligned(rng.integers(1, 5, size)) for size in (m * k, n * k, m * n + LINE))
    out = room[begins : begins + m * n]
    monkeypatch.setattr(Code, "store_past_caches", lambda *arguments: None)
    out[:] = np.nan
    Asked(a).execute(schedule, [a, b, out])
    columns = n // call.kernel.columns * call.kernel.columns
    lanes = call.kernel.lanes(TINY.target)
    cut = begins % lanes > 0
    assert call.kernel.joined == cut
    between = columns - columns // call.kernel.columns if call.kernel.joined else 0
    assert np.isnan(out).sum() == (columns * (m // lanes - cut) + between) * lanes
    monkeypatch.undo()
    Asked(a).execute(schedule, [a, b, out])
    expected = b.reshape(n, k) @ a.reshape(k, m)
    np.testing.assert_array_equal(out.reshape(n, m), expected)


@pytest.mark.parametrize("n", [8, 24])
def test_columns_of_items_are_stored_as_lines(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that end within lines, but lie end to end: without stores past the caches nothing is
    stored."""
    items, lanes, k = 40, TINY.lanes("float32"), 5
    m = lanes + lanes // 2
    rows = (
        (DimType.C, items, (m * k, n * k, m * n)),
        (DimType.M, m, (1, 0, 1)),
        (DimType.N, n, (0, k, m)),
        (DimType.K, k, (m, 1, 0)),
    )
    tensors = tuple(Tensor(role, "float32") for role in ("in0", "in1", "out"))
    op = TensorOp(tensors, tuple(Dimension(*row) for row in rows), Primitive.GEMM)
    machine = TINY._replace(l1=16 << 10, l2=16 << 10, l3=24 << 10)
    found = items_of(op, machine)
    assert found is not None
    schedule = itemised(found, machine, 1)
    (kernel,) = [s.kernel for _, s in schedule.steps() if isinstance(s, Call)]
    if not kernel.past:
        pytest.skip("nothing is stored past the caches")
    assert m * 4 % LINE == 0 or kernel.joins(machine.target)
    rng = np.random.default_rng(0)
    a, b, out = (aligned(rng.integers(1, 5, items * size)) for size in (m * k, n * k, m * n))
    out[:] = np.nan
    with monkeypatch.context() as patched:
        patched.setattr(Code, "store_past_caches", lambda *arguments: None)
        Asked(a).execute(schedule, [a, b, out])
    assert np.isnan(out).all()
    Asked(a).execute(schedule, [a, b, out])
    expected = b.reshape(items, n, k) @ a.reshape(items, k, m)
    np.testing.assert_array_equal(out.reshape(items, n, m), expected)
