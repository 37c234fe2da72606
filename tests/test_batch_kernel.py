"""Batches of small products: the kernel beside guard pages; its schedules against plain loops."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tensorop.bind import bind
from tensorop.ir import Dimension, DimType, ExecType, Primitive, Tensor, TensorOp
from tensorop.jit.abi import CallRecord, Frame, Node
from tensorop.jit.batch_abi import (
    BatchKernel,
    BatchWord,
    DotsKernel,
    ItemsKernel,
    dots_tile,
    exact_tile,
    tile_of,
)
from tensorop.jit.compiler import assembly
from tensorop.jit.generate import generate
from tensorop.jit.image import KERNEL, REFERENCE
from tensorop.jit.kernel import Kernel
from tensorop.jit.library import kernel_address
from tensorop.jit.slots import AxisSlot, Slot
from tensorop.jit.target import Target, current_target
from tensorop.jit.touch_abi import TouchKernel, TouchWord
from tensorop.optimizer.batch import batched, tile_for
from tensorop.optimizer.items import itemised, items_of
from tensorop.optimizer.lanes import as_batch, lane_dimension, lanes_of
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.pipeline import optimise
from tensorop.optimizer.touch import item_rows
from tensorop.runtime import Bound
from tensorop.schedule import Call as CallStep
from tensorop.schedule import Loop
from tests.stream_calls import DTYPES, TARGETS, Block, numpy_dtype, wider
from tests.test_blocked import does_the_same

CALL = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)
VECTORS = tuple(d for d in DTYPES if d not in ("longdouble", "clongdouble"))
TINY = Machine(current_target(), l1=1 << 10, l2=12 << 10, l3=64 << 10)
SMALL = Machine(current_target(), l1=1 << 10, l2=160 << 10, l3=1 << 20)


@dataclass
class Case:
    """One call: sizes, and how the call record asks for the update."""

    m: int
    n: int
    k: int
    x: int
    apart: tuple[int, int, int] = (1, 1, 1)  # elements from one item to the next: in0, in1, out
    alpha: float | None = None
    beta: float | None = None
    first: bool = True
    at_end: bool = True


def values(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> NDArray[Any]:
    kind = numpy_dtype(dtype)
    numbers = rng.integers(-3, 4, shape).astype(np.float64)
    if kind.kind == "c":
        return (numbers + 1j * rng.integers(-3, 4, shape)).astype(kind)
    return (abs(numbers) if kind.kind in "ub" else numbers).astype(kind)


def check(kernel: BatchKernel | DotsKernel | ItemsKernel, target: Target, case: Case) -> None:
    """Run a kernel on small integers, whose sums are exact, and compare. Matrices lie between each
    other, or one after the other with their columns outside their rows."""
    rng = np.random.default_rng([case.m, case.n, case.k, case.x])
    along = [case.x] * 3
    if isinstance(kernel, BatchKernel) and kernel.period:
        along[(kernel.in0, kernel.in1).index("repeated")] = kernel.period
    sides = (case.m, case.k), (case.k, case.n), (case.m, case.n)
    shapes = [(*side, x) for side, x in zip(sides, along, strict=True)]
    blocks, words = [], np.zeros(BatchWord.WORDS, np.int64)
    frame, call = np.zeros(Frame.WORDS, np.int64), np.zeros(CallRecord.WORDS, np.int64)
    words[: BatchWord.IN0_M] = slots = [Slot.IN0, Slot.IN1, Slot.OUT]
    for key, (shape, apart) in enumerate(zip(shapes, case.apart, strict=True)):
        given_ = values(rng, shape, kernel.dtype)
        if key == 2 and case.first and case.beta is None and given_.dtype.kind in "fc":
            given_[...] = np.nan
        item = given_.dtype.itemsize
        line = shape[2] * max(1, apart) * item
        strides = (line, shape[0] * line, apart * item)  # the second axis outside the first
        if isinstance(kernel, ItemsKernel):
            matrix = shape[0] * shape[1]
            strides = (item, shape[0] * item, (matrix + apart - 1) * item)
        if isinstance(kernel, DotsKernel):  # K is the second axis of in0, and the first of in1
            matrix, inner = shape[0] * shape[1], (1, 0, case.n % 2)[key]
            sides_ = (item, shape[0] * item) if inner == 0 else (shape[1] * item, item)
            strides = (*sides_, (matrix + apart - 1) * item)
        blocks.append(Block(given_, strides, case.at_end, key))  # type: ignore[arg-type]
        first = BatchWord.IN0_M + 3 * key
        words[first : first + 3] = strides
        frame[slots[key]] = blocks[-1].address
    for axis, size in zip("MNKX", (case.m, case.n, case.k, case.x), strict=True):
        frame[Frame.SIZE + AxisSlot[axis]] = size
    frame[Frame.FIRST], frame[Frame.CALL] = case.first, call.ctypes.data
    compute = np.float32 if kernel.dtype in ("float16", "bfloat16") else blocks[0].array.dtype
    for word, scalar in ((CallRecord.ALPHA, case.alpha), (CallRecord.BETA, case.beta)):
        raw = np.asarray(0 if scalar is None else scalar).astype(compute).tobytes()
        call.view(np.uint8)[8 * word : 8 * word + len(raw)] = np.frombuffer(raw, np.uint8)
    call[CallRecord.SCALES] = case.alpha is not None
    call[CallRecord.READS_OUT] = case.beta is not None
    in0, in1, out = blocks
    expected = expect(kernel, case, in0.values, in1.values, out.values)
    CALL(kernel_address(kernel, target))(words.ctypes.data, frame.ctypes.data)
    np.testing.assert_array_equal(out.array, expected, err_msg=f"{kernel.name} {case}")
    assert all(block.untouched_elsewhere() for block in blocks)


def expect(
    kernel: BatchKernel | DotsKernel | ItemsKernel,
    case: Case,
    in0: NDArray[Any],
    in1: NDArray[Any],
    out: NDArray[Any],
) -> NDArray[Any]:
    wide = np.dtype(bool) if out.dtype == bool else wider(out.dtype)
    a, b = (x.astype(wide) for x in (in0, in1))
    if isinstance(kernel, BatchKernel):
        a, b = a.conj() if kernel.conj0 else a, b.conj() if kernel.conj1 else b
        a, b = (np.tile(y, case.x // y.shape[-1]) for y in (a, b))
    result = np.einsum("mkx,knx->mnx", a, b)
    if out.dtype == bool:
        reads = not case.first or case.beta is not None
        return result | out if reads else result
    result = result * (1 if case.alpha is None else case.alpha)
    if not case.first:
        result = result + out.astype(wide)
    elif case.beta is not None:
        result = result + case.beta * out.astype(wide)
    return np.asarray(result.astype(out.dtype))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", VECTORS)
def test_edges(dtype: str, target: Target) -> None:
    """Every place in and behind a tile, and the last vector full or not."""
    lanes = BatchKernel(dtype, 2, 2).lanes(target)
    for m, n, k, x in ((2, 2, 2, 1), (3, 5, 1, lanes), (5, 3, 3, 2 * lanes + 1), (1, 4, 4, 3)):
        for at_end in (True, False):
            check(BatchKernel(dtype, 2, 2), target, Case(m, n, k, x, at_end=at_end))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", VECTORS)
def test_updates(dtype: str, target: Target) -> None:
    kernel = BatchKernel(dtype, 3, 2)
    scales = () if dtype == "bool" else (2.0, 3.0)
    for alpha in (None, *scales[:1]):
        for beta in (None, *scales[1:]):
            for first in (True, False):
                case = Case(3, 3, 2, 19, alpha=alpha, beta=beta, first=first)
                check(kernel, target, case)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("apart", [(2, 1, 1), (1, 3, 4), (4, 4, 4), (9, 2, 5)])
def test_items_apart(apart: tuple[int, int, int], dtype: str, target: Target) -> None:
    in0, in1, out = ("unit" if step == 1 else "strided" for step in apart)
    kernel = BatchKernel(dtype, 2, 3, in0, in1, out)
    for beta in (None, 2.0):
        check(kernel, target, Case(3, 4, 2, 37, apart, beta=beta))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", VECTORS)
@pytest.mark.parametrize("apart", [(0, 1, 1), (1, 0, 1)])
def test_one_matrix_for_all(apart: tuple[int, int, int], dtype: str, target: Target) -> None:
    in0, in1 = ("unit" if step else "zero" for step in apart[:2])
    conj = numpy_dtype(dtype).kind == "c"
    kernel = BatchKernel(dtype, 2, 2, in0, in1, conj0=conj, conj1=conj)  # type: ignore[arg-type]
    for m, n, k, x in ((2, 3, 2, 37), (3, 1, 4, 5), (1, 5, 1, 64)):
        check(kernel, target, Case(m, n, k, x, apart, at_end=n != 3))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "float16"])
def test_items_again_and_again(dtype: str, target: Target) -> None:
    """Vectors hold several items of a batch that is shorter than they are."""
    lanes = BatchKernel(dtype, 1, 1).lanes(target)
    periods = [n for n in (2, 4, 8) if n < lanes]
    for period, (rows, columns) in itertools.product(periods, ((1, 8), (3, 2), (5, 1))):
        for in0, in1 in (("unit", "repeated"), ("repeated", "unit")):
            kernel = BatchKernel(dtype, rows, columns, in0, in1, period=period)  # type: ignore[arg-type]
            for vectors, at_end in ((1, True), (3, False)):
                case = Case(rows + 1, 2 * columns + 1, 3, vectors * lanes, at_end=at_end)
                check(kernel, target, case)
                check(kernel, target, replace(case, alpha=2.0, beta=3.0))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "float16"])
def test_schedules_of_short_batches(dtype: str, threads: int) -> None:
    """A batch shorter than a vector inside a dimension of either side, which fills it."""
    rng, T, filled = np.random.default_rng(threads), DimType, 0
    lanes = SMALL.lanes(dtype)
    for i in range(40):
        x = int(rng.choice([n for n in (2, 4, 8, 16) if n < lanes] or [1]))
        side = (T.M, T.N)[i % 2]
        kinds = [T.M, T.N, T.K, *([T.K] * int(rng.integers(0, 2))), side, T.C]
        kinds = kinds if dtype != "float16" else [T.M, T.N, T.K, side, T.C]
        sizes = [int(rng.integers(2, 9)) for _ in kinds]
        sizes[-1], sizes[-2] = x, int(rng.integers(1, 5)) * int(rng.choice((1, lanes // x)))
        last = len(kinds) - 1
        orders = [[last, last - 1, *rng.permutation(last - 1)] for _ in range(3)]
        op, buffers = laid_out(rng, dtype, kinds, sizes, orders)
        if as_batch(op) is None:
            continue
        machine = SMALL._replace(l1=(1 << 10, 1 << 20)[i % 3 > 0], l2=(1, 1 << 20)[i % 4 > 0])
        schedule = batched(op, machine, threads)
        calls = [s for _, s in schedule.steps() if isinstance(s, CallStep)]
        filled += any(getattr(call.kernel, "period", 0) > 0 for call in calls)
        does_the_same(op, schedule, buffers, threads)
    assert filled > 5 or lanes == 1


def test_vectors_stay_long_where_threads_have_products_to_share() -> None:
    """A matrix times many vectors: they are cut for the threads if there are too few products."""
    T, roles, lanes = DimType, ("in0", "in1", "out"), SMALL.lanes("float32")

    def shared(m: int, threads: int) -> list[str]:
        x = 8 * lanes
        dims = (
            Dimension(T.M, m, (6 * x, 0, 6 * x)),
            Dimension(T.N, 6, (0, 6, x)),
            Dimension(T.K, 6, (x, 1, 0)),
            Dimension(T.M, x, (1, 0, 1)),
        )
        op = TensorOp(tuple(Tensor(role, "float32") for role in roles), dims, Primitive.GEMM)
        schedule = batched(op, TINY, threads)
        return [
            s.axis for _, s in schedule.steps() if isinstance(s, Loop) and s.exec == ExecType.SHARED
        ]

    assert shared(1, 2) == ["X"]
    assert shared(3, 2) == ["N"]
    assert shared(3, 3) == ["N", "X"]
    assert shared(400, 3) == ["M"]


def test_threads_share_no_lines() -> None:
    """Of columns that lie beside one another in out, all are one thread's."""
    T, roles = DimType, ("in0", "in1", "out")
    dims = (
        Dimension(T.M, 24, (89, 0, 11392)),
        Dimension(T.N, 64, (0, 2, 178)),
        Dimension(T.N, 2, (0, 128, 1)),
        Dimension(T.K, 2, (2136, 1, 0)),
        Dimension(T.M, 89, (1, 0, 2)),
    )
    op = TensorOp(tuple(Tensor(role, "float64") for role in roles), dims, Primitive.GEMM)
    schedule = batched(op, SMALL, 2)
    how = {s.axis: s.exec for _, s in schedule.steps() if isinstance(s, Loop)}
    (beside,) = [a.name for a in schedule.axes if a.type == T.N and a.size == 2]
    assert how[beside] == ExecType.SEQ and ExecType.SHARED in how.values()


