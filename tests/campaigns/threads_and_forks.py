"""Many small random contractions from several Python threads, in a process that forks meanwhile:
`python -m tests.campaigns.threads_and_forks COUNT [SEED]`. Prints what was wrong, and how much
memory the process held after each tenth of the calls."""

from __future__ import annotations

import itertools
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator

import numpy as np

import tensorop
from tensorop.memory import LARGE
from tests import random_einsums
from tests.random_einsums import check, draw

THREADS = 8
FORKED = 20  # calls of a forked child
FORK_EVERY = 2.0  # seconds
PATIENCE = 120  # seconds until a child that hangs is ended


def main(count: int, seed: int) -> int:
    random_einsums.POINTS = random_einsums.LARGE_POINTS = 4096
    numbers, done, wrong = itertools.count(), itertools.count(), list[str]()

    def work() -> None:
        large = np.ones(LARGE, np.uint8)
        for i in numbers:
            if i >= count:
                return
            tensorop.einsum("i,j->ij", large, large[:2])
            wrong.extend(errors(seed, i))
            next(done)
            if (i + 1) % max(1, count // 10) == 0:
                print(f"{i + 1} calls, {len(wrong)} wrong, {resident():.0f} MiB", flush=True)

    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    forks = 0
    while any(thread.is_alive() for thread in threads):
        time.sleep(FORK_EVERY)
        forks += 1
        if failed := in_child(seed, count + forks * FORKED):
            wrong.append(f"{failed} of fork {forks}")
    if (finished := next(done)) < count:
        wrong.append(f"only {finished} of {count} calls came to an end")
    for text in wrong:
        print(text)
    print(f"{count} calls from {THREADS} threads, {forks} forks, {len(wrong)} wrong")
    return 1 if wrong else 0


def errors(seed: int, i: int) -> Iterator[str]:
    try:
        with np.errstate(all="ignore"):  # which holds for one thread
            check(draw(np.random.default_rng([seed, i])))
    except Exception as error:
        yield f"[{seed}, {i}] {type(error).__name__}: {error}"


def in_child(seed: int, first: int) -> int:
    """How many calls of a forked child were wrong, or the signal that ended it. Its results are
    large: the pool of their memory is one of the things that a fork must not find in use."""
    child = os.fork()
    if child == 0:
        signal.alarm(PATIENCE)
        large = np.ones(2 * LARGE, np.uint8)
        assert tensorop.einsum("i,j->ij", large, large[:2]).all()
        found = [error for i in range(FORKED) for error in errors(seed, first + i)]
        os._exit(len(found))
    _, status = os.waitpid(child, 0)
    return abs(os.waitstatus_to_exitcode(status))


def resident() -> float:
    """MiB of memory that the process holds."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    given = [int(x) for x in sys.argv[1:]]
    sys.exit(main(*(given + [10_000, 0][len(given) :])))
