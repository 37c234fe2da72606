"""Drafts of kernels: the same bits, one word to change, and nothing left of them at the end."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorop
from tensorop import linked, planning
from tensorop.config import CACHE, CACHE_DIR
from tensorop.debug import DEBUG, Level
from tensorop.jit import drafts, entry, library
from tensorop.jit.kernel import Kernel
from tensorop.jit.peak import PeakKernel
from tensorop.jit.target import Target, current_target

pytestmark = pytest.mark.skipif(not library.links(current_target()), reason="no drafts here")
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes to fork")

SPECS: list[tuple[str, str, tuple[tuple[int, ...], ...]]] = [
    ("ij,jk->ik", "f4", ((29, 31), (31, 27))),
    ("ij,jk->ik", "f8", ((48, 100), (100, 33))),
    ("ji,kj->ik", "c8", ((21, 19), (17, 21))),
    ("ij,jk->ik", "i1", ((40, 24), (24, 40))),
    ("bij,bjk->bik", "f4", ((50, 3, 3), (50, 3, 3))),
    ("aib,ij->abj", "f8", ((5, 20, 6), (20, 9))),
    ("aib,abi->bia", "f4", ((9, 20, 33), (9, 33, 20))),
    ("ij->j", "f2", ((60, 70),)),
    ("ij,ij->i", "f8", ((33, 70), (33, 70))),
    ("i,j->ij", "i8", ((33,), (21,))),
]


@pytest.fixture
def unknown(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The process has no kernels and plans."""
    monkeypatch.setattr(library, "_addresses", {})
    monkeypatch.setattr(library, "_kept", {})
    tensorop.cache_clear()
    yield
    drafts.finish()
    tensorop.cache_clear()


