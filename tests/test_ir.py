"""The invariants of the intermediate representation, each broken once."""

from __future__ import annotations

import pytest

from tensorop.ir import Dimension, DimType, ExecType, Primitive, Tensor, TensorOp
from tensorop.schedule import Axis, Loop, Pack, Schedule

T = DimType
THREE = tuple(Tensor(role, "float32") for role in ("in0", "in1", "out"))
TWO = (THREE[0], THREE[2])
M = Dimension(T.M, 4, (1, 0, 1), name="m")
N = Dimension(T.N, 5, (0, 6, 4), name="n")
K = Dimension(T.K, 6, (4, 1, 0), name="k")
MATMUL = TensorOp(THREE, (M, N, K), Primitive.GEMM)


def test_a_matrix_product() -> None:
    MATMUL.verify()
    assert MATMUL.out == 2
    assert MATMUL.dtype == "float32"
    assert MATMUL.flops == 2 * 4 * 5 * 6
    assert MATMUL.size_of(T.M) == M.size
    assert MATMUL.size_of(T.C) == 1
    assert MATMUL.of_type(T.N) == (N,)


def test_flops() -> None:
    complex_tensors = tuple(t._replace(dtype="complex64") for t in THREE)
    assert MATMUL._replace(tensors=complex_tensors).flops == 8 * 120
    one = TensorOp(TWO, (Dimension(T.C, 7, (1, 1)),), Primitive.RELU)
    assert one.flops == 7
    assert one._replace(main=Primitive.COPY).flops == 0


def test_names_are_no_part_of_a_dimension() -> None:
    assert M._replace(name="other") == M


@pytest.mark.parametrize(
    ("op", "message"),
    [
        (MATMUL._replace(tensors=THREE[2:]), "2 or 3 tensors, not 1"),
        (MATMUL._replace(tensors=THREE[::-1]), "last tensor must be the output"),
        (MATMUL._replace(dimensions=(M._replace(size=0),)), r"dimension 0 \(M, m\): size 0"),
        (MATMUL._replace(dimensions=(M, N._replace(strides=(0, 1)))), "2 strides for 3 tensors"),
        (MATMUL._replace(dimensions=(M._replace(strides=(1, 1, 1)),)), "no stride in in1, got 1"),
        (MATMUL._replace(dimensions=(N._replace(strides=(2, 1, 1)),)), "no stride in in0, got 2"),
        (MATMUL._replace(dimensions=(K._replace(strides=(1, 1, 3)),)), "no stride in out, got 3"),
        (MATMUL._replace(dimensions=(M._replace(strides=(1, 0, 0)),)), "out has stride 0"),
        (TensorOp(TWO, (Dimension(T.M, 2, (1, 1)),), Primitive.COPY), "has only C and K"),
        (MATMUL._replace(main=Primitive.RELU), "relu is no primitive for 2 input"),
        (TensorOp(TWO, (), Primitive.GEMM), "gemm is no primitive for 1 input"),
        (TensorOp(TWO, (Dimension(T.K, 2, (1, 0)),), Primitive.RELU), "takes no K"),
        (MATMUL._replace(main=Primitive.ADD), "takes no K|takes M, N and C, not K"),
        (MATMUL._replace(main=Primitive.MIN), "takes M, N and C, not K"),
    ],
)
def test_verify_names_what_is_broken(op: TensorOp, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        op.verify()


def test_a_repeated_single_output_is_no_overlap() -> None:
    MATMUL._replace(dimensions=(Dimension(T.M, 1, (0, 0, 0)),)).verify()


def axis(*dims: tuple[int, tuple[int, ...]]) -> Axis:
    return Axis("M", T.M, tuple(Dimension(T.M, n, s) for n, s in dims))


def test_axis_strides() -> None:
    fused = axis((3, (20, 0, 5)), (5, (4, 0, 1)))
    assert fused.size == 15
    assert [fused.stride(t) for t in range(3)] == [4, 0, 1]
    broken = axis((3, (21, 0, 5)), (5, (4, 0, 1)))
    assert broken.stride(0) is None
    assert broken.stride(2) == 1
    assert axis((1, (9, 9, 9))).stride(0) == 0
    assert axis((3, (2, 0, 2)), (1, (7, 0, 7))).stride(0) == 2


def test_axis_unit_run() -> None:
    assert axis((3, (5, 0, 5)), (5, (1, 0, 1))).unit_run(0) == 15
    assert axis((3, (6, 0, 5)), (5, (1, 0, 1))).unit_run(0) == 5
    assert axis((3, (5, 0, 5)), (5, (2, 0, 1))).unit_run(0) == 1
    assert axis((3, (5, 0, 5)), (1, (9, 0, 9)), (5, (1, 0, 1))).unit_run(0) == 15
    assert axis((3, (40, 0, 5)), (5, (8, 0, 1))).even_run(0, 8) == 15
    assert axis((3, (41, 0, 5)), (5, (8, 0, 1))).even_run(0, 8) == 5


AXES = tuple(Axis(d.type.value, d.type, (d,)) for d in (M, N, K))


def schedule(*body: object) -> Schedule:
    return Schedule(MATMUL, AXES, body)  # type: ignore[arg-type]


def test_schedule_steps_and_axes() -> None:
    inner = Loop("M", 2, ExecType.SEQ, ())
    nest = schedule(Loop("N", 5, ExecType.SHARED, (inner,)))
    nest.verify()
    assert [(depth, step.axis) for depth, step in nest.steps() if isinstance(step, Loop)] == [
        (0, "N"),
        (1, "M"),
    ]
    assert nest.axis("K") is AXES[2]
    with pytest.raises(KeyError, match="no axis 'Q'"):
        nest.axis("Q")


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (schedule(Loop("Q", 1, ExecType.SEQ, ())), "'Q', which is no axis"),
        (schedule(Loop("M", 5, ExecType.SEQ, ())), "block 5 of 4"),
        (schedule(Loop("M", 0, ExecType.SEQ, ())), "block 0 of 4"),
        (schedule(Loop("M", 2, ExecType.SEQ, (Loop("M", 3, ExecType.SEQ, ()),))), "block 3 of 2"),
        (schedule(Pack(0, "M", 16, "Q")), "M, Q that do not exist"),
        (schedule()._replace(axes=(*AXES, AXES[0])), "share a name"),
        (schedule()._replace(axes=AXES[:2]), "exactly the operation's dimensions"),
        (
            schedule()._replace(axes=(Axis("M", T.M, (M, N)), AXES[2])),
            "axis M mixes dimension types",
        ),
        (
            schedule()._replace(axes=(AXES[0]._replace(turned=(1, 3)), *AXES[1:])),
            "axis M is turned in parts",
        ),
    ],
)
def test_schedule_verify_names_what_is_broken(broken: Schedule, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        broken.verify()
