"""The benchmark measures what it says: cases, scaling, statistics, roofs, checks and workers."""

from __future__ import annotations

import importlib.util
import itertools
import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tensorop.bench import worker
from tensorop.bench.cases import (
    Case,
    batch_cases,
    gemm_cases,
    matrix_cases,
    permute_cases,
    program_cases,
    quick_cases,
    rows,
    scaled,
    scaled_case,
    seed_operations,
    tccg_cases,
)
from tensorop.bench.circuit_cases import circuit_cases
from tensorop.bench.contestants import OURS, OUT, ROOF, CaseRun, extent, random_array
from tensorop.bench.measure import interleave, ratio
from tensorop.bench.peers import PEERS, Peer, PeerError
from tensorop.bench.random_cases import random_cases, small_cases
from tensorop.bench.report import geometric_mean, growth, refusals, summary
from tensorop.bench.roof import ArithmeticRoof, MemoryRoof, cores, pinned
from tensorop.bench.suites import Row
from tensorop.jit.compiler import assembly
from tensorop.jit.generate import generate
from tensorop.jit.peak import PeakKernel
from tensorop.jit.target import host_targets


def by_search(sizes: tuple[int, ...], flops: float) -> tuple[int, ...]:
    """`scaled`, from its definition: f on a fine grid."""
    if 2 * math.prod(sizes) <= flops:
        return sizes
    for step in range(100_000, 0, -1):
        candidate = tuple(max(4, s * step // 100_000 // 4 * 4) for s in sizes)
        if 2 * math.prod(candidate) <= flops:
            return candidate
    return (4,) * len(sizes)


@pytest.mark.parametrize(
    "sizes", [(384, 384, 24, 384), (7248, 7240, 7248), (24, 20, 20, 24, 20, 20, 24), (96, 84, 5)]
)
@pytest.mark.parametrize("flops", [2e9, 1e9, 5e6, 100])
def test_scaled_is_its_definition(sizes: tuple[int, ...], flops: float) -> None:
    got = scaled(sizes, flops)
    assert got == by_search(sizes, flops)
    assert 2 * math.prod(got) <= flops or set(got) == {4}


def test_scaled_leaves_what_fits_alone() -> None:
    assert scaled((7, 5, 3), 2 * 105) == (7, 5, 3)
    assert scaled((7, 5, 3), 2 * 105 - 1) == (4, 4, 4)


def test_tables_are_whole() -> None:
    assert len(tccg_cases("float32")) == len(tccg_cases("float64")) == 48
    assert len(quick_cases()) >= 8
    programs = program_cases()
    assert len({case.name for case in programs}) == len(programs) == 54
    assert all(len(case.terms) <= 3 and case.shapes for case in programs)
    assert [op.name for op in seed_operations()] == [
        "gemm, as written",
        "gemm, optimised",
        "brgemm, as written",
        "brgemm, optimised",
        "zero+brgemm+relu, as written",
        "zero+brgemm+relu, optimised",
        "matmul 1600, optimised",
        "six dimensions, optimised",
    ]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tccg_is_scaled_and_reversed(dtype: str) -> None:
    wanted = "f64" if dtype == "float64" else "f32"
    table = [row for row in rows("tccg") if row[0] == wanted]
    for case, (*_, column, row_major, _sizes, gflop) in zip(tccg_cases(dtype), table, strict=True):
        assert case.flops <= 2e9
        assert case.spec == row_major
        # C order reads the same memory with every term reversed.
        assert [term[::-1] for term in case.terms] == column.replace("->", ",").split(",")
        original = Case("", row_major, tuple((k, int(v)) for k, v in split(_sizes)), dtype)
        assert original.flops / 1e9 == pytest.approx(float(gflop), abs=1e-3)


def split(text: str) -> list[list[str]]:
    return [pair.split("=") for pair in text.split()]


@pytest.mark.parametrize("dtype", ["float32", "int8", "complex128"])
def test_permutations_are_what_they_say(dtype: str) -> None:
    cases = permute_cases(dtype)
    assert len(cases) == 32 and len({case.name for case in cases}) == 32
    for case in cases:
        source, target = case.terms
        assert sorted(source) == sorted(target) and case.returns_view
        together = [a + b for a, b in pairwise(target) if a + b in source]
        assert not together or case.name.startswith("trus")
        assert case.points * np.dtype(dtype).itemsize == pytest.approx(1 << 26, rel=0.35)
    moved = [case for case in cases[2:] if case.terms[0][-1] != case.terms[1][-1]]
    assert len(moved) >= 20
    assert cases == permute_cases(dtype)


def test_products_of_every_transposition() -> None:
    cases = gemm_cases("float64")
    assert {case.spec for case in cases} == {"ik,kj->ij", "ki,kj->ij", "ik,jk->ij", "ki,jk->ij"}
    assert sorted(case.flops for case in cases) == [2 * 1024**3] * 4 + [2 * 2048**3] * 4


def test_batch_cases_are_what_they_say() -> None:
    cases = batch_cases()
    assert len({case.name for case in cases}) == len(cases) == 66 + 175
    assert all(case.flops <= 5e9 for case in cases)
    batch = [case for case in cases if case.group == "batch"]
    assert len(batch) == 11
    places = {case.terms[2].index("x") for case in batch}
    assert places == set(range(6))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_batches_of_matrices_are_what_they_say(dtype: str) -> None:
    cases = matrix_cases(dtype)
    assert len({case.name for case in cases}) == len(cases) == 2 * 9 * 3
    for case in cases:
        (count, *sides), room = dict(case.sizes).values(), 1 << (25 if "32 MB" in case.name else 18)
        assert sides == [int(case.name.split("^")[0])] * 3
        assert room - 3 * sides[0] ** 2 * np.dtype(dtype).itemsize < case.moved <= room
        assert count == case.shapes[0][case.terms[0].index("b")]
    assert {case.terms[2].index("b") for case in cases} == {0, 1, 2}


@pytest.mark.parametrize("seed", [0, 1])
def test_small_cases_are_what_they_say(seed: int) -> None:
    cases = small_cases(seed)
    assert len(cases) == 300 and cases == small_cases(seed)
    assert all(1 <= case.flops <= 1e5 for case in cases)


@pytest.mark.parametrize(
    "spec",
    ["ij,jk->ik", "ij,kj->ki", "bij,bjk->bik", "ibj,jbk->ibk", "ijb,jkb->ikb", "jabi,akbj->ibka"],
)
def test_numpy_has_its_matmul(spec: str) -> None:
    axes = worker.matrix_axes(spec)
    assert axes is not None
    sizes = dict(zip("abijk", (2, 3, 4, 5, 6), strict=True))
    terms = spec.split("->")[0].split(",")
    operands = [random_array([sizes[k] for k in t], "float64", i) for i, t in enumerate(terms)]
    expected = np.einsum(spec, *operands)
    out = np.zeros_like(expected)
    new, into = worker.Numpy._matmul(axes, operands, out)
    into()
    for result in (new(), out):
        np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "spec",
    ["ij->ji", "ij,jk,kl->il", "ii,ij->ij", "ij,j->i", "ijk,jk->ik", "ijl,jk->ik", "ijl,jkl->ik"],
)
def test_what_is_no_single_matmul(spec: str) -> None:
    assert worker.matrix_axes(spec) is None


@pytest.mark.parametrize("seed", [0, 1])
def test_random_cases_are_what_they_say(seed: int) -> None:
    cases = random_cases(seed)
    assert len(cases) == 400 and cases == random_cases(seed)
    assert [case.dtype for case in cases] == ["float32", "float64"] * 200
    assert all(1e5 <= case.flops <= 1e9 for case in cases)
    assert {len(case.sizes) for case in cases} == set(range(2, 9))
    batched = [case for case in cases if set.intersection(*map(set, case.terms))]
    assert len(batched) == 200
    views = [layout for case in cases for layout in case.layouts if layout is not None]
    assert 150 <= len(views) <= 250
    assert any(min(layout) == 2 for layout in views)
    for label in "abcdefgh":  # every label in every tensor somewhere
        assert all(any(label in case.terms[i] for case in cases) for i in range(3))


@pytest.mark.parametrize("seed", [0, 1])
def test_circuits_are_what_they_say(seed: int) -> None:
    cases = circuit_cases(seed)
    assert len(cases) == 42 and cases == circuit_cases(seed)
    assert [case.dtype for case in cases] == ["float32"] * 21 + ["complex64"] * 21
    assert [case.spec for case in cases[:21]] == [case.spec for case in cases[21:]]
    assert circuit_cases(seed, 3)[:3] == cases[:3] and cases != circuit_cases(seed + 1)
    for case in cases:
        in0, in1, out = map(set, case.terms)
        assert set(dict(case.sizes).values()) == {2}
        assert 16 <= len(in0) <= 22 and 16 <= len(in1) <= 22 and len(out) <= 23
        assert 6 <= len(in0 & in1) <= 11 and out == in0 ^ in1
        assert all(len(term) == len(set(term)) for term in case.terms)


def test_views_are_the_same_for_every_contestant(tmp_path: Path) -> None:
    sizes = (("i", 3), ("k", 4), ("j", 5))
    case = Case("", "ik,kj->ij", sizes, "float64", layouts=((1, 3), (10, 2)))
    with Peer("numpy", "numpy", 1) as peer:
        run = CaseRun(case, tmp_path, {1: [peer]})
        assert [operand.strides for operand in run.operands] == [(8, 24), (80, 16)]
        assert run.error(1, peer) <= 1


def test_peers_that_refuse_or_die_or_are_wrong_take_no_part(tmp_path: Path) -> None:
    case = Case("", "ij,jk->ik", (("i", 3), ("j", 4), ("k", 5)), "float32")
    with (
        Peer("numpy", "numpy", 1) as judge,
        Peer("right", "opt_einsum", 1) as right,
        Peer("dead", "opt_einsum", 1) as dead,
        Peer("wrong", "opt_einsum", 1) as wrong,
        Peer("unable", "opt_einsum", 1) as unable,
    ):
        dead._process.kill()
        wrong.save = lambda file: np.save(file, np.zeros((3, 5), "float32"))
        unable.load = lambda *_: unable.ask("load", spec="ij,ik->", operands=[])
        run = CaseRun(case, tmp_path, {1: [judge, right, dead, wrong, unable]})
        names = ["numpy", "right"]
        expected = ["roof", OURS, OURS + OUT, *(n + out for n in names for out in ("", OUT))]
        assert [ROOF, *run.contestants(1)] == expected
        refused = run.refused[1]
        assert list(refused) == ["dead", "wrong", "unable"]
        assert "the process ended" in refused["dead"]
        assert "wrong" in refused["wrong"]
        assert dead.alive
        run = CaseRun(case, tmp_path, {1: [judge, dead]})  # it has been started again
        assert not run.refused[1]
        dying = run.contestants(1)["dead"]
        assert dying(1) < 1
        dead._process.kill()
        assert dying(1) == dying(1) == math.inf
        assert "the process ended" in run.refused[1]["dead"]
    assert "not beside in 2 rows: a: x" in refusals([{"a": "a: x"}, {"a": "a: y"}, {}])


@pytest.mark.parametrize("library", ["numpy", *PEERS])
def test_libraries_answer(library: str, tmp_path: Path) -> None:
    if not importlib.util.find_spec(library):
        pytest.skip(f"{library} is not installed")
    cases = {
        "ij,jk->ik": (("i", 8), ("j", 24), ("k", 16)),
        "bji,bkj->bki": (("b", 3), ("j", 24), ("i", 16), ("k", 8)),
        "abc->cab": (("a", 8), ("b", 24), ("c", 16)),
    }
    with Peer("numpy", "numpy", 1) as judge, Peer("it", library, 1) as peer:
        for spec, sizes in cases.items():
            run = CaseRun(Case("", spec, sizes, "float32"), tmp_path, {1: [judge, peer]})
            if library == "etops" and "," not in spec:
                assert "two float32 operands" in run.refused[1]["it"]
                continue
            assert not run.refused[1]
            assert all(0 < contestant(2) < 1 for contestant in run.contestants(1).values())


def test_work_of_a_case() -> None:
    matmul = Case("", "ij,jk->ik", (("i", 30), ("j", 40), ("k", 50)), "complex64")
    assert matmul.flops == 8 * 30 * 40 * 50
    assert matmul.moved == 8 * (30 * 40 + 40 * 50 + 30 * 50)
    assert (matmul.memory_bound, matmul.unit, matmul.returns_view) == (False, "GFLOP/s", False)
    trace = Case("", "aebe->ab", (("a", 3), ("b", 4), ("e", 5)), "float32")
    assert trace.moved == 4 * (3 * 4 * 5 + 3 * 4)  # only what lies on the diagonal
    assert (trace.memory_bound, trace.unit) == (True, "GB/s")
    assert Case("", "ab->ba", (("a", 3), ("b", 4)), "float32").returns_view


def test_operation_views_reach_the_whole_arrays() -> None:
    for operation in seed_operations():
        assert extent(*operation.view(0)[1:]) == math.prod(operation.view(0)[1])
        assert extent(*operation.view(2)[1:]) == math.prod(operation.view(2)[1])
    shared = seed_operations()[0].shared()
    assert shared.exec_types == ("shared", "seq", "seq", "prim", "prim", "prim")


def test_turns_are_taken_in_turn() -> None:
    turns = []

    def contestant(name: str, seconds: float):
        def run(calls: int) -> float:
            turns.append((name, calls))
            return seconds

        return run

    got = interleave({"a": contestant("a", 1e-3), "b": contestant("b", 5.0)}, 3, turn=0.02)
    assert got == {"a": [1e-3] * 3, "b": [5.0] * 3}
    assert turns[:4] == [("a", 1), ("a", 1), ("b", 1), ("b", 1)]
    assert turns[4:] == [("a", 20), ("b", 1)] * 3


def test_who_is_far_slower_than_the_pace_is_not_asked_again() -> None:
    asked = dict.fromkeys("abc", 0)

    def contestant(name: str, seconds: float):
        def run(calls: int) -> float:
            asked[name] += 1
            return seconds

        return run

    contestants = {"a": contestant("a", 0.1), "b": contestant("b", 0.5), "c": contestant("c", 2.0)}
    got = interleave(contestants, 3, pace=["a"])
    assert got == {"a": [0.1] * 3, "b": [0.5] * 3, "c": [2.0] * 3}
    assert asked == {"a": 5, "b": 5, "c": 2}
    interleave(contestants, 3)
    assert asked == {"a": 10, "b": 10, "c": 7}


def test_ratio_is_of_the_same_round() -> None:
    # A machine that slows down tenfold in one round changes no ratio.
    assert ratio([2.0, 20.0, 2.0], [1.0, 10.0, 1.0]) == 2.0
    assert geometric_mean([1.0, 4.0]) == pytest.approx(2.0)


def row(threads: int = 1, error: float = 0.5, ours: float = 1.0, roof: float = 1.0) -> Row:
    seconds = {
        ROOF: [roof, 2 * roof],
        OURS: [ours, ours, 3 * ours],
        OURS + OUT: [1.0] * 3,
        "numpy": [4.0] * 3,
        "numpy SkylakeX": [2.0] * 3,
        "numpy" + OUT: [3.0] * 3,
    }
    flops, moved = 8 * 10**9, 10**9
    return Row(
        "case", "", "", "float32", threads, 8e9, "GFLOP/s", flops, moved, 10e9, error, seconds
    )


def test_row_derives_its_figures() -> None:
    one = row()
    assert (one.time, one.rate, one.roof) == (1.0, 8e9, 10e9)
    assert one.part_of_roof == pytest.approx(0.8)  # the median over the best round
    assert one.best_peer() == ("numpy SkylakeX", 2.0)
    assert one.ratios() == {"numpy": 3.0, "numpy SkylakeX": 2.0}  # numpy is faster with out=
    assert one.best_peer(OUT) == ("numpy", 3.0)


def test_summary_names_what_is_wrong() -> None:
    assert "every result is right" in summary([row()])
    assert "WRONG: case" in summary([row(error=1.5)])
    assert not row(error=math.inf).right


def test_growth_is_held_against_the_roofs() -> None:
    (line,) = growth([row(), row(threads=2, ours=0.5, roof=0.5)])
    assert "1 to 2 threads: 2.00x, peak 2.00x, 1.00 of it" in line
    assert not growth([row(), replace(row(), dtype="complex64")])


@pytest.mark.parametrize("target", host_targets(), ids=lambda target: target.name)
def test_peak_kernel_has_its_chains_in_registers(target) -> None:
    kernel = PeakKernel("float32")
    text = assembly(generate(kernel, target), target)
    assert kernel.chains(target) >= 24 or target.registers < 32
    if target.fma and target.triple.startswith("x86_64"):
        # chains x unrolled, and one a chain less one to start from values of their own
        fused = sum("vfmadd" in line for line in text.splitlines())
        assert fused == 4 * kernel.chains(target) + kernel.chains(target) - 1
        assert "(%rsp)" not in text


@pytest.mark.parametrize("dtype", ["float32", "complex128", "int32"])
def test_roofs_count_their_work(dtype: str) -> None:
    with ArithmeticRoof(dtype, 1) as one, ArithmeticRoof(dtype, 2) as two:
        assert two.work == 2 * one.work
        assert 0 < one(100) < 1
        assert 0 < two(100) < 1
        # Ten times the calls take ten times as long, so nothing was optimised away.
        assert min(one(3000) for _ in range(5)) > 0.2 * min(one(300) for _ in range(5))
    with MemoryRoof(2, size=1 << 20) as copy:
        assert copy.work == 2 << 20
        assert copy(3) > 0
        assert all((target == 1).all() for target in copy._target)


def test_pinned_restores() -> None:
    before = cores()
    with pinned(before[:1]):
        assert len(cores()) == 1 or not hasattr(__import__("os"), "sched_setaffinity")
    assert cores() == before


CHECKED = [("ij,jk->ik", (9, 30), (30, 7)), ("aebe->ab", (3, 4, 5, 4)), ("ij,ij->", (6, 7), (6, 7))]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int32"])
@pytest.mark.parametrize("case", CHECKED, ids=[case[0] for case in CHECKED])
def test_check_finds_one_wrong_element(case: tuple, dtype: str) -> None:
    spec, *shapes = case
    operands = [random_array(shape, dtype, seed) for seed, shape in enumerate(shapes)]
    result = np.array(np.einsum(spec, *operands))
    assert worker.check(spec, operands, result, None, False) <= 1
    for index in itertools.islice(np.ndindex(result.shape), 5):
        wrong = result.copy()
        wrong[index] += wrong.dtype.type(1 if dtype == "int32" else 1e-3)
        assert worker.check(spec, operands, wrong, None, False) > 1
    if dtype != "int32":
        result[(0,) * result.ndim] = math.nan
        assert worker.check(spec, operands, result, None, False) == math.inf


def test_check_goes_through_the_result_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "BLOCK", 64)
    a, b = random_array((31, 20), "float32", 0), random_array((20, 43), "float32", 1)
    result = np.einsum("ij,jk->ki", a, b)
    assert len(list(worker.blocks("ij,jk->ki", [a, b], result))) > 10
    assert worker.check("ij,jk->ki", [a, b], result, None, False) <= 1
    result[-1, -1] += 1e-2
    assert worker.check("ij,jk->ki", [a, b], result, None, False) > 1


