"""The explicit `TensorOperation`: results, and every check of `setup()` and `execute()`."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tensorop import cache_clear, plan_store
from tensorop.bounds import overlapping, reach
from tensorop.ir import BINARY, UNARY, Dimension, DimType, ExecType, Primitive, TensorOp
from tensorop.operation import TensorOperation
from tensorop.optimizer import transfer
from tensorop.optimizer.identify import identify
from tests import strategies
from tests.strategies import Case, examples
from tests.tolerance import assert_right

CLASSIC: dict[str, Any] = {
    "dtype": "float32",
    "main": "gemm",
    "dim_types": ("M", "N", "K", "M", "N", "K"),
    "exec_types": ("seq", "seq", "seq", "prim", "prim", "prim"),
    "sizes": (32, 32, 8, 32, 32, 32),
    "strides_in0": (8192, 0, 1024, 1, 0, 32),
    "strides_in1": (0, 8192, 1024, 0, 32, 1),
    "strides_out": (32768, 1024, 0, 1, 32, 0),
}
SMALL: dict[str, Any] = {
    "dtype": "float64",
    "main": "gemm",
    "dim_types": ["M", "M", "N", "K"],
    "exec_types": ["seq", "prim", "prim", "prim"],
    "sizes": [2, 3, 4, 5],
    "strides_in0": [3, 1, 0, 6],
    "strides_in1": [0, 0, 5, 1],
    "strides_out": [3, 1, 6, 0],
}
COPY: dict[str, Any] = {
    "dtype": "float32",
    "main": "copy",
    "dim_types": "CC",
    "exec_types": ("prim", "prim"),
    "sizes": (3, 4),
    "strides_in0": (4, 1),
    "strides_out": (1, 3),
}


def operands(dtype: str = "float64") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.random(30).astype(dtype), rng.random(20).astype(dtype), np.zeros(24, dtype)


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The column-major product that SMALL computes."""
    return np.ravel(a.reshape(5, 6).T @ b.reshape(4, 5).T, order="F")


# ---------------------------------------------------------------- results


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"main": "brgemm", "exec_types": ("seq", "seq", "prim", "prim", "prim", "prim")},
        {"exec_types": ("shared", "seq", "seq", "prim", "prim", "prim"), "threads": 2},
        {"optimize": True},
        {"optimize": True, "exec_types": None},
        {"first_touch": "zero", "last_touch": "relu"},
    ],
)
def test_the_classic_configurations(changes: dict[str, Any]) -> None:
    rng = np.random.default_rng(3)
    a = rng.uniform(-1, 1, (32, 8, 32, 32)).astype("f4")  # [m0, k0, k1, m1]
    b = rng.uniform(-1, 1, (32, 8, 32, 32)).astype("f4")  # [n0, k0, n1, k1]
    out = rng.uniform(-1, 1, (32, 32, 32, 32)).astype("f4")  # [m0, n0, n1, m1]
    expected = np.einsum("akpm,xknp->axnm", a.astype("f8"), b.astype("f8"), optimize=True)
    if "first_touch" not in changes:
        expected += out
    else:
        expected = np.maximum(expected, 0)
    TensorOperation(**{**CLASSIC, **changes}).execute(a, b, out)
    np.testing.assert_allclose(out, expected, atol=256 * 1e-6)


def test_first_touches() -> None:
    a, b, out = operands()
    out[:] = bias = np.arange(24.0)
    TensorOperation(**SMALL).execute(a, b, out)
    np.testing.assert_allclose(out, bias + product(a, b))
    TensorOperation(**SMALL, first_touch="zero").execute(a, b, out)
    np.testing.assert_allclose(out, product(a, b))
    out[:] = np.nan
    TensorOperation(**SMALL, first_touch="copy").execute(a, b, out, bias)
    np.testing.assert_allclose(out, bias + product(a, b))


def test_elementwise_and_reductions_overwrite_or_accumulate() -> None:
    x = np.arange(12.0, dtype="f4")
    out = np.full(12, np.nan, "f4")
    TensorOperation(**COPY).execute(x, None, out)
    np.testing.assert_array_equal(out.reshape(4, 3), x.reshape(3, 4).T)
    peaks = {**COPY, "main": "max", "dim_types": "CK", "strides_out": (1, 0)}
    highest = np.full(3, 5, "f4")
    TensorOperation(**peaks).execute(x, None, highest)
    np.testing.assert_array_equal(highest, [5, 7, 11])
    TensorOperation(**peaks, first_touch="zero").execute(-x, None, highest)
    np.testing.assert_array_equal(highest, [0, -4, -8])  # afresh: no zero takes part


