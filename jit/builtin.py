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
FUNCTIONS = ["entry.python", "entry.data", "entry.set_main", "entry.foreign"]
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
)


def python_functions() -> dict[str, int]:
    """Addresses of the functions of the C API that the code calls; none where there is no such."""
    if sys.implementation.name != "cpython":
        return {}
    found = {name: getattr(ctypes.pythonapi, name, None) for name in _PYTHON}
    if None in found.values():
        return {}
    return {
        name: ctypes.cast(function, ctypes.c_void_p).value or 0
        for name, function in found.items()
        if function is not None
    }


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
    WORDS = 11


_OBJECTS = (np.ndarray, None, TypeError, RuntimeError)  # in the order of `Foreign`
_KEYWORDS = tuple(map(sys.intern, ("out", "alpha", "beta")))


def know(table: int, new_array: int, as_scalar: int) -> None:
    """Fill the table."""
    objects = map(id, (*_KEYWORDS, float, int))
    addresses = [*map(id, _OBJECTS), new_array, as_scalar, *objects]
    for at, address in enumerate(addresses):
        ctypes.c_int64.from_address(table + 8 * at).value = address


def reads_arrays(data: Callable[[int], int]) -> bool:
    """Whether the layout assumed above is this interpreter's and this numpy's."""
    if np.ndarray.__basicsize__ < DATA_AT + 8:
        return False
    line = np.arange(12.0)
    samples = (line, line[::-1], line[3:].reshape(3, 3).T, np.empty(0), np.array(1j))
    plain = all(data(id(sample)) == sample.__array_interface__["data"][0] for sample in samples)
    return plain and all(data(id(other)) == 0 for other in (line.dtype, samples, None))


class _MethodDefinition(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_METH_FASTCALL, _METH_KEYWORDS = 0x80, 0x02


def make(name: str, address: int, doc: str) -> Any:
    """A built-in function of generated code; `doc` begins with its signature."""
    definition = _definition(name, address, doc, _METH_FASTCALL)
    return _new(ctypes.c_void_p)(definition, None, None)


def maker(name: str, address: int, doc: str) -> Callable[[Any], Any]:
    """What makes such functions, which take keywords, each with an object of its own."""
    definition = _definition(name, address, doc, _METH_FASTCALL | _METH_KEYWORDS)
    new = _new(ctypes.py_object)
    return lambda own: new(definition, own, None)


def _definition(name: str, address: int, doc: str, flags: int) -> int:
    definition = _MethodDefinition(name.encode(), address, flags, doc.encode())
    # The function object refers to its definition until the very end of the interpreter.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(definition))
    return ctypes.addressof(definition)


def _new(own: Any) -> Callable[[int, Any, None], Any]:
    """The constructor of functions, of a definition, an object of a type, and no module."""
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, own, ctypes.c_void_p)
    return prototype(("PyCFunction_NewEx", ctypes.pythonapi))


def follow_main_thread(set_main: Callable[[int], int]) -> None:
    def follow() -> None:
        set_main(threading.main_thread().ident or 0)

    follow()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=follow)
