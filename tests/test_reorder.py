"""Copies of small items whose elements change places: the kernels between guard pages against plain
indexing, and what the optimizer makes of them."""

from __future__ import annotations

import itertools
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensorop
from tensorop.ir import Dimension, DimType, ExecType, Primitive, Tensor, TensorOp
from tensorop.jit.abi import Frame
from tensorop.jit.library import kernel_address
from tensorop.jit.reorder import STAGE
from tensorop.jit.reorder_abi import ReorderKernel, ReorderWord
from tensorop.jit.slots import AxisSlot, Slot
from tensorop.jit.target import Target
from tensorop.optimizer.machine import host_machine
from tensorop.optimizer.pipeline import optimise
from tensorop.optimizer.realign import cycles
from tensorop.optimizer.regime import choose
from tensorop.optimizer.reorder import reorder, reordered_of
from tensorop.schedule import Call, Loop
from tests.stream_calls import TARGETS, numpy_dtype
from tests.test_gemm_kernel import CALL, guarded_bytes

T = DimType


def check(kernel: ReorderKernel, target: Target, x: int, at_end: bool, skew: int = 0) -> None:
    """skew: bytes that the items begin behind where they might."""
    count, kind = len(kernel.order), np.dtype(f"u{kernel.size}")
    raw = [guarded_bytes(x * count * kernel.size + skew, key, at_end) for key in range(2)]
    rng = np.random.default_rng([x, *kernel.order])
    for one in raw:
        one[:] = rng.integers(0, 256, one.size, np.uint8)
    words, frame = np.zeros(ReorderWord.WORDS, np.int64), np.zeros(Frame.WORDS, np.int64)
    words[ReorderWord.SOURCE_SLOT], words[ReorderWord.TARGET_SLOT] = Slot.IN0, Slot.OUT
    frame[Frame.SIZE + AxisSlot.X] = x
    frame[Slot.IN0], frame[Slot.OUT] = (one.ctypes.data + skew for one in raw)
    expected = raw[1].copy()
    items = raw[0][skew:].view(kind).reshape(x, count)
    expected[skew:] = items[:, list(kernel.order)].ravel().view(np.uint8)
    CALL(kernel_address(kernel, target))(words.ctypes.data, frame.ctypes.data)
    np.testing.assert_array_equal(raw[1], expected, err_msg=f"{kernel.name}, {x} items")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("size", [1, 2, 4, 8])
@pytest.mark.parametrize("past", [False, True])
def test_kernel(past: bool, size: int, target: Target) -> None:
    """Every way in which items fill a vector or two; nothing around them is touched."""
    lanes = target.vector_bytes // size
    for count in sorted({2, 3, 4, lanes // 2 + 1, lanes, lanes + 1, 2 * lanes} - {1}):
        order = tuple(np.random.default_rng([size, count]).permutation(count).tolist())
        kernel = ReorderKernel(size, order, past)
        together = max(1, lanes // count)
        for x in {1, 2, together, together + 1, 3 * together + 1, 5 * together + 2}:
            check(kernel, target, x, at_end=bool(x % 2))
        if past:
            block = STAGE // (count * size)
            for skew in (0, 8, 56):
                check(kernel, target, 2 * block + 3, at_end=True, skew=skew)


@pytest.mark.parametrize("target", TARGETS)
def test_an_element_may_go_anywhere(target: Target) -> None:
    for order in itertools.permutations(range(4)):
        check(ReorderKernel(4, order), target, 11, at_end=True)


def copy_of(
    items: tuple[int, ...], axes: tuple[int, ...], outer: tuple[int, ...], dtype: str
) -> TensorOp:
    """Items of a shape, whose axes change places, one after the other along further axes."""
    count = prod(items)
    source = [prod(items[i + 1 :]) for i in range(len(items))]
    moved = [items[axis] for axis in axes]
    target = {axis: prod(moved[i + 1 :]) for i, axis in enumerate(axes)}
    dims = [
        Dimension(T.C, n, (step, target[axis]), ExecType.SEQ)
        for axis, (n, step) in enumerate(zip(items, source, strict=True))
    ]
    for n in reversed(outer):
        dims.append(Dimension(T.C, n, (count, count), ExecType.SEQ))
        count *= n
    tensors = Tensor("in0", dtype), Tensor("out", dtype)
    return TensorOp(tensors, tuple(dims), Primitive.COPY)


def test_what_is_reordered() -> None:
    machine = host_machine()
    found = reordered_of(copy_of((3, 2), (1, 0), (50,), "float32"), machine)
    assert found is not None
    assert found.order == (0, 2, 4, 1, 3, 5) and found.size == 4 and found.along.size == 50
    pairs = reordered_of(copy_of((2, 2), (1, 0), (50,), "complex128"), machine)
    assert pairs is not None and pairs.size == 8 and pairs.order == (0, 1, 4, 5, 2, 3, 6, 7)
    long = 2 * machine.target.vector_bytes // 4 + 2
    assert reordered_of(copy_of((2, long // 2), (1, 0), (50,), "float32"), machine) is None
    op = copy_of((3, 2), (1, 0), (50,), "float32")
    gaps = op.with_dimensions((*op.dimensions[:2], op.dimensions[2]._replace(strides=(7, 6))))
    assert reordered_of(gaps, machine) is None
    conjugated = op._replace(tensors=(Tensor("in0", "complex64", conj=True), op.tensors[1]))
    assert reordered_of(conjugated, machine) is None


@pytest.mark.parametrize("threads", [1, 3])
def test_the_schedule_has_long_calls_for_all(threads: int) -> None:
    op, machine = copy_of((3, 3), (1, 0), (200_000,), "float32"), host_machine()
    assert choose(op, machine).name == "reorder"
    found = reordered_of(op, machine)
    assert found is not None
    schedule = reorder(op, found, machine, threads)
    schedule.verify()
    (loop,) = schedule.body
    assert isinstance(loop, Loop) and loop.axis == "X" and 1000 < loop.block < 20_000
    assert (loop.exec == ExecType.SHARED) == (threads > 1)
    assert isinstance(loop.body[0], Call) and not loop.body[0].kernel.past
    huge = copy_of((3, 3), (1, 0), (1 << 24,), "float32")
    assert "past the caches" in optimise(huge, machine, threads).notes[-1]
    # It is a copy, which others are weighed against.
    per_byte = cycles(op, machine) / (200_000 * 36)
    assert 0.05 < per_byte < 2


@given(
    shape=st.lists(st.integers(1, 4), min_size=2, max_size=4),
    data=st.data(),
    outer=st.integers(1, 70),
    dtype=st.sampled_from(["int8", "float16", "float32", "float64", "complex128", "bool"]),
    threads=st.sampled_from([1, 2]),
)
def test_any_items(
    shape: list[int], data: st.DataObject, outer: int, dtype: str, threads: int
) -> None:
    axes = data.draw(st.permutations(range(len(shape))))
    labels = "abcd"[: len(shape)]
    rng = np.random.default_rng(outer)
    array = rng.integers(0, 2, (outer, *shape, 8)).astype(numpy_dtype(dtype))[..., 0].copy()
    spec = f"x{labels}->x{''.join(labels[axis] for axis in axes)}"
    expected = np.einsum(spec, array)
    out = np.zeros(expected.shape, expected.dtype)
    tensorop.einsum(spec, array, out=out, threads=threads)
    np.testing.assert_array_equal(out, expected)
