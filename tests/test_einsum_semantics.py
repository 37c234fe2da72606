"""`einsum` against numpy.einsum: everything that a caller can see of a call.

A random differential test compares shape, strides, dtype, flags, views and kinds of error for each
`order`; the rest states one behaviour a test. Values are compared with a tolerance of the dtype.
"""

from __future__ import annotations

import random
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import tensorop
from tensorop.einsum import cache_clear, cache_info, einsum
from tensorop.errors import EinsumError

DTYPES = ["?", "i1", "u2", "i4", "i8", "f2", "f4", "f8", "c8", "c16", "g", "G", ">f8", ">i4"]


def random_array(rng: random.Random, shape: list[int], dtype: str) -> np.ndarray:
    """An array of small integers with random axis order, steps and signs."""
    perm = rng.sample(range(len(shape)), len(shape))
    steps = [rng.choice([1, 1, 1, 2, -1]) for _ in shape]
    base = [shape[p] * abs(steps[p]) for p in perm]
    values = np.random.default_rng(rng.randrange(2**32)).integers(0, 4, base)
    inverse = np.argsort(perm)
    array = values.astype(dtype).transpose(inverse) if shape else values.astype(dtype)
    return array[tuple(slice(None, None, step) for step in steps)] if shape else array


def random_case(rng: random.Random) -> tuple[str, list[np.ndarray], dict[str, object]]:
    labels = rng.sample("abcdijkXYZ", rng.randint(1, 5))
    sizes = {label: rng.choice([1, 2, 3, 3, 4, 0 if rng.random() < 0.1 else 2]) for label in labels}
    extra = [rng.choice([1, 2, 3]) for _ in range(rng.choice([0, 0, 1, 2]))]
    terms, arrays = [], []
    for _ in range(rng.choice([1, 1, 2, 2, 2, 3])):
        term = [rng.choice(labels) for _ in range(rng.randint(0, 4))]
        shape = [sizes[label] for label in term]
        if rng.random() < 0.15 and term:
            at = rng.randrange(len(term))
            if term.count(term[at]) == 1:
                shape[at] = rng.choice([1, 1, 5])
        if rng.random() < 0.4:
            at = rng.randint(0, len(term))
            under = extra[rng.randint(0, len(extra)) :]
            under = [1 if rng.random() < 0.2 else n for n in under]
            term.insert(at, "...")
            shape[at:at] = under
        terms.append("".join(term))
        arrays.append(
            random_array(rng, shape, rng.choice(DTYPES if rng.random() < 0.5 else ["f8"]))
        )
    spec = ",".join(terms)
    if rng.random() < 0.7:
        used = sorted(set(spec) - set(",."))
        output = rng.sample(used, rng.randint(0, len(used)))
        if rng.random() < 0.05:
            output.append(rng.choice("qi"))
        if "..." in spec and rng.random() < 0.95:
            output.insert(rng.randint(0, len(output)), "...")
        spec += "->" + "".join(output)
    options: dict[str, object] = {}
    if rng.random() < 0.5:
        options["order"] = rng.choice("CFAKcfak")
    if rng.random() < 0.2:
        options["dtype"] = rng.choice(["f4", "f8", "i4", "c16", "?"])
        options["casting"] = rng.choice(["safe", "same_kind", "unsafe", "no", "equiv"])
    return spec, arrays, options


