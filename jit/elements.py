"""Element types, as kernels see them.

`element(name)` describes a dtype: how it lies in memory and in which type it is computed. Half
types are computed in float32, bool by and/or, integers wrap as numpy's do, and complex numbers are
two parts of a floating type. `jit/types.py` says which LLVM types these are, `jit/arithmetic.py`
writes the arithmetic on them.
"""

from __future__ import annotations

from functools import cache

from tensorop.tuples import NamedTuple

GATHERED = frozenset({"float32", "float64"})  # types whose matrices are gathered by strides
NEAR_STEPS = (-1, 2, 3, 4)  # steps at which whole vectors are loaded and taken apart
FEW_LANES = 16  # of which some take no longer one by one; MOST_LANES: at most that are far apart
MOST_LANES = 32


class Element(NamedTuple):
    """A dtype as kernels see it.

    kind: f float, i signed, u unsigned, b bool; complex numbers are two parts of kind f.
    size: bytes of an element in memory; part: bytes of one part in memory.
    """

    name: str
    kind: str
    size: int
    part: int
    parts: int = 1
    half: str = ""  # "float16" or "bfloat16": stored so, computed in float32

    @property
    def is_float(self) -> bool:
        return self.kind == "f"

    @property
    def accumulator(self) -> Element:
        """The element type of partial results and packed panels."""
        return element("float32") if self.half else self

    @property
    def real(self) -> Element:
        """The element type of one part."""
        if self.parts == 1:
            return self
        name = "longdouble" if self.part > 8 else f"float{8 * self.part}"
        return Element(name, self.kind, self.part, self.part)

    @property
    def stored(self) -> Element:
        """The element type of one part as it lies in memory, if nothing is computed with it."""
        if self.half or self.kind == "b":
            return element(f"uint{8 * self.part}")
        return self.real

    @property
    def vectorises(self) -> bool:
        return self.part <= 8  # there are no vectors of x86's 80-bit floats


@cache
def element(name: str) -> Element:
    """The element type of a dtype name (numpy's names, and `bfloat16`, `longdouble`,
    `clongdouble`).

    Raises
    ------
    KeyError
        No kernels exist for this dtype.
    """
    if name in _SPECIAL:
        return _SPECIAL[name]
    kind, bits = name.rstrip("0123456789"), name.lstrip("abcdefghijklmnopqrstuvwxyz")
    size = int(bits or 0) // 8
    if kind in ("int", "uint") and size in (1, 2, 4, 8):
        return Element(name, kind[0], size, size)
    if kind == "float" and size in (4, 8):
        return Element(name, "f", size, size)
    if kind == "complex" and size in (8, 16):
        return Element(name, "f", size, size // 2, 2)
    raise KeyError(f"no kernels for dtype {name!r}")


_SPECIAL = {
    "bool": Element("bool", "b", 1, 1),
    "float16": Element("float16", "f", 2, 2, half="float16"),
    "bfloat16": Element("bfloat16", "f", 2, 2, half="bfloat16"),
    "longdouble": Element("longdouble", "f", 16, 16),
    "clongdouble": Element("clongdouble", "f", 32, 16, 2),
}
