"""Which inputs of a matrix product are asked for while it multiplies (`jit/gemm_ahead.py`)."""

from __future__ import annotations

from tensorop.ir import TensorOp
from tensorop.jit.elements import element
from tensorop.optimizer.machine import Machine

OFTEN = 640  # products of an element that take 16 times as long as reading it from memory, about


def is_slow(op: TensorOp, tensor: int, partners: int, machine: Machine) -> bool:
    """Whether an input comes from beyond L2, and is multiplied by so few `partners` of the other
    side that the time to read it shows."""
    held = op.reached(tensor) * element(op.tensors[tensor].dtype).size
    return held > machine.l2 and partners <= OFTEN
