"""Where flattened kernels live: memory mapped twice, writable at one address, executable at
another.

Two views of one anonymous file keep every page either writable or executable, also while other
threads run the kernels beside the one that is being added. Nothing is ever unloaded: plans hold
addresses. Blocks start at page boundaries, which AArch64's page-relative addressing needs.
"""

from __future__ import annotations

import mmap
import os
import sys
from ctypes import CDLL, c_int, c_long, c_size_t, c_void_p, get_errno

_CHUNK = 4 << 20
_PAGE = 4096


class Arena:
    """Executable memory that only grows."""

    def __init__(self) -> None:
        self._views: list[mmap.mmap] = []
        self._base = 0  # executable address of the current chunk
        self._used = 0
        self._size = 0

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
        if self._used + len(code) > self._size:
            self._grow(max(_CHUNK, len(code)))
        start = self._used
        self._views[-1][start : start + len(code)] = code
        self._used = -(-(start + len(code)) // _PAGE) * _PAGE
        return self._base + start

    def abandon(self) -> None:
        """Start a new chunk with the next block: after a fork, parent and child share this one."""
        self._size = self._used = 0

    def _grow(self, size: int) -> None:
        size = -(-size // _PAGE) * _PAGE
        file = os.memfd_create("tensorop-kernels", os.MFD_CLOEXEC)
        try:
            os.ftruncate(file, size)
            self._views.append(mmap.mmap(file, size, prot=mmap.PROT_READ | mmap.PROT_WRITE))
            libc = CDLL(None, use_errno=True)
            libc.mmap.restype = c_void_p
            libc.mmap.argtypes = [c_void_p, c_size_t, c_int, c_int, c_int, c_long]
            protection = mmap.PROT_READ | mmap.PROT_EXEC
            base = libc.mmap(None, size, protection, mmap.MAP_SHARED, file, 0)
        finally:
            os.close(file)
        if base in (None, c_void_p(-1).value):
            self._views.pop()
            raise OSError(get_errno(), "cannot map executable memory")
        self._base, self._used, self._size = base, 0, size
