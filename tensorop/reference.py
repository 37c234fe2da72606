"""The plain reference: any `TensorOp` on numpy arrays, obviously right and slow.

In go the operation, one array per tensor, and the run-time scalars; out comes the array of `out`,
filled. Every generated kernel, every optimizer pass and the explicit `TensorOperation` are tested
against it, so it knows nothing of schedules, blocks or kernels: it views each operand through its
dimensions' strides, combines the inputs by a broadcasting ufunc, reduces over K, and stores. Work
is cut into chunks, so that memory stays bounded whatever the sizes.

The meaning of an operation, stated once:

    out = last_touch(start + alpha * main(in0, in1))      start: beta * out   (first touch none)
                                                                 nothing      (first touch zero)
                                                                 bias         (first touch copy)

`start` is joined by the main's own reduction: `+` for sums, contractions and elementwise mains,
`min` for a minimum and so on ("nothing" is then that reduction's identity). beta = 0 never reads
`out`. The bias is laid out as `out` is: its first element and `out`'s strides. On bool, `*` is
and, `+` is or."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from tensorop.ir import CONTRACTIONS, UNARY, Dimension, DimType, Primitive, TensorOp

Array = NDArray[Any]
Ufunc = Callable[..., Any]

CHUNK = 1 << 18  # elements of a temporary

_BINARY: dict[Primitive, np.ufunc] = {
    Primitive.ADD: np.add,
    Primitive.SUB: np.subtract,
    Primitive.MUL: np.multiply,
    Primitive.DIV: np.divide,
    Primitive.MIN: np.minimum,
    Primitive.MAX: np.maximum,
    Primitive.AND: np.logical_and,
    Primitive.OR: np.logical_or,
    Primitive.SUM: np.add,
    Primitive.PROD: np.multiply,
}
_ON_BOOL: dict[Primitive, np.ufunc] = {
    Primitive.ADD: np.logical_or,
    Primitive.SUM: np.logical_or,
    Primitive.MUL: np.logical_and,
    Primitive.PROD: np.logical_and,
}


def _sigmoid(x: Array) -> Array:
    small = np.exp(-np.abs(x))
    return np.asarray(np.where(x < 0, small, 1) / (1 + small), x.dtype)


def _gelu(x: Array) -> Array:
    """To the precision of the C library's erfc, a float64."""
    below = np.vectorize(lambda y: math.erfc(-y / math.sqrt(2)) / 2, otypes=[float])
    return np.asarray(np.where(np.isneginf(x), -0.0, x * below(np.asarray(x, float))), x.dtype)


_UNARY: dict[Primitive, Ufunc] = {
    Primitive.NONE: lambda x: x,
    Primitive.ZERO: np.zeros_like,
    Primitive.COPY: lambda x: x,
    Primitive.CAST: lambda x: x,
    Primitive.CONJ: np.conjugate,
    Primitive.RELU: lambda x: np.maximum(x, x.dtype.type(0)),
    Primitive.SQUARE: np.square,
    Primitive.SQRT: np.sqrt,
    Primitive.RECIPROCAL: np.reciprocal,
    Primitive.ABS: np.abs,
    Primitive.NEG: np.negative,
    Primitive.EXP: np.exp,
    Primitive.TANH: np.tanh,
    Primitive.SIGMOID: _sigmoid,
    Primitive.GELU: _gelu,
}


_WIDER: dict[str, str] = {
    "float16": "float64",
    "bfloat16": "float64",
    "float32": "float64",
    "float64": "longdouble",
    "complex64": "complex128",
    "complex128": "clongdouble",
}


def accumulator(dtype: str) -> np.dtype[Any]:
    """The type sums are kept in: float32 for the half types, else the type itself."""
    return np.dtype("float32" if dtype in ("float16", "bfloat16") else dtype)


def higher_precision(dtype: str) -> np.dtype[Any]:
    """The next wider type, to judge a result by; integers and bool are exact and stay."""
    return np.dtype(_WIDER.get(dtype, dtype))


def run(
    op: TensorOp,
    arrays: Sequence[Array],
    alpha: Any = None,
    beta: Any = None,
    bias: Array | None = None,
    *,
    precision: Any = None,
) -> None:
    """Execute `op` on arrays, writing the last of them.

    Parameters
    ----------
    op : TensorOp
        What to compute; execution types are ignored.
    arrays : sequence of ndarray
        One array per tensor. The first element of each is the tensor's base address; strides count
        elements of that array from there, in either direction, whatever the array's own shape.
    alpha, beta : scalar, optional
        Factors of the result (None: 1) and of the old `out` (None or 0: `out` is not read).
    bias : ndarray, optional
        What a first touch `copy` starts from, laid out as `out` is.
    precision : dtype, optional
        The type to compute in, instead of `accumulator(op.dtype)`. An `out` array of a
        wider type than the operation's keeps the extra digits.

    Raises
    ------
    ValueError
        The operation is broken (`TensorOp.verify`), or the number of arrays is not that of its
        tensors, or a first touch `copy` has no bias.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorop.ir import Dimension, DimType, Primitive, Tensor, TensorOp
    >>> total = TensorOp(
    ...     (Tensor("in0", "float64"), Tensor("out", "float64")),
    ...     (Dimension(DimType.K, 4, (1, 0)),),
    ...     Primitive.SUM,
    ... )
    >>> out = np.empty(1)
    >>> run(total, [np.arange(4.0), out])
    >>> out
    array([6.])
    """
    op.verify()
    if len(arrays) != len(op.tensors):
        raise ValueError(f"{len(arrays)} arrays for {len(op.tensors)} tensors")
    if (op.first_touch == Primitive.COPY) != (bias is not None):
        raise ValueError(f"first touch {op.first_touch}, bias {'not ' * (bias is None)}given")
    compute = accumulator(op.dtype) if precision is None else np.dtype(precision)
    with np.errstate(all="ignore"):
        _Run(op, arrays, compute, alpha, beta, bias).run()


