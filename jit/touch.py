"""Ask for a block of a tensor before it is used, in the order in which it lies.

Memory is fast where many lines follow one another: the hardware then asks ahead. A schedule that
uses a little of many rows at a time gives it no such order, and so this kernel walks along all of
every row first; what it asks for waits in L2. It reads nothing, so that results do not depend on
it.
"""

from __future__ import annotations

from llvmlite import ir

from tensorop.jit.abi import Frame
from tensorop.jit.builder import Code
from tensorop.jit.lines import LINE
from tensorop.jit.target import Target
from tensorop.jit.touch_abi import TouchKernel, TouchWord


def generate(kernel: TouchKernel, target: Target) -> ir.Module:
    """The module of a kernel."""
    code = Code(target, kernel.name)
    slot, rows, axis, step = (
        code.word(code.descriptor, word)
        for word in (TouchWord.SLOT, TouchWord.ROWS, TouchWord.AXIS, TouchWord.STEP)
    )
    block = code.pointer(code.frame, slot)
    table = code.pointer(code.descriptor, TouchWord.TABLE)
    size = code.mul(code.word(code.frame, code.add(axis, Frame.SIZE)), step)
    last = code.sub(size, 1)
    with code.loop(rows) as row:
        begin = code.at(block, code.word(table, row))
        with code.loop(last, step=LINE) as offset:
            code.prefetch(code.at(begin, offset), near=False, write=kernel.writes)
        code.prefetch(code.at(begin, last), near=False, write=kernel.writes)
    return code.finish()
