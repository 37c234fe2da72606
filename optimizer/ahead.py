"""Which tensors of a matrix product are asked for while it multiplies (`jit/gemm_ahead.py`)."""

from __future__ import annotations

from collections.abc import Sequence

from tensorop.ir import Dimension, TensorOp
from tensorop.jit.elements import element
from tensorop.optimizer.direct import DENSE
from tensorop.optimizer.machine import Machine

PAGE = 4096  # bytes
OFTEN = 640  # products of an element that take 16 times as long as reading it from memory, about


def is_slow(op: TensorOp, tensor: int, partners: int, machine: Machine) -> bool:
    """Whether a tensor comes from beyond L2, and takes part in so few products, `partners` for each
    element, that the time to read it shows."""
    held = op.reached(tensor) * element(op.tensors[tensor].dtype).size
    return held > machine.l2 and partners <= OFTEN


def asked_as_it_lies(op: TensorOp, kernel: Sequence[Dimension], machine: Machine) -> int:
    """Of how many tensors the part that the next call of a kernel takes, where it lies, is asked
    for: of in1 only with in0, and of out, whose lines are read before they are written, only with
    both. Such parts move, have few gaps, and L2 holds two; those of at most a page the hardware
    follows from one to the next.

    Parameters
    ----------
    kernel : sequence of Dimension
        M, N and K of it.
    """
    m, n, k = kernel
    asked = 0
    for tensor, sides, partners in ((0, (m, k), n), (1, (n, k), m), (2, (m, n), k)):
        count = sides[0].size * sides[1].size
        reach = max(abs(d.strides[tensor]) * d.size for d in sides)
        fits = PAGE < count * element(op.dtype).size <= machine.l2 // 2
        forward = all(d.strides[tensor] >= 0 for d in sides)  # lines are counted from the first
        moves = forward and op.reached(tensor) > count and reach <= DENSE * count
        follows = tensor < 2 or asked == tensor
        if follows and fits and moves and is_slow(op, tensor, partners.size, machine):
            asked = tensor + 1
    return asked
