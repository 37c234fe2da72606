"""The binary contract between plans, the driver and the kernels.

A plan is data: arrays of 64-bit words that one generated driver interprets. Three records:

**Frame**, one per running thread: where the loops stand. Loops of the driver move the addresses and
set the starts and sizes; kernels only read them. `jit/slots.py` names the slots.

**Node**, one per step of a schedule: a loop, a kernel call, or a parallel region. Nodes are
read-only while they run, so any number of threads can run one plan at once.

**CallRecord**, one per call: run-time scalars, the thread team and the state of interruption.

A kernel is leaf code with the C signature `void kernel(const i64 *descriptor, const i64 *frame)`.
Its descriptor is a row of words written when the plan is bound (strides in bytes, addresses of
offset tables); each kernel family names its words in its own module. A kernel may assume that the
sizes in the frame are at least 1 unless its family says otherwise; it writes the output block it is
given (and only that), keeps nothing between calls, calls nothing and has no writable data.
"""

from __future__ import annotations

WORD = 8  # bytes


class Frame:
    """Words of a frame. The first eight are addresses, one for each `Slot`; `START + a` and
    `SIZE + a` belong to `AxisSlot` `a`."""

    START = 8  # first element of the axis in the current block, counted from the axis' beginning
    SIZE = 16  # elements of the axis in the current block
    FIRST = 24  # 1 while no K block of the current output block has been done
    LAST = 25  # 1 in the last K block
    CALL = 26  # address of the CallRecord
    SHARE = 27  # which share of the parallel region this thread runs
    ROLE = 28  # a Role: who works on this frame
    WORDS = 32


class Node:
    """Words of a node.

    LOOP: for i = 0, BLOCK, 2 BLOCK, ... < extent, where extent is EXTENT if AXIS is -1 or
    EXTENT >= 0, else the frame's size of axis slot AXIS (as set by an outer loop over the same
    axis):
        if AXIS >= 0: SIZE[AXIS] = min(BLOCK, extent - i)
        if AXIS >= 0 and not ANEW: START[AXIS] = outer start + i
        for each move: frame[slot] += stride * (i / BLOCK)        (stride: bytes an iteration)
                   or: frame[slot] += table[START[AXIS]] - table[outer start]
                       (table of byte offsets from the axis' beginning, when its address is not 0;
                       without an axis, or ANEW: table[i / BLOCK] - table[0])
        if KLOOP: FIRST &= (i is the first block), LAST &= (i is the last)
        if KLOOP is OWN_SUMS: FIRST = (i is the first block), LAST = (i is the last)
        run the body
    The first iteration is number BEGIN, except in the chain of a REGION, whose shares say where
    they begin. On leaving, the frame is as it was. With POLL, every POLL-th iteration first looks
    at the call record's CANCEL word (non-zero: leave) and, on the thread that owns the call, at the
    clock (see CallRecord).

    CALL: kernel(descriptor, frame) if WHEN holds.

    REGION: CHILD is a chain of DEPTH nested LOOP nodes (each but the last has the next as its only
    child); their iterations form one flat space, row-major, divided into SHARES contiguous balanced
    parts, run by the team. Every share works on a frame of its own: a copy in which SHARE is set
    and the region's own moves (slot, bytes a share, no table) have been added. Inside a share
    nested regions run alone, on the thread itself. Where an inner loop of the chain takes its
    extent from the frame, the flat space is that of the first (largest) blocks; what is missing in
    a short block is skipped.

    A node moves a slot at most once.

    After a node, NEXT follows (0 ends the body).
    """

    KIND = 0
    NEXT = 1  # address of the next node of the same body, or 0
    CHILD = 2  # LOOP, REGION: address of the first node of the body
    # LOOP
    AXIS = 3  # axis slot or -1
    EXTENT = 4  # iterations in elements, or -1: from the frame
    BLOCK = 5
    KLOOP = 6  # 1 for a loop over K; OWN_SUMS: its body has sums of its own in a loop over K
    OWN_SUMS = 2
    POLL = 7  # look for interruption every so many iterations (a power of two); 0: never
    # CALL
    KERNEL = 3  # address of the kernel
    DESCRIPTOR = 4  # address of its descriptor
    WHEN = 5
    # REGION
    DEPTH = 3
    SHARES = 4
    # LOOP, REGION: MOVES moves of 3 words each: slot, stride, table
    MOVES = 8
    FIRST_MOVE = 9
    MAX_MOVES = 7
    ANEW = 30  # LOOP: 1 where START stays as it is: positions are counted anew in every block
    BEGIN = 31  # LOOP: number of the first iteration
    WORDS = 32


class CallRecord:
    """Words of a call record.

    POLL: while the owning thread runs, at the loops marked POLL, before each of its shares and
    while it waits for workers, it compares the clock with DEADLINE; when that has passed it calls
    `i64 poll(CallRecord *)` (POLL_FUNCTION, 0: none), which sets a new DEADLINE and returns
    non-zero to stop; the thread then sets CANCEL.
    The driver returns non-zero for a cancelled call, after every worker has left it.
    """

    ALPHA = 0  # 32 bytes: the scalar in the compute type, as numpy stores it
    BETA = 4  # 32 bytes
    READS_OUT = 8  # 0: beta is zero, so out is never read; BETA_IS_ONE; else 1
    SCALES = 9  # 0: alpha is one
    CANCEL = 10
    POLL_FUNCTION = 11
    DEADLINE = 12  # nanoseconds of the monotonic clock
    POLL_INTERVAL = 13  # nanoseconds
    POLL_STATE = 14  # belongs to the poll function (the saved thread state)
    TEAM = 15  # address of the thread team, 0: run alone
    NODE = 16  # first node of the plan
    FRAME = 17  # address of the first frame
    WORKERS = 18  # how many threads of the team may help
    LONG = 19  # 1: worth letting other Python threads run, and looking for signals
    BRIEF = 20  # 1: Python runs it in a moment, too, until there is a driver
    WORDS = 24


BETA_IS_ONE = 2  # in CallRecord.READS_OUT
# A prepared plan: the call record, then the frame, that every call starts from.
FRAME_AT = CallRecord.WORDS
PREPARED_WORDS = CallRecord.WORDS + Frame.WORDS
SCALAR_WORDS = CallRecord.CANCEL  # alpha, beta, READS_OUT, SCALES
