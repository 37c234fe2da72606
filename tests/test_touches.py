"""Touches of explicit operations: once a result is complete, and before it is rounded."""

from __future__ import annotations

import numpy as np
import pytest

from tensorop.operation import TensorOperation


@pytest.mark.parametrize("last", ["none", "square", "zero"])
@pytest.mark.parametrize(("m", "n"), [(30_000, 8), (8, 30_000), (70_001, 5)])
def test_touches_of_a_product_that_is_cut_into_blocks(m: int, n: int, last: str) -> None:
    """One side is short: the other is used where it lies, some rows at a time."""
    rng = np.random.default_rng(m)
    k = 20
    a, b, bias = (rng.integers(-3, 4, s).astype("f4") for s in ((k, m), (n, k), (n, m)))
    operation = TensorOperation(
        dtype="float32",
        main="gemm",
        first_touch="copy",
        last_touch=last,
        dim_types="MNK",
        exec_types=("prim",) * 3,
        sizes=(m, n, k),
        strides_in0=(1, 0, m),
        strides_in1=(0, k, 1),
        strides_out=(1, m, 0),
    )
    out = np.full((n, m), np.nan, "f4")
    operation.execute(a, b, out, bias)
    total = bias + b @ a
    expected = {"none": total, "square": total * total, "zero": 0 * total}[last]
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize("last", ["none", "cast", "square"])
def test_last_touches_of_a_cast_are_of_its_result(last: str, optimize: bool) -> None:
    for source, stored in (("float32", "int8"), ("float64", "float32"), ("int32", "float64")):
        values, room = np.arange(1, 9).astype(source), np.full(24, 77, stored)
        operation = TensorOperation(
            dtype=(source, stored),
            main="cast",
            last_touch=last,
            dim_types=["C"],
            exec_types=["prim"],
            sizes=[8],
            strides_in0=[1],
            strides_out=[1],
            optimize=optimize,
        )
        operation.execute(values, None, room[8:16])
        np.testing.assert_array_equal(room[8:16], values**2 if last == "square" else values)
        assert np.all(room[:8] == 77) and np.all(room[16:] == 77)


@pytest.mark.parametrize("dtype", ["int8", "float32", "complex64"])
@pytest.mark.parametrize("last", ["neg", "square", "none"])
def test_copies_that_compute_move_numbers(last: str, dtype: str) -> None:
    """Pairs that stay together are one wide element only where nothing is computed."""
    values = (np.arange(512) % 11).astype(dtype)
    out, expected = np.zeros(512, dtype), np.zeros(512, dtype)
    operation = TensorOperation(
        dtype=dtype,
        main="copy",
        last_touch=last,
        dim_types="CCC",
        sizes=[4, 8, 2],
        strides_in0=[80, 8, 1],
        strides_out=[40, 4, 1],
        optimize=True,
    )
    operation.execute(values, None, out)
    at = np.add.outer(np.arange(4), np.zeros(16, int)).ravel()
    i, j = np.tile(np.repeat(np.arange(8), 2), 4), np.tile(np.arange(2), 32)
    moved = values[80 * at + 8 * i + j]
    expected[40 * at + 4 * i + j] = {"neg": -moved, "square": moved**2, "none": moved}[last]
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize("main", ["gemm", "sum", "mul", "square"])
def test_half_results_are_rounded_once_with_their_last_touch(main: str, optimize: bool) -> None:
    """What would overflow before the root is taken does not."""
    sizes, steps = {
        "gemm": ((8, 1, 64), ([64, 0, 1], [0, 64, 1], [1, 1, 0])),
        "sum": ((8, 64), ([64, 1], None, [1, 0])),
    }.get(main, ((64,), ([1], [1] if main == "mul" else None, [1])))
    kinds = {"gemm": "MNK", "sum": "CK"}.get(main, "C")
    value = {"gemm": 60, "sum": 6000}.get(main, 300)
    exact = {"gemm": 480, "sum": np.sqrt(64 * 6000)}.get(main, 300)
    operation = TensorOperation(
        dtype="float16",
        main=main,
        first_touch="zero" if main in ("gemm", "sum") else "none",
        last_touch="sqrt",
        dim_types=kinds,
        exec_types=["prim"] * len(kinds),
        sizes=sizes,
        strides_in0=steps[0],
        strides_in1=steps[1],
        strides_out=steps[2],
        optimize=optimize,
    )
    x, out = np.full(512, value, np.float16), np.zeros(64, np.float16)
    operation.execute(x, x[:64] if steps[1] else None, out)
    assert out[0] == np.float16(exact)


