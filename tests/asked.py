"""Which lines of memory products and copies ask for ahead of reading them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from tensorop.bind import bind
from tensorop.jit.batch_abi import ItemsKernel
from tensorop.jit.builder import BYTE, POINTER, WORD, Code, Value
from tensorop.jit.compiler import load_object, object_code
from tensorop.jit.copy_abi import CopyKernel
from tensorop.jit.gemm_abi import GemmKernel
from tensorop.jit.generate import generate
from tensorop.jit.library import kernel_address
from tensorop.jit.lines import LINE
from tensorop.jit.stream_abi import StreamKernel
from tensorop.jit.target import current_target
from tensorop.runtime import run, scalars
from tensorop.schedule import Schedule

APART = 1 << 18  # bytes: what is asked for behind the end of one array is not yet in the next


def aligned(values: NDArray[Any]) -> NDArray[Any]:
    """float32 values from the beginning of a line on, far from others."""
    room = np.empty(values.size + (LINE + 2 * APART) // 4, np.float32)
    first = (-room.ctypes.data % LINE + APART) // 4
    room = room[first : first + values.size]
    room[:] = values
    return room


class Asked:
    """The lines of an operand that kernels ask for, as their code marks them.

    when: code of a number from 1 to 255 that a line is marked with when it is asked for first.
    """

    def __init__(
        self, operand: NDArray[Any], when: Callable[[Code], Value] = lambda code: code.int(1)
    ) -> None:
        self.operand, self.when = operand, when
        self.lines = np.zeros(operand.nbytes // LINE + 1, np.uint8)  # the last one: elsewhere

    def ask(self, code: Code, address: Value, *, near: bool = True, write: bool = False) -> None:
        """In place of `Code.prefetch`."""
        if near or write:
            return
        builder, elsewhere = code.builder, code.int(self.operand.nbytes // LINE)
        offset = code.sub(builder.ptrtoint(address, WORD), self.operand.ctypes.data)
        line = builder.udiv(offset, code.int(LINE))
        line = builder.select(builder.icmp_unsigned("<", line, elsewhere), line, elsewhere)
        marks = builder.inttoptr(code.int(self.lines.ctypes.data), POINTER)
        mark = code.at(marks, line)
        old, new = code.load(mark, BYTE), builder.trunc(self.when(code), BYTE)
        asked = builder.icmp_unsigned("!=", old, ir.Constant(BYTE, 0))
        code.store(builder.select(asked, old, new), mark)

    def of_products(
        self, schedule: Schedule, buffers: list[NDArray[Any]], shapes: tuple[int, int, int, int]
    ) -> list[int]:
        """The lines that a batch of dense products asks for; the products are to be right. shapes:
        how many there are, and the m, n and k of each."""
        items, m, n, k = shapes
        a, b = buffers[0].reshape(items, k, m), buffers[1].reshape(items, n, k)
        expected = np.matmul(b, a)
        with patch.object(Code, "prefetch", lambda code, *to, **how: self.ask(code, *to, **how)):
            self.execute(schedule, buffers)
        np.testing.assert_array_equal(buffers[2].reshape(items, n, m), expected)
        return [int(line) for line in np.flatnonzero(self.lines[:-1])]

    def execute(self, schedule: Schedule, buffers: list[NDArray[Any]]) -> None:
        """Run a schedule, its product, copy or stream compiled anew."""
        bound, named = bind(schedule, current_target())
        kernels = []
        for kernel in named:
            if isinstance(kernel, (CopyKernel, GemmKernel, ItemsKernel, StreamKernel)):
                code = object_code(generate(kernel, current_target()), current_target())
                names = load_object(code, current_target(), [kernel.name], {})
                kernels.append(names[kernel.name])
            else:
                kernels.append(kernel_address(kernel))
        one = buffers[0].dtype.type(1)
        run(bound.placed(kernels, 1, scalars(one, 0 * one)), *buffers)
