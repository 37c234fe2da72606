"""GEMM and BRGEMM macro-kernels: C[m, n] = sum over k (and batch-reduce) of A[m, k] * B[k, n].

One call computes a block of C of any size, from a block of A and of B. M is the vector side, N the
broadcast side. The kernel walks the block in register tiles of `vectors` vectors by `columns`
columns, N outside, M inside, so that a panel of B stays in the first-level cache while the panels of
A stream through. What is left over at the right and lower edge is walked in narrower tiles.

An operand is *packed* (panels as wide as the tile, padded with zeros, see jit/copy.py) or *direct*
(where it lies). Complex numbers and half types are always packed: planar, and as float32.
`gemm_tile.py` has the loop over K, `gemm_store.py` the combination with C.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from llvmlite import ir

from tensorop.jit.abi import AxisSlot, Frame
from tensorop.jit.builder import Code, Value
from tensorop.jit.elements import Arithmetic, Number, element
from tensorop.jit.gemm_store import Patch, Result, ScatterBuffer
from tensorop.jit.gemm_tile import Columns, PackedColumns, Rows, StridedColumns, TileProduct
from tensorop.jit.target import Target

Access = Literal["packed", "direct"]
Store = Literal["columns", "scatter"]


class GemmWord(IntEnum):
    """Descriptor of a GemmKernel. Strides are in bytes; tables hold byte offsets.

    A_SLOT, B_SLOT: frame slots with the operands' block addresses (panels, or the data itself).
    A_PANEL, B_PANEL: bytes between panels (packed). A_K, B_K: between steps of K (direct).
    B_N: between columns of B (direct). A_BR, B_BR: between batch-reduce blocks.
    C_N_TABLE: offset of every column of C, by absolute position.
    C_M_CHUNKS, C_M_BEGIN: `tables.chunks` over the rows of C with the tile's rows as granule, by
    absolute position; a block starts at a multiple of them (scatter). For store="columns" the
    first row of the block is at OUT.
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
    WORDS = 12


@dataclass(frozen=True, slots=True)
class GemmKernel:
    """A GEMM of one dtype, register tile and way to reach its operands.

    dtype: of C; A and B too, but packed half types are float32.
    vectors, columns: the register tile. batch_reduce: also sum over axis slot BR.
    """

    dtype: str
    vectors: int
    columns: int
    a: Access = "packed"
    b: Access = "packed"
    store: Store = "columns"
    batch_reduce: bool = False

    def lanes(self, target: Target) -> int:
        """Rows of one vector."""
        real = element(self.dtype).accumulator.real
        return target.lanes(real.size) if real.vectorises else 1

    def rows(self, target: Target) -> int:
        """Rows of a tile: the width of a packed panel of A."""
        return self.vectors * self.lanes(target)

    def tail_columns(self) -> int:
        """Columns of the narrower tile at the right edge."""
        return 4 if self.columns > 4 else (self.columns + 1) // 2

    def generate(self, target: Target) -> ir.Module:
        described = element(self.dtype)
        if "direct" in (self.a, self.b) and described.accumulator is not described:
            raise ValueError(f"{self.dtype} operands must be packed: they are computed in float32")
        if "direct" in (self.a, self.b) and described.parts == 2:
            raise ValueError(f"{self.dtype} operands must be packed: they are computed planar")
        return _MacroKernel(self, target).generate()


