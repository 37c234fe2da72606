"""The functions that run calls seen before (`jit/warm_code.py`), as they become available.

No first call needs them, and they take as long to compile as all else that it does need. What is on
disk is loaded at once; else they are compiled on another thread, and never waited for: until they
are there, all calls go through Python.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from _cffi_backend import FFI

from tensorop.jit import background, builtin
from tensorop.jit.background import Task
from tensorop.jit.front import OWN_AT, stand_before
from tensorop.jit.guard import importing, lock
from tensorop.jit.library import Block
from tensorop.jit.target import current_target
from tensorop.jit.warm import FROM_ENTRIES, FUNCTIONS
from tensorop.tuples import NamedTuple

_WARM = (
    "warm($module, operands, out, alpha=1, beta=0, /)\n--\n\n"
    "Run a call that was seen before, else return None."
)


class Warm(NamedTuple):
    """The function that runs calls it has seen before, the address of its table, and what fills a
    word of `builtin.Foreign`."""

    run: Callable[..., Any]
    table: int
    tell: Callable[[int, int], None]


class WarmEntry:
    """Loads the functions, or compiles them in the background.

    functions: of the process, that they call. at: addresses of the driver's functions.
    """

    def __init__(self, functions: Mapping[str, int], at: Mapping[str, int]) -> None:
        self._outside = {**functions, **{name: at[name] for name in FROM_ENTRIES}}
        for name in ("foreign", "main_thread"):
            self._outside[name] = word(at[f"entry.{name}"])
        self._block = Block(
            _module,
            current_target(),
            f"warm for {sys.version} {object.__basicsize__} {np.__version__}",
        )
        self._loaded: Warm | None = None
        self._task: Task[None] | None = None
        self._process = 0  # that compiles them; a forked child has to begin again
        self._waiting: list[Callable[[], None]] = []

    def get(self) -> Warm | None:
        """What is loaded; None while there is nothing."""
        if self._loaded is None:
            self.begin()
        return self._loaded

    def begin(self) -> None:
        """Load the functions, or begin to compile them."""
        with lock:
            if self._loaded is not None or self._process == os.getpid():
                return
            kept = self._block.kept()
            if kept is not None:
                self._load(kept)
            else:
                self._process = os.getpid()
                self._task = Task(self._compile, background.MOMENT)

    def wait(self) -> None:
        """Wait until they are there."""
        self.begin()
        if self._loaded is None and self._task is not None:
            self._task.result()

    def when_loaded(self, action: Callable[[], None]) -> None:
        """Do something as soon as they are there."""
        with lock:
            if self._loaded is None:
                self._waiting.append(action)
                return
        action()

    def _compile(self) -> None:
        self._load(self._block.compiled())

    def _load(self, content: bytes) -> None:
        with lock:
            at = self._block.load(content, FUNCTIONS, self._outside)
            tell = partial(builtin.tell, self._outside["foreign"])
            run = builtin.make("warm", at["entry.warm"], _WARM)
            tell(builtin.Foreign.FUNCTION_AT, OWN_AT)
            tell(builtin.Foreign.PLAN, at["warm.plan"])
            stand_before(at["entry.function"])
            self._loaded = Warm(run, word(at["entry.warm_table"]), tell)
            waiting, self._waiting = self._waiting, []
        for action in waiting:
            action()


def _module() -> Any:
    # Imported when it has to be compiled: see `jit/library.py`.
    with importing:
        from tensorop.jit.warm_code import warm_module

    return warm_module(current_target())


def word(function: int) -> int:
    """What a function of no arguments, at an address, returns."""
    return int(FFI().cast("intptr_t(*)(void)", function)())
