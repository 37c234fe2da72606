"""The short way of repeated calls: the same results, and nothing leaked, lost or mistaken."""

from __future__ import annotations

import gc
import inspect
import sys
import threading
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tensorop
from tensorop import known, memory, warm
from tensorop.config import POOL
from tensorop.executable import threads_for
from tensorop.jit.entry import machine
from tensorop.jit.warm import (
    COUNT,
    MAX_RANK,
    MOST_THREADS,
    SCRATCH,
    SLOTS,
    Table,
    array_api,
)
from tensorop.memory import LARGE
from tensorop.optimizer.machine import host_machine
from tests.known_calls import ARRAY_DTYPES, array, frames_of

SPECS = ("ij,jk->ik", "ij,ij->", "i,j->ij", "ij,ij->ij", "bij,bjk->bik", "ijk,kl->lji", ",i->i")

pytestmark = [
    pytest.mark.skipif(array_api() is None, reason="arrays are not read by generated code"),
    pytest.mark.usefixtures("nothing_known"),
]


def teach(spec: Any, a: np.ndarray, b: np.ndarray, **out: Any) -> None:
    for _ in range(2):
        tensorop.einsum(spec, a, b, **out)


NUMBERS = (1, 0, 2, -3, 1.0, 0.5, -0.0, 1e-300, 1e300, float("inf"), float("nan"), 2**24 + 1, 2**70)
STRANGE = (True, np.float32(2), np.float64(0.1), np.array(3), 1 + 2j)  # left to Python


@pytest.mark.parametrize("spec", ["ij,jk->ik", "ij,jk", "ij->j", "ij->ij", "i,i->"])
@pytest.mark.parametrize("dtype", ARRAY_DTYPES)
def test_factors(spec: str, dtype: str) -> None:
    """alpha and beta, in both ways of calling, are what they are where nothing is known."""
    terms = spec.split("->")[0].split(",")
    operands = [array(term, dtype, i) for i, term in enumerate(terms)]
    plain = np.asarray(tensorop.einsum(spec, *operands))
    plan = tensorop.compile(spec, *operands)
    start = np.array(np.random.default_rng(9).integers(0, 4, plain.shape), dtype)
    known = 0
    run = machine().warm.get().run

    def told(call: Any) -> Any:
        """The result, the error and what was warned of."""
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                return np.asarray(call()).tobytes(), "", [str(w.message) for w in warned]
            except (TypeError, ValueError) as error:
                return b"", str(error), [str(w.message) for w in warned]

    for alpha in (*NUMBERS, *STRANGE):
        for beta in (*NUMBERS, *STRANGE):
            for out in (None, start):
                rest = {"alpha": alpha, "beta": beta}
                if out is not None:
                    rest["out"] = out

                def fresh(rest: dict[str, Any] = rest) -> dict[str, Any]:
                    return {k: v.copy() if k == "out" else v for k, v in rest.items()}

                right = told(lambda: tensorop.einsum(spec, *operands, **fresh(), order="k"))
                for _ in range(3):
                    assert told(lambda: tensorop.einsum(spec, *operands, **fresh())) == right, rest
                    assert told(lambda: plan(*operands, **fresh())) == right, rest
                given = None if out is None else out.copy()
                known += run((spec, *operands), given, alpha, beta) is not None
    served = dtype in ("float32", "float64", "complex64") and "->ij" not in spec
    assert (known > 50) == served
    assert tensorop.einsum(spec, *operands, alpha=1, beta=0).tobytes() == plain.tobytes()


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("dtype", ARRAY_DTYPES)
def test_known_calls_give_what_unknown_ones_give(spec: str, dtype: str) -> None:
    first, second = spec.split("->")[0].split(",")
    for view in range(4):
        a, b = array(first, dtype, 1, view), array(second, dtype, 2, 3 - view)
        teach(spec, a, b)
        a, b = array(first, dtype, 3, view), array(second, dtype, 4, 3 - view)
        expected = tensorop.einsum("".join(list(spec)), a, b, optimize=True)
        result = warm.run((spec, a, b), None)
        assert result is not None, "not learnt"
        assert type(result) is type(expected)
        assert result.dtype == expected.dtype and result.strides == expected.strides
        np.testing.assert_array_equal(result, expected)
        if result.ndim:
            assert result.flags.writeable and result.flags.owndata
            out = np.zeros_like(result)
            teach(spec, a, b, out=out)
            out[...] = 0
            assert warm.run((spec, a, b), out) is out
            np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("spec", ["ij->i", "ij->j", "ij->", "ii->i", "iij->j", "ij->ji", "i->"])
