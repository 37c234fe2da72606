"""The roofs of this machine, measured: multiply-adds a second and bytes copied a second.

Both are contestants like any other (`measure.py`), so that they are asked in the same run, in turn
with the row that is held against them, on the same cores with the same number of threads. The
arithmetic roof is the generated kernel of `jit/peak.py`; the memory roof is numpy's copy between
two arrays far larger than the caches, reads and writes counted once each.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from tensorop.jit.library import kernel_address
from tensorop.jit.peak import PeakKernel
from tensorop.jit.target import current_target

FIRST_ITERATIONS = 1 << 12
COPY_BYTES = 1 << 27

_SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


def cores() -> list[int]:
    """The CPUs this process may run on, the first of each physical core before their siblings."""
    if not hasattr(os, "sched_getaffinity"):
        return list(range(os.cpu_count() or 1))
    seen: set[str] = set()
    first: list[int] = []
    rest: list[int] = []
    for cpu in sorted(os.sched_getaffinity(0)):
        siblings = str(cpu)
        with suppress(OSError):
            siblings = Path(_SIBLINGS.format(cpu)).read_text(encoding="ascii").strip()
        (rest if siblings in seen else first).append(cpu)
        seen.add(siblings)
    return first + rest


@contextmanager
def pinned(cpus: list[int]) -> Iterator[None]:
    """Keep this thread, and the threads it starts, on the given CPUs (where the system can)."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class _Team:
    """Runs `work(share)` on several Python threads at once, which release the GIL, and times from
    the first start to the last end."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool = ThreadPoolExecutor(max(1, threads - 1))

    def seconds(self, work: Callable[[int], None]) -> float:
        def timed(share: int) -> tuple[float, float]:
            start = time.perf_counter()
            work(share)
            return start, time.perf_counter()

        others = [self._pool.submit(timed, share) for share in range(1, self.threads)]
        spans = [timed(0), *(other.result() for other in others)]
        return max(end for _, end in spans) - min(start for start, _ in spans)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pool.shutdown()


class ArithmeticRoof(_Team):
    """Multiply-adds of one dtype on `threads` threads; `work` counts operations a call."""

    def __init__(self, dtype: str, threads: int) -> None:
        super().__init__(threads)
        target = current_target()
        kernel = PeakKernel(_peak_dtype(dtype))
        code = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
        self._run = code(kernel_address(kernel))
        value = 1 if kernel.dtype.startswith("int") else 0.75
        # Far more room a share than a vector, so that no two threads write into one cache line.
        self._vectors = np.full((threads, 128), value, kernel.dtype)
        self._descriptors = np.zeros((threads, 2), np.int64)
        self._descriptors[:, 0] = FIRST_ITERATIONS
        self._descriptors[:, 1] = [row.ctypes.data for row in self._vectors]
        self.work = float(threads * FIRST_ITERATIONS * kernel.flops(target))

    def __call__(self, calls: int) -> float:
        """Seconds a call, of so many calls in one go."""
        self._descriptors[:, 0] = FIRST_ITERATIONS * calls
        return self.seconds(self._share) / calls

    def _share(self, share: int) -> None:
        self._run(self._descriptors[share].ctypes.data, None)


class MemoryRoof(_Team):
    """A copy of `COPY_BYTES` on `threads` threads; `work` counts bytes read and written."""

    def __init__(self, threads: int, size: int = COPY_BYTES) -> None:
        super().__init__(threads)
        self._source = np.array_split(np.ones(size, np.uint8), threads)
        self._target = np.array_split(np.zeros(size, np.uint8), threads)
        self.work = 2.0 * size

    def __call__(self, calls: int) -> float:
        """Seconds a copy, of so many copies in one go."""
        return self.seconds(lambda share: self._share(share, calls)) / calls

    def _share(self, share: int, calls: int) -> None:
        for _ in range(calls):
            np.copyto(self._target[share], self._source[share])


def _peak_dtype(dtype: str) -> str:
    """The dtype whose multiply-adds are the roof of another's: its parts, or what it adds up in."""
    parts = {
        "complex64": "float32",
        "complex128": "float64",
        "float16": "float32",
        "bfloat16": "float32",
        "int8": "int16",
    }
    return parts.get(dtype, dtype)
