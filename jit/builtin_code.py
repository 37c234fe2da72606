"""The built-in function by which Python launches a plan, as generated code on CPython's C API.

`launch(prepared, in0, in1, out, aux, scalars, scratch)` takes arrays or addresses and returns None.
It reads the arrays' data addresses from their structs, at offsets that `reads_arrays` checks first.
A plan marked LONG runs without the GIL; on the main thread its poll function takes the GIL again
about every 10 ms, so that signal handlers run. What a handler raises cancels the call: it is raised
after the last worker has left the operands.

The generated code works on `entry.prepare` and `entry.execute` of `jit/entry_code.py`.
"""

from __future__ import annotations

import ctypes

from llvmlite import ir

from tensorop.jit.abi import PREPARED_WORDS, CallRecord
from tensorop.jit.builder import INT32, POINTER, VOID, WORD, Code, Value
from tensorop.jit.builtin import ABANDONED_TEXT, ARGUMENTS, DATA_AT, Foreign
from tensorop.jit.records import function, null, symbol, words
from tensorop.jit.target import Target

TYPE_AT = object.__basicsize__ - ctypes.sizeof(ctypes.c_void_p)  # the last field of a header
ITEMS_AT = object.__basicsize__ + 8  # of a tuple
_USAGE = "launch takes a prepared plan, in0, in1, out, aux, scalars and scratch"
_POLL_NANOSECONDS = 10_000_000


def emit_python(module: ir.Module, target: Target) -> None:
    """Write the built-in's functions into a module that has the plain entries."""
    main, table = _declare_words(module)
    main.initializer = ir.Constant(WORD, 0)
    table.initializer = ir.Constant(table.value_type, None)
    for name in ("foreign", "main_thread"):
        code, _ = function(module, target, f"entry.{name}")
        code.finish(code.builder.ptrtoint(symbol(name), WORD))
    _emit_set_main(module, target)
    _emit_data(module, target)
    _emit_poll(module, target)
    _emit_python(module, target)
    _emit_plan(module, target)


def declare_entries(module: ir.Module) -> None:
    """Let the code of another module use what `run_prepared` and `foreign` need of this one's."""
    _declare_words(module)
    ir.Function(module, ir.FunctionType(WORD, [POINTER]), "entry.poll")


def _declare_words(module: ir.Module) -> tuple[ir.GlobalVariable, ir.GlobalVariable]:
    main = ir.GlobalVariable(module, WORD, "main_thread")
    return main, ir.GlobalVariable(module, ir.ArrayType(WORD, Foreign.WORDS), "foreign")


def foreign(code: Code, what: int) -> Value:
    """An address of the table."""
    return code.pointer(symbol("foreign"), what)


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
        code.leave(code.word(code.at(thing, DATA_AT), 0))
    code.finish(code.int(0))


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


def _emit_plan(module: ir.Module, target: Target) -> None:
    """What stands before a plan, as PEP 590 has it: the code that knows its calls, if that is
    loaded (`jit/warm_code.py`), else its other callable."""
    code, arguments = function(
        module, target, "entry.plan", "plan", "given", "count:", "keywords", result=POINTER
    )
    plan, given, count, keywords = arguments
    known = foreign(code, Foreign.PLAN)
    with code.when(code.builder.not_(null(code, known))):
        code.builder.ret(code.builder.jump_to(POINTER, known, arguments))
    own = own_pair(code, plan, Foreign.PLAN_AT)
    with code.when(null(code, own)):  # the garbage collector has cleared it
        gone = text(module, "plan_gone", "this plan is being destroyed")
        raise_error(code, Foreign.RUNTIME_ERROR, gone)
    other = [code.pointer(own, 1), given, argument_count(code, count), keywords]
    code.finish(code.call("PyObject_Vectorcall", POINTER, other))


def own_pair(code: Code, owner: Value, where: int) -> Value:
    """The items of the pair (key, other callable) in a slot of an object; null: there is none."""
    at = code.word(symbol("foreign"), where)
    pair = code.pointer(code.at(owner, at), 0)
    nothing = ir.Constant(POINTER, None)
    return code.builder.select(null(code, pair), nothing, code.at(pair, ITEMS_AT))


def argument_count(code: Code, count: Value) -> Value:
    """Without the flag that may be in it."""
    return code.builder.and_(count, code.int(2**63 - 1))


def _take_arguments(code: Code, given: Value, values: Value, count: int) -> None:
    """Arrays as their data addresses, numbers as they are; anything else is an error."""
    with code.loop(count) as i:
        argument = code.pointer(given, i)
        with code.either(is_array(code, argument)) as (array, number):
            with array:
                code.set_word(values, i, code.word(code.at(argument, DATA_AT), 0))
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


def raise_error(code: Code, kind: int, message: Value) -> None:
    """Return to Python with an exception."""
    code.call("PyErr_SetString", VOID, [foreign(code, kind), message])
    code.leave(ir.Constant(POINTER, None))
