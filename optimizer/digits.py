"""Digits of the dimensions that a pack moves (see jit/digits.py).

A dimension of 2^n positions, or of a multiple, is n dimensions of two. Those that step least in the
source say where an element is in a vector that is read; those of the lanes that step least in a
panel, where it is in one that is stored.
"""

from __future__ import annotations

import numpy as np

from tensorop.jit.copy_abi import ELSEWHERE
from tensorop.jit.tables import Words
from tensorop.schedule import Axis
from tensorop.tuples import NamedTuple


class _Digit(NamedTuple):
    """weight: from its first position to its second, along its axis; step: in the source."""

    deep: bool
    weight: int
    step: int


class Tile(NamedTuple):
    """Elements that change places.

    order: see `digits.permuted`. loads: where vectors begin in the source, in elements. leaving:
    for each digit of a vector that is read, and of none that is stored, its weight along the depth,
    or None for that between real and imaginary parts.
    """

    order: tuple[int, ...]
    loads: Words
    leaving: tuple[int | None, ...]

    def fits(self, block: int) -> bool:
        """Whether blocks of the depth have whole tiles."""
        return all(block % (2 * weight) == 0 for weight in self.leaving if weight)

    def stores(self, depth: Words, plane: int) -> Words:
        """Where vectors begin in the target, as positions of the depth do; plane: from the real to
        the imaginary parts."""
        steps = [depth[weight] - depth[0] if weight else plane for weight in self.leaving]
        return sums(np.array(steps, np.int64))

    def starts(self, size: int) -> Words:
        """The first positions of tiles, of so many."""
        at = np.arange(size, dtype=np.int64)
        for weight in self.leaving:
            if weight:
                at = at[at // weight % 2 == 0]
        return at


def tile_of(lanes: Axis, depth: Axis, tensor: int, count: int, parts: int) -> Tile | None:
    """The tile of a pack into vectors of at most `count` lanes; None where elements lie together
    otherwise, or not at all.

    Parameters
    ----------
    parts : 2 where every element is a real and an imaginary part, which go apart, else 1
    """
    matched = _matched(lanes, depth, tensor, count, parts)
    if matched is None:
        return None
    before, after = matched
    gone = [digit for digit in before if digit not in after]
    order = tuple(before.index(d) if d in before else ELSEWHERE for d in after)
    arrive = np.array([d.step for d in after if d not in before], np.int64)
    return Tile(order, sums(arrive), tuple(d.weight or None for d in gone))


def has_tile(lanes: Axis, depth: Axis, tensor: int, count: int, parts: int) -> bool:
    """Whether there is a `tile_of` these."""
    return _matched(lanes, depth, tensor, count, parts) is not None


def _matched(
    lanes: Axis, depth: Axis, tensor: int, count: int, parts: int
) -> tuple[list[_Digit], list[_Digit]] | None:
    """The digits of a vector that is read, and of one of a panel."""
    wide = _digits_of(lanes, tensor, parts, deep=False)
    every = [*wide, *_digits_of(depth, tensor, parts, deep=True)]
    if parts > 1:
        every.append(_Digit(True, 0, 1))
    by_step, by_weight = ({d.step: d for d in every}, {d.weight: d for d in wide})
    before, after = _chain(by_step, count), _chain(by_weight, count)
    by, length = lanes.turned
    if len(before) < len(after) or (by and (by % count or length % count)) or not after:
        return None
    before = before[: len(after)]
    stays = [digit for digit in after if digit in before]
    gone = [digit for digit in before if digit not in after]
    if not stays or before == after or not all(digit.deep for digit in gone):
        return None
    return before, after


def sums(steps: Words) -> Words:
    """Offsets of all positions of some digits, of these steps, the first one changing fastest."""
    found = np.zeros(1, np.int64)
    for step in steps:
        found = np.concatenate([found, found + step])
    return found


def _digits_of(axis: Axis, tensor: int, parts: int, deep: bool) -> list[_Digit]:
    found, weight = [], 1
    for d in reversed(axis.dimensions):
        part = 1
        while part < d.size and d.size % (2 * part) == 0:
            found.append(_Digit(deep, weight * part, d.strides[tensor] * part * parts))
            part *= 2
        weight *= d.size
    return found


def _chain(digits: dict[int, _Digit], count: int) -> list[_Digit]:
    """Those of 1, 2, 4 and so on up to a vector of so many, as far as there are."""
    chain, at = [], 1
    while at < count and at in digits:
        chain.append(digits[at])
        at *= 2
    return chain
