"""Golden files: generated text is tested as text, and written anew with `--update-golden`.

Compiled code is not kept on disk, so that tests run what the generators write now (test_store.py
tests the keeping).

No example has a deadline: whichever comes first has its kernels compiled, on a machine that others
use. The hypothesis profile "few" is for runs that only look whether something works at all: the
other instruction sets (test_targets.py).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

os.environ["TENSOROP_CACHE"] = "0"
settings.register_profile("usual", deadline=None)
settings.register_profile("few", deadline=None, max_examples=10)
settings.load_profile("usual")

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the golden files anew; read the difference before you commit it",
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(name, text)`: the text must be that of tests/golden/<name>."""

    def compare(name: str, text: str) -> None:
        file = GOLDEN / name
        if request.config.getoption("--update-golden"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        assert file.exists(), f"no golden file {file}: run pytest --update-golden"
        assert text == file.read_text(encoding="utf-8")

    return compare


@pytest.fixture
def usual_machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Operations are planned for caches of usual sizes: for tests of what such a machine gets."""
    from tensorop import cache_clear  # not before the environment says that nothing is kept
    from tensorop.optimizer.machine import host_machine

    machine = host_machine()._replace(l1=32 << 10, l2=1 << 20, l3=32 << 20)
    for module in ("planning", "linked", "pieced", "runs", "path", "plan_store", "tuning"):
        monkeypatch.setattr(f"tensorop.{module}.host_machine", lambda: machine)
    cache_clear()
    yield
    cache_clear()


@pytest.fixture
def nothing_known() -> Iterator[None]:
    """No call is known to generated code, before the test or after it."""
    from tensorop import cache_clear
    from tensorop.jit.entry import machine

    if (warm := machine().warm) is not None:
        warm.wait()
    cache_clear()
    yield
    cache_clear()
