"""`einsum`: numpy's function, run by generated kernels.

A call reads the spec and the layouts of its operands (shape, strides, dtype, alignment), looks up
the `Call` that was decided for them, and runs it. Deciding is pure and cached (`cache_info`,
`cache_clear`); a warm call is one look-up, one allocation and one call of the back end. The cache
is bounded, least recently used first out, and its lock is that of `functools.lru_cache`.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorop import warm
from tensorop.call import Call, scalars
from tensorop.calls import cache_clear, cache_info, call_for, contiguous_call, view_for
from tensorop.dtypes import dtype_of
from tensorop.errors import EinsumError
from tensorop.jit.front import front
from tensorop.path import freeze
from tensorop.program import Array, Layout, Options, check_options
from tensorop.spec import Spec, parse_lists, sublist
from tensorop.threads import checked

__all__ = ["arguments", "cache_clear", "cache_info", "call_for", "contract", "einsum", "layout_of"]

ndarray = np.ndarray
_DEFAULTS = Options()
_INTEGERS = frozenset({int})
_SAFE, _K, _AUTO, _NONE, _ONE, _ZERO = "safe", "K", "auto", (), 1, 0  # the defaults


@front()
def einsum(
    *operands: Any,
    out: Array | None = None,
    dtype: Any = None,
    casting: Any = "safe",
    order: str = "K",
    optimize: Any = "auto",
    alpha: Any = 1,
    beta: Any = 0,
    conj: Sequence[int] = (),
    threads: int | None = None,
    tune: bool | None = None,
    three_m: bool | None = None,
) -> Any:
    """Evaluate an Einstein sum: `einsum(spec, *operands)`, or operands and sublists in turn.

    Behaves as `numpy.einsum` does, in every argument that the two share.

    Parameters
    ----------
    spec : str
        Labels of the operands, separated by commas, then `->` and the labels of the result. Any
        character but white space and `, - > .` is a label. Without `->` the result has the labels
        that occur once, in the alphabet's order. `...` stands for further dimensions, which
        broadcast. Sublist form: `einsum(a, [0, 1], b, [1, 2], [0, 2])`, with any non-negative
        integers and `Ellipsis`.
    *operands : array_like
        The arrays, anything that has `__array__`, lists and numbers.
    out : ndarray, optional
        Where the result goes. It takes part in the compute dtype, and may overlap the operands.
    dtype : dtype, optional
        The dtype to compute in, instead of the promotion of all operands and `out`.
    casting : {'no', 'equiv', 'safe', 'same_kind', 'unsafe'}
        Which casts are allowed.
    order : {'C', 'F', 'A', 'K'}
        Memory layout of the result. 'K' is numpy's layout, or, for products of some thousand
        multiplications or more that run clearly faster so, another one (C order, that of an
        operand, or one in between), unless `optimize` is False.
    optimize : bool, str, tuple, path or optimizer
        The order of contraction of three and more operands: what numpy and opt_einsum take. "auto",
        True: of up to eight, what takes least arithmetic and memory, of more, what opt_einsum says.
        False: two at a time in the order given.
    alpha, beta : scalar
        The result is `alpha * sum + beta * out`. With beta 0 what `out` holds is not read; with
        alpha 0 the operands are, so that their NaN and infinities come through.
    conj : sequence of int
        Positions of operands to conjugate, without a copy.
    threads : int, optional
        How many threads share the work.
    tune : bool, optional
        Search for the fastest schedule of this contraction by timing it, which takes some seconds
        the first time on a machine, and use what was found from then on. None: as TENSOROP_TUNE
        says, usually not.
    three_m : bool, optional
        Multiply large complex matrices by three real products instead of four. It is faster, and
        less accurate where real and imaginary parts differ in size: an error may be c k eps times
        the sum of (|Ar| + |Ai|)(|Br| + |Bi|) in either. None: as TENSOROP_3M says, usually not.

    Returns
    -------
    ndarray
        `out`, or a new array, or a scalar where it has no dimensions; a writeable view where one
        operand is only permuted, or its diagonal taken.

    Raises
    ------
    EinsumError
        A ValueError: the spec is malformed, sizes disagree, or there is a beta but no `out`. It
        points at the fault.
    ValueError
        `out` is read-only, or `threads` less than 1.
    TypeError
        An operand's dtype cannot be computed, or not be cast under `casting`; or an operand is an
        array with a mask, or of a class that says itself what numpy's functions do.

    Examples
    --------
    >>> import numpy as np
    >>> q, k = np.ones((2, 5, 4, 8)), np.ones((2, 6, 4, 8))
    >>> einsum("bqhd,bkhd->bhqk", q, k).shape
    (2, 4, 5, 6)
    >>> einsum("ij,jk->ik", [[1, 2]], [[3], [4]])
    array([[11]])
    """
    # The usual call has no keyword, or `out`, alpha and beta. Identity is asked first: an array may
    # stand there. A default that comes as another object takes the longer way to the same result.
    usual = (
        dtype is None
        and threads is None
        and tune is None
        and three_m is None
        and casting is _SAFE
        and order is _K
        and (optimize is _AUTO or optimize is True)  # which mean the same
        and conj is _NONE
    )
    if usual and alpha is _ONE and beta is _ZERO:
        result = warm.run(operands, out)
        return _unknown(operands, out) if result is None else result
    given = operands[0] if operands else None
    key: object = None
    if type(given) is str:
        named = (casting, order, optimize, threads, tune, three_m)
        key = warm.key_of(given) if usual else warm.key_with(given, dtype, conj, *named)
        result = warm.run((key, *operands[1:]), out, alpha, beta)
        if result is not None:
            return result
    spec, arrays = arguments(operands)
    scaled = not (type(alpha) is int and alpha == 1)
    optimize = _AUTO if optimize is True else optimize
    kind = None if dtype is None else dtype_of(dtype)
    chosen = positions(conj)
    full = Options(
        kind, casting, order, freeze(optimize), chosen, scaled, tune=tune, three_m=three_m
    )
    return contract(spec, arrays, out, full, alpha, beta, threads, key)


def _unknown(operands: tuple[Any, ...], out: Array | None) -> Any:
    """A call without keywords that generated code does not know, or not yet."""
    given = operands[0] if operands else None
    key: object = None
    if type(given) is str:
        key = warm.key_of(given)
        if key is not given:
            result = warm.run((key, *operands[1:]), out)
            if result is not None:
                return result
        if len(operands) == 3:
            _, a, b = operands
            if type(a) is type(b) is ndarray:
                if out is not None or not (a.flags.carray and b.flags.carray):
                    return contract(given, (a, b), out, _DEFAULTS, key=key)
                call = contiguous_call(given, a.shape, a.dtype, b.shape, b.dtype)
                result = call.pair(a, b)
                call.learn(key, (a, b), None)
                return result
        elif len(operands) == 2 and out is None and type(a := operands[1]) is ndarray:
            view = view_for(given, a.shape, a.dtype.kind)
            if view is not None:
                return view.apply(a)
    spec, arrays = arguments(operands)
    key = spec if key is None else key  # of sublists, which are the same object each time
    result = warm.run((key, *arrays), out)  # of what are arrays now
    return contract(spec, arrays, out, _DEFAULTS, key=key) if result is None else result


def contract(
    spec: str | Spec,
    arrays: Sequence[Array],
    out: Array | None,
    options: Options,
    alpha: Any = 1,
    beta: Any = 0,
    threads: int | None = None,
    key: Any = None,
) -> Any:
    """`einsum` with its arguments read: for the functions that are einsums of some spec.

    key: what the short way (`warm.py`) may know the call by.
    """
    if threads is not None:
        threads = checked(threads)
    target, layout = None, None
    if out is not None:
        target = _writeable(out)
        layout = layout_of(target)
        if _overlaps(target, arrays):
            options = options._replace(through=True)
    # An optimizer object may hold state: it is asked each time.
    lookup = call_for.__wrapped__ if callable(options.optimize) else call_for
    layouts = tuple(map(layout_of, arrays))
    try:
        call: Call = lookup(spec, layouts, layout, options, threads)
    except TypeError:
        check_options(options)  # no cache takes a list, which is no order, either
        raise
    first, second = scalars(call, out, alpha, beta, options.casting)
    result = call.run(arrays, target, first, second)
    if key is not None:
        call.learn(key, arrays, target, options.scaled)
    return result if out is None else out


def _overlaps(out: Array, arrays: Sequence[Array]) -> bool:
    for array in arrays:
        # One unit of work settles interleaved views, which bounds alone take for overlapping.
        if np.may_share_memory(out, array) and np.may_share_memory(out, array, max_work=1):  # type: ignore[arg-type]
            return True
    return False


def layout_of(array: Array) -> Layout:
    return array.shape, array.strides, array.dtype, array.flags.aligned


def arguments(operands: tuple[Any, ...]) -> tuple[str | Spec, Sequence[Array]]:
    """The spec and the operands as base-class arrays."""
    if not operands:
        raise EinsumError("einsum needs a spec and at least one operand")
    spec = operands[0]
    if isinstance(spec, str):
        arrays = operands[1:]
    elif isinstance(spec, bytes):
        spec, arrays = spec.decode("ascii"), operands[1:]
    else:
        spec, arrays = _from_sublists(operands)
    if not arrays:
        raise EinsumError("einsum needs at least one operand", spec if type(spec) is str else "")
    for array in arrays:
        if type(array) is not ndarray:
            check_plain("einsum", *arrays)
            return spec, tuple(map(np.asarray, arrays))
    return spec, arrays


def check_plain(name: str, *operands: Any) -> None:
    """TypeError for operands with more to them than their elements (masks, units), which numpy
    would ask what to do and this function cannot: better none than a wrong result."""
    for x in operands:
        kind = type(x)
        if kind is ndarray:
            continue
        if isinstance(x, ndarray):
            own = kind.__array_ufunc__ is not ndarray.__array_ufunc__ or np.ma.is_masked(x)
        else:
            own = getattr(kind, "__array_ufunc__", ...) is None
        says = getattr(kind, "__array_function__", ndarray.__array_function__)
        if own or says is not ndarray.__array_function__:
            raise TypeError(
                f"{name} does not know what {kind.__name__} adds to its elements; "
                "pass plain arrays (numpy.asarray)"
            )


def _from_sublists(operands: tuple[Any, ...]) -> tuple[Spec, tuple[Any, ...]]:
    if len(operands) < 2:
        raise EinsumError("einsum needs a spec, or a sublist of labels after every operand")
    pairs = len(operands) // 2
    inputs = tuple(_sublist(operands[2 * i + 1]) for i in range(pairs))
    output = _sublist(operands[-1]) if len(operands) % 2 else None
    return parse_lists(inputs, output), operands[0 : 2 * pairs : 2]


def _sublist(entries: Any) -> tuple[Any, ...]:
    if not hasattr(entries, "__iter__"):
        raise TypeError(
            "einsum takes a spec (a str) and operands, or operands each followed by a list of "
            f"labels; {entries!r} is no list of labels"
        )
    if type(entries) is list and {*map(type, entries)} <= _INTEGERS:
        return tuple(entries)
    return sublist(entries)


def positions(conj: Any) -> tuple[int, ...]:
    """The positions that `conj=` names."""
    if type(conj) is tuple and not conj:
        return ()
    if isinstance(conj, (str, bytes)) or not hasattr(conj, "__iter__"):
        raise TypeError(f"conj must be operand positions such as (0,), not {conj!r}")
    given = tuple(conj)
    if any(isinstance(position, (bool, np.bool_)) for position in given):
        raise TypeError(f"conj must be operand positions such as (0,), not a mask: {conj!r}")
    return tuple(operator.index(position) for position in given)


def _writeable(out: Any) -> Array:
    """`out` as a base-class array that can be written."""
    if not isinstance(out, ndarray):
        raise TypeError(f"out must be a numpy array, not {type(out).__name__}")
    if not out.flags.writeable:
        raise ValueError("out is read-only")
    return out if type(out) is ndarray else out.view(ndarray)
