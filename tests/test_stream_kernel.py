"""Stream kernels against numpy: every access, reduction, tail, update and dtype, on every target
the machine can run, with all operands between guard pages."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

import tensorop
from tensorop.jit.compiler import assembly
from tensorop.jit.elements import element
from tensorop.jit.lines import LINE
from tensorop.jit.stream import stream_kernel
from tensorop.jit.stream_abi import JOINED
from tensorop.jit.stream_loops import generate
from tensorop.jit.target import Target, current_target
from tests.stream_calls import COMPLEX, DTYPES, TARGETS, Case

on_targets = pytest.mark.parametrize("target", TARGETS)

# in0, in1, out, outer_reduced
PRODUCTS = [
    ("unit", "unit", "reduced", False),  # matrix-vector along rows
    ("unit", "unit", "reduced", True),  # dot
    ("unit", "zero", "reduced", False),
    ("zero", "unit", "reduced", True),
    ("unit", "zero", "unit", True),  # matrix-vector along columns
    ("unit", "unit", "unit", True),
    ("unit", "zero", "unit", False),  # outer product
    ("zero", "unit", "unit", False),
    ("unit", "unit", "unit", False),  # elementwise
    ("strided", "unit", "strided", False),
    ("strided", "zero", "strided", True),
    ("unit", "strided", "reduced", False),
    ("strided", "strided", "reduced", True),
]
SUMS = [
    ("unit", "reduced", False),
    ("unit", "reduced", True),
    ("unit", "unit", True),
    ("unit", "unit", False),
    ("strided", "reduced", False),
    ("strided", "strided", True),
]
# first, alpha, beta (None: not asked for; then out holds NaN and may not be read)
UPDATES = [
    (True, None, None),
    (True, 2, None),
    (True, None, 3),
    (True, -2, 2),
    (False, None, 3),
    (False, 3, None),
]
SIZES = [1, 2, 7, 15, 16, 17, 31, 64, 130, 257]


@on_targets
@pytest.mark.parametrize("access", PRODUCTS, ids=str)
def test_float32_products(target: Target, access: tuple[str, str, str, bool]) -> None:
    in0, in1, out, outer = access
    for x, y, i in itertools.product(SIZES, (1, 3, 4, 9), range(3)):
        first, alpha, beta = UPDATES[(x + y + i) % len(UPDATES)]
        Case(
            "gemm", "float32", in0, in1, out, outer, x=x, y=y, first=first, alpha=alpha, beta=beta,
            pad=(x + i) % 3, shared=i == 1, at_end=i != 2, negative=i == 2,
        ).check(target)  # fmt: skip


@on_targets
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("in1", "one_row"), [("unit", False), ("zero", False), ("zero", True)], ids=str
)
def test_joined_rows(target: Target, dtype: str, in1: str, one_row: bool) -> None:
    """Vectors that go from one row into the next: rows shorter and longer than a vector, fewer and
    more of them than a buffer holds, one row or an element of each row of in1, one row of in0."""
    complex_ = dtype in COMPLEX
    for i, (x, y) in enumerate(
        itertools.product((1, 2, 3, 5, 8, 13, 16, 31, 33, JOINED), (1, 2, 5, 64, 130, 1000))
    ):
        first, alpha, beta = UPDATES[i % len(UPDATES)]
        Case(
            "gemm", dtype, "unit", in1, x=x, y=y, first=first, alpha=alpha, beta=beta, joined=True,
            one_row=one_row, conj0=complex_ and i % 2 == 0, conj1=complex_ and i % 3 == 0,
            shared=in1 == "unit", pad=i % 4, at_end=i % 5 != 0,
        ).check(target)  # fmt: skip


@on_targets
@pytest.mark.parametrize("main", ["add", "sub", "div", "max"])
@pytest.mark.parametrize("in1", ["unit", "zero"])
def test_joined_rows_of_elementwise_operations(target: Target, main: str, in1: str) -> None:
    one_row = in1 == "zero" and main == "sub"
    for x, y in ((3, 700), (20, 5)):
        case = Case(
            main, "float64", "unit", in1, x=x, y=y, joined=True, one_row=one_row,
            shared=in1 == "unit",
        )  # fmt: skip
        assert case.kernel.joined
        case.check(target)


@on_targets
@pytest.mark.parametrize("dtype", DTYPES)
def test_wide_sums_down_rows(target: Target, dtype: str) -> None:
    """Rows of fewer and of more vectors than a kernel sums at once, which may ask for others."""
    lanes = target.lanes(element(dtype).part)
    for i, (width, y) in enumerate(itertools.product((2, 6, 24), (1, 2, 7, 20))):
        first, alpha, beta = UPDATES[i % len(UPDATES)]
        for x in (1, lanes + 1, width * lanes - 1, width * lanes, 2 * width * lanes + 3):
            case = Case(
                "gemm", dtype, "unit", ("unit", "zero")[i % 2], outer_reduced=True, x=x, y=y,
                first=first, alpha=alpha, beta=beta, width=width, asks=x % 2 == 0, pad=i % 3,
                in_blocks=y > 2,
                negative=i % 4 == 1, special=i % 5 == 4, at_end=i % 3 != 0,
            )  # fmt: skip
            case.check(target)
            Case("sum", dtype, outer_reduced=True, x=x, y=y, width=width, asks=True).check(target)
    wide = dtype in ("float32", "float64", "int32", "uint64", "complex64", "complex128")
    assert not wide or (case.kernel.width == width and "wide24" in case.kernel.name)


@on_targets
@pytest.mark.parametrize("dtype", ["float32", "complex128", "int16", "bfloat16"])
def test_rows_summed_in_turn(target: Target, dtype: str) -> None:
    """Shorter and longer than the sums that rows have side by side."""
    for i, (x, y) in enumerate(itertools.product((1, 9, 37, 300), (1, 3, 9))):
        first, alpha, beta = UPDATES[i % len(UPDATES)]
        main, in1 = (("sum", None), ("gemm", "unit"), ("gemm", "zero"))[i % 3]
        case = Case(
            main, dtype, in1=in1, out="reduced", x=x, y=y, in_turn=True, asks=i % 2 == 0,
            shared=i % 4 == 1, first=first, alpha=alpha, beta=beta, pad=i % 3, special=i % 5 == 4,
            in_blocks=y > 1,
        )  # fmt: skip
        assert case.kernel.in_turn and "in_turn" in case.kernel.name
        case.check(target)
    assert not stream_kernel("sum", dtype, in_turn=True, outer_reduced=True).in_turn


def test_totals_apart() -> None:
    """Sums down rows of less than a vector, and of several rows, have more totals than those of
    bytes, which have neither; of complex numbers from memory eight rows are two totals each."""

    def totals(dtype: str, **form: Any) -> int:
        text = str(generate(stream_kernel("sum", dtype, **form), current_target()))
        return text.count("= phi <")

    quick = ["float32", "int32", "uint64", "bfloat16"] + ["float16"] * current_target().half
    for dtype in quick:
        assert totals(dtype, outer_reduced=True) > totals("int8", outer_reduced=True), dtype
    for dtype in quick[-1:]:
        assert totals(dtype, out="reduced") > totals(dtype, out="reduced", in_turn=True)
    if current_target().registers >= 32:
        down = {"outer_reduced": True, "asks0": True}
        assert totals("complex64", **down) > 1.5 * totals("float32", **down)


def test_wide_sums_of_half_types_ask_for_parts_of_rows_below() -> None:
    """As many totals as they are wide, and one request for each vector, eight rows further down."""

    def code(**form: Any) -> str:
        form = {"outer_reduced": True, "in_blocks": True, **form}
        return str(generate(stream_kernel("sum", "bfloat16", **form), current_target()))

    few, wide = code(), code(width=16)
    assert wide.count("= phi <") >= few.count("= phi <") + 12
    assert "llvm.prefetch" not in wide
    asking = code(width=16, asks0=True)
    assert asking.count('call void @"llvm.prefetch') >= 16
    assert re.search(r"= mul i64 [^\n]*, 8\n", asking)


def test_what_is_not_wide() -> None:
    for kernel in (
        stream_kernel("gemm", "float32", in1="unit", out="reduced", width=8),
        stream_kernel("gemm", "float32", in1="unit", width=8),
        stream_kernel("gemm", "int8", in1="unit", outer_reduced=True, width=8),
        stream_kernel("sum", "float32", in0="strided", outer_reduced=True, width=8),
    ):
        assert not kernel.width


@on_targets
@pytest.mark.parametrize("dtype", ["float32", "complex128", "int16", "bfloat16", "bool"])
@pytest.mark.parametrize("form", ["map", "joined", "along", "down"])
def test_asking_changes_nothing(target: Target, dtype: str, form: str) -> None:
    """Of rows shorter and longer than what is asked for ahead, one and several at a time."""
    for i, (x, y) in enumerate(itertools.product((1, 9, 37, 70, 700), (1, 3, 8, 21))):
        if form == "joined" and x > JOINED:
            continue
        first, alpha, beta = UPDATES[i % len(UPDATES)]
        case = Case(
            "gemm", dtype, in1=("unit", "zero")[i % 2], x=x, y=y, asks=True,
            out="reduced" if form == "along" else "unit", outer_reduced=form == "down",
            joined=form == "joined", shared=form == "joined" and i % 2 == 0, pad=i % 3,
            first=first, alpha=alpha, beta=beta, negative=i % 4 == 1 and form != "joined",
        )  # fmt: skip
        case.check(target)
        assert case.kernel.asks0 and case.kernel.asks1 == (case.in1 == "unit")
        asking = assembly(generate(case.kernel, target), target)
        assert "prefetch" in asking or not target.triple.startswith("x86_64")


def test_what_is_not_asked_for() -> None:
    for access, out, dtype in (
        ("zero", "unit", "float32"),
        ("strided", "unit", "float32"),
        ("strided", "unit", "longdouble"),
        ("unit", "unit", "longdouble"),
    ):
        kernel = stream_kernel("sum", dtype, in0=access, out=out, asks0=True, asks1=True)
        assert not kernel.asks0 and not kernel.asks1


@on_targets
@pytest.mark.parametrize("dtype", DTYPES)
def test_lines_past_the_caches(target: Target, dtype: str) -> None:
    """Rows that begin and end anywhere in a line, and some within an element of where one would;
    what reads out goes through the caches."""
    for i, (x, y) in enumerate(itertools.product((1, 4, 15, 16, 33, 64, 67, 150, 300), (1, 3))):
        first, alpha, beta = (*UPDATES, (True, None, None))[i % (len(UPDATES) + 1)]
        for in1 in ("unit", "zero"):
            Case(
                "gemm", dtype, "unit", in1, x=x, y=y, first=first, alpha=alpha, beta=beta,
                past=True, pad=i % 5, at_end=i % 3 != 0, shift=(0, 16, 4)[i % 3],
                conj0=dtype in COMPLEX, negative=i % 4 == 1,
            ).check(target)  # fmt: skip
        Case("copy", dtype, x=x, y=y, past=True, pad=i % 3, shift=(i % 7) * 8).check(target)
        Case("zero", dtype, x=x, y=y, past=True, pad=i % 3).check(target)


@on_targets
def test_what_goes_past_the_caches(target: Target) -> None:
    """Other functions and types; in place; and what is asked for in vain."""
    for case in (
        Case("relu", "float64", x=130, y=3, pad=1, past=True, in_place=True),
        Case("max", "int16", "unit", "zero", x=200, y=2, pad=3, past=True),
        Case("cast", "float64", source="float32", x=77, y=3, pad=1, past=True),
        Case("cast", "int8", source="float64", x=77, y=2, pad=1, past=True),
        Case("sqrt", "float32", x=100, y=2, pad=1, past=True),
    ):
        assert case.kernel.past
        case.check(target)
    for kernel in (
        stream_kernel("gemm", "float32", in1="unit", out="reduced", past=True),
        stream_kernel("gemm", "float32", in1="unit", outer_reduced=True, past=True),
        stream_kernel("gemm", "float32", in1="unit", joined=True, past=True),
        stream_kernel("copy", "float32", in0="strided", past=True),
        stream_kernel("add", "bfloat16", in1="unit", past=True),
    ):
        assert not kernel.past


@on_targets
@pytest.mark.parametrize("main", ["sum", "prod", "min", "max"])
@pytest.mark.parametrize("access", SUMS, ids=str)
def test_float32_reductions(target: Target, main: str, access: tuple[str, str, bool]) -> None:
    in0, out, outer = access
    for x, y, i in itertools.product(SIZES, (1, 4, 6), range(2)):
        first, alpha, beta = UPDATES[(x + y + 3 * i) % len(UPDATES)]
        Case(
            main, "float32", in0, None, out, outer, x=x, y=y, first=first, alpha=alpha, beta=beta,
            pad=i, at_end=i == 0, special=main in ("min", "max") and y == 4,
        ).check(target)  # fmt: skip


@on_targets
@pytest.mark.parametrize(("first", "alpha", "beta"), UPDATES)
def test_updates(target: Target, first: bool, alpha: int | None, beta: int | None) -> None:
    """Every way to combine with out, for every kind of store."""
    for dtype in ("float32", "complex64", "bfloat16", "int16", "bool"):
        for in0, in1, out, outer in (PRODUCTS[0], PRODUCTS[4], PRODUCTS[9]):
            for x, y in ((5, 6), (70, 2)):
                Case(
                    "gemm", dtype, in0, in1, out, outer, x=x, y=y,
                    first=first, alpha=alpha, beta=beta,
                ).check(target)  # fmt: skip


@on_targets
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(target: Target, dtype: str) -> None:
    """One kernel of every shape of loops, tails included."""
    complex_ = dtype in COMPLEX
    for i, (in0, in1, out, outer) in enumerate((PRODUCTS[0], PRODUCTS[4], PRODUCTS[6])):
        for x, y in ((1, 1), (5, 4), (67, 5), (300, 2)):
            first, alpha, beta = UPDATES[(x + i) % len(UPDATES)]
            Case(
                "gemm", dtype, in0, in1, out, outer, x=x, y=y, first=first, alpha=alpha, beta=beta,
                conj0=complex_, conj1=complex_ and i == 1, pad=i, shared=i == 0,
            ).check(target)  # fmt: skip
    reductions = ["sum"] if dtype == "bool" or complex_ else ["sum", "min"]
    for main, (in0, out, outer) in itertools.product(reductions, (SUMS[1], SUMS[2])):
        for x, y in ((3, 2), (150, 3)):
            Case(main, dtype, in0, None, out, outer, x=x, y=y, pad=1).check(target)


@on_targets
@pytest.mark.parametrize("dtype", DTYPES)
def test_one_strided_kernel_serves_every_access(target: Target, dtype: str) -> None:
    for (in0, in1, out, outer), (x, y) in itertools.product(PRODUCTS[9:], ((1, 1), (6, 3), (9, 2))):
        Case(
            "gemm", dtype, in0, in1, out, outer, x=x, y=y, beta=2, conj1=dtype in COMPLEX
        ).check(target)  # fmt: skip
    kernels = {
        Case("gemm", dtype, *access, conj1=dtype in COMPLEX).kernel for access in PRODUCTS[9:]
    }
    assert len(kernels) == (4 if element(dtype).vectorises else 1)


@on_targets
@pytest.mark.parametrize(
    "dtype",
    [d for d in DTYPES if element(d).vectorises],
)
def test_vectors_are_gathered_and_scattered(target: Target, dtype: str) -> None:
    kinds = ("unit", "zero", "strided")
    ways = [
        (*access, outer)
        for access in itertools.product(kinds, kinds, ("unit", "strided", "reduced"))
        for outer in (False, True)
        if "strided" in access
    ]
    for i, ((in0, in1, out, outer), (x, y)) in enumerate(
        itertools.product(ways, ((3, 5), (16, 1), (37, 4)))
    ):
        first, alpha, beta = UPDATES[i % len(UPDATES)]
        case = Case(
            "gemm", dtype, in0, in1, out, outer, x=x, y=y, first=first, alpha=alpha, beta=beta,
            pad=i % 3, negative=i % 5 == 2, at_end=i % 5 != 2, apart=(-2, 2, 3, 4, 5)[i % 5],
        )  # fmt: skip
        assert case.kernel.gathers
        case.check(target)
    mains = {"float32": ("sqrt", "copy", "max"), "bool": ("copy",)}.get(dtype, ("copy", "square"))
    for main, in0, out in itertools.product((*mains, "zero"), kinds, ("unit", "strided")):
        if out == "strided" or (in0 == "strided" and main != "zero"):
            for apart in (-2, -1, 2, 3, 4, 5):
                Case(main, dtype, in0, None, out, x=37, y=3, apart=apart).check(target)


@on_targets
@pytest.mark.parametrize("dtype", ["float16", "int8", "int64", "uint64", "complex128", "bool"])
def test_other_reductions(target: Target, dtype: str) -> None:
    mains = {"bool": ["and", "or"], "complex128": ["prod"]}.get(dtype, ["prod", "min", "max"])
    for main, (in0, out, outer), first in itertools.product(mains, SUMS, (True, False)):
        for x, y in ((3, 2), (37, 4)):
            Case(main, dtype, in0, None, out, outer, x=x, y=y, first=first).check(target)


@on_targets
@pytest.mark.parametrize(
    ("source", "dtype"), [("float16", "float32"), ("int8", "int64"), ("float32", "complex128")]
)
def test_inputs_of_another_dtype(target: Target, source: str, dtype: str) -> None:
    """Accumulation in a wider type than that of the inputs."""
    for in0, in1, out, outer in (PRODUCTS[0], PRODUCTS[4], PRODUCTS[8]):
        case = Case("gemm", dtype, in0, in1, out, outer, source=source, x=75, y=5, pad=1)
        case.check(target)


@on_targets
def test_nan_in_broadcast_operand_stays_in_its_row(target: Target) -> None:
    """Masked lanes hold zeros: times an infinite broadcast operand they must not count."""
    case = Case("gemm", "float32", "unit", "zero", "reduced", x=19, y=5)
    case._lay_out()
    case.blocks[0].array[...] = case.blocks[0].values[...] = 1
    case.blocks[1].array[...] = case.blocks[1].values[...] = float("inf")
    case.run(target)
    assert (case.target.array == float("inf")).all()


def test_equivalent_descriptions_are_one_kernel() -> None:
    def same(*kernels: object) -> bool:
        return len(set(kernels)) == 1

    assert same(
        stream_kernel("copy", "float32"),
        stream_kernel("copy", "int32"),
        stream_kernel("cast", "uint32", source="uint32"),
        stream_kernel("conj", "float32", conj0=True),
    )
    assert same(stream_kernel("conj", "complex64", conj0=True), stream_kernel("copy", "complex64"))
    assert same(stream_kernel("zero", "int64", in0="unit"), stream_kernel("zero", "float64"))
    assert same(
        stream_kernel("gemm", "int16", in1="unit", out="reduced"),
        stream_kernel("gemm", "uint16", in1="unit", out="reduced"),
    )
    assert stream_kernel("min", "int16", in1="unit") != stream_kernel("min", "uint16", in1="unit")
    assert stream_kernel("cast", "float32", source="int32") != stream_kernel(
        "cast", "float32", source="uint32"
    )


@pytest.mark.parametrize(
    ("main", "dtype", "options", "error", "match"),
    [
        ("relu", "complex64", {}, TypeError, "no relu for dtype complex64"),
        ("max", "complex128", {"in1": "unit"}, TypeError, "no max"),
        ("sqrt", "int32", {}, TypeError, "no sqrt"),
        ("div", "int8", {"in1": "unit"}, TypeError, "no div"),
        ("and", "int8", {"in1": "unit"}, TypeError, "no and"),
        ("add", "bool", {"in1": "unit"}, TypeError, "no add"),
        ("add", "float32", {}, ValueError, "no stream primitive of one input"),
        ("relu", "float32", {"in1": "unit"}, ValueError, "no stream primitive of two inputs"),
        ("mul", "float32", {"in1": "unit", "out": "reduced"}, ValueError, "elementwise"),
        ("relu", "float32", {"outer_reduced": True}, ValueError, "elementwise"),
        ("mul", "float32", {"in1": "strided", "joined": True}, ValueError, "end to end"),
        ("copy", "float32", {"joined": True}, ValueError, "end to end"),
        ("gemm", "int8", {"in1": "unit", "joined": True, "one_row": True}, ValueError, "one row"),
        ("copy", "float128", {}, KeyError, "no kernels"),
    ],
)
def test_refusals(
    main: str, dtype: str, options: dict[str, str], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        stream_kernel(main, dtype, **options)  # type: ignore[arg-type]


@on_targets
@pytest.mark.parametrize("first", [True, False])
def test_complex_infinity_is_not_multiplied_by_one(target: Target, first: bool) -> None:
    """(1 + 0i) * inf has a NaN part: without alpha, and to what out holds, nothing may be done."""
    infinite = complex(float("inf"), 2)
    for x in (1, 21):
        case = Case("sum", "complex64", x=x, first=first)
        case._lay_out()
        case.blocks[0].array[...] = infinite if first else 0
        case.target.array[...] = 0 if first else infinite
        case.run(target)
        assert (case.target.array == infinite).all()


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "complex128"])
@pytest.mark.parametrize("length", [64, 127, 128, 129, 143, 300])
def test_rows_begin_anywhere_in_a_line(length: int, dtype: str) -> None:
    """What lies before the first whole line of a row, if anything, comes first; nothing before or
    behind the row is written, also where out is read, or an input."""
    rng, size = np.random.default_rng(length), np.dtype(dtype).itemsize
    a, b = (rng.integers(-9, 9, (3, length)).astype(dtype) for _ in range(2))
    for begin in range(0, 2 * LINE, min(size, 8)):
        memory = np.full(a.nbytes + 4 * LINE, 77, np.uint8)
        start = -memory.ctypes.data % LINE + begin
        expected = memory.copy()
        for array in (memory, expected):
            array[start : start + a.nbytes] = a.view(np.uint8).ravel()
        out = memory[start : start + a.nbytes].view(dtype).reshape(a.shape)
        tensorop.einsum("ij,ij->ij", a, b, out=out, alpha=2, beta=-1, threads=1)
        tensorop.einsum("ij,j->ij", out, b[0], out=out, threads=1)
        held = ((2 * a * b - a) * b[0]).astype(dtype)
        expected[start : start + a.nbytes] = held.view(np.uint8).ravel()
        np.testing.assert_array_equal(memory, expected)
