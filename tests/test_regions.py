"""Regions of permuting copies: they fit, they lie in runs, and rows are not cut without need."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

from tensorop.ir import Dimension, DimType
from tensorop.jit.lines import LINE
from tensorop.optimizer.regions import regions

ROOM = 1 << 15


def permuted(sizes: tuple[int, ...], axes: tuple[int, ...]) -> list[Dimension]:
    """The dimensions of a dense array, and of its transpose."""
    source = [prod(sizes[i + 1 :]) for i in range(len(sizes))]
    shape = [sizes[axis] for axis in axes]
    target = {axis: prod(shape[i + 1 :]) for i, axis in enumerate(axes)}
    return [Dimension(DimType.C, n, (source[i], target[i])) for i, n in enumerate(sizes)]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("size", [1, 4, 16])
def test_regions_fit_and_lie_in_runs(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(2, 7))
    sizes = tuple(int(n) for n in 2 ** rng.uniform(1, 48 / rank, rank))
    while (axes := tuple(rng.permutation(rank).tolist()))[-1] == rank - 1:
        pass
    dims = permuted(sizes, axes)
    found = regions(dims, size, 64, ROOM)
    assert found is not None
    assert sorted([*found.x, *found.y, *found.rest]) == sorted(dims)
    taken = found.columns * found.rows
    assert taken % found.run == 0
    assert taken * size + taken // found.run * LINE <= ROOM
    assert taken * size > ROOM // 8 or not found.rest
    for side, count in ((found.x, found.columns), (found.y, found.rows)):
        inner = prod(d.size for d in side[1:])
        assert count % inner == 0
        assert inner < count <= inner * side[0].size if side else count == 1
    # Neither side's runs are given up for the other's.
    assert found.run * size >= LINE or found.run == dims[axes[-1]].size


def test_rows_of_the_target_are_whole_where_they_are_short() -> None:
    found = regions(permuted((249, 129, 522), (0, 2, 1)), 4, 64, ROOM)
    assert found is not None
    assert found.run % 129 == 0


def test_there_are_no_regions_without_room() -> None:
    dims = [Dimension(DimType.C, 100, (1, 300)), Dimension(DimType.C, 100, (100, 3))]
    assert regions(dims, 8, 64, LINE) is None
