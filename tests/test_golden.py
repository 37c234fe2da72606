"""Generated text as text: schedules of representative contractions, and a kernel's LLVM IR.

They are made for a machine that is written down here, so they are the same everywhere. After a
change that is meant to change them: `pytest tests/test_golden.py --update-golden`, then read the
difference before it is committed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from tensorop.explain import describe
from tensorop.jit.gemm_abi import GemmKernel
from tensorop.jit.generate import generate
from tensorop.jit.target import Target
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.pipeline import plan_stages
from tensorop.program import Layout, Options, decide
from tensorop.spec import parse
from tests.conftest import GOLDEN

AVX512 = Target(
    name="avx512",
    triple="x86_64-unknown-linux-gnu",
    cpu="skylake-avx512",
    features="",
    vector_bytes=64,
    registers=32,
    fma=True,
    masked=frozenset({1, 2, 4, 8}),
    free_masks=True,
    half=True,
)
MACHINE = Machine(AVX512, l1=32 << 10, l2=1 << 20, l3=32 << 20)

# file: spec, shapes, dtype, threads
SCHEDULES = {
    "matmul": ("ij,jk->ik", [(1000, 1000), (1000, 1000)], "float32", 1),
    "matmul_two_threads": ("ij,jk->ik", [(1000, 1000), (1000, 1000)], "float64", 2),
    "small_matmul": ("ij,jk->ik", [(48, 64), (64, 80)], "float32", 1),
    "complex_matmul": ("ij,kj->ik", [(200, 300), (400, 300)], "complex64", 1),
    "attention": ("bqhd,bkhd->bhqk", [(4, 128, 8, 64), (4, 128, 8, 64)], "float32", 2),
    "coupled_cluster": ("dega,gfbc->abcdef", [(24, 20, 24, 20), (24, 20, 20, 24)], "float32", 1),
    "fastest_batch": ("ijb,jkb->ikb", [(3, 4, 4096), (4, 5, 4096)], "float32", 1),
    "matrix_times_vector": ("ij,j->i", [(2000, 3000), (3000,)], "float64", 1),
    "dot_product": ("i,i->", [(100_000,), (100_000,)], "float64", 1),
    "permutation": ("abcd->dbca", [(32, 48, 40, 64)], "float32", 2),
    "reduction": ("ijk->j", [(64, 500, 96)], "float32", 1),
    "chain": ("ij,jk,kl->il", [(60, 70), (70, 500), (500, 20)], "float64", 1),
}
KERNEL = GemmKernel("float32", vectors=1, columns=2, a="direct", b="direct")


def layout(shape: tuple[int, ...], dtype: str) -> Layout:
    """That of an array in C order."""
    item = np.dtype(dtype).itemsize
    strides = [item * math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    return shape, tuple(strides), np.dtype(dtype), True


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name: str, golden: Callable[[str, str], None]) -> None:
    spec, shapes, dtype, threads = SCHEDULES[name]
    layouts = [layout(shape, dtype) for shape in shapes]
    sizes = {
        label: size
        for term, shape in zip(spec.split("->")[0].split(","), shapes, strict=True)
        for label, size in zip(term, shape, strict=True)
    }
    result = tuple(sizes[label] for label in spec.split("->")[1])
    # With an `out`, so that a permutation is a copy and no view.
    program = decide(parse(spec), layouts, layout(result, dtype), Options())
    lines = [f"{spec}   {sizes}   {dtype}, {threads} thread{'s' if threads > 1 else ''}"]
    for step in program.steps:
        lines += ["", f"step {step.text}"]
        for stage in plan_stages(step.op, MACHINE, threads):
            stage.schedule.verify()
            lines += [f"  {line}" for line in describe(stage.schedule)]
    golden(f"{name}.txt", "\n".join(lines) + "\n")


def test_llvm_ir_of_a_kernel(golden: Callable[[str, str], None]) -> None:
    golden(f"{KERNEL.name}.ll", str(generate(KERNEL, AVX512)))


def test_every_golden_file_has_a_test() -> None:
    files = {file.name for file in GOLDEN.iterdir()}
    assert files == {f"{name}.txt" for name in SCHEDULES} | {f"{KERNEL.name}.ll"}
