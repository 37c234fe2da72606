"""Permuting copies whose long columns go straight into whole lines, against numpy."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

from tensorop.bind import bind
from tensorop.bind_copies import CopyWords
from tensorop.ir import ExecType
from tensorop.jit.builder import Code
from tensorop.jit.copy_abi import CopyDescriptor
from tensorop.jit.lines import LINE
from tensorop.jit.tables import Words
from tensorop.optimizer.permute import banded, permute
from tensorop.schedule import Call, Loop
from tests.asked import Asked, aligned
from tests.strategies import numpy_dtype
from tests.test_permute import HOST, SMALL, execute, modes_of, operation

needs_shifts = pytest.mark.skipif(
    not HOST.target.shifts_lines(4), reason="this machine does not shift lines"
)


@needs_shifts
@pytest.mark.parametrize(
    ("shape", "axes", "mode"),
    [
        ((1100, 64), (1, 0), "lines"),
        ((1100, 60), (1, 0), "staged"),  # rows of less than four lines
        ((1000, 300), (1, 0), "staged"),  # columns of less than 64
        ((40, 30, 70), (2, 1, 0), "lines"),  # columns over two dimensions
        ((40, 30, 9, 8), (3, 2, 1, 0), "lines"),  # rows, too
        ((1024, 64), (1, 0), "staged"),  # columns that would collide in memory
        ((40, 32, 9, 8), (3, 2, 1, 0), "lines"),  # less so over dimensions
        ((30, 5, 300), (2, 0, 1), "staged"),
        ((300, 8, 5, 300), (2, 3, 1, 0), "lines"),
        ((12, 1100, 3, 64), (2, 0, 3, 1), "lines"),  # a loop around
    ],
)
def test_which_copies_have_bands(shape: tuple[int, ...], axes: tuple[int, ...], mode: str) -> None:
    source = np.arange(prod(shape), dtype=np.float32).reshape(shape)
    out = np.zeros([shape[axis] for axis in axes], np.float32)
    machine = SMALL._replace(l1=32 << 10)
    schedule = permute(operation(source.transpose(axes), out, "float32"), machine, 1)
    schedule.verify()
    assert modes_of(schedule) == {mode}
    execute(schedule, [source, out], 1)
    np.testing.assert_array_equal(out, source.transpose(axes))


@needs_shifts
@pytest.mark.parametrize(("l1", "mode"), [(32 << 10, "lines"), (48 << 10, "staged")])
def test_columns_over_dimensions_collide_where_l1_has_room_for_a_stage(l1: int, mode: str) -> None:
    source = np.zeros((40, 32, 9, 8), np.float32)
    out = np.zeros((8, 9, 32, 40), np.float32)
    op = operation(source.transpose(3, 2, 1, 0), out, "float32")
    assert modes_of(permute(op, SMALL._replace(l1=l1), 1)) == {mode}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "complex128"])
def test_any_band(dtype: str, threads: int) -> None:
    """From anywhere in a line to anywhere in one, with gaps; nothing else is written."""
    rng = np.random.default_rng(threads)
    kind = numpy_dtype(dtype)
    least = 4 * LINE // kind.itemsize
    for trial in range(24):
        rows = 16 * least + int(rng.integers(1, 2000))
        columns = least + int(rng.integers(0, 9 * least))
        gaps = [int(g) for g in rng.integers(0, 20, 2) * (trial % 3 > 0)]
        if trial % 4 == 0:
            rows, columns = -(-rows // 16) * 16, -(-columns // 16) * 16
        first, begin = (int(b) for b in rng.integers(0, 64 // kind.itemsize, 2))
        bits = rng.integers(0, 256, (first + rows * (columns + gaps[0])) * kind.itemsize, np.uint8)
        source = bits.view(kind)[first:].reshape(rows, -1)[:, :columns]
        memory = np.zeros((begin + columns * (rows + gaps[1]) + 16) * kind.itemsize, np.uint8)
        odd = int(rng.integers(0, kind.itemsize)) if trial % 6 == 5 else 0
        last = (columns * (rows + gaps[1])) * kind.itemsize
        place = memory[begin * kind.itemsize + odd :][:last].view(kind)
        out = place.reshape(columns, -1)[:, :rows]
        op = operation(source.T, out, dtype)
        schedule = banded(op, SMALL, threads) or permute(op, SMALL, threads)
        schedule.verify()
        assert modes_of(schedule) == {"lines"} or not HOST.target.shifts_lines(kind.itemsize)
        expected = memory.copy()
        there = expected[begin * kind.itemsize + odd :][:last].view(kind)
        there.reshape(columns, -1)[:, :rows].view(np.uint8)[:] = np.ascontiguousarray(
            source.T
        ).view(np.uint8)
        execute(schedule, [source, out], threads)
        np.testing.assert_array_equal(memory, expected, err_msg=str((trial, rows, columns, gaps)))


@needs_shifts
@pytest.mark.parametrize(("rows", "columns"), [(1_100, 64), (1_100, 2_000), (600_000, 64)])
def test_threads_share_a_copy(rows: int, columns: int) -> None:
    source, out = np.zeros((rows, columns), np.float32), np.zeros((columns, rows), np.float32)
    schedule = permute(operation(source.T, out, "float32"), SMALL, 2)
    assert modes_of(schedule) == {"lines"}
    assert any(isinstance(s, Loop) and s.exec == ExecType.SHARED for _, s in schedule.steps())


@needs_shifts
@pytest.mark.parametrize(
    ("rows", "columns", "alike"),
    [(1168, 512, (1, 1)), (1168, 500, (1, 0)), (1150, 512, (0, 1)), (1150, 500, (0, 0))],
)
def test_what_begins_alike_waits_for_nothing(
    rows: int, columns: int, alike: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel is told of columns, and of rows, that all begin at one place in a line."""
    source, out = np.zeros((rows, columns), np.float32), np.zeros((columns, rows), np.float32)
    schedule = permute(operation(source.T, out, "float32"), SMALL, 1)
    written, told = CopyWords._copy_words, []

    def copy_words(self: CopyWords, call: Call) -> Words:
        words = written(self, call)
        told.append((words[CopyDescriptor.COLUMNS_ALIKE], words[CopyDescriptor.ROWS_ALIKE]))
        return words

    monkeypatch.setattr(CopyWords, "_copy_words", copy_words)
    bind(schedule, HOST.target)
    assert told == [alike]


@needs_shifts
def test_rows_to_come_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the first ones: those of a band, and those of the band beside it."""
    source = aligned(np.arange(1200 * 512, dtype=np.float32)).reshape(1200, 512)
    out = np.zeros((512, 1200), np.float32)
    schedule = permute(operation(source.T, out, "float32"), SMALL, 1)
    assert modes_of(schedule) == {"lines"}
    asked = Asked(source)
    monkeypatch.setattr(Code, "prefetch", lambda code, *to, **how: asked.ask(code, *to, **how))
    asked.execute(schedule, [source, source, out])
    np.testing.assert_array_equal(out, source.T)
    lines = source.nbytes // LINE
    assert 0.97 * lines < asked.lines[:-1].sum() < lines
