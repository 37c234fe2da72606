"""The stream kernels: everything that is neither a GEMM nor a permuting copy.

One kernel runs over a block of two axes, the inner X and the outer Y. Every tensor has an *access*
of X (consecutive, broadcast, any stride; for the output also: reduced) and any stride along Y:

    for x, y:  out[x, y] (op)= main(in0[x, y], in1[x, y])

Unary and binary elementwise operations, reductions, and the products that are no matrix product
(dot, matrix-vector, elementwise, outer) are all of this form. `stream_kernel` checks a description
and maps equivalent ones to one, so that few kernels are compiled. `StreamDescriptor` names what a
kernel reads at run time.

Results of `gemm` and `sum` are stored as `abi.CallRecord` says: alpha * acc (+ beta * out) in the
first K block, out + alpha * acc in later ones. Other reductions overwrite out in the first K block
if out is not read, and combine with it otherwise. Elementwise ones overwrite, and may run in place.
"""

from __future__ import annotations

from functools import lru_cache

from tensorop.ir import BINARY, REDUCTIONS, UNARY, Primitive
from tensorop.jit.elements import Element, element
from tensorop.jit.stream_abi import REDUCING, Access, StreamDescriptor, StreamKernel

__all__ = ["Access", "StreamDescriptor", "StreamKernel", "stream_kernel"]

_ONE_INPUT = frozenset(main.value for main in UNARY | REDUCTIONS)
_TWO_INPUTS = frozenset(main.value for main in BINARY | {Primitive.GEMM})
_ORDERED = frozenset({"min", "max", "relu"})
_FLOATING = frozenset({"div", "sqrt", "reciprocal"})
_LOGICAL = frozenset({"and", "or"})
_BOOL = frozenset({"zero", "copy", "cast", "gemm", "sum"}) | _LOGICAL
_UNTYPED = frozenset({"zero", "copy"})  # bytes are bytes
_PARTWISE = _UNTYPED | {"neg", "add", "sub"}  # complex numbers are pairs of real ones
# Results that are the same for signed and unsigned integers.
_WRAPPING = frozenset({"neg", "square", "add", "sub", "mul", "gemm", "sum", "prod"})


@lru_cache(maxsize=1024)
def stream_kernel(
    main: str,
    dtype: str,
    *,
    source: str | None = None,
    in0: Access = "unit",
    in1: Access | None = None,
    out: Access = "unit",
    outer_reduced: bool = False,
    conj0: bool = False,
    conj1: bool = False,
    joined: bool = False,
    one_row: bool = False,
    past: bool = False,
    width: int = 0,
    in_turn: bool = False,
    in_blocks: bool = False,
    asks0: bool = False,
    asks1: bool = False,
) -> StreamKernel:
    """The kernel that serves a description, in its canonical form.

    Parameters
    ----------
    main : str
        A `Primitive` but brgemm: with `in1` a binary one or gemm (multiply, sum), else a unary one
        or a reduction. Without a reduced axis, gemm is the product and sum the copy, scaled.
    dtype : str
        Type of the output and of the arithmetic.
    source : str, optional
        Type of the inputs where it differs: for cast, or to accumulate in a wider type.
    in0, in1 : {"unit", "zero", "strided"}
        How the inputs run along X; `in1` is None where there is one input.
    out : {"unit", "strided", "reduced"}
        How the output runs along X.
    outer_reduced : bool
        Y is reduced as well.
    conj0, conj1 : bool
        The input is read conjugated.
    joined : bool
        The rows, of at most `JOINED` positions, lie end to end in in0 and out, so that vectors go
        from one into the next. in1 has one row for all y ("unit"), or an element for each ("zero").
    one_row : bool
        Rows are joined, of which in0, too, has one for all y, and in1 an element for each.
    past : bool
        More is written than the caches hold, so that lines had better not go through them. Only a
        wish: where vectors are no parts of lines, or rows are joined or summed, they do.
    width : int
        Vectors of a row that are summed down all rows at once, where Y is reduced: as many as the
        registers have room for. Only a wish: types that have no vectors of their own have a few.
    in_turn : bool
        Rows that are summed along X lie end to end in memory: one after the other they are read as
        a single stream. Only a wish, too.
    in_blocks : bool
        What is summed are more terms than may be added one after the other without their roundings
        showing. For half types, whose sums are not cut into several calls.
    asks0, asks1 : bool
        What is read later of the input is asked for: it is in memory, and vectors of several rows
        in turn, or of short ones, are more than the hardware makes out. Only a wish, too.

    Raises
    ------
    ValueError
        The primitive does not take these inputs, or does not reduce; rows that can't be joined.
    TypeError
        The primitive does not exist for the dtype.

    Examples
    --------
    >>> stream_kernel("gemm", "float32", in1="unit", out="reduced").name  # a dot product
    'stream_gemm_float32_unit_unit_reduced'
    """
    main = str(Primitive(main).value)
    source = None if source == dtype else source
    _check(main, dtype, source, in1, out == "reduced" or outer_reduced)
    if joined and (
        (in0, out, outer_reduced) != ("unit", "unit", False) or in1 in (None, "strided")
    ):
        raise ValueError("rows are joined that lie end to end in in0 and out, with in1 beside them")
    if one_row and not (joined and in1 == "zero"):
        raise ValueError("in0 has one row for all beside an element of in1 for each joined row")
    accesses = in0, in1, out
    flags = outer_reduced, conj0, conj1, joined, one_row, past
    form = StreamKernel(
        main, dtype, source, *accesses, *flags, width, in_turn, in_blocks, asks0, asks1
    )
    return _plain_stores(_retyped(_plain_accesses(_plain_main(form))))


