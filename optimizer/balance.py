"""Block lengths that cut a size evenly, and how long a call may last."""

from __future__ import annotations

from tensorop.jit.elements import Element
from tensorop.optimizer.machine import Machine

CALL_VECTORS = 20_000_000  # multiply-adds of vectors in one kernel call: some 10 ms
CALL_SCALARS = 5_000_000  # the same without vectors
SHORTEST = 0.75  # of a block that threads share, in which nobody waits for the others for long
LONGEST_SUM = 2048  # terms of a sum that are added one after the other


def ceiling(size: int, part: int) -> int:
    """How many parts of a length it takes to cover a size."""
    return -(-size // part)


def balanced(size: int, largest: int, multiple: int) -> int:
    """The block length that cuts `size` into as few blocks as `largest` allows, all about equal;
    a multiple of `multiple` unless one block covers everything."""
    largest = max(multiple, largest // multiple * multiple)
    if size <= largest:
        return size
    return share_of(size, ceiling(size, largest), multiple)


def share_of(size: int, threads: int, multiple: int = 1) -> int:
    """What each of so many threads gets of an axis, the last ones perhaps less: a multiple of
    `multiple`, or all of it."""
    return min(size, ceiling(ceiling(size, threads), multiple) * multiple)


def without_rest(size: int, largest: int, multiple: int) -> int:
    """As `balanced`, for blocks that threads share: no multiple where one block covers everything
    without, or the last one would be so short that one of them is idle."""
    if size <= largest:
        return size
    block = balanced(size, largest, multiple)
    last = size % block or block
    return block if last >= SHORTEST * block else share_of(size, ceiling(size, block))


def call_work(machine: Machine, kind: Element, together: int = 1) -> int:
    """Multiply-adds in one kernel call, so that it does not last: between calls the driver looks
    for interruption. together: of a lane in an instruction, for groups of steps of K."""
    if together == 1 and not (kind.is_float and kind.vectorises):
        return CALL_SCALARS
    lanes = machine.target.lanes(kind.accumulator.part)
    return CALL_VECTORS * lanes * together // kind.parts**2


def longest_sum(kind: Element, size: int, lanes: int = 1) -> int:
    """How much of a sum of so many terms a kernel call adds up, in accumulators of some lanes: of
    floats, so little that the errors of their roundings do not show, since these grow with the root
    of the terms of an accumulator and that of the number of calls, and not of all terms. A half
    type is not kept between calls without another rounding, and other numbers do not round.

    Source: A. M. Castaldo, R. C. Whaley, A. T. Chronopoulos, "Reducing Floating Point Error in Dot
    Product Using the Superblock Family of Algorithms", SIAM J. Sci. Comput. 31 (2008).
    """
    return size if kind.half or not kind.is_float else balanced(size, LONGEST_SUM * lanes, 4)
