"""Functions of the package that generated code stands before.

The code is `entry.function` of `jit/warm_code.py`: it runs calls that were seen before, and hands
all others on. It finds the pair (key, Python's function) in a slot of the module that a built-in
function says it belongs to.

A function is made when the package is imported, which is before there is any code. The C function
behind it is `PyObject_Vectorcall` until then, whose parameters are those of a built-in function:
it calls the said module, and that calls Python.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any, TypeVar, cast

from tensorop.jit.builtin import KEYWORDS, MethodDefinition, define, python_function
from tensorop.tuples import NamedTuple

_F = TypeVar("_F", bound=Callable[..., Any])
POINTER = ctypes.sizeof(ctypes.c_void_p)


class _Owner(ModuleType):
    """The module that a built-in function belongs to. own: (key, Python's function); a key of None:
    it is the first argument."""

    __slots__ = ("own",)


OWN_AT = _Owner.__basicsize__ - POINTER  # where the slot lies
_definitions: list[MethodDefinition] = []


def front(key: object = None) -> Callable[[_F], _F]:
    """Put generated code before a function, which knows its calls by a key.

    The result is a built-in function of the same name, signature and documentation; the function
    itself where there is none.
    """

    def put(function: _F) -> _F:
        text = _signature(cast(FunctionType, function)) + (function.__doc__ or "")
        made = calling(function, text, key)
        if made is None:
            return function
        _definitions.append(made.definition)
        return cast(_F, made.function)

    return put


class Calling(NamedTuple):
    """A built-in function that calls Python until its definition gets the address of code."""

    function: Any
    definition: MethodDefinition


def calling(function: Callable[..., Any], text: str, key: object = None) -> Calling | None:
    """Make one of a Python function; `text` begins with its signature. None where there is none."""
    called = python_function("PyObject_Vectorcall")
    if not called:
        return None
    name, module = function.__name__, function.__module__
    caller = {"__slots__": (), "__call__": staticmethod(function)}
    owner = type(name, (_Owner,), caller)(module)
    owner.own = (key, function)
    if address_at(owner, OWN_AT) != id(owner.own):
        return None
    definition = define(name, called, text, KEYWORDS)
    types = (ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
    new = ctypes.PYFUNCTYPE(ctypes.py_object, *types)(("PyCFunction_NewEx", ctypes.pythonapi))
    return Calling(new(ctypes.addressof(definition), owner, module), definition)


def stand_before(code: int) -> None:
    """From now on calls of all such functions go to the code at this address."""
    for definition in _definitions:
        definition.function = code


def _signature(function: FunctionType) -> str:
    """As `inspect` reads it from the text of a built-in function."""
    code, given = function.__code__, function.__defaults__ or ()
    named = {**(function.__kwdefaults__ or {})}
    names, count = code.co_varnames, code.co_argcount
    named.update(zip(names[count - len(given) : count], given, strict=True))

    def shown(name: str) -> str:
        return f"{name}={named[name]!r}" if name in named else name

    parts = [*map(shown, names[:count])]
    if code.co_posonlyargcount or not count:
        parts.insert(code.co_posonlyargcount, "/")
    stop = count + code.co_kwonlyargcount
    takes_any = bool(code.co_flags & 4)
    parts += [f"*{names[stop]}"] if takes_any else ["*"] * (stop > count)
    parts += map(shown, names[count:stop])
    return f"{function.__name__}($module, {', '.join(parts)})\n--\n\n"


def address_at(thing: Any, at: int) -> int | None:
    """What a field of an object points to."""
    return ctypes.c_void_p.from_address(id(thing) + at).value
