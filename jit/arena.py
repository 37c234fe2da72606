"""Where flattened kernels live: memory mapped twice, writable at one address, executable at
another.

Two views of one anonymous file keep every page either writable or executable, also while other
threads run the kernels beside the one that is being added; a block's data, if it has any, follows
it on writable pages of its own. Nothing is ever unloaded: plans hold
addresses. Blocks start at page boundaries, which AArch64's page-relative addressing needs.
"""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Callable
from ctypes import CDLL, c_int, c_long, c_size_t, c_void_p, get_errno, memmove

from tensorop.tuples import NamedTuple

_CHUNK = 4 << 20
_PAGE = 4096
_FIXED = 0x10  # MAP_FIXED, which Python does not name


class Linked(NamedTuple):
    """A block that is not leaf code.

    code: whole pages, read-only. size: of all of the block; what is behind the code is writable,
    and zero but for the slots. functions: their offsets. slots: where in the block an address has
    to be written, and which: that of a function of the process, or an offset in the block.
    """

    code: bytes
    size: int
    functions: dict[str, int]
    slots: list[tuple[int, str | int]]


class Arena:
    """Executable memory that only grows."""

    def __init__(self) -> None:
        self._views: list[mmap.mmap] = []
        self._base = 0  # executable address of the current chunk
        self._used = 0
        self._size = 0
        self._process = 0  # that has the chunk to itself

    @staticmethod
    def available() -> bool:
        """Whether this platform can map one file both writable and executable."""
        return sys.platform == "linux" and hasattr(os, "memfd_create")

    def add(self, code: bytes) -> int:
        """Copy a block in; returns its executable address.

        Raises
        ------
        OSError
            The system refuses executable mappings.
        """
        start = self._place(len(code))
        self._views[-1][start : start + len(code)] = code
        return self._base + start

    def add_with_data(self, code: bytes, size: int, data: Callable[[int], bytes]) -> int:
        """Copy a block in of `size` bytes of which those behind the code, which is whole pages,
        are writable and this process' own; `data` says, for the address of the block, what they
        hold.

        Raises
        ------
        OSError
            The system refuses such mappings.
        """
        first, start = len(code), self._place(size)
        self._views[-1][start : start + len(code)] = code
        address = self._base + start
        if size > first:
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _FIXED
            _map(address + first, size - first, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1)
            memmove(address + first, data(address), size - first)
        return address

    def _place(self, size: int) -> int:
        """Where so many bytes begin in the current chunk."""
        if self._process != os.getpid():  # after a fork, parent and child share that
            self._process, self._size, self._used = os.getpid(), 0, 0
        if self._used + size > self._size:
            try:
                self._grow(max(_CHUNK, size))
            except OSError:  # such as of a limit of the size of files, which memory counts as here
                self._grow(size)
        start = self._used
        self._used = -(-(start + size) // _PAGE) * _PAGE
        return start

    def _grow(self, size: int) -> None:
        size = -(-size // _PAGE) * _PAGE
        file = os.memfd_create("tensorop-kernels", os.MFD_CLOEXEC)
        try:
            os.ftruncate(file, size)
            self._views.append(mmap.mmap(file, size, prot=mmap.PROT_READ | mmap.PROT_WRITE))
            protection = mmap.PROT_READ | mmap.PROT_EXEC
            try:
                base = _map(None, size, protection, mmap.MAP_SHARED, file)
            except OSError:
                self._views.pop()
                raise
        finally:
            os.close(file)
        self._base, self._used, self._size = base, 0, size


def _map(address: int | None, size: int, protection: int, flags: int, file: int) -> int:
    """mmap of the C library: Python's own neither takes nor gives addresses."""
    libc = CDLL(None, use_errno=True)
    libc.mmap.restype = c_void_p
    libc.mmap.argtypes = [c_void_p, c_size_t, c_int, c_int, c_int, c_long]
    base = libc.mmap(address, size, protection, flags, file, 0)
    if base in (None, c_void_p(-1).value):
        raise OSError(get_errno(), "cannot map executable memory")
    return int(base)