@pytest.mark.parametrize("spec", ["bij,jkb->ikb", "bij,jb->b", "ibj,bjc->cbi", "bcj,cbj->bc"])
def test_check_goes_through_a_batch_item_by_item(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "SHORT_LOOP", 2)
    sizes = {"b": 3, "c": 2, "i": 4, "j": 5, "k": 6}
    terms = spec.replace("->", ",").split(",")[:2]
    operands = [
        random_array([sizes[k] for k in term], "float32", i) for i, term in enumerate(terms)
    ]
    result = np.einsum(spec, *operands)
    items = list(worker.items(spec, operands))
    assert len(items) == (6 if spec.endswith("->bc") else 3)
    for each, own, where in items:
        assert "b" not in each
        np.testing.assert_allclose(np.einsum(each, *own), result[where], rtol=1e-4)
    assert worker.check(spec, operands, result, None, False) <= 1
    result.flat[-1] += 1e-2
    assert worker.check(spec, operands, result, None, False) > 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_check_knows_touches(dtype: str) -> None:
    a, b = random_array((5, 6), dtype, 0), random_array((6, 7), dtype, 1)
    before = random_array((5, 7), dtype, 2)
    result = np.maximum(a @ b + before, 0)
    assert worker.check("ij,jk->ik", [a, b], result, before, True) <= 1
    assert worker.check("ij,jk->ik", [a, b], result, None, True) > 1
    assert worker.check("ij,jk->ik", [a, b], np.maximum(a @ b, 0), None, True) <= 1
    assert worker.check("ij,jk->ik", [a, b], np.maximum(a @ b, 0), None, False) > 1


