"""Tensors held in another order: every candidate means the same as the operation as it is, and the
choice is made where it pays."""

from __future__ import annotations

import re
from math import prod
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tensorop
from tensorop import reference
from tensorop.ir import Dimension, DimType, Primitive, Tensor, TensorOp
from tensorop.jit.lines import LINE
from tensorop.jit.target import current_target
from tensorop.optimizer import realign as passes
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.normalise import normalise
from tensorop.optimizer.realign import SPILLED, Realigned, realign
from tensorop.optimizer.regime import choose
from tensorop.optimizer.transfer import (
    LINE_CYCLES,
    MEMORY,
    UNNOTICED,
    level_apart,
    level_of,
    read_cycles,
)
from tensorop.plans import plan_for
from tensorop.rearranged import Rearranged
from tensorop.runnable import Runnable
from tests.strategies import numpy_dtype
from tests.test_blocked import draw

MACHINE = Machine(current_target(), l1=32 << 10, l2=1 << 20, l3=32 << 20)


def contraction(spec: str, dtype: str = "float32", **sizes: int) -> TensorOp:
    """The operation of a two-operand spec on arrays in C order."""
    inputs, output = spec.split("->")
    terms = [*inputs.split(","), output]
    steps = [
        {k: prod(sizes[x] for x in term[i + 1 :]) for i, k in enumerate(term)} for term in terms
    ]
    kinds = {(1, 0, 1): DimType.M, (0, 1, 1): DimType.N, (1, 1, 0): DimType.K, (1, 1, 1): DimType.C}
    dimensions = tuple(
        Dimension(
            kinds[tuple(int(label in term) for term in terms)],  # type: ignore[index]
            sizes[label],
            tuple(step.get(label, 0) for step in steps),
            name=label,
        )
        for label in dict.fromkeys("".join(terms))
    )
    tensors = tuple(Tensor(role, dtype) for role in ("in0", "in1", "out"))
    return TensorOp(tensors, dimensions, Primitive.GEMM)


def alone(op: TensorOp) -> Runnable:
    return plan_for(op, 1)


def names(parts: Realigned, tensor: int) -> str:
    return "".join(parts.op.dimensions[i].name for i in parts.orders[tensor])


def elementwise(rng: np.random.Generator, dtype: str) -> tuple[TensorOp, list[NDArray[Any]]]:
    """`draw`, of which every operand has all that the output has."""
    op, _ = draw(rng, dtype)
    kept = tuple(d for d in op.dimensions if d.type in (DimType.M, DimType.C))
    if not kept:
        return elementwise(rng, dtype)
    shared = [
        d._replace(type=DimType.C, strides=(d.strides[0], d.strides[2], d.strides[0])) for d in kept
    ]
    size = 1 + max(sum((d.size - 1) * d.strides[t] for d in shared) for t in range(3))
    values = [rng.integers(-4, 5, size).astype(numpy_dtype(dtype)) for _ in range(3)]
    return op.with_dimensions(tuple(shared)), values


