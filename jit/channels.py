"""A few channels in registers: beside one another, element by element, or each in a vector.

They are taken apart, and put together, by one prime factor of their number after the other: first
what stands at even and at odd places, say, then each of these alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from tensorop.jit.builder import INT32, Code, Value


def part(code: Code, vectors: Sequence[Value]) -> list[Value]:
    """The channels of vectors that follow one another, as many as there are channels."""
    n, lanes = len(vectors), vectors[0].type.count
    if n == 1:
        return list(vectors)
    p = _factor(n)
    groups = [vectors[first : first + p] for first in range(0, n, p)]
    classes = [
        part(code, [_picked(code, group, [i * p + c for i in range(lanes)]) for group in groups])
        for c in range(p)
    ]
    return [channel for each in zip(*classes, strict=True) for channel in each]


def join(code: Code, channels: Sequence[Value]) -> list[Value]:
    """Vectors that follow one another, of channels."""
    n, lanes = len(channels), channels[0].type.count
    if n == 1:
        return list(channels)
    p = _factor(n)
    spots = [(i % p) * lanes + i // p for i in range(p * lanes)]
    classes = [join(code, channels[c::p]) for c in range(p)]
    return [
        _picked(code, group, spots[first : first + lanes])
        for group in zip(*classes, strict=True)
        for first in range(0, p * lanes, lanes)
    ]


def _factor(n: int) -> int:
    """The smallest prime factor."""
    return next(p for p in range(2, n + 1) if n % p == 0)


def _picked(code: Code, vectors: Sequence[Value], spots: Sequence[int]) -> Value:
    """A vector of these elements of several vectors."""
    lanes = len(spots)
    owners = sorted({spot // lanes for spot in spots})
    first, second = owners[0], owners[min(1, len(owners) - 1)]

    def place(spot: int, base: int) -> int:
        """Where a spot is, the vector `base` being the second of the two."""
        return spot % lanes + (lanes if spot // lanes == base else 0)

    picked = _shuffle(
        code,
        vectors[first],
        vectors[second],
        [place(s, second) if s // lanes in (first, second) else 0 for s in spots],
    )
    for owner in owners[2:]:
        order = [lanes + s % lanes if s // lanes == owner else i for i, s in enumerate(spots)]
        picked = _shuffle(code, picked, vectors[owner], order)
    return picked


def _shuffle(code: Code, a: Value, b: Value, order: Sequence[int]) -> Value:
    type_ = ir.VectorType(INT32, len(order))
    mask = ir.Constant(type_, [ir.Constant(INT32, i) for i in order])
    return code.builder.shuffle_vector(a, b, mask)
