"""The driver in Python: the plain meaning of a plan, which is what runs short ones while the
generated driver (`jit/driver.py`) is not there yet.

Loops and calls only: a plan that is divided into shares is not short.
"""

from __future__ import annotations

from typing import Any

from _cffi_backend import FFI

from tensorop.jit.abi import FRAME_AT, PREPARED_WORDS, SCALAR_WORDS, WORD, CallRecord, Frame, Node
from tensorop.jit.slots import NodeKind, Slot, When

_ffi = FFI()
_MOVE_WORDS = 3

Words = Any  # 64-bit words in memory, as cffi has them


def run_prepared(
    prepared: int, in0: int, in1: int, out: int, aux: int, scalars: int, scratch: int
) -> None:
    """Run a prepared plan, on copies of its call record and frame; operands are addresses."""
    own = _ffi.new("int64_t[]", PREPARED_WORDS)
    _ffi.memmove(own, _words(prepared), PREPARED_WORDS * WORD)
    if scalars:
        _ffi.memmove(own, _words(scalars), SCALAR_WORDS * WORD)
    address = int(_ffi.cast("intptr_t", own))
    frame = own + FRAME_AT
    frame[Frame.CALL] = address
    own[CallRecord.FRAME] = address + FRAME_AT * WORD
    for slot, base in ((Slot.IN0, in0), (Slot.IN1, in1), (Slot.OUT, out), (Slot.AUX, aux)):
        frame[slot] += base
    for slot in (Slot.PACK0, Slot.PACK1, Slot.SPARE0, Slot.SPARE1):
        frame[slot] += scratch
    run(own[CallRecord.NODE], frame)


def run(node: int, frame: Words) -> None:
    """Run a body: what its nodes mean is said in `jit/abi.py`."""
    while node:
        words = _words(node)
        if words[Node.KIND] == NodeKind.LOOP:
            _loop(words, frame)
        else:
            assert words[Node.KIND] == NodeKind.CALL, "a region needs the generated driver"
            when = words[Node.WHEN]
            # FIRST and LAST are neighbours in the frame in the order of their conditions.
            if when == When.ALWAYS or frame[Frame.FIRST + when - When.FIRST]:
                kernel = _ffi.cast("void(*)(intptr_t, int64_t *)", words[Node.KERNEL])
                kernel(words[Node.DESCRIPTOR], frame)
        node = words[Node.NEXT]


def _loop(node: Words, frame: Words) -> None:
    axis, block = node[Node.AXIS], node[Node.BLOCK]
    start, size = Frame.START + axis, Frame.SIZE + axis
    before = list(frame[0 : Frame.WORDS])
    extent = node[Node.EXTENT] if axis < 0 or node[Node.EXTENT] >= 0 else before[size]
    counts = axis >= 0 and not node[Node.ANEW]  # positions on, from block to block
    origin = before[start] if counts else 0
    stop = Node.FIRST_MOVE + _MOVE_WORDS * node[Node.MOVES]
    moves = [node[at : at + _MOVE_WORDS] for at in range(Node.FIRST_MOVE, stop, _MOVE_WORDS)]
    begin = node[Node.BEGIN]
    for number, element in enumerate(range(begin * block, extent, block), begin):
        if axis >= 0:
            frame[size] = min(block, extent - element)
        if counts:
            frame[start] = origin + element
        for slot, stride, table in moves:
            step = stride * number
            if table:
                step = _words(table)[origin + element if counts else number]
                step -= _words(table)[origin]
            frame[slot] = before[slot] + step
        if node[Node.KLOOP]:
            own = node[Node.KLOOP] == Node.OWN_SUMS
            frame[Frame.FIRST] = (own or before[Frame.FIRST]) and element == 0
            frame[Frame.LAST] = (own or before[Frame.LAST]) and element + block >= extent
        run(node[Node.CHILD], frame)
    frame[0 : Frame.WORDS] = before


def _words(address: int) -> Words:
    return _ffi.cast("int64_t *", address)