def test_what_comes_from_memory_is_read_few_times() -> None:
    """Tiles of a short batch: as wide as the small side, where the other one is large."""
    T, lanes = DimType, SMALL.lanes("float32")
    if lanes < 4:
        pytest.skip("no vectors")
    x, roles = lanes // 2, ("in0", "in1", "out")
    m = (T.M, 64, (x, 0, x)), (T.N, 16, (0, 3 * x, 64 * x)), (T.K, 3, (64 * x, x, 0))
    dims = tuple(Dimension(t, size, steps) for t, size, steps in (*m, (T.C, x, (1, 1, 1))))
    op = TensorOp(tuple(Tensor(role, "float32") for role in roles), dims, Primitive.GEMM)
    machine = SMALL._replace(l1=32 << 10)
    found = lanes_of(op, machine)
    assert found.repeated == 1 and found.along.size == lanes
    assert tile_for(found, (32, 16), machine._replace(l2=1 << 10)) == (1, 8)
    assert tile_for(found, (32, 16), machine) == tile_of(32, 16, "float32", machine.target)
    assert lanes_of(op, machine._replace(l1=1 << 10)).repeated is None


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("conj", [(True, False), (False, True), (True, True)])
def test_conjugates(dtype: str, conj: tuple[bool, bool]) -> None:
    kernel = BatchKernel(dtype, 2, 2, conj0=conj[0], conj1=conj[1])
    check(kernel, current_target(), Case(2, 3, 3, 11))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint64"])