def test_cast_takes_two_dtypes() -> None:
    cast = TensorOperation(**{**COPY, "main": "cast", "dtype": ("float64", "int16")})
    out = np.zeros(12, "i2")
    cast.execute(np.arange(12.0), None, out)
    np.testing.assert_array_equal(out.reshape(4, 3), np.arange(12).reshape(3, 4).T)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("sizes", [(6, 77), (3, 5, 37)])
def test_conj_in_place_is_done_once(dtype: str, sizes: tuple[int, ...]) -> None:
    whole = np.random.default_rng(0).random((*(n + 1 for n in sizes), 2)).view("complex128")[..., 0]
    values = whole.astype(dtype)
    expected = values.copy()
    part = expected[tuple(slice(n) for n in sizes)]
    np.conjugate(part, out=part)
    steps = [s // values.itemsize for s in values.strides]
    operation = TensorOperation(
        dtype=dtype,
        main="conj",
        dim_types="C" * len(sizes),
        sizes=sizes,
        strides_in0=steps,
        strides_out=steps,
        optimize=True,
    )
    operation.execute(values, None, values)
    np.testing.assert_array_equal(values, expected)


def test_an_out_in_the_middle_of_an_element() -> None:
    """So large that its runs are stored in whole lines; what is beside it stays as it is."""
    m, run, n, k = 1200, 76, 72, 24
    rng = np.random.default_rng(0)
    a, b = (rng.integers(1, 5, shape).astype(np.float32) for shape in ((m, run, k), (n, k)))
    operation = TensorOperation(
        dtype="float32",
        main="gemm",
        first_touch="zero",
        dim_types="MMNK",
        sizes=(m, run, n, k),
        strides_in0=(run * k, k, 0, 1),
        strides_in1=(0, 0, k, 1),
        strides_out=(n * run, 1, run, 0),
        optimize=True,
    )
    bytes_ = np.zeros(4 * m * run * n + 128, np.uint8)
    begin = -bytes_.ctypes.data % 64 + 1
    out = bytes_[begin:-64][: 4 * m * run * n].view(np.float32)
    operation.execute(a, b, out)
    expected = np.einsum("mrk,nk->mnr", a, b, optimize=True).ravel()
    assert np.array_equal(out, expected)
    assert not bytes_[:begin].any() and not bytes_[begin + out.nbytes :].any()


@settings(max_examples=examples(120))
@given(strategies.cases(scalars=False, conjugates=False))
def test_any_operation_as_written(case: Case) -> None:
    """Random operations, through the primitive that `identify` finds and by the optimizer."""
    check_operation(case, identify(case.op).op, optimize=False, threads=None)


@pytest.fixture
def always_shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """However little there is to do, threads share it; plans made meanwhile are not kept."""
    monkeypatch.setattr(transfer, "SHARE_WORK", 1)
    monkeypatch.setattr(transfer, "SHARE_BYTES", 1)
    monkeypatch.setattr(plan_store, "_folder", lambda: None)
    cache_clear()
    yield
    cache_clear()


@settings(max_examples=examples(120), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(strategies.cases(scalars=False, conjugates=False), st.sampled_from([2, 3, 5]))
def test_any_operation_shared_by_threads(always_shared: None, case: Case, threads: int) -> None:
    check_operation(case, case.op, optimize=True, threads=threads)


def check_operation(case: Case, op: TensorOp, *, optimize: bool, threads: int | None) -> None:
    """`op` is what the case has, perhaps with another primitive. It is optimized anyhow where it is
    no whole product."""
    elementwise = op.main in UNARY or (len(op.tensors) == 3 and op.main in BINARY)
    complete = op.main not in ("gemm", "brgemm") or {"M", "N", "K"} <= {
        d.type for d in op.dimensions
    }
    written = complete and bool(op.dimensions) and not optimize
    entries: dict[str, Any] = {
        f"strides_{t.role}": [d.strides[i] for d in op.dimensions] for i, t in enumerate(op.tensors)
    }
    operation = TensorOperation(
        dtype=op.dtype,
        main=op.main,
        first_touch=op.first_touch,
        last_touch=op.last_touch,
        dim_types=[d.type for d in op.dimensions],
        exec_types=[d.exec for d in op.dimensions] if written else None,
        sizes=[d.size for d in op.dimensions],
        optimize=not written,
        threads=threads,
        **entries,
    )
    fresh = case.fresh()
    # Negative strides reach below the first element: a view that covers the buffer from there.
    arrays = [covering(x.buffer, x.base, i, case) for i, x in enumerate(fresh)]
    bias = None if case.bias is None else covering(case.bias.buffer, case.bias.base, op.out, case)
    operation.execute(arrays[0], arrays[1] if len(arrays) == 3 else None, arrays[-1], bias)
    beta = 0 if elementwise else 1
    assert_right(case.op, case.operands, fresh[-1], None, beta, case.bias)


def covering(buffer: np.ndarray, base: int, tensor: int, case: Case) -> np.ndarray:
    """A view whose first element is the base and whose elements are all that is reached."""
    low, high = reach(case.op.dimensions, tensor)
    if low == 0:
        return buffer[base : base + high + 1]
    if high == 0:
        return buffer[base + low : base + 1][::-1]
    # Both directions: an array of two axes, one of them reversed, overlapping on purpose.
    size = buffer.itemsize
    return np.lib.stride_tricks.as_strided(buffer[base:], (1 - low, high + 1), (-size, size))


# ---------------------------------------------------------------- setup


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"main": "gem"}, "main: 'gem' is none of none, zero"),
        ({"main": "sum"}, r"main: sum does not take 2 input\(s\) \(strides_in1 is given\)"),
        ({"strides_in1": None}, r"main: gemm does not take 1 input\(s\) \(strides_in1 is None\)"),
        ({"main": "none"}, "main: none does not take"),
        ({"first_touch": "relu"}, "first_touch: 'relu' is none of none, zero, copy"),
        ({"last_touch": "add"}, "last_touch: 'add' is none of none, zero"),
        ({"dim_types": ["M", "M", "N", "X"]}, r"dim_types\[3\]: 'X' is none of M, N, K, C"),
        ({"exec_types": ["loop", "prim", "prim", "prim"]}, r"exec_types\[0\]: 'loop' is none of"),
        ({"exec_types": None}, "exec_types: needed unless optimize=True"),
        ({"exec_types": ["prim"] * 3}, "exec_types has 3 entries, dim_types has 4"),
        ({"sizes": [2, 3, 4]}, "sizes has 3 entries, dim_types has 4"),
        ({"strides_in1": [0, 0, 5, 1, 9]}, "strides_in1 has 5 entries, dim_types has 4"),
        ({"sizes": [2, 3, 0, 5]}, r"sizes\[2\]: 0 is not positive"),
        ({"sizes": [2, 3, 4.5, 5]}, r"sizes\[2\]: 4.5 is not an integer"),
        ({"strides_out": [3, 1, "6", 0]}, r"strides_out\[2\]: '6' is not an integer"),
        ({"strides_in0": [3, 1, 2, 6]}, r"strides_in0\[2\]: 2, but in0 has no N; give 0"),
        ({"strides_in1": [0, 1, 5, 1]}, r"strides_in1\[1\]: 1, but in1 has no M; give 0"),
        ({"strides_out": [3, 1, 6, 1]}, r"strides_out\[3\]: 1, but out has no K; give 0"),
        ({"strides_out": [3, 1, 0, 0]}, r"strides_out\[2\]: 0, so that 4 results overwrite"),
        ({"strides_out": [3, 1, 2, 0]}, "strides_out: two results have one address"),
        ({"strides_out": [-3, 1, 6, 0]}, None),
        ({"exec_types": ["seq", "seq", "prim", "prim"]}, "exactly one M, one N and one K"),
        ({"exec_types": ["prim"] * 4}, "exactly one M, one N and one K .* got M, M, N, K"),
        ({"main": "brgemm"}, "brgemm takes as PRIM exactly one M, one N and two K"),
        ({"exec_types": ["prim", "seq", "prim", "prim"]}, r"exec_types\[1\]: a seq loop inside"),
        (
            {
                "dim_types": ["K", "M", "N", "K"],
                "exec_types": ["shared", "prim", "prim", "prim"],
                "strides_in0": [1] * 2 + [0, 1],
                "strides_in1": [1, 0, 5, 1],
                "strides_out": [0, 1, 6, 0],
            },
            r"exec_types\[0\]: K can't be shared",
        ),
        ({"threads": 0}, "threads: 0 is not positive"),
        ({"threads": True}, "threads: True is not positive"),
        ({"threads": 1.5}, r"threads\[0\]: 1.5 is not an integer"),
        ({"sizes": [2, 3, 2**70, 5]}, r"sizes\[2\]: .* more than memory"),
        ({"strides_in0": [3, 1, 0, 2**63]}, r"strides_in0\[3\]: .* more than memory"),
        ({"strides_in0": [3, 1, 0, -(2**61)]}, r"strides_in0\[3\]: .* more than memory"),
    ],
)
def test_setup_names_the_entry(changes: dict[str, Any], message: str | None) -> None:
    operation = TensorOperation(**{**SMALL, **changes})
    if message is None:
        operation.setup()
        return
    with pytest.raises(ValueError, match=message):
        operation.setup()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"main": "sum", "dim_types": "MC"}, r"dim_types\[0\]: M, but one input has only C and K"),
        (
            {"dim_types": "CK", "strides_out": (1, 0)},
            r"dim_types\[1\]: K, but copy does not reduce",
        ),
        ({"first_touch": "zero"}, "first_touch: copy writes out once and takes none, got zero"),
        ({"exec_types": ("seq", "seq")}, "copy takes as PRIM one or two C"),
        ({"main": "sum", "exec_types": ("prim", "prim")}, "sum takes as PRIM one C, one K"),
        (
            {
                "dim_types": "CCCC",
                "exec_types": ("shared", "seq", "shared", "prim"),
                "sizes": (2, 2, 2, 2),
                "strides_in0": (8, 4, 2, 1),
                "strides_out": (8, 4, 2, 1),
            },
            r"exec_types\[2\]: SHARED dimensions must be neighbours",
        ),
    ],
)
def test_setup_of_one_input(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TensorOperation(**{**COPY, **changes}).setup()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dtype": "object"}, "object"),
        ({"dtype": "nonsense"}, "'nonsense' is unknown"),
        ({"dtype": ">f4"}, "byte-swapped"),
        ({"dtype": ["f4", "f8"]}, "dtype: a dtype or a tuple"),
        ({"sizes": 4}, "sizes: a sequence of integers is needed, got 4"),
        ({"dtype": "M8[s]"}, "datetime64"),
        ({"dtype": "complex64", "last_touch": "relu"}, "last_touch: no relu for dtype complex64"),
        ({"dtype": ("float32", "float64", "float64")}, "only cast takes two"),
    ],
)
def test_setup_refuses_dtypes(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        TensorOperation(**{**SMALL, **changes}).setup()


def test_subclasses_are_taken_for_what_they_hold(tmp_path: Path) -> None:
    a, b, out = operands()
    mapped = np.memmap(tmp_path / "out", out.dtype, "w+", shape=out.shape)
    mapped[...] = 0
    TensorOperation(**SMALL).execute(a.view(np.recarray), b.view(np.matrix), mapped)
    np.testing.assert_allclose(np.asarray(mapped), product(a, b))


def test_setup_is_idempotent_and_the_operation_frozen_and_pickles() -> None:
    operation = TensorOperation(**SMALL)
    operation.setup()
    bound = operation._bound
    operation.setup()
    assert operation._bound is bound
    with pytest.raises(AttributeError):
        operation.main = "brgemm"  # type: ignore[misc]
    a, b, out = operands()
    pickle.loads(pickle.dumps(operation)).execute(a, b, out)
    np.testing.assert_allclose(out, product(a, b))


def test_names_and_members_are_the_same() -> None:
    named = TensorOperation(**COPY)
    members = TensorOperation(
        **{
            **COPY,
            "main": Primitive.COPY,
            "dim_types": [DimType.C] * 2,
            "exec_types": [ExecType.PRIM] * 2,
        }
    )
    named.setup()
    members.setup()
    assert named._bound is not None and members._bound is not None
    assert named._bound[0] == members._bound[0]


# ---------------------------------------------------------------- execute


@pytest.mark.parametrize(
    ("which", "array", "error", "message"),
    [
        (0, np.zeros(29), ValueError, "in0: its dimensions reach elements 0 to 29"),
        (1, np.zeros(19), ValueError, r"in1: .* dimension 2 \(N, size 4, stride 5\) reaches"),
        (2, np.zeros(23), ValueError, "out: its dimensions reach elements 0 to 23"),
        (0, np.zeros(0), ValueError, r"in0 has no elements \(shape \(0,\)\)"),
        (0, np.zeros(60)[::2], None, ""),
        (0, np.zeros(60)[::-2], None, ""),
        (0, np.zeros((30, 1), order="F"), None, ""),
        (0, np.zeros(30, "f4"), TypeError, "in0: dtype float32 given, the operation has float64"),
        (1, np.zeros(30, ">f8"), TypeError, "in1: dtype >f8 is byte-swapped"),
        (1, np.zeros(30, object), TypeError, "in1: object arrays"),
        (1, [0.0] * 30, TypeError, "in1: a numpy array is needed, got list"),
        (1, None, TypeError, "in1: a numpy array is needed, got NoneType"),
        (2, np.zeros(24, "i8"), TypeError, "out: dtype int64 given"),
    ],
)
def test_execute_checks_each_array(
    which: int, array: Any, error: type[Exception] | None, message: str
) -> None:
    arrays: list[Any] = list(operands())
    arrays[which] = array
    operation = TensorOperation(**SMALL)
    if error is None and array.strides[0] == array.itemsize:
        operation.execute(*arrays)
    elif error is None:
        # Every other element: a stride of 1 steps between them.
        with pytest.raises(ValueError, match=r"not all of them elements of .* \(30,\)"):
            operation.execute(*arrays)
    else:
        before = np.array(arrays[2], copy=True)
        with pytest.raises(error, match=message):
            operation.execute(*arrays)
        np.testing.assert_array_equal(arrays[2], before)


def test_negative_strides_count_from_the_first_element() -> None:
    flip = {**COPY, "dim_types": "C", "exec_types": ["prim"], "sizes": [5]}
    backwards = TensorOperation(**{**flip, "strides_in0": [-1], "strides_out": [1]})
    x, out = np.arange(5, dtype="f4"), np.zeros(5, "f4")
    with pytest.raises(ValueError, match="in0: its dimensions reach elements -4 to 0"):
        backwards.execute(x, None, out)
    with pytest.raises(ValueError, match="in0"):
        backwards.execute(x[4:], None, out)  # inside the buffer, but not inside the array
    backwards.execute(x[::-1], None, out)
    np.testing.assert_array_equal(out, x[::-1])


def test_a_block_of_a_larger_matrix() -> None:
    big = np.arange(100, dtype="f4").reshape(10, 10)
    out = np.zeros(12, "f4")
    block = TensorOperation(**{**COPY, "strides_in0": (10, 1), "strides_out": (4, 1)})
    block.execute(big[2:5, 3:7], None, out)
    np.testing.assert_array_equal(out.reshape(3, 4), big[2:5, 3:7])
    with pytest.raises(ValueError, match="in0: its dimensions reach"):
        block.execute(big[2:5, 3:6], None, out)  # the fourth column lies in the gap
    with pytest.raises(ValueError, match="in0: its dimensions reach"):
        block.execute(big[2:4, 3:7], None, out)
    diagonal = {**COPY, "dim_types": "C", "exec_types": ["prim"], "sizes": [4]}
    antidiagonal = TensorOperation(**{**diagonal, "strides_in0": [9], "strides_out": [1]})
    antidiagonal.execute(big[2:6, 3:7][:, ::-1], None, out)
    np.testing.assert_array_equal(out[:4], big[2:6, 3:7][:, ::-1].diagonal())
    view = big[:, 3:]
    with pytest.raises(ValueError, match="in0: its dimensions reach"):
        antidiagonal.execute(view, None, out)
    TensorOperation(**{**diagonal, "strides_in0": [11], "strides_out": [1]}).execute(
        big[2:6, 3:7], None, out
    )
    np.testing.assert_array_equal(out[:4], big[2:6, 3:7].diagonal())


def test_out_is_writable_and_shares_nothing() -> None:
    a, b, out = operands()
    operation = TensorOperation(**SMALL)
    frozen = out.copy()
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="out is read-only"):
        operation.execute(a, b, frozen)
    memory = np.zeros(100)
    with pytest.raises(ValueError, match="out shares elements with in0; pass a copy"):
        operation.execute(memory[:30], b, memory[29:])
    with pytest.raises(ValueError, match="out shares elements with in1"):
        operation.execute(a, memory[10:], memory)
    operation.execute(memory[:30], b, memory[30:])
    comb = np.zeros((12, 2), "f4")  # in0 and out are two columns of one array: no common element
    columns = TensorOperation(**{**COPY, "strides_in0": (8, 2), "strides_out": (8, 2)})
    columns.execute(comb.ravel(), None, comb.ravel()[1:])


