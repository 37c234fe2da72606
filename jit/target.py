"""The instruction set that kernels are generated for: one row of a table a machine.

`host_targets()` lists the rows this machine can run, best first; `current_target()` is the first,
or the one that the environment variable TENSOROP_TARGET (avx512, avx2, neon, generic) forces.
Generators read widths and features from the row and never ask for a machine by name.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache

import llvmlite.binding as llvm


@dataclass(frozen=True, slots=True)
class Target:
    """One instruction set.

    vector_bytes: width of the widest vector register; registers: how many there are.
    fma: fused multiply-add exists (else multiply, then add: `llvm.fma` would be a call).
    masked: element sizes in bytes for which masked loads and stores are instructions.
    half: float16 <-> float32 conversions are instructions.
    """

    name: str
    triple: str
    cpu: str
    features: str
    vector_bytes: int
    registers: int
    fma: bool
    masked: frozenset[int]
    half: bool

    def lanes(self, element_bytes: int) -> int:
        """Elements of the given size in one vector register, at least 1."""
        return max(1, self.vector_bytes // element_bytes)


@dataclass(frozen=True, slots=True)
class _Row:
    needs: frozenset[str]  # features that the host must have
    cpu: str  # "" for the host's own
    vector_bytes: int
    registers: int
    fma: bool
    masked: frozenset[int]
    half: bool


_X86 = {
    "avx512": _Row(
        frozenset({"avx512f", "avx512vl", "avx512bw", "avx512dq", "fma", "f16c"}),
        "", 64, 32, True, frozenset({1, 2, 4, 8}), True,
    ),
    "avx2": _Row(
        frozenset({"avx2", "fma", "f16c"}), "haswell", 32, 16, True, frozenset({4, 8}), True
    ),
    "generic": _Row(frozenset(), "x86-64", 16, 16, False, frozenset(), False),
}  # fmt: skip
_ARM = {
    "neon": _Row(frozenset(), "", 16, 32, True, frozenset(), True),
    "generic": _Row(frozenset(), "generic", 16, 32, True, frozenset(), True),
}
_OTHER = {"generic": _Row(frozenset(), "", 16, 16, False, frozenset(), False)}


@lru_cache(maxsize=1)
def host_targets() -> tuple[Target, ...]:
    """Every target that this machine can run, best first."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    triple = llvm.get_default_triple()
    host = llvm.get_host_cpu_features()
    rows = {"x86_64": _X86, "aarch64": _ARM, "arm64": _ARM}.get(triple.split("-")[0], _OTHER)
    return tuple(
        Target(
            name=name,
            triple=triple,
            cpu=row.cpu or llvm.get_host_cpu_name(),
            features="" if row.cpu else host.flatten(),
            vector_bytes=row.vector_bytes,
            registers=row.registers,
            fma=row.fma,
            masked=row.masked,
            half=row.half,
        )
        for name, row in rows.items()
        if all(host.get(feature) for feature in row.needs)
    )


@lru_cache(maxsize=1)
def current_target() -> Target:
    """The target that kernels are generated for in this process.

    Raises
    ------
    ValueError
        TENSOROP_TARGET names a target that does not exist or that this machine cannot run.
    """
    wanted = os.environ.get("TENSOROP_TARGET", "")
    if not wanted:
        return host_targets()[0]
    for target in host_targets():
        if target.name == wanted:
            return target
    names = ", ".join(target.name for target in host_targets())
    raise ValueError(f"TENSOROP_TARGET={wanted!r}: this machine runs {names}")
