"""Block sizes of the five loops (`blocked.py`), from cache sizes and how long a call may last."""

from __future__ import annotations

from tensorop.jit.elements import Element
from tensorop.optimizer.balance import balanced, call_work, share_of
from tensorop.optimizer.machine import Machine
from tensorop.tuples import NamedTuple

MIN_KC = 32
FEW = 4  # blocks of in0, of which a short one counts
STEPS = 4  # of K that blocks are multiples of
OF_L2, OF_L3 = 9 / 16, 3 / 8  # that a block of in0, and of in1, takes; MOST_OF_L2: of in0 at most
MOST_OF_L2 = 3 / 4


class Blocks(NamedTuple):
    """Block sizes in elements of the three axes."""

    mc: int
    nc: int
    kc: int


def block_sizes(
    machine: Machine,
    kind: Element,
    sizes: tuple[int, int, int],
    tile: tuple[int, int],
    scales: tuple[float, float, float] = (1.0, 1.0, 1.0),
    together: int = 1,
    steps: int = STEPS,
) -> Blocks:
    """Block sizes from cache sizes, evened out so that the last block is about as long.

    Parameters
    ----------
    sizes : (m, n, k)
        What one thread works on.
    tile : (mr, nr)
        The register tile in elements.
    scales : (m, n, k)
        What to multiply the model's block sizes by.
    together : int
        Steps of K that are an element of a panel.
    steps : int
        Of K, which blocks are multiples of.
    """
    (m, n, k), (mr, nr), (m_scale, n_scale, k_scale) = sizes, tile, scales
    bytes_ = kind.accumulator.size // together
    longest = max(MIN_KC, machine.l1 // (nr * bytes_))
    # A partial sum stored in a half type would be rounded once a block.
    kc = k if kind.half else balanced(k, round(longest * k_scale), steps)
    mc = max(mr, round(machine.l2 * OF_L2 // (kc * bytes_) * m_scale))
    nc = max(nr, round(machine.l3 * OF_L3 // (kc * bytes_) * n_scale))
    work = max(1, call_work(machine, kind, together) // (mc * kc))
    nc = max(nr, min(nc, work))
    mc, nc = balanced(m, mc, mr), balanced(n, nc, nr)
    if (mc + nc) * kc * bytes_ > machine.l2 and 0 < m % mc < mr and m < FEW * mc:
        # For the sake of a last block that is a part of a tile all of in1 would be read again.
        longer = share_of(m, m // mc, mr)
        mc = longer if longer * kc * bytes_ <= machine.l2 * MOST_OF_L2 else mc
    return Blocks(mc, nc, kc)
