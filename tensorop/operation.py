"""The explicit form of a tensor operation: the caller names dimensions, strides and primitives.

`TensorOperation` is the third door of the library, for those who have decided how a contraction
is to run: which dimensions are loops, which are divided among threads, which lie inside the
primitive. In go vectors with one entry per dimension; `setup()` checks all of them and binds
kernels; `execute()` checks that every address lies inside the arrays, and runs. It runs as
written: nothing is reordered, split or packed, unless `optimize=True` hands the operation to the
optimizer.

Checks come first and name the entry at fault, because a stride is an address: nothing else stands
between a wrong one and another array's memory.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tensorop.bounds import apart, overlapping, reach, require_inside, shares_elements
from tensorop.calls import cache_clear
from tensorop.dtype_rules import check_dtype, dtype_name
from tensorop.ir import (
    BINARY,
    CONTRACTIONS,
    REDUCTIONS,
    UNARY,
    Dimension,
    DimType,
    ExecType,
    Primitive,
    Tensor,
    TensorOp,
)
from tensorop.plans import are_too_many, plan_for_operation
from tensorop.runnable import Runnable
from tensorop.threads import at_most
from tensorop.tuples import NamedTuple

Array = NDArray[Any]
E = TypeVar("E", bound=StrEnum)

FIRST_TOUCHES = (Primitive.NONE, Primitive.ZERO, Primitive.COPY)
LAST_TOUCHES = (Primitive.NONE, *(p for p in Primitive if p in UNARY))
_MOST = 1 << 56  # bytes, and so sizes and strides, that no machine addresses
MOST_PASSED = 256  # layouts that are remembered
_ROLES = {2: ("in0", "out"), 3: ("in0", "in1", "out")}
_ABSENT = {DimType.M: "in1", DimType.N: "in0", DimType.K: "out"}
_CONTRACTION_PRIM: Mapping[Primitive, Mapping[DimType, int]] = {
    Primitive.GEMM: {DimType.M: 1, DimType.N: 1, DimType.K: 1, DimType.C: 0},
    Primitive.BRGEMM: {DimType.M: 1, DimType.N: 1, DimType.K: 2, DimType.C: 0},
}


class _Bound(NamedTuple):
    """An operation that was set up. spans: lowest and highest element reached in each tensor."""

    op: TensorOp
    executable: Runnable
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class TensorOperation:
    """A tensor operation with everything said by the caller.

        out = last_touch(first_touch(out) + main(in0, in1))

    All vectors have one entry per dimension, outermost loop first, PRIM dimensions last.

    Parameters
    ----------
    dtype : dtype or (dtype, dtype)
        Type of every operand. Only `cast` takes a pair, (in0, out).
    main : Primitive or str
        `gemm`, `brgemm`; with one input any unary (`copy`, `relu`, ...) or reduction (`sum`, `max`,
        ...); with two inputs any binary (`add`, `mul`, ...).
    dim_types : sequence of DimType or str
        `M` (in0 and out), `N` (in1 and out), `K` (summed), `C` (all). One input: `C` and `K` only.
    sizes : sequence of int
        Iterations of each dimension, at least 1.
    strides_in0, strides_in1, strides_out : sequence of int
        Elements between iterations, from the first element of the array, in either direction; 0
        where the tensor does not have the dimension. `strides_in1` is None with one input.
    exec_types : sequence of ExecType or str, optional
        `prim` (inside the primitive), `seq` (a loop), `shared` (divided among threads). May be left
        out with `optimize=True`, where the optimizer decides anew in any case.
    first_touch : Primitive or str, default `none`
        Before the first K: `none` adds to what `out` holds, `zero` starts afresh (from the identity
        of the reduction: 0 for sums), `copy` starts from the bias. Elementwise mains have none.
    last_touch : Primitive or str, default `none`
        After the last K: any unary primitive.
    optimize : bool, default False
        Let the optimizer fuse, split, pack, order and parallelise.
    threads : int, optional
        Threads for SHARED dimensions; None: the current setting.

    Notes
    -----
    PRIM dimensions: GEMM exactly one M, N and K; BRGEMM exactly one M and N and two K, the first
    the batch-reduce one (give a size of 1 where a contraction lacks one); unary one or two C;
    binary one or two of M, N and C; reductions one C, one K, or one of each. SHARED dimensions
    are neighbours and never K; SEQ ones may lie outside and inside them. Which dtypes a primitive
    allows is the table of `tensorop.dtype_rules`.

    Examples
    --------
    A matrix product, column-major, in blocks of 8 x 4 with a ReLU on each:

    >>> import numpy as np
    >>> import tensorop
    >>> relu_of_product = tensorop.TensorOperation(
    ...     dtype="float32",
    ...     first_touch="zero",
    ...     main="gemm",
    ...     last_touch="relu",
    ...     dim_types=("M", "N", "M", "N", "K"),
    ...     exec_types=("shared", "seq", "prim", "prim", "prim"),
    ...     sizes=(2, 2, 8, 4, 5),
    ...     strides_in0=(8, 0, 1, 0, 16),
    ...     strides_in1=(0, 20, 0, 5, 1),
    ...     strides_out=(8, 64, 1, 16, 0),
    ... )
    >>> relu_of_product.setup()
    >>> a, b = np.ones(16 * 5, "f4"), np.ones(5 * 8, "f4")
    >>> out = np.empty(16 * 8, "f4")
    >>> relu_of_product.execute(a, b, out)
    >>> float(out.min()), float(out.max())
    (5.0, 5.0)
    """

    dtype: Any
    main: Primitive | str
    dim_types: Sequence[DimType | str]
    sizes: Sequence[int]
    strides_in0: Sequence[int]
    strides_out: Sequence[int]
    strides_in1: Sequence[int] | None = None
    exec_types: Sequence[ExecType | str] | None = None
    first_touch: Primitive | str = Primitive.NONE
    last_touch: Primitive | str = Primitive.NONE
    optimize: bool = False
    threads: int | None = None
    _bound: _Bound | None = field(default=None, init=False, repr=False)
    _passed: set[tuple[Any, ...]] = field(
        default_factory=set, init=False, repr=False, compare=False
    )

    def setup(self) -> None:
        """Check every entry and bind kernels; a second call does nothing.

        Raises
        ------
        ValueError
            An entry is unknown, has the wrong length, or does not fit the others.
        TypeError
            The dtype is unknown, or a primitive does not exist for it.
        """
        self._setup()

    def execute(self, in0: Array, in1: Array | None, out: Array, bias: Array | None = None) -> None:
        """Run on arrays: any shape, the first element is the base address.

        Parameters
        ----------
        in0, in1 : ndarray
            The inputs; `in1` is None with one input.
        out : ndarray
            Written in place. It may be an input itself if main is elementwise and the strides
            agree, and must not share elements with one otherwise.
        bias : ndarray, optional
            For first touch `copy`: laid out as `out` is (same strides from its first element).

        Raises
        ------
        ValueError
            An address lies outside its array, `out` is read-only or shares elements with an input,
            or an array is missing or one too many.
        TypeError
            An array has another dtype than the operation says, or is no array.
        """
        op, executable, spans = self._setup()
        inputs = [in0] if len(op.tensors) == 2 else [in0, in1]
        if len(op.tensors) == 2 and in1 is not None:
            raise ValueError(f"in1: {op.main} was set up with one input; pass None")
        if (bias is not None) != (op.first_touch == Primitive.COPY):
            need = "needs" if bias is None else "takes no"
            raise ValueError(f"bias: first touch {op.first_touch} {need} bias array")
        arrays = [self._checked(a, op, i) for i, a in enumerate([*inputs, out])]
        if bias is not None:
            bias = self._checked(bias, op, op.out, "bias")
        _check_out(op, spans, arrays, bias)
        target = arrays[-1]
        if not target.flags.aligned:  # stores of whole lines count elements from where these begin
            low, high = spans[op.out]
            arrays[-1] = np.zeros(high - low + 1, target.dtype)[-low:]
            _results(op, arrays[-1])[...] = _results(op, target)
        executable.run(arrays, 1, int(_accumulates(op)), bias)
        if arrays[-1] is not target:
            _results(op, target)[...] = _results(op, arrays[-1])

    def _checked(self, array: Any, op: TensorOp, tensor: int, role: str = "") -> Array:
        """The array, if it can be this operand; a layout that passed once is remembered."""
        if type(array) is np.ndarray:
            layout = (tensor, array.shape, array.strides, array.dtype)
            if layout in self._passed:
                return array
        checked = _checked(array, op, tensor, role or op.tensors[tensor].role)
        if len(self._passed) >= MOST_PASSED:
            self._passed.clear()
        self._passed.add((tensor, checked.shape, checked.strides, checked.dtype))
        return checked

    def __getstate__(self) -> dict[str, Any]:
        """Without the bound kernels: they belong to this process; `setup()` binds them anew."""
        return {**self.__dict__, "_bound": None, "_passed": set()}

    def _setup(self) -> _Bound:
        if self._bound is None:
            op = self._op()
            executable = _executable(op, self.optimize, _threads(self.threads))
            spans = tuple(reach(op.dimensions, tensor) for tensor in range(len(op.tensors)))
            object.__setattr__(self, "_bound", _Bound(op, executable, spans))
        assert self._bound is not None
        return self._bound

    def _op(self) -> TensorOp:
        """The operation, every entry checked."""
        main = _member(Primitive, self.main, "main")
        first = _member(Primitive, self.first_touch, "first_touch", FIRST_TOUCHES)
        last = _member(Primitive, self.last_touch, "last_touch", LAST_TOUCHES)
        roles = _ROLES[2 if self.strides_in1 is None else 3]
        _check_main(main, first, len(roles) - 1)
        dimensions = self._dimensions(roles)
        op = TensorOp(self._tensors(roles, main, first, last), dimensions, main, first, last)
        _check_dimensions(op)
        if self.exec_types is not None:
            _check_nesting(dimensions)
            _check_prim(op)
        op.verify()
        return op

    def _dimensions(self, roles: tuple[str, ...]) -> tuple[Dimension, ...]:
        types = [_member(DimType, t, f"dim_types[{i}]") for i, t in enumerate(self.dim_types)]
        if self.exec_types is None and not self.optimize:
            raise ValueError("exec_types: needed unless optimize=True")
        given = ["seq"] * len(types) if self.exec_types is None else self.exec_types
        execs = [_member(ExecType, t, f"exec_types[{i}]") for i, t in enumerate(given)]
        strides = {r: _integers(getattr(self, f"strides_{r}"), f"strides_{r}") for r in roles}
        sizes = _integers(self.sizes, "sizes")
        lengths = {"sizes": len(sizes), "exec_types": len(execs)}
        lengths |= {f"strides_{role}": len(vector) for role, vector in strides.items()}
        for name, length in lengths.items():
            if length != len(types):
                raise ValueError(f"{name} has {length} entries, dim_types has {len(types)}")
        rows = zip(types, sizes, zip(*strides.values(), strict=True), execs, strict=True)
        return tuple(Dimension(*row) for row in rows)

    def _tensors(self, roles: tuple[str, ...], *primitives: Primitive) -> tuple[Tensor, ...]:
        given = self.dtype if isinstance(self.dtype, tuple) else (self.dtype,) * len(roles)
        if any(isinstance(dtype, list) for dtype in given):
            raise TypeError(
                f"dtype: a dtype or a tuple (in0, out) of two is needed, got {given[0]!r}"
            )
        if len(given) != len(roles) or (len(set(given)) > 1 and primitives[0] != Primitive.CAST):
            raise TypeError(f"dtype: only cast takes two, (in0, out); got {self.dtype!r}")
        names = [dtype_name(d) for d in given]
        for name in dict.fromkeys(names):
            for entry, primitive in zip(
                ("main", "first_touch", "last_touch"), primitives, strict=True
            ):
                check_dtype(name, primitive, entry)
        return tuple(Tensor(role, name) for role, name in zip(roles, names, strict=True))


def _results(op: TensorOp, array: Array) -> Array:
    """A view of all that an operation writes into an array that it begins with."""
    dims = [d for d in op.dimensions if d.strides[op.out]]
    steps = [d.strides[op.out] * array.itemsize for d in dims]
    return np.lib.stride_tricks.as_strided(array, [d.size for d in dims], steps)


def _executable(op: TensorOp, optimize: bool, threads: int | None) -> Runnable:
    if are_too_many():
        cache_clear()
    return plan_for_operation(op, optimize, threads)


def _member(kind: type[E], value: Any, entry: str, allowed: Iterable[E] | None = None) -> E:
    """The enumeration's member of that name, in either case."""
    members = list(kind if allowed is None else allowed)
    for member in members:
        if isinstance(value, str) and value.lower() == member.value.lower():
            return member
    raise ValueError(f"{entry}: {value!r} is none of {', '.join(members)}")


