"""The entries from Python into the driver.

`machine()` compiles the driver and the team, once a process, and gives:

- `launch(prepared, in0, in1, out, aux, scalars, scratch)`: run a prepared plan. Every argument but
  the first is an array (its data address is taken) or an address. It is a generated built-in
  function: it reads the arrays' addresses itself, and for a plan marked LONG it releases the GIL
  and takes it again about every 10 ms to look for signals, so that Ctrl-C ends the call cleanly: no
  thread touches the arrays any more when the exception is raised.
- `launch_plain`: the same through cffi, without looking for signals. The reference, and the way
  where a built-in function cannot be made (not CPython) or arrays do not look as expected.
- `execute(call record)`: the driver alone, on records made by the caller.

A prepared plan is a call record followed by a frame. Both are copied to the stack of the call, so
one prepared plan may run in many threads and again inside itself (from a signal handler).
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

import llvmlite.binding as llvm
import numpy as np

# cffi's own parser for C declarations costs 20 ms to import; the core knows these types without it.
from _cffi_backend import FFI
from llvmlite import ir

from tensorop.jit.abi import CallRecord, Frame, Slot
from tensorop.jit.builder import INT32, POINTER, WORD, Code, Value
from tensorop.jit.compiler import load_linked
from tensorop.jit.driver import cell, copy_words, emit_driver, function, null, words
from tensorop.jit.target import Target, current_target
from tensorop.jit.team import emit_system, emit_team, supported

FRAME_AT = int(CallRecord.WORDS)  # where the frame of a prepared plan begins
PREPARED_WORDS = CallRecord.WORDS + Frame.WORDS
SCALAR_WORDS = int(CallRecord.CANCEL)  # alpha, beta, READS_OUT, SCALES
POLL_NANOSECONDS = 10_000_000

_TENSORS = (Slot.IN0, Slot.IN1, Slot.OUT, Slot.AUX)
_SCRATCH = (Slot.PACK0, Slot.PACK1, Slot.SPARE0, Slot.SPARE1)
_ARGUMENTS = ("in0:", "in1:", "out:", "aux:", "scalars", "scratch:")

Operand: TypeAlias = "np.ndarray[Any, Any] | int"


class Launch(Protocol):
    """Run a prepared plan; see the module's description."""

    def __call__(
        self,
        prepared: int,
        in0: Operand,
        in1: Operand,
        out: Operand,
        aux: Operand,
        scalars: Operand,
        scratch: int,
        /,
    ) -> None: ...


@dataclass(frozen=True)
class Machine:
    """The compiled driver: its entries, and the address of the team (0: there is none)."""

    launch: Launch
    launch_plain: Launch
    execute: Callable[[int], int]
    team: int


# Held while compiling and taken before a fork, so that no child inherits it from a thread that it
# does not have.
_lock = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


def machine() -> Machine:
    """The driver of this process, compiled on first use."""
    with _lock:
        return _machine()


@lru_cache(maxsize=1)
def _machine() -> Machine:
    target, team, python = current_target(), supported(), _declare_python()
    names = ["entry.execute", "entry.launch"]
    names += ["team.address", "team.forked"] if team else []
    names += ["entry.python", "entry.data", "entry.set_main"] if python else []
    at = load_linked(driver_module(target, team=team, python=python), target, *names)
    ffi = FFI()
    execute = ffi.cast("int64_t(*)(intptr_t)", at["entry.execute"])
    launch_plain = _plain(
        ffi.cast("int64_t(*)(" + "intptr_t," * 6 + "intptr_t)", at["entry.launch"])
    )
    launch = launch_plain
    if python and _reads_arrays(ffi.cast("intptr_t(*)(intptr_t)", at["entry.data"])):
        _follow_main_thread(ffi.cast("int64_t(*)(int64_t)", at["entry.set_main"]))
        launch = _built_in(at["entry.python"])
    address = int(ffi.cast("intptr_t(*)(void)", at["team.address"])()) if team else 0
    if team:
        forked = ffi.cast("int64_t(*)(intptr_t)", at["team.forked"])
        os.register_at_fork(after_in_child=lambda: forked(address))
    return Machine(launch, launch_plain, execute, address)


def driver_module(target: Target, *, team: bool, python: bool) -> ir.Module:
    """The module of the driver, the team and the entries."""
    module = ir.Module("driver")
    emit_system(module, target)
    emit_driver(module, target, team=team)
    if team:
        emit_team(module, target)
    _emit_execute(module, target)
    _emit_prepare(module, target)
    _emit_launch(module, target)
    if python:
        main = ir.GlobalVariable(module, WORD, "main_thread")
        main.initializer = ir.Constant(WORD, 0)
        _emit_set_main(module, target)
        _emit_data(module, target)
        _emit_poll(module, target)
        _emit_python(module, target)
    return module


