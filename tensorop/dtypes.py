"""Which dtypes there are, which one a contraction computes in, and how scalars become one of them.

The back end knows dtypes by name (`name_of`): numpy's names, and `bfloat16`, `longdouble` and
`clongdouble`; where the C long double is a double, the name is that of the double. In go numpy
dtypes, out come the compute dtype (numpy's promotion over all operands and `out`) and the verdict
of `casting`. The rules and the exceptions are numpy.einsum's, so that no program has to know which
of the two it calls.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from tensorop.jit.guard import importing

DType = np.dtype[Any]

CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")
LOOSER: tuple[Any, ...] = CASTINGS[-2:]  # what a caller may ask for where a cast is refused
_NAMES = frozenset(
    {"bool", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"}
    | {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
)
_HALF = frozenset({"float16", "bfloat16"})
# The 80-bit float of x86 is the only long double, other than a double, that hardware computes.
_LONG_DOUBLE_IS_DOUBLE = np.finfo(np.longdouble).nmant == np.finfo(np.float64).nmant
_LONG_DOUBLE_IS_X87 = np.finfo(np.longdouble).nmant == 63


@lru_cache(maxsize=256)
def name_of(dtype: DType) -> str:
    """The back end's name of a dtype, whatever its byte order.

    Raises
    ------
    TypeError
        No kernels exist for the dtype (object, strings, dates, records, quadruple precision).

    Examples
    --------
    >>> name_of(np.dtype(">f4"))
    'float32'
    """
    if dtype.type in (np.longdouble, np.clongdouble):
        return _long_name(dtype)
    if dtype.name in _NAMES:
        return dtype.name
    if dtype.kind == "O":
        raise TypeError(
            "object arrays cannot be contracted; to convert them, pass dtype= and casting='unsafe'"
        )
    raise TypeError(f"arrays of dtype {dtype} cannot be contracted; use a numeric dtype or bool")


def _long_name(dtype: DType) -> str:
    if _LONG_DOUBLE_IS_DOUBLE:
        return "float64" if dtype.char == "g" else "complex128"
    if _LONG_DOUBLE_IS_X87:
        return "longdouble" if dtype.char == "g" else "clongdouble"
    raise TypeError(
        f"this machine's hardware has no {dtype.name}: its long double would be computed in "
        "software; use float64 or complex128"
    )


def is_half(name: str) -> bool:
    """Whether a type is stored in 16 bits but accumulated in float32."""
    return name in _HALF


def dtype_of(given: Any) -> DType:
    """numpy's dtype of what a caller gives as one; of "bfloat16" that of the package ml_dtypes.

    >>> dtype_of("f4")
    dtype('float32')
    """
    if isinstance(given, str) and given == "bfloat16":
        try:
            with importing:
                from ml_dtypes import bfloat16
        except ImportError:
            raise TypeError("arrays of bfloat16 need the package ml_dtypes") from None
        given = bfloat16
    dtype: DType = np.dtype(given)
    return dtype


def check_numeric(dtype: DType) -> None:
    """TypeError for operands that no dtype= can help: strings, dates, records."""
    if dtype.kind != "O":
        name_of(dtype)


def compute_dtype(dtypes: tuple[DType, ...], requested: DType | None) -> DType:
    """The dtype of the arithmetic, in native byte order: the requested one, else the promotion.

    Raises
    ------
    TypeError
        The dtypes have no common one, or there are no kernels for it.
    """
    dtype = _promotion(dtypes) if requested is None else requested
    name_of(dtype)
    if dtype.kind in "iu":  # two C types may be one integer: equal dtypes, of different scalars
        return np.dtype(dtype.name)
    return dtype if dtype.isnative else dtype.newbyteorder("=")


def _promotion(dtypes: tuple[DType, ...]) -> DType:
    try:
        return np.result_type(*dtypes)
    except TypeError as error:
        names = ", ".join(dict.fromkeys(str(dtype) for dtype in dtypes))
        raise TypeError(f"no dtype holds all of {names}; pass one as dtype=") from error


def check_casting(casting: str) -> None:
    """ValueError (TypeError for what is no string) unless `casting` is a rule that einsum knows."""
    if not isinstance(casting, str):
        raise TypeError(f"casting must be str, not {type(casting).__name__}")
    if casting not in CASTINGS:
        raise ValueError(f"casting must be one of {', '.join(CASTINGS)} (got {casting!r})")


def check_cast(
    what: str, source: DType, target: DType, casting: Any, wider: str = "a wider dtype="
) -> None:
    """TypeError unless the rule lets `source` become `target`; `wider`: what to pass instead."""
    if not np.can_cast(source, target, casting):
        looser = [f"casting={rule!r}" for rule in LOOSER if np.can_cast(source, target, rule)]
        raise TypeError(
            f"{what} cannot be cast from {source} to {target} under casting={casting!r}; "
            f"pass {wider}, or {' or '.join(looser)}"
        )


def cast_into(target: np.ndarray[Any, Any], source: np.ndarray[Any, Any]) -> None:
    """Copy, whatever the dtypes; as all else here does, without floating-point warnings."""
    with np.errstate(all="ignore"):
        np.copyto(target, source, casting="unsafe")


def scalar(what: str, value: Any, dtype: DType, casting: Any) -> Any:
    """`alpha` or `beta` in the compute dtype (a half type as the float32 that it equals).

    Python numbers are weak, as in numpy: they take any dtype of their kind or above. numpy scalars
    follow the casting rule, but are rounded to floating dtypes as under "same_kind": a factor such
    as `1 / np.sqrt(64)` is a float64, and says nothing of the operands' precision. 0 and 1 become
    any dtype, bool included.

    Raises
    ------
    TypeError
        The value is no scalar, or may not become that dtype.
    """
    strong = isinstance(value, (np.generic, np.ndarray))
    if not strong and not isinstance(value, (bool, int, float, complex)):
        raise TypeError(f"{what} must be a scalar, not {type(value).__name__}")
    if np.ndim(value):
        raise TypeError(f"{what} must be a scalar, not an array of shape {np.shape(value)}")
    with np.errstate(all="ignore"):  # it may be more than the dtype holds
        result = (
            _strong(what, value, dtype, casting) if strong else _weak(what, value, dtype, casting)
        )
        return result.astype(np.float32)[()] if is_half(name_of(dtype)) else result[()]


def _strong(what: str, value: Any, dtype: DType, casting: Any) -> np.ndarray[Any, DType]:
    rounds = dtype.kind not in "biu" and np.can_cast(value.dtype, dtype, "same_kind")
    if not rounds and not np.can_cast(value.dtype, dtype, casting):
        raise TypeError(
            f"{what} is of dtype {value.dtype}, which cannot become {dtype} under "
            f"casting={casting!r}; pass a number of Python's, {what}.item(), or a wider dtype="
        )
    return np.asarray(value).astype(dtype)


def _weak(what: str, value: Any, dtype: DType, casting: str) -> np.ndarray[Any, DType]:
    rank = {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2, "c": 3}[dtype.kind]
    needed = next(
        i for i, kind in enumerate((bool, int, float, complex)) if isinstance(value, kind)
    )
    if casting == "unsafe":
        return np.array(value).astype(dtype)
    if needed > rank and not (rank == 0 and needed == 1 and value in (0, 1)):
        raise TypeError(
            f"{what} = {value!r} cannot become {dtype} under casting={casting!r}; "
            "pass a wider dtype=, or casting='unsafe'"
        )
    try:
        return np.array(value, dtype)
    except OverflowError as error:
        raise TypeError(f"{what} = {value!r} does not fit in {dtype}") from error
