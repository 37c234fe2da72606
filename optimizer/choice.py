"""What a search may decide in place of the model.

A `Choice` names decisions; what it leaves open the model decides. `alternatives` lists, for one
kind of decision, the choices that differ from a given one in it: the steps of a search. Every
choice gives a right result; choices may differ in the order of summation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from tensorop.ir import CONTRACTIONS, DimType, TensorOp
from tensorop.jit.elements import element
from tensorop.jit.tiles import Tile, tiles
from tensorop.optimizer.dots import dots_of
from tensorop.optimizer.gathered import gathered_of
from tensorop.optimizer.items import items_of
from tensorop.optimizer.lanes import as_batch
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.planar import planar_of
from tensorop.optimizer.tiny import tiny_of
from tensorop.tuples import NamedTuple

Orders = tuple[tuple[int, tuple[int, ...]], ...]
Scales = tuple[float, float, float]  # of the block sizes along M, N and K
Decision = Literal["regime", "swapped", "tile", "rows_first", "m", "n", "k"]

DECISIONS: tuple[Decision, ...] = ("regime", "swapped", "tile", "rows_first", "m", "n", "k")
SCALES = (0.5, 1.0, 2.0)


class Choice(NamedTuple):
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
        taken = (f"{name} {_text(value)}" for name, value in self.as_json().items())
        return ", ".join(taken) or "the model's"

    def as_json(self) -> dict[str, Any]:
        """Only what is decided."""
        values = self._asdict()
        return {name: v for name, v in values.items() if v != getattr(MODEL, name)}

    @classmethod
    def from_json(cls, taken: dict[str, Any]) -> Choice:
        """The choice that `as_json` wrote; ValueError or TypeError where it is none."""
        given = dict(taken)
        if given.get("orders") is not None:
            given["orders"] = tuple((t, tuple(order)) for t, order in given["orders"])
        if given.get("tile") is not None:
            given["tile"] = Tile(*given["tile"])
        if "scales" in given:
            given["scales"] = tuple(given["scales"])
        return cls(**given)


def _text(value: Any) -> str:
    return "x".join(map(str, value)) if isinstance(value, Tile) else str(value)


MODEL = Choice()


def alternatives(
    op: TensorOp, choice: Choice, decision: Decision, machine: Machine
) -> list[Choice]:
    """The choices that differ from one in a decision, and it, if the decision applies.

    op: normalised. Which tensors to move is no such decision: see `realign.moves`.
    """
    if not is_product(op):
        return []
    if decision == "regime":
        return [choice._replace(regime=regime) for regime in regimes(op, machine)]
    if choice.regime != "blocked":
        return []
    kind = element(op.dtype)
    if decision == "swapped":
        return [choice._replace(swapped=swapped) for swapped in (False, True)]
    if decision == "tile":
        return [choice._replace(tile=tile) for tile in tiles(machine.target, kind)]
    if decision == "rows_first":
        return [choice._replace(rows_first=first) for first in (False, True)]
    if decision == "k" and kind.half:  # a partial sum stored in a half type would be rounded
        return []
    axis = "mnk".index(decision)
    return [choice._replace(scales=_scaled(choice.scales, axis, scale)) for scale in SCALES]


def is_product(op: TensorOp) -> bool:
    """Whether it is a matrix product, so that there is something to choose."""
    sides = (DimType.M, DimType.N, DimType.K)
    return op.main in CONTRACTIONS and all(op.size_of(t) > 1 for t in sides)


def regimes(op: TensorOp, machine: Machine) -> tuple[str, ...]:
    """The kinds of schedule that a matrix product can have."""
    along_lanes = ("batch",) if as_batch(op) is not None else ()
    in_items = ("items",) if items_of(op, machine) is not None else ()
    in_code = ("tiny",) if tiny_of(op, machine) is not None else ()
    in_lanes = ("planar",) if planar_of(op, machine) is not None else ()
    along_rows = ("dots",) if dots_of(op, machine) is not None else ()
    in_place = ("gathered",) if gathered_of(op, machine) is not None else ()
    found = (*along_lanes, *in_items, *in_code, *in_lanes, *in_place, *along_rows)
    return ("stream", "nest", "blocked", *found)


def check(op: TensorOp, choice: Choice, machine: Machine) -> None:
    """ValueError unless the search could have come to this choice."""
    allowed = (None, *tiles(machine.target, element(op.dtype)))
    flags = (None, False, True)
    right = (
        (is_product(op) or choice == MODEL._replace(orders=choice.orders))
        and choice.regime in (None, *regimes(op, machine))
        and choice.tile in allowed
        and choice.swapped in flags
        and choice.rows_first in flags
        and len(choice.scales) == 3
        and set(choice.scales) <= set(SCALES)
        and (choice.scales[2] == 1.0 or not element(op.dtype).half)
    )
    if not right:
        raise ValueError(f"no choice for this operation: {choice}")


def _scaled(scales: Scales, axis: int, scale: float) -> Scales:
    m, n, k = (scale if i == axis else s for i, s in enumerate(scales))
    return m, n, k


def every(op: TensorOp, orders: Orders, machine: Machine) -> Iterator[Choice]:
    """All packed schedules of a matrix product with the given tensors moved: for a campaign that
    compares the model's with the best there is."""
    start = Choice(orders, "blocked")
    found = [start]
    for decision in DECISIONS[1:]:
        found = [a for c in found for a in alternatives(op, c, decision, machine) or [c]]
    yield from dict.fromkeys(found)
