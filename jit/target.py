"""The instruction set that kernels are generated for: one row of a table a machine.

`host_targets()` lists the rows this machine can run, best first; `current_target()` is the first,
or the one that the environment variable TENSOROP_TARGET (avx512, avx2, neon, generic) forces.
Generators read widths and features from the row and never ask for a machine by name.
"""

from __future__ import annotations

import platform
from functools import lru_cache

from tensorop.config import TARGET
from tensorop.jit import store
from tensorop.jit.guard import importing
from tensorop.jit.matrix_state import may_use_matrices
from tensorop.tuples import NamedTuple

SEGMENT = 16  # bytes of a vector: every machine shuffles within so many in one instruction
_CPU_FACTS = "/proc/cpuinfo"
_MATRICES = {"amx-bf16": ("bfloat16",), "amx-int8": ("int8", "uint8")}


class Target(NamedTuple):
    """One instruction set.

    vector_bytes: width of the widest vector register; registers: how many there are.
    fma: fused multiply-add exists (else multiply, then add: `llvm.fma` would be a call).
    masked: element sizes in bytes for which masked loads and stores are instructions.
    free_masks: masks are registers of their own, and a masked instruction takes no longer.
    half: float16 <-> float32 conversions are instructions.
    bfloat_pairs: one instruction adds the products of two pairs of bfloat16 to a float32.
    byte_quads: one instruction adds the products of four bytes, unsigned ones by signed ones, to an
    int32.
    matrices: dtypes of which registers hold matrices, of sixteen rows of a cache line, that one
    instruction multiplies.
    half_units: a vector goes through units that are half as wide, one half after the other.
    """

    name: str
    triple: str
    cpu: str
    features: str
    vector_bytes: int
    registers: int
    fma: bool
    masked: frozenset[int]
    free_masks: bool
    half: bool
    bfloat_pairs: bool = False
    byte_quads: bool = False
    matrices: tuple[str, ...] = ()
    half_units: bool = False

    @property
    def multiplies_halves(self) -> bool:
        """Vectors of 32-bit integers are multiplied by an instruction, and none multiplies those of
        64-bit ones: so it is with AVX2."""
        return self.vector_bytes == 32

    def shifts_lines(self, element_bytes: int) -> bool:
        """Whether a vector is a cache line, and one instruction picks elements, or parts of them,
        of two of them, in an order that is known only when it runs."""
        needs = {1: "+avx512vbmi", 2: "+avx512bw"}.get(element_bytes, "+avx512f")
        return needs in self.features

    def lanes(self, element_bytes: int) -> int:
        """Elements of the given size in one vector register, at least 1."""
        return max(1, self.vector_bytes // element_bytes)

    def picks(self, element_bytes: int) -> int:
        """Bytes of the vectors of which one instruction picks elements, from two registers and
        wherever they lie in them; a segment where none does."""
        picks = element_bytes > 1 or "+avx512vbmi" in self.features
        return self.vector_bytes if self.free_masks and picks else SEGMENT


# Features that the host must have, and the target, best first. A target takes its triple from the
# host, and where it names no CPU, CPU and features.
_Table = tuple[tuple[frozenset[str], Target], ...]
_X86: _Table = (
    (
        frozenset({"avx512f", "avx512vl", "avx512bw", "avx512dq", "fma", "f16c"}),
        Target("avx512", "", "", "", 64, 32, True, frozenset({1, 2, 4, 8}), True, True),
    ),
    (
        frozenset({"avx2", "fma", "f16c"}),
        Target("avx2", "", "haswell", "", 32, 16, True, frozenset({4, 8}), False, True),
    ),
    (
        frozenset(),
        Target("generic", "", "x86-64", "", 16, 16, False, frozenset(), False, False),
    ),
)
_ARM: _Table = (
    (frozenset(), Target("neon", "", "", "", 16, 32, True, frozenset(), False, True)),
    (frozenset(), Target("generic", "", "generic", "", 16, 32, True, frozenset(), False, True)),
)
_OTHER: _Table = (
    (frozenset(), Target("generic", "", "", "", 16, 16, False, frozenset(), False, False)),
)


def _host() -> tuple[str, str, str]:
    """Triple, name of the CPU and features (`+this,-that`), as LLVM names them: kept on disk, since
    asking LLVM takes as long as importing it."""
    what = f"host {platform.machine()} {_cpu()}"
    kept = store.load(what)
    if kept is not None:
        triple, cpu, features = kept.decode().split("\n")
        return triple, cpu, features
    with importing:  # and asking, under a lock of llvmlite
        from llvmlite import binding as llvm  # imported where it is needed: see `jit/library.py`

        host = llvm.get_default_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features()
    found = (host[0], host[1], host[2].flatten())
    if _cpu():
        store.save_next(what, "\n".join(found).encode())
    return found


@lru_cache(maxsize=1)
def cpu_facts() -> dict[str, str]:
    """What the system says of the first CPU, by name; nothing where it does not."""
    try:
        with open(_CPU_FACTS, encoding="utf-8", errors="replace") as file:
            first = file.read(8192).split("\n\n")[0]
    except OSError:
        return {}
    lines = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in lines}


def _cpu() -> str:
    """What the system says of the first CPU, as far as LLVM goes by it."""
    telling = ("vendor_id", "cpu family", "model", "stepping", "flags", "CPU ", "Features")
    return "\n".join(f"{n}: {fact}" for n, fact in cpu_facts().items() if n.startswith(telling))


@lru_cache(maxsize=1)
def host_targets() -> tuple[Target, ...]:
    """Every target that this machine can run, best first."""
    triple, cpu, features = _host()
    has = {name[1:] for name in features.split(",") if name.startswith("+")}
    table = {"x86_64": _X86, "aarch64": _ARM, "arm64": _ARM}.get(triple.split("-")[0], _OTHER)
    matrices = _matrices(has)
    # Where registers hold matrices, an instruction for pairs takes four times as long as one for
    # float32, of which two do the same (measured on Granite Rapids).
    pairs = "avx512bf16" in has and "amx-bf16" not in has
    return tuple(
        target._replace(
            triple=triple,
            cpu=target.cpu or cpu,
            features="" if target.cpu else features,
            bfloat_pairs=not target.cpu and pairs,
            byte_quads=not target.cpu and {"avx512vnni", "avx512vl"} <= has,
            matrices=() if target.cpu else matrices,
            half_units=not target.cpu and cpu == "znver4",
        )
        for needs, target in table
        if needs <= has
    )


def _matrices(has: set[str]) -> tuple[str, ...]:
    """The dtypes of which this process may multiply matrices in registers."""
    dtypes = [dtype for feature in _MATRICES if feature in has for dtype in _MATRICES[feature]]
    usable = dtypes and "amx-tile" in has and may_use_matrices()
    return tuple(dtypes) if usable else ()


@lru_cache(maxsize=1)
def current_target() -> Target:
    """The target that kernels are generated for in this process.

    Raises
    ------
    ValueError
        TENSOROP_TARGET names a target that does not exist or that this machine cannot run.
    """
    wanted = TARGET.value
    if wanted is None:
        return host_targets()[0]
    for target in host_targets():
        if target.name == wanted:
            return target
    names = ", ".join(target.name for target in host_targets())
    raise ValueError(f"TENSOROP_TARGET={wanted!r}: this machine runs {names}")
