"""A few channels in registers: beside one another, element by element, or each in a vector.

An even number of channels is halved: what stands at even and at odd places is put together, or
taken apart, alone. An odd number is merged vector by vector.
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
    if n % 2:
        return [_picked(code, vectors, [i * n + c for i in range(lanes)]) for c in range(n)]
    pairs = list(zip(vectors[::2], vectors[1::2], strict=True))
    halves = [
        part(code, [_shuffle(code, *pair, range(odd, 2 * lanes, 2)) for pair in pairs])
        for odd in (0, 1)
    ]
    return [channel for pair in zip(*halves, strict=True) for channel in pair]


def join(code: Code, channels: Sequence[Value]) -> list[Value]:
    """Vectors that follow one another, of channels."""
    n, lanes = len(channels), channels[0].type.count
    if n == 1:
        return list(channels)
    if n % 2:
        spots = [(i % n) * lanes + i // n for i in range(n * lanes)]
        return [_picked(code, channels, spots[i * lanes : (i + 1) * lanes]) for i in range(n)]
    half = lanes // 2
    joined = []
    for pair in zip(join(code, channels[::2]), join(code, channels[1::2]), strict=True):
        for first in (0, half):
            turns = [i + side for i in range(first, first + half) for side in (0, lanes)]
            joined.append(_shuffle(code, *pair, turns))
    return joined


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