def _integers(values: Any, entry: str) -> list[int]:
    if not isinstance(values, Iterable):
        raise TypeError(f"{entry}: a sequence of integers is needed, got {values!r}")
    result = []
    for i, value in enumerate(values):
        try:
            number = operator.index(value)
        except TypeError:
            raise ValueError(f"{entry}[{i}]: {value!r} is not an integer") from None
        if abs(number) > _MOST:
            raise ValueError(f"{entry}[{i}]: {number} is more than memory can have")
        result.append(number)
    return result


def _threads(threads: Any) -> int | None:
    if threads is None:
        return None
    count = _integers([threads], "threads")[0]
    if isinstance(threads, bool) or count < 1:
        raise ValueError(f"threads: {threads} is not positive")
    return at_most(count)


def _reduces(op: TensorOp) -> bool:
    return op.main in CONTRACTIONS or (len(op.tensors) == 2 and op.main in REDUCTIONS)


def _accumulates(op: TensorOp) -> bool:
    """Whether the result is joined to what `out` holds, from before or from its first touch."""
    return _reduces(op) and op.first_touch != Primitive.ZERO


def _check_main(main: Primitive, first: Primitive, inputs: int) -> None:
    allowed = UNARY | REDUCTIONS if inputs == 1 else CONTRACTIONS | BINARY
    if main not in allowed:
        why = "strides_in1 is None" if inputs == 1 else "strides_in1 is given"
        known = ", ".join(p for p in Primitive if p in allowed)
        raise ValueError(f"main: {main} does not take {inputs} input(s) ({why}); {known} do")
    accumulates = main in CONTRACTIONS or (inputs == 1 and main in REDUCTIONS)
    if first != Primitive.NONE and not accumulates:
        raise ValueError(f"first_touch: {main} writes out once and takes none, got {first}")


