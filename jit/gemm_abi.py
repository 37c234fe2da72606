"""The descriptor of a GEMM kernel: its words, for the kernel and for whoever writes descriptors."""

from __future__ import annotations

from enum import IntEnum


class GemmWord(IntEnum):
    """Descriptor of a GemmKernel. Strides are in bytes; tables hold byte offsets.

    A_SLOT, B_SLOT: frame slots with the operands' block addresses (panels, or the data itself).
    A_PANEL, B_PANEL: bytes between panels (packed). A_K, B_K: between steps of K (direct).
    B_N: between columns of B (direct). A_BR, B_BR: between batch-reduce blocks.
    B_NEXT: from this block of B to one that is asked for meanwhile, of the same size and without
    gaps; 0: none (direct, batch-reduce).
    C_N_TABLE: offset of every column of C, by absolute position.
    C_M_CHUNKS, C_M_BEGIN: `tables.chunks` over the rows of C with the tile's rows as granule, by
    absolute position; a block starts at a multiple of them (store="scatter").
    C_M_TABLE: offset of every row of C, by absolute position; the rows of a tile are consecutive
    (store="columns").
    """

    A_SLOT = 0
    B_SLOT = 1
    A_PANEL = 2
    A_K = 3
    A_BR = 4
    B_PANEL = 5
    B_K = 6
    B_N = 7
    B_BR = 8
    C_N_TABLE = 9
    C_M_CHUNKS = 10
    C_M_BEGIN = 11
    C_M_TABLE = 12
    B_NEXT = 13
    WORDS = 14
