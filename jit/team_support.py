"""Whether there is a thread team, and what its code (`jit/team.py`) calls."""

from __future__ import annotations

import ctypes
import platform
import sys

FROM_DRIVER = ["driver.share", "driver.poll", "system.clock"]  # what it calls of the driver
FUTEX = {"x86_64": 202, "aarch64": 98}  # the number of the system call
_NEEDED = (
    "syscall",
    "pthread_create",
    "pthread_detach",
    "pthread_setaffinity_np",
    "pthread_sigmask",
    "sched_getaffinity",
    "sched_getcpu",
    "sigfillset",
)


class TeamCode:
    """Words of the team by which the driver finds its code."""

    ACQUIRE = 52
    REGION = 53


def supported() -> bool:
    """Whether this platform has a team."""
    return (
        sys.platform == "linux"
        and platform.machine() in FUTEX
        and all(in_process(name) for name in _NEEDED)
    )


def in_process(name: str) -> bool:
    """Whether generated code can call a function of the C library."""
    try:
        return hasattr(ctypes.CDLL(None), name)
    except (OSError, TypeError):  # Windows has no name space of the whole process
        return False
