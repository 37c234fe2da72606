"""Plans as objects that generated code stands before (PEP 590).

The code is `entry.plan` of `jit/warm_code.py`: it runs calls that were seen before, and hands all
others on. It finds the pair (key, other callable) in a slot of the plan, beside its own address,
which C calls.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from tensorop.jit.builtin import python_function
from tensorop.jit.front import POINTER, address_at
from tensorop.tuples import NamedTuple


class _Member(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Slot(ctypes.Structure):
    _fields_ = (("slot", ctypes.c_int), ("function", ctypes.c_void_p))


class _Spec(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.c_void_p),
    )


_HAVE_VECTORCALL = 1 << 11
_TP_CALL, _TP_MEMBERS = 50, 72
_A_SIZE, _AN_OBJECT, _READ_ONLY = 19, 16, 1
_kept: list[Any] = []  # what types refer to


class Vectorcalled(NamedTuple):
    """A type whose instances are called without a frame of Python.

    bind: gives an instance the pair (key, other callable) of its own.
    own_at: where that lies in an instance.
    """

    kind: type
    bind: Callable[[Any, tuple[Any, Any]], None]
    own_at: int


def vectorcalled(name: str, base: type, code: int) -> Vectorcalled | None:
    """A subclass of a class whose instances generated code stands before (PEP 590); None where
    Python lays them out in another way than expected."""
    call = python_function("PyVectorcall_Call")
    if not call:
        return None
    at = base.__basicsize__
    own_at = at + POINTER
    members = (_Member * 3)(
        _Member(b"__vectorcalloffset__", _A_SIZE, at, _READ_ONLY, None),
        _Member(b"_own", _AN_OBJECT, own_at, 0, None),
    )
    slots = (_Slot * 3)(_Slot(_TP_CALL, call), _Slot(_TP_MEMBERS, ctypes.addressof(members)))
    size, first = at + 2 * POINTER, ctypes.addressof(slots)
    spec = _Spec(name.encode(), size, 0, _HAVE_VECTORCALL, first)
    _kept.extend((members, slots, spec))
    types = (ctypes.c_void_p, ctypes.py_object)
    make = ctypes.PYFUNCTYPE(ctypes.py_object, *types)(
        ("PyType_FromSpecWithBases", ctypes.pythonapi)
    )
    kind = make(ctypes.addressof(spec), (base,))

    def bind(instance: Any, own: tuple[Any, Any]) -> None:
        object.__setattr__(instance, "_own", own)
        ctypes.c_void_p.from_address(id(instance) + at).value = code

    probe = object.__new__(kind)
    empty = address_at(probe, at) is None and address_at(probe, own_at) is None
    own = (None, None)
    object.__setattr__(probe, "_own", own)
    as_expected = empty and address_at(probe, own_at) == id(own)
    return Vectorcalled(kind, bind, own_at) if as_expected else None
