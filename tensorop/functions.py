"""numpy's other contractions, each the einsum of some spec, and `einsum_path`.

Signatures, shapes of results and kinds of errors are numpy's. What differs from `einsum` is that
the axes to be summed must agree exactly: a size 1 there does not broadcast. `matmul` and `vecdot`
have a module of their own and are found here too.
"""

from __future__ import annotations

import operator
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.exceptions import AxisError

from tensorop import warm
from tensorop.contraction import resolve
from tensorop.dtypes import compute_dtype, name_of
from tensorop.einsum import arguments, check_plain, contract
from tensorop.errors import EinsumError
from tensorop.jit.guard import importing
from tensorop.matmul import matmul, vecdot, wrapped
from tensorop.path import find_path, is_numpy_form
from tensorop.program import Array, Options
from tensorop.spec import Spec, parse

__all__ = [
    "einsum_path",
    "inner",
    "matmul",
    "outer",
    "permute_dims",
    "tensordot",
    "transpose",
    "vecdot",
]

_OPTIONS = Options(casting="same_kind", order="C", joins=False)


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
    check_plain("tensordot", a, b)
    a, b = np.asarray(a), np.asarray(b)
    pairs = _numbered_axes if type(axes) is int else _axes_of
    first, second = pairs(axes, a.ndim, b.ndim)
    for i, j in zip(first, second, strict=True):
        if a.shape[i] != b.shape[j]:
            raise EinsumError(
                f"axis {i} of a has size {a.shape[i]}, but axis {j} of b has size {b.shape[j]}"
            )
    spec = _tensordot_spec(a.ndim, b.ndim, first, second)
    return np.asarray(_contract(spec, (a, b)))


def _axes_of(axes: Any, ndim_a: int, ndim_b: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes of a and of b that are paired, counted from the first."""
    first, second = _paired_axes(axes)
    first, second = _valid_axes(first, ndim_a, "a"), _valid_axes(second, ndim_b, "b")
    if len(first) != len(second):
        raise EinsumError(f"axes pairs {len(first)} axes of a with {len(second)} of b")
    return first, second


_numbered_axes = lru_cache(maxsize=1024)(_axes_of)


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


def inner(a: Any, b: Any, /) -> Any:
    """Sum products over the last axis of both operands; a product where one has no dimensions.

    Parameters
    ----------
    a, b : array_like

    Returns
    -------
    ndarray
        The axes of `a` but the last, then those of `b`; a scalar where there are none.

    Raises
    ------
    EinsumError
        Last axes of different sizes.

    Examples
    --------
    >>> inner(np.ones((2, 3)), np.ones((5, 3))).shape
    (2, 5)
    """
    known = warm.run((_INNER, a, b), None)
    if known is not None:
        return known
    check_plain("inner", a, b)
    x, y = np.asarray(a), np.asarray(b)
    if x.ndim == 0 or y.ndim == 0:
        spec = _tensordot_spec(x.ndim, y.ndim, (), ())
    else:
        if x.shape[-1] != y.shape[-1]:
            raise EinsumError(
                f"inner: the last axes have sizes {x.shape[-1]} and {y.shape[-1]}; they must agree"
            )
        spec = _tensordot_spec(x.ndim, y.ndim, (x.ndim - 1,), (y.ndim - 1,))
    result = contract(spec, (x, y), None, _OPTIONS, key=_INNER)
    # Unlike a ufunc, the first of those of the highest priority decides, be it a plain array.
    first = max((a, b), key=lambda operand: getattr(operand, "__array_priority__", 0.0))
    return wrapped(result, (first,))


_INNER = object()  # by which the short way knows its calls


def outer(a: Any, b: Any, out: Any = None) -> Any:
    """Products of every element of `a` with every element of `b`, both flattened.

    Parameters
    ----------
    a, b : array_like
    out : ndarray, optional
        Of shape (a.size, b.size).

    Returns
    -------
    ndarray
        `out`, or a new array of that shape.

    Raises
    ------
    EinsumError
        `out` of another shape than (a.size, b.size).

    Examples
    --------
    >>> outer([1, 2], [3, 4])
    array([[3, 4],
           [6, 8]])
    """
    check_plain("outer", a, b)
    return _contract("i,j->ij", (np.asarray(a).ravel(), np.asarray(b).ravel()), out)


def transpose(a: Any, axes: Any = None) -> Any:
    """A view with the axes permuted, reversed by default: numpy.transpose.

    Parameters
    ----------
    a : array_like
    axes : sequence of int, optional
        Which axis of `a` each axis of the result is.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        `axes` is no permutation.

    Examples
    --------
    >>> transpose(np.ones((2, 3, 4)), (1, 0, 2)).shape
    (3, 2, 4)
    """
    return np.transpose(a, axes)


permute_dims = transpose


def einsum_path(*operands: Any, optimize: Any = "greedy") -> tuple[list[Any], str]:
    """The order of contraction of an einsum: numpy.einsum_path.

    Of forms of `optimize`, and labels, that numpy does not know, the path is the one that `einsum`
    takes ("auto", its default, is the cheapest one), and the report opt_einsum's.

    Returns
    -------
    path : list
        `["einsum_path", (i, j), ...]`, which `einsum(optimize=)` takes.
    report : str
        A table of the steps and their costs.

    Examples
    --------
    >>> a, b, c = np.ones((2, 9)), np.ones((9, 3)), np.ones((3, 4))
    >>> einsum_path("ij,jk,kl->il", a, b, c)[0]
    ['einsum_path', (0, 1), (0, 1)]
    """
    spec, arrays = arguments(operands)
    contraction = resolve(
        parse(spec) if isinstance(spec, str) else spec, [array.shape for array in arrays]
    )
    if is_numpy_form(optimize) and _has_numpy_labels(contraction.spec):
        numpys, report = np.einsum_path(*operands, optimize=optimize)
        return list(numpys), report
    # Imported here because few programs ask for a path; see `path.py`.
    with importing:
        from opt_einsum import contract_path
        from opt_einsum.parser import get_symbol

    terms = (*contraction.operands, contraction.output)
    texts = ["".join(get_symbol(label) for label in term) for term in terms]
    text = f"{','.join(texts[:-1])}->{texts[-1]}"
    dtype = name_of(compute_dtype(tuple([array.dtype for array in arrays]), None))
    path = find_path(optimize, contraction, dtype)
    shapes = [array.shape for array in arrays]
    steps, info = contract_path(text, *shapes, shapes=True, optimize=path)
    return ["einsum_path", *steps], str(info)


def _has_numpy_labels(spec: Spec) -> bool:
    labels = {label for term in spec.operands for label in term.labels}
    return all(
        label < 52 if isinstance(label, int) else label.isascii() and label.isalpha()
        for label in labels
    )


def _contract(spec: str, arrays: tuple[Array, Array], out: Any = None) -> Any:
    key = _key(spec)
    known = warm.run((key, *arrays), out)
    return contract(spec, arrays, out, _OPTIONS, key=key) if known is None else known


@lru_cache(maxsize=1024)
def _key(spec: str) -> object:
    """By which the short way knows calls of a spec here, under other options than einsum's."""
    return object()