def test_in_place_where_every_element_meets_itself() -> None:
    x = np.arange(-6, 6, dtype="f4")
    relu = TensorOperation(**{**COPY, "main": "relu", "strides_out": (4, 1)})
    relu.execute(x, None, x)
    np.testing.assert_array_equal(x, np.maximum(np.arange(-6, 6), 0))
    with pytest.raises(ValueError, match="out shares elements with in0"):
        TensorOperation(**COPY).execute(x, None, x)  # a transposition


def test_bias_goes_with_first_touch_copy() -> None:
    a, b, out = operands()
    with pytest.raises(ValueError, match="bias: first touch copy needs bias"):
        TensorOperation(**SMALL, first_touch="copy").execute(a, b, out)
    with pytest.raises(ValueError, match="bias: first touch none takes no bias"):
        TensorOperation(**SMALL).execute(a, b, out, out)
    with pytest.raises(ValueError, match="bias: its dimensions reach elements 0 to 23"):
        TensorOperation(**SMALL, first_touch="copy").execute(a, b, out, np.zeros(5))
    with pytest.raises(ValueError, match="in1: copy was set up with one input"):
        TensorOperation(**COPY).execute(a, b, out)


# ---------------------------------------------------------------- bounds


@pytest.mark.parametrize("side", ["M", "N"])
def test_a_side_that_moves_in_no_input(side: str) -> None:
    """All its columns are alike; here they lie around a short batch, whose vectors they fill."""
    rng = np.random.default_rng(0)
    other = "N" if side == "M" else "M"
    held, many = rng.integers(-4, 5, (2, 13, 12)).astype(np.float32)
    steps = {"C": (1, 1, 1), side: (0, 0, 4), "K": (12, 12, 0)}
    steps[other] = (0, 4, 256) if side == "M" else (4, 0, 256)
    operation = TensorOperation(
        dtype="float32",
        main="gemm",
        first_touch="zero",
        dim_types=[other, "C", "K", side],
        sizes=[3, 4, 13, 64],
        optimize=True,
        **{
            f"strides_{role}": [steps[x][i] for x in (other, "C", "K", side)]
            for i, role in enumerate(("in0", "in1", "out"))
        },
    )
    out = np.ones(3 * 64 * 4, np.float32)
    operation.execute(held, many, out)
    a, b = (x.reshape(13, 3, 4) for x in (held, many))
    small = np.einsum("kmc,kc->mc", *((b, a[:, 0]) if side == "M" else (a, b[:, 0])))
    expected = np.broadcast_to(small[:, None], (3, 64, 4))
    np.testing.assert_array_equal(out.reshape(3, 64, 4), expected)


