"""The built-in function by which Python launches a plan, as generated code on CPython's C API.

`launch(prepared, in0, in1, out, aux, scalars, scratch)` takes arrays or addresses and returns None.
It reads the arrays' data addresses from their structs, at offsets that `reads_arrays` checks first.
A plan marked LONG runs without the GIL; on the main thread its poll function takes the GIL again
about every 10 ms, so that signal handlers run. What a handler raises cancels the call: it is raised
after the last worker has left the operands.

The generated code works on the functions `entry.prepare` and `entry.execute` of `jit/entry.py`.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from enum import IntEnum
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from tensorop.jit.abi import CallRecord
from tensorop.jit.builder import INT32, POINTER, VOID, WORD, Code, Value
from tensorop.jit.records import PREPARED_WORDS, function, null, symbol, words
from tensorop.jit.target import Target

ARGUMENTS = ("in0:", "in1:", "out:", "aux:", "scalars", "scratch:")  # after the prepared plan
FUNCTIONS = ["entry.python", "entry.data", "entry.set_main", "entry.foreign"]
ABANDONED_TEXT = "the process forked in the middle of this call, so its result is incomplete"
_USAGE = "launch takes a prepared plan, in0, in1, out, aux, scalars and scratch"
_POLL_NANOSECONDS = 10_000_000

_PYTHON = (
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
    "PyErr_CheckSignals",
    "PyErr_Occurred",
    "PyErr_SetString",
    "PyLong_AsLongLong",
    "PyThread_get_thread_ident",
    "Py_IncRef",
    "Py_DecRef",
    "PyCFunction_NewEx",
)
_DATA_AT = object.__basicsize__  # PyArrayObject: the object's header, then the data pointer
TYPE_AT = object.__basicsize__ - ctypes.sizeof(ctypes.c_void_p)  # the last field of the header


def declare_python() -> bool:
    """Make the C API known to the linker; False where there is none."""
    if sys.implementation.name != "cpython":
        return False
    for name in _PYTHON:
        found = getattr(ctypes.pythonapi, name, None)
        if found is None:
            return False
        llvm.add_symbol(name, ctypes.cast(found, ctypes.c_void_p).value)
    return True


def emit_python(module: ir.Module, target: Target) -> None:
    """Write the built-in's functions into a module that has the plain entries."""
    main = ir.GlobalVariable(module, WORD, "main_thread")
    main.initializer = ir.Constant(WORD, 0)
    table = ir.GlobalVariable(module, ir.ArrayType(WORD, len(Foreign)), "foreign")
    table.initializer = ir.Constant(table.value_type, None)
    code, _ = function(module, target, "entry.foreign")
    code.finish(code.builder.ptrtoint(symbol("foreign"), WORD))
    _emit_set_main(module, target)
    _emit_data(module, target)
    _emit_poll(module, target)
    _emit_python(module, target)


class Foreign(IntEnum):
    """Addresses that differ from process to process: objects that live for ever, and functions of
    numpy. The code has a table of them, so that it can be kept on disk; `know` fills it."""

    ARRAY = 0  # the type numpy.ndarray
    NONE = 1
    TYPE_ERROR = 2
    RUNTIME_ERROR = 3
    NEW_ARRAY = 4  # functions of numpy's C API
    AS_SCALAR = 5


_OBJECTS = (np.ndarray, None, TypeError, RuntimeError)  # in the order of `Foreign`


def foreign(code: Code, what: Foreign) -> Value:
    """An address of the table."""
    return code.pointer(symbol("foreign"), what)


def know(table: int, new_array: int, as_scalar: int) -> None:
    """Fill the table."""
    addresses = [*map(id, _OBJECTS), new_array, as_scalar]
    for at, address in enumerate(addresses):
        ctypes.c_int64.from_address(table + 8 * at).value = address


def is_array(code: Code, thing: Value) -> Value:
    """Whether an object is a plain array."""
    kind = code.word(code.at(thing, TYPE_AT), 0)
    return code.equal(kind, code.word(symbol("foreign"), Foreign.ARRAY))


def _emit_set_main(module: ir.Module, target: Target) -> None:
    code, (ident,) = function(module, target, "entry.set_main", "ident:")
    code.set_word(_main_thread(), 0, ident)
    code.finish(code.int(0))


def _main_thread() -> Value:
    return symbol("main_thread")


def _emit_data(module: ir.Module, target: Target) -> None:
    """The data address of an array; 0 for any other object."""
    code, (thing,) = function(module, target, "entry.data", "thing")
    with code.when(is_array(code, thing)):
        code.leave(code.word(code.at(thing, _DATA_AT), 0))
    code.finish(code.int(0))


def reads_arrays(data: Callable[[int], int]) -> bool:
    """Whether the layout assumed above is this interpreter's and this numpy's."""
    if np.ndarray.__basicsize__ < _DATA_AT + 8:
        return False
    line = np.arange(12.0)
    samples = (line, line[::-1], line[3:].reshape(3, 3).T, np.empty(0), np.array(1j))
    plain = all(data(id(sample)) == sample.__array_interface__["data"][0] for sample in samples)
    return plain and all(data(id(other)) == 0 for other in (line.dtype, samples, None))


def _emit_poll(module: ir.Module, target: Target) -> None:
    """Let other Python threads and signal handlers run; non-zero: a handler raised."""
    code, (record,) = function(module, target, "entry.poll", "record")
    state = code.pointer(record, CallRecord.POLL_STATE)
    code.call("PyEval_RestoreThread", VOID, [state])
    raised = code.call("PyErr_CheckSignals", INT32, [])
    _save_thread(code, record)
    code.finish(code.builder.sext(raised, WORD))


