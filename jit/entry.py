"""The entries from Python into the driver.

`machine()` loads the driver and the team, or compiles them, once a process, and gives:

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
from functools import lru_cache, partial
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

# cffi's own parser for C declarations costs 20 ms to import; the core knows these types without it.
from _cffi_backend import FFI

from tensorop.jit import builtin
from tensorop.jit.front import OWN_AT, stand_before
from tensorop.jit.library import load_linked
from tensorop.jit.target import current_target
from tensorop.jit.team_support import supported
from tensorop.jit.vectorcall import Vectorcalled, vectorcalled
from tensorop.jit.warm import FUNCTIONS as WARM_FUNCTIONS
from tensorop.jit.warm import array_api

_LAUNCH = "launch($module, prepared, in0, in1, out, aux, scalars, scratch, /)\n--\n\nRun a plan."
_WARM = (
    "warm($module, operands, out, alpha=1, beta=0, /)\n--\n\n"
    "Run a call that was seen before, else return None."
)

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
    """The function that runs calls it has seen before, the address of its table, what makes
    subclasses whose instances, plans, do the same (`jit/vectorcall.py`), and what fills a word of
    `builtin.Foreign`."""

    run: Callable[..., Any]
    table: int
    plan: Callable[[str, type], Vectorcalled | None]
    tell: Callable[[int, int], None]


class Machine(NamedTuple):
    """The driver's code: its entries, and the address of the team (0: there is none).

    warm: the built-in functions of `jit/warm_code.py` and their table, if there are any.
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
    """The driver of this process, loaded or compiled on first use."""
    with _lock:
        return _machine()


@lru_cache(maxsize=1)
def _machine() -> Machine:
    target, team, functions = current_target(), supported(), builtin.python_functions()
    python = bool(functions)
    names = ["entry.execute", "entry.launch"]
    names += ["team.address", "team.forked"] if team else []
    names += builtin.FUNCTIONS if python else []
    api = array_api() if python else None
    names += WARM_FUNCTIONS if api else []
    warm = api is not None
    what = (
        f"driver {team} {python} {warm} for {sys.version} {object.__basicsize__} {np.__version__}"
    )

    def generate() -> Any:
        # Imported when it has to be compiled: see `jit/library.py`.
        from tensorop.jit.entry_code import driver_module

        return driver_module(target, team=team, python=python, warm=warm)

    at = load_linked(generate, target, names, outside=functions, what=what)
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
            places = int(ffi.cast("intptr_t(*)(void)", at["entry.warm_table"])())
            run = builtin.make("warm", at["entry.warm"], _WARM)
            tell = partial(builtin.tell, table)
            known = Warm(run, places, partial(_plans, at["entry.plan"], tell), tell)
            tell(builtin.Foreign.FUNCTION_AT, OWN_AT)
            stand_before(at["entry.function"])
    address = int(ffi.cast("intptr_t(*)(void)", at["team.address"])()) if team else 0
    if team:
        forked = ffi.cast("int64_t(*)(intptr_t)", at["team.forked"])
        os.register_at_fork(after_in_child=lambda: forked(address))
    return Machine(launch, launch_plain, execute, address, known)


def _plans(
    code: int, tell: Callable[[int, int], None], name: str, base: type
) -> Vectorcalled | None:
    plans = vectorcalled(name, base, code)
    if plans is not None:
        tell(builtin.Foreign.PLAN_AT, plans.own_at)
    return plans


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
