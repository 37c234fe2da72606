"""Transposition of a tile in registers: log2(lanes) stages of two-register shuffles.

The first stages interleave inside 16-byte segments (x86's unpack, Arm's zip), the last ones
exchange whole segments, so that every shuffle is one instruction wherever registers have such
segments. The stages leave the columns in another order than the rows came in; which one follows
from running the same network on the numbers of the columns.

Of a tile with more rows than columns, squares lie beside one another in registers that are wider
than a row, and go through the network together.

Elements wider than 8 bytes are groups of `units` lanes that move together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeVar

from llvmlite import ir

from tensorop.jit.builder import INT32, Code, Value
from tensorop.jit.target import SEGMENT

T = TypeVar("T")


def transpose(
    code: Code, rows: Sequence[Value], columns: int, size: int, units: int = 1
) -> list[Value]:
    """The columns of a tile.

    Parameters
    ----------
    rows : vectors of `columns` elements (of one: a scalar, or a vector of `units`); as many, or a
        power of two times as many
    size : bytes of an element
    units : vector lanes of an element
    """
    squares = len(rows) // columns

    def select(a: Value, b: Value, places: list[int]) -> Value:
        lanes = [place * units + unit for place in places for unit in range(units)]
        type_ = ir.VectorType(INT32, len(lanes))
        mask = ir.Constant(type_, [ir.Constant(INT32, i) for i in lanes])
        return code.builder.shuffle_vector(a, b, mask)

    def beside(parts: Sequence[Value]) -> Value:
        if len(parts) == 1:
            return parts[0]
        half = len(parts) // 2
        return select(beside(parts[:half]), beside(parts[half:]), list(range(columns * len(parts))))

    def shuffle(a: Value, b: Value, order: list[int]) -> Value:
        """`order` in every square; b's elements follow those of all squares of a."""
        starts = range(0, columns * squares, columns)
        places = [i % columns + i // columns * columns * squares for i in order]
        return select(a, b, [start + place for start in starts for place in places])

    found = _network([beside(rows[i::columns]) for i in range(columns)], size, shuffle)
    return [found[i] for i in _column_order(columns, size)]


@cache
def _column_order(lanes: int, size: int) -> tuple[int, ...]:
    """The register in which the network leaves each column."""
    found = [register[0] for register in _network([list(range(lanes))] * lanes, size, _pick)]
    return tuple(found.index(column) for column in range(lanes))


def _pick(a: list[int], b: list[int], order: list[int]) -> list[int]:
    return [(a + b)[i] for i in order]


def _network(registers: list[T], size: int, shuffle: Callable[[T, T, list[int]], T]) -> list[T]:
    """Stage `distance` puts together what rows `i` and `i + distance` hold of the same columns."""
    lanes = len(registers)
    inside = min(lanes, max(1, SEGMENT // size))  # elements of a segment
    distance = 1
    while distance < lanes:
        if distance < inside:
            halves = _interleave(lanes, inside, distance)
        else:
            halves = _exchange(lanes, inside, distance // inside)
        after = list(registers)
        for i in range(lanes):
            if not i & distance:
                pair = registers[i], registers[i + distance]
                after[i], after[i + distance] = (shuffle(*pair, half) for half in halves)
        registers, distance = after, 2 * distance
    return registers


def _interleave(lanes: int, inside: int, group: int) -> tuple[list[int], list[int]]:
    """In every segment: groups of the two registers in turn, of the lower and of the upper half."""

    def half(first: int) -> list[int]:
        return [
            register + segment + first + start + i
            for segment in range(0, lanes, inside)
            for start in range(0, inside // 2, group)
            for register in (0, lanes)
            for i in range(group)
        ]

    return half(0), half(inside // 2)


def _exchange(lanes: int, inside: int, step: int) -> tuple[list[int], list[int]]:
    """The segments of both registers whose number has one bit clear, and those that have it set:
    the highest bit in the first such stage (step 1), the next in the second."""
    segments = lanes // inside
    bit = segments // 2 // step

    def half(wanted: int) -> list[int]:
        return [
            register + segment * inside + i
            for register in (0, lanes)
            for segment in range(segments)
            if segment & bit == wanted
            for i in range(inside)
        ]

    return half(0), half(bit)
