"""Two steps of a contraction as a single plan, piece by piece (`optimizer/pieces.py`).

They are two contractions, of which the second reads what the first has written, or one of which a
tensor is held in another order, and the copy of that.

What the first one leaves to the second is scratch of the plan. Threads divide the pieces among
themselves, each with scratch of its own; where all pieces add to the same result, they divide the
steps. With an alpha or a beta, which are for the second step only, the two run one after the other
(`Apart`): that is what the plan is tested against.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorop.bind_tables import TEMPORARIES, Around, Part
from tensorop.executable import NO_OPERAND, Stage
from tensorop.ir import TensorOp
from tensorop.jit.slots import Slot
from tensorop.linked import InParts, chained, placed
from tensorop.memory import vector
from tensorop.optimizer.machine import host_machine
from tensorop.optimizer.normalise import normalised
from tensorop.optimizer.pieces import Pair, Pieces, copied, in_pieces
from tensorop.optimizer.pipeline import optimise
from tensorop.optimizer.realign import Realigned
from tensorop.runnable import Operand, Runnable
from tensorop.schedule import Schedule

_BYTE = np.dtype(np.uint8)
_BETWEEN = TEMPORARIES[0]
_INPUTS = (Slot.IN0, Slot.IN1, Slot.AUX)
EACH = 2  # pieces for every thread, at least, where threads divide these


class Pieced(InParts):
    """A `Planner` of the second of two steps. sources: positions, among the operands, of the inputs
    of the first one and of its own; by default in this order."""

    def __init__(
        self,
        pair: Pair,
        pieces: Pieces,
        apart: Callable[[], Runnable],
        sources: Sequence[int] | None = None,
    ) -> None:
        super().__init__(apart)
        self._pair, self._pieces = pair, pieces
        self._sources = range(len(pieces.moves) - 1) if sources is None else sources

    @property
    def note(self) -> str:
        """As `Planner.note`."""
        return self._pieces.note

    def stages(self, threads: int) -> tuple[Stage, ...]:
        """As `Planner.stages`: a single one."""
        pieces, shares = self._pieces, self._shares(threads)
        each = 1 if shares > 1 else threads
        parts, rest = self._parts(pieces.piece, each), list[Part]()
        if pieces.rest is not None:
            further = [pieces.number * move for move in pieces.moves]
            rest = self._parts(pieces.rest, each, further)
        if pieces.sums:
            parts, rest = _summing(parts, False), _summing(rest, None)
        slots = [*_INPUTS[: len(pieces.moves) - 1], Slot.OUT]
        moves = [(slot, move) for slot, move in zip(slots, pieces.moves, strict=True) if move]
        around = Around(pieces.number, tuple(moves), shares, pieces.sums, tuple(rest))
        inputs = [*self._sources, NO_OPERAND, NO_OPERAND]
        operands = (inputs[0], inputs[1], len(slots) - 1, inputs[2])
        between = {_BETWEEN: pieces.piece.between}
        stage = chained(self._pair.second, parts, between, around)
        return (stage._replace(operands=operands),)

    def schedules(self, threads: int) -> tuple[Schedule, ...]:
        """As `Planner.schedules`: of one piece."""
        each = 1 if self._shares(threads) > 1 else threads
        return tuple(part.schedule for part in self._parts(self._pieces.piece, each))

    def of(self, op: TensorOp) -> Pieced:
        """As `Planner.of`: of an operation whose output begins elsewhere."""
        pair = self._pair._replace(second=op)
        return Pieced(pair, _pieces_of(pair), self._apart)

    def _shares(self, threads: int) -> int:
        """How many threads divide the pieces among themselves."""
        enough = self._pieces.number >= EACH * threads
        return threads if enough and not self._pieces.sums else 1

    def _parts(self, pair: Pair, threads: int, further: Sequence[int] = ()) -> list[Part]:
        """Both steps of a piece, or of what begins so many bytes further in all other tensors."""
        first = list(_INPUTS[: pair.first.out])
        second = list(_INPUTS[pair.first.out :][: pair.second.out - 1])
        second.insert(pair.reads, _BETWEEN)
        each = [*first, _BETWEEN], [*second, Slot.OUT]
        moved = dict(zip([*_INPUTS[: len(further) - 1], Slot.OUT], further, strict=bool(further)))
        return [
            placed(
                optimise(op, seen, threads),
                slots,
                [moved.get(slot, 0) for slot in slots] if further else (),
            )
            for op, seen, slots in zip(pair[:2], self._pieces.machines, each, strict=True)
        ]


def _pieces_of(pair: Pair) -> Pieces:
    """How a pair runs whose output begins elsewhere than that of one that runs piece by piece."""
    pieces = in_pieces(pair, host_machine())
    assert pieces is not None, "where out begins makes no difference"
    return pieces


class PiecedCopy(Pieced):
    """A `Planner` of an operation of two inputs, one tensor of which is held in another order."""

    def __init__(self, parts: Realigned, pieces: Pieces, apart: Callable[[], Runnable]) -> None:
        pair = copied(parts)
        sources = [1, 0] if pair.reads == 1 else [0, 1]
        super().__init__(pair, pieces, apart, sources)
        self._whole = parts

    @property
    def note(self) -> str:
        """As `Planner.note`."""
        return f"{self._whole.note}; {super().note}"

    def of(self, op: TensorOp) -> PiecedCopy:
        """As `Planner.of`."""
        parts = self._whole._replace(op=normalised(op))
        return PiecedCopy(parts, _pieces_of(copied(parts)), self._apart)


def _summing(parts: list[Part], own: bool | None) -> list[Part]:
    """Parts in a loop over K, of which the second sums over that; own: what the first does."""
    return [part._replace(sums=sums) for part, sums in zip(parts, (own, True), strict=False)]


class Apart:
    """The two steps one after the other. size: bytes of what lies between them; reads: which input
    of the second that is."""

    note = "two steps one after the other"

    def __init__(self, first: Runnable, second: Runnable, size: int, reads: int) -> None:
        self.op, self._first, self._second = second.op, first, second
        self._size, self._reads = size, reads

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        return (*self._first.schedules, *self._second.schedules)

    def run(
        self,
        arrays: Sequence[Operand],
        alpha: Any = None,
        beta: Any = None,
        bias: Operand | None = None,
    ) -> None:
        """As `Runnable.run`."""
        inputs, between = self._first.op.out, vector(self._size, _BYTE)
        self._first.run((*arrays[:inputs], between))
        others = list(arrays[inputs:])
        others.insert(self._reads, between)
        self._second.run(others, alpha, beta, bias)
