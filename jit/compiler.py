"""From an LLVM module to machine code.

Everything here needs llvmlite, and the generators behind it: `jit/library.py` comes here only for
what is not on disk. Compiled modules are dropped.
"""

from __future__ import annotations

import atexit
from collections.abc import Mapping, Sequence

import llvmlite.binding as llvm
from llvmlite import ir

from tensorop.debug import Level, show
from tensorop.jit.arena import Linked
from tensorop.jit.blob import behind_jump, flatten, link
from tensorop.jit.generate import generate
from tensorop.jit.guard import lock, take_too
from tensorop.jit.kernel import Kernel
from tensorop.jit.target import Target

_machines: dict[tuple[Target, bool, bool], llvm.TargetMachine] = {}
_engines: list[llvm.ExecutionEngine] = []  # code loaded by LLVM is immortal


def _machine(target: Target, independent: bool = True, plain: bool = False) -> llvm.TargetMachine:
    """independent: of the position, as the blocks of an arena are. plain: without optimisation."""
    key = target, independent, plain
    if key not in _machines:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        model = {"reloc": "pic", "codemodel": "small"} if independent else {}
        _machines[key] = llvm.Target.from_triple(target.triple).create_target_machine(
            cpu=target.cpu, features=target.features, opt=0 if plain else 2, **model
        )
    return _machines[key]


def parse(module: ir.Module, target: Target) -> llvm.ModuleRef:
    """Parse and check a generated module."""
    module.triple = target.triple
    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    return parsed


def assembly(module: ir.Module, target: Target) -> str:
    """The machine code of a module as text."""
    with lock, parse(module, target) as parsed:
        return str(_machine(target).emit_assembly(parsed))


def _compiled(
    module: ir.Module, target: Target, independent: bool = True, plain: bool = False
) -> bytes:
    """An object file. The parsed module is closed here and not left to be collected: an interrupt
    that comes meanwhile would be lost with it."""
    with parse(module, target) as parsed:
        return bytes(_machine(target, independent, plain).emit_object(parsed))


def leaf_code(
    kernel: Kernel, target: Target, module: ir.Module | None = None, plain: bool = False
) -> tuple[int, bytes]:
    """The code of a kernel, and where in it its function begins. module: where it was generated
    before.

    Raises
    ------
    ValueError
        The code needs a symbol from outside or has writable data: a mistake in its generator.
    """
    module = generate(kernel, target) if module is None else module
    show(Level.IR, lambda: str(module))
    show(Level.ASSEMBLY, lambda: assembly(module, target))
    code, functions = flatten(_compiled(module, target, plain=plain))
    return functions[kernel.name], code


def draft_code(kernel: Kernel, target: Target) -> tuple[ir.Module, Linked]:
    """The module of a kernel, and its code without optimisation, behind a jump."""
    module = generate(kernel, target)
    start, code = leaf_code(kernel, target, module, plain=True)
    return module, behind_jump(code, start)


def linked_code(module: ir.Module, target: Target, plain: bool) -> Linked:
    """The code of a module that may call functions of the process."""
    return link(_compiled(module, target, plain=plain))


def object_code(module: ir.Module, target: Target, plain: bool = False) -> bytes:
    """An object file for `load_object`."""
    return _compiled(module, target, independent=False, plain=plain)


def load_object(
    code: bytes, target: Target, names: Sequence[str], outside: Mapping[str, int]
) -> dict[str, int]:
    """Load an object file by LLVM's own linker, where there is no arena or none of our linkers; the
    addresses of `names`. outside: addresses of functions that the process does not export."""
    machine = _machine(target, independent=False)
    for name, address in outside.items():
        llvm.add_symbol(name, address)
    engine = llvm.create_mcjit_compiler(parse(ir.Module("linked"), target), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _engines.append(engine)
    return {name: engine.get_function_address(name) for name in names}


# llvmlite fills a table when it first writes a string. Another thread must not find it half full.
ir.Constant(ir.ArrayType(ir.IntType(8), 1), bytearray(1)).get_reference()

# llvmlite's lock, too, must not be held by a thread that a forked child does not have.
_inner = getattr(getattr(llvm.ffi.lib, "_lock", None), "_lock", None)
if _inner is not None:
    take_too(_inner)
    # Nor may a daemon thread be in LLVM while the process is taken apart.
    atexit.register(_inner.acquire)
