"""Ctrl-C in a long call: soon, cleanly, and the next call works."""

from __future__ import annotations

import os
import signal
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from tensorop import runtime
from tensorop.jit import entry
from tests.node_programs import long_plan
from tests.test_threads import finishes, python

pytestmark = pytest.mark.skipif(
    not entry.machine().team or entry.machine().launch is entry.machine().launch_plain,
    reason="no built-in entry on this platform",
)

INTERRUPT = """if True:
    import os, signal, statistics, threading, time
    import numpy as np
    from tensorop import runtime
    from tests.node_programs import long_plan

    # A shell's background jobs are started with the signal ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sent = [0.0]
    def interrupt():
        sent[0] = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)

    def attempt(plan, counts, delay):
        timer = threading.Timer(delay, interrupt)
        timer.start()
        try:
            runtime.run(plan, 0, 0, 0)
        except KeyboardInterrupt:
            latency = time.monotonic() - sent[0]
        else:
            raise SystemExit("not interrupted")
        timer.join()
        after = counts.copy()
        time.sleep(0.05)
        assert (counts == after).all(), "written after the exception"
        return latency

    long, counts = long_plan(seconds=30, threads=THREADS)
    latencies = [attempt(long, counts, 0.05 + 0.013 * i) for i in range(5)]
    short, counts = long_plan(seconds=0.05, threads=THREADS)
    runtime.run(short, 0, 0, 0)
    assert len(set(counts.tolist())) == 1 and counts[0] > 0, counts
    print(statistics.median(latencies))
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_keyboard_interrupt_within_50_ms(threads: int) -> None:
    done = python(INTERRUPT.replace("THREADS", str(threads)))
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 0.050


@contextmanager
def handler_in(delay: float, handler: Callable[[], None]) -> Iterator[None]:
    """Run a handler on the main thread after a while, from a signal."""
    before = signal.signal(signal.SIGALRM, lambda *_: handler())
    signal.setitimer(signal.ITIMER_REAL, delay)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_handler_that_returns_leaves_the_call_alone_and_may_use_the_library(threads: int) -> None:
    outer, counts = long_plan(seconds=0.3, threads=threads)
    inner, inner_counts = long_plan(seconds=0.02, threads=threads)
    with handler_in(0.05, lambda: runtime.run(inner, 0, 0, 0)):
        runtime.run(outer, 0, 0, 0)
    for found in (counts, inner_counts):
        assert len(set(found.tolist())) == 1 and found[0] > 0


def test_an_error_of_a_handler_is_raised_by_the_call() -> None:
    plan, _ = long_plan(seconds=20, threads=2)

    def fail() -> None:
        raise ZeroDivisionError("from the handler")

    with handler_in(0.05, fail), pytest.raises(ZeroDivisionError, match="from the handler"):
        runtime.run(plan, 0, 0, 0)


def test_other_python_threads_run_meanwhile() -> None:
    plan, _ = long_plan(seconds=0.3, threads=1)
    ticks, stop = [0], threading.Event()

    def tick() -> None:
        while not stop.wait(0.001):
            ticks[0] += 1

    ticker = threading.Thread(target=tick)
    ticker.start()
    try:
        before = ticks[0]
        runtime.run(plan, 0, 0, 0)
        assert ticks[0] - before > 20
    finally:
        stop.set()
        ticker.join()


def test_long_calls_in_other_threads_finish_whatever_the_main_thread_catches() -> None:
    plan, counts = long_plan(seconds=0.3, threads=1)
    worker = threading.Thread(target=runtime.run, args=(plan, 0, 0, 0))

    def fail() -> None:
        raise ZeroDivisionError

    worker.start()
    with handler_in(0.05, fail), pytest.raises(ZeroDivisionError):
        time.sleep(5)
    worker.join()
    assert len(set(counts.tolist())) == 1 and counts[0] > 0


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_in_the_middle_of_a_region_ends_the_call_in_the_child_only() -> None:
    plan, counts = long_plan(seconds=0.4, threads=2)
    children: list[int] = []
    with handler_in(0.1, lambda: children.append(os.fork())):
        try:
            runtime.run(plan, 0, 0, 0)
        except RuntimeError as error:
            os._exit(0 if not children[0] and "forked in the middle" in str(error) else 3)
    if children[0] == 0:
        os._exit(4)
    assert finishes(children[0]) == 0
    assert len(set(counts.tolist())) == 1


def test_latency_is_not_bought_with_throughput() -> None:
    """Looking for signals must not slow a loop down that looks often."""
    plan, counts = long_plan(seconds=0.1, threads=1)

    def seconds(launch: entry.Launch) -> float:
        begin = time.perf_counter()
        launch(plan.address, 0, 0, 0, 0, 0, 0)
        return time.perf_counter() - begin

    machine = entry.machine()
    ratios = [seconds(machine.launch) / seconds(machine.launch_plain) for _ in range(9)]
    assert statistics.median(ratios) < 1.3
    assert np.ptp(counts) == 0
