"""The entries from Python into the driver.

`machine()` loads the driver, or compiles it, once a process, and gives:

- `launch(prepared, in0, in1, out, aux, scalars, scratch)`: run a prepared plan. Every argument but
  the first is an array (its data address is taken) or an address. It is a generated built-in
  function: it reads the arrays' addresses itself, and for a plan marked LONG it releases the GIL
  and takes it again about every 10 ms to look for signals, so that Ctrl-C ends the call cleanly: no
  thread touches the arrays any more when the exception is raised.
- `launch_plain`: the same through cffi, without looking for signals. The reference, and the way
  where a built-in function cannot be made (not CPython) or arrays do not look as expected.
- `execute(call record)`: the driver alone, on records made by the caller.

Compiling takes longer than all else that a first call needs. So plans are prepared with `launch()`,
a built-in function that calls Python as long as there is no driver: what is brief is then run by
`jit/interpreter.py`, with kernels that are drafts (`kernel_addresses`). Once no more first calls
come, another thread finishes these and compiles the driver; what is not brief waits for it.

A prepared plan is a call record followed by a frame. Both are copied to the stack of the call, so
one prepared plan may run in many threads and again inside itself (from a signal handler).
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache, cached_property, lru_cache, partial
from time import monotonic, sleep
from typing import Any, Protocol, TypeAlias

import numpy as np

# cffi's own parser for C declarations costs 20 ms to import; the core knows these types without it.
from _cffi_backend import FFI

from tensorop.errors import whole
from tensorop.jit import builtin, store
from tensorop.jit.abi import WORD, CallRecord
from tensorop.jit.background import MOMENT, Task
from tensorop.jit.drafts import draft_address, finish
from tensorop.jit.front import Calling, calling
from tensorop.jit.guard import importing, machine_lock
from tensorop.jit.kernel import Kernel
from tensorop.jit.library import Block, kernel_address, load_linked
from tensorop.jit.target import Target, current_target
from tensorop.jit.team_support import FROM_DRIVER, supported
from tensorop.jit.vectorcall import Vectorcalled, vectorcalled
from tensorop.jit.warm import array_api
from tensorop.jit.warm_entry import WarmEntry, word

LULL = 0.02  # seconds without a first call after which there will be none, perhaps
_LOOK_EVERY = 0.002  # seconds
_LAUNCH = "launch($module, prepared, in0, in1, out, aux, scalars, scratch, /)\n--\n\nRun a plan."
_ffi = FFI()

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


class Machine:
    """The driver's code, and what is loaded beside it once it is wanted.

    launch, launch_plain, execute: its entries, see above. plans: makes subclasses whose instances,
    plans, are called without Python (`jit/vectorcall.py`), None where there can be none.
    """

    launch: Launch
    launch_plain: Launch
    execute: Callable[[int], int]
    plans: Callable[[str, type], Vectorcalled | None] | None = None
    _warm: WarmEntry | None = None

    def __init__(self, content: bytes) -> None:
        """content: of the driver's block."""
        functions, api = _python()
        names = ["entry.execute", "entry.launch", "entry.prepare", *FROM_DRIVER]
        names += builtin.FUNCTIONS if functions else []
        self._at = at = _driver().load(content, names, functions)
        self.execute = _ffi.cast("int64_t(*)(intptr_t)", at["entry.execute"])
        entry = _ffi.cast("int64_t(*)(" + "intptr_t," * 6 + "intptr_t)", at["entry.launch"])
        self.launch = self.launch_plain = _plain(entry)
        if not functions:
            return
        builtin.know(word(at["entry.foreign"]), *(api or (0, 0)))
        if not builtin.reads_arrays(_ffi.cast("intptr_t(*)(intptr_t)", at["entry.data"])):
            return
        builtin.follow_main_thread(_ffi.cast("int64_t(*)(int64_t)", at["entry.set_main"]))
        self.launch = builtin.make("launch", at["entry.python"], _LAUNCH)
        if (early := _early()) is not None:
            early.definition.function = at["entry.python"]
        if api:
            self.plans, self._warm = self._plans, WarmEntry(functions, at)

    def _plans(self, name: str, base: type) -> Vectorcalled | None:
        plans = vectorcalled(name, base, self._at["entry.plan"])
        if plans is not None:
            builtin.tell(word(self._at["entry.foreign"]), builtin.Foreign.PLAN_AT, plans.own_at)
        return plans

    @property
    def warm(self) -> WarmEntry | None:
        """What runs calls that were seen before; None where nothing can."""
        return self._warm

    @property
    def team(self) -> int:
        """The address of the team, loaded when it is first asked for; 0: there is none."""
        with machine_lock:
            return self._team if supported() else 0

    @cached_property
    def _team(self) -> int:
        outside = {name: self._at[name] for name in FROM_DRIVER}
        functions = ["team.address", "team.forked"]
        at = load_linked(_team_module, current_target(), functions, outside, "team", plain=True)
        address = word(at["team.address"])
        forked = _ffi.cast("int64_t(*)(intptr_t)", at["team.forked"])
        os.register_at_fork(after_in_child=partial(forked, address))
        return address


