"""Copies straight into whole lines (jit/copy_lines.py), at guard pages, against plain loops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from tensorop.jit.compiler import assembly
from tensorop.jit.copy_abi import CopyKernel, band_columns, line_squares
from tensorop.jit.elements import element
from tensorop.jit.generate import generate
from tensorop.jit.lines import LINE
from tensorop.jit.slots import Slot
from tensorop.jit.target import Target
from tests.stream_calls import TARGETS
from tests.test_copy_kernel import Array, Call, D
from tests.test_gemm_kernel import random_values

SHIFTING = [found for found in TARGETS if found.values[0].shifts_lines(4)]  # type: ignore[union-attr]
DTYPES = ["float32", "float64", "complex64", "complex128", "int32", "int16", "uint8", "bfloat16"]

pytestmark = pytest.mark.skipif(not SHIFTING, reason="this machine does not shift lines")


@dataclass
class Band:
    """A matrix that is transposed, and the block of it that a call does.

    gaps: elements behind every row of the source, and every column of the target; shifts: elements
    in front of both in their lines; odd: bytes in front of the target besides.
    """

    rows: int
    columns: int
    start: tuple[int, int] = (0, 0)
    gaps: tuple[int, int] = (0, 0)
    shifts: tuple[int, int] = (0, 0)
    odd: int = 0


def pitches(case: Band) -> tuple[int, int]:
    return case.columns + case.gaps[0], case.rows + case.gaps[1]


def memory(
    call: Call, slot: Slot, word: D, elements: int, shift: int, end: bool
) -> tuple[Array, int]:
    """Memory for a matrix some bytes behind the beginning of a line, and where it begins."""
    raw = call.memory(slot, word, elements + shift + LINE, int(slot) + 1, end)
    begin = (shift - raw.ctypes.data) % LINE
    call.frame[slot] += begin
    return raw, begin


def check_lines(dtype: str, target: Target, case: Band, end: bool) -> None:
    """Everything else in the target keeps its bytes."""
    size = element(dtype).size
    if not target.shifts_lines(size):
        pytest.skip("no instruction for so small elements")
    call = Call(CopyKernel(dtype, dtype, "lines", squares=line_squares(size)), target)
    row, column = pitches(case)
    source, at = memory(
        call, Slot.IN0, D.SOURCE_SLOT, case.rows * row * size, case.shifts[0] * size, end
    )
    values = random_values(np.random.default_rng(case.rows), (case.rows * row,), dtype)
    source[at : at + values.nbytes] = values.view(np.uint8)
    stored, at = memory(
        call,
        Slot.OUT,
        D.TARGET_SLOT,
        case.columns * column * size,
        case.shifts[1] * size + case.odd,
        end,
    )
    expected = stored.copy()
    moved = values.view(np.dtype(("V", size))).reshape(case.rows, row)
    for x in range(case.start[0], case.columns):
        begin = at + (x * column + case.start[1]) * size
        length = (case.rows - case.start[1]) * size
        into = expected[begin : begin + length].view(np.dtype(("V", size)))
        into[:] = moved[case.start[1] :, x]
    call.words[D.X_TARGET] = call.keep(np.arange(case.columns) * column * size)
    call.words[D.Y_SOURCE] = call.keep(np.arange(case.rows) * row * size)
    call.words[D.COLUMNS_ALIKE] = column * size % LINE == 0
    call.words[D.ROWS_ALIKE] = row * size % LINE == 0
    x0, y0 = case.start
    call.block((x0, case.columns - x0), (y0, case.rows - y0))
    call.run()
    np.testing.assert_array_equal(stored, expected)


CASES = [
    Band(80, 64),  # all alike
    Band(96, 48, shifts=(3, 1)),  # some rows and columns go first
    Band(83, 37),  # columns begin anywhere
    Band(67, 50, gaps=(1, 3), shifts=(2, 5)),
    Band(100, 70, start=(33, 21), gaps=(2, 0)),
    Band(64, 40, start=(16, 5), gaps=(24, 0), shifts=(7, 7)),
    Band(33, 16, shifts=(0, 2)),  # one strip
    Band(41, 17, gaps=(0, 6)),  # the second strip reaches back over the first
    Band(50, 3),  # fewer columns than a tile has
    Band(9, 40, shifts=(0, 3)),  # fewer rows
    Band(80, 30, odd=1),  # elements across lines
]


@pytest.mark.parametrize("target", SHIFTING)
@pytest.mark.parametrize("dtype", DTYPES)
def test_whole_lines(dtype: str, target: Target) -> None:
    for case in CASES:
        for end in (True, False):
            check_lines(dtype, target, case, end)


@pytest.mark.parametrize("target", SHIFTING)
@pytest.mark.parametrize("dtype", ["float32", "complex128", "uint8", "int16"])
def test_a_band_of_full_width(dtype: str, target: Target) -> None:
    columns = band_columns(element(dtype).size)
    for shift in range(4):
        check_lines(dtype, target, Band(150, columns, gaps=(shift, 1), shifts=(shift, shift)), True)
    late = LINE // element(dtype).size - 1  # all rows begin so, and have one strip more
    check_lines(dtype, target, Band(150, columns, gaps=(0, 1), shifts=(late, 2)), True)


@pytest.mark.parametrize("target", SHIFTING)
def test_lines_go_past_the_caches_and_rows_are_asked_for_twice(target: Target) -> None:
    text = assembly(generate(CopyKernel("float32", "float32", "lines"), target), target)
    assert text.count("movntdq") == 32 and text.count("prefetcht1") == 4
