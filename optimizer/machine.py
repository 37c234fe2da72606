"""The machine that schedules are made for: cache sizes and what follows from the instruction set.

Read from the host once; static facts only, so that the same machine always gets the same schedules
and sums in the same order.
"""

from __future__ import annotations

import os
from functools import cache, lru_cache

from tensorop.jit.elements import element
from tensorop.jit.target import Target, cpu_facts, current_target
from tensorop.tuples import NamedTuple

_CACHES = "/sys/devices/system/cpu/cpu0/cache"
STREAMS = 16  # rows, as measured on Cascade Lake
_STREAMS = {"AuthenticAMD": 8}  # on Zen 3
# Rows that sums go down along together, where that is not as many. On Zen 4, 12 come from memory
# up to 1.1 times as fast as 8, and twice as fast as 16.
_DOWN = {("AuthenticAMD", "25"): 12}
_NEAR_L3 = {"AuthenticAMD"}
# Families of cores that are quicker through long rows if every line is asked for: Zen 5, 1.3 times.
# Zen 4 takes 1.2 (memory) to 1.4 (L3) times as long so.
_ASKS_IN_ROWS = {("AuthenticAMD", "26")}
# The L3 of a server is that of all its cores, and a guest sees the whole of it: on Granite Rapids,
# of 480 MB, two of some hundred cores read 32 MB as fast as 8, and 128 MB as slowly as a gigabyte.
_KEPT = 64 << 20
NEVER = 1 << 60  # bytes of a cache that nothing leaves
_UNITS = {"": 0, "K": 10, "M": 20}  # powers of two
_TYPICAL = {1: 32 << 10, 2: 512 << 10, 3: 8 << 20}


class Machine(NamedTuple):
    """What the passes know of the host.

    l1, l2, l3: cache sizes in bytes; the first two belong to one core. kept: of how much, at most,
    L3 keeps what is stored there until it is read, if many share it. streams: how many rows, each
    read on and on, the hardware asks ahead in at a time. near_l3: L3 holds what L2 drops, close to
    few cores, so that what is stored there is soon read or stored again. asks_in_rows: kernels had
    better ask for what comes next in long rows, too, which the hardware follows by itself. down:
    along how many long rows sums go down together. from_memory: what is read comes from there,
    however little that is, as it does for one of many pieces.
    """

    target: Target
    l1: int
    l2: int
    l3: int
    streams: int = STREAMS
    near_l3: bool = False
    asks_in_rows: bool = False
    down: int = STREAMS
    kept: int = NEVER
    from_memory: bool = False

    @property
    def follows_streams(self) -> bool:
        """Whether it keeps up best with a single stream from memory, unasked."""
        return self.near_l3 and not self.asks_in_rows

    def lanes(self, dtype: str) -> int:
        """Elements of a vector that a dtype is computed in; 1 where it has none."""
        return _lanes(self.target.vector_bytes, dtype)


@cache
def _lanes(vector_bytes: int, dtype: str) -> int:
    kind = element(dtype).accumulator
    return max(1, vector_bytes // kind.part) if kind.vectorises else 1


@lru_cache(maxsize=1)
def host_machine() -> Machine:
    """The machine this process runs on."""
    sizes = {**_TYPICAL, **_cache_sizes()}
    vendor, family = (cpu_facts().get(fact, "") for fact in ("vendor_id", "cpu family"))
    streams = _STREAMS.get(vendor, STREAMS)
    return Machine(
        current_target(),
        sizes[1],
        sizes[2],
        sizes[3],
        streams=streams,
        near_l3=vendor in _NEAR_L3,
        asks_in_rows=(vendor, family) in _ASKS_IN_ROWS,
        down=_DOWN.get((vendor, family), streams),
        kept=NEVER if vendor in _NEAR_L3 else _KEPT,
    )


def _cache_sizes() -> dict[int, int]:
    """Data cache sizes by level, where the system tells."""
    sizes = {}
    for index in sorted(os.listdir(_CACHES)) if os.path.isdir(_CACHES) else []:
        try:
            kind, level, size = (_fact(index, name) for name in ("type", "level", "size"))
            if kind in ("Data", "Unified"):
                number = size.rstrip("KM")
                sizes[int(level)] = int(number) << _UNITS[size[len(number) :]]
        except (OSError, ValueError, KeyError):
            continue
    return sizes


def _fact(index: str, name: str) -> str:
    with open(os.path.join(_CACHES, index, name), encoding="utf-8") as file:
        return file.read().strip()
