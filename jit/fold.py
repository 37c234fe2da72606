"""The lanes of vectors combined into scalars: how a sum of vectors ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorop.jit.arithmetic import Arithmetic, Number, indices
from tensorop.jit.builder import INT32, Value
from tensorop.jit.instructions import Whole

Combine = Callable[[Arithmetic, Number, Number], Number]


def fold_each(of: Arithmetic, values: Sequence[Number], combine: Combine) -> list[Number]:
    """All lanes of each of some values combined into a scalar, pairwise: a power of two of them
    together, where they are enough to fill 16 bytes."""
    each = min(len(values), of.lanes)
    if of.lanes == 1 or each * of.element.part < 16:
        return [_fold(of, value, combine) for value in values]
    starts = range(0, len(values), each)
    parts = [_fold_together(of, values[i : i + each], combine) for i in starts]
    return [scalar for part in parts for scalar in part]


def _fold(of: Arithmetic, value: Number, combine: Combine) -> Number:
    """One vector: log2(lanes) steps of halving it."""
    lanes = of.lanes
    while lanes > 1:
        half = Arithmetic(of.code, of.element, lanes // 2)
        low, high = (
            tuple(_extract(of, part, range(start, start + lanes // 2)) for part in value)
            for start in (0, lanes // 2)
        )
        value, lanes = combine(half, low, high), lanes // 2
    return value


def _fold_together(of: Arithmetic, values: Sequence[Number], combine: Combine) -> list[Number]:
    """Two vectors become one, of neighbouring lanes combined, until one holds what is left of
    all. Lanes change places within 16 bytes before they do across, which is dearer."""
    count, lanes = len(values), of.lanes
    near = min(lanes, 16 // of.element.part)
    for done in range(lanes.bit_length() - 1):
        run, within = (1, near) if 1 << done < near else (near, lanes)
        kept = lanes if len(values) > 1 else lanes // 2
        half, pairs = Arithmetic(of.code, of.element, kept), range(0, len(values), 2)
        values = [
            combine(half, *(_alternate(half, values[i : i + 2], run, within, k) for k in (0, 1)))
            for i in pairs
        ]
        lanes = kept
    return [tuple(_extract(of, part, range(i, i + 1)) for part in values[0]) for i in range(count)]


def _alternate(of: Arithmetic, pair: Sequence[Number], run: int, within: int, odd: int) -> Number:
    """Of so many lanes at a time every other run, of one vector or of two: of the first, then of
    the second."""
    lanes = of.lanes * 2 // len(pair)
    picked = [
        start + source * lanes + i + j
        for start in range(0, lanes, within)
        for source in range(len(pair))
        for i in range(odd * run, within, 2 * run)
        for j in range(run)
    ]
    parts = zip(pair[0], pair[-1], strict=True)
    return tuple(of.builder.shuffle_vector(a, b, indices(picked)) for a, b in parts)


def _extract(of: Arithmetic, part: Value, lanes: range) -> Value:
    if len(lanes) == 1:
        return of.builder.extract_element(part, Whole(INT32, lanes[0]))
    return of.builder.shuffle_vector(part, part, indices(list(lanes)))
