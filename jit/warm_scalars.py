"""alpha and beta of calls seen before (`jit/warm_code.py`): from Python's numbers to the words that
kernels read.

A float or an int of Python becomes a float64, and what of it the plan's dtype holds. Whatever else
it is, or would overflow, is left to the Python function that knows what to say.
"""

from __future__ import annotations

from llvmlite import ir

from tensorop.jit import builtin_code
from tensorop.jit.abi import BETA_IS_ONE, SCALAR_WORDS, CallRecord
from tensorop.jit.builder import INT32, POINTER, WORD, Code, Value
from tensorop.jit.builtin import Foreign
from tensorop.jit.records import cell, function, null, symbol, words
from tensorop.jit.target import Target
from tensorop.jit.warm import FIELDS, Record

_F64 = ir.DoubleType()
_A_FLOAT, _AN_INT = 1, 2  # kinds of numbers
_LARGEST_FLOAT32 = float.fromhex("0x1.fffffep127")


def emit_number(module: ir.Module, target: Target) -> None:
    """Write a Python number as a float64: its kind, or 0 for any other object, and for an int of
    more than 64 bits."""
    code, (given, place) = function(module, target, "warm.number", "given", "place")
    kind = code.word(code.at(given, builtin_code.TYPE_AT), 0)
    types = symbol("foreign")
    with code.when(code.equal(kind, code.word(types, Foreign.FLOAT))):
        code.set_word(place, 0, code.word(code.at(given, FIELDS), 0))
        code.leave(_A_FLOAT)
    with code.when(code.builder.not_(code.equal(kind, code.word(types, Foreign.INT)))):
        code.leave(0)
    overflows = words(code, 1)
    value = code.call("PyLong_AsLongLongAndOverflow", WORD, [given, overflows])
    fits = code.builder.icmp_signed("==", code.load(overflows, INT32, 4), ir.Constant(INT32, 0))
    code.store(code.builder.sitofp(value, _F64), place, 8)
    code.finish(code.builder.select(fits, code.int(_AN_INT), code.int(0)))


def factor(code: Code, given: Value, default: float, none: Value) -> tuple[Value, Value]:
    """alpha or beta as a float64, and whether it is the default, an int; null: the default. What is
    no such number is left to others."""
    place = words(code, 1)
    code.store(ir.Constant(_F64, default), place, 8)

    def read() -> list[Value]:
        kind = code.call("warm.number", WORD, [given, place])
        with code.when(code.equal(kind, 0)):
            code.leave(none)
        return [kind]

    (kind,) = code.choose(null(code, given), lambda: [code.int(_AN_INT)], read)
    value = code.load(place, _F64, 8)
    same = code.builder.fcmp_ordered("==", value, ir.Constant(_F64, default))
    return value, code.builder.and_(same, code.equal(kind, _AN_INT))


def scalars_of(
    code: Code,
    record: Value,
    makes: Value,
    factors: tuple[Value, Value],
    default: Value,
    none: Value,
) -> Value:
    """The words of alpha and beta, as `runtime.scalars` has them; null where they are 1 and 0."""
    written = words(code, SCALAR_WORDS)

    def equals(value: Value, number: float) -> Value:
        return code.builder.fcmp_ordered("==", value, ir.Constant(_F64, number))

    def write() -> list[Value]:
        size = code.word(record, Record.FACTOR)
        with code.when(code.equal(size, 0)):
            code.leave(none)
        alpha, beta = (_rounded(code, value, size, none) for value in factors)
        zero, one = equals(beta, 0.0), equals(beta, 1.0)
        # A beta without `out` is an error; somebody else says so.
        with code.when(code.builder.and_(makes, code.builder.not_(zero))):
            code.leave(none)
        for index in range(SCALAR_WORDS):
            code.set_word(written, index, 0)
        for value, word in ((alpha, CallRecord.ALPHA), (beta, CallRecord.BETA)):
            place = cell(code, written, word)
            with code.either(code.equal(size, 4)) as (single, double):
                with single:
                    code.store(code.builder.fptrunc(value, ir.FloatType()), place, 4)
                with double:
                    code.store(value, place, 8)
        scales = code.builder.zext(code.builder.not_(equals(alpha, 1.0)), WORD)
        reads = code.builder.select(one, code.int(BETA_IS_ONE), code.int(1))
        code.set_word(written, CallRecord.SCALES, scales)
        code.set_word(written, CallRecord.READS_OUT, code.builder.select(zero, code.int(0), reads))
        return [written]

    (place,) = code.choose(default, lambda: [ir.Constant(POINTER, None)], write)
    return place


def _rounded(code: Code, value: Value, size: Value, none: Value) -> Value:
    """A float64 that is also a float of so many bytes; one that a float32 may not hold is left to
    others."""

    def single() -> list[Value]:
        least = code.builder.fcmp_ordered(">=", value, ir.Constant(_F64, -_LARGEST_FLOAT32))
        most = code.builder.fcmp_ordered("<=", value, ir.Constant(_F64, _LARGEST_FLOAT32))
        with code.when(code.builder.not_(code.builder.and_(least, most))):
            code.leave(none)
        return [code.builder.fpext(code.builder.fptrunc(value, ir.FloatType()), _F64)]

    (result,) = code.choose(code.equal(size, 4), single, lambda: [value])
    return result
