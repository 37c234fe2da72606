"""Divisions of a product among many threads: what a grid leaves idle, and that it is right."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensorop
from tensorop.ir import ExecType
from tensorop.optimizer import blocked as five_loops
from tensorop.optimizer import blocks, sharing
from tensorop.optimizer.blocks import Blocks
from tensorop.optimizer.orient import orient
from tensorop.optimizer.sharing import Division, InGrid, Work
from tensorop.schedule import Loop
from tests.test_blocked import DTYPES, TINY, does_the_same, draw

WHOLE = Blocks(mc=144, nc=4096, kc=1024)


def divided(work: Work, how: Division = "rows") -> InGrid | None:
    return work.in_a_grid(how, WHOLE, lambda m, n, sharers: WHOLE, 4096)


@given(
    st.integers(1, 3000),
    st.integers(1, 3000),
    st.integers(1, 3000),
    st.sampled_from([(16, 12), (48, 8), (64, 4), (4, 1)]),
    st.integers(2, 70),
    st.integers(1, 9),
)
def test_parts_consist_of_tiles(
    m: int, n: int, k: int, tile: tuple[int, int], threads: int, items: int
) -> None:
    work = Work(m, n, k, *tile, lanes=4, lies=bool(m % 2), threads=threads, items=items)
    for how in ("rows", "columns"):
        found = divided(work, how)
        if found is not None:
            for size, part, lanes in zip((m, n), found.parts, tile, strict=True):
                assert part == size or (0 < part < size and part % lanes == 0)


@pytest.mark.parametrize(("threads", "how"), [(2, "apart"), (4, "grid"), (6, "grid"), (16, "grid")])
def test_a_grid_is_for_what_one_axis_leaves_idle(threads: int, how: str | None) -> None:
    work = Work(1024, 1024, 1024, 48, 8, lanes=16, lies=False, threads=threads)
    found = divided(work)
    assert (found and found.how) == how
    if found is not None:
        parts = -(-1024 // found.parts[0]) * -(-1024 // found.parts[1])
        assert parts >= threads


def test_few_items_are_divided_without_waiting() -> None:
    found = divided(Work(512, 512, 64, 48, 8, lanes=16, lies=True, threads=64, items=48))
    assert found is not None and found.how == "apart"


def test_threads_that_pack_for_themselves_have_l3_among_themselves() -> None:
    sizes = []

    def sized(m: int, n: int, sharers: int) -> Blocks:
        sizes.append((m, n, sharers))
        return WHOLE._replace(nc=WHOLE.nc // sharers)

    work = Work(512, 512, 64, 48, 8, lanes=16, lies=True, threads=64, items=48)
    found = work.in_a_grid("rows", WHOLE, sized, 4096)
    assert found is not None and found.how == "apart"
    assert sizes[-1] == (*found.parts, 64) and found.blocks.nc == WHOLE.nc // 64


@pytest.mark.parametrize("threads", [2, 3, 7])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("how", ["grid", "apart"])
def test_grids(how: str, dtype: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of blocks of K, and with in0 packed in several parts."""
    monkeypatch.setattr(blocks, "MIN_KC", 8)
    monkeypatch.setattr(sharing, "GAIN", {"grid": np.inf, "apart": np.inf})
    monkeypatch.setattr(sharing, "SHORTEST", 1)
    other = {"grid": "_apart", "apart": "_together"}[how]
    monkeypatch.setattr(sharing, other, lambda work, *_: (np.inf, (work.m, work.n)))
    rng = np.random.default_rng(threads)
    reached = set()
    for _ in range(30):
        op, buffers = draw(rng, dtype)
        oriented = orient(op, 16)
        schedule = five_loops.blocked(oriented.op, TINY, threads, oriented.swapped)
        steps = [s for _, s in schedule.steps() if isinstance(s, Loop)]
        shared = [s.axis for s in steps if s.exec == ExecType.SHARED]
        if sharing.DIVIDED[how] in schedule.notes[0]:  # type: ignore[index]
            reached.add((len(shared), sum(s.axis == "M" for s in steps)))
        alpha, beta = (1, 0) if rng.integers(2) else (2, 3)
        does_the_same(op, schedule, buffers, threads, alpha, beta)
    assert len(reached) > 1, reached


@pytest.mark.parametrize("threads", [3, 8, 16])
def test_many_threads(threads: int) -> None:
    rng = np.random.default_rng(threads)
    for spec, *shapes in (
        ("ij,jk->ik", (301, 257), (257, 320)),
        ("bij,bkj->bik", (5, 130, 90), (5, 140, 90)),
        ("ijk,kjl->il", (100, 30, 50), (50, 30, 110)),
        ("aij,bji->ab", (176, 30, 40), (176, 40, 30)),
    ):
        a, b = (rng.integers(-4, 5, shape).astype(np.float32) for shape in shapes)
        plan = tensorop.compile(spec, a, b, threads=threads)
        np.testing.assert_array_equal(plan(a, b), np.einsum(spec, a, b, optimize=True))
