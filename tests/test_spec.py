"""The language without arrays: parsing, sizes, errors and carets, layouts, paths and trees."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import opt_einsum
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorop.contraction import Contraction, resolve
from tensorop.dtypes import name_of, scalar
from tensorop.errors import EinsumError
from tensorop.ir import DimType, Primitive, TensorOp
from tensorop.layout import combine, like, result_strides
from tensorop.path import find_path
from tensorop.program import Layout, Options, Program, decide
from tensorop.spec import parse, parse_lists, sublist


def contraction(spec: str, *shapes: tuple[int, ...]) -> Contraction:
    return resolve(parse(spec), shapes)


def layout(shape: tuple[int, ...], dtype: str = "f8", order: str = "C") -> Layout:
    array = np.empty(shape, dtype, order)
    return array.shape, array.strides, array.dtype, True


def program(spec: str, *shapes: tuple[int, ...], dtype: str = "f8", **options) -> Program:
    return decide(parse(spec), [layout(s, dtype) for s in shapes], None, Options(**options))


def test_terms() -> None:
    spec = parse(" i j...,... jk -> i...k")
    assert [t.labels for t in spec.operands] == [("i", "j"), ("j", "k")]
    assert [t.ellipsis for t in spec.operands] == [2, 0]
    assert spec.output.labels == ("i", "k") and spec.output.ellipsis == 1
    assert spec.operands[1].columns == (12, 13)


def test_implicit_output_is_in_the_order_of_the_alphabet() -> None:
    assert parse("ba,bZ").output.labels == ("Z", "a")
    assert parse("bab").output.labels == ("a",)
    assert parse("...").output.ellipsis == 0
    assert parse_lists(((10, 9), (9, 2)), None).output.labels == (2, 10)


@pytest.mark.parametrize("label", ["%", "é", "β", "中", "𝔘", "1", "_", "(", "\\", "'"])
def test_any_character_is_a_label(label: str) -> None:
    assert contraction(f"i{label},{label}k", (2, 3), (3, 4)).shape == (2, 4)


def test_get_symbol_names_are_labels_at_any_count() -> None:
    for n in (0, 51, 52, 53, 100, 500, 5000, 60000):
        symbol = opt_einsum.get_symbol(n)
        assert parse(f"{symbol}->{symbol}").operands[0].labels == (symbol,)


@pytest.mark.parametrize(
    ("spec", "column"),
    [
        ("ij,jk-ik", 5),
        ("i-", 1),
        ("i - >i", 2),
        ("i>j", 1),
        ("i->i->i", 4),
        ("i->i,j", 4),
        ("i..j", 1),
        ("i....", 4),
        (".i", 0),
        ("...i...", 4),
        ("i. ..", 1),
        ("ij->iji", 6),
        ("ij->ik", 5),
        ("i->..i", 3),
    ],
)
def test_malformed_specs_point_at_the_fault(spec: str, column: int) -> None:
    with pytest.raises(EinsumError) as caught:
        parse(spec)
    assert caught.value.at == column
    assert str(caught.value).splitlines()[-2:] == [f"  {spec}", "  " + " " * column + "^"]


@pytest.mark.parametrize(
    ("spec", "shapes", "words", "at"),
    [
        ("ij,jk", [(2, 3), (4, 5)], "label 'j' of operand 1 has size 4, but 3 in operand 0", 3),
        ("ij,jk,kl", [(2, 1), (3, 1), (5, 2)], None, None),
        ("ij,kj,lj", [(2, 1), (3, 7), (5, 2)], "operand 2 has size 2, but 7 in operand 1", 7),
        ("iij", [(2, 3, 4)], "label 'i' of operand 0 has size 3 here, but 2 before", 1),
        ("ii", [(1, 3)], "size 3 here, but 1 before", 1),
        ("...i,...i", [(2, 3), (5, 3)], "axis 0 of operand 1, under '...', has size 5", 5),
        ("a...b,...b", [(2, 3, 4), (9, 4)], "axis 0 of operand 1, under '...'", 6),
        ("a...b,b", [(2, 3, 4), (5,)], "label 'b' of operand 1 has size 5, but 4", 6),
        ("i,j", [(2,)], "2 operand(s), but 1 were given", 0),
        ("i", [(2, 2)], "operand 0 has 2 dimension(s), but the spec names 1; name them", 0),
        ("i,jk", [(2,), (3,)], "operand 1 has 1 dimension(s), but the spec names 2", 2),
        ("i...->i", [(2, 3)], "the output needs a '...' too", 6),
    ],
)
def test_sizes_that_disagree(spec, shapes, words, at) -> None:
    if words is None:
        resolve(parse(spec), shapes)
        return
    with pytest.raises(EinsumError) as caught:
        resolve(parse(spec), shapes)
    assert words in str(caught.value)
    assert caught.value.at == at


def test_errors_survive_pickling() -> None:
    error = EinsumError("no", "ij,jk", 3, 2)
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error) == "no\n  ij,jk\n     ^^"
    assert isinstance(copy, ValueError) and copy.at == 3


def test_sublists() -> None:
    spec = parse_lists(((0, Ellipsis, 100), (100,)), (Ellipsis, 0))
    assert spec.text == "[0, ..., 100], [100] -> [..., 0]"
    assert resolve(spec, [(2, 3, 4), (4,)]).shape == (3, 2)
    assert sublist([np.int64(3), Ellipsis]) == (3, Ellipsis)
    with pytest.raises(EinsumError) as caught:
        resolve(spec, [(2, 3, 4), (5,)])
    assert spec.text[caught.value.at :].startswith("100]")
    with pytest.raises(EinsumError, match="negative"):
        parse_lists(((0, -1),), None)
    for wrong in ([1.0], ["a"], [True], [None], "ij"):
        with pytest.raises(TypeError, match="integer or an ellipsis"):
            sublist(wrong)


def test_broadcasting() -> None:
    assert contraction("...ij,...jk", (5, 1, 2, 3), (7, 3, 4)).shape == (5, 7, 2, 4)
    assert contraction("i,i->i", (1,), (0,)).shape == (0,)
    out = resolve(parse("i->i"), [(1,)], out_shape=(5,))
    assert out.shape == (5,)
    for spec, shape, out_shape in (
        ("i->i", (5,), (1,)),
        ("i->i", (5,), (5, 1)),
        ("i->", (5,), (1,)),
    ):
        with pytest.raises(EinsumError, match="out"):
            resolve(parse(spec), [shape], out_shape)


@given(st.data())
def test_parsing_a_rendered_spec_gives_its_terms_back(data: st.DataObject) -> None:
    label = st.characters(blacklist_characters=",->.", blacklist_categories=("Cs",)).filter(
        lambda c: not c.isspace()
    )
    term = st.lists(label, max_size=5).map(tuple)
    terms = data.draw(st.lists(term, min_size=1, max_size=4))
    spaces = st.sampled_from(["", " ", "\n ", "\u3000"])
    text = ",".join("".join(data.draw(spaces) + c for c in term) for term in terms)
    assert tuple(t.labels for t in parse(text).operands) == tuple(terms)


def test_operands_without_repetition() -> None:
    operand = combine((0, 1, 0, 2, 3), (3, 4, 3, 1, 5), (8, 24, 96, 7, 0))
    assert (operand.labels, operand.strides) == ((0, 1), (104, 24))


def test_copies_keep_the_order_of_axes() -> None:
    assert like((2, 3, 4), (8, -16, 48), 4) == (4, 8, 24)
    assert like((2, 3), (0, 0), 8) == (24, 8)


def test_result_layouts() -> None:
    c = contraction("ij,jk->ik", (2, 3), (3, 4))
    fortran = [combine((0, 1), (2, 3), (8, 16)), combine((1, 2), (3, 4), (8, 24))]
    # No operand has both i and k, but i runs inside j in operand 0, and j inside k in operand 1.
    assert result_strides(c, fortran, "K", 8) == (8, 16)
    assert result_strides(c, fortran, "F", 8) == (8, 16)
    assert result_strides(c, fortran, "C", 8) == (32, 8)


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize(
    "optimize",
    [True, False, None, "auto", "auto-hq", "greedy", "optimal", "dp", "eager", "branch-all",
     "branch-2", "random-greedy", ("greedy", 10), ("optimal", 1e6), ("greedy", None),
     opt_einsum.DynamicProgramming(), opt_einsum.paths.greedy],
)  # fmt: skip
def test_forms_of_optimize(optimize, n: int) -> None:
    labels = "abcdefg"
    spec = ",".join(labels[i : i + 2] for i in range(n))
    path = find_path(optimize, contraction(spec, *((2, 2),) * n), "float64")
    assert sum(len(group) - 1 for group in path) == n - 1


def test_an_optimizer_object_may_hold_state() -> None:
    c = contraction("ab,bc,cd", *((2, 2),) * 3)
    assert len(find_path(opt_einsum.RandomGreedy(max_repeats=2), c, "float64")) == 2


def test_wrong_forms_of_optimize() -> None:
    c = contraction("i,i,i", (2,), (2,), (2,))
    for wrong in (5, 1.5, {}, object(), [1, 2], [("a",)]):
        with pytest.raises(TypeError):
            find_path(wrong, c, "float64")
    with pytest.raises(KeyError):
        find_path("nonsense", c, "float64")


def test_explicit_paths() -> None:
    shapes = ((2, 3), (3, 4), (4, 5))
    for path in (
        [(1, 2), (0, 1)],
        ["einsum_path", (0, 1), (0, 1)],
        [(0, 1, 2)],
        [(0,), (0, 1), (0, 1)],
    ):
        steps = program("ij,jk,kl->il", *shapes, optimize=tuple(path)).steps
        assert [s.op.main for s in steps] == [Primitive.GEMM] * 2
    for path in ([(0, 1)], [(0,)], []):
        with pytest.raises(RuntimeError, match="operand"):
            program("ij,jk,kl->il", *shapes, optimize=tuple(path))
    for path in ([(0, 3), (0, 1)], [(0, 0), (0, 1)], [(-1, 0), (0, 1)], [(), (0, 1)]):
        with pytest.raises(EinsumError, match="path"):
            program("ij,jk,kl->il", *shapes, optimize=tuple(path))


def types(step) -> dict[str, DimType]:
    return {d.name: d.type for d in step.op.dimensions}


def test_dimension_types() -> None:
    (step,) = program("bij,bjk->bik", (2, 3, 4), (2, 4, 5)).steps
    assert types(step) == {"b": "C", "i": "M", "k": "N", "j": "K"}
    assert {d.name: d.strides for d in step.op.dimensions} == {
        "b": (12, 20, 15), "i": (4, 0, 5), "k": (0, 1, 1), "j": (1, 5, 0),
    }  # fmt: skip
    # Along a size of 1 an operand does not move: b is only in0's, so it is an M.
    (step,) = program("bij,bjk->bik", (2, 3, 4), (1, 4, 5)).steps
    assert types(step)["b"] == "M"
    (step,) = program("ij,ij->ij", (2, 3), (2, 3)).steps
    assert step.op.main == Primitive.GEMM and set(types(step).values()) == {DimType.C}


def test_one_operand_steps() -> None:
    assert program("ij->ji", (2, 3)).view is not None
    assert program("ij->ji", (2, 3), scaled=True).steps[0].op.main == Primitive.COPY
    assert program("ij->j", (2, 3)).steps[0].op.main == Primitive.SUM
    assert program("ij->j", (2, 3), dtype="?").steps[0].op.main == Primitive.SUM
    assert program("ij->ji", (2, 3), dtype="c8", conj=(0,)).steps[0].op.tensors[0].conj
    assert program("ij->ji", (2, 3), conj=(0,)).view is not None
    (step,) = program("iij->j", (3, 3, 4)).steps
    assert {d.name: d.strides for d in step.op.dimensions} == {"j": (1, 1), "i": (16, 0)}


def test_a_label_of_one_operand_is_summed_first() -> None:
    reduction, product = program("ij,k->k", (300, 4), (50,)).steps
    assert reduction.op.main == Primitive.SUM and reduction.size == 1
    assert product.inputs == (2, 1) and product.size is None
    steps = program("ij,jk->k", (300, 1), (1, 50)).steps
    assert [s.op.main for s in steps] == [Primitive.SUM, Primitive.GEMM]


def test_left_to_right_sums_a_label_as_soon_as_nothing_needs_it() -> None:
    steps = program("ab,bc,cd->ad", (2, 3), (3, 4), (4, 5), optimize=False).steps
    assert [s.text for s in steps] == ["ab,bc->ac", "ac,cd->ad"]
    assert [s.size for s in steps] == [8, None]
    steps = program("ab,bc,cb->a", (2, 3), (3, 4), (4, 3), optimize=False).steps
    assert [s.text for s in steps] == ["ab,bc->bac", "bac,cb->a"]


def test_a_batch_that_is_fastest_in_both_operands_stays_so() -> None:
    steps = program("ir,kr,ijk->jr", (2, 5), (3, 5), (2, 4, 3), optimize=False).steps
    assert steps[0].text == "ir,kr->ikr"
    steps = program("bir,bkr,ijk->jr", (6, 2, 5), (6, 3, 5), (2, 4, 3), optimize=False).steps
    assert [s.text for s in steps] == ["bir,bkr->ikr", "ikr,ijk->jr"]
    steps = program("ri,rk,ijk->jr", (5, 2), (5, 3), (2, 4, 3), optimize=False).steps
    assert steps[0].text == "ri,rk->rik"
    steps = program("ir,kr,ijkr->j", (2, 1), (3, 1), (2, 4, 3, 1), optimize=False).steps
    assert steps[0].text == "i,k->ik"


def test_repetition_is_a_factor() -> None:
    strided = ((5, 4), (0, 8), np.dtype("f8"), True)
    (step,) = decide(parse("ij->j"), [strided], None, Options()).steps
    assert step.factor == 5 and [d.name for d in step.op.dimensions] == ["j"]
    logical = ((5, 4), (0, 1), np.dtype("?"), True)
    assert decide(parse("ij->j"), [logical], None, Options()).steps[0].factor == 1


@pytest.mark.parametrize(
    ("as_it_is", "in_c_order", "asked", "order"),
    [
        ((0.0, ()), (0.0, ()), 1, "ki"),  # all is well
        ((100.0, ("i", "k")), (1.0, ()), 1, "ik"),  # moved: C order was among what it could be
        ((100.0, ()), (85.0, ("k", "i")), 2, "ki"),
        ((100.0, ()), (50.0, ()), 2, "ik"),
    ],
)
def test_a_new_result_lies_as_is_fastest(as_it_is, in_c_order, asked: int, order: str) -> None:
    prices = {"ki": as_it_is, "ik": in_c_order}
    seen = []

    def prefer(op: TensorOp) -> tuple[float, tuple[str, ...]]:
        written = [d for d in op.dimensions if d.strides[op.out]]
        seen.append("".join(d.name for d in sorted(written, key=lambda d: -d.strides[op.out])))
        return prices[seen[-1]]

    layouts = [layout((5, 6), order="F"), layout((6, 7), order="F")]
    decided = decide(parse("ij,jk->ik"), layouts, None, Options(), prefer)
    assert seen == ["ki", "ik"][:asked]
    assert decided.result.strides == {"ki": (8, 40), "ik": (56, 8)}[order]


def test_half_types_keep_float32_between_steps() -> None:
    one = program("ij,jk->ik", (2, 3), (3, 4), dtype="f2")
    assert one.work == np.float16 and not any(one.copies) and one.through is None
    many = program("ij,jk,kl->il", (2, 3), (3, 4), (4, 5), dtype="f2")
    assert many.work == np.float32 and not any(many.copies) and many.through is not None
    casts, products = many.steps[:3], many.steps[3:]
    assert [step.op.main for step in casts] == [Primitive.CAST] * 3
    assert [step.inputs for step in products] == [(3, 4), (5, 6)]
    assert {t.dtype for s in products for t in s.op.tensors} == {"float32"}


def test_every_step_is_a_valid_operation() -> None:
    for spec, shapes in (
        ("ij,jk,kl,lm->im", ((2, 3), (3, 4), (4, 5), (5, 6))),
        ("aab,bcc,d->ad", ((2, 2, 3), (3, 4, 4), (7,))),
        ("...i,i...->...", ((4, 3, 2), (2, 1, 3))),
        ("i,i,i,j", ((3,), (1,), (3,), (2,))),
    ):
        for step in program(spec, *shapes).steps:
            step.op.verify()


def test_many_labels_are_quick() -> None:
    n = 3000
    symbols = [chr(0x4E00 + i) for i in range(n + 1)]
    spec = ",".join(a + b for a, b in pairwise(symbols))
    path = tuple((0, n - 1 - i) if i else (0, 1) for i in range(n - 1))
    assert len(program(spec, *((1, 1),) * n, optimize=path).steps) == n - 1


@pytest.mark.parametrize(
    ("char", "name"),
    [("?", "bool"), ("q", "int64"), ("l", "int64"), (">f4", "float32"), ("D", "complex128")],
)
def test_names_of_dtypes(char: str, name: str) -> None:
    assert name_of(np.dtype(char)) == name


def test_bfloat16_has_a_name() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert name_of(np.dtype(ml_dtypes.bfloat16)) == "bfloat16"
    with pytest.raises(TypeError, match="float8"):
        name_of(np.dtype(ml_dtypes.float8_e5m2))


@pytest.mark.parametrize("char", ["O", "S3", "U3", "M8[s]", "m8[s]", "V4", "i4,f4"])
def test_dtypes_without_kernels(char: str) -> None:
    with pytest.raises(TypeError, match="cannot be contracted"):
        name_of(np.dtype(char))


@pytest.mark.parametrize(
    ("value", "dtype", "casting", "want"),
    [
        (2, "f4", "safe", 2.0),
        (0.1, "f4", "safe", np.float32(0.1)),
        (0.1, "f2", "safe", np.float32(np.float16(0.1))),
        (1j, "c8", "safe", 1j),
        (True, "i1", "safe", 1),
        (1, "?", "safe", True),
        (2.7, "i4", "unsafe", 2),
        (np.float64(2), "f4", "same_kind", 2.0),
        (np.array(3, "i2"), "f4", "safe", 3.0),
        (-1, "i1", "no", -1),
    ],
)
def test_scalars(value, dtype: str, casting: str, want) -> None:
    result = scalar("alpha", value, np.dtype(dtype), casting)
    assert result == want
    assert result.dtype == (np.float32 if dtype == "f2" else dtype)


@pytest.mark.parametrize(
    ("value", "dtype", "casting"),
    [
        (0.5, "i4", "safe"),
        (0.5, "i4", "same_kind"),
        (1j, "f8", "safe"),
        (2, "?", "safe"),
        (np.int64(2), "i4", "safe"),
        (np.complex64(2), "f8", "same_kind"),
        (300, "i1", "safe"),
        (-1, "u4", "safe"),
        ("2", "f8", "unsafe"),
        ([2], "f8", "unsafe"),
        (None, "f8", "unsafe"),
        (np.ones(1), "f8", "safe"),
    ],
)
def test_scalars_that_do_not_fit(value, dtype: str, casting: str) -> None:
    with pytest.raises(TypeError, match="alpha"):
        scalar("alpha", value, np.dtype(dtype), casting)
