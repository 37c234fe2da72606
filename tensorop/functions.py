"""numpy's other contractions, each the einsum of some spec: `tensordot`, `matmul`, `vecdot`,
`inner`, `outer`, and `transpose`; and `einsum_path`.

Signatures, shapes of results and kinds of errors are numpy's. What differs from `einsum` is that the
axes to be summed must agree exactly (a size 1 there does not broadcast) and that, as in ufuncs, `out`
takes no part in the compute dtype: the result is cast into it under `casting`.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.exceptions import AxisError

from tensorop.einsum import arguments, contract
from tensorop.errors import EinsumError
from tensorop.layout import combine, result_strides
from tensorop.path import is_numpy_form
from tensorop.program import Array, Options, order_of
from tensorop.spec import Spec, parse, resolve


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Sum products of `a` and `b` over pairs of axes.

    Parameters
    ----------
    a, b : array_like
    axes : int or (sequence, sequence)
        N: the last N axes of `a` with the first N of `b`. Or the axes of each, in pairs.

    Returns
    -------
    ndarray
        The axes of `a` that remain, then those of `b`.

    Raises
    ------
    EinsumError
        Paired axes of different sizes, or an axis named twice.
    AxisError
        An axis that does not exist.

    Examples
    --------
    >>> tensordot(np.ones((3, 4)), np.ones((4, 5)), axes=1).shape
    (3, 5)
    """
    a, b = np.asarray(a), np.asarray(b)
    first, second = _paired_axes(axes)
    first, second = _valid_axes(first, a.ndim, "a"), _valid_axes(second, b.ndim, "b")
    if len(first) != len(second):
        raise EinsumError(f"axes pairs {len(first)} axes of a with {len(second)} of b")
    for i, j in zip(first, second, strict=True):
        if a.shape[i] != b.shape[j]:
            raise EinsumError(
                f"axis {i} of a has size {a.shape[i]}, but axis {j} of b has size {b.shape[j]}"
            )
    spec = _tensordot_spec(a.ndim, b.ndim, first, second)
    return np.asarray(_contract(spec, (a, b)))


def _paired_axes(axes: Any) -> tuple[Any, Any]:
    try:
        iter(axes)
    except TypeError:
        n = operator.index(axes)
        return range(-n, 0), range(n)
    first, second = axes
    return first, second


def _valid_axes(axes: Any, ndim: int, name: str) -> tuple[int, ...]:
    entries = axes if hasattr(axes, "__iter__") else (axes,)
    numbers = [operator.index(axis) for axis in entries]
    for axis in numbers:
        if not -ndim <= axis < ndim:
            raise AxisError(axis, ndim, f"tensordot, operand {name}")
    valid = tuple(axis % ndim for axis in numbers)
    if len(set(valid)) < len(valid):
        raise EinsumError(f"axes names an axis of {name} twice: {tuple(numbers)}")
    return valid


@lru_cache(maxsize=1024)
def _tensordot_spec(
    ndim_a: int, ndim_b: int, first: tuple[int, ...], second: tuple[int, ...]
) -> str:
    labels = [_letter(i) for i in range(ndim_a + ndim_b)]
    left, right = labels[:ndim_a], labels[ndim_a:]
    kept_right = [right[j] for j in range(ndim_b) if j not in second]
    for i, j in zip(first, second, strict=True):
        right[j] = left[i]
    output = [left[i] for i in range(ndim_a) if i not in first] + kept_right
    return f"{''.join(left)},{''.join(right)}->{''.join(output)}"


def _letter(i: int) -> str:
    return chr(ord("a") + i) if i < 26 else chr(0x100 + i)


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

    Raises
    ------
    EinsumError
        Sizes that do not fit, or an operand without dimensions.

    Examples
    --------
    >>> matmul(np.ones((7, 3, 4)), np.ones((4, 5))).shape
    (7, 3, 5)
    """
    a, b = np.asarray(x1), np.asarray(x2)
    for i, x in enumerate((a, b)):
        if x.ndim == 0:
            raise EinsumError(f"matmul: operand {i} has no dimensions; multiply by it instead")
    row, column = ("" if a.ndim == 1 else "i"), ("" if b.ndim == 1 else "j")
    cores = (f"{row}k", f"k{column}", row + column)
    return _generalised("matmul", cores, (a, b), out, axes, Options(
        _dtype(dtype), casting, order, joins=False), (x1, x2) if subok else ())


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
        Keep the axis, with size 1.

    Raises
    ------
    EinsumError
        Sizes that do not fit, or an operand without dimensions.

    Examples
    --------
    >>> vecdot([1j, 2], [1, 2])
    np.complex128(4-1j)
    """
    a, b = np.asarray(x1), np.asarray(x2)
    for i, x in enumerate((a, b)):
        if x.ndim == 0:
            raise EinsumError(f"vecdot: operand {i} has no dimensions")
    if axis is not None:
        if axes is not None:
            raise TypeError("vecdot: give axis or axes, not both")
        axes = [(axis,), (axis,), (axis,) if keepdims else ()]
    options = Options(_dtype(dtype), casting, order, conj=(0,), joins=False)
    wrap = (x1, x2) if subok else ()
    if not keepdims:
        return _generalised("vecdot", ("k", "k", ""), (a, b), out, axes, options, wrap)
    place = -1 if axis is None else axis
    target = None if out is None else np.squeeze(_only(out), place)
    result = _generalised("vecdot", ("k", "k", ""), (a, b), target, _without(axes), options, wrap)
    return np.expand_dims(result, place) if out is None else _only(out)
