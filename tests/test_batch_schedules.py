"""Schedules of batches of small products against plain loops, and what they ask for ahead."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tensorop.bind import bind
from tensorop.ir import Dimension, DimType, ExecType, Primitive, Tensor, TensorOp
from tensorop.jit.abi import Node
from tensorop.jit.batch_abi import (
    tile_of,
)
from tensorop.jit.image import KERNEL, REFERENCE
from tensorop.jit.items import FAR
from tensorop.jit.kernel import Kernel
from tensorop.jit.lines import LINE
from tensorop.jit.target import current_target
from tensorop.jit.touch_abi import TouchKernel, TouchWord
from tensorop.optimizer.batch import batched, tile_for
from tensorop.optimizer.items import asks_ahead, itemised, items_of
from tensorop.optimizer.lanes import as_batch, lane_dimension, lanes_of
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.pipeline import optimise
from tensorop.optimizer.touch import item_rows
from tensorop.runtime import Bound
from tensorop.schedule import Call as CallStep
from tensorop.schedule import Loop
from tests.asked import Asked, aligned
from tests.test_batch_kernel import values
from tests.test_blocked import does_the_same

TINY = Machine(current_target(), l1=1 << 10, l2=12 << 10, l3=64 << 10)
SMALL = Machine(current_target(), l1=1 << 10, l2=160 << 10, l3=1 << 20)


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


@pytest.mark.parametrize("tensor", [0, 1])
@pytest.mark.parametrize("n", [16, 32, 48])
def test_long_items_are_asked_for(n: int, tensor: int) -> None:
    """Every line of them, but for the first ones; no short items, none with gaps between them, and
    none that the caches hold."""
    T, items, m, k = DimType, 9, 32, 32

    def product(m: int, gap: int = 0) -> TensorOp:
        steps = m * k + gap, n * k + gap, m * n + gap
        rows = (T.C, items, steps), (T.M, m, (1, 0, 1)), (T.N, n, (0, k, m)), (T.K, k, (m, 1, 0))
        tensors = tuple(Tensor(role, "float32") for role in ("in0", "in1", "out"))
        return TensorOp(tensors, tuple(Dimension(*row) for row in rows), Primitive.GEMM)

    def asks(op: TensorOp, machine: Machine) -> bool:
        found = items_of(op, machine)
        return found is not None and asks_ahead(found, machine)

    machine = SMALL._replace(l1=64 << 10, l2=32 << 10)
    assert asks(product(m), machine) and not asks(product(m, 16), machine)
    assert not asks(product(m), machine._replace(l2=1 << 20))
    found = items_of(product(m), machine)
    assert found is not None and not asks_ahead(found, machine, least=1 << 14)
    schedule = itemised(found, machine, 1)
    rng = np.random.default_rng(0)
    buffers = [aligned(rng.integers(-4, 5, items * size)) for size in (m * k, n * k, m * n)]
    lines = Asked(buffers[tensor]).of_products(schedule, buffers, (items, m, n, k))
    item = (m * k, n * k)[tensor] * 4
    first = FAR // item + 1
    assert lines == [*range(first * item // LINE, items * item // LINE)]


def test_half_types_are_not_rounded_on_the_way() -> None:
    """Two K that are not one would be two blocks, with a sum in the half type between them."""
    op, _ = batch(np.random.default_rng(0), "int32")
    halves = tuple(Tensor(t.role, "float16") for t in op.tensors)
    apart = tuple(
        Dimension(DimType.K, 3, (s * 5, s * 7, 0)) for s in (1000, 100)
    ) + tuple(d for d in op.dimensions if d.type != DimType.K)  # fmt: skip
    assert lane_dimension(TensorOp(halves, apart, Primitive.GEMM)) is None
    assert lane_dimension(TensorOp(halves, apart[1:], Primitive.GEMM)) is not None


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


@pytest.mark.parametrize(
    ("n", "near", "kept", "asks"),
    [(24, False, 64 << 20, True), (24, True, 64 << 20, False), (16, False, 64 << 20, False),
     (24, False, 256 << 20, False)],
)  # fmt: skip
def test_items_from_a_far_l3_are_asked_for(n: int, near: bool, kept: int, asks: bool) -> None:
    """If their products take long, and they are more than it is sure to keep."""
    op = interleaved((32 << 20) // (12 * n * n), n)
    machine = Machine(current_target(), 48 << 10, 2 << 20, 480 << 20, near_l3=near, kept=kept)
    kernels = [getattr(step, "kernel", None) for _, step in optimise(op, machine, 1).steps()]
    assert any(isinstance(kernel, TouchKernel) for kernel in kernels) == asks


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


def touch_tables(bound: Bound, kernels: Sequence[Kernel]) -> list[NDArray[np.int64]]:
    """The tables that the descriptors of touches point to."""

    def at(reference: np.int64) -> NDArray[np.int64]:
        return bound.words[(reference - REFERENCE) // 8 :]

    touches = [KERNEL + i for i, k in enumerate(kernels) if isinstance(k, TouchKernel)]
    calls = np.flatnonzero(np.isin(bound.words, touches)) - Node.KERNEL
    found = [at(bound.words[call + Node.DESCRIPTOR]) for call in calls]
    return [at(words[TouchWord.TABLE])[: words[TouchWord.ROWS]] for words in found]
