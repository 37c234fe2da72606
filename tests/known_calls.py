"""Random calls of the public functions and of plans, right and wrong ones, each some times over.

What generated code makes of a call that it has seen before has to be what Python makes of it: the
same result, written to the same place, or the same error. So every call runs both ways.
"""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

import tensorop
from tensorop import warm

Array = np.ndarray[Any, Any]

DTYPES = ("f4", "f8", "c8", "c16", "i4", "i8", "u1", "?", "f2", ">f8", "i2")
SPECS = (
    "ij,jk->ik", "ij,jk", "ij,jk->ki", "ij,ij->", "ij,ij->ij", "ij->j", "ij->ji", "ii->i",
    "ij,j->i", "bij,bjk->bik", "i,j->ij", ",i->i", "ij,jk->", "...j,jk->...k", "i,ij,j->",
    "ij,jk,ki->k", "bi,ij,j->b", "i,j,k->kji", "ij,j,jk,k->i",
)  # fmt: skip
SIZES = {"i": 4, "j": 5, "k": 3, "b": 2, ".": 2}
ARRAY_DTYPES = ("float32", "float64", "complex64", "int32", "bool", "float16")
ARRAY_SIZES = {"i": 5, "j": 6, "k": 4, "b": 3, "l": 2}
LARGE = 70  # rows of matrices whose panels do not lie on the stack
LARGEST = 370  # elements of vectors of which the products are results of the pool
AT_A_TIME = 12  # calls that come again by turns
NEW = 0.15  # of the calls
LONGEST = 500  # characters of what is said of a call


class Call(NamedTuple):
    """A call; python: the function that generated code stands before."""

    function: Callable[..., Any]
    python: Callable[..., Any]
    arguments: list[Any]
    keywords: dict[str, Any]


class Outcome(NamedTuple):
    """What a call gave, and what it left in its arrays."""

    result: tuple[Any, ...]
    left: tuple[bytes, ...]


class _Other(np.ndarray):
    """A subclass."""


class Calls:
    """Draws calls."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._recent: list[Call] = []

    def __iter__(self) -> Iterator[Call]:
        while True:
            if len(self._recent) < AT_A_TIME or self._chance(NEW):
                self._recent = [*self._recent[1 - AT_A_TIME :], self._call()]
            yield self._pick(self._recent)

    def _pick(self, things: Any) -> Any:
        return things[int(self._rng.integers(len(things)))]

    def _chance(self, part: float) -> bool:
        return bool(self._rng.random() < part)

    def _values(self, shape: tuple[int, ...], dtype: str) -> Array:
        values = self._rng.integers(-3, 4, shape)
        if np.dtype(dtype).kind == "c":
            return np.asarray(values + 1j * self._rng.integers(-3, 4, shape)).astype(dtype)
        return np.asarray(values).astype(dtype)

    def _operand(self, term: str) -> Any:
        """In one of many layouts; sometimes none of numpy's plain arrays."""
        x = self._values(tuple(SIZES[label] for label in term), self._pick(DTYPES))
        if x.ndim and self._chance(0.6):
            wide = np.zeros([2 * n for n in x.shape], x.dtype)
            wide[(slice(None, None, 2),) * x.ndim] = x
            read_only = x.copy()
            read_only.flags.writeable = False
            views = (np.asfortranarray(x), wide[(slice(None, None, 2),) * x.ndim], x[::-1])
            x = self._pick((*views, read_only, np.broadcast_to(x[:1], x.shape), x[:0]))
        if self._chance(0.05):
            return self._pick((x.tolist(), x.view(_Other), np.ma.array(x), x.astype(object), 3))
        return x

    def _out(self, result: Array) -> Any:
        """Mostly one that fits."""
        shape, dtype = result.shape, result.dtype.str
        fitting = self._values(shape, dtype)
        if self._chance(0.6):
            return fitting
        read_only = fitting.copy()
        read_only.flags.writeable = False
        larger = self._values(tuple(n + 1 for n in shape), dtype)
        other = self._values(shape, self._pick(DTYPES))
        kinds = (np.asfortranarray(fitting), (fitting,), fitting.view(_Other))
        return self._pick((*kinds, read_only, larger, other, None))

    def _call(self) -> Call:
        function, python, arguments, keywords = self._pick(
            (self._einsum, self._einsum, self._matmul, self._vecdot, self._plan)
        )()
        if self._chance(0.05):
            arguments = self._pick((arguments[:-1], [*arguments, arguments[-1]]))
        if self._chance(0.03):
            keywords["bogus"] = 1
        if self._chance(0.5):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    result = np.asarray(python(*arguments, **keywords))
                keywords["out"] = self._pick((self._out(result),) * 9 + (arguments[-1],))
            except (TypeError, ValueError):
                keywords["out"] = np.zeros((4, 3))
        return Call(function, python, arguments, keywords)

    def _factors(self) -> dict[str, Any]:
        values = (1, 2, 0.5, True, np.float32(2), 1j, -1, -0.0, 0)
        return {name: self._pick(values) for name in ("alpha", "beta") if self._chance(0.25)}

    def _einsum(self) -> Any:
        spec = self._pick(SPECS)
        terms = spec.split("->")[0].split(",")
        operands = [self._operand(term.replace("...", ".")) for term in terms]
        if spec == "i,j->ij" and self._chance(0.5):
            operands = [self._values((LARGEST,), self._pick(("f4", "c8", "i8"))) for _ in terms]
        arguments = [spec, *operands]
        if self._chance(0.2):  # the same, said by another object
            arguments = ["".join(list(spec)), *operands]
        elif "->" in spec and "." not in spec and self._chance(0.1):
            lists = [list(map(ord, term)) for term in (*terms, spec.split("->")[1])]
            arguments = [*itertools.chain(*zip(operands, lists, strict=False)), lists[-1]]
        keywords = self._factors()
        for name, values in {
            "optimize": (True, False, "greedy"),
            "dtype": ("f8", None),
            "casting": ("unsafe", "same_kind"),
            "order": "CFA",
            "threads": (1, 2, None),
        }.items():
            if self._chance(0.1):
                keywords[name] = self._pick(values)
        return tensorop.einsum, _python(tensorop.einsum), arguments, keywords

    def _matmul(self) -> Any:
        arguments = [self._operand("ij"), self._operand("jk")]
        if self._chance(0.3):
            dtype = self._pick(DTYPES)
            arguments = [self._values((LARGE, LARGE), dtype) for _ in range(2)]
        return tensorop.matmul, _python(tensorop.matmul), arguments, self._ufunc_keywords()

    def _vecdot(self) -> Any:
        arguments = [self._operand("ij"), self._operand("ij")]
        return tensorop.vecdot, _python(tensorop.vecdot), arguments, self._ufunc_keywords()

    def _ufunc_keywords(self) -> dict[str, Any]:
        keywords = {"dtype": None, "casting": "unsafe", "axes": None, "alpha": 1, "beta": 1}
        return {name: value for name, value in keywords.items() if self._chance(0.05)}

    def _plan(self) -> Any:
        a, b = self._operand("ij"), self._operand("jk")
        try:
            plan: Any = tensorop.compile("ij,jk->ik", a, b)
        except (TypeError, ValueError):
            return self._plan()
        if self._chance(0.2):
            a = self._operand("ij")
        return plan, plan._python, [a, b], self._factors()