def _check(main: str, dtype: str, source: str | None, in1: Access | None, reduces: bool) -> None:
    if main not in (_ONE_INPUT if in1 is None else _TWO_INPUTS):
        inputs = "one input" if in1 is None else "two inputs"
        raise ValueError(f"{main} is no stream primitive of {inputs}")
    if reduces and (main not in REDUCING or (in1 is not None and main != "gemm")):
        raise ValueError(f"{main} is elementwise, so neither X nor Y can be reduced")
    kind = element(dtype)
    allowed = {
        "b": main in _BOOL or main == "conj",
        "i": main not in _FLOATING | _LOGICAL,
        "u": main not in _FLOATING | _LOGICAL,
        "f": main not in _LOGICAL and not (kind.parts == 2 and main in _ORDERED),
    }
    if not allowed[kind.kind]:
        raise TypeError(f"no {main} for dtype {dtype}")
    if source is not None:
        element(source)


def _plain_main(form: StreamKernel) -> StreamKernel:
    """Fewer primitives: conj is a copy read conjugated, cast a copy from another type."""
    if form.main == "conj":
        form = form._replace(main="copy", conj0=not form.conj0)
    if form.main == "cast":
        form = form._replace(main="copy")
    if form.main == "zero":
        form = form._replace(source=None, in0="zero", conj0=False)
    read = element(form.source or form.dtype)
    return form if read.parts == 2 else form._replace(conj0=False, conj1=False)


def _plain_accesses(form: StreamKernel) -> StreamKernel:
    """Fewer accesses: for types that have no vectors there is one strided kernel for all strides
    and all reductions."""
    kinds = element(form.dtype), element(form.source or form.dtype)
    if all(kind.vectorises for kind in kinds):
        return form._replace(out="scattered") if form.strided else form
    in1: Access | None = None if form.in1 is None else "strided"
    strided = form._replace(in0="strided", in1=in1, out="strided")
    return strided._replace(outer_reduced=False, joined=False, one_row=False)


def _retyped(form: StreamKernel) -> StreamKernel:
    """Fewer dtypes, where another one does the same work."""
    kind = element(form.dtype)
    if form.source is not None or form.conj0 or form.conj1 or not kind.vectorises:
        return form
    accesses = {form.in0, form.in1, form.out} - {None}
    consecutive = accesses == {"unit"} or (form.main == "zero" and form.out == "unit")
    consecutive &= not form.joined
    if kind.parts == 2 and form.main in _PARTWISE and consecutive:
        form = form._replace(dtype=f"float{8 * kind.part}", per_x=2)
        kind = element(form.dtype)
    if form.main in _UNTYPED and kind.kind != "b" and kind.size <= 8:
        return form._replace(dtype=f"uint{8 * kind.size}")
    return _unsigned(form, kind)


def _unsigned(form: StreamKernel, kind: Element) -> StreamKernel:
    same = kind.kind == "i" and form.main in _WRAPPING
    return form._replace(dtype=f"u{form.dtype}") if same else form


def _plain_stores(form: StreamKernel) -> StreamKernel:
    """Past the caches only what is stored once, as it was computed; wide sums of types that
    take few registers; rows in turn only where there are several; only consecutive vectors are
    asked for."""
    kinds = element(form.dtype), element(form.source or form.dtype)
    plain = all(kind.vectorises and not kind.half and kind.kind != "b" for kind in kinds)
    once = form.out == "unit" and not (form.outer_reduced or form.joined or form.gathers)
    form = form if plain and once else form._replace(past=False)
    simple = all(kind.half for kind in kinds) or (plain and all(kind.part >= 4 for kind in kinds))
    down = form.outer_reduced and form.out == "unit" and not form.gathers
    form = form if simple and down else form._replace(width=0)
    asks = not form.strided and all(kind.vectorises for kind in kinds)
    return form._replace(
        in_blocks=form.in_blocks and bool(kinds[0].half) and form.updates,
        in_turn=form.in_turn and form.out == "reduced" and not form.outer_reduced,
        asks0=form.asks0 and asks and form.in0 == "unit",
        asks1=form.asks1 and asks and form.in1 == "unit",
    )