def test_items_one_after_the_other(dtype: str, target: Target) -> None:
    """Every width, one tile or several; nothing before, between or after the items is touched."""
    lanes = target.lanes(numpy_dtype(dtype).itemsize)
    size = numpy_dtype(dtype).itemsize
    half = max(1, lanes // 2)
    few, more = {max(1, lanes // 4), half, lanes}, {lanes + half, 2 * lanes + half, 3 * lanes}
    for width in few | {2 * lanes} | more:
        kernels = [ItemsKernel(dtype, width, 3, past) for past in {False, width * size >= 16}]
        for m, n, k, x, apart in (
            (1, 3, 1, 1, 1),
            (1, 3, 5, 7, 2),
            (2, 6, 2, 3, 1),
            (3, 9, 4, 2, 3),
        ):
            for at_end, kernel in itertools.product((True, False), kernels):
                case = Case(m * width, n, k, x, (apart, 1, apart), at_end=at_end)
                check(kernel, target, case)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
@pytest.mark.parametrize("alpha", [None, 2.0])
@pytest.mark.parametrize("beta", [None, 3.0])
@pytest.mark.parametrize("first", [True, False])
def test_updates_of_items(
    dtype: str, alpha: float | None, beta: float | None, first: bool, target: Target
) -> None:
    lanes = target.lanes(numpy_dtype(dtype).itemsize)
    case = Case(2 * lanes, 4, 3, 5, alpha=alpha, beta=beta, first=first)
    for past in (False, True):
        check(ItemsKernel(dtype, lanes, 2, past), target, case)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dots(dtype: str, target: Target) -> None:
    """Every number of rows, whole tiles of columns and single ones, and vectors full or in part, on
    memory that ends there; items with gaps between them."""
    lanes = target.lanes(numpy_dtype(dtype).itemsize)
    for m in range(1, 10):
        rows, columns, left = dots_tile(m, target)
        kernel = DotsKernel(dtype, rows, columns, left, asks=m % 2 == 0)
        for n, k, x, apart in (
            (1, 1, 1, 1),
            (columns - 1, lanes - 1, 2, 3),
            (columns, lanes, 1, 1),
            (2 * columns + 1, 3 * lanes + 1, 3, 2),
        ):
            for at_end in (True, False):
                check(kernel, target, Case(m, max(1, n), max(1, k), x, (apart,) * 3, at_end=at_end))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("alpha", [None, 2.0])
@pytest.mark.parametrize("beta", [None, 3.0])
@pytest.mark.parametrize("first", [True, False])
def test_updates_of_dots(
    alpha: float | None, beta: float | None, first: bool, target: Target
) -> None:
    case = Case(5, 7, 19, 2, alpha=alpha, beta=beta, first=first)
    check(DotsKernel("float32", *dots_tile(5, target)), target, case)


@given(st.integers(1, 200))
def test_rows_of_dots_are_spread_evenly(m: int) -> None:
    for target in (param.values[0] for param in TARGETS):
        rows, columns, left = dots_tile(m, target)  # type: ignore[arg-type]
        assert rows * columns + rows + 1 <= target.registers  # type: ignore[union-attr]
        assert left == m % rows and 0 <= left < rows <= 4 and columns >= 2


@given(st.integers(1, 70), st.integers(1, 40), st.sampled_from(["float32", "float64", "int8"]))
def test_tiles_fit_the_items(m: int, n: int, dtype: str) -> None:
    for target in (param.values[0] for param in TARGETS):
        tile = exact_tile(m, n, dtype, target)
        lanes = target.lanes(numpy_dtype(dtype).itemsize)
        if tile is None:
            assert m % (2 * lanes) and m % (3 * lanes)
            assert m > 2 * lanes or m % max(2, lanes // 4)
            continue
        width, columns = tile
        pieces = ItemsKernel(dtype, width, columns).pieces(target)
        assert sum(pieces) == width and all(x == lanes for x in pieces[:-1])
        vectors = len(pieces)
        assert m % width == 0 and n % columns == 0
        assert vectors * (columns + 1) + 1 <= target.registers


def test_vectors_that_go_past_the_caches_begin_at_their_length() -> None:
    target = next(param.values[0] for param in TARGETS)
    lanes = target.lanes(4)
    for width in (lanes + lanes // 2, 2 * lanes, 3 * lanes, lanes // 2):
        pieces = ItemsKernel("float32", width, 3, past=True).pieces(target)
        assert sum(pieces) == width and len(set(pieces)) == 1 and lanes % pieces[0] == 0


def test_gathers_only_what_it_can() -> None:
    with pytest.raises(ValueError, match="int32 are not gathered"):
        generate(BatchKernel("int32", 2, 2, in0="strided"), current_target())


@given(m=st.integers(1, 40), n=st.integers(1, 40), dtype=st.sampled_from(VECTORS))
def test_tiles_fit_the_registers(m: int, n: int, dtype: str) -> None:
    kind = numpy_dtype(dtype)
    for target in (param.values[0] for param in TARGETS):
        rows_, columns = tile_of(m, n, dtype, target)
        assert rows_ <= m and columns <= n
        assert (rows_ * columns + columns + 1) * (2 if kind.kind == "c" else 1) <= target.registers


def batch(rng: np.random.Generator, dtype: str) -> tuple[TensorOp, list[NDArray[Any]]]:
    """Products of small matrices, the batch anywhere in memory but in steps of 1 to 4."""
    T, some = DimType, lambda low, high: int(rng.integers(low, high))
    kinds = [T.M, T.N, T.K, *([T.K] * some(0, 2)), *([T.M] * some(0, 2)), *([T.C] * some(0, 2))]
    sizes = [some(2, 7) for _ in kinds]
    kinds.append(T.C)
    sizes.append(some(1, 150) if some(0, 2) else some(600, 900))
    inside = list(range(len(kinds) - 1))
    orders = [[len(inside), *rng.permutation(inside)] for _ in range(3)]
    apart = [some(1, 5) if dtype in ("float32", "float64") else 1 for _ in range(3)]
    return laid_out(rng, dtype, kinds, sizes, orders, apart)


def laid_out(
    rng: np.random.Generator,
    dtype: str,
    kinds: Sequence[DimType],
    sizes: Sequence[int],
    orders: Sequence[Sequence[int]],
    apart: Sequence[int] = (1, 1, 1),
) -> tuple[TensorOp, list[NDArray[Any]]]:
    """A product whose tensors lie in these orders of dimensions, the fastest first, of which they
    have some; apart: elements from one of the fastest to the next."""
    T = DimType
    present = {T.M: (1, 0, 1), T.N: (0, 1, 1), T.K: (1, 1, 0), T.C: (1, 1, 1)}
    strides, buffers = [[0] * len(kinds) for _ in range(3)], []
    for tensor, (order, step) in enumerate(zip(orders, apart, strict=True)):
        for i in order:
            if present[kinds[i]][tensor]:
                strides[tensor][i] = step
                step *= sizes[i]
        buffers.append(values(rng, (step,), dtype))
    rows_ = zip(kinds, sizes, zip(*strides, strict=True), strict=True)
    tensors = tuple(Tensor(role, dtype) for role in ("in0", "in1", "out"))
    return TensorOp(tensors, tuple(Dimension(*row) for row in rows_), Primitive.GEMM), buffers


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int32"])
def test_schedules(dtype: str, threads: int) -> None:
    """Blocks of the batch, further dimensions of every type, shares: with tiny caches."""
    rng = np.random.default_rng(threads)
    cut = touched = parts = 0
    for i in range(60):
        op, buffers = batch(rng, dtype)
        schedule = batched(op, TINY if i % 2 else SMALL, threads)
        calls = [s for _, s in schedule.steps() if isinstance(s, CallStep)]
        touched += any(isinstance(call.kernel, TouchKernel) for call in calls)
        looped = {getattr(s, "axis", "") for _, s in schedule.steps()}
        cut += "X" in looped
        parts += bool({"M", "N"} & looped)
        does_the_same(op, schedule, buffers, threads)
    assert cut > 10 and touched > 3 and parts > 10


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int32"])
def test_schedules_of_a_small_matrix_and_many_vectors(dtype: str, threads: int) -> None:
    """The vectors are columns or rows of either input, beside others, in steps of 1 to 4."""
    rng, T = np.random.default_rng(threads), DimType
    parts = 0
    for i in range(60):
        many, small = ((T.M, T.N), (T.N, T.M))[i % 2]
        further = [T.K] * int(rng.integers(0, 2)) + [many] * int(rng.integers(0, 3))
        kinds = [small, T.K, *further, *([T.C] * (i % 5 == 0)), many]
        sizes = [int(rng.integers(2, 7)) for _ in kinds]
        sizes[-1] = int(rng.choice((16, 48, 100, 700)))
        inside = list(range(len(kinds) - 1))
        orders = [[len(inside), *rng.permutation(inside)] for _ in range(3)]
        apart = [int(rng.integers(1, 5)) if dtype.startswith("f") else 1 for _ in range(3)]
        op, buffers = laid_out(rng, dtype, kinds, sizes, orders, apart)
        spread = as_batch(op)
        assert spread is not None
        if spread is op:  # the batch beside it is near, too
            continue
        assert sum(0 in d.strides[:2] for d in spread.of_type(T.C)) == 1
        schedule = batched(op, TINY if i % 3 else SMALL, threads)
        parts += bool({"M", "N"} & {getattr(s, "axis", "") for _, s in schedule.steps()})
        does_the_same(op, schedule, buffers, threads)
    assert parts > 5


def test_a_matrix_is_small_and_vectors_are_near() -> None:
    def found(matrix: int, apart: int, dtype: str) -> TensorOp | None:
        T = DimType
        dims = (
            Dimension(T.M, 1000, (apart, 0, apart)),
            Dimension(T.N, matrix, (0, 1, 1000 * apart)),
            Dimension(T.K, matrix, (1000 * apart, matrix, 0)),
        )
        tensors = tuple(Tensor(role, dtype) for role in ("in0", "in1", "out"))
        return as_batch(TensorOp(tensors, dims, Primitive.GEMM))

    assert found(16, 1, "float32") and found(3, 3, "float64") and found(2, 1, "int8")
    assert not found(17, 1, "float32")
    assert not found(3, 17, "float64")
    assert not found(3, 3, "complex64")


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
def test_schedules_of_items(dtype: str, threads: int) -> None:
    """Items in any order of up to three batch dimensions, some between each other, either side that
    of the vectors, asked for or not."""
    rng, T = np.random.default_rng(threads), DimType
    exchanged = touched = past = 0
    for i in range(100):
        m, n, k = (int(rng.choice((2, 3, 4, 5, 8, 12, 16))) for _ in range(3))
        kinds = [T.M, T.N, T.K, *([T.C] * int(rng.integers(1, 4)))]
        sizes = [m, n, k, *(int(rng.integers(2, 9)) for _ in kinds[4:]), int(rng.integers(2, 200))]
        fastest = int(rng.integers(2))  # M or N
        inner = [fastest, len(kinds) - 1][: 1 + i % 2]
        others = [x for x in range(len(kinds)) if x not in inner]
        orders = [[*inner, *rng.permutation(others)] for _ in range(3)]
        op, buffers = laid_out(rng, dtype, kinds, sizes, orders)
        machine = SMALL._replace(l1=1 << 20, l3=1 << 4 if i % 3 else 1 << 30, streams=4)
        items = items_of(op, machine)
        if items is None:
            lanes, size = machine.lanes(dtype), sizes[fastest]
            assert size % (2 * lanes) and (size > 2 * lanes or size % max(2, lanes // 4))
            continue
        assert items.swapped == (fastest == 1)
        schedule = itemised(items, machine, threads)
        exchanged += items.swapped
        calls = [s for _, s in schedule.steps() if isinstance(s, CallStep)]
        touched += any(isinstance(call.kernel, TouchKernel) for call in calls)
        past += any(getattr(call.kernel, "past", False) for call in calls)
        does_the_same(op, schedule, buffers, threads)
    assert exchanged > 5 and touched > 1 and past


def test_half_types_are_not_rounded_on_the_way() -> None:
    """Two K that are not one would be two blocks, with a sum in the half type between them."""
    op, _ = batch(np.random.default_rng(0), "int32")
    halves = tuple(Tensor(t.role, "float16") for t in op.tensors)
    apart = tuple(
        Dimension(DimType.K, 3, (s * 5, s * 7, 0)) for s in (1000, 100)
    ) + tuple(d for d in op.dimensions if d.type != DimType.K)  # fmt: skip
    assert lane_dimension(TensorOp(halves, apart, Primitive.GEMM)) is None
    assert lane_dimension(TensorOp(halves, apart[1:], Primitive.GEMM)) is not None


# ---------------------------------------------------------------- asking


def interleaved(items: int, n: int, dtype: str = "float32") -> TensorOp:
    """n x n products whose rows lie between those of the other items."""
    T = DimType
    dims = (
        Dimension(T.C, items, (n, n, n), name="b"),
        Dimension(T.M, n, (items * n, 0, items * n), name="i"),
        Dimension(T.N, n, (0, 1, 1), name="k"),
        Dimension(T.K, n, (1, items * n, 0), name="j"),
    )
    tensors = tuple(Tensor(role, dtype) for role in ("in0", "in1", "out"))
    return TensorOp(tensors, dims, Primitive.GEMM)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("n", [12, 17, 20])
def test_items_are_asked_for_together(n: int, threads: int) -> None:
    op, rng = interleaved(300, n), np.random.default_rng(n)
    machine = Machine(current_target(), l1=4 << 10, l2=256 << 10, l3=512 << 10)
    schedule = optimise(op, machine, threads)
    calls = [s for _, s in schedule.steps() if isinstance(s, CallStep)]
    assert [isinstance(call.kernel, TouchKernel) for call in calls] == [True] * 3 + [False]
    (block,) = {s.block for _, s in schedule.steps() if isinstance(s, Loop) and s.block > 1}
    assert 2 <= block <= 40
    held = optimise(op, machine._replace(l3=8 << 20), threads)  # whose rows come soon enough
    assert not any(isinstance(getattr(s, "kernel", 0), TouchKernel) for _, s in held.steps())
    buffers = [values(rng, (300 * n * n,), "float32") for _ in range(3)]
    does_the_same(op, schedule, buffers, threads)


def test_exactly_the_block_is_asked_for() -> None:
    """The rows of a touch, each as long as a block, are all of the items' elements."""
    op = interleaved(300, 20)
    schedule = optimise(op, Machine(current_target(), 4 << 10, 256 << 10, 1 << 20), 1)
    along = schedule.axis("X").dimensions[0]
    for tensor in range(3):
        assert prod(d.size for d in item_rows(schedule.op, tensor, along)) == 20
    tables = touch_tables(*bind(schedule, current_target()))
    assert len(tables) == 3
    for table in tables:
        np.testing.assert_array_equal(table, np.arange(20) * 300 * 20 * 4)


def test_every_thread_has_blocks_to_ask_for() -> None:
    """However long the rows are that are worth asking for, there are several for each share."""
    machine = Machine(current_target(), l1=32 << 10, l2=512 << 10, l3=1 << 20)
    for threads in (1, 2, 8):
        schedule = optimise(interleaved(160, 20), machine, threads)
        block = next(s for _, s in schedule.steps() if getattr(s, "axis", "") == "X").block
        assert block == (6 if threads == 1 else min(6, 160 // (4 * threads)))


@pytest.mark.parametrize("kernel", [TouchKernel(), TouchKernel(writes=True)])
def test_touching_is_asking(kernel: TouchKernel) -> None:
    """It is not seen in results: the code must have the instruction, and read no element."""
    text = assembly(generate(kernel, current_target()), current_target())
    assert "prefetch" in text or "prfm" in text
    assert "vmov" not in text


def touch_tables(bound: Bound, kernels: Sequence[Kernel]) -> list[NDArray[np.int64]]:
    """The tables that the descriptors of touches point to."""

    def at(reference: np.int64) -> NDArray[np.int64]:
        return bound.words[(reference - REFERENCE) // 8 :]

    touches = [KERNEL + i for i, k in enumerate(kernels) if isinstance(k, TouchKernel)]
    calls = np.flatnonzero(np.isin(bound.words, touches)) - Node.KERNEL
    found = [at(bound.words[call + Node.DESCRIPTOR]) for call in calls]
    return [at(words[TouchWord.TABLE])[: words[TouchWord.ROWS]] for words in found]


@settings(max_examples=20)
@given(st.integers(1, 300), st.sampled_from([4, 12, 64, 200]))
def test_asking_changes_nothing(count: int, step: int) -> None:
    """Also at addresses that nobody may read."""
    block = Block(np.arange(count * step, dtype=np.uint8)[None], (count * step, 1), True, 1)
    words, frame = np.zeros(TouchWord.WORDS, np.int64), np.zeros(Frame.WORDS, np.int64)
    table = np.array([0, 1 << 14], np.int64)  # the second row begins behind a guard page
    words[TouchWord.TABLE], words[TouchWord.ROWS] = table.ctypes.data, 2
    words[TouchWord.AXIS], words[TouchWord.STEP] = AxisSlot.X, step
    words[TouchWord.SLOT], frame[Slot.OUT] = Slot.OUT, block.address
    frame[Frame.SIZE + AxisSlot.X] = count
    for kernel in (TouchKernel(), TouchKernel(writes=True)):
        CALL(kernel_address(kernel, current_target()))(words.ctypes.data, frame.ctypes.data)
    np.testing.assert_array_equal(block.array, block.values)
