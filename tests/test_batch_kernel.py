"""Kernels for batches of small products, beside guard pages."""

from __future__ import annotations

import ctypes
import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tensorop.jit.abi import CallRecord, Frame
from tensorop.jit.batch_abi import (
    BatchKernel,
    BatchWord,
    DotsKernel,
    ItemsKernel,
    depth_of,
    dots_tile,
    items_tile,
    tile_of,
)
from tensorop.jit.compiler import assembly
from tensorop.jit.gemm_abi import masks_stores
from tensorop.jit.generate import generate
from tensorop.jit.library import kernel_address, llvm_ir
from tensorop.jit.lines import LINE
from tensorop.jit.slots import AxisSlot, Slot
from tensorop.jit.target import Target, current_target
from tensorop.jit.touch_abi import TouchKernel, TouchWord
from tests.stream_calls import DTYPES, TARGETS, Block, numpy_dtype, wider

CALL = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)
VECTORS = tuple(d for d in DTYPES if d not in ("longdouble", "clongdouble"))


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
        for depth in (0, k):
            case = Case(m, n, k, x, apart, at_end=n != 3)
            check(kernel._replace(depth=depth), target, case)


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_the_same_for_all_stays_in_registers(target: Target) -> None:
    """It is loaded outside the loop over the batch, which has no other inside."""
    kernel = BatchKernel("float32", 1, 4, "unit", "zero")
    loops = [llvm_ir(kernel._replace(depth=d), target).count("phi i64") for d in (0, 2)]
    assert loops[1] < loops[0]


@pytest.mark.parametrize("target", TARGETS)
def test_which_sums_a_kernel_has_all_of(target: Target) -> None:
    """Those for which registers hold an input that is the same for all."""
    kernel = BatchKernel("float32", 1, 4, "unit", "zero")
    most = (target.registers - 6) // 4
    assert depth_of(kernel, 2, target) == 2 and depth_of(kernel, most, target) == most
    assert depth_of(kernel, most + 1, target) == 0
    swapped = kernel._replace(rows=4, columns=1, in0="zero", in1="unit")
    assert depth_of(swapped, 2, target) == 2
    others = kernel._replace(in1="unit"), kernel._replace(in0="strided")
    assert not any(depth_of(k, 2, target) for k in (*others, kernel._replace(dtype="complex64")))
    assert kernel._replace(depth=2).name == f"{kernel.name}_depth2"


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
    odd = {lanes - 1, lanes + 3, 3 * lanes - 1} if masks_stores(dtype, target) else set()
    for width in few | {2 * lanes} | more | odd:
        goes = width not in odd and width * size >= 16
        able = {(False, False), (False, True), (goes, True)}
        kernels = [ItemsKernel(dtype, width, 3, 0, *flags) for flags in sorted(able)]
        for m, n, k, x, apart in (
            (1, 3, 1, 1, 1),
            (1, 3, 5, 7, 2),
            (2, 6, 2, 3, 1),
            (3, 9, 4, 2, 3),
        ):
            for at_end, kernel in itertools.product((True, False), kernels):
                case = Case(m * width, n, k, x, (apart, 1, apart), at_end=at_end)
                check(kernel, target, case)
                check(kernel._replace(rest=2), target, replace(case, n=n + 2))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint64"])
@pytest.mark.parametrize(("rows", "gap"), [(1, 0), (1, 1), (2, 0)])
def test_lines_of_items(rows: int, gap: int, dtype: str, target: Target) -> None:
    """Columns that lie end to end and are no vectors are stored by lines, if they begin where such
    do (`at_end`), or as usual; those of several tiles, and items with gaps, always are."""
    lanes = target.lanes(numpy_dtype(dtype).itemsize)
    for width, columns in itertools.product({lanes + lanes // 2, lanes // 2}, range(1, 9)):
        kernel = ItemsKernel(dtype, width, columns, past=True)
        if width and kernel.joins(target):
            for at_end, tiles, beta in itertools.product((True, False), (1, 3), (None, 2.0)):
                apart = (1, 1, 1 + gap)
                sizes = rows * width, tiles * columns, 5, 3
                case = Case(*sizes, apart, beta=beta, at_end=at_end)
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
        check(ItemsKernel(dtype, lanes, 2, past=past), target, case)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_dots(dtype: str, target: Target) -> None:
    """Every number of rows, whole tiles of columns and single ones, and vectors full or in part, on
    memory that ends there; items with gaps between them."""
    lanes = target.lanes(numpy_dtype(dtype).itemsize)
    for m in range(1, 10):
        rows, columns, left = dots_tile(m, target)
        kernel = DotsKernel(dtype, rows, columns, left, asks=m % 2 == 0, in_turn=m % 3 == 0)
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


def test_rows_that_are_read_in_turn_have_loops_of_their_own() -> None:
    target = current_target()

    def loops(*, in_turn: bool) -> int:
        kernel = DotsKernel("float32", *dots_tile(4, target), in_turn=in_turn)
        return str(generate(kernel, target)).count("br i1")

    columns = dots_tile(4, target)[1]
    assert loops(in_turn=True) >= loops(in_turn=False) + 2 * (columns - 1)


@given(st.integers(1, 200))
def test_rows_of_dots_are_spread_evenly(m: int) -> None:
    for target in (param.values[0] for param in TARGETS):
        rows, columns, left = dots_tile(m, target)  # type: ignore[arg-type]
        assert rows * columns + rows + 1 <= target.registers  # type: ignore[union-attr]
        assert left == m % rows and 0 <= left < rows <= 4 and columns >= 2


@given(
    st.integers(1, 70),
    st.integers(1, 40),
    st.sampled_from(["float32", "float64", "int8"]),
    st.booleans(),
)
def test_tiles_fit_the_items(m: int, n: int, dtype: str, masked: bool) -> None:
    for target in (param.values[0] for param in TARGETS):
        tile = items_tile(m, n, dtype, target, masked=masked)
        lanes = target.lanes(numpy_dtype(dtype).itemsize)
        if tile is None:
            assert m % (2 * lanes) and m % (3 * lanes)
            assert m > 2 * lanes or m % max(2, lanes // 4)
            assert not masked or m > 3 * lanes
            continue
        width, columns, rest = tile
        pieces = ItemsKernel(dtype, width, columns, rest).pieces(target)
        assert sum(pieces) == width and all(x == lanes for x in pieces[:-1])
        vectors = len(pieces)
        assert m % width == 0 and n % columns == rest
        assert masked or not (rest or pieces[-1] & (pieces[-1] - 1))
        assert vectors * (columns + 1) + 1 <= target.registers


def test_parts_of_vectors_do_not_go_past_the_caches() -> None:
    """Unless they are put together to lines."""
    target = current_target()
    kernel = ItemsKernel("float32", target.lanes(4) + 3, 2, past=True)
    with pytest.raises(ValueError, match="no masked stores past the caches"):
        generate(kernel, target)
    assert generate(kernel._replace(columns=LINE // 4, width=2 * kernel.width), target)


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


# ---------------------------------------------------------------- asking


@pytest.mark.parametrize("kernel", [TouchKernel(), TouchKernel(writes=True)])
def test_touching_is_asking(kernel: TouchKernel) -> None:
    """It is not seen in results: the code must have the instruction, and read no element."""
    text = assembly(generate(kernel, current_target()), current_target())
    assert "prefetch" in text or "prfm" in text
    assert "vmov" not in text


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
