"""The driver against the plain meaning of its nodes (`tests/node_programs.py`)."""

from __future__ import annotations

import threading
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorop import runtime
from tensorop.jit import entry, interpreter
from tensorop.jit.abi import CallRecord, Frame, Node
from tensorop.jit.slots import AxisSlot, Role, Slot, When
from tests.node_programs import (
    Call,
    Loop,
    Move,
    Region,
    Step,
    Words,
    interpret,
    record_words,
    start_frame,
)

TABLE = tuple(int(x) for x in np.random.default_rng(0).integers(-1000, 1000, 64))

# Random programs

moves = st.lists(
    st.builds(
        Move,
        slot=st.sampled_from(list(map(int, Slot))),
        stride=st.integers(-64, 64),
        table=st.sampled_from([None, None, TABLE]),
    ),
    max_size=3,
    unique_by=lambda move: move.slot,
).map(tuple)
calls = st.builds(Call, name=st.integers(1, 99), when=st.sampled_from(list(When)))


def loops(body: st.SearchStrategy[tuple[Step, ...]]) -> st.SearchStrategy[Loop]:
    def from_frame(loop: Loop) -> Loop:
        return replace(loop, extent=-1) if loop.axis >= 0 and loop.extent > 4 else loop

    return st.builds(
        Loop,
        body=body,
        axis=st.integers(-1, 3),
        extent=st.integers(0, 9),
        block=st.integers(1, 4),
        kloop=st.sampled_from((0, 1, Node.OWN_SUMS)),
        poll=st.booleans(),
        anew=st.booleans(),
        begin=st.sampled_from((0, 0, 1, 3)),
        moves=moves,
    ).map(from_frame)


def regions(body: st.SearchStrategy[tuple[Step, ...]]) -> st.SearchStrategy[Region]:
    affine = moves.map(lambda found: tuple(move for move in found if move.table is None))
    depths = st.integers(1, 3)

    @st.composite
    def region(draw: st.DrawFn) -> Region:
        depth = draw(depths)
        inner = body
        for _ in range(depth):
            inner = loops(inner).map(lambda loop: (loop,))
        (loop,) = draw(inner)
        return Region(loop, depth, draw(st.integers(1, 8)), draw(affine))

    return region()


bodies = st.recursive(
    st.lists(calls, min_size=1, max_size=2).map(tuple),
    lambda body: st.lists(
        st.one_of(loops(body), loops(body), regions(body), calls), min_size=1, max_size=2
    ).map(tuple),
    max_leaves=4,
)
without_regions = st.recursive(
    st.lists(calls, min_size=1, max_size=2).map(tuple),
    lambda body: st.lists(st.one_of(loops(body), calls), min_size=1, max_size=2).map(tuple),
    max_leaves=4,
)
sizes = st.dictionaries(st.integers(0, 3), st.integers(1, 12), max_size=4)


def by_share(rows: list[tuple[int, ...]]) -> dict[int, list[tuple[int, ...]]]:
    """Rows by share, in order, whoever ran them: shares run side by side."""
    shares = defaultdict(list)
    for row in rows:
        shares[row[Frame.SHARE]].append((*row[: Frame.ROLE], min(row[Frame.ROLE], 1), *row[29:]))
    return dict(shares)


@settings(max_examples=300)
@given(bodies, sizes)
def test_driver_alone_runs_what_the_nodes_mean(
    body: tuple[Step, ...], sizes: dict[int, int]
) -> None:
    frame = start_frame(sizes)
    words = Words(rows=20_000)
    record = record_words(words.body(body), frame)
    before = frame.copy()
    expected = list(interpret(body, frame.tolist()))[:20_000]
    assert entry.machine().execute(record.ctypes.data) == 0
    assert words.log[0, 0] >= len(expected)
    words.log[0, 0] = min(words.log[0, 0], words.rows)
    assert words.recorded() == expected
    assert (frame == before).all(), "the driver left the frame changed"


@settings(max_examples=300)
@given(without_regions, sizes)
def test_the_driver_in_python_runs_what_the_nodes_mean(
    body: tuple[Step, ...], sizes: dict[int, int]
) -> None:
    frame = start_frame(sizes)
    words = Words(rows=20_000)
    before = frame.copy()
    expected = list(interpret(body, frame.tolist()))[:20_000]
    interpreter.run(words.body(body), interpreter._words(frame.ctypes.data))
    words.log[0, 0] = min(words.log[0, 0], words.rows)
    assert words.recorded() == expected
    assert (frame == before).all(), "it left the frame changed"