@pytest.mark.parametrize(("spec", "reads_again"), [("ab,bc->ac", 1), ("abc,ab->abc", 0)])
def test_what_every_piece_reads_has_its_price(spec: str, reads_again: int) -> None:
    op = normalise(contraction(spec, a=3000, b=40, c=30)).op
    tensor = 0 if reads_again else 2
    order = tuple(i for i, d in enumerate(op.dimensions) if d.strides[tensor])
    parts = Realigned(op, {tensor: order})
    cut = MACHINE._replace(l3=1 << 18)
    along, block = parts.block(cut)
    chosen = op.dimensions[along]
    pieces = -(-chosen.size // block)
    assert pieces > 1
    whole = [t for t in (0, 1) if not chosen.strides[t]]
    assert len(whole) == reads_again
    runs = sum(op.reached(t) / (block * s) for t, s in enumerate(chosen.strides) if s)
    price = sum((pieces - 1) * read_cycles(op, t, cut) for t in whole)
    price += runs * UNNOTICED * LINE_CYCLES[MEMORY]
    assert parts._apart(along, block, cut) == pytest.approx(price)
    assert parts.in_pieces(cut) == 0  # chosen, since they save more
    assert price < parts.held * SPILLED
    assert parts.in_pieces(MACHINE) == 0


def test_pieces_leave_a_large_operand_where_it_is() -> None:
    """Pieces along g would be the longest runs of out, but each of them would read in0."""
    sizes = {"e": 4, "f": 64, "g": 24, "h": 4, "i": 92, "j": 4, "k": 64}
    op = normalise(contraction("jkhief,gjk->efghi", "float64", **sizes)).op
    order = [op.dimensions[i].name for i in range(len(op.dimensions))]
    parts = Realigned(op, {op.out: tuple(map(order.index, "ghief"))})
    along, block = parts.block(MACHINE._replace(l3=32 << 20))
    assert op.dimensions[along].name == "h" and block < 4


@pytest.mark.parametrize("machine", [MACHINE, MACHINE._replace(l3=4 << 10)], ids=["whole", "cut"])
@pytest.mark.parametrize("beta", [None, 2])
@pytest.mark.parametrize("dtype", ["float32", "complex64", "int32", "float16"])
def test_every_candidate_means_the_same(dtype: str, beta: int | None, machine: Machine) -> None:
    rng = np.random.default_rng(3)
    tried = pieces = 0
    for i in range(6):
        op, buffers = (draw, elementwise)[i % 2](rng, dtype)
        op = normalise(op).op
        expected = [b.copy() for b in buffers]
        reference.run(op, expected, 1, beta or 0)
        candidates = list(passes._candidates(op, range(3), machine._replace(l2=0)))
        for place in rng.permutation(len(candidates))[:4].tolist():
            arrays = [b.copy() for b in buffers]
            plan = Rearranged(candidates[place], machine, alone, alone)
            pieces += len(plan._pieces) > 1
            plan.run(arrays, None, beta)
            # Small integers: every sum is exact, in whatever order.
            np.testing.assert_array_equal(arrays[2], expected[2], err_msg=str(candidates[place]))
            tried += 1
    assert tried > 10 and (pieces > 0) == (machine.l3 < MACHINE.l3)


def test_operands_that_agree_stay() -> None:
    for spec in ("ab,ab->ab", "ik,kj->ij", "ik,jk->ij", "ki,kj->ij", "bij,bjk->bik", "a,ba->ba"):
        op = contraction(spec, a=500, b=600, i=100, j=110, k=120)
        assert not realign(op, MACHINE).orders, spec


def test_operands_in_blocks_stay() -> None:
    """A kernel reads them as they are, and out is written in blocks, too, if nobody says how."""
    op = contraction("mkKM,nkNK->nmNM", m=24, k=4, K=412, M=48, n=100, N=12)
    assert choose(normalise(op).op, MACHINE).name == "nest"
    assert not realign(op, MACHINE, out_is_new=True).orders


def test_small_operations_stay() -> None:
    assert not realign(contraction("ab,ba->ab", a=8, b=16), MACHINE).orders


def test_an_operand_that_lies_across_is_turned() -> None:
    parts = realign(contraction("ab,ba->ba", a=588, b=403), MACHINE)
    assert {t: names(parts, t) for t in parts.orders} == {0: "ba"}
    parts = realign(contraction("abc,cba->a", a=2969, b=23, c=150), MACHINE)
    assert len(parts.orders) == 1 and parts.op.out not in parts.orders


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_a_page_apart_are_turned(dtype: str) -> None:
    """Their lines, which an element of each is read from at a time, fall into the same sets of the
    caches; as many that are not whole pages apart stay there."""
    realigned = [realign(contraction("ab,ba->ab", dtype, a=n, b=n), MACHINE) for n in (512, 1024)]
    assert all(len(parts.orders) == 1 for parts in realigned)
    size = numpy_dtype(dtype).itemsize
    for lines, step, level in ((8, 4096, 0), (9, 4096, 1), (500, 4160, 0), (300, 4096, 2)):
        assert level_apart(lines * LINE, step, MACHINE) == level, (lines, step)
    assert level_apart(4 << 20, 8 * size, MACHINE) == level_of(4 << 20, MACHINE)


@pytest.mark.parametrize(("step", "moved"), [(1, False), (2, True)])
def test_a_vector_with_gaps_is_laid_out_for_many_rows(step: int, moved: bool) -> None:
    op = contraction("ab,b->a", "float64", a=260, b=53_574)
    apart = [
        d._replace(strides=(d.strides[0], step * d.strides[1], d.strides[2])) for d in op.dimensions
    ]
    assert set(realign(op.with_dimensions(tuple(apart)), MACHINE).orders) == (
        {1} if moved else set()
    )


@pytest.mark.parametrize("spec", ["bij,bjk->bik", "ibj,jbk->ibk"])
def test_small_complex_matrices_go_to_the_lanes_of_vectors(spec: str) -> None:
    """Though no operand has the batch innermost; a new result then has it, and is not copied."""
    op = contraction(spec, "complex64", b=1000, i=4, j=4, k=4)
    parts = realign(op, MACHINE)
    assert sorted(parts.orders) == [0, 1, 2]
    assert all(names(parts, t).endswith("b") for t in range(3))
    rng = np.random.default_rng(0)
    sizes = {"b": 1000, "i": 4, "j": 4, "k": 4}
    a, b = (rng.integers(-3, 4, [sizes[x] for x in term]) for term in spec[:7].split(","))
    left, right = a * (1 + 1j), b * (2 - 1j)
    plan = tensorop.compile(spec, *(x.astype("complex64") for x in (left, right)))
    assert "regime: batch" in plan.explain()
    result = plan(left.astype("complex64"), right.astype("complex64"))
    np.testing.assert_array_equal(result, np.einsum(spec, left, right))


def test_an_output_that_interleaves_a_batch_is_written_last() -> None:
    op = contraction("bik,bkj->ijb", b=32, i=64, j=64, k=64)
    parts = realign(op, MACHINE)
    assert names(parts, 2)[0] == "b"


def test_inputs_that_lie_along_two_sums_agree_first() -> None:
    """Only one of them can be packed in runs; of so few rows and columns packing is most of it."""
    op = contraction("ecdfa,abfged->cbg", c=8, b=2, g=3, e=20, d=68, f=7, a=23)
    assert list(realign(op, MACHINE).orders) == [1]


@pytest.mark.parametrize("out_is_new", [True, False])
def test_columns_lie_together_where_a_result_is_for_memory(out_is_new: bool) -> None:
    op = contraction("acfe,fb->ecba", a=80, c=80, f=28, e=40, b=20)
    assert names(realign(op, MACHINE, out_is_new=out_is_new), 2) == "acbe"
    near = contraction("acfe,fb->ecba", a=8, c=8, f=28, e=40, b=20)
    orders = [names(c, 2) for c in passes._candidates(near, range(3), MACHINE) if 2 in c.orders]
    assert "bace" in orders and "acbe" not in orders


def test_a_sum_of_everything_goes_piece_by_piece() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.random((150, 160, 170)), rng.random((170, 160, 150))
    op = contraction("abc,cba->", "float64", a=150, b=160, c=170)
    parts = passes.moved(op, {1: (0, 1, 2)})
    along, block = parts.block(MACHINE._replace(l3=4 << 20))
    assert parts.op.dimensions[along].type == DimType.K and 0 < block < 150
    plan = Rearranged(parts, MACHINE._replace(l3=4 << 20), alone, alone)
    assert len(plan._pieces) > 3
    out, exact = np.array([0.5]), float(np.einsum("abc,cba->", a, b))
    plan.run((a, b, out), 2.0, 3.0)
    assert out[0] == pytest.approx(2 * exact + 1.5, rel=1e-12)
    plan.run((a.ctypes.data, b.ctypes.data, out.ctypes.data))
    assert out[0] == pytest.approx(exact, rel=1e-12)


def test_a_sum_over_what_no_operand_has() -> None:
    """A view may have steps of 0 along every dimension."""
    types = (DimType.K, DimType.M, DimType.N)
    strides = ((0, 0, 0), (1, 0, 1), (0, 1, 40))
    dims = tuple(Dimension(t, n, s) for t, n, s in zip(types, (30, 40, 50), strides, strict=True))
    op = TensorOp(
        tuple(Tensor(role, "float32") for role in ("in0", "in1", "out")), dims, Primitive.GEMM
    )
    dims = normalise(op).op.dimensions
    moved = passes.moved(op, {0: tuple(i for i, d in enumerate(dims) if d.strides[0])})
    along, block = moved.block(MACHINE._replace(l3=1 << 6))
    assert any(dims[along].strides) or block == dims[along].size


def test_no_more_memory_is_taken_than_one_may_take_unasked() -> None:
    op = contraction("ab,ba->ab", a=30_000, b=30_000)
    by_moved = {tuple(sorted(c.orders)): c for c in passes._candidates(op, range(3), MACHINE)}
    one, two = by_moved[0,], by_moved[0, 2]
    assert one.held == 30_000**2 * 4 and one.fits(MACHINE)  # in pieces
    assert not one.fits(MACHINE._replace(l3=1 << 40))  # all of it
    # Pieces of two are thinner.
    assert two.in_pieces(MACHINE) > one.in_pieces(MACHINE) > 0
    assert len(realign(op, MACHINE).orders) == 1


def test_touched_and_half_outputs_stay() -> None:
    op = contraction("bik,bkj->ijb", b=32, i=64, j=64, k=64)
    for kept in (op._replace(last_touch=Primitive.RELU), contraction_in_half(op)):
        assert kept.out not in realign(kept, MACHINE).orders


def contraction_in_half(op: TensorOp) -> TensorOp:
    return op._replace(tensors=tuple(t._replace(dtype="float16") for t in op.tensors))


@pytest.mark.parametrize(
    ("spec", "shapes"),
    [
        ("xik,kjx->jix", [(16, 40, 30), (30, 50, 16)]),  # the batch would lie between
        ("bca,ab->acb", [(3, 63, 1673), (1673, 3)]),
    ],
)
@pytest.mark.usefixtures("usual_machine")
def test_a_new_result_lies_as_it_is_written(spec: str, shapes: list[tuple[int, ...]]) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.random(shape) for shape in shapes)
    result, as_numpy = tensorop.einsum(spec, a, b), tensorop.einsum(spec, a, b, optimize=False)
    assert as_numpy.strides == np.einsum(spec, a, b).strides
    assert result.strides != as_numpy.strides
    np.testing.assert_allclose(result, as_numpy, rtol=1e-12)
    for order in "CF":
        laid = tensorop.einsum(spec, a, b, order=order)
        assert laid.flags[f"{order}_CONTIGUOUS"]