def _python(function: Any) -> Callable[..., Any]:
    """The function of Python behind a built-in one."""
    behind: Callable[..., Any] = function.__self__.own[1]
    return behind


def outcome(function: Callable[..., Any], call: Call) -> Outcome:
    """Run it; all arrays hold afterwards what they held before."""
    out = call.keywords.get("out")
    given = (*call.arguments, *(out if isinstance(out, tuple) else (out,)))
    arrays = [x for x in given if isinstance(x, np.ndarray) and x.flags.writeable]
    before = [x.copy() for x in arrays]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = function(*call.arguments, **call.keywords)
        values = np.asarray(made)
        steps = values.strides if values.size > 1 else ()
        facts = (values.dtype.str, values.shape, steps, made is out)
        result = (type(made).__name__, *facts, values.tobytes())
    except (TypeError, ValueError) as error:
        result = (type(error).__name__, str(error))
    left = tuple(x.tobytes() for x in arrays)
    for x, values in zip(arrays, before, strict=True):
        x[...] = values
    return Outcome(result, left)


def differs(call: Call) -> str:
    """What the two ways say, where they do not say the same."""
    known = outcome(call.function, call)
    asked, warm.run = warm.run, warm._nothing
    try:
        unknown = outcome(call.python, call)
    finally:
        warm.run = asked
    if known == unknown:
        return ""
    return "\n  ".join(str(x)[:LONGEST] for x in (call, known, unknown))


def frames_of(call: Any) -> list[str]:
    """Functions of Python that a call runs, but for itself."""
    names: list[str] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            names.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return names[1:]


def array(term: str, dtype: str, seed: int, view: int = 0) -> Array:
    """C order, Fortran order, every second element, or backwards."""
    rng = np.random.default_rng(seed)
    shape = [ARRAY_SIZES[x] for x in term]
    if view == 2:
        shape = [2 * n for n in shape]
    values = np.array(rng.integers(0, 3, shape)).astype(dtype)
    index = {0: slice(None), 1: slice(None), 2: slice(None, None, 2), 3: slice(None, None, -1)}
    values = np.asarray(values[(index[view],) * values.ndim])
    return np.array(values, order="F") if view == 1 else values
