"""The machine that schedules are made for: cache sizes and what follows from the instruction set.

Read from the host once; static facts only, so that the same machine always gets the same schedules
and sums in the same order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tensorop.jit.elements import element
from tensorop.jit.target import Target, current_target

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_TYPICAL = {1: 32 << 10, 2: 512 << 10, 3: 8 << 20}


@dataclass(frozen=True, slots=True)
class Machine:
    """What the passes know of the host. Cache sizes in bytes; l1 and l2 belong to one core."""

    target: Target
    l1: int
    l2: int
    l3: int

    def lanes(self, dtype: str) -> int:
        """Elements of a vector that a dtype is computed in; 1 where it has none."""
        kind = element(dtype).accumulator
        return self.target.lanes(kind.part) if kind.vectorises else 1


@lru_cache(maxsize=1)
def host_machine() -> Machine:
    """The machine this process runs on."""
    sizes = {**_TYPICAL, **_cache_sizes()}
    return Machine(current_target(), sizes[1], sizes[2], sizes[3])


def _cache_sizes() -> dict[int, int]:
    """Data cache sizes by level, where the system tells."""
    sizes = {}
    for index in sorted(_CACHES.glob("index*")):
        try:
            kind = (index / "type").read_text().strip()
            level = int((index / "level").read_text())
            match = re.fullmatch(r"(\d+)([KM]?)", (index / "size").read_text().strip())
        except (OSError, ValueError):
            continue
        if kind in ("Data", "Unified") and match:
            sizes[level] = int(match[1]) << {"": 0, "K": 10, "M": 20}[match[2]]
    return sizes
