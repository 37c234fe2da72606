"""The macro-kernel whose tiles reach C by way of a stage (`gemm_stage.py`) where C is overwritten.

All columns on the stage are computed for some rows before the next rows are, so that these come
from L1 for all of them but the first. Where a call multiplies C or adds to it, tiles are stored as
those of runs are.
"""

from __future__ import annotations

from collections.abc import Callable

from tensorop.jit.builder import Value
from tensorop.jit.gemm_abi import GemmKernel, GemmWord
from tensorop.jit.gemm_macro import MacroKernel
from tensorop.jit.gemm_stage import Stage
from tensorop.jit.gemm_store import Place, Sums
from tensorop.jit.gemm_tile import Columns
from tensorop.jit.target import Target

# Code that computes the tiles of some rows: (the number of these tiles in a panel, of how many).
Tiles = Callable[[Value, Value], None]


class StagedKernel(MacroKernel):
    """A is packed, so that the last tile of some columns is computed as if it were full."""

    def __init__(self, kernel: GemmKernel, target: Target) -> None:
        super().__init__(kernel, target)
        self.plain = self.result.is_plain()
        self.stage = Stage(self.code, self.element, kernel, self.result.column_table)

    def _enter(self) -> None:
        with self.code.when(self.plain):
            self.stage.clear()

    def _leave(self) -> None:
        with self.code.when(self.plain):
            self.stage.flush()
            self.code.fence()

    def _panels(self, panels: Value) -> None:
        code, kernel = self.code, self.kernel
        with code.loop(panels, step=kernel.panels) as first:
            together = code.min(kernel.panels, code.sub(panels, first))
            if kernel.panels == 1:
                self._begin(code.at(self.b, code.mul(first, self.b_panel)))

            def compute(tile: Value, tiles: Value) -> None:
                with code.loop(together) as inside:
                    panel = code.add(first, inside)
                    address = code.at(self.b, code.mul(panel, self.b_panel))
                    columns = self._columns(address, kernel.columns, None, panel)
                    asking = self._asking(columns, tile, tiles, together)
                    self.stage.first = code.mul(inside, kernel.columns)
                    self._tile_of(asking, tile, code.mul(panel, kernel.columns), None)

            n, count = (code.mul(value, kernel.columns) for value in (first, together))
            self._by_rows(n, count, compute)

    def _rows(self, columns: Columns, n: Value, valid: Value | None) -> None:
        def compute(tile: Value, _: Value) -> None:
            self.stage.first = 0
            self._tile_of(columns, tile, n, valid)

        stored = valid if valid is not None else self.code.int(columns.columns)
        self._by_rows(n, stored, compute)

    def _by_rows(self, n: Value, columns: Value, compute: Tiles) -> None:
        """Columns from the n-th on, which the stage holds: the tiles of some rows after others."""
        code = self.code
        with code.when(self.plain):
            self.stage.begin(n, columns)
        tiles = code.builder.udiv(code.add(self.m, self.mr - 1), code.int(self.mr))
        with code.loop(tiles) as tile:
            compute(tile, tiles)
            with code.when(self.plain):
                self.stage.send(code.mul(tile, self.mr), self.mr)
        with code.when(self.plain):
            self.stage.end()

    def _tile_of(self, columns: Columns, tile: Value, n: Value, valid: Value | None) -> None:
        """The tile of some columns that is the tile-th of their panel."""
        address = self.code.at(self.a, self.code.mul(tile, self.a_panel))
        self._tile(address, columns, self.code.mul(tile, self.mr), n, valid)

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
            with otherwise:
                rows = code.min(self.mr, code.sub(self.m, m))
                super()._store(tile, m, valid, left, rows)