# the plain entries


def _emit_execute(module: ir.Module, target: Target) -> None:
    code, (record,) = function(module, target, "entry.execute", "record")
    body = [code.pointer(record, CallRecord.NODE), code.pointer(record, CallRecord.FRAME)]
    code.finish(code.call("driver.run", WORD, body))


def _emit_prepare(module: ir.Module, target: Target) -> None:
    """The call record and frame of one call, from the prepared ones and the call's addresses."""
    code, (own, prepared, in0, in1, out, aux, scalars, scratch) = function(
        module, target, "entry.prepare", "own", "prepared", *_ARGUMENTS
    )
    copy_words(code, own, prepared, PREPARED_WORDS)
    frame = cell(code, own, FRAME_AT)
    code.set_word(frame, Frame.CALL, code.builder.ptrtoint(own, WORD))
    code.set_word(own, CallRecord.FRAME, code.builder.ptrtoint(frame, WORD))
    bases = [(slot, scratch) for slot in _SCRATCH]
    for slot, base in [*zip(_TENSORS, (in0, in1, out, aux), strict=True), *bases]:
        code.set_word(frame, slot, code.add(code.word(frame, slot), base))
    with code.when(code.builder.not_(null(code, scalars))):
        copy_words(code, own, scalars, SCALAR_WORDS)
    code.finish(code.int(0))


def _emit_launch(module: ir.Module, target: Target) -> None:
    code, arguments = function(module, target, "entry.launch", "prepared", *_ARGUMENTS)
    own = words(code, PREPARED_WORDS)
    code.call("entry.prepare", WORD, [own, *arguments])
    code.finish(code.call("entry.execute", WORD, [own]))


def _plain(call: Callable[..., int]) -> Launch:
    def launch(prepared: int, *operands: Operand) -> None:
        if call(prepared, *(_address(operand) for operand in operands)):
            raise RuntimeError(_ABANDONED_TEXT)

    return launch


def _address(operand: Operand) -> int:
    if isinstance(operand, int):
        return operand
    address: int = operand.__array_interface__["data"][0]
    return address


_ABANDONED_TEXT = "the process forked in the middle of this call, so its result is incomplete"
_USAGE_TEXT = "launch takes a prepared plan, in0, in1, out, aux, scalars and scratch"

# the built-in function: CPython's C API

_PYTHON = (
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
    "PyErr_CheckSignals",
    "PyErr_Occurred",
    "PyErr_SetString",
    "PyLong_AsLongLong",
    "PyThread_get_thread_ident",
    "Py_IncRef",
    "PyCFunction_NewEx",
)
_DATA_AT = object.__basicsize__  # PyArrayObject: the object's header, then the data pointer
_TYPE_AT = object.__basicsize__ - ctypes.sizeof(ctypes.c_void_p)  # the last field of the header


def _declare_python() -> bool:
    """Make the C API known to the linker; False where there is none."""
    if sys.implementation.name != "cpython":
        return False
    for name in _PYTHON:
        symbol = getattr(ctypes.pythonapi, name, None)
        if symbol is None:
            return False
        llvm.add_symbol(name, ctypes.cast(symbol, ctypes.c_void_p).value)
    return True


def _object(code: Code, thing: object) -> Value:
    """A Python object that lives for ever."""
    return code.builder.inttoptr(code.int(id(thing)), POINTER)


def _emit_set_main(module: ir.Module, target: Target) -> None:
    code, (ident,) = function(module, target, "entry.set_main", "ident:")
    code.set_word(_main_thread(), 0, ident)
    code.finish(code.int(0))


def _main_thread() -> Value:
    return ir.FormattedConstant(POINTER, "@main_thread")


def _emit_data(module: ir.Module, target: Target) -> None:
    """The data address of an array; 0 for any other object."""
    code, (thing,) = function(module, target, "entry.data", "thing")
    kind = code.word(code.at(thing, _TYPE_AT), 0)
    with code.when(code.equal(kind, id(np.ndarray))):
        code.leave(code.word(code.at(thing, _DATA_AT), 0))
    code.finish(code.int(0))


def _reads_arrays(data: Callable[[int], int]) -> bool:
    """Whether the layout assumed above is this interpreter's and this numpy's."""
    if np.ndarray.__basicsize__ < _DATA_AT + 8:
        return False
    line = np.arange(12.0)
    samples = (line, line[::-1], line[3:].reshape(3, 3).T, np.empty(0), np.array(1j))
    plain = all(data(id(sample)) == _address(sample) for sample in samples)
    return plain and data(id(line.dtype)) == 0 and data(id(line[0])) == 0


