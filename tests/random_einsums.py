"""Random calls of einsum, and what is right for them.

`draw(rng)` makes a call: spec, operands of any layout (permuted, sliced with steps of either sign,
broadcast, misaligned, byte-swapped), dtype, and sometimes out, alpha, beta, conj and threads.
`check` runs it and compares with numpy.einsum in higher precision: wrong is what lies outside
c * k * eps * (|A| |B|); integers and bool are exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

import ml_dtypes
import numpy as np

import tensorop

Array = np.ndarray[Any, Any]
LABELS = "abcdefgh"
FLOATS = ("float32", "float64", "complex64", "complex128")
OTHERS = (
    "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool",
    "float16", "bfloat16", "longdouble", "clongdouble",
)  # fmt: skip
SIZES = (
    1,
    1,
    2,
    2,
    3,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    11,
    15,
    16,
    17,
    24,
    31,
    32,
    33,
    48,
    50,
    65,
    100,
    130,
    317,
)
WIDER = {
    "float16": "float64", "bfloat16": "float64", "float32": "float64", "float64": "longdouble",
    "complex64": "complex128", "complex128": "clongdouble",
}  # fmt: skip
POINTS = 200_000
LARGE_POINTS = 4_000_000
REPEATED = 10_000  # elements of a result below which a call is repeated
LARGEST = 1 << 25  # elements that a view may be cut out of
C = 4.0


@dataclass
class Call:
    """A call of einsum."""

    spec: str
    operands: list[Array]
    options: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        layouts = [(x.shape, x.strides, x.dtype.str) for x in self.operands]
        out = self.options.get("out")
        options = {k: v for k, v in self.options.items() if k != "out"}
        if out is not None:
            options["out"] = (out.shape, out.strides, out.dtype.str)
        return f"{self.spec} {layouts} {options}"


def numpy_dtype(name: str) -> np.dtype[Any]:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def draw(rng: np.random.Generator, dtypes: tuple[str, ...] | None = None) -> Call:
    """A random call."""
    name = str(rng.choice(dtypes if dtypes else FLOATS * 4 + OTHERS))
    large = rng.random() < 0.02
    count = int(rng.choice([1, 1, 2, 2, 2, 2, 2, 3]))
    terms, output, sizes = _spec(rng, count, LARGE_POINTS if large else POINTS)
    operands = [_operand(rng, [sizes[label] for label in term], name) for term in terms]
    call = Call(",".join(terms) + "->" + output, operands)
    if rng.random() < 0.2:
        call.options["threads"] = int(rng.integers(1, 4))
    shape = [sizes[label] for label in output]
    if rng.random() < 0.4:
        call.options["out"] = _operand(rng, shape, name, out=True)
        if rng.random() < 0.5:
            call.options["beta"] = _scalar(rng, name)
    if rng.random() < 0.2:
        call.options["alpha"] = _scalar(rng, name)
    if rng.random() < 0.2:
        call.options["order"] = str(rng.choice(list("CFAK")))
    if numpy_dtype(name).kind == "c" and rng.random() < 0.4:
        call.options["conj"] = tuple(i for i in range(count) if rng.random() < 0.6)
    return call


def _spec(
    rng: np.random.Generator, count: int, points: int
) -> tuple[list[str], str, dict[str, int]]:
    """Labels of the operands and of the result, and a size for each."""
    labels = list(LABELS[: int(rng.integers(1, len(LABELS)))])
    sizes = dict.fromkeys(labels, 1)
    for label in rng.permutation(labels):
        room = points // prod(sizes.values())
        sizes[str(label)] = min(int(rng.choice(SIZES)), max(room, 1))
    terms = []
    for _ in range(count):
        kept = [label for label in labels if rng.random() < 0.6]
        twice = bool(kept) and rng.random() < 0.05
        if twice and prod(sizes[label] for label in (*kept, kept[0])) <= LARGEST:
            kept.append(kept[0])
        terms.append("".join(str(label) for label in rng.permutation(kept)))
    used = sorted(set("".join(terms)))
    output = [label for label in used if rng.random() < 0.5]
    return terms, "".join(str(label) for label in rng.permutation(output)), sizes


def _operand(rng: np.random.Generator, shape: list[int], name: str, *, out: bool = False) -> Array:
    """An array of a random layout, with random values."""
    dtype = numpy_dtype(name)
    axes = rng.permutation(len(shape)) if rng.random() < 0.5 else np.arange(len(shape))
    steps = [int(rng.choice([1, 1, 1, 1, 1, 2, 3, -1, -2])) for _ in shape]
    if rng.random() < 0.4:
        steps = [1] * len(shape)
    extents = [1 + (shape[axis] - 1) * abs(steps[axis]) for axis in axes]
    if prod(extents) > LARGEST:
        extents, steps = [shape[axis] for axis in axes], [1] * len(shape)
    base = _values(rng, extents, dtype)
    strange = rng.random()
    if strange < 0.05 and dtype.kind != "V":
        base = base.astype(dtype.newbyteorder())
    elif strange < 0.1:
        raw = np.zeros(base.nbytes + 1, np.uint8)[1:]
        moved = np.ndarray(base.shape, dtype, raw)
        moved[...] = base
        base = moved
    view = base.transpose(np.argsort(axes))[(*(slice(None, None, s) for s in steps), ...)]
    if not out and view.ndim and rng.random() < 0.2:
        axes = rng.choice(view.ndim, int(rng.integers(1, 3)))
        first = view[tuple(slice(0, 1) if i in axes else slice(None) for i in range(view.ndim))]
        view = np.broadcast_to(first, view.shape)
    return view


def _values(rng: np.random.Generator, shape: list[int], dtype: np.dtype[Any]) -> Array:
    if dtype.kind == "b":
        return rng.random(shape) < 0.3
    if dtype.kind in "iu":
        return rng.integers(0, 100, shape).astype(dtype)
    real = rng.standard_normal(shape)
    if dtype.kind == "c":
        return np.asarray(real + 1j * rng.standard_normal(shape)).astype(dtype)
    return np.asarray(real).astype(dtype)


def _scalar(rng: np.random.Generator, name: str) -> Any:
    kind = numpy_dtype(name).kind
    if kind == "b":
        return bool(rng.random() < 0.7)
    if kind in "iu":
        return int(rng.integers(0, 5))
    # Exactly representable in every float type.
    return float(rng.choice([0.0, 0.5, 1.0, 2.0, -1.5]))


def check(call: Call) -> None:
    """Run a call and compare."""
    name = _name(call.operands[0])
    expected, bound = _expected(call, name)
    options = dict(call.options)
    if (out := options.get("out")) is not None and not options.get("beta"):
        out[...] = numpy_dtype(name).type(np.nan if numpy_dtype(name).kind in "fcV" else 1)
    actual = tensorop.einsum(call.spec, *call.operands, **options)
    actual = np.asarray(actual)
    if set(call.options) <= {"out"} and actual.size < REPEATED:
        _check_again(call, actual.copy())
    assert actual.shape == expected.shape, f"shape {actual.shape}: {call}"
    if numpy_dtype(name).kind in "biu":
        assert np.array_equal(actual, expected), f"not equal: {call}"
        return
    if name == "float16":  # what is beyond its range is infinite
        beyond = np.isinf(actual) & (np.abs(expected) + bound > np.finfo(np.float16).max)
        beyond &= np.sign(actual) == np.sign(expected)
        actual = np.where(beyond, expected, actual)
    error = np.abs(actual.astype(expected.dtype) - expected)
    assert np.all(error <= bound), f"error {np.max(error - bound)} beyond bound: {call}"


def _check_again(call: Call, first: Array) -> None:
    """Calls that come again go other ways, to the same values."""
    for _ in range(2):
        if "out" in call.options:
            call.options["out"][...] = 0
        again = np.asarray(tensorop.einsum(call.spec, *call.operands, **call.options))
        same = (again == first) | ((again != again) & (first != first))  # NaN is NaN
        assert np.all(same), f"not the same again: {call}"


def _name(array: Array) -> str:
    name = array.dtype.newbyteorder("=").name
    return {"float128": "longdouble", "complex256": "clongdouble"}.get(name, name)


def _expected(call: Call, name: str) -> tuple[Array, Array]:
    dtype = np.dtype(WIDER.get(name, name))
    wide = [x.astype(dtype) for x in call.operands]
    for i in call.options.get("conj", ()):
        wide[i] = wide[i].conj()
    alpha, beta = call.options.get("alpha", 1), call.options.get("beta", 0)
    optimize = len(wide) > 2
    product = np.asarray(np.einsum(call.spec, *wide, optimize=optimize))
    magnitude = np.asarray(np.einsum(call.spec, *map(np.abs, wide), optimize=optimize))
    if dtype.kind == "b":
        result = product & bool(alpha)
        if beta:
            result = result | call.options["out"]
        return result, result
    result = product * dtype.type(alpha)
    size = np.abs(dtype.type(alpha)) * magnitude
    if beta:
        result = result + dtype.type(beta) * call.options["out"].astype(dtype)
        size = size + np.abs(dtype.type(beta) * call.options["out"].astype(dtype))
    if dtype.kind in "iu":
        return result, result
    terms = _terms(call)
    accumulator = "float32" if name in ("float16", "bfloat16") else name
    eps = float(np.finfo(accumulator).eps)
    bound = C * (terms + 4) * eps * size.astype(float) + float(np.finfo(accumulator).tiny)
    if accumulator != name:
        info: Any = ml_dtypes.finfo(numpy_dtype(name))
        bound = bound + float(info.eps) * np.abs(result).astype(float) + float(info.tiny)
    return result, bound


def _terms(call: Call) -> int:
    """How many products are added up for one element of the result."""
    inputs, output = call.spec.split("->")
    sizes = {
        label: n
        for term, x in zip(inputs.split(","), call.operands, strict=True)
        for label, n in zip(term, x.shape, strict=True)
    }
    return prod(n for label, n in sizes.items() if label not in output)
