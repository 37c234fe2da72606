"""What it costs to bring memory to a core: the prices that all estimates share.

In cycles, for lines that follow one another, which the hardware asks for ahead, and for those that
do not, from each level of the caches and from memory.
"""

from __future__ import annotations

from math import gcd, prod

from tensorop.ir import TensorOp
from tensorop.jit.elements import element
from tensorop.jit.lines import LINE
from tensorop.optimizer.machine import Machine

PAGE = 4096
WAYS = 16  # lines of a set of L2
FEW = 8  # lines: of so many sets, one is then used
BYTES_PER_CYCLE = (32.0, 23.0, 9.5, 5.5)  # from L1, L2, L3, memory: lines that follow one another
WRITTEN = (1.0, 1.0, 1.0, 2.0)  # times as long it takes to write them, which are read first
LINE_CYCLES = (0.0, 3.0, 9.0, 38.0)  # a line that follows no other
L3, MEMORY = 2, 3  # levels: the last cache, and what is none
FOLLOWED = 256  # bytes from row to row up to which all lines between them are read ahead
UNNOTICED = 5  # lines of a row until the hardware's prefetcher follows it
LONG_ROW_CYCLES = 1000.0  # to begin a row of a page or more, from memory, until it is followed
TLB_REACH = (48, 1024)  # pages whose addresses the first and the second level translate
WALK_CYCLES = (0.0, 2.5, 19.0)  # an access that goes through more of them in turn
SHARE_WORK = 1_000_000  # multiply-adds from which on a team is faster than one thread
SHARE_BYTES = 3 << 17  # of less work, those moved for each thread that takes part


def bytes_of(op: TensorOp, tensor: int) -> int:
    """Bytes that a tensor touches, each once."""
    return element(op.tensors[tensor].dtype).size * op.reached(tensor)


def all_bytes(op: TensorOp) -> int:
    """Bytes that an operation touches."""
    return sum([bytes_of(op, t) for t in range(len(op.tensors))])


def outgrows_l3(op: TensorOp, machine: Machine) -> bool:
    """Whether most of what it touches is gone from the caches before it is touched again."""
    return all_bytes(op) > min(machine.l3, machine.kept) * 3 // 4


def sharers(op: TensorOp, threads: int) -> int:
    """How many of so many threads had better share an operation."""
    if prod([d.size for d in op.dimensions]) >= SHARE_WORK:
        return threads
    return max(1, min(threads, all_bytes(op) // SHARE_BYTES))


def level_of(held: float, machine: Machine) -> int:
    """The level that holds so many bytes: 0 for L1, 3 for memory."""
    if machine.from_memory and held > machine.l1:
        return MEMORY
    return (held > machine.l1) + (held > machine.l2) + (held > machine.l3 // 2)


def level_apart(held: float, step: int, machine: Machine) -> int:
    """The same of lines so many bytes apart, which may go into a few of the sets of L1 and L2 only:
    of lines a page apart L1 holds one for each of its ways."""
    level = level_of(held, machine)
    if step % (FEW * LINE):
        return level
    for at, (size, period) in enumerate(((machine.l1, PAGE), (machine.l2, machine.l2 // WAYS))):
        if level <= at and held > lines_held(step, size, period) * LINE:
            level = at + 1
    return level


def lines_held(step: int, size: int, period: int) -> int:
    """How many lines so many bytes apart a cache of a size holds, whose sets begin again with the
    first one after a period: a page for L1.

    >>> lines_held(4096, 48 << 10, 4096), lines_held(1024, 48 << 10, 4096)
    (12, 48)
    """
    return size // gcd(step, period)


def transfer(count: float, held: float, machine: Machine, *, written: bool = False) -> float:
    """Cycles to move bytes that belong to `held` bytes of data."""
    at = level_of(held, machine)
    return count / BYTES_PER_CYCLE[at] * (WRITTEN[at] if written else 1.0)


def read_cycles(op: TensorOp, tensor: int, machine: Machine) -> float:
    """Cycles to read a tensor once."""
    size = bytes_of(op, tensor)
    return transfer(size, size, machine)


def all_transfers(op: TensorOp, machine: Machine) -> float:
    """Cycles to read the inputs of an operation, and to write its output, once each."""
    sizes = [bytes_of(op, t) for t in range(len(op.tensors))]
    at = level_of(sum(sizes), machine)
    *inputs, out = [size / BYTES_PER_CYCLE[at] for size in sizes]
    return sum(inputs) + out * WRITTEN[at]


def walk_cycles(count: int, step: int = PAGE, second: float = WALK_CYCLES[1]) -> float:
    """Cycles to translate an address, of so many that are asked for in turn at such a distance;
    `second`: where the second level translates it."""
    each = min(1.0, step / PAGE)  # how many new pages
    cycles = (WALK_CYCLES[0], second, WALK_CYCLES[2])
    return each * cycles[sum(count * each > reach for reach in TLB_REACH)]
