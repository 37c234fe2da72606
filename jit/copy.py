"""Copies of two-dimensional blocks through offset tables: packing, permuting, widening.

X is the axis whose positions are consecutive in the source (in chunks, see jit/tables.py), Y the
other one. Ways to go:

along (jit/copy_along.py): X is consecutive in the target too. Every chunk is moved as vectors, or,
    into more than the caches hold, as lines (jit/copy_rows.py).
groups (jit/copy_groups.py): X is consecutive in the target but for the elements of the next y,
    which are put beside each: into panels of groups.
across (jit/copy_across.py): Y is consecutive in the target. Square tiles are read along X,
    transposed in registers and written along Y; into more than the caches hold, by way of a stage
    and past them (jit/copy_staged.py), a few channels as whole vectors (jit/copy_channels.py), long
    columns straight into whole lines (jit/copy_lines.py).

A pack is a copy into panels: its target tables count from the block, and the last panel, where it
is not full, is zeroed first. Elements that are neither converted, conjugated nor made planar are
moved as bits. No byte outside the positions of the block is read or written.
"""

from __future__ import annotations

from llvmlite import ir

from tensorop.jit.builder import Code
from tensorop.jit.copy_abi import CopyKernel, CopyMode
from tensorop.jit.copy_across import Across
from tensorop.jit.copy_along import Along
from tensorop.jit.copy_block import Block
from tensorop.jit.copy_channels import Channels
from tensorop.jit.copy_digits import Digits
from tensorop.jit.copy_groups import Groups
from tensorop.jit.copy_lines import Lines
from tensorop.jit.copy_rows import Rows
from tensorop.jit.copy_short_rows import ShortRows
from tensorop.jit.copy_staged import Staged
from tensorop.jit.mover import Mover
from tensorop.jit.target import Target

ASKING: dict[CopyMode, type[Along | Across]] = {"along": Along, "across": Across}
PAST: dict[CopyMode, type[Block]] = {"rows": Rows, "staged": Staged, "lines": Lines}


def generate(kernel: CopyKernel, target: Target) -> ir.Module:
    """The module of a kernel; ValueError where no such copy exists."""
    carried = kernel.carried()
    mover = Mover(
        carried.source,
        carried.stored,
        kernel.lanes(target),
        carried.units,
        carried.conj,
        kernel.planar,
        kernel.squares,
    )
    code = Code(target, kernel.name)
    block = _block(code, mover, kernel)
    block.pad_last_panel()
    block.copy()
    if kernel.ragged:
        block.shift_last_row(kernel.ragged)
    return code.finish()


def _block(code: Code, mover: Mover, kernel: CopyKernel) -> Block:
    if kernel.mode == "digits":
        return Digits(code, mover, kernel)
    if kernel.mode == "groups":
        return Groups(code, mover, kernel)
    if kernel.channels:
        return Channels(code, mover, kernel)
    if kernel.row:
        return ShortRows(code, mover, kernel.row)
    if kernel.mode in ASKING:
        return ASKING[kernel.mode](code, mover, asks=kernel.asks)
    return PAST[kernel.mode](code, mover)
