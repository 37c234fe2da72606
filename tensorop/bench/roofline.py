"""What a contraction takes at least on this machine: the two limits of the roofline model.

The machine's figures (multiply-adds of a dtype, bytes copied) are measured in half a second, and
the best that was ever seen is kept on disk: a machine that is busy is slower, never faster. They
are for readers: no choice of the optimizer depends on a timing.

Source: S. Williams, A. Waterman, D. Patterson, "Roofline: An Insightful Visual Performance Model
for Multicore Architectures", CACM 52 (2009).
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from tensorop.bench.suites import Options, measure_roofs
from tensorop.jit import store
from tensorop.optimizer.machine import host_machine
from tensorop.tuples import NamedTuple

FLOPS = frozenset({"float32", "float64", "complex64", "complex128"})
_REAL = {"complex64": "float32", "complex128": "float64"}


class Roofs(NamedTuple):
    """Operations and bytes a second; a multiply and an add are two operations."""

    flops: float
    bytes: float


def roofs(dtype: str, threads: int) -> Roofs:
    """The figures of this machine: the best of those measured now, and before."""
    kind = _REAL.get(dtype, dtype)
    what = f"roofs of {host_machine()!r}: {kind}, {threads} threads"
    kept = store.load(what)
    before = (0.0, 0.0) if kept is None else json.loads(kept)
    measured = measure_roofs(Options(threads=(threads,), dtype=kind))[threads]
    best = Roofs(*map(max, measured, before))
    store.save(what, json.dumps(best).encode())
    return best


def limits(flops: int, bytes_: int, dtype: str, threads: int) -> Iterator[str]:
    """The lines that say what so many operations, and so many bytes moved, take at least."""
    limit = roofs(dtype, threads)
    arithmetic, memory = flops / limit.flops, bytes_ / limit.bytes
    yield f"roofline, {threads} thread{'s' * (threads > 1)}, measured here"
    yield f"  {flops:,} flops at {limit.flops / 1e9:.1f} GFLOP/s: {arithmetic * 1e3:.3g} ms"
    yield f"  {bytes_:,} bytes at {limit.bytes / 1e9:.1f} GB/s: {memory * 1e3:.3g} ms"
    bound = "arithmetic" if arithmetic > memory else "memory"
    hint = " (less where the caches hold the operands)" if bound == "memory" else ""
    yield f"  at least {max(arithmetic, memory) * 1e3:.3g} ms, bounded by {bound}{hint}"