@settings(max_examples=200)
@given(regions(bodies), sizes, st.integers(1, 3))
def test_team_runs_what_the_nodes_mean(region: Region, sizes: dict[int, int], workers: int) -> None:
    team = entry.machine().team
    if not team:
        pytest.skip("no thread team on this platform")
    frame = start_frame(sizes)
    words = Words(rows=20_000)
    record = record_words(words.body((region,)), frame)
    record[CallRecord.TEAM], record[CallRecord.WORKERS] = team, workers
    before = frame.copy()
    expected = list(interpret((region,), frame.tolist()))
    if len(expected) > words.rows:
        return
    assert entry.machine().execute(record.ctypes.data) == 0
    # A nested region gives its rows share numbers of its own: compare without the order then.
    if any(isinstance(step, Region) for step in _steps(region.loop.body)):
        assert sorted(_anonymous(words.recorded())) == sorted(_anonymous(expected))
    else:
        assert by_share(words.recorded()) == by_share(expected)
    assert (frame == before).all(), "the driver left the frame changed"


def _anonymous(rows: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    return [(*row[: Frame.ROLE], min(row[Frame.ROLE], 1), *row[29:]) for row in rows]


def _steps(body: tuple[Step, ...]) -> list[Step]:
    found = []
    for step in body:
        found.append(step)
        if isinstance(step, Loop):
            found += _steps(step.body)
        elif isinstance(step, Region):
            found += _steps((step.loop,))
    return found


# Single facts, spelled out


def run(body: tuple[Step, ...], sizes: dict[int, int] | None = None) -> list[tuple[int, ...]]:
    frame, words = start_frame(sizes), Words(rows=1000)
    record = record_words(words.body(body), frame)
    assert entry.machine().execute(record.ctypes.data) == 0
    return words.recorded()


def column(rows: list[tuple[int, ...]], word: int) -> list[int]:
    return [row[word] for row in rows]


def test_blocks_of_an_axis_with_a_short_last_one() -> None:
    rows = run((Loop((Call(1),), axis=AxisSlot.M, block=4),), {AxisSlot.M: 10})
    assert column(rows, Frame.START + AxisSlot.M) == [0, 4, 8]
    assert column(rows, Frame.SIZE + AxisSlot.M) == [4, 4, 2]


def test_an_inner_loop_cuts_the_block_of_the_outer_one() -> None:
    inner = Loop((Call(1),), axis=AxisSlot.M, block=2)
    rows = run((Loop((inner,), axis=AxisSlot.M, block=5),), {AxisSlot.M: 8})
    assert column(rows, Frame.START + AxisSlot.M) == [0, 2, 4, 5, 7]
    assert column(rows, Frame.SIZE + AxisSlot.M) == [2, 2, 1, 2, 1]


def test_first_and_last_k_block_across_two_k_loops() -> None:
    touches = (Call(1, When.FIRST), Call(2), Call(3, When.LAST))
    inner = Loop(touches, axis=AxisSlot.K, extent=2, kloop=True)
    rows = run((Loop((inner,), axis=AxisSlot.BR, extent=2, kloop=True),))
    assert column(rows, -1) == [1, 2, 2, 2, 2, 3]


def test_a_body_with_sums_of_its_own_in_a_loop_over_k() -> None:
    touches = (Call(1, When.FIRST), Call(2), Call(3, When.LAST))
    own = Loop(touches, extent=2, kloop=Node.OWN_SUMS)
    rows = run((Loop((own, *touches), axis=AxisSlot.K, extent=2, kloop=1),))
    assert column(rows, -1) == [1, 2, 2, 3, 1, 2, 1, 2, 2, 3, 2, 3]


def test_tables_of_two_loops_over_one_axis_add_up_to_the_position() -> None:
    table = (0, 10, 30, 60, 100, 150, 210)
    move = (Move(Slot.OUT, table=table),)
    inner = Loop((Call(1),), axis=AxisSlot.M, moves=move)
    rows = run((Loop((inner,), axis=AxisSlot.M, block=3, moves=move),), {AxisSlot.M: 7})
    assert column(rows, Slot.OUT) == list(table)


def test_shares_are_contiguous_and_balanced() -> None:
    loop = Loop((Loop((Call(1),), axis=AxisSlot.N, extent=3),), axis=AxisSlot.M, extent=5)
    rows = run((Region(loop, depth=2, shares=4, moves=(Move(Slot.PACK0, 4096),)),))
    flat = [3 * row[Frame.START] + row[Frame.START + 1] for row in rows]
    assert flat == list(range(15))
    assert np.bincount(column(rows, Frame.SHARE)).tolist() == [3, 4, 4, 4]
    assert column(rows, Slot.PACK0) == [4096 * share for share in column(rows, Frame.SHARE)]


def test_more_shares_than_iterations() -> None:
    rows = run((Region(Loop((Call(1),), extent=2), shares=8),))
    assert column(rows, Frame.SHARE) == [3, 7]


def test_a_region_inside_a_share_runs_on_the_same_thread() -> None:
    team = entry.machine().team
    inner = Region(Loop((Call(1),), axis=AxisSlot.N, extent=4), shares=2)
    region = Region(Loop((inner,), axis=AxisSlot.M, extent=4), shares=2)
    frame, words = start_frame(), Words(rows=100)
    record = record_words(words.body((region,)), frame)
    record[CallRecord.TEAM], record[CallRecord.WORKERS] = team, 1
    for _ in range(200):
        words.clear()
        assert entry.machine().execute(record.ctypes.data) == 0
        rows = words.recorded()
        assert len(rows) == 16
        assert Role.CALLER not in column(rows, Frame.ROLE)
        for m in range(4):  # one inner region, one thread
            assert len({row[Frame.ROLE] for row in rows if row[Frame.START] == m}) == 1


@pytest.mark.parametrize("poll", [False, True])
def test_a_cancelled_call_says_so(poll: bool) -> None:
    frame, words = start_frame(), Words(rows=100)
    body = (Loop((Region(Loop((Call(1),), extent=2), shares=2),), extent=3, poll=poll),)
    record = record_words(words.body(body), frame)
    record[CallRecord.CANCEL] = 1
    assert entry.machine().execute(record.ctypes.data) == 1
    assert words.recorded() == []


# The entries


def launch_in_python(prepared: int, *operands: entry.Operand) -> None:
    interpreter.run_prepared(prepared, *map(entry._address, operands))


def launch_everywhere(body: tuple[Step, ...], *operands: entry.Operand) -> list[tuple[int, ...]]:
    results = []
    machine = entry.machine()
    for launch in (machine.launch, machine.launch_plain, launch_in_python):
        words, frame = Words(rows=100), start_frame()
        frame[Slot.IN1], frame[Slot.PACK1] = 8, 128
        plan = runtime.prepare(words.body(body), frame, keep=words)
        assert launch(plan.address, *operands) is None
        results.append([row[:8] for row in words.recorded()])
    assert results[0] == results[1] == results[2]
    return results[0]


def test_entries_take_arrays_and_addresses() -> None:
    a, b = np.arange(6.0).reshape(2, 3).T, np.arange(5)[::-1]
    address = a.__array_interface__["data"][0]
    rows = launch_everywhere((Call(1),), a, b, 64, 0, 0, 4096)
    assert rows == [(address, b.__array_interface__["data"][0] + 8, 64, 0, 4096, 4224, 4096, 4096)]


def test_built_in_entry_refuses_what_is_no_operand() -> None:
    if entry.machine().launch is entry.machine().launch_plain:
        pytest.skip("no built-in entry on this interpreter")
    launch = entry.machine().launch
    with pytest.raises(TypeError, match="prepared plan, in0"):
        launch(1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="integer"):
        launch(1, "a", 0, 0, 0, 0, 0)  # type: ignore[arg-type]
    with pytest.raises(OverflowError):
        launch(1, 1 << 70, 0, 0, 0, 0, 0)


def test_scalars_reach_the_call_record() -> None:
    words = runtime.scalars(np.complex64(1 + 2j), np.complex64(0))
    assert words[: CallRecord.BETA].view(np.complex64)[0] == 1 + 2j
    assert (words[CallRecord.READS_OUT], words[CallRecord.SCALES]) == (0, 1)
    words = runtime.scalars(np.float64(1), np.float64(-3))
    assert words[CallRecord.BETA : CallRecord.READS_OUT].view(np.float64)[0] == -3
    assert (words[CallRecord.READS_OUT], words[CallRecord.SCALES]) == (1, 0)


def test_scratch_is_aligned_reused_and_never_shared() -> None:
    words, frame = Words(rows=100), start_frame()
    body = words.body((Call(1),))
    small = runtime.prepare(body, frame, scratch_bytes=100, scratch_slots=[(Slot.PACK1, 64)])
    large = runtime.prepare(body, frame, scratch_bytes=100_000)
    for plan in (small, small, large, large, small):
        runtime.run(plan, 0, 0, 0)
    first, second, third, fourth, last = column(words.recorded(), Slot.PACK0)
    assert first == second and third == fourth == last
    assert first % 64 == 0 and third % 4096 == 0
    assert column(words.recorded(), Slot.PACK1)[0] == first + 64
    mine = runtime._scratch.free.pop()  # as if a call were under way: a nested one gets its own
    runtime.run(large, 0, 0, 0)
    assert column(words.recorded(), Slot.PACK0)[-1] != mine.address
    assert len(runtime._scratch.free) == 1
    thread = threading.Thread(target=runtime.run, args=(large, 0, 0, 0))
    thread.start()
    thread.join()
    assert column(words.recorded(), Slot.PACK0)[-1] != third
