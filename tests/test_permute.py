"""Permuting copies of every rank and element size, as for targets that fit in the caches and as for
those that do not, against numpy's transposition."""

from __future__ import annotations

import math
from collections import Counter
from math import prod
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tensorop.bind import bind
from tensorop.bind_copies import LEFT, reaching_back
from tensorop.ir import Dimension, DimType, ExecType, Primitive, Tensor, TensorOp
from tensorop.jit.builder import Code
from tensorop.jit.copy_abi import CopyKernel
from tensorop.jit.elements import element
from tensorop.jit.library import kernel_address
from tensorop.jit.lines import LINE
from tensorop.jit.tables import chunks
from tensorop.jit.target import current_target
from tensorop.optimizer.fuse import fuse
from tensorop.optimizer.machine import host_machine
from tensorop.optimizer.permute import permute
from tensorop.optimizer.pipeline import optimise
from tensorop.optimizer.widen import widen
from tensorop.runtime import run, scalars
from tensorop.schedule import Call, Loop, Schedule
from tests.asked import Asked, aligned
from tests.strategies import numpy_dtype

HOST = host_machine()
SMALL = HOST._replace(l3=1 << 10)
GUARD = 5  # elements in front of and behind the target, which also put it anywhere in a line


def draw(rng: np.random.Generator) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A shape, and a permutation that does not leave the last axis where it is."""
    rank = int(rng.integers(2, 7))
    sizes: list[int] = []
    for _ in range(rank):
        room = max(2, 300_000 // prod(sizes))
        sizes.append(min(int(rng.choice((2, 3, 5, 8, 16, 17, 33, 64, 100, 160))), room))
    while (axes := tuple(rng.permutation(rank).tolist()))[-1] == rank - 1:
        pass
    return tuple(sizes), axes


def modes_of(schedule: Schedule) -> set[str]:
    """In what ways a schedule copies."""
    kernels = [step.kernel for _, step in schedule.steps() if isinstance(step, Call)]
    return {kernel.mode for kernel in kernels if isinstance(kernel, CopyKernel)}


def operation(source: NDArray[Any], out: NDArray[Any], dtype: str) -> TensorOp:
    dimensions = tuple(
        Dimension(DimType.C, size, (a // source.itemsize, b // source.itemsize))
        for size, a, b in zip(source.shape, source.strides, out.strides, strict=True)
    )
    return fuse(
        TensorOp((Tensor("in0", dtype), Tensor("out", dtype)), dimensions, Primitive.COPY)
    ).op


def execute(schedule: Schedule, arrays: list[NDArray[Any]], threads: int) -> None:
    bound, named = bind(schedule, current_target())
    one = arrays[0].dtype.type(1)
    kernels = [kernel_address(kernel) for kernel in named]
    plan = bound._replace(long=True).placed(kernels, threads, scalars(one, one))
    source, out = arrays
    run(plan, source, 0, out)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["int8", "bfloat16", "float32", "float64", "complex128"])
def test_any_permutation(dtype: str, threads: int) -> None:
    rng = np.random.default_rng(threads)
    kind = numpy_dtype(dtype)
    staged = 0
    for trial in range(40):
        shape, axes = draw(rng)
        source = rng.integers(0, 256, prod(shape) * kind.itemsize, np.uint8).view(kind)
        memory = np.zeros(source.size + 16 * GUARD, kind)
        first = GUARD + int(rng.integers(0, 16))
        permuted = source.reshape(shape).transpose(axes)
        out = memory[first : first + source.size].reshape(permuted.shape)
        op = operation(permuted, out, dtype)
        schedule = permute(op, SMALL if trial % 4 else HOST, threads)
        schedule.verify()
        staged += modes_of(schedule) <= {"staged", "lines"}
        expected = memory.view(np.uint8).copy()
        place = slice(first * kind.itemsize, (first + source.size) * kind.itemsize)
        expected[place] = np.ascontiguousarray(permuted).view(np.uint8).ravel()
        execute(schedule, [source, memory[first:]], threads)
        np.testing.assert_array_equal(memory.view(np.uint8), expected, err_msg=str((shape, axes)))
    assert staged > 20


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["int8", "bfloat16", "float32", "float64"])
def test_channels_go_by_way_of_the_stage(dtype: str, threads: int) -> None:
    """A few channels of many positions, other dimensions anywhere."""
    rng = np.random.default_rng(threads)
    kind = numpy_dtype(dtype)
    kernels: Counter[tuple[bool, bool]] = Counter()
    for trial in range(48):
        channels, positions = int(rng.integers(2, 9)), int(rng.integers(10, 400))
        others = [int(rng.integers(1, 12)) for _ in range(3)]
        shape, axes = [
            ((*others, positions, channels), (0, 2, 4, 1, 3)),
            ((*others, positions, channels), (1, 4, 2, 0, 3)),
            ((others[0], channels, *others[1:], positions), (2, 3, 0, 4, 1)),
            ((channels, *others, positions), (3, 1, 2, 4, 0)),
        ][trial % 4]
        source = rng.integers(0, 256, prod(shape) * kind.itemsize, np.uint8).view(kind)
        memory = np.zeros(source.size + 16 * GUARD, kind)
        first = GUARD + int(rng.integers(0, 16))
        permuted = source.reshape(shape).transpose(axes)
        out = memory[first : first + source.size].reshape(permuted.shape)
        schedule = optimise(operation(permuted, out, dtype), SMALL, threads)
        schedule.verify()
        for _, step in schedule.steps():
            if isinstance(step, Call) and isinstance(step.kernel, CopyKernel):
                kernels[step.kernel.channels > 0, step.kernel.joins] += 1
                # Lines are taken apart as squares.
                assert step.kernel.channels * kind.itemsize < LINE
        expected = memory.view(np.uint8).copy()
        place = slice(first * kind.itemsize, (first + source.size) * kind.itemsize)
        expected[place] = np.ascontiguousarray(permuted).view(np.uint8).ravel()
        execute(schedule, [source, memory[first:]], threads)
        np.testing.assert_array_equal(memory.view(np.uint8), expected, err_msg=str((shape, axes)))
    assert kernels[True, False] > 8 and kernels[True, True] > 8


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["int8", "bfloat16", "float32", "float64", "complex64"])
def test_short_dimensions(dtype: str, threads: int) -> None:
    """As of the qubits of a state; some are no power of two."""
    rng = np.random.default_rng(threads)
    kind = numpy_dtype(dtype)
    modes: Counter[str] = Counter()
    for trial in range(40):
        rank = int(rng.integers(6, 17))
        sizes = (2, 2, 2, 4, 3) if trial % 3 == 0 else (2,)
        shape = [int(rng.choice(sizes)) for _ in range(rank)]
        while prod(shape) > 100_000:
            shape.pop()
        axes = tuple(rng.permutation(len(shape)).tolist())
        source = rng.integers(0, 256, prod(shape) * kind.itemsize, np.uint8).view(kind)
        memory = np.zeros(source.size + 16 * GUARD, kind)
        first = GUARD + int(rng.integers(0, 16))
        permuted = source.reshape(shape).transpose(axes)
        out = memory[first : first + source.size].reshape(permuted.shape)
        schedule = optimise(operation(permuted, out, dtype), HOST, threads)
        schedule.verify()
        modes.update(modes_of(schedule))
        expected = memory.view(np.uint8).copy()
        place = slice(first * kind.itemsize, (first + source.size) * kind.itemsize)
        expected[place] = np.ascontiguousarray(permuted).view(np.uint8).ravel()
        execute(schedule, [source, memory[first:]], threads)
        np.testing.assert_array_equal(memory.view(np.uint8), expected, err_msg=str((shape, axes)))
    assert modes["digits"] > 5 or HOST.lanes(dtype) < 8


@pytest.mark.parametrize(
    ("dtype", "columns", "tile"),
    [("float32", 1024, 8), ("float32", 1000, 16), ("int16", 2048, 8), ("uint8", 4096, 16)],
)
def test_tiles_are_small_where_their_rows_share_a_set_of_lines(
    dtype: str, columns: int, tile: int
) -> None:
    rng = np.random.default_rng(columns)
    source = rng.integers(0, 100, (256, columns)).astype(dtype)
    out = np.zeros((columns, 256), dtype)
    target = SMALL.target._replace(vector_bytes=64, masked=frozenset(), features="")
    machine = SMALL._replace(target=target)
    schedule = permute(operation(source.T, out, dtype), machine, 1)
    (kernel,) = (step.kernel for _, step in schedule.steps() if isinstance(step, Call))
    assert isinstance(kernel, CopyKernel)
    assert (kernel.mode, kernel.tile, kernel.squares) == ("staged", tile, 1)
    execute(permute(operation(source.T, out, dtype), SMALL, 1), [source, out], 1)
    np.testing.assert_array_equal(out, source.T)


def test_matrices_as_large_as_the_stage_are_taken_in_parts() -> None:
    """All of one would leave no room for the lines in front of its runs."""
    source = np.zeros((300, 64, 64))
    op = operation(source.transpose(0, 2, 1), np.zeros((300, 64, 64)), "float64")
    assert modes_of(permute(op, HOST._replace(l1=1 << 15, l3=1 << 20), 1)) == {"staged"}


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64"])
@pytest.mark.parametrize(
    ("shape", "axes"),
    [((60_000, 4, 3), (0, 2, 1)), ((4, 60_000, 3), (1, 0, 2)), ((61_001, 3, 5), (0, 2, 1))],
)
def test_a_long_dimension_is_taken_in_parts(
    shape: tuple[int, ...], axes: tuple[int, ...], dtype: str
) -> None:
    """A tile of a few elements for each of many positions would be a call for each; a prime size
    has no parts."""
    rng = np.random.default_rng(0)
    source = rng.integers(0, 100, shape).astype(numpy_dtype(dtype))
    out = np.zeros([shape[axis] for axis in axes], source.dtype)
    op = operation(source.transpose(axes), out, dtype)
    schedule = permute(op, HOST, 1)
    schedule.verify()
    calls = prod(axis.size for axis in schedule.axes if axis.name not in ("X", "Y"))
    assert calls == 61_001 if shape[0] == 61_001 else calls < 20
    execute(schedule, [source, out], 1)
    np.testing.assert_array_equal(out, source.transpose(axes))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["int8", "float32", "float64"])
@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((61_001, 3, 5), (0, 2, 1)),
        ((37, 1_601, 31), (2, 1, 0)),  # short rows on both sides, in many that a prime counts
        ((3, 40_009), (1, 0)),
        ((5, 55, 2_391), (0, 2, 1)),  # columns that follow one another
        ((131, 17, 97), (2, 1, 0)),
        ((9_973, 110), (1, 0)),  # whole lines past the caches
    ],
)
def test_what_only_memory_holds_goes_in_long_runs(
    shape: tuple[int, ...], axes: tuple[int, ...], dtype: str, threads: int
) -> None:
    rng = np.random.default_rng(0)
    source = rng.integers(0, 100, shape).astype(numpy_dtype(dtype))
    out = np.zeros([shape[axis] for axis in axes], source.dtype)
    op = operation(source.transpose(axes), out, dtype)
    schedule = permute(op, HOST._replace(l3=1 << 12), threads)
    schedule.verify()
    assert modes_of(schedule) <= {"staged", "lines"}
    assert threads == 1 or any(
        isinstance(step, Loop) and step.exec == ExecType.SHARED for _, step in schedule.steps()
    )
    execute(schedule, [source, out], threads)
    np.testing.assert_array_equal(out, source.transpose(axes))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["int8", "bfloat16", "float32", "float64", "complex128"])
def test_columns_that_follow_one_another(dtype: str, threads: int) -> None:
    """They begin and end anywhere in a line; nothing before or after them is written."""
    rng = np.random.default_rng(threads)
    kind = numpy_dtype(dtype)
    for _ in range(12):
        rows, others, columns = (int(rng.integers(1, n)) for n in (60, 5, 3000))
        columns += 2048 // kind.itemsize
        shape, axes = [((others, rows, columns), (0, 2, 1)), ((rows, others, columns), (1, 2, 0))][
            int(rng.integers(2))
        ]
        source = rng.integers(0, 256, prod(shape) * kind.itemsize, np.uint8).view(kind)
        memory = np.zeros(source.nbytes + 256, np.uint8)
        first = int(rng.integers(64, 128))
        permuted = source.reshape(shape).transpose(axes)
        out = memory[first : first + source.nbytes].view(kind).reshape(permuted.shape)
        schedule = permute(operation(permuted, out, dtype), HOST._replace(l3=1 << 12), threads)
        assert modes_of(schedule) <= {"staged", "lines", "across"}
        expected = memory.copy()
        expected[first : first + source.nbytes] = permuted.ravel().view(np.uint8)
        execute(schedule, [source, out], threads)
        np.testing.assert_array_equal(memory, expected)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["int8", "bfloat16", "float32", "float64", "complex128"])
def test_columns_in_runs(dtype: str, threads: int) -> None:
    """Long and short ones, with regions that end within a run, from anywhere in a line, also from
    within an element; nothing before or after them is written."""
    rng = np.random.default_rng(threads)
    kind = numpy_dtype(dtype)
    modes: Counter[str] = Counter()
    for trial in range(16):
        run, rows, others, columns = (int(rng.integers(1, n)) for n in (900, 40, 4, 900))
        shape, axes = [
            ((run, others, columns), (2, 1, 0)),
            ((rows, run, columns // 9 + 1), (0, 2, 1)),
            ((rows, run, columns // 9 + 1, others), (3, 0, 2, 1)),
            ((40 * run, columns), (1, 0)),
        ][trial % 4]
        source = rng.integers(0, 256, prod(shape) * kind.itemsize, np.uint8).view(kind)
        memory = np.zeros(source.nbytes + 256, np.uint8)
        first = int(rng.integers(64, 128))
        if trial % 3:  # from the beginning of an element
            first -= first % kind.itemsize
        permuted = source.reshape(shape).transpose(axes)
        out = memory[first : first + source.nbytes].view(kind).reshape(permuted.shape)
        schedule = permute(operation(permuted, out, dtype), HOST._replace(l3=1 << 12), threads)
        expected = memory.copy()
        expected[first : first + source.nbytes] = permuted.ravel().view(np.uint8)
        execute(schedule, [source, out], threads)
        np.testing.assert_array_equal(memory, expected, err_msg=str((shape, axes, first)))
        modes.update(modes_of(schedule))
    assert modes["staged"] + modes["lines"] > 8


@pytest.mark.parametrize(
    ("shape", "axes"),
    [((90, 4000), (1, 0)), ((300, 700), (1, 0)), ((5, 70, 40, 30), (2, 0, 3, 1))],
)
def test_regions_to_come_are_asked_for(
    shape: tuple[int, ...], axes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every line of the source but those of the first region."""
    source = aligned(np.arange(prod(shape), dtype=np.float32)).reshape(shape)
    out = np.zeros([shape[axis] for axis in axes], np.float32)
    op = operation(source.transpose(axes), out, "float32")
    schedule = permute(op, HOST._replace(l3=1 << 12), 1)
    assert modes_of(schedule) == {"staged"}
    asked = Asked(source)
    monkeypatch.setattr(Code, "prefetch", lambda code, *to, **how: asked.ask(code, *to, **how))
    asked.execute(schedule, [source, source, out])
    np.testing.assert_array_equal(out, source.transpose(axes))
    lines = source.nbytes // LINE
    assert lines - HOST.l1 // LINE <= asked.lines[:-1].sum() < lines


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["int8", "float32", "complex128"])
def test_rows_that_begin_anywhere(dtype: str, threads: int) -> None:
    """Rows of any length and place in cache lines, into more than the caches hold; conjugated ones
    go through these."""
    rng = np.random.default_rng(threads)
    kind, machine = numpy_dtype(dtype), HOST._replace(l3=1 << 4)
    for trial in range(16):
        rows, columns, length = (int(rng.integers(2, n)) for n in (40, 40, 500))
        length = (length, 64 // kind.itemsize, 256, length % 10 + 2)[trial % 4]
        source = rng.integers(0, 256, rows * columns * length * kind.itemsize, np.uint8)
        memory = np.zeros(source.nbytes + 256, np.uint8)
        first = 64 + kind.itemsize * int(rng.integers(0, 64 // kind.itemsize)) * (trial % 2)
        permuted = source.view(kind).reshape(rows, columns, length).transpose(1, 0, 2)
        out = memory[first : first + source.nbytes].view(kind).reshape(permuted.shape)
        op = operation(permuted, out, dtype)
        schedule = permute(widen(op).op, machine, threads)
        bytes_ = length * kind.itemsize
        assert modes_of(schedule) == {"staged" if bytes_ < 192 and bytes_ % 64 else "rows"}
        expected = memory.copy()
        expected[first : first + source.nbytes] = permuted.ravel().view(np.uint8)
        execute(schedule, [source.view(kind), out], threads)
        np.testing.assert_array_equal(memory, expected, err_msg=str((rows, columns, length, first)))
        conjugating = permute(op._replace(main=Primitive.CONJ), machine, threads)
        assert modes_of(conjugating) == {"along"}


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("rows", [256, 500, 512, 1024, 2048])
def test_columns_of_a_page_are_few_at_a_time(rows: int, dtype: str) -> None:
    """Where lines of neighbouring columns of the target go into few sets of L1, tiles go down as
    many columns as these hold, and not across all."""
    source = np.arange(rows * 64).astype(numpy_dtype(dtype)).reshape(rows, 64)
    out = np.zeros((64, rows), source.dtype)
    machine = host_machine()._replace(l1=32 << 10, l2=1 << 20, l3=32 << 20, near_l3=True)
    schedule = permute(operation(source, out.T, dtype), machine, 1)
    assert modes_of(schedule) == {"across"}
    blocks = {s.axis: s.block for _, s in schedule.steps() if isinstance(s, Loop)}
    columns = blocks.get("X", 64)
    lines = Counter(column * rows * source.itemsize // LINE % 64 for column in range(columns))
    smallest = 16 if source.itemsize == 1 else 8  # that a kernel has
    assert max(lines.values()) <= 8 or columns == smallest
    assert columns == 64 or rows % 256 == 0
    execute(schedule, [source, out], 1)
    np.testing.assert_array_equal(out, source.T)


@pytest.mark.parametrize(("near_l3", "mode"), [(True, "across"), (False, "staged")])
def test_what_a_near_l3_holds_is_stored_through_it(near_l3: bool, mode: str) -> None:
    """The same copy of 1 MB; one of half of L3 goes past it in any case, and in runs of several
    lines where its columns lie a multiple of 512 bytes apart."""
    machine = HOST._replace(l2=1 << 20, l3=16 << 20, near_l3=near_l3)
    long = "lines" if HOST.target.shifts_lines(4) else "staged"
    for rows, expected in [(512, {mode}), (8200, {long}), (8192, {"staged"})]:
        source, out = np.zeros((rows, 512), np.float32), np.zeros((512, rows), np.float32)
        assert modes_of(permute(operation(source.T, out, "float32"), machine, 1)) == expected


@pytest.mark.parametrize(
    ("dtype", "rows"), [("uint8", 300), ("uint8", 40), ("uint8", 17), ("float32", 300)]
)
def test_a_vector_has_columns_of_as_many_squares_as_fill_it(dtype: str, rows: int) -> None:
    source, out = np.zeros((rows, 64), dtype), np.zeros((64, rows), dtype)
    schedule = permute(operation(source.T, out, dtype), HOST, 1)
    (kernel,) = (step.kernel for _, step in schedule.steps() if isinstance(step, Call))
    assert isinstance(kernel, CopyKernel)
    width, size = HOST.target.vector_bytes, source.itemsize
    filled = min(width // size, 1 << (rows.bit_length() - 1))
    assert kernel.rows(HOST.target) == max(filled, kernel.lanes(HOST.target))


@pytest.mark.parametrize(("rows", "shared"), [(20, "X"), (5000, "Y")])
def test_threads_share_the_longer_side(rows: int, shared: str) -> None:
    rng = np.random.default_rng(rows)
    source = rng.integers(0, 100, (rows, 3000)).astype(np.float32)
    out = np.zeros((3000, rows), np.float32)
    machine = HOST._replace(l2=1 << 20, l3=1 << 40)
    schedule = permute(operation(source.T, out, "float32"), machine, 4)
    loops = [step for _, step in schedule.steps() if isinstance(step, Loop)]
    assert [loop.axis for loop in loops if loop.exec == ExecType.SHARED] == [shared]
    assert loops[0].axis == shared
    execute(schedule, [source, out], 4)
    np.testing.assert_array_equal(out, source.T)


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("together", [2, 3, 4, 6, 8, 12, 32, 48])
def test_neighbours_that_stay_together_are_one_element(dtype: str, together: int) -> None:
    rng = np.random.default_rng(together)
    kind = numpy_dtype(dtype)
    for trial in range(12):
        shape, axes = draw(rng)
        shape = tuple(min(n, 20) for n in shape[:4])
        axes = tuple(axis for axis in axes if axis < len(shape))
        whole = (*shape, together)
        source = rng.integers(0, 256, prod(whole) * kind.itemsize, np.uint8).view(kind)
        permuted = source.reshape(whole).transpose((*axes, len(shape)))
        memory = np.zeros(source.size + 16 * GUARD, kind)
        out = memory[GUARD : GUARD + source.size].reshape(permuted.shape)
        op = operation(permuted, out, dtype)
        wider = widen(op).op
        fastest = next((d for d in op.dimensions if d.strides == (1, 1)), None)
        if fastest is not None and len(op.dimensions) > 2:
            bytes_ = math.gcd(fastest.size * kind.itemsize, 32)
            sizes = {max(kind.itemsize, bytes_), max(kind.itemsize, min(bytes_, 16))}
            assert element(wider.dtype).size in sizes
        expected = memory.view(np.uint8).copy()
        place = slice(GUARD * kind.itemsize, (GUARD + source.size) * kind.itemsize)
        expected[place] = np.ascontiguousarray(permuted).view(np.uint8).ravel()
        schedule = optimise(op, SMALL if trial % 2 else HOST, 1)
        schedule.verify()
        execute(schedule, [source, memory[GUARD:]], 1)
        np.testing.assert_array_equal(memory.view(np.uint8), expected, err_msg=str(whole))


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("together", [2, 4, 8, 16, 32])
def test_neighbours_together_in_tensors_with_gaps(dtype: str, together: int) -> None:
    """Nothing else is consecutive: elements are moved one by one, all their bits."""
    rng = np.random.default_rng(together)
    kind = numpy_dtype(dtype)
    for _ in range(12):
        x, y = (int(rng.integers(2, 40)) for _ in range(2))
        gap = together * int(rng.integers(1, 4))
        raw = rng.integers(0, 256, (x, y, together + gap, kind.itemsize), np.uint8)
        source = np.ascontiguousarray(raw).view(kind)[..., 0]
        part = source[:, ::-1, :together].transpose(1, 0, 2)
        out = np.zeros((y, x, together), kind)
        op = operation(part, out, dtype)
        schedule = optimise(op, SMALL, 1)
        execute(schedule, [part, out], 1)
        np.testing.assert_array_equal(out.view(np.uint8), np.ascontiguousarray(part).view(np.uint8))


def test_what_is_no_copy_of_bits_stays_as_it_is() -> None:
    dims = (
        Dimension(DimType.C, 5, (14, 2)),
        Dimension(DimType.C, 7, (2, 10)),
        Dimension(DimType.C, 2, (1, 1)),
    )
    plain = (Tensor("in0", "complex64"), Tensor("out", "complex64"))
    copy = TensorOp(plain, dims, Primitive.COPY)
    assert widen(copy).op.dtype == "complex128"
    conjugated = (Tensor("in0", "complex64", conj=True), plain[1])
    cast = (Tensor("in0", "float32"), plain[1])
    odd = (Dimension(DimType.C, 5, (15, 2)), *dims[1:])
    for op in (
        copy._replace(main=Primitive.CONJ),
        copy._replace(tensors=conjugated),
        copy._replace(tensors=cast, main=Primitive.CAST),
        copy._replace(dimensions=odd),
        copy._replace(dimensions=dims[1:]),
    ):
        assert widen(op).op == op


@pytest.mark.parametrize("seed", range(20))
def test_ends_of_runs_reach_back(seed: int) -> None:
    """The same positions, at the same addresses; none before its granule; and tiles that are full
    wherever a run is long enough."""
    rng = np.random.default_rng(seed)
    size, lanes, granule = 4, int(rng.choice([4, 8, 16])), int(rng.choice([48, 64, 1000]))
    runs = [int(n) for n in rng.integers(1, 60, 30)]
    steps = np.concatenate([np.r_[np.full(n - 1, size), 1000] for n in runs])
    addresses = np.r_[0, np.cumsum(steps)[:-1]]
    records, _ = chunks(addresses, size, lanes, granule)
    moved = reaching_back(records, size, lanes, granule)
    covered = set()
    for (first, offset, length), (old, _, was) in zip(moved, records, strict=True):
        assert first + length == old + was and first // granule == old // granule
        places = range(first, first + length)
        assert (addresses[places] == offset + size * np.arange(length)).all()
        covered.update(places)
    assert covered == set(range(len(addresses)))
    starts = {int(offset): int(length) for _, offset, length in records}
    for (first, offset, length), (_, _, full) in zip(records, moved, strict=True):
        before = starts.get(int(offset) - size * lanes) == lanes  # a full tile of the same run
        if before and first % granule and length > LEFT:
            assert full == lanes


@pytest.mark.parametrize("shape", [(40, 50, 64), (40, 50, 311), (300, 20, 96)])
def test_rows_that_come_later_are_asked_for(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the next chunk, of the next strip, and of a row that is alone in its strip."""
    source = aligned(np.arange(prod(shape), dtype=np.float32))
    permuted = source.reshape(shape).transpose(1, 0, 2)
    out = np.zeros(permuted.shape, np.float32)
    schedule = permute(operation(permuted, out, "float32"), SMALL, 1)
    assert modes_of(schedule) == {"rows"}
    asked = Asked(source)
    monkeypatch.setattr(Code, "prefetch", lambda code, *to, **how: asked.ask(code, *to, **how))
    asked.execute(schedule, [source, source, out])
    np.testing.assert_array_equal(out, permuted)
    assert asked.lines[:-1].mean() > 0.85 and not asked.lines[:2].any()