@pytest.mark.usefixtures("usual_machine")
def test_a_new_batch_of_results_lies_as_what_is_read_most_of() -> None:
    """So that nothing of that is jumped over; a result that is given has its own order."""
    sizes = {"a": 116, "b": 6, "c": 6, "d": 12, "e": 2, "f": 3, "g": 2, "h": 143}
    shapes = [tuple(sizes[label] for label in term) for term in ("ghceba", "hagdbf")]
    plan = tensorop.compile("ghceba,hagdbf->dcaghfe", *shapes, threads=1)
    op = plan.steps[-1].op
    steps = {d.name: d.strides[op.out] for d in op.dimensions}
    assert sorted("agh", key=steps.__getitem__, reverse=True) == ["h", "a", "g"]


@pytest.mark.usefixtures("usual_machine")
def test_explain_says_what_is_moved() -> None:
    text = tensorop.compile("ab,ba->ba", (588, 403), (403, 588), threads=1).explain()
    assert re.search(r"through temporaries, outermost first: in\d as \w, \w. Estimated at", text)
    large = tensorop.compile("ab,ba->ba", (8000, 9000), (9000, 8000), threads=1).explain()
    assert "pieces along" in large


def test_out_is_written_as_it_lies() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((16, 40, 30)), rng.random((16, 30, 50))
    out = np.full((50, 40, 16), np.nan)
    result = tensorop.einsum("xik,xkj->jix", a, b, out=out)
    assert result is out
    np.testing.assert_allclose(out, np.einsum("xik,xkj->jix", a, b), rtol=1e-12)
    start = out.copy()
    tensorop.einsum("xik,xkj->jix", a, b, out=out, alpha=2, beta=-1)
    np.testing.assert_allclose(out, 2 * np.einsum("xik,xkj->jix", a, b) - start, rtol=1e-12)


