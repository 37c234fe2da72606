"""Products of few rows as dot products, from the spec to the result (optimizer/dots.py)."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest

import tensorop
from tensorop.ir import Dimension, DimType, Primitive, Tensor, TensorOp
from tensorop.optimizer import realign, regime
from tensorop.optimizer.balance import LONGEST_SUM
from tensorop.optimizer.dots import dots_of
from tensorop.optimizer.machine import host_machine
from tensorop.optimizer.normalise import normalised
from tests.strategies import numpy_dtype
from tests.test_realign import contraction


@pytest.fixture(autouse=True)
def preferred(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Dot products wherever they are possible, on every machine."""

    def forget() -> None:
        regime._choose.cache_clear()
        regime._large_and_best.cache_clear()
        realign.cycles.cache_clear()
        tensorop.cache_clear()

    monkeypatch.setattr(regime, "dots_cycles", lambda *_: 1.0)
    forget()
    yield
    monkeypatch.undo()
    forget()


def regimes(plan: tensorop.Plan) -> list[str]:
    lines = plan.explain().splitlines()
    return [line.split("regime: ")[1].split(",")[0] for line in lines if "regime: " in line]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint64"])
@pytest.mark.parametrize(
    ("spec", "sizes"),
    [
        ("bk,nk->bn", {"b": 3, "n": 331, "k": 1000}),
        ("bk,nk->nb", {"b": 7, "n": 331, "k": 1000}),
        ("nk,bk->bn", {"b": 13, "n": 331, "k": 999}),  # the short side second
        ("xbk,xnk->xbn", {"x": 5, "b": 2, "n": 217, "k": 300}),
        ("abd,cad->acb", {"a": 97, "b": 4, "c": 150, "d": 52}),  # items in rows between each other
        ("yxbk,xnyk->bxny", {"y": 3, "x": 5, "b": 4, "n": 90, "k": 128}),
        ("bk,nk->bn", {"b": 2, "n": 230, "k": 17 * LONGEST_SUM}),
        ("bk,nk->bn", {"b": 7, "n": 5, "k": 200_001}),  # of which L2 holds parts of the sums
    ],
)
def test_results(spec: str, sizes: dict[str, int], dtype: str, threads: int) -> None:
    """Into new arrays and given ones, which are added to; also where in1 has gaps."""
    rng = np.random.default_rng(0)
    shapes = [[sizes[label] for label in term] for term in spec.split("->")[0].split(",")]
    low = 0 if dtype == "uint64" else -3
    first, second = (rng.integers(low, 4, shape).astype(dtype) for shape in shapes)
    apart = np.zeros((2 * shapes[1][0], *shapes[1][1:]), dtype)[::2]
    apart[...] = second
    expected = np.einsum(spec, first.astype(float), second.astype(float), optimize=True)
    for other in (second, apart):
        plan = tensorop.compile(spec, first, other, threads=threads)
        if sizes["k" if "k" in sizes else "d"] < LONGEST_SUM and threads == 1:
            assert "dots" in regimes(plan)
        np.testing.assert_array_equal(plan(first, other), expected)
        out = np.ones(expected.shape[::-1], dtype).T
        plan(first, other, out=out, alpha=2, beta=3)
        np.testing.assert_array_equal(out, 2 * expected + 3)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("rows", [2, 4])
def test_half_types_are_rounded_once(rows: int, dtype: str) -> None:
    rng = np.random.default_rng(rows)
    first, second = (rng.integers(-3, 4, (n, 700)).astype(numpy_dtype(dtype)) for n in (rows, 331))
    exact = np.einsum("bk,nk->bn", first.astype(float), second.astype(float))
    plan = tensorop.compile("bk,nk->bn", first, second)
    assert "dots" in regimes(plan)
    np.testing.assert_array_equal(plan(first, second), exact.astype(first.dtype))
    out = np.ones(exact.shape, first.dtype)
    plan(first, second, out=out, alpha=2, beta=3)
    np.testing.assert_array_equal(out, (2 * exact + 3).astype(first.dtype))


