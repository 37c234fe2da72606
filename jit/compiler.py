"""From an LLVM module to an address.

Kernels are leaf code: their object file is flattened (`jit/blob.py`), which refuses undefined
symbols and writable data, and copied into an arena that is never unloaded (`jit/arena.py`). The
driver and the team, which call the C library, and every platform without ELF or memfd go through
LLVM's own loader. Compiled modules are dropped; an in-memory cache maps kernel descriptions to
addresses.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Hashable
from typing import Protocol

import llvmlite.binding as llvm
from llvmlite import ir

from tensorop.debug import Level, show
from tensorop.jit.arena import Arena
from tensorop.jit.blob import flatten
from tensorop.jit.target import Target, current_target


class Kernel(Protocol):
    """A kernel description: hashable data that can generate its own module."""

    def __hash__(self) -> int: ...
    def generate(self, target: Target) -> ir.Module: ...


_lock = threading.RLock()  # compiling, and the caches below
_addresses: dict[Hashable, int] = {}
_machines: dict[Target, llvm.TargetMachine] = {}
_engines: list[llvm.ExecutionEngine] = []  # code loaded by LLVM is immortal
_arena = Arena()


def _machine(target: Target) -> llvm.TargetMachine:
    if target not in _machines:
        _machines[target] = llvm.Target.from_triple(target.triple).create_target_machine(
            cpu=target.cpu, features=target.features, opt=2, reloc="pic", codemodel="small"
        )
    return _machines[target]


def parse(module: ir.Module, target: Target) -> llvm.ModuleRef:
    """Parse and check a generated module."""
    module.triple = target.triple
    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    return parsed


def assembly(module: ir.Module, target: Target) -> str:
    """The machine code of a module as text."""
    with _lock:
        return str(_machine(target).emit_assembly(parse(module, target)))


def load_kernel(module: ir.Module, target: Target) -> int:
    """Compile leaf code; returns the address of the function that has the module's name.

    Raises
    ------
    ValueError
        The code needs a symbol from outside or has writable data: a mistake in its generator.
    """
    with _lock:
        if not (sys.platform == "linux" and Arena.available()):
            return load_linked(module, target, module.name)[module.name]
        code, symbols = flatten(_machine(target).emit_object(parse(module, target)))
        return _arena.add(code) + symbols[module.name]


def load_linked(module: ir.Module, target: Target, *names: str) -> dict[str, int]:
    """Compile code that may call functions of the process; returns the addresses of `names`."""
    with _lock:
        engine = llvm.create_mcjit_compiler(parse(module, target), _jit_machine(target))
        engine.finalize_object()
        _engines.append(engine)
        return {name: engine.get_function_address(name) for name in names}


def _jit_machine(target: Target) -> llvm.TargetMachine:
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=2
    )


def kernel_address(kernel: Kernel, target: Target | None = None) -> int:
    """The address of a kernel's code, compiled on first use."""
    target = target if target is not None else current_target()
    key = (kernel, target.name)
    address = _addresses.get(key)
    if address is None:
        with _lock:
            address = _addresses.get(key)
            if address is None:
                module = kernel.generate(target)
                show(Level.IR, lambda: str(module))
                show(Level.ASSEMBLY, lambda: assembly(module, target))
                address = load_kernel(module, target)
                _addresses[key] = address
    return address


def kernels_compiled() -> int:
    """How many kernels this process has compiled."""
    return len(_addresses)


def _guard_forks() -> None:
    """Take our lock and llvmlite's before a fork, so that no child inherits one that is held by a
    thread that it does not have."""
    inner = getattr(getattr(llvm.ffi.lib, "_lock", None), "_lock", None)
    locks = [_lock] + ([inner] if hasattr(inner, "acquire") else [])

    def release_in_child() -> None:
        _arena.abandon()
        release()

    def each(method: str, order: list[object]) -> Callable[[], None]:
        def run() -> None:
            for lock in order:
                getattr(lock, method)()

        return run

    release = each("release", list(reversed(locks)))
    os.register_at_fork(
        before=each("acquire", list(locks)),
        after_in_parent=release,
        after_in_child=release_in_child,
    )


if hasattr(os, "register_at_fork"):
    _guard_forks()
