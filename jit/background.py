"""Work on a thread of its own, beside that of the caller.

LLVM's work needs no GIL, so that one thread can compile while another imports and plans what the
code is for. A `Task` is begun where its result will be wanted soon, or perhaps.

The interpreter waits for such threads before it ends, whoever began them, and there are no more
after that: LLVM must not be at work while the process is taken apart. Who asks for the result of
what failed does the work again, and gets the error: so does a forked child, which has none of the
threads, and whoever asks where no thread can be had.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Generic, TypeVar

from tensorop.config import CACHE_DIR

_T = TypeVar("_T")
_LOOK_EVERY = 0.1  # seconds
MOMENT = 0.005  # seconds; Python threads take turns of so many


class Task(Generic[_T]):
    """Work that is under way.

    Parameters
    ----------
    work : callable
    delay : float
        Seconds after which it begins, so that it takes no turns of the GIL with what the caller is
        about to finish.
    """

    def __init__(self, work: Callable[[], _T], delay: float = 0) -> None:
        self._work = work
        self._results: list[_T] = []
        run = copy_context().run  # under the caller's settings, wherever the process goes meanwhile
        if CACHE_DIR.value:
            run(CACHE_DIR(os.path.abspath(CACHE_DIR.value)).__enter__)
        self._thread: threading.Thread | None = None
        if not threading.main_thread().is_alive():  # the interpreter has waited for all threads
            return
        thread = threading.Timer(delay, run, (self._run,))
        thread.daemon = False  # although the caller's may be one
        with contextlib.suppress(RuntimeError):  # there may be no more
            thread.start()
            self._thread = thread

    def _run(self) -> None:
        try:
            self._results.append(self._work())
        except Exception:
            return  # see `result`

    @property
    def is_under_way(self) -> bool:
        """Whether its thread is at work, or going to be: none is in a forked child."""
        return self._thread is not None and self._thread.is_alive()

    def result(self) -> _T:
        """What the work gave, waited for.

        Raises
        ------
        Exception
            What the work raises.
        """
        thread = self._thread
        while thread is not None and thread.is_alive():  # as it is not in a forked child, which
            thread.join(_LOOK_EVERY)  # a signal handler may have made in here
        return self._results[0] if self._results else self._work()
