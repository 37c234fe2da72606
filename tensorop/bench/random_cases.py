"""Random contractions of two operands, the same for the same seed: what no table was tuned for.

Operations are log-uniform from 10^5 to 10^9, labels two to eight, sizes log-uniform, the orders of
labels uniform in all three tensors. Half of the cases have batch labels, a quarter of the operands
are views (every other element along an axis, or memory in another order of axes); float32 and
float64 take turns. What has a tensor of more than 256 MiB is drawn again.
"""

from __future__ import annotations

import math

import numpy as np

from tensorop.bench.cases import Case

COUNT = 400
OPERATIONS = (1e5, 1e9)
SMALL_COUNT = 300
SMALL_OPERATIONS = (1, 1e5)
LABELS = (2, 8)
LARGEST = 1 << 28  # bytes of a tensor
VIEWS = 0.25  # part of the operands
STEP = 2  # of a strided view


def random_cases(
    seed: int = 0, count: int = COUNT, operations: tuple[float, float] = OPERATIONS
) -> list[Case]:
    """`count` cases of so many operations; the first ones do not depend on `count`.

    >>> random_cases(0, 1) == random_cases(0, 400)[:1]
    True
    """
    cases = []
    for index in range(count):
        rng = np.random.default_rng([seed, index])
        case = None
        while case is None:
            case = _draw(rng, index, operations)
        cases.append(case)
    return cases


def small_cases(seed: int = 0) -> list[Case]:
    """Contractions of everyday programs' size, of a single product to 10^5 operations."""
    return random_cases(seed, SMALL_COUNT, SMALL_OPERATIONS)


def _draw(rng: np.random.Generator, index: int, operations: tuple[float, float]) -> Case | None:
    """One case, None where it is out of bounds."""
    dtype = ("float32", "float64")[index % 2]
    batch = index // 2 % 2 == 1
    points = math.exp(rng.uniform(*np.log(operations))) / 2
    labels = "abcdefgh"[: int(rng.integers(LABELS[0], LABELS[1] + 1))]
    drawn = rng.choice(list("MNKC" if batch else "MNK"), len(labels)).tolist()
    kinds = dict(zip(labels, ["C", *drawn[1:]] if batch else drawn, strict=True))
    parts = rng.random(len(labels))
    sizes = np.maximum(2, np.rint(points ** (parts / parts.sum()))).astype(int).tolist()
    extents = dict(zip(labels, sizes, strict=True))
    terms = []
    for absent in "NMK":
        present = [label for label in labels if kinds[label] != absent]
        terms.append("".join(rng.permutation(present).tolist()))
    layouts = tuple(_layout(rng, [extents[label] for label in term]) for term in terms[:2])
    case = Case(
        f"random {index}",
        f"{terms[0]},{terms[1]}->{terms[2]}",
        tuple(extents.items()),
        dtype,
        layouts=layouts,
    )
    width = np.dtype(dtype).itemsize
    largest = max(math.prod(case.shape(term)) for term in terms) * width
    within = operations[0] <= case.flops <= operations[1] and largest <= LARGEST
    return case if within and terms[0] and terms[1] else None


def _layout(rng: np.random.Generator, shape: list[int]) -> tuple[int, ...] | None:
    """Strides in elements of a view, None for an array as numpy makes it."""
    if rng.random() >= VIEWS:
        return None
    order, steps = list(range(len(shape))), [1] * len(shape)
    if rng.random() < 0.5:
        order = rng.permutation(len(shape)).tolist()
    elif shape:
        steps[int(rng.integers(len(shape)))] = STEP
    strides, stride = [0] * len(shape), 1
    for axis in reversed(order):
        strides[axis] = stride * steps[axis]
        stride *= shape[axis] * steps[axis]
    return tuple(strides)