class _Run:
    """One run: the views and scalars that every chunk needs."""

    def __init__(
        self,
        op: TensorOp,
        arrays: Sequence[Array],
        compute: np.dtype[Any],
        alpha: Any,
        beta: Any,
        bias: Array | None,
    ) -> None:
        self.op, self.compute = op, compute
        self.kept = [d for d in op.dimensions if d.type != DimType.K]
        self.summed = [d for d in op.dimensions if d.type == DimType.K]
        every = self.kept + self.summed
        self.inputs = [_view(a, every, i) for i, a in enumerate(arrays[:-1])]
        self.out = _view(arrays[-1], self.kept, op.out)
        self.bias = None if bias is None else _view(bias, self.kept, op.out)
        self.alpha = None if alpha is None else _scalar(alpha, compute)
        reads_out = op.first_touch == Primitive.NONE and beta is not None and beta != 0
        self.beta = _scalar(beta, compute) if reads_out else None
        reduces = op.main not in CONTRACTIONS | UNARY and len(op.tensors) == 2
        self.add = self._binary(op.main if reduces else Primitive.ADD)
        self.copies = (
            op.main in (Primitive.COPY, Primitive.CAST)
            and op.last_touch == Primitive.NONE
            and self.alpha is None
            and self.beta is None
            and bias is None
        )

    def run(self) -> None:
        for block in _blocks([d.size for d in self.kept], CHUNK):
            chunk = max(1, CHUNK // self.out[block].size)
            total: Any = None
            for part in _blocks([d.size for d in self.summed], chunk):
                term = self._reduce(self._main(block + part))
                total = term if total is None else self.add(total, term)
            value = total if self.copies else self._finish(block, total)
            self.out[block] = _convert(value, self.out.dtype)

    def _binary(self, primitive: Primitive) -> np.ufunc:
        table = {**_BINARY, **_ON_BOOL} if self.compute.kind == "b" else _BINARY
        return table[primitive]

    def _load(self, tensor: int, where: tuple[slice, ...]) -> Array:
        values = self.inputs[tensor][where]
        # A cast is rounded once, from the source's own type, with no stop at the accumulator's.
        values = values if self.copies else _convert(values, self.compute)
        return np.conjugate(values) if self.op.tensors[tensor].conj else values

    def _main(self, where: tuple[slice, ...]) -> Array:
        operands = [self._load(i, where) for i in range(len(self.inputs))]
        if self.op.main in CONTRACTIONS:
            result = self._binary(Primitive.MUL)(*operands)
        elif len(operands) == 2:
            result = self._binary(self.op.main)(*operands)
        elif self.op.main in UNARY:
            result = _UNARY[self.op.main](operands[0])
        else:
            result = operands[0]
        return np.asarray(result)

    def _reduce(self, term: Array) -> Array:
        axes = tuple(range(len(self.kept), term.ndim))
        # Without a dtype, numpy sums small integers in the widest one.
        kind = self.compute if self.add in (np.add, np.multiply) else None
        return np.asarray(self.add.reduce(term, axis=axes, dtype=kind)) if axes else term

    def _finish(self, block: tuple[slice, ...], total: Array) -> Array:
        times = self._binary(Primitive.MUL)
        value = total if self.alpha is None else times(self.alpha, total)
        if self.bias is not None:
            value = self.add(_convert(self.bias[block], self.compute), value)
        elif self.beta is not None:
            value = self.add(times(self.beta, _convert(self.out[block], self.compute)), value)
        return np.asarray(_UNARY[self.op.last_touch](np.asarray(value)))


def _view(array: Array, dimensions: Sequence[Dimension], tensor: int) -> Array:
    """The array's first element and what the dimensions reach from there."""
    return as_strided(
        array,
        shape=[d.size for d in dimensions],
        strides=[d.strides[tensor] * array.dtype.itemsize for d in dimensions],
    )


def _scalar(value: Any, dtype: np.dtype[Any]) -> Array:
    return _convert(np.asarray(value), dtype)


def _convert(values: Array, dtype: np.dtype[Any]) -> Array:
    """astype; complex to real drops the imaginary part without a warning."""
    if values.dtype.kind == "c" and dtype.kind not in "cb":
        values = values.real
    return values.astype(dtype, copy=False)


def _blocks(shape: Sequence[int], limit: int) -> Iterator[tuple[slice, ...]]:
    """Slices that tile the shape, each of at most `limit` elements: whole inner dimensions, part of
    one, single positions of those outside it."""
    steps: list[int] = []
    for size in reversed(shape):
        steps.insert(0, max(1, min(size, limit // math.prod(steps))))
    ranges = [range(0, n, step) for n, step in zip(shape, steps, strict=True)]
    for starts in product(*ranges):
        yield tuple(slice(i, i + step) for i, step in zip(starts, steps, strict=True))
