"""Copies of a few channels, put beside one another or taken apart: the kernels between guard pages
against plain indexing, and what the optimizer makes of them."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest

import tensorop
from tensorop.ir import Dimension, DimType, ExecType, Primitive, Tensor, TensorOp
from tensorop.jit.abi import Frame
from tensorop.jit.interleave_abi import InterleaveKernel, InterleaveWord, shuffled
from tensorop.jit.library import kernel_address
from tensorop.jit.slots import AxisSlot, Slot
from tensorop.jit.target import SEGMENT, Target, current_target
from tensorop.optimizer.fuse import fuse
from tensorop.optimizer.interleave import channels_of, interleaved, runs_on
from tensorop.schedule import Call, Loop
from tests.stream_calls import TARGETS, numpy_dtype
from tests.test_gemm_kernel import CALL, guarded_bytes

SIZES = (1, 2, 4, 8)


def check(kernel: InterleaveKernel, target: Target, x: int, y: int, at_end: bool) -> None:
    """Rows with a gap behind each, on both sides."""
    d, rng = InterleaveWord, np.random.default_rng([kernel.size, kernel.channels, x, y])
    plane, size = x + 3, kernel.size
    joined, apart = (y, x * kernel.channels + 5), (y, kernel.channels * plane + 2)
    shapes = (apart, joined) if kernel.joins else (joined, apart)
    gaps = (3 + 2, 5) if kernel.joins else (5, 3 + 2)  # behind the last channel, and the last row
    used = [prod(shape) - gap for shape, gap in zip(shapes, gaps, strict=True)]
    raw = [guarded_bytes(n * size, key, at_end) for key, n in enumerate(used)]
    for one in raw:
        one[:] = rng.integers(0, 256, one.size, np.uint8)
    words, frame = np.zeros(d.WORDS, np.int64), np.zeros(Frame.WORDS, np.int64)
    words[d.SOURCE_SLOT], words[d.TARGET_SLOT] = Slot.IN0, Slot.OUT
    words[d.X_AXIS], words[d.Y_AXIS] = AxisSlot.X, AxisSlot.Y
    words[d.APART] = plane * size
    words[d.Y_SOURCE], words[d.Y_TARGET] = (shape[1] * size for shape in shapes)
    frame[Frame.SIZE + AxisSlot.X], frame[Frame.SIZE + AxisSlot.Y] = x, y
    frame[Slot.IN0], frame[Slot.OUT] = (one.ctypes.data for one in raw)
    row, channel, place = np.ogrid[:y, : kernel.channels, :x]
    beside = row * joined[1] + place * kernel.channels + channel
    planes = row * apart[1] + channel * plane + place
    kind = np.dtype(f"u{size}")
    expected = raw[1].copy()
    source, result = raw[0].view(kind), expected.view(kind)
    if kernel.joins:
        result[beside] = source[planes]
    else:
        result[planes] = source[beside]
    CALL(kernel_address(kernel, target))(words.ctypes.data, frame.ctypes.data)
    np.testing.assert_array_equal(raw[1], expected)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("joins", [False, True])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("channels", range(2, 9))
def test_kernel(channels: int, size: int, joins: bool, target: Target) -> None:
    for vector in {SEGMENT, target.picks(size)}:
        kernel = InterleaveKernel(size, channels, joins, vector)
        lanes = kernel.lanes
        for x in (1, lanes - 1, lanes, lanes + 1, 2 * lanes, 5 * lanes + 3):
            for y in (1, 3):
                check(kernel, target, max(1, x), y, at_end=bool(y % 2))


def test_vectors_are_as_wide_as_pays() -> None:
    """Of a segment of 8-byte elements, whatever the channels are, one shuffle makes a vector."""
    wide = current_target()._replace(vector_bytes=64, free_masks=True, features="+avx512vbmi")
    widths = {size: [shuffled(wide, size, n) for n in (2, 3, 4, 5, 7)] for size in (1, 2, 4, 8)}
    assert widths[1] == widths[2] == [64] * 5
    assert widths[4] == [64, 64, 64, 64, SEGMENT]
    assert widths[8] == [64, SEGMENT, 64, SEGMENT, SEGMENT]
    assert shuffled(wide._replace(features=""), 1, 3) == SEGMENT
    assert shuffled(wide._replace(free_masks=False), 4, 3) == SEGMENT


def copy_of(source: np.ndarray[Any, Any], out: np.ndarray[Any, Any], dtype: str) -> TensorOp:
    dims = tuple(
        Dimension(DimType.C, n, (a // source.itemsize, b // out.itemsize))
        for n, a, b in zip(source.shape, source.strides, out.strides, strict=True)
    )
    op = TensorOp((Tensor("in0", dtype), Tensor("out", dtype)), dims, Primitive.COPY)
    return fuse(op).op


@pytest.mark.parametrize("dtype", ["uint8", "bfloat16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("channels", [2, 3, 4, 5, 8])
def test_layouts_of_images(channels: int, dtype: str) -> None:
    kind = numpy_dtype(dtype)
    rng = np.random.default_rng(channels)
    for shape in ((1, 7, 9), (5, 16, 17), (2, 1, 64), (3, 250, 99)):
        n, h, w = shape
        pixels = rng.integers(0, 256, n * h * w * channels * kind.itemsize, np.uint8).view(kind)
        beside = pixels.reshape(n, h, w, channels)
        apart = np.ascontiguousarray(beside.transpose(0, 3, 1, 2))
        for source, expected, axes in ((beside, apart, "nchw"), (apart, beside, "nhwc")):
            spec = f"{'nhwc' if axes == 'nchw' else 'nchw'}->{axes}"
            for threads in (1, 3):
                out = np.zeros(expected.shape, kind)
                tensorop.einsum(spec, source, out=out, threads=threads)
                assert out.tobytes() == expected.tobytes()


def test_what_has_channels() -> None:
    def channels(shape: tuple[int, ...], axes: tuple[int, ...], dtype: str = "uint8") -> Any:
        source = np.empty(shape, dtype)
        out = np.empty([shape[axis] for axis in axes], dtype)
        back = [axes.index(axis) for axis in range(len(shape))]
        found = channels_of(copy_of(source, out.transpose(back), dtype))
        return found and (found.channel.size, found.position.size, found.joins)

    assert channels((30, 40, 3), (2, 0, 1)) == (3, 1200, False)
    assert channels((3, 30, 40), (1, 2, 0)) == (3, 1200, True)
    assert channels((6, 3, 30, 40), (0, 2, 3, 1)) == (3, 1200, True)
    assert channels((30, 40, 3), (1, 0, 2)) is None  # rows that stay together
    assert channels((30, 40, 9), (2, 0, 1)) is None  # a tile
    assert channels((3, 5, 3), (2, 0, 1)) is None  # no vector
    assert channels((30, 40, 3), (2, 0, 1), "complex128") is None  # no lanes
    source = np.empty((1200, 3), "complex64")
    op = copy_of(source, np.empty((3, 1200), "complex64").T, "complex64")
    assert channels_of(op) and channels_of(op._replace(main=Primitive.CONJ)) is None


@pytest.mark.parametrize(("shape", "shared"), [((1 << 21, 3), "X"), ((300, 5000, 3), "Y")])
def test_threads_share_it(shape: tuple[int, ...], shared: str) -> None:
    source = np.empty(shape, np.uint8)
    planes = np.empty((*shape[:-2], 3, shape[-2]), np.uint8)
    op = copy_of(source, np.moveaxis(planes, -2, -1), "uint8")
    channels = channels_of(op)
    assert channels is not None
    target = current_target()
    schedule = interleaved(op, channels, target, 2)
    schedule.verify()
    steps = [step for _, step in schedule.steps()]
    loops = {s.axis: s for s in steps if isinstance(s, Loop) and s.exec == ExecType.SHARED}
    assert 2 * loops[shared].block <= schedule.axis(shared).size
    kernel = InterleaveKernel(1, 3, False, shuffled(target, 1, 3))
    assert [s.kernel for s in steps if isinstance(s, Call)] == [kernel]


def test_what_memory_is_fast_along() -> None:
    def fast(shape: tuple[int, ...], axes: tuple[int, ...]) -> bool:
        source = np.empty(shape, "uint8")
        out = np.empty([shape[axis] for axis in axes], "uint8")
        op = copy_of(source, out.transpose([axes.index(i) for i in range(len(shape))]), "uint8")
        channels = channels_of(op)
        assert channels is not None
        return runs_on(op, channels)

    assert fast((3, 1 << 16), (1, 0))
    assert not fast((3, 1 << 15), (1, 0))
    assert not fast((5, 1 << 16), (1, 0))
    assert fast((9, 200, 5), (0, 2, 1)) and fast((9, 5, 200), (0, 2, 1))
    assert not fast((9, 300, 5), (0, 2, 1))
    assert not fast((9, 200, 5), (2, 0, 1)) and not fast((5, 9, 200), (1, 2, 0))