def test_half_types_are_widened_once() -> None:
    """For one tile of rows, and all of the sum."""
    machine = host_machine()

    def fits(rows: int, k: int) -> bool:
        op = contraction("bk,nk->bn", "bfloat16", b=rows, n=1000, k=k)
        return dots_of(op, machine) is not None

    assert fits(4, 1000) and not fits(16, 1000)
    assert not fits(4, machine.l2 // 16)


@pytest.mark.parametrize(
    ("rows", "k", "gap", "changes", "in_turn"),
    [
        (3, 64, 0, {}, True),
        (3, 64, 8, {}, False),  # other rows between those of in1
        (3, 640, 0, {}, False),  # of in0, more than L1 has room for
        (3, 64, 0, {"l3": 32 << 20}, False),
        (3, 64, 0, {"near_l3": False}, False),
        (3, 64, 0, {"asks_in_rows": True}, False),
    ],
)
def test_rows_that_lie_end_to_end_in_memory_are_read_in_turn(
    rows: int, k: int, gap: int, changes: dict[str, int], in_turn: bool
) -> None:
    machine = host_machine()._replace(near_l3=True, asks_in_rows=False)
    machine = machine._replace(l1=16 << 10, l2=1 << 16, l3=1 << 20)._replace(**changes)
    tensors = tuple(Tensor(name, "float32") for name in ("in0", "in1", "out"))
    dims = (
        Dimension(DimType.M, rows, (k, 0, 5000)),
        Dimension(DimType.N, 5000, (0, k + gap, 1)),
        Dimension(DimType.K, k, (1, 1, 0)),
    )
    found = dots_of(TensorOp(tensors, dims, Primitive.GEMM), machine)
    assert found is not None
    assert found.kernel.in_turn == in_turn and found.kernel.asks != in_turn


def test_few_rows_by_few_go_along_any_sum() -> None:
    """L2 then holds a part of both sides; it does not where many rows go by."""
    machine = host_machine()

    def fits(rows: int, others: int, dtype: str = "float32") -> bool:
        op = normalised(contraction("ik,jk->ij", dtype, i=rows, j=others, k=machine.l2))
        return dots_of(op, machine) is not None

    assert fits(7, 5) and fits(5, 7) and fits(12, 12) and fits(8, 16, "float64")
    assert fits(3, 5000)  # of which one tile has all rows
    assert not fits(5, 17) and not fits(13, 13)
    assert fits(7, 5, "int32") and not fits(7, 5, "int8") and not fits(7, 5, "complex64")


def test_long_sums_are_cut() -> None:
    lanes = host_machine().lanes("float32")
    longest = LONGEST_SUM * lanes
    plan = tensorop.compile(
        "bk,nk->bn", (2, 3 * longest), (50, 3 * longest), dtypes="float32", threads=1
    )
    (block,) = re.findall(rf"for K of {3 * longest}, blocks of (\d+)", plan.explain())
    assert 0 < int(block) <= longest and int(block) % lanes == 0


def test_sums_that_fit_are_whole() -> None:
    for k in (52, 64, 1000):
        plan = tensorop.compile("bk,nk->bn", (4, k), (99, k), threads=1)
        assert "dots" in regimes(plan) and "for K of" not in plan.explain()


def test_short_rows_between_each_other_are_gone_along() -> None:
    """So many rows of in1 at a time as a tile has, all items of a batch, and then the next rows."""
    plan = tensorop.compile("abd,cad->acb", (97, 4, 52), (150, 97, 52), threads=1)
    (kernel,) = (line for line in plan.explain().splitlines() if "rows of in1 a call" in line)
    columns = kernel.split("tile ")[1].split(",")[0].split("x")[1]
    assert f"{columns} rows of in1 a call" in kernel
    assert f"for N of 150, blocks of {columns}" in plan.explain()
