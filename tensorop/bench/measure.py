"""The driver: contestants are asked in turn, round after round.

A shared machine speeds up and slows down by tens of percent within seconds. So nothing is timed
alone: in every round each contestant has one turn of about the same length, and what is compared is
always of the same round. A row's figure is the median of its rounds; a roof's is its best round,
which makes every percentage the stricter one.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Protocol

TURN = 0.02  # seconds that a turn should last at least
REST = 0.002  # seconds for the last contestant's threads to go to sleep
MIN_ROUNDS = 9


class Contestant(Protocol):
    """Does its work so many times and says how many seconds one of them took."""

    def __call__(self, calls: int, /) -> float: ...


def interleave(
    contestants: Mapping[str, Contestant], rounds: int = MIN_ROUNDS, turn: float = TURN
) -> dict[str, list[float]]:
    """Seconds a call of each contestant in each round, the contestants in turn.

    The first call of each warms up (plans, page faults); the second says how many calls fill a
    turn.
    """
    calls = {}
    for name, contestant in contestants.items():
        contestant(1)
        calls[name] = max(1, round(turn / max(contestant(1), 1e-7)))
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, contestant in contestants.items():
            time.sleep(REST)
            seconds[name].append(contestant(calls[name]))
    return seconds


def ratio(theirs: Sequence[float], ours: Sequence[float]) -> float:
    """How many times as long they take: the median over rounds of the ratio within a round."""
    return statistics.median(a / b for a, b in zip(theirs, ours, strict=True))
