"""The records that the generated function of `jit/warm_code.py` reads: calls that were seen before.

A call is learnt when a single plan serves it as it is: one operand or two, not too much scratch, a
result that numpy allocates or that is given. A table has SLOTS places; a record that had to give
way to another one is learnt anew when its call comes again.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from tensorop import warm
from tensorop.jit.builtin import Foreign
from tensorop.jit.entry import loaded, machine
from tensorop.jit.vectorcall import Vectorcalled
from tensorop.jit.warm import (
    BUFFER,
    COUNT,
    MAX_RANK,
    MOST_THREADS,
    PROBES,
    SCRATCH,
    SLOTS,
    Array,
    Record,
    Table,
    form,
    hashed,
)
from tensorop.jit.warm_entry import WarmEntry
from tensorop.runtime import Buffer, Prepared
from tensorop.threads import follow, scoped
from tensorop.tuples import NamedTuple

Words = np.ndarray[Any, np.dtype[np.int64]]
Layout = tuple[tuple[int, ...], tuple[int, ...], np.dtype[Any]]


class _Known(NamedTuple):
    """A record, and the objects whose addresses it holds."""

    words: Words
    kept: tuple[Any, ...]


_records: dict[int, _Known] = {}  # by slot
_early: dict[Any, Callable[[], None]] = {}  # learns what came before there was code to know it
_lock = threading.Lock()
MOST_EARLY = 256  # calls
_PATIENCE = 1.0  # seconds


def learn(
    key: Any,
    layouts: Sequence[Layout],
    plan: Prepared,
    *,
    makes: bool,
    swaps: bool,
    single: bool,
    scaled: bool,
    factor: int,
    threads: int | None,
) -> None:
    """Remember what a call runs.

    Parameters
    ----------
    key : object
        See `warm.py`.
    layouts : (shape, strides, dtype) of both operands and the result
        What the plan was made for.
    plan : Prepared
    makes : bool
        The result is a new array.
    swaps : bool
        The second operand is the plan's in0.
    single : bool
        There is one operand, whose layout both are.
    scaled : bool
        alpha is not 1.
    factor : int
        Bytes of alpha and beta, or of their real parts; 0: the call is known without them only.
    threads : int or None
        The number in force that the plan is for; None: it is the same for all.
    """
    here = loaded()
    warm_entry = None if here is None else here.warm
    if (
        warm_entry is None
        or plan.scratch_bytes > BUFFER
        or any(len(shape) > MAX_RANK for shape, _, _ in layouts)
        or (threads is not None and threads > MOST_THREADS)
    ):
        return
    entry = warm_entry.get()
    how = form(makes=makes, single=single, scaled=scaled)
    if entry is None:
        again = partial(learn, key, layouts, plan, makes=makes, swaps=swaps, single=single)
        again = partial(again, scaled=scaled, factor=factor, threads=threads)
        _learn_later(warm_entry, (id(key), how, *layouts), again)
        return
    words = np.zeros(Record.WORDS, np.int64)
    words[Record.KEY], words[Record.KEEP] = id(key), id(plan)
    words[Record.PREPARED], words[Record.SWAPS] = plan.address, swaps
    words[Record.FORM] = how
    if threads is not None:
        words[Record.THREADS] = id(threads)
        _follow_threads(entry.tell)
    words[Record.FACTOR], words[Record.SCRATCH] = factor, plan.scratch_bytes
    for place, layout in zip((Record.A, Record.B, Record.OUT), layouts, strict=True):
        words[place : place + Array.WORDS] = _described(layout)
    first = hashed(id(key), (layouts[0][0], layouts[1][0]), how)
    slots = [(first + i) % SLOTS for i in range(PROBES)]
    # Never waited for: the one who learns may have been interrupted by a signal handler, this one.
    if not _lock.acquire(blocking=False):
        return
    try:
        slot = next((s for s in slots if s not in _records), first)
        # The record that gives way is dropped after its address: what reads it holds the GIL until
        # it needs it no more.
        if plan.scratch_bytes > SCRATCH:
            _provide(entry.table)
        _table(entry.table)[slot] = words.ctypes.data
        _records[slot] = _Known(words, (key, plan, *(dtype for _, _, dtype in layouts)))
        warm.install(entry.run)
    finally:
        _lock.release()


def _learn_later(warm_entry: WarmEntry, what: Any, again: Callable[[], None]) -> None:
    """Learn a call once there is code to know it."""
    if len(_early) < MOST_EARLY:
        _early[what] = again
        warm_entry.when_loaded(_learn_early)


def _learn_early() -> None:
    while True:
        try:
            _, again = _early.popitem()
        except KeyError:
            return
        again()


def plans_of(name: str, base: type) -> Vectorcalled | None:
    """A subclass of a class of plans whose instances run what was learnt of their keys, and else
    call another callable; None where there is no code that could."""
    plans = machine().plans
    return None if plans is None else plans(name, base)


@cache
def _follow_threads(tell: Callable[[int, int], None]) -> None:
    """Let generated code know how many threads are in force."""
    tell(Foreign.SCOPED, id(scoped))
    follow(lambda number: tell(Foreign.THREADS, id(number)))


def forget() -> None:
    """Drop all records, but for those that are being written meanwhile. They would do no harm: a
    record keeps alive what it needs."""
    _early.clear()
    if not _records:
        return  # nor need the driver be loaded
    warm_entry = machine().warm
    entry = None if warm_entry is None else warm_entry.get()
    if not _lock.acquire(timeout=_PATIENCE):
        return
    try:
        if entry is not None:
            _table(entry.table)[: Table.BUFFERS] = 0
        _records.clear()
    finally:
        _lock.release()


def _forked() -> None:
    """The child of a fork does not have the thread that may have been writing."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


_buffers: list[Buffer] = []  # kept for ever: a call may be using one


def _provide(table: int) -> None:
    """Give the table its buffers."""
    if _buffers:
        return
    _buffers.append(memory := Buffer(COUNT * BUFFER))
    for i in range(COUNT):
        _table(table)[Table.BUFFERS + 2 * i] = memory.address + i * BUFFER


def _table(address: int) -> Words:
    """The generated function's table as an array."""
    interface = {"data": (address, False), "shape": (Table.WORDS,), "typestr": "<i8", "version": 3}
    return np.asarray(type("Table", (), {"__array_interface__": interface})())


def _described(layout: Layout) -> Words:
    shape, strides, dtype = layout
    words = np.zeros(Array.WORDS, np.int64)
    words[Array.DTYPE], words[Array.RANK] = id(dtype), len(shape)
    spans = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    words[Array.LOW] = sum(s for s in spans if s < 0)
    words[Array.HIGH] = sum(s for s in spans if s > 0) + dtype.itemsize
    words[Array.SHAPE : Array.SHAPE + len(shape)] = shape
    words[Array.STRIDES : Array.STRIDES + len(shape)] = strides
    return words
