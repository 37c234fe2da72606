"""What the passes know of the host."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorop.jit import target
from tensorop.optimizer.machine import NEVER, STREAMS, host_machine


@pytest.mark.parametrize(
    ("facts", "streams", "near_l3", "asks", "down"),
    [
        ("processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\n", 8, True, False, 12),
        ("processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\n", 8, True, True, 8),
        (
            "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\n",
            STREAMS,
            False,
            False,
            STREAMS,
        ),
        ("CPU implementer\t: 0x41\n", STREAMS, False, False, STREAMS),
        (None, STREAMS, False, False, STREAMS),
    ],
)
def test_what_follows_from_the_maker(
    facts: str | None,
    streams: int,
    near_l3: bool,
    asks: bool,
    down: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "cpuinfo"
    if facts is not None:
        file.write_text(facts, encoding="utf-8")
    monkeypatch.setattr(target, "_CPU_FACTS", str(file))
    target.cpu_facts.cache_clear()
    host_machine.cache_clear()
    try:
        host = host_machine()
        assert (host.streams, host.near_l3, host.asks_in_rows) == (streams, near_l3, asks)
        assert host.down == down
        assert host.kept == (NEVER if near_l3 else 64 << 20)
    finally:
        target.cpu_facts.cache_clear()
        host_machine.cache_clear()


def test_caches_grow_from_level_to_level() -> None:
    host = host_machine()
    assert 0 < host.l1 < host.l2 < host.l3
    assert host.lanes("float32") == 2 * host.lanes("float64") >= 2
    assert host.lanes("longdouble") == 1
