"""Operations on temporaries as one plan: the same as their parts run one by one, in few steps."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorop
from tensorop import reference
from tensorop.bind_tables import TEMPORARIES
from tensorop.executable import Executable
from tensorop.ir import Primitive, TensorOp
from tensorop.linked import Linked
from tensorop.optimizer import realign as passes
from tensorop.optimizer.choice import MODEL, Choice
from tensorop.optimizer.layouts import Layouts
from tensorop.optimizer.machine import host_machine
from tensorop.optimizer.normalise import normalise
from tensorop.optimizer.realign import MOST_LINKED, Realigned
from tensorop.planning import executable_of
from tensorop.plans import plan_for
from tensorop.rearranged import Rearranged
from tensorop.runnable import Runnable
from tests.test_blocked import draw
from tests.test_realign import contraction, elementwise


def alone(op: TensorOp) -> Runnable:
    return plan_for(op, 1)


def linked(parts: Realigned, threads: int | None = 1) -> Executable:
    apart = Rearranged(parts, host_machine(), alone, alone)
    return Executable(parts.op, threads, Linked(parts, MODEL, lambda: apart), plan_for)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "complex64", "int32", "int8"])
def test_every_candidate_means_the_same(dtype: str, threads: int) -> None:
    rng, machine = np.random.default_rng(5), host_machine()
    moved = set()
    for i in range(16):
        op, buffers = (draw, elementwise)[i % 2](rng, dtype)
        op = normalise(op).op
        every = passes._candidates(op, range(3), machine)
        candidates = [c for c in every if c.links(machine)]
        for place in rng.permutation(len(candidates))[:4].tolist():
            plan = linked(candidates[place], threads)
            moved.add(tuple(sorted(candidates[place].orders)))
            for alpha, beta in ((None, None), (None, None), (3, None), (1, 1), (2, -1)):
                expected, arrays = ([b.copy() for b in buffers] for _ in range(2))
                reference.run(op, expected, alpha or 1, beta or 0)
                plan.run(arrays, alpha, beta)
                # Small integers: every sum is exact, in whatever order.
                np.testing.assert_array_equal(arrays[2], expected[2], err_msg=plan.note)
    assert {(0,), (1,), (2,)} <= moved and any(len(tensors) == 2 for tensors in moved)


def test_whatever_out_begins_at() -> None:
    """Rows of a large out are stored in whole lines, which are others wherever it begins."""
    op = normalise(contraction("mk,nk->mn", m=3072, n=3080, k=4)).op
    order = tuple(i for i, d in enumerate(op.dimensions) if d.strides[1])
    parts = Realigned(op, {1: min(order, order[::-1], key=lambda o: o != Layouts(op).lies(0))})
    plan = linked(parts)
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-9, 9, (n, 4)).astype("f4") for n in (3072, 3080))
    memory = np.empty(3072 * 3080 * 4 + 128, np.uint8)
    for at in (0, 16, 20, 64):
        first = -memory.ctypes.data % 64 + at
        out = memory[first : first + 3072 * 3080 * 4].view("f4").reshape(3072, 3080)
        out.fill(np.nan)
        plan.run((a, b, out))
        assert (out == a @ b.T).all(), at


def test_what_is_not_linked() -> None:
    machine = host_machine()
    large = normalise(contraction("ab,ba->ab", a=3000, b=3000)).op
    small = normalise(contraction("ab,ba->ab", a=300, b=300)).op
    half = normalise(contraction("ab,ba->ab", "float16", a=300, b=300)).op
    assert Realigned(small, {1: (0, 1)}).links(machine)
    assert not Realigned(large, {1: (0, 1)}).links(machine)
    assert not Realigned(half, {1: (0, 1)}).links(machine)
    orders = dict.fromkeys(range(3), (0, 1))
    assert not Realigned(small, orders).links(machine) and len(TEMPORARIES) == MOST_LINKED
    op = small._replace(last_touch=Primitive.RELU)
    assert not Realigned(op, {1: (0, 1)}).links(machine)


def moved() -> tuple[str, tuple[np.ndarray[Any, Any], ...]]:
    """A call that goes through a temporary on this machine."""
    rng = np.random.default_rng(1)
    for spec, *shapes in (
        ("abc,cba->a", (40, 50, 60), (60, 50, 40)),
        ("cdb,bac->da", (11, 24, 31), (31, 9, 11)),
        ("ab,ba->ba", (300, 200), (200, 300)),
    ):
        arrays = tuple(rng.integers(-9, 9, shape).astype("f4") for shape in shapes)
        if "temporaries" in tensorop.compile(spec, *arrays).explain():
            return spec, arrays
    pytest.skip("nothing is moved here")


def test_a_call_is_one_plan() -> None:
    spec, arrays = moved()
    plan = tensorop.compile(spec, *arrays)
    (executable,) = plan.executables
    assert isinstance(executable, Executable)
    with tensorop.threads(1):
        single = executable.single(1)
    assert single is not None and not single.scaled and single.plan.scratch_bytes
    exact = np.einsum(spec, *(a.astype("f8") for a in arrays))
    out = np.zeros(exact.shape, "f4")
    for _ in range(9):  # from the third call on by generated code
        assert (plan(*arrays) == exact).all()
        assert (tensorop.einsum(spec, *arrays, out=out) == exact).all()
        assert plan(*arrays, out=out, alpha=2.0, beta=-1.0) is out and (out == exact).all()


PROGRAM = """
import sys
import numpy as np, tensorop
spec, shapes = sys.argv[1], [tuple(map(int, x.split(","))) for x in sys.argv[2:]]
arrays = [np.arange(np.prod(s), dtype="f4").reshape(s) % 7 for s in shapes]
out = tensorop.einsum(spec, *arrays)
print((out == np.einsum(spec, *[a.astype("f8") for a in arrays])).all())
print("tensorop.planning" in sys.modules)
print((tensorop.einsum(spec, *arrays, out=out, alpha=2, beta=1)
       == 3 * np.einsum(spec, *[a.astype("f8") for a in arrays])).all())
"""


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64",
    reason="kernels are not found on disk by their description",
)
def test_it_is_kept_on_disk(tmp_path: Path) -> None:
    spec, arrays = moved()
    shapes = [",".join(map(str, a.shape)) for a in arrays]
    settings = {"TENSOROP_CACHE": "1", "TENSOROP_CACHE_DIR": str(tmp_path)}
    printed = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM, spec, *shapes],
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for _ in range(2)
    ]
    assert printed == [["True", "True", "True"], ["True", "False", "True"]]


def test_a_search_times_linked_plans() -> None:
    op = normalise(contraction("ab,ba->ab", a=100, b=90)).op
    choice = Choice(orders=((1, (0, 1)),))
    made = executable_of(op, 1, plan_for, choice=choice)
    assert isinstance(made, Executable) and made.single(1) is not None
    a, b, out = np.arange(9000.0, dtype="f4"), np.arange(9000.0, dtype="f4"), np.zeros(9000, "f4")
    made.run((a, b, out))
    assert (out.reshape(100, 90) == a.reshape(100, 90) * b.reshape(90, 100).T).all()
