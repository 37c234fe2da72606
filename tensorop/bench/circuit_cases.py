"""Contractions of two tensors of a circuit's network: ranks of 16 to 22, every size two.

6 to 11 labels are summed, and the orders of labels are uniform in all three tensors. What has a
result of more than `LARGEST` labels is drawn again. Every contraction comes in float32 and in
complex64.
"""

from __future__ import annotations

from string import ascii_letters

import numpy as np

from tensorop.bench.cases import Case

COUNT = 21
RANKS = (16, 22)
SUMMED = (6, 11)
LARGEST = 23  # labels of a result
DTYPES = ("float32", "complex64")


def circuit_cases(seed: int = 0, count: int = COUNT) -> list[Case]:
    """`count` contractions, in float32 and then in complex64; the first ones do not depend on
    `count`.

    >>> circuit_cases(0, 1)[0] == circuit_cases(0, 21)[0]
    True
    """
    return [_drawn(seed, index, dtype) for dtype in DTYPES for index in range(count)]


def _drawn(seed: int, index: int, dtype: str) -> Case:
    rng = np.random.default_rng([seed, index])
    while True:
        first, second = (int(rank) for rank in rng.integers(RANKS[0], RANKS[1] + 1, 2))
        summed = int(rng.integers(SUMMED[0], SUMMED[1] + 1))
        if first + second - 2 * summed <= LARGEST:
            break
    labels = list(ascii_letters[: first + second - summed])
    terms = labels[:first], labels[first - summed :], labels[: first - summed] + labels[first:]
    in0, in1, out = ("".join(rng.permutation(term).tolist()) for term in terms)
    return Case(
        f"circuit {index}, ranks {first} and {second}, {summed} summed",
        f"{in0},{in1}->{out}",
        tuple((label, 2) for label in labels),
        dtype,
    )
