"""What packed products ask memory for while they multiply: each line in time, and no other."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tensorop import reference
from tensorop.bind_copies import pack_kernel
from tensorop.ir import Dimension, DimType, Primitive, Tensor, TensorOp
from tensorop.jit.abi import Frame
from tensorop.jit.builder import Code, Value
from tensorop.jit.lines import LINE
from tensorop.jit.slots import AxisSlot
from tensorop.jit.target import current_target
from tensorop.optimizer import blocked as five_loops
from tensorop.schedule import Loop, Pack, Schedule
from tests.asked import Asked, aligned
from tests.test_blocked import TINY


def product(*dims: tuple[DimType, int, tuple[int, int, int]]) -> TensorOp:
    tensors = tuple(Tensor(role, "float32") for role in ("in0", "in1", "out"))
    return TensorOp(tensors, tuple(Dimension(*d) for d in dims), Primitive.GEMM)


def lines_asked_for(
    schedule: Schedule,
    tensor: int,
    first: int,
    monkeypatch: pytest.MonkeyPatch,
    kernel: str = "",
    when: Callable[[Code], Value] = lambda code: code.int(1),
) -> NDArray[np.uint8]:
    """Marks (`Asked`) of the lines of a dense input whose first element is so far behind the begin
    of a line, the last one for what lies elsewhere; of one kernel or all. The result is right."""
    rng, op = np.random.default_rng(0), schedule.op
    sizes = [prod(d.size for d in op.dimensions if d.strides[t]) for t in range(3)]
    rooms = [aligned(rng.integers(-4, 5, size + LINE // 4)) for size in sizes]
    buffers = [room[first : first + size] for room, size in zip(rooms, sizes, strict=True)]
    expected = [x.copy() for x in buffers]
    reference.run(op, expected, 1, 0)
    asked = Asked(rooms[tensor], when)

    def prefetch(code: Code, *to: Any, **how: Any) -> None:
        if kernel in ("", code.function.name):
            asked.ask(code, *to, **how)

    monkeypatch.setattr(Code, "prefetch", prefetch)
    asked.execute(schedule, buffers)
    np.testing.assert_array_equal(buffers[2], expected[2])
    return asked.lines


def block_of(schedule: Schedule, axis: str) -> int:
    loops = [s for _, s in schedule.steps() if isinstance(s, Loop) and s.axis == axis]
    return min([schedule.axis(axis).size, *(loop.block for loop in loops)])


def packs_of(schedule: Schedule, tensor: int) -> list[Pack]:
    return [s for _, s in schedule.steps() if isinstance(s, Pack) and s.tensor == tensor]


def lines_of(at: NDArray[np.int64]) -> set[int]:
    """The lines of elements, counted from the begin of one."""
    return set((at * 4 // LINE).ravel().tolist())


@pytest.mark.parametrize("tensor", [0, 1])
@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("first", [0, 4, 15])
def test_what_is_packed_next_is_asked_for(
    tensor: int, deep: bool, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every line of a long input but those of its first block, wherever in a line it begins."""
    m, n, k = ((640, 48, 128), (48, 96, 1600))[tensor]
    strides = (((1, m), (k, 1))[deep], ((1, n), (k, 1))[deep])
    op = product(
        (DimType.M, m, (strides[0][0], 0, 1)),
        (DimType.N, n, (0, strides[1][0], m)),
        (DimType.K, k, (strides[0][1], strides[1][1], 0)),
    )
    schedule = five_loops.blocked(op, TINY._replace(l2=24 << 10), 1, False)
    assert any(pack.ahead for pack in packs_of(schedule, tensor))
    found = set(np.flatnonzero(lines_asked_for(schedule, tensor, first, monkeypatch)[:-1]))
    lanes, depth = np.ogrid[: (m, n)[tensor], :k]
    of_block = (lanes < block_of(schedule, "MN"[tensor])) & (depth < block_of(schedule, "K"))
    at = first + lanes * strides[tensor][0] + depth * strides[tensor][1]
    lines, known = lines_of(at), lines_of(at[of_block])
    assert lines - known <= found <= lines and (first or found == lines - known)


