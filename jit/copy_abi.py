"""The descriptor of a copy kernel: its words, for the kernel and for whoever writes descriptors."""

from __future__ import annotations

from enum import IntEnum


class CopyDescriptor(IntEnum):
    """Descriptor of a CopyKernel. Offsets and strides are in bytes; tables go by absolute position.

    SOURCE_SLOT, TARGET_SLOT: frame slots with the base addresses. X_AXIS, Y_AXIS: axis slots.
    X_CHUNKS, X_BEGIN, X_GRANULE: `tables.chunks` of X in the source; a block of X starts at a
    multiple of the granule. Along, the positions of a chunk are consecutive in the target too;
    across, a chunk is at most `CopyKernel.lanes` long.
    X_TARGET, Y_TARGET: offsets in the target by x and by y (Y_TARGET: along). Y_SOURCE: in the
    source by y.
    Y_CHUNKS, Y_BEGIN, Y_GRANULE: the same of Y in the target (across); Y_TARGET is not read then.
    PLANE: from a real to its imaginary part in the target (planar).
    Z_AXIS, Z_SOURCE, Z_TARGET: a third axis outside the tiles, and its offsets (across).
    WIDTH: lanes of a panel, 0 where nothing is padded; LANES_TARGET: offsets in the target by lane
    position; ROW: bytes of a row of a panel; LANES_AXIS, DEPTH_AXIS: axis slots of a panel's lanes
    and rows.
    """

    SOURCE_SLOT = 0
    TARGET_SLOT = 1
    X_AXIS = 2
    Y_AXIS = 3
    X_CHUNKS = 4
    X_BEGIN = 5
    X_GRANULE = 6
    X_TARGET = 7
    Y_SOURCE = 8
    Y_TARGET = 9
    Y_CHUNKS = 10
    Y_BEGIN = 11
    Y_GRANULE = 12
    PLANE = 13
    WIDTH = 14
    LANES_TARGET = 15
    ROW = 16
    LANES_AXIS = 17
    DEPTH_AXIS = 18
    Z_AXIS = 19
    Z_SOURCE = 20
    Z_TARGET = 21
