"""Sums that threads divide among themselves."""

from __future__ import annotations

from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import tensorop
from tensorop import warm
from tensorop.config import CACHE_DIR
from tensorop.divided import DividedSum
from tensorop.executable import Executable
from tensorop.ir import DimType, Primitive, TensorOp
from tensorop.jit.warm import array_api
from tensorop.optimizer.divide import LEAST_POINTS, PARTS, divide
from tensorop.optimizer.normalise import normalised
from tensorop.plans import plan_for
from tests.test_realign import contraction

N = LEAST_POINTS + 12_345
CASES = {
    "i,i->": [(N,), (N,)],
    "i->": [(N,)],
    "ki,kj->ij": [(N // 6, 2), (N // 6, 3)],
    "ik,jk->ij": [(3, N // 6), (2, N // 6)],
    "ik,k->i": [(3, N // 3), (N // 3,)],
    "ijk,kji->": [(7, N // 70, 10), (10, N // 70, 7)],
    "ki,jk->ji": [(40_000, 90), (70, 40_000)],
    "kil,lkj->ij": [(168, 30, 168), (168, 168, 30)],  # none of whose sums is long
    "ij->j": [(N // 50, 50)],
    "ij,i->j": [(N // 200, 200), (N // 200,)],
    "ij,ij->j": [(N // 7, 7), (N // 7, 7)],
}


def operands(spec: str, dtype: str) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    return [rng.integers(-3, 4, shape).astype(dtype) for shape in CASES[spec]]


@pytest.mark.parametrize("dtype", ["float64", "complex64", "int64"])
@pytest.mark.parametrize("spec", CASES)
def test_divided_sums_are_right(spec: str, dtype: str) -> None:
    given = operands(spec, dtype)
    exact = np.einsum(spec, *(x.astype("c16" if dtype[0] == "c" else dtype) for x in given))
    for threads in (1, 2, 3):  # sums of whole numbers: no rounding anywhere
        result = np.asarray(tensorop.einsum(spec, *given, threads=threads))
        np.testing.assert_array_equal(result, exact)
        again = np.asarray(tensorop.einsum(spec, *given, threads=threads))
        assert result.tobytes() == again.tobytes()
        out = np.ones_like(result)
        tensorop.einsum(spec, *given, out=out, alpha=2, beta=3, threads=threads)
        np.testing.assert_array_equal(out, 2 * exact + 3)


@pytest.mark.parametrize("other", ["C", "K"])
def test_what_does_not_move_in_an_operand_is_added_as_often(other: str) -> None:
    """Nobody reads parts of a summed dimension without steps."""
    few = np.arange(5, 12)
    operation = tensorop.TensorOperation(
        dtype="int64",
        main="sum",
        first_touch="none",
        dim_types=("K", other),
        sizes=(N, few.size),
        strides_in0=(0, 1),
        strides_out=(0, int(other == "C")),
        optimize=True,
        threads=2,
    )
    operation.setup()
    out = np.ones(few.size if other == "C" else 1, np.int64)
    operation.execute(few, None, out)
    np.testing.assert_array_equal(out, 1 + N * (few if other == "C" else few.sum()))


@pytest.mark.parametrize("threads", [2, 3, 7])
@pytest.mark.parametrize(
    "spec", [s for s in CASES if s != "ijk,kji->"]
)  # one has vectors along its parts
def test_threads_share_the_parts(spec: str, threads: int) -> None:
    plan = tensorop.compile(spec, *operands(spec, "float32"), threads=threads)
    assert "divided among threads" in plan.explain()
    assert plan.schedules[0].shares == threads


def test_explain_says_which_sums_are_divided() -> None:
    divided = tensorop.compile("i,i->", (N,), (N,), dtypes="float32", threads=2)
    whole = tensorop.compile("ij,jk->ik", (600, 700), (700, 600), dtypes="float32", threads=2)
    text = "the sum is divided among threads"
    assert text in divided.explain() and text not in whole.explain()
    with tensorop.threads(2):
        plan = tensorop.compile("ij,jk->ik", (600, 700), (700, 600), dtypes="float32")
        assert text not in plan.explain()


def test_views_in_any_direction() -> None:
    a, b = np.arange(2.0 * N)[::-2], np.arange(float(N))
    expected = float(np.dot(a, b))
    for x, y in ((a, b), (a[::-1], b[::-1])):
        assert tensorop.einsum("i,i->", x, y, threads=2) == pytest.approx(expected, rel=1e-10)


def test_the_setting_of_threads_decides() -> None:
    a = np.ones(N, "f4")
    plan = tensorop.compile("i,i->", a, a)
    for threads, steps in ((1, 1), (2, 3), (1, 1)):
        with tensorop.threads(threads):
            assert len(plan.schedules) == steps
            assert plan(a, a) == N
    assert "divided among threads" in tensorop.compile("i,i->", a, a, threads=2).explain()


def test_tuning_compares_it_with_the_undivided_one(tmp_path: Path) -> None:
    a, b = operands("ki,kj->ij", "float64")
    with CACHE_DIR(str(tmp_path)):
        result = tensorop.einsum("ki,kj->ij", a, b, threads=2, tune=True)
    np.testing.assert_allclose(result, a.T @ b)
    assert len([*tmp_path.glob("tuning/*.json")]) == 1


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("spec", CASES)
def test_linked_parts_do_what_they_do_one_by_one(spec: str, dtype: str) -> None:
    """To the last bit, with temporaries and without."""
    rng = np.random.default_rng(5)
    even = [[n // 120 * 120 if n > 1000 else n for n in shape] for shape in CASES[spec]]
    linked = rests = 0
    for shapes, threads in product((CASES[spec], even), (2, 3, 5)):
        given = [rng.random(shape).astype(dtype) for shape in shapes]
        plan = tensorop.compile(spec, *given, threads=threads)
        (step,), (executable,) = plan.steps, plan.executables
        divided = divide(normalised(step.op), threads)
        assert divided is not None
        apart = DividedSum(step.op, divided, partial(plan_for, threads=threads))
        linked += isinstance(executable, Executable)
        rests += bool(divided.rest and isinstance(executable, Executable))
        result = np.asarray(plan(*given))
        out = np.empty_like(result)
        apart.run((*given, out))
        np.testing.assert_array_equal(result, out)
    if spec != "ijk,kji->":  # which goes through large temporaries
        assert linked and rests


def test_linked_sums_are_known_calls() -> None:
    a = np.random.default_rng(6).random(LEAST_POINTS // 1000 * 1000)
    with tensorop.threads(2):
        for _ in range(2):
            expected = tensorop.einsum("i,i->", a, a)
        if array_api() is not None:
            assert warm.run(("i,i->", a, a), None) == expected


def sizes(op: TensorOp | None) -> int:
    return 0 if op is None else op.size_of(DimType.K)


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_nothing_is_lost_or_summed_twice(threads: int) -> None:
    op = contraction("ik,k->i", i=3, k=LEAST_POINTS)
    divided = divide(op, threads)
    assert divided is not None and divided.main.size_of(DimType.C) == PARTS * threads
    summed = sizes(divided.main) * PARTS * threads + sizes(divided.rest)
    assert summed == LEAST_POINTS
    places = PARTS * threads + (divided.rest is not None)
    assert divided.offsets == (summed - sizes(divided.rest),) * 2 + (3 * PARTS * threads,)
    assert divided.size == 3 * places and divided.total.size_of(DimType.K) == places
    assert divided.total.main == Primitive.SUM


def cut(op: TensorOp, threads: int = 2) -> str:
    """The dimension that is cut."""
    divided = divide(op, threads)
    if divided is None:
        return ""
    whole = {d.name: d.size for d in op.of_type(DimType.K)}
    names = [d.name for d in divided.main.of_type(DimType.K) if d.size < whole[d.name]]
    return "".join(names)


def test_what_is_cut_leaves_together_what_lies_side_by_side() -> None:
    assert cut(contraction("cab,abdc->d", a=64, b=10, c=500, d=30)) == "a"
    assert cut(contraction("abk,kab->", a=100, b=6, k=10_000)) == "k"
    assert cut(contraction("ac,cab->b", a=1083, c=3864, b=8)) == "c"  # of what is most of it
    short = contraction("xyzad,xyza->d", x=15, y=15, z=15, a=64, d=30)
    assert cut(short) == "x"  # all but this would be read in short pieces
    assert cut(contraction("ai,ai->i", a=23, i=200_000)) == ""


def test_some_more_parts_leave_no_rest() -> None:
    for size, parts in ((30_000_000, 8), (30_000_010, 10), (7 * 2**21, 8), (3 * 11**7, 8)):
        divided = divide(contraction("k,k->", k=size), 2)
        assert divided is not None
        assert divided.main.size_of(DimType.C) == parts
        assert (divided.rest is None) == (size % parts == 0)
    # A rest that takes long next to a part is not worth it.
    assert cut(contraction("kl,kli->i", k=16 + 7, l=40_000, i=4)) == "l"


def test_many_threads_have_fewer_parts_each() -> None:
    square = contraction("kil,klj->ij", i=176, j=176, k=176, l=176)
    for threads, parts in ((8, 16), (64, 176)):
        divided = divide(square, threads)
        assert divided is not None and divided.main.size_of(DimType.C) == parts
    assert divide(square, 16) is None  # tiles for all of them
    narrow = contraction("cg,cgb->b", c=100_000, g=31, b=4)
    divided = divide(narrow, 16)
    assert divided is not None and divided.rest is None


def test_what_has_enough_to_share_stays_whole() -> None:
    assert divide(contraction("ik,kj->ij", i=2000, k=2000, j=2000), 2) is None  # rows
    assert divide(contraction("bk,bk->b", b=50, k=100_000), 2) is None  # a batch
    assert divide(contraction("bk,bk->b", b=200, k=100_000), 2) is None
    assert divide(contraction("ik,k->i", i=1000, k=100_000), 2) is None
    assert divide(contraction("kb,kb->b", b=600, k=100_000), 2) is None  # long rows
    assert divide(contraction("kb,kb->b", b=200, k=100_000), 2) is not None
    assert divide(contraction("k,k->", k=10_000), 2) is None  # too little
    assert divide(contraction("k,k->", k=120_000), 2) is None
    assert divide(contraction("k,k->", k=140_000), 2) is not None
    assert divide(contraction("ki,kj->ij", i=5, k=200_000, j=3), 2) is not None
    assert divide(contraction("ki,kj->ij", i=5, k=30_000, j=3), 2) is None  # too little
    assert divide(contraction("ki,kj->ij", i=5, k=200_000, j=5), 2) is not None
    assert divide(contraction("ki,kj->ij", i=5, k=150_000, j=5), 2) is None  # is multiplied
    assert divide(contraction("ki,kj->ij", i=70, k=14_000, j=4), 2) is None  # rows enough
    assert divide(contraction("gki,gkj->ij", g=12, k=5000, i=3, j=3), 2) is not None
    assert divide(contraction("ki,kj->ij", i=200, k=200_000, j=300), 2) is not None
    assert divide(contraction("ki,kj->ij", i=200, k=10_000, j=300), 2) is None  # a large out
    assert divide(contraction("ki,kj->ij", i=200, k=100_000, j=3000), 2) is None  # a long side
    assert divide(contraction("ik,jk->ij", i=200, k=100_000, j=4), 2) is None  # a narrow one
    assert divide(contraction("ki,kj->ij", i=200, k=100_000, j=4), 2) is None
    assert divide(contraction("ki,kj->ij", i=100, k=100_000, j=4), 2) is not None  # short rows
    assert divide(contraction("k,k->", k=10 * LEAST_POINTS), 1) is None  # one thread
    assert divide(contraction("k,k->", "float16", k=10 * LEAST_POINTS), 2) is None  # rounded parts


@pytest.mark.parametrize(("side", "keeps"), [(64, True), (1000, False)])
def test_what_a_thread_keeps_for_partial_results_is_bounded(side: int, keeps: bool) -> None:
    k = 100 * side
    plan = tensorop.compile("ki,kj->ij", (k, side), (k, side), dtypes="float32", threads=2)
    (runnable,) = plan.executables
    assert isinstance(runnable, Executable if keeps else DividedSum)
