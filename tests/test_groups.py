"""Products of groups of steps of K, on machines that have the instruction: the same as any others.

Pairs of bfloat16 to the rounding of float32; quads of bytes to the bit, as numpy's wrapping int32.
"""

from __future__ import annotations

from itertools import product

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensorop
from tensorop.ir import Dimension, DimType, Primitive, Tensor, TensorOp
from tensorop.jit import target as target_module
from tensorop.jit.gemm_abi import MATRIX_TILE, GemmKernel
from tensorop.jit.generate import generate
from tensorop.jit.matrix_state import may_use_matrices
from tensorop.jit.target import current_target, host_targets
from tensorop.optimizer.groups import multiplies_bytes
from tensorop.optimizer.machine import host_machine
from tensorop.schedule import Call
from tests.fences import Fenced, Layout

TARGET = current_target()
needs_pairs = pytest.mark.skipif(
    not (TARGET.bfloat_pairs or "bfloat16" in TARGET.matrices),
    reason="no instruction multiplies pairs of bfloat16 here",
)
needs_matrices = pytest.mark.skipif(not TARGET.matrices, reason="no registers hold matrices here")
needs_quads = pytest.mark.skipif(
    not current_target().byte_quads, reason="no instruction multiplies quads of bytes here"
)
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
EPS = float(ml_dtypes.finfo(BFLOAT16).eps)
BYTES = ("int8", "uint8")
SIGNS = list(product(BYTES, BYTES))
LAYOUTS = ("ik,kj->ij", "ki,kj->ij", "ik,jk->ij", "ki,jk->ij", "ki,kj->ji")


def in_groups(plan: tensorop.Plan) -> bool:
    """Whether the matrix product of a plan goes by groups."""
    steps = [step for schedule in plan.schedules for _, step in schedule.steps()]
    return any(isinstance(s, Call) and getattr(s.kernel, "inputs", ()) for s in steps)


def shapes_of(spec: str, **sizes: int) -> list[tuple[int, ...]]:
    terms = spec.split("->")[0].split(",")
    return [tuple(sizes[label] for label in term) for term in terms]


# pairs of bfloat16


def drawn(rng: np.random.Generator, shape: tuple[int, ...], order: str = "C") -> np.ndarray:
    return np.asarray(rng.random(shape) * 2 - 1, order=order).astype(BFLOAT16)


def check(spec: str, *operands: np.ndarray, threads: int = 1) -> None:
    with tensorop.threads(threads):
        got = tensorop.einsum(spec, *operands).astype(np.float64)
    wide = [operand.astype(np.float64) for operand in operands]
    exact = np.einsum(spec, *wide, optimize=True)
    size = np.einsum(spec, *map(np.abs, wide), optimize=True)
    summed = operands[0].size * operands[1].size
    bound = EPS * np.abs(exact) + (np.sqrt(summed) + 8) * float(np.finfo(np.float32).eps) * size
    assert (np.abs(got - exact) <= bound).all()


@needs_pairs
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("k", [2, 64, 200, 301])
@pytest.mark.parametrize("spec", LAYOUTS)
def test_every_layout(spec: str, k: int, threads: int) -> None:
    rng = np.random.default_rng(k)
    shapes = shapes_of(spec, i=211, j=173, k=k)
    check(spec, *(drawn(rng, shape) for shape in shapes), threads=threads)
    plan = tensorop.compile(spec, *shapes, dtypes="bfloat16", threads=1)
    if k > 100:
        assert in_groups(plan)


@needs_pairs
@pytest.mark.parametrize(
    ("spec", "shapes"),
    [
        ("bik,bkj->bij", [(3, 150, 90), (3, 90, 120)]),
        ("abcd,cdef->abef", [(9, 11, 12, 14), (12, 14, 10, 13)]),
        ("acbd,dcef->abef", [(9, 12, 11, 14), (14, 12, 10, 13)]),  # pairs across dimensions
        ("cdab,efcd->abef", [(12, 14, 9, 11), (10, 13, 12, 14)]),
        ("acb,cde->abde", [(30, 33, 20), (33, 11, 40)]),
    ],
)
def test_several_dimensions(spec: str, shapes: list[tuple[int, ...]]) -> None:
    rng = np.random.default_rng(0)
    for threads in (1, 2):
        check(spec, *(drawn(rng, shape) for shape in shapes), threads=threads)


