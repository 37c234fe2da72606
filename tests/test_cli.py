"""The command line, end to end."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from argparse import ArgumentTypeError
from pathlib import Path

import numpy as np
import pytest

import tensorop
from tensorop.__main__ import UsageError, main, shapes_of, thread_counts
from tensorop.bench import roofline
from tensorop.config import CACHE, CACHE_DIR, FLAGS


def test_info_names_the_machine_and_the_settings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info"]) == 0
    text = capsys.readouterr().out
    assert f"tensorop  {tensorop.__version__}" in text
    assert re.search(r"target +(avx512|avx2|neon|generic)", text)
    assert all(flag.name in text for flag in FLAGS)


def test_info_shows_what_is_set(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENSOROP_DEBUG", "0")
    main(["info"])
    assert re.search(r"TENSOROP_DEBUG +0\n", capsys.readouterr().out)


@pytest.mark.parametrize("sizes", ["i=12,j=13,k=14", "12x13,13x14"])
def test_explain(sizes: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "ij,jk->ik", sizes]) == 0
    assert "ij,jk->ik" in capsys.readouterr().out


def test_explain_says_what_it_takes_at_least(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = iter([(2e9, 1e9), (4e9, 0.5e9), (1e9, 0.1e9)])
    monkeypatch.setattr(roofline, "measure_roofs", lambda options: {1: next(seen)})
    request = ["explain", "ij,jk->ik", "100x200,200x100", "--threads", "1"]
    said = []
    with CACHE(1), CACHE_DIR(str(tmp_path)):
        for _ in range(3):  # the best that was ever seen counts
            assert main(request) == 0
            said.append(capsys.readouterr().out.splitlines()[-4:])
    assert said[0][0] == "roofline, 1 thread, measured here"
    assert said[0][1:] == [
        "  4,000,000 flops at 2.0 GFLOP/s: 2 ms",
        "  200,000 bytes at 1.0 GB/s: 0.2 ms",
        "  at least 2 ms, bounded by arithmetic",
    ]
    assert said[1][-1] == said[2][-1] == "  at least 1 ms, bounded by arithmetic"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["explain", "ij,jk->ik", "i=2,j=3"], "no size for k"),
        (["explain", "ij,jk->ik", "2x3"], "2 operands"),
        (["explain", "ij,jk->ik", "i=two"], "sizes are as in"),
        (["explain", "ij,jk->ik", "2x3,j=4"], "sizes are as in"),
        (["explain", "ij,jk->ik", "2x3,4x5"], "j"),
        (["explain", "ij,jk-ik", "i=2,j=3,k=4"], "no size for -"),
        (["explain", "ij,jk->ik", "i=2,j=3,k=4,l=5"], "has no l"),
        (["explain", "ij,jk->ik", "i=2,j=3,k=4,k=5"], "a label has one size"),
        (["explain", "ij,jk->ik", f"i={10**11},j={10**11},k=3"], "no array has the shape"),
        (["bench", "--only", "nothing has this name"], "no case"),
        (["bench", "--json", "no/such/folder/file.json"], "cannot be written"),
        (["report", "no/such/file.json"], "no/such/file.json"),
    ],
)
def test_requests_without_sense(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, *(["--rounds", "1"] if arguments[0] == "bench" else [])]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["explain", "i->", "i=2", "--dtype", "object"], "object arrays"),
        (["explain", "i->", "i=2", "--dtype", "M8"], "cannot be contracted"),
        (["explain", "i->", "i=2", "--threads", "0"], "no whole number above 0"),
        (["bench", "--seed", "-1"], "no whole number from 0 on"),
        (["bench", "--threads", "1,0"], "'0' is no whole number above 0"),
        (["bench", "--threads", "2,2"], "names a thread count twice"),
        (["tune", "i->", "i=2", "--seconds", "nan"], "no time in seconds"),
    ],
)
def test_options_without_sense(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exited:
        main(arguments)
    assert exited.value.code == 2 and message in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"{}", b"[]", b"\xff\x00", b'[{"rows": 3}]'])
def test_files_that_are_no_runs(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run.json").write_bytes(content)
    charts = tmp_path / "charts"
    assert main(["report", str(tmp_path / "run.json"), "--charts", str(charts)]) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"tensorop: {tmp_path / 'run.json'}: ") and not charts.exists()


@pytest.mark.parametrize("wrong", [["--only", "no name"], ["--json", "no/such/folder/file.json"]])
def test_requests_are_checked_before_anything_is_measured(
    wrong: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[object] = []
    monkeypatch.setattr("tensorop.__main__.measure_roofs", measured.append)
    assert main(["bench", *wrong]) == 2 and not measured


def test_dtypes_have_short_names(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("f64", "f8", "float64"):
        assert main(["explain", "ij,jk->ik", "2x3,3x4", "--dtype", name]) == 0
        assert "float64" in capsys.readouterr().out
    pytest.importorskip("ml_dtypes")
    assert main(["explain", "ij,jk->ik", "2x3,3x4", "--dtype", "bfloat16"]) == 0


def test_output_that_nobody_reads() -> None:
    command = f"{sys.executable} -m tensorop explain 'ij,jk->ik' 2x3,3x4 | true"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert not done.stderr


@pytest.mark.parametrize("name", ["TENSOROP_POOL", "TENSOROP_TARGET", "OMP_NUM_THREADS"])
@pytest.mark.parametrize("command", [["info"], ["explain", "ij,jk", "2x3,3x4"]])
def test_settings_that_make_no_sense(
    name: str,
    command: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(name, "-1")
    assert main(command) == 2
    told = capsys.readouterr()
    assert not told.out and told.err.startswith(f"tensorop: {name}='-1': it takes ")


def test_a_cache_that_keeps_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENSOROP_CACHE", "1")
    (file := tmp_path / "file").write_text("")
    monkeypatch.setenv("TENSOROP_CACHE_DIR", str(file))
    assert main(["cache", "warm", "ij,jk", "2x3,3x4"]) == 2
    assert "nothing can be kept in" in capsys.readouterr().err


def test_shapes() -> None:
    assert shapes_of("ij, jk -> ik", "i=2,j=3,k=4") == [(2, 3), (3, 4)]
    assert shapes_of("...i,->...i", "2x3x4,-") == [(2, 3, 4), ()]
    with pytest.raises(UsageError, match="k"):
        shapes_of("ijk", "i=2,j=3")


def test_thread_counts() -> None:
    assert thread_counts("1,2") == (1, 2)
    for text in ("0", "1,1", "x", ""):
        with pytest.raises(ArgumentTypeError):
            thread_counts(text)


def test_bench_writes_what_it_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "figures.json"
    arguments = ["bench", "--only", "double", "--threads", "1,2", "--rounds", "2"]
    assert main([*arguments, "--json", str(file)]) == 0
    text = capsys.readouterr().out
    assert re.search(r"1 thread: multiply-add peak [\d.]+ GFLOP/s, copy [\d.]+ GB/s", text)
    assert len(re.findall(r"^double matmul +float64 +[12] .* ok$", text, re.MULTILINE)) == 2
    assert "double matmul, 1 to 2 threads" in text
    written = file.read_text(encoding="utf-8")
    assert sum(line.startswith('{"name": "double matmul"') for line in written.splitlines()) == 2
    figures = json.loads(written)
    assert figures["machine"]["packages"]["numpy"] == np.__version__
    for row in figures["rows"]:
        assert row["error_over_bound"] <= 1
        assert {"roof", "tensorop", "tensorop out=", "numpy", "numpy out="} <= row["seconds"].keys()
        assert all(len(rounds) == 2 for rounds in row["seconds"].values())


def test_bench_permutes_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["bench", "--suite", "permute", "--only", "trus", "--rounds", "1"]
    assert main([*arguments, "--dtype", "int8", "--peers", "none"]) == 0
    assert "every result is right" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main([*arguments, "--dtype", "uint16"])
    assert "'uint16' is none of float32" in capsys.readouterr().err


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_bench_seed(dtype: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["bench", "--suite", "seed", "--only", "relu", "--rounds", "1", "--dtype", dtype]
    assert main([*arguments, "--threads", "1,2"]) == 0
    assert capsys.readouterr().out.count(" ok\n") == 4


def test_a_wrong_result_is_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = tensorop.einsum

    def wrong(*arguments, **keywords):
        result = right(*arguments, **keywords)
        result[0] += 1
        return result

    monkeypatch.setattr(tensorop, "einsum", wrong)
    assert main(["bench", "--only", "integer", "--rounds", "1"]) == 1
    assert "WRONG: integer matmul" in capsys.readouterr().out


def test_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tensorop", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == f"tensorop {tensorop.__version__}"


def test_flags_are_documented() -> None:
    table = Path(__file__).parents[1] / "docs" / "environment.md"
    text = table.read_text(encoding="utf-8")
    assert all(f"| `{flag.name}` |" in text for flag in FLAGS)
