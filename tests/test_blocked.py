"""The five loops with tiny caches, so that small operations have many blocks on every axis, in
every way of sharing them among threads: against the plain reference."""

from __future__ import annotations

import sys
from math import prod
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tensorop
from tensorop import reference
from tensorop.bind import bind
from tensorop.bind_copies import pack_kernel
from tensorop.ir import Dimension, DimType, ExecType, Primitive, Tensor, TensorOp
from tensorop.jit.elements import element
from tensorop.jit.gemm_abi import masks_stores, stores_stretches
from tensorop.jit.library import kernel_address
from tensorop.jit.lines import LINE
from tensorop.jit.target import SEGMENT, current_target
from tensorop.jit.tiles import choose_tile
from tensorop.jit.touch_abi import TouchKernel
from tensorop.optimizer import blocked as five_loops
from tensorop.optimizer import blocks, touch
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.orient import orient
from tensorop.runtime import run, scalars
from tensorop.schedule import Call, Loop, Pack, Schedule
from tests.strategies import numpy_dtype
from tests.test_golden import AVX512

TINY = Machine(current_target(), l1=1 << 10, l2=12 << 10, l3=64 << 10, near_l3=True)
DTYPES = ("float32", "float64", "complex64", "int32", "float16")
SIZES = (1, 2, 3, 5, 8, 12, 16, 20, 33, 48, 50, 64, 96, 100)
_PRESENT = {DimType.M: (1, 0, 1), DimType.N: (0, 1, 1), DimType.K: (1, 1, 0), DimType.C: (1, 1, 1)}


