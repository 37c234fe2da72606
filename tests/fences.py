"""Arrays of any layout right beside pages that must not be touched: one element read or written
outside of them ends the process. Inside the pages, bytes that are no elements hold a canary.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
PAGE = mmap.PAGESIZE
CANARY = 0x5A
NO_ACCESS = 0  # PROT_NONE
_libc = ctypes.CDLL(None)
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


@dataclass(frozen=True)
class Layout:
    """How an array lies in memory.

    axes: the axes from slowest to fastest. step: elements between neighbours of the fastest, of any
    sign. at_end: it ends where the forbidden page begins, else it begins where one ends.
    """

    axes: Sequence[int]
    step: int = 1
    at_end: bool = True

    def strides(self, shape: Sequence[int], item: int) -> tuple[int, ...]:
        strides, reach = [0] * len(shape), self.step * item
        for axis in reversed(self.axes):
            strides[axis] = reach
            reach *= shape[axis]
        return tuple(strides)


@dataclass
class Fenced:
    """`values` in a layout, between two forbidden pages."""

    values: Array
    layout: Layout
    array: Array = field(init=False)

    def __post_init__(self) -> None:
        shape, dtype = self.values.shape, self.values.dtype
        strides = self.layout.strides(shape, dtype.itemsize)
        ends = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
        low, high = sum(min(e, 0) for e in ends), sum(max(e, 0) for e in ends) + dtype.itemsize
        pages = -(-(high - low) // PAGE)
        memory = mmap.mmap(-1, (pages + 2) * PAGE)
        base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        for page in (base, base + (pages + 1) * PAGE):
            assert _libc.mprotect(page, PAGE, NO_ACCESS) == 0
        self._room = np.frombuffer(memory, np.uint8)[PAGE : (pages + 1) * PAGE]
        self._room[:] = CANARY
        start = (pages * PAGE - (high - low) if self.layout.at_end else 0) - low
        self.array = np.ndarray(shape, dtype, memory, PAGE + start, strides)
        self._elements = np.zeros(pages * PAGE, bool)
        marks = np.ndarray((*shape, dtype.itemsize), bool, self._elements, start, (*strides, 1))
        marks[...] = True
        self.array[...] = self.values

    def is_whole(self) -> bool:
        """Whether all bytes that are no elements are as they were."""
        return bool((self._room[~self._elements] == CANARY).all())
