"""tensordot, matmul, vecdot, inner, outer, transpose and einsum_path against numpy's."""

from __future__ import annotations

import itertools
import random
import warnings

import numpy as np
import pytest

from tensorop.einsum import einsum
from tensorop.errors import EinsumError
from tensorop.functions import (
    einsum_path,
    inner,
    matmul,
    outer,
    permute_dims,
    tensordot,
    transpose,
    vecdot,
)

A = np.arange(12.0).reshape(3, 4)
B = np.arange(20.0).reshape(4, 5)
BATCH = np.arange(504.0).reshape(7, 6, 3, 4).transpose(1, 0, 2, 3)
ONE = np.ones


class Tagged(np.ndarray):
    """A subclass, as np.matrix is one."""


def compare(ours, theirs, *args, **kwargs) -> None:
    """Both give equal arrays of equal type and layout, or errors of one kind."""
    results = []
    for function in (ours, theirs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                results.append(function(*args, **kwargs))
            except Exception as error:
                results.append(error)
    mine, other = results
    if isinstance(other, Exception):
        kinds = [k for k in (ValueError, TypeError, IndexError) if isinstance(other, k)]
        assert kinds, other
        assert isinstance(mine, tuple(kinds)), (mine, other)
        return
    assert not isinstance(mine, Exception), mine
    assert type(mine) is type(other)
    assert mine.dtype == other.dtype
    assert mine.strides == other.strides
    np.testing.assert_allclose(mine, other, rtol=1e-6)


def case(*args, **kwargs):
    return args, kwargs


MATMUL = [
    case(A, B),
    case(np.asfortranarray(A), np.asfortranarray(B)),
    case(A, B, order="F"),
    case(A, B, order="A"),
    case(np.asfortranarray(A), np.asfortranarray(B), order="A"),
    case(BATCH, B),
    case(BATCH, B, order="F"),
    case(BATCH, ONE((6, 7, 4, 5))),
    case(BATCH, ONE((7, 6, 4, 5)).transpose(1, 0, 2, 3)),
    case(BATCH.transpose(0, 1, 3, 2), ONE((6, 7, 3, 5))),
    case(A, 2),
    case(3, A),
    case(A, ONE(3)),
    case(ONE(4), ONE(4)),
    case(ONE((3, 1)), ONE((4, 2))),
    case(ONE(3), ONE((2, 3, 4))),
    case(ONE((2, 3, 4)), ONE(4)),
    case(ONE((2, 3, 4)), ONE((3, 4, 2))),
    case(ONE((1, 3, 4)), ONE((3, 4, 2))),
    case(A, B, axes=[(0, 1), (0, 1), (1, 0)]),
    case(A.T, B.T, axes=[(1, 0), (-1, -2), (0, 1)]),
    case(A, B, axes=[(0, 1), (0, 1)]),
    case(A, B, axis=0),
    case(A, B, dtype="f4"),
    case(A.astype("i4"), B, dtype="i4"),
    case(A.astype("i4"), B.astype("i8"), casting="no"),
    case(A.astype("?"), B.astype("?")),
    case(A.astype("f4"), B),
    case(A.astype("S"), B),
    case(A.view(Tagged), B),
    case(A.view(Tagged), B, subok=False),
    case([[1, 2]], [[1], [2]]),
    case(A, B, order="X"),
    case(A, B, out=[1]),
    case(ONE((0, 3)), ONE((3, 2))),
    case(ONE((2, 0)), ONE((0, 2))),
    case(A * 1j, B),
]


@pytest.mark.parametrize(("args", "kwargs"), MATMUL)
def test_matmul(args, kwargs) -> None:
    compare(matmul, np.matmul, *args, **kwargs)


@pytest.mark.parametrize(
    ("a", "b", "out", "kwargs"),
    [
        (A.astype("f4"), B.astype("f4"), ((3, 5), "f8"), {}),
        (A, B, ((3, 5), "f4"), {}),
        (A, B, ((3, 5), "i4"), {}),
        (A, B, ((3, 5), "i4"), {"casting": "unsafe"}),
        (A, B, ((3, 5), "c16"), {}),
        (A, B, ((2, 3, 5), "f8"), {}),
        (A, B, ((3, 4), "f8"), {}),
        (A, B, ((5,), "f8"), {}),
        (ONE(4), ONE(4), ((), "f8"), {}),
        (ONE(4), ONE(4), ((2,), "f8"), {}),
        (ONE(4), B, ((2, 5), "f8"), {}),
        (A, B, ((5, 3), "f8"), {"axes": [(0, 1), (0, 1), (1, 0)]}),
        (A[:1], B, ((3, 5), "f8"), {}),
        (A, B[:, :1], ((3, 5), "f8"), {}),
        (A[:1], B, ((5, 3), "f8"), {"axes": [(0, 1), (0, 1), (1, 0)]}),
        (A, BATCH[0, :, :, :4].swapaxes(1, 2), ((6, 7, 3, 3), "f8"), {}),
        (BATCH[0], B, ((6, 7, 3, 5), "f8"), {}),
        (ONE(4), BATCH[0].swapaxes(1, 2), ((2, 7, 3), "f8"), {}),
    ],
)
def test_matmul_out(a, b, out, kwargs) -> None:
    mine, other = np.zeros(*out), np.zeros(*out)
    compare(
        lambda out: matmul(a, b, out, **kwargs),
        lambda out: np.matmul(a, b, out, **kwargs),
        out=mine,
    )
    result = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = np.matmul(a, b, (other,), **kwargs)
        except (TypeError, ValueError):
            return
        assert matmul(a, b, out=(mine,), **kwargs) is mine
    assert result is other
    np.testing.assert_array_equal(mine, other)


def test_vecdot_out_of_more_dimensions() -> None:
    for a, b in ((ONE(3), ONE((4, 3))), (ONE((4, 3)), ONE(3)), (ONE((4, 3)), ONE((5, 4, 3)))):
        shape = (6, 5, 4)[-max(a.ndim, b.ndim) - 1 :]
        assert (vecdot(a, b, out=np.zeros(shape)) == 3).all()


@pytest.mark.parametrize("axes", [[0, 0], [1, 1, 0], [1, 1, 2], [(0,), (0,), (0,)], [0, 2, 1]])
def test_vecdot_keeps_an_axis_anywhere(axes) -> None:
    a, b = np.arange(24.0).reshape(2, 3, 4), np.arange(24.0).reshape(2, 3, 4)
    b = b.transpose(1, 2, 0) if axes == [0, 2, 1] else b
    expected = np.vecdot(a, b, axes=axes, keepdims=True)
    result = vecdot(a, b, axes=axes, keepdims=True)
    assert result.shape == expected.shape and (result == expected).all()
    out = np.zeros(expected.shape)
    assert vecdot(a, b, out, axes=axes, keepdims=True) is out and (out == expected).all()


class Units(np.ndarray):
    """A subclass with more to it than its elements."""

    def __array_ufunc__(self, *_, **__):
        return "units"


@pytest.mark.parametrize("function", [matmul, vecdot, inner, outer, tensordot])
def test_what_adds_to_its_elements_is_refused(function) -> None:
    with pytest.raises(TypeError, match="Units adds to its elements"):
        function(ONE((3, 3)).view(Units), ONE((3, 3)))
    masked = np.ma.masked_equal(np.eye(3), 0)
    with pytest.raises(TypeError, match="MaskedArray adds to its elements"):
        function(ONE((3, 3)), masked)


def test_matmul_out_may_be_an_operand() -> None:
    a = np.arange(9.0).reshape(3, 3)
    want = a @ a
    assert matmul(a, a, out=a) is a
    np.testing.assert_array_equal(a, want)


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        case(A, ONE(4)),
        case(A, A, axis=0),
        case(A, A.T),
        case(ONE(4), 1),
        case(A * 1j, A + 2j),
        case(A, A * 1j),
        case(A, A, axes=[(0,), (0,), ()]),
        case(A, A, axes=[0, 0]),
        case(A, ONE(1)),
        case(A, A, axis=5),
        case(ONE(4), ONE(4)),
        case(A, A, axis=0, axes=[0, 0]),
        case(BATCH, BATCH),
        case(BATCH.transpose(3, 1, 0, 2), BATCH.transpose(3, 1, 0, 2), axis=1),
        case(A.astype("?"), A.astype("?")),
        case(A, A, dtype="f4"),
        case(A, A, casting="no", dtype="f4"),
        case(A.astype("f4") * 1j, A.astype("f8")),
    ],
)
def test_vecdot(args, kwargs) -> None:
    compare(vecdot, np.vecdot, *args, **kwargs)


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        case(A, B, 1),
        case(A, B),
        case(A, A),
        case(A, B, 0),
        case(A, A, ((0, 1), (0, 1))),
        case(A, A, (0, 0)),
        case(A, A, ([0], [0, 1])),
        case(A, A, 5),
        case(A, A, -1),
        case(A, A, ((0, 0), (0, 0))),
        case(A, A, ((0, -2), (0, 1))),
        case(A, A, ((2,), (0,))),
        case(A, A, axes=((-2,), (-2,))),
        case(3.0, 4.0, 0),
        case(np.asfortranarray(A), B, 1),
        case(A.view(Tagged), B, 1),
        case(A, B, 1.5),
        case(A, B, "a"),
        case(A, B, (1,)),
        case(A, B, axes=None),
        case(ONE((2, 3, 4)), ONE((4, 3)), ([1, 2], [1, 0])),
        case(A.astype("f4"), B, 1),
        case(A, ONE(4), 1),
        case(ONE((1, 3)), ONE((4, 2)), 1),
        case([[1, 2]], [[3], [4]], 1),
        case(ONE((2, 0)), ONE((0, 3)), 1),
    ],
)
def test_tensordot(args, kwargs) -> None:
    compare(tensordot, np.tensordot, *args, **kwargs)


