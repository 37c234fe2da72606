"""What "wrong" means, once for all tests.

A result is wrong if it lies outside c * k * eps * (|A||B|) of a reference in higher precision: k
terms were summed, each rounded in the accumulator's type, whose unit is eps; |A||B| is the same
operation on absolute values, so that cancellation is not held against anybody. To that comes one
rounding to the output's own type. Integers and bool are exact. A nonlinear last touch stretches
the bound by its derivative; where the bound reaches a pole (1/x near 0) any result is right.

`assert_right` judges an operation on strided operands; `assert_close` any array whose reference and
magnitude the test has computed itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from tensorop import reference
from tensorop.dtypes import name_of
from tensorop.ir import UNARY, Dimension, DimType, Primitive, Tensor, TensorOp

Array = NDArray[Any]
C = 4.0


@dataclass(frozen=True)
class Operand:
    """A one-dimensional buffer and the position of the tensor's first element in it."""

    buffer: Array
    base: int = 0

    @property
    def array(self) -> Array:
        return self.buffer[self.base :]

    def map(self, function: Callable[[Array], Array]) -> Operand:
        return Operand(function(self.buffer), self.base)

    def copy(self) -> Operand:
        return self.map(np.copy)

    def view(self, dimensions: Sequence[Dimension], tensor: int) -> Array:
        """The elements that the kept dimensions reach."""
        kept = [d for d in dimensions if d.type != DimType.K]
        step = self.buffer.itemsize
        strides = [d.strides[tensor] * step for d in kept]
        return as_strided(self.array, [d.size for d in kept], strides)


def assert_close(
    actual: Array, expected: Array, magnitude: Array, k: int, *, slack: Any = 0.0, c: float = C
) -> None:
    """Each element within c * k * eps * magnitude of `expected`, plus one rounding and `slack`."""
    dtype = actual.dtype
    if dtype.kind in "biu":
        np.testing.assert_array_equal(actual, expected.astype(dtype))
        return
    name = name_of(dtype)
    wide = reference.higher_precision(name)
    actual, expected = actual.astype(wide), expected.astype(wide)
    storage, unit = _finfo(dtype), _finfo(reference.accumulator(name))
    with np.errstate(all="ignore"):
        bound = c * k * float(unit.eps) * magnitude + slack
        bound = bound + float(storage.eps) * np.abs(expected) + _tiny(storage)
        # What is the same is right even where its bound is 0 times infinity.
        fits = (np.abs(actual - expected) <= bound) | (actual == expected)
        finite = np.isfinite(actual) & np.isfinite(expected)
        overflows = ~np.isfinite(actual) & (np.abs(expected) + bound >= float(storage.max))
        both = ~np.isfinite(actual) & ~np.isfinite(expected)
        if dtype.kind != "c":  # complex products of infinities are NaN here and infinite there
            both &= (actual == expected) | (np.isnan(actual) & np.isnan(expected))
        # A product that overflows on the way has no bound: 0 times infinity. Nor has the root of
        # what may be on either side of zero, which is no number on one.
        unbounded = np.isposinf(bound) | (np.isnan(bound) & ~np.isfinite(actual))
        unbounded |= np.isposinf(slack)
        right = (finite & fits) | overflows | both | unbounded
    if not np.all(right):
        where = tuple(np.argwhere(~right)[0])
        raise AssertionError(
            f"{np.count_nonzero(~right)} of {right.size} wrong; at {where}: {actual[where]!r}, "
            f"expected {expected[where]!r} within {np.broadcast_to(bound, right.shape)[where]!r}"
        )


def assert_right(
    op: TensorOp,
    before: Sequence[Operand],
    out: Operand,
    alpha: Any = None,
    beta: Any = None,
    bias: Operand | None = None,
    *,
    c: float = C,
) -> None:
    """`out` holds what `op` makes of the operands as they were before."""
    wide = reference.higher_precision(op.dtype)
    plain = op._replace(last_touch=Primitive.NONE)
    expected = _run(plain, before, wide, alpha, beta, bias)
    if wide.kind in "biu":
        expected = _run(op, before, wide, alpha, beta, bias)
        np.testing.assert_array_equal(out.view(op.dimensions, op.out), expected)
        return
    magnitude = _magnitude(plain, before, alpha, beta, bias)
    k = op.size_of(DimType.K) + 3
    eps = float(_finfo(reference.accumulator(op.dtype)).eps)
    bound = c * k * eps * magnitude
    if op.main == Primitive.PROD:
        bound = bound + k * _underflow(plain, before, bias)
        # A product may overflow on the way, in any order, though small factors are to come.
        grown = [x.map(lambda a: np.maximum(np.abs(a), 1)) for x in before]
        largest = float(_finfo(reference.accumulator(op.dtype)).max)
        bound = np.where(_magnitude(plain, grown, None, beta, bias) < largest, bound, np.inf)
    slack = _stretch(op.last_touch, expected, bound)
    final = _run(op, before, wide, alpha, beta, bias)
    actual = out.view(op.dimensions, op.out)
    assert_close(actual, final, np.abs(final), 1, slack=slack, c=c)


