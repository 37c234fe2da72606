"""Run a bound plan on arrays.

In goes a plan as words (`jit/abi.py`: its first node, a frame to start from, how much scratch it
needs); `prepare` lays down, once a plan, the call record and frame that every call starts from;
`run` executes it on the operands. A warm call is one call of a generated function (`jit/entry.py`),
which copies record and frame to its own stack: so a prepared plan is immutable, and may run in any
number of threads at once and again inside itself.

What a call writes beside its output is scratch (packed panels). It belongs to the calling thread,
grows to the largest size needed and is used by one call at a time: a call from a signal handler, in
the middle of another one, gets a buffer of its own.
"""

from __future__ import annotations

import mmap
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorop.jit.abi import BETA_IS_ONE, FRAME_AT, PREPARED_WORDS, SCALAR_WORDS, CallRecord, Frame
from tensorop.jit.entry import Launch, Operand, launch, machine
from tensorop.jit.image import placed
from tensorop.jit.lines import LINE
from tensorop.tuples import NamedTuple

Words = np.ndarray[Any, np.dtype[np.int64]]
Scalar = np.generic | np.ndarray[Any, Any]

_SCALAR_BYTES = 32
_PAGE, _HUGE_PAGE = 4096, 2 << 20
LONG_WORK = 2_000_000  # multiply-adds above which other Python threads may run meanwhile


class Prepared(NamedTuple):
    """A plan that can be launched.

    launch: `launch(address, in0, in1, out, aux, scalars, scratch)`, the generated entry.
    address: of the words that every call starts from. scratch_bytes: what a call needs.
    kept: what the words point to, kept alive here.
    """

    launch: Launch
    address: int
    scratch_bytes: int
    kept: tuple[object, ...]


class Bound(NamedTuple):
    """A plan as words that may lie anywhere: see `jit/image.py`.

    node: where in `words`, in bytes, the first node is. frame: the words a call starts from
    (addresses of the operands are added by the call). scratch: bytes, and at which offset each
    slot's buffer begins. long, brief: see `prepare`. shares: how many threads can share a call.
    """

    node: int
    frame: Words
    words: Words
    scratch_bytes: int
    scratch_slots: tuple[tuple[int, int], ...]
    long: bool
    brief: bool
    shares: int

    def placed(self, kernels: Sequence[int], threads: int, defaults: Words | None) -> Prepared:
        """The plan, ready to be launched; kernels: their addresses. For the rest see `prepare`."""
        words = placed(self.words, kernels)
        return prepare(
            words.ctypes.data + self.node,
            self.frame,
            scratch_bytes=self.scratch_bytes,
            scratch_slots=self.scratch_slots,
            long=self.long,
            brief=self.brief,
            threads=min(threads, self.shares),
            defaults=defaults,
            keep=words,
        )


def prepare(
    node: int,
    frame: Words,
    *,
    scratch_bytes: int = 0,
    scratch_slots: Sequence[tuple[int, int]] = (),
    long: bool = False,
    brief: bool = False,
    threads: int = 1,
    defaults: Words | None = None,
    keep: object = None,
) -> Prepared:
    """Make a plan ready to be launched.

    Parameters
    ----------
    node : int
        Address of the first node.
    frame : (Frame.WORDS,) int64
        The frame to start from. Its words IN0, IN1, OUT and AUX are added to the operands'
        addresses.
    scratch_bytes, scratch_slots
        Scratch of a call, and where in it the buffers begin: pairs of slot and offset in bytes; for
        the slots PACK0, PACK1, SPARE0 and SPARE1.
    long : bool
        Worth more than some 10 us: other Python threads run meanwhile, and signals are looked for.
    brief : bool
        Not long, of few kernel calls and no region: it need not wait for the driver.
    threads : int
        How many threads may work on it, the caller included.
    defaults : words from `scalars`
        alpha and beta of calls that give none. Default: words of zeros, for plans without scalars.
    keep : object
        Kept alive as long as the result: the arrays that hold the nodes.
    """
    words = np.zeros(PREPARED_WORDS, np.int64)
    words[FRAME_AT:] = frame
    for slot, offset in scratch_slots:
        words[FRAME_AT + slot] = offset
    if defaults is not None:
        words[:SCALAR_WORDS] = defaults
    words[CallRecord.NODE] = node
    words[CallRecord.LONG], words[CallRecord.BRIEF] = long, brief
    if threads > 1:
        words[CallRecord.TEAM] = machine().team
    words[CallRecord.WORKERS] = threads - 1
    assert len(frame) == Frame.WORDS
    return Prepared(launch(), words.ctypes.data, scratch_bytes, (words, keep))