def test_worker_answers(tmp_path: Path) -> None:
    a, b = random_array((40, 30), "float32", 0), random_array((30, 20), "float32", 1)
    files = []
    for name, array in (("a", a), ("b", b), ("result", a @ b)):
        np.save(tmp_path / f"{name}.npy", array)
        files.append(str(tmp_path / f"{name}.npy"))
    with Peer("numpy", "numpy", 1) as peer:
        assert peer.version == np.__version__
        operands = [
            {"file": files[0], "shape": a.shape, "strides": None},
            {"file": files[1], "shape": b.shape, "strides": (20, 1)},
        ]
        peer.load("ij,jk->ik", operands, False, [40, 20])
        assert peer.has_out
        assert 0 < peer.seconds(3, False) < 1
        assert peer.error(files[2]) <= 1
        with pytest.raises(PeerError, match="FileNotFoundError"):
            peer.error(str(tmp_path / "nothing.npy"))
    with pytest.raises(PeerError, match="not running"):
        peer.ask("hello")


def test_worker_threads_and_core_type_are_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Nonsense")
    with Peer("numpy", "numpy", 2) as peer:
        environment = Path(f"/proc/{peer._process.pid}/environ")
        if environment.exists():
            text = environment.read_bytes()
            assert b"OPENBLAS_NUM_THREADS=2" in text
            assert b"OPENBLAS_CORETYPE" not in text


def test_missing_library_is_an_error() -> None:
    with pytest.raises(PeerError), Peer("x", "no such library", 1):
        pass


def test_scaled_case_keeps_its_labels() -> None:
    case = scaled_case(Case("", "ij,jk->ik", (("i", 99), ("j", 98), ("k", 97)), "float32"), 1e-3)
    assert [label for label, _ in case.sizes] == ["i", "j", "k"]
    assert case.flops <= 1e6
