"""What words of the records of `jit/abi.py` can be: slots of a frame, kinds of nodes, roles.

A module of its own, because enumerations take long to make, and whoever only runs plans needs none.
"""

from __future__ import annotations

from enum import IntEnum


class Slot(IntEnum):
    """Words of a frame that hold addresses."""

    IN0 = 0
    IN1 = 1
    OUT = 2
    AUX = 3  # what a touch reads (a bias)
    PACK0 = 4  # panels of in0 (of the vector side)
    PACK1 = 5  # panels of in1
    SPARE0 = 6
    SPARE1 = 7


class AxisSlot(IntEnum):
    """Axis slots of a frame."""

    M = 0
    N = 1
    K = 2
    BR = 3  # the second K of a BRGEMM
    X = 4  # the two axes of a copy, or inner and outer axis of a stream kernel
    Y = 5
    SPARE0 = 6
    SPARE1 = 7


class Role(IntEnum):
    """Who works on a frame."""

    CALLER = 0  # the thread that owns the call, outside of regions
    OWNER = 1  # the same thread, inside a share
    WORKER = 2  # a thread of the team: it never calls the poll function


class NodeKind(IntEnum):
    LOOP = 0
    CALL = 1
    REGION = 2


class When(IntEnum):
    """Condition of a CALL node."""

    ALWAYS = 0
    FIRST = 1  # only while Frame.FIRST is 1
    LAST = 2  # only while Frame.LAST is 1
