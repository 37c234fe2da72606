"""How results look: an aligned table on plain text, and JSON with the facts of the machine.

Tables print a row as soon as it is measured, so their widths are fixed beforehand. People paste
them into reports: the header says everything needed to judge a figure.
"""

from __future__ import annotations

import json
import math
import os
import platform
import statistics
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tensorop._version import __version__
from tensorop.bench.contestants import OUT
from tensorop.bench.peers import PEERS, Peer
from tensorop.bench.roof import cores
from tensorop.bench.suites import Options, Row
from tensorop.config import FLAGS
from tensorop.jit.target import current_target
from tensorop.optimizer.machine import host_machine

COLUMNS = (
    ("thr", 3),
    ("ms", 9),
    ("rate", 14),
    ("of peak", 8),
    ("best peer", 15),
    ("ms", 9),
    ("ratio", 7),
    ("out=", 7),
    ("check", 6),
)
CPU_NUMBERS = ("family", "cpu family"), ("model", "model")
PACKAGES = ("numpy", "llvmlite", "cffi", "ml_dtypes", *PEERS)


def machine_facts() -> dict[str, Any]:
    """What a reader needs to know about the machine and the versions."""
    target = current_target()
    return {
        "tensorop": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": cpu_name(),
        "caches": [host_machine().l1, host_machine().l2, host_machine().l3],
        "cpus": len(cores()),
        "target": target.name,
        "vector_bytes": target.vector_bytes,
        "packages": {name: found for name in PACKAGES if (found := package_version(name))},
        "environment": {
            flag.name: os.environ[flag.name] for flag in FLAGS if flag.name in os.environ
        },
    }