def machine() -> Machine:
    """The driver of this process, loaded or compiled on first use."""
    global _wanted
    with machine_lock:
        if not _loaded:
            code = _code()
            _wanted = True
            content = code if isinstance(code, bytes) else code.result()
            finish()  # what a forked child, or a thread that came late, has left
            _loaded.append(Machine(content))
            if not isinstance(code, bytes) and _loaded[0].warm is not None:
                _loaded[0].warm.begin()  # which will be wanted next
        return _loaded[0]


def loaded() -> Machine | None:
    """The driver of this process, None where it would have to be waited for."""
    return _loaded[0] if _loaded else None


def begin() -> None:
    """Compile the driver on another thread, unless it is on disk: it will be wanted soon."""
    with machine_lock:
        _code()


def kernel_addresses(kernels: Sequence[Kernel], target: Target, brief: bool) -> list[int]:
    """The addresses of the kernels of a plan; those of a brief one are drafts (`jit/drafts.py`)
    where the driver, which it need not wait for, has to be compiled, and that has not begun."""
    if brief and not (_loaded or _closed) and machine_lock.acquire(blocking=False):
        try:
            if not isinstance(_code_if_kept(), bytes) and _may_draft():
                return _drafts(kernels, target)
        finally:
            machine_lock.release()
    return [kernel_address(kernel, target) for kernel in kernels]


def _drafts(kernels: Sequence[Kernel], target: Target) -> list[int]:
    global _lull_begins
    _lull_begins = math.inf
    try:
        return [draft_address(kernel, target) for kernel in kernels]
    finally:
        _lull_begins = monotonic()
        _code()


@cache
def _may_draft() -> bool:
    """Whether drafts are likely to be finished: a process that ends at once, as workers do that are
    killed, leaves no kernels to the next one, which would begin with drafts again."""
    return store.promise()


def launch() -> Launch:
    """What launches plans that are prepared now, whether there is a driver or not yet."""
    if _loaded:
        return _loaded[0].launch
    early = _early()
    return _launch_early if early is None else early.function


_loaded: list[Machine] = []
_under_way: list[bytes | Task[bytes]] = []
_lull_begins = 0.0  # when there was the last draft
_wanted = False  # somebody waits for the driver
_closed = False  # there are no more drafts


def _code(delay: float = 0) -> bytes | Task[bytes]:
    """The driver's code, from disk or under way."""
    return _code_if_kept() or _begun(delay)


def _code_if_kept() -> bytes | Task[bytes] | None:
    """The same, None where it is neither."""
    if not _under_way:
        kept = _driver().kept()
        if kept is not None:
            _under_way.append(kept)
    return _under_way[0] if _under_way else None


def _begun(delay: float) -> Task[bytes]:
    task = Task(_compiled, delay)
    _under_way.append(task)
    return task


def _compiled() -> bytes:
    """The driver's code, compiled, and drafts finished, after the first calls that follow one
    another: each would wait for LLVM meanwhile."""
    global _closed
    # Looking again and again, since a child may be forked while a lock is held for a moment.
    while (left := _lull_begins + LULL - monotonic()) > 0 and not _wanted:
        sleep(min(left, _LOOK_EVERY))
    _closed = True
    finish()
    content = _driver().compiled()
    store.keep_promise()
    return content


@lru_cache(maxsize=1)
def _early() -> Calling | None:
    return calling(_launch_early, _LAUNCH)


def _launch_early(prepared: int, *operands: Any) -> None:
    brief = ctypes.c_int64.from_address(prepared + CallRecord.BRIEF * WORD).value
    if brief and _has_to_wait():
        _interpreter().run_prepared(prepared, *map(_address, operands))
    else:
        machine().launch(prepared, *operands)


def _has_to_wait() -> bool:
    """Whether another thread is about to make the driver, or is begun on that now."""
    if not machine_lock.acquire(blocking=False):
        return not _loaded  # it waits for it
    try:
        code = _code(MOMENT)
        return not isinstance(code, bytes) and code.is_under_way
    finally:
        machine_lock.release()


@cache
def _interpreter() -> Any:
    # Imported where it is needed: usually the driver is on disk.
    with importing:
        from tensorop.jit import interpreter

    return whole(interpreter)


@lru_cache(maxsize=1)
def _python() -> tuple[dict[str, int], tuple[int, int] | None]:
    """`builtin.python_functions` and, where there are such, `warm.array_api`."""
    functions = builtin.python_functions()
    return functions, array_api() if functions else None


@lru_cache(maxsize=1)
def _driver() -> Block:
    python = bool(_python()[0])
    what = f"driver {python} for {sys.version} {object.__basicsize__} {np.__version__}"
    return Block(partial(_driver_module, python), current_target(), what)


# The generators are imported when something has to be compiled: see `jit/library.py`.


def _driver_module(python: bool) -> Any:
    with importing:
        from tensorop.jit.entry_code import driver_module

    return driver_module(current_target(), python=python)


def _team_module() -> Any:
    with importing:
        from tensorop.jit.team import team_module

    return team_module(current_target())


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
