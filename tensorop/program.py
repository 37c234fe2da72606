"""A call of einsum, decided: everything that follows from the spec and the operands' layouts.

In go a spec, layouts and options (no arrays), out comes a `Program`: the shape, dtype and strides
of the result, which operands have to be copied and how, and the steps. Running it on arrays
of those layouts decides nothing any more. `einsum` keeps programs in a cache; `compile` shows them.

The back end takes operands of one dtype, in native byte order, aligned, with strides that are whole
elements; whatever differs is copied first (`Copy`), and a result that cannot be written where it
belongs goes through a temporary (`Program.through`). Only bytes that are multiplied into 32-bit
integers it takes as they are, where an instruction does that (`optimizer/groups.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from math import prod
from typing import Any

import numpy as np

from tensorop.contraction import Contraction, resolved
from tensorop.dtypes import (
    DType,
    cast_into,
    check_cast,
    check_casting,
    check_numeric,
    compute_dtype,
    is_half,
    name_of,
)
from tensorop.errors import EinsumError
from tensorop.ir import Dimension, DimType, Primitive, Tensor, TensorOp
from tensorop.layout import (
    Operand,
    Strides,
    combine,
    is_fortran,
    like,
    packed,
    result_strides,
)
from tensorop.memory import LARGE, empty
from tensorop.path import Path, find_path
from tensorop.spec import Spec
from tensorop.tree import Step, cast_first, plan_tree
from tensorop.tuples import NamedTuple

Array = np.ndarray[Any, DType]
Layout = tuple[tuple[int, ...], Strides, DType, bool]  # shape, strides in bytes, dtype, aligned

ORDERS = "CFAK"
_GAIN = 0.8  # of what a result in numpy's order costs, that one in C order must stay under


class Options(NamedTuple):
    """The keywords of a call, as far as they decide how it runs.

    scaled: alpha is not 1. through: write `out` through a temporary (it overlaps an operand).
    joins: `out` takes part in the compute dtype, and is read (einsum; the ufuncs do neither).
    tune: search for the fastest schedules; three_m: multiply complex matrices by three real
    products; None: as the environment says.
    """

    dtype: DType | None = None
    casting: Any = "safe"
    order: str = "K"
    optimize: Any = "auto"
    conj: tuple[int, ...] = ()
    scaled: bool = False
    through: bool = False
    joins: bool = True
    tune: bool | None = None
    three_m: bool | None = None


class Storage(NamedTuple):
    """An array to allocate: strides in bytes."""

    shape: tuple[int, ...]
    dtype: DType
    strides: Strides

    def allocator(self) -> Callable[[], Array]:
        """What makes such arrays."""
        c_order = packed(tuple(reversed(range(len(self.shape)))), self.shape, self.dtype.itemsize)
        size = prod(self.shape) * self.dtype.itemsize
        if self.strides == c_order and size < LARGE:
            return partial(np.empty, self.shape, self.dtype)
        return partial(empty, self.shape, self.dtype, self.strides)


class Copy(NamedTuple):
    """How an operand becomes one that the back end takes: its part `kept` (which leaves out
    repetitions), cast into `storage`."""

    kept: tuple[slice, ...]
    storage: Storage

    def apply(self, array: Array) -> Array:
        copy = self.storage.allocator()()
        cast_into(copy, array[self.kept])
        return copy


class View(NamedTuple):
    """A result that is a view of the one operand: diagonals, then a permutation."""

    diagonals: tuple[tuple[int, int], ...]
    axes: tuple[int, ...]

    def apply(self, array: Array) -> Any:
        view = array
        for first, second in self.diagonals:
            view = view.diagonal(0, first, second)
        view = view.transpose(self.axes)
        if self.diagonals and array.flags.writeable:
            view.flags.writeable = True  # numpy's diagonal is read-only, its einsum's is not
        return view if view.ndim else view[()]


class Program(NamedTuple):
    """What a call does.

    dtype: the compute dtype, which is also that of a new result. work: the dtype that all steps run
    in (float32 for half types in more than one step). result: the array to return where no `out` is
    given. view: the whole result, where it is a view. copies: one an operand, None where it serves
    as it is. through: the temporary that the last step writes, None where it writes the result.
    rounding: the cast of that temporary into a result of a half type; None: numpy copies it.
    steps: none where the result has no elements. sums_nothing: a summed label has size 0, so the
    one step copies a zero instead of the operands.
    """

    contraction: Contraction
    dtype: DType
    work: DType
    result: Storage
    view: View | None = None
    copies: tuple[Copy | None, ...] = ()
    through: Storage | None = None
    rounding: TensorOp | None = None
    steps: tuple[Step, ...] = ()
    sums_nothing: bool = False

    @property
    def is_direct(self) -> bool:
        """Whether the call is a single step on the caller's own arrays."""
        alone = len(self.steps) == 1 and self.steps[0].factor == 1
        return alone and self.through is None and self.is_plain

    @property
    def is_plain(self) -> bool:
        """Whether there are steps, on the caller's own arrays, and numpy copies nothing."""
        own = self.through is None or self.rounding is not None
        return own and bool(self.steps) and not any(self.copies) and not self.sums_nothing