def test_calls_with_other_labels_have_their_own_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search is remembered for an operation, which has no labels."""
    rng = np.random.default_rng(8)
    a, b = rng.random((5000, 100)), rng.random((100, 5000))
    plain = tensorop.einsum("ab,ba->ab", a, b, optimize=False)
    # Caches that hold none of it: on every host another order of out is worth it.
    monkeypatch.setattr("tensorop.planning.host_machine", lambda: MACHINE._replace(l3=1 << 20))
    tensorop.cache_clear()
    first, second = tensorop.einsum("ab,ba->ab", a, b), tensorop.einsum("xy,yx->xy", a, b)
    tensorop.cache_clear()
    assert first.strides == second.strides != plain.strides
    np.testing.assert_array_equal(first, plain)
    np.testing.assert_array_equal(second, plain)


def sum_of(spec: str, dtype: str, **sizes: int) -> TensorOp:
    """A sum of one array in C order into another one."""
    source, target = spec.split("->")
    steps = [
        {k: prod(sizes[x] for x in term[i + 1 :]) for i, k in enumerate(term)}
        for term in (source, target)
    ]
    dimensions = tuple(
        Dimension(
            DimType.C if k in target else DimType.K,
            sizes[k],
            (steps[0][k], steps[1].get(k, 0)),
            name=k,
        )
        for k in source
    )
    return TensorOp((Tensor("in0", dtype), Tensor("out", dtype)), dimensions, Primitive.SUM)


def test_a_sum_is_stored_as_it_is_read_and_its_order_changed_last() -> None:
    sizes = {"a": 60, "b": 58, "c": 59}
    parts = realign(sum_of("abc->cb", "complex64", **sizes), MACHINE)
    assert names(parts, 1) == "bc" and not parts.links(MACHINE)
    assert parts.cycles < parts.as_it_lies
    for spec in ("abc->bc", "abc->ab", "abc->ba", "abc->c", "abc->"):  # as it lies, or along rows
        assert not realign(sum_of(spec, "complex64", **sizes), MACHINE).orders, spec
    small = sum_of("abc->cb", "float32", a=4, b=5, c=6)
    assert not realign(small, MACHINE).orders


@pytest.mark.parametrize("beta", [None, -1.5])
def test_a_sum_of_an_input_that_repeats_goes_through_all_of_out(beta: float | None) -> None:
    rng = np.random.default_rng(5)
    array = np.broadcast_to(rng.standard_normal((3, 130, 32)) + 0j, (16, 3, 130, 32))
    out = rng.standard_normal((32, 16)) + 1j
    expected = np.einsum("cdab->bc", array) + (beta or 0) * out
    tensorop.einsum("cdab->bc", array, out=out, **({} if beta is None else {"beta": beta}))
    np.testing.assert_allclose(out, expected, rtol=1e-10)


@pytest.mark.parametrize("dtype", ["float32", "complex128", "int32", "int8", "bool", "float16"])
@pytest.mark.parametrize("beta", [None, 2])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("repeated", ["", "b", "c"])
def test_sums_into_any_order(dtype: str, beta: int | None, threads: int, repeated: str) -> None:
    rng = np.random.default_rng(3)
    kind = numpy_dtype(dtype)
    for spec in ("abc->cb", "abcd->dcb", "abcd->dbc", "acbd->dcb", "bcad->dc"):
        sizes = dict(zip("abcd", rng.integers(3, 40, 4).tolist(), strict=True))
        source, target = spec.split("->")
        stored = [1 if k == repeated else sizes[k] for k in source]
        array = rng.integers(0, 2, stored).astype(kind)
        array = np.broadcast_to(array, [sizes[k] for k in source])
        out = rng.integers(0, 2, [sizes[k] for k in target]).astype(kind)
        expected = np.einsum(spec, array.astype("int64" if kind.kind != "c" else kind))
        if kind.kind == "b":
            expected = expected > 0
        if beta is not None and kind.kind != "b":
            expected = expected + beta * out.astype(expected.dtype)
        scale = {} if beta is None or kind.kind == "b" else {"beta": beta}
        result = tensorop.einsum(spec, array, out=out, threads=threads, **scale)
        assert result is out
        np.testing.assert_array_equal(out, expected.astype(kind))


@pytest.mark.usefixtures("usual_machine")
def test_a_stand_in_is_not_trusted_where_it_is_run_otherwise() -> None:
    """39 steps of the sum are more than gathered operands may have, the stand-in's 37 are not."""
    shapes = (39, 4, 7, 17, 12), (39, 12, 4, 11)
    plan = tensorop.compile("fbdea,fabc->eadbc", *shapes, dtypes=["float64"] * 2, threads=1)
    assert "through temporaries" in plan.explain()
    a, b = (np.random.default_rng(0).random(shape) for shape in shapes)
    np.testing.assert_allclose(plan(a, b), np.einsum("fbdea,fabc->eadbc", a, b), rtol=1e-12)
