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

import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

# cffi's own parser for C declarations costs 20 ms to import; the core knows these types without it.
from _cffi_backend import FFI
from llvmlite import ir

from tensorop.jit import builtin
from tensorop.jit.abi import CallRecord, Frame, Slot
from tensorop.jit.builder import WORD
from tensorop.jit.compiler import load_linked
from tensorop.jit.driver import emit_driver
from tensorop.jit.records import FRAME_AT, PREPARED_WORDS, cell, copy_words, function, null, words
from tensorop.jit.target import Target, current_target
from tensorop.jit.team import emit_system, emit_team, supported
from tensorop.jit.warm import FUNCTIONS as WARM_FUNCTIONS
from tensorop.jit.warm import array_api, emit_warm

_LAUNCH = "launch($module, prepared, in0, in1, out, aux, scalars, scratch, /)\n--\n\nRun a plan."
_WARM = "warm($module, operands, out, /)\n--\n\nRun a call that was seen before, else return None."
SCALAR_WORDS = int(CallRecord.CANCEL)  # alpha, beta, READS_OUT, SCALES

_TENSORS = (Slot.IN0, Slot.IN1, Slot.OUT, Slot.AUX)
_SCRATCH = (Slot.PACK0, Slot.PACK1, Slot.SPARE0, Slot.SPARE1)

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


class Warm(NamedTuple):
    """The function that runs calls it has seen before, and the address of its table."""

    run: Callable[..., Any]
    table: int


@dataclass(frozen=True)
class Machine:
    """The compiled driver: its entries, and the address of the team (0: there is none).

    warm: `jit/warm.py`'s built-in function and the address of its table, where there is one.
    """

    launch: Launch
    launch_plain: Launch
    execute: Callable[[int], int]
    team: int
    warm: Warm | None = None


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
    target, team, python = current_target(), supported(), builtin.declare_python()
    names = ["entry.execute", "entry.launch"]
    names += ["team.address", "team.forked"] if team else []
    names += builtin.FUNCTIONS if python else []
    api = array_api() if python else None
    names += WARM_FUNCTIONS if api else []
    warm = api is not None
    at = load_linked(
        lambda: driver_module(target, team=team, python=python, warm=warm),
        target,
        names,
        f"driver {team} {python} {warm} for {sys.version} {object.__basicsize__} {np.__version__}",
    )
    ffi = FFI()
    execute = ffi.cast("int64_t(*)(intptr_t)", at["entry.execute"])
    launch_plain = _plain(
        ffi.cast("int64_t(*)(" + "intptr_t," * 6 + "intptr_t)", at["entry.launch"])
    )
    launch, known = launch_plain, None
    if python:
        table = int(ffi.cast("intptr_t(*)(void)", at["entry.foreign"])())
        builtin.know(table, *(api or (0, 0)))
    if python and builtin.reads_arrays(ffi.cast("intptr_t(*)(intptr_t)", at["entry.data"])):
        builtin.follow_main_thread(ffi.cast("int64_t(*)(int64_t)", at["entry.set_main"]))
        launch = builtin.make("launch", at["entry.python"], _LAUNCH)
        if api:
            table = int(ffi.cast("intptr_t(*)(void)", at["entry.warm_table"])())
            known = Warm(builtin.make("warm", at["entry.warm"], _WARM), table)
    address = int(ffi.cast("intptr_t(*)(void)", at["team.address"])()) if team else 0
    if team:
        forked = ffi.cast("int64_t(*)(intptr_t)", at["team.forked"])
        os.register_at_fork(after_in_child=lambda: forked(address))
    return Machine(launch, launch_plain, execute, address, known)


def driver_module(target: Target, *, team: bool, python: bool, warm: bool = False) -> ir.Module:
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
        builtin.emit_python(module, target)
    if warm:
        emit_warm(module, target)
    _hurry(module)
    return module


# What every call runs through. The rest runs once a region or less, or waits.
_HOT = frozenset(
    {"driver.run", "driver.chain", "entry.execute", "entry.prepare", "entry.launch", "entry.python"}
    | {"entry.warm", "warm.find", "warm.matches", "warm.lies_as", "warm.overlaps"}
)


def _hurry(module: ir.Module) -> None:
    """Leave the functions that are not hot unoptimised: the first call waits for this module."""
    for function_ in module.functions:
        if not function_.is_declaration and function_.name not in _HOT:
            function_.attributes.add("noinline")
            function_.attributes.add("optnone")


# the plain entries


def _emit_execute(module: ir.Module, target: Target) -> None:
    code, (record,) = function(module, target, "entry.execute", "record")
    body = [code.pointer(record, CallRecord.NODE), code.pointer(record, CallRecord.FRAME)]
    code.finish(code.call("driver.run", WORD, body))


def _emit_prepare(module: ir.Module, target: Target) -> None:
    """The call record and frame of one call, from the prepared ones and the call's addresses."""
    code, (own, prepared, in0, in1, out, aux, scalars, scratch) = function(
        module, target, "entry.prepare", "own", "prepared", *builtin.ARGUMENTS
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
    code, arguments = function(module, target, "entry.launch", "prepared", *builtin.ARGUMENTS)
    own = words(code, PREPARED_WORDS)
    code.call("entry.prepare", WORD, [own, *arguments])
    code.finish(code.call("entry.execute", WORD, [own]))


def _plain(call: Callable[..., int]) -> Launch:
    def launch(prepared: int, *operands: Operand) -> None:
        if call(prepared, *(_address(operand) for operand in operands)):
            raise RuntimeError(builtin.ABANDONED_TEXT)

    return launch


def _address(operand: Operand) -> int:
    if isinstance(operand, int):
        return operand
    address: int = operand.__array_interface__["data"][0]
    return address
