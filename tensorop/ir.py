"""The intermediate representation: what every stage of the compiler passes to the next.

A tensor operation is a list of `Dimension`s over two or three strided tensors (`TensorOp`). The
optimizer turns it into a `Schedule` (schedule.py): the same operation with a loop nest over its
dimensions. All of it is plain, immutable data that can be compared, printed and checked
(`TensorOp.verify`, `Schedule.verify`) between any two passes.

The ground floor of the house: of ours it imports how tuples are made, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from tensorop.tuples import NamedTuple


class DimType(StrEnum):
    """Which tensors a dimension runs over.

    ====  ===  ===  ===
    type  in0  in1  out
    ====  ===  ===  ===
    M     yes   -   yes
    N      -   yes  yes
    K     yes  yes   -     (summed; in a one-input operation: in0 only)
    C     yes  yes  yes    (batch; in a one-input operation: in0 and out)
    ====  ===  ===  ===
    """

    M = "M"
    N = "N"
    K = "K"
    C = "C"


class ExecType(StrEnum):
    """How a dimension is executed: inside the primitive, as a loop, or by several threads."""

    PRIM = "prim"
    SEQ = "seq"
    SHARED = "shared"


class Primitive(StrEnum):
    """The innermost operations. Arity follows from the number of tensors of the operation:
    `MIN` with two inputs is the elementwise minimum, with one input and a K the reduction."""

    NONE = "none"
    # first touch, unary
    ZERO = "zero"
    COPY = "copy"
    CAST = "cast"
    CONJ = "conj"
    RELU = "relu"
    SQUARE = "square"
    SQRT = "sqrt"
    RECIPROCAL = "reciprocal"
    ABS = "abs"
    NEG = "neg"
    EXP = "exp"
    TANH = "tanh"
    SIGMOID = "sigmoid"
    GELU = "gelu"
    # binary
    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    DIV = "div"
    MIN = "min"
    MAX = "max"
    AND = "and"
    OR = "or"
    # reductions of one input (and MIN, MAX, AND, OR)
    SUM = "sum"
    PROD = "prod"
    # contractions: multiply, sum over K; BRGEMM has a second K inside the primitive
    GEMM = "gemm"
    BRGEMM = "brgemm"


TRANSCENDENTAL = frozenset({Primitive.EXP, Primitive.TANH, Primitive.SIGMOID, Primitive.GELU})
UNARY = TRANSCENDENTAL | frozenset(
    {
        Primitive.ZERO,
        Primitive.COPY,
        Primitive.CAST,
        Primitive.CONJ,
        Primitive.RELU,
        Primitive.SQUARE,
        Primitive.SQRT,
        Primitive.RECIPROCAL,
        Primitive.ABS,
        Primitive.NEG,
    }
)
BINARY = frozenset(
    {
        Primitive.ADD,
        Primitive.SUB,
        Primitive.MUL,
        Primitive.DIV,
        Primitive.MIN,
        Primitive.MAX,
        Primitive.AND,
        Primitive.OR,
    }
)
REDUCTIONS = frozenset(
    {
        Primitive.SUM,
        Primitive.PROD,
        Primitive.MIN,
        Primitive.MAX,
        Primitive.AND,
        Primitive.OR,
    }
)
CONTRACTIONS = frozenset({Primitive.GEMM, Primitive.BRGEMM})
SCALED = CONTRACTIONS | {Primitive.SUM}  # what alpha and beta are for


class Dimension(NamedTuple):
    """One loop of a tensor operation.

    size: number of iterations, at least 1.
    strides: elements (not bytes) between iterations, one entry per tensor of the operation in the
        order in0, in1, out (one-input operations: in0, out). Any sign; 0 where the tensor does not
        have the dimension, or repeats along it.
    name: the label in the caller's spec, for messages and `explain()` only: dimensions that differ
        in nothing else are equal.
    """

    type: DimType
    size: int
    strides: tuple[int, ...]
    exec: ExecType = ExecType.SEQ
    name: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dimension) and self[:4] == other[:4]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self[:4])

    def executed(self, how: ExecType) -> Dimension:
        """The dimension with this execution type."""
        if self.exec == how:
            return self
        return Dimension(self.type, self.size, self.strides, how, self.name)

    def sized(self, size: int) -> Dimension:
        """The dimension with this size."""
        return Dimension(self.type, size, self.strides, self.exec, self.name)

    def cut(self, inner: int) -> tuple[Dimension, Dimension]:
        """The dimension as two: over parts of so many iterations, which divide it, and one part."""
        strides = tuple([inner * step for step in self.strides])
        outer = Dimension(self.type, self.size // inner, strides, self.exec, self.name)
        return outer, self.sized(inner)

    def stepping(self, strides: tuple[int, ...]) -> Dimension:
        """The dimension with these strides."""
        return Dimension(self.type, self.size, strides, self.exec, self.name)


class Tensor(NamedTuple):
    """An operand: its role (`in0`, `in1`, `out`, `bias`), its dtype name and whether it is read
    conjugated. begins: how many bytes of a cache line lie before its first element, where that
    makes a difference."""

    role: str
    dtype: str
    conj: bool = False
    begins: int = 0


class _Group(NamedTuple):
    """The dimensions of one type, and the product of their sizes."""

    dimensions: tuple[Dimension, ...]
    size: int


_NONE = {type_: _Group((), 1) for type_ in DimType}


class _Operation(NamedTuple):
    tensors: tuple[Tensor, ...]
    dimensions: tuple[Dimension, ...]
    main: Primitive
    first_touch: Primitive = Primitive.NONE
    last_touch: Primitive = Primitive.NONE


class TensorOp(_Operation):
    """A tensor operation over strided tensors.

    out[...] (first_touch) ; out[...] (+)= main(in0[...], in1[...]) over K ; last_touch(out[...])

    tensors: in0, in1, out, or in0, out for a one-input operation.
    dtype: the type the arithmetic is done in; each tensor has its own storage dtype.
    """

    # What is worked out when it is first asked for, since passes, estimates and caches ask again
    # and again: it lies beside the fields, and is no part of the operation.
    _key: tuple[Any, ...]
    _hash: int
    _by_type: dict[DimType, _Group]
    _reached: tuple[int, ...]
    _as_out: dict[DimType, tuple[Dimension, ...]]

    def __getattr__(self, name: str) -> Any:
        if name == "_hash":
            value: Any = hash(self._key)
        elif name == "_key":  # what names make no difference to
            value = (tuple([d[:4] for d in self.dimensions]), self.tensors, *self[2:])
        elif name == "_by_type":
            value = _grouped(self.dimensions)
        elif name == "_reached":
            value = _reached(self.dimensions, len(self.tensors))
        elif name == "_as_out":
            value = {}
        else:
            raise AttributeError(f"an operation has no {name!r}")
        self.__dict__[name] = value
        return value

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, TensorOp) and self._key == other._key)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorOp, tuple(self)  # hashes of strings differ from process to process

    @property
    def out(self) -> int:
        """Position of the output among the tensors (and in every stride tuple)."""
        return len(self.tensors) - 1

    @property
    def dtype(self) -> str:
        return self.tensors[-1].dtype

    def of_type(self, type_: DimType) -> tuple[Dimension, ...]:
        return self._by_type[type_].dimensions

    def as_out(self, type_: DimType) -> tuple[Dimension, ...]:
        """The dimensions of a type, the last of which steps least in out."""
        known = self._as_out
        if type_ not in known:
            dims = self._by_type[type_].dimensions
            if len(dims) > 1:
                dims = tuple(sorted(dims, key=_widest_in_out))
            known[type_] = dims
        return known[type_]

    def size_of(self, type_: DimType) -> int:
        """Product of the sizes of all dimensions of a type (1 where there are none)."""
        return self._by_type[type_].size

    def reached(self, tensor: int) -> int:
        """How many elements of a tensor the operation touches, each counted once."""
        return self._reached[tensor]

    def undecided(self) -> TensorOp:
        """The operation, the execution of its dimensions being left to the optimizer."""
        return self.with_dimensions(tuple([d.executed(ExecType.SEQ) for d in self.dimensions]))

    def with_dimensions(self, dimensions: Iterator[Dimension] | tuple[Dimension, ...]) -> TensorOp:
        return TensorOp(
            self.tensors, tuple(dimensions), self.main, self.first_touch, self.last_touch
        )

    @property
    def flops(self) -> int:
        """Arithmetic operations: a multiply and an add count as two, complex ones as eight."""
        points = math.prod(d.size for d in self.dimensions)
        if self.main in CONTRACTIONS:
            return points * (8 if self.dtype.startswith(("complex", "clongdouble")) else 2)
        return 0 if self.main in (Primitive.COPY, Primitive.ZERO, Primitive.CAST) else points

    def verify(self) -> None:
        """State every invariant once; ValueError names the first one broken."""
        rank = len(self.tensors)
        if rank not in (2, 3):
            raise ValueError(f"an operation has 2 or 3 tensors, not {rank}")
        if self.tensors[-1].role != "out":
            raise ValueError("the last tensor must be the output")
        for i, d in enumerate(self.dimensions):
            where = f"dimension {i} ({d.type}, {d.name or '-'})"
            if d.size < 1:
                raise ValueError(f"{where}: size {d.size} is not positive")
            if len(d.strides) != rank:
                raise ValueError(f"{where}: {len(d.strides)} strides for {rank} tensors")
            self._verify_strides(where, d)
        self._verify_main()

    def _verify_strides(self, where: str, d: Dimension) -> None:
        absent = {DimType.M: "in1", DimType.N: "in0", DimType.K: "out"}.get(d.type)
        for tensor, stride in zip(self.tensors, d.strides, strict=True):
            if tensor.role == absent and stride != 0:
                raise ValueError(f"{where}: a {d.type} has no stride in {absent}, got {stride}")
        if d.type != DimType.K and d.size > 1 and d.strides[-1] == 0:
            raise ValueError(f"{where}: out has stride 0, so results would overwrite each other")
        if len(self.tensors) == 2 and d.type in (DimType.M, DimType.N):
            raise ValueError(f"{where}: a one-input operation has only C and K")

    def _verify_main(self) -> None:
        kinds = {d.type for d in self.dimensions}
        allowed = CONTRACTIONS | BINARY if len(self.tensors) == 3 else UNARY | REDUCTIONS
        if self.main not in allowed:
            raise ValueError(f"{self.main} is no primitive for {len(self.tensors) - 1} input(s)")
        if DimType.K in kinds and self.main not in CONTRACTIONS | REDUCTIONS:
            raise ValueError(f"{self.main} does not reduce, so it takes no K dimension")
        if DimType.K in kinds and len(self.tensors) == 3 and self.main not in CONTRACTIONS:
            raise ValueError(f"binary {self.main} takes M, N and C, not K")


def _widest_in_out(d: Dimension) -> int:
    return -abs(d.strides[-1])


def _grouped(dimensions: tuple[Dimension, ...]) -> dict[DimType, _Group]:
    found: dict[DimType, list[Dimension]] = {}
    for d in dimensions:
        found.setdefault(d.type, []).append(d)
    groups = dict(_NONE)
    for type_, dims in found.items():
        groups[type_] = _Group(tuple(dims), math.prod([d.size for d in dims]))
    return groups


def _reached(dimensions: tuple[Dimension, ...], tensors: int) -> tuple[int, ...]:
    found = [1] * tensors
    for _, size, strides, *_ in dimensions:
        for t, stride in enumerate(strides):
            if stride:
                found[t] *= size
    return tuple(found)