def draw(rng: np.random.Generator, dtype: str) -> tuple[TensorOp, list[NDArray[Any]]]:
    """A contraction with one to three dimensions M, N and K each, in any order in memory."""
    types = [t for t in (DimType.M, DimType.N, DimType.K) for _ in range(int(rng.integers(1, 4)))]
    types += [DimType.C] * int(rng.integers(0, 2))
    sizes: list[int] = []
    for _ in types:
        room = max(1, 400_000 // prod(sizes))
        sizes.append(min(int(rng.choice(SIZES)), room))
    strides = [[0] * len(types) for _ in range(3)]
    buffers = []
    for tensor in range(3):
        own = [i for i, t in enumerate(types) if _PRESENT[t][tensor]]
        step = 1
        for i in rng.permutation(own):
            strides[tensor][i] = step
            step *= sizes[i]
        values = rng.integers(-4, 5, step)
        buffers.append(values.astype(numpy_dtype(dtype)))
    rows = zip(types, sizes, zip(*strides, strict=True), strict=True)
    tensors = tuple(Tensor(role, dtype) for role in ("in0", "in1", "out"))
    return TensorOp(tensors, tuple(Dimension(*row) for row in rows), Primitive.GEMM), buffers


def execute(
    schedule: Schedule, buffers: list[NDArray[Any]], threads: int, alpha: int = 1, beta: int = 0
) -> None:
    dtype = np.dtype(np.float32) if buffers[0].dtype == np.float16 else buffers[0].dtype
    bound, named = bind(schedule, current_target())
    kernels = [kernel_address(kernel) for kernel in named]
    factors = scalars(dtype.type(alpha), dtype.type(beta))
    plan = bound._replace(long=True).placed(kernels, threads, factors)
    in0, in1, out = buffers
    run(plan, *((in1, in0) if schedule.swapped else (in0, in1)), out)


def does_the_same(
    op: TensorOp,
    schedule: Schedule,
    buffers: list[NDArray[Any]],
    threads: int,
    alpha: int = 1,
    beta: int = 0,
) -> None:
    """Run a schedule and compare with the reference, on small integers: every sum is exact, in
    whatever order."""
    schedule.verify()
    expected = [b.copy() for b in buffers]
    reference.run(op, expected, alpha, beta)
    execute(schedule, buffers, threads, alpha, beta)
    np.testing.assert_array_equal(buffers[2], expected[2], err_msg=str(schedule.notes))


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("dtypes", [("int8", "int8"), ("uint8", "int8"), ("uint8", "uint8")])
def test_blocks_of_quads(
    dtypes: tuple[str, str], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not current_target().byte_quads:
        pytest.skip("no instruction multiplies quads of bytes here")
    monkeypatch.setattr(blocks, "MIN_KC", 8)
    rng = np.random.default_rng(threads)
    cut = 0
    for _ in range(25):
        op, (in0, in1, out) = draw(rng, "int32")
        tensors = [t._replace(dtype=d) for t, d in zip(op.tensors, dtypes, strict=False)]
        op = op._replace(tensors=(*tensors, op.tensors[2]))
        buffers = [
            rng.integers(0, 256, buffer.shape, np.uint8).view(dtype)
            for buffer, dtype in zip((in0, in1), dtypes, strict=True)
        ]
        oriented = orient(op, 16)
        if oriented.swapped:
            buffers.reverse()
        schedule = five_loops.blocked(oriented.op, TINY, threads, False)
        assert any(getattr(s, "kernel", None) and s.kernel.inputs for _, s in schedule.steps())
        loops = [s for _, s in schedule.steps() if isinstance(s, Loop) and s.axis == "K"]
        cut += any(loop.block < schedule.axis("K").size for loop in loops)
        does_the_same(oriented.op, schedule, [*buffers, out], threads)
    assert cut > 2


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
@pytest.mark.parametrize("dtype", DTYPES)
def test_blocks_and_shares(dtype: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "MIN_KC", 8)
    rng = np.random.default_rng(threads)
    cut = 0
    for _ in range(25):
        op, buffers = draw(rng, dtype)
        oriented = orient(op, 16)
        schedule = five_loops.blocked(oriented.op, TINY, threads, oriented.swapped)
        loops = [s for _, s in schedule.steps() if isinstance(s, Loop)]
        cut += any(loop.block < schedule.axis(loop.axis).size for loop in loops)
        does_the_same(op, schedule, buffers, threads)
    assert cut > 15


def test_a_tile_has_all_columns_between_rows() -> None:
    """Short runs of rows, a few columns, and again rows: what is stored is a stream, unless it
    stays in the caches or memory keeps up with it."""
    if not masks_stores("float32", current_target()):
        pytest.skip("no tile stores parts of vectors")
    machine = TINY._replace(l1=32 << 10, l2=1 << 20, l3=32 << 20)
    tensors = tuple(Tensor(role, "float32") for role in ("in0", "in1", "out"))

    def columns(n: int, *, m: int = 50_000, run: int = 10, k: int = 24) -> int:
        dims = (
            Dimension(DimType.M, m, (run, 0, n * run)),
            Dimension(DimType.M, run, (1, 0, 1)),
            Dimension(DimType.N, n, (0, 1, run)),
            Dimension(DimType.K, k, (m * run, n, 0)),
        )
        schedule = five_loops.blocked(TensorOp(tensors, dims, Primitive.GEMM), machine, 1, False)
        (call,) = [s for _, s in schedule.steps() if isinstance(s, Call)]
        return call.kernel.columns

    assert [columns(n) for n in (10, 16, 20)] == [10, 16, 20]
    assert columns(50) < 20  # registers do not hold so many sums
    assert columns(20, m=1000) < 20 and columns(20, k=72) < 20


def test_turns_are_long_where_the_other_input_is_packed_again() -> None:
    """Few rows, which are one block, and K in several: in0 is packed for every block of in1."""
    dims = (
        Dimension(DimType.M, 64, (1, 0, 1)),
        Dimension(DimType.N, 4096, (0, 1, 64)),
        Dimension(DimType.K, 1 << 14, (64, 4096, 0)),
    )
    tensors = tuple(Tensor(role, "float32") for role in ("in0", "in1", "out"))
    machine = Machine(current_target(), 32 << 10, 1 << 20, 32 << 20)
    schedule = five_loops.blocked(TensorOp(tensors, dims, Primitive.GEMM), machine, 1, False)
    (call,) = [s for _, s in schedule.steps() if isinstance(s, Call)]
    loops = {s.axis: s.block for _, s in schedule.steps() if isinstance(s, Loop)}
    assert loops["M"] == 64 and loops["K"] < 1 << 14
    assert loops["N"] >= five_loops.TURNS_AGAIN * call.kernel.columns


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_panels_of_short_dimensions_end_where_these_do(dtype: str) -> None:
    """Dimensions of two are packed into panels of a power of two columns; one long one is not."""
    if current_target().registers < 32:
        pytest.skip("tiles of all numbers of columns are not equally fast")

    def columns(spec: str, *shapes: tuple[int, ...]) -> int:
        operands = [np.zeros(shape, dtype) for shape in shapes]
        schedule = tensorop.compile(spec, *operands, order="C", threads=1).schedule
        (call,) = [s for _, s in schedule.steps() if isinstance(s, Call)]
        columns: int = call.kernel.columns
        return columns

    kind, target = element(dtype), current_target()
    short = "skoqdjhafrgibntpemcl,BkpnrtxAywlmvsouzq->AxzijcevuhyfagbBdw"
    assert columns(short, (2,) * 20, (2,) * 18) == 8
    assert (
        columns("ik,jk->ij", (1024, 96), (960, 96)) == choose_tile(target, kind, 1024, 960).columns
    )


def test_all_ways_of_storing_are_reached() -> None:
    rng = np.random.default_rng(0)
    stores = set()
    for _ in range(60):
        op, _ = draw(rng, "float32")
        oriented = orient(op, 16)
        schedule = five_loops.blocked(oriented.op, TINY, 2, oriented.swapped)
        stores |= {s.kernel.store for _, s in schedule.steps() if isinstance(s, Call)}
    assert stores == {"columns", "pieces", "scatter"} | {
        *(("runs",) if masks_stores("float32", TINY.target) else ()),
        *(("staged",) if stores_stretches("float32", TINY.target) else ()),
    }


@pytest.mark.parametrize(
    ("runs", "threads", "staged"), [(12, 3, 1), (15, 3, 1), (15, 2, 1), (8, 3, 0)]
)
def test_threads_share_staged_rows_nearly_evenly(runs: int, threads: int, staged: bool) -> None:
    """Units of two runs: 6 or 8 among three are fine, 4 are not."""
    if not stores_stretches("float32", TINY.target):
        pytest.skip("no stages")
    run, k = 72, 16
    dims = (
        Dimension(DimType.M, runs, (run * k, 0, 64 * run)),
        Dimension(DimType.M, run, (1, 0, 1)),
        Dimension(DimType.N, 64, (0, 1, run)),
        Dimension(DimType.K, k, (run, 64, 0)),
    )
    tensors = tuple(Tensor(role, "float32") for role in ("in0", "in1", "out"))
    machine = TINY._replace(l1=32 << 10, l2=512 << 10, l3=128 << 10)
    op = TensorOp(tensors, dims, Primitive.GEMM)
    schedule = five_loops.blocked(op, machine, threads, swapped=False)
    stores = {s.kernel.store for _, s in schedule.steps() if isinstance(s, Call)}
    assert stores == {"staged" if staged else "runs"}


@pytest.mark.parametrize(
    ("items", "threads", "alone"), [(4, 2, 1), (2, 2, 1), (3, 2, 0), (9, 2, 1)]
)
def test_threads_share_items_of_a_batch_alone_if_evenly(
    items: int, threads: int, alone: bool
) -> None:
    m, n, k = 22, 50, 400
    dims = (
        Dimension(DimType.C, items, (m * k, n * k, m * n)),
        Dimension(DimType.M, m, (k, 0, n)),
        Dimension(DimType.N, n, (0, k, 1)),
        Dimension(DimType.K, k, (1, 1, 0)),
    )
    tensors = tuple(Tensor(role, "float32") for role in ("in0", "in1", "out"))
    op = TensorOp(tensors, dims, Primitive.GEMM)
    schedule = five_loops.blocked(op, TINY, threads, swapped=False)
    shared = [s.axis for _, s in schedule.steps() if isinstance(s, Loop) and s.exec == "shared"]
    assert shared == (["C0"] if alone else ["C0", "M", "N"])


def rows_times(m: int, n: int, k: int, apart: int, dtype: str = "float32") -> TensorOp:
    """C = A B, with rows of B as the vector side, and rows of A so far apart."""
    dims = (
        Dimension(DimType.M, n, (1, 0, 1)),
        Dimension(DimType.N, m, (0, apart, n)),
        Dimension(DimType.K, k, (n, 1, 0)),
    )
    tensors = tuple(Tensor(role, dtype) for role in ("in0", "in1", "out"))
    return TensorOp(tensors, dims, Primitive.GEMM)


def packed_tensors(schedule: Schedule) -> set[int]:
    return {s.tensor for _, s in schedule.steps() if isinstance(s, Pack)}


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_columns_are_read_where_they_lie(dtype: str, threads: int) -> None:
    rng = np.random.default_rng(threads)
    machine = TINY._replace(l1=8 << 10)
    for m, n, k, gap in ((100, 90, 50, 0), (7, 333, 64, 3), (500, 33, 20, 90), (41, 48, 2, 0)):
        op = rows_times(m, n, k, k + gap, dtype)
        schedule = five_loops.blocked(op, machine, threads, swapped=False)
        assert packed_tensors(schedule) == {0}
        buffers = [rng.integers(-4, 5, size) for size in (k * n, m * (k + gap), m * n)]
        buffers = [b.astype(numpy_dtype(dtype)) for b in buffers]
        does_the_same(op, schedule, buffers, threads)


def test_what_is_packed_of_columns_all_the_same() -> None:
    """Several blocks of K, long columns far apart, and what a kernel cannot read as it lies."""

    def packed(op: TensorOp) -> set[int]:
        machine = TINY._replace(l1=32 << 10, l2=256 << 10, l3=1 << 20)
        return packed_tensors(five_loops.blocked(op, machine, 1, swapped=False))

    assert packed(rows_times(64, 64, 4000, 4000)) == {0, 1}
    assert packed(rows_times(64, 64, 256, 256)) == {0}
    assert packed(rows_times(64, 64, 256, 4096)) == {0, 1}
    assert packed(rows_times(64, 64, 128, 4096)) == {0}
    assert packed(rows_times(64, 64, 128, 128, "complex64")) == {0, 1}
    assert packed(rows_times(64, 64, 128, 128, "float16")) == {0, 1}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["float32", "complex64", "int32"])
def test_blocks_inside_touched_blocks_of_a_batch(
    dtype: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is asked for before a product is no part of it: panels begin anew where the product
    does."""
    monkeypatch.setattr(blocks, "MIN_KC", 8)
    monkeypatch.setattr(touch, "LONG", 32)
    monkeypatch.setattr(touch, "STREAMS", 1)
    monkeypatch.setattr(sys.modules[__name__], "SIZES", (2, 3, 5, 12, 20, 60))
    machine = TINY._replace(l1=1 << 8, l2=48 << 10)
    rng = np.random.default_rng(threads)
    both = 0
    for _ in range(3000):
        if both == 3:
            break
        op, buffers = draw(rng, dtype)
        oriented = orient(op, 16)
        schedule = five_loops.blocked(oriented.op, machine, threads, oriented.swapped)
        schedule = touch.touched(schedule, machine)
        steps = [s for _, s in schedule.steps()]
        if not any(isinstance(s, Call) and isinstance(s.kernel, TouchKernel) for s in steps):
            continue
        loops = [s for s in steps if isinstance(s, Loop) and s.axis == "K"]
        both += any(loop.block < schedule.axis("K").size for loop in loops)
        does_the_same(op, schedule, buffers, threads)
    assert both == 3


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "int8", "complex64", "complex128", "float16"]
)
def test_digits_change_places(dtype: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many short dimensions in any order, as of the qubits of a state; also with gaps, blocks that
    cut them, and some that are no power of two."""
    monkeypatch.setattr(blocks, "MIN_KC", 8)
    rng = np.random.default_rng(threads)
    modes = []
    for trial in range(40):
        types = [DimType.M] * 5 + [DimType.N] * 5 + [DimType.K] * int(rng.integers(4, 7))
        sizes = [int(rng.choice((2, 2, 2, 2, 4, 6) if trial % 2 else (2,))) for _ in types]
        strides = [[0] * len(types) for _ in range(3)]
        buffers = []
        for tensor in range(3):
            step = 1
            for i in rng.permutation([i for i, t in enumerate(types) if _PRESENT[t][tensor]]):
                strides[tensor][i] = step
                step *= sizes[i]
                step += int(rng.integers(1, 5)) * (rng.random() < 0.05)
            buffers.append(rng.integers(-4, 5, step).astype(numpy_dtype(dtype)))
        rows = zip(types, sizes, zip(*strides, strict=True), strict=True)
        tensors = tuple(Tensor(role, dtype) for role in ("in0", "in1", "out"))
        op = TensorOp(tensors, tuple(Dimension(*row) for row in rows), Primitive.GEMM)
        machine = TINY if trial % 4 else TINY._replace(l1=1 << 15, l2=1 << 20)
        oriented = orient(op, 16)
        schedule = five_loops.blocked(oriented.op, machine, threads, oriented.swapped)
        packs = [s for _, s in schedule.steps() if isinstance(s, Pack)]
        modes += [pack_kernel(schedule, pack, current_target()).mode for pack in packs]
        does_the_same(op, schedule, buffers, threads)
    if dtype == "float16":  # widened, one by one
        assert "digits" not in modes
    elif current_target().vector_bytes > SEGMENT:
        assert modes.count("digits") > 5


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int16", "complex64", "float16"])
@pytest.mark.parametrize("together", [2, 3, 4, 8])
def test_lanes_that_lie_together_are_packed_as_one(
    dtype: str, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """in0 as [b][d][e][c], where c and d are of M, e and b of K."""
    monkeypatch.setattr(blocks, "MIN_KC", 8)
    rng = np.random.default_rng(together)
    wide = 0
    for _ in range(12):
        b, d, e, n = (int(rng.integers(1, most)) for most in (5, 60, 40, 30))
        gap = int(rng.choice([0, 0, together, 1]))  # the last is no multiple of what is together
        row = e * together + gap
        dims = (
            Dimension(DimType.M, d, (row, 0, together)),
            Dimension(DimType.M, together, (1, 0, 1)),
            Dimension(DimType.N, n, (0, 1, d * together)),
            Dimension(DimType.K, e, (together, n, 0)),
            Dimension(DimType.K, b, (row * d, n * e, 0)),
        )
        tensors = tuple(Tensor(role, dtype) for role in ("in0", "in1", "out"))
        op = TensorOp(tensors, tuple(x for x in dims if x.size > 1), Primitive.GEMM)
        sizes = (b * d * row, b * e * n, d * together * n)
        buffers = [rng.integers(-4, 5, size).astype(numpy_dtype(dtype)) for size in sizes]
        threads = int(rng.integers(1, 4))
        schedule = five_loops.blocked(op, TINY, threads, False)
        packs = [s for _, s in schedule.steps() if isinstance(s, Pack)]
        kernels = [pack_kernel(schedule, pack, current_target()) for pack in packs]
        wide += any(k.source != dtype and k.mode != "digits" for k in kernels)
        expected = [x.copy() for x in buffers]
        reference.run(op, expected, 1, 0)
        execute(schedule, buffers, threads)
        np.testing.assert_array_equal(buffers[2], expected[2], err_msg=str((b, d, e, n, gap)))
    plain = dtype not in ("complex64", "float16")
    fits = together * numpy_dtype(dtype).itemsize in (2, 4, 8, 16, 32)
    assert (wide > 2) == (plain and fits)


def _rows_of(op: TensorOp) -> list[int]:
    """Sizes of M from the innermost dimension on, as its tiles go along them."""
    schedule = five_loops.blocked(op, TINY._replace(target=AVX512), 1, False)
    return [d.size for d in reversed(schedule.axis("M").dimensions)]


@pytest.mark.parametrize(("c_step", "fastest"), [(5, 322), (160, 118)])
def test_lanes_that_share_lines_are_neighbours(c_step: int, fastest: int) -> None:
    """in1 larger than out: N as it lies there, if its elements share lines; else as in out."""
    dims = (
        Dimension(DimType.N, 322, (0, c_step, 32 * 118)),
        Dimension(DimType.N, 118, (0, 322 * c_step * 30, 32)),
        Dimension(DimType.M, 32, (150, 0, 1)),
        Dimension(DimType.K, 150, (1, 322 * c_step, 0)),
    )
    tensors = tuple(Tensor(role, "float32") for role in ("in0", "in1", "out"))
    op = TensorOp(tensors, dims, Primitive.GEMM)
    assert five_loops.axes_of(op, (16, 6))[1].dimensions[-1].size == fastest


@pytest.mark.parametrize(
    ("n", "k", "innermost"),
    [
        # out is larger than in0: the two dimensions that follow one another in out stay together
        (40, 3, [5, 20, 7, 60]),
        # in0 is larger: the fastest, then the dimension that is consecutive in in0
        (3, 40, [5, 7, 20, 60]),
    ],
)
def test_what_a_tile_holds_of_m(n: int, k: int, innermost: list[int]) -> None:
    """in0 as [k][c][d][b][a] with a = 7, out as [a][b][n][c][d]."""
    a, b, c, d = 7, 60, 20, 5
    op = TensorOp(
        tuple(Tensor(role, "float32") for role in ("in0", "in1", "out")),
        (
            Dimension(DimType.M, a, (1, 0, b * n * c * d)),
            Dimension(DimType.M, b, (a, 0, n * c * d)),
            Dimension(DimType.M, c, (a * b * d, 0, d)),
            Dimension(DimType.M, d, (a * b, 0, 1)),
            Dimension(DimType.N, n, (0, 1, c * d)),
            Dimension(DimType.K, k, (a * b * c * d, n, 0)),
        ),
        Primitive.GEMM,
    )
    assert _rows_of(op) == innermost


def test_a_long_run_of_a_larger_out_is_not_cut() -> None:
    """in0 as [k][a][d], out as [d][n][a] with a = 64: eight of a, then d, only where out is the
    smaller of the two."""

    def op(n: int, k: int) -> TensorOp:
        a, d = 64, 96
        return TensorOp(
            tuple(Tensor(role, "float32") for role in ("in0", "in1", "out")),
            (
                Dimension(DimType.M, d, (1, 0, n * a)),
                Dimension(DimType.M, a, (d, 0, 1)),
                Dimension(DimType.N, n, (0, 1, a)),
                Dimension(DimType.K, k, (a * d, n, 0)),
            ),
            Primitive.GEMM,
        )

    assert _rows_of(op(n=48, k=8)) == [64, 96]
    inner, read, rest = _rows_of(op(n=8, k=48))
    assert (read, inner * rest) == (96, 64)
    assert inner < 64


def test_an_operand_of_a_single_block_is_packed_once() -> None:
    """And the other one in short blocks, of which the next one is asked for."""
    machine = TINY._replace(l1=8 << 10, l2=256 << 10, l3=8 << 20)
    dims = (
        Dimension(DimType.M, 96, (1, 0, 1)),
        Dimension(DimType.N, 30_000, (0, 1, 96)),
        Dimension(DimType.K, 40, (96, 30_000, 0)),
    )
    tensors = tuple(Tensor(role, "float32") for role in ("in0", "in1", "out"))
    op = TensorOp(tensors, dims, Primitive.GEMM)
    pack, loop = five_loops.blocked(op, machine, 1, False).body
    assert isinstance(pack, Pack) and pack.tensor == 0
    assert isinstance(loop, Loop) and loop.axis == "N"
    ahead, _ = loop.body
    assert isinstance(ahead, Pack) and ahead.ahead
    _, far = five_loops.blocked(op, machine._replace(near_l3=False), 1, False).body
    assert isinstance(far, Loop) and not any(isinstance(p, Pack) and p.ahead for p in far.body)
    assert loop.block * 40 * 4 <= machine.l2 // 4


def _outer(m: int, n: int, k: int) -> TensorOp:
    """C = A B of columns of m, all of them dense."""
    sides = ((DimType.M, m, (1, 0, 1)), (DimType.N, n, (0, k, m)), (DimType.K, k, (m, 1, 0)))
    tensors = tuple(Tensor(role, "float32") for role in ("in0", "in1", "out"))
    return TensorOp(tensors, tuple(Dimension(*side) for side in sides), Primitive.GEMM)


def test_where_much_is_written_tiles_are_tall_and_else_turns_are_short() -> None:
    machine = TINY._replace(l1=32 << 10, l2=1 << 20, l3=8 << 20)
    shapes = []
    for m, n, k in ((4096, 1024, 16), (300_032, 24, 28)):
        schedule = five_loops.blocked(_outer(m, n, k), machine, 1, False)
        (call,) = [s for _, s in schedule.steps() if isinstance(s, Call)]
        if current_target().vector_bytes < LINE:
            pytest.skip("tiles of several vectors need not be whole lines")
        assert call.kernel.past
        shapes.append((call.kernel.vectors, call.kernel.columns))
    assert shapes[0] == ((4, 4) if TINY.target.half_units else (3, 8))
    blocks = [s.block for _, s in schedule.steps() if isinstance(s, Loop) and s.axis == "M"]
    assert 8 * call.kernel.rows(TINY.target) <= blocks[-1] <= machine.l2 // 4 // (28 * 4)


@pytest.mark.parametrize("threads", [2, 3])
def test_where_much_is_written_each_thread_has_columns_of_its_own(threads: int) -> None:
    """But rows where K is long, where these lie outside of the columns, or are several blocks."""
    machine = TINY._replace(l1=32 << 10, l2=1 << 20, l3=8 << 20)

    def shared(op: TensorOp) -> str:
        """The axis that threads share when they multiply."""
        steps = [s for _, s in five_loops.blocked(op, machine, threads, False).steps()]
        loops = [s for s in steps if isinstance(s, Loop) and s.exec == ExecType.SHARED]
        return loops[-1].axis

    outer = _outer(1024, 4096, 16)
    m, n, k = outer.dimensions
    turned = m.stepping((1, 0, 4096)), n.stepping((0, 16, 1)), k
    assert shared(outer) == "N"
    assert shared(outer.with_dimensions(turned)) == "M"
    assert shared(_outer(288 * 4, 4096, 600)) == "M"
    assert shared(_outer(300_000, 1024, 16)) == "M"


@pytest.mark.parametrize(
    ("sizes", "mc"),
    [
        ((304, 192, 36864), 192), ((304, 20, 36864), 144),  # in1 stays in L2
        ((1024, 1024, 1024), 144), ((288, 192, 36864), 144), ((208, 224, 12544), 144),
    ],
)  # fmt: skip
def test_no_block_of_few_is_less_than_a_tile(sizes: tuple[int, int, int], mc: int) -> None:
    """Where all of in1 would be read again for it."""
    machine = Machine(current_target(), l1=32 << 10, l2=1 << 20, l3=32 << 20)
    if machine.target.lanes(4) != 16:
        pytest.skip("tiles are of 16 lanes")
    assert blocks.block_sizes(machine, element("float32"), sizes, (48, 8)).mc == mc