@pytest.mark.parametrize("dtype", ARRAY_DTYPES)
def test_calls_of_one_operand(spec: str, dtype: str) -> None:
    term = spec.split("->")[0]
    for view in range(4):
        a = array(term, dtype, 1, view)
        expected = np.einsum(spec, a)
        for out in (None, np.zeros_like(expected)) if expected.ndim else (None,):
            for _ in range(3):
                result = tensorop.einsum(spec, a, out=out)
            np.testing.assert_array_equal(result, expected)
            known_too = warm.run((spec, a), out)
            view_or_half = np.shares_memory(result, a) or dtype == "float16"
            assert known_too is not None or view_or_half
            if known_too is not None:
                np.testing.assert_array_equal(known_too, expected)
                assert out is None or known_too is out
                assert warm.run((spec, a, a), out) is None


def test_an_operand_that_was_forgotten() -> None:
    """A call of one operand is none of two that lie alike, nor the other way round."""
    spec, a = "ij,jk->ik", np.ones((4, 4))
    teach(spec, a, a)
    assert warm.run((spec, a), None) is None
    with pytest.raises(tensorop.EinsumError):
        tensorop.einsum(spec, a)
    assert warm.run((spec,), None) is None
    assert warm.run((), None) is None


def test_only_what_was_seen_is_known() -> None:
    spec, a, b = "ij,jk->ik", np.ones((5, 6)), np.ones((6, 4))
    teach(spec, a, b)
    assert warm.run((spec, a, b), None) is not None
    for other in (
        (spec, a.astype("f4"), b),
        (spec, np.ones((7, 6)), b),
        (spec, np.asfortranarray(a), b),
        (spec, a[::-1], b),
        (spec, a.astype(">f8"), b),
        (spec, a.view(np.matrix), b),
        (spec, a.tolist(), b),
        ("".join(list(spec)), a, b),
        (spec, np.ones((5, 6, 1)), b),
        (spec, a, b, b),
        (spec, a),
    ):
        assert warm.run(other, None) is None
    assert warm.run((spec, a, b), np.ones((5, 4))) is None  # never seen with out
    np.testing.assert_array_equal(tensorop.einsum(spec, a[::-1], b), a[::-1] @ b)


def test_out_is_asked_for_all_that_it_should_be() -> None:
    spec, a, b, out = "ij,jk->ik", np.ones((4, 4)), np.full((4, 4), 2.0), np.zeros((4, 4))
    teach(spec, a, b, out=out)
    locked = np.zeros((4, 4))
    locked.flags.writeable = False
    raw = np.zeros(4 * 4 * 8 + 1, np.uint8)[1:]
    misaligned = raw.view("f8").reshape(4, 4) if raw.ctypes.data % 8 else None
    for wrong in (locked, misaligned, np.zeros((4, 4), "f4"), out.T, np.zeros((4, 5))):
        assert wrong is None or warm.run((spec, a, b), wrong) is None
    with pytest.raises(ValueError, match="read-only"):
        tensorop.einsum(spec, a, b, out=locked)
    assert warm.run((spec, a, b), a) is None  # it would overwrite what it reads
    expected = a @ b
    assert tensorop.einsum(spec, a, b, out=a) is a
    np.testing.assert_array_equal(a, expected)
    both = np.ones((5, 4))
    teach(spec, both[:4], b, out=out)
    assert warm.run((spec, both[:4], b), both[1:]) is None


def test_nothing_leaks() -> None:
    spec, a, b, out = "ij,jk->ik", np.ones((4, 4)), np.ones((4, 4)), np.zeros((4, 4))
    kept = (spec, a, b, out, a.dtype, None, np.ndarray)

    def counts() -> list[int]:
        gc.collect()
        return [sys.getrefcount(x) for x in kept]

    teach(spec, a, b)
    teach(spec, a, b, out=out)
    teach("i,i->", a[0], b[0])
    for _ in range(3):
        tensorop.einsum("ij,jk,kl->il", a, b, out)
    before, blocks = counts(), sys.getallocatedblocks()
    for _ in range(20_000):
        warm.run((spec, a, b), None)
        warm.run((spec, a, b), out)
        warm.run((spec, b, out), a)
        warm.run((spec, a, 3), None)
        tensorop.einsum("ij,jk,kl->il", a, b, out)
    assert all(abs(x - y) < 50 for x, y in zip(counts(), before, strict=True))
    assert sys.getallocatedblocks() - blocks < 500


