"""What this process may use of the machine: CPUs and memory, as its control groups allow.

A container sees the whole machine, but may spend only its part of it. A group's limit also holds
for the groups below it, so the smallest on the way up counts. Versions 1 and 2 of control groups;
where there are none, the machine is the limit.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator

Root = str | os.PathLike[str]


def available_cpus() -> int:
    """How many CPUs this process may keep busy."""
    return max(1, min(_cpus_by_affinity(), cgroup_cpus()))


def available_memory(root: Root = "/") -> int:
    """How many bytes of memory this process may use, 0 where nobody says."""
    try:
        pages, page = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # no such question here
        return 0
    machine = max(0, pages) * max(0, page)  # -1 where the system does not say
    files = {1: "memory.limit_in_bytes", 2: "memory.max"}
    limits = [
        _read(root, group, files[version]).strip() for group, version in _groups(root, "memory")
    ]
    return min([machine, *(int(limit) for limit in limits if limit.isdigit())])


def cgroup_cpus(root: Root = "/") -> int:
    """The CPU quota of this process' control group, rounded up to whole CPUs; without one, many."""
    quotas = [math.inf]
    for group, version in _groups(root, "cpu"):
        if version == 2:  # "quota period" in one file
            quotas.append(_quota(_read(root, group, "cpu.max").split()))
        else:
            names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
            quotas.append(_quota([_read(root, group, name).strip() for name in names]))
    limit = min(quotas)
    return 1 << 20 if math.isinf(limit) else max(1, math.ceil(limit))


def _cpus_by_affinity() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _groups(root: Root, controller: str) -> Iterator[tuple[str, int]]:
    """The folders of this process' groups that may limit something, with their version."""
    for line in _read(root, "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:  # version 2: one hierarchy
            for group in _upwards("sys/fs/cgroup", path):
                yield group, 2
        elif controller in controllers.split(","):
            for group in _upwards(f"sys/fs/cgroup/{controller}", path):
                yield group, 1


def _upwards(mount: str, path: str) -> list[str]:
    """A group's folder and those above it; a container sees its own group as the mount itself."""
    parts = [part for part in path.split("/") if part]
    return [os.path.join(mount, *parts[:depth]) for depth in range(len(parts), -1, -1)]


def _quota(fields: list[str]) -> float:
    if len(fields) != 2 or not all(field.isdigit() for field in fields) or fields[1] == "0":
        return math.inf  # "max", -1, or no such file
    return int(fields[0]) / int(fields[1])


def _read(*path: Root) -> str:
    try:
        with open(os.path.join(*path), encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""