@pytest.mark.parametrize("sizes", [(8, 8, 8), (48, 64, 48)])
def test_half_products_are_rounded_once_with_their_last_touch(sizes: tuple[int, int, int]) -> None:
    """Also where the last touch is a schedule of its own."""
    m, n, k = sizes
    a, b = (0.3 * np.random.default_rng(0).standard_normal((2, 64, 64))).astype(np.float16)
    operation = TensorOperation(
        dtype="float16",
        main="gemm",
        first_touch="zero",
        last_touch="exp",
        dim_types="MNK",
        sizes=sizes,
        strides_in0=[64, 0, 1],
        strides_in1=[0, 1, 64],
        strides_out=[n, 1, 0],
        optimize=True,
    )
    out = np.zeros((m, n), np.float16)
    operation.execute(a, b, out)
    exact = np.exp(a[:m, :k].astype(np.float64) @ b[:k, :n].astype(np.float64))
    rounded = exact.astype(np.float16)
    assert np.count_nonzero(out != rounded) <= out.size // 200  # sums are those of float32


def test_half_sums_are_rounded_once_whatever_their_loops() -> None:
    """Thirty times the same number, in fifteen calls of a kernel."""
    x, out = np.array([0.9116, 0], np.float16), np.zeros(1, np.float16)
    operation = TensorOperation(
        dtype="float16",
        main="sum",
        dim_types=["K", "C", "K"],
        exec_types=["seq", "prim", "prim"],
        sizes=[15, 1, 2],
        strides_in0=[0, 0, 0],
        strides_out=[0, 1, 0],
    )
    operation.execute(x, None, out)
    assert out[0] == np.float16(30 * np.float64(x[0]))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("first", ["none", "zero", "copy"])
@pytest.mark.parametrize("last", ["none", "relu"])
def test_touches_where_a_sum_is_come_back_to(first: str, last: str, threads: int) -> None:
    """Optimised, the loop over f lies outside those over b and e: every block of out is touched
    once before all of its sums and once after them."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(-2, 3, (2, 50, 30, 8, 2, 40)), rng.integers(-2, 3, (50, 8, 2, 2))
    out, bias = rng.integers(-3, 4, (2, 2, 8, 30, 40))
    operation = TensorOperation(
        dtype="float32",
        first_touch=first,
        main="gemm",
        last_touch=last,
        dim_types=("C", "C", "M", "K", "K", "M"),  # e, a, b, f, d, c
        exec_types=None,
        sizes=(8, 2, 30, 50, 2, 40),
        strides_in0=(80, 960_000, 640, 19_200, 40, 1),
        strides_in1=(4, 2, 0, 32, 1, 0),
        strides_out=(1200, 9600, 40, 0, 0, 1),
        threads=threads,
        optimize=True,
    )
    arrays = [np.array(x, np.float32) for x in (a, b, out, bias)][: 4 if first == "copy" else 3]
    operation.execute(*arrays)
    expected = np.einsum("afbedc,fead->aebc", a, b)
    expected += {"none": out, "zero": 0, "copy": bias}[first]
    if last == "relu":
        expected = np.maximum(expected, 0)
    np.testing.assert_array_equal(arrays[2], expected)
