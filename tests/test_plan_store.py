"""Plans on disk: the next process does what this one planned, and no state of the disk matters."""

from __future__ import annotations

import marshal
import os
import platform
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorop
from tensorop import plan_store, planning
from tensorop.__main__ import main
from tensorop.config import CACHE, CACHE_DIR, DEBUG
from tensorop.jit import library, store
from tensorop.jit.entry import machine
from tensorop.optimizer.machine import host_machine
from tensorop.plan_store import save
from tests.random_einsums import draw

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64",
    reason="kernels are not found on disk by their description",
)

ROOT = Path(__file__).parents[1]
PROGRAM = """
import sys
import numpy as np, tensorop
rng = np.random.default_rng(0)
a, b, c = rng.random((70, 80)), rng.random((80, 90)), rng.random((5, 70, 6))
half = rng.random((30, 40)).astype("f2")
line, square = rng.random(1_200_000).astype("f4"), rng.random((900, 900)).astype("f4")
results = [
    tensorop.einsum("ij,jk->ik", a, b),
    tensorop.einsum("ij,jk,kl", a, b, b.T),
    tensorop.einsum("ij,kj->ki", a, b.T.copy()),
    tensorop.einsum("aib->bia", c, alpha=2),
    tensorop.einsum("ij->", a),
    tensorop.matmul(half, half.T),
    tensorop.einsum("bij,bjk->bik", c, c.swapaxes(1, 2)),
    tensorop.compile("ij,kj->ik", a, a)(a, a),
    tensorop.einsum("i,i,i->", line, line, line),  # two steps piece by piece
    tensorop.einsum("ij,jk,kl->il", square, square, square)[0],  # and such as are not
]
for result in results:
    print(result.strides, result.tobytes().hex())
print("tensorop.planning" in sys.modules, "tensorop.optimizer.cost" in sys.modules)
"""


def run(folder: Path, program: str = PROGRAM, **environment: str) -> list[str]:
    """What a process prints."""
    settings = {"TENSOROP_CACHE": "1", "TENSOROP_CACHE_DIR": str(folder), **environment}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_second_process_plans_nothing(tmp_path: Path) -> None:
    *first, planned = run(tmp_path)
    *second, again = run(tmp_path)
    assert planned == "True True" and again == "False False"
    assert first == second


