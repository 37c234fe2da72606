"""`matmul` and `vecdot`: generalised ufuncs, as einsums.

As in numpy's, the core dimensions come last (or where `axes` says) and must agree exactly, the
others broadcast; `out` takes no part in the compute dtype, but the result is cast into it under
`casting`; under `order="K"` core dimensions are laid out in C order and the others as the operands
are.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from tensorop import warm
from tensorop.calls import contiguous_call
from tensorop.contraction import resolve
from tensorop.dtypes import compute_dtype, dtype_of
from tensorop.einsum import check_plain, contract
from tensorop.errors import EinsumError
from tensorop.jit.front import front
from tensorop.layout import combine, packed, result_strides
from tensorop.program import Array, Options, Storage, check_options
from tensorop.spec import parse

_KEY, _DOT = object(), object()  # by which the short way knows calls of matmul and of vecdot
_SAME_KIND, _K = "same_kind", "K"  # the defaults
_PLAIN = Options(casting=_SAME_KIND, order="C", joins=False)  # of two matrices

Cores = tuple[str, str, str]  # labels of the core dimensions of both operands and of the result
Placed = tuple[tuple[int, ...], tuple[int, ...]]  # a shape and strides


@front(_KEY)
def matmul(
    x1: Any,
    x2: Any,
    /,
    out: Any = None,
    *,
    casting: Any = "same_kind",
    order: str = "K",
    dtype: Any = None,
    subok: bool = True,
    axes: Any = None,
) -> Any:
    """Matrix product of the last two axes, broadcasting over the others.

    Parameters
    ----------
    x1, x2 : array_like
        A one-dimensional `x1` is a row, a one-dimensional `x2` a column; their axis is dropped.
    out : ndarray, optional
    casting, order, dtype, subok
        As in every ufunc of numpy.
    axes : list of tuples, optional
        Where the matrices lie in the two operands and in the result; (-2, -1) each by default.

    Returns
    -------
    ndarray
        `out`, or a new array; a scalar where both operands have one dimension.

    Raises
    ------
    EinsumError
        Sizes that do not fit, or an operand without dimensions.
    TypeError
        An operand with a mask, or of a class that says itself what a ufunc does.

    Examples
    --------
    >>> matmul(np.ones((7, 3, 4)), np.ones((4, 5))).shape
    (7, 3, 5)
    """
    plain = dtype is None and axes is None and casting is _SAME_KIND and order is _K
    if plain:
        known = warm.run((_KEY, x1, x2), out)
        if known is not None:
            return known
    if (
        plain
        and type(x1) is type(x2) is np.ndarray
        and out is None
        and x1.ndim == x2.ndim == 2
        and x1.shape[1] == x2.shape[0]
        and x1.flags.carray
        and x2.flags.carray
    ):
        spec, options = "ik,kj->ij", _PLAIN
        call = contiguous_call(spec, x1.shape, x1.dtype, x2.shape, x2.dtype, options)
        result = call.pair(x1, x2)
        call.learn(_KEY, (x1, x2), None)
        return result
    out = _single(out)
    check_plain("matmul", x1, x2)
    a, b = _with_dimensions("matmul", x1, x2)
    row, column = ("" if a.ndim == 1 else "i"), ("" if b.ndim == 1 else "j")
    cores = (f"{row}k", f"k{column}", row + column)
    options = Options(_dtype(dtype), casting, order, joins=False)
    key = _KEY if dtype is None and casting == _SAME_KIND and order == _K else None
    result = _generalised("matmul", cores, (a, b), out, axes, options, key)
    return wrapped(result, (x1, x2)) if subok and out is None else result


@front(_DOT)
def vecdot(
    x1: Any,
    x2: Any,
    /,
    out: Any = None,
    *,
    casting: Any = "same_kind",
    order: str = "K",
    dtype: Any = None,
    subok: bool = True,
    axes: Any = None,
    axis: int | None = None,
    keepdims: bool = False,
) -> Any:
    """Dot product along one axis, the last by default; `x1` is conjugated.

    Parameters
    ----------
    x1, x2 : array_like
        Of the same size along that axis, broadcasting over the others.
    axis : int, optional
        The axis; or `axes`, a list of one for each operand and an empty tuple for the result.
    keepdims : bool
        The result keeps that axis, of size 1: where `axis` or a third entry of `axes` says, else
        last.

    Returns
    -------
    ndarray
        `out`, or a new array, or a scalar where the result has no dimensions.

    Raises
    ------
    EinsumError
        Sizes that do not fit, or an operand without dimensions.
    TypeError
        An operand with a mask, or of a class that says itself what a ufunc does.

    Examples
    --------
    >>> vecdot([1j, 2], [1, 2])
    np.complex128(4-1j)
    """
    plain = dtype is None and axes is None and casting is _SAME_KIND and order is _K
    last = axis is None or (type(axis) is int and axis == -1)
    if plain and last and not (keepdims and out is not None):
        known = warm.run((_DOT, x1, x2), out)
        if known is not None:
            return np.expand_dims(known, -1) if keepdims else known
    out = _single(out)
    check_plain("vecdot", x1, x2)
    a, b = _with_dimensions("vecdot", x1, x2)
    kept = -1 if axis is None else operator.index(axis)
    if axis is not None:
        if axes is not None:
            raise TypeError("vecdot: give axis or axes, not both")
        axes = [(axis,), (axis,), ()]
    elif keepdims and axes is not None:
        if len(axes) == 3:  # the result, too, has an axis that may lie anywhere
            *axes, (kept,) = _core_axes("vecdot", ("k", "k", "k"), axes)
        axes = [*axes, ()]
    target = out
    if keepdims and isinstance(out, np.ndarray):
        target = np.moveaxis(out, kept, -1)
        if target.shape[-1] != 1:
            raise EinsumError(f"vecdot: axis {kept} of out has size {target.shape[-1]}, not 1")
        target = target[..., 0]
    options = Options(_dtype(dtype), casting, order, conj=(0,), joins=False)
    key = _DOT if dtype is None and casting == _SAME_KIND and order == _K else None
    result = _generalised("vecdot", ("k", "k", ""), (a, b), target, axes, options, key)
    if out is not None:
        return out
    if keepdims:
        result = np.expand_dims(result, kept)
    return wrapped(result, (x1, x2)) if subok else result


def _single(out: Any) -> Any:
    """`out` as ufuncs take it: an array, or a tuple of one."""
    return out[0] if isinstance(out, tuple) and len(out) == 1 else out


def wrapped(result: Any, operands: tuple[Any, ...]) -> Any:
    """The result as an instance of the operands' subclass of ndarray, if they are of one."""
    subclasses = [x for x in operands if isinstance(x, np.ndarray) and type(x) is not np.ndarray]
    if not subclasses:
        return result
    first = max(subclasses, key=lambda x: x.__array_priority__)
    return first.__array_wrap__(np.asarray(result))


