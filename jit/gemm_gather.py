"""Panels of A that a GEMM kernel puts together itself, on its stack, from wherever they lie.

A small product takes no longer than the call of a packing kernel, let alone two. So the vector side
is brought into panels by the kernel that multiplies it, and the broadcast side, of which single
elements are read, stays where it lies. How elements come together depends on the strides, which are
known when the kernel runs: rows that are consecutive, in either direction, and every second element
are vectors; columns that are consecutive are transposed in registers; all else goes one by one.

    [panel][k][part][row of the panel]
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tensorop.jit.arithmetic import Arithmetic, Number, indices
from tensorop.jit.builder import BYTE, Code, Value
from tensorop.jit.elements import Element
from tensorop.jit.gemm_abi import PANEL_BYTES
from tensorop.jit.transpose import transpose

Loader = Callable[[Value, Value], Number]
TRANSPOSED = 4  # bytes of an element, at least: registers hold the rows of a square


class Gathering:
    """The code that puts the panels of a block together.

    rows: of a panel; lanes: of a vector. m, k: sizes of the block; m_step, k_step: its strides.
    """

    def __init__(self, code: Code, element: Element, rows: int, lanes: int) -> None:
        self.code, self.element, self.rows, self.lanes = code, element, rows, lanes
        self.vector = Arithmetic(code, element, lanes)
        self.parts = Arithmetic(code, element.real, lanes)
        self.square = Arithmetic(code, element, max(1, lanes // 2))
        # Transposed tiles reach beyond the last step of K.
        self.address = code.stack(BYTE, PANEL_BYTES + lanes * rows * element.size)

    def generate(self, source: Value, m: Value, k: Value, m_step: Value, k_step: Value) -> None:
        """Fill the panels."""
        code, size = self.code, self.element.size
        self.source, self.m, self.k, self.m_step, self.k_step = source, m, k, m_step, k_step
        ways: list[tuple[Value, Callable[[], None]]] = []
        masked = code.target.free_masks and self.element.part in code.target.masked
        if self.element.vectorises:
            ways.append((code.equal(m_step, size), partial(self._vectors, self._as_they_lie)))
        if masked and self.element.parts == 1:
            if size >= TRANSPOSED:
                ways.append((code.equal(k_step, size), self._transposed))
            ways.append((code.equal(m_step, 2 * size), partial(self._vectors, self._every_second)))
            ways.append((code.equal(m_step, -size), partial(self._vectors, self._reversed)))
        self._first_of(ways)

    def _first_of(self, ways: list[tuple[Value, Callable[[], None]]]) -> None:
        """The first way whose condition holds, else one by one."""
        if not ways:
            self._one_by_one()
            return
        (holds, way), *others = ways
        with self.code.either(holds) as (then, otherwise):
            with then:
                way()
            with otherwise:
                self._first_of(others)

    def _panel(self, panel: Value) -> tuple[Value, Value, Value]:
        """Where the first row of a panel lies, how many rows are left from there on, and where the
        panel is put together."""
        code = self.code
        first = code.mul(panel, self.rows)
        place = code.at(self.source, code.mul(first, self.m_step))
        filled = code.mul(code.mul(panel, self.k), self.rows * self.element.size)
        return place, code.sub(self.m, first), code.at(self.address, filled)

    def _panels(self) -> Value:
        return self.code.builder.udiv(
            self.code.add(self.m, self.rows - 1), self.code.int(self.rows)
        )

    def _step(self, panel: Value, k: Value) -> Value:
        return self.code.at(panel, self.code.mul(k, self.rows * self.element.size))

    def _put(self, number: Number, place: Value) -> None:
        for plane, part in enumerate(number):
            at = self.code.at(place, plane * self.rows * self.element.part)
            self.parts.store((part,), at)

    # vectors along the rows

    def _vectors(self, load: Loader) -> None:
        code = self.code
        with code.loop(self._panels()) as panel:
            place, left, target = self._panel(panel)
            for first in range(0, self.rows, self.lanes):
                count = code.max(0, code.min(self.lanes, code.sub(left, first)))
                with code.when(code.less(0, count)), code.loop(self.k) as k:
                    step = code.add(code.mul(k, self.k_step), code.mul(self.m_step, first))
                    number = load(code.at(place, step), count)
                    self._put(number, code.at(self._step(target, k), first * self.element.part))

    def _as_they_lie(self, place: Value, count: Value) -> Number:
        return self.vector.load(place, count)

    def _reversed(self, place: Value, count: Value) -> Number:
        """The elements before a place, the nearest first."""
        before = self.code.at(place, -(self.lanes - 1) * self.element.size)
        (loaded,) = self.vector.load(before, self.code.sub(self.lanes, count), behind=True)
        order = indices([*range(self.lanes)][::-1])
        return (self.code.builder.shuffle_vector(loaded, loaded, order),)

    def _every_second(self, place: Value, count: Value) -> Number:
        code, lanes = self.code, self.lanes
        reach = code.sub(code.mul(count, 2), 1)
        (low,) = self.vector.load(place, code.min(lanes, reach))
        behind = code.at(place, lanes * self.element.size)
        (high,) = self.vector.load(behind, code.max(0, code.sub(reach, lanes)))
        even = indices([*range(0, 2 * lanes, 2)])
        return (code.builder.shuffle_vector(low, high, even),)

    # columns that are consecutive

    def _transposed(self) -> None:
        """By squares of half a vector: small products leave little of larger ones unused. Of rows
        that do not exist the last one that does is repeated."""
        code, side = self.code, self.square.lanes
        with code.loop(self._panels()) as panel:
            place, left, target = self._panel(panel)
            rows = code.min(self.rows, left)
            with code.loop(rows, step=side) as first:
                last = code.sub(rows, 1)
                lines = [
                    code.at(place, code.mul(self.m_step, code.min(code.add(first, i), last)))
                    for i in range(side)
                ]
                column = code.at(target, code.mul(first, self.element.part))
                with code.loop(self.k, step=side) as k:
                    self._square(lines, k, self._step(column, k))

    def _square(self, lines: list[Value], k: Value, target: Value) -> None:
        code, square, size = self.code, self.square, self.element.size
        count = code.min(square.lanes, code.sub(self.k, k))
        offset = code.mul(k, size)
        loaded = [square.load(code.at(line, offset), count)[0] for line in lines]
        for i, column in enumerate(transpose(code, loaded, square.lanes, size)):
            square.store((column,), code.at(target, i * self.rows * size))

    # all else

    def _one_by_one(self) -> None:
        code, part = self.code, self.element.part
        one = Arithmetic(code, self.element, 1)
        real = Arithmetic(code, self.element.real, 1)
        with code.loop(self._panels()) as panel:
            place, left, target = self._panel(panel)
            rows = code.min(self.rows, left)
            with code.loop(self.k) as k:
                begin = code.at(place, code.mul(k, self.k_step))
                step = self._step(target, k)
                with code.reduce(rows, [begin]) as each:
                    (here,) = each.values
                    at = code.at(step, code.mul(each.index, part))
                    for plane, value in enumerate(one.load(here)):
                        real.store((value,), code.at(at, plane * self.rows * part))
                    each.update([code.at(here, self.m_step)])
