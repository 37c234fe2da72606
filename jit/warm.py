"""Records of calls that were seen before, for the built-in function of `jit/warm_code.py`.

A record says: for this key (an object, compared by identity), for arrays of these dtypes, shapes
and strides, run these plans. Records are found by a hash of the key's address and the shapes, in a
table of addresses; `tensorop/known.py` writes them.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

SLOTS = 1024  # records that the table has room for
PROBES = 4  # places that a record may be in, from the one that its hash says
SCRATCH = 32 << 10  # bytes that a plan may need and that lie on the stack
COUNT = 4  # buffers for more than that, for as many calls at a time
BUFFER = 4 << 20  # bytes of each
MOST_THREADS = 256  # CPython has one object for each of the numbers up to here
MAX_RANK = 8  # dimensions that an array may have
MOST_OPERANDS = 6  # of a call, and steps that it may be run in
MOST_STEPS = 8
ANYWHERE = -1
FIELDS = object.__basicsize__  # of an array, behind the object's header
COUNT_AT = FIELDS + 8
SHAPE_AT, STRIDES_AT, DTYPE_AT, FLAGS_AT = (FIELDS + at for at in (16, 24, 40, 48))
FUNCTIONS = ["entry.warm", "entry.warm_table", "entry.function", "warm.plan"]
FROM_ENTRIES = ["entry.prepare", "entry.execute", "entry.poll", "system.clock"]
_NEW_ARRAY, _AS_SCALAR, _ARRAY_TYPE, _DTYPE_TYPE = 94, 76, 2, 3  # places in numpy's table


class Table:
    """Words of the table: addresses of records, then of each buffer its address, 0 for none, and
    whether a call uses it."""

    RECORDS = 0
    BUFFERS = SLOTS
    WORDS = BUFFERS + 2 * COUNT


class Array:
    """Words that describe an array. LOW and HIGH: bytes from its first element to the lowest one,
    and to behind the highest one."""

    DTYPE = 0
    RANK = 1
    LOW = 2
    HIGH = 3
    SHAPE = 4
    STRIDES = SHAPE + MAX_RANK
    WORDS = STRIDES + MAX_RANK


class Step:
    """Words of a step. PREPARED: address of its plan. IN0, IN1: what that reads, counted from the
    first operand through the last one to the results of the steps before. TO: where in the scratch
    its result is; the last one's is the call's."""

    PREPARED = 0
    IN0 = 1
    IN1 = 2
    TO = 3
    WORDS = 4


class Record:
    """Words of a record. KEY, KEEP: addresses of objects; what KEEP refers to keeps the record, and
    all that it points to. FORM: of the call, see `form`; a new array is of the layout OUT. FACTOR:
    bytes of alpha and beta, or of their real parts, which are floats; 0: none is taken. SCRATCH:
    bytes that the steps need besides, at most BUFFER, of which plans have those behind the first
    KEPT. THREADS: Python's object for the number of threads that the plans are for, at most
    MOST_THREADS; 0: for any. COUNT: of the STEPS, which follow, as the layouts of the OPERANDS do.
    MAKER: a callable of no arguments that makes the new array; 0: numpy's function does. BEGINS:
    bytes behind the start of a cache line at which the plans have the result begin; ANYWHERE.
    """

    KEY = 0
    KEEP = 1
    FORM = 2
    FACTOR = 3
    SCRATCH = 4
    KEPT = 5
    THREADS = 6
    COUNT = 7
    MAKER = 8
    BEGINS = 9
    OUT = 10
    STEPS = OUT + Array.WORDS
    OPERANDS = STEPS + MOST_STEPS * Step.WORDS


def array_api() -> tuple[int, int] | None:
    """Addresses of numpy's C functions for a new array and for its scalar, None where they, or an
    array's fields, are not as expected, or several threads may run Python at once."""
    umath = getattr(getattr(np, "_core", None), "_multiarray_umath", None)
    capsule = getattr(umath, "_ARRAY_API", None)
    free_threaded = not getattr(sys, "_is_gil_enabled", lambda: True)()
    if capsule is None or free_threaded or not _fields_are_known():
        return None
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    start = pointer(capsule, None)
    table = (ctypes.c_void_p * (_NEW_ARRAY + 1)).from_address(start)
    known = table[_ARRAY_TYPE] == id(np.ndarray) and table[_DTYPE_TYPE] == id(np.dtype)
    new_array, as_scalar = table[_NEW_ARRAY], table[_AS_SCALAR]
    return (new_array, as_scalar) if known and new_array and as_scalar else None


def _fields_are_known() -> bool:
    """Whether arrays have their fields where they are read."""
    if np.ndarray.__basicsize__ < FLAGS_AT + 4:
        return False
    line = np.arange(12.0)
    samples = (line[::-2], line.reshape(3, 4).T, np.array(3), np.zeros((2, 0), np.int8))

    def read(sample: Any, kind: Any, at: int) -> Any:
        return kind.from_address(id(sample) + at).value

    def numbers(sample: Any, at: int) -> tuple[int, ...]:
        if not sample.ndim:
            return ()
        address = read(sample, ctypes.c_void_p, at)
        return tuple((ctypes.c_ssize_t * sample.ndim).from_address(address))

    return all(
        read(s, ctypes.c_int, COUNT_AT) == s.ndim
        and numbers(s, SHAPE_AT) == s.shape
        and numbers(s, STRIDES_AT) == s.strides
        and read(s, ctypes.c_void_p, DTYPE_AT) == id(s.dtype)
        and read(s, ctypes.c_int, FLAGS_AT) == s.flags.num
        for s in samples
    )


def form(count: int, *, makes: bool, scaled: bool = False) -> int:
    """How many operands a call has, whether it makes its result, and has an alpha that is not 1, as
    a number."""
    return makes + 2 * scaled + 4 * count


def hashed(key: int, shapes: Sequence[tuple[int, ...]], form: int) -> int:
    """The slot that a record is looked for in first: the same as the generated code finds."""
    value = (key >> 4) + form
    for shape in shapes:
        for size in shape:
            value = (value * 31 + size) % 2**64
    return (value ^ (value >> 15)) % SLOTS
