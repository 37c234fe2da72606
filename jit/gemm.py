"""GEMM and BRGEMM kernels: which generator makes which of them."""

from __future__ import annotations

from llvmlite import ir

from tensorop.jit.gemm_abi import GemmKernel
from tensorop.jit.gemm_checks import check
from tensorop.jit.gemm_macro import MacroKernel
from tensorop.jit.gemm_matrix import MatrixKernel
from tensorop.jit.gemm_staged import StagedKernel
from tensorop.jit.target import Target


def generate(kernel: GemmKernel, target: Target) -> ir.Module:
    """The module of a kernel.

    Raises
    ------
    ValueError
        Its operands have to be packed, or the target lacks the masks that it needs.
    """
    check(kernel, target)
    if kernel.matrices:
        return MatrixKernel(kernel, target).generate()
    how = StagedKernel if kernel.store == "staged" else MacroKernel
    return how(kernel, target).generate()
