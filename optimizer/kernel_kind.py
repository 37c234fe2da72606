"""What the kernel of a matrix product is told of the operation beside its layout."""

from __future__ import annotations

from tensorop.ir import TensorOp
from tensorop.jit.gemm_abi import EPILOGUES


def epilogue_of(op: TensorOp) -> str:
    """The last touch, where a matrix product kernel can apply it to its sums."""
    return op.last_touch.value if op.last_touch.value in EPILOGUES else "none"


def kernel_dtype(op: TensorOp) -> str:
    """The dtype of a matrix product kernel. Signed integers share those of the unsigned ones, whose
    products and sums have the same bits, unless an epilogue asks for the sign."""
    unsigned = op.dtype.startswith("int") and epilogue_of(op) == "none"
    return f"u{op.dtype}" if unsigned else op.dtype
