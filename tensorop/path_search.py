"""The cheapest order in which a few operands are contracted, by what its steps take.

What is left of a group of operands once they are contracted does not depend on how that was done.
So the best order for a group is the best split of it in two, the best order for each part, and one
product: all groups are gone through, the small ones first, with every split, also those of parts
that have no label in common. A step takes the arithmetic and the memory that the optimizer expects
of a good schedule; so of orders with as many multiplications that one is found which writes less,
or which has matrix products.

Sources: P. Selinger et al., "Access Path Selection in a Relational Database Management System",
SIGMOD (1979), for the groups; R. Pfeifer, J. Haegeman, F. Verstraete, "Faster identification of
optimal contraction sequences for tensor networks", Phys. Rev. E 90 (2014), for tensors.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, inf

from tensorop.contraction import Contraction
from tensorop.jit.elements import element
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.prices import BESIDE, PRODUCT, SUMMED, VECTOR
from tensorop.optimizer.transfer import transfer

MOST = 8  # operands, which can be split in 3280 ways
STEP = 400.0  # cycles of a step, whatever it does


def cheapest(contraction: Contraction, dtype: str, machine: Machine) -> tuple[tuple[int, int], ...]:
    """Find the order of contracting at most `MOST` operands.

    Parameters
    ----------
    contraction : Contraction
    dtype : str
        The back end's name of what all steps compute in.
    machine : Machine

    Returns
    -------
    tuple of (int, int)
        For each product the positions of its operands among those that are left; its result is
        appended to them.

    Examples
    --------
    >>> from tensorop.contraction import resolve
    >>> from tensorop.optimizer.machine import host_machine
    >>> from tensorop.spec import parse
    >>> chain = resolve(parse("ij,jk,k->i"), [(50, 60), (60, 70), (70,)])
    >>> cheapest(chain, "float64", host_machine())
    ((1, 2), (0, 1))
    """
    count = len(contraction.operands)
    assert count <= MOST
    prices = _Prices(contraction.sizes, dtype, machine)
    own = [_set_of(labels) for labels in contraction.operands]
    output = _set_of(contraction.output)
    # Groups of operands, and sets of labels, are numbers that have a bit for each.
    everything = (1 << count) - 1
    has = [0] * (everything + 1)
    for group in range(1, everything + 1):
        has[group] = has[group & (group - 1)] | own[_lowest(group)]
    kept = [labels & (output | has[everything ^ group]) for group, labels in enumerate(has)]
    cycles, parts = [inf] * (everything + 1), [0] * (everything + 1)
    for group in range(1, everything + 1):
        rest = group & (group - 1)
        if not rest:
            cycles[group] = prices.reduction(has[group], kept[group])
            continue
        part = rest
        while part:  # every part of what is beside the first operand
            other = group ^ part
            before = cycles[part] + cycles[other]
            if before < cycles[group]:
                total = before + prices.product(kept[other], kept[part], kept[group])
                if total < cycles[group]:
                    cycles[group], parts[group] = total, part
            part = (part - 1) & rest
    return _path(parts, everything, count)


class _Prices:
    """Cycles of steps on sets of labels."""

    def __init__(self, sizes: tuple[int, ...], dtype: str, machine: Machine) -> None:
        kind = element(dtype).accumulator
        self._sizes, self._machine = sizes, machine
        self._bytes, self._lanes = kind.size, machine.lanes(dtype)
        self._factor = float(kind.parts**2)  # of a multiplication
        self._known = {0: 1}

    def _elements(self, labels: int) -> int:
        known = self._known.get(labels)
        if known is None:
            known = self._sizes[_lowest(labels)] * self._elements(labels & (labels - 1))
            self._known[labels] = known
        return known

    def _memory(self, read: int, written: int) -> float:
        read, written = read * self._bytes, written * self._bytes
        moved = transfer(read, read + written, self._machine)
        return moved + transfer(written, read + written, self._machine, written=True)

    def reduction(self, labels: int, kept: int) -> float:
        """One operand summed over the labels that nothing else has."""
        if kept == labels:
            return 0.0
        count = self._elements(labels)
        return STEP + count / self._lanes * SUMMED + self._memory(count, self._elements(kept))

    def product(self, first: int, second: int, kept: int) -> float:
        """Two operands."""
        size, lanes = self._elements, self._lanes
        read, written = size(first) + size(second), size(kept)
        vectors = size(first | second) / lanes
        if not (first | second) & ~kept:
            work = vectors * VECTOR
        else:
            long = max(size(first & ~second & kept), size(second & ~first & kept))
            batch = size(first & second & kept)
            if batch < lanes:  # along which vectors could run
                vectors *= ceil(long / lanes) * lanes / long if long > 1 else 1.0
            work = vectors * (PRODUCT if long > 1 else SUMMED)
        work, memory = work * self._factor, self._memory(read, written)
        return STEP + max(work, memory) + BESIDE * min(work, memory)


def _set_of(labels: Iterable[int]) -> int:
    found = 0
    for label in labels:
        found |= 1 << label
    return found


def _lowest(bits: int) -> int:
    """The position of the lowest bit."""
    return (bits & -bits).bit_length() - 1


def _path(parts: list[int], everything: int, count: int) -> tuple[tuple[int, int], ...]:
    """The products of a group, those of its parts first, by positions in the list of what waits."""
    waiting, path = [1 << i for i in range(count)], []

    def contract(group: int) -> None:
        part = parts[group]
        if not part:
            return
        contract(group ^ part)
        contract(part)
        first, second = sorted((waiting.index(group ^ part), waiting.index(part)))
        del waiting[second], waiting[first]
        waiting.append(group)
        path.append((first, second))

    contract(everything)
    return tuple(path)
