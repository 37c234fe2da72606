"""Built-in functions of generated code, as Python sees them.

`jit/builtin_code.py` generates them; here are the objects and functions of this process that they
need, and how a function object is made of their address.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

ARGUMENTS = ("in0:", "in1:", "out:", "aux:", "scalars", "scratch:")  # after the prepared plan
FUNCTIONS = ["entry.python", "entry.data", "entry.set_main", "entry.foreign", "entry.plan"]
FUNCTIONS += ["entry.main_thread", "entry.poll"]
ABANDONED_TEXT = "the process forked in the middle of this call, so its result is incomplete"
DATA_AT = object.__basicsize__  # PyArrayObject: the object's header, then the data pointer

_PYTHON = (
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
    "PyErr_CheckSignals",
    "PyErr_Occurred",
    "PyErr_SetString",
    "PyLong_AsLongLong",
    "PyLong_AsLongLongAndOverflow",
    "PyThread_get_thread_ident",
    "Py_IncRef",
    "Py_DecRef",
    "PyCFunction_NewEx",
    "PyObject_Vectorcall",
    "PyContextVar_Get",
)


def python_functions() -> dict[str, int]:
    """Addresses of the functions of the C API that the code calls; none where there is no such."""
    found = {name: python_function(name) for name in _PYTHON}
    return found if all(found.values()) else {}


def python_function(name: str) -> int:
    """The address of a function of the C API; 0 where there is no such."""
    if sys.implementation.name != "cpython":
        return 0
    function = getattr(ctypes.pythonapi, name, None)
    return 0 if function is None else ctypes.cast(function, ctypes.c_void_p).value or 0


class Foreign:
    """Addresses that differ from process to process: objects that live for ever, and functions of
    numpy. The code has a table of them, so that it can be kept on disk; `know` fills it."""

    ARRAY = 0  # the type numpy.ndarray
    NONE = 1
    TYPE_ERROR = 2
    RUNTIME_ERROR = 3
    NEW_ARRAY = 4  # functions of numpy's C API
    AS_SCALAR = 5
    OUT = 6  # keywords, as code that was compiled has them
    ALPHA = 7
    BETA = 8
    FLOAT = 9  # types
    INT = 10
    FUNCTION_AT = 11  # where what belongs to a function is (`jit/front.py`)
    PLAN_AT = 12  # and to a plan (`jit/vectorcall.py`)
    SCOPED = 13  # the context variable of the threads in force, None where it is the process's
    THREADS = 14  # number, this one: Python's own object for it
    PLAN = 15  # the code that knows calls of plans, 0 until there is such
    WORDS = 16


_OBJECTS = (np.ndarray, None, TypeError, RuntimeError)  # in the order of `Foreign`
_KEYWORDS = tuple(map(sys.intern, ("out", "alpha", "beta")))


def know(table: int, new_array: int, as_scalar: int) -> None:
    """Fill the table, but for what `tell` says later."""
    objects = map(id, (*_KEYWORDS, float, int))
    addresses = [*map(id, _OBJECTS), new_array, as_scalar, *objects]
    for what, address in enumerate(addresses):
        tell(table, what, address)


def tell(table: int, what: int, value: int) -> None:
    """Put one word into the table."""
    ctypes.c_int64.from_address(table + 8 * what).value = value


def reads_arrays(data: Callable[[int], int]) -> bool:
    """Whether the layout assumed above is this interpreter's and this numpy's."""
    if np.ndarray.__basicsize__ < DATA_AT + 8:
        return False
    line = np.arange(12.0)
    samples = (line, line[::-1], line[3:].reshape(3, 3).T, np.empty(0), np.array(1j))
    plain = all(data(id(sample)) == sample.__array_interface__["data"][0] for sample in samples)
    return plain and all(data(id(other)) == 0 for other in (line.dtype, samples, None))


class MethodDefinition(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


POSITIONAL = 0x80  # METH_FASTCALL
KEYWORDS = POSITIONAL | 0x02  # METH_KEYWORDS


def make(name: str, address: int, doc: str) -> Any:
    """A built-in function of generated code; `doc` begins with its signature."""
    definition = define(name, address, doc, POSITIONAL)
    types = (ctypes.c_void_p,) * 3
    new = ctypes.PYFUNCTYPE(ctypes.py_object, *types)(("PyCFunction_NewEx", ctypes.pythonapi))
    return new(ctypes.addressof(definition), None, None)


def define(name: str, address: int, doc: str, flags: int) -> MethodDefinition:
    """What function objects are made of."""
    definition = MethodDefinition(name.encode(), address, flags, doc.encode())
    # A function object refers to its definition until the very end of the interpreter.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(definition))
    return definition


def follow_main_thread(set_main: Callable[[int], int]) -> None:
    def follow() -> None:
        set_main(threading.main_thread().ident or 0)

    follow()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=follow)
