"""`einsum` against numpy.einsum: everything that a caller can see of a call.

A random differential test compares shape, strides, dtype, flags, views and kinds of error for each
`order`; the rest states one behaviour a test. Values are compared with a tolerance of the dtype.
"""

from __future__ import annotations

import pickle
import random
import warnings

import numpy as np
import pytest

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