def test_overlapping() -> None:
    def dims(*pairs: tuple[int, int]) -> list[Dimension]:
        return [Dimension(DimType.C, n, (s, s)) for n, s in pairs]

    assert not overlapping(dims((2, 3), (2, 2)), 1)  # 0, 2, 3, 5: interleaved, all different
    assert overlapping(dims((2, 3), (4, 1)), 1)
    assert overlapping(dims((4, 1), (4, -1)), 1)
    assert overlapping(dims((3, 2), (2, 4), (7, 100)), 1)
    assert not overlapping(dims((1, 0), (5, -7)), 1)
    assert not overlapping([], 1)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8"])
@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize(("m", "n"), [(1, 8), (8, 1), (2, 8), (1, 1)])
def test_no_part_of_a_sum_is_lost(m: int, n: int, optimize: bool, dtype: str) -> None:
    """Whatever execution types say: the optimizer decides anew, and half types are summed in
    float32, whose rounding at the end is the only one."""
    kind = strategies.numpy_dtype(dtype)
    sums = (2, 3, 4)
    a, b, out = (np.ones(size, kind) for size in (24 * m, 24 * n, m * n))
    for main, execs in (
        (Primitive.GEMM, ("seq", "seq", "prim", "prim", "prim")),
        (Primitive.BRGEMM, ("seq", "prim", "prim", "prim", "prim")),
    ):
        operation = TensorOperation(
            dtype=kind,
            main=main,
            first_touch="zero",
            dim_types=("K", "K", "M", "N", "K"),
            exec_types=execs,
            sizes=(*sums[:2], m, n, sums[2]),
            strides_in0=(12 * m, 4 * m, 4, 0, 1),
            strides_in1=(12 * n, 4 * n, 0, 1, n),
            strides_out=(0, 0, n, 1, 0),
            optimize=optimize,
        )
        operation.execute(a, b, out)
        np.testing.assert_array_equal(out.astype(np.float64), 24)
