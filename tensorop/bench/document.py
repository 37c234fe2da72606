"""A document on runs of suites, from the JSON that `bench --json` wrote: nothing is typed by hand.

`document` gives Markdown: what machine, then for each run its means, the five rows that compare
worst, and all rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tensorop.bench.report import geometric_mean, refusals
from tensorop.bench.suites import DRAWN

Run = Mapping[str, Any]
WORST = 5  # rows named apart
KINDS = ("ratios", "roofline")  # of charts
CLOSE = 0.95  # of the best peer: rows below are counted

_INTRODUCTION = """\
# Performance

Made by the command `report` from the JSON of the runs below; docs/benchmarks.md says how
each figure comes about. A ratio is how many times as long the best peer takes, in the same rounds:
above 1, tensorop is faster. tensorop returns a new array, peers do so or write into a given one,
whichever they do faster; `out=` compares writing into a given array, among those who can.
"""


def document(runs: Sequence[Run], charts: Path | None = None) -> str:
    """Markdown on some runs; with `charts`, the folder that `draw` filled, with their pictures."""
    parts = [_INTRODUCTION, _machines(runs), _overview(runs)]
    parts += [_section(run, charts) for run in runs]
    return "\n".join(parts)


def title(run: Run) -> str:
    """What a run is called: its suite, dtypes and threads."""
    dtypes = ", ".join(sorted({row["dtype"] for row in run["rows"]}))
    counts = sorted({row["threads"] for row in run["rows"]})
    threads = "1 thread" if counts == [1] else f"{', '.join(map(str, counts))} threads"
    seed = f" {run['seed']}" if run["suite"] in DRAWN else ""
    return f"{run['suite']}{seed}, {dtypes}, {threads}"


def ratio_of(row: Mapping[str, Any], kind: str = "ratios") -> float | None:
    """The ratio to the fastest peer, None where there is none."""
    return min(row[kind].values(), default=None)


def _machines(runs: Sequence[Run]) -> str:
    lines = []
    for machine in {str(run["machine"]): run["machine"] for run in runs}.values():
        packages = ", ".join(f"{name} {found}" for name, found in machine["packages"].items())
        caches = "".join(
            f", L{level} {size >> 10} KiB"
            for level, size in enumerate(machine.get("caches", ()), 1)
        )
        lines.append(
            f"- {machine['cpu']}{caches}, {machine['cpus']} CPUs, {machine['system']}, target "
            f"{machine['target']}; Python {machine['python']}, tensorop {machine['tensorop']}, "
            f"{packages}"
        )
    return "\n".join(["## Machine", "", *lines, ""])


def _overview(runs: Sequence[Run]) -> str:
    lines = [
        "## Overview",
        "",
        "| run | rows | of roof | ratio | least | under 0.95 | `out=` | peak GFLOP/s, copy GB/s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for run in runs:
        rows = run["rows"]
        ratios = [r for row in rows if (r := ratio_of(row)) is not None]
        into = [r for row in rows if (r := ratio_of(row, "ratios_out")) is not None]
        roof = geometric_mean([row["part_of_roof"] for row in rows])
        least, below = (min(ratios), sum(r < CLOSE for r in ratios)) if ratios else (None, 0)
        peaks = "; ".join(
            f"{roofs['peak'] / 1e9:.0f}, {roofs['copy'] / 1e9:.1f}"
            for roofs in run["roofs"].values()
        )
        lines.append(
            f"| {title(run)} | {len(rows)} | {roof:.0%} | {_mean(ratios)} | {_times(least)} | "
            f"{below} | {_mean(into)} | {peaks} |"
        )
    lines += ["", "Means are geometric ones.", ""]
    return "\n".join(lines)


def _mean(ratios: Sequence[float]) -> str:
    return f"{geometric_mean(ratios):.2f}x" if ratios else "-"


def _times(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}x"


def _section(run: Run, charts: Path | None) -> str:
    lines = [f"## {title(run)}", ""]
    wrong = [row["name"] for row in run["rows"] if row["error_over_bound"] > 1]
    measured = f", {run['date']}" if "date" in run else ""
    lines.append(
        f"{run['rounds']} rounds{measured}; " + (f"WRONG: {wrong}" if wrong else "all right.")
    )
    if run["missing"]:
        lines.append(f"Not beside: {'; '.join(run['missing'])}.")
    refused = refusals(row.get("refused", {}) for row in run["rows"])
    lines += [f"{line[0].upper()}{line[1:]}." for line in refused]
    if charts is not None:
        name = title(run)
        lines += ["", *(f"![{name}]({charts.name}/{file_name(run, kind)})" for kind in KINDS)]
    compared = [row for row in run["rows"] if ratio_of(row) is not None]
    worst = sorted(compared, key=lambda row: ratio_of(row) or 0.0)[:WORST]
    if worst:
        lines += ["", "The rows that compare worst:", "", *_table(worst)]
    lines += ["", "<details><summary>All rows</summary>", "", *_table(run["rows"])]
    lines += ["", "</details>", ""]
    return "\n".join(lines)


def file_name(run: Run, kind: str) -> str:
    """The file of a chart of a run."""
    words = title(run).replace(",", "").split()
    return "-".join([*words, kind]) + ".png"


def _table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = [
        "| case | spec | dtype | thr | ms | rate | of roof | best peer | ratio | `out=` |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        peer = min(row["ratios"], key=row["ratios"].get, default="-")
        lines.append(
            f"| {row['name']} | `{row['spec']}` {row['sizes']} | {row['dtype']} | {row['threads']} "
            f"| {row['seconds_median'] * 1e3:.3f} | {row['rate'] / 1e9:.1f} {row['unit']} "
            f"| {row['part_of_roof']:.0%} | {peer} | {_times(ratio_of(row))} "
            f"| {_times(ratio_of(row, 'ratios_out'))} |"
        )
    return lines
