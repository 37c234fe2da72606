"""The addresses of machine code.

Of a kernel by its description, and of code that calls functions of the process: what this process
has, or else what is on disk (`jit/store.py`), or else what is compiled now (or soon:
`jit/drafts.py`). llvmlite and the
generators, which take longer to import than most calls to run, are needed only for the last of the
three (`jit/compiler.py`).

Kernels are leaf code: a flat block that is copied into an arena and never unloaded. Code that calls
out, the driver and the team, lies there as well, linked by `jit/blob.py`; LLVM's own loader does
that on platforms other than Linux on x86-64.
"""

from __future__ import annotations

import ctypes
import marshal
import struct
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from tensorop.debug import Level, wants
from tensorop.errors import whole
from tensorop.jit import store
from tensorop.jit.arena import Arena, Linked
from tensorop.jit.guard import importing, lock
from tensorop.jit.kernel import Kernel
from tensorop.jit.target import Target, current_target
from tensorop.tuples import NamedTuple

if TYPE_CHECKING:
    from llvmlite import ir


_addresses: dict[Hashable, int] = {}
_kept: dict[str, int] = {}  # by what the store knows them as
_arena = Arena()
_START = struct.Struct("<q")  # where the function begins, before a kernel's code


@cache
def compiler() -> Any:
    """The module that makes code (`jit/compiler.py`)."""
    # Imported when something has to be compiled: usually never, where the disk remembers.
    with importing:
        from tensorop.jit import compiler as module

    return whole(module)


def kernel_address(kernel: Kernel, target: Target | None = None) -> int:
    """The address of a kernel's code, loaded or compiled on first use."""
    target = target if target is not None else current_target()
    address = _addresses.get(_key(kernel, target))
    if address is None:
        with lock:
            address = _addresses.get(_key(kernel, target))
            if address is None:
                address = load_kernel(kernel, target)
                know(kernel, target, address)
    return address


def known_address(kernel: Kernel, target: Target) -> int | None:
    """The same, None where the kernel would have to be compiled."""
    with lock:
        address = _addresses.get(_key(kernel, target))
        if address is None and _keeps(kernel):
            address = kept_address(repr(kernel), target)
        return address


def know(kernel: Kernel, target: Target, address: int) -> None:
    """Let `kernel_address` give this address from now on."""
    _addresses[_key(kernel, target)] = address


def _key(kernel: Kernel, target: Target) -> Hashable:
    return type(kernel), kernel, target.name  # tuples of two types may be equal


def kept_address(description: str, target: Target) -> int | None:
    """The address of a kernel by the `repr` of its description, None where it is not on disk."""
    what = _what(description, target)
    with lock:
        if what not in _kept:
            kept = store.load(what) if _has_arena() else None
            if kept is None:
                return None
            _place_leaf(what, kept)
        return _kept[what]


def kernels_loaded() -> int:
    """How many kernels this process has compiled, or found on disk: campaigns count them."""
    return len({*_addresses.values(), *_kept.values()})


def load_kernel(kernel: Kernel, target: Target) -> int:
    """Compile leaf code, or take it from the disk; returns the address of its function.

    Raises
    ------
    ValueError
        The code needs a symbol from outside or has writable data: a mistake in its generator.
    """
    with lock:
        if not _has_arena():
            name = kernel.name
            return load_linked(lambda: _generate(kernel, target), target, [name])[name]
        kept = kept_address(repr(kernel), target) if _keeps(kernel) else None
        if kept is not None:
            return kept
        return add_kernel(kernel, target, *compiler().leaf_code(kernel, target))


def add_kernel(kernel: Kernel, target: Target, start: int, code: bytes) -> int:
    """Put compiled leaf code where it can run, and on disk; the address of its function, which
    begins at `start`."""
    with lock:
        if not _keeps(kernel):
            return _arena.add(code) + int(start)
        what, kept = _what(repr(kernel), target), _START.pack(start) + code
        store.save(what, kept)
        return _place_leaf(what, kept)


