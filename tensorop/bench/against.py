"""What became slower, or faster, from some runs of suites to others: row by row.

Machines are not as fast at every hour. So what is compared is the part of the roof that each row
reached, which was measured in the same rounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tensorop.bench.document import Run
from tensorop.bench.report import geometric_mean

CHANGED = 1.12  # times as long: rows of two runs on one machine hardly differ by more
IDENTITY = ("name", "spec", "sizes", "dtype", "threads")


def against(new: Sequence[Run], old: Sequence[Run]) -> str:
    """A list of the rows that take longer than before, the worst first, and a summary."""
    before = dict(_rows(old))
    found = [(row, before[key]) for key, row in _rows(new) if key in before]
    if not found:
        return "no row that both have\n"
    times = [old["part_of_roof"] / new["part_of_roof"] for new, old in found]
    lines = [
        f"{time:5.2f} times: {row['name']}, {row['dtype']}, {row['threads']} thr, {row['spec']}, "
        f"{was['part_of_roof']:.0%} -> {row['part_of_roof']:.0%} of the roof"
        for time, (row, was) in sorted(zip(times, found, strict=True), key=lambda pair: -pair[0])
        if time > CHANGED
    ]
    faster = sum(time < 1 / CHANGED for time in times)
    lines.append(
        f"{len(times)} rows take {geometric_mean(times):.3f} times as long as before in geometric "
        f"mean; {len(lines)} are over {CHANGED} times slower, {faster} as much faster"
    )
    return "\n".join(lines) + "\n"


def _rows(runs: Sequence[Run]) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    for run in runs:
        for row in run["rows"]:
            yield (run["suite"], run["seed"], *(row[word] for word in IDENTITY)), row