def _dtype(dtype: Any) -> np.dtype[Any] | None:
    return None if dtype is None else dtype_of(dtype)


def _with_dimensions(name: str, x1: Any, x2: Any) -> tuple[Array, Array]:
    arrays = np.asarray(x1), np.asarray(x2)
    for i, array in enumerate(arrays):
        if array.ndim == 0:
            raise EinsumError(f"{name}: operand {i} is a scalar; it needs at least one dimension")
    return arrays


def _generalised(
    name: str,
    cores: Cores,
    arrays: tuple[Array, Array],
    out: Any,
    axes: Any,
    options: Options,
    key: Any = None,
) -> Any:
    """A generalised ufunc: core dimensions last, the others broadcast.

    cores: the labels of the core dimensions of both operands and of the result. key: what the short
    way may know the call by, once its core dimensions are last.
    """
    result_axes: tuple[int, ...] = ()
    target = out
    if axes is not None:
        *input_axes, result_axes = _core_axes(name, cores, axes)
        a, b = (_cores_last(x, where) for x, where in zip(arrays, input_axes, strict=True))
        arrays = (a, b)
        if isinstance(target, np.ndarray):
            target = _cores_last(target, result_axes)
    result = None if key is None or axes is None else warm.run((key, *arrays), target)
    if result is None:
        sizes = _check_cores(name, cores, arrays)
        if isinstance(target, np.ndarray):
            _check_out(name, cores[2], sizes, target)
        result = _broadcast(cores, arrays, target, options, key)
    if out is not None:
        return out
    if not result_axes:
        return result
    return np.moveaxis(result, range(-len(result_axes), 0), result_axes)


