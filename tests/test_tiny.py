"""Tiny matrix products that lie end to end: the kernels between guard pages against numpy, what
fits them, and whole schedules."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tensorop
from tensorop.ir import Dimension, DimType, ExecType, Primitive, Tensor, TensorOp
from tensorop.jit.abi import CallRecord, Frame
from tensorop.jit.batch_abi import BatchWord
from tensorop.jit.library import kernel_address
from tensorop.jit.slots import AxisSlot, Slot
from tensorop.jit.target import Target
from tensorop.jit.tiny_abi import TinyKernel
from tensorop.optimizer.machine import host_machine
from tensorop.optimizer.tiny import MANY, tiny_of, tiny_products
from tensorop.schedule import Call, Loop
from tests.stream_calls import TARGETS
from tests.test_blocked import does_the_same
from tests.test_gemm_kernel import CALL, guarded_bytes

Array = np.ndarray[Any, Any]
SIZES = [
    (2, 2, 2),
    (3, 3, 3),
    (4, 4, 4),
    (1, 5, 2),
    (5, 3, 4),
    (7, 2, 3),
    (8, 8, 8),
    (9, 4, 2),
    (13, 3, 3),
]
UPDATES = [
    (True, None, None),
    (True, 2.0, None),
    (True, 2.0, 3.0),
    (True, None, 1.0),
    (False, 2.0, None),
]


def check(
    kernel: TinyKernel,
    target: Target,
    x: int,
    update: tuple[bool, float | None, float | None] = UPDATES[0],
    at_end: bool = True,
) -> None:
    """Small integers, whose sums are exact; out holds NaN where it is not read."""
    m, n, k = kernel.m, kernel.n, kernel.k
    rng, kind = np.random.default_rng([m, n, k, x]), np.dtype(kernel.dtype)
    first, alpha, beta = update
    shapes = (x, k, m), (x, n, k) if kernel.down else (x, k, n), (x, n, m)
    arrays = []
    for key, shape in enumerate(shapes):
        raw = guarded_bytes(int(np.prod(shape)) * kind.itemsize, key, at_end)
        arrays.append(raw.view(kind).reshape(shape))
        arrays[-1][...] = rng.integers(-3, 4, shape)
    in0, in1, out = arrays
    if first and beta is None:
        out[...] = np.nan
    left = np.swapaxes(in1, 1, 2) if kernel.down else in1
    result = np.einsum("xkm,xkn->xnm", in0, left) * (1 if alpha is None else alpha)
    if not first:
        result = result + out
    elif beta is not None:
        result = result + beta * out
    words, frame = np.zeros(BatchWord.WORDS, np.int64), np.zeros(Frame.WORDS, np.int64)
    call = np.zeros(CallRecord.WORDS, np.int64)
    words[: BatchWord.IN0_M] = slots = [Slot.IN0, Slot.IN1, Slot.OUT]
    frame[slots] = [array.ctypes.data for array in arrays]
    frame[Frame.SIZE + AxisSlot.X] = x
    frame[Frame.FIRST], frame[Frame.CALL] = first, call.ctypes.data
    for word, scalar in ((CallRecord.ALPHA, alpha), (CallRecord.BETA, beta)):
        raw = np.array([np.nan if scalar is None else scalar], kind).view(np.uint8)
        call[word : word + 1].view(np.uint8)[: raw.size] = raw
    call[CallRecord.SCALES], call[CallRecord.READS_OUT] = alpha is not None, beta is not None
    CALL(kernel_address(kernel, target))(words.ctypes.data, frame.ctypes.data)
    np.testing.assert_array_equal(out, result, err_msg=f"{kernel.name} {x} {update}")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_kernel(sizes: tuple[int, int, int], dtype: str, target: Target) -> None:
    for down, past in itertools.product((False, True), repeat=2):
        kernel = TinyKernel(
            dtype, *sizes, down, past and TinyKernel(dtype, *sizes, down).fills_lines(target)
        )
        for i, x in enumerate((1, 2, 3, 20)):
            check(kernel, target, x, at_end=i % 2 == 0)
        for update in UPDATES:
            check(kernel, target, 3, update)


def test_columns_are_covered() -> None:
    """Each element once, or by the last two vectors; what is stored behind a column is less than
    the next one."""
    for target, dtype, m in itertools.product(
        (param.values[0] for param in TARGETS), ("float32", "float64"), range(1, 20)
    ):
        width, starts, beyond = TinyKernel(dtype, m, 2, 2, False).pieces(target)
        covered = {start + i for start in starts for i in range(width)}
        assert covered == set(range(m + beyond)) and beyond < m
        assert not beyond or len(starts) == 1


def product(
    sizes: tuple[int, int, int], batch: int, orders: tuple[str, str, str], dtype: str = "float64"
) -> TensorOp:
    """Dimensions m, n, k, and x, each tensor's from the outermost on."""
    T = DimType
    names = dict(
        zip("mnkx", ((T.M, sizes[0]), (T.N, sizes[1]), (T.K, sizes[2]), (T.C, batch)), strict=True)
    )
    strides: dict[str, list[int]] = {name: [0, 0, 0] for name in names}
    for tensor, order in enumerate(orders):
        step = 1
        for name in reversed(order):
            strides[name][tensor], step = step, step * names[name][1]
    dims = (Dimension(*names[name], tuple(strides[name])) for name in names)
    tensors = tuple(Tensor(role, dtype) for role in ("in0", "in1", "out"))
    return TensorOp(tensors, tuple(dims), Primitive.GEMM)


