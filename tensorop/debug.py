"""What TENSOROP_DEBUG prints while something is planned, on stderr.

Each level prints what those below it print, too:

    1  one line for each new plan: the operation, its kernels, the number of shares
    2  every pass, with the dimensions before and after it, and the schedule
    3  the LLVM IR of every kernel that is compiled
    4  its assembly

A plan or kernel that is taken from a cache prints nothing. Ground floor: this module imports
nothing of ours but `config.py`, so that the passes, the compiler and the API can all print through
it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from tensorop.config import DEBUG


class Level:
    """What a level adds. Plain numbers: an enumeration takes longer to make than to plan a call."""

    PLAN = 1
    PASSES = 2
    IR = 3
    ASSEMBLY = 4


def wants(level: int) -> bool:
    """Whether the setting in force asks for a level."""
    return DEBUG.value >= level


def show(level: int, text: Callable[[], str]) -> None:
    """Print a text if the setting in force asks for that level; it is made only then."""
    if wants(level):
        print(text(), file=sys.stderr, flush=True)
