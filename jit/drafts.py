"""Kernels that are there at once, and fast soon after.

LLVM takes 30 ms to make a kernel of a thousand instructions fast, and 6 to translate them one by
one. So a process that has no driver yet, where nobody can expect speed, runs its first plans with
drafts: the same module, hence the same operations in the same order and the same result (but for
which of several NaNs), without optimisation. A draft is called through a jump to where a word of
memory says; once the finished kernel is there, the word is changed, and whatever knows the address
of the jump, such as a plan, calls that one from then on.

`finish` is part of the work that the driver waits for (`jit/entry.py`): so generated code never
runs a draft, and a forked child, which has not the thread that was at it, finishes what it needs.
"""

from __future__ import annotations

import contextlib
import ctypes
from typing import TYPE_CHECKING

from tensorop.debug import Level, wants
from tensorop.jit import library
from tensorop.jit.guard import lock
from tensorop.jit.kernel import Kernel
from tensorop.jit.target import Target
from tensorop.tuples import NamedTuple

if TYPE_CHECKING:
    from llvmlite import ir


class _Draft(NamedTuple):
    """slot: the address of the word that says where its code is."""

    kernel: Kernel
    target: Target
    module: ir.Module
    slot: int


_unfinished: list[_Draft] = []


def draft_address(kernel: Kernel, target: Target) -> int:
    """As `library.kernel_address`, but what has to be compiled is compiled without optimisation,
    until `finish` is called."""
    with lock:
        known = library.known_address(kernel, target)
        if known is not None:
            return known
        if not library.links(target) or wants(Level.IR):
            return library.kernel_address(kernel, target)
        module, linked = library.compiler().draft_code(kernel, target)
        base = library.place(linked, {})
        ((slot, _),) = linked.slots
        _unfinished.append(_Draft(kernel, target, module, base + slot))
        address = base + int(linked.functions["jump"])
        library.know(kernel, target, address)
        return address


def finish() -> None:
    """Put the finished kernels in the place of all drafts. Any thread may ask, while others do."""
    while True:
        try:
            draft = kernel, target, module, slot = _unfinished[0]
        except IndexError:
            return
        start, code = library.compiler().leaf_code(kernel, target, module)
        with lock:
            if draft in _unfinished:  # no other thread was faster
                address = library.add_kernel(kernel, target, start, code)
                ctypes.c_uint64.from_address(slot).value = address  # at once: it is one word
                library.know(kernel, target, address)
                with contextlib.suppress(ValueError):  # a signal handler may have been faster
                    _unfinished.remove(draft)