def _check_dimensions(op: TensorOp) -> None:
    """Sizes, types and strides of each dimension, and of out as a whole."""
    for i, d in enumerate(op.dimensions):
        if d.size < 1:
            raise ValueError(f"sizes[{i}]: {d.size} is not positive")
        if len(op.tensors) == 2 and d.type in (DimType.M, DimType.N):
            raise ValueError(f"dim_types[{i}]: {d.type}, but one input has only C and K")
        if d.type == DimType.K and not _reduces(op):
            raise ValueError(f"dim_types[{i}]: K, but {op.main} does not reduce")
        for tensor, stride in zip(op.tensors, d.strides, strict=True):
            entry = f"strides_{tensor.role}[{i}]"
            if stride and _ABSENT.get(d.type) == tensor.role:
                raise ValueError(f"{entry}: {stride}, but {tensor.role} has no {d.type}; give 0")
        if d.type != DimType.K and d.size > 1 and d.strides[-1] == 0:
            raise ValueError(f"strides_out[{i}]: 0, so that {d.size} results overwrite each other")
    if overlapping([d for d in op.dimensions if d.type != DimType.K], op.out):
        raise ValueError("strides_out: two results have one address; the strides overlap")


def _check_nesting(dimensions: Sequence[Dimension]) -> None:
    """PRIM innermost; SHARED ones neighbours, and no K."""
    execs = [d.exec for d in dimensions]
    for i, d in enumerate(dimensions):
        if d.exec == ExecType.SHARED and d.type == DimType.K:
            raise ValueError(
                f"exec_types[{i}]: K can't be shared, threads would add to one address"
            )
        if d.exec != ExecType.PRIM and ExecType.PRIM in execs[:i]:
            raise ValueError(f"exec_types[{i}]: a {d.exec} loop inside the primitive; PRIM go last")
        apart = ExecType.SHARED in execs[:i] and execs[i - 1] != ExecType.SHARED
        if d.exec == ExecType.SHARED and apart:
            raise ValueError(f"exec_types[{i}]: SHARED dimensions must be neighbours")


