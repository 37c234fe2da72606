"""The short way of calls that were seen before.

    result = warm.run((key, a, b), out)     # or (key, a); None: not known
    result = warm.run((key, a, b), out, alpha, beta)

`key` is what says which contraction it is, compared by identity: a spec (`key_of`), an object that
stands for it and some keywords (`key_with`), or one of a plan's own. Until `known.py` has been
loaded, with the first plan, nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

REMEMBERED = 4096  # specs, and combinations of keywords
_INTEGERS = frozenset({int})
_CONSTANTS = frozenset({str, bool, int, type(None)})


def _nothing(operands: tuple[Any, ...], out: Any, alpha: Any = 1, beta: Any = 0) -> Any:
    return None


run: Callable[..., Any] = _nothing


def install(known: Callable[..., Any]) -> None:
    """From now on ask `known`."""
    global run
    run = known


class _Text:
    """A spec that is a string. The first object that says so is the key of calls by all others,
    which may be made for one call each; but one that comes twice running is a key itself, as a
    caller's constant is."""

    __slots__ = ("first", "last")

    def __init__(self, spec: str) -> None:
        self.first = self.last = spec

    def key(self, spec: str) -> str:
        """The object by which a call is known."""
        if spec is self.last:
            return spec
        self.last = spec
        return self.first


_text = lru_cache(maxsize=REMEMBERED)(_Text)


def key_of(spec: str) -> str:
    """By what calls of a spec without keywords are known."""
    return _text(spec).key(spec)


def key_with(spec: str, dtype: Any, conj: Any, *named: Any) -> object:
    """By what calls of a spec with such keywords are known; None where these are not all
    constants of which equal ones mean the same: a path, an optimizer, which may hold state."""
    kinds = {*map(type, named)}
    fixed = isinstance(dtype, (str, type, np.dtype)) or dtype is None
    if not fixed or type(conj) is not tuple or {*map(type, conj)} - _INTEGERS or kinds - _CONSTANTS:
        return None
    return _keys(spec, dtype, conj, *named)


@lru_cache(maxsize=REMEMBERED, typed=True)
def _keys(*named: object) -> object:
    return object()
