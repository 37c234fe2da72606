"""What a matrix product costs straight from its operands, in loops around one kernel.

Every line that a call touches comes from the level that has kept it since the last one did. That is
the smallest one to hold all that is touched in between: the lines of all tensors in the loops that
are inside. So the loops are gone through from the inside out, until what they touch is more than a
level holds: all that is outside brings its lines there anew, but for one more loop, over what has
the same ones.

Source: M. E. Wolf, M. S. Lam, "A Data Locality Optimizing Algorithm", PLDI (1991), whose reuse and
localized loops these are, with cache sizes for the latter.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, inf, prod

from tensorop.ir import Dimension, DimType, ExecType, TensorOp
from tensorop.jit.elements import element
from tensorop.jit.lines import LINE
from tensorop.optimizer.identify import identify, vector_side
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.order import order
from tensorop.optimizer.orient import exchange
from tensorop.optimizer.prices import PANELS, SPREAD
from tensorop.optimizer.transfer import walk_cycles
from tensorop.tuples import NamedTuple

CALL = 85.0  # cycles of a kernel call and the loops around it
CHAIN = 3.5  # of a step of K, however few products it has
STORED = 2.0  # of a vector of a finished column
BESIDE = 0.85  # of the memory's time, or the arithmetic's, that the other does not hide
NEXT_LINE = (2.5, 1.0, 7.0)  # a line into L1, L2 and L3 from the next level, after its neighbour
LONE_LINE = (3.0, 5.0, 10.0)  # the same, far from the one before
WRITTEN = 1.5  # times as long where it is written
WALK = 5.0  # times that of one access to find the page of a row
RUN = 3 * LINE  # bytes side by side that are neighbours
FAR = 2048  # bytes from row to row that make each a walk
COLUMNS = 8  # of a tile
VECTORS = 3


class _Own(NamedTuple):
    """A dimension of a tensor: bytes from one element to the next, size, and in which of the loops
    it is, counted from the inside; 0: in the kernel."""

    step: int
    size: int
    loop: int


@lru_cache(maxsize=256)
def straight_cycles(op: TensorOp, machine: Machine) -> float:
    """Estimate a matrix product straight from its operands; infinite where these have to be packed:
    the vectors of one, or of out, are not consecutive, or a kernel reads numbers otherwise."""
    kind = element(op.dtype)
    if kind.parts > 1 or kind.half or any(t.conj for t in op.tensors):
        return inf
    found = order(identify(op).op).op
    prim, loops = _parts(found)
    if not {DimType.M, DimType.N, DimType.K} <= {d.type for d in prim}:
        return inf
    if vector_side(prim) == DimType.N:
        prim, loops = _parts(exchange(found))
    m, n = (next(d for d in prim if d.type == side) for side in (DimType.M, DimType.N))
    if (m.strides[0], m.strides[op.out]) != (1, 1):
        return inf
    if loops and loops[-1].type == DimType.K and sum(d.type == DimType.K for d in prim) == 1:
        prim.append(loops.pop())  # the kernel's batch-reduce dimension
    work = _work(m, n, prim, loops, machine.lanes(op.dtype))
    memory = _memory(op, prim, loops, machine)
    return max(work, memory) + BESIDE * min(work, memory)


def work_cycles(op: TensorOp, machine: Machine) -> float:
    """What that is never less than: the arithmetic, with registers full."""
    return prod([d.size for d in op.dimensions]) / machine.lanes(op.dtype) * PANELS


def _parts(op: TensorOp) -> tuple[list[Dimension], list[Dimension]]:
    """The dimensions of the kernel, and the loops, outermost first."""
    prim = [d for d in op.dimensions if d.exec == ExecType.PRIM]
    return prim, [d for d in op.dimensions if d.exec != ExecType.PRIM]


def _work(
    m: Dimension, n: Dimension, prim: list[Dimension], loops: list[Dimension], lanes: int
) -> float:
    """Cycles of all calls, from L1."""
    summed = prod(d.size for d in prim if d.type == DimType.K)
    vectors, again = ceil(m.size / lanes), any(d.type == DimType.K for d in loops)
    across, down = min(n.size, COLUMNS), min(vectors, VECTORS)
    step = max(across * max(down * PANELS, SPREAD), CHAIN)
    tiles = n.size / across * vectors / down
    stored = n.size * vectors * STORED * (2 if again else 1)
    return prod(d.size for d in loops) * (CALL + tiles * summed * step + stored)


def _memory(op: TensorOp, prim: list[Dimension], loops: list[Dimension], machine: Machine) -> float:
    """Cycles to bring the lines of all tensors to L1."""
    size, nests = element(op.dtype).size, len(loops) + 1
    depth = [(d, 0) for d in prim] + [(d, len(loops) - i) for i, d in enumerate(loops)]
    own = [
        sorted(_Own(abs(d.strides[t]) * size, d.size, loop) for d, loop in depth if d.strides[t])
        for t in range(3)
    ]
    lines = [[_lines(dims, nest, size) for dims in own] for nest in range(nests)]
    touched = [sum(each) * LINE for each in lines]
    calls = prod(d.size for d in loops)
    passes = ceil(next(d.size for d in prim if d.type == DimType.N) / COLUMNS)
    total = 0.0
    for level, holds in enumerate((machine.l1, machine.l2, machine.l3 * 3 // 4)):
        kept = sum(held <= holds for held in touched)  # so many of the nests, from the inside
        if kept == nests:
            continue
        outside = prod(d.size for d in loops[: max(0, len(loops) - kept)])
        for t, dims in enumerate(own):
            count = lines[kept][t] * outside
            if not kept and t == 0 and lines[0][0] * LINE > holds // 2:
                count *= passes
            price = (NEXT_LINE if _run(dims, kept, size) >= RUN else LONE_LINE)[level]
            total += count * price * (WRITTEN if t == op.out and level == 2 else 1.0)
    for dims in own:
        rows = prod(d.size for d in dims if d.step >= FAR and not d.loop)
        if rows > 1:
            total += WALK * calls * rows * walk_cycles(rows)
    return total


def _lines(dims: list[_Own], nest: int, size: int) -> float:
    """Lines of a tensor that so many loops around the kernel touch."""
    count = shared = 1
    for step, length, loop in dims:
        if loop <= nest:
            count *= length
            if step < LINE:
                shared *= min(length, LINE // step)
    return count / min(shared, LINE // size)


def _run(dims: list[_Own], nest: int, size: int) -> int:
    """Bytes of a tensor side by side in so many loops."""
    run = size
    for step, length, loop in dims:
        if loop <= nest:
            if step > max(LINE, 2 * run):
                break
            run = max(run, step * length)
    return run
