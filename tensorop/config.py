"""The settings of the library that come from the environment: one small object each.

A `Flag` is an environment variable, a context manager and a decorator at once:

    TENSOROP_DEBUG=2 python script.py       # for the whole process
    with DEBUG(2): ...                      # for a block
    @DEBUG(2)                               # for a function

Its `value` is that of the innermost `with` of the current context (so a block in one Python thread
does not leak into another), else that of the environment variable, read anew each time, else the
default. A value that makes no sense raises an error that names the variable and what it takes.
`docs/environment.md` is the same table for readers; a test compares the two.

Like `ir.py` this is ground floor: it imports nothing of ours.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ContextDecorator
from contextvars import ContextVar, Token
from typing import Generic, TypeVar

T = TypeVar("T")
_NONE = object()  # no override: None may be one


class Flag(Generic[T]):
    """One setting.

    name: the environment variable. parse: text -> value, ValueError where the text makes no sense.
    takes: what it takes, in words, for the error message and the documentation.

    >>> with DEBUG(1):
    ...     DEBUG.value
    1
    """

    def __init__(self, name: str, default: T, parse: Callable[[str], T], takes: str) -> None:
        self.name = name
        self.default = default
        self.takes = takes
        self._parse = parse
        self._override: ContextVar[T] = ContextVar(name)

    @property
    def value(self) -> T:
        """The value in force here and now."""
        override = self._override.get(_NONE)
        if override is not _NONE:
            return override  # type: ignore[return-value]
        text = os.environ.get(self.name, "").strip()
        return self.parse(text) if text else self.default

    def parse(self, text: str) -> T:
        """The value that a text stands for; ValueError that names the variable."""
        try:
            return self._parse(text)
        except ValueError:
            raise ValueError(f"{self.name}={text!r}: it takes {self.takes}") from None

    def __call__(self, value: T) -> Setting[T]:
        """A context manager and decorator under which `value` holds."""
        if value is None and self.default is None:
            return Setting(self._override, value)
        text = str(int(value) if isinstance(value, bool) else value)
        return Setting(self._override, self.parse(text))

    def __repr__(self) -> str:
        return f"Flag({self.name}={self.value!r})"


class OfProcess(Flag[T]):
    """A setting of the whole process, since what was made under it is kept; instead: what a block
    or a call has in its place."""

    def __init__(
        self, name: str, default: T, parse: Callable[[str], T], takes: str, instead: str
    ) -> None:
        super().__init__(name, default, parse, takes)
        self._instead = instead

    def __call__(self, value: T) -> Setting[T]:
        raise TypeError(f"{self.name} is for all of a process: {self._instead}")


class Setting(ContextDecorator, Generic[T]):
    """A value of a context variable, to be entered with `with` or put on a function."""

    def __init__(self, variable: ContextVar[T], value: T) -> None:
        self._variable = variable
        self._value = value
        self._tokens: list[Token[T]] = []

    def _recreate_cm(self) -> Setting[T]:
        # A decorated function may run in several threads: each call enters an object of its own.
        return Setting(self._variable, self._value)

    def __enter__(self) -> T:
        self._tokens.append(self._variable.set(self._value))
        return self._value

    def __exit__(self, *exc: object) -> None:
        self._variable.reset(self._tokens.pop())


def _one_of(*names: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in names:
            raise ValueError(text)
        return text

    return parse


def _between(low: int, high: int | None = None) -> Callable[[str], int]:
    def parse(text: str) -> int:
        number = int(text)
        if number < low or (high is not None and number > high):
            raise ValueError(text)
        return number

    return parse


def _first_positive(text: str) -> int:
    # OpenMP's variable may be a list, one entry a nesting level: the first is ours.
    return _between(1)(text.split(",")[0])


TARGET: Flag[str | None] = OfProcess(
    "TENSOROP_TARGET",
    None,
    _one_of("avx512", "avx2", "neon", "generic"),
    "avx512, avx2, neon or generic",
    "set it before the first call",
)
_BLOCK = "in code use tensorop.threads(n)"
NUM_THREADS: Flag[int | None] = OfProcess(
    "TENSOROP_NUM_THREADS", None, _between(1), "a positive number", _BLOCK
)
OMP_NUM_THREADS: Flag[int | None] = OfProcess(
    "OMP_NUM_THREADS",
    None,
    _first_positive,
    "a positive number (of a list, the first counts)",
    _BLOCK,
)
DEBUG: Flag[int] = Flag("TENSOROP_DEBUG", 0, _between(0, 4), "a number from 0 to 4")
CACHE_DIR: Flag[str | None] = Flag("TENSOROP_CACHE_DIR", None, str, "a folder")
CACHE: Flag[int] = Flag("TENSOROP_CACHE", 1, _between(0, 1), "0 or 1")
TUNE: Flag[int] = OfProcess("TENSOROP_TUNE", 0, _between(0, 1), "0 or 1", "in code pass tune=True")
THREE_M: Flag[int] = OfProcess(
    "TENSOROP_3M", 0, _between(0, 1), "0 or 1", "in code pass three_m=True"
)
POOL: Flag[int | None] = Flag("TENSOROP_POOL", None, _between(0), "a number of MiB, or 0")

FLAGS = (TARGET, NUM_THREADS, OMP_NUM_THREADS, DEBUG, POOL, TUNE, THREE_M, CACHE, CACHE_DIR)
