"""The model's schedule beside the best of hundreds, on the contractions of TCCG.

Usage: python bench/search_space.py [--gflop 1] [--dtype float32] [--only TEXT] [--count 216]

For every row: at least `--count` distinct packed schedules (both vector sides, all register tiles,
block sizes halved and doubled, both loop orders; with nothing moved and with what the model moves)
are timed once, then the eight fastest and the model's in turn. Printed: the model's time, the best
one, their ratio, and what the best one has decided.
"""

from __future__ import annotations

import argparse
import random
from statistics import geometric_mean, median

import tensorop
from tensorop.bench.cases import tccg_cases
from tensorop.optimizer.choice import MODEL, Choice, every
from tensorop.optimizer.machine import host_machine
from tensorop.optimizer.normalise import normalise
from tensorop.optimizer.realign import realign
from tensorop.tuning import Search

FINALISTS = 8
ROUNDS = 5
WITHIN = 1.10  # of the best: as good as found


def schedules(search: Search, count: int) -> list[Choice]:
    """Distinct choices, at least `count` if there are so many."""
    machine = host_machine()
    moved = tuple(sorted(realign(search.op, machine).orders.items()))
    found = [c for orders in {(), moved} for c in every(search.op, orders, machine)]
    random.Random(0).shuffle(found)
    return found[: max(count, len(found) // 2)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gflop", type=float, default=1.0)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--only", default="")
    parser.add_argument("--count", type=int, default=216)
    arguments = parser.parse_args()
    ratios = []
    for case in tccg_cases(arguments.dtype, arguments.gflop):
        if arguments.only not in case.spec:
            continue
        plan = tensorop.compile(case.spec, *case.shapes[:-1], dtypes=case.dtype, threads=1)
        search = Search(normalise(plan.steps[0].op).op, 1)
        tried = schedules(search, arguments.count)
        for start in range(0, len(tried), 16):
            search.measure(tried[start : start + 16], 1)
        best = sorted(tried, key=lambda c: search.times[c])[:FINALISTS]
        times = search.measure([MODEL, *best], ROUNDS)
        medians = {choice: median(seconds) for choice, seconds in times.items()}
        winner = min(medians, key=lambda c: medians[c])
        ratios.append(medians[MODEL] / medians[winner])
        print(
            f"{case.spec:<24} {medians[MODEL] * 1e3:9.3f} ms {medians[winner] * 1e3:9.3f} ms "
            f"{ratios[-1]:5.2f}  of {len(tried)}: {winner}",
            flush=True,
        )
    if not ratios:
        parser.error(f"no row's spec contains {arguments.only!r}")
    good, mean = sum(ratio <= WITHIN for ratio in ratios), geometric_mean(ratios)
    print(f"{good} of {len(ratios)} rows within {WITHIN}x, geometric mean {mean:.3f}")


if __name__ == "__main__":
    main()
