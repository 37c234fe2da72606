"""The lock under which code is compiled and loaded, and what a fork means to it.

A forked child has none of the other threads, so it must not inherit a lock that one of them holds:
before a fork, this lock and those that are taken inside it are taken.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

lock = threading.RLock()
_inside: list[Any] = []
_in_child: list[Callable[[], None]] = []
_taken: tuple[Any, ...] = ()


def take_too(inner: Any) -> None:
    """Take another lock, too, of which no holder waits for this one."""
    _inside.append(inner)


def run_in_child(action: Callable[[], None]) -> None:
    """Do something first in every forked child."""
    _in_child.append(action)


def _before() -> None:
    global _taken
    lock.acquire()
    taken: list[Any] = []
    while len(taken) < len(_inside):  # who holds the last one may have added another
        _inside[len(taken)].acquire()
        taken.append(_inside[len(taken)])
    _taken = tuple(taken)


def _after() -> None:
    for inner in reversed(_taken):
        inner.release()
    lock.release()


def _after_in_child() -> None:
    for action in _in_child:
        action()
    _after()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)