def test_a_first_plan_reads_a_file_or_two(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the order of its result, and that of its stages, of the many that there are."""
    for n in range(2, 40):
        tensorop.einsum("ij,jk->ik", np.ones((n, n)), np.ones((n, n)))
    save()
    assert all(plan_store._read(file) for file in range(plan_store.FILES))
    forget()
    read, looked_at = plan_store._read, []
    monkeypatch.setattr(plan_store, "_read", lambda file: looked_at.append(file) or read(file))
    tensorop.einsum("ij,jk->ik", np.ones((7, 7)), np.ones((7, 7)))
    assert 0 < len(looked_at) <= 2


def test_an_out_that_begins_within_a_line(tmp_path: Path) -> None:
    """It has stages of its own on disk."""
    program = """
import sys
import numpy as np, tensorop
from tensorop.optimizer.machine import host_machine
n = host_machine().l3 // 4096
a, b = np.ones((3, n), np.float32), np.ones((3, 1024), np.float32)
room = np.empty(1024 * n + 32, np.float32)
first = -room.ctypes.data % 64 // 4
for shift in (0, 4):
    out = room[first + shift :][: 1024 * n].reshape(n, 1024)
    tensorop.einsum("kn,km->nm", a, b, out=out)
    assert (out == 3).all()
print("tensorop.planning" in sys.modules)
"""
    assert [run(tmp_path, program) for _ in range(2)] == [["True"], ["False"]]


def test_what_one_process_did_not_plan_another_adds(tmp_path: Path) -> None:
    """Also if both begin with the same file, and end one after the other."""
    program = """
import sys
import numpy as np, tensorop
tensorop.einsum("i->", np.ones(5))
print("begun", flush=True)
n = int(sys.stdin.readline())
tensorop.einsum("i->", np.ones(n))
"""
    settings = {"TENSOROP_CACHE": "1", "TENSOROP_CACHE_DIR": str(tmp_path)}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            env={**os.environ, **settings},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for process in running:
        assert process.stdout is not None and process.stdout.readline() == "begun\n"
    for n, process in zip((7, 9), running, strict=True):
        process.communicate(f"{n}\n")
        assert process.returncode == 0
    seen = "import numpy, tensorop, sys; tensorop.einsum('i->', numpy.ones({}))"
    seen += "; print('tensorop.planning' in sys.modules)"
    assert [run(tmp_path, seen.format(n)) for n in (5, 7, 9, 11)] == [["False"]] * 3 + [["True"]]


def test_sources_in_an_archive(tmp_path: Path) -> None:
    """Nothing is kept then, and nothing is raised."""
    archive = tmp_path / "tensorop.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in (ROOT / "tensorop").rglob("*"):
            if path.suffix in (".py", ".txt"):
                file.write(path, path.relative_to(ROOT))
        for folder in ("jit", "optimizer"):
            for path in (ROOT / folder).glob("*.py"):
                file.write(path, Path("tensorop") / path.relative_to(ROOT))
    program = f"import sys; sys.path.insert(0, {str(archive)!r}); import numpy as np, tensorop"
    program += "; print(tensorop.__file__, tensorop.einsum('ij,kj->ik', [[1., 2.]], [[3., 4.]]))"
    for cache in ("0", "1"):
        (line,) = run(tmp_path, program, TENSOROP_CACHE=cache)
        assert str(archive) in line and line.endswith("[[11.]]")


def test_another_number_of_threads_is_planned_anew(tmp_path: Path) -> None:
    program = """
import sys
import numpy as np, tensorop
a = np.ones((300, 300))
assert (tensorop.matmul(a, a) == 300).all()
print("tensorop.planning" in sys.modules)
"""
    seen = [run(tmp_path, program, TENSOROP_NUM_THREADS=n)[-1] for n in ("2", "2", "1", "1", "2")]
    assert seen == ["True", "False", "True", "False", "False"]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A cache folder, in force, and nothing planned yet; kernels are no drafts."""
    machine()
    with CACHE(1), CACHE_DIR(str(tmp_path)):
        forget()
        yield tmp_path / "code"
        save()
    forget()


def forget() -> None:
    """As if the process had just begun."""
    tensorop.cache_clear()
    plan_store.forget()
    library._kept.clear()
    library._addresses.clear()


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The operations that the optimizer is asked about."""
    asked: list[Any] = []
    plan = planning.plan_stages

    def counted(op: Any, *args: Any, **kwargs: Any) -> Any:
        asked.append(op)
        return plan(op, *args, **kwargs)

    monkeypatch.setattr(planning, "plan_stages", counted)
    yield asked


def twice(action: Callable[[], Any]) -> tuple[Any, Any]:
    """Done, and done again as if by another process."""
    first = action()
    save()
    forget()
    return first, action()


@pytest.mark.parametrize("seed", range(4))
def test_kept_plans_do_what_new_ones_do(folder: Path, plans: list[Any], seed: int) -> None:
    rng = np.random.default_rng(seed)
    calls = [draw(rng) for _ in range(25)]

    def results() -> list[Any]:
        found = []
        for call in calls:
            if "out" in call.options:
                call.options["out"][...] = 1
            result = np.asarray(tensorop.einsum(call.spec, *call.operands, **call.options))
            found.append(np.array(result, order="K"))
        return found

    first = results()
    save()
    forget()
    count = len(plans)
    second = results()
    for call, one, other in zip(calls, first, second, strict=True):
        assert one.strides == other.strides, call
        assert np.all((one == other) | ((one != one) & (other != other))), call
    assert len(plans) - count < count / 4  # only of what runs in several parts


def test_a_kept_plan_can_be_read(folder: Path) -> None:
    shown, again = twice(lambda: tensorop.compile("ij,jk->ik", (30, 40), (40, 50)).explain())
    assert shown == again and "schedule" in shown


def test_a_kept_copy_takes_factors(folder: Path) -> None:
    """It is then another operation."""
    a, out = np.arange(12.0).reshape(3, 4), np.ones((4, 3))
    plan, again = twice(lambda: tensorop.compile("ij->ji", (3, 4), order="C"))
    for p in (plan, again):
        np.testing.assert_array_equal(p(a, out=out.copy(), alpha=3, beta=2), 3 * a.T + 2)


def test_without_its_kernels_a_plan_is_made_anew(folder: Path, plans: list[Any]) -> None:
    a = np.ones((5, 7))
    first = tensorop.einsum("ij,kj->ik", a, a)
    save()
    count, kept = len(plans), [plan_store._read(file) for file in range(plan_store.FILES)]
    forget()
    store.clear()
    for file, records in enumerate(kept):
        store.save(plan_store._what(file), marshal.dumps(records))
    assert [plan_store._read(file) for file in range(plan_store.FILES)] == kept
    np.testing.assert_array_equal(tensorop.einsum("ij,kj->ik", a, a), first)
    assert len(plans) == count + 1


def test_debugging_shows_kept_plans(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with DEBUG(1):
        twice(lambda: tensorop.einsum("ij,kj->ik", np.ones((5, 7)), np.ones((4, 7))))
    assert capsys.readouterr().err.count("tensorop:") == 2


def test_the_records_written_first_go(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def total() -> int:
        return sum(map(plan_store._size, plan_store._read(0).values()))

    def kept(n: int) -> bool:
        op = tensorop.compile("ij,jk->ik", (n, n), (n, n)).steps[0].op
        return plan_store.find(op, None, 1) is not None

    monkeypatch.setattr(plan_store, "FILES", 1)
    monkeypatch.setattr(plan_store, "MOST", 4000)
    for first in (2, 10, 20):
        for n in range(first, first + 8):  # of one process
            tensorop.einsum("ij,jk->ik", np.ones((n, n)), np.ones((n, n)))
        save()
        assert 2000 < total() <= 4000
    forget()
    assert [kept(n) for n in (2, 10, 20, 27)] == [False, False, False, True]


def test_a_process_keeps_so_much_and_no_more(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_store, "_room", 200_000)
    for n in range(100, 200):
        tensorop.einsum("i,i->", np.ones(n), np.ones(n))
    (noted,) = plan_store._new.values()
    assert 0 <= plan_store._room < 6_000 and 10 < len(noted) < 80
    save()
    assert plan_store._room == plan_store.MOST_NEW and not plan_store._new


def test_nothing_is_looked_up_or_kept_without_a_cache(folder: Path) -> None:
    a = np.ones((5, 7))
    tensorop.einsum("ij,kj->ik", a, a)
    save()
    forget()
    plan = tensorop.compile("ij,kj->ik", a, a)
    with CACHE(0):
        assert plan_store.find(plan.steps[0].op, None, 1) is None
        tensorop.einsum("ij,kj->ij", a, np.ones((4, 7)))
        assert not plan_store._new
    assert plan_store.find(plan.steps[0].op, None, 1) is not None


def test_records_go_to_the_folder_that_was_in_force(tmp_path: Path, folder: Path) -> None:
    with CACHE_DIR(str(tmp_path / "other")):
        tensorop.einsum("ij,kj->ik", np.ones((5, 7)), np.ones((4, 7)))
    save()
    assert not folder.exists() and (tmp_path / "other" / "code").exists()


def test_leaving_takes_no_longer_the_more_there_was(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    op = tensorop.compile("ij,jk->ik", (3, 4), (4, 5)).steps[0].op
    monkeypatch.setattr(plan_store, "_room", 1 << 40)
    for n in range(2, 60_000):
        first = op.dimensions[0].sized(n)
        plan_store.note_order(op.with_dimensions((first, *op.dimensions[1:])), 12.5, (0, 1))
    start = time.perf_counter()
    save()
    assert time.perf_counter() - start < 2
    assert sum(len(plan_store._read(file)) for file in range(plan_store.FILES)) > 10_000


HOOKED = """
import atexit, sys
import numpy as np
class Hook:
    def __call__(self): pass
    def __eq__(self, other): return np.array([True, False])
atexit.register(Hook())
import tensorop
print(tensorop.einsum("ij,jk->ik", np.ones((3, 4)), np.ones((4, 5))).sum())
"""


def test_other_hooks_are_left_alone(tmp_path: Path) -> None:
    assert run(tmp_path, HOOKED) == ["60.0"]


WORKERS = """
import multiprocessing, sys
import numpy as np, tensorop
def work(n):
    tensorop.einsum("ij,jk->ik", np.ones((n, n)), np.ones((n, n)))
    return "tensorop.planning" in sys.modules
pool = multiprocessing.get_context("fork").Pool(1)
print(pool.map(work, range(2, 6), 4))
pool.close()
pool.join()
"""


def test_workers_keep_their_plans(tmp_path: Path) -> None:
    assert run(tmp_path, WORKERS) == [str([True] * 4)]
    assert run(tmp_path, WORKERS) == [str([False] * 4)]


HALF_IMPORTED = """
import sys, types
import numpy as np, tensorop
sys.modules["multiprocessing.util"] = types.ModuleType("multiprocessing.util")
print(tensorop.einsum("ij,jk->ik", np.ones((3, 4)), np.ones((4, 5))).sum())
"""


def test_another_thread_may_be_importing_multiprocessing(tmp_path: Path) -> None:
    assert run(tmp_path, HALF_IMPORTED) == ["60.0"]


HALF = """
import sys
import numpy as np, tensorop
x = np.full((5000, 513), 100, "f2")
x[2500:] = -100
counts = [int(n) for n in sys.stdin.readline().split()]
for n in counts:
    with tensorop.threads(n):
        assert not tensorop.einsum("ab->b", x).any()
"""


def test_half_sums_are_never_cut(tmp_path: Path) -> None:
    """How they are run depends on the threads: what was planned for others does not count."""
    settings = {"TENSOROP_CACHE": "1", "TENSOROP_CACHE_DIR": str(tmp_path)}
    for counts in ("1", "2 1", "1", "1 2 3", "3 2 1"):
        subprocess.run(
            [sys.executable, "-c", HALF],
            env={**os.environ, **settings},
            input=counts,
            text=True,
            check=True,
        )


def test_the_key_is_all_that_plans_depend_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host, before = host_machine(), plan_store._what(0)
    for other in (host._replace(l2=1), host._replace(target=host.target._replace(cpu=""))):
        with monkeypatch.context() as patch:
            patch.setattr(plan_store, "host_machine", lambda other=other: other)
            assert plan_store._what(0) != before
    files: list[str] = []
    monkeypatch.setattr(store, "digest", lambda paths: files.extend(paths) or "")
    plan_store._source.__wrapped__()
    assert {"plan_store.py", "bind.py", "planning.py", "realign.py"} <= {
        Path(f).name for f in files
    }


def test_the_command_line_plans_ahead(tmp_path: Path) -> None:
    warm = "from tensorop.__main__ import main; main(['cache', 'warm', 'ij,jk', '30x40,40x50'])"
    call = """
import sys, numpy as np, tensorop
tensorop.einsum("ij,jk", np.ones((30, 40), "f4"), np.ones((40, 50), "f4"))
print("tensorop.planning" in sys.modules)
"""
    assert run(tmp_path, call) == ["True"]
    assert "files" in run(tmp_path / "other", warm)[0]
    assert run(tmp_path / "other", call) == ["False"]


def test_what_most_contractions_need(
    folder: Path, plans: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tensorop.__main__.USUAL", ("ij,jk->ik",))
    assert main(["cache", "warm"]) == 0
    forget()
    count = len(plans)
    for dtype in ("f4", "f8", "c8", "c16"):
        tensorop.einsum("ab,bc->ac", np.ones((12, 12), dtype), np.ones((12, 12), dtype))
    assert len(plans) == count


@pytest.mark.parametrize("more", [["ij,jk"], ["ij,jk", "i=3"]])
def test_requests_that_make_no_sense(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "warm", *more]) == 2
    assert main(["cache", "clear", *more]) == 2
    assert "tensorop: " in capsys.readouterr().err


def test_cleared_plans_are_on_disk_and_no_longer_in_memory(folder: Path) -> None:
    a = np.ones((37, 41))
    tensorop.einsum("ij,kj->ik", a, a)
    assert plan_store._new
    tensorop.cache_clear()
    assert not plan_store._new
    assert any(plan_store._read(file) for file in range(plan_store.FILES))
