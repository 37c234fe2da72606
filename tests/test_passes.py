"""Every pass keeps the meaning of an operation, and does what it says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorop import reference
from tensorop.ir import CONTRACTIONS, Dimension, DimType, ExecType, Primitive, Tensor, TensorOp
from tensorop.jit.target import current_target
from tensorop.optimizer.follow import follow, lead
from tensorop.optimizer.fuse import fuse
from tensorop.optimizer.group import group
from tensorop.optimizer.identify import identify
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.normalise import normalise
from tensorop.optimizer.order import order
from tensorop.optimizer.parallelise import parallelise
from tensorop.optimizer.regime import choose
from tensorop.optimizer.split import Block, Parts, split, split_size
from tests import strategies
from tests.strategies import Case
from tests.tolerance import Operand, assert_right

T, E = DimType, ExecType
PROPERTY = settings(max_examples=100)
DTYPES = ("float32", "float64", "complex64", "int32", "uint8", "bool", "bfloat16")


def same_meaning(case: Case, op: TensorOp) -> None:
    """Run the operation that a pass made; judge it by the one it was made from."""
    op.verify()
    operands = case.fresh()
    bias = None if case.bias is None else case.bias.array
    reference.run(op, [x.array for x in operands], case.alpha, case.beta, bias)
    assert_right(case.op, case.operands, operands[-1], case.alpha, case.beta, case.bias)
    touched = set(np.flatnonzero(_differs(operands[-1].buffer, case.operands[-1].buffer)))
    assert touched <= {case.operands[-1].base + i for i in _offsets(case.op)}


def _differs(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray((a != b) & ~((a != a) & (b != b)))


def _offsets(op: TensorOp) -> set[int]:
    offsets = np.zeros(1, int)
    for d in op.dimensions:
        if d.type != T.K:
            offsets = np.add.outer(offsets, d.strides[-1] * np.arange(d.size)).ravel()
    return set(offsets.tolist())


def contraction(*dims: tuple[str, int, tuple[int, int, int]]) -> TensorOp:
    tensors = tuple(Tensor(r, "float32") for r in ("in0", "in1", "out"))
    named = (Dimension(DimType(t), n, s, name="abcdefgh"[i]) for i, (t, n, s) in enumerate(dims))
    return TensorOp(tensors, tuple(named), Primitive.GEMM)


def one_input(main: str, *dims: tuple[str, int, tuple[int, int]]) -> TensorOp:
    tensors = (Tensor("in0", "float32"), Tensor("out", "float32"))
    return TensorOp(
        tensors, tuple(Dimension(DimType(t), n, s) for t, n, s in dims), Primitive(main)
    )


CLASSIC = contraction(
    ("M", 32, (8192, 0, 32768)),
    ("N", 32, (0, 8192, 1024)),
    ("K", 8, (1024, 1024, 0)),
    ("M", 32, (1, 0, 1)),
    ("N", 32, (0, 32, 32)),
    ("K", 32, (32, 1, 0)),
)

# ---------------------------------------------------------------- normalise


@PROPERTY
@given(strategies.cases(dtypes=DTYPES))
def test_normalise_keeps_the_meaning(case: Case) -> None:
    result = normalise(case.op)
    same_meaning(case, result.op)
    assert all(d.size > 1 for d in result.op.dimensions)
    assert result.note


@PROPERTY
@given(strategies.cases(dtypes=("int32",)), st.randoms(use_true_random=False))
def test_normalise_forgets_the_order_of_the_dimensions(case: Case, random: object) -> None:
    shuffled = list(case.op.dimensions)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    again = normalise(case.op.with_dimensions(tuple(shuffled))).op
    assert again.dimensions == normalise(case.op).op.dimensions


def test_normalise_drops_and_sorts() -> None:
    op = contraction(
        ("K", 3, (1, 4, 0)), ("M", 1, (9, 0, 9)), ("N", 4, (0, 1, 1)), ("M", 2, (3, 0, 4))
    )
    result = normalise(op)
    assert [d.type for d in result.op.dimensions] == [T.M, T.N, T.K]
    assert result.note == "dropped M b=1 (size 1); sorted to M d=2, N c=4, K a=3"


def test_normalise_of_a_point() -> None:
    result = normalise(contraction(("M", 1, (1, 0, 1))))
    assert result.op.dimensions == ()


# ---------------------------------------------------------------- fuse


@PROPERTY
@given(strategies.cases(dtypes=DTYPES), st.none() | st.integers(1, 64))
def test_fuse_keeps_the_meaning(case: Case, minimum: int | None) -> None:
    result = fuse(case.op, minimum)
    same_meaning(case, result.op)
    for x in result.op.dimensions:
        for y in result.op.dimensions:
            ends = tuple(y.size * step for step in y.strides)
            if x is not y and (x.type, x.exec, x.strides) == (y.type, y.exec, ends):
                assert minimum is not None and min(x.size, y.size) >= minimum


def test_fuse_joins_a_whole_chain() -> None:
    op = one_input("copy", ("C", 2, (12, 12)), ("C", 4, (1, 1)), ("C", 3, (4, 4)))
    (fused,) = fuse(op).op.dimensions
    assert (fused.size, fused.strides) == (24, (1, 1))


def test_fuse_needs_the_strides_of_every_tensor_and_one_type() -> None:
    apart = one_input("copy", ("C", 2, (4, 5)), ("C", 4, (1, 1)))
    assert fuse(apart).op == apart
    types = one_input("sum", ("C", 2, (4, 1)), ("K", 4, (1, 0)))
    assert fuse(types).op == types
    execs = one_input("copy", ("C", 2, (4, 4)), ("C", 4, (1, 1)))
    shared = execs.dimensions[0]._replace(exec=E.SHARED)
    execs = execs.with_dimensions((shared, execs.dimensions[1]))
    assert fuse(execs).op == execs


def test_fuse_with_a_minimum_leaves_large_dimensions_alone() -> None:
    op = one_input("copy", ("C", 64, (2048, 2048)), ("C", 32, (64, 64)), ("C", 64, (1, 1)))
    assert fuse(op, 16).op == op
    # 32 is below 33 and finds a partner; what has become large enough seeks no further.
    sizes = sorted(d.size for d in fuse(op, 33).op.dimensions)
    assert sizes == [64, 2048]
    assert [d.size for d in fuse(op).op.dimensions] == [64 * 2048]


def test_fuse_of_negative_strides() -> None:
    op = one_input("copy", ("C", 3, (-5, 5)), ("C", 5, (-1, 1)))
    (fused,) = fuse(op).op.dimensions
    assert (fused.size, fused.strides) == (15, (-1, 1))


# ---------------------------------------------------------------- split


@pytest.mark.parametrize(
    ("size", "multiple", "maximum", "minimum", "parts"),
    [
        (1600, 16, 1024, None, (2, 800, 800)),
        (1600, 16, 1024, 16, (50, 32, 32)),
        (1600, 4, 1024, None, (2, 800, 800)),
        (1024, 16, 1024, None, (1, 1024, 1024)),
        (512, 16, 256, 16, (16, 32, 32)),  # 32 x 16 is as balanced: the larger kernel
        (1601, 16, 1024, None, (2, 816, 785)),  # a prime
        (1601, 1, 1024, None, (2, 801, 800)),  # 1 divides it, and is no kernel
        (1601, 16, 1024, 16, (34, 48, 17)),
        (1600, 16, 8, None, (200, 8, 8)),  # no multiple of 16 fits into the maximum
        (1600, 16, 1024, 60, (2, 800, 800)),  # both parts at least 60: impossible
        (24, 16, 20, None, (2, 16, 8)),
    ],
)
def test_split_size(
    size: int, multiple: int, maximum: int, minimum: int | None, parts: tuple[int, int, int]
) -> None:
    assert split_size(size, multiple, maximum, minimum) == Parts(*parts)


@given(
    st.integers(1, 5000),
    st.sampled_from([1, 4, 12, 16, 48]),
    st.integers(1, 700),
    st.none() | st.integers(1, 80),
)
def test_split_size_obeys_its_rules(
    size: int, multiple: int, maximum: int, minimum: int | None
) -> None:
    parts = split_size(size, multiple, maximum, minimum)
    assert (parts.outer - 1) * parts.kernel + parts.last == size
    assert 1 <= parts.last <= parts.kernel <= maximum or parts.outer == 1
    if size <= maximum:
        assert parts.outer == 1
        return
    kernels = [k for k in range(multiple, maximum + 1, multiple) if size % k == 0 and k > 1]
    pairs = [k for k in kernels if minimum is None or min(k, size // k) >= minimum]
    if minimum is None and kernels:
        assert parts.exact and parts.kernel == max(kernels)
    elif pairs:
        balance = max(parts.kernel, parts.outer) / min(parts.kernel, parts.outer)
        assert parts.exact and parts.kernel in pairs
        assert all(balance <= max(k, size // k) / min(k, size // k) for k in pairs)
    elif multiple <= maximum:
        assert parts.kernel % multiple == 0


@PROPERTY
@given(
    strategies.cases(dtypes=("float32", "complex128", "int16", "bool"), scalars=False),
    st.integers(1, 20),
    st.none() | st.integers(1, 4),
    st.sampled_from([None, {T.M: 2, T.N: 3, T.K: 2}, {T.M: 1, T.N: 1}]),
)
def test_split_keeps_the_meaning(
    case: Case, maximum: int, minimum: int | None, multiples: dict[DimType, int] | None
) -> None:
    result = split(case.op, maximum, minimum, multiples)
    whole = {b.dimension for b in result.blocks}
    kernels = [d for i, d in enumerate(result.op.dimensions) if i not in whole]
    assert len(result.op.dimensions) >= len(case.op.dimensions)
    assert all(b.parts.kernel <= maximum for b in result.blocks)
    # A dimension over the maximum is an outer part: its kernel part follows.
    assert all(
        d.size <= maximum
        or (
            i + 1 < len(kernels)
            and d.strides == tuple(kernels[i + 1].size * s for s in kernels[i + 1].strides)
        )
        for i, d in enumerate(kernels)
    )
    operands = case.fresh()
    bias = None if case.bias is None else case.bias
    run_in_blocks(result.op, list(result.blocks), operands, bias)
    assert_right(case.op, case.operands, operands[-1], case.alpha, case.beta, case.bias)


def run_in_blocks(
    op: TensorOp,
    blocks: list[Block],
    operands: list[Operand],
    bias: Operand | None,
    first: bool = True,
    last: bool = True,
) -> None:
    """Run an operation the way a schedule would: each block of a dimension in turn, first touch
    before the first block of K and last touch after the last."""
    if not blocks:
        beta = 0
        if not first:
            op, beta, bias = op._replace(first_touch=Primitive.NONE), 1, None
        if not last:
            op = op._replace(last_touch=Primitive.NONE)
        arrays = [x.array for x in operands]
        reference.run(op, arrays, None, beta, None if bias is None else bias.array)
        return
    block, rest = blocks[0], blocks[1:]
    d = op.dimensions[block.dimension]
    for start in range(0, d.size, block.parts.kernel):
        size = min(block.parts.kernel, d.size - start)
        part = list(op.dimensions)
        part[block.dimension] = d._replace(size=size)
        moved = [
            Operand(x.buffer, x.base + start * s) for x, s in zip(operands, d.strides, strict=True)
        ]
        at = bias and Operand(bias.buffer, bias.base + start * d.strides[-1])
        is_k = d.type == T.K
        run_in_blocks(
            op.with_dimensions(tuple(part)),
            rest,
            moved,
            at,
            first and not (is_k and start),
            last and not (is_k and start + size < d.size),
        )


def test_split_returns_outer_kernel_and_blocks() -> None:
    op = contraction(("M", 1600, (1, 0, 1)), ("N", 1601, (0, 7, 1600)), ("K", 7, (1600, 1, 0)))
    result = split(op, 1024)
    outer, kernel, n, k = result.op.dimensions
    assert (outer.size, outer.strides) == (2, (800, 0, 800))
    assert (kernel.size, kernel.strides) == (800, (1, 0, 1))
    assert (n, k) == op.dimensions[1:]
    assert result.blocks == (Block(2, Parts(2, 804, 797)),)
    assert "M a=1600 into 2 x 800" in result.note
    assert "N b=1601 in blocks of 804, last 797" in result.note


def test_split_by_type() -> None:
    op = contraction(("M", 64, (1, 0, 1)), ("N", 64, (0, 1, 64)))
    sizes = [d.size for d in split(op, {T.N: 8}, multiples={T.N: 2}).op.dimensions]
    assert sizes == [64, 8, 8]
    with pytest.raises(ValueError, match="maximum 0"):
        split(op, 0)


# ---------------------------------------------------------------- identify


@PROPERTY
@given(strategies.cases(dtypes=DTYPES))
def test_identify_keeps_the_meaning(case: Case) -> None:
    result = identify(case.op)
    same_meaning(case, result.op)
    prim = [d for d in result.op.dimensions if d.exec == E.PRIM]
    assert result.op.dimensions[len(result.op.dimensions) - len(prim) :] == tuple(prim)
    if case.op.main in CONTRACTIONS:
        roles = [d for d in (result.br, result.m, result.n, result.k) if d is not None]
        assert prim == roles
        assert (result.op.main == Primitive.BRGEMM) == (result.br is not None)
    else:
        assert prim == [d for d in (result.rows, result.inner) if d is not None]


def test_identify_brgemm_in_the_classic_contraction() -> None:
    result = identify(CLASSIC)
    assert result.op.main == Primitive.BRGEMM
    assert [(d.type, d.size, d.exec) for d in result.op.dimensions] == [
        (T.M, 32, E.SEQ),
        (T.N, 32, E.SEQ),
        (T.K, 8, E.PRIM),
        (T.M, 32, E.PRIM),
        (T.N, 32, E.PRIM),
        (T.K, 32, E.PRIM),
    ]
    assert result.k is not None and result.k.strides == (32, 1, 0)
    assert result.br is not None and result.br.strides == (1024, 1024, 0)


def test_identify_gemm_without_a_second_k() -> None:
    one_k = CLASSIC.with_dimensions(tuple(d for d in CLASSIC.dimensions if d.size != 8))
    result = identify(one_k._replace(main=Primitive.BRGEMM))
    assert result.op.main == Primitive.GEMM and result.br is None
    no_m = contraction(("N", 4, (0, 3, 1)), ("K", 3, (1, 1, 0)), ("C", 2, (3, 12, 4)))
    result = identify(no_m)
    assert result.m is None and result.n is not None
    assert result.op.dimensions[0].type == T.C and result.op.dimensions[0].exec == E.SEQ


def test_identify_tells_equal_dimensions_apart() -> None:
    op = contraction(*[("K", 4, (1, 1, 0))] * 3, ("M", 2, (4, 0, 1)))
    result = identify(op).op
    assert [d.type for d in result.dimensions] == [T.K, T.K, T.M, T.K]
    assert [d.exec for d in result.dimensions] == [E.SEQ, E.PRIM, E.PRIM, E.PRIM]
    assert len(fuse(contraction(*[("K", 4, (0, 0, 0))] * 3)).op.dimensions) == 1


def test_identify_transposition_and_streaming() -> None:
    turned = identify(one_input("copy", ("C", 5, (1, 70)), ("C", 7, (5, 1)), ("C", 10, (35, 7))))
    assert turned.transposes
    assert turned.inner is not None and turned.inner.strides == (5, 1)
    assert turned.rows is not None and turned.rows.strides == (1, 70)
    straight = identify(one_input("relu", ("C", 5, (70, 70)), ("C", 7, (1, 1)), ("C", 10, (7, 7))))
    assert not straight.transposes
    assert straight.inner is not None and straight.inner.strides == (1, 1)
    assert straight.rows is not None and straight.rows.strides == (7, 7)


def test_identify_binary_and_reduction() -> None:
    tensors = tuple(Tensor(r, "float32") for r in ("in0", "in1", "out"))
    dims = (
        Dimension(T.C, 3, (20, 20, 20)),
        Dimension(T.M, 4, (1, 0, 5)),
        Dimension(T.N, 5, (0, 1, 1)),
    )
    outer_sum = identify(TensorOp(tensors, dims, Primitive.ADD))
    assert [d.type for d in outer_sum.op.dimensions] == [T.C, T.M, T.N]
    assert [d.exec for d in outer_sum.op.dimensions] == [E.SEQ, E.PRIM, E.PRIM]
    columns = identify(one_input("sum", ("C", 6, (1, 1)), ("K", 4, (6, 0))))
    assert columns.inner is not None and columns.inner.type == T.C
    rows = identify(one_input("sum", ("C", 4, (6, 1)), ("K", 6, (1, 0))))
    assert rows.inner is not None and rows.inner.type == T.K


@PROPERTY
@given(strategies.cases(dtypes=DTYPES), st.booleans())
def test_order_keeps_the_meaning(case: Case, identified: bool) -> None:
    op = identify(case.op).op if identified else case.op
    result = order(op)
    same_meaning(case, result.op)
    assert sorted(map(str, result.op.dimensions)) == sorted(map(str, op.dimensions))
    loops = [d.type for d in result.op.dimensions if d.exec != E.PRIM]
    assert T.K not in loops or set(loops[loops.index(T.K) :]) == {T.K}


def test_order_puts_batch_outside_wide_strides_next_and_k_inside() -> None:
    op = contraction(
        ("K", 8, (1, 1, 0)),
        ("N", 4, (0, 8, 1)),
        ("M", 4, (8, 0, 4)),
        ("C", 4, (32, 32, 16)),
        ("K", 2, (500, 500, 0)),
    )
    assert [d.name for d in order(op).op.dimensions] == ["d", "c", "b", "e", "a"]


TINY = Machine(current_target(), l1=64, l2=256, l3=512)


@PROPERTY
@given(
    strategies.cases(dtypes=DTYPES),
    st.booleans(),
    st.sampled_from([0, 16, 256]),
    st.sampled_from([1, 2, 3]),
)
def test_follow_keeps_the_meaning(case: Case, identified: bool, cache: int, threads: int) -> None:
    op = parallelise(order(identify(case.op).op if identified else case.op).op, threads).op
    result = follow(op, TINY._replace(l2=cache), threads)
    same_meaning(case, result.op)
    if threads > 1:
        return
    assert sorted(map(str, result.op.dimensions)) == sorted(map(str, op.dimensions))


@PROPERTY
@given(strategies.cases(dtypes=DTYPES), st.booleans(), st.sampled_from([2, 3]))
def test_lead_keeps_the_meaning(case: Case, identified: bool, threads: int) -> None:
    op = order(identify(case.op).op if identified else case.op).op
    result = lead(op, TINY._replace(l2=0, l3=0), threads)
    same_meaning(case, result.op)
    assert sorted(map(str, result.op.dimensions)) == sorted(map(str, op.dimensions))


def sums_of_rows() -> TensorOp:
    """Loops a, b and c over a large in0, which lies in the order c, b, a, around its rows."""
    op = contraction(
        ("C", 16, (8, 1, 8)),
        ("M", 4, (128, 0, 128)),
        ("K", 5, (512, 16, 0)),
        ("M", 8, (1, 0, 1)),
    )
    return op.with_dimensions((*op.dimensions[:3], op.dimensions[3].executed(E.PRIM)))


def test_threads_lead_along_the_large_input_in_memory() -> None:
    op = sums_of_rows()

    def names(threads: int, machine: Machine = TINY) -> str:
        return "".join(d.name for d in lead(op, machine, threads).op.dimensions)

    assert names(2) == names(4) == "bacd"  # K is never shared
    assert names(1) == "abcd"
    assert names(3) == "abcd"  # one thread of three would have half the work
    assert names(2, TINY._replace(l3=2 * 5 * 512 * 4)) == "abcd"  # in the caches
    assert names(2, TINY._replace(l2=5 * 512 * 4 + 4)) == "abcd"


def test_follow_goes_along_with_the_large_input_while_out_stays_in_the_cache() -> None:
    op = sums_of_rows()
    roomy = TINY._replace(l2=2 * 512 * 4)  # half of it holds all of out
    assert [d.name for d in follow(op, roomy).op.dimensions] == ["c", "b", "a", "d"]
    tight = roomy._replace(l2=roomy.l2 - 8)
    assert [d.name for d in follow(op, tight).op.dimensions] == ["b", "c", "a", "d"]
    shared = op.with_dimensions((op.dimensions[0].executed(E.SHARED), *op.dimensions[1:]))
    assert [d.name for d in follow(shared, roomy).op.dimensions] == ["a", "c", "b", "d"]
    pieces = follow(shared, roomy, threads=4).op.dimensions
    assert [(d.name, d.size) for d in pieces] == [("a", 4), ("c", 5), ("b", 4), ("a", 4), ("d", 8)]
    assert [d.exec for d in pieces] == [E.SHARED, *[E.SEQ] * 3, E.PRIM]
    assert pieces[0].strides == (32, 4, 32) and pieces[3].strides == (8, 1, 8)
    small = roomy._replace(l2=5 * 512 * 4 + 4)
    assert follow(op, small).op is op


def test_follow_reads_a_large_input_once() -> None:
    op = contraction(
        ("M", 4, (40, 0, 6400)),
        ("N", 100, (0, 640, 64)),
        ("C", 64, (160, 10, 1)),
        ("K", 10, (1, 1, 0)),
    )
    kernel = tuple(d.executed(E.PRIM) for d in op.dimensions[2:])
    op = op.with_dimensions((*op.dimensions[:2], *kernel))
    assert [d.name for d in follow(op, TINY).op.dimensions] == ["b", "a", "c", "d"]
    n, m = op.dimensions[1::-1]
    once = op.with_dimensions((n, m, *kernel))
    assert follow(once, TINY).op is once


def test_follow_goes_through_short_rows_in_memory_as_they_lie() -> None:
    op = contraction(("C", 16, (10, 10, 1)), ("N", 64, (0, 160, 16)), ("K", 10, (1, 1, 0)))
    op = op.with_dimensions((*op.dimensions[:2], op.dimensions[2].executed(E.PRIM)))
    assert [d.name for d in follow(op, TINY).op.dimensions] == ["b", "a", "c"]
    assert follow(op, TINY._replace(l3=1 << 20)).op is op


def test_group_keeps_the_meaning() -> None:
    """Of products of blocks, each cut as many ways as its sizes and tiny caches allow."""
    rng = np.random.default_rng(0)
    seen = set()
    for sizes in ((4, 6, 4, 2, 3, 2), (3, 8, 6, 4, 2, 1), (6, 5, 7, 2, 2, 2), (2, 12, 8, 1, 2, 4)):
        m0, n0, k0, m, n, k = sizes
        op = contraction(
            ("M", m0, (k0 * k * m, 0, n0 * n * m)),
            ("N", n0, (0, k0 * k * n, n * m)),
            ("K", k0, (k * m, k * n, 0)),
            ("M", m, (1, 0, 1)),
            ("N", n, (0, k, m)),
            ("K", k, (m, 1, 0)),
        )
        kernel = tuple(d.executed(E.PRIM) for d in op.dimensions[2:])
        op = op.with_dimensions((*op.dimensions[:2], *kernel))
        for l2 in (32, 64, 128, 512, 1 << 20):
            grouped = group(op, TINY._replace(l2=l2)).op
            seen.add(tuple(d.type for d in grouped.dimensions if d.exec != E.PRIM))
            arrays = [rng.random(s, np.float32) for s in (m0 * k0 * m * k, n0 * k0 * n * k)]
            got, wanted = (np.zeros(m0 * n0 * m * n, np.float32) for _ in range(2))
            grouped.verify()
            reference.run(grouped, [*arrays, got])
            reference.run(op, [*arrays, wanted])
            np.testing.assert_allclose(got, wanted, rtol=1e-5)
    assert {len(loops) for loops in seen} == {2, 3, 4}


def test_group_of_the_classic_contraction() -> None:
    op = identify(CLASSIC).op
    cached = Machine(current_target(), l1=32 << 10, l2=1 << 20, l3=32 << 20)
    loops = [(d.type, d.size) for d in group(op, cached).op.dimensions if d.exec != E.PRIM]
    assert loops == [(T.N, 2), (T.M, 32), (T.N, 16)]
    far = [(d.type, d.size) for d in group(op, cached._replace(l3=1 << 20)).op.dimensions[:4]]
    assert far == [(T.N, 2), (T.M, 32), (T.N, 16), (T.K, 8)]
    small = [(d.type, d.size) for d in group(op, cached._replace(l2=64 << 10)).op.dimensions[:4]]
    assert small == [(T.K, 4), (T.M, 32), (T.N, 32), (T.K, 2)]
    assert group(op, cached._replace(l2=4 << 20)).op == op


def test_group_leaves_alone_what_is_no_batch_reduce() -> None:
    for op in (CLASSIC, order(CLASSIC).op, identify(one_input("sum", ("K", 6, (1, 0)))).op):
        assert group(op, TINY).op == op


@PROPERTY
@given(strategies.cases(dtypes=DTYPES), st.integers(1, 9))
def test_parallelise_keeps_the_meaning(case: Case, threads: int) -> None:
    result = parallelise(order(identify(case.op).op).op, threads)
    same_meaning(case, result.op)
    execs = [d.exec for d in result.op.dimensions]
    shared = [i for i, e in enumerate(execs) if e == E.SHARED]
    assert shared == list(range(shared[0], shared[-1] + 1)) if shared else result.shares == 1
    assert all(result.op.dimensions[i].type != T.K for i in shared)
    assert 1 <= result.shares <= threads


@pytest.mark.parametrize(
    ("threads", "shared", "shares"),
    [(1, 0, 1), (2, 1, 2), (4, 1, 4), (8, 1, 8), (64, 2, 64), (2000, 2, 1024)],
)
def test_parallelise_shares_as_little_as_occupies_the_team(
    threads: int, shared: int, shares: int
) -> None:
    result = parallelise(identify(CLASSIC).op, threads)
    execs = [d.exec for d in result.op.dimensions]
    assert execs.count(E.SHARED) == shared
    assert result.shares == shares


def test_parallelise_goes_on_where_one_loop_leaves_a_thread_idle() -> None:
    op = contraction(("M", 3, (4, 0, 4)), ("N", 4, (0, 1, 1)))
    assert [d.exec for d in parallelise(op, 2).op.dimensions] == [E.SHARED, E.SHARED]


def test_parallelise_never_shares_k() -> None:
    op = contraction(("K", 100, (1, 1, 0)))
    result = parallelise(op, 4)
    assert result.op == op
    assert result.shares == 1
    with pytest.raises(ValueError, match="at least 1 thread"):
        parallelise(op, 0)


@PROPERTY
@given(strategies.cases(dtypes=DTYPES), st.integers(1, 4))
def test_all_passes_in_turn_keep_the_meaning(case: Case, threads: int) -> None:
    op = fuse(normalise(case.op).op).op
    op = identify(split(op, 16).op).op
    same_meaning(case, parallelise(group(order(op).op, TINY).op, threads).op)


@pytest.mark.parametrize(("outer", "name"), [(8, "nest"), (4000, "blocked")])
def test_blocks_are_read_as_they_lie_while_a_cache_holds_them(outer: int, name: str) -> None:
    """32 x 32 ones, of which a row of tiles reads all."""
    dims = (
        Dimension(T.M, 32, (1, 0, 1)),
        Dimension(T.N, 32, (0, outer * 32, 32)),
        Dimension(T.K, outer, (1024, 32, 0)),
        Dimension(T.K, 32, (32, 1, 0)),
    )
    tensors = tuple(Tensor(role, "float32") for role in ("in0", "in1", "out"))
    machine = Machine(current_target(), l1=32 << 10, l2=512 << 10, l3=32 << 20)
    assert choose(TensorOp(tensors, dims, Primitive.GEMM), machine).name == name


@pytest.mark.parametrize(
    ("rows", "summed", "step", "dots"),
    [(2, 368, 1, True), (16, 368, 1, True), (2, 368, 2, False), (17, 368, 1, False)],
)
def test_few_rows_are_dot_products_where_both_sides_lie_along_the_sum(
    rows: int, summed: int, step: int, dots: bool
) -> None:
    dims = (
        Dimension(T.M, rows, (summed * step, 0, 114)),
        Dimension(T.N, 114, (0, summed, 1)),
        Dimension(T.K, summed, (step, 1, 0)),
    )
    tensors = tuple(Tensor(role, "float32") for role in ("in0", "in1", "out"))
    machine = Machine(current_target(), l1=32 << 10, l2=512 << 10, l3=32 << 20)
    regime = choose(TensorOp(tensors, dims, Primitive.GEMM), machine)
    assert (regime.name == "dots") == dots


@pytest.mark.parametrize(
    ("rows", "columns", "summed", "apart", "name"),
    [
        (7590, 36, 7, (1, 1), "nest"),
        (7590, 8, 2, (1, 1), "nest"),
        (7590, 3, 2, (1, 1), "batch"),  # elements that a tile would hardly use
        (7590, 36, 7, (1, 2), "batch"),  # vectors that are stored element by element
        (450_000, 20, 4, (2, 1), "blocked"),  # vectors that have to be packed
        (450_000, 2, 15, (1, 1), "nest"),
        (450_000, 20, 4, (1, 1), "blocked"),  # memory would be read again for every few columns
        (450_000, 2, 40, (1, 1), "batch"),  # too many places in memory at once
    ],
)
def test_a_small_matrix_is_applied_by_tiles_that_it_fills(
    rows: int, columns: int, summed: int, apart: tuple[int, int], name: str
) -> None:
    read, written = apart
    dims = (
        Dimension(T.M, 2, (rows * read * summed, 0, rows * written * columns)),
        Dimension(T.M, rows, (read, 0, written)),
        Dimension(T.N, columns, (0, summed, rows * written)),
        Dimension(T.K, summed, (rows * read, 1, 0)),
    )
    tensors = tuple(Tensor(role, "float32") for role in ("in0", "in1", "out"))
    machine = Machine(current_target(), l1=32 << 10, l2=1 << 20, l3=32 << 20)
    assert choose(TensorOp(tensors, dims, Primitive.GEMM), machine).name == name