def test_more_calls_than_there_is_room_for() -> None:
    spec, b = "ij,jk->ik", np.ones((2, 3))
    for n in range(1, SLOTS + 400):
        teach(spec, np.ones((n, 2)), b)
    assert len(known._records) <= SLOTS
    for n in range(1, SLOTS + 400, 7):
        assert tensorop.einsum(spec, np.ones((n, 2)), b).sum() == 6 * n


def test_what_threads_share_is_known_by_their_number() -> None:
    n = 128
    a, out = np.random.default_rng(3).random((n, n)), np.zeros((n, n))
    assert threads_for(tensorop.compile("ij,jk->ik", a, a).steps[0].op, None) is None
    before = tensorop.get_num_threads()

    def call() -> None:
        tensorop.matmul(a, a, out=out)

    try:
        for number in (1, 2, 3):
            tensorop.set_num_threads(number)
            assert frames_of(call), "another number has another plan"
            for _ in range(8):
                call()
            assert not frames_of(call)
            np.testing.assert_allclose(out, a @ a)
        tensorop.set_num_threads(2)
        assert not frames_of(call)
        with tensorop.threads(3):
            assert not frames_of(call)
            with tensorop.threads(1):
                assert not frames_of(call)
            with tensorop.threads(4):
                assert frames_of(call)
        tensorop.set_num_threads(MOST_THREADS + 1)
        for _ in range(5):
            assert frames_of(call), "Python may have several objects for such a number"
    finally:
        tensorop.set_num_threads(before)


def test_what_is_not_learnt() -> None:
    teach("ij,jk->ik", *[np.ones((1800, 1800))] * 2)  # its panels take more than a buffer
    many = "abcdefghi"[: MAX_RANK + 1]
    teach(f"{many},{many}->", np.ones((1,) * len(many)), np.ones((1,) * len(many)))
    assert not known._records