def _keeps(kernel: Kernel) -> bool:
    # The store knows the source of our generators only; and what is printed must be made.
    return type(kernel).__module__.startswith(__package__) and not wants(Level.IR)


def _what(description: str, target: Target) -> str:
    """How the store knows a kernel."""
    return f"{target!r}\n{description}"


def _place_leaf(what: str, kept: bytes) -> int:
    """Put a kernel from the disk where it can run; its address."""
    (start,) = _START.unpack_from(kept)
    _kept[what] = address = _arena.add(kept[_START.size :]) + int(start)
    return address


def _generate(kernel: Kernel, target: Target) -> ir.Module:
    module: ir.Module = compiler().generate(kernel, target)
    return module


def llvm_ir(kernel: Kernel, target: Target) -> str:
    """The generated LLVM IR of a kernel."""
    return str(_generate(kernel, target))


def assembly(kernel: Kernel, target: Target) -> str:
    """The machine code of a kernel as text."""
    text: str = compiler().assembly(_generate(kernel, target), target)
    return text


def load_linked(
    generate: Callable[[], ir.Module],
    target: Target,
    names: Sequence[str],
    outside: Mapping[str, int] | None = None,
    what: str = "",
    *,
    plain: bool = False,
) -> dict[str, int]:
    """Load or compile code that may call functions of the process; returns the addresses of
    `names`. outside: as of `Block.load`; the others as of `Block`."""
    block = Block(generate, target, what, plain)
    return block.load(block.kept() or block.compiled(), names, outside or {})


class Block(NamedTuple):
    """Code that may call functions of the process.

    generate: makes the module, if it has to be compiled. what: describes the code, so that it can
    be kept on disk; it is not where this is empty. plain: it is to be compiled fast, not to be
    fast.
    """

    generate: Callable[[], ir.Module]
    target: Target
    what: str = ""
    plain: bool = False

    @property
    def _key(self) -> str:
        return f"{self.target!r}\n{self.what}"

    def kept(self) -> bytes | None:
        """What is on disk of it."""
        return store.load(self._key) if self.what else None

    def compiled(self) -> bytes:
        """The same, made now. Any thread may ask, while others do."""
        module = self.generate()
        if links(self.target):
            content = marshal.dumps(tuple(compiler().linked_code(module, self.target, self.plain)))
        else:
            content = compiler().object_code(module, self.target, self.plain)
        if self.what:
            store.save(self._key, content)
        return content

    def load(
        self, content: bytes, names: Sequence[str], outside: Mapping[str, int]
    ) -> dict[str, int]:
        """Put what `kept` or `compiled` gave where it can run; the addresses of functions.

        Parameters
        ----------
        outside : dict of str to int
            Addresses of what the process has, but perhaps does not export.
        """
        with lock:
            if not links(self.target):
                loaded: dict[str, int] = compiler().load_object(
                    content, self.target, names, outside
                )
                return loaded
            linked = Linked(*marshal.loads(content))
            base = place(linked, outside)
            return {name: base + linked.functions[name] for name in names}


def links(target: Target) -> bool:
    """Whether code that is not leaf code is linked by us, not by LLVM."""
    return _has_arena() and target.triple.startswith("x86_64")


def _has_arena() -> bool:
    return sys.platform == "linux" and Arena.available()


def place(linked: Linked, outside: Mapping[str, int]) -> int:
    """Put a block where it can run; its address. outside: as of `Block.load`."""

    def data(base: int) -> bytes:
        words = bytearray(linked.size - len(linked.code))
        for at, what in linked.slots:
            known = base + what if isinstance(what, int) else outside.get(what)
            address = _function(what) if known is None else known  # type: ignore[arg-type]
            struct.pack_into("<Q", words, at - len(linked.code), address)
        return bytes(words)

    return _arena.add_with_data(linked.code, linked.size, data)


def _function(name: str) -> int:
    """The address of a function that the process exports."""
    return ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value or 0
