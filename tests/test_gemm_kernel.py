"""GEMM kernels against numpy in higher precision, operands between guard pages."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from itertools import product
from math import lcm
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tensorop.jit import gemm_macro
from tensorop.jit import tiles as tiling
from tensorop.jit.abi import CallRecord, Frame
from tensorop.jit.compiler import assembly, load_object, object_code
from tensorop.jit.elements import element
from tensorop.jit.gemm_abi import (
    BYTES,
    MOST_PANELS,
    GemmKernel,
    GemmWord,
    masks_rows,
    masks_stores,
    multiplies,
    panels_on_stage,
    runs_held,
    stores_pieces,
    stores_stretches,
)
from tensorop.jit.generate import generate
from tensorop.jit.library import kernel_address
from tensorop.jit.lines import LINE
from tensorop.jit.slots import AxisSlot, Slot
from tensorop.jit.tables import chunks, filled_up, on_stage, two_runs
from tensorop.jit.target import Target, current_target
from tensorop.jit.tiles import Tile, cycles, tile_of_columns, tiles
from tests.stream_calls import DTYPES, PAGE, TARGETS, guarded, numpy_dtype, wider

Array = np.ndarray[Any, Any]
CALL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
CANARY = 0x6B


def guarded_bytes(count: int, key: int, at_end: bool) -> Array:
    """`count` bytes at the very end (or beginning) of memory between guard pages."""
    pages = -(-int(count) // PAGE)
    memory = np.frombuffer(guarded(pages, key), np.uint8)[PAGE : (pages + 1) * PAGE]
    memory[:] = CANARY
    return memory[len(memory) - count :] if at_end else memory[:count]


def accumulator(dtype: str) -> np.dtype[Any]:
    return np.dtype(np.float32) if element(dtype).half else numpy_dtype(dtype)


def random_values(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    kind = numpy_dtype(dtype)
    if dtype == "bool":
        return rng.random(shape) < 0.3
    if kind.kind in "iu":
        full = np.iinfo(kind)  # products wrap
        return rng.integers(full.min, full.max, shape, kind, endpoint=True)
    values = rng.standard_normal(shape)
    if kind.kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(kind)


def planar(rows: Array) -> Array:
    """The last axis as all real parts, then all imaginary parts."""
    return np.concatenate([rows.real, rows.imag], -1) if np.iscomplexobj(rows) else rows


def panels(values: Array, width: int, kernel: GemmKernel) -> Array:
    """(br, lanes, depth) -> (br, panel, depth, lane), or (br, panel, group, lane, step),
    padded with zeros."""
    br, lanes, depth = values.shape
    count, together = -(-lanes // width), kernel.together
    groups = -(-depth // together)
    kind = values.dtype if kernel.inputs else accumulator(kernel.dtype)
    padded = np.zeros((br, count * width, groups * together), kind)
    padded[:, :lanes, :depth] = values
    ordered = padded.reshape(br, count, width, groups, together).swapaxes(2, 3)
    ordered = ordered.reshape(br, count, groups, width * together)
    return np.ascontiguousarray(planar(ordered))


@dataclass
class Case:
    """One call of a kernel."""

    m: int
    n: int
    k: int
    br: int = 1
    alpha: float | None = None
    beta: float | None = None
    first: bool = True
    last: bool = True
    b_strides: str = "kn"  # which of k, n runs faster; upper case: backwards
    at_end: bool = True
    start: tuple[int, int] = (0, 0)  # of the block, in tiles
    swapped: bool = False  # operands in each other's slots
    run: int = 7  # rows that are consecutive in a scattered C
    lines_from: int | None = None  # columns of C are whole lines, from so many bytes on
    turned: tuple[int, int] = (0, 1)  # as an axis is: in every run of rows
    beside: int = 1  # columns of a run that lie side by side, of a C by way of a stage
    gap: int = 0  # elements between these and the next ones


class Call:
    def __init__(self, kernel: GemmKernel, target: Target, case: Case, seed: int = 0) -> None:
        self.kernel, self.target, self.case = kernel, target, case
        self.rng = np.random.default_rng([seed, case.m, case.n, case.k])
        self.dtype = kernel.dtype
        self.mr, self.nr = kernel.rows(target), kernel.columns
        self.words = np.zeros(GemmWord.WORDS, np.int64)
        self.frame = np.zeros(Frame.WORDS, np.int64)
        self.call = np.zeros(CallRecord.WORDS, np.int64)
        first, second = kernel.inputs or (self.dtype, self.dtype)
        self.a = random_values(self.rng, (case.br, case.m, case.k), first)
        self.b = random_values(self.rng, (case.br, case.k, case.n), second)
        self.kept: list[Array] = []
        self._place_a()
        self._place_b()
        self._place_c()
        self._scalars()

    def _memory(self, values: Array, key: int) -> int:
        raw = guarded_bytes(values.nbytes, key, self.case.at_end)
        raw[:] = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        self.kept.append(raw)
        return raw.ctypes.data

    def _place_a(self) -> None:
        d, case = GemmWord, self.case
        if self.kernel.a == "packed":
            packed = panels(self.a, self.mr, self.kernel)
            slot, address = Slot.PACK0, self._memory(packed, 1)
            self.words[d.A_PANEL], self.words[d.A_BR] = packed[0, 0].nbytes, packed[0].nbytes
        else:
            laid = np.ascontiguousarray(self.a.swapaxes(1, 2))  # br, k, m
            slot, address = Slot.IN1 if case.swapped else Slot.IN0, self._memory(laid, 1)
            self.words[d.A_K], self.words[d.A_BR] = laid.strides[1], laid.strides[0]
        self.words[d.A_SLOT] = slot
        self.frame[slot] = address

    def _place_b(self) -> None:
        d, case = GemmWord, self.case
        if self.kernel.b == "packed":
            packed = panels(self.b.swapaxes(1, 2), self.nr, self.kernel)
            slot, address = Slot.PACK1, self._memory(packed, 2)
            self.words[d.B_PANEL], self.words[d.B_BR] = packed[0, 0].nbytes, packed[0].nbytes
        else:
            order = case.b_strides
            if "0" in order:  # every column the same
                self.b[:] = self.b[:, :, :1]
                laid = np.ascontiguousarray(self.b[:, :, 0])
                steps = {"k": laid.strides[1], "n": 0}
            else:
                laid = np.ascontiguousarray(self.b.swapaxes(1, 2) if order[0] in "kK" else self.b)
                inner, outer = laid.strides[2], laid.strides[1]
                steps = dict(zip(order.lower(), (inner, outer), strict=True))
            slot = Slot.IN0 if case.swapped else Slot.IN1
            address = self._memory(laid, 2)
            for label, size, logical in (("K", case.k, 1), ("N", case.n, 2)):
                if label in order:  # the first position is the last in memory
                    address += (size - 1) * steps[label.lower()]
                    steps[label.lower()] *= -1
                    self.b = np.flip(self.b, logical)
            self.words[d.B_K], self.words[d.B_N] = steps["k"], steps["n"]
            self.words[d.B_BR] = laid.strides[0]
        self.words[d.B_SLOT] = slot
        self.frame[slot] = address

    def _place_c(self) -> None:
        """Columns in random order, each `room` elements long; scattered rows in runs."""
        d, case = GemmWord, self.case
        size = numpy_dtype(self.dtype).itemsize
        start_m, start_n = case.start[0] * self.mr, case.start[1] * self.nr
        scatter = self.kernel.store != "columns"
        rows = (start_m + case.m) if scatter else case.m
        columns = start_n + case.n
        starts = np.arange(0, rows, case.run)
        lengths = np.minimum(case.run, rows - starts)
        gap = 2 if scatter else 0
        row_at = np.zeros(rows, np.int64)
        place = 0
        for run in self.rng.permutation(len(starts)) if scatter else range(len(starts)):
            first, length = starts[run], lengths[run]
            row_at[first : first + length] = place + np.arange(length)
            place += length + gap
        staged = self.kernel.store == "staged"
        by, length = case.turned
        beside = (columns - 1) * length if self.kernel.joined else 0
        if by or beside:
            runs = np.arange(-(-rows // length) * length).reshape(-1, length)
            further = runs // length * (LINE // size + beside)
            row_at = (np.roll(runs, -by, axis=1) + further).ravel()[:rows]
        room = int(row_at.max()) + 1
        if case.lines_from is not None:
            room += -room % (LINE // size)
        column_at = self.rng.permutation(columns) * room
        if self.kernel.joined:
            column_at, columns, room = np.arange(columns) * length, 1, room + beside
        if staged:
            row_at, column_at = self._side_by_side(rows, columns)
            columns, room = 1, int(row_at.max() + column_at.max()) + 1
        shift = case.lines_from or 0
        self.memory = guarded_bytes(columns * room * size + shift, 3, case.at_end)[shift:]
        c = self.memory.view(numpy_dtype(self.dtype))
        index = np.add.outer(row_at, column_at)
        self.block = index[start_m if scatter else 0 :, start_n:]
        self.old = random_values(self.rng, self.block.shape, self.dtype)
        if case.first and case.beta is None and self.old.dtype.kind not in "iub":
            self.old[:] = np.nan
        c[self.block] = self.old
        self.before, self.c = c.copy(), c
        table = column_at * size
        self.words[d.C_N_TABLE] = self._keep(table)
        if scatter:
            longest = int(self.rng.choice([self.kernel.lanes(self.target), self.mr]))
            records, begin = chunks(row_at * size, size, longest, self.mr)
            self.words[d.C_M_CHUNKS], self.words[d.C_M_BEGIN] = map(self._keep, (records, begin))
            if self.kernel.store in ("runs", "staged"):
                self.words[d.C_M_TABLE] = self._keep(row_at[:1] * size)
                offsets = filled_up(row_at, self.mr) if staged else row_at
                runs = two_runs(offsets * size, size, self.kernel.lanes(self.target))
                self.words[d.C_M_RUNS] = self._keep(runs)
            if staged:
                held = runs_held(case.run, self.mr, self.kernel.panels)
                together = self.kernel.panels * self.nr
                places = on_stage(rows, case.run, held, together, self.mr)
                runs = two_runs(places * size, size, self.kernel.lanes(self.target))
                self.words[d.C_M_STAGED] = self._keep(runs)
                self.words[d.C_RUN], self.words[d.C_HELD] = case.run, held
            if self.kernel.store in ("pieces", "staged"):
                self.words[d.C_M_TABLE] = self._keep(row_at * size)
        else:
            before = np.arange(-start_m, 0)
            self.words[d.C_M_TABLE] = self._keep(np.append(before, row_at) * size)
        if self.kernel.asks:
            self.words[GemmWord.AHEAD] = self._keep(self._asked())
        self.words[GemmWord.C_SLOT] = Slot.OUT
        self.frame[Slot.OUT] = self.memory.ctypes.data
        self.frame[Frame.START + AxisSlot.M] = start_m
        self.frame[Frame.START + AxisSlot.N] = start_n

    def _side_by_side(self, rows: int, columns: int) -> tuple[Array, Array]:
        """Where rows and columns lie: some columns of a run next to one another, then those of the
        next run; where there are gaps, in random order."""
        case = self.case
        runs, groups = -(-rows // case.run), -(-columns // case.beside)
        whole = case.beside * case.run + case.gap
        order = self.rng.permutation if case.gap else np.arange
        places = np.multiply.outer(order(runs) * whole, np.ones(case.run, np.int64))
        sides = np.multiply.outer(order(groups) * whole * runs, np.ones(case.beside, np.int64))
        row_at = (places + np.arange(case.run)).ravel()[:rows]
        return row_at, (sides + np.arange(case.beside) * case.run).ravel()[:columns]

    def _asked(self) -> Array:
        """Records of rows anywhere (`NextWord`)."""
        whole = self.rng.integers(-(1 << 40), 1 << 40, (self.kernel.asks, 2))
        return np.hstack([whole, self.rng.integers(1, 300, (self.kernel.asks, 3))])

    def _keep(self, table: Array) -> int:
        """A table that ends where memory that can be read does."""
        table = np.ascontiguousarray(table, np.int64)
        raw = guarded_bytes(table.nbytes, 100 + len(self.kept), True)
        raw[:] = table.reshape(-1).view(np.uint8)
        self.kept.append(raw)
        return raw.ctypes.data

    def _scalars(self) -> None:
        case, raw = self.case, self.call.view(np.uint8)
        for word, value in ((CallRecord.ALPHA, case.alpha), (CallRecord.BETA, case.beta)):
            if value is not None:
                scalar = np.asarray(value).astype(accumulator(self.dtype)).tobytes()
                raw[8 * word : 8 * word + len(scalar)] = np.frombuffer(scalar, np.uint8)
        self.call[CallRecord.SCALES] = case.alpha is not None
        self.call[CallRecord.READS_OUT] = case.beta is not None
        sizes = {AxisSlot.M: case.m, AxisSlot.N: case.n, AxisSlot.K: case.k, AxisSlot.BR: case.br}
        for axis, extent in sizes.items():
            self.frame[Frame.SIZE + axis] = extent
        self.frame[Frame.FIRST] = case.first
        self.frame[Frame.LAST] = case.last
        self.frame[Frame.CALL] = self.call.ctypes.data

    def check(self) -> None:
        CALL(kernel_address(self.kernel, self.target))(
            self.words.ctypes.data, self.frame.ctypes.data
        )
        got = self.c[self.block]
        untouched = np.ones(self.c.shape, bool)
        untouched[self.block] = False
        raw = np.uint8
        assert np.array_equal(self.c[untouched].view(raw), self.before[untouched].view(raw)), (
            "written outside C"
        )
        expected, magnitude = self.expected()
        if self.kernel.epilogue == "relu" and self.case.last:
            expected = np.maximum(expected, 0)
        if numpy_dtype(self.dtype).kind in "iub":
            np.testing.assert_array_equal(got, expected)
            return
        eps = float(ml_dtypes.finfo(accumulator(self.dtype)).eps)
        rounding = float(ml_dtypes.finfo(numpy_dtype(self.dtype)).eps)
        terms = self.case.k * self.case.br + 2
        error = np.abs(got.astype(expected.dtype) - expected)
        bound = 4 * terms * eps * magnitude + rounding * np.abs(expected)
        assert (error <= bound).all(), (self.case, np.nanmax(error / bound))

    def expected(self) -> tuple[Array, Array]:
        case, kind = self.case, numpy_dtype(self.dtype)
        wide = wider(kind)
        a, b = self.a.astype(wide), self.b.astype(wide)
        total = np.matmul(a, b).sum(0, dtype=wide) if self.dtype != "bool" else (a @ b).any(0)
        size = np.matmul(np.abs(a), np.abs(b)).sum(0)
        if case.alpha is not None:
            alpha = np.asarray(case.alpha).astype(wide)
            total, size = total * alpha, size * abs(case.alpha)
        old = self.old.astype(wide)
        if case.first and case.beta is None:
            return total, size
        if case.first:
            old = old * np.asarray(case.beta).astype(wide)
        return (total | old if self.dtype == "bool" else total + old), size + np.abs(old)


def check(kernel: GemmKernel, target: Target, *cases: Case) -> None:
    for seed, case in enumerate(cases):
        Call(kernel, target, case, seed).check()


def sizes(kernel: GemmKernel, target: Target) -> list[tuple[int, int, int]]:
    """One, full tiles, and everything around their edges."""
    mr, nr, lanes = kernel.rows(target), kernel.columns, kernel.lanes(target)
    return [
        (1, 1, 1),
        (mr, nr, 8),
        (mr + 1, nr + 1, 5),
        (2 * mr + lanes, 2 * nr, 4),
        (mr + lanes - 1, 2 * nr - 1, 7),
        (max(1, lanes - 1), nr + 3, 3),
    ]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_packed_with_scalars_and_tails(dtype: str, target: Target) -> None:
    tile = tiles(target, element(dtype))[0]
    kernel = GemmKernel(dtype, *tile)
    one = 1 if dtype == "bool" else 2
    (s0, s1, s2, s3, s4, s5) = sizes(kernel, target)
    check(
        kernel,
        target,
        Case(*s0),
        Case(*s1, first=False),
        Case(*s2, at_end=False),
        Case(*s3, alpha=one, beta=one),
        Case(*s4, alpha=one, first=False),
        Case(*s5, beta=one, start=(0, 1)),
        Case(*s1),
    )


GROUPED = [
    *(("uint32", inputs) for inputs in product(BYTES, BYTES)),
    ("bfloat16", ("bfloat16", "bfloat16")),
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("dtype", "inputs"), GROUPED, ids=["_".join(x[1]) for x in GROUPED])
def test_groups_of_steps(dtype: str, inputs: tuple[str, str], target: Target) -> None:
    if not multiplies(target, inputs, dtype):
        pytest.skip("no such instruction")
    for tile in tiles(target, element(dtype)):
        kernel = GemmKernel(dtype, *tile, inputs=inputs)
        (s0, s1, s2, s3, s4, s5) = sizes(kernel, target)
        check(
            kernel,
            target,
            Case(*s0),
            Case(*s1, first=False),
            Case(*s2, at_end=False),
            Case(*s3, alpha=2, beta=3),
            Case(*s4, alpha=2, first=False),
            Case(*s5, beta=2, start=(0, 1)),
            Case(kernel.rows(target), 2 * kernel.columns + 1, 301),
        )
    scattered = GemmKernel(dtype, *tiles(target, element(dtype))[0], store="scatter", inputs=inputs)
    check(scattered, target, *(Case(*size, run=5) for size in sizes(scattered, target)))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "dtype", ["float32", "int8", "bfloat16", "float16", "complex128", "clongdouble"]
)
def test_scattered_output(dtype: str, target: Target) -> None:
    tile = tiles(target, element(dtype))[0]
    kernel = GemmKernel(dtype, *tile, store="scatter")
    cases = [
        Case(*size, run=run, first=first, alpha=alpha, beta=beta, start=start)
        for size, run, first, alpha, beta, start in zip(
            sizes(kernel, target),
            (1, 7, 40, 1, 3, 5),
            (True, True, False, True, False, True),
            (None, 2, None, None, 3, None),
            (None, None, 2, 2, None, None),
            ((0, 0), (1, 1), (0, 2), (2, 0), (0, 0), (1, 0)),
            strict=True,
        )
    ]
    check(kernel, target, *cases)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "dtype",
    ["float32", "float64", "int8", "bool", "bfloat16", "float16", "complex64", "clongdouble"],
)
def test_output_in_runs(dtype: str, target: Target) -> None:
    tile = tiles(target, element(dtype))[0]
    kernel = GemmKernel(dtype, *tile, store="runs")
    if element(dtype).part not in target.masked:
        with pytest.raises(ValueError, match="no masks"):
            generate(kernel, target)
        return
    lanes, mr, nr = kernel.lanes(target), kernel.rows(target), kernel.columns
    cases = [
        Case(2 * mr + 3, 2 * nr + 1, k, run=run, first=first, beta=beta, start=start, at_end=end)
        for run, k, first, beta, start, end in (
            (lanes, 1, True, None, (0, 0), True),
            (lanes + 1, 7, False, None, (1, 1), True),
            (2 * lanes - 1, 90, True, None, (0, 2), False),
            (mr + 5, 9, True, 2, (2, 0), True),
            (mr, 100, False, None, (1, 0), True),
            (9 * mr, 3, True, None, (0, 0), False),
        )
    ]
    check(kernel, target, *cases)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_output_in_pieces(dtype: str, target: Target) -> None:
    tile = tiles(target, element(dtype))[0]
    lanes = GemmKernel(dtype, *tile).lanes(target)
    for piece in (n for n in (2, 4, 8) if n < lanes):
        kernel = GemmKernel(dtype, *tile, store="pieces", piece=piece, near=piece == 2)
        mr, nr = kernel.rows(target), kernel.columns
        cases = [
            Case(m, n, k, run=run, first=first, beta=beta, start=start, at_end=end)
            for m, n, k, run, first, beta, start, end in (
                (2 * mr, 2 * nr, 1, piece, True, None, (0, 0), True),
                (2 * mr + piece, nr + 1, 7, piece, False, None, (1, 1), True),
                (2 * mr + 3, 2 * nr, 90, 3 * piece, True, None, (0, 2), False),
                (mr, nr, 9, piece, True, 2, (2, 0), True),
                (mr, nr, 100, 5 * piece, False, None, (1, 0), True),
                (piece, 1, 3, piece, True, None, (0, 0), False),
            )
        ]
        check(kernel, target, *cases)
    for other, piece in ((dtype, lanes), (dtype, 1), ("int32", 2), ("bfloat16", 2)):
        with pytest.raises(ValueError, match="no pieces"):
            generate(GemmKernel(other, 1, 4, store="pieces", piece=piece), target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
@pytest.mark.parametrize("lines_from", [0, 16])
def test_output_past_the_caches(dtype: str, lines_from: int, target: Target) -> None:
    """Where it begins with a line; else, and where it is read, through them."""
    rows = [GemmKernel(dtype, *tile).rows(target) for tile in tiles(target, element(dtype))]
    whole = [row * element(dtype).size % LINE == 0 for row in rows]
    if not any(whole):
        pytest.skip("no tile is whole lines of a column")
    tile = tiles(target, element(dtype))[whole.index(True)]
    for kernel in (
        GemmKernel(dtype, *tile, past=True),
        GemmKernel(dtype, *tile, "direct", "direct", past=True),
    ):
        for size in sizes(kernel, target):
            at = (Case(*size, lines_from=lines_from, at_end=end) for end in (False, True))
            ways = ({"alpha": 2.0}, {"beta": 3.0}, {"first": False})
            other = (Case(*size, lines_from=lines_from, **way) for way in ways)  # type: ignore[arg-type]
            check(kernel, target, *at, *other)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
@pytest.mark.parametrize("lines_from", [0, 16, 40])
@pytest.mark.parametrize("joined", [False, True])
def test_turned_output_past_the_caches(
    dtype: str, joined: bool, lines_from: int, target: Target
) -> None:
    """Runs that begin with the first element of a line, and end with those before it: where that is
    known to be so, elsewhere, and where C is read; where columns lie one behind the other, or do
    not."""
    size = element(dtype).size
    if element(dtype).part not in target.masked:
        pytest.skip("no masks to store parts of vectors with")
    for tile in tiles(target, element(dtype))[:4]:
        kernel = GemmKernel(dtype, *tile, store="runs", past=True, joined=joined)
        mr, nr, length = kernel.rows(target), kernel.columns, (1 if joined else 3) * LINE // size
        ways = ({}, {}, {"first": False}, {"alpha": 2.0}, {"beta": 3.0}, {"start": (1, 2)})
        for seed, way in enumerate(ways):
            by = -(0 if seed == 1 else lines_from) % LINE // size
            case = Case(
                3 * mr + 5 * seed, 2 * nr + seed % 2, 4 + 9 * seed, lines_from=lines_from,
                at_end=False, turned=(by, length), run=1 << 20, **way,  # type: ignore[arg-type]
            )  # fmt: skip
            Call(kernel, target, case, seed).check()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
@pytest.mark.parametrize("lines_from", [0, 16, 40])
@pytest.mark.parametrize("panels", [1, 2, 4])
def test_output_by_way_of_a_stage(dtype: str, lines_from: int, panels: int, target: Target) -> None:
    """Lines that stretches share are completed by the next panels, by the next run, by an earlier
    one that waits, or not at all; panels may be left over."""
    tile = tiles(target, element(dtype))[0]
    if not stores_stretches(dtype, target):
        with pytest.raises(ValueError, match="no "):
            generate(GemmKernel(dtype, *tile, store="staged"), target)
        return
    kernel = GemmKernel(dtype, *tile, store="staged", panels=panels)
    lanes, mr, nr = kernel.lanes(target), kernel.rows(target), kernel.columns
    ways = ({}, {"first": False}, {"alpha": 2.0}, {"beta": 3.0}, {})
    seeds = product((lanes, lanes + 4, mr - 4, mr + 4), (1, 5, nr, 2 * nr + 4), (0, 3), ways)
    assert panels_on_stage(lanes, mr, nr, element(dtype).size) == MOST_PANELS
    for seed, (run, beside, gap, way) in enumerate(seeds):
        unit = lcm(run, mr) // mr if seed % 3 else 0
        columns = nr * (panels + seed % 3) + seed % (nr + 1)
        case = Case(
            run * (1 + seed % 7), columns, 1 + 5 * seed % 31, run=run,
            lines_from=lines_from, at_end=False, beside=beside, gap=gap, start=(unit, seed % 2),
            **way,  # type: ignore[arg-type]
        )  # fmt: skip
        if panels <= panels_on_stage(run, mr, nr, element(dtype).size):
            Call(kernel, target, case, seed).check()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "int16", "float16"])
@pytest.mark.parametrize("store", ["columns", "runs", "pieces", "scatter"])
def test_epilogue_after_the_last_block_only(dtype: str, store: Any, target: Target) -> None:
    if store == "runs" and not masks_stores(dtype, target):
        store = "scatter"
    if store == "pieces" and not stores_pieces(dtype):
        store = "scatter"
    tile = tiles(target, element(dtype))[0]
    piece = 2 if store == "pieces" else 0
    kernel = GemmKernel(dtype, *tile, store=store, epilogue="relu", piece=piece)
    ways = [(first, last) for first in (True, False) for last in (True, False)]
    for size in sizes(kernel, target)[1:3]:
        cases = (Case(*size, first=first, last=last, run=70) for first, last in ways)
        check(kernel, target, *cases, Case(*size, alpha=2), Case(*size, beta=2, last=False))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "uint64", "bool", "longdouble"])
@pytest.mark.parametrize("reduce", [False, True])
def test_direct_operands_any_strides(dtype: str, reduce: bool, target: Target) -> None:
    tile = tiles(target, element(dtype))[0]
    kernel = GemmKernel(dtype, *tile, "direct", "direct", batch_reduce=reduce)
    br = 3 if reduce else 1
    strides = ("kn", "nk", "KN", "nK", "Nk", "k0")
    cases = [
        Case(*size, br=br, b_strides=order, at_end=end, swapped=end)
        for size, order in zip(sizes(kernel, target), strides, strict=True)
        for end in (True, False)
    ]
    check(kernel, target, *cases)


@pytest.mark.parametrize("flag", ["far", "along"])
def test_what_is_far_is_asked_for_into_l2(flag: str) -> None:
    """None of the vectors into L1."""
    target = current_target()

    def asked(level: str, **flags: bool) -> int:
        kernel = GemmKernel("float32", *tiles(target, element("float32"))[0], "direct", "direct")
        return assembly(generate(kernel._replace(**flags), target), target).count(level)

    assert asked("prefetcht0") > 0 == asked("prefetcht1")
    assert asked("prefetcht1", **{flag: True}) > 0 == asked("prefetcht0", **{flag: True})


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
@pytest.mark.parametrize("halved", [False, True])
def test_rows_that_do_not_fill_a_tile(halved: bool, dtype: str, target: Target) -> None:
    """Every number of vectors of the last tile, full or in part, on memory that ends there; what is
    asked for meanwhile may lie anywhere."""
    for tile in tiles(target, element(dtype))[:5]:
        for left in range(1, tile.vectors + 1):
            kernel = GemmKernel(dtype, *tile, "direct", "direct", asks=left % 3)
            kernel = kernel._replace(strips=kernel.asks == 1, far=left == 2)
            if masks_rows(kernel, target):
                kernel = kernel._replace(left=left, halved=halved)
            lanes, mr, nr = kernel.lanes(target), kernel.rows(target), kernel.columns
            most = min(left * lanes - (lanes // 2) * halved, mr - 1)
            rows = {(left - 1) * lanes + 1, max(1, most - 1), most}
            ways = ({}, {"alpha": 2.0}, {"beta": 3.0}, {"first": False})
            cases = [
                Case(m, n, 19, b_strides=order, **way)  # type: ignore[arg-type]
                for m in {*rows, *(mr + r for r in rows)}
                for n, order, way in zip(
                    (1, nr, nr + 3, 2 * nr - 1), ("kn", "nk") * 2, ways, strict=True
                )
            ]
            check(kernel, target, *cases)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "uint64", "bool", "longdouble"])
@pytest.mark.parametrize("reduce", [False, True])
def test_consecutive_columns(dtype: str, reduce: bool, target: Target) -> None:
    for tile in tiles(target, element(dtype))[:2]:
        kernel = GemmKernel(dtype, *tile, "direct", "consecutive", batch_reduce=reduce)
        cases = [
            Case(*size, br=3 if reduce else 1, b_strides=order, at_end=end)
            for size in sizes(kernel, target)
            for order, end in (("kn", True), ("kN", False), ("k0", True))
        ]
        check(kernel, target, *cases)


class _Widths(gemm_macro.MacroKernel):
    """Says how wide the tiles are, in words of out, one where each of them begins."""

    def _rows(self, columns: Any, n: Any, valid: Any) -> None:
        code = self.code
        out = code.pointer(code.frame, code.int(Slot.OUT))
        code.builder.store(code.int(columns.columns), code.at(out, code.mul(n, 8)))


@pytest.mark.parametrize("target", TARGETS)
def test_tiles_are_as_wide_as_their_estimate_says(target: Target) -> None:
    """Blocks of 32 columns: of tiles of six, four and two of the middle width."""
    kind = element("float32")
    for walk in tiling._walks(target, kind):
        kernel = GemmKernel("float32", *walk.tile, "direct", "direct", batch_reduce=True)
        code = object_code(_Widths(kernel, target).generate(), target)
        run = CALL(load_object(code, target, [kernel.name], {})[kernel.name])
        for n in range(1, 40):
            words, frame = np.zeros(GemmWord.WORDS, np.int64), np.zeros(Frame.WORDS, np.int64)
            widths = np.zeros(n, np.int64)
            frame[Slot.OUT], frame[Frame.SIZE + AxisSlot.N] = widths.ctypes.data, n
            run(words.ctypes.data, frame.ctypes.data)
            begun = np.flatnonzero(widths)
            assert (np.diff([*begun, n]) <= widths[begun]).all(), n
            assert begun[0] == 0
            took = sum(cycles(target, kind, Tile(walk.tile.vectors, w)) for w in widths[begun])
            assert took == pytest.approx(walk.cycles(walk.rows, n, True)), n
            if (walk.tile.columns, n) == (6, 32):
                assert widths[begun].tolist() == [6, 6, 6, 6, 4, 4]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("b", "order"), [("direct", "nk"), ("consecutive", "kn")])
def test_every_number_of_columns(b: Any, order: str, target: Target) -> None:
    """Batch-reduce has tiles of a middle width, and may leave the last full one to two of them."""
    for tile in tiles(target, element("float32")):
        kernel = GemmKernel("float32", *tile, "direct", b, batch_reduce=True)
        m = target.lanes(4) * tile.vectors + 1
        columns = range(1, 3 * tile.columns + 1)
        check(kernel, target, *(Case(m, n, 5, br=2, b_strides=order, at_end=True) for n in columns))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("a", "b"), [("direct", "packed"), ("packed", "direct")])
def test_one_operand_packed(a: Any, b: Any, target: Target) -> None:
    tile = tiles(target, element("float32"))[0]
    kernel = GemmKernel("float32", *tile, a, b, "scatter", batch_reduce=True)
    check(kernel, target, *(Case(*size, br=2, b_strides="nk") for size in sizes(kernel, target)))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_every_tile(dtype: str, target: Target) -> None:
    for tile in tiles(target, element(dtype))[1:]:
        kernel = GemmKernel(dtype, *tile)
        check(kernel, target, *(Case(*size) for size in sizes(kernel, target)[1:4]))


@pytest.mark.parametrize("target", TARGETS)
def test_random_sizes(target: Target) -> None:
    rng = np.random.default_rng(5)
    kernels = [
        GemmKernel("float32", *tiles(target, element("float32"))[0]),
        GemmKernel(
            "float32", *tiles(target, element("float32"))[0], "direct", "direct", batch_reduce=True
        ),
    ]
    for seed in range(60):
        m, n, k, br = (int(x) for x in rng.integers(1, (110, 60, 40, 4)))
        kernel, order = kernels[seed % 2], ("kn", "NK", "kn", "Kn")[seed % 4]
        br = br if kernel.batch_reduce else 1
        Call(kernel, target, Case(m, n, k, br, first=seed % 3 > 0, b_strides=order), seed).check()


def test_what_is_not_whole_lines_is_not_stored_past_the_caches() -> None:
    for kernel in (
        GemmKernel("float32", 3, 8, store="scatter", past=True),
        GemmKernel("float32", 3, 8, epilogue="relu", past=True),
        GemmKernel("complex64", 2, 6, past=True),
    ):
        with pytest.raises(ValueError, match="whole lines"):
            generate(kernel, TARGETS[0].values[0])


def test_operands_that_must_be_packed_are_refused() -> None:
    target = TARGETS[0].values[0]
    with pytest.raises(ValueError, match="bfloat16 is computed in float32"):
        generate(GemmKernel("bfloat16", 2, 4, "direct"), target)
    with pytest.raises(ValueError, match="complex64 is computed planar"):
        generate(GemmKernel("complex64", 1, 4, b="direct"), target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tiles_of_any_number_of_columns(dtype: str, target: Target) -> None:
    kind, found = element(dtype), 0
    for columns in range(2, 33):
        tile = tile_of_columns(target, kind, columns)
        if tile is None:
            continue
        found += 1
        assert tile.columns == columns and tile.vectors * columns < target.registers
        store = "runs" if masks_stores(dtype, target) else "scatter"
        kernel = GemmKernel(dtype, *tile, store=store)
        if columns % 5 == 0:
            run = kernel.lanes(target) + 1
            check(kernel, target, *(Case(*size, run=run) for size in sizes(kernel, target)))
    assert found >= 5
    assert tile_of_columns(target, element("complex64"), 4) is None
