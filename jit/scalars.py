"""alpha and beta, as the record of a call says them: out = alpha * result + beta * out.

Only in the first block of K; later ones add alpha * result to what out then holds.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorop.jit.abi import WORD, CallRecord, Frame
from tensorop.jit.arithmetic import Arithmetic, Number
from tensorop.jit.builder import Code, Value
from tensorop.jit.elements import Element


class Scalars:
    """What the call record says about the update of out. `reads`: out is not just overwritten."""

    def __init__(self, code: Code, element: Element) -> None:
        call = code.pointer(code.frame, Frame.CALL)
        plain = Arithmetic(code, element.accumulator, 1)
        self._code, self._parts = code, element.parts
        self._scales = code.nonzero(code.word(call, CallRecord.SCALES))
        self._first = first = code.nonzero(code.word(code.frame, Frame.FIRST))

        def factor(word: int, asked: Value) -> Number:
            given, one = plain.load(code.at(call, word * WORD)), plain.constant(1)
            return tuple(code.builder.select(asked, a, b) for a, b in zip(given, one, strict=True))

        reads_out = code.nonzero(code.word(call, CallRecord.READS_OUT))
        self.reads = code.builder.or_(code.builder.not_(first), reads_out)
        self._alpha = factor(CallRecord.ALPHA, self._scales)
        self._beta = factor(CallRecord.BETA, first)

    def alone(self, of: Arithmetic, value: Number) -> Number:
        """alpha * value."""
        return self._times(of, self._alpha, value, self._scales)

    def combined(self, of: Arithmetic, value: Number, old: Number) -> Number:
        """alpha * value + beta * old."""
        old = self._times(of, self._beta, old, self._first)
        if self._parts == 1:
            return of.fma(of.splat(self._alpha), value, old)
        return of.add(self.alone(of, value), old)

    def _times(self, of: Arithmetic, factor: Number, value: Number, condition: Value) -> Number:
        """The value times a factor that is one unless the condition holds: for real types nothing
        needs to be asked, but in complex arithmetic 1 * inf is not inf."""
        product = of.mul(of.splat(factor), value)
        if self._parts == 1:
            return product
        select = self._code.builder.select
        return tuple(select(condition, a, b) for a, b in zip(product, value, strict=True))


def flat(numbers: Sequence[Number]) -> list[Value]:
    """The parts of some numbers, one after the other."""
    return [part for number in numbers for part in number]


def grouped(values: Sequence[Value], parts: int) -> list[Number]:
    """Numbers of so many parts."""
    return [tuple(values[i : i + parts]) for i in range(0, len(values), parts)]
