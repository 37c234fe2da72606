"""The generator of every kernel description."""

from __future__ import annotations

from importlib import import_module

from llvmlite import ir

from tensorop.jit.guard import importing
from tensorop.jit.kernel import Kernel
from tensorop.jit.target import Target

# A process compiles few kinds of kernels, and each generator takes milliseconds to import.
_GENERATORS = {
    "BatchKernel": "batch",
    "CopyKernel": "copy",
    "DotsKernel": "dots",
    "GemmKernel": "gemm",
    "InterleaveKernel": "interleave",
    "ItemsKernel": "items",
    "PlanarKernel": "planar",
    "ReorderKernel": "reorder",
    "StreamKernel": "stream_loops",
    "TinyKernel": "tiny",
    "TouchKernel": "touch",
}


def generate(kernel: Kernel, target: Target) -> ir.Module:
    """The LLVM module of a kernel; one of another kind has a method `generate` of its own.

    Raises
    ------
    ValueError
        No code can be made for the description.
    """
    known = _GENERATORS.get(type(kernel).__name__)
    if known is not None:
        with importing:
            generator = import_module(f"{__package__}.{known}")
        module: ir.Module = generator.generate(kernel, target)
    else:
        module = kernel.generate(target)  # type: ignore[attr-defined]
    return module
