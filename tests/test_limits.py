"""What control groups leave of the machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tensorop import memory
from tensorop.limits import available_memory, cgroup_cpus


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_quota_of_cgroups_version_2(tmp_path: Path) -> None:
    write(tmp_path / "proc/self/cgroup", "0::/pod/box\n")
    assert cgroup_cpus(tmp_path) > 10_000
    write(tmp_path / "sys/fs/cgroup/cpu.max", "max 100000\n")
    write(tmp_path / "sys/fs/cgroup/pod/cpu.max", "250000 100000\n")
    write(tmp_path / "sys/fs/cgroup/pod/box/cpu.max", "800000 100000\n")
    assert cgroup_cpus(tmp_path) == 3
    write(tmp_path / "sys/fs/cgroup/pod/box/cpu.max", "10000 100000\n")
    assert cgroup_cpus(tmp_path) == 1


def test_quota_of_cgroups_version_1(tmp_path: Path) -> None:
    write(tmp_path / "proc/self/cgroup", "7:memory:/box\n4:cpu,cpuacct:/box\n")
    write(tmp_path / "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")
    write(tmp_path / "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n")
    assert cgroup_cpus(tmp_path) > 10_000
    write(tmp_path / "sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "200000\n")
    write(tmp_path / "sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n")
    assert cgroup_cpus(tmp_path) == 2


@pytest.mark.skipif(not hasattr(os, "sysconf"), reason="nobody says how much memory there is")
@pytest.mark.parametrize(
    ("groups", "folder", "name"),
    [
        ("0::/pod/box\n", "sys/fs/cgroup", "memory.max"),
        ("7:memory:/pod/box\n", "sys/fs/cgroup/memory", "memory.limit_in_bytes"),
    ],
)
def test_memory_of_cgroups(tmp_path: Path, groups: str, folder: str, name: str) -> None:
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    write(tmp_path / "proc/self/cgroup", groups)
    assert available_memory(tmp_path) == machine
    write(tmp_path / folder / name, "max\n")
    write(tmp_path / folder / "pod" / name, "5000\n")
    write(tmp_path / folder / "pod/box" / name, f"{1 << 62}\n")
    assert available_memory(tmp_path) == 5000


@pytest.mark.parametrize(
    ("mebibytes", "pooled"),
    [(0, 256), (512, 64), (4096, 256), (16384, 512), (1 << 20, 2048)],
)
def test_what_the_pool_keeps(mebibytes: int, pooled: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: mebibytes << 20)
    assert memory._usual_limit.__wrapped__() == pooled << 20
