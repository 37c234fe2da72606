"""The cache of decided calls: from a spec and layouts to a `Call`.

`call_for` takes the layouts of all operands. In front of it, `contiguous_call` serves what most
warm calls are, two C-contiguous arrays and no keyword, by shapes and dtypes alone: looking at
strides and alignment takes as long as multiplying two small matrices. Both are bounded, least
recently used first out, under the lock of `functools.lru_cache`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from tensorop import plans
from tensorop.call import Call
from tensorop.config import THREE_M, TUNE
from tensorop.contraction import resolved
from tensorop.dtypes import DType
from tensorop.layout import packed
from tensorop.program import Layout, Options, View, decide, view_of
from tensorop.spec import Spec, parse
from tensorop.tuples import NamedTuple

CACHED = 8192  # calls
DEFAULT: tuple[Any, ...] = tuple(Options())

Shape = tuple[int, ...]


class CacheInfo(NamedTuple):
    """As `functools.lru_cache` gives it."""

    hits: int
    misses: int
    maxsize: int | None
    currsize: int


@lru_cache(maxsize=CACHED)
def call_for(
    spec: str | Spec,
    layouts: tuple[Layout, ...],
    out: Layout | None,
    options: tuple[Any, ...],
    threads: int | None,
) -> Call:
    """The call for operands of these layouts."""
    parsed = parse(spec) if isinstance(spec, str) else spec
    if plans.are_too_many():
        cache_clear()
    decided = Options(*options)
    program = decide(parsed, layouts, out, decided, plans.preferred_order, plans.multiplies_bytes)
    tune = TUNE.value if decided.tune is None else decided.tune
    three_m = THREE_M.value if decided.three_m is None else decided.three_m
    return Call(program, threads, bool(tune), bool(three_m))


@lru_cache(maxsize=CACHED)
def contiguous_call(
    spec: str,
    shape0: Shape,
    dtype0: DType,
    shape1: Shape,
    dtype1: DType,
    options: tuple[Any, ...] = DEFAULT,
) -> Call:
    """The call for two arrays whose flag `carray` is set, without `out`."""
    layouts = contiguous(shape0, dtype0), contiguous(shape1, dtype1)
    return call_for(spec, layouts, None, options, None)


@lru_cache(maxsize=CACHED)
def view_for(spec: str, shape: Shape, kind: str) -> View | None:
    """The view that is the result of a call of one operand, of a kind of dtype, if it is one."""
    return view_of(resolved(parse(spec), (shape,), None), kind)


def contiguous(shape: Shape, dtype: DType) -> Layout:
    """The layout of an array in C order."""
    return shape, packed(range(len(shape))[::-1], shape, dtype.itemsize), dtype, True


def cache_info() -> CacheInfo:
    """Hits, misses, bound and size of the cache of plans. Calls of few operands that come again and
    again are known to generated code (`warm.py`), which does not count them.

    Examples
    --------
    >>> cache_info().maxsize
    8192
    """
    front, calls = contiguous_call.cache_info(), call_for.cache_info()
    return CacheInfo(front.hits + calls.hits, calls.misses, calls.maxsize, calls.currsize)


def cache_clear() -> None:
    """Forget all calls, and the plans that they run."""
    contiguous_call.cache_clear()
    view_for.cache_clear()
    call_for.cache_clear()
    plans.cache_clear()
