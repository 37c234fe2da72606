"""The document and the charts that are made from the JSON of runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from tensorop.__main__ import main
from tensorop.bench import charts
from tensorop.bench.document import document, ratio_of, title


def row(name: str, ratio: float, threads: int = 1, error: float = 0.1) -> dict[str, Any]:
    return {
        "name": name,
        "spec": "ij,jk->ik",
        "sizes": "i=4 j=5 k=6",
        "dtype": "float32",
        "threads": threads,
        "rate": 5e9,
        "unit": "GFLOP/s",
        "seconds_median": 0.25,
        "flops": 240,
        "moved": 296,
        "roof": 1e10,
        "part_of_roof": 0.5,
        "ratios": {"numpy": ratio, "torch": 2 * ratio},
        "ratios_out": {"numpy": 3 * ratio},
        "error_over_bound": error,
        "seconds": {},
    }


def run(*rows: dict[str, Any], **fields: Any) -> dict[str, Any]:
    machine = {
        "cpu": "A processor", "cpus": 2, "system": "Linux x86_64", "target": "avx512",
        "python": "3.11", "tensorop": "0.1.0", "packages": {"numpy": "2.4"},
    }  # fmt: skip
    roofs = {"1": {"peak": 1e11, "copy": 1e10}}
    base = {"machine": machine, "suite": "gemm", "seed": 0, "rounds": 9, "missing": ["torch"]}
    return {**base, "roofs": roofs, "rows": list(rows), **fields}


def test_figures_are_those_of_the_rows() -> None:
    text = document([run(row("slow", 0.5), row("fast", 2.0), row("even", 1.0))])
    assert "| gemm, float32, 1 thread | 3 | 50% | 1.00x | 0.50x | 1 | 3.00x | 100, 10.0 |" in text
    assert "A processor, 2 CPUs" in text and "Not beside: torch." in text and "all right." in text
    worst = text[text.index("worst") : text.index("<details>")]
    assert worst.index("slow") < worst.index("even") < worst.index("fast")
    assert "| slow | `ij,jk->ik` i=4 j=5 k=6 | float32 | 1 | 250.000 | 5.0 GFLOP/s |" in text


def test_what_is_wrong_is_named() -> None:
    assert "WRONG: ['bad']" in document([run(row("bad", 1.0, error=2.0), row("good", 1.0))])


def test_rows_without_peers() -> None:
    alone = row("alone", 1.0) | {"ratios": {}, "ratios_out": {}}
    assert ratio_of(alone) is None
    assert "| gemm, float32, 1 thread | 1 | 50% | - | - | 0 | - |" in document([run(alone)])


def test_titles_say_what_was_run() -> None:
    assert title(run(row("a", 1), row("a", 1, threads=2))) == "gemm, float32, 1, 2 threads"
    assert title(run(row("a", 1), suite="random", seed=3)) == "random 3, float32, 1 thread"


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="charts need matplotlib (extra bench)")
    file = tmp_path / "run.json"
    file.write_text(json.dumps(run(row("slow", 0.5), row("fast", 30.0))))
    charts = tmp_path / "charts"
    assert main(["report", str(file), "--charts", str(charts)]) == 0
    text = capsys.readouterr().out
    files = sorted(charts.glob("*.png"))
    assert len(files) == 2 and all(f"charts/{f.name}" in text for f in files)


def test_charts_without_matplotlib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    (tmp_path / "run.json").write_text(json.dumps(run(row("slow", 0.5))))
    assert main(["report", str(tmp_path / "run.json"), "--charts", str(tmp_path)]) == 2
    assert "the extra `bench` has it" in capsys.readouterr().err


def test_every_dtype_and_count_of_threads_looks_its_own() -> None:
    dtypes, threads = ("complex64", "float32", "float64", "int32"), (1, 2)
    rows = [row("a", 1.0, threads=n) | {"dtype": d} for d in dtypes for n in threads]
    roofs = {str(n): {"peak": n * 1e11, "copy": 1e10} for n in threads}
    axes = Mock()
    charts._roofline(axes, run(*rows, roofs=roofs))
    series = [call for call in axes.plot.call_args_list if "label" in call.kwargs]
    looks = {(call.args[2], call.kwargs["color"]) for call in series}
    assert {call.kwargs["label"] for call in series} == {
        f"{d}, {n} thr" for d in dtypes for n in threads
    }
    assert len(looks) == len(series) == 8


def test_the_document_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "run.json", tmp_path / "performance.md"
    file.write_text(json.dumps(run(row("slow", 0.5))))
    assert main(["report", str(file), "--out", str(out)]) == 0
    assert out.read_text() == document([run(row("slow", 0.5))])
    assert not capsys.readouterr().out


def test_rows_that_got_slower(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By their fastest rounds; those that one run lacks are left out."""

    def timed(name: str, *rounds: float) -> dict[str, Any]:
        return {**row(name, 1), "seconds": {"tensorop": [*rounds], "roof": [0.5, 0.25]}}

    was = run(timed("same", 0.5), timed("slower", 0.5), timed("faster", 1.0), timed("gone", 1.0))
    now = run(
        timed("same", 9.0, 0.5), timed("slower", 1.0), timed("faster", 0.5), timed("new", 1.0)
    )
    for name, figures in (("old.json", was), ("new.json", now)):
        (tmp_path / name).write_text(json.dumps(figures))
    new, old = (str(tmp_path / name) for name in ("new.json", "old.json"))
    assert main(["report", new, "--against", old]) == 0
    slower, summary = capsys.readouterr().out.splitlines()
    assert slower.startswith(" 2.00 times: slower, float32, 1 thr") and "500 -> 1000 ms" in slower
    assert summary.startswith("3 rows take 1.000 times") and "1 are over" in summary
    other = tmp_path / "other.json"
    other.write_text(json.dumps(run(timed("another", 1.0))))
    assert main(["report", new, "--against", str(other)]) == 0
    assert capsys.readouterr().out == "no row that both have\n"


def test_a_file_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.json").write_text("{")
    assert main(["report", str(tmp_path / "bad.json")]) == 2
    assert main(["report", str(tmp_path / "missing.json")]) == 2
    assert "missing.json" in capsys.readouterr().err
