"""Complex matrix products by three real ones: the 3M method.

    P = Ar Br,  Q = Ai Bi,  R = (Ar + Ai)(Br + Bi)
    C = P - Q + i (R - P - Q)

Three products take three quarters of the multiplications of the usual four. What they cost is
accuracy where real and imaginary parts are of different sizes: the error of an element of C is
bounded by c k eps times its sum of (|Ar| + |Ai|)(|Br| + |Bi|), whichever part it is in, so that a
small imaginary part may be lost beside a large real one. As a matrix C is as accurate as ever. And
an infinity makes NaN of both parts. So it is used where it is asked for only.

The real parts are read and written as what they are, real tensors with every second element.

Source: N. J. Higham, "Stability of a method for multiplying complex matrices with three real matrix
multiplications", SIAM J. Matrix Anal. Appl. 13 (1992).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tensorop.ir import CONTRACTIONS, Dimension, DimType, Primitive, Tensor, TensorOp
from tensorop.memory import vector
from tensorop.runnable import Operand, Plan, Runnable, address
from tensorop.schedule import Schedule

LEAST = 512  # rows, columns and summed elements from which on it is faster
PARTS = {"complex64": "float32", "complex128": "float64"}
_SIGNED = {1: Primitive.ADD, -1: Primitive.SUB}


def is_for(op: TensorOp) -> bool:
    """Whether an operation can be run so, and is large enough to gain by it."""
    sides = (DimType.M, DimType.N, DimType.K)
    plain = op.first_touch == op.last_touch == Primitive.NONE
    large = all(op.size_of(side) >= LEAST for side in sides)
    return op.main in CONTRACTIONS and op.dtype in PARTS and plain and large


class ThreeM:
    """A complex product run as three real ones. `plan` makes executables of the parts."""

    note = "as three real products (3M): real and imaginary part share an error bound"

    def __init__(self, op: TensorOp, plan: Plan) -> None:
        self.op, self._plan = op, plan
        lie = [_parts_of(op, t) for t in range(3)]
        dense = [_dense(op, t) for t in range(3)]
        first, second = (-1 if tensor.conj else 1 for tensor in op.tensors[:2])
        less, more = _SIGNED[-first * second], _SIGNED[first * second]  # of Q
        self._sums = [
            plan(_elementwise(op, t, _SIGNED[sign], lie[t], dense[t]))
            for t, sign in enumerate((first, second))
        ]
        self._alone = plan(_product(op, (lie[0], lie[1], dense[2])))
        self._mixed = plan(_product(op, (dense[0], dense[1], dense[2])))
        self._real = plan(_elementwise(op, 2, less, dense[2], lie[2]))
        self._both = plan(_elementwise(op, 2, more, dense[2], dense[2]))
        self._imaginary = plan(_elementwise(op, 2, Primitive.SUB, dense[2], lie[2]))
        self._sizes = [_size(op, t) for t in range(3)]
        self._dtype = np.dtype(PARTS[op.dtype])
        self._scaled: tuple[ThreeM, Runnable] | None = None

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        """Of all parts, in the order in which they run."""
        first = (*self._sums, self._alone, self._alone, self._mixed)
        last = (self._real, self._both, self._imaginary)
        return tuple(s for part in (*first, *last) for s in part.schedules)

    def run(
        self,
        arrays: Sequence[Operand],
        alpha: Any = None,
        beta: Any = None,
        bias: Operand | None = None,
    ) -> None:
        """As `Runnable.run`; without a first touch there is no bias."""
        if alpha is not None or beta is not None:
            self._run_scaled(arrays, alpha, beta)
            return
        size = self._dtype.itemsize
        (a, b, out), sums = map(address, arrays), [vector(n, self._dtype) for n in self._sizes[:2]]
        for part, at, total in zip(self._sums, (a, b), sums, strict=True):
            part.run((at, at + size, total))
        p, q, r = (vector(self._sizes[2], self._dtype) for _ in range(3))
        self._alone.run((a, b, p))
        self._alone.run((a + size, b + size, q))
        self._mixed.run((*sums, r))
        self._real.run((p, q, out))
        self._both.run((p, q, p))
        self._imaginary.run((r, p, out + size))

    def _run_scaled(self, arrays: Sequence[Operand], alpha: Any, beta: Any) -> None:
        """alpha and beta are complex: they are the business of a copy of the whole product."""
        if self._scaled is None:
            dense, out = _dense(self.op, 2), self.op.out
            steps = (d.strides for d in self.op.dimensions)
            dims = zip(self.op.dimensions, steps, dense, strict=True)
            op = self.op.with_dimensions(tuple([d.stepping((*s[:2], n)) for d, s, n in dims]))
            copy = _unary(self.op, dense, [d.strides[out] for d in self.op.dimensions])
            self._scaled = ThreeM(op, self._plan), self._plan(copy)
        product, copy_ = self._scaled
        whole = vector(self._sizes[2], np.dtype(self.op.dtype))
        product.run((*arrays[:2], whole))
        copy_.run((whole, arrays[2]), alpha, beta)


Steps = Sequence[int]  # strides, one a dimension


def _parts_of(op: TensorOp, tensor: int) -> Steps:
    """Strides of the real, or the imaginary, parts of a tensor."""
    return [2 * d.strides[tensor] for d in op.dimensions]


def _dense(op: TensorOp, tensor: int) -> Steps:
    """Strides of a tensor without gaps whose dimensions lie in the same order."""
    steps, step = [0] * len(op.dimensions), 1
    has = [i for i, d in enumerate(op.dimensions) if d.strides[tensor]]
    for i in sorted(has, key=lambda i: abs(op.dimensions[i].strides[tensor])):
        steps[i] = step
        step *= op.dimensions[i].size
    return steps


def _size(op: TensorOp, tensor: int) -> int:
    return prod(d.size for d in op.dimensions if d.strides[tensor])


def _product(op: TensorOp, strides: tuple[Steps, Steps, Steps]) -> TensorOp:
    """The product of real tensors with these strides."""
    tensors = tuple([Tensor(t.role, PARTS[op.dtype]) for t in op.tensors])
    each = zip(op.dimensions, zip(*strides, strict=True), strict=True)
    return TensorOp(tensors, tuple([d.stepping(steps) for d, steps in each]), Primitive.GEMM)


def _elementwise(
    op: TensorOp, tensor: int, main: Primitive, read: Steps, written: Steps
) -> TensorOp:
    """A binary operation on real tensors of the shape of one of the operation's."""
    tensors = tuple([Tensor(t.role, PARTS[op.dtype]) for t in op.tensors])
    return TensorOp(tensors, _shape(op, tensor, (read, read, written)), main)


def _unary(op: TensorOp, read: Steps, written: Steps) -> TensorOp:
    """A copy of a tensor of the shape of out."""
    tensors = (Tensor("in0", op.dtype), Tensor("out", op.dtype))
    return TensorOp(tensors, _shape(op, op.out, (read, written)), Primitive.COPY)


def _shape(op: TensorOp, tensor: int, strides: tuple[Steps, ...]) -> tuple[Dimension, ...]:
    each = zip(op.dimensions, zip(*strides, strict=True), strict=True)
    return tuple(
        [Dimension(DimType.C, d.size, s, name=d.name) for d, s in each if d.strides[tensor]]
    )
