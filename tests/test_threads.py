"""The number of threads, and the team: concurrency, forks, the end of the process."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tensorop import einsum
from tensorop.jit import entry
from tensorop.jit.abi import CallRecord, Frame
from tensorop.jit.slots import AxisSlot, Slot
from tensorop.limits import available_cpus
from tensorop.runtime import Buffer
from tensorop.threads import get_num_threads, set_num_threads, threads
from tests.node_programs import Call, Loop, Region, Words, crowd, record_words, start_frame

ROOT = Path(__file__).parent.parent
needs_team = pytest.mark.skipif(not entry.machine().team, reason="no thread team here")
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


def python(code: str, timeout: float = 60, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own, in the repository's root."""
    cleared = {"TENSOROP_NUM_THREADS": "", "OMP_NUM_THREADS": ""}
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, **cleared, **environment},
        capture_output=True,
        text=True,
        timeout=timeout,
    )


# how many


def test_innermost_block_wins_and_the_number_comes_back() -> None:
    before = get_num_threads()
    with threads(3):
        with threads(np.int64(5)):
            assert get_num_threads() == 5
        assert get_num_threads() == 3
    assert get_num_threads() == before


def test_set_num_threads_holds_outside_of_blocks() -> None:
    before = get_num_threads()
    try:
        with threads(2):
            set_num_threads(7)
            assert get_num_threads() == 2
        assert get_num_threads() == 7
    finally:
        set_num_threads(before)


def test_threads_decorates_and_belongs_to_one_thread() -> None:
    @threads(9)
    def inside() -> list[int]:
        seen = [get_num_threads()]
        other = threading.Thread(target=lambda: seen.append(get_num_threads()))
        other.start()
        other.join()
        return seen

    assert inside() == inside() == [9, get_num_threads()]


@pytest.mark.parametrize("setter", [set_num_threads, threads])
@pytest.mark.parametrize(
    ("n", "error", "message"),
    [
        (0, ValueError, "0 threads: at least 1"),
        (-2, ValueError, "-2 threads"),
        (2.0, TypeError, r"integer, not 2\.0"),
        (True, TypeError, "integer, not True"),
        ("2", TypeError, "integer, not '2'"),
    ],
)
def test_numbers_that_make_no_sense(setter, n, error, message) -> None:  # type: ignore[no-untyped-def]
    before = get_num_threads()
    with pytest.raises(error, match=message):
        setter(n)
    assert get_num_threads() == before


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"TENSOROP_NUM_THREADS": "5", "OMP_NUM_THREADS": "3"}, "5"),
        ({"OMP_NUM_THREADS": "3,2"}, "3"),
        ({"TENSOROP_NUM_THREADS": "3000000"}, "1024"),
        ({}, str(available_cpus())),
    ],
)
def test_environment(environment: dict[str, str], expected: str) -> None:
    code = "from tensorop.threads import get_num_threads; print(get_num_threads())"
    done = python(code, **environment)
    assert (done.stdout.strip(), done.returncode) == (expected, 0), done.stderr


def test_environment_that_makes_no_sense() -> None:
    code = "from tensorop.threads import get_num_threads; get_num_threads()"
    done = python(code, TENSOROP_NUM_THREADS="many")
    assert "ValueError: TENSOROP_NUM_THREADS='many'" in done.stderr


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity here")
def test_affinity_limits_the_default() -> None:
    code = (
        "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]);"
        "from tensorop.threads import get_num_threads; print(get_num_threads())"
    )
    assert python(code).stdout.strip() == "1"


# the team


class Job:
    """A plan of `regions` parallel regions of `iterations` recorded iterations each."""

    def __init__(self, iterations: int, shares: int, workers: int, regions: int = 1) -> None:
        inner = Loop((Call(1),), axis=AxisSlot.N, extent=iterations)
        region = Region(inner, shares=shares)
        self.words = Words(rows=iterations * regions)
        self.frame = start_frame()
        body = (Loop((region,), axis=AxisSlot.M, extent=regions),)
        self.record = record_words(self.words.body(body), self.frame)
        self.record[CallRecord.TEAM] = entry.machine().team
        self.record[CallRecord.WORKERS] = workers
        wanted = [(m, n) for m in range(regions) for n in range(iterations)]
        self.wanted = sorted(wanted)

    def run(self) -> list[tuple[int, ...]]:
        self.words.clear()
        assert entry.machine().execute(self.record.ctypes.data) == 0
        rows = self.words.recorded()
        found = sorted((row[Frame.START], row[Frame.START + 1]) for row in rows)
        assert found == self.wanted
        return rows


@needs_team
def test_workers_take_part() -> None:
    job = Job(iterations=64, shares=64, workers=3, regions=20)
    deadline = time.monotonic() + 20
    while not any(row[Frame.ROLE] == 2 for row in job.run()):
        assert time.monotonic() < deadline, "no worker ever took a share"


