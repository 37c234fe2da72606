"""Writes instructions straight as text: llvmlite's IRBuilder, several times as fast.

A kernel is a thousand or more instructions, and it is generated while a caller waits. llvmlite
keeps each as an object with operands, flags, metadata and a registered name, and formats it when
the module is printed, which together takes longer than LLVM's parser does. `Builder` formats at
once: an `Instruction` is a type, a name and a line of text. Everything else (functions, blocks,
types, constants, and the rare instructions that are not written here) is llvmlite's, and mixes with
it freely, because a line offers what llvmlite asks of a value: `type` and `get_reference()`.

Operand types are not compared here: LLVM's parser does so, with the line in its message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from llvmlite import ir

Value = Any  # an `Instruction`, a `Literal` or a value of llvmlite's

BIT = ir.IntType(1)
VOID = ir.VoidType()
POINTER = ir.PointerType()
INT32 = ir.IntType(32)

_RELATIONS = {"<": "lt", ">": "gt", "==": "eq", "!=": "ne", "<=": "le", ">=": "ge"}
_EQUALITY = {"==": "eq", "!=": "ne"}  # of integers, whatever their sign


@cache
def vector_type(scalar: ir.Type, lanes: int) -> ir.Type:
    """`lanes` of a scalar type: the scalar itself for one lane."""
    return scalar if lanes == 1 else ir.VectorType(scalar, lanes)


def written(type_: ir.Type) -> str:
    """A type as text."""
    try:
        return type_.tensorop_text
    except AttributeError:
        text = type_.tensorop_text = str(type_)
        return text


class Literal:
    """A constant by its text."""

    __slots__ = ("reference", "type")

    def __init__(self, type_: ir.Type, reference: str) -> None:
        self.type, self.reference = type_, reference

    def get_reference(self) -> str:
        return self.reference


class Whole(Literal):
    """An integer constant: arithmetic on known numbers need not be generated."""

    __slots__ = ("value",)

    def __init__(self, type_: ir.Type, value: int) -> None:
        super().__init__(type_, str(int(value)))
        self.value = int(value)


class Instruction(Literal):
    """A line of a function, and the value that it defines."""

    __slots__ = ("parent", "text")

    def __init__(self, type_: ir.Type, reference: str, text: str, parent: ir.Block) -> None:
        self.type, self.reference, self.text, self.parent = type_, reference, text, parent

    def __str__(self) -> str:
        return self.text


class Phi(Instruction):
    """A value that depends on the block that the control came from."""

    __slots__ = ("incoming",)

    def __init__(self, type_: ir.Type, reference: str, parent: ir.Block) -> None:
        super().__init__(type_, reference, "", parent)
        self.incoming: list[str] = []

    def add_incoming(self, value: Value, block: ir.Block) -> None:
        self.incoming.append(f"[{value.get_reference()}, {block.get_reference()}]")

    def __str__(self) -> str:
        return f"{self.reference} = phi {written(self.type)} {', '.join(self.incoming)}"


def _operand(value: Value) -> str:
    return f"{written(value.type)} {value.get_reference()}"


def _binary(operation: str) -> Callable[..., Instruction]:
    def write(self: Builder, a: Value, b: Value, name: str = "") -> Instruction:
        return self.define(a.type, f"{operation} {_operand(a)}, {b.get_reference()}")

    return write


def _conversion(operation: str) -> Callable[..., Value]:
    def write(self: Builder, value: Value, type_: ir.Type, name: str = "") -> Value:
        if value.type == type_:
            return value
        return self.define(type_, f"{operation} {_operand(value)} to {written(type_)}")

    return write


def _comparison(operation: str, prefix: str, **plain: str) -> Callable[..., Instruction]:
    names = {sign: prefix + name for sign, name in _RELATIONS.items()} | plain

    def write(self: Builder, relation: str, a: Value, b: Value, name: str = "") -> Instruction:
        lanes = a.type.count if isinstance(a.type, ir.VectorType) else 1
        condition = names.get(relation, relation)  # uno and ord have no sign
        text = f"{operation} {condition} {_operand(a)}, {b.get_reference()}"
        return self.define(vector_type(BIT, lanes), text)

    return write


class Builder(ir.IRBuilder):
    """An IRBuilder for one function, whose instructions are lines of text."""

    def __init__(self, block: ir.Block) -> None:
        super().__init__(block)
        self._count = 0

    def define(self, type_: ir.Type, text: str) -> Instruction:
        """Append an instruction that has a result."""
        self._count += 1
        reference = f"%v{self._count}"
        return self._append(Instruction(type_, reference, f"{reference} = {text}", self._block))

    def _append(self, instruction: Instruction) -> Instruction:
        self._block.instructions.insert(self._anchor, instruction)
        self._anchor += 1
        return instruction

    def _effect(self, text: str) -> Instruction:
        return self._append(Instruction(VOID, "", text, self._block))

    def _end(self, text: str) -> Instruction:
        block = self._block
        assert not block.is_terminated
        block.terminator = self._effect(text)
        return block.terminator

    add = _binary("add")
    sub = _binary("sub")
    mul = _binary("mul")
    udiv = _binary("udiv")
    sdiv = _binary("sdiv")
    urem = _binary("urem")
    shl = _binary("shl")
    lshr = _binary("lshr")
    ashr = _binary("ashr")
    and_ = _binary("and")
    or_ = _binary("or")
    xor = _binary("xor")
    fadd = _binary("fadd")
    fsub = _binary("fsub")
    fmul = _binary("fmul")
    fdiv = _binary("fdiv")

    trunc = _conversion("trunc")
    zext = _conversion("zext")
    sext = _conversion("sext")
    fptrunc = _conversion("fptrunc")
    fpext = _conversion("fpext")
    fptosi = _conversion("fptosi")
    fptoui = _conversion("fptoui")
    sitofp = _conversion("sitofp")
    uitofp = _conversion("uitofp")
    bitcast = _conversion("bitcast")
    ptrtoint = _conversion("ptrtoint")
    inttoptr = _conversion("inttoptr")

    icmp_signed = _comparison("icmp", "s", **_EQUALITY)
    icmp_unsigned = _comparison("icmp", "u", **_EQUALITY)
    fcmp_ordered = _comparison("fcmp", "o")
    fcmp_unordered = _comparison("fcmp", "u")

    def fneg(self, value: Value, name: str = "") -> Instruction:
        return self.define(value.type, f"fneg {_operand(value)}")

    def select(self, condition: Value, a: Value, b: Value, name: str = "") -> Instruction:
        return self.define(a.type, f"select {_operand(condition)}, {_operand(a)}, {_operand(b)}")

    def phi(self, type_: ir.Type, name: str = "") -> Phi:
        self._count += 1
        phi = Phi(type_, f"%v{self._count}", self._block)
        self._append(phi)
        return phi

    # memory

    def gep(
        self,
        base: Value,
        indices: Sequence[Value],
        inbounds: bool = False,
        name: str = "",
        source_etype: ir.Type | None = None,
    ) -> Instruction:
        places = "".join(f", {_operand(index)}" for index in indices)
        kind = "inbounds " if inbounds else ""
        text = f"getelementptr {kind}{written(source_etype)}, {_operand(base)}{places}"
        return self.define(POINTER, text)

    def load(
        self, address: Value, name: str = "", align: int = 1, typ: ir.Type | None = None
    ) -> Instruction:
        return self.define(typ, f"load {written(typ)}, {_operand(address)}, align {align}")

    def store(
        self, value: Value, address: Value, align: int = 1, past_caches: bool = False
    ) -> Instruction:
        hint = ", !nontemporal !{i32 1}" if past_caches else ""
        return self._effect(f"store {_operand(value)}, {_operand(address)}, align {align}{hint}")

    def fence(self, ordering: str) -> Instruction:
        return self._effect(f"fence {ordering}")

    def reserve(self, type_: ir.Type, count: int, align: int) -> Instruction:
        """`count` elements on the stack."""
        return self.define(POINTER, f"alloca {written(type_)}, i32 {count}, align {align}")

    # vectors

    def insert_element(
        self, vector: Value, value: Value, index: Value, name: str = ""
    ) -> Instruction:
        text = f"insertelement {_operand(vector)}, {_operand(value)}, {_operand(index)}"
        return self.define(vector.type, text)

    def extract_element(self, vector: Value, index: Value, name: str = "") -> Instruction:
        text = f"extractelement {_operand(vector)}, {_operand(index)}"
        return self.define(vector.type.element, text)

    def shuffle_vector(self, a: Value, b: Value, mask: Value, name: str = "") -> Instruction:
        text = f"shufflevector {_operand(a)}, {_operand(b)}, {_operand(mask)}"
        return self.define(vector_type(a.type.element, mask.type.count), text)

    # control

    def call(
        self, callee: Value, arguments: Sequence[Value], name: str = "", **_: Any
    ) -> Instruction:
        return self.call_as(callee.function_type.return_type, callee, arguments)

    def call_as(self, result: ir.Type, callee: Value, arguments: Sequence[Value]) -> Instruction:
        """Call a function, or an address, that gives a `result`."""
        given = ", ".join(map(_operand, arguments))
        text = f"call {written(result)} {callee.get_reference()}({given})"
        return self._effect(text) if isinstance(result, ir.VoidType) else self.define(result, text)

    def jump_to(self, result: ir.Type, callee: Value, arguments: Sequence[Value]) -> Instruction:
        """As `call_as` of what takes the same arguments and gives the same result as this function,
        which returns it at once: needs no place on the stack."""
        given = ", ".join(map(_operand, arguments))
        text = f"tail call {written(result)} {callee.get_reference()}({given})"
        return self.define(result, text)

    def branch(self, target: ir.Block) -> Instruction:
        return self._end(f"br label {target.get_reference()}")

    def cbranch(self, condition: Value, then: ir.Block, otherwise: ir.Block) -> Instruction:
        ways = f"label {then.get_reference()}, label {otherwise.get_reference()}"
        return self._end(f"br i1 {condition.get_reference()}, {ways}")

    def ret(self, value: Value) -> Instruction:
        return self._end(f"ret {_operand(value)}")

    def ret_void(self) -> Instruction:
        return self._end("ret void")
