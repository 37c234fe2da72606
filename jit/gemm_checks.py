"""Which descriptions of GEMM kernels there is no code for."""

from __future__ import annotations

from tensorop.jit.elements import element
from tensorop.jit.gemm_abi import (
    MATRIX_TILE,
    GemmKernel,
    masks_rows,
    multiplies,
    multiplies_matrices,
    stores_pieces,
    stores_stretches,
)
from tensorop.jit.groups import COLUMNS, moves
from tensorop.jit.target import Target


def check(kernel: GemmKernel, target: Target) -> None:
    """Refuse a kernel that cannot be.

    Raises
    ------
    ValueError
        Its operands have to be packed, or the target lacks the masks or instructions that it needs.
    """
    described = element(kernel.dtype)
    if (kernel.a, kernel.b) != ("packed", "packed"):
        if described.accumulator is not described:
            raise ValueError(f"{kernel.dtype} is computed in float32: pack its operands")
        if described.parts == 2 and (kernel.a, kernel.b) != ("gathered", "direct"):
            raise ValueError(f"{kernel.dtype} is computed planar: pack its operands")
    can = multiplies_matrices if kernel.matrices else multiplies
    if (kernel.inputs or kernel.matrices) and not can(target, kernel.inputs, kernel.dtype):
        inputs = " and ".join(kernel.inputs)
        what = "matrices" if kernel.matrices else "groups"
        raise ValueError(f"{target.name} multiplies no {what} of {inputs} into {kernel.dtype}")
    if kernel.matrices and not _is_of_matrices(kernel):
        raise ValueError(f"{kernel.name} has no tile of matrices")
    if moves(kernel.inputs) and kernel.columns % COLUMNS:
        raise ValueError(f"{kernel.name} has tiles of no whole vectors of columns")
    if kernel.left and not masks_rows(kernel, target):
        raise ValueError(f"{kernel.name} has no tile of masked rows")
    if kernel.halved and not kernel.left:
        raise ValueError(f"{kernel.name} has no last vector to halve")
    if kernel.past and not _is_stored_past(kernel):
        raise ValueError(f"{kernel.name} stores no whole lines")
    if kernel.strips and not _has_strips(kernel):
        raise ValueError(f"{kernel.name} reads no strips where they lie")
    if kernel.joined and not (kernel.past and kernel.store == "runs"):
        raise ValueError(f"{kernel.name} joins no vectors that are cut")
    if kernel.store == "staged" and not _is_staged(kernel, target):
        raise ValueError(f"{kernel.name} has no stage")
    if kernel.panels > 1 and (kernel.store != "staged" or kernel.inputs):
        raise ValueError(f"{kernel.name} computes one panel after the other")
    if kernel.store == "pieces" and not (
        stores_pieces(kernel.dtype) and 1 < kernel.piece < kernel.lanes(target)
    ):
        raise ValueError(f"{kernel.name} has no pieces of vectors")
    if kernel.store == "runs" and described.part not in target.masked:
        raise ValueError(
            f"{target.name} has no masks to store parts of {kernel.dtype} vectors with"
        )


def _has_strips(kernel: GemmKernel) -> bool:
    """Whether A may be read in strips, each once."""
    return kernel.a == "direct" and not kernel.batch_reduce and kernel.asks == 1


def _is_of_matrices(kernel: GemmKernel) -> bool:
    """Whether registers that hold matrices walk the panels, and C is reached by the buffer."""
    plain = not kernel.batch_reduce and not kernel.asks and not kernel.past
    tile = kernel.vectors, kernel.columns
    return tile == MATRIX_TILE and plain and kernel.store in ("columns", "scatter")


def _is_staged(kernel: GemmKernel, target: Target) -> bool:
    """Whether tiles may be put together on a stage."""
    panels = kernel.a == "packed" and not kernel.batch_reduce and not kernel.past
    return panels and stores_stretches(kernel.dtype, target)


def _is_stored_past(kernel: GemmKernel) -> bool:
    """Whether C may be stored past the caches."""
    described = element(kernel.dtype)
    plain = described.accumulator is described and described.parts == 1 and described.vectorises
    return plain and kernel.store in ("columns", "runs") and kernel.epilogue == "none"
