"""What is compiled on another thread: it is never waited for but where it is needed, and neither
forks, nor the end of the process, nor a lack of threads are in its way."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tensorop.jit.background import Task
from tensorop.jit.entry import machine

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
knows = pytest.mark.skipif(machine().warm is None, reason="arrays are not read by generated code")

FIRST = """
import os, threading, numpy as np, tensorop
from tensorop import known
from tensorop.jit import background, entry
from tensorop.jit.guard import lock
a, b = np.ones((6, 8), "f4"), np.ones((8, 5), "f4")
def right(): return bool((tensorop.matmul(a, b) == 8).all())
"""


def run(program: str, folder: Path | None = None) -> str:
    """What a process prints whose cache is empty at first."""
    cache = {"TENSOROP_CACHE": "0" if folder is None else "1", "TENSOROP_CACHE_DIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", FIRST + program],
        env={**os.environ, **cache},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_task_gives_what_its_work_gives() -> None:
    caller = threading.get_ident()
    assert Task(threading.get_ident).result() != caller
    fails = Task(lambda: [][0])
    for _ in range(2):
        with pytest.raises(IndexError):
            fails.result()


def test_a_task_without_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert Task(threading.get_ident).result() == threading.get_ident()


@forks
def test_a_child_does_the_work_of_a_thread_that_it_does_not_have() -> None:
    task = Task(os.getpid, delay=0.5)
    child = os.fork()
    if child == 0:
        os._exit(0 if task.result() == os.getpid() else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert task.result() == os.getpid()


@knows
def test_calls_that_come_before_the_code_that_knows_them() -> None:
    program = """
with lock:  # nothing can be loaded by another thread
    plan = tensorop.compile("ij,jk->ik", a, b)
    for _ in range(9):
        plan(a, b)
        right()
    print(entry.machine().warm.get(), len(known._records), len(known._early))
entry.machine().warm.wait()
print(len(known._records), len(known._early), right(), bool((plan(a, b) == 8).all()))
plan._python._call = None  # where Python would look
print(plan(a, b).shape)
"""
    assert run(program).splitlines() == ["None 0 2", "2 0 True True", "(6, 5)"]


@knows
def test_brief_calls_that_come_before_the_driver() -> None:
    program = """
print(right(), right(), entry.loaded())  # nothing is learnt
entry.machine().warm.wait()
print(right(), right(), right(), len(known._records))
"""
    assert run(program) == "True True None\nTrue True True 1\n"


@knows
def test_calls_that_are_not_brief_wait_for_the_driver() -> None:
    program = """
large = np.ones((300, 300), "f4")
print(bool((tensorop.matmul(large, large) == 300).all()), entry.loaded() is None)
"""
    assert run(program) == "True False\n"


@forks
def test_a_child_of_a_brief_call_gets_a_driver() -> None:
    program = """
entry.MOMENT = 0.3  # its thread is asleep
good = right()
child = os.fork()
if child == 0:
    os._exit(0 if good and entry.loaded() is None and right() and entry.loaded() else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), right())
"""
    assert run(program) == "0 True\n"


@forks
@knows
def test_a_fork_while_something_is_compiled() -> None:
    program = """
