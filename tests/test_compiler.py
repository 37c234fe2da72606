"""From modules to addresses: leaf code only, cached by description, safe across forks."""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple
from unittest.mock import patch

import llvmlite.binding as llvm
import numpy as np
import pytest
from cffi import FFI

from tensorop.jit import arena, library
from tensorop.jit.abi import Frame
from tensorop.jit.arena import Arena
from tensorop.jit.blob import flatten, link
from tensorop.jit.builder import Code
from tensorop.jit.compiler import leaf_code
from tensorop.jit.image import Image
from tensorop.jit.library import kernel_address, kernels_loaded
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


class Lifts(NamedTuple):
    """As `Adds`, and equal to every other tuple of its one number."""

    amount: int
    name = Adds.name

    def generate(self, target: Target):
        return Adds(self.amount).generate(target)


class Lowers(Lifts):
    def generate(self, target: Target):
        return Adds(-self.amount).generate(target)


def test_kernels_of_equal_fields_are_told_apart() -> None:
    kernels = Lifts(5), Lowers(5)
    assert kernels[0] == kernels[1]
    assert [call(kernel_address(kernel)) for kernel in kernels] == [5, -5]
    image = Image()
    assert image.kernel(kernels[0]) != image.kernel(kernels[1]) == image.kernel(Lowers(5))
    assert list(map(type, image.kernels)) == [Lifts, Lowers]


def test_an_interrupt_while_compiling_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python ignores what is raised where an object is collected, as modules of llvmlite are."""
    dispose = llvm.ModuleRef._dispose

    def interrupted(module: llvm.ModuleRef) -> None:
        dispose(module)
        raise KeyboardInterrupt

    monkeypatch.setattr(llvm.ModuleRef, "_dispose", interrupted)
    with pytest.raises(KeyboardInterrupt):
        leaf_code(Adds(7), host_targets()[0])


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


COUNTER = """
@count = global i64 0
@text = constant [3 x i8] c"abc"
declare i32 @toupper(i32)
define internal i64 @step() {
  %old = load i64, ptr @count
  %new = add i64 %old, 1
  store i64 %new, ptr @count
  ret i64 %new
}
define i64 @counted() {
  %f = select i1 true, ptr @step, ptr null
  %n = call i64 %f()
  ret i64 %n
}
define i64 @letter(i64 %at) {
  %place = getelementptr i8, ptr @text, i64 %at
  %small = load i8, ptr %place
  %wide = zext i8 %small to i32
  %large = call i32 @toupper(i32 %wide)
  %result = zext i32 %large to i64
  ret i64 %result
}
"""
linking = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="LLVM links"
)


def functions() -> tuple[Callable[[], int], Callable[[int], int]]:
    linked = link(object_code(COUNTER))
    base = library.place(linked, {})
    counted, letter = (base + linked.functions[name] for name in ("counted", "letter"))
    return ffi.cast("int64_t(*)(void)", counted), ffi.cast("int64_t(*)(int64_t)", letter)


@linking
def test_linked_code_calls_out_and_has_data_of_its_own() -> None:
    counted, letter = functions()
    assert [counted() for _ in range(3)] == [1, 2, 3]
    assert bytes(letter(i) for i in range(3)) == b"ABC"
    again, _ = functions()
    assert (again(), counted()) == (1, 4)


@linking
def test_a_child_has_its_own_copy_of_linked_data() -> None:
    counted, _ = functions()
    assert counted() == 1
    child = os.fork()
    if child == 0:
        os._exit(counted())
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 2
    assert counted() == 2


@linking
def test_link_refuses_what_is_not_position_independent() -> None:
    with pytest.raises(ValueError, match="not zeros"):
        link(object_code(COUNTER.replace("global i64 0", "global i64 7")))
    with pytest.raises(AttributeError, match="nowhere_at_all"):
        library.place(link(object_code(COUNTER.replace("toupper", "nowhere_at_all"))), {})


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


@pytest.mark.skipif(not Arena.available(), reason="there is no arena")
def test_a_limit_of_the_size_of_files_leaves_room_for_code() -> None:
    """Memory that is mapped twice counts as a file."""
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\n"
        "import numpy, tensorop; a = numpy.ones((50, 50)); print(tensorop.matmul(a, a)[0, 0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TENSOROP_CACHE": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "50.0\n", done.stderr


@pytest.mark.skipif(not Arena.available(), reason="there is no arena")
def test_code_is_where_it_was_put_after_an_interrupt() -> None:
    """Wherever that fell: here while a new chunk was being mapped."""
    blocks = Arena()
    first = blocks.add(b"first")
    with (
        patch.object(arena, "_map", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        blocks.add(bytes(1 << 23))
    second = blocks.add(b"second")
    assert ctypes.string_at(first, 5) + ctypes.string_at(second, 6) == b"firstsecond"