@pytest.mark.parametrize("first", [0, 4, 15])
def test_lines_are_asked_for_before_the_block_that_reads_them(
    first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also that in which a row of one block ends and that of the next one begins."""
    m, n, k = 1280, 48, 64
    op = product((DimType.M, m, (1, 0, 1)), (DimType.N, n, (0, k, m)), (DimType.K, k, (m, 1, 0)))
    schedule = five_loops.blocked(op, TINY._replace(l1=8 << 10, l2=96 << 10), 1, False)
    block = block_of(schedule, "M")
    assert 3 * block < m

    def number(code: Code) -> Value:
        """Of the block of M that is multiplied."""
        start = code.word(code.frame, Frame.START + AxisSlot.M)
        return code.add(code.builder.udiv(start, code.int(block)), 1)

    asked = lines_asked_for(schedule, 0, first, monkeypatch, when=number)
    at = first + np.arange(m) + np.arange(k)[:, None] * m
    for i in range(block, m, block):
        lines = lines_of(at[:, i : i + block]) - lines_of(at[:, :block])
        when = asked[sorted(lines)]
        assert when.all() and (when <= i // block).all()


@pytest.mark.parametrize("first", [0, 4, 15])
@pytest.mark.parametrize("tensor", [0, 1])
def test_pieces_that_begin_anywhere_in_a_line_are_asked_for(
    tensor: int, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both lines of a piece as long as one, as numpy's large arrays have them; nothing else."""
    a, b, c, d, piece = 96, 80, 64, 48, 16
    op = product(
        (DimType.M, a, (c, 0, 1)),
        (DimType.N, b, (0, c * d, a)),
        (DimType.K, c, (1, d, 0)),
        (DimType.K, d, (a * c, 1, 0)),
    )
    schedule = five_loops.blocked(op, TINY._replace(l2=1 << 19), 1, False)
    assert any(pack.ahead for pack in packs_of(schedule, tensor))
    assert [x.size for x in schedule.axis("K").dimensions] == [c // piece, d, piece]
    block = block_of(schedule, "K")
    assert block_of(schedule, "MN"[tensor]) >= (a, b)[tensor] and 3 * block < c * d

    def number(code: Code) -> Value:
        """Of the block of K that is multiplied."""
        start = code.word(code.frame, Frame.START + AxisSlot.K)
        return code.add(code.builder.udiv(start, code.int(block)), 1)

    *asked, _ = lines_asked_for(schedule, tensor, first, monkeypatch, when=number)
    outer, rows, inner = np.unravel_index(np.arange(c * d), (c // piece, d, piece))
    lane, along_c, along_d = ((c, 1, a * c), (c * d, d, 1))[tensor]
    at = first + (outer * piece + inner) * along_c + rows * along_d
    at = at + np.arange((a, b)[tensor])[:, None] * lane
    read = lines_of(at[:, :block])
    for i in range(block, c * d, block):
        lines = lines_of(at[:, i : i + block]) - read
        assert all(0 < asked[line] <= i // block for line in lines)
        read |= lines
    assert read >= set(np.flatnonzero(asked))


@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize("layout", ["along", "across", "pairs across"])
def test_packing_asks_for_what_it_reads_next(
    layout: str, far: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an input beyond L2 that no product asks for, because others have hidden its time; and for
    nothing else."""
    monkeypatch.setattr("tensorop.optimizer.ahead.OFTEN", 0)
    m, n, k = 672, 48, 125
    rows = {
        "along": [(m, 1, 1)],
        "across": [(m, k, 1)],
        "pairs across": [(m // 2, 2 * k, 2), (2, 1, 1)],
    }
    step = {"along": m, "across": 1, "pairs across": 2}[layout]
    op = product(
        *((DimType.M, size, (read, 0, written)) for size, read, written in rows[layout]),
        (DimType.N, n, (0, 1, m)),
        (DimType.K, k, (step, n, 0)),
    )
    machine = TINY._replace(l1=16 << 10, l2=m * k * 4 - far)
    schedule = five_loops.blocked(op, machine, 1, False)
    packs = packs_of(schedule, 0)
    assert [(p.ahead, p.asks) for p in packs] == [(False, far)]
    kernel = pack_kernel(schedule, packs[0], current_target())
    assert kernel.mode in layout and (kernel.source == "uint64") == ("pairs" in layout)
    *lines, rest, elsewhere = lines_asked_for(schedule, 0, 0, monkeypatch, kernel.name)
    # All but the first rows of every block, which nothing is in front of.
    assert np.mean(lines) > 0.6 if far else not any(lines)
    assert not rest and not elsewhere
