"""Products that are read where they lie: which ones, in which blocks, and that they are right."""

from __future__ import annotations

import numpy as np
import pytest

import tensorop
from tensorop.ir import Dimension, DimType, Primitive, Tensor, TensorOp
from tensorop.jit.builder import Code
from tensorop.jit.gemm_abi import GemmKernel, masks_stores
from tensorop.jit.lines import LINE
from tensorop.optimizer import balance, realign
from tensorop.optimizer.choice import Choice
from tensorop.optimizer.direct import (
    LEAST_SUM,
    NEAR_BLOCK,
    ROW_BYTES,
    SHORT_VECTORS,
    Part,
    blocks,
    direct,
)
from tensorop.optimizer.machine import Machine, host_machine
from tensorop.optimizer.pipeline import optimise
from tensorop.schedule import Call, Loop
from tests.asked import Asked, aligned
from tests.tolerance import assert_close

# A tall operand and a few columns, in the orders that are read straight.
STREAMED = ("mk,kn->mn", "mk,nk->nm", "bmk,bkn->bmn")
BY_BLOCKS = ("km,kn->nm", "km,nk->nm")


def operands(spec: str, m: int, n: int, k: int, dtype: str) -> list[np.ndarray]:
    rng = np.random.default_rng([m, n, k])
    sizes = {"m": m, "n": n, "k": k, "b": 2}
    terms = spec.split("->")[0].split(",")
    return [rng.standard_normal([sizes[x] for x in term]).astype(dtype) for term in terms]


def check(spec: str, given: list[np.ndarray], actual: np.ndarray) -> None:
    wide = np.float64 if given[0].dtype == np.float32 else np.longdouble
    expected = np.einsum(spec, *(a.astype(wide) for a in given), optimize=wide is np.float64)
    magnitude = np.einsum(spec, *(abs(a).astype("f8") for a in given), optimize=True)
    assert_close(actual, expected, magnitude, given[0].shape[spec.split(",")[0].index("k")] + 2)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("spec", STREAMED + BY_BLOCKS)
@pytest.mark.parametrize(
    ("m", "n", "k"),
    [
        (5000, 3, 70),
        (2501, 12, 333),
        (40, 2, 30_011),
        (3001, 16, 100),
        (5000, 20, 90),
        (901, 41, 900),
    ],
)
def test_thin_products(spec: str, m: int, n: int, k: int, dtype: str) -> None:
    given = operands(spec, m, n, k, dtype)
    for threads in (1, 2):
        check(spec, given, tensorop.einsum(spec, *given, threads=threads))
    out = np.ones_like(tensorop.einsum(spec, *given))
    tensorop.einsum(spec, *given, out=out, alpha=2, beta=-1)
    check(spec, [given[0] * 2, given[1]], out + 1)


@pytest.mark.parametrize("spec", STREAMED[:1] + BY_BLOCKS[:1])
def test_a_long_side_is_not_packed(spec: str) -> None:
    plan = tensorop.compile(spec, *operands(spec, 40_000, 8, 64, "float32"), threads=1)
    assert "straight from the operands" in plan.explain()
    assert not any("copy" in kernel.name for kernel in plan.kernels())


@pytest.mark.parametrize("spec", ["mk,kn->mn", "amk,akn->mn", "mbk,kmc->bc"])
def test_no_call_lasts(spec: str) -> None:
    """Between calls the driver looks for signals: some ten milliseconds of work each."""
    sizes = {"m": 30_000_000, "n": 8, "k": 20, "a": 2, "b": 2, "c": 3}
    shapes = [tuple(sizes[x] for x in term) for term in spec.split("->")[0].split(",")]
    schedule = tensorop.compile(spec, *shapes, dtypes="float32", threads=1).schedule
    loops = [step for _, step in schedule.steps() if isinstance(step, Loop)]
    assert any(schedule.axis(loop.axis).size > 10 * loop.block for loop in loops)


def test_a_side_that_is_used_often_is_packed() -> None:
    given = operands("mk,kn->mn", 1500, 1500, 1500, "float32")
    assert "packed panels pay" in tensorop.compile("mk,kn->mn", *given, threads=1).explain()


