"""TENSOROP_DEBUG: what is printed while something is planned."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tensorop
from tensorop.config import CACHE, CACHE_DIR, DEBUG, TARGET, THREE_M, TUNE

ROOT = Path(__file__).parents[1]
SIZES = itertools.count(201)  # a size of its own for every test, so that its plan is new


def planned(level: int, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """A size, and what planning a product of that size prints."""
    size = next(SIZES)
    with DEBUG(level):
        tensorop.compile("ij,jk->ik", (size, 64), (64, 32), dtypes="float32", threads=1)
    captured = capsys.readouterr()
    assert not captured.out, "standard output belongs to the program"
    return size, captured.err


def test_0_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert planned(0, capsys)[1] == ""


def test_1_prints_a_line_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    size, text = planned(1, capsys)
    (line,) = text.splitlines()
    assert line.startswith("tensorop: gemm in float32 over ")
    assert f"i={size}" in line and "j=64" in line and line.endswith(" 1 share")


def test_a_plan_that_exists_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    a = np.ones((next(SIZES), 3))
    with DEBUG(1):
        tensorop.einsum("ij->j", a)
        assert capsys.readouterr().err.count("\n") == 1
        tensorop.einsum("ij->j", a)
    assert capsys.readouterr().err == ""


def test_explicit_operations_are_plans_too(capsys: pytest.CaptureFixture[str]) -> None:
    size = next(SIZES)
    operation = tensorop.TensorOperation(
        dtype="float32",
        main="relu",
        dim_types=("C",),
        exec_types=("prim",),
        sizes=(size,),
        strides_in0=(1,),
        strides_out=(1,),
    )
    with DEBUG(1):
        operation.setup()
    assert capsys.readouterr().err.startswith(f"tensorop: relu in float32 over C={size}")


def test_2_prints_the_passes_with_before_and_after(capsys: pytest.CaptureFixture[str]) -> None:
    size = next(SIZES)
    with DEBUG(2):
        tensorop.compile("xij,jk->xik", (2, size, 64), (64, 32), dtypes="float32")
    lines = capsys.readouterr().err.splitlines()
    fuse = next(i for i, line in enumerate(lines) if line.startswith("fuse: fused"))
    before, after = lines[fuse + 1 : fuse + 3]
    assert before.startswith("  before ") and "M x=2 " in before and f"M i={size} " in before
    assert after.startswith("  after ") and f"M xi={2 * size} " in after
    for name in ("normalise: ", "  schedule, "):
        assert any(line.startswith(name) for line in lines)


@pytest.mark.parametrize(
    ("level", "there", "not_there"),
    [(3, ["define void @"], [".text"]), (4, ["define void @", ".text"], [])],
)
def test_3_and_4_print_compiled_kernels(level: int, there: list[str], not_there: list[str]) -> None:
    # In a process of its own, where no kernel exists yet.
    code = "import tensorop; tensorop.compile('i,i->', (8,), (8,))"
    program = f"from tensorop.config import DEBUG\nwith DEBUG({level}):\n  {code}"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert all(text in done.stderr for text in [*there, "stream_gemm_float64_unit_unit_reduced"])
    assert not any(text in done.stderr for text in not_there)
    assert done.stdout == ""


def test_estimates_are_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """Orders of the operands are compared before a pass runs."""
    size = next(SIZES)
    with DEBUG(2):
        tensorop.compile("abc,dcb->da", (size, 30, 40), (50, 40, 30), threads=1)
    lines = capsys.readouterr().err.splitlines()
    operations = sum(line.startswith("fuse:") for line in lines)
    assert 0 < sum(line.startswith("widen:") for line in lines) <= operations


def test_settings_in_code() -> None:
    """What a block may set, and what is of all of a process."""
    with DEBUG(True):
        assert DEBUG.value == 1
    with CACHE(False):
        assert CACHE.value == 0
    with CACHE_DIR("here"), CACHE_DIR(None):
        assert CACHE_DIR.value is None
    with pytest.raises(ValueError, match="TENSOROP_DEBUG='None'"):
        DEBUG(None)
    for flag, instead in ((TARGET, "first call"), (TUNE, "tune=True"), (THREE_M, "three_m=True")):
        with pytest.raises(TypeError, match=f"{flag.name} is for all of a process: .*{instead}"):
            flag(1)
