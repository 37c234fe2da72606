"""GEMM kernels alone, in percent of the arithmetic peak measured in turn with them.

Usage: python bench/kernel_gemm.py [WORD ...]      (rows whose name contains every word)

Columns: GF/s and percent of the peak (medians of interleaved rounds), milliseconds to generate and
compile. `l1`: one tile of C, operands in the first-level cache; `l2`: a block as the five loops of
a matrix product see it; `t2`: 32x32x32 blocks, batch-reduce over 8, operands where they lie.
"""

from __future__ import annotations

import ctypes
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from llvmlite import ir

from tensorop.config import CACHE
from tensorop.jit.abi import CallRecord, Frame
from tensorop.jit.builder import POINTER, VOID, WORD, Code
from tensorop.jit.elements import element
from tensorop.jit.gemm_abi import GemmKernel, GemmWord
from tensorop.jit.kernel import Kernel
from tensorop.jit.library import kernel_address, load_kernel, load_linked
from tensorop.jit.peak import PeakKernel
from tensorop.jit.slots import AxisSlot, Slot
from tensorop.jit.target import Target, current_target
from tensorop.jit.tiles import choose_tile, tiles

SECONDS = 0.0005  # of one timed batch
ROUNDS = 41


def repeater(target: Target) -> Callable[[int, int, int, int], None]:
    """repeat(kernel, descriptor, frame, count): so that no Python lies between the calls."""
    type_ = ir.FunctionType(VOID, [POINTER, POINTER, POINTER, WORD])
    code = Code(target, "repeat", type_, arguments=("kernel", "descriptor", "frame", "count"))
    kernel, descriptor, frame, count = code.function.args
    with code.loop(count):
        code.call_address(kernel, VOID, [descriptor, frame])
    address = load_linked(code.finish, target, ["repeat"])["repeat"]
    pointer = ctypes.c_void_p
    return ctypes.CFUNCTYPE(None, pointer, pointer, pointer, ctypes.c_int64)(address)


@dataclass
class Problem:
    """A kernel, and the sizes of the block that it is timed on."""

    name: str
    kernel: GemmKernel
    m: int
    n: int
    k: int
    br: int = 1
    one_panel: bool = False  # every column panel of B is the same one
    adds: bool = True  # to what C holds

    def flops(self) -> int:
        products = self.m * self.n * self.k * self.br
        return products * (8 if element(self.kernel.dtype).parts == 2 else 2)


def aligned(count: int) -> np.ndarray:
    """Zeroed bytes at a 64-byte boundary."""
    memory = np.zeros(count + 64, np.uint8)
    return memory[-memory.ctypes.data % 64 :][:count]


Run = Callable[[int], float]  # the seconds of so many calls


def timed(kernel: Kernel, words: np.ndarray, frame: np.ndarray, target: Target) -> Run:
    address, repeat = kernel_address(kernel, target), repeater(target)

    def run(count: int) -> float:
        start = time.perf_counter()
        repeat(address, words.ctypes.data, frame.ctypes.data, count)
        return time.perf_counter() - start

    return run