class Crowd:
    """A region of twelve shares that counts how many threads are inside at once."""

    def __init__(self, workers: int) -> None:
        self.counts = np.zeros(2, np.int64)
        self.words = Words(rows=1, kernel=crowd(), descriptor=(100_000,))
        self.frame = start_frame()
        self.frame[Slot.OUT] = self.counts.ctypes.data
        body = self.words.body((Region(Loop((Call(1),), extent=12), shares=12),))
        self.record = record_words(body, self.frame)
        self.record[CallRecord.TEAM] = entry.machine().team
        self.record[CallRecord.WORKERS] = workers

    def run(self) -> None:
        assert entry.machine().execute(self.record.ctypes.data) == 0
        assert self.counts[0] == 0


@needs_team
@pytest.mark.skipif(available_cpus() < 2, reason="threads take turns on one CPU")
def test_a_call_gets_no_more_helpers_than_it_asked_for() -> None:
    all_, one = Crowd(workers=3), Crowd(workers=1)
    calls, deadline = 0, time.monotonic() + 20
    while calls < 50 or all_.counts[1] <= 2:
        assert time.monotonic() < deadline, "no two helpers were ever inside at once"
        all_.run()  # and at once, while its workers are awake:
        one.run()
        calls += 1
    assert one.counts[1] <= 2


