"""What a search may decide in place of the model.

A `Choice` names decisions; what it leaves open the model decides. `alternatives` lists, one
decision at a time, the choices that differ from a given one: the steps of a search. Every choice
gives a right result; choices may differ in the order of summation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from tensorop.ir import CONTRACTIONS, DimType, TensorOp
from tensorop.jit.elements import element
from tensorop.jit.tiles import Tile, tiles
from tensorop.optimizer.machine import Machine

Orders = tuple[tuple[int, tuple[int, ...]], ...]
Scales = tuple[float, float, float]  # of the block sizes along M, N and K
SCALES = (0.5, 1.0, 2.0)  # of a block size
REGIMES = ("stream", "nest", "blocked")


@dataclass(frozen=True, slots=True)
class Choice:
    """Decisions on one operation; None: the model's.

    orders: tensors that go through temporaries, and the dimensions of these, outermost first, as
    positions in the normalised operation. regime: the kind of schedule. swapped: in1 is the vector
    side. tile: the register tile. rows_first: in0 is packed outside in1. scales: what the model's
    block sizes along M, N and K are multiplied by.
    """

    orders: Orders | None = None
    regime: str | None = None
    swapped: bool | None = None
    tile: Tile | None = None
    rows_first: bool | None = None
    scales: Scales = (1.0, 1.0, 1.0)

    def __str__(self) -> str:
        """The decisions taken, or "the model's"."""
        taken = [f"{f.name} {getattr(self, f.name)}" for f in fields(self) if self._takes(f.name)]
        return ", ".join(taken) or "the model's"

    def _takes(self, name: str) -> bool:
        return bool(getattr(self, name) != getattr(MODEL, name))

    def as_json(self) -> dict[str, Any]:
        """Only what is decided."""
        return {f.name: getattr(self, f.name) for f in fields(self) if self._takes(f.name)}

    @classmethod
    def from_json(cls, taken: dict[str, Any]) -> Choice:
        """The choice that `as_json` wrote.

        Raises
        ------
        KeyError, TypeError, ValueError
            It is none.
        """
        orders, tile, scales = (
            taken.get("orders"),
            taken.get("tile"),
            taken.get("scales", (1, 1, 1)),
        )
        regime = taken.get("regime")
        if regime not in (None, *REGIMES) or len(scales) != 3 or set(scales) - set(SCALES):
            raise ValueError(f"no choice: {taken}")
        if orders is not None:
            orders = tuple((int(t), tuple(int(i) for i in order)) for t, order in orders)
        return cls(
            orders,
            regime,
            taken.get("swapped"),
            None if tile is None else Tile(int(tile[0]), int(tile[1])),
            taken.get("rows_first"),
            (float(scales[0]), float(scales[1]), float(scales[2])),
        )


MODEL = Choice()


def alternatives(op: TensorOp, choice: Choice, machine: Machine) -> Iterator[list[Choice]]:
    """Decision by decision, the choices that differ from one in it alone.

    op: normalised. Which tensors to move is not among them: see `realign.moves`.
    """
    if op.main not in CONTRACTIONS or len(op.tensors) != 3:
        return
    product = all(op.size_of(t) > 1 for t in (DimType.M, DimType.N, DimType.K))
    if product:
        yield [replace(choice, regime=regime) for regime in REGIMES]
        yield [replace(choice, regime="blocked", swapped=swapped) for swapped in (False, True)]
    if choice.regime != "blocked":
        return
    kind = element(op.dtype)
    yield [replace(choice, tile=tile) for tile in tiles(machine.target, kind)]
    yield [replace(choice, rows_first=first) for first in (False, True)]
    for axis in range(3):
        if axis == 2 and kind.half:  # a partial sum in a half type would be rounded
            continue
        yield [replace(choice, scales=_scaled(choice.scales, axis, scale)) for scale in SCALES]


def _scaled(scales: Scales, axis: int, scale: float) -> Scales:
    m, n, k = (scale if i == axis else s for i, s in enumerate(scales))
    return m, n, k


def every(op: TensorOp, orders: Orders, machine: Machine) -> Iterator[Choice]:
    """All packed schedules of a matrix product with the given tensors moved: for a campaign that
    compares the model's with the best there is."""
    for swapped in (False, True):
        for tile in tiles(machine.target, element(op.dtype)):
            for first in (False, True):
                for m in SCALES:
                    for n in SCALES:
                        for k in SCALES:
                            yield Choice(orders, "blocked", swapped, tile, first, (m, n, k))
