"""The order in which n operands are contracted.

In go a `Contraction` and the caller's `optimize`, in any form that numpy.einsum or opt_einsum
takes; out comes a path: groups of positions in the list of operands still to be contracted, each
group's result being appended to the list. For a few operands the search is ours, `path_search.py`,
unless the caller names another; all others are opt_einsum's, imported only when one is needed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from tensorop.contraction import Contraction
from tensorop.jit.guard import importing
from tensorop.optimizer.machine import host_machine

Path = tuple[tuple[int, ...], ...]


def find_path(optimize: Any, contraction: Contraction, dtype: str) -> Path:
    """The path for a contraction.

    optimize: True, None or "auto": what takes least; other names of opt_einsum's algorithms; (name,
    memory limit in elements); False: two at a time in the order given; an explicit path, with or
    without numpy's leading "einsum_path"; or an optimizer, called with the label sets, the output's
    label set, the sizes and the memory limit, as opt_einsum calls it.
    dtype: the back end's name of what all is computed in.

    Raises
    ------
    KeyError
        An unknown name.
    TypeError
        None of the above.
    """
    n = len(contraction.operands)
    explicit = _explicit(optimize)
    if explicit is not None:
        return explicit
    if n <= 2 or optimize is False:
        _check_form(optimize)
        return (tuple(range(n)),)
    if optimize is None or optimize is True or optimize == "auto":
        # Imported here, as opt_einsum is: few calls have more than two operands.
        with importing:
            from tensorop.path_search import MOST, cheapest

        if n <= MOST:
            return cheapest(contraction, dtype, host_machine())
    search, limit = _search(optimize)
    return _integers(search(*_problem(contraction), limit))


def freeze(optimize: Any) -> Any:
    """A hashable form of `optimize`, so that plans can be cached by it; equal ones mean the same.

    Raises
    ------
    TypeError
        It has none of the forms that it may have.
    """
    if not isinstance(optimize, (list, tuple)) or _is_limited(optimize):
        _check_form(optimize)
        return tuple(optimize) if isinstance(optimize, list) else optimize
    head = optimize[:1] if optimize and isinstance(optimize[0], str) else ()
    if head and head[0] != "einsum_path":
        _check_form(optimize)
    return (*head, *_integers(optimize[len(head) :]))


def _explicit(optimize: Any) -> Path | None:
    """The path that `optimize` spells out, if it does."""
    if not isinstance(optimize, (list, tuple)):
        return None
    if optimize and isinstance(optimize[0], str):
        return _integers(optimize[1:]) if optimize[0] == "einsum_path" else None
    return _integers(optimize)


def _integers(path: Sequence[Sequence[int]]) -> Path:
    try:
        return tuple(tuple(operator.index(p) for p in group) for group in path)
    except TypeError:
        raise TypeError(f"a path is a list of tuples of positions, not {path!r}") from None


def _check_form(optimize: Any) -> None:
    named = isinstance(optimize, (str, bool)) or optimize is None or callable(optimize)
    if not named and not _is_limited(optimize):
        raise TypeError(
            f"optimize must be a bool, a name, (name, memory limit), a path or an optimizer, "
            f"not {optimize!r}"
        )


def _is_limited(optimize: Any) -> bool:
    """Whether this is (name, memory limit)."""
    return (
        isinstance(optimize, (list, tuple))
        and len(optimize) == 2
        and isinstance(optimize[0], str)
        and (optimize[1] is None or isinstance(optimize[1], (int, float)))
    )


def _split_limit(optimize: Any) -> tuple[Any, int | None]:
    """`optimize` without its memory limit, and that limit."""
    if not _is_limited(optimize):
        return optimize, None
    name, limit = optimize
    return name, None if limit is None else int(limit)


def is_numpy_form(optimize: Any) -> bool:
    """Whether numpy.einsum_path knows this form of `optimize`."""
    if isinstance(optimize, (list, tuple)) and optimize and optimize[0] == "einsum_path":
        return True
    name, _ = _split_limit(optimize)
    return name is None or isinstance(name, bool) or name in ("greedy", "optimal")


def _search(optimize: Any) -> tuple[Callable[..., Any], int | None]:
    """The path search that `optimize` names, and its memory limit."""
    _check_form(optimize)
    name, limit = _split_limit(optimize)
    if callable(name):
        return name, None
    # Imported here because it would be a good part of the package's import time.
    with importing:
        from opt_einsum.paths import get_path_fn

    return get_path_fn("auto" if name is True or name is None else name), limit


def _problem(
    contraction: Contraction,
) -> tuple[list[frozenset[str]], frozenset[str], dict[str, int]]:
    """The contraction as opt_einsum's path searches take it."""
    with importing:
        from opt_einsum.parser import get_symbol

    symbols = [get_symbol(i) for i in range(len(contraction.sizes))]
    inputs = [frozenset(symbols[label] for label in term) for term in contraction.operands]
    output = frozenset(symbols[label] for label in contraction.output)
    return inputs, output, dict(zip(symbols, contraction.sizes, strict=True))
