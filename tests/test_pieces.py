"""Two steps of a contraction that run piece by piece."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import tensorop
from tensorop import reference
from tensorop.executable import Executable
from tensorop.optimizer import pieces, realign
from tensorop.optimizer.machine import NEVER, Machine, host_machine
from tensorop.optimizer.normalise import normalise
from tensorop.optimizer.pieces import Pair, copied, in_pieces
from tensorop.pieced import Pieced, PiecedCopy
from tensorop.plan import Plan
from tensorop.plans import plan_for
from tensorop.rearranged import Rearranged
from tests.test_blocked import draw
from tests.test_linked import alone
from tests.test_realign import elementwise

# What these do not hold takes no longer to test than anything else.
SMALL = host_machine()._replace(l1=1 << 10, l2=1 << 12, l3=1 << 15)
CASES = {
    "i,i,i->i": [(9000,), (9000,), (9000,)],
    "i,i,i->": [(9001,), (9001,), (9001,)],
    "ab,ab,ab->b": [(70, 130), (70, 130), (70, 130)],
    "ab,ab,ab->a": [(71, 130), (71, 130), (71, 130)],
    "ab,ba,b->ba": [(190, 180), (180, 190), (180,)],
    "abc,abd->cd": [(40, 30, 5), (40, 30, 6)],  # a single step
    "abx,ab,ac->c": [(60, 50, 3), (60, 50), (60, 7)],  # a sum first, then a product
    "bij,bjk,bkl->bil": [(50, 8, 9), (50, 9, 10), (50, 10, 7)],
    "qd,kd,kv->qv": [(150, 90), (20, 90), (20, 90)],
    "ijk,jr,kr->ir": [(30, 20, 25), (20, 7), (25, 7)],
    "i,i,i,i->i": [(5000,), (5000,), (5000,), (5000,)],
    "ax,bx,bc->ac": [(60, 90), (30, 90), (30, 101)],  # out is more than the caches hold
    "ax,bx,cb->ca": [(60, 90), (30, 90), (112, 30)],
}


def on(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plan for another machine."""
    for module in ("planning", "linked", "pieced", "runs"):
        monkeypatch.setattr(f"tensorop.{module}.host_machine", lambda: machine)


