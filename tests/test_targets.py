"""The instruction sets that the other tests do not run on: the core of them once more on each.

A process has one target for good (TENSOROP_TARGET), so each gets a process. Kernels alone are
tested on every target by their own tests; this is for what lies above them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tensorop.jit.target import Target, current_target, host_targets

ROOT = Path(__file__).parents[1]
CORE = (
    "tests/test_smoke.py",
    "tests/test_execution.py",
    "tests/test_operation.py",
    *(f"tests/test_random_einsums.py::test_random_calls[{batch}]" for batch in range(3)),
    "tests/test_random_einsums.py::test_nothing_outside_of_the_arrays_is_touched"
    "[matrix product-float32]",
)
OTHERS = [t for t in host_targets() if t != current_target()]


def python(target: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=ROOT,
        env={**os.environ, "TENSOROP_TARGET": target},
        capture_output=True,
        text=True,
        timeout=300,
    )


def core_passes(target: str, *options: str) -> None:
    plain = ("-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-profile=few")
    done = python(target, "pytest", *plain, *options, *CORE)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


@pytest.mark.parametrize("target", OTHERS, ids=[target.name for target in OTHERS])
def test_core_on(target: Target) -> None:
    core_passes(target.name)


@pytest.mark.skipif(
    [target.name for target in host_targets()][:1] != ["avx2"],
    reason="the best instruction set of this machine is not AVX2",
)
def test_core_on_vectors_wider_than_the_machine() -> None:
    core_passes("avx512", "-p", "tests.wide_vectors")


@pytest.mark.parametrize("target", host_targets(), ids=lambda target: target.name)
def test_info_says_which(target: Target) -> None:
    assert f"target    {target.name}: " in python(target.name, "tensorop", "info").stdout


def test_a_target_that_does_not_exist() -> None:
    done = python("sse9", "tensorop", "info")
    assert done.returncode != 0
    assert "TENSOROP_TARGET='sse9'" in done.stderr
