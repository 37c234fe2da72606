"""Blocks and parts of an axis: how long they are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tensorop.optimizer.balance import SHORTEST, balanced, ceiling, share_of, without_rest
from tensorop.optimizer.parallelise import BALANCED, busy, even_count

SIZES, FEW = st.integers(1, 5000), st.integers(1, 70)


@given(SIZES, FEW, FEW)
def test_a_share_is_no_more_than_it_has_to_be(size: int, threads: int, multiple: int) -> None:
    share = share_of(size, threads, multiple)
    assert share * threads >= size and (share % multiple == 0 or share == size)
    assert (share - multiple) * threads < size


@given(SIZES, SIZES, FEW)
def test_blocks_have_no_short_rest(size: int, largest: int, multiple: int) -> None:
    block = without_rest(size, largest, multiple)
    if size <= largest:
        assert block == size
        return
    whole = balanced(size, largest, multiple)
    last = size % whole or whole
    count = ceiling(size, whole)
    assert block == (whole if last >= SHORTEST * whole else ceiling(size, count))


def test_nine_columns_are_five_and_four() -> None:
    assert (balanced(9, 8, 4), without_rest(9, 8, 4)) == (8, 5)
    assert without_rest(15, 8, 4) == 8  # and 7
    assert without_rest(9, 9, 4) == 9
    assert without_rest(7, 8, 4) == 7


@given(SIZES, FEW, SIZES)
def test_equal_parts_are_the_fewest_that_are_shared_evenly(
    size: int, threads: int, most: int
) -> None:
    def serves(count: int) -> bool:
        return size % count == 0 and busy(count, threads) >= BALANCED

    count = even_count(size, threads, most)
    fewest = next((n for n in range(threads, most + 1) if serves(n)), 0)
    assert count == fewest
