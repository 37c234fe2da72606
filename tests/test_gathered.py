"""Small products whose operands lie anywhere: kernels between guard pages, on arrays of any
strides, against numpy; which products they are for; and plans in every mix of orders."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tensorop
from tensorop.ir import Primitive, TensorOp
from tensorop.jit.abi import WORD as WORD_BYTES
from tensorop.jit.abi import CallRecord, Frame
from tensorop.jit.elements import element
from tensorop.jit.gemm_abi import PANEL_BYTES, GemmKernel, GemmWord, left_over, masks_rows
from tensorop.jit.generate import generate
from tensorop.jit.library import kernel_address
from tensorop.jit.slots import AxisSlot, Slot
from tensorop.jit.tables import chunks
from tensorop.jit.target import Target
from tensorop.jit.tiles import tiles
from tensorop.optimizer.choice import Choice
from tensorop.optimizer.gathered import gathered_of, gathering
from tensorop.optimizer.machine import host_machine
from tensorop.optimizer.pipeline import optimise
from tensorop.schedule import Schedule
from tests.stream_calls import TARGETS
from tests.test_blocked import does_the_same
from tests.test_gemm_kernel import CALL, guarded_bytes
from tests.test_tiny import product

Array = np.ndarray[Any, Any]
DTYPES = ["float32", "float64", "complex64", "complex128", "int8", "uint16", "int32", "uint64"]
# How far apart rows and columns of a matrix of so many are; tuples: (rows, columns).
LAYOUTS = {
    "rows": lambda m, n: (n, 1),
    "columns": lambda m, n: (1, m),
    "apart": lambda m, n: (n + 3, 1),
    "second rows": lambda m, n: (2, 2 * m + 1),
    "second columns": lambda m, n: (4 * n, 2),
    "third rows": lambda m, n: (3, 3 * m),
    "backwards": lambda m, n: (-n, -1),
    "rows backwards": lambda m, n: (-1, m),
    "columns backwards": lambda m, n: (-n - 1, 1),
}
UPDATES = [(True, None, None), (True, 2, None), (True, 2, 3), (True, None, 1), (False, 2, None)]


def laid(
    shape: tuple[int, int], layout: str, dtype: str, key: int, at_end: bool
) -> tuple[Array, Array]:
    """A matrix that begins, or ends, where memory does; and all bytes that it reaches over."""
    steps, size = LAYOUTS[layout](*shape), np.dtype(dtype).itemsize
    reach = [(n - 1) * step for n, step in zip(shape, steps, strict=True)]
    low = sum(r for r in reach if r < 0)
    span = 1 + sum(map(abs, reach))
    raw = guarded_bytes(span * size, key, at_end)
    strides = tuple(step * size for step in steps)
    return np.ndarray(shape, dtype, raw, -low * size, strides), raw


def check(
    kernel: GemmKernel,
    target: Target,
    sizes: tuple[int, int, int],
    layouts: tuple[str, str, str],
    update: tuple[bool, int | None, int | None] = UPDATES[0],
    at_end: bool = True,
) -> None:
    """Small integers, whose sums are exact; out holds NaN where it is not read, and what lies
    between its elements stays."""
    m, n, k = sizes
    first, alpha, beta = update
    dtype = kernel.dtype
    rng, kind = np.random.default_rng([m, n, k]), element(dtype)
    shapes = (m, k), (k, n), (m, n)
    (a, _), (b, _), (c, memory) = (
        laid(shape, layout, dtype, key, at_end)
        for key, (shape, layout) in enumerate(zip(shapes, layouts, strict=True))
    )
    c[...] = 0
    around = memory.copy()
    for matrix in (a, b, c):
        matrix[...] = rng.integers(0, 4, matrix.shape)
        if kind.parts == 2:
            matrix.imag = rng.integers(-3, 4, matrix.shape)
    if first and beta is None and kind.is_float:
        c[...] = np.nan
    result = a @ b * (1 if alpha is None else alpha)
    result = result + (c if not first else 0 if beta is None else beta * c)
    words, frame = np.zeros(GemmWord.WORDS, np.int64), np.zeros(Frame.WORDS, np.int64)
    call = np.zeros(CallRecord.WORDS, np.int64)
    d = GemmWord
    words[[d.A_SLOT, d.B_SLOT, d.C_SLOT]] = slots = [Slot.IN0, Slot.IN1, Slot.OUT]
    frame[slots] = [matrix.ctypes.data for matrix in (a, b, c)]
    words[[d.A_M, d.A_K]], words[[d.B_K, d.B_N]] = a.strides, b.strides
    words[d.C_M] = c.strides[0]
    rows, columns = (np.arange(count) * step for count, step in zip((m, n), c.strides, strict=True))
    lanes = kernel.lanes(target)
    records, begin = chunks(rows, kind.size, lanes, kernel.rows(target))
    tables = {d.C_N_TABLE: columns, d.C_M_TABLE: rows, d.C_M_CHUNKS: records, d.C_M_BEGIN: begin}
    tables = {word: np.ascontiguousarray(table, np.int64) for word, table in tables.items()}
    for word, table in tables.items():
        words[word] = table.ctypes.data
    for axis, size in zip((AxisSlot.M, AxisSlot.N, AxisSlot.K), sizes, strict=True):
        frame[Frame.SIZE + axis] = size
    frame[Frame.FIRST], frame[Frame.LAST], frame[Frame.CALL] = first, 1, call.ctypes.data
    for place, scalar in ((CallRecord.ALPHA, alpha), (CallRecord.BETA, beta)):
        raw = np.array([0 if scalar is None else scalar], dtype).view(np.uint8)
        call.view(np.uint8)[place * WORD_BYTES :][: raw.size] = raw
    call[CallRecord.SCALES], call[CallRecord.READS_OUT] = alpha is not None, beta is not None
    CALL(kernel_address(kernel, target))(words.ctypes.data, frame.ctypes.data)
    what = f"{kernel.name} {sizes} {layouts} {update}"
    np.testing.assert_array_equal(c, result, err_msg=what)
    c[...] = 0
    np.testing.assert_array_equal(memory, around, err_msg=what)


def sizes_of(kernel: GemmKernel, target: Target) -> list[tuple[int, int, int]]:
    """One, full tiles, and everything around their edges, with sums of which the stack has room
    for the panels."""
    mr, nr, lanes = kernel.rows(target), kernel.columns, kernel.lanes(target)
    longest = PANEL_BYTES // (2 * mr * element(kernel.dtype).size)
    return [
        (1, 1, 1),
        (mr, nr, 8),
        (max(1, lanes // 2), nr, 4),
        (mr + 1, nr + 1, 5),
        (min(mr + lanes, 2 * mr), 2 * nr, min(longest, lanes + 1)),
        (max(1, lanes - 1), nr + 3, 3),
    ]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_kernel_on_any_strides(dtype: str, target: Target) -> None:
    for tile in tiles(target, element(dtype))[:2]:
        plain = GemmKernel(dtype, *tile, "gathered", "direct", "strided")
        layouts = itertools.cycle(LAYOUTS)
        for i, (size, first) in enumerate(itertools.product(sizes_of(plain, target), LAYOUTS)):
            second, third = next(layouts), next(layouts)
            check(plain, target, size, (first, second, third), at_end=i % 2 == 0)
            update = UPDATES[i % len(UPDATES)]
            check(plain, target, size, (third, first, second), update, at_end=i % 2 == 1)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_kernel_with_consecutive_rows_of_out(dtype: str, target: Target) -> None:
    for tile in tiles(target, element(dtype))[:2]:
        whole = GemmKernel(dtype, *tile, "gathered", "direct")
        lanes, mr = whole.lanes(target), whole.rows(target)
        for i, (size, first) in enumerate(itertools.product(sizes_of(whole, target), LAYOUTS)):
            left, halved = left_over(size[0] % mr if masks_rows(whole, target) else 0, lanes)
            kernel = GemmKernel(dtype, *tile, "gathered", "direct", left=left, halved=halved)
            for update in (UPDATES[0], UPDATES[1 + i % 4]):
                check(kernel, target, size, (first, "apart", "columns"), update, i % 2 == 0)


def test_what_is_computed_otherwise_is_refused() -> None:
    target = TARGETS[0].values[0]
    with pytest.raises(ValueError, match="computed in float32"):
        generate(GemmKernel("bfloat16", 1, 4, "gathered", "direct"), target)
    with pytest.raises(ValueError, match="complex64 is computed planar"):
        generate(GemmKernel("complex64", 1, 4, "gathered", "consecutive"), target)


def runs(op: TensorOp, schedule: Schedule, threads: int = 1) -> None:
    """Buffers of small integers, whose sums are exact."""
    rng = np.random.default_rng(threads)
    buffers = [rng.integers(-3, 4, op.reached(t)).astype(op.dtype) for t in range(len(op.tensors))]
    does_the_same(op, schedule, buffers, threads)


@pytest.mark.parametrize("orders", [*itertools.product(["mk", "km"], ["kn", "nk"], ["mn", "nm"])])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_products_of_every_order_fit(orders: tuple[str, str, str], dtype: str) -> None:
    """And the side along which out is consecutive is that of the vectors."""
    op = product((5, 7, 3), 1, orders, dtype)
    found = gathered_of(op, host_machine())
    assert found is not None
    assert found.swapped == (orders[2] == "mn") and found.kernel.store == "columns"
    runs(op, gathering(found, 1))


@pytest.mark.parametrize("threads", [1, 3])
def test_batches(threads: int) -> None:
    op = product((6, 5, 4), 10, ("xkm", "nxk", "mxn"))
    found = gathered_of(op, host_machine())
    assert found is not None
    runs(op, gathering(found, threads), threads)


def test_what_does_not_fit() -> None:
    machine = host_machine()
    small = product((6, 5, 4), 1, ("mk", "kn", "mn"))
    assert gathered_of(small, machine) is not None
    assert gathered_of(product((6, 5, 4), 1, ("mk", "kn", "mn"), "float16"), machine) is None
    assert gathered_of(product((500, 500, 4), 1, ("mk", "kn", "mn")), machine) is None  # of L1
    long = PANEL_BYTES // 8 // machine.lanes("float64") + 1
    assert gathered_of(product((2, 2, long), 1, ("mk", "kn", "mn")), machine) is None
    assert gathered_of(small._replace(main=Primitive.MUL), machine) is None
    first, *others = small.tensors
    conjugated = small._replace(tensors=(first._replace(conj=True), *others))
    assert gathered_of(conjugated, machine) is None


def test_a_search_may_choose_it() -> None:
    op = product((6, 5, 4), 1, ("mk", "kn", "mn"))
    schedule = optimise(op, host_machine(), 1, Choice(regime="gathered"))
    assert schedule.notes[-1].startswith("gemm that puts")
    runs(op, schedule)


ORDERS = {
    "C": lambda x: np.ascontiguousarray(x),
    "F": lambda x: np.asfortranarray(x),
    "second": lambda x: np.repeat(np.repeat(x, 2, 0), 2, 1)[::2, ::2],
    "backwards": lambda x: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int16", "int64", "bool"])
@pytest.mark.parametrize("n", [2, 3, 5, 8, 13, 16])
def test_plans_in_every_mix_of_orders(n: int, dtype: str) -> None:
    rng = np.random.default_rng(n)
    a, b = (rng.integers(-3, 4, shape) for shape in ((n, n + 1), (n + 1, n + 2)))
    a, b = a.astype(dtype), b.astype(dtype)
    if dtype == "complex128":
        a = a + 1j * a[::-1]
    result = a @ b
    plan = tensorop.compile("ij,jk->ik", a, b)
    for orders in itertools.product(ORDERS, repeat=3):
        first, second, out = (
            ORDERS[order](x) for order, x in zip(orders, (a, b, np.zeros_like(result)), strict=True)
        )
        for _ in range(2):
            assert plan(first, second, out=out) is out
            np.testing.assert_array_equal(out, result, err_msg=str(orders))
