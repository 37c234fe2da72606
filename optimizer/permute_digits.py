"""A permuting copy of many short dimensions, as of the qubits of a state (see jit/digits.py).

Y has the dimensions that step least in the target, X of the others those that step least in the
source; both have more than a vector does, by turns, so that a call goes along runs on both sides.

C               SHARED     further dimensions, in the order of the target
  digits kernel over X and Y
"""

from __future__ import annotations

from math import prod

from tensorop.ir import Dimension, DimType, ExecType, Primitive, TensorOp
from tensorop.jit.copy_abi import CopyKernel
from tensorop.jit.elements import element
from tensorop.optimizer.digits import tile_of
from tensorop.optimizer.machine import Machine
from tensorop.schedule import Axis, Call, Loop, Schedule, Step

CALL = 1 << 14  # elements that one call moves: they stay in L2, and so do their addresses
WORD_BYTES = 8  # of an element that has lanes
IN, OUT = 0, 1


def permute_digits(op: TensorOp, machine: Machine, threads: int) -> Schedule | None:
    """The schedule of such a copy; None where vectors that are read and stored have nothing in
    common: then there are tiles to transpose.

    Parameters
    ----------
    op : TensorOp
        Fused; all C.
    """
    size = element(op.dtype).size
    if op.main != Primitive.COPY or op.tensors[IN].conj or size > WORD_BYTES:
        return None
    lanes = machine.lanes(op.dtype)
    x, y, rest = _sides(op, lanes)
    tile = tile_of(y, x, IN, lanes, 1)
    if tile is None or not tile.fits(x.size) or y.unit_run(OUT) < lanes:
        return None
    bits = f"uint{8 * size}"
    kernel = CopyKernel(bits, bits, "digits", order=tile.order)
    rest.sort(key=lambda d: -abs(d.strides[OUT]))
    outer = [Axis(f"C{i}", DimType.C, (d,)) for i, d in enumerate(rest)]
    how = ExecType.SHARED if threads > 1 else ExecType.SEQ
    body: tuple[Step, ...] = (Call(kernel, (IN, OUT), ("X", "Y")),)
    for axis in reversed(outer):
        body = (Loop(axis.name, 1, how, body),)
    op = op.with_dimensions((*rest, *y.dimensions, *x.dimensions))
    note = f"copy digits: {x.size} by {y.size} a call"
    return Schedule(op, (*outer, x, y), body, threads, notes=(note,))


def _sides(op: TensorOp, lanes: int) -> tuple[Axis, Axis, list[Dimension]]:
    """X and Y, and all other dimensions."""
    rest = list(op.dimensions)
    sides: tuple[list[Dimension], list[Dimension]] = ([], [])

    def take(side: int) -> bool:
        """The next dimension in the source, or in the target, if a call has room for it."""
        nearest = min(rest, key=lambda d: abs(d.strides[side]) or 1 << 62, default=None)
        moved = prod(d.size for side in sides for d in side)
        if nearest is None or moved * nearest.size > CALL:
            return False
        sides[side].insert(0, nearest)
        rest.remove(nearest)
        return True

    while prod(d.size for d in sides[OUT]) < lanes and take(OUT):
        pass
    while take(IN) and take(OUT):
        pass
    x, y = (Axis(name, DimType.C, tuple(dims)) for name, dims in zip("XY", sides, strict=True))
    return x, y, rest