def prepare(problem: Problem, target: Target) -> tuple[Run, object]:
    """The kernel on operands that fit the caches, and what must be kept alive."""
    kernel, size = problem.kernel, element(problem.kernel.dtype).size
    mr, nr = kernel.rows(target), kernel.columns
    m, n, k, br = (problem.m, problem.n, problem.k, problem.br)
    a = aligned((m + mr) * k * br * size)
    b = aligned((n + nr) * k * br * size)
    c = aligned(m * n * size)
    table = np.arange(n, dtype=np.int64) * m * size
    words = np.zeros(GemmWord.WORDS, np.int64)
    words[GemmWord.A_SLOT] = Slot.IN0 if kernel.a == "direct" else Slot.PACK0
    words[GemmWord.B_SLOT] = Slot.IN1 if kernel.b == "direct" else Slot.PACK1
    words[GemmWord.C_SLOT] = Slot.OUT
    words[GemmWord.A_PANEL] = mr * k * size
    words[GemmWord.B_PANEL] = 0 if problem.one_panel else nr * k * size
    words[GemmWord.A_K], words[GemmWord.A_BR] = m * size, m * k * size
    words[GemmWord.B_K], words[GemmWord.B_N], words[GemmWord.B_BR] = size, k * size, n * k * size
    words[GemmWord.C_N_TABLE] = table.ctypes.data
    rows = np.arange(m, dtype=np.int64) * size
    words[GemmWord.C_M_TABLE] = rows.ctypes.data
    call = np.zeros(CallRecord.WORDS, np.int64)
    frame = np.zeros(Frame.WORDS, np.int64)
    frame[Frame.FIRST] = not problem.adds
    frame[[words[GemmWord.A_SLOT], words[GemmWord.B_SLOT]]] = a.ctypes.data, b.ctypes.data
    frame[[Slot.OUT, Frame.CALL]] = c.ctypes.data, call.ctypes.data
    frame[Frame.SIZE + AxisSlot.M : Frame.SIZE + AxisSlot.BR + 1] = m, n, k, br
    return timed(kernel, words, frame, target), (a, b, c, table, rows, call)


def measure(problem: Problem, target: Target) -> str:
    start = time.perf_counter()
    with CACHE(0):
        load_kernel(problem.kernel, target)
    compiled = time.perf_counter() - start
    run, _kept = prepare(problem, target)
    dtype = element(problem.kernel.dtype).accumulator.real.name
    roof_kernel, iterations = PeakKernel(dtype), 1000
    vectors = aligned(2 * target.vector_bytes)
    roof_words = np.array([iterations, vectors.ctypes.data], np.int64)
    run_roof = timed(roof_kernel, roof_words, roof_words, target)
    roof_flops = roof_kernel.flops(target) * iterations
    run(3)
    count = max(1, int(SECONDS / run(10) * 10))
    roof_count = max(1, int(SECONDS / run_roof(10) * 10))
    rates, ratios = [], []
    for _ in range(ROUNDS):
        roofs = [roof_flops * roof_count / run_roof(roof_count) / 1e9]
        rates.append(problem.flops() * count / run(count) / 1e9)
        roofs.append(roof_flops * roof_count / run_roof(roof_count) / 1e9)
        ratios.append(rates[-1] / statistics.mean(roofs))
    rate, ratio = statistics.median(rates), statistics.median(ratios)
    return f"{problem.name:36s} {rate:8.1f} GF/s {100 * ratio:6.1f} %  {1e3 * compiled:6.1f} ms"


def problems(target: Target) -> list[Problem]:
    found = []
    for dtype in ("float32", "float64", "complex64"):
        kind = element(dtype)
        for tile in tiles(target, kind)[: 3 // kind.parts]:
            kernel = GemmKernel(dtype, *tile)
            mr, columns = kernel.rows(target), tile.columns
            label = f"{dtype} {tile.vectors}x{columns} packed"
            depth = min(256, 24576 // (kind.size * (mr + columns)))
            found.append(Problem(f"{label} l1", kernel, mr, 20 * columns, depth, one_panel=True))
            found.append(Problem(f"{label} l2", kernel, 3 * mr, 20 * columns, 256))
            found.append(Problem(f"{label} l2 big", kernel, 8 * mr, 20 * columns, 256))
    tile = choose_tile(target, element("float32"), 32, 32)
    label = f"float32 {tile.vectors}x{tile.columns} direct"
    kernel = GemmKernel("float32", *tile, "direct", "direct", batch_reduce=True)
    found.append(Problem(f"{label} t2", kernel, 32, 32, 32, 8))
    kernel = GemmKernel("float32", *tile, "direct", "direct")
    found.append(Problem(f"{label} 32^3", kernel, 32, 32, 32))
    return found


def main(words: list[str]) -> None:
    target = current_target()
    for problem in problems(target):
        if all(word in problem.name for word in words):
            print(measure(problem, target), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