def decide(
    spec: Spec,
    layouts: Sequence[Layout],
    out: Layout | None,
    options: Options,
    prefer: Callable[[TensorOp], tuple[float, Sequence[str]]] = lambda op: (0.0, ()),
    takes_bytes: Callable[[TensorOp], bool] = lambda op: False,
) -> Program:
    """Decide a call.

    layouts: of the operands. out: of the given `out`, if any. prefer: asked, where the result may
    lie in any order, what the operation that writes it costs (0: all is well as it is), and which
    order would be clearly faster: its labels, outermost first, or none. takes_bytes: whether a
    product of bytes into int32 is given them as they are, instead of cast.

    Raises
    ------
    EinsumError
        Sizes or options that do not fit the spec.
    TypeError
        Dtypes without kernels or without a permitted cast.
    """
    order = check_options(options)
    shapes = tuple([layout[0] for layout in layouts])
    contraction = resolved(spec, shapes, None if out is None else out[0])
    conj = _conjugated(contraction, layouts, options.conj)
    if out is None and not options.scaled and len(layouts) == 1 and not conj[0]:
        view = view_of(contraction, layouts[0][2].kind)
        if view is not None:
            return _viewing(contraction, layouts[0][2], view)
    dtype = _decide_dtype(layouts, out, options)
    conj = [flag and dtype.kind == "c" for flag in conj]
    if order == "A":
        order = "F" if _all_fortran(contraction, layouts) else "C"
    moving = _moving(contraction, layouts)
    if prod(contraction.shape) * dtype.itemsize > sys.maxsize:
        raise ValueError(f"the result is too big: no array has the shape {contraction.shape}")
    strides = result_strides(contraction, moving, order, dtype.itemsize)
    path = find_path(options.optimize, contraction, name_of(dtype))

    def program(strides: Strides) -> Program:
        result = Storage(contraction.shape, dtype, strides)
        return _with_steps(
            contraction, layouts, moving, out, result, path, conj, options.through, takes_bytes
        )

    decided = program(strides)
    if out is not None or order != "K" or options.optimize is False or not decided.steps:
        return decided
    price, names = prefer(decided.steps[-1].op)
    if not names and price:  # what has found a better order has compared those of C order, too
        c_order = result_strides(contraction, moving, "C", dtype.itemsize)
        if strides != c_order:
            other = program(c_order)
            other_price, other_names = prefer(other.steps[-1].op)
            if other_price < _GAIN * price:
                decided, names = other, other_names
    if names:
        axes = _axes_of(contraction, names)
        decided = program(packed(axes, contraction.shape, dtype.itemsize))
    return decided


def _axes_of(contraction: Contraction, names: Sequence[str]) -> list[int]:
    """The axes of the result, fastest first, for its labels outermost first; those of size 1, which
    are not named, anywhere."""
    output = [contraction.names[label] for label in contraction.output]
    named = [output.index(name) for name in reversed(names)]
    return [*named, *(axis for axis in range(len(output)) if axis not in named)]


def check_options(options: Options) -> str:
    """Check what numpy checks even where it makes no difference; returns the order's letter."""
    check_casting(options.casting)
    for name, value in (("tune", options.tune), ("three_m", options.three_m)):
        if value is not None and not isinstance(value, (bool, np.bool_)):
            raise TypeError(f"{name} must be a bool or None, not {type(value).__name__}")
    order = "K" if options.order is None else options.order
    if not isinstance(order, str):
        raise TypeError(f"order must be str, not {type(order).__name__}")
    if order.upper() not in tuple(ORDERS):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    return order.upper()


def _conjugated(
    contraction: Contraction, layouts: Sequence[Layout], positions: tuple[int, ...]
) -> list[bool]:
    flags = [False] * len(layouts)
    for position in positions:
        if not 0 <= position < len(layouts):
            raise EinsumError(
                f"conj names operand {position}, but the operands are 0 to {len(layouts) - 1}",
                contraction.spec.text,
            )
        flags[position] = layouts[position][2].kind in "cO"
    return flags


def _decide_dtype(layouts: Sequence[Layout], out: Layout | None, options: Options) -> DType:
    dtypes = tuple([layout[2] for layout in layouts])
    joined = None if out is None else out[2]
    return _computed(dtypes, joined, options.dtype, options.casting, options.joins)