def test_tensordot_of_many_dimensions() -> None:
    a, b = ONE((1,) * 30 + (2,)), ONE((2,) + (1,) * 30)
    assert tensordot(a, b, 1).shape == (1,) * 60


@pytest.mark.parametrize(
    ("a", "b"),
    [(A, A), (A, B), (A, 3), (3, 4), (ONE(3), ONE(3)), (ONE((2, 3, 4)), A), (A * 1j, A * 1j),
     (A.view(Tagged), A), (2.5, A), (A, [1, 2, 3, 4])],
)  # fmt: skip
def test_inner(a, b) -> None:
    compare(inner, np.inner, a, b)


@pytest.mark.parametrize(
    ("a", "b"), [(A, B), (3, 4), ([1, 2], [3.0]), (A.T, B), (A > 3, B > 3), ([], [1.0])]
)
def test_outer(a, b) -> None:
    compare(outer, np.outer, a, b)


@pytest.mark.parametrize(
    ("shape", "dtype"), [((12, 20), "f8"), ((12, 20), "f4"), ((12, 20), "i4"), ((12, 2), "f8")]
)
def test_outer_out(shape, dtype) -> None:
    compare(lambda out: outer(A, B, out), lambda out: np.outer(A, B, out), np.zeros(shape, dtype))