def _emit_poll(module: ir.Module, target: Target) -> None:
    """Let other Python threads and signal handlers run; non-zero: a handler raised."""
    code, (record,) = function(module, target, "entry.poll", "record")
    state = code.pointer(record, CallRecord.POLL_STATE)
    code.call("PyEval_RestoreThread", ir.VoidType(), [state])
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
    expected = 1 + len(_ARGUMENTS)
    with code.when(code.builder.not_(code.equal(count, expected))):
        _raise(code, TypeError, _text(module, "usage", _USAGE_TEXT))
    values = words(code, expected)
    _take_arguments(code, given, values, expected)
    own = words(code, PREPARED_WORDS)
    types = ["", *_ARGUMENTS]
    arguments = [
        code.word(values, i) if types[i].endswith(":") else code.pointer(values, i)
        for i in range(expected)
    ]
    code.call("entry.prepare", WORD, [own, *arguments])
    with code.either(code.nonzero(code.word(own, CallRecord.LONG))) as (long, short):
        with long:
            _run_long(code, own)
        with short:
            code.call("entry.execute", WORD, [own])
    with code.when(code.nonzero(code.word(own, CallRecord.CANCEL))):
        with code.when(null(code, code.call("PyErr_Occurred", POINTER, []))):
            _raise(code, RuntimeError, _text(module, "abandoned", _ABANDONED_TEXT))
        code.leave(ir.Constant(POINTER, None))
    none = _object(code, None)
    code.call("Py_IncRef", ir.VoidType(), [none])
    code.finish(none)


def _take_arguments(code: Code, given: Value, values: Value, count: int) -> None:
    """Arrays as their data addresses, numbers as they are; anything else is an error."""
    with code.loop(count) as i:
        argument = code.pointer(given, i)
        kind = code.word(code.at(argument, _TYPE_AT), 0)
        with code.either(code.equal(kind, id(np.ndarray))) as (array, number):
            with array:
                code.set_word(values, i, code.word(code.at(argument, _DATA_AT), 0))
            with number:
                value = code.call("PyLong_AsLongLong", WORD, [argument])
                code.set_word(values, i, value)
                with code.when(code.equal(value, -1)):
                    error = code.call("PyErr_Occurred", POINTER, [])
                    with code.when(code.builder.not_(null(code, error))):
                        code.leave(ir.Constant(POINTER, None))


def _run_long(code: Code, record: Value) -> None:
    """Run without the GIL. Signal handlers run on the main thread only, so it alone polls."""
    unsigned_long = ir.IntType(8 * ctypes.sizeof(ctypes.c_ulong))
    ident = code.call("PyThread_get_thread_ident", unsigned_long, [])
    if unsigned_long.width < WORD.width:
        ident = code.builder.zext(ident, WORD)
    with code.when(code.equal(ident, code.word(_main_thread(), 0))):
        poll = ir.FormattedConstant(POINTER, '@"entry.poll"')
        code.set_word(record, CallRecord.POLL_FUNCTION, code.builder.ptrtoint(poll, WORD))
    code.set_word(record, CallRecord.POLL_INTERVAL, POLL_NANOSECONDS)
    _save_thread(code, record)
    code.call("entry.execute", WORD, [record])
    state = code.pointer(record, CallRecord.POLL_STATE)
    code.call("PyEval_RestoreThread", ir.VoidType(), [state])


def _text(module: ir.Module, name: str, text: str) -> Value:
    data = bytearray(text.encode() + b"\0")
    constant = ir.GlobalVariable(module, ir.ArrayType(ir.IntType(8), len(data)), name)
    constant.initializer, constant.global_constant = ir.Constant(constant.value_type, data), True
    return ir.FormattedConstant(POINTER, f"@{name}")


def _raise(code: Code, kind: type[Exception], text: Value) -> None:
    code.call("PyErr_SetString", ir.VoidType(), [_object(code, kind), text])
    code.leave(ir.Constant(POINTER, None))


class _MethodDefinition(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_METH_FASTCALL = 0x80


def _built_in(address: int) -> Launch:
    doc = b"launch($module, prepared, in0, in1, out, aux, scalars, scratch, /)\n--\n\nRun a plan."
    definition = _MethodDefinition(b"launch", address, _METH_FASTCALL, doc)
    # The function object refers to its definition until the very end of the interpreter.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(definition))
    new = ctypes.PYFUNCTYPE(ctypes.py_object, *[ctypes.c_void_p] * 3)(
        ("PyCFunction_NewEx", ctypes.pythonapi)
    )
    launch: Launch = new(ctypes.addressof(definition), None, None)
    return launch


def _follow_main_thread(set_main: Callable[[int], int]) -> None:
    def follow() -> None:
        set_main(threading.main_thread().ident or 0)

    follow()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=follow)