@lru_cache(maxsize=256)  # few among many shapes
def _computed(
    dtypes: tuple[DType, ...], out: DType | None, wanted: DType | None, casting: Any, joins: bool
) -> DType:
    """The dtype that is computed in, all casts being permitted; joins: see `Options`."""
    for source in dtypes:
        check_numeric(source)
    dtype = compute_dtype(dtypes if out is None or not joins else (*dtypes, out), wanted)
    for i, source in enumerate(dtypes):
        check_cast(f"operand {i}", source, dtype, casting)
    if out is not None:
        check_cast("the result", dtype, out, casting, "a wider out")
        if joins:
            check_cast("out", out, dtype, casting)
    return dtype


def view_of(contraction: Contraction, kind: str) -> View | None:
    """The view that is the result of a one-operand call, if it sums nothing; kind: of the dtype."""
    if contraction.summed or kind in "OSUT":
        return None
    labels = list(contraction.operands[0])
    diagonals = []
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            diagonals.append((first, second))
            labels = labels[:first] + labels[first + 1 : second] + labels[second + 1 :]
            labels.append(label)
    return View(tuple(diagonals), tuple(labels.index(label) for label in contraction.output))


def _viewing(contraction: Contraction, dtype: DType, view: View) -> Program:
    return Program(
        contraction,
        dtype,
        dtype,
        Storage(contraction.shape, dtype, (0,) * len(contraction.shape)),
        view,
    )


def _moving(contraction: Contraction, layouts: Sequence[Layout]) -> list[Operand]:
    pairs = zip(contraction.operands, layouts, strict=True)
    return [combine(labels, shape, strides) for labels, (shape, strides, *_) in pairs]


def _all_fortran(contraction: Contraction, layouts: Sequence[Layout]) -> bool:
    pairs = zip(contraction.operands, layouts, strict=True)
    return all(
        is_fortran(labels, shape, strides, dtype.itemsize)
        for labels, (shape, strides, dtype, _) in pairs
    )


def _with_steps(
    contraction: Contraction,
    layouts: Sequence[Layout],
    moving: Sequence[Operand],
    out: Layout | None,
    result: Storage,
    path: Path,
    conj: list[bool],
    through: bool,
    takes_bytes: Callable[[TensorOp], bool],
) -> Program:
    """Fit operands and result to the back end, and plan the steps."""
    if 0 in contraction.shape:
        return Program(contraction, result.dtype, result.dtype, result)
    if 0 in contraction.sizes:
        program, target = _target(contraction, out, result, result.dtype, through)
        zero, name = [Operand((), ())], name_of(result.dtype)
        (step,) = plan_tree(contraction, zero, target, ((0,),), name, [False])
        return program._replace(steps=(step._replace(factor=1),), sums_nothing=True)
    if _are_bytes(layouts, result.dtype):  # whose steps are elements, too
        program, target = _target(contraction, out, result, result.dtype, through)
        step, *more = plan_tree(contraction, moving, target, path, result.dtype.name, conj)
        op = _uncast(step.op, layouts) if step.op.main == Primitive.GEMM else None
        if op is not None and not more and takes_bytes(op):
            return program._replace(copies=(None, None), steps=(step._replace(op=op),))
    for work in (result.dtype, _FLOAT32):
        name = name_of(work)
        prepared = [
            _prepare(contraction, i, layout, bytewise, work, name)
            for i, (layout, bytewise) in enumerate(zip(layouts, moving, strict=True))
        ]
        operands = [operand for operand, *_ in prepared]
        program, target = _target(contraction, out, result, work, through)
        steps = plan_tree(contraction, operands, target, path, name, conj)
        # Intermediate results of half types stay in float32: then every step runs in it.
        if len(steps) == 1 or not is_half(name):
            break
    casts = [cast for *_, cast in prepared if cast is not None]
    copies = tuple([copy for _, copy, _ in prepared])
    rounding = None if program.through is None else _rounding(program.through, out, result)
    steps = cast_first(casts, steps) if casts else steps
    return program._replace(copies=copies, rounding=rounding, steps=steps)


_FLOAT32 = np.dtype(np.float32)
_BYTES = frozenset({"int8", "uint8"})
_SUMS = frozenset({"int32", "uint32"})


def _are_bytes(layouts: Sequence[Layout], work: DType) -> bool:
    """Whether two operands of bytes make 32-bit integers."""
    bytes_ = all(dtype.name in _BYTES for _, _, dtype, _ in layouts)
    return bytes_ and len(layouts) == 2 and work.name in _SUMS