def outcome(function, *args, **kwargs):
    """The result of a call, or the type of its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*args, **kwargs)
        except Exception as error:
            return next(t for t in (ValueError, TypeError, Exception) if isinstance(error, t))


def describe(result, arrays) -> dict[str, object]:
    if isinstance(result, type):
        return {"error": result}
    seen = {"type": type(result), "shape": np.shape(result), "dtype": np.asarray(result).dtype}
    if isinstance(result, np.ndarray):
        seen["strides"] = result.strides
        seen["flags"] = str(result.flags)
        seen["view of"] = [np.shares_memory(result, a) for a in arrays]
    return seen


def assert_same_values(ours, theirs) -> None:
    dtype = np.asarray(theirs).dtype
    if dtype.kind in "fc":
        eps = float(np.finfo(dtype).eps)
        assert np.allclose(
            np.asarray(ours, "G"), np.asarray(theirs, "G"), rtol=64 * eps, atol=0, equal_nan=True
        )
    else:
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("seed", range(20))
def test_as_numpy_einsum(seed: int) -> None:
    for n in range(100):
        rng = random.Random(1000 * seed + n)
        spec, arrays, options = random_case(rng)
        theirs = outcome(np.einsum, spec, *arrays, **options)
        ours = outcome(einsum, spec, *arrays, **options)
        about = (spec, [(a.shape, a.strides, a.dtype) for a in arrays], options)
        assert describe(ours, arrays) == describe(theirs, arrays), about
        if not isinstance(theirs, type):
            assert_same_values(ours, theirs)


@pytest.mark.parametrize("seed", range(10))
def test_out_as_numpy_einsum(seed: int) -> None:
    """`out` of any dtype and layout: the same values in it, the same object returned."""
    for n in range(60):
        rng = random.Random(7000 * seed + n)
        spec, arrays, options = random_case(rng)
        options.pop("order", None)
        shape = np.shape(outcome(np.einsum, spec, *arrays))
        if isinstance(outcome(np.einsum, spec, *arrays), type):
            continue
        shape = [rng.choice([5, size]) if size == 1 else size for size in shape]
        mine = random_array(rng, shape, rng.choice([*DTYPES, "f8", "f8"]))
        other = mine.copy()
        options["casting"] = rng.choice(["safe", "same_kind", "unsafe"])
        theirs = outcome(np.einsum, spec, *arrays, out=other, **options)
        ours = outcome(einsum, spec, *arrays, out=mine, **options)
        about = (spec, [(a.shape, a.dtype) for a in arrays], mine.shape, mine.dtype, options)
        if isinstance(theirs, type):
            assert ours is theirs, about
        else:
            assert ours is mine, about
            assert_same_values(mine, other)


def test_sublist_form() -> None:
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(einsum(a, [0, 1], b, [1, 2], [0, 2]), a @ b)
    np.testing.assert_array_equal(einsum(a, [0, 77], b, [77, 1000]), a @ b)
    np.testing.assert_array_equal(einsum(a, [5, 2]), a.T)
    np.testing.assert_array_equal(einsum(a, [..., 0], [0, ...]), a.T)
    np.testing.assert_array_equal(einsum(a, range(2)), a)
    np.testing.assert_array_equal(einsum(a, np.array([0, 1]), []), a.sum())
    for wrong in ((a,), (), ("",), ("ij",), (a, [0, -1])):
        with pytest.raises(EinsumError):
            einsum(*wrong)
    for wrong in ((a, 0), (0, 0), (a, None), (a, [True, 0]), (a, "ij"), (a, [0, 1.0]), (a, a)):
        with pytest.raises(TypeError):
            einsum(*wrong)


def test_what_counts_as_an_operand() -> None:
    class Holder:
        def __array__(self, dtype=None, copy=None):
            return np.arange(3.0)

    class Tagged(np.ndarray):
        pass

    assert einsum("i,i", [1, 2], (3, 4)) == 11
    assert einsum("i->", Holder()) == 3
    assert einsum(b"i->", np.ones(3)) == 3
    assert einsum(",", 2, np.float32(3)).dtype == np.float64
    tagged = np.ones((2, 2)).view(Tagged)
    assert type(einsum("ij->ji", tagged)) is np.ndarray
    assert type(einsum("ij,jk", tagged, tagged)) is np.ndarray
    out = np.zeros((2, 2)).view(Tagged)
    assert einsum("ij,jk", tagged, tagged, out=out) is out
    np.testing.assert_array_equal(out, np.full((2, 2), 2.0))


@pytest.mark.parametrize("optimize", [True, False, "auto", "greedy"])
def test_views(optimize) -> None:
    a = np.arange(27.0).reshape(3, 3, 3)
    for spec in ("ijk", "kji", "...", "iij->ij", "iii->i", "...ii->i...", "i...i->...i"):
        theirs, ours = np.einsum(spec, a), einsum(spec, a, optimize=optimize)
        assert ours.base is a.base and ours.strides == theirs.strides and ours.flags.writeable
        assert np.shares_memory(ours, a)
    view = einsum("iij->ji", a)
    view[:] = -1
    assert (a[0, 0] == -1).all() and (a[0, 1] != -1).all()
    a.flags.writeable = False
    assert not einsum("iij->ji", a).flags.writeable
    assert not np.shares_memory(einsum("ijk->kji", a, out=np.zeros((3, 3, 3))), a)
    assert not np.shares_memory(einsum("ijk->kji", a, alpha=2), a)
    c = a * 1j
    assert not np.shares_memory(einsum("ijk->kji", c, conj=(0,)), c)
    assert np.shares_memory(einsum("ijk->kji", c, dtype="c8"), c)  # as numpy: a view has no dtype


def awkward(array: np.ndarray, how: str) -> np.ndarray:
    if how == "misaligned":
        raw = np.zeros(array.nbytes + 1, np.uint8)
        copy = raw[1:].view(array.dtype).reshape(array.shape)
        copy[...] = array
        return copy
    if how == "record":
        records = np.zeros(array.shape, [("pad", "i1"), ("x", array.dtype)])
        records["x"] = array
        return records["x"]
    if how == "swapped":
        return array.astype(array.dtype.newbyteorder())
    if how == "window":
        return np.lib.stride_tricks.sliding_window_view(array.ravel(), array.shape[1])[: len(array)]
    return np.broadcast_to(array[:, :1], array.shape)


@pytest.mark.parametrize("dtype", ["f4", "c16", "i2", "g"])
@pytest.mark.parametrize("how", ["misaligned", "record", "swapped", "window", "broadcast"])
def test_awkward_memory(how: str, dtype: str) -> None:
    a = awkward(np.arange(12).reshape(3, 4).astype(dtype), how)
    b = awkward(np.arange(12).reshape(3, 4).astype(dtype), how)
    for spec in ("ij,kj->ik", "ij,ij->ij", "ij,kj->"):
        np.testing.assert_array_equal(einsum(spec, a, b), np.einsum(spec, a, b))
    np.testing.assert_array_equal(einsum("ij->j", a), np.einsum("ij->j", a))
    if how not in ("window", "broadcast"):
        out = awkward(np.zeros((3, 3), dtype), how)
        assert einsum("ij,kj->ik", a, b, out=out) is out
        np.testing.assert_array_equal(out, np.einsum("ij,kj->ik", a, b))


@pytest.mark.parametrize("spec", ["ij,jk->ik", "ij,jk->ki", "ij,kj->ik", "ij,ij->ij"])
def test_out_that_overlaps_an_operand(spec: str) -> None:
    for which in range(3):
        base = np.random.default_rng(0).random((8, 8))
        a, b = base[:4, :4], base[2:6, 1:5]
        out = (a, b, base[1:5, 2:6].T)[which]
        want = np.einsum(spec, a.copy(), b.copy())
        einsum(spec, a, b, out=out)
        np.testing.assert_allclose(out, want)


def test_out_that_overlaps_itself_is_written_through_a_temporary() -> None:
    out = np.lib.stride_tricks.as_strided(np.zeros(5), (3, 3), (8, 8))
    assert einsum("i,j->ij", np.ones(3), np.ones(3), out=out) is out
    np.testing.assert_array_equal(out, np.ones((3, 3)))


def test_wrong_outs() -> None:
    a = np.ones(5)
    fixed = np.zeros(5)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        einsum("i,i->i", a, a, out=fixed)
    with pytest.raises(TypeError, match="numpy array"):
        einsum("i->i", a, out=[0] * 5)
    for shape in ((1,), (6,), (5, 5), ()):
        with pytest.raises(EinsumError, match="out"):
            einsum("i,i->i", a, a, out=np.zeros(shape))
    with pytest.raises(TypeError, match="result cannot be cast"):
        einsum("i,i->i", a, a, out=np.zeros(5, "i4"))
    with pytest.raises(TypeError, match="out cannot be cast"):
        einsum("i,i->i", a, a, dtype="f8", out=np.zeros(5, "c16"))


def test_conj() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 3, 4)) + 1j * rng.random((2, 3, 4))
    np.testing.assert_allclose(einsum("ij,ij", a, b, conj=(0,)), np.vdot(a, b))
    np.testing.assert_allclose(einsum("ij,ij->i", a, b, conj=[1]), (a * b.conj()).sum(1))
    np.testing.assert_allclose(einsum("ij->ji", a, conj=(0,)), a.conj().T)
    np.testing.assert_allclose(einsum("ij->j", a, conj=(0,)), a.conj().sum(0))
    np.testing.assert_allclose(
        einsum("ij,k->k", a, b[0], conj=(0, 1)), a.conj().sum() * b[0].conj()
    )
    np.testing.assert_allclose(
        einsum("ij,kj,kl->il", a, b, b, conj=(1,)), a @ b.conj().T @ b, rtol=1e-12
    )
    for optimize in (False, [(0, 2), (0, 1)]):
        three = einsum("ij,kj,kl->il", a, b, b, conj=(0, 2), optimize=optimize)
        np.testing.assert_allclose(three, a.conj() @ b.T @ b.conj(), rtol=1e-12)
    np.testing.assert_allclose(einsum("ij,ij", a.real, b, conj=(0,)), (a.real * b).sum())
    with pytest.raises(EinsumError, match="operands are 0 to 1"):
        einsum("i,i", [1], [1], conj=(2,))
    for wrong in ("0", 0, (0.5,)):
        with pytest.raises(TypeError):
            einsum("i,i", [1], [1], conj=wrong)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "i4", "f2"])
def test_alpha_and_beta(dtype: str) -> None:
    a, b = np.arange(6).reshape(2, 3).astype(dtype), np.arange(12).reshape(3, 4).astype(dtype)
    start = np.arange(8).reshape(2, 4).astype(dtype)
    for optimize in ("auto", False):
        np.testing.assert_array_equal(
            einsum("ij,jk", a, b, alpha=3, optimize=optimize), 3 * (a @ b)
        )
        out = start.copy()
        einsum("ij,jk", a, b, out=out, alpha=2, beta=3, optimize=optimize)
        np.testing.assert_array_equal(out, 2 * (a @ b) + 3 * start)
    out = start.astype(">" + dtype)
    einsum("ij,jk", a, b, out=out, alpha=2, beta=3)
    np.testing.assert_array_equal(out, 2 * (a @ b) + 3 * start)
    out = start.copy()
    einsum("ij,jl,lk", a, np.eye(3, dtype=dtype), b, out=out, alpha=2, beta=3)
    np.testing.assert_array_equal(out, 2 * (a @ b) + 3 * start)
    out = start.copy()
    einsum("ij,jk", a[:, :0], b[:0], out=out, beta=3)
    np.testing.assert_array_equal(out, 3 * start)
    np.testing.assert_array_equal(einsum("ij->ji", a, alpha=2), 2 * a.T)
    out = start.copy()
    einsum("ij->i", np.broadcast_to(a[:, :1], (2, 7)), out=out[:, 0], alpha=2, beta=1)
    np.testing.assert_array_equal(out[:, 0], start[:, 0] + 14 * a[:, 0])


def test_beta_zero_does_not_read_out() -> None:
    out = np.full((2, 2), np.nan)
    einsum("ij,jk", np.ones((2, 2)), np.ones((2, 2)), out=out, beta=0.0)
    np.testing.assert_array_equal(out, np.full((2, 2), 2.0))


def test_wrong_scalars_and_threads() -> None:
    a = np.ones(3, "f4")
    with pytest.raises(EinsumError, match="no out was given"):
        einsum("i,i->i", a, a, beta=1)
    for wrong in ({"alpha": np.complex64(2)}, {"alpha": 1j}, {"alpha": "2"}, {"alpha": [2]}):
        with pytest.raises(TypeError, match="alpha"):
            einsum("i,i->i", a, a, **wrong)
    out = np.zeros(3, "f4")
    with pytest.raises(TypeError, match="beta"):
        einsum("i,i->i", a, a, out=out, beta=1j)
    assert not out.any()
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="threads"):
            einsum("i,i", a, a, threads=wrong)
    for wrong in (1.0, True, "2"):
        with pytest.raises(TypeError, match="threads"):
            einsum("i,i", a, a, threads=wrong)
    assert einsum("i,i", a, a, threads=2) == 3


def test_object_and_string_operands() -> None:
    objects = np.array([1, 2, 3], object)
    assert einsum("i->", objects, dtype="f8", casting="unsafe") == 6.0
    assert einsum("i,i", objects, np.ones(3), dtype="f8", casting="unsafe") == 6.0
    for arrays in ((objects, objects), (objects, np.ones(3)), (np.array(["a"]), np.ones(1))):
        with pytest.raises(TypeError):
            einsum("i,i", *arrays)
    with pytest.raises(TypeError):
        einsum("i->", objects, dtype="f8")
    for array in (objects, np.array(["a", "b"]), np.array([b"a"])):
        with pytest.raises(TypeError, match="cannot be contracted"):
            einsum("i->i", array)
    with pytest.raises(TypeError):
        einsum("i->", np.ones(3, "M8[s]"))


def test_half_types_are_rounded_once() -> None:
    # 2048 + 1 + ... rounds to 2048 at every step in float16, but not in float32.
    a = np.ones(4096, "f2")
    assert einsum("i->", a) == 4096 and einsum("i,i", a, a) == 4096
    # The intermediate 512 * 256 = 131072 is beyond float16.
    b, c = np.full((2, 256), 512, "f2"), np.full((256, 2), 2.0**-12, "f2")
    result = einsum("ij,jk,k->i", b, c.astype("f2"), np.ones(2, "f2"), optimize=[(0, 1), (0, 1)])
    assert result.dtype == np.float16
    np.testing.assert_array_equal(result, [64, 64])
    ones = np.ones((256, 2), "f2")
    small = np.full(2, 2.0**-10, "f2")
    np.testing.assert_array_equal(
        einsum("ij,jk,k->i", b, ones, small, optimize=[(0, 1), (0, 1)]), [256, 256]
    )


def test_bfloat16() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = np.dtype(ml_dtypes.bfloat16)
    a, b = (np.arange(12) % 5).reshape(3, 4).astype(dtype), np.ones((4, 5), dtype)
    result = einsum("ij,jk->ik", a, b)
    assert result.dtype == dtype
    want = a.astype("f4") @ b.astype("f4")
    np.testing.assert_array_equal(result.astype("f4"), want)
    assert einsum("ij,jk->ik", a, b.astype("f4")).dtype == np.float32
    assert einsum("i->", np.ones(1000, dtype)) == dtype.type(1000)
    assert einsum("ij->ji", a).base is a.base or np.shares_memory(einsum("ij->ji", a), a)
    with pytest.raises(TypeError, match="no dtype holds all of bfloat16, int32"):
        einsum("ij,jk->ik", a, b.astype("i4"))
    assert einsum("ij,jk->ik", a, b.astype("i4"), dtype="f8").dtype == np.float64


def test_n_operands_along_any_path() -> None:
    rng = np.random.default_rng(0)
    spec, sizes = "ab,bcd,dea,cef,f->ea", dict(zip("abcdef", (2, 3, 4, 5, 6, 7), strict=True))
    arrays = [rng.random([sizes[c] for c in term]) for term in spec[:-4].split(",")]
    want = np.einsum(spec, *arrays)
    paths = (
        [(0, 1, 2, 3, 4)],
        [(4,), (0, 1), (0, 1), (0, 1), (0, 1)],
        ["einsum_path", (1, 3), (0, 3), (0, 1, 2)],
        [(3, 4), (2, 3), (0,), (0, 2), (0, 1)],
    )
    for optimize in (True, False, None, "auto", "optimal", "dp", ("greedy", 100), *paths):
        result = einsum(spec, *arrays, optimize=optimize)
        np.testing.assert_allclose(result, want)
        assert result.strides == want.strides


def test_integers_wrap_and_are_exact() -> None:
    a = np.full((3, 3), 100, "i1")
    np.testing.assert_array_equal(einsum("ij,jk", a, a), np.einsum("ij,jk", a, a))
    big = np.full(3, 2**62 + 1)
    assert einsum("i,i", big, big) == np.einsum("i,i", big, big)
    assert einsum("i->", np.broadcast_to(np.int8(7), 300)) == np.einsum(
        "i->", np.full(300, 7, "i1")
    )


def test_nothing_runs_on_numpys_contractions(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args, **kwargs):
        raise AssertionError("the package called numpy's contraction")

    for name in ("einsum", "matmul", "dot", "tensordot", "vdot", "inner", "outer", "vecdot"):
        monkeypatch.setattr(np, name, refuse)
    a = np.ones((3, 3))
    assert einsum("ij,jk,kl->", a, a, a) == 81
    assert einsum("ij->", a) == 9


def test_the_cache_is_bounded_and_can_be_cleared() -> None:
    cache_clear()
    a = np.ones((2, 2))
    einsum("ij,jk", a, a)
    misses = cache_info().misses
    einsum("ij,jk", a.copy(), a.copy())
    assert cache_info().misses == misses and cache_info().hits >= 1
    assert cache_info().maxsize is not None
    cache_clear()
    assert cache_info().currsize == 0


def test_many_threads_may_call_at_once() -> None:
    a = np.arange(16.0).reshape(4, 4)
    want = a @ a
    cache_clear()
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: einsum("ij,jk->ik", a, a), range(200)))
    assert all(np.array_equal(result, want) for result in results)


def test_items_of_a_batched_product_do_not_interleave() -> None:
    """Attention scores, heads next to features: numpy's own order would have the heads fastest."""
    q, k = np.ones((2, 50, 3, 32)), np.ones((2, 60, 3, 32))
    spec = "bqhd,bkhd->bhqk"
    strides = einsum(spec, q, k).strides
    assert min(strides[:2]) > max(strides[2:])
    kept = einsum(spec, q, k, optimize=False)
    assert kept.strides == np.einsum(spec, q, k).strides
    assert not kept.flags.c_contiguous
    few = einsum(spec, q[:, :3, :, :4], k[:, :4, :, :4])
    assert few.strides == np.einsum(spec, q[:, :3, :, :4], k[:, :4, :, :4]).strides
    # Where the result ends with the batch, it stays there.
    a, b = np.ones((4, 5, 8)), np.ones((5, 6, 8))
    assert einsum("ijb,jkb->ikb", a, b).flags.c_contiguous
    fortran = einsum("bij,bjk->bik", np.asfortranarray(a), np.ones((4, 8, 3)))
    assert np.array_equal(fortran, np.einsum("bij,bjk->bik", a, np.ones((4, 8, 3))))