@needs_pairs
@pytest.mark.parametrize("k", [96, 97])
def test_views_and_edges(k: int) -> None:
    rng = np.random.default_rng(1)
    left, right = drawn(rng, (2 * k, 131)), drawn(rng, (k, 3 * 127))
    check("ki,kj->ij", left[::2, 3:], right[:, ::3])
    check("ki,kj->ij", left[::-2, 3:], right[:, :127])
    check("ik,kj->ij", left[:k].T, right[:, 100:101])


@needs_pairs
def test_small_integers_are_exact() -> None:
    rng = np.random.default_rng(2)
    left, right = (rng.integers(-2, 3, shape).astype(BFLOAT16) for shape in ((90, 63), (63, 70)))
    exact = left.astype(np.int64) @ right.astype(np.int64)
    got = tensorop.matmul(np.ascontiguousarray(left.T).T, right)
    np.testing.assert_array_equal(got.astype(np.float32), exact.astype(BFLOAT16).astype("f4"))


@needs_pairs
@pytest.mark.parametrize("k", [99, 100])
def test_what_is_not_finite_stays_where_it_is(k: int) -> None:
    left, right = np.ones((130, k), BFLOAT16), np.ones((k, 70), BFLOAT16)
    left[3, k - 1], left[4, 0], right[7, 5] = np.nan, np.inf, np.nan
    with np.errstate(invalid="ignore"):
        expected = left.astype("f4") @ right.astype("f4")
    np.testing.assert_array_equal(tensorop.matmul(left, right).astype("f4"), expected)


@needs_pairs
def test_updates_and_epilogues() -> None:
    rng = np.random.default_rng(3)
    left, right, out = (drawn(rng, shape) for shape in ((100, 80), (80, 90), (100, 90)))
    before = out.astype(np.float64)
    product = left.astype(np.float64) @ right.astype(np.float64)
    tensorop.einsum("ik,kj->ij", left, right, out=out, alpha=2.0, beta=0.5)
    expected = 2 * product + 0.5 * before
    np.testing.assert_allclose(out.astype(np.float64), expected, rtol=2 * EPS, atol=1e-4)


# matrices in registers

DEPTHS = (*range(28, 36), *range(60, 68), *range(124, 132), 255, 257, 511, 513, 999, 1023)  # of K


@needs_matrices
@given(
    st.sampled_from(LAYOUTS),
    st.sampled_from(["bfloat16", *SIGNS]),
    st.tuples(*[st.integers(1, 100)] * 2, st.sampled_from(DEPTHS) | st.integers(2, 140)),
    st.integers(0, 2**32),
)
def test_matrices_of_any_size(
    spec: str, dtypes: str | tuple[str, str], sizes: tuple[int, int, int], seed: int
) -> None:
    """Several rows or one of tiles, one matrix or four, whole lines of K, segments, and what is
    left; also beside panels of which nothing has been written."""
    rng = np.random.default_rng(seed)
    shapes = shapes_of(spec, **dict(zip("ijk", sizes, strict=True)))
    if dtypes == "bfloat16":
        check(spec, *(drawn(rng, shape) for shape in shapes), threads=int(rng.integers(1, 3)))
        return
    first, second = (bytes_(rng, *each) for each in zip(dtypes, shapes, strict=True))
    got = tensorop.einsum(spec, first, second, dtype="int32")
    np.testing.assert_array_equal(got, exact(spec, first, second))


@needs_matrices
def test_matrices_are_what_products_of_their_dtypes_are_made_of() -> None:
    for dtype, out in (("bfloat16", None), ("int8", "int32")):
        plan = tensorop.compile("ik,kj->ij", (90, 80), (80, 70), dtypes=dtype, dtype=out, threads=1)
        assert "_matrices" in plan.explain()