def _uncast(op: TensorOp, layouts: Sequence[Layout]) -> TensorOp:
    """An operation on operands of their own dtypes."""
    *inputs, out = op.tensors
    own = [t._replace(dtype=dtype.name) for t, (*_, dtype, _) in zip(inputs, layouts, strict=True)]
    return TensorOp((*own, out), *op[1:])


def _prepare(
    contraction: Contraction, i: int, layout: Layout, moving: Operand, work: DType, name: str
) -> tuple[Operand, Copy | None, Step | None]:
    """Operand i as steps in `work` read it (strides in elements), and what makes it so: a copy by
    numpy, or a step that casts it, where there are kernels that read it as it lies.

    moving: the operand with strides in bytes. name: that of `work`.
    """
    shape, strides, dtype, _ = layout
    if _is_usable(layout, work, name):
        size = work.itemsize
        own_strides = tuple([stride // size for stride in moving.strides])
        return Operand(moving.labels, own_strides), None, None
    index = tuple(slice(0, 1) if stride == 0 else slice(None) for stride in strides)
    shape = tuple(min(n, 1) if stride == 0 else n for n, stride in zip(shape, strides, strict=True))
    labels, elements = contraction.operands[i], like(shape, strides, 1)
    operand = combine(labels, shape, elements)
    # What numpy makes of numbers that do not fit is its own affair.
    if dtype.isnative and dtype.kind != "O" and np.can_cast(dtype, work, "safe"):
        own = name_of(dtype)
        if _is_usable(layout, dtype, own):
            names = tuple([contraction.names[label] for label in labels])
            steps = [stride // dtype.itemsize for stride in strides]
            axes = zip(names, shape, zip(steps, elements, strict=True), strict=True)
            dims = [Dimension(DimType.C, n, pair, name=name) for name, n, pair in axes if n > 1]
            tensors = (Tensor("in0", own), Tensor("out", name))
            op = TensorOp(tensors, tuple(dims), Primitive.CAST)
            return operand, None, Step(op, (i,), i, prod(shape), 1, (names, names))
    return operand, Copy(index, Storage(shape, work, like(shape, strides, work.itemsize))), None


def _is_usable(layout: Layout, work: DType, name: str) -> bool:
    """Whether steps in `work`, of that name, can read or write an array as it lies."""
    shape, strides, dtype, aligned = layout
    same = dtype is work or (dtype.isnative and dtype.kind != "O" and name_of(dtype) == name)
    if not (same and aligned):
        return False
    size = work.itemsize
    return not any(n > 1 and stride % size for n, stride in zip(shape, strides, strict=True))


def _target(
    contraction: Contraction, out: Layout | None, result: Storage, work: DType, through: bool
) -> tuple[Program, Strides]:
    """The program without its steps, and the strides, in elements, that the last step writes."""
    program = Program(contraction, result.dtype, work, result)
    if out is None:
        shape, strides, fits = result.shape, result.strides, work == result.dtype
    else:
        shape, strides = out[0], out[1]
        usable = not through and _is_usable(out, work, name_of(work))
        fits = usable and not _may_overlap_itself(out)
    size = work.itemsize
    if not fits:
        strides = like(shape, strides, size)
        program = program._replace(through=Storage(shape, work, strides))
    return program, tuple([stride // size for stride in strides])


def _rounding(through: Storage, out: Layout | None, result: Storage) -> TensorOp | None:
    """The cast of a float32 temporary into a result of a half type, where a kernel can write it:
    numpy takes up to thirty times as long."""
    layout = (result.shape, result.strides, result.dtype, True) if out is None else out
    shape, strides, dtype, _ = layout
    name = name_of(result.dtype)
    if dtype != result.dtype or not is_half(name) or through.dtype != _FLOAT32:
        return None
    if not _is_usable(layout, dtype, name) or _may_overlap_itself(layout):
        return None
    pairs = zip(through.strides, strides, strict=True)
    steps = [(a // through.dtype.itemsize, b // dtype.itemsize) for a, b in pairs]
    axes = zip(shape, steps, strict=True)
    dims = [Dimension(DimType.C, n, pair, name=f"{i}") for i, (n, pair) in enumerate(axes) if n > 1]
    tensors = (Tensor("in0", _FLOAT32.name), Tensor("out", name))
    return TensorOp(tensors, tuple(dims), Primitive.CAST)


def _may_overlap_itself(layout: Layout) -> bool:
    """Whether two elements of an array may share memory, judged by its strides alone."""
    shape, strides, dtype, _ = layout
    reach = dtype.itemsize
    for stride, n in sorted((abs(s), n) for n, s in zip(shape, strides, strict=True) if n > 1):
        if stride < reach:
            return True
        reach = stride * (n - 1) + reach
    return False