LARGE_SIDE = int((LARGE // 8) ** 0.5) + 1  # of a square result of float64


def test_large_results_are_the_pools() -> None:
    """As those of calls that nobody knows: at the start of a page, and each its own."""
    a, b = np.random.default_rng(2).random((2, LARGE_SIDE))
    teach("i,j->ji", a, b)
    results = [warm.run(("i,j->ji", a, b), None) for _ in range(3)]
    for result in results:
        assert result.base is not None and result.ctypes.data % 4096 == 0
        np.testing.assert_array_equal(result, np.outer(b, a))
    results[0][...] = 0
    np.testing.assert_array_equal(results[1], np.outer(b, a))
    addresses = {x.ctypes.data for x in results}
    assert len(addresses) == len(results)
    del result, results
    assert warm.run(("i,j->ji", a, b), None).ctypes.data in addresses


def test_a_large_result_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    a = np.random.default_rng(2).random(LARGE_SIDE)
    teach("i,j->ij", a, a)
    monkeypatch.setattr(memory._pool, "array", SimpleNamespace())
    before = sys.getrefcount(a)
    for _ in range(3):
        with pytest.raises(TypeError, match="callable"):
            warm.run(("i,j->ij", a, a), None)
    assert sys.getrefcount(a) == before


def test_what_is_known_may_be_forgotten_while_a_result_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    a = np.random.default_rng(2).random(LARGE_SIDE)
    teach("i,j->ij", a, a)
    make = memory._pool.array

    def forgets(size: int) -> Any:
        tensorop.cache_clear()
        gc.collect()
        return make(size)

    monkeypatch.setattr(memory._pool, "array", forgets)
    np.testing.assert_array_equal(warm.run(("i,j->ij", a, a), None), np.outer(a, a))
    assert not known._records


def test_where_out_begins_matters_to_what_stores_lines() -> None:
    """Such a call is known for each beginning that was seen."""
    n = 1 + host_machine().l3 // 4096
    a, b = np.ones((3, 1024), "f4"), np.ones((n, 3), "f4")
    room = np.zeros(1024 * n + 32, "f4")
    start = -room.ctypes.data % 64 // 4
    aligned, within = (room[i : i + 1024 * n].reshape(n, 1024) for i in (start, start + 4))
    spec = "km,nk->nm"
    (executable,) = tensorop.compile(spec, a, b).executables

    for out in (aligned, within):
        for _ in range(2):
            tensorop.einsum(spec, a, b, out=out)
    assert len(known._records) == (2 if executable.single(1) is None else 1)
    for out in (aligned, within, aligned):
        assert not frames_of(lambda out=out: tensorop.einsum(spec, a, b, out=out))
        room[:] = 0
        assert (tensorop.einsum(spec, a, b, out=out) == 3).all()
        assert room.sum(dtype="f8") == 3 * out.size, "something was written beside it"
    for _ in range(2):
        tensorop.einsum(spec, a, b)
    with POOL(0):  # numpy's own memory, which does not begin with a line
        result = tensorop.einsum(spec, a, b)
    assert result.base is None and (result == 3).all()
    asked = frames_of(lambda: tensorop.einsum(spec, a, b))
    assert asked[0] == "empty" and "contract" not in asked


def test_panels_lie_in_buffers() -> None:
    """In one that no other call uses; where there is none, Python finds memory."""
    a = np.random.default_rng(1).random((48, 48)) + 1j
    plan = tensorop.compile("ij,jk->ik", a, a)
    (executable,) = plan.executables
    assert executable.single(1)[0].scratch_bytes > SCRATCH
    plan(a, a), plan(a, a)
    in_use = known._table(machine().warm.get().table)[Table.BUFFERS + 1 :: 2]
    assert len(in_use) == COUNT
    for busy in range(COUNT + 1):
        in_use[:busy] = 1
        try:
            results: list[np.ndarray] = []
            assert bool(frames_of(lambda to=results: to.append(plan(a, a)))) == (busy == COUNT)
            assert in_use.sum() == busy
            np.testing.assert_allclose(results[0], a @ a)
        finally:
            in_use[:] = 0
    before = sys.getrefcount(out := np.zeros_like(a))
    plan(a, a, out=out), plan(a, a, out=out)
    in_use[:] = 1
    try:
        for _ in range(10):
            np.testing.assert_allclose(plan(a, a, out=out), a @ a)
    finally:
        in_use[:] = 0
    assert sys.getrefcount(out) == before


def test_calls_at_a_time_have_buffers_of_their_own() -> None:
    """More of them than there are buffers, of plans that let each other run."""
    n, threads = 120, COUNT + 3
    rng = np.random.default_rng(2)
    operands = [rng.random((n, n)) + 1j * rng.random((n, n)) for _ in range(threads)]
    plan = tensorop.compile("ij,jk->ik", operands[0], operands[0], threads=1)
    wrong: list[int] = []

    def work(i: int) -> None:
        a, out = operands[i], np.zeros((n, n), complex)
        expected = a @ a
        for _ in range(60):
            if not np.allclose(plan(a, a, out=out), expected):
                wrong.append(i)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong
    assert not known._table(machine().warm.get().table)[Table.BUFFERS + 1 :: 2].any()


def test_matmul_and_plans_have_records_of_their_own() -> None:
    a, b = np.ones((5, 6), "f4"), np.ones((6, 4), "f4")
    plan = tensorop.compile("ij,jk->ik", a, b)
    out = np.zeros((5, 4), "f4")
    for _ in range(3):
        np.testing.assert_array_equal(tensorop.matmul(a, b), a @ b)
        assert tensorop.matmul(a, b, out=out) is out
        np.testing.assert_array_equal(plan(a, b), a @ b)
        assert plan(a, b, out=out) is out
    assert len(known._records) == 4
    with pytest.raises(tensorop.EinsumError, match="shape"):
        plan(b, a)
    assert type(tensorop.matmul(a.view(np.matrix), b)) is np.matrix


def test_functions_have_options_of_their_own() -> None:
    """The same spec in C order here, and as the operands lie in einsum."""
    a, b = np.asfortranarray(np.ones((5, 6))), np.asfortranarray(np.ones((6, 4)))
    for _ in range(3):
        assert tensorop.tensordot(a, b, 1).flags.c_contiguous
        assert tensorop.matmul(a, b).flags.c_contiguous
        assert tensorop.einsum("ij,jk->ik", a, b).flags.f_contiguous
        assert tensorop.vecdot(a, a).shape == (5,)
        assert tensorop.inner(a, b.T).shape == (5, 4)
        assert tensorop.outer(a[0], b[0]).shape == (6, 4)
    z = np.array([1j, 2])
    for _ in range(3):
        assert tensorop.vecdot(z, z) == 5 and tensorop.inner(z, z) == 3
        assert tensorop.vecdot(z, z, axis=0) == 5
    wide = np.zeros((2, 5, 4))
    for _ in range(3):
        assert (tensorop.matmul(a, b, out=wide) == 6).all()
        assert (tensorop.matmul(a, b, out=(wide[0],)) == 6).all()


def test_forgetting_while_others_call() -> None:
    spec, a, b = "ij,jk->ik", np.ones((8, 8)), np.ones((8, 8))
    wrong: list[Any] = []
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            result = tensorop.einsum(spec, a, b)
            if not (result == 8).all():
                wrong.append(result)

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    for _ in range(40):
        tensorop.cache_clear()
    stop.set()
    for worker in workers:
        worker.join()
    assert not wrong


def test_without_the_generated_function(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("machine", "loaded"):
        monkeypatch.setattr(known, name, lambda: SimpleNamespace(warm=None, plans=None))
    monkeypatch.setattr("tensorop.plan._native", lambda: None)
    a = np.ones((3, 3))
    teach("ij,jk->ik", a, a)
    assert not known._records
    np.testing.assert_array_equal(tensorop.einsum("ij,jk->ik", a, a), a @ a)
    plan = tensorop.compile("ij,jk->ik", a, a)
    assert type(plan) is tensorop.Plan
    np.testing.assert_array_equal(plan(a, a), a @ a)
    assert "operands" in str(inspect.signature(plan))


def test_optimize_true_is_the_default() -> None:
    a, b = array("ij", "float64", 1), array("jk", "float64", 2)
    teach("ij,jk->ik", a, b, optimize=True)
    assert machine().warm.get().run(("ij,jk->ik", a, b), None) is not None
    chain = (a, b, array("kl", "float64", 3))
    results = [tensorop.einsum("ij,jk,kl", *chain, optimize=how) for how in (True, "auto", False)]
    for result in results:
        np.testing.assert_array_equal(result, np.einsum("ij,jk,kl", *chain))
    with pytest.raises(ValueError, match="beta"):
        tensorop.einsum("ij,jk", a, b, optimize=True, beta=1)


@pytest.mark.parametrize(
    "function, shapes, given",
    [
        ("matmul", ((2, 3, 4, 5), (2, 3, 5, 6)), {}),
        ("matmul", ((1, 4, 4, 3), (3, 3)), {}),
        ("matmul", ((2, 3, 5, 4), (2, 3, 6, 5)), {"axes": [(-1, -2)] * 3}),
        ("vecdot", ((4, 5, 6), (4, 5, 6)), {}),
        ("vecdot", ((4, 5), (4, 5)), {"axis": -1}),
        ("vecdot", ((4, 5), (4, 5)), {"axis": 0}),
        ("vecdot", ((4, 5), (4, 5)), {"keepdims": True}),
    ],
)
def test_batches_come_to_be_known(
    function: str, shapes: tuple[tuple[int, ...], ...], given: dict[str, Any]
) -> None:
    """Also where axes are moved first: what is known is not asked of the cache of calls."""
    a, b = (np.random.default_rng(i).random(shape) for i, shape in enumerate(shapes))
    for _ in range(5):
        ours = getattr(tensorop, function)(a, b, **given)
    asked = tensorop.cache_info()
    ours = getattr(tensorop, function)(a, b, **given)
    assert tensorop.cache_info() == asked
    theirs = getattr(np, function)(a, b, **given)
    assert ours.strides == theirs.strides
    np.testing.assert_allclose(ours, theirs)


def test_what_the_table_names_is_kept_when_learning_is_interrupted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Generated code reads a record for as long as its address is in the table."""

    class Interrupted(dict[int, Any]):
        def __setitem__(self, slot: int, record: Any) -> None:
            raise KeyboardInterrupt

    a = np.ones((5, 5))
    monkeypatch.setattr(known, "_records", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        teach("ij,jk->ik", a, a)
    assert not known._table(machine().warm.get().table)[:SLOTS].any()