@pytest.mark.parametrize(
    ("queries", "keys", "heads", "moved"),
    [(512, 512, 8, True), (512, 512, 1, False), (40, 2000, 8, False)],
)
@pytest.mark.usefixtures("usual_machine")
def test_rows_far_from_one_another_are_moved_where_they_are_used_often(
    queries: int, keys: int, heads: int, moved: bool
) -> None:
    """The values of an attention, a head between others, or alone: into panels, or all at once."""
    shapes = (1, heads, queries, keys), (1, keys, heads, 64)
    plan = tensorop.compile("bhqk,bkhd->bqhd", *shapes, dtypes="float32", threads=1)
    explained = plan.explain()
    assert ("packed panels pay" in explained or "temporaries" in explained) == moved


FEW_RESULTS = ("dba,adc->bc", "adb,dac->bc", "dab,adc->bc", "dba,adc->cb")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("spec", FEW_RESULTS)
@pytest.mark.parametrize("work", [1 << 40, 1000, 40])  # steps of vectors that a call may have
@pytest.mark.usefixtures("usual_machine")
def test_few_results_over_two_sums(
    spec: str, dtype: str, work: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where no call has all of the sums, so that out is added to."""
    monkeypatch.setattr(balance, "CALL_VECTORS", work)
    monkeypatch.setattr(balance, "LONGEST_SUM", 1 << 40)
    monkeypatch.setattr(realign, "LEAST_POINTS", 1 << 40)
    tensorop.cache_clear()
    rng, sizes = np.random.default_rng(work), {"a": 54, "b": 2, "c": 3, "d": 1601}
    a, b = (
        rng.integers(-9, 9, [sizes[x] for x in term]).astype(dtype) for term in spec[:7].split(",")
    )
    plan = tensorop.compile(spec, a, b, threads=1)
    assert "few results" in plan.explain()
    loops = [step for _, step in plan.schedule.steps() if isinstance(step, Loop)]
    assert bool(loops) == (work < 1 << 40)
    expected = np.einsum(spec, a, b)
    np.testing.assert_array_equal(plan(a, b), expected)
    out = np.ones_like(expected)
    tensorop.einsum(spec, a, b, out=out, alpha=2, beta=3, threads=1)
    np.testing.assert_array_equal(out, 2 * expected + 3)
    tensorop.cache_clear()


def test_results_of_several_tiles_are_packed() -> None:
    """Each tile would read all of both operands."""
    plan = tensorop.compile("dba,adc->bc", (700, 32, 600), (600, 700, 32), dtypes="float64")
    assert "few results" not in plan.explain()


APPLIED = ("abkm,kn->abnm", "abkm,nk->anbm", "nk,abkm->abnm", "bakm,kn->abnm", "abjkm,jnk->abnm")


@pytest.mark.parametrize(("dtype", "m"), [("float32", 44), ("float32", 32), ("float64", 50)])
@pytest.mark.parametrize("spec", APPLIED)
def test_a_matrix_applied_to_many(spec: str, dtype: str, m: int) -> None:
    rng, sizes = np.random.default_rng(m), {"a": 20, "b": 30, "j": 2, "k": 33, "m": m, "n": 21}
    terms = spec.split("->")[0].split(",")
    a, b = (rng.integers(-9, 9, [sizes[x] for x in term]).astype(dtype) for term in terms)
    expected = np.einsum(spec, a, b, optimize=True)
    for threads in (1, 2):
        plan = tensorop.compile(spec, a, b, threads=threads)
        if m == 32 or masks_stores(dtype, host_machine().target):
            assert "which lie end to end" in plan.explain()
        np.testing.assert_array_equal(plan(a, b), expected)
    out = np.ones_like(expected)
    tensorop.einsum(spec, a, b, out=out, alpha=2, beta=3, threads=1)
    np.testing.assert_array_equal(out, 2 * expected + 3)


@pytest.mark.parametrize(
    ("spec", "n", "m"),
    [
        ("abkm,kn->abnm", 64, 64),  # many columns
        ("kabm,kn->abnm", 20, 64),  # rows far from one another
        ("abkm,kn->abnm", 20, 3),  # rows that do not fill a vector
    ],
)
def test_what_is_packed_though_many_are_alike(spec: str, n: int, m: int) -> None:
    sizes = {"a": 50, "b": 40, "k": 40, "m": m, "n": n}
    shapes = [tuple(sizes[x] for x in term) for term in spec.split("->")[0].split(",")]
    explained = tensorop.compile(spec, *shapes, dtypes="float32", threads=1).explain()
    assert "which lie end to end" not in explained


def product(*dims: Dimension) -> TensorOp:
    tensors = tuple(Tensor(role, "float32") for role in ("in0", "in1", "out"))
    return TensorOp(tensors, dims, Primitive.GEMM)


@pytest.mark.parametrize("tensor", [0, 1, 2])
def test_items_that_follow_are_asked_for(tensor: int) -> None:
    """Every line of a tensor of a batch but those of its first item; of columns, which tiles ask
    for, too, all but the first tile's."""
    items, m, n, k = 9, 48, 40, 32
    op = product(
        Dimension(DimType.C, items, (m * k, n * k, m * n)),
        Dimension(DimType.M, m, (1, 0, 1)),
        Dimension(DimType.N, n, (0, k, m)),
        Dimension(DimType.K, k, (m, 1, 0)),
    )
    machine = Machine(host_machine().target, l1=8 << 10, l2=32 << 10, l3=1 << 17)
    for l3, near, asks in ((1 << 20, True, 0), (1 << 20, False, 3), (1 << 17, True, 3)):
        seen = machine._replace(l3=l3, near_l3=near)
        schedule = optimise(op, seen, 1, Choice(regime="nest"))
        kernels = [step.kernel for _, step in schedule.steps() if isinstance(step, Call)]
        assert [kernel.asks for kernel in kernels if isinstance(kernel, GemmKernel)] == [asks]
    rng = np.random.default_rng(0)
    buffers = [aligned(rng.integers(-4, 5, items * size)) for size in (m * k, n * k, m * n)]
    lines = Asked(buffers[tensor]).of_products(schedule, buffers, (items, m, n, k))
    item = (m * k, n * k, m * n)[tensor] * 4 // LINE
    assert [line for line in lines if line >= item] == [*range(item, items * item)]
    assert tensor == 1 or lines[0] == item


@pytest.mark.parametrize(
    ("items", "n", "l2", "why"),
    [
        (5, 64, 1 << 20, True),
        (5, 64, 1 << 17, False),
        (9, 48, 1 << 20, True),
        (16, 64, 1 << 20, False),
    ],
)
def test_rows_of_items_lie_between_those_of_others(items: int, n: int, l2: int, why: bool) -> None:
    """They are read so from L2, if it holds all items, and their lines do not share sets of L1."""
    op = product(
        Dimension(DimType.C, items, (n, n, n)),
        Dimension(DimType.M, n, (1, 0, 1)),
        Dimension(DimType.N, n, (0, items * n, items * n)),
        Dimension(DimType.K, n, (items * n, 1, 0)),
    )
    machine = Machine(host_machine().target, l1=32 << 10, l2=l2, l3=32 << 20)
    assert (direct(op, machine) is not None) == why


@pytest.mark.parametrize("n", [3, 8, 13])
def test_rows_that_stream_past_are_asked_for_along(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but what a row begins with, whatever part of a tile there are columns for."""
    m, k = 4000, 40
    op = product(
        Dimension(DimType.M, m, (1, 0, 1)),
        Dimension(DimType.N, n, (0, k, m)),
        Dimension(DimType.K, k, (m, 1, 0)),
    )
    kernel, lines = asked_of_in0(op, 1 << 20, monkeypatch)
    assert kernel.along and "along" in kernel.name
    assert lines.mean() > 0.9 and not lines[:8].any()


@pytest.mark.parametrize(
    ("n", "gap", "l3", "near", "far"),
    [
        (4, 0, 1 << 20, True, True),
        (40, 0, 1 << 20, True, False),  # many columns
        (4, 16, 1 << 20, True, False),  # other rows in between
        (4, 0, 1 << 26, True, False),
        (4, 0, 1 << 20, False, False),
    ],
)
def test_matrices_from_memory_are_asked_for_into_l2(
    n: int, gap: int, l3: int, near: bool, far: bool
) -> None:
    m, k = 64, 20_000
    op = product(
        Dimension(DimType.M, m, (1, 0, 1)),
        Dimension(DimType.N, n, (0, k, m)),
        Dimension(DimType.K, k, (m + gap, 1, 0)),
    )
    machine = Machine(host_machine().target, 32 << 10, 1 << 18, l3, near_l3=near)
    schedule = optimise(op, machine, 1, Choice(regime="nest"))
    (kernel,) = [step.kernel for _, step in schedule.steps() if isinstance(step, Call)]
    assert isinstance(kernel, GemmKernel) and kernel.a == "direct"
    assert kernel.far == far and ("far" in kernel.name) == far


@pytest.mark.parametrize("m", [4, 8, 16])
@pytest.mark.parametrize("n", [2, 3, 8])
def test_short_rows_are_asked_for(n: int, m: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the first lines of a side that is read along a long sum, by tiles of few columns."""
    k = 3000
    op = product(
        Dimension(DimType.M, m, (1, 0, 1)),
        Dimension(DimType.N, n, (0, 1, m)),
        Dimension(DimType.K, k, (m, n, 0)),
    )
    kernel, lines = asked_of_in0(op, 1 << 15, monkeypatch)
    assert kernel.a == "direct" and not kernel.along
    assert lines[16:].all() and not lines[:8].any()


def asked_of_in0(
    op: TensorOp, l3: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[GemmKernel, np.ndarray]:
    """The kernel that reads a product's operands where they lie, and for each line of in0 whether
    it asks for it; the product is to be right."""
    machine = Machine(host_machine().target, l1=8 << 10, l2=24 << 10, l3=l3)
    schedule = optimise(op, machine, 1, Choice(regime="nest"))
    (kernel,) = {step.kernel for _, step in schedule.steps() if isinstance(step, Call)}
    assert isinstance(kernel, GemmKernel)
    rng = np.random.default_rng(1)
    buffers = [aligned(rng.integers(-4, 5, op.reached(tensor))) for tensor in range(3)]
    asked = Asked(buffers[0])
    monkeypatch.setattr(Code, "prefetch", lambda code, *to, **_: asked.ask(code, *to, near=False))
    asked.execute(schedule, buffers)
    a, b, out = (
        np.lib.stride_tricks.as_strided(
            x, [d.size for d in op.dimensions], [4 * d.strides[tensor] for d in op.dimensions]
        )
        for tensor, x in enumerate(buffers)
    )
    k = next(i for i, d in enumerate(op.dimensions) if d.type == DimType.K)
    np.testing.assert_array_equal(out.take(0, axis=k), np.sum(a * b, axis=k))
    return kernel, asked.lines[:-1]


@pytest.mark.parametrize("shift", [0, 4, 15])
@pytest.mark.parametrize("m", [192, 200])
def test_strips_are_read_once_and_asked_for(
    m: int, shift: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every line, wherever rows begin in one, but those of the first strip; of an item, too, that
    follows another."""
    items, n, k = 4, 20, 40
    op = product(
        Dimension(DimType.M, items, (k * m, 0, n * m)),
        Dimension(DimType.M, m, (1, 0, 1)),
        Dimension(DimType.N, n, (0, k, m)),
        Dimension(DimType.K, k, (m, 1, 0)),
    )
    machine = Machine(host_machine().target, l1=8 << 10, l2=40 << 10, l3=64 << 10)
    schedule = optimise(op, machine, 1, Choice(regime="nest"))
    (kernel,) = [step.kernel for _, step in schedule.steps() if isinstance(step, Call)]
    if not masks_stores("float32", machine.target):
        assert not kernel.strips
        pytest.skip("no masks for the rows that are left over")
    assert kernel.strips and "strips" in kernel.name
    rng = np.random.default_rng(m)
    room = aligned(rng.integers(-4, 5, items * k * m + LINE // 4))
    a = room[shift : shift + items * k * m]
    b, out = (aligned(rng.integers(-4, 5, size)) for size in (n * k, items * n * m))
    asked = Asked(room)
    monkeypatch.setattr(Code, "prefetch", lambda code, *to, **how: asked.ask(code, *to, **how))
    asked.execute(schedule, [a, b, out])
    expected = b.reshape(n, k) @ a.reshape(items, k, m)
    np.testing.assert_array_equal(out.reshape(items, n, m), expected)
    later = np.ones((items, k, m), bool)
    later[0, :, : kernel.rows(machine.target)] = False
    lines, first = (
        (np.flatnonzero(of) + shift) // (LINE // 4) for of in (later, np.logical_not(later))
    )
    assert asked.lines[np.setdiff1d(lines, first)].all()
    if m % kernel.rows(machine.target) == 0:  # else the last strip asks on into the next row
        assert not asked.lines[np.setdiff1d(first, lines)].any()


@pytest.mark.parametrize(("spec", "n"), [("bkm,nk->bnm", 24), ("km,kn->nm", 40)])
def test_a_thin_side_is_met_by_strips(spec: str, n: int) -> None:
    """Where the other side comes from memory; not where it fits in L2, nor where many columns are
    worth packing it. What they write goes past the caches if these do not hold it."""
    sizes = {"b": 8, "k": 64, "m": 40_000}

    def strips(*, past: bool = False, **other: int) -> bool:
        given = sizes | {"n": n} | other
        shapes = [tuple(given[x] for x in term) for term in spec.split("->")[0].split(",")]
        schedule = tensorop.compile(spec, *shapes, dtypes="float32", threads=1).schedule
        calls = [step for _, step in schedule.steps() if isinstance(step, Call)]
        kernels = [call.kernel for call in calls if isinstance(call.kernel, GemmKernel)]
        return any(kernel.strips and (kernel.past or not past) for kernel in kernels)

    machine = host_machine()
    assert strips() == masks_stores("float32", machine.target)
    large = machine.l3 // (4 * 64) // 16 * 16 + 80  # not whole pages
    assert strips(m=large, past=True) == (masks_stores("float32", machine.target))
    assert not strips(m=200, b=1) and not strips(n=200)


@pytest.mark.parametrize("tensor", [0, 1, 2])
def test_items_that_follow_in_rows_are_asked_for_together(
    tensor: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every line of a tensor whose rows have the items of a batch one behind the other, but those
    of the first items: a row of these is asked for when it has its turn."""
    items, m, n, k = 29, 48, 40, 32
    rows, lengths = (k, n, n), (m, k, m)
    steps = [items * length for length in lengths]
    op = product(
        Dimension(DimType.C, items, lengths),
        Dimension(DimType.M, m, (1, 0, 1)),
        Dimension(DimType.N, n, (0, steps[1], steps[2])),
        Dimension(DimType.K, k, (steps[0], 1, 0)),
    )
    machine = Machine(host_machine().target, l1=8 << 10, l2=128 << 10, l3=1 << 20)
    schedule = optimise(op, machine, 1, Choice(regime="nest"))
    (call,) = (step for _, step in schedule.steps() if isinstance(step, Call))
    assert call.kernel.asks == 3
    assert call.together == (128 << 10) // (4 * (m * k + n * k + m * n)) == 6
    rng = np.random.default_rng(0)
    shapes = [(row, items, length) for row, length in zip(rows, lengths, strict=True)]
    buffers = [
        aligned(rng.integers(-4, 5, row * step)) for row, step in zip(rows, steps, strict=True)
    ]
    a, b = (buffers[t].reshape(shapes[t]).transpose(1, 0, 2) for t in (0, 1))
    expected = np.matmul(b, a).transpose(1, 0, 2)
    asked = Asked(buffers[tensor])
    monkeypatch.setattr(Code, "prefetch", lambda code, *to, **how: asked.ask(code, *to, **how))
    asked.execute(schedule, buffers)
    np.testing.assert_array_equal(buffers[2].reshape(shapes[2]), expected)
    lines = asked.lines[:-1].reshape(rows[tensor], items, -1)
    assert lines[:, call.together :].all()
    assert tensor > 0 or not lines[0, 0].any()  # the others are asked for by tiles, too


def test_blocks_keep_the_vector_side_in_l2() -> None:
    machine = Machine(host_machine().target, 32 << 10, 1 << 20, 32 << 20)

    def of(m: int, n: int, k: int) -> Part:
        vector = Dimension(DimType.M, m, (1, 0, 1))
        other = Dimension(DimType.N, n, (0, k, m))
        return blocks(vector, other, Dimension(DimType.K, k, (m, 1, 0)), 4, machine)

    assert of(100, 5000, 1000) == Part(100, 1000)
    m, k, along = of(SHORT_VECTORS, 5000, 100_000)
    assert not along and m == SHORT_VECTORS
    assert LEAST_SUM <= k <= machine.l2 // 2 // (4 * m)
    assert of(100_000, 4, 1000) == Part(ROW_BYTES // 4, 2 * machine.streams, along=True)
    machine = machine._replace(near_l3=True)
    assert of(100_000, 4, 1000) == Part(NEAR_BLOCK[0] // 4, NEAR_BLOCK[1], along=True)


def test_parts_that_lie_backwards_are_not_asked_for() -> None:
    a = np.broadcast_to(np.arange(109 * 4, dtype=np.float32).reshape(109, 4).T, (317, 4, 109))
    b = np.ones((38, 109, 317), np.float32)[:, ::-1].transpose(1, 2, 0)
    plan = tensorop.compile("adb,bac->cda", a, b, threads=1)
    assert "asking" not in plan.explain()  # the loop over its lines would never end
    result = plan(a, b)
    expected = np.einsum("adb,bac->cda", a.astype(float), b)
    np.testing.assert_allclose(result, expected, rtol=1e-5)
