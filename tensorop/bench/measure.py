"""The driver: contestants are asked in turn, round after round.

A shared machine speeds up and slows down by tens of percent within seconds. So nothing is timed
alone: in every round each contestant has one turn of about the same length, and what is compared is
always of the same round; only whom nobody waits for, being several times as slow, is asked just
once. A row's figure is the median of its rounds; a roof's is its best round, which makes every
percentage the stricter one.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

TURN = 0.02  # seconds that a turn should last at least
REST = 0.002  # seconds for the last contestant's threads to go to sleep
MIN_ROUNDS = 9
HOPELESS = 10  # times as slow as those that set the pace


class Contestant(Protocol):
    """Does its work so many times and says how many seconds one of them took."""

    def __call__(self, calls: int, /) -> float: ...


def interleave(
    contestants: Mapping[str, Contestant],
    rounds: int = MIN_ROUNDS,
    turn: float = TURN,
    pace: Collection[str] = (),
) -> dict[str, list[float]]:
    """Seconds a call of each contestant in each round, the contestants in turn.

    The first call of each warms up (plans, page faults); the second says how many calls fill a
    turn. Where contestants are named that set the pace, a call that lasts longer than a turn and
    than `HOPELESS` times theirs stands for all rounds of its contestant.
    """
    calls, seconds = {}, {}
    for name, contestant in contestants.items():
        contestant(1)
        second = contestant(1)
        calls[name] = max(1, round(turn / max(second, 1e-7)))
        seconds[name] = [second]
    slowest = max((seconds[name][0] for name in pace), default=math.inf)
    asked = [name for name, (second,) in seconds.items() if second <= max(turn, HOPELESS * slowest)]
    seconds = {name: second * rounds for name, second in seconds.items()} | {n: [] for n in asked}
    for _ in range(rounds):
        for name in asked:
            time.sleep(REST)
            seconds[name].append(contestants[name](calls[name]))
    return seconds


def ratio(theirs: Sequence[float], ours: Sequence[float]) -> float:
    """How many times as long they take: the median over rounds of the ratio within a round."""
    return statistics.median(a / b for a, b in zip(theirs, ours, strict=True))