def cpu_name() -> str:
    """The processor's name as the system tells it, and its family and model: several generations
    may have one name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts: dict[str, str] = {}
    for line in lines:
        key, _, value = line.partition(":")
        facts.setdefault(key.strip(), value.strip())
    name = facts.get("model name", platform.machine())
    numbers = [f"{word} {facts[key]}" for word, key in CPU_NUMBERS if key in facts]
    return f"{name} ({', '.join(numbers)})" if numbers else name


def package_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def heading(options: Options, roofs: dict[int, tuple[float, float]], peers: Iterable[Peer]) -> str:
    """The lines above the table: the machine, the roofs, who takes part."""
    facts = machine_facts()
    lines = [
        f"tensorop {facts['tensorop']}, suite {options.suite}, {options.dtype}, "
        f"{options.rounds} rounds",
        f"{facts['cpu']}, {facts['cpus']} CPUs, {facts['system']}, target {facts['target']}",
        "Python {}, {}".format(
            facts["python"], ", ".join(f"{k} {v}" for k, v in facts["packages"].items())
        ),
    ]
    for threads, (peak, copy) in roofs.items():
        count = "1 thread" if threads == 1 else f"{threads} threads"
        lines.append(
            f"{count}: multiply-add peak {peak / 1e9:.1f} GFLOP/s, copy "
            f"{copy / 1e9:.1f} GB/s (every row has its own)"
        )
    labels = sorted({peer.label for peer in peers})
    if options.suite != "seed" and labels:
        lines.append("beside: " + ", ".join(labels))
    return "\n".join(lines)


class Table:
    """Prints a header, then rows one at a time."""

    def __init__(self, names: Sequence[str]) -> None:
        self._first = max([len(name) for name in names] + [4]) + 2

    def header(self) -> str:
        titles = "".join(f" {title:>{width}}" for title, width in COLUMNS)
        return f"{'case':<{self._first}}{'dtype':<10}{titles}"

    def line(self, row: Row) -> str:
        peer, out = row.best_peer(), row.best_peer(OUT)
        fields = (
            str(row.threads),
            f"{row.time * 1e3:.3f}",
            f"{row.rate / 1e9:.1f} {row.unit}",
            f"{row.part_of_roof:.1%}",
            peer[0] if peer else "-",
            f"{row.peer_time(peer[0]) * 1e3:.3f}" if peer else "-",
            f"{peer[1]:.2f}x" if peer else "-",
            f"{out[1]:.2f}x" if out else "-",
            "ok" if row.right else "WRONG",
        )
        cells = "".join(f" {text:>{w}}" for text, (_, w) in zip(fields, COLUMNS, strict=True))
        return f"{row.name:<{self._first}}{row.dtype:<10}{cells}"


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(statistics.fmean(math.log(value) for value in values))


def summary(rows: Sequence[Row]) -> str:
    """The lines below the table: means over all rows, and how rows grow with threads."""
    lines = []
    for threads in sorted({row.threads for row in rows}):
        mine = [row for row in rows if row.threads == threads]
        best = [peer[1] for row in mine if (peer := row.best_peer())]
        parts = geometric_mean([row.part_of_roof for row in mine])
        text = f"{threads} thr: {parts:.1%} of the peak"
        if best:
            text += f", {geometric_mean(best):.2f}x the best peer"
            text += f" (least {min(best):.2f}x)"
        lines.append(f"{text}; geometric means of {len(mine)} rows")
    lines += growth(rows)
    lines += refusals([row.refused for row in rows])
    wrong = [row.name for row in rows if not row.right]
    lines.append(f"WRONG: {', '.join(wrong)}" if wrong else "every result is right")
    return "\n".join(lines)


def refusals(refused: Iterable[Mapping[str, str]]) -> list[str]:
    """Which peers do not take part in some rows, and why, in their words of the first."""
    reasons: dict[str, list[str]] = {}
    for row in refused:
        for name, reason in row.items():
            reasons.setdefault(name, []).append(reason)
    return [
        f"not beside in {len(found)} row{'s' * (len(found) > 1)}: {found[0].rstrip('.')}"
        for found in reasons.values()
    ]


def growth(rows: Sequence[Row]) -> list[str]:
    """For each case on several thread counts: its growth over that of its roof."""
    lines = []
    for name, dtype in dict.fromkeys((row.name, row.dtype) for row in rows):
        first, *others = [row for row in rows if (row.name, row.dtype) == (name, dtype)]
        for row in others:
            ours, roofs = row.rate / first.rate, row.roof / first.roof
            lines.append(
                f"{name}, {first.threads} to {row.threads} threads: {ours:.2f}x, "
                f"peak {roofs:.2f}x, {ours / roofs:.2f} of it"
            )
    return lines


def as_json(
    options: Options,
    roofs: dict[int, tuple[float, float]],
    rows: Sequence[Row],
    missing: Sequence[str],
) -> dict[str, Any]:
    """Everything that was measured, every round of it."""
    return {
        "machine": machine_facts(),
        "date": date.today().isoformat(),
        "suite": options.suite,
        "seed": options.seed,
        "roofs": {threads: {"peak": peak, "copy": copy} for threads, (peak, copy) in roofs.items()},
        "rounds": options.rounds,
        "missing": list(missing),
        "rows": [
            {
                "name": row.name,
                "spec": row.spec,
                "sizes": row.sizes,
                "dtype": row.dtype,
                "threads": row.threads,
                "rate": row.rate,
                "unit": row.unit,
                "seconds_median": row.time,
                "flops": row.flops,
                "moved": row.moved,
                "roof": row.roof,
                "part_of_roof": row.part_of_roof,
                "ratios": row.ratios(),
                "ratios_out": row.ratios(OUT),
                "error_over_bound": row.error,
                "refused": dict(row.refused),
                "seconds": {name: list(rounds) for name, rounds in row.seconds.items()},
            }
            for row in rows
        ],
    }


def json_text(figures: dict[str, Any]) -> str:
    """`as_json` as text, a row on a line, so that runs can be compared line by line."""
    *facts, (name, rows) = figures.items()
    entries = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in facts]
    entries.append(f"{json.dumps(name)}: [\n" + ",\n".join(map(json.dumps, rows)) + "\n]")
    return "{\n" + ",\n".join(entries) + "\n}\n"