def scalars(alpha: Scalar, beta: Scalar) -> Words:
    """alpha and beta, scalars of the compute dtype, as the words that kernels read."""
    words = np.zeros(SCALAR_WORDS, np.int64)
    raw = words.view(np.uint8)
    for first, value in ((CallRecord.ALPHA, alpha), (CallRecord.BETA, beta)):
        data = np.frombuffer(value.tobytes(), np.uint8)
        if len(data) > _SCALAR_BYTES:
            raise ValueError(f"a scalar of {len(data)} bytes: at most {_SCALAR_BYTES} fit a record")
        raw[first * 8 : first * 8 + len(data)] = data
    words[CallRecord.READS_OUT] = BETA_IS_ONE if beta == 1 else bool(beta != 0)
    words[CallRecord.SCALES] = bool(alpha != 1)
    return words


def run(
    plan: Prepared, in0: Operand, in1: Operand, out: Operand, aux: Operand = 0, scalars: Operand = 0
) -> None:
    """Run a plan on operands: arrays, or addresses; 0 for an operand that the plan does not have.

    Parameters
    ----------
    plan : Prepared
    in0, in1, out, aux : array or address
        Of exactly the layout that the plan was made for; only the data address is used. Arrays are
        plain ndarrays (`numpy.asarray` makes one of a subclass).
    scalars : words from `scalars`, or their address
        0: the plan's defaults.

    Raises
    ------
    KeyboardInterrupt, or whatever a signal handler raises
        From plans marked long, on the main thread. No thread touches the operands any more; what
        `out` holds is unspecified.
    RuntimeError
        The process forked in the middle of the call, and this is the child.
    """
    if not plan.scratch_bytes:
        plan.launch(plan.address, in0, in1, out, aux, scalars, 0)
        return
    free = _scratch.free
    buffer = free.pop() if free else None
    if buffer is None or buffer.size < plan.scratch_bytes:
        buffer = Buffer(plan.scratch_bytes)
    try:
        plan.launch(plan.address, in0, in1, out, aux, scalars, buffer.address)
    finally:
        free.append(buffer)


class Buffer:
    """Aligned memory: to a cache line, large ones to a page. Panels are read over and over, so the
    largest ones ask for huge pages, where the system has them: that saves translating addresses."""

    __slots__ = ("_memory", "address", "size")

    def __init__(self, size: int) -> None:
        align = LINE if size < _PAGE else _PAGE if size < _HUGE_PAGE // 2 else _HUGE_PAGE
        self.size = -(-size // align) * align
        self._memory: mmap.mmap | np.ndarray[Any, np.dtype[np.uint8]]
        if align == _HUGE_PAGE and hasattr(mmap, "MADV_HUGEPAGE"):
            # Private: what is shared would be so with forked children, and has no huge pages.
            private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
            self._memory = mmap.mmap(-1, self.size + align, flags=private)
            self._memory.madvise(mmap.MADV_HUGEPAGE)
        else:
            self._memory = np.empty(self.size + align, np.uint8)
        base = np.frombuffer(self._memory, np.uint8).ctypes.data
        self.address = base + -base % align


class _Scratch(threading.local):
    """Buffers of this thread that no call uses at the moment. `pop` and `append` are atomic, so a
    signal handler between them finds a list that it can use."""

    def __init__(self) -> None:
        self.free: list[Buffer] = []


_scratch = _Scratch()
