"""Hypothesis strategies: random valid operations, with operands that fit them.

`cases()` draws any `TensorOp`: every kind of main primitive, any mix of C, M, N and K, sizes 1 to
40, input strides of any sign, zero, gapped, permuted or overlapping, output strides that keep
results apart, and the scalars and touches that the dtype allows. The operands lie in
one-dimensional buffers, somewhere in the middle where strides are negative."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tensorop.dtype_rules import ALLOWED, KINDS
from tensorop.ir import (
    BINARY,
    CONTRACTIONS,
    REDUCTIONS,
    UNARY,
    Dimension,
    DimType,
    Primitive,
    Tensor,
    TensorOp,
)
from tests.tolerance import Operand

POINTS = 1 << 13  # of a whole iteration space
DTYPES = tuple(KINDS)
COMMON_DTYPES = ("float32", "float64", "complex64", "complex128", "int32", "bool")
MAINS = {
    "contraction": CONTRACTIONS,
    "binary": BINARY,
    "unary": UNARY,
    "reduction": REDUCTIONS,
}
_TYPES = {
    "contraction": (DimType.C, DimType.M, DimType.N, DimType.K),
    "binary": (DimType.C, DimType.M, DimType.N),
    "unary": (DimType.C,),
    "reduction": (DimType.C, DimType.K),
}
_ABSENT = {DimType.M: "in1", DimType.N: "in0", DimType.K: "out"}


def examples(count: int) -> int:
    """How many examples a property is tested on: so many, fewer under the profile "few"."""
    return count * settings().max_examples // 100


@dataclass(frozen=True)
class Case:
    """An operation and what it runs on."""

    op: TensorOp
    operands: tuple[Operand, ...]
    alpha: Any = None
    beta: Any = None
    bias: Operand | None = None

    def fresh(self) -> list[Operand]:
        """Copies to run on, so that the case itself stays as drawn."""
        return [x.copy() for x in self.operands]


def numpy_dtype(name: str) -> np.dtype[Any]:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def sizes() -> st.SearchStrategy[int]:
    return st.one_of(st.integers(1, 6), st.sampled_from([7, 8, 15, 16, 17, 31, 32, 33, 40]))


@st.composite
def cases(
    draw: st.DrawFn,
    kinds: Sequence[str] = tuple(MAINS),
    dtypes: Sequence[str] = DTYPES,
    scalars: bool = True,
    conjugates: bool = True,
) -> Case:
    """Any operation of the given kinds and dtypes, with its operands; without alpha and beta, or
    without conjugated inputs, where these are switched off."""
    dtype = draw(st.sampled_from(dtypes))
    allowed = ALLOWED[KINDS[dtype]]
    kind = draw(st.sampled_from([k for k in kinds if MAINS[k] & allowed]))
    main = draw(st.sampled_from(sorted(MAINS[kind] & allowed)))
    roles = ("in0", "out") if kind in ("unary", "reduction") else ("in0", "in1", "out")
    dimensions = draw(dimension_lists(_TYPES[kind], roles))
    touches = (Primitive.NONE, Primitive.ZERO, Primitive.COPY)
    first = draw(st.sampled_from(touches)) if kind in ("contraction", "reduction") else "none"
    last = draw(st.sampled_from(sorted((UNARY & allowed) | {Primitive.NONE})))
    may_conj = conjugates and KINDS[dtype] == "complex"
    conj = [may_conj and draw(st.booleans()) for _ in roles[:-1]]
    tensors = tuple(Tensor(r, dtype, c) for r, c in zip(roles, [*conj, False], strict=True))
    op = TensorOp(tensors, dimensions, main, Primitive(first), last)
    op.verify()
    values = draw(data(dtype))
    operands = tuple(_operand(dimensions, i, values) for i in range(len(roles)))
    bias = _operand(dimensions, op.out, values) if first == Primitive.COPY else None
    alpha = draw(scalar_values(dtype)) if scalars else None
    beta = draw(scalar_values(dtype)) if scalars else None
    return Case(op, operands, alpha, beta, bias)


@st.composite
def dimension_lists(
    draw: st.DrawFn, types: Sequence[DimType], roles: Sequence[str]
) -> tuple[Dimension, ...]:
    """Up to five dimensions of these types, in any order, with strides in each tensor."""
    chosen = draw(st.lists(st.sampled_from(types), max_size=5))
    extents: list[int] = []
    for _ in chosen:
        room = POINTS // math.prod(extents)
        extents.append(min(draw(sizes()), room))
    columns = [
        draw(_strides(role == "out", [_ABSENT.get(t) != role for t in chosen], extents))
        for role in roles
    ]
    return tuple(
        Dimension(t, n, tuple(column[i] for column in columns), name="abcde"[i])
        for i, (t, n) in enumerate(zip(chosen, extents, strict=True))
    )


@st.composite
def _strides(
    draw: st.DrawFn, is_out: bool, present: Sequence[bool], extents: Sequence[int]
) -> list[int]:
    own = [i for i, there in enumerate(present) if there]
    result = [0] * len(present)
    if not is_out and draw(st.integers(0, 5)) == 0:  # overlapping windows, broadcast, anything
        for i in own:
            result[i] = draw(st.integers(-5, 5))
        return result
    # As listed (so that neighbours fuse) or in any order, the last one fastest.
    nested = own if draw(st.booleans()) else draw(st.permutations(own))
    step = draw(st.sampled_from([1, 1, 1, 2, 3]))
    for i in reversed(nested):
        sign = draw(st.sampled_from([1, 1, 1, -1]))
        zero = not is_out and draw(st.integers(0, 9)) == 0
        result[i] = 0 if zero else sign * step
        step *= extents[i]
        step += draw(st.sampled_from([0, 0, 0, 1, 5]))
    return result


@dataclass(frozen=True)
class Data:
    """A generator of values of a dtype, from a seed that hypothesis draws."""

    dtype: str
    seed: int

    def values(self, count: int) -> NDArray[Any]:
        rng = np.random.default_rng([self.seed, count])
        kind = KINDS[self.dtype]
        if kind == "bool":
            return np.asarray(rng.random(count) < 0.5)
        if kind == "integer":
            info = np.iinfo(self.dtype)
            drawn: NDArray[Any] = rng.integers(info.min, info.max, count, self.dtype, endpoint=True)
            return drawn
        # Away from 0 by a little, so that quotients stay finite; products of many stay in range.
        real = rng.uniform(0.5, 1.5, count) * rng.choice([-1.0, 1.0], count)
        if kind == "complex":
            return np.asarray(real + 1j * rng.uniform(-0.5, 0.5, count), self.dtype)
        return np.asarray(real, numpy_dtype(self.dtype))


def data(dtype: str) -> st.SearchStrategy[Data]:
    return st.builds(Data, st.just(dtype), st.integers(0, 1 << 32))


def scalar_values(dtype: str) -> st.SearchStrategy[Any]:
    """alpha and beta: none, or a value of the dtype's kind."""
    choices: dict[str, list[Any]] = {
        "bool": [None, True, False],
        "integer": [None, 0, 1, 3],
        "floating": [None, 0.0, 1.0, -0.5, 2.25],
        "extended": [None, 0.0, 1.0, -0.5, 2.25],
        "complex": [None, 0.0, 1.0, 0.5 - 2j],
    }
    return st.sampled_from(choices[KINDS[dtype]])


def _operand(dimensions: Sequence[Dimension], tensor: int, values: Data) -> Operand:
    ends = [(d.size - 1) * d.strides[tensor] for d in dimensions]
    low, high = sum(min(e, 0) for e in ends), sum(max(e, 0) for e in ends)
    margin = 2 + tensor  # elements around it, which nobody may touch
    return Operand(values.values(high - low + 1 + 2 * margin), margin - low)