@pytest.mark.parametrize("dtypes", SIGNS, ids="-".join)
@pytest.mark.parametrize("spec", LAYOUTS)
def test_quads_where_no_registers_hold_matrices(
    spec: str, dtypes: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = host_machine()._replace(target=TARGET._replace(matrices=()))
    for module in ("planning", "optimizer.machine"):
        monkeypatch.setattr(f"tensorop.{module}.host_machine", lambda: machine)
    tensorop.cache_clear()
    rng, shapes = np.random.default_rng(5), shapes_of(spec, i=70, j=93, k=301)
    check_bytes(spec, *(bytes_(rng, *each) for each in zip(dtypes, shapes, strict=True)))
    plan = tensorop.compile(spec, *shapes, dtypes=dtypes, dtype="int32", threads=1)
    assert "_matrices" not in plan.explain()
    tensorop.cache_clear()


def test_leave_to_use_matrices_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    has = {"amx-tile", "amx-bf16", "amx-int8"}
    for leave, dtypes in ((True, ("bfloat16", "int8", "uint8")), (False, ())):
        monkeypatch.setattr(target_module, "may_use_matrices", lambda leave=leave: leave)
        assert target_module._matrices(has) == dtypes
        assert not target_module._matrices(has - {"amx-tile"})
    assert isinstance(may_use_matrices(), bool)


# quads of bytes


def bytes_(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Any, most of them at the ends of their range."""
    ends = np.iinfo(dtype)
    values = rng.integers(ends.min, ends.max, shape, dtype, endpoint=True)
    far = rng.choice(np.array([ends.min, ends.max], dtype), shape)
    return np.where(rng.random(shape) < 0.6, far, values)


def exact(spec: str, *operands: np.ndarray, dtype: str = "int32") -> np.ndarray:
    wide = [operand.astype(np.int64) for operand in operands]
    return np.einsum(spec, *wide, optimize=True).astype(dtype)


def check_bytes(spec: str, *operands: np.ndarray, quads: bool = True) -> None:
    """Exact on one thread and two, and by the instruction or not."""
    for threads in (1, 2):
        got = tensorop.einsum(spec, *operands, dtype="int32", threads=threads)
        assert got.dtype == np.int32
        np.testing.assert_array_equal(got, exact(spec, *operands))
    plan = tensorop.compile(spec, *operands, dtype="int32", threads=1)
    assert in_groups(plan) == (quads and current_target().byte_quads)


@pytest.mark.parametrize("k", [2, 3, 4, 5, 64, 301, 1002, 2999])
@pytest.mark.parametrize("dtypes", SIGNS, ids="-".join)
@pytest.mark.parametrize("spec", LAYOUTS)
def test_bytes_in_every_layout(spec: str, dtypes: tuple[str, str], k: int) -> None:
    rng = np.random.default_rng(k)
    shapes = shapes_of(spec, i=211, j=93, k=k)
    check_bytes(spec, *(bytes_(rng, *each) for each in zip(dtypes, shapes, strict=True)))


@given(
    st.sampled_from(LAYOUTS),
    st.sampled_from(SIGNS),
    st.tuples(*[st.integers(2, 130)] * 3),
    st.tuples(*[st.tuples(st.sampled_from([1, 1, 2, -1, -3]), st.booleans())] * 3),
    st.integers(0, 2**32),
)
def test_bytes_of_any_size_and_strides(
    spec: str,
    dtypes: tuple[str, str],
    sizes: tuple[int, int, int],
    lies: tuple[tuple[int, bool], ...],
    seed: int,
) -> None:
    """Beside pages that must not be touched."""
    rng = np.random.default_rng(seed)
    shapes = shapes_of(spec, **dict(zip("ijk", sizes, strict=True)))
    layouts = [Layout((0, 1), step, at_end) for step, at_end in lies]
    values = [bytes_(rng, *each) for each in zip(dtypes, shapes, strict=True)]
    first, second = map(Fenced, values, layouts[:2])
    check_bytes(spec, first.array, second.array)
    expected = exact(spec, *values)
    out = Fenced(np.zeros_like(expected), layouts[2])
    tensorop.einsum(spec, first.array, second.array, out=out.array)
    np.testing.assert_array_equal(out.array, expected)
    assert out.is_whole()


@pytest.mark.parametrize("dtypes", SIGNS, ids="-".join)
@pytest.mark.parametrize(
    ("spec", "shapes"),
    [
        ("bik,bkj->bij", [(3, 50, 90), (3, 90, 70)]),
        ("bik,bkj->bij", [(40, 16, 19), (40, 19, 18)]),
        ("abcd,cdef->abef", [(9, 11, 12, 14), (12, 14, 10, 13)]),
        ("acbd,dcef->abef", [(9, 12, 11, 14), (14, 12, 10, 13)]),  # quads across dimensions
        ("acbd,dcef->aebf", [(9, 12, 11, 13), (13, 12, 10, 7)]),
        ("cdab,efcd->abef", [(12, 14, 9, 11), (10, 13, 12, 14)]),
        ("acb,cde->abde", [(30, 33, 20), (33, 11, 40)]),
        ("ij,kj->ik", [(1, 1), (1, 1)]),
        ("kki,kj->ij", [(45, 45, 20), (45, 30)]),  # a diagonal
    ],
)
def test_bytes_of_several_dimensions(
    spec: str, shapes: list[tuple[int, ...]], dtypes: tuple[str, str]
) -> None:
    rng = np.random.default_rng(0)
    operands = [bytes_(rng, *each) for each in zip(dtypes, shapes, strict=True)]
    check_bytes(spec, *operands, quads=shapes[0] != (1, 1))


@pytest.mark.parametrize(
    ("spec", "shapes"),
    [
        ("bik,bkj->bij", [(100, 8, 8), (100, 8, 8)]),  # a batch of small ones
        ("ikb,kjb->ijb", [(30, 40, 50), (40, 30, 50)]),  # consecutive along the batch
        ("ik,k->i", [(100, 90), (90,)]),
        ("i,j->ij", [(100,), (90,)]),
        ("ik,kj->ij", [(3, 40000), (40000, 5)]),  # a longer sum than tables hold
    ],
)
def test_other_products_of_bytes_are_cast_before(spec: str, shapes: list[tuple[int, ...]]) -> None:
    rng = np.random.default_rng(1)
    check_bytes(spec, *(bytes_(rng, "int8", shape) for shape in shapes), quads=False)


@needs_quads
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("spec", ["hi,i->h", "i,ih->h", "hi,bi->hb", "bi,ih->bh", "i,i->"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_a_matrix_of_bytes_times_a_vector_is_not_cast(dtype: str, spec: str, threads: int) -> None:
    rng, info = np.random.default_rng(threads), np.iinfo(dtype)
    for h, i in ((70, 64), (301, 77), (5, 4000), (4000, 5), (1000, 1031)):
        sizes = {"b": 1, "h": h, "i": 5000 if spec == "i,i->" else i}
        shapes = [[sizes[label] for label in term] for term in spec.split("->")[0].split(",")]
        a, b = (rng.integers(info.min, info.max, s, dtype, endpoint=True) for s in shapes)
        plan = tensorop.compile(spec, a, b, dtype="int32", threads=threads)
        assert "is copied" not in plan.explain() and f"gemm_{dtype}_int32" in plan.explain()
        expected = np.einsum(spec, a, b, dtype=np.int32)
        np.testing.assert_array_equal(plan(a, b), expected)
        out = np.full_like(expected, 3)[...]
        plan(a, b, out=out, alpha=-2, beta=5)
        np.testing.assert_array_equal(out, 15 - 2 * expected)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtypes", SIGNS, ids="-".join)
def test_long_sums_of_bytes_wrap(dtypes: tuple[str, str], threads: int) -> None:
    """Several blocks of K, and more than 2^31 in sum."""
    k = 32767
    far = [np.iinfo(dtype).min or 255 for dtype in dtypes]
    left, right = np.full((64, k), far[0], dtypes[0]), np.full((k, 40), far[1], dtypes[1])
    left = np.concatenate([left, bytes_(np.random.default_rng(0), dtypes[0], (100, k))])
    got = tensorop.matmul(left, right, dtype="int32")
    np.testing.assert_array_equal(got, exact("ik,kj->ij", left, right))
    with tensorop.threads(threads):
        total = tensorop.einsum("ik,kj->ij", left, right, dtype="int32", alpha=3)
    np.testing.assert_array_equal(total, 3 * exact("ik,kj->ij", left, right))


@pytest.mark.parametrize("dtypes", SIGNS, ids="-".join)
def test_updates_of_sums_of_bytes(dtypes: tuple[str, str]) -> None:
    rng = np.random.default_rng(3)
    left, right = bytes_(rng, dtypes[0], (157, 83)), bytes_(rng, dtypes[1], (83, 91))
    out = rng.integers(-(2**31), 2**31, (157, 2 * 91), np.int32)[:, ::2]
    for given_out in (out, np.asfortranarray(out)):
        expected = (7 * exact("ik,kj->ij", left, right) - 5 * given_out).astype(np.int32)
        options = {"dtype": "int32", "alpha": 7, "beta": -5}
        tensorop.einsum("ik,kj->ij", left, right, out=given_out, **options)
        np.testing.assert_array_equal(given_out, expected)


def test_sums_of_bytes_are_cast_as_numpys_are() -> None:
    rng = np.random.default_rng(4)
    left, right = bytes_(rng, "uint8", (60, 50)), bytes_(rng, "uint8", (50, 40))
    expected = exact("ik,kj->ij", left, right, dtype="uint32")
    np.testing.assert_array_equal(tensorop.matmul(left, right, dtype="uint32"), expected)
    signed = left.view(np.int8)
    with pytest.raises(TypeError, match="cast"):
        tensorop.einsum("ik,kj->ij", signed, right, dtype="uint32")
    got = tensorop.einsum("ik,kj->ij", signed, right, dtype="uint32", casting="unsafe")
    np.testing.assert_array_equal(got, exact("ik,kj->ij", signed, right, dtype="uint32"))
    out = np.zeros((60, 40), np.int32)
    np.testing.assert_array_equal(
        tensorop.einsum("ik,kj->ij", signed, signed[:50, :40], out=out),
        exact("ik,kj->ij", signed, signed[:50, :40]),
    )


def test_only_the_targets_own_instruction_speaks_for_bytes() -> None:
    dims = (
        Dimension(DimType.M, 64, (64, 0, 64)),
        Dimension(DimType.N, 64, (0, 1, 1)),
        Dimension(DimType.K, 64, (1, 64, 0)),
    )
    tensors = (Tensor("in0", "int8"), Tensor("in1", "uint8"), Tensor("out", "int32"))
    op = TensorOp(tensors, dims, Primitive.GEMM)
    for target in host_targets():
        machine = host_machine()._replace(target=target)
        assert multiplies_bytes(op, machine) == target.byte_quads


def test_kernels_of_groups_are_for_their_dtypes_and_targets() -> None:
    for target in host_targets():
        refused = [("float16", "float16"), ("uint32", "int16")]
        refused += [] if target.bfloat_pairs else [("bfloat16", "bfloat16")]
        refused += [] if target.byte_quads else [("uint32", "int8")]
        for dtype, given_in in refused:
            with pytest.raises(ValueError, match="no groups"):
                generate(GemmKernel(dtype, 1, 4, inputs=(given_in, given_in)), target)
        with pytest.raises(ValueError, match=r"no (matrices of|tile of matrices)"):
            kernel = GemmKernel("int32", 1, 4, inputs=("int8", "int8"), matrices=True)
            generate(kernel, target)
        if not target.matrices:
            with pytest.raises(ValueError, match="no matrices of bfloat16 and bfloat16"):
                inputs = ("bfloat16", "bfloat16")
                generate(GemmKernel("bfloat16", *MATRIX_TILE, inputs=inputs, matrices=True), target)
        if target.byte_quads:
            with pytest.raises(ValueError, match="no whole vectors of columns"):
                generate(GemmKernel("uint32", 1, 2, inputs=("int8", "int8")), target)
