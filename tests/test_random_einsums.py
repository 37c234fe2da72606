"""Random calls of einsum: one after another, from many threads, and beside forbidden pages.

`tests/campaigns/random_contractions.py` runs the same calls by the hundred thousand.
"""

from __future__ import annotations

import itertools
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tensorop
from tensorop.einsum import call_for, layout_of
from tensorop.jit.copy_abi import CopyKernel
from tensorop.jit.gemm_abi import GemmKernel
from tensorop.program import Options
from tensorop.schedule import Call as KernelCall
from tensorop.schedule import Pack
from tests.fences import Fenced, Layout
from tests.random_einsums import Call, check, draw, numpy_dtype

SEED = 20
THREADS = 8
TURNS = 8  # layouts of an operand


def run(*seed: int) -> None:
    with np.errstate(all="ignore"):  # the reference's: an error state belongs to a thread
        check(draw(np.random.default_rng([SEED, *seed])))


@pytest.mark.parametrize("batch", range(8))
def test_random_calls(batch: int) -> None:
    for i in range(60):
        run(batch, i)


def test_random_calls_from_many_threads_at_once() -> None:
    """Planning, compiling and running, each in the middle of the others'."""
    tensorop.cache_clear()
    with ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(run, 100 + i % THREADS, i) for i in range(20 * THREADS)]:
            done.result()


def test_halves_beyond_their_range_are_infinite_and_nothing_else_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    large, small = np.full(300, 15, np.float16), np.full(300, 1, np.float16)
    check(Call("i,i->", [large, large]))
    check(Call("i,i->", [large, -large], {"alpha": -1.5}))
    infinite = np.float16(np.inf)
    for result, operand in ((-infinite, large), (infinite, small), (infinite, -large)):
        monkeypatch.setattr(tensorop, "einsum", lambda *_, found=result, **__: found)
        with pytest.raises(AssertionError, match="beyond bound"):
            check(Call("i,i->", [large, operand], {"alpha": 1.0}))


# Each with sizes that are no multiple of a vector or a tile.
SPECS = {
    "matrix product": ("ij,jk->ik", {"i": 131, "j": 301, "k": 97}),
    "small product": ("ij,jk->ik", {"i": 33, "j": 17, "k": 49}),
    "narrow product": ("ij,jk->ik", {"i": 3, "j": 70, "k": 5}),
    "two summed labels": ("aij,ajk->ik", {"a": 5, "i": 35, "j": 6, "k": 19}),
    "six labels": ("aebf,dfce->abcd", {"a": 7, "b": 9, "c": 11, "d": 5, "e": 3, "f": 17}),
    "fastest batch": ("ijb,jkb->ikb", {"i": 3, "j": 4, "k": 5, "b": 37}),
    "matrix times vector": ("ij,j->i", {"i": 37, "j": 61}),
    "dot product": ("i,i->", {"i": 1001}),
    "outer product": ("i,j->ij", {"i": 19, "j": 83}),
    "sum": ("ijk->ik", {"i": 5, "j": 7, "k": 35}),
    "trace": ("ii->", {"i": 21}),
    "permutation": ("ijk->kji", {"i": 23, "j": 9, "k": 37}),
    "permutation of pairs": ("abcd->cdab", {"a": 3, "b": 5, "c": 7, "d": 11}),
}
DTYPES = ("float32", "float64", "complex64", "float16", "int8", "int32", "longdouble", "bool")


def layouts(rank: int) -> list[Layout]:
    """As numpy makes arrays, in the other order, and with gaps; at either end of the pages."""
    given, reversed_ = tuple(range(rank)), tuple(reversed(range(rank)))
    kinds = [(given, 1), (reversed_, 1), (given, 2), (reversed_, -1)]
    return [Layout(axes, step, at_end) for axes, step in kinds for at_end in (True, False)]


def fenced(name: str, dtype: str, turn: int) -> list[Fenced]:
    """Operands and out of a spec. They go through the layouts at different paces, so that all
    kinds of layouts meet."""
    spec, sizes = SPECS[name]
    rng = np.random.default_rng(SEED)
    arrays = []
    for i, term in enumerate(re.split(",|->", spec)):
        shape = [sizes[label] for label in term]
        values = rng.integers(-3, 4, shape).astype(numpy_dtype(dtype))
        arrays.append(Fenced(values, layouts(len(shape))[turn * (2 * i + 1) % TURNS]))
    return arrays


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SPECS)
def test_nothing_outside_of_the_arrays_is_touched(name: str, dtype: str) -> None:
    for turn in range(TURNS):
        arrays = fenced(name, dtype, turn)
        *operands, out = (x.array for x in arrays)
        options = {"out": out, "beta": turn % 2, "threads": 1 + turn * 2 // TURNS}
        check(Call(SPECS[name][0], operands, options))
        assert all(x.is_whole() for x in arrays), f"{SPECS[name]}, layouts {turn}"


def test_all_kinds_of_kernels_were_beside_forbidden_pages() -> None:
    kinds = set()
    for (name, (spec, _)), turn in itertools.product(SPECS.items(), range(TURNS)):
        *operands, out = (layout_of(x.array) for x in fenced(name, "float32", turn))
        call = call_for(spec, tuple(operands), out, tuple(Options()), 1)
        schedules = (s for run in call.runs for s in run.executable.schedules)
        kinds |= {kind_of(step) for schedule in schedules for _, step in schedule.steps()}
    assert kinds >= {"packing", "packed product", "direct product", "stream", "copy"}


def kind_of(step: object) -> str:
    if isinstance(step, Pack):
        return "packing"
    if not isinstance(step, KernelCall):
        return ""
    if isinstance(step.kernel, GemmKernel):
        return f"{step.kernel.a} product"
    return "copy" if isinstance(step.kernel, CopyKernel) else "stream"


def test_a_fence_is_a_fence() -> None:
    fenced = Fenced(np.zeros((3, 5), "f4"), Layout((1, 0), 2))
    assert fenced.is_whole()
    np.lib.stride_tricks.as_strided(fenced.array, (3, 10), (8, 4))[...] = 1
    assert not fenced.is_whole()
