"""Copy and pack kernels, offset tables and register transposition against plain loops."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import pytest

from tensorop.ir import Dimension, DimType
from tensorop.jit.abi import Frame
from tensorop.jit.compiler import assembly
from tensorop.jit.copy_abi import ALONG, ELSEWHERE, CopyDescriptor, CopyKernel
from tensorop.jit.elements import element
from tensorop.jit.generate import generate
from tensorop.jit.library import kernel_address
from tensorop.jit.slots import AxisSlot, Slot
from tensorop.jit.tables import chunks, offsets
from tensorop.jit.target import Target
from tensorop.jit.transpose import _column_order, _network
from tensorop.schedule import Axis
from tests.stream_calls import DTYPES, TARGETS, numpy_dtype
from tests.test_gemm_kernel import CALL, guarded_bytes, random_values

Array = np.ndarray[Any, Any]
D = CopyDescriptor
TABLES = 100  # the first key of guarded memory for tables


def runs(rng: np.random.Generator, size: int, run: int, gap: int) -> Array:
    """Element offsets of `size` positions: runs of `run` in random order, `gap` elements apart."""
    starts = np.arange(0, size, run)
    place = rng.permutation(len(starts)) * (run + gap)
    return (np.repeat(place, run) + np.tile(np.arange(run), len(starts)))[:size]


@dataclass
class Case:
    """A block of a copy; `start` and sizes in positions."""

    x: int
    y: int
    x_run: int = 64
    y_run: int = 64
    start: tuple[int, int] = (0, 0)
    granule: int = 8
    at_end: bool = True
    backwards: bool = False  # the source's y steps are negative
    behind: tuple[int, int] = (0, 0)  # positions behind the block, in the same granule
    follow: bool = False  # about half of the rows go on in the target where the one before ends


class Call:
    def __init__(self, kernel: CopyKernel, target: Target) -> None:
        self.kernel, self.target = kernel, target
        self.words = np.zeros(len(D), np.int64)
        self.frame = np.zeros(Frame.WORDS, np.int64)
        self.kept: list[Array] = []
        self.source = numpy_dtype(kernel.source)
        self.stored = numpy_dtype(kernel.target)
        self.words[D.Z_AXIS] = AxisSlot.SPARE1
        self.frame[Frame.SIZE + AxisSlot.SPARE1] = 1
        self.words[[D.Z_SOURCE, D.Z_TARGET]] = self.keep(np.zeros(1))

    def keep(self, table: Array) -> int:
        """A table that ends where memory that can be read does."""
        table = np.ascontiguousarray(table, np.int64)
        raw = guarded_bytes(table.nbytes, TABLES + len(self.kept), True)
        raw[:] = table.reshape(-1).view(np.uint8)
        self.kept.append(raw)
        return raw.ctypes.data

    def block(self, x: tuple[int, int], y: tuple[int, int]) -> None:
        """(start, size) of both axes."""
        for slot, word, (start, size) in (
            (AxisSlot.X, D.X_AXIS, x),
            (AxisSlot.Y, D.Y_AXIS, y),
        ):
            self.words[word] = slot
            self.frame[Frame.START + slot], self.frame[Frame.SIZE + slot] = start, size

    def outside(self, source: Array, stored: Array) -> None:
        """A third axis outside the tiles: offsets of its positions, the first not in the block."""
        self.words[D.Z_AXIS] = AxisSlot.SPARE0
        self.frame[Frame.START + AxisSlot.SPARE0] = 1
        self.frame[Frame.SIZE + AxisSlot.SPARE0] = len(source) - 1
        self.words[[D.Z_SOURCE, D.Z_TARGET]] = self.keep(source), self.keep(stored)

    def memory(self, slot: Slot, word: CopyDescriptor, count: int, key: int, end: bool) -> Array:
        raw = guarded_bytes(count, key, end)
        self.words[word], self.frame[slot] = slot, raw.ctypes.data
        return raw

    def set_x(self, source: Array, target: Array, longest: int, granule: int) -> None:
        """X, of elements that lie at such offsets."""
        records, begin = chunks(source, self.source.itemsize, longest, granule)
        self.words[[D.X_CHUNKS, D.X_BEGIN]] = self.keep(records), self.keep(begin)
        self.words[D.X_GRANULE], self.words[D.X_TARGET] = granule, self.keep(target)

    def set_y(self, source: Array, target: Array, granule: int) -> None:
        """Y, of tiles."""
        size, longest = self.source.itemsize, self.kernel.rows(self.target)
        records, begin = chunks(target, size, longest, granule)
        self.words[[D.Y_CHUNKS, D.Y_BEGIN]] = self.keep(records), self.keep(begin)
        self.words[D.Y_GRANULE], self.words[D.Y_SOURCE] = granule, self.keep(source)

    def run(self) -> None:
        CALL(kernel_address(self.kernel, self.target))(
            self.words.ctypes.data, self.frame.ctypes.data
        )


def check_copy(kernel: CopyKernel, target: Target, case: Case, seed: int) -> None:
    """A block of a plain copy; everything else in the target keeps its bytes."""
    rng = np.random.default_rng(seed)
    call, lanes = Call(kernel, target), kernel.lanes(target)
    size, along = call.source.itemsize, kernel.mode in ALONG
    x0, y0 = (start * case.granule for start in case.start)
    x_end, y_end = x0 + case.x, y0 + case.y
    x_size, y_size = x_end + case.behind[0], y_end + case.behind[1]
    x_source = runs(rng, x_size, case.x_run, 1)
    y_source = rng.permutation(y_size) * (int(x_source.max()) + 1)
    if along:
        x_target = runs(rng, x_size, case.x_run, 2)
        places = rng.permutation(y_size)
        if case.follow:
            places = np.sort(rng.choice(2 * y_size, y_size, replace=False))
        y_target = places * (int(x_target.max()) + 1)
    else:
        y_target = runs(rng, y_size, case.y_run, 2)
        x_target = rng.permutation(x_size) * (int(y_target.max()) + 1)
    from_ = np.add.outer(y_source, x_source)
    to = np.add.outer(y_target, x_target)
    # Across there is a third axis, whose first position is not in the block.
    z_source, z_target = (
        rng.permutation(1 if along else 3) * (int(plane.max()) + 1) for plane in (from_, to)
    )
    from_, to = np.add.outer(z_source, from_), np.add.outer(z_target, to)
    slots = Slot.IN0, Slot.OUT
    source = call.memory(slots[0], D.SOURCE_SLOT, (from_.max() + 1) * size, 1, case.at_end)
    stored = call.memory(slots[1], D.TARGET_SLOT, (to.max() + 1) * size, 2, case.at_end)
    values = random_values(rng, (int(from_.max()) + 1,), kernel.source)
    source[:] = values.view(np.uint8)
    if case.backwards:  # the base address is that of the last y
        call.frame[slots[0]] += int(y_source.max()) * size
        y_source = y_source - y_source.max()
    longest = (1000 if along else lanes) if case.granule > 8 else min(lanes, 3)
    call.set_x(x_source * size, x_target * size, longest, case.granule)
    if along:
        call.words[D.Y_SOURCE] = call.keep(y_source * size)
        call.words[D.Y_TARGET] = call.keep(y_target * size)
    else:
        call.set_y(y_source * size, y_target * size, case.granule)
    call.block((x0, case.x), (y0, case.y))
    call.outside(z_source * size, z_target * size)
    expected = stored.copy()
    block = np.s_[0 if along else 1 :, y0:y_end, x0:x_end]
    moved = values[from_[block]]
    elements(expected, size)[to[block]] = elements(
        np.ascontiguousarray(np.conj(moved) if kernel.conj else moved), size
    )
    call.run()
    np.testing.assert_array_equal(*(meaningful(raw, call.stored) for raw in (stored, expected)))


def elements(raw: Array, size: int) -> Array:
    """Elements as opaque bytes, in the shape of the array."""
    shape = raw.shape if raw.itemsize == size else (-1,)
    return raw.view(np.dtype(("V", size))).reshape(shape)


def meaningful(raw: Array, kind: np.dtype[Any]) -> Array:
    """Bytes without the padding of x87 numbers."""
    if kind not in (np.longdouble, np.clongdouble) or np.finfo(kind).nmant != 63:
        return raw
    return raw.reshape(-1, 16)[:, :10]


CASES = [
    Case(1, 1),
    Case(64, 64, granule=64),
    Case(37, 21, granule=64, at_end=False),
    Case(130, 9, x_run=128, granule=128),
    Case(33, 40, x_run=5, y_run=7, start=(1, 2)),
    Case(19, 50, x_run=1, y_run=3, start=(2, 0), backwards=True),
    Case(16, 48, x_run=16, y_run=16, granule=16, start=(1, 1), at_end=False),
    Case(9, 11, x_run=5, y_run=7, granule=32, start=(1, 0), behind=(20, 13)),
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("mode", ["along", "across"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("asks", [False, True])
def test_copy_moves_the_block_and_nothing_else(
    asks: bool, dtype: str, mode: Any, target: Target
) -> None:
    kernel = CopyKernel(dtype, dtype, mode, asks=asks)
    for seed, case in enumerate(CASES):
        check_copy(kernel, target, case, seed)


ROWS = [
    Case(1000, 5, x_run=1000, granule=1000),
    Case(700, 20, x_run=700, granule=700, at_end=False),
    Case(900, 7, x_run=190, granule=450, start=(1, 1)),
    Case(640, 3, x_run=64, granule=640, backwards=True),
    Case(500, 4, x_run=250, granule=32, behind=(20, 0)),
    Case(500, 40, x_run=500, granule=500, follow=True),
    Case(311, 50, x_run=311, granule=311, follow=True, at_end=False),
    Case(64, 70, granule=64, follow=True),
    Case(48, 40, x_run=48, granule=48, start=(0, 1), follow=True, backwards=True),
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_copy_of_rows(dtype: str, target: Target) -> None:
    kernel = CopyKernel(dtype, dtype, "rows")
    for seed, case in enumerate([*CASES, *ROWS]):
        check_copy(kernel, target, case, seed)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("squares", [2, 4])
@pytest.mark.parametrize("dtype", ["uint8", "int16"])
def test_several_squares_at_a_time(dtype: str, squares: int, target: Target) -> None:
    """The first that fill a vector of AVX2 or of AVX-512, and wider than any."""
    kernel = CopyKernel(dtype, dtype, "across", squares=squares)
    for seed, case in enumerate(CASES):
        check_copy(kernel, target, case, seed)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_copy_of_digits(dtype: str, target: Target) -> None:
    """All tiles but the first, of all groups but the first, at guard pages."""
    rng, groups, tiles = np.random.default_rng(0), 3, 4
    for trial in range(10):
        digits, size = int(rng.integers(1, 5)), np.dtype(dtype).itemsize
        order = np.full(digits, ELSEWHERE)
        stay = int(rng.integers(0, digits + 1))
        order[rng.permutation(digits)[:stay]] = rng.permutation(digits)[:stay]
        arrive, leaving = digits - stay, [i for i in range(digits) if i not in order]
        kernel = CopyKernel(dtype, dtype, "digits", order=tuple(order.tolist()))
        call, lanes, vectors = Call(kernel, target), 1 << digits, 1 << arrive
        shape, at_end = (groups, tiles, vectors, lanes), trial % 2 == 0
        source = call.memory(Slot.IN0, D.SOURCE_SLOT, prod(shape) * size, 1, at_end)
        stored = call.memory(Slot.OUT, D.TARGET_SLOT, prod(shape) * size, 2, at_end)
        source[:] = rng.integers(0, 256, source.size, np.uint8)
        each = [np.arange(n) * prod(shape[i + 1 :]) * size for i, n in enumerate(shape[:3])]
        call.words[[D.Y_SOURCE, D.Y_TARGET]] = call.keep(each[0]), call.keep(each[0])
        call.words[D.X_CHUNKS] = call.keep(np.stack([each[1], each[1]], axis=1))
        call.words[D.X_BEGIN], call.words[D.X_GRANULE] = call.keep(np.array([0, 1, tiles])), 8
        call.words[[D.LOADS, D.STORES]] = call.keep(each[2]), call.keep(each[2])
        call.block((8, 8), (lanes, (groups - 1) * lanes))
        # The digits of a vector's number, then those of a place in it, the lowest one last.
        read = source.view(dtype).reshape(groups, tiles, *(2,) * (arrive + digits))
        places = [2 + arrive + digits - 1 - i for i in range(digits)]
        numbers = iter(range(2 + arrive - 1, 1, -1))
        after = [next(numbers) if i == ELSEWHERE else places[i] for i in order]
        axes = (0, 1, *(places[i] for i in leaving[::-1]), *after[::-1])
        expected = stored.view(dtype).reshape(shape).copy()
        expected[1:, 1:] = read.transpose(axes).reshape(shape)[1:, 1:]
        call.run()
        np.testing.assert_array_equal(stored.view(dtype).reshape(shape), expected)


@dataclass
class Regions:
    """A matrix of `height` rows that is transposed in regions of some rows, and all columns; the
    last region reaches back. first: of the call. shift: bytes of a line before the target. gap:
    elements between columns of the target."""

    rows: int
    columns: int
    height: int
    first: int = 0
    shift: int = 0
    gap: int = 0


def check_staged(kernel: CopyKernel, target: Target, case: Regions, seed: int) -> None:
    """Some regions, at guard pages; everything else in the target keeps its bytes."""
    rng = np.random.default_rng(seed)
    call = Call(kernel, target)
    size, rows, columns = call.source.itemsize, case.rows, case.columns
    pitch = case.height + case.gap
    starts = [*range(0, case.height - rows, rows), case.height - rows]
    source = call.memory(Slot.IN0, D.SOURCE_SLOT, case.height * columns * size, 1, True)
    count = (columns - 1) * pitch + case.height
    stored = call.memory(Slot.OUT, D.TARGET_SLOT, count * size + case.shift, 2, case.shift % 2 == 0)
    call.frame[Slot.OUT] += case.shift
    values = random_values(rng, (case.height, columns), kernel.source)
    source[:] = values.view(np.uint8).ravel()
    expected = stored.copy()
    memory = expected[case.shift :].view(np.dtype(("V", size)))
    moved = elements(values, size)
    for column in range(columns):
        for y in range(starts[case.first], case.height):
            memory[column * pitch + y] = moved[y, column]
    staged = np.arange(columns) * (rows * size + 64)
    call.set_x(np.arange(columns) * size, staged, kernel.lanes(target), columns)
    call.set_y(np.arange(rows) * columns * size, 64 + np.arange(rows) * size, rows)
    call.words[[D.X_AXIS, D.Y_AXIS]] = AxisSlot.SPARE1
    places = np.array(starts) * size
    call.words[D.Z_AXIS], call.words[D.REGIONS] = AxisSlot.SPARE0, len(starts)
    call.words[[D.Z_SOURCE, D.Z_TARGET]] = call.keep(places * columns), call.keep(places)
    call.frame[Frame.START + AxisSlot.SPARE0] = case.first
    call.frame[Frame.SIZE + AxisSlot.SPARE0] = len(starts) - case.first
    lines = np.stack([staged + 64, np.arange(columns) * pitch * size], axis=1)
    call.words[D.RUNS], call.words[D.RUN_COUNT] = call.keep(lines), columns
    call.words[D.RUN_BYTES] = rows * size
    asks = np.zeros(columns * (rows * size // 64 + 1))
    call.words[D.ASKS], call.words[D.ASK_COUNT] = call.keep(asks), len(asks)
    tiles = -(-columns // kernel.lanes(target)) * -(-rows // kernel.rows(target))
    call.words[D.TILE_ASKS] = len(asks) // tiles
    call.run()
    np.testing.assert_array_equal(*(meaningful(raw, call.stored) for raw in (stored, expected)))


STAGED = [
    Regions(64, 16, 64),  # one region
    Regions(128, 12, 500),  # the last one reaches back by 12
    Regions(100, 17, 301, shift=64, gap=3),  # by nearly all of it
    Regions(70, 5, 700, first=3, shift=32),
    Regions(17, 40, 90, shift=32, gap=1),
    Regions(96, 16, 480, shift=32),
    Regions(1, 3, 9),  # runs of less than a line
    Regions(5, 50, 23, first=1, shift=32, gap=7),
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_staged_copy(dtype: str, target: Target) -> None:
    kernel = CopyKernel(dtype, dtype, "staged")
    for seed, case in enumerate(STAGED):
        check_staged(kernel, target, case, seed)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("squares", [2, 4])
@pytest.mark.parametrize("dtype", ["uint8", "int16"])
def test_staged_copy_of_several_squares(dtype: str, squares: int, target: Target) -> None:
    kernel = CopyKernel(dtype, dtype, "staged", squares=squares)
    for seed, case in enumerate(STAGED):
        check_staged(kernel, target, case, seed)


@pytest.mark.parametrize("target", TARGETS)
def test_regions_are_asked_for_with_tiles_and_twice_with_lines(target: Target) -> None:
    if not target.triple.startswith("x86_64"):
        pytest.skip("other instructions")
    text = assembly(generate(CopyKernel("float32", "float32", "staged"), target), target)
    assert text.count("prefetcht1") == 3 and "movnt" in text


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("mode", ["along", "across"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128", "clongdouble", "float32"])
def test_conjugating_copy(dtype: str, mode: Any, target: Target) -> None:
    kernel = CopyKernel(dtype, dtype, mode, conj=True)
    for seed, case in enumerate(CASES):
        check_copy(kernel, target, case, seed)


@dataclass
class Panels:
    """A pack of (lanes, depth) into panels of `width` lanes; `order` as in the source."""

    lanes: int
    depth: int
    width: int
    lanes_run: int = 1000
    start: tuple[int, int] = (0, 0)
    words: dict[str, int] = field(default_factory=dict)


def check_pack(kernel: CopyKernel, target: Target, case: Panels, seed: int) -> None:
    rng = np.random.default_rng(seed)
    call, along = Call(kernel, target), kernel.mode == "along"
    size, part = call.source.itemsize, element(kernel.target).part
    step = part if kernel.planar else call.stored.itemsize
    row = case.width * call.stored.itemsize
    panel = row * case.depth
    count = -(-case.lanes // case.width)
    l0, d0 = case.start[0] * case.width, case.start[1] * case.depth
    lanes_size, depth_size = l0 + case.lanes, d0 + case.depth
    inner = runs(rng, lanes_size if along else depth_size, case.lanes_run, 1)
    outer = rng.permutation(depth_size if along else lanes_size) * (int(inner.max()) + 1)
    lane_at, depth_at = (inner, outer) if along else (outer, inner)
    position = np.add.outer(lane_at, depth_at)
    values = random_values(rng, (int(position.max()) + 1,), kernel.source)
    source = call.memory(Slot.IN0, D.SOURCE_SLOT, values.nbytes, 1, True)
    source[:] = values.view(np.uint8)
    packed = call.memory(Slot.PACK0, D.TARGET_SLOT, panel * count, 2, True)
    lanes_block = count * case.width
    lanes_here = np.arange(lanes_size) % lanes_block
    lanes_target = lanes_here // case.width * panel + lanes_here % case.width * step
    depth_target = np.arange(depth_size) % case.depth * row
    width = case.width if along else kernel.lanes(target)
    granule = case.width if along else case.depth
    records, begin = chunks(inner * size, size, width, granule)
    call.words[[D.X_CHUNKS, D.X_BEGIN]] = call.keep(records), call.keep(begin)
    call.words[D.X_GRANULE] = granule
    call.words[D.X_TARGET] = call.keep(lanes_target if along else depth_target)
    call.words[D.Y_SOURCE] = call.keep(outer * size)
    call.words[D.Y_TARGET] = call.keep(depth_target if along else lanes_target)
    if not along:
        records, begin = chunks(lanes_target, step, width, case.width)
        call.words[[D.Y_CHUNKS, D.Y_BEGIN]] = call.keep(records), call.keep(begin)
        call.words[D.Y_GRANULE] = case.width
    call.words[[D.PLANE, D.WIDTH, D.ROW]] = case.width * part, case.width, row
    call.words[D.LANES_TARGET] = call.keep(lanes_target)
    blocks = (l0, case.lanes), (d0, case.depth)
    call.block(*(blocks if along else blocks[::-1]))
    call.outside(np.zeros(2), np.zeros(2))
    call.words[[D.LANES_AXIS, D.DEPTH_AXIS]] = (
        (AxisSlot.X, AxisSlot.Y) if along else (AxisSlot.Y, AxisSlot.X)
    )
    call.run()
    block = values[position[l0:, d0:]]
    padded = np.zeros((count * case.width, case.depth), call.stored)
    padded[: case.lanes] = np.conj(block) if kernel.conj else block
    ordered = padded.reshape(count, case.width, case.depth).swapaxes(1, 2)
    if kernel.planar:
        ordered = np.concatenate([ordered.real, ordered.imag], -1)
    np.testing.assert_array_equal(packed.view(ordered.dtype), ordered.ravel())


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("mode", ["along", "across"])
@pytest.mark.parametrize(
    ("source", "stored", "flags"),
    [
        ("float32", "float32", {}),
        ("int8", "int8", {}),
        ("longdouble", "longdouble", {}),
        ("float16", "float32", {}),
        ("bfloat16", "float32", {}),
        ("complex64", "complex64", {"planar": True}),
        ("complex128", "complex128", {"planar": True, "conj": True}),
        ("clongdouble", "clongdouble", {"planar": True, "conj": True}),
    ],
)
def test_packs_are_padded_with_zeros(
    source: str, stored: str, flags: dict[str, bool], mode: Any, target: Target
) -> None:
    kernel = CopyKernel(source, stored, mode, **flags)
    cases = [
        Panels(1, 1, 4),
        Panels(32, 20, 32),
        Panels(45, 17, 32),
        Panels(20, 33, 12, lanes_run=5),
        Panels(50, 9, 48, lanes_run=1, start=(2, 3)),
        Panels(23, 70, 6, lanes_run=40, start=(4, 1)),
    ]
    for seed, case in enumerate(cases):
        check_pack(kernel, target, case, seed)


def test_copies_that_do_not_exist_are_refused() -> None:
    target = TARGETS[0].values[0]
    with pytest.raises(ValueError, match="from float32 to float64"):
        generate(CopyKernel("float32", "float64", "along"), target)
    with pytest.raises(ValueError, match="no imaginary part"):
        generate(CopyKernel("float32", "float32", "along", planar=True), target)
    with pytest.raises(ValueError, match="moved as bits"):
        generate(CopyKernel("complex64", "complex64", "rows", conj=True), target)
    with pytest.raises(ValueError, match="asks"):
        generate(CopyKernel("float32", "float32", "staged", asks=True), target)


def test_transposition_network() -> None:
    """Every size of element and tile: the columns come out in order, rows in order within them."""

    def pick(a: list[Any], b: list[Any], order: list[int]) -> list[Any]:
        return [(a + b)[i] for i in order]

    for size in (1, 2, 4, 8, 16, 32):
        for lanes in (1, 2, 4, 8, 16):
            tile = [[(row, column) for column in range(lanes)] for row in range(lanes)]
            registers = _network(tile, size, pick)
            columns = [registers[i] for i in _column_order(lanes, size)]
            assert columns == [[(r, c) for r in range(lanes)] for c in range(lanes)]


def test_tables() -> None:
    dims = (
        Dimension(DimType.M, 3, (40, 0, -7)),
        Dimension(DimType.M, 2, (0, 0, 5)),
        Dimension(DimType.M, 4, (1, 0, 1)),
    )
    axis = Axis("M", DimType.M, dims)
    expected = [8 * (40 * i + k) for i in range(3) for _ in range(2) for k in range(4)]
    assert offsets(axis, 0, 8).tolist() == expected
    assert offsets(Axis("M", DimType.M, ()), 0, 8).tolist() == [0]


def test_chunks_cover_every_position_once() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        size, run, longest, granule = (int(v) for v in rng.integers(1, (60, 20, 20, 25)))
        table = runs(rng, size, run, int(rng.integers(0, 2))) * 4
        records, begin = chunks(table, 4, longest, granule)
        covered = []
        for first, offset, length in records:
            assert 1 <= length <= longest
            assert first // granule == (first + length - 1) // granule
            assert np.array_equal(table[first : first + length], offset + 4 * np.arange(length))
            covered += range(first, first + length)
        assert covered == list(range(size))
        starts = [records[b][0] for b in begin[:-1]]
        assert starts == list(range(0, size, granule))
        assert begin[-1] == len(records)
