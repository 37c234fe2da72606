"""Loops that follow the input of which most is read, where nothing is used twice.

In goes a `TensorOp` in loop order, whose kernel is vectors and rows. A finished block of out saves
what it costs to come back to it; but where K loops around it jump to and fro in a large input,
every jump costs the hardware's prefetching, and lines and pages whose rest is not read yet, as does
every jump to a short row of an input that only memory holds; and where a loop that the large input
does not have is outside, all of it is read again. So out come the loops in the order in which that
input lies, those that it does not have innermost, and K loops among them, as far out as what of out
is inside them stays in half of L2. SHARED loops, and those around them, stay where `lead` has put
them; but of one with short rows inside K loops of an input in memory, no more is shared than keeps
the team busy, so that a thread goes through its part once. The sum of an element keeps its order
unless two K loops change places.
"""

from __future__ import annotations

from math import prod

from tensorop.ir import CONTRACTIONS, Dimension, DimType, ExecType, TensorOp
from tensorop.jit.elements import element
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.parallelise import BALANCED, busy, even_count
from tensorop.optimizer.result import PassResult, describe, listing
from tensorop.optimizer.transfer import bytes_of

LARGER = 4  # times the bytes of the other input
SHORT = 2048  # bytes that are too few to jump after them in memory
SHORT_SHARE = 16384  # the same where several threads do


def lead(op: TensorOp, machine: Machine, threads: int) -> PassResult:
    """Put that loop first which threads had better share: if it keeps them busy, the outermost one
    of a large input in memory, of which each then reads a part that lies together.

    Parameters
    ----------
    op : TensorOp
        Loops outermost first, then the PRIM dimensions.
    machine : Machine
    threads : int
        Of the team that shares the loops.

    Returns
    -------
    PassResult
        The same dimensions, one of the loops perhaps earlier.
    """
    large = _large_input(op, machine)
    loops = [d for d in op.dimensions if d.exec != ExecType.PRIM and d.type != DimType.K]
    if threads == 1 or large is None or not loops or not _is_far(op, large, machine):
        return PassResult(op, "threads share the loops as they are")
    first = max(loops, key=lambda d: abs(d.strides[large]))
    if first is op.dimensions[0] or busy(first.size, threads) < BALANCED:
        return PassResult(op, "threads share the loops as they are")
    others = [d for d in op.dimensions if d is not first]
    note = f"{describe(first)} first, the outermost of {op.tensors[large].role}"
    return PassResult(op.with_dimensions((first, *others)), note)


def _large_input(op: TensorOp, machine: Machine) -> int | None:
    """The input of a contraction of which most is read, if it is large and much larger."""
    if op.main not in CONTRACTIONS:
        return None
    small, large = sorted((0, 1), key=lambda t: bytes_of(op, t))
    least = max(machine.l2, LARGER * bytes_of(op, small))
    return large if bytes_of(op, large) >= least else None


def _is_far(op: TensorOp, tensor: int, machine: Machine) -> bool:
    """Whether `tensor` is read from memory, as no cache holds it beside the others."""
    return bytes_of(op, tensor) > machine.l3 // 2


def follow(op: TensorOp, machine: Machine, threads: int = 1) -> PassResult:
    """Sort the loops as the largest input lies.

    Parameters
    ----------
    op : TensorOp
        Loops outermost first, SHARED ones marked, then the PRIM dimensions.
    machine : Machine
    threads : int
        Of the team that shares the loops.

    Returns
    -------
    PassResult
        The same dimensions, the loops perhaps in another order, one that is shared perhaps as two.
    """
    large = _large_input(op, machine)
    if large is None:
        return PassResult(op, "no input is large")
    size, far = element(op.dtype).size, _is_far(op, large, machine)
    pieces = far and threads > 1
    dimensions = _in_pieces(op.dimensions, large, size, threads) if pieces else op.dimensions
    last = max((i + 1 for i, d in enumerate(dimensions) if d.exec == ExecType.SHARED), default=0)
    fixed, rest = dimensions[:last], dimensions[last:]
    loops = [d for d in rest if d.exec != ExecType.PRIM]
    prim = [d for d in rest if d.exec == ExecType.PRIM]
    walked = [i for i, d in enumerate(loops) if d.strides[large]]
    again = [i for i, d in enumerate(loops) if not d.strides[large]]
    together = size * prod(d.size for d in prim if d.strides[large])
    jumps = far and together < SHORT
    once = all(d.type != DimType.K for d in loops)
    once = once and (not again or max(walked, default=0) < again[0])
    if once and not jumps:
        return PassResult(op, "the large input is gone through once, as out lies")
    room = machine.l2 // 2 // size
    ordered = sorted(loops, key=lambda d: -abs(d.strides[large]))
    for i in reversed(range(len(ordered))):
        if ordered[i].type != DimType.K:
            continue
        while prod(d.size for d in (*ordered[i + 1 :], *prim) if d.strides[op.out]) > room:
            if i + 1 == len(ordered):
                break
            ordered[i], ordered[i + 1] = ordered[i + 1], ordered[i]
            i += 1
    if ordered == loops:
        return PassResult(op, f"the loops are as {op.tensors[large].role} lies")
    note = f"loops {listing(ordered)}, as {op.tensors[large].role} lies"
    return PassResult(op.with_dimensions((*fixed, *ordered, *prim)), note)


def _in_pieces(
    dimensions: tuple[Dimension, ...], large: int, size: int, threads: int
) -> tuple[Dimension, ...]:
    """With a single SHARED loop cut in two, if it has short rows inside a K loop of the large input
    (of elements of `size` bytes): over as few pieces as keep the team busy, and a piece."""
    shared, *others = dimensions
    step = abs(shared.strides[large])
    around = 0 < step * size < SHORT_SHARE and any(
        d.exec == ExecType.SEQ and d.type == DimType.K and abs(d.strides[large]) > step
        for d in others
    )
    alone = [d for d in dimensions if d.exec == ExecType.SHARED] == [shared]
    count = even_count(shared.size, threads, shared.size // 2)
    if not (around and alone and count):
        return dimensions
    outer, inner = shared.cut(shared.size // count)
    return (outer, inner.executed(ExecType.SEQ), *others)
