"""The cheapest path of a few operands: against all paths, one by one, and what makes one cheap."""

from __future__ import annotations

import itertools
import math
import random
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

import tensorop
from tensorop import path_search
from tensorop.contraction import Contraction, resolve
from tensorop.optimizer.machine import host_machine
from tensorop.path import find_path
from tensorop.path_search import MOST, cheapest
from tensorop.spec import parse

Pair = tuple[int, int]


def contraction(spec: str, **sizes: int) -> Contraction:
    parsed = parse(spec)
    shapes = [tuple(sizes.get(str(x), 2) for x in term.labels) for term in parsed.operands]
    return resolve(parsed, shapes)


def drawn(rng: random.Random, operands: int) -> Contraction:
    """Hyperedges, diagonals, scalars and outer products among them."""
    letters = "abcdefgh"[: rng.randint(1, 8)]
    terms = ["".join(rng.choices(letters, k=rng.randint(0, 4))) for _ in range(operands)]
    used = sorted({*"".join(terms)})
    output = "".join(rng.sample(used, rng.randint(0, min(3, len(used)))))
    sizes = {x: rng.choice([0, 1, 2, 3, 7, 20, 100, 1000]) for x in used}
    return contraction(f"{','.join(terms)}->{output}", **sizes)


def every_path(count: int) -> Iterator[tuple[Pair, ...]]:
    """Every order of products of two."""
    if count == 1:
        yield ()
        return
    for pair in itertools.combinations(range(count), 2):
        for rest in every_path(count - 1):
            yield (pair, *rest)


def plain_cycles(given: Contraction, path: tuple[Pair, ...], dtype: str) -> float:
    """What a path takes, with sets of labels: sums over what only one operand has come first."""
    prices = path_search._Prices(given.sizes, dtype, host_machine())
    waiting = [set(labels) for labels in given.operands]

    def number(labels: set[int]) -> int:
        return sum(1 << label for label in labels)

    def needed(others: list[set[int]]) -> set[int]:
        return set(given.output).union(*others)

    total = 0.0
    for i, labels in enumerate(waiting):
        kept = labels & needed([other for j, other in enumerate(given.operands) if j != i])
        total += prices.reduction(number(labels), number(kept))
        waiting[i] = kept
    for i, j in path:
        second, first = waiting.pop(j), waiting.pop(i)
        kept = (first | second) & needed(waiting)
        total += prices.product(number(first), number(second), number(kept))
        waiting.append(kept)
    return total


@pytest.mark.parametrize("operands", [1, 2, 3, 4, 5])
def test_no_path_is_cheaper(operands: int) -> None:
    rng = random.Random(operands)
    for _ in range(100 if operands < 5 else 20):
        given, dtype = drawn(rng, operands), rng.choice(["float32", "complex128", "int8"])
        path = cheapest(given, dtype, host_machine())
        found = plain_cycles(given, path, dtype)
        least = min(plain_cycles(given, other, dtype) for other in every_path(operands))
        assert found == pytest.approx(least, rel=1e-9)


@pytest.mark.parametrize("operands", range(3, MOST + 1))
def test_the_result_is_that_of_any_other_path(operands: int) -> None:
    rng = random.Random(operands)
    for _ in range(10):
        terms = ["".join(rng.sample("abcdef", rng.randint(0, 3))) for _ in range(operands)]
        used = sorted({*"".join(terms)})
        spec = f"{','.join(terms)}->{''.join(rng.sample(used, rng.randint(0, len(used))))}"
        arrays = [np.array(rng.randint(-9, 9)) for _ in terms]
        for i, term in enumerate(terms):
            shape = ["abcdef".index(x) % 3 + 1 for x in term]
            numbers = [rng.randint(-3, 3) for _ in range(math.prod(shape))]
            arrays[i] = np.array(numbers, np.int64).reshape(shape)
        expected = np.einsum(spec, *arrays)
        np.testing.assert_array_equal(tensorop.einsum(spec, *arrays), expected)
        path, report = tensorop.einsum_path(spec, *arrays, optimize="auto")
        np.testing.assert_array_equal(tensorop.einsum(spec, *arrays, optimize=path), expected)
        assert "Complete contraction" in report


def test_of_as_many_multiplications_that_which_writes_least() -> None:
    """opt_einsum 3.4 ("optimal") makes ad and abhc one of eight million elements here."""
    given = contraction("abhc,ab,ab,ad->hdbc", a=15, b=15, c=54, d=14, h=47)
    path = cheapest(given, "float64", host_machine())
    waiting, largest = [set(labels) for labels in given.operands], 0
    for i, j in path:
        second, first = waiting.pop(j), waiting.pop(i)
        kept = (first | second) & set(given.output).union(*waiting)
        largest = max(largest, math.prod(given.sizes[label] for label in kept))
        waiting.append(kept)
    assert largest == 15 * 54 * 14 * 47


def test_a_chain_from_the_side_of_the_vector() -> None:
    given = contraction("ab,bc,cd,d->a", a=100, b=100, c=100, d=100)
    assert cheapest(given, "float32", host_machine()) == ((2, 3), (1, 2), (0, 1))


def test_vectors_of_numbers_are_multiplied_before_they_meet_a_matrix() -> None:
    given = contraction("i,i,ij->j", i=1000, j=1000)
    assert cheapest(given, "float64", host_machine())[0] == (0, 1)


def test_as_many_as_it_is_for_and_more() -> None:
    for operands in (MOST, MOST + 1):
        spec = ",".join("ab" for _ in range(operands))
        path = find_path("auto", contraction(f"{spec}->ab", a=3, b=4), "float32")
        assert sum(len(group) - 1 for group in path) == operands - 1


def test_opt_einsum_is_not_imported_for_a_few() -> None:
    program = """
import sys, numpy as np, tensorop
a = np.ones((4, 4))
tensorop.einsum("ab,bc,cd,de", a, a, a, a)
assert "opt_einsum" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)
