"""How many threads a contraction uses.

In order of precedence: the innermost `with threads(n):` of the current context, the last
`set_num_threads(n)`, the environment variables TENSOROP_NUM_THREADS and OMP_NUM_THREADS as they
were when the number was first asked for, and the CPUs this process may use: its affinity, cut by
the CPU quota of its control group (what a container may spend).

The number is part of a plan: it decides into how many shares the work is divided. So the same
number gives the same bits, however many threads are free to help at the moment.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from contextvars import ContextVar

from tensorop.config import NUM_THREADS, OMP_NUM_THREADS, Setting
from tensorop.limits import available_cpus

MOST = 1024  # threads: who asks for more gets so many

scoped: ContextVar[int | None] = ContextVar("tensorop threads", default=None)


class _Process:
    """The number for the whole process."""

    def __init__(self) -> None:
        self.chosen: int | None = None
        self._default: int | None = None

    def get(self) -> int:
        if self.chosen is None and self._default is None:
            self._default = at_most(NUM_THREADS.value or OMP_NUM_THREADS.value or available_cpus())
        return self.chosen or self._default or 1


_process = _Process()
_followers: list[Callable[[int], None]] = []


def get_num_threads() -> int:
    """The number of threads that a contraction started here and now uses.

    Raises
    ------
    ValueError
        TENSOROP_NUM_THREADS or OMP_NUM_THREADS is no positive number.

    Examples
    --------
    >>> with threads(2):
    ...     get_num_threads()
    2
    """
    return scoped.get() or _process.get()


def set_num_threads(n: int) -> None:
    """Set the number of threads for the whole process; blocks under `threads` keep theirs.

    Parameters
    ----------
    n : int
        At least 1, the calling thread included. More than there are CPUs is allowed, and slow.

    Raises
    ------
    TypeError, ValueError
        n is no integer, or less than 1.

    Examples
    --------
    >>> before = get_num_threads()
    >>> set_num_threads(2)
    >>> get_num_threads()
    2
    >>> set_num_threads(before)
    """
    _process.chosen = checked(n)
    for tell in _followers:
        tell(_process.chosen)


def follow(tell: Callable[[int], None]) -> None:
    """Have the number for the whole process told: now, and whenever it is set."""
    _followers.append(tell)
    tell(_process.get())


def threads(n: int) -> Setting[int | None]:
    """Use n threads within a `with` block, or within a function that is decorated with it.

    Holds for the current thread (and asyncio task) only.

    Raises
    ------
    TypeError, ValueError
        n is no integer, or less than 1.

    Examples
    --------
    >>> with threads(1):
    ...     get_num_threads()
    1
    """
    return Setting(scoped, checked(n))


def checked(n: int) -> int:
    """A number of threads as it is used.

    Raises
    ------
    TypeError, ValueError
        n is no integer, or less than 1.
    """
    try:
        count = operator.index(n)
    except TypeError:
        raise TypeError(f"a number of threads is an integer, not {n!r}") from None
    if isinstance(n, bool):
        raise TypeError(f"a number of threads is an integer, not {n!r}")
    if count < 1:
        raise ValueError(f"{count} threads: at least 1 is needed, the calling thread")
    return at_most(count)


def at_most(count: int) -> int:
    """A number of threads, or the largest that there may be."""
    return min(count, MOST)
