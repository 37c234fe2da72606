"""Words in memory, for generated code that handles the records of `jit/abi.py`.

Small helpers over `Code` that the driver, the team and the entries share.
"""

from __future__ import annotations

from llvmlite import ir

from tensorop.jit.abi import WORD as WORD_BYTES
from tensorop.jit.builder import POINTER, WORD, Code, Integer, Value
from tensorop.jit.target import Target


def function(
    module: ir.Module, target: Target, name: str, *arguments: str, result: ir.Type = WORD
) -> tuple[Code, list[Value]]:
    """A new function and its arguments: one written `name:` is a word, any other an address."""
    types = [WORD if argument.endswith(":") else POINTER for argument in arguments]
    labels = [argument.rstrip(":") for argument in arguments]
    code = Code(target, name, ir.FunctionType(result, types), module, labels)
    return code, list(code.function.args)


def words(code: Code, count: int) -> Value:
    """A record on the stack."""
    return code.stack(WORD, count, align=WORD_BYTES)


def cell(code: Code, record: Value, index: Integer) -> Value:
    """The address of a word of a record."""
    offset = index * WORD_BYTES if isinstance(index, int) else code.mul(index, WORD_BYTES)
    return code.at(record, offset)


def copy_words(code: Code, to: Value, source: Value, count: int) -> None:
    """Copy a record, eight words at a time: longer moves would become calls of memcpy."""
    octet = ir.VectorType(WORD, 8)
    for first in range(0, count - count % 8, 8):
        value = code.load(cell(code, source, first), octet, WORD_BYTES)
        code.store(value, cell(code, to, first), WORD_BYTES)
    for index in range(count - count % 8, count):
        code.set_word(to, index, code.word(source, index))


def return_if(code: Code, result: Value) -> None:
    """Hand a cancellation on to the caller."""
    with code.when(code.nonzero(result)):
        code.leave(result)


def null(code: Code, address: Value) -> Value:
    return code.equal(code.builder.ptrtoint(address, WORD), 0)


def symbol(name: str) -> Value:
    """The address of a function or variable of the module."""
    return ir.FormattedConstant(POINTER, f'@"{name}"')
