"""Searching for the fastest schedule of an operation by timing it.

`plan_for` is that of `plans.py` with the choice that a search has found, which is kept on disk
(`tuning_store.py`) and read back by whoever asks for tuning again. Nobody else reads it: without
`tune=True`, what an operation does follows from the machine's features alone.

The search goes decision by decision (`optimizer/choice.py`): it times the alternatives in turn, on
operands of its own of the same layout, keeps the fastest, and goes on to the next decision, until a
round of all decisions changes nothing or its time is up. The model's own schedule is among them,
and stays unless another one is clearly faster in a last comparison of the two.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from math import prod
from statistics import median
from typing import Any

import numpy as np

from tensorop import plans, tuning_store
from tensorop.by_threads import ByThreads
from tensorop.ir import CONTRACTIONS, Primitive, TensorOp
from tensorop.jit.elements import element
from tensorop.jit.entry import machine
from tensorop.optimizer.choice import DECISIONS, MODEL, Choice, alternatives
from tensorop.optimizer.fuse import fused
from tensorop.optimizer.groups import narrows
from tensorop.optimizer.machine import host_machine
from tensorop.optimizer.normalise import normalise
from tensorop.optimizer.realign import LEAST_POINTS, moves, realign
from tensorop.optimizer.regime import choose
from tensorop.planning import executable_of
from tensorop.runnable import Runnable

SECONDS = 5.0  # that a search takes about, unless single calls take longer
MOVES = 8  # choices of tensors to move that are tried
PASSES = 2  # over all decisions
ROUNDS = 3  # of timing a few alternatives in turn; DUEL: of the last two
DUEL = 7
BETTER = 0.98  # of the time of what is kept so far, that another choice must stay under
CLEARLY = 0.95  # the same in the last comparison


@dataclass(frozen=True, slots=True)
class Found:
    """The end of a search: the choice, its time and that of the model's in seconds (medians of one
    comparison), and how many schedules were timed."""

    choice: Choice
    seconds: float
    model_seconds: float
    tried: int


def plan_for(op: TensorOp, threads: int | None) -> Runnable:
    """The executable of an operation as a search found it best for each number of threads: now, or
    at an earlier time."""
    if not worthwhile(op):
        return plans.plan_for(op, threads)
    if threads is None:
        return ByThreads(op, cache(lambda count: plan_for(op, count)))
    choice = tuning_store.load(normalise(op).op, threads, host_machine())
    if choice is None:
        choice = tune(op, threads).choice
    return executable_of(op, threads, plans.plan_for, choice=choice)


def worthwhile(op: TensorOp) -> bool:
    """Whether there is something to search: contractions of two tensors that are not tiny."""
    return (
        op.main in CONTRACTIONS
        and len(op.tensors) == 3
        and op.first_touch != Primitive.COPY
        and not narrows(op)  # there is only one way to run it
        and prod(d.size for d in op.dimensions) >= LEAST_POINTS
    )


def tune(op: TensorOp, threads: int, seconds: float = SECONDS) -> Found:
    """Search, and keep what was found.

    Parameters
    ----------
    op : TensorOp
        One for which a search is worthwhile.
    threads : int
    seconds : float
        After which no further decision is begun.
    """
    op = normalise(op).op
    found = Search(op, threads).run(seconds)
    facts = {"milliseconds": found.seconds * 1e3, "model's milliseconds": found.model_seconds * 1e3}
    tuning_store.save(op, threads, host_machine(), found.choice, facts)
    return found


class Search:
    """The search for one normalised operation."""

    def __init__(self, op: TensorOp, threads: int) -> None:
        machine()  # what is timed is neither a draft nor run by Python
        self.op, self.threads, self.machine = op, threads, host_machine()
        self.times: dict[Choice, float] = {}
        self.arrays = [self._operand(t) for t in range(len(op.tensors))]

    def _operand(self, tensor: int) -> np.ndarray[Any, Any]:
        """Memory of zeros that begins where the first element of the tensor is: its strides may
        reach both ways from there."""
        reach = [(d.size - 1) * d.strides[tensor] for d in self.op.dimensions]
        below, above = -sum(r for r in reach if r < 0), sum(r for r in reach if r > 0)
        size = element(self.op.tensors[tensor].dtype).size
        memory = np.empty((below + above + 1) * size, np.uint8)
        memory.fill(0)  # by hand: the system gives zeros that are no memory yet
        return memory[below * size :]

    def run(self, seconds: float) -> Found:
        end = time.perf_counter() + seconds
        best = self._models()
        for _ in range(PASSES):
            before = best
            moved = (best._replace(orders=o) for o in moves(self.op, self.machine, MOVES))
            best = self._best(best, moved)
            for decision in DECISIONS:
                if time.perf_counter() < end:
                    best = self._best(best, alternatives(self.op, best, decision, self.machine))
            if best == before or time.perf_counter() > end:
                break
        return self._duel(best)

    def _models(self) -> Choice:
        """What the model decides, said in so many words."""
        parts = realign(self.op, self.machine)
        main = parts.main() if parts.orders else parts.op
        regime = choose(main.with_dimensions(fused(main.dimensions)[0]), self.machine).name
        return Choice(tuple(sorted(parts.orders.items())), regime)

    def _best(self, kept: Choice, others: Iterable[Choice]) -> Choice:
        """The fastest of several: `kept` unless another one is faster by more than noise."""
        new = [c for c in dict.fromkeys(others) if c not in self.times and c != kept]
        self.measure([kept, *new], ROUNDS)
        fastest = min([kept, *new], key=lambda c: self.times[c])
        return fastest if self.times[fastest] < BETTER * self.times[kept] else kept

    def measure(self, choices: list[Choice], rounds: int) -> dict[Choice, list[float]]:
        """Time some choices in turn."""
        ready = {c: executable_of(self.op, self.threads, plans.plan_for, choice=c) for c in choices}
        taken: dict[Choice, list[float]] = {c: [] for c in choices}
        for planned in ready.values():
            planned.run(self.arrays)
        for _ in range(rounds):
            for choice, planned in ready.items():
                start = time.perf_counter()
                planned.run(self.arrays)
                taken[choice].append(time.perf_counter() - start)
        self.times.update({c: min(seconds) for c, seconds in taken.items()})
        return taken

    def _duel(self, best: Choice) -> Found:
        tried = len(self.times)
        taken = self.measure(list(dict.fromkeys([MODEL, best])), DUEL)
        model, other = median(taken[MODEL]), median(taken[best])
        if other < CLEARLY * model:
            return Found(best, other, model, tried)
        return Found(MODEL, model, model, tried)