def _run(
    op: TensorOp,
    operands: Sequence[Operand],
    wide: np.dtype[Any],
    alpha: Any,
    beta: Any,
    bias: Operand | None,
) -> Array:
    widened = [x.map(lambda a: a.astype(wide)) for x in operands[-1:]]
    arrays = [x.array for x in [*operands[:-1], *widened]]
    bias_array = None if bias is None else bias.array
    reference.run(op, arrays, alpha, beta, bias_array, precision=wide)
    return widened[0].view(op.dimensions, op.out)


def _magnitude(
    op: TensorOp, operands: Sequence[Operand], alpha: Any, beta: Any, bias: Operand | None
) -> Array:
    """The operation on absolute values."""
    wide = reference.higher_precision(op.dtype)
    real = np.dtype(np.zeros(1, wide).real.dtype)
    if op.main in UNARY:
        # The error of f(x) is relative to f(x): judge a copy of it.
        result = Operand(np.zeros(operands[-1].buffer.size, wide), operands[-1].base)
        first = op._replace(first_touch=Primitive.ZERO)
        reference.run(first, [operands[0].array, result.array], precision=wide)
        operands = [result, operands[-1]]
        dimensions = tuple(d._replace(strides=d.strides[-1:] * 2) for d in op.dimensions)
        op = op._replace(main=Primitive.COPY, dimensions=dimensions)
    swap = {Primitive.SUB: Primitive.ADD, Primitive.MIN: Primitive.MAX}
    tensors = tuple(Tensor(t.role, real.name) for t in op.tensors)
    op = op._replace(tensors=tensors, main=swap.get(op.main, op.main))
    absolute = [x.map(lambda a: np.abs(a.astype(wide)).astype(real)) for x in operands]
    alpha, beta = (None if s is None else np.abs(s) for s in (alpha, beta))
    against = None if bias is None else bias.map(lambda a: np.abs(a.astype(wide)).astype(real))
    return _run(op, absolute, real, alpha, beta, against)


def _underflow(op: TensorOp, operands: Sequence[Operand], bias: Operand | None) -> Array:
    """What a partial product may lose where it leaves the range of normal numbers: its smallest
    step, times all factors above 1 that may come after it."""
    wide = np.dtype(np.zeros(1, reference.higher_precision(op.dtype)).real.dtype)
    tensors = tuple(Tensor(t.role, wide.name) for t in op.tensors)

    def grown(x: Operand) -> Operand:
        return x.map(lambda a: np.maximum(np.abs(a).astype(wide), 1))

    factors, start = [grown(x) for x in operands], None if bias is None else grown(bias)
    unit = _tiny(_finfo(reference.accumulator(op.dtype)))
    return unit * _run(op._replace(tensors=tensors), factors, wide, None, None, start)


def _stretch(last: Primitive, x: Array, bound: Array) -> Array:
    """How far the last touch moves its result when its argument moves by the bound."""
    size = np.abs(x)
    with np.errstate(all="ignore"):
        far = size > 4 * bound
        if last == Primitive.SQUARE:
            return np.asarray(2 * size * bound + bound**2)
        if last == Primitive.SQRT:
            return np.where(far | (bound == 0), bound / np.sqrt(size + (size == 0)), np.inf)
        if last == Primitive.RECIPROCAL:
            return np.where(far | (bound == 0), 2 * bound / (size**2 + (size == 0)), np.inf)
        if last == Primitive.EXP:
            return np.asarray(np.exp(x) * np.expm1(bound))
        if last == Primitive.GELU:  # whose slope is 1.13 at most
            return np.asarray(2 * bound)
    return bound if last != Primitive.ZERO else np.zeros_like(bound)


def _finfo(dtype: np.dtype[Any]) -> Any:
    info: Any = ml_dtypes.finfo if dtype.name == "bfloat16" else np.finfo
    return info(dtype)


def _tiny(info: Any) -> float:
    return float(info.smallest_subnormal)
