"""Which axis of a kernel becomes a loop that threads share, for a team that the loops around it
leave idle: in a part for each thread, which need not be equal.

A product is cut along a side, in whole panels, a stream along its rows or their elements, in whole
lines. No summed axis is cut: `divide` does that.
"""

from __future__ import annotations

from tensorop.ir import DimType, ExecType
from tensorop.jit.stream_abi import StreamKernel
from tensorop.optimizer.balance import ceiling, share_of
from tensorop.optimizer.parallelise import BALANCED, busy
from tensorop.optimizer.window import tabled_part
from tensorop.schedule import Axis, Loop, Step
from tensorop.tuples import NamedTuple

EVEN = 8  # rows for each thread, of which one more or less makes no difference
LONG_PART = 256  # elements of a row for each thread
LINES = 64  # elements that are whole lines, whatever they are
UNEVEN = 0.85  # of the team's time that is work in shared loops: below, the kernel is cut as well


class Cut(NamedTuple):
    """An axis of a kernel, its size, and how many elements of it are a part."""

    axis: str
    size: int
    part: int

    @property
    def parts(self) -> int:
        return ceiling(self.size, self.part)

    def loop(self, body: tuple[Step, ...]) -> Loop:
        """The loop over the parts, around a body."""
        return Loop(self.axis, self.part, ExecType.SHARED, _within(body, self.axis, self.part))


class Team(NamedTuple):
    """Threads that may share an axis of a kernel, and iterations of the loops around it that they
    share anyhow."""

    threads: int
    space: int = 1

    @property
    def idle(self) -> bool:
        """Whether those loops leave threads without enough work."""
        return busy(self.space, self.threads) < UNEVEN

    def busy(self, cut: Cut) -> float:
        """The part of its time that is work with a cut, if the thread with the most has whole
        parts."""
        most = ceiling(self.space * cut.parts, self.threads) * cut.part
        return self.space * cut.size / (most * self.threads)


def longest_side(axes: tuple[Axis, ...], panels: tuple[int, int], team: Team) -> Cut | None:
    """The longer side of a product, if that leaves all threads as much, or else the side that does
    so better. None if both are short, or threads have as much work without.

    Parameters
    ----------
    axes : tuple of Axis
        M and N first.
    panels : (int, int)
        Elements of either that stay together.
    team : Team
    """
    threads = team.threads
    if not team.idle:
        return None
    sides = zip(axes[:2], panels, strict=True)
    sizes = [(axis.name, tabled_part(axis).size, panel) for axis, panel in sides]
    cuts = [Cut(name, size, share_of(size, threads, panel)) for name, size, panel in sizes]
    long = sorted((c for c in cuts if c.part < c.size >= 2 * threads), key=lambda c: -c.size)
    even = (c for c in long if team.busy(c) >= BALANCED)
    best = next(even, max(long, key=team.busy, default=None))
    return best if best and team.busy(best) > busy(team.space, threads) else None


def longest_kept(axes: tuple[Axis, Axis], kernel: StreamKernel, team: Team) -> Cut | None:
    """The rows of a stream kernel if there are enough, or else, unless the kernel takes whole rows,
    their elements, or else rows of which there are few, but as many for each; None if that is
    nothing."""
    (x, y), threads = axes, team.threads
    if not team.idle:
        return None
    rows = Cut(y.name, y.size, share_of(y.size, threads))
    if y.type != DimType.K and y.size >= EVEN * threads:
        return rows
    whole = kernel.joined or kernel.width
    if x.type != DimType.K and x.size >= LONG_PART * threads and not whole:
        return Cut(x.name, x.size, share_of(x.size, threads, LINES))
    return rows if y.type != DimType.K and team.busy(rows) >= BALANCED else None


def _within(body: tuple[Step, ...], axis: str, size: int) -> tuple[Step, ...]:
    """A body in a block of an axis: without the loops whose blocks are as large."""
    found: list[Step] = []
    for step in body:
        if not isinstance(step, Loop):
            found.append(step)
        elif step.axis == axis and step.block >= size:
            found.extend(step.body)
        else:
            found.append(step._replace(body=_within(step.body, axis, size)))
    return tuple(found)
