"""Charts of runs of suites: ratios to the best peer, and rates below the roofline."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from itertools import cycle
from pathlib import Path
from typing import Any

from tensorop.bench.document import Run, file_name, ratio_of, title

BLUE, ORANGE, GREY = "#3465a4", "#e07b00", "#888888"
COLOURS = BLUE, ORANGE, "#2e8b57", "#8b3a8b"  # of dtypes; MARKS: of counts of threads
MARKS = "o", "x", "+"


def draw(runs: Sequence[Run], folder: Path) -> None:
    """Write the charts of each run as PNG files.

    Raises
    ------
    ModuleNotFoundError
        matplotlib is not installed (the extra `bench` has it).
    """
    matplotlib = import_module("matplotlib")
    matplotlib.use("Agg")
    pyplot = import_module("matplotlib.pyplot")
    for run in runs:
        for kind, chart in (("ratios", _ratios), ("roofline", _roofline)):
            figure, axes = pyplot.subplots(figsize=(8, 3.6), layout="constrained")
            chart(axes, run)
            axes.set_title(title(run))
            axes.spines[["top", "right"]].set_visible(False)
            figure.savefig(folder / file_name(run, kind), dpi=110)
            pyplot.close(figure)


def _ratios(axes: Any, run: Run) -> None:
    """How many times as long the best peer takes, a bar a row, sorted."""
    ratios = sorted(r for row in run["rows"] if (r := ratio_of(row)) is not None)
    colours = [BLUE if ratio >= 1 else ORANGE for ratio in ratios]
    # Bars from the line of equal speed, up and down.
    axes.bar(range(len(ratios)), [r - 1 for r in ratios], 0.8, bottom=1, color=colours)
    axes.axhline(1, color=GREY, linewidth=1)
    axes.set_yscale("log")
    axes.set_yticks(ticks := _ticks(ratios), [f"{tick:g}x" for tick in ticks])
    axes.minorticks_off()
    axes.set_ylabel("best peer's time / ours")
    axes.set_xlabel("rows, sorted")


def _ticks(ratios: Sequence[float]) -> list[float]:
    steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100]
    low, high = min([*ratios, 1]), max([*ratios, 1])
    return [step for step in steps if low / 1.5 <= step <= high * 1.5]


def _roofline(axes: Any, run: Run) -> None:
    """Rates over operations a byte, below what arithmetic and memory allow."""
    shown = [row for row in run["rows"] if row["flops"]]
    dtypes = sorted({row["dtype"] for row in shown})
    for (threads, roofs), mark in zip(run["roofs"].items(), cycle(MARKS), strict=False):
        peak, copy = roofs["peak"] / 1e9, roofs["copy"] / 1e9
        knee = peak / copy
        span = [knee / 400, knee, knee * 30]
        axes.plot(span, [min(peak, copy * x) for x in span], color=GREY, linewidth=1)
        mine = [row for row in shown if str(row["threads"]) == str(threads)]
        for dtype, colour in zip(dtypes, cycle(COLOURS), strict=False):
            points = [row for row in mine if row["dtype"] == dtype]
            if not points:
                continue
            axes.plot(
                [row["flops"] / row["moved"] for row in points],
                [row["flops"] / row["seconds_median"] / 1e9 for row in points],
                mark,
                markersize=4,
                color=colour,
                label=f"{dtype}, {threads} thr",
            )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("operations a byte")
    axes.set_ylabel("GFLOP/s")
    if shown:
        axes.legend(frameon=False)
