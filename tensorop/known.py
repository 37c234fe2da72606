"""The records that the generated function of `jit/warm_code.py` reads: calls that were seen before.

A call is learnt when plans serve it as it is, one after the other: few operands, not too much
scratch. Its result is given, or numpy makes it, or the pool where it is large (`memory.py`). A
table has SLOTS places; a record that had to give way to another one is learnt anew when its call
comes again.
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
from tensorop.jit.lines import LINE
from tensorop.jit.vectorcall import Vectorcalled
from tensorop.jit.warm import (
    ANYWHERE,
    BUFFER,
    COUNT,
    MAX_RANK,
    MOST_OPERANDS,
    MOST_STEPS,
    MOST_THREADS,
    PROBES,
    SCRATCH,
    SLOTS,
    Array,
    Record,
    Step,
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


_records: dict[int, tuple[Any, ...]] = {}  # by slot, what keeps them and their keys
_early: dict[Any, Callable[[], None]] = {}  # learns what came before there was code to know it
_lock = threading.Lock()
MOST_EARLY = 256  # calls
_PATIENCE = 1.0  # seconds


class Link(NamedTuple):
    """A step of a call: its plan; what that reads (the same twice where it is one), counted from
    the first operand through the last one to the results of the steps before; bytes of its result,
    None where that is the call's."""

    plan: Prepared
    first: int
    second: int
    size: int | None


def learn(
    key: Any,
    layouts: Sequence[Layout],
    links: Sequence[Link],
    *,
    makes: bool,
    maker: Callable[[], Any] | None,
    begins: int | None,
    scaled: bool,
    factor: int,
    threads: int | None,
) -> None:
    """Remember what a call runs.

    Parameters
    ----------
    key : object
        See `warm.py`.
    layouts : (shape, strides, dtype) of the operands, and of the result
        What the plans were made for.
    links : sequence of Link
        The last one takes alpha and beta.
    makes : bool
        The result is a new array.
    maker : callable or None
        Makes it, of the layout that it has here; None: numpy does.
    begins : int or None
        Bytes behind the start of a cache line at which the plans have the result begin; None:
        anywhere.
    scaled : bool
        alpha is not 1.
    factor : int
        Bytes of alpha and beta, or of their real parts; 0: the call is known without them only.
    threads : int or None
        The number in force that the plans are for; None: they are the same for all.
    """
    here = loaded()
    warm_entry = None if here is None else here.warm
    operands = layouts[:-1]
    steps, kept = _steps(links)
    scratch = kept + max(link.plan.scratch_bytes for link in links)
    if (
        warm_entry is None
        or len(operands) > MOST_OPERANDS
        or len(links) > MOST_STEPS
        or scratch > BUFFER
        or any(len(shape) > MAX_RANK for shape, _, _ in layouts)
        or (threads is not None and threads > MOST_THREADS)
    ):
        return
    entry = warm_entry.get()
    how = form(len(operands), makes=makes, scaled=scaled)
    if entry is None:
        again = partial(learn, key, layouts, links, makes=makes, maker=maker, begins=begins)
        again = partial(again, scaled=scaled, factor=factor, threads=threads)
        _learn_later(warm_entry, (id(key), how, begins, *layouts), again)
        return
    words = np.zeros(Record.OPERANDS + len(operands) * Array.WORDS, np.int64)
    keep = (words, maker, *[link.plan for link in links], *[dtype for _, _, dtype in layouts])
    words[Record.KEY], words[Record.KEEP], words[Record.FORM] = id(key), id(keep), how
    words[Record.FACTOR], words[Record.SCRATCH], words[Record.KEPT] = factor, scratch, kept
    words[Record.MAKER] = 0 if maker is None else id(maker)
    words[Record.BEGINS] = ANYWHERE if begins is None else begins
    if threads is not None:
        words[Record.THREADS] = id(threads)
        _follow_threads(entry.tell)
    words[Record.COUNT] = len(links)
    words[Record.STEPS : Record.STEPS + steps.size] = steps.ravel()
    places = range(Record.OPERANDS, len(words), Array.WORDS)
    for place, layout in zip((*places, Record.OUT), layouts, strict=True):
        words[place : place + Array.WORDS] = _described(layout)
    first = hashed(id(key), [shape for shape, _, _ in operands], how)
    slots = [(first + i) % SLOTS for i in range(PROBES)]
    # Never waited for: the one who learns may have been interrupted by a signal handler, this one.
    if not _lock.acquire(blocking=False):
        return
    try:
        slot = next((s for s in slots if s not in _records), first)
        # A record is kept before its address is in the table, and the one that gives way until its
        # own is there no more, wherever an interrupt falls: what reads it holds the GIL until it
        # needs it no more.
        if scratch > SCRATCH:
            _provide(entry.table)
        _records[slot] = key, (keep, _records.get(slot))
        _table(entry.table)[slot] = words.ctypes.data
        _records[slot] = key, keep
        warm.install(entry.run)
    finally:
        _lock.release()


def _steps(links: Sequence[Link]) -> tuple[Words, int]:
    """The words of the steps, and how much scratch their results take."""
    steps, kept = np.zeros((len(links), Step.WORDS), np.int64), 0
    for words, (plan, first, second, size) in zip(steps, links, strict=True):
        words[Step.PREPARED], words[Step.IN0], words[Step.IN1] = plan.address, first, second
        words[Step.TO] = kept
        kept += -(-(size or 0) // LINE) * LINE
    return steps, kept


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
