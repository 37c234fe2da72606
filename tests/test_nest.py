"""Plain loop nests: how the calls of a stream kernel are cut, and that sums are right however."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tensorop
from tensorop import plan_store
from tensorop.ir import Dimension, DimType, ExecType, Primitive, Tensor, TensorOp
from tensorop.jit.builder import Code
from tensorop.jit.lines import LINE
from tensorop.jit.stream_abi import JOINED, StreamKernel, picks
from tensorop.jit.target import current_target
from tensorop.optimizer import nest, shared_axis, transfer, walk, window
from tensorop.optimizer.joined import NARROW
from tensorop.optimizer.machine import Machine, host_machine
from tensorop.optimizer.pipeline import plan_stages
from tensorop.optimizer.vectors import vectors_and_rows
from tensorop.schedule import Call, Loop
from tests.asked import Asked, aligned
from tests.random_einsums import check, draw
from tests.strategies import numpy_dtype
from tests.test_batch_schedules import laid_out
from tests.test_blocked import TINY, does_the_same


def test_vectors_lie_along_most_tensors_where_memory_is_the_bound() -> None:
    """cab,bca->cba: what is apart is read once, too, and takes as long as what is not."""
    c = Dimension(DimType.C, 1172, (648, 36, 648))
    a = Dimension(DimType.C, 36, (18, 1, 1))
    b = Dimension(DimType.C, 18, (1, 42192, 36))
    tensors = tuple(Tensor(name, "float64") for name in ("in0", "in1", "out"))
    op = TensorOp(tensors, (c, b, a), Primitive.GEMM)
    machine = host_machine()._replace(l1=1 << 15, l2=1 << 20, l3=1 << 25)
    assert vectors_and_rows(op, op.dimensions, machine) == [b, a]


def test_what_is_read_again_is_near() -> None:
    """e,dcba->adecb: a row of in1, which L1 holds, times every e, not all of it, which L2 holds."""
    e = Dimension(DimType.M, 19, (1, 0, 1200))
    da = Dimension(DimType.N, 84, (0, 1200, 22800))
    cb = Dimension(DimType.N, 1200, (0, 1, 1))
    tensors = tuple(Tensor(name, "float64") for name in ("in0", "in1", "out"))
    machine = host_machine()._replace(l1=1 << 15, l2=1 << 20, l3=1 << 25)
    for dims in ((e, da, cb), (da, e, cb)):
        op = TensorOp(tensors, dims, Primitive.GEMM)
        assert vectors_and_rows(op, op.dimensions, machine) == [e, cb]


@pytest.mark.parametrize(
    ("rows", "columns", "cut"),
    [(17, 15_000, True), (1, 15_000, False), (17, 1500, False), (170, 15_000, False)],
)
def test_outer_products_in_caches_are_cut_along_rows(rows: int, columns: int, cut: bool) -> None:
    """So that L1 holds what every row reads; not where out is in memory."""
    sides = (DimType.M, rows, (1, 0, columns)), (DimType.N, columns, (0, 1, 1))
    tensors = tuple(Tensor(name, "float64") for name in ("in0", "in1", "out"))
    op = TensorOp(tensors, tuple(Dimension(*side) for side in sides), Primitive.GEMM)
    machine = host_machine()._replace(l1=1 << 15, l2=1 << 20, l3=1 << 25)
    (stage,) = plan_stages(op, machine, 1)
    blocks = {s.axis: s.block for _, s in stage.schedule.steps() if isinstance(s, Loop)}
    assert blocks.get("X", columns) * 8 <= machine.l1 // 2 if cut else "X" not in blocks


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int16"])
@pytest.mark.parametrize(("rows", "columns"), [(100, 5), (100, 150), (100, 300), (37, 70_000)])
def test_sums_over_rows_take_some_at_a_time(rows: int, columns: int, dtype: str) -> None:
    """Of long rows, so many that the hardware follows them; short ones all at once."""
    rng = np.random.default_rng(rows)
    a = rng.integers(-9, 9, (rows, columns)).astype(numpy_dtype(dtype))
    plan = tensorop.compile("km->m", a, threads=1)
    loops = [step for _, step in plan.schedule.steps() if isinstance(step, Loop)]
    streams = host_machine().down
    (kernel,) = [s.kernel for _, s in plan.schedule.steps() if isinstance(s, Call)]
    long = columns * a.itemsize > walk.STRIP and not kernel.width
    vectors = columns / current_target().lanes(a.itemsize)
    assert kernel.width <= vectors + 2 and (not kernel.width or vectors <= kernel.width <= 24)
    if current_target().free_masks and dtype in ("float32", "complex64"):
        assert bool(kernel.width) == (
            64 < columns * a.itemsize // 4 <= 24 * current_target().lanes(4)
        )
    blocks = {loop.axis: loop.block for loop in loops}
    assert blocks.get("Y", rows) == (min(streams, rows) if long else rows)
    assert blocks.get("X", columns) <= walk.STREAM_BLOCK // streams
    np.testing.assert_array_equal(plan(a), a.sum(0, dtype=a.dtype))


@pytest.mark.parametrize("dtype", ["float32", "complex128", "int32", "uint8", "bool", "float16"])
@pytest.mark.parametrize(
    ("spec", "shape", "along"),
    [
        ("ab->a", (5000, 3), "a"),
        ("ab->", (5000, 3), "a"),
        ("abc->ab", (90, 80, 2), "ab"),
        ("abc->b", (40, 90, 2), "b"),
        ("ab->a", (40, 1000), "b"),
        ("ab->b", (40, 1000), "b"),
    ],
)
def test_sums_do_not_go_along_short_axes(
    spec: str, shape: tuple[int, ...], along: str, dtype: str
) -> None:
    """Backwards, too: vectors are gathered along longer ones."""
    rng = np.random.default_rng(len(spec))
    values = rng.integers(0, 3, shape).astype(dtype)
    for operand in (values, values[..., ::-1]):
        plan = tensorop.compile(spec, operand, threads=1)
        kernels = [s.kernel for _, s in plan.schedules[-1].steps() if isinstance(s, Call)]
        if operand is not values and isinstance(kernels[-1], StreamKernel) and dtype != "float16":
            (x,) = plan.schedules[-1].axes[-2].dimensions
            assert x.name == along
        wide = {"bool": "bool", "complex128": "complex128"}.get(dtype, "int64")
        expected = np.einsum(spec, operand.astype(wide)).astype(dtype)
        np.testing.assert_array_equal(plan(operand), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("spec", ["ab,ba->a", "ab,ba->", "ab,ab->a", "ab,ab->"])
@pytest.mark.parametrize(("a", "b", "step"), [(3000, 9, 2), (9, 3000, 3), (70, 60, 2)])
def test_lines_that_rows_share_are_come_back_to_soon(
    a: int, b: int, step: int, spec: str, dtype: str
) -> None:
    """Of an input that is walked through by its stride, a cache line holds elements of several
    rows: all of these are summed, or as much of each as L1 holds the lines of."""
    rng = np.random.default_rng(a)
    first = rng.integers(-9, 9, (a, step * b)).astype(dtype)[:, ::step]
    shape = (b, a) if "ba" in spec else (a, b)
    second = rng.integers(-9, 9, shape).astype(dtype)
    plan = tensorop.compile(spec, first, second, threads=1)
    machine, schedule = host_machine(), plan.schedule
    (x, y), size = schedule.axes[-2:], np.dtype(dtype).itemsize
    ways = [(abs(x.stride(t)) * size, abs(y.stride(t)) * size) for t in (0, 1)]
    blocks = {s.axis: s.block for _, s in schedule.steps() if isinstance(s, Loop)}
    if any(0 < down < LINE <= along for along, down in ways):
        down = y.type == DimType.K != x.type
        assert blocks.get("Y", y.size) >= min(y.size, machine.streams + 1)
        assert down or blocks.get("X", x.size) * LINE <= machine.l1
    want = np.einsum(spec, first, second)
    np.testing.assert_array_equal(plan(first, second), want)


@pytest.mark.parametrize(
    ("rows", "columns", "wants", "asks"),
    [
        (400, 600, True, True), (40, 600, True, False), (40, 6000, True, True),
        (400, 600, False, False), (5000, 30, False, False),
    ],
)  # fmt: skip
def test_rows_in_memory_are_asked_for(rows: int, columns: int, wants: bool, asks: bool) -> None:
    """Not what the caches hold, nor what all rows have the same, nor what a machine follows."""
    k = Dimension(DimType.K, rows, (columns, 1, 0))
    m = Dimension(DimType.M, columns, (1, 0, 1))
    tensors = tuple(Tensor(name, "float32") for name in ("in0", "in1", "out"))
    op = TensorOp(tensors, (k, m), Primitive.GEMM)
    machine = host_machine()._replace(l1=1 << 12, l2=1 << 15, l3=1 << 19, asks_in_rows=wants)
    machine = machine._replace(near_l3=True)
    (stage,) = plan_stages(op, machine, 1)
    (kernel,) = [s.kernel for _, s in stage.schedule.steps() if isinstance(s, Call)]
    assert isinstance(kernel, StreamKernel) and (kernel.asks0, kernel.asks1) == (asks, False)


@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize("columns", [40, 400, 4000])
def test_short_rows_from_l3_are_asked_for(columns: int, near: bool) -> None:
    """Also where the machine follows long ones by itself; if L3 is near, only rows of some lines
    that are multiplied by another, which is not large."""
    machine = host_machine()._replace(l1=1 << 12, l2=1 << 15, l3=1 << 20, asks_in_rows=False)
    machine = machine._replace(near_l3=near)
    rows = 40_000 // columns
    kernel = _stream_kernel(_maxima(rows, columns, columns), machine)
    assert kernel.asks0 == (columns < 4000 and not near)
    past = _stream_kernel(_maxima(rows, columns, columns), machine._replace(l3=1 << 16))
    assert past.asks0 == kernel.asks0
    dims = (
        Dimension(DimType.M, rows, (columns, 0, 1)),
        Dimension(DimType.K, columns, (1, 1, 0)),
    )
    tensors = tuple(Tensor(name, "float32") for name in ("in0", "in1", "out"))
    kernel = _stream_kernel(TensorOp(tensors, dims, Primitive.GEMM), machine)
    assert kernel.asks0 == (columns == 400 or (columns == 40 and not near))
    assert not kernel.asks1


@pytest.mark.parametrize(
    ("columns", "stride", "l3", "asks", "in_turn"),
    [
        (100, 100, 1 << 16, True, True), (48, 48, 1 << 16, False, True),
        (24, 24, 1 << 16, False, False), (100, 200, 1 << 16, True, False),
        (100, 100, 1 << 20, False, True), (100, 100, 1 << 20, True, False),
    ],
)  # fmt: skip
def test_rows_that_lie_end_to_end_beyond_l2_are_summed_in_turn(
    columns: int, stride: int, l3: int, asks: bool, in_turn: bool
) -> None:
    """Not rows that are a few lines together, nor such as have something in between."""
    op = _maxima(40_000 // columns, columns, stride)
    machine = host_machine()._replace(l1=1 << 12, l2=1 << 15, l3=l3, asks_in_rows=asks)
    machine = machine._replace(near_l3=True)
    assert _stream_kernel(op, machine).in_turn == in_turn


@pytest.mark.parametrize(("columns", "in_turn"), [(500, True), (600, False)])
def test_rows_that_have_a_vector_in_common_share_it_from_l2(columns: int, in_turn: bool) -> None:
    """Several at a time, where it takes more than half of L1."""
    machine = host_machine()._replace(l1=1 << 12, l2=1 << 15, l3=1 << 16)
    machine = machine._replace(near_l3=True)
    assert _stream_kernel(_times_vector(400, columns), machine).in_turn == in_turn


@pytest.mark.parametrize(("columns", "asks", "in_turn"),
                         [(200, False, True), (200, True, False), (300, True, True)])  # fmt: skip
def test_rows_that_have_a_vector_in_common_share_it_where_they_are_asked_for(
    columns: int, asks: bool, in_turn: bool
) -> None:
    """Unless they are so long that the hardware follows them one by one."""
    machine = host_machine()._replace(l1=1 << 12, l2=1 << 15, l3=1 << 16, asks_in_rows=asks)
    machine = machine._replace(near_l3=True)
    assert _stream_kernel(_times_vector(400, columns), machine).in_turn == in_turn


@pytest.mark.skipif(not host_machine().target.free_masks, reason="parts of vectors have a price")
@pytest.mark.parametrize(
    ("columns", "l3", "width", "asks"),
    [(300, 1 << 20, 20, False), (4000, 1 << 20, 16, True), (4000, 1 << 26, 0, False)],
)
def test_half_types_are_summed_down_large_parts_of_rows_from_memory(
    columns: int, l3: int, width: int, asks: bool
) -> None:
    """Of all rows in one call, so that they are rounded once: parts of them are asked for."""
    rows = 4_000_000 // columns
    k = Dimension(DimType.K, rows, (columns, 1, 0))
    m = Dimension(DimType.M, columns, (1, 0, 1))
    tensors = tuple(Tensor(name, "bfloat16") for name in ("in0", "in1", "out"))
    machine = host_machine()._replace(l1=1 << 15, l2=1 << 18, l3=l3, near_l3=True)
    machine = machine._replace(asks_in_rows=False)
    kernel = _stream_kernel(TensorOp(tensors, (k, m), Primitive.GEMM), machine)
    assert (kernel.width, kernel.asks0, kernel.asks1) == (width, asks, False)


def test_matrices_times_a_vector_each_are_read_as_they_lie() -> None:
    """Not the same row of all of them, though there are more; L2 need not hold the vectors."""
    b, c = 7, 1200
    a = Dimension(DimType.C, 60, (c, b * c, b))
    n, k = Dimension(DimType.N, b, (0, c, 1)), Dimension(DimType.K, c, (1, 1, 0))
    tensors = tuple(Tensor(name, "float32") for name in ("in0", "in1", "out"))
    machine = host_machine()._replace(l1=1 << 14, l2=1 << 15, l3=1 << 18, asks_in_rows=False)
    for near in (True, False):
        seen = machine._replace(near_l3=near)
        (stage,) = plan_stages(TensorOp(tensors, (n, a, k), Primitive.GEMM), seen, 1)
        (rows,) = [axis for axis in stage.schedule.axes if axis.name == "Y"]
        assert rows.size == b
        (kernel,) = [s.kernel for _, s in stage.schedule.steps() if isinstance(s, Call)]
        assert kernel.in_turn == near


def test_calls_have_many_parts_of_rows_that_are_cut() -> None:
    """A vector that all have in common is then read for several rows at a time."""
    (stage,) = plan_stages(_times_vector(64, 400_000), host_machine(), 1)
    loops = {s.axis: s.block for _, s in stage.schedule.steps() if isinstance(s, Loop)}
    assert loops["X"] < 400_000 and loops.get("Y", 64) >= 16


def _times_vector(rows: int, columns: int) -> TensorOp:
    m = Dimension(DimType.M, rows, (columns, 0, 1))
    k = Dimension(DimType.K, columns, (1, 1, 0))
    tensors = tuple(Tensor(name, "float32") for name in ("in0", "in1", "out"))
    return TensorOp(tensors, (m, k), Primitive.GEMM)


@pytest.mark.parametrize(
    ("columns", "stride", "l3", "wants", "rows"),
    [
        (600, 600, 1 << 16, False, 1), (900, 900, 1 << 16, False, 4), (600, 700, 1 << 16, False, 4),
        (600, 600, 1 << 21, False, 4), (600, 600, 1 << 16, True, 4),
    ],
)  # fmt: skip
def test_rows_from_memory_are_added_one_by_one(
    columns: int, stride: int, l3: int, wants: bool, rows: int
) -> None:
    """Where they lie end to end, and L1 has room for one and for out."""
    k = Dimension(DimType.K, 200, (stride, 0))
    m = Dimension(DimType.C, columns, (1, 1))
    op = TensorOp((Tensor("in0", "float32"), Tensor("out", "float32")), (k, m), Primitive.SUM)
    machine = host_machine()._replace(l1=1 << 13, l2=1 << 15, l3=l3, down=4, asks_in_rows=wants)
    machine = machine._replace(near_l3=True)
    (stage,) = plan_stages(op, machine, 1)
    loops = [s for _, s in stage.schedule.steps() if isinstance(s, Loop)]
    assert [(loop.axis, loop.block) for loop in loops] == [("Y", rows)]


@pytest.mark.parametrize(("columns", "rows"), [(5000, 12), (4096, 8), (8192, 8)])
def test_rows_that_begin_alike_in_a_page_are_fewer(columns: int, rows: int) -> None:
    k = Dimension(DimType.K, 200, (columns, 0))
    m = Dimension(DimType.C, columns, (1, 1))
    op = TensorOp((Tensor("in0", "float32"), Tensor("out", "float32")), (k, m), Primitive.SUM)
    machine = host_machine()._replace(l1=1 << 13, l2=1 << 15, l3=1 << 20, streams=8, down=12)
    (stage,) = plan_stages(op, machine, 1)
    loops = [s for _, s in stage.schedule.steps() if isinstance(s, Loop)]
    assert {loop.axis: loop.block for loop in loops}["Y"] == rows


@pytest.mark.parametrize(("asks", "rows"), [(False, 6), (True, 12)])
def test_rows_of_two_inputs_are_fewer_unless_they_are_asked_for(asks: bool, rows: int) -> None:
    k = Dimension(DimType.K, 200, (5000, 5000, 0))
    c = Dimension(DimType.C, 5000, (1, 1, 1))
    tensors = tuple(Tensor(name, "float32") for name in ("in0", "in1", "out"))
    op = TensorOp(tensors, (k, c), Primitive.GEMM)
    machine = host_machine()._replace(
        l1=1 << 13, l2=1 << 15, l3=1 << 20, streams=8, down=12, asks_in_rows=asks
    )
    (stage,) = plan_stages(op, machine, 1)
    loops = [s for _, s in stage.schedule.steps() if isinstance(s, Loop)]
    assert {loop.axis: loop.block for loop in loops}["Y"] == rows


def _maxima(rows: int, columns: int, stride: int) -> TensorOp:
    """Along rows; sums would have other ways for short ones."""
    dims = Dimension(DimType.M, rows, (stride, 1)), Dimension(DimType.K, columns, (1, 0))
    return TensorOp((Tensor("in0", "float32"), Tensor("out", "float32")), dims, Primitive.MAX)


def _stream_kernel(op: TensorOp, machine: Machine) -> StreamKernel:
    (stage,) = plan_stages(op, machine, 1)
    (kernel,) = [s.kernel for _, s in stage.schedule.steps() if isinstance(s, Call)]
    assert isinstance(kernel, StreamKernel)
    return kernel


@pytest.mark.parametrize(
    ("spec", "one_row"),
    [("ba,a->ba", True), ("a,ba->ba", True), ("ba,b->ba", False), ("b,ba->ba", False)],
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int16", "bfloat16"])
def test_short_rows_are_joined(spec: str, one_row: bool, dtype: str) -> None:
    """Where they lie end to end in one input and in out, with one row or with a factor for each."""
    rng, joined = np.random.default_rng(0), set()
    sizes = (500, 2), (77, 3), (300, 5), (300, 7), (900, 9), (700, 11), (3, 4), (90, JOINED)
    for rows, columns in (*sizes, (50, 100)):
        extents = {"a": columns, "b": rows}
        plain = [
            rng.integers(-9, 9, [extents[label] for label in labels])
            for labels in spec.split("->")[0].split(",")
        ]
        arrays = [x.astype(numpy_dtype(dtype)) for x in plain]
        plan = tensorop.compile(spec, *arrays, threads=1)
        np.testing.assert_array_equal(plan(*arrays), np.einsum(spec, *plain))
        (kernel,) = [s.kernel for _, s in plan.schedule.steps() if isinstance(s, Call)]
        if isinstance(kernel, StreamKernel) and kernel.joined:
            joined.add(columns)
    few = set() if dtype == "complex64" and not one_row else {5, 7}  # these may be records
    assert {9, 11} | few <= joined
    assert (JOINED in joined) == (one_row or picks(dtype, host_machine().target))
    assert 100 not in joined


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int16"])
@pytest.mark.parametrize("step", [1, 3])
@pytest.mark.parametrize("swaps", [False, True])
def test_short_rows_of_outer_products_are_joined(dtype: str, step: int, swaps: bool) -> None:
    """Where out has an order that somebody chose; whether factors lie side by side or not."""
    rng, kernels = np.random.default_rng(0), {}
    for rows, columns in ((500, 2), (900, 5), (701, 7), (190, 31), (9, 5), (50, 100)):
        row, factors = rng.integers(-9, 9, columns), rng.integers(-9, 9, rows)
        wide = np.zeros(rows * step, numpy_dtype(dtype))[::step]
        wide[:] = factors
        arrays = [wide, row.astype(numpy_dtype(dtype))]
        spec = "b,a->ba"
        if swaps:
            spec, arrays = "a,b->ba", arrays[::-1]
        out = np.zeros((rows, columns), numpy_dtype(dtype))
        np.testing.assert_array_equal(
            tensorop.einsum(spec, *arrays, out=out, threads=1), np.outer(factors, row)
        )
        sides = (DimType.M, rows, (1, 0, columns)), (DimType.N, columns, (0, 1, 1))
        tensors = tuple(Tensor(name, dtype) for name in ("in0", "in1", "out"))
        op = TensorOp(tensors, tuple(Dimension(*side) for side in sides), Primitive.GEMM)
        (stage,) = plan_stages(op, host_machine(), 1)
        (kernel,) = [s.kernel for _, s in stage.schedule.steps() if isinstance(s, Call)]
        kernels[columns] = kernel.joined and kernel.one_row
    assert kernels[5] is False  # of nine rows
    assert kernels[7] and not kernels[100]
    narrow = 31 * numpy_dtype(dtype).itemsize < NARROW
    assert kernels[31] == (narrow or picks(dtype, host_machine().target))


@pytest.mark.parametrize("dtype", ["float32", "complex128", "int16", "bool"])
@pytest.mark.parametrize(
    "spec, sizes, shared",
    [
        ("i,i->i", {"i": 400_003}, True),
        ("b,ba->a", {"a": 300_007, "b": 5}, True),
        ("ij->j", {"i": 999, "j": 2111}, True),
        ("ij->i", {"i": 999, "j": 1511}, True),
        ("ij,j->i", {"i": 997, "j": 1511}, True),
        ("i,ij->ij", {"i": 3, "j": 300_007}, True),
        ("ij,j->ij", {"i": 300_007, "j": 3}, True),
        ("ijk,ik->ij", {"i": 2, "j": 40_009, "k": 11}, True),
        ("i->", {"i": 60_003}, False),  # its sum would be another one
        ("ij->i", {"i": 42, "j": 40_009}, True),
        ("i,i->i", {"i": 3_000}, False),
        ("i,i->i", {"i": 900_001}, True),
    ],
)
def test_axes_of_a_stream_are_cut_for_a_team(
    spec: str, sizes: dict[str, int], shared: bool, dtype: str
) -> None:
    """Sizes that no number of threads divides; every element is what one thread makes of it."""
    rng = np.random.default_rng(0)
    terms = spec.split("->")[0].split(",")
    arrays = [rng.integers(0, 100, [sizes[x] for x in term]).astype(dtype) for term in terms]
    expected = tensorop.einsum(spec, *arrays, order="C", threads=1)
    for threads in (2, 3, 7):
        plan = tensorop.compile(spec, *arrays, order="C", threads=threads)
        in_pieces = "threads divide the pieces" in plan.explain()
        for schedule in plan.schedules:
            schedule.verify()
            assert (schedule.shares > 1 or in_pieces) == shared
        np.testing.assert_array_equal(plan(*arrays), expected)


@pytest.mark.parametrize(("rows", "elements"), [(1, 1), (1, 5), (5, 1), (5, 3)])
@pytest.mark.parametrize("main", [Primitive.ADD, Primitive.GEMM])
def test_a_single_row_is_joined_to_none(rows: int, elements: int, main: Primitive) -> None:
    dims = (
        Dimension(DimType.C, rows, (elements, 0, elements), ExecType.PRIM),
        Dimension(DimType.C, elements, (1, 0, 1), ExecType.PRIM),
    )
    op = TensorOp(tuple(Tensor(role, "float32") for role in ("in0", "in1", "out")), dims, main)
    schedule = nest.nest(op, TINY, 1)
    (call,) = [s for _, s in schedule.steps() if isinstance(s, Call)]
    assert not call.kernel.joined or rows > 1 < elements
    does_the_same(op, schedule, [np.arange(1.0, 16, dtype="f4") for _ in range(3)], 1)


@pytest.mark.parametrize("threads", [2, 3, 5])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex64", "float16"])
def test_sides_of_a_product_are_cut_for_a_team(
    dtype: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sizes that no number of threads divides, in windows too, beside a shared loop."""
    monkeypatch.setattr(window, "LONGEST", 400)
    T, rng, cut = DimType, np.random.default_rng(threads), set()
    for i in range(40):
        kinds = [T.M, T.N, T.K, *([T.K] if i % 3 == 0 else []), *([T.C] if i % 4 == 0 else [])]
        sizes = [int(rng.choice((1, 3, 7, 31, 61, 97, 499))), int(rng.choice((1, 5, 13, 37, 211)))]
        sizes += [int(rng.integers(2, 20)) for _ in kinds[2:]]
        orders = [rng.permutation(len(kinds)).tolist() for _ in range(3)]
        if i % 2:  # straight from the operands, in0 or in1 being the vector side
            for tensor in (i // 2 % 2, 2):
                orders[tensor].sort(key=lambda x: x != i // 2 % 2)
        op, buffers = laid_out(rng, dtype, kinds, sizes, orders)
        how = {T.C: ExecType.SHARED}
        dims = [d.executed(how.get(d.type, ExecType.PRIM)) for d in op.dimensions]
        op = op.with_dimensions(tuple(sorted(dims, key=lambda d: d.type != T.C)))
        shared = op.size_of(T.C)
        schedule = nest.nest(op, TINY, min(shared, threads), threads=threads)
        if shared_axis.Team(threads, shared).idle and max(sizes[:2]) == 499:
            assert schedule.shares > 1
        loops = [s for _, s in schedule.steps() if isinstance(s, Loop)]
        cut |= {s.axis for s in loops if s.exec == ExecType.SHARED}
        does_the_same(op, schedule, buffers, threads)
    assert {"M", "N"} <= cut


@pytest.mark.parametrize(("loops", "rows"), [(2, 2), (2, 4), (1, 4)])
def test_few_rows_of_a_stream_occupy_a_team_with_the_loops_around_them(
    loops: int, rows: int
) -> None:
    long = 1_000_000
    dims = (
        Dimension(DimType.C, loops, (9 * long, 7)),
        Dimension(DimType.C, rows, (2 * long, 1)),
        Dimension(DimType.K, long, (1, 0)),
    )
    tensors = Tensor("in0", "float32"), Tensor("out", "float32")
    (stage,) = plan_stages(TensorOp(tensors, dims, Primitive.MAX), host_machine(), 4)
    assert stage.schedule.shares == 4


def test_parts_of_a_product_are_even_or_the_most_even() -> None:
    def parts(m: int, n: int, threads: int = 2, items: int = 1) -> str:
        dims = (
            Dimension(DimType.C, items, (8 * m, 8 * n, m * n), ExecType.SHARED),
            Dimension(DimType.M, m, (1, 0, 1), ExecType.PRIM),
            Dimension(DimType.N, n, (0, 8, m), ExecType.PRIM),
            Dimension(DimType.K, 8, (m, 1, 0), ExecType.PRIM),
        )
        tensors = tuple(Tensor(role, "float32") for role in ("in0", "in1", "out"))
        schedule = nest.nest(TensorOp(tensors, dims, Primitive.GEMM), TINY, 1, threads=threads)
        return schedule.notes[0].partition("; ")[2]

    lanes = TINY.lanes("float32")
    even = int(parts(1000, 9).split()[4].strip(","))
    assert parts(1000, 9).startswith("M") and 500 <= even < 556 and even % lanes == 0
    assert parts(9, 101) == "N in parts of 51, shared"
    assert parts(3 * lanes + 1, 40).startswith("N in parts of 20")  # M is longer, but uneven
    assert parts(3, 3) == ""
    # Three items are two for one thread, and six parts three; but not if short parts are alone.
    assert parts(9, 101, items=3) == "N in parts of 51, shared"
    assert parts(6 * lanes + 1, 3, items=3) == ""


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(
    "steps",
    [((1, 0, 251), (0, 89, 1)), ((89, 0, 1), (0, 1, 61)), ((89, 0, 1), (0, 89, 1))],
)
@pytest.mark.parametrize("first", ["zero", "none", "copy"])
@pytest.mark.parametrize("last", ["none", "relu", "neg"])
def test_every_part_of_a_product_is_touched(
    last: str, first: str, steps: tuple[tuple[int, ...], tuple[int, ...]], threads: int
) -> None:
    """Once, whether the kernel does it or not."""
    m, n, k = 251, 61, 89
    rng = np.random.default_rng(threads)
    a, b, out, bias = (
        rng.integers(-4, 5, size).astype(np.float32) for size in (m * k, n * k, m * n, m * n)
    )

    def matrix(values: NDArray[Any], down: int, along: int, shape: tuple[int, int]) -> NDArray[Any]:
        steps = [4 * down, 4 * along]
        return np.lib.stride_tricks.as_strided(values, shape, steps)

    expected = matrix(a, steps[0][0], steps[0][2], (m, k)) @ (
        matrix(b, steps[1][2], steps[1][1], (k, n))
    )
    expected += {"zero": 0, "none": out.reshape(n, m).T, "copy": bias.reshape(n, m).T}[first]
    if last != "none":
        expected = {"relu": np.maximum(expected, 0), "neg": -expected}[last]
    operation = tensorop.TensorOperation(
        dtype="float32",
        main="gemm",
        first_touch=first,
        last_touch=last,
        dim_types=("M", "N", "K"),
        sizes=(m, n, k),
        strides_in0=steps[0],
        strides_in1=steps[1],
        strides_out=(1, m, 0),
        optimize=True,
        threads=threads,
    )
    operation.setup()
    operation.execute(a, b, out, *([bias] if first == "copy" else []))
    np.testing.assert_array_equal(out.reshape(n, m).T, expected)


@pytest.mark.parametrize("lines", [1, 64])
def test_parts_of_any_length_are_right(lines: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that joins rows takes whole ones: calls 509, 6351 and 9472 have such."""
    for module, name, least in (
        (transfer, "SHARE_WORK", 40),
        (transfer, "SHARE_BYTES", 32),
        (shared_axis, "EVEN", 1),
        (shared_axis, "LONG_PART", 2),
        (shared_axis, "LINES", lines),
    ):
        monkeypatch.setattr(module, name, least)
    monkeypatch.setattr(plan_store, "_folder", lambda: None)  # others know nothing of these plans
    tensorop.cache_clear()
    try:
        with tensorop.threads(3), np.errstate(all="ignore"):  # the reference's
            for i in (509, 6351, 9472, *range(300)):
                check(draw(np.random.default_rng([3, i])))
    finally:
        tensorop.cache_clear()


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("along", [False, True])
@pytest.mark.parametrize(("rows", "columns"), [(4000, 12), (600, 400), (30, 9000)])
def test_what_streams_read_is_asked_for(
    rows: int, columns: int, along: bool, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of a matrix but what is read first, in sums along its rows and down them. A vector of
    complex numbers is two lines."""
    dims = (
        Dimension(DimType.K if not along else DimType.M, rows, (columns, 1 - along, int(along))),
        Dimension(DimType.M if not along else DimType.K, columns, (1, int(along), 1 - along)),
    )
    tensors = tuple(Tensor(name, dtype) for name in ("in0", "in1", "out"))
    machine = host_machine()._replace(l1=1 << 12, l2=1 << 15, l3=1 << 17, asks_in_rows=True, down=8)
    (stage,) = plan_stages(TensorOp(tensors, dims, Primitive.GEMM), machine, 1)
    sizes = (rows * columns, columns, rows) if along else (rows * columns, rows, columns)
    rng, parts = np.random.default_rng(1), np.dtype(dtype).itemsize // 4
    numbers = [aligned(rng.integers(-4, 5, size * parts)) for size in sizes]
    asked, (a, b, out) = Asked(numbers[0]), (each.view(dtype) for each in numbers)
    monkeypatch.setattr(Code, "prefetch", lambda code, *to, **_: asked.ask(code, *to, near=False))
    asked.execute(stage.schedule, [a, b, out])
    matrix = a.reshape(rows, columns)
    np.testing.assert_array_equal(out, matrix @ b if along else b @ matrix)
    assert asked.lines[:-1].mean() > 0.9 and not asked.lines[:8].any()
