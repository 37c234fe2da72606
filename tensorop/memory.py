"""Memory of large arrays: results, and what lies between the steps of a contraction.

The system zeroes the pages of a new large array one fault at a time. That takes as long as writing
a result does, so where memory bounds a contraction it is half of the time. Here, the memory of a
large array goes to a pool when the last array on it is gone, and the next one of that size takes it
from there. It begins at a page, too, where numpy's begins 16 bytes behind one, so that no vector of
a result straddles two cache lines.

An array from here does not own its data: its `base` does, as that of a view. The pool keeps at most
`TENSOROP_POOL` MiB, by default a small part of what the process may use; 0 stands for plain numpy
arrays.
"""

from __future__ import annotations

import mmap
import os
import threading
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from math import prod
from typing import Any

import numpy as np

from tensorop.config import POOL
from tensorop.limits import available_memory

Array = np.ndarray[Any, Any]

LARGE = 1 << 19  # bytes from which on an array's memory is kept; of what lies between steps: PAGES
_HUGE = 1 << 22  # bytes from which on it is one of huge pages
_HUGE_PAGE = 1 << 21
PAGES = 1 << 16  # else so many bytes, or a multiple: arrays of about a size share memory
_MIB = 1 << 20
PART = 32  # of the memory, one part is for the pool: at least LEAST, at most MOST bytes
LEAST = 256 * _MIB
MOST = 2048 * _MIB


class _Mapping:
    """Memory for so many bytes, from `start` on: huge pages begin there."""

    __slots__ = ("memory", "size", "start")

    def __init__(self, size: int) -> None:
        huge = size >= _HUGE
        self.size, self.start = size, 0
        private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        self.memory = mmap.mmap(-1, size + _HUGE_PAGE * huge, flags=private)
        if huge:
            self.start = -self.array().ctypes.data % _HUGE_PAGE
            if hasattr(mmap, "MADV_HUGEPAGE"):
                self.memory.madvise(mmap.MADV_HUGEPAGE)

    def array(self) -> Array:
        return np.frombuffer(self.memory, np.uint8)


class _End(weakref.ref[Any]):
    """Tells the pool when an array is gone, with the memory that it had."""

    __slots__ = ("mapping",)
    __hash__ = object.__hash__  # not that of the array, which has none
    __eq__ = object.__eq__
    mapping: _Mapping


class _Pool:
    """Mappings of arrays that are alive, and of some that are gone: together within the limit, so
    that nothing has to be decided when an array ends. That may be anywhere, also where an exception
    of a signal handler would be lost: no Python code runs there.

    A signal handler that interrupts a thread at work in here finds the pool as it was left, in the
    middle of something: it does without.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._at_work = False
        self._alive: set[_End] = set()
        self._ended: deque[_End] = deque()
        self._free: list[_Mapping] = []  # what was given last at the end
        self._total = 0

    @contextmanager
    def _enter(self) -> Iterator[bool]:
        """Hold the lock; whether the thread did not hold it before."""
        with self.lock:
            if self._at_work:
                yield False
                return
            self._at_work = True
            try:
                yield True
            finally:
                self._at_work = False

    def array(self, size: int) -> tuple[Array, int]:
        """Bytes to put a large array on, and where in them it begins; `size` is a multiple of what
        memory is mapped in."""
        with self.lock:
            if self._at_work:
                apart = _Mapping(size)
                return apart.array(), apart.start
            self._at_work = True  # as `_enter`, which would take as long as all else here
            try:
                mapping, fits = self._take(size), True
                if mapping is None:
                    fits, mapping = self._room(size), _Mapping(size)
                    self._total += size * fits
                base = mapping.array()
                if fits:
                    end = _End(base, self._ended.append)
                    end.mapping = mapping
                    self._alive.add(end)
                return base, mapping.start
            finally:
                self._at_work = False

    def _take(self, size: int) -> _Mapping | None:
        self._collect()
        for i in reversed(range(len(self._free))):
            if self._free[i].size == size:
                return self._free.pop(i)
        return None

    def _room(self, size: int) -> bool:
        limit = _limit()
        if size <= limit:
            self._shrink(limit - size)
        return self._total + size <= limit

    def _collect(self) -> None:
        while self._ended:
            end = self._ended.popleft()
            self._alive.discard(end)
            self._free.append(end.mapping)

    def _shrink(self, limit: int) -> None:
        self._collect()
        while self._free and self._total > limit:
            self._total -= self._free.pop(0).size

    def unused(self) -> int:
        """Bytes that no array uses."""
        with self._enter() as entered:
            if entered:
                self._collect()
            return sum([mapping.size for mapping in self._free])

    def shrink(self, limit: int) -> None:
        """Return to the system what was given first, until at most `limit` bytes are in use or
        nothing more is free."""
        with self._enter() as entered:
            if entered:
                self._shrink(limit)


def _limit() -> int:
    """Bytes of arrays that the pool takes care of."""
    return _usual_limit() if POOL.value is None else POOL.value * _MIB


@cache
def _usual_limit() -> int:
    memory = available_memory() or 8 * LEAST
    return min(max(memory // PART, min(LEAST, memory // 8)), MOST)


_pool = _Pool()
if hasattr(os, "register_at_fork"):  # a child must not find it in the hands of a thread it lacks
    os.register_at_fork(
        before=_pool.lock.acquire,
        after_in_parent=_pool.lock.release,
        after_in_child=_pool.lock.release,
    )


def empty(
    shape: tuple[int, ...], dtype: np.dtype[Any], strides: tuple[int, ...], kept: int = LARGE
) -> Array:
    """A new array without gaps, its elements not set: `strides` in bytes, in any order; kept: bytes
    from which on its memory is of the pool.

    >>> empty((2, 3), np.dtype("f4"), (4, 8)).flags.f_contiguous
    True
    """
    size = prod(shape) * dtype.itemsize
    if size >= kept and POOL.value != 0 and hasattr(mmap, "MAP_PRIVATE"):
        unit = _HUGE_PAGE if size >= _HUGE else PAGES
        try:
            base, start = _pool.array(-(-size // unit) * unit)
        except (OSError, OverflowError):  # numpy knows the right error
            return np.ndarray(shape, dtype, None, 0, strides)
        return np.ndarray(shape, dtype, base, start, strides)
    return np.ndarray(shape, dtype, None, 0, strides)


def vector(size: int, dtype: np.dtype[Any]) -> Array:
    """So many elements in a row, not set, which are soon given back."""
    return empty((size,), dtype, (dtype.itemsize,), PAGES)


def release() -> None:
    """Return the pool's memory to the system."""
    _pool.shrink(0)
