"""What every kernel description is."""

from __future__ import annotations

from typing import Protocol


class Kernel(Protocol):
    """A kernel description: hashable data, of which `jit/generate.py` makes a module."""

    @property
    def name(self) -> str: ...
    def __hash__(self) -> int: ...