def _core_axes(name: str, cores: tuple[str, ...], axes: Any) -> list[tuple[int, ...]]:
    nested = [
        group if type(group) is tuple or (type(group) is not int and np.ndim(group)) else (group,)
        for group in axes
    ]
    groups = [tuple(map(operator.index, group)) for group in nested]
    if len(groups) == len(cores) - 1 and not cores[-1]:
        groups.append(())
    if [len(group) for group in groups] != [len(core) for core in cores]:
        wanted = ", ".join(str(len(core)) for core in cores)
        raise EinsumError(f"{name}: axes must name {wanted} axes of the operands and the result")
    return groups


def _cores_last(array: Array, axes: tuple[int, ...]) -> Array:
    return array.transpose(_moved_last(array.ndim, axes)) if axes else array


@lru_cache(maxsize=256)
def _moved_last(ndim: int, axes: tuple[int, ...]) -> tuple[int, ...]:
    moved = normalize_axis_tuple(axes, ndim)
    return (*[i for i in range(ndim) if i not in moved], *moved)


def _check_cores(name: str, cores: tuple[str, ...], arrays: Sequence[Array]) -> dict[str, int]:
    """The sizes of the core dimensions, which do not broadcast."""
    sizes: dict[str, int] = {}
    for core, array in zip(cores, arrays, strict=False):
        for label, size in zip(core, array.shape[array.ndim - len(core) :], strict=True):
            if sizes.setdefault(label, size) != size:
                raise EinsumError(
                    f"{name}: the axis to sum has size {sizes[label]} in operand 0, "
                    f"but {size} in operand 1; they must agree"
                )
    return sizes


def _check_out(name: str, core: str, sizes: dict[str, int], out: Array) -> None:
    """The core dimensions of `out` are those of the result: they do not broadcast either."""
    wanted = tuple(sizes[label] for label in core)
    if out.ndim >= len(core) and out.shape[out.ndim - len(core) :] != wanted:
        raise EinsumError(
            f"{name}: out has the shape {out.shape}; the result ends with {wanted}, which does "
            "not broadcast"
        )


def _broadcast(
    cores: Cores, arrays: tuple[Array, Array], out: Any, options: Options, key: Any
) -> Any:
    spec = "...{},...{}->...{}".format(*cores)
    a, b = arrays
    loops = max(a.ndim - len(cores[0]), b.ndim - len(cores[1]))
    if isinstance(out, np.ndarray):
        # Operands broadcast against `out` too: one of them needs as many dimensions.
        wanted = out.ndim - len(cores[2])
        if wanted > loops:
            missing = wanted - (a.ndim - len(cores[0]))
            a, key = a[(None,) * missing + (...,)], None
        return contract(spec, (a, b), out, options, key=key)
    if out is None and check_options(options) == "K":
        options = options._replace(order="C")
        if loops > 1:
            dtype = compute_dtype((a.dtype, b.dtype), options.dtype)
            made = _ufunc_result(cores, *[(x.shape, x.strides) for x in arrays], dtype)
            if made is not None:
                out, key = made.allocator()(), None
    return contract(spec, arrays, out, options, key=key)


@lru_cache(maxsize=1024)
def _ufunc_result(
    cores: Cores, first: Placed, second: Placed, dtype: np.dtype[Any]
) -> Storage | None:
    """The array that a ufunc allocates under order="K": only the loop dimensions, those that are
    not core dimensions, follow the operands' order. None where that is C order."""
    pairs = [(x, len(x[0]) - len(core)) for x, core in zip((first, second), cores, strict=False)]
    loops = resolve(parse("...,...->..."), [shape[:n] for (shape, _), n in pairs])
    moving = [
        combine(labels, shape[:n], strides[:n])
        for labels, ((shape, strides), n) in zip(loops.operands, pairs, strict=True)
    ]
    sizes = {
        label: size
        for core, ((shape, _), n) in zip(cores, pairs, strict=False)
        for label, size in zip(core, shape[n:], strict=True)
    }
    core = tuple(sizes[label] for label in cores[2])
    outer_strides = result_strides(loops, moving, "K", dtype.itemsize * math.prod(core))
    core_strides = packed(tuple(reversed(range(len(core)))), core, dtype.itemsize)
    shape, strides = loops.shape + core, outer_strides + core_strides
    if strides == packed(range(len(shape))[::-1], shape, dtype.itemsize):
        return None
    return Storage(shape, dtype, strides)