@pytest.fixture(autouse=True)
def small_caches(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All that is not in one piece is run in several, whatever the estimates say."""
    on(SMALL, monkeypatch)
    monkeypatch.setattr(pieces, "WORTH", 1e9)
    monkeypatch.setattr(pieces, "COPY_WORTH", 1e9)
    tensorop.cache_clear()
    yield
    tensorop.cache_clear()


def pieced(plan: Plan) -> list[Pieced]:
    """How the pairs of a plan run."""
    kept = [getattr(executable, "_planner", None) for executable in plan.executables]
    planners = [getattr(planner, "_planned", planner) for planner in kept]
    return [planner for planner in planners if isinstance(planner, Pieced)]


def operands(spec: str, dtypes: str | list[str]) -> list[np.ndarray]:
    rng, shapes = np.random.default_rng(3), CASES[spec]
    kinds = [dtypes] * len(shapes) if isinstance(dtypes, str) else dtypes
    return [rng.integers(-3, 4, shape).astype(d) for shape, d in zip(shapes, kinds, strict=False)]


@pytest.mark.parametrize("dtype", ["float32", "complex128", "int16", "bool", "float16"])
@pytest.mark.parametrize("spec", CASES)
def test_pieces_are_right(spec: str, dtype: str) -> None:
    """Of whole numbers, which are not rounded anywhere. With alpha and beta, steps are apart."""
    given = operands(spec, dtype)
    wide = {"c": "complex128", "f": "float64"}.get(np.dtype(dtype).kind, dtype)
    exact = np.einsum(spec, *(x.astype(wide) for x in given)).astype(dtype)
    for threads in (1, 2, 3):
        result = np.asarray(tensorop.einsum(spec, *given, threads=threads))
        np.testing.assert_array_equal(result, exact)
        out = np.zeros_like(exact)
        for _ in range(3):  # the short way has learnt it
            tensorop.einsum(spec, *given, out=out, threads=threads)
        np.testing.assert_array_equal(out, exact)
        out = np.ones_like(result)
        if dtype not in ("bool", "float16"):
            tensorop.einsum(spec, *given, out=out, alpha=2, beta=3, threads=threads)
            np.testing.assert_array_equal(out, 2 * exact + out.dtype.type(3))


@pytest.mark.parametrize("threads", [1, 2])
def test_all_but_single_steps_run_so(threads: int) -> None:
    for spec in CASES:
        plan = tensorop.compile(spec, *operands(spec, "float32"), threads=threads)
        assert len(pieced(plan)) == len(plan.steps) // 2, spec
        assert ("pieces along" in plan.explain()) == (len(plan.steps) > 1)
        assert len(plan.schedules) == len(plan.steps)


@pytest.mark.parametrize("dtypes", [["float32", "float64"], ["int8", "float32"], ["bool", "int64"]])
@pytest.mark.parametrize("spec", ["i,i->i", "i,i->", "ij,j->i", "ij,jk->ik", "ij,kj->ik"])
def test_operands_are_cast_piece_by_piece(spec: str, dtypes: list[str]) -> None:
    sizes, rng = {"i": 3000 if "j" not in spec else 70, "j": 60, "k": 5}, np.random.default_rng(4)
    given = [
        rng.integers(0, 2, [sizes[label] for label in term]).astype(dtype)
        for term, dtype in zip(spec.split("->")[0].split(","), dtypes, strict=True)
    ]
    plan = tensorop.compile(spec, *given)
    assert pieced(plan) and "pieces along" in plan.explain()
    result, exact = np.asarray(plan(*given)), np.einsum(spec, *given)
    np.testing.assert_array_equal(result, exact)
    assert result.dtype == exact.dtype


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "complex64", "int32", "int8"])
def test_copies_in_pieces_mean_the_same(
    dtype: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of whatever input is held in another order, whatever is cut, wherever out begins."""
    machine = SMALL._replace(l1=1 << 12)  # which holds a stage of every dtype
    on(machine, monkeypatch)
    rng, reads = np.random.default_rng(5), set()
    for i in range(40):
        op, buffers = (draw, elementwise)[i % 2](rng, dtype)
        op = normalise(op).op
        every = realign._candidates(op, range(2), machine)
        cut = [(c, in_pieces(copied(c), machine)) for c in every if c.may_be_cut]
        for parts, how in [(parts, how) for parts, how in cut if how is not None][:3]:
            (tensor,) = parts.orders
            reads.add((tensor, how.sums))
            apart = Rearranged(parts, machine, alone, alone)
            planner = PiecedCopy(parts, how, lambda apart=apart: apart)  # type: ignore[misc]
            *inputs, out = op.tensors
            elsewhere = planner.of(op._replace(tensors=(*inputs, out._replace(begins=16))))
            assert elsewhere._pieces.piece.second.tensors[-1].begins == 16
            plan = Executable(op, threads, planner, plan_for)
            for alpha, beta in ((None, None), (None, None), (3, None), (2, -1)):
                expected, arrays = ([b.copy() for b in buffers] for _ in range(2))
                reference.run(op, expected, alpha or 1, beta or 0)
                plan.run(arrays, alpha, beta)
                np.testing.assert_allclose(arrays[2], expected[2], rtol=1e-4, atol=1e-3)
    moved, sums = zip(*reads, strict=True)
    assert {*moved} == {0, 1} and {*sums} == {False, True}


def test_an_input_is_copied_piece_by_piece() -> None:
    """What is added up goes down one input and along the other: a copy stays in L2."""
    a = (np.arange(130 * 140) % 7).reshape(130, 140).astype("f4")
    b, out = (np.arange(140 * 130) % 5).reshape(140, 130).astype("f4"), np.zeros((130, 140), "f4")
    plan = tensorop.compile("ij,ji->ij", a, b, order="C", threads=1)
    for memory in (out, np.zeros((140, 130), "f4").T, np.zeros((130, 140), "f4")[::-1]):
        plan(a, b, out=memory)
        np.testing.assert_array_equal(memory, a * b.T)
    assert "through temporaries" in plan.explain() and "pieces along" in plan.explain()


@pytest.mark.parametrize("begins", [0, 4, 20, 64])
@pytest.mark.parametrize("spec", ["i,i,i->i", "ij,ji->ij"])
def test_a_result_may_begin_anywhere(
    spec: str, begins: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that is stored past the caches, in whole lines."""
    on(SMALL._replace(l2=1 << 17, l3=1 << 18), monkeypatch)
    terms = spec.split("->")[0].split(",")
    shape = (480_000,) if len(terms[0]) == 1 else (400, 1024)
    size = 4 * int(np.prod(shape))
    given = [(np.arange(size // 4) % 7).astype("f4").reshape(shape) for _ in terms]
    given[-1] = given[-1].T.copy()
    memory = np.zeros(size + 128, np.uint8)
    begins += -memory.ctypes.data % 64
    out = memory[begins : begins + size].view("f4").reshape(shape)
    plan = tensorop.compile(spec, *given, order="C", threads=1)
    assert pieced(plan) and "past the caches" in plan.explain()
    plan(*given, out=out)
    np.testing.assert_array_equal(out, np.einsum(spec, *given))
    assert not memory[:begins].any() and not memory[begins + size :].any()


def test_nan_and_infinity_come_through() -> None:
    a, b, c = np.ones((3, 5000))
    a[4999], b[17], c[17] = np.nan, np.inf, 0
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(tensorop.einsum("i,i,i->i", a, b, c), a * b * c)
    assert np.isnan(tensorop.einsum("i,i,i->", a, b, c))


def test_a_diagonal_of_what_lies_between_is_not_cut() -> None:
    """It is cast whole, and read along another dimension than it was written."""
    a = (np.arange(50 * 50) % 5).reshape(50, 50).astype("f2")
    plan = tensorop.compile("aa,a->", a, a[0])
    assert not pieced(plan) and plan(a, a[0]) == (np.diag(a) * a[0]).sum()


def test_small_ones_are_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor such as the estimates are against."""
    first, second = tensorop.compile("i,i,i->i", *operands("i,i,i->i", "float32")).steps
    pair = Pair(first.op, second.op, second.inputs.index(first.output))
    assert in_pieces(pair, SMALL) is not None
    assert in_pieces(pair, SMALL._replace(l2=1 << 20)) is None
    monkeypatch.setattr(pieces, "WORTH", 0.0)
    assert in_pieces(pair, SMALL) is None


# With much L2, and an L3 that is far.
SERVER = host_machine()._replace(
    l1=48 << 10, l2=2 << 20, l3=480 << 20, near_l3=False, kept=64 << 20
)
# With one that is near.
NEAR = SERVER._replace(l1=32 << 10, l2=1 << 20, l3=32 << 20, near_l3=True, kept=NEVER)


@pytest.mark.parametrize(
    ("machine", "spec", "shapes", "strides", "wanted"),
    [
        (SERVER, "ij,ji->ij", [(2000, 2000)] * 2, None, True),
        (SERVER, "ij,ji->ij", [(500, 500)] * 2, None, False),  # half of L2 holds the copy
        (NEAR, "ij,ji->ij", [(2000, 2000)] * 2, None, True),
        (NEAR, "ij,ji->ij", [(500, 500)] * 2, None, False),  # L2 holds it
        # Parts of two lines in every row: 1.4 times as long on a Zen 4.
        (NEAR, "ba,a->ab", [(4102, 1403), (1403,)], None, False),
        # Whatever is cut, pieces are short runs that lie far apart: 1.5 times as long.
        (
            SERVER,
            *("adb,bac->badc", [(102, 2, 1335), (1335, 102, 114)], [None, (1, 1335, 136170)]),
            False,
        ),
        # L2 does not hold a single b: 1.24 times as long.
        (SERVER, "dbea,dac->cabe", [(1196, 10, 1086, 2), (1196, 2, 24)], None, False),
    ],
)
def test_estimates_are_for_copies_that_stay_near(
    machine: Machine,
    spec: str,
    shapes: list[tuple[int, ...]],
    strides: list[tuple[int, ...] | None] | None,
    wanted: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the prices as they are; what is refused was measured on a Granite Rapids."""
    monkeypatch.undo()
    on(machine, monkeypatch)
    given = {"dtypes": "float32", "strides": strides, "order": "C", "threads": 1}
    plan = tensorop.compile(spec, *shapes, **given)
    assert "through temporaries" in plan.explain() and bool(pieced(plan)) == wanted


@pytest.mark.parametrize(("size", "asks"), [(4000, True), (1400, False)])
def test_pieces_from_memory_are_asked_for(
    size: int, asks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though each of them is small."""
    monkeypatch.undo()
    on(NEAR, monkeypatch)
    plan = tensorop.compile("ba,ab->ab", *[(size, size)] * 2, dtypes="float32", threads=1)
    assert pieced(plan) and ("across16_asking" in plan.explain()) == asks


def test_estimates_are_for_chains_of_elements_and_against_products() -> None:
    """With the prices as they are, and a machine as they come."""
    machine = host_machine()._replace(l1=32 << 10, l2=1 << 20, l3=32 << 20)
    pieces.WORTH, worth = 0.9, pieces.WORTH
    try:
        for spec, shapes, wanted in [
            ("i,i,i->i", [(8_000_000,)] * 3, True),
            ("i,i,i->", [(8_000_000,)] * 3, True),
            ("ab,ab,ab->b", [(2000, 2000)] * 3, True),
            ("i,i,i->i", [(100_000,)] * 3, False),
            ("ij,jk,kl->il", [(900, 900)] * 3, False),
        ]:
            first, second = tensorop.compile(spec, *shapes, dtypes="float32").steps
            pair = Pair(first.op, second.op, second.inputs.index(first.output))
            assert (in_pieces(pair, machine) is not None) == wanted, spec
    finally:
        pieces.WORTH = worth