background.MOMENT = 0.5  # the thread is still asleep when the process forks
entry.begin()
def child_is_right():
    child = os.fork()
    if child == 0:
        good = right()
        entry.machine().warm.wait()
        os._exit(0 if good and right() and entry.machine().warm.get() else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(child_is_right(), right(), child_is_right(), right())
"""
    assert run(program) == "0 True 0 True\n"


@knows
def test_the_end_of_a_process_waits_for_its_compilers(tmp_path: Path) -> None:
    assert run("entry.machine(); print(right())", tmp_path) == "True\n"
    again = "print(right(), entry.machine().warm.get() is None); import sys\n"
    again += "print('llvmlite' in sys.modules)"
    compiles = sys.platform != "linux"
    assert run(again, tmp_path) == f"True False\n{compiles}\n"


@knows
def test_without_threads_all_is_compiled_by_the_caller() -> None:
    program = """
def refuse(thread): raise RuntimeError("can't start new thread")
threading.Thread.start = refuse
print(right(), entry.machine().warm.get())
entry.machine().warm.wait()
print(entry.machine().warm.get() is None)
"""
    assert run(program) == "True None\nFalse\n"


@pytest.mark.skipif(not machine().team, reason="no thread team here")
def test_the_team_is_loaded_when_it_is_wanted() -> None:
    program = """
with tensorop.threads(1):
    print(right(), "_team" in vars(entry.machine()))
large = np.ones((512, 512), "f4")
with tensorop.threads(2):
    print(bool((tensorop.matmul(large, large) == 512).all()), "_team" in vars(entry.machine()))
"""
    assert run(program) == "True False\nTrue True\n"


@forks
def test_a_fork_waits_for_what_another_thread_imports() -> None:
    program = """
import sys
class Slow:  # finds nothing, but lets the process fork while something is being imported
    def find_spec(name, path=None, target=None):
        if name in ("tensorop.optimizer.pipeline", "tensorop.jit.entry_code", "tensorop.tuning"):
            imported.set()
            goes_on.wait(0.2)  # that is the fork's, which has to wait
imported, goes_on = threading.Event(), threading.Event()
sys.meta_path.insert(0, Slow)
def tuned(): return tensorop.einsum("ij->ji", a, tune=True).shape == (8, 6)
for work in right, tuned:
    first = threading.Thread(target=work)
    first.start()
    assert imported.wait(10)
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        os._exit(0 if work() else 1)
    goes_on.set()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    first.join()
    imported.clear(), goes_on.clear()
"""
    assert run("import signal" + program) == "0\n0\n"


@forks
def test_a_signal_handler_may_fork_where_a_thread_is_waited_for() -> None:
    program = """
import signal, time
from tensorop.jit.background import Task
children = []
signal.signal(signal.SIGALRM, lambda *_: children.append(os.fork()))
signal.setitimer(signal.ITIMER_REAL, 0.05)
task = Task(lambda: time.sleep(0.2) or os.getpid())
result = task.result()
if not children[0]:
    os._exit(0 if result == os.getpid() else 1)
signal.alarm(0)
for _ in range(100):
    child, status = os.waitpid(children[0], os.WNOHANG)
    if child:
        break
    time.sleep(0.05)
else:
    os.kill(children[0], signal.SIGKILL)
print(bool(child), status)
"""
    assert run(program) == "True 0\n"


@forks
def test_an_interrupt_while_a_fork_waits() -> None:
    program = """
import signal, sys
held, told = threading.Event(), []
def hold():
    with lock:
        held.set()
        interrupted.wait(10)
interrupted = threading.Event()
def interrupt(*_):
    interrupted.set()
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, interrupt)
sys.unraisablehook = lambda error: told.append(error.exc_type.__name__)
holder = threading.Thread(target=hold)
holder.start()
held.wait()
signal.setitimer(signal.ITIMER_REAL, 0.05)
child = os.fork()
if child == 0:
    signal.alarm(10)
    os._exit(0 if right() else 1)
holder.join()
free = []
other = threading.Thread(target=lambda: free.append(lock.acquire(timeout=5)))
other.start(), other.join()
print(os.waitpid(child, 0)[1], told, free)
"""
    assert run(program) == "0 ['KeyboardInterrupt'] [True]\n"


def test_the_end_waits_for_a_thread_that_a_daemon_began() -> None:
    program = """
import time
from tensorop.jit.background import Task
def work():
    time.sleep(0.2)
    print("done")
daemon = threading.Thread(target=Task, args=(work,), daemon=True)
daemon.start(), daemon.join()
"""
    assert run(program) == "done\n"


def test_there_are_no_threads_after_the_interpreter_has_waited_for_all() -> None:
    program = """
import atexit
from tensorop.jit.background import Task
def last():
    here = threading.get_ident()
    print(Task(threading.get_ident).result() == here, right(), threading.active_count())
atexit.register(last)
"""
    assert run(program) == "True True 1\n"


def test_no_daemon_is_in_llvm_at_the_end() -> None:
    program = """
import atexit
def ask():
    from llvmlite.binding.ffi import lib
    free = []
    asks = threading.Thread(target=lambda: free.append(lib._lock._lock.acquire(False)))
    asks.start(), asks.join()
    print(free)
atexit.register(ask)  # so it is called last
right()
"""
    assert run(program) == "[False]\n"


def test_no_thread_finds_the_tables_of_llvmlite_half_full() -> None:
    program = """
from tensorop.jit import compiler
from llvmlite.ir.values import _escape_string
print(len(_escape_string.__defaults__[0]))
"""
    assert run(program) == "256\n"