def operands(dtype: str, shapes: tuple[tuple[int, ...], ...]) -> list[Any]:
    rng = np.random.default_rng(3)
    return [(rng.standard_normal(shape) * 9).astype(dtype) for shape in shapes]


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize(("spec", "dtype", "shapes"), SPECS)
def test_the_finished_kernel_gives_the_same_bits(
    spec: str,
    dtype: str,
    shapes: tuple[tuple[int, ...], ...],
    unknown: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[tuple[Kernel, Target, int]] = []

    def all_drafts(kernels: tuple[Kernel, ...], target: Target, brief: bool) -> list[int]:
        assert brief
        addresses = [drafts.draft_address(kernel, target) for kernel in kernels]
        made.extend((k, target, a) for k, a in zip(kernels, addresses, strict=True))
        return addresses

    for module in (planning, linked):
        monkeypatch.setattr(module, "kernel_addresses", all_drafts)
    inputs = operands(dtype, shapes)
    plan = tensorop.compile(spec, *inputs)
    first = plan(*inputs)
    assert made and len(drafts._unfinished) == len({address for _, _, address in made})
    drafts.finish()
    assert not drafts._unfinished
    second = plan(*inputs)
    assert first.tobytes() == second.tobytes()
    np.testing.assert_allclose(second, np.einsum(spec, *inputs), rtol=1e-2, atol=0.2)
    for kernel, target, address in made:
        assert library.kernel_address(kernel, target) != address


def test_many_threads_finish(unknown: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of them puts the kernel in place; all see it there when they are through."""
    kernel, target = PeakKernel("float32"), current_target()
    jump = drafts.draft_address(kernel, target)
    assert drafts.draft_address(kernel, target) == jump  # which is known now
    seen, gate = [], threading.Barrier(4)

    def finish() -> None:
        gate.wait()
        drafts.finish()
        seen.append((len(drafts._unfinished), library.kernel_address(kernel, target)))

    threads = [threading.Thread(target=finish) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(seen)) == 1 and seen[0][0] == 0 and seen[0][1] != jump


def test_what_fails_is_finished_by_who_asks_next(
    unknown: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, target = PeakKernel("float32"), current_target()
    jump = drafts.draft_address(kernel, target)
    with monkeypatch.context() as patch:
        patch.setattr(library, "compiler", None)
        with pytest.raises(TypeError):
            drafts.finish()
    assert library.kernel_address(kernel, target) == jump and len(drafts._unfinished) == 1
    drafts.finish()
    assert library.kernel_address(kernel, target) != jump


def test_there_are_no_drafts_of_what_is_on_disk_or_shown(
    unknown: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel, target = PeakKernel("float32"), current_target()
    with CACHE(1), CACHE_DIR(str(tmp_path)):
        address = library.load_kernel(kernel, target)
        library._kept.clear()
        assert drafts.draft_address(kernel, target) != address
        assert not drafts._unfinished
    library._kept.clear()
    library._addresses.clear()
    with DEBUG(Level.IR):
        drafts.draft_address(kernel, target)
    assert not drafts._unfinished and "define" in capsys.readouterr().err


def test_there_are_no_drafts_where_there_is_a_driver(unknown: None) -> None:
    entry.machine()
    assert entry.kernel_addresses([PeakKernel("float32")], current_target(), True)
    assert not drafts._unfinished


PROGRAM = """
import os, sys
import numpy as np
import tensorop
from tensorop.jit import drafts, entry
a, b = np.ones((96, 100), "f4"), np.ones((100, 88), "f4")
def right():
    return bool((tensorop.matmul(a, b) == 100).all())
"""


def run(program: str, folder: Path) -> str:
    """What a process prints that has not compiled anything."""
    settings = {"TENSOROP_CACHE": "1", "TENSOROP_CACHE_DIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + program],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_process_that_ends_after_its_first_call_leaves_the_finished_kernel(
    tmp_path: Path,
) -> None:
    assert run("print(right(), len(drafts._unfinished))", tmp_path) == "True 1\n"
    files = sorted((tmp_path / "code").iterdir())
    after = "print(right(), len(drafts._unfinished), 'llvmlite' in sys.modules)"
    assert run(after, tmp_path) == "True 0 False\n"
    assert sorted((tmp_path / "code").iterdir()) == files


def test_a_plan_that_is_not_called_leaves_it_too(tmp_path: Path) -> None:
    assert run("plan = tensorop.compile('ij,jk->ik', a, b)", tmp_path) == ""
    after = "tensorop.compile('ij,jk->ik', a, b); print('llvmlite' in sys.modules)"
    assert run(after, tmp_path) == "False\n"


def test_the_driver_runs_no_drafts(tmp_path: Path) -> None:
    program = """
print(right(), entry.loaded(), len(drafts._unfinished))
entry.machine()
print(right(), len(drafts._unfinished))
"""
    assert run(program, tmp_path) == "True None 1\nTrue 0\n"


def test_all_first_calls_that_follow_one_another_are_given_drafts(tmp_path: Path) -> None:
    """And all are finished before the process ends."""
    program = """
entry.LULL = 0.5
results = [right()]
for dtype in ("f8", "c8", "i4"):
    x, y = a.astype(dtype), b.astype(dtype)
    results.append(bool((tensorop.matmul(x, y) == 100).all()))
print(results, len(drafts._unfinished) >= len(results), entry.loaded(), "llvmlite" in sys.modules)
"""
    assert run(program, tmp_path) == "[True, True, True, True] True None True\n"
    after = run(program.replace("entry.loaded()", "entry.loaded() is None"), tmp_path)
    assert after == "[True, True, True, True] False False False\n"


def test_who_needs_the_driver_does_not_wait_for_a_lull(tmp_path: Path) -> None:
    program = """
import time
entry.LULL = 60
good = right()
begin = time.monotonic()
large = np.ones((300, 300), "f4")
print(good, bool((tensorop.matmul(large, large) == 300).all()), time.monotonic() - begin < 30)
print(len(drafts._unfinished), right())
"""
    assert run(program, tmp_path) == "True True True\n0 True\n"


def test_there_are_no_drafts_once_these_are_finished(tmp_path: Path) -> None:
    """Else the thread that compiles the driver might leave one behind."""
    program = """
entry._closed = True
print(right(), len(drafts._unfinished))
"""
    assert run(program, tmp_path) == "True 0\n"


def test_a_draft_that_comes_late_is_finished_before_the_driver_is_there(tmp_path: Path) -> None:
    program = """
from tensorop.jit.peak import PeakKernel
from tensorop.jit.target import current_target
entry.begin()
entry._under_way[0].result()
entry._closed = False
entry.kernel_addresses([PeakKernel("float32")], current_target(), True)
print(len(drafts._unfinished), entry.loaded())
entry.machine()
print(len(drafts._unfinished), right())
"""
    assert run(program, tmp_path) == "1 None\n0 True\n"


def test_a_process_that_is_killed_leaves_a_promise_and_the_next_one_makes_no_drafts(
    tmp_path: Path,
) -> None:
    """Else programs whose workers end that way would begin anew for ever."""
    killed = "print(right(), len(drafts._unfinished), flush=True); os._exit(0)"
    assert run(killed, tmp_path) == "True 1\n"
    assert run(killed, tmp_path) == "True 0\n"
    third = "right(); print('tensorop.jit.gemm' in sys.modules)"
    assert run(third, tmp_path) == "False\n"  # which has compiled the driver and kept the promise
    assert not (tmp_path / "promise").exists()


def test_a_search_times_no_drafts(tmp_path: Path) -> None:
    """Nor plans that Python runs."""
    program = (
        "from tensorop.tuning import Search\n"
        "state = lambda: (len(drafts._unfinished), entry.loaded() is None)\n"
        "right()\n"
        "seen = [state()]\n"
        "measure = Search.measure\n"
        "Search.measure = lambda *of: (seen.append(state()), measure(*of))[1]\n"
        "tensorop.einsum('ij,jk->ik', a[:60], b[:, :40], tune=True)\n"
        "print(seen[:2])"
    )
    assert run(program, tmp_path) == "[(1, True), (0, False)]\n"


def test_who_drafts_keeps_the_promise(tmp_path: Path) -> None:
    assert run("print(right(), len(drafts._unfinished))", tmp_path) == "True 1\n"
    assert not (tmp_path / "promise").exists()


def test_where_nothing_can_be_kept_there_are_drafts(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    assert run("print(right(), len(drafts._unfinished))", tmp_path / "file") == "True 1\n"


def test_a_brief_plan_waits_for_no_driver_that_another_thread_waits_for(tmp_path: Path) -> None:
    program = """
import threading, time
from tensorop.jit.library import Block
compiled = Block.compiled
Block.compiled = lambda block: (time.sleep(2), compiled(block))[1]
large = np.ones((300, 300), "f4")
thread = threading.Thread(target=tensorop.matmul, args=(large, large))
thread.start()
time.sleep(0.7)
begin = time.monotonic()
print(bool((tensorop.einsum("ij->j", a) == 96).all()), time.monotonic() - begin < 1)
"""
    assert run(program, tmp_path) == "True True\n"


def test_a_signal_handler_finishes_first(unknown: None, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, target = PeakKernel("float32"), current_target()
    jump = drafts.draft_address(kernel, target)
    add = library.add_kernel

    def interrupted(*arguments: Any) -> int:
        monkeypatch.setattr(library, "add_kernel", add)
        drafts.finish()
        return add(*arguments)

    monkeypatch.setattr(library, "add_kernel", interrupted)
    drafts.finish()
    assert not drafts._unfinished and library.kernel_address(kernel, target) != jump


@pytest.mark.parametrize(
    "where", ["atexit.register(right)", "threading.Thread(target=late).start()"]
)
def test_no_thread_can_be_had(tmp_path: Path, where: str) -> None:
    """Nor then is llvmlite needed a second time."""
    program = f"""
import atexit, threading, time
def late():
    time.sleep(0.2)
    right()
atexit.register(lambda: print("llvmlite" in sys.modules))
{where}
"""
    assert run(program, tmp_path) == "True\n"
    assert run(program, tmp_path) == "False\n"


def test_a_folder_that_is_relative(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    program = f"""
os.chdir({str(tmp_path / "one")!r})
print(right())
os.chdir("../two")
"""
    settings = {"TENSOROP_CACHE": "1", "TENSOROP_CACHE_DIR": "kept"}
    subprocess.run(
        [sys.executable, "-c", PROGRAM + program], env={**os.environ, **settings}, check=True
    )
    assert len(list((tmp_path / "one" / "kept" / "code").iterdir())) >= 3
    assert not list((tmp_path / "two").iterdir())


@forks
def test_a_child_finishes_its_own(tmp_path: Path) -> None:
    program = """
entry.LULL = 0.5  # the thread waits
good = right() and len(drafts._unfinished) == 1
child = os.fork()
if child == 0:
    good = good and right() and not drafts._unfinished and entry.loaded()
    os._exit(0 if good else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), right())
"""
    assert run(program, tmp_path) == "0 True\n"