@needs_team
def test_eight_python_threads_at_once() -> None:
    def work(seed: int) -> None:
        for i in range(150):
            jobs[seed][i % 3].run()

    jobs = [[Job(12, shares, 3, 5) for shares in (1, 2, 8)] for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


@needs_team
def test_sleeping_workers_delay_nobody_and_wake() -> None:
    job = Job(iterations=4, shares=4, workers=3)
    for _ in range(20):
        time.sleep(0.002)
        job.run()


PLACES = """
import contextlib, ctypes, os, signal, time
import numpy as np
import tensorop
allowed = os.sched_getaffinity(0)
where = ctypes.CDLL(None).sched_getcpu
a = np.ones((600, 600), "f4")
def is_worker(thread):
    status = dict(line.split(":", 1) for line in open(f"/proc/self/task/{thread}/status"))
    return int(status["SigBlk"], 16) >> (signal.SIGINT - 1) & 1
def masks(threads):
    with tensorop.threads(threads):
        tensorop.matmul(a, a)
    time.sleep(0.05)  # a thread has its signals blocked while it is created
    found = []
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError):  # it has ended
            if is_worker(thread):
                found.append(os.sched_getaffinity(int(thread)))
    return found
"""


@needs_team
@pytest.mark.skipif(available_cpus() < 2, reason="there is no other CPU")
def test_workers_are_kept_off_the_callers_cpu() -> None:
    """Where it has been moved to, too: systems that let CPUs rest put both on one."""
    code = """
seen, deadline = set(), time.monotonic() + 30
while len(seen) < 2 and time.monotonic() < deadline:
    for cpu in sorted(allowed)[:2]:
        os.sched_setaffinity(0, {cpu})
        os.sched_setaffinity(0, allowed)
        found = masks(2)
        if where() == cpu and found == [allowed - {cpu}]:
            seen.add(cpu)
print(len(seen))
"""
    assert python(PLACES + code).stdout.strip() == "2"


@needs_team
@pytest.mark.skipif(available_cpus() < 2, reason="there is no other CPU")
def test_workers_may_run_anywhere_where_there_are_too_many_and_then_no_more() -> None:
    code = """
def becomes(right):
    deadline = time.monotonic() + 30  # on a loaded machine threads begin and end late
    while not right() and time.monotonic() < deadline:
        pass
    return right()
def anywhere():
    many = masks(len(allowed) + 1)
    return len(many) == len(allowed) and all(mask == allowed for mask in many[:8])
print(becomes(anywhere))
print(becomes(lambda: all(len(mask) == len(allowed) - 1 for mask in masks(2)[:8])))
"""
    assert python(PLACES + code).stdout.split() == ["True"] * 2


@needs_team
@pytest.mark.skipif(available_cpus() < 2, reason="there is no other CPU")
def test_workers_stay_where_they_are_when_the_caller_is_bound_to_its_cpu() -> None:
    code = """
first = masks(2)
os.sched_setaffinity(0, {where()})
print(masks(2) == first)
os.sched_setaffinity(0, allowed)
print(masks(2)[0] < allowed)
"""
    assert python(PLACES + code).stdout.split() == ["True"] * 2


def finishes(child: int, seconds: float = 20) -> int:
    """The exit status of a child; fails if it hangs."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, 9)
    os.waitpid(child, 0)
    pytest.fail("the forked child hangs")


def in_child(action) -> int:  # type: ignore[no-untyped-def]
    child = os.fork()
    if child == 0:
        status = 1
        try:
            action()
            status = 0
        finally:
            os._exit(status)
    return finishes(child)


@needs_team
@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_a_team_of_its_own() -> None:
    job = Job(iterations=64, shares=64, workers=3, regions=20)
    job.run()

    def child() -> None:
        deadline = time.monotonic() + 15
        while not any(row[Frame.ROLE] == 2 for row in job.run()):
            assert time.monotonic() < deadline

    assert in_child(child) == 0
    job.run()


@needs_team
@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork_while_another_thread_is_inside_a_region() -> None:
    job, mine = Job(16, 8, 3, 200), Job(16, 8, 3, 5)
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            job.run()

    other = threading.Thread(target=busy)
    other.start()
    try:
        for _ in range(10):
            assert in_child(mine.run) == 0
    finally:
        stop.set()
        other.join()


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_shares_no_panels_with_its_parent() -> None:
    for size in (1 << 10, 1 << 16, 1 << 22):
        buffer = Buffer(size)
        memory = np.frombuffer((ctypes.c_ubyte * size).from_address(buffer.address), np.uint8)
        memory[:] = 1

        def child(memory: np.ndarray = memory) -> None:
            memory[:] = 2

        assert in_child(child) == 0
        assert (memory == 1).all()


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_large_products_in_parent_and_children_at_once() -> None:
    a, b = (np.random.default_rng(i).random((700, 700)) for i in range(2))
    want = a @ b
    einsum("ij,jk->ik", a, b, threads=1)  # leaves its panels to the next call

    def work(times: int) -> bool:
        given = [einsum("ij,jk->ik", times * a, b, threads=1) for _ in range(10)]
        return all(np.allclose(result, times * want) for result in given)

    children = []
    for times in (2, 3):
        child = os.fork()
        if child == 0:
            os._exit(0 if work(times) else 1)
        children.append(child)
    right = work(1)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0] and right


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork_while_another_thread_compiles() -> None:
    code = """if True:
        import os, threading, time
        from tests.node_programs import recorder
        from tensorop.jit import entry
        from tests.test_threads import in_child
        first = threading.Thread(target=entry.machine)
        first.start()
        time.sleep(0.02)
        assert in_child(entry.machine) == 0
        first.join()
        stop = threading.Event()
        def compile_for_ever():
            while not stop.is_set():
                recorder.__wrapped__()
        other = threading.Thread(target=compile_for_ever)
        other.start()
        for _ in range(5):
            time.sleep(0.01)
            assert in_child(recorder.__wrapped__) == 0
        stop.set()
        other.join()
        print("done")
    """
    done = python(code)
    assert (done.stdout.strip(), done.returncode) == ("done", 0), done.stderr


@needs_team
@pytest.mark.parametrize("pause", [0.0, 0.05])
def test_the_process_ends_cleanly_with_workers_spinning_or_asleep(pause: float) -> None:
    code = f"""if True:
        import time
        from tests.test_threads import Job
        job = Job(16, 8, 3, 5)
        job.run()
        time.sleep({pause})
    """
    for _ in range(2):
        done = python(code)
        assert (done.returncode, done.stderr) == (0, "")


@needs_team
def test_the_process_ends_cleanly_with_a_daemon_thread_at_work() -> None:
    code = """if True:
        import threading, time
        from tests.node_programs import long_plan
        from tensorop import runtime
        plan, _ = long_plan(seconds=20, threads=2)
        threading.Thread(target=runtime.run, args=(plan, 0, 0, 0), daemon=True).start()
        time.sleep(0.2)
        print("leaving")
    """
    begin = time.monotonic()
    done = python(code)
    assert (done.stdout.strip(), done.returncode) == ("leaving", 0), done.stderr
    assert time.monotonic() - begin < 15


@needs_team
def test_signals_are_handled_by_python_not_by_workers() -> None:
    status = Path("/proc/self/task")
    if not status.exists():
        pytest.skip("no /proc here")
    Job(8, 8, 3).run()
    masks = []
    for task in status.iterdir():
        lines = (task / "status").read_text().splitlines()
        blocked = next(line.split()[1] for line in lines if line.startswith("SigBlk"))
        masks.append(int(blocked, 16))
    interrupt, fault = 1 << (2 - 1), 1 << (11 - 1)
    workers = [mask for mask in masks if mask & interrupt]
    assert len(workers) >= 3
    assert not any(mask & fault for mask in workers)


def test_a_block_may_be_entered_again() -> None:
    two = threads(2)
    for _ in range(2):
        with two, threads(3), two:
            assert get_num_threads() == 2
    assert get_num_threads() != 3