class _MacroKernel:
    """The walk over a block of C."""

    def __init__(self, kernel: GemmKernel, target: Target) -> None:
        self.kernel, self.target = kernel, target
        kind = "brgemm" if kernel.batch_reduce else "gemm"
        self.code = code = Code(
            target,
            f"{kind}_{kernel.dtype}_{kernel.vectors}x{kernel.columns}"
            f"_{kernel.a}_{kernel.b}_{kernel.store}",
        )
        self.element = element(kernel.dtype)
        self.accumulator = self.element.accumulator
        self.part = self.accumulator.part
        self.lanes, self.mr = kernel.lanes(target), kernel.rows(target)
        sizes = [code.word(code.frame, Frame.SIZE + axis) for axis in AxisSlot if axis <= 3]
        self.m, self.n, self.k = sizes[:3]
        self.blocks: Value | int = sizes[AxisSlot.BR] if kernel.batch_reduce else 1
        self.result = Result(code, self.element, code.pointer(code.descriptor, GemmWord.C_N_TABLE))
        if kernel.store == "scatter":
            self.buffer = ScatterBuffer(self.result, self.mr, kernel.columns, self.lanes)

    def word(self, word: GemmWord) -> Value:
        return self.code.word(self.code.descriptor, word)

    def operand(self, word: GemmWord) -> Value:
        """Address of an operand's block."""
        return self.code.pointer(self.code.frame, self.word(word))

    def block_stride(self, word: GemmWord) -> Value | int:
        return self.word(word) if self.kernel.batch_reduce else 0

    def generate(self) -> ir.Module:
        code, nr, tail = self.code, self.kernel.columns, self.kernel.tail_columns()
        self.a, self.b = self.operand(GemmWord.A_SLOT), self.operand(GemmWord.B_SLOT)
        self.a_block = self.block_stride(GemmWord.A_BR)
        self.b_block = self.block_stride(GemmWord.B_BR)
        self._read_strides()
        panels = code.builder.udiv(self.n, code.int(nr))
        with code.loop(panels) as panel:
            address = code.at(self.b, code.mul(panel, self.b_panel))
            self._rows(self._columns(address, nr, None), code.mul(panel, nr), None)
        whole = code.mul(panels, nr)
        last_panel = code.at(self.b, code.mul(panels, self.b_panel))
        if tail and nr > 1:
            with code.loop(self.n, start=whole, step=tail) as n:
                valid = code.min(tail, code.sub(self.n, n))
                address = code.at(last_panel, code.mul(code.sub(n, whole), self.b_column))
                self._rows(self._columns(address, tail, valid), n, valid)
        return code.finish()

    def _read_strides(self) -> None:
        """Bytes between panels, between steps of K and between the columns of B."""
        code, kernel = self.code, self.kernel
        self.a_panel: Value | int = self.mr * self.part
        self.a_step: Value | int = self.mr * self.accumulator.size
        self.b_column: Value | int = self.part
        if kernel.a == "packed":
            self.a_panel = self.word(GemmWord.A_PANEL)
        else:
            self.a_step = self.word(GemmWord.A_K)
        if kernel.b == "packed":
            self.b_panel = self.word(GemmWord.B_PANEL)
        else:
            self.b_step, self.b_column = self.word(GemmWord.B_K), self.word(GemmWord.B_N)
            self.b_panel = code.mul(self.b_column, kernel.columns)
            self.multiples = StridedColumns.multiples_of(code, self.b_column)

    def _columns(self, address: Value, columns: int, valid: Value | None) -> Columns:
        code, nr = self.code, self.kernel.columns
        if self.kernel.b == "packed":
            step = nr * self.accumulator.size
            plane = nr * self.part if self.accumulator.parts == 2 else 0
            return PackedColumns(columns, address, step, self.b_block, plane)
        offsets: list[Value] = []
        if valid is not None:  # columns that do not exist repeat the last one that does
            last = code.sub(valid, 1)
            offsets = [code.mul(code.min(n, last), self.b_column) for n in range(columns)]
        return StridedColumns(
            columns, address, self.b_step, self.b_block, self.multiples, tuple(offsets)
        )

    def _rows(self, columns: Columns, n: Value, valid: Value | None) -> None:
        """All tiles of some columns: full ones, then single vectors."""
        code, vectors = self.code, self.kernel.vectors
        panels = code.builder.udiv(self.m, code.int(self.mr))
        whole = code.mul(panels, self.mr)
        with code.loop(panels) as panel:
            address = code.at(self.a, code.mul(panel, self.a_panel))
            patch = Patch(n, columns.columns, valid, self.lanes, None)
            sums = self._product(address, vectors, columns, patch)
            self._keep(sums, code.mul(panel, self.mr), code.int(0), patch)
            self._flush(panel, patch)
        if self.mr == 1:
            return
        last_panel = code.at(self.a, code.mul(panels, self.a_panel))
        lanes = self._tail_lanes()
        with code.loop(self.m, start=whole, step=lanes) as m:
            row = code.sub(m, whole)
            count = code.min(lanes, code.sub(self.m, m)) if lanes > 1 else None
            patch = Patch(n, columns.columns, valid, lanes, count)
            sums = self._product(code.at(last_panel, code.mul(row, self.part)), 1, columns, patch)
            self._keep(sums, m, row, patch)
        if self.kernel.store == "scatter":
            with code.when(code.less(whole, self.m)):
                self._flush(panels, patch)

    def _tail_lanes(self) -> int:
        """A panel is padded, and a masked load stays inside; else the last rows go one by one."""
        masked = self.part in self.target.masked
        return self.lanes if self.kernel.a == "packed" or masked else 1

    def _product(
        self, address: Value, vectors: int, columns: Columns, patch: Patch
    ) -> list[Number]:
        code, accumulator = self.code, self.accumulator
        vector = Arithmetic(code, accumulator, patch.lanes)
        parts = Arithmetic(code, accumulator.real, patch.lanes)
        plane = self.mr * self.part if accumulator.parts == 2 else 0
        count = patch.count if self.kernel.a == "direct" else None
        rows = Rows(vectors, address, self.a_step, self.a_block, plane, count)
        blocks = self.blocks if self.kernel.batch_reduce else 1
        sums = TileProduct(vector, parts, rows, columns).compute(self.k, blocks)
        return self.result.scaled(sums, patch.lanes)

    def _keep(self, sums: list[Number], m: Value, row: Value, patch: Patch) -> None:
        """To C, or to row `row` of the buffer."""
        if self.kernel.store == "columns":
            self.result.store(sums, self.code.mul(m, self.element.size), patch)
        else:
            self.buffer.put(sums, row, patch.columns, patch.lanes)

    def _flush(self, panel: Value, patch: Patch) -> None:
        if self.kernel.store != "scatter":
            return
        code = self.code
        start = code.word(code.frame, Frame.START + AxisSlot.M)
        granule = code.add(code.builder.udiv(start, code.int(self.mr)), panel)
        valid = patch.valid if patch.valid is not None else code.int(patch.columns)
        records = code.pointer(code.descriptor, GemmWord.C_M_CHUNKS)
        begin = code.pointer(code.descriptor, GemmWord.C_M_BEGIN)
        self.buffer.flush(records, begin, granule, patch.column, valid)
