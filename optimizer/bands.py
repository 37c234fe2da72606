"""Bands of a permuting copy: long columns of the target, read from long rows of the source.

X is a run of the source and Y a run of the target. A band is as much of X as a kernel goes down at
a time (jit/copy_lines.py): wide, because memory is fast along rows. Columns are long, because they
begin and end within lines.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import prod

from tensorop.ir import Dimension
from tensorop.jit.copy_abi import band_columns
from tensorop.jit.lines import LINE
from tensorop.tuples import NamedTuple

IN, OUT = 0, 1
WIDE = 4 * LINE  # bytes of a row that is long
LONG = 64 * LINE  # the same of a column


class Bands(NamedTuple):
    """x, y: the dimensions of X and of Y, outermost first; rest: all others."""

    x: list[Dimension]
    y: list[Dimension]
    rest: list[Dimension]


def bands(dims: Sequence[Dimension], size: int) -> Bands | None:
    """X and Y of a copy of elements of `size` bytes; None where there are no long rows and columns.

    >>> from tensorop.ir import Dimension, DimType
    >>> a, b = (Dimension(DimType.C, 2000, s) for s in ((2000, 1), (1, 2000)))
    >>> [d.strides for d in bands([a, b], 4).y]
    [(2000, 1)]
    """
    rows, columns = _run(dims, IN), _run(dims, OUT)
    x: list[Dimension] = []
    enough = size * band_columns(size)
    for d in rows:
        y = columns[: _before(columns, [*x, d])]
        if _bytes(x, size) >= enough or _bytes(y, size) < LONG:
            break
        x.append(d)
    y = columns[: _before(columns, x)]
    if _bytes(x, size) < WIDE or _bytes(y, size) < LONG:
        return None
    rest = [d for d in dims if d not in (*x, *y)]
    return Bands(x[::-1], y[::-1], rest)


def _bytes(run: Sequence[Dimension], size: int) -> int:
    return prod(d.size for d in run) * size


def _run(dims: Sequence[Dimension], tensor: int) -> list[Dimension]:
    """The dimensions whose positions follow one another in a tensor, the fastest first."""
    run, size = [], 1
    for d in sorted(dims, key=lambda d: abs(d.strides[tensor]) or sys.maxsize):
        if d.strides[tensor] != size:
            break
        run.append(d)
        size *= d.size
    return run


def _before(run: Sequence[Dimension], others: Sequence[Dimension]) -> int:
    """How many dimensions of a run come before any of the others."""
    return next((i for i, d in enumerate(run) if d in others), len(run))
