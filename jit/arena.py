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


class _Chunk(NamedTuple):
    """Memory that blocks are put in: the writable view, and the executable address; its bytes, and
    how many are taken; the process that has it to itself."""

    view: mmap.mmap
    base: int
    size: int
    used: int
    process: int

    def has(self, size: int) -> bool:
        """Whether so many bytes are free for this process: after a fork, parent and child share
        what there was."""
        return self.used + size <= self.size and self.process == os.getpid()


class Arena:
    """Executable memory that only grows.

    Where an interrupt falls does not matter: the current chunk is taken out of the arena and put
    back with a place less, each in one step. A signal handler in between begins a chunk of its own.
    """

    def __init__(self) -> None:
        self._chunks: list[_Chunk] = []  # the current one is the last

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
        chunk = self._place(len(code))
        chunk.view[chunk.used : chunk.used + len(code)] = code
        return chunk.base + chunk.used

    def add_with_data(self, code: bytes, size: int, data: Callable[[int], bytes]) -> int:
        """Copy a block in of `size` bytes of which those behind the code, which is whole pages,
        are writable and this process' own; `data` says, for the address of the block, what they
        hold.

        Raises
        ------
        OSError
            The system refuses such mappings.
        """
        first, chunk = len(code), self._place(size)
        chunk.view[chunk.used : chunk.used + first] = code
        address = chunk.base + chunk.used
        if size > first:
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _FIXED
            _map(address + first, size - first, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1)
            memmove(address + first, data(address), size - first)
        return address

    def _place(self, size: int) -> _Chunk:
        """The chunk in which so many bytes are free, at its end so far, and belong to the caller
        from now on."""
        chunk = self._chunks.pop() if self._chunks else None
        if chunk is None or not chunk.has(size):
            try:
                chunk = _chunk(max(_CHUNK, size))
            except OSError:  # such as of a limit of the size of files, which memory counts as here
                chunk = _chunk(size)
        self._chunks.append(chunk._replace(used=-(-(chunk.used + size) // _PAGE) * _PAGE))
        return chunk


def _chunk(size: int) -> _Chunk:
    size = -(-size // _PAGE) * _PAGE
    file = os.memfd_create("tensorop-kernels", os.MFD_CLOEXEC)
    try:
        os.ftruncate(file, size)
        view = mmap.mmap(file, size, prot=mmap.PROT_READ | mmap.PROT_WRITE)
        base = _map(None, size, mmap.PROT_READ | mmap.PROT_EXEC, mmap.MAP_SHARED, file)
    finally:
        os.close(file)
    return _Chunk(view, base, size, 0, os.getpid())


def _map(address: int | None, size: int, protection: int, flags: int, file: int) -> int:
    """mmap of the C library: Python's own neither takes nor gives addresses."""
    libc = CDLL(None, use_errno=True)
    libc.mmap.restype = c_void_p
    libc.mmap.argtypes = [c_void_p, c_size_t, c_int, c_int, c_int, c_long]
    base = libc.mmap(address, size, protection, flags, file, 0)
    if base in (None, c_void_p(-1).value):
        raise OSError(get_errno(), "cannot map executable memory")
    return int(base)
