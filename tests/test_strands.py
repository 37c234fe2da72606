"""Sums of short rows that lie far apart: a few are read along together."""

import numpy as np
import pytest

import tensorop
from tensorop.ir import Dimension, DimType, Primitive, Tensor, TensorOp
from tensorop.optimizer.machine import host_machine
from tensorop.optimizer.pipeline import plan_stages
from tensorop.optimizer.strands import strands
from tensorop.schedule import Call, Loop


def sum_of(c: int, r: int, x: int, gap: int = 0) -> TensorOp:
    """out[r, x] = sum over c of in0[c, r, x] * in1[r, c], rows of in0 with a gap between them."""
    k = Dimension(DimType.K, c, (r * (x + gap), 1, 0))
    batch = Dimension(DimType.C, r, (x + gap, c, x))
    m = Dimension(DimType.M, x, (1, 0, 1))
    tensors = tuple(Tensor(name, "float64") for name in ("in0", "in1", "out"))
    return TensorOp(tensors, (k, batch, m), Primitive.GEMM)


MACHINE = host_machine()._replace(l1=1 << 12, l2=1 << 14, l3=1 << 20, streams=8, down=8)


@pytest.mark.parametrize(
    ("op", "there"),
    [
        (sum_of(20, 60, 18), True),
        (sum_of(20, 60, 18, gap=1), False),  # the loop does not go on where rows end
        (sum_of(40, 6, 60), False),  # it goes on for less than a page
        (sum_of(4, 40, 10), False),  # the caches that are near hold it
        (sum_of(99, 99, 99), False),  # memory does
    ],
)
def test_they_are_long_and_in_l3(op: TensorOp, there: bool) -> None:
    k, batch, m = op.dimensions
    assert (strands(op, k, m, [batch], MACHINE) == batch) is there
    assert strands(op, batch, m, [k], MACHINE) is None
    assert strands(op, k, None, [batch], MACHINE) is None


def test_the_loop_that_goes_on_is_inside_the_blocks_of_rows() -> None:
    (stage,) = plan_stages(sum_of(20, 60, 18), MACHINE, 1)
    steps = [step for _, step in stage.schedule.steps() if isinstance(step, Loop | Call)]
    rows, batch, _ = steps
    assert isinstance(rows, Loop) and (rows.axis, rows.block) == ("Y", 8)
    assert isinstance(batch, Loop) and (batch.axis, batch.block) == ("C0", 1)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int16"])
@pytest.mark.parametrize(("c", "r", "x"), [(161, 111, 54), (300, 203, 17), (1000, 100, 20)])
def test_sums(c: int, r: int, x: int, dtype: str, threads: int) -> None:
    """The whole way, of sizes that are in L3 where L2 is 1 or 2 MB."""
    rng = np.random.default_rng(c)
    a, b = (rng.integers(-9, 9, shape).astype(dtype) for shape in ((c, r, x), (r, c)))
    out = rng.integers(-9, 9, (r, x)).astype(dtype)
    expected = np.einsum("crx,rc->rx", a, b) + out
    result = tensorop.einsum("crx,rc->rx", a, b, out=out, beta=1, threads=threads)
    np.testing.assert_array_equal(result, expected)
