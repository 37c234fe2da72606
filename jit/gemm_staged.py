"""The macro-kernel whose tiles reach C by way of a stage (`gemm_stage.py`) where C is overwritten.

Where a call multiplies C or adds to it, they are stored as those of runs are.
"""

from __future__ import annotations

from tensorop.jit.builder import Value
from tensorop.jit.gemm_abi import GemmKernel, GemmWord
from tensorop.jit.gemm_macro import MacroKernel
from tensorop.jit.gemm_stage import Stage
from tensorop.jit.gemm_store import Place, Sums
from tensorop.jit.gemm_tile import Columns
from tensorop.jit.target import Target


class StagedKernel(MacroKernel):
    """A is packed, so that the last tile of some columns is computed as if it were full."""

    def __init__(self, kernel: GemmKernel, target: Target) -> None:
        super().__init__(kernel, target)
        self.plain = self.result.is_plain()
        self.stage = Stage(self.code, self.element, kernel.columns, self.result.column_table)

    def _enter(self) -> None:
        with self.code.when(self.plain):
            self.stage.clear()

    def _leave(self) -> None:
        with self.code.when(self.plain):
            self.stage.flush()
            self.code.fence()

    def _rows(self, columns: Columns, n: Value, valid: Value | None) -> None:
        code = self.code
        with code.when(self.plain):
            self.stage.begin(n, valid if valid is not None else code.int(columns.columns))
        panels = code.builder.udiv(code.add(self.m, self.mr - 1), code.int(self.mr))
        with code.loop(panels) as panel:
            tile = self._asking(columns, panel, panels) if valid is None else columns
            address = code.at(self.a, code.mul(panel, self.a_panel))
            self._tile(address, tile, code.mul(panel, self.mr), n, valid)
        with code.when(self.plain):
            self.stage.end()

    def _prefetch(self, places: list[Place], column: Value, columns: int) -> None:
        with self.code.when(self.code.builder.not_(self.plain)):
            super()._prefetch(places, column, columns)

    def _store(
        self,
        tile: Sums,
        m: Value,
        valid: Value | None,
        left: Value | None,
        rows: Value | None = None,
    ) -> None:
        code, result = self.code, self.result
        with code.either(self.plain) as (then, otherwise):
            with then:
                vectors, table = len(tile.places), GemmWord.C_M_STAGED
                places = result.places(m, vectors, tile.lanes, "staged", runs=table)
                result.overwrite(tile._replace(places=places), valid, self.stage)
                self.stage.send(m, self.mr)
            with otherwise:
                rows = code.min(self.mr, code.sub(self.m, m))
                super()._store(tile, m, valid, left, rows)
