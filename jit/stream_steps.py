"""One vector of a stream kernel: read from the inputs, computed, accumulated, stored.

`StreamSteps` holds what the descriptor, the frame and the call record say, and writes the code for
one vector (or scalar) at a time; `jit/stream_loops.py` builds the loops of a kernel from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tensorop.jit.abi import Frame
from tensorop.jit.arithmetic import Arithmetic, Number
from tensorop.jit.asked import ahead_in_rows
from tensorop.jit.builder import Code, Value
from tensorop.jit.elements import MOST_LANES, Element, element
from tensorop.jit.functions import BINARY_FUNCTIONS, UNARY_FUNCTIONS, cast
from tensorop.jit.lines import LINE
from tensorop.jit.scalars import Scalars, flat, grouped
from tensorop.jit.stream_abi import Access, StreamDescriptor, StreamKernel
from tensorop.jit.target import Target
from tensorop.tuples import NamedTuple

ROWS = 4  # rows of Y that one pass along X sums
_HEAVY = frozenset({"sqrt", "reciprocal", "div", "abs"})  # of complex types: long code


class Lanes(NamedTuple):
    """Arithmetic at one width: of the inputs as they lie in memory, and of the results."""

    source: Arithmetic
    of: Arithmetic
    width: int


class Input(NamedTuple):
    """One input: how it is read, the bytes of an element, its address, the bytes from one x and one
    y to the next, and how many bytes ahead of a vector are asked for, 0 for none."""

    access: Access
    size: int
    conjugated: bool
    address: Value
    step: Value | int
    stride: Value
    ahead: Value | int


class Row(NamedTuple):
    """One input at one y: the address of its first element and the bytes from one to the next, or
    the one element that it has for every x; and `ahead` as its input has it."""

    address: Value
    step: Value | int
    conjugated: bool
    everywhere: Number | None
    ahead: Value | int = 0


# An address in out, and how many lanes of a vector count there.
Place: TypeAlias = tuple[Value, Value | None]


class StreamSteps:
    """The steps of one kernel, over the code under construction."""

    def __init__(self, form: StreamKernel, target: Target) -> None:
        self.form = form
        self.code = Code(target, form.name)
        self.element, self.source = element(form.dtype), element(form.source or form.dtype)
        parts = (self.element.accumulator.part, self.source.accumulator.part)
        lanes = target.lanes(max(parts))
        if form.gathers:  # more elements one by one would be long code, and hardly faster
            lanes = min(lanes, MOST_LANES)
        self.lanes = self._lanes(1 if form.strided else lanes)
        self.scalar = self._lanes(1)
        # Elements are stored one by one, with no mask.
        scatters = form.out == "scattered"
        self.masked = not scatters and {self.element.part, self.source.part} <= target.masked
        self.x = self.code.mul(self._size(StreamDescriptor.X_AXIS), form.per_x)
        self.y = self._size(StreamDescriptor.Y_AXIS)
        self.out = self._address(StreamDescriptor.OUT_SLOT)
        steps = scatters or form.strided
        self.out_step = self._word(StreamDescriptor.X_OUT) if steps else self.element.size
        self.out_stride = self._word(StreamDescriptor.Y_OUT)
        self.inputs = self._open_inputs()
        self.scalars = Scalars(self.code, self.element) if form.updates else None

    # what the descriptor and the frame say

    def _word(self, word: StreamDescriptor) -> Value:
        return self.code.word(self.code.descriptor, word)

    def _size(self, word: StreamDescriptor) -> Value:
        code, axis = self.code, self._word(word)
        size = code.word(code.frame, code.add(code.max(axis, 0), Frame.SIZE))
        return code.builder.select(code.less(axis, 0), code.int(1), size)

    def _address(self, word: StreamDescriptor) -> Value:
        return self.code.pointer(self.code.frame, self._word(word))

    def _open_inputs(self) -> list[Input]:
        form, words = self.form, StreamDescriptor
        described = [
            (form.in0, form.conj0, words.IN0_SLOT, words.X_IN0, words.Y_IN0, form.asks0),
            (form.in1, form.conj1, words.IN1_SLOT, words.X_IN1, words.Y_IN1, form.asks1),
        ]
        return [
            Input(
                access,
                self.source.size,
                conjugated,
                self._address(slot),
                self._word(x) if access == "strided" else self.source.size,
                self._word(y),
                self._ahead(self._word(y)) if asks else 0,
            )
            for access, conjugated, slot, x, y, asks in described
            if access is not None and form.main != "zero"
        ]

    def _ahead(self, stride: Value) -> Value:
        length = self.code.mul(self.x, self.source.size)
        several = self.form.out == "reduced" and not self.form.in_turn
        return ahead_in_rows(self.code, length, stride, ROWS if several else 1)

    def _lanes(self, count: int) -> Lanes:
        return Lanes(
            Arithmetic(self.code, self.source, count),
            Arithmetic(self.code, self.element, count),
            count,
        )

    def vectors(self, most: int) -> int:
        """How many vectors of X are worked on at once: at most `most`, fewer where the code of one
        is long or takes many registers."""
        kinds = (self.element, self.source)
        if self.form.gathers or not all(kind.vectorises for kind in kinds):
            return 1
        if any(kind.half == "float16" for kind in kinds) and not self.code.target.half:
            return min(most, 2)
        if any(kind.parts == 2 for kind in kinds):
            return 1 if self.form.main in _HEAVY else max(1, most // 2)
        multiplies = self.form.main in ("gemm", "mul", "prod", "square")
        byte = self.element.part == 1 and self.element.kind in "iu"  # no such multiplication
        return max(1, most // 4) if byte and multiplies else most

    def multiple(self, n: Value, unit: int) -> Value:
        """n rounded down to a multiple."""
        code = self.code
        if unit & (unit - 1):
            return code.sub(n, code.builder.urem(n, code.int(unit)))
        return code.builder.and_(n, code.int(-unit))

    # one element, or one vector of them

    def rows(self, y: Value, x: Value | None = None) -> list[Row]:
        """The inputs at one y, from position x on."""
        code, rows = self.code, []
        for one in self.inputs:
            address = code.at(one.address, code.mul(y, one.stride))
            if x is not None:
                address = code.at(address, code.mul(x, one.step))
            row = Row(address, one.step, one.conjugated, None, one.ahead)
            if one.access == "zero":
                row = row._replace(everywhere=self.load(row, self.scalar, code.int(0), None))
            rows.append(row)
        return rows

    def load(self, row: Row, lanes: Lanes, x: Value, count: Value | None) -> Number:
        if row.everywhere is not None:
            return lanes.of.splat(row.everywhere)
        address = self.code.at(row.address, self.code.mul(x, row.step))
        if row.ahead and lanes.width > 1:
            asked = self.code.at(address, row.ahead)
            for line in range(0, lanes.width * self.source.size, LINE):
                self.code.prefetch(self.code.at(asked, line) if line else asked)
        if isinstance(row.step, int):
            value = lanes.source.load(address, count)
        else:
            value = lanes.source.gather(address, row.step, count)
        if row.conjugated:
            value = lanes.source.conj(value)
        return cast(lanes.source, lanes.of, value) if self.form.source else value

    def compute(self, of: Arithmetic, inputs: Sequence[Number]) -> Number:
        """The primitive without its reduction."""
        main = self.form.main
        if main == "zero":
            return of.zero
        if len(inputs) == 2:
            return BINARY_FUNCTIONS["mul" if main == "gemm" else main](of, *inputs)
        return inputs[0] if self.form.updates else UNARY_FUNCTIONS[main](of, inputs[0])

    def accumulate(self, of: Arithmetic, total: Number, inputs: Sequence[Number]) -> Number:
        if self.form.main == "gemm":
            return of.fma(inputs[0], inputs[1], total)
        return self.combine(of, total, inputs[0])

    def combine(self, of: Arithmetic, a: Number, b: Number) -> Number:
        main = {"gemm": "add", "sum": "add", "prod": "mul"}.get(self.form.main, self.form.main)
        return BINARY_FUNCTIONS[main](of, a, b)

    def identity(self, of: Arithmetic) -> Number:
        main = self.form.main
        if main in ("min", "max"):
            return of.constant(_extreme(self.element, largest=main == "min"))
        return of.constant(1 if main in ("prod", "and") else 0)

    # the store

    def store(self, of: Arithmetic, values: list[Number], places: list[Place]) -> None:
        """Write results, combined with what out holds where the call asks for it."""
        self.put(of, self.updated(of, values, places), places)

    def put(self, of: Arithmetic, values: list[Number], places: list[Place]) -> None:
        """Write what `updated` gave."""
        for value, (address, count) in zip(values, places, strict=True):
            if isinstance(self.out_step, int) or of.lanes == 1:
                of.store(value, address, count)
            else:
                of.scatter(value, address, self.out_step)

    def updated(self, of: Arithmetic, values: list[Number], places: list[Place]) -> list[Number]:
        """Results, combined with what out holds where the call asks for it."""
        scalars = self.scalars
        if scalars is None:
            return values
        scaled = self.form.main in ("gemm", "sum")

        def alone() -> list[Value]:
            if not scaled:
                return flat(values)
            return flat([scalars.alone(of, v) for v in values])

        def combined() -> list[Value]:
            old = [self._old(of, address, count) for address, count in places]
            pairs = zip(values, old, strict=True)
            if not scaled:
                return flat([self.combine(of, v, o) for v, o in pairs])
            return flat([scalars.combined(of, v, o) for v, o in pairs])

        return grouped(self.code.choose(scalars.reads, combined, alone), self.element.parts)

    def _old(self, of: Arithmetic, address: Value, count: Value | None) -> Number:
        """What out holds."""
        if isinstance(self.out_step, int) or of.lanes == 1:
            return of.load(address, count)
        return of.gather(address, self.out_step)


def _extreme(kind: Element, largest: bool) -> float:
    """The largest or smallest value of a type."""
    if kind.is_float:
        return float("inf") if largest else float("-inf")
    bits = 8 * kind.size
    if kind.kind == "u":
        return 2**bits - 1 if largest else 0
    return 2 ** (bits - 1) - 1 if largest else -(2 ** (bits - 1))