@pytest.mark.parametrize("make", [tensorop.einsum, tensorop.compile])
@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"order": 1}, "order must be str, not int"),
        ({"order": ["C"]}, "order must be str, not list"),
        ({"casting": ["safe"]}, "casting must be str, not list"),
        ({"optimize": {}}, "optimize must be a bool, a name"),
    ],
)
def test_keywords_of_the_wrong_type(make: Any, keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make("ij,jk->ik", np.eye(2), np.eye(2), **keywords)


def test_refused_casts_say_what_would_be_permitted() -> None:
    a = np.ones((2, 2), "int8")
    with pytest.raises(TypeError, match=r"dtype=, or casting='unsafe'$"):
        einsum("ij,jk->ik", a, a, dtype="uint32")
    with pytest.raises(TypeError, match=r"dtype=, or casting='unsafe'$"):
        tensorop.matmul(a, a, dtype="uint32")
    with pytest.raises(TypeError, match=r"wider out, or casting='same_kind' or casting='unsafe'$"):
        einsum("ij,jk->ik", a, a, dtype="int32", out=np.zeros((2, 2), "int16"))


@pytest.mark.parametrize("conj", [(False, True), [True], np.array([True, False])])
def test_conj_takes_positions_and_no_mask(conj: Any) -> None:
    z = np.array([1 + 2j])
    with pytest.raises(TypeError, match="mask"):
        tensorop.einsum("i,i->i", z, z, conj=conj)
    with pytest.raises(TypeError, match="mask"):
        tensorop.compile("i,i->i", z, z, conj=conj)


@pytest.mark.parametrize("alpha", [1 / np.sqrt(np.float64(4)), np.longdouble(0.5), np.float16(0.5)])
@pytest.mark.parametrize("dtype", ["f2", "f4", "c8"])
def test_alpha_is_rounded_to_the_precision_of_the_product(alpha: Any, dtype: str) -> None:
    a = np.full(3, 2, dtype)
    result = tensorop.einsum("i,i->i", a, a, alpha=alpha)
    assert result.dtype == a.dtype and (result == 2).all()
    plan = tensorop.compile("i,i->i", a, a)
    assert (plan(a, a, alpha=alpha, beta=alpha, out=np.full(3, 4, dtype)) == 4).all()


def test_alpha_of_a_wider_integer_is_told_what_to_be() -> None:
    a = np.ones(3, "i4")
    with pytest.raises(TypeError, match=r"alpha\.item\(\)"):
        tensorop.einsum("i->i", a, alpha=np.int64(2))
    assert (tensorop.einsum("i->i", a, alpha=np.int64(2).item()) == 2).all()


def test_more_terms_than_a_float_counts() -> None:
    """Sums over labels that all operands are broadcast over are products with their number."""
    huge = np.broadcast_to(1.0, (2**59,))
    labels = "abcdefghijklmnopqr"
    with np.errstate(all="ignore"):
        assert tensorop.einsum(",".join(labels) + "->", *[huge] * 18, optimize=False) == np.inf
    if np.finfo(np.longdouble).nmant >= 63:
        odd = np.broadcast_to(np.longdouble(1), (3**36,))
        assert int(tensorop.einsum("i->", odd)) == 3**36


def test_bfloat16_by_its_name() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = np.ones((2, 3), ml_dtypes.bfloat16)
    plan = tensorop.compile("ij->i", (2, 3), dtypes="bfloat16")
    assert plan(a).dtype == tensorop.einsum("ij->i", a, dtype="bfloat16").dtype == a.dtype


@np.errstate(all="raise")
def test_no_cast_warns() -> None:
    """As none of numpy's einsum does, whatever it is that is cast."""
    large, one, halves = np.array([1, 1e300]), np.ones(2), [np.full(2, 100, "f2")] * 3
    one_each = [np.broadcast_to(np.float32(1), (2**60,))] * 2
    same: dict[str, object] = {"casting": "same_kind"}
    calls: list[tuple[str, list[np.ndarray], dict[str, object]]] = [
        ("i,i->i", [large, one], {"dtype": "f4"} | same),
        ("i,i->i", [large, one], {"out": np.zeros(2, "f4")} | same),
        ("i,i->i", [np.array([np.nan, 1]), one], {"dtype": "i4", "casting": "unsafe"}),
        ("i,i,i->i", halves, {}),
        ("i,i->i", [one.astype("f4")] * 2, {"alpha": 1e300}),
        ("i,i->i", [one.astype("f4")] * 2, {"alpha": np.float64(1e300)} | same),
        ("i,j->", one_each, {"dtype": "f4"}),
    ]
    for spec, arrays, given in calls:
        assert np.shape(einsum(spec, *arrays, **given)) == (2,) * spec.endswith(">i"), spec
