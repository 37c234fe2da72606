"""Offset tables: where every position of a flattened axis lies in a tensor.

An axis of several dimensions need not have one stride. Packing and the store of C then address it
through a table of byte offsets (block-scatter, as in TBLIS), and move whole vectors wherever the
table says that positions are consecutive in memory: the *chunks*, maximal runs cut at block
borders.
Tables are made once, when a plan is bound; kernels only read them.

Source: D. A. Matthews, "High-Performance Tensor Contraction without Transposition", SISC 40 (2018).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorop.jit.lines import LINE

if TYPE_CHECKING:
    from tensorop.schedule import Axis

Words = np.ndarray[Any, np.dtype[np.int64]]


def offsets(axis: Axis, tensor: int, itemsize: int) -> Words:
    """Byte offset in a tensor of every position of an axis, shape (axis.size,).

    >>> from tensorop.ir import Dimension, DimType
    >>> from tensorop.schedule import Axis
    >>> m = (Dimension(DimType.M, 2, (30, 0, 3)), Dimension(DimType.M, 3, (1, 0, 1)))
    >>> offsets(Axis("M", DimType.M, m), 0, 4).tolist()
    [0, 4, 8, 120, 124, 128]
    """
    steps = [
        np.arange(d.size, dtype=np.int64) * (d.strides[tensor] * itemsize) for d in axis.dimensions
    ]
    table = steps[0] if steps else np.zeros(1, np.int64)
    for inner in steps[1:]:
        table = np.add.outer(table, inner).ravel()
    return turned(axis, table)


def turned(axis: Axis, table: Words) -> Words:
    """What is known of an axis' elements, in the order of its positions."""
    by, length = axis.turned
    return np.roll(table.reshape(-1, length), -by, axis=1).ravel() if by else table


def lines(axis: Axis, tensor: int, itemsize: int) -> tuple[Words, Words, Words]:
    """The lines of memory that an axis goes along in a tensor that begins anywhere in one.

    Returns
    -------
    starts : the offsets without those that are in a line of one before, and the last of every run
    begins : (axis.size + 1,): how many of them lie before a position
    ends : (axis.size + 1,): up to how many of them are reached by elements before a position

    >>> from tensorop.ir import Dimension, DimType
    >>> from tensorop.schedule import Axis
    >>> axis = Axis("K", DimType.K, (Dimension(DimType.K, 40, (1, 40, 0)),))
    >>> starts, begins, ends = lines(axis, 0, 4)
    >>> starts.tolist(), int(begins[18]), int(ends[18])
    ([0, 64, 128, 156], 2, 3)
    """
    position, inner = np.arange(axis.size, dtype=np.int64), 1
    kept, shared = np.ones(axis.size, bool), np.zeros(axis.size, np.int64)
    for d in reversed(axis.dimensions):
        step = abs(d.strides[tensor]) * itemsize
        if 0 < step < LINE:
            inside, each = position // inner % d.size, LINE // step
            kept &= (inside % each == 0) | (inside == d.size - 1)
            shared = np.maximum(shared, np.minimum(inside, each - 1) * inner)
        inner *= d.size
    kept, shared = turned(axis, kept), turned(axis, shared)
    ends = np.zeros(axis.size + 1, np.int64)
    first = np.maximum(position - shared, 0)[kept]  # that may be in a line
    np.maximum.at(ends, first + 1, np.arange(1, len(first) + 1))
    begins = np.append(0, np.cumsum(kept))
    return offsets(axis, tensor, itemsize)[kept], begins, np.maximum.accumulate(ends)


def chunks(source_offsets: Words, itemsize: int, longest: int, granule: int) -> tuple[Words, Words]:
    """Runs of positions that are consecutive in memory.

    Parameters
    ----------
    source_offsets : byte offset of every position, shape (size,)
    itemsize : bytes from one element of a run to the next
    longest : most elements of a chunk
    granule : no chunk crosses a multiple of so many positions

    Returns
    -------
    records : (n, 3): first position, its byte offset, number of positions
    begin : (blocks + 1,): the first chunk of every granule, and last n

    Examples
    --------
    >>> records, begin = chunks(np.array([0, 4, 8, 120, 124]), 4, longest=2, granule=4)
    >>> records.tolist(), begin.tolist()
    ([[0, 0, 2], [2, 8, 1], [3, 120, 1], [4, 124, 1]], [0, 3, 4])
    """
    size = len(source_offsets)
    position = np.arange(size, dtype=np.int64)
    breaks = position % granule == 0
    breaks[1:] |= source_offsets[1:] - source_offsets[:-1] != itemsize
    run_start = np.maximum.accumulate(np.where(breaks, position, 0))
    first = np.flatnonzero(breaks | ((position - run_start) % longest == 0))
    records = np.empty((len(first), 3), np.int64)
    records[:, 0], records[:, 1] = first, source_offsets[first]
    records[:-1, 2], records[-1:, 2] = first[1:] - first[:-1], size - first[-1:]
    begin = np.empty(-(-size // granule) + 1, np.int64)
    begin[:-1], begin[-1] = np.searchsorted(first, position[::granule]), len(first)
    return records, begin


def two_runs(offsets: Words, itemsize: int, lanes: int) -> Words:
    """The two runs that every `lanes` positions belong to, of runs no shorter than that.

    Parameters
    ----------
    offsets : byte offset of every position, shape (size,)
    itemsize : bytes from one element of a run to the next
    lanes : positions that are taken together

    Returns
    -------
    (n, 3): how many of them belong to the first run, the offset of the first one, and the offset
    that it would have if it belonged to the second run

    Examples
    --------
    >>> two_runs(np.array([0, 4, 8, 120, 124, 128]), 4, lanes=2).tolist()
    [[2, 0, 0], [1, 8, 116], [2, 124, 124]]
    """
    records, begin = chunks(offsets, itemsize, lanes, lanes)
    first, last = records[begin[:-1]], records[begin[1:] - 1]
    alone = begin[1:] - begin[:-1] == 1
    before = last[:, 0] % lanes * itemsize
    return np.stack([np.where(alone, lanes, first[:, 2]), first[:, 1], last[:, 1] - before], axis=1)


def filled_up(offsets: Words, rows: int) -> Words:
    """A table up to the end of the last tile of so many rows, where the last row is repeated.

    >>> filled_up(np.array([0, 4, 8]), 2).tolist()
    [0, 4, 8, 8]
    """
    return np.append(offsets, np.repeat(offsets[-1:], -len(offsets) % rows))


def on_stage(size: int, run: int, held: int, columns: int, rows: int) -> Words:
    """Where on a stage (`gemm_stage.py`) the first column of every row of C lies, up to the end of
    the last tile of so many `rows`, in elements.

    >>> on_stage(7, run=3, held=2, columns=4, rows=8).tolist()
    [0, 1, 2, 12, 13, 14, 0, 1]
    """
    chunk, row = np.divmod(np.arange(-(-size // rows) * rows, dtype=np.int64), run)
    return chunk % held * (run * columns) + row