def _save_thread(code: Code, record: Value) -> None:
    state = code.call("PyEval_SaveThread", POINTER, [])
    code.set_word(record, CallRecord.POLL_STATE, code.builder.ptrtoint(state, WORD))
    interval = code.word(record, CallRecord.POLL_INTERVAL)
    deadline = code.add(code.call("system.clock", WORD, []), interval)
    code.set_word(record, CallRecord.DEADLINE, deadline)


def _emit_python(module: ir.Module, target: Target) -> None:
    """The body of the built-in: `launch(prepared, in0, in1, out, aux, scalars, scratch)`."""
    code, (_, given, count) = function(
        module, target, "entry.python", "self", "given", "count:", result=POINTER
    )
    expected = 1 + len(ARGUMENTS)
    with code.when(code.builder.not_(code.equal(count, expected))):
        raise_error(code, Foreign.TYPE_ERROR, text(module, "usage", _USAGE))
    values = words(code, expected)
    _take_arguments(code, given, values, expected)
    own = words(code, PREPARED_WORDS)
    types = ["", *ARGUMENTS]
    arguments = [
        code.word(values, i) if types[i].endswith(":") else code.pointer(values, i)
        for i in range(expected)
    ]
    code.call("entry.prepare", WORD, [own, *arguments])
    run_prepared(code, own)
    with code.when(code.nonzero(code.word(own, CallRecord.CANCEL))):
        raise_cancelled(code, module)
    none = foreign(code, Foreign.NONE)
    code.call("Py_IncRef", VOID, [none])
    code.finish(none)


def _take_arguments(code: Code, given: Value, values: Value, count: int) -> None:
    """Arrays as their data addresses, numbers as they are; anything else is an error."""
    with code.loop(count) as i:
        argument = code.pointer(given, i)
        with code.either(is_array(code, argument)) as (array, number):
            with array:
                code.set_word(values, i, code.word(code.at(argument, _DATA_AT), 0))
            with number:
                value = code.call("PyLong_AsLongLong", WORD, [argument])
                code.set_word(values, i, value)
                with code.when(code.equal(value, -1)):
                    error = code.call("PyErr_Occurred", POINTER, [])
                    with code.when(code.builder.not_(null(code, error))):
                        code.leave(ir.Constant(POINTER, None))


def run_prepared(code: Code, record: Value) -> None:
    """Execute a call record, without the GIL if its plan is marked LONG."""
    with code.either(code.nonzero(code.word(record, CallRecord.LONG))) as (long, short):
        with long:
            _run_long(code, record)
        with short:
            code.call("entry.execute", WORD, [record])


def raise_cancelled(code: Code, module: ir.Module) -> None:
    """Return what was raised by a signal handler, or that the call was abandoned."""
    with code.when(null(code, code.call("PyErr_Occurred", POINTER, []))):
        raise_error(code, Foreign.RUNTIME_ERROR, text(module, "abandoned", ABANDONED_TEXT))
    code.leave(ir.Constant(POINTER, None))


def _run_long(code: Code, record: Value) -> None:
    """Run without the GIL. Signal handlers run on the main thread only, so it alone polls."""
    unsigned_long = ir.IntType(8 * ctypes.sizeof(ctypes.c_ulong))
    ident = code.call("PyThread_get_thread_ident", unsigned_long, [])
    if unsigned_long.width < WORD.width:
        ident = code.builder.zext(ident, WORD)
    with code.when(code.equal(ident, code.word(_main_thread(), 0))):
        poll = symbol("entry.poll")
        code.set_word(record, CallRecord.POLL_FUNCTION, code.builder.ptrtoint(poll, WORD))
    code.set_word(record, CallRecord.POLL_INTERVAL, _POLL_NANOSECONDS)
    _save_thread(code, record)
    code.call("entry.execute", WORD, [record])
    state = code.pointer(record, CallRecord.POLL_STATE)
    code.call("PyEval_RestoreThread", VOID, [state])


def text(module: ir.Module, name: str, content: str) -> Value:
    """A C string of the module."""
    if name in module.globals:
        return symbol(name)
    data = bytearray(content.encode() + b"\0")
    constant = ir.GlobalVariable(module, ir.ArrayType(ir.IntType(8), len(data)), name)
    constant.initializer, constant.global_constant = ir.Constant(constant.value_type, data), True
    return symbol(name)


def raise_error(code: Code, kind: Foreign, message: Value) -> None:
    """Return to Python with an exception."""
    code.call("PyErr_SetString", VOID, [foreign(code, kind), message])
    code.leave(ir.Constant(POINTER, None))


class _MethodDefinition(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_METH_FASTCALL = 0x80


def make(name: str, address: int, doc: str) -> Any:
    """A built-in function of generated code; `doc` begins with its signature."""
    definition = _MethodDefinition(name.encode(), address, _METH_FASTCALL, doc.encode())
    # The function object refers to its definition until the very end of the interpreter.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(definition))
    new = ctypes.PYFUNCTYPE(ctypes.py_object, *[ctypes.c_void_p] * 3)(
        ("PyCFunction_NewEx", ctypes.pythonapi)
    )
    return new(ctypes.addressof(definition), None, None)


def follow_main_thread(set_main: Callable[[int], int]) -> None:
    def follow() -> None:
        set_main(threading.main_thread().ident or 0)

    follow()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=follow)