@pytest.mark.parametrize("axes", [None, (1, 0), [1, 0], (-1, 0), (0, 0), (0,)])
def test_transpose(axes) -> None:
    for ours, theirs in ((transpose, np.transpose), (permute_dims, np.permute_dims)):
        compare(ours, theirs, A, axes)
        compare(ours, theirs, A, axes=axes)
    assert np.shares_memory(transpose(A), A)


@pytest.mark.parametrize("seed", range(30))
def test_random_matmul(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(20):
        n, k, m = (rng.randint(1, 3) for _ in range(3))
        batch = [rng.randint(1, 3) for _ in range(rng.randint(0, 3))]
        arrays = []
        for core in ((n, k), (k, m)):
            loops = [1 if rng.random() < 0.2 else size for size in batch[rng.randint(0, 1) :]]
            shape = (*loops, *core)
            perm = rng.sample(range(len(shape)), len(shape))
            array = ONE([shape[p] for p in perm], rng.choice(["f4", "f8", "i4"]))
            arrays.append(array.transpose(np.argsort(perm)))
        compare(matmul, np.matmul, *arrays, order=rng.choice("KKKCFA"))
        a, b = arrays[0], arrays[1].swapaxes(-1, -2)
        if n == m:
            compare(vecdot, np.vecdot, a, b)


def test_errors_say_what_disagrees() -> None:
    with pytest.raises(EinsumError, match="axis 1 of a has size 4, but axis 0 of b has size 5"):
        tensordot(A, B.T, 1)
    with pytest.raises(EinsumError, match="size 4 in operand 0, but 3 in operand 1"):
        matmul(A, ONE(3))
    with pytest.raises(EinsumError, match="sizes 4 and 5"):
        inner(A, B)
    with pytest.raises(np.exceptions.AxisError, match="axis 2"):
        tensordot(A, A, ((2,), (0,)))


@pytest.mark.parametrize("optimize", [True, False, "greedy", "optimal", ("greedy", 10)])
def test_einsum_path_is_numpys(optimize) -> None:
    args = ("ij,jk,kl,lm->im", *(np.ones((n, n + 1)) for n in range(2, 6)))
    assert einsum_path(*args, optimize=optimize) == np.einsum_path(*args, optimize=optimize)


@pytest.mark.parametrize("optimize", ["dp", "auto", [(0, 1), (0, 1), (0, 1)], "random-greedy"])
def test_einsum_path_of_opt_einsum(optimize) -> None:
    args = ("ij,jk,kl,lm->im", *(np.ones((n, n + 1)) for n in range(2, 6)))
    path, report = einsum_path(*args, optimize=optimize)
    assert path[0] == "einsum_path"
    assert "Complete contraction" in report
    np.testing.assert_allclose(einsum(*args, optimize=path), np.einsum(*args))


def test_einsum_path_takes_all_labels() -> None:
    a, b = np.ones((2, 3)), np.ones((3, 4))
    assert einsum_path("αβ,βγ", a, b)[0] == ["einsum_path", (0, 1)]
    assert einsum_path(a, [0, 99], b, [99, 2])[0] == ["einsum_path", (0, 1)]


def test_vecdot_keeps_its_axis() -> None:
    x, y = np.arange(24.0).reshape(2, 3, 4), np.ones((2, 3, 4))
    for axis in (None, -1, 0, 1):
        kwargs = {} if axis is None else {"axis": axis}
        expected = (x * y).sum(-1 if axis is None else axis, keepdims=True)
        result = vecdot(x, y, keepdims=True, **kwargs)
        np.testing.assert_array_equal(result, expected)
        out = np.zeros(expected.shape)
        assert vecdot(x, y, out=out, keepdims=True, **kwargs) is out
        np.testing.assert_array_equal(out, expected)
    with pytest.raises(EinsumError, match="size 4, not 1"):
        vecdot(x, y, out=np.zeros((2, 3, 4)), keepdims=True)
    for axes in ([(0,), (0,), ()], [0], [0, 0, 5]):
        with pytest.raises(ValueError):
            vecdot(x, y, axes=axes, keepdims=True)


def test_out_may_be_a_tuple_of_none() -> None:
    for function in (matmul, vecdot):
        np.testing.assert_array_equal(
            function(A, A.T if function is matmul else A, out=(None,)),
            function(A, A.T if function is matmul else A),
        )


def test_axes_may_be_arrays_of_no_dimension() -> None:
    result = vecdot(A, A, axes=[np.array(-1), -1])
    np.testing.assert_array_equal(result, (A * A).sum(-1))


class Metres(np.ndarray):
    """A subclass that says itself what a ufunc does with it."""

    def __array_ufunc__(self, *args, **kwargs):
        raise AssertionError("tensorop is no ufunc")


class Dispatching(np.ndarray):
    """A subclass that says itself what numpy's functions do with it."""

    def __array_function__(self, function, types, args, kwargs):
        return NotImplemented


class Quantity:
    """No array, but one can be had of it."""

    def __array__(self, dtype=None, copy=None):
        return np.eye(2)

    def __array_function__(self, function, types, args, kwargs):
        return NotImplemented


class Alone(Quantity):
    """Takes no part in ufuncs."""

    __array_ufunc__ = None
    __array_function__ = np.ndarray.__array_function__


def products(a, b):
    return einsum("ij,jk", a, b)


@pytest.mark.parametrize("function", [matmul, vecdot, inner, outer, tensordot, products])
def test_masks_and_units_are_not_dropped(function) -> None:
    square = np.eye(2)
    masked = np.ma.array(square, mask=[[1, 0], [0, 0]])
    kinds = (square.view(Metres), square.view(Dispatching), masked, Quantity(), Alone())
    for special in kinds:
        for pair in ((special, square), (square, special)):
            with pytest.raises(TypeError, match="pass plain arrays"):
                function(*pair)
    plain = function(square, square)
    np.testing.assert_array_equal(function(square.view(Metres).view(np.ndarray), square), plain)


def test_results_have_one_type_of_integer() -> None:
    """C's long and long long may be one integer, in two equal dtypes of different scalars."""
    quad, long = np.arange(3, dtype="q"), np.arange(3, dtype="l")
    for operands in ((quad, quad), (long, long), (quad, long)):
        for spec in ("i,i", "i,j->ij", "i,i->i"):
            result = einsum(spec, *operands)
            assert result.dtype.type is np.dtype(result.dtype.name).type
    assert type(matmul(quad, quad)) is np.dtype("int64").type


def test_results_that_no_memory_holds() -> None:
    for n in (2**31, 2**40):
        x = np.broadcast_to(np.ones(1), (n,))
        with pytest.raises((ValueError, MemoryError)):
            einsum("i,j->ij", x, x)


def test_inner_takes_the_type_of_the_first_of_the_highest_priority() -> None:
    class Plain(np.ndarray):
        """A subclass of the priority of an array."""

    class High(np.ndarray):
        __array_priority__ = 2.0

    a = np.ones((2, 3))
    arrays = [a, a.view(Plain), a.view(High), a.view(np.recarray), a.tolist()]
    for x, y in itertools.product(arrays, repeat=2):
        assert type(inner(x, y)) is type(np.inner(x, y))