def _check_prim(op: TensorOp) -> None:
    """The PRIM dimensions are those of the primitive."""
    prim = [d.type for d in op.dimensions if d.exec == ExecType.PRIM]
    count = {t: prim.count(t) for t in DimType}
    if op.main in CONTRACTIONS:
        fits = count == _CONTRACTION_PRIM[op.main]
        need = "exactly one M, one N and " + ("one K" if op.main == Primitive.GEMM else "two K")
    elif _reduces(op):
        fits = bool(prim) and count[DimType.C] <= 1 and count[DimType.K] <= 1
        need = "one C, one K, or one of each"
    else:
        fits = len(prim) in (1, 2)
        need = "one or two C" if len(op.tensors) == 2 else "one or two of M, N and C"
    if not fits:
        found = ", ".join(prim) or "none"
        raise ValueError(
            f"exec_types: {op.main} takes as PRIM {need} (size 1 will do); got {found}"
        )


def _checked(array: Any, op: TensorOp, tensor: int, role: str) -> Array:
    """The array, without what a subclass adds, if it is one, has the right dtype and holds every
    address."""
    name = op.tensors[tensor].dtype
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{role}: a numpy array is needed, got {type(array).__name__}")
    try:
        given = dtype_name(array.dtype)
    except TypeError as error:
        raise TypeError(f"{role}: {error}") from None
    if given != name:
        raise TypeError(f"{role}: dtype {given} given, the operation has {name}")
    require_inside(array, op.dimensions, tensor, role)
    return array if type(array) is np.ndarray else array.view(np.ndarray)


def _check_out(
    op: TensorOp, spans: Sequence[tuple[int, int]], arrays: Sequence[Array], bias: Array | None
) -> None:
    """`out` may be written, and shares nothing with what is read but itself, element by element."""
    out = arrays[-1]
    if not out.flags.writeable:
        raise ValueError("out is read-only")
    reads = [(op.tensors[i].role, a, i) for i, a in enumerate(arrays[:-1])]
    if bias is not None:
        reads.append(("bias", bias, op.out))
    for role, array, tensor in reads:
        if apart(array, out, (spans[tensor], spans[op.out])):
            continue
        in_place = array.ctypes.data == out.ctypes.data and all(
            d.size == 1 or d.strides[tensor] == d.strides[op.out] for d in op.dimensions
        )
        elementwise = role == "bias" or not _reduces(op)
        if in_place and elementwise and array.dtype == out.dtype:
            continue
        if shares_elements(array, out, op.dimensions, (tensor, op.out)):
            raise ValueError(f"out shares elements with {role}; pass a copy of {role}")
