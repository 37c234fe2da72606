"""Vectors whose elements change places by the digits of their index.

Where an element lies is a number, whose binary digits are the dimensions of a tensor that has two
positions along each. To permute these is to permute the digits. Of those that say where an element
is in a vector, some do so afterwards, too, perhaps as other digits; every other one changes places
with a digit that tells vectors apart. One exchange is one shuffle a vector; the last one also puts
the digits that stay in their new order.

Source: Fraser, Array permutation by index-digit permutation (1976).
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from tensorop.jit.builder import INT32, Code, Value
from tensorop.jit.copy_abi import ELSEWHERE


def permuted(code: Code, vectors: Sequence[Value], order: Sequence[int]) -> list[Value]:
    """Vectors in which digits have changed places.

    Parameters
    ----------
    vectors : 2^e vectors of 2^p elements, in the order of the digits that come from elsewhere
    order : for each of the p digits of a place in a new vector, from the lowest: which digit of a
        place in an old one it was, or ELSEWHERE, e times

    Returns
    -------
    list
        As many vectors, in the order of the digits that go elsewhere, the lowest one first.
    """
    lanes = 1 << len(order)
    leaving = [digit for digit in range(len(order)) if digit not in order]
    registers = [list(range(i * lanes, (i + 1) * lanes)) for i in range(len(vectors))]
    values = list(vectors)
    wanted = [_wanted(order, leaving, i) for i in range(len(vectors))]
    if not leaving:
        return [_shuffled(code, values[0], values[0], registers[0] * 2, wanted[0])]
    for step, digit in enumerate(leaving):
        last, bit = step == len(leaving) - 1, 1 << digit
        for low in (i for i in range(len(values)) if not i >> step & 1):
            pair = low, low | 1 << step
            both = registers[pair[0]] + registers[pair[1]]
            old = values[pair[0]], values[pair[1]]
            for side, i in enumerate(pair):
                places = [
                    at if at >> digit & 1 == side else (at ^ bit) + (0 if side else lanes)
                    for at in range(lanes)
                ]
                places = [p + lanes if side and p == at else p for at, p in enumerate(places)]
                found = wanted[i] if last else [both[place] for place in places]
                values[i] = _shuffled(code, *old, both, found)
                registers[i] = found
    return values


def _wanted(order: Sequence[int], leaving: Sequence[int], store: int) -> list[int]:
    """The elements of a new vector, by their number among all that are loaded."""
    gone = sum((store >> i & 1) << digit for i, digit in enumerate(leaving))
    found = []
    for place in range(1 << len(order)):
        element, arrived = gone, 0
        for i, digit in enumerate(order):
            value = place >> i & 1
            if digit == ELSEWHERE:
                element |= value << len(order) + arrived
                arrived += 1
            else:
                element |= value << digit
        found.append(element)
    return found


def _shuffled(
    code: Code, a: Value, b: Value, elements: Sequence[int], wanted: Sequence[int]
) -> Value:
    """A vector of the wanted elements of two registers."""
    places = [elements.index(element) for element in wanted]
    mask = ir.Constant(ir.VectorType(INT32, len(places)), [ir.Constant(INT32, p) for p in places])
    return code.builder.shuffle_vector(a, b, mask)
