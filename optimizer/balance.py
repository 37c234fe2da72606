"""Block lengths that cut a size evenly."""

from __future__ import annotations


def ceiling(size: int, part: int) -> int:
    """How many parts of a length it takes to cover a size."""
    return -(-size // part)


def balanced(size: int, largest: int, multiple: int) -> int:
    """The block length that cuts `size` into as few blocks as `largest` allows, all about equal;
    a multiple of `multiple` unless one block covers everything."""
    largest = max(multiple, largest // multiple * multiple)
    if size <= largest:
        return size
    count = -(-size // largest)
    return ceiling(ceiling(size, count), multiple) * multiple
