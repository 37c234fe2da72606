"""From an LLVM module to an address.

Kernels are leaf code: their object file is flattened (`jit/blob.py`), which refuses undefined
symbols and writable data, and copied into an arena that is never unloaded (`jit/arena.py`). The
driver and the team, which call the C library, and every platform without ELF or memfd go through
LLVM's own loader. Compiled modules are dropped; an in-memory cache maps kernel descriptions to
addresses, and one on disk to their code (`jit/store.py`).
"""

from __future__ import annotations

import os
import struct
import sys
import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Protocol

import llvmlite.binding as llvm
from llvmlite import ir

from tensorop.config import DEBUG
from tensorop.debug import Level, show
from tensorop.jit import store
from tensorop.jit.arena import Arena
from tensorop.jit.blob import flatten
from tensorop.jit.target import Target, current_target


class Kernel(Protocol):
    """A kernel description: hashable data that can generate its own module."""

    @property
    def name(self) -> str: ...
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


def load_kernel(kernel: Kernel, target: Target) -> int:
    """Compile leaf code, or take it from the disk; returns the address of its function.

    Raises
    ------
    ValueError
        The code needs a symbol from outside or has writable data: a mistake in its generator.
    """
    with _lock:
        if not (sys.platform == "linux" and Arena.available()):
            return load_linked(lambda: kernel.generate(target), target, [kernel.name])[kernel.name]
        # The store knows the source of our generators only; and what is printed must be made.
        keeps = type(kernel).__module__.startswith(__package__) and not DEBUG.value
        kept = store.load(repr(kernel), target) if keeps else None
        if kept is None:
            kept = _leaf_code(kernel, target)
            if keeps:
                store.save(repr(kernel), target, kept)
        (start,) = _START.unpack_from(kept)
        return _arena.add(kept[_START.size :]) + int(start)


_START = struct.Struct("<q")  # where the function begins, before the code


def _leaf_code(kernel: Kernel, target: Target) -> bytes:
    module = kernel.generate(target)
    show(Level.IR, lambda: str(module))
    show(Level.ASSEMBLY, lambda: assembly(module, target))
    code, symbols = flatten(_machine(target).emit_object(parse(module, target)))
    return _START.pack(symbols[kernel.name]) + code


def load_linked(
    generate: Callable[[], ir.Module], target: Target, names: Sequence[str], what: str = ""
) -> dict[str, int]:
    """Compile code that may call functions of the process; returns the addresses of `names`.

    what: describes the code, so that it can be kept on disk; it is not where this is empty.
    """
    with _lock:
        machine = _jit_machine(target)
        code = store.load(what, target) if what else None
        if code is None:
            code = machine.emit_object(parse(generate(), target))
            if what:
                store.save(what, target, code)
        engine = llvm.create_mcjit_compiler(parse(ir.Module("linked"), target), machine)
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
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
                address = load_kernel(kernel, target)
                _addresses[key] = address
    return address


def kernels_loaded() -> int:
    """How many kernels this process has compiled, or found on disk."""
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
