"""The locks under which code is compiled and loaded, and what a fork means to them.

A forked child has none of the other threads, so it must not inherit a lock that one of them holds:
before a fork, all of these are taken. Who takes two of them takes them in this order:

    machine_lock    while the driver is waited for
    lock            while kernels are compiled, and code is loaded
    importing       while modules are imported late
    others          that are held for moments (`take_too`)

Python's own locks of modules are not taken by a fork: a child would wait for ever for a module that
another thread was importing. So what is not imported with the package is imported under
`importing`. No module takes a lock of ours while it is imported.
"""

from __future__ import annotations

import os
import threading
from operator import methodcaller
from typing import Any

machine_lock, lock, importing = threading.RLock(), threading.RLock(), threading.RLock()
_locks: list[Any] = []
_acquire = methodcaller("acquire")


def take_too(inner: Any) -> None:
    """Take another lock, too, of which no holder waits for those that came before."""
    _locks.append(inner)
    if hasattr(os, "register_at_fork"):
        # Its own method: no signal handler can come between and raise, as it can in Python's code.
        os.register_at_fork(after_in_parent=inner.release, after_in_child=inner.release)


def _before() -> None:
    taken: list[bool] = []
    interrupts: list[BaseException] = []
    while len(taken) < len(_locks):  # who holds the last one may have added another
        try:
            # In C, so that what a signal handler raises meanwhile leaves in the list what is taken.
            taken.extend(map(_acquire, _locks[len(taken) :]))
        except BaseException as interrupt:  # Python reports it, and forks nevertheless
            interrupts.append(interrupt)
    if interrupts:
        raise interrupts[0]


for _lock in (machine_lock, lock, importing):
    take_too(_lock)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before)
