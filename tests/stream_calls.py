"""Calls of stream kernels for tests: operands between guard pages, and the plain meaning.

`Case` lays a block of Y x X out as a kernel's accesses say, calls the kernel, checks that no byte
was written that is not part of the output, and compares with numpy in higher precision.
"""

from __future__ import annotations

import ctypes
import mmap
import zlib
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tensorop.jit.abi import CallRecord, Frame
from tensorop.jit.library import kernel_address
from tensorop.jit.slots import AxisSlot, Slot
from tensorop.jit.stream import StreamDescriptor, StreamKernel, stream_kernel
from tensorop.jit.target import Target, host_targets

TARGETS = [pytest.param(target, id=target.name) for target in host_targets()]
FLOATS = ("float32", "float64", "float16", "bfloat16", "longdouble")
COMPLEX = ("complex64", "complex128", "clongdouble")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
DTYPES = (*FLOATS, *COMPLEX, *INTEGERS, "bool")

PAGE = mmap.PAGESIZE
CANARY = 0x5A
_libc = ctypes.CDLL(None)
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


def numpy_dtype(name: str) -> np.dtype[Any]:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def wider(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A type to compute a reference in."""
    if dtype.kind in "iub":
        return dtype
    if dtype.kind == "c":
        return np.dtype(np.complex128 if dtype.itemsize == 8 else np.clongdouble)
    return np.dtype(np.float64 if dtype.itemsize < 8 else np.longdouble)


def precision(dtype: np.dtype[Any]) -> float:
    """The unit in the last place at 1 of the type results are stored in."""
    if dtype.kind in "iub":
        return 0.0
    return float(ml_dtypes.finfo(dtype).eps)


@lru_cache(maxsize=64)
def guarded(pages: int, key: int) -> mmap.mmap:
    """Memory between two pages that must not be touched."""
    memory = mmap.mmap(-1, (pages + 2) * PAGE)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for page in (base, base + (pages + 1) * PAGE):
        assert _libc.mprotect(page, PAGE, 0) == 0
    return memory


@dataclass
class Block:
    """A Y x X tensor with given strides in bytes, at the very end (or beginning) of its memory."""

    values: np.ndarray  # (Y, X), of which a stride of 0 keeps one
    strides: tuple[int, int]  # of Y, of X
    at_end: bool
    key: int
    shift: int = 0
    array: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        item = self.values.dtype.itemsize
        spans = [(n - 1) * s for n, s in zip(self.values.shape, self.strides, strict=True)]
        low, high = sum(s for s in spans if s < 0), sum(s for s in spans if s > 0) + item
        pages = -(-(high - low + self.shift) // PAGE)
        self.memory = guarded(pages, self.key)
        self.room = np.frombuffer(self.memory, np.uint8)[PAGE : (pages + 1) * PAGE]
        self.room[:] = CANARY
        start = self.shift - low
        if self.at_end:
            start = len(self.room) - high - self.shift
        self.array = np.ndarray(
            self.values.shape, self.values.dtype, self.memory, PAGE + start, self.strides
        )
        self.array[...] = self.values
        self.values = self.array.copy()
        self.before = self.room.copy()

    @property
    def address(self) -> int:
        return self.array.__array_interface__["data"][0]

    def untouched_elsewhere(self) -> bool:
        """Whether nothing but the elements has changed."""
        result = self.array.copy()
        self.array[...] = self.values
        same = bool((self.room == self.before).all())
        self.array[...] = result
        return same


@dataclass
class Case:
    """One call: a description of a kernel, sizes, and how the call record asks for the update."""

    main: str
    dtype: str
    in0: str = "unit"
    in1: str | None = None
    out: str = "unit"
    outer_reduced: bool = False
    source: str | None = None
    conj0: bool = False
    conj1: bool = False
    x: int = 1
    y: int = 1
    first: bool = True
    alpha: complex | None = None
    beta: complex | None = None
    apart: int = -2  # elements from one to the next where an access is strided
    pad: int = 0
    shared: bool = False  # in1 is the same for all y
    joined: bool = False  # rows lie end to end, but for those of in1
    one_row: bool = False  # and those of in0, which are the same for all y
    past: bool = False  # lines of out go past the caches
    width: int = 0  # vectors that are summed down all rows at once
    in_blocks: bool = False  # sums are of blocks of terms
    in_turn: bool = False  # rows that are summed along X are summed one after the other
    asks: bool = False  # what inputs have further on is asked for
    shift: int = 0  # bytes of out from the end or the beginning of its memory
    at_end: bool = True
    in_place: bool = False
    negative: bool = False  # strides of Y run backwards
    special: bool = False  # NaN and infinities among the inputs

    @property
    def kernel(self) -> StreamKernel:
        names = ("source", "in0", "in1", "out", "outer_reduced", "conj0", "conj1", "joined")
        names += ("one_row", "past", "width", "in_turn", "in_blocks")
        described = {n: getattr(self, n) for n in names}
        return stream_kernel(self.main, self.dtype, **described, asks0=self.asks, asks1=self.asks)

    def check(self, target: Target) -> None:
        """Run the kernel and compare."""
        self._lay_out()
        before = self.target.values.copy()
        self.run(target)
        assert self.target.untouched_elsewhere(), "a byte outside of the output was written"
        expected, bound = self._expected(before)
        got = self.target.array
        with np.errstate(all="ignore"):
            self._compare(np.asarray(got), expected, bound)

    # layout

    def _lay_out(self) -> None:
        seed = zlib.crc32(repr(self).encode())
        self.rng = np.random.default_rng(seed)
        dtype, source = numpy_dtype(self.dtype), numpy_dtype(self.source or self.dtype)
        self.blocks = [
            Block(
                self._random(source, i, access),
                self._strides(access, source.itemsize, shared=(self.one_row, self.shared)[i]),
                self.at_end,
                i,
            )
            for i, access in enumerate((self.in0, self.in1))
            if access is not None
        ]
        x = 1 if self.out == "reduced" else self.x
        y = 1 if self.outer_reduced else self.y
        values = self.rng.integers(-3, 4, (y, x)).astype(dtype)
        if self.in_place:
            self.target = self.blocks[0]
            return
        if self._overwrites and dtype.kind in "fcV":
            values[...] = np.nan
        strides = self._strides(self.out, dtype.itemsize, shared=False)
        strides = (0 if self.outer_reduced else strides[0], strides[1])
        self.target = Block(values, strides, self.at_end, 2, self.shift)

    @property
    def _overwrites(self) -> bool:
        return self.first and self.beta is None

    def _random(self, dtype: np.dtype[Any], which: int, access: str) -> np.ndarray:
        shape, rng = (self.y, self.x), self.rng
        if dtype.kind == "b":
            likely = 0.9 if self.main == "and" else 0.3
            return rng.random(shape) < likely
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
        values = rng.standard_normal(shape)
        if dtype.kind == "c":
            values = values + 1j * rng.standard_normal(shape)
        if self.main in ("prod", "reciprocal", "div"):
            values = values / abs(values) * rng.uniform(0.8, 1.2, shape)
        if self.main == "sqrt" and dtype.kind != "c":
            values = abs(values)
        if self.special:
            odd = rng.random(shape) < 0.1
            values[odd] = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], odd.sum())
        return values.astype(dtype)

    def _strides(self, access: str, item: int, shared: bool) -> tuple[int, int]:
        x = {"unit": item, "zero": 0, "reduced": 0, "strided": self.apart * item}[access]
        width = self.x if access in ("unit", "strided") else 1
        pad = 0 if self.joined and access == "unit" else self.pad
        y = (max(width * (abs(x) or item), item) // item + pad) * item
        return 0 if shared else -y if self.negative else y, x

    # the call

    def run(self, target: Target) -> None:
        words, frame, call = self.records()
        address = kernel_address(self.kernel, target)
        _KERNEL(address)(words.ctypes.data, frame.ctypes.data)
        del call

    def records(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Descriptor, frame and call record."""
        d = StreamDescriptor
        words = np.full(len(d), 1 << 40, np.int64)
        frame = np.full(Frame.WORDS, 1 << 40, np.int64)
        slots = (Slot.IN0, Slot.IN1, Slot.OUT)
        inputs = [*self.blocks, None][:2]
        blocks = [*inputs, self.target]
        for name, slot, block in zip(("IN0", "IN1", "OUT"), slots, blocks, strict=True):
            if block is not None:
                frame[slot] = block.address
                words[d[f"{name}_SLOT"]] = slot
                words[d[f"Y_{name}"]], words[d[f"X_{name}"]] = block.strides
        words[d.X_AXIS] = AxisSlot.X
        frame[Frame.SIZE + AxisSlot.X] = self.x
        if self.y == 1:
            words[d.Y_AXIS] = -1
        else:
            words[d.Y_AXIS] = AxisSlot.M
            frame[Frame.SIZE + AxisSlot.M] = self.y
        call = np.zeros(CallRecord.WORDS, np.int64)
        frame[Frame.FIRST], frame[Frame.CALL] = self.first, call.ctypes.data
        dtype = numpy_dtype(self.dtype)
        scalar = np.dtype(np.float32) if dtype.itemsize == 2 and dtype.kind in "fV" else dtype
        for word, value in ((CallRecord.ALPHA, self.alpha), (CallRecord.BETA, self.beta)):
            if value is None:  # what is not asked for must not be used
                value = np.nan if scalar.kind in "fc" else 77
            raw = np.array([value]).astype(scalar).view(np.uint8)
            call[word : word + 4].view(np.uint8)[: len(raw)] = raw
        call[CallRecord.SCALES] = self.alpha is not None
        call[CallRecord.READS_OUT] = self.beta is not None
        return words, frame, call

    # the meaning

    def _expected(self, out: np.ndarray) -> tuple[np.ndarray, Any]:
        """The exact result and how far a right one may be from it."""
        dtype = numpy_dtype(self.dtype)
        exact = wider(dtype)
        inputs = [block.values for block in self.blocks]
        if self.in_place:
            inputs = [out]
        conjugated = (self.conj0, self.conj1)
        inputs = [np.conj(a) if c else a for a, c in zip(inputs, conjugated, strict=False)]
        with np.errstate(all="ignore"):
            result, size = self._main([convert(a, dtype, exact) for a in inputs])
            if self.kernel.updates:
                result, size = self._update(result, size, convert(out, dtype, exact))
        if self.main in _EXACT:
            return result, 0.0
        terms = self.x * self.y + 4
        bound = 4 * precision(dtype) * size
        if self.main in ("gemm", "sum", "prod"):
            accumulated = 2.0**-24 if dtype.itemsize == 2 else precision(dtype)
            bound = bound + accumulated * terms * size
        return result, bound

    def _main(self, inputs: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        axes = tuple(np.flatnonzero([self.outer_reduced, self.out == "reduced"]))
        a = inputs[0]
        if self.main in ("gemm", "sum"):
            a = a * inputs[1] if self.main == "gemm" else a
            add = np.logical_or if a.dtype == bool else np.add
            total = add.reduce(a, axes, keepdims=True, dtype=a.dtype)
            return total, abs(a).sum(axes, keepdims=True)
        if self.main in ("prod", "min", "max", "and", "or") and len(inputs) == 1:
            total = _REDUCE[self.main].reduce(a, axes, keepdims=True, dtype=a.dtype)
            return total, abs(total)
        result = _UNARY[self.main](a) if len(inputs) == 1 else _BINARY[self.main](*inputs)
        return result, abs(result)

    def _update(
        self, result: np.ndarray, size: np.ndarray, old: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        kind = result.dtype
        if self.main not in ("gemm", "sum"):
            if self._overwrites:
                return result, size
            result = _REDUCE[self.main](old, result)
            return result, abs(result)
        if self.alpha is not None:
            alpha = np.array(self.alpha).astype(kind)
            result, size = alpha * result, abs(alpha) * size
        if self._overwrites:
            return result, size
        if self.first:
            old = np.array(self.beta).astype(kind) * old
        return result + old, size + abs(old)

    def _compare(self, got: np.ndarray, expected: np.ndarray, bound: np.ndarray) -> None:
        dtype = numpy_dtype(self.dtype)
        wide = got.astype(wider(dtype))
        if dtype.kind in "iub":
            np.testing.assert_array_equal(wide, expected, err_msg=repr(self))
            return
        smallest = float(ml_dtypes.finfo(dtype).smallest_subnormal)
        close = abs(wide - expected) <= bound + smallest
        limit = float(ml_dtypes.finfo(dtype).max) if dtype.itemsize < 16 else np.inf
        same = (wide == expected) | (np.isnan(wide) & np.isnan(expected))
        same |= np.isinf(wide) & (abs(expected) > limit)
        wrong = ~(close | same)
        assert not wrong.any(), (
            f"{self}: got {wide[wrong][:4]}, expected {expected[wrong][:4]}, "
            f"at {np.argwhere(wrong)[:4].tolist()}"
        )


def convert(a: np.ndarray, dtype: np.dtype[Any], exact: np.dtype[Any]) -> np.ndarray:
    """The values a kernel for `dtype` sees of an array, in the type of the reference."""
    if a.dtype.kind == "c" and dtype.kind not in "cb":
        a = a.real
    return a.astype(dtype).astype(exact)


_EXACT = ("copy", "conj", "zero", "relu", "neg", "min", "max")
_REDUCE = {
    "prod": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.logical_and,
    "or": np.logical_or,
}
_UNARY = {
    "copy": lambda a: a,
    "cast": lambda a: a,
    "conj": np.conj,
    "zero": np.zeros_like,
    "relu": lambda a: np.maximum(a, 0),
    "square": np.square,
    "sqrt": np.sqrt,
    "reciprocal": np.reciprocal,
    "abs": lambda a: np.abs(a).astype(a.dtype),
    "neg": np.negative,
}
_BINARY = {**_REDUCE, "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}


def run_flat(
    kernel: StreamKernel, target: Target, *inputs: np.ndarray, dtype: np.dtype[Any] | None = None
) -> np.ndarray:
    """An elementwise kernel on one-dimensional arrays."""
    d = StreamDescriptor
    out = np.empty(inputs[0].shape, inputs[0].dtype if dtype is None else dtype)
    words, frame = np.zeros(len(d), np.int64), np.zeros(Frame.WORDS, np.int64)
    for name, array in zip(("IN0", "IN1"), inputs, strict=False):
        words[d[f"X_{name}"]], words[d[f"{name}_SLOT"]] = array.itemsize, Slot[name]
        frame[Slot[name]] = array.__array_interface__["data"][0]
    words[d.X_OUT], words[d.OUT_SLOT] = out.itemsize, Slot.OUT
    frame[Slot.OUT] = out.__array_interface__["data"][0]
    words[d.X_AXIS], words[d.Y_AXIS] = AxisSlot.X, -1
    frame[Frame.SIZE + AxisSlot.X] = out.size
    _KERNEL(kernel_address(kernel, target))(words.ctypes.data, frame.ctypes.data)
    return out
