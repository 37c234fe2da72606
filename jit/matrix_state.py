"""Leave to use the registers that hold matrices (AMX).

Linux gives it to a process that asks, for all its threads and the children it forks: what is in
these registers, 8 KiB, has to fit on the stack of every signal handler, and does not where an
alternative stack for them is smaller.

Source: Linux kernel documentation, "Using XSTATE features in user space applications" (x86/xstate).
"""

from __future__ import annotations

import sys
from ctypes import CDLL, c_long

_ARCH_PRCTL = 158  # the system call, on x86-64
_REQUEST = 0x1023  # ARCH_REQ_XCOMP_PERM
_TILE_DATA = 18  # the state component


def may_use_matrices() -> bool:
    """Ask for it; whether this process has it."""
    if not sys.platform.startswith("linux"):
        return False
    libc = CDLL(None)
    libc.syscall.restype = c_long
    asked: int = libc.syscall(c_long(_ARCH_PRCTL), c_long(_REQUEST), c_long(_TILE_DATA))
    return asked == 0