def test_what_fits() -> None:
    machine = host_machine()

    def fits(op: TensorOp) -> tuple[bool, bool] | None:
        tiny = tiny_of(op, machine)
        return None if tiny is None else (tiny.swapped, tiny.kernel.down)

    assert fits(product((3, 3, 3), 100, ("xkm", "xnk", "xnm"))) == (False, True)
    assert fits(product((3, 4, 2), 100, ("xkm", "xkn", "xnm"))) == (False, False)
    assert fits(product((3, 4, 2), 100, ("xmk", "xkn", "xmn"))) == (True, True)
    assert fits(product((3, 4, 2), 100, ("xkm", "xkn", "xmn"))) == (True, False)
    assert fits(product((3, 3, 3), MANY - 1, ("xkm", "xnk", "xnm"))) is None
    assert fits(product((3, 3, 3), 100, ("kmx", "xnk", "xnm"))) is None
    assert fits(product((3, 3, 3), 100, ("xmk", "xnk", "xnm"))) is None
    assert fits(product((3, 3, 3), 100, ("xkm", "xnk", "xnm"), "complex64")) is None
    assert fits(product((20, 20, 20), 100, ("xkm", "xnk", "xnm"))) is None


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_schedules(dtype: str, threads: int) -> None:
    rng, past = np.random.default_rng(threads), 0
    for i in range(30):
        m, n, k = (int(rng.integers(2, 6)) for _ in range(3))
        orders = (("xkm", "xnk", "xnm"), ("xmk", "xkn", "xmn"), ("xkm", "xkn", "xnm"))[i % 3]
        op = product((m, n, k), int(rng.integers(MANY, 3000)), orders, dtype)
        machine = host_machine()._replace(l3=1 << (4 if i % 2 else 30))
        tiny = tiny_of(op, machine)
        assert tiny is not None
        schedule = tiny_products(tiny, machine, threads)
        past += tiny.kernel.past
        steps = [step for _, step in schedule.steps()]
        assert [s.kernel for s in steps if isinstance(s, Call)] == [tiny.kernel]
        shared = [s for s in steps if isinstance(s, Loop) and s.exec == ExecType.SHARED]
        assert bool(shared) == (threads > 1)
        buffers = [rng.integers(-3, 4, op.reached(tensor)).astype(dtype) for tensor in range(3)]
        does_the_same(op, schedule, buffers, threads)
    assert past


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("spec", ["bij,bjk->bik", "bij,bkj->bik", "bji,bjk->bik", "bij,bjk->bki"])
def test_rotations(spec: str, dtype: str) -> None:
    """Also where items are followed by others at the end of a page, added to what is there, and
    next to batches that are too few."""
    rng = np.random.default_rng(0)
    for count, n in itertools.product((1, 63, 64, 65, 1000), (2, 3, 4, 5)):
        a, b = rng.standard_normal((2, count, n, n)).astype(dtype)
        expected = np.einsum(spec, a, b)
        np.testing.assert_allclose(tensorop.einsum(spec, a, b), expected, rtol=1e-4, atol=1e-5)
        out = np.ones_like(expected)
        tensorop.einsum(spec, a, b, out=out, alpha=2, beta=3)
        np.testing.assert_allclose(out, 2 * expected + 3, rtol=1e-4, atol=1e-4)


def test_the_host_uses_them() -> None:
    plan = tensorop.compile("bij,bjk->bik", (5000, 3, 3), (5000, 3, 3), dtypes="float64")
    assert "regime: tiny" in plan.explain()
