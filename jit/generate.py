"""The generator of every kernel description."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from tensorop.jit import batch, copy, gemm, interleave, items, stream_loops, tiny, touch
from tensorop.jit.batch_abi import BatchKernel, ItemsKernel
from tensorop.jit.copy_abi import CopyKernel
from tensorop.jit.gemm_abi import GemmKernel
from tensorop.jit.interleave_abi import InterleaveKernel
from tensorop.jit.kernel import Kernel
from tensorop.jit.stream_abi import StreamKernel
from tensorop.jit.target import Target
from tensorop.jit.tiny_abi import TinyKernel
from tensorop.jit.touch_abi import TouchKernel

_GENERATORS: dict[type, Callable[[Any, Target], ir.Module]] = {
    BatchKernel: batch.generate,
    CopyKernel: copy.generate,
    GemmKernel: gemm.generate,
    InterleaveKernel: interleave.generate,
    ItemsKernel: items.generate,
    StreamKernel: stream_loops.generate,
    TinyKernel: tiny.generate,
    TouchKernel: touch.generate,
}


def generate(kernel: Kernel, target: Target) -> ir.Module:
    """The LLVM module of a kernel; one of another kind has a method `generate` of its own.

    Raises
    ------
    ValueError
        No code can be made for the description.
    """
    known = _GENERATORS.get(type(kernel))
    if known is not None:
        return known(kernel, target)
    module: ir.Module = kernel.generate(target)  # type: ignore[attr-defined]
    return module
