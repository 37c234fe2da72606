"""From modules to addresses: leaf code only, cached by description, safe across forks."""

from __future__ import annotations

import os
from dataclasses import dataclass

import llvmlite.binding as llvm
import numpy as np
import pytest
from cffi import FFI

from tensorop.jit.abi import Frame
from tensorop.jit.blob import flatten
from tensorop.jit.builder import Code
from tensorop.jit.compiler import kernel_address, kernels_loaded
from tensorop.jit.target import Target, host_targets

ffi = FFI()


@dataclass(frozen=True)
class Adds:
    """Adds a constant to word 0 of the frame."""

    amount: int
    name = "adds"

    def generate(self, target: Target):
        code = Code(target, self.name)
        code.set_word(code.frame, 0, code.add(code.word(code.frame, 0), self.amount))
        return code.finish()


def call(address: int) -> int:
    frame = np.zeros(Frame.WORDS, np.int64)
    ffi.cast("void(*)(void *, void *)", address)(ffi.NULL, ffi.cast("void *", frame.ctypes.data))
    return int(frame[0])


def object_code(text: str) -> bytes:
    target = host_targets()[0]
    machine = llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, reloc="pic", codemodel="small"
    )
    return machine.emit_object(llvm.parse_assembly(text))


def test_a_kernel_is_compiled_once() -> None:
    before = kernels_loaded()
    assert call(kernel_address(Adds(3))) == 3
    assert kernel_address(Adds(3)) == kernel_address(Adds(3))
    assert kernels_loaded() == before + 1
    assert kernel_address(Adds(4)) != kernel_address(Adds(3))


def test_every_target_runs() -> None:
    assert [call(kernel_address(Adds(5), target)) for target in host_targets()] == [5] * len(
        host_targets()
    )


def test_flatten_refuses_undefined_symbols() -> None:
    text = "declare void @elsewhere()\ndefine void @f() {\n call void @elsewhere()\n ret void\n}"
    with pytest.raises(ValueError, match="undefined symbol 'elsewhere'"):
        flatten(object_code(text))


def test_flatten_refuses_writable_data() -> None:
    text = "@state = global i64 1\ndefine i64 @f() {\n %v = load i64, ptr @state\n ret i64 %v\n}"
    with pytest.raises(ValueError, match=r"writable data|undefined symbol|relocation"):
        flatten(object_code(text))


def test_parent_and_child_compile_apart() -> None:
    """After a fork both add kernels to their arenas; neither may overwrite the other's."""
    kernel_address(Adds(10))
    to_child, from_child = os.pipe()
    child = os.fork()
    if child == 0:
        address = kernel_address(Adds(11))
        os.read(to_child, 1)
        os._exit(0 if call(address) == 11 else 1)
    address = kernel_address(Adds(12))
    os.write(from_child, b"x")
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert call(address) == 12
