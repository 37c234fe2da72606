"""Large arrays: their memory comes back only when nothing looks at it any more."""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Iterator
from types import BuiltinMethodType

import numpy as np
import pytest

import tensorop
from tensorop import memory
from tensorop.config import POOL
from tensorop.memory import LARGE, PAGES, empty, release, vector

pytestmark = pytest.mark.skipif(not hasattr(memory.mmap, "MAP_PRIVATE"), reason="no mappings here")
BYTE = np.dtype(np.uint8)


@pytest.fixture(autouse=True)
def empty_pool() -> Iterator[None]:
    gc.collect()
    release()
    yield
    release()


def kept() -> int:
    return memory._pool.unused()


def test_shape_dtype_strides_and_alignment() -> None:
    array = empty((1 << 10, 1 << 11), np.dtype("f4"), (4, 1 << 12))
    assert (array.shape, array.dtype, array.strides) == ((1 << 10, 1 << 11), "f4", (4, 1 << 12))
    assert array.flags.writeable and array.ctypes.data % 4096 == 0
    array[...] = 3
    assert array.sum() == 3 << 21


@pytest.mark.parametrize("size", [LARGE, 8 * LARGE, 64 * LARGE])
def test_memory_of_an_array_that_is_gone_is_used_again(size: int) -> None:
    first = vector(size + 5, BYTE)
    address = first.ctypes.data
    assert kept() == 0
    del first
    assert kept() > size
    second = vector(size + 9, BYTE)
    assert second.ctypes.data == address and kept() == 0


def test_memory_that_a_view_looks_at_stays() -> None:
    array = vector(LARGE, BYTE)
    array[:] = 7
    view = memoryview(array[::2].reshape(2, -1)[1:])
    del array
    others = [vector(LARGE, BYTE) for _ in range(3)]
    for other in others:
        other[:] = 1
    assert kept() == 0 and (np.asarray(view) == 7).all()


def test_no_more_is_kept_than_asked_for() -> None:
    with POOL(9):
        arrays = [vector(4 << 20, BYTE) for _ in range(5)]
        arrays.clear()
        assert kept() == 8 << 20
        vector(16 << 20, BYTE)  # more than all that may be kept
        assert kept() == 8 << 20
        vector(6 << 20, BYTE)  # instead of one of them; both would be too much
        assert kept() == 6 << 20


def test_a_signal_handler_may_raise_where_an_array_ends() -> None:
    """Weak references swallow what their callbacks raise: Ctrl-C must not fall into one."""
    arrays = [vector(LARGE, BYTE) for _ in range(3)]
    ends = memory._pool._alive
    assert len(ends) == len(arrays)
    assert all(isinstance(end.__callback__, BuiltinMethodType) for end in ends)


def test_without_a_pool_arrays_own_their_data() -> None:
    with POOL(0):
        assert vector(LARGE, BYTE).flags.owndata
    assert kept() == 0
    assert empty((LARGE - 1,), BYTE, (1,)).flags.owndata
    assert not vector(PAGES, BYTE).flags.owndata and vector(PAGES - 1, BYTE).flags.owndata


def test_clearing_the_caches_empties_the_pool() -> None:
    vector(LARGE, BYTE)
    assert kept() == LARGE
    tensorop.cache_clear()
    assert kept() == 0


def test_a_signal_handler_does_without_what_it_interrupts() -> None:
    with memory._pool._enter():
        array = vector(LARGE, BYTE)
        release()
    array[:] = 1
    del array
    assert kept() == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_child_does_not_wait_for_a_thread_that_it_lacks() -> None:
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with memory._pool._enter():
            entered.set()
            leave.wait(0.2)

    thread = threading.Thread(target=hold)
    thread.start()
    entered.wait()
    child = os.fork()
    if not child:
        signal.alarm(20)  # ends it, should it wait for ever
        vector(LARGE, BYTE)
        os._exit(0)
    leave.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


def test_results_keep_their_values_while_others_come_and_go() -> None:
    a = np.arange(1100.0)
    wrong = []

    def work(number: int) -> None:
        held = [tensorop.einsum("i,j->ij", number * a, a) for _ in range(2)]
        for _ in range(10):
            tensorop.einsum("i,j->ij", a, a)
        wrong.extend(r for r in held if not np.array_equal(r, np.multiply.outer(number * a, a)))

    team = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in team:
        thread.start()
    for thread in team:
        thread.join()
    assert not wrong
