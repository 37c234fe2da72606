"""Moving whole cache lines, and fewer bytes than a line or a vector has.

Fewer, where there are no masks, or none that are free, as two parts that are a power of two long,
and overlap: the first bytes and the last ones. Both lie within the bytes, so that nothing else is
read or written.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from tensorop.jit.builder import WORD, Code, Value
from tensorop.jit.instructions import vector_type
from tensorop.jit.lines import LINE

WORD_BYTES = 8


def with_part(code: Code, count: Value, most: int, least: int, move: Callable[[int], None]) -> None:
    """Run `move` with the longest part of `count` bytes: `most` or `least` or a power of two in
    between. With none where there are fewer than `least` bytes."""
    with code.either(code.less(most - 1, count)) as (long, short):
        with long:
            move(most)
        with short:
            if most > least:
                with_part(code, count, most // 2, least, move)


def move_both(code: Code, source: Value, target: Value, count: Value, part: int) -> None:
    """Move `count` bytes, at least one part of them and at most two."""
    type_ = ir.IntType(8 * part)
    if part > WORD_BYTES:
        type_ = vector_type(WORD, part // WORD_BYTES)
    last = code.sub(count, part)
    first = code.load(source, type_), code.load(code.at(source, last), type_)
    code.store(first[0], target)
    code.store(first[1], code.at(target, last))


def move_line(code: Code, source: Value, target: Value) -> None:
    """Move a line from anywhere to where one begins, past the caches."""
    size = code.target.vector_bytes
    vector = vector_type(WORD, size // WORD_BYTES)
    places = range(0, LINE, size)
    for at, value in [(at, code.load(code.at(source, at), vector)) for at in places]:
        code.store_past_caches(value, code.at(target, at), size)


def move_end(code: Code, source: Value, target: Value, count: Value) -> None:
    """Move fewer bytes than a line has; elements moved as one may begin at any byte."""
    with_part(code, count, LINE // 2, 1, lambda part: move_both(code, source, target, count, part))
