"""What became slower, or faster, from some runs of suites to others: row by row.

What is compared is the fastest round of each row: others have often met somebody else's work. Both
runs are of one machine; how its roofs have changed meanwhile is said beside.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tensorop.bench.contestants import OUT
from tensorop.bench.document import Run
from tensorop.bench.report import geometric_mean

CHANGED = 1.12  # times as long: rows of two runs on one machine hardly differ by more
OURS, ROOF = ("tensorop", "tensorop" + OUT), ("roof",)
IDENTITY = ("name", "spec", "sizes", "dtype", "threads")


def against(new: Sequence[Run], old: Sequence[Run]) -> str:
    """A list of the rows that take longer than before, the worst first, and a summary.

    Raises
    ------
    KeyError
        A run has not kept its rounds.
    """
    before = dict(_rows(old))
    found = [(row, before[key]) for key, row in _rows(new) if key in before]
    if not found:
        return "no row that both have\n"
    times = [_least(row, OURS) / _least(was, OURS) for row, was in found]
    roofs = geometric_mean([_least(row, ROOF) / _least(was, ROOF) for row, was in found])
    lines = [
        f"{time:5.2f} times: {row['name']}, {row['dtype']}, {row['threads']} thr, {row['spec']}, "
        f"{_least(was, OURS) * 1e3:.4g} -> {_least(row, OURS) * 1e3:.4g} ms"
        for time, (row, was) in sorted(zip(times, found, strict=True), key=lambda pair: -pair[0])
        if time > CHANGED
    ]
    faster = sum(time < 1 / CHANGED for time in times)
    lines.append(
        f"{len(times)} rows take {geometric_mean(times):.3f} times as long as before in geometric "
        f"mean, their roofs {roofs:.3f} times; {len(lines)} are over {CHANGED} times slower, "
        f"{faster} as much faster"
    )
    return "\n".join(lines) + "\n"


def _least(row: dict[str, Any], ways: Sequence[str]) -> float:
    """The fastest round, in whatever way that is faster."""
    return min(float(min(row["seconds"][way])) for way in ways if way in row["seconds"])


def _rows(runs: Sequence[Run]) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    for run in runs:
        for row in run["rows"]:
            yield (run["suite"], run["seed"], *(row[word] for word in IDENTITY)), row
