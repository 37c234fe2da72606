"""Staged copies of tiles that are a few channels wide, or high.

Such a tile, transposed as a square, would be mostly empty. What its elements fill is as many whole
vectors as there are channels, on both sides: they are put together, or taken apart, in registers
(jit/channels.py).
"""

from __future__ import annotations

from tensorop.jit.builder import Code, Value
from tensorop.jit.channels import join, part
from tensorop.jit.copy_abi import CopyKernel
from tensorop.jit.copy_staged import Staged
from tensorop.jit.mover import Mover


class Channels(Staged):
    """Channels lie beside one another in the source (X), or in the stage (Y)."""

    def __init__(self, code: Code, mover: Mover, kernel: CopyKernel) -> None:
        super().__init__(code, mover._replace(lanes=kernel.along, squares=1))
        self.channels, self.joins = kernel.channels, kernel.joins

    def _move_tile(
        self, source: Value, target: Value, y: tuple[Value, Value], x: tuple[Value, Value]
    ) -> None:
        """A tile that is not full is moved one by one."""
        code, along = self.code, self.mover.lanes
        rows, columns = (self.channels, along) if self.joins else (along, self.channels)
        full = code.builder.and_(code.equal(y[1], rows), code.equal(x[1], columns))
        with code.either(full) as (whole, part_):
            with whole:
                self._move_channels(source, target, y[0], x[0])
            with part_:
                self._scalars(source, target, y, x)

    def _move_channels(self, source: Value, target: Value, y: Value, x: Value) -> None:
        code, size = self.code, self.mover.lanes * self.mover.source_bytes
        row, column = self.y_source, self.x_target
        if self.joins:
            places = [code.at(source, code.word(row, code.add(y, i))) for i in range(self.channels)]
            first = code.at(target, code.word(column, x))
            stored = [code.at(first, i * size) for i in range(self.channels)]
        else:
            first = code.at(source, code.word(row, y))
            places = [code.at(first, i * size) for i in range(self.channels)]
            stored = [
                code.at(target, code.word(column, code.add(x, i))) for i in range(self.channels)
            ]
        vectors = [self.mover.load(code, place)[0] for place in places]
        moved = join(code, vectors) if self.joins else part(code, vectors)
        for vector, place in zip(moved, stored, strict=True):
            self.mover.store(code, (vector,), place, self.plane)
