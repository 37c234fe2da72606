"""Ctrl-C ends a long contraction within a few milliseconds, and the next call works."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

import tensorop

DELAY = 0.05  # seconds into the call
PATIENCE = 0.25  # 50 ms on a quiet machine; a loaded one may be late to run anything at all


def big(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return np.ones(shape, dtype)


CASES = {
    "matmul": ("ij,jk->ik", lambda: (big((3000, 3000), "f8"), big((3000, 3000), "f8"))),
    "integers": ("ij,jk->ik", lambda: (big((900, 900), "i8"), big((900, 900), "i8"))),
    "longdouble": ("ij,jk->ik", lambda: (big((500, 500), "g"), big((500, 500), "g"))),
    "batched dots": ("bij,bij->b", lambda: (big((1, 8000, 8000), "f4"),) * 2),
    "outer sums": ("ij,k->kj", lambda: (big((4000, 4000), "f4"), big((600,), "f4"))),
}


@pytest.fixture(autouse=True)
def ctrl_c() -> Iterator[None]:
    """Python's handler: a shell's background jobs are started with the signal ignored. No garbage
    collection: hypothesis has a callback there, and what is raised in one is lost."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.disable()
    yield
    gc.enable()
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_keyboard_interrupt(name: str, threads: int) -> None:
    spec, make = CASES[name]
    operands = make()
    tensorop.einsum(spec, *(x[..., :4, :4] if x.ndim > 1 else x[:4] for x in operands))
    sent = []

    def send() -> None:
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(DELAY, send)
    timer.start()
    end = time.perf_counter() + 10
    try:
        while time.perf_counter() < end:  # short contractions end before the signal comes
            tensorop.einsum(spec, *operands, threads=threads)
    except KeyboardInterrupt:
        late = time.perf_counter() - sent[0]
    else:
        pytest.fail("no KeyboardInterrupt")
    timer.join()
    assert late < PATIENCE
    small = np.ones((3, 3))
    assert np.array_equal(tensorop.einsum("ij,jk->ik", small, small), np.full((3, 3), 3.0))
