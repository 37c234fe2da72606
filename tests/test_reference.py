"""The plain reference against a plainer one: a loop over every point with Python scalars."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from tensorop import reference
from tensorop.ir import CONTRACTIONS, UNARY, Dimension, DimType, Primitive, Tensor, TensorOp
from tests import strategies
from tests.strategies import Case
from tests.tolerance import Operand, assert_close, assert_right

P, T = Primitive, DimType


def op(main: str, dims: str, dtype: str = "float64", **touches: str) -> TensorOp:
    """Row-major operands over dimensions like "M2 N3 K4", in the order given."""
    parts = [(DimType(d[0]), int(d[1:])) for d in dims.split()]
    main_ = Primitive(main)
    one_input = main_ in UNARY or (all(t in "CK" for t, _ in parts) and main_ not in CONTRACTIONS)
    roles = ("in0", "out") if one_input else ("in0", "in1", "out")
    absent = {T.M: "in1", T.N: "in0", T.K: "out"}
    steps = dict.fromkeys(roles, 1)
    dimensions = []
    for t, n in reversed(parts):
        strides = []
        for role in roles:
            strides.append(0 if absent.get(t) == role else steps[role])
            steps[role] *= 1 if absent.get(t) == role else n
        dimensions.append(Dimension(t, n, tuple(strides)))
    tensors = tuple(Tensor(r, dtype) for r in roles)
    named = {name: Primitive(p) for name, p in touches.items()}
    return TensorOp(tensors, tuple(reversed(dimensions)), main_, **named)


def plain_loops(case: Case, out: np.ndarray) -> None:
    """One point at a time, for integers: wraps by masking, as the hardware does."""
    o = case.op
    info = np.iinfo(o.dtype)
    span = info.max - info.min + 1

    def wrap(x: int) -> int:
        return (x - info.min) % span + info.min

    binary: dict[Primitive, Any] = {
        P.ADD: lambda a, b: a + b,
        P.SUB: lambda a, b: a - b,
        P.MUL: lambda a, b: a * b,
        P.MIN: min,
        P.MAX: max,
        P.SUM: lambda a, b: a + b,
        P.PROD: lambda a, b: a * b,
        P.GEMM: lambda a, b: a * b,
        P.BRGEMM: lambda a, b: a * b,
    }
    unary: dict[Primitive, Any] = {
        P.ZERO: lambda a: 0,
        P.RELU: lambda a: max(a, 0),
        P.SQUARE: lambda a: a * a,
        P.ABS: abs,
        P.NEG: lambda a: -a,
    }
    reduces = len(o.tensors) == 2 and o.main not in UNARY
    join = binary[o.main] if reduces else binary[P.ADD]
    kept = [d for d in o.dimensions if d.type != T.K]
    summed = [d for d in o.dimensions if d.type == T.K]

    def at(operand: Operand, tensor: int, dims: list[Dimension], where: tuple[int, ...]) -> int:
        offset = sum(i * d.strides[tensor] for i, d in zip(where, dims, strict=True))
        return int(operand.buffer[operand.base + offset])

    for index in product(*(range(d.size) for d in kept)):
        total: int | None = None
        for k in product(*(range(d.size) for d in summed)):
            x = [at(v, i, kept + summed, index + k) for i, v in enumerate(case.operands[:-1])]
            if len(x) == 2:
                term = binary[o.main](*x)
            else:
                term = x[0] if reduces else unary.get(o.main, lambda a: a)(x[0])
            total = term if total is None else join(total, term)
        assert total is not None
        value = wrap(total) * (1 if case.alpha is None else case.alpha)
        if case.bias is not None:
            value = join(at(case.bias, o.out, kept, index), wrap(value))
        elif o.first_touch == P.NONE and case.beta:
            old = wrap(case.beta * at(case.operands[-1], o.out, kept, index))
            value = join(old, wrap(value))
        value = unary.get(o.last_touch, lambda a: a)(wrap(value))
        offset = sum(i * d.strides[o.out] for i, d in zip(index, kept, strict=True))
        out[case.operands[-1].base + offset] = wrap(value)


@settings(max_examples=150)
@given(strategies.cases(dtypes=("int8", "int32", "uint16", "int64")))
def test_integers_equal_plain_loops(case: Case) -> None:
    operands = case.fresh()
    bias = None if case.bias is None else case.bias.array
    reference.run(case.op, [x.array for x in operands], case.alpha, case.beta, bias)
    expected = case.operands[-1].buffer.copy()
    plain_loops(case, expected)
    # The whole buffer: nothing beside the results is written.
    np.testing.assert_array_equal(operands[-1].buffer, expected)


@settings(max_examples=150)
@given(strategies.cases())
def test_every_dtype_is_within_tolerance_of_higher_precision(case: Case) -> None:
    operands = case.fresh()
    bias = None if case.bias is None else case.bias.array
    reference.run(case.op, [x.array for x in operands], case.alpha, case.beta, bias)
    assert_right(case.op, case.operands, operands[-1], case.alpha, case.beta, case.bias)


@pytest.mark.parametrize("dtype", ["float32", "complex128", "int16"])
def test_contraction_equals_einsum(dtype: str) -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-9, 9, shape).astype(dtype) for shape in [(5, 3, 7), (5, 7, 4)])
    out = np.empty((5, 3, 4), dtype)
    # C5 M3 N4 K7 row-major: in0 c m k; in1 would be c n k, so transpose b into it.
    contraction = op("gemm", "C5 M3 N4 K7", dtype)
    reference.run(contraction, [a, np.ascontiguousarray(b.swapaxes(1, 2)), out])
    np.testing.assert_array_equal(out, np.einsum("cmk,ckn->cmn", a, b))


def test_chunks_cover_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    a = np.arange(6.0 * 5 * 7).reshape(6, 5, 7)
    for chunk in (1, 2, 7, 10, 35, 64):
        monkeypatch.setattr(reference, "CHUNK", chunk)
        out = np.zeros(6)
        reference.run(op("sum", "C6 K5 K7"), [a, out])
        np.testing.assert_array_equal(out, a.sum((1, 2)))


@pytest.mark.parametrize(("main", "ufunc"), [("min", np.minimum), ("max", np.maximum)])
def test_nan_in_minimum_and_maximum(main: str, ufunc: np.ufunc) -> None:
    a, b = np.array([1.0, np.nan, 2.0]), np.array([np.nan, 0.0, 3.0])
    out = np.zeros(3)
    binary = TensorOp(
        tuple(Tensor(r, "float64") for r in ("in0", "in1", "out")),
        (Dimension(T.C, 3, (1, 1, 1)),),
        Primitive(main),
    )
    reference.run(binary, [a, b, out])
    np.testing.assert_array_equal(out, ufunc(a, b))
    total = np.zeros(1)
    reference.run(op(main, "K3"), [a, total])
    assert np.isnan(total[0])


def test_nan_passes_relu() -> None:
    out = np.zeros(3)
    reference.run(op("relu", "C3"), [np.array([np.nan, -1.0, 1.0]), out])
    np.testing.assert_array_equal(out, [np.nan, 0.0, 1.0])


def test_beta_zero_never_reads_out() -> None:
    for beta in (None, 0, 0.0):
        out = np.full(2, np.nan)
        reference.run(op("gemm", "M2 K3"), [np.ones(6), np.ones(3), out], beta=beta)
        np.testing.assert_array_equal(out, [3.0, 3.0])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_types_are_rounded_once(dtype: str) -> None:
    storage = strategies.numpy_dtype(dtype)
    ones, out = np.ones(4096, storage), np.zeros(1, storage)
    reference.run(op("sum", "K4096", dtype), [ones, out])
    assert float(out[0]) == 4096.0  # a half accumulator stops at 2048 or 256


def test_cast_is_rounded_once() -> None:
    x = 1 + 2.0**-11 + 2.0**-40  # above the midpoint of two float16, on it once rounded to float32
    cast = TensorOp(
        (Tensor("in0", "float64"), Tensor("out", "float16")),
        (Dimension(T.C, 1, (1, 1)),),
        P.CAST,
    )
    out = np.zeros(1, "float16")
    reference.run(cast, [np.array([x]), out])
    assert float(out[0]) == 1 + 2.0**-10


def test_conjugated_operands() -> None:
    a, b = np.array([1 + 2j]), np.array([3 - 1j])
    dot = TensorOp(
        (
            Tensor("in0", "complex128", conj=True),
            Tensor("in1", "complex128"),
            Tensor("out", "complex128"),
        ),
        (Dimension(T.K, 1, (1, 1, 0)),),
        P.GEMM,
    )
    out = np.zeros(1, complex)
    reference.run(dot, [a, b, out])
    assert out[0] == np.conj(a[0]) * b[0]


def test_sums_of_small_integers_wrap_before_the_last_touch() -> None:
    out = np.zeros(1, "i1")
    reference.run(op("sum", "K2", "int8", last_touch="relu"), [np.array([100, 100], "i1"), out])
    assert out[0] == 0  # 200 is -56


def test_wrong_number_of_arrays_and_missing_bias() -> None:
    with pytest.raises(ValueError, match="2 arrays for 3 tensors"):
        reference.run(op("gemm", "M2 K3"), [np.ones(6), np.ones(3)])
    with pytest.raises(ValueError, match="first touch copy, bias not given"):
        reference.run(op("sum", "K3", first_touch="copy"), [np.ones(3), np.ones(1)])
    with pytest.raises(ValueError, match="first touch none, bias given"):
        reference.run(op("sum", "K3"), [np.ones(3), np.ones(1)], bias=np.ones(1))


def test_the_tolerance_can_fail() -> None:
    exact = np.ones(4)
    assert_close(exact * (1 + 1e-15), exact, exact, 1)
    with pytest.raises(AssertionError, match="1 of 4 wrong"):
        assert_close(np.array([1, 1, 1 + 1e-14, 1]), exact, exact, 1)
    with pytest.raises(AssertionError):
        assert_close(np.array([np.nan]), np.ones(1), np.ones(1), 1)
    with pytest.raises(AssertionError):
        assert_close(np.array([2]), np.array([3]), np.array([3]), 100)
