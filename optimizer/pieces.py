"""Two operations, one of which reads what the other has written, piece by piece.

What lies between them is written and read again. Where it is more than L2 holds, that takes as long
as an operand does; so, if a dimension of it can be cut, both run on one block of that after the
other, and what lies between stays in L2. What has no such dimension is read again for every piece,
and a sum over it is added up piece by piece: estimates say whether that pays.

This is the fusion of loops by strip-mining: M. Wolfe, "High Performance Compilers for Parallel
Computing" (1996), chapter 9.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, gcd

from tensorop.ir import DimType, Primitive, TensorOp
from tensorop.jit.elements import element
from tensorop.jit.lines import LINE
from tensorop.optimizer.cost import PAST
from tensorop.optimizer.machine import NEVER, Machine
from tensorop.optimizer.past import leaves_caches
from tensorop.optimizer.realign import Realigned, cycles, realign
from tensorop.optimizer.transfer import (
    L3,
    LINE_CYCLES,
    LONG_ROW_CYCLES,
    MEMORY,
    PAGE,
    UNNOTICED,
    all_bytes,
    bytes_of,
    level_of,
    outgrows_l3,
    transfer,
)
from tensorop.tuples import NamedTuple

# Parts of L2, of which what lies between has one: where all else comes from L3; and from memory,
# where long pieces count for more than that L3 keeps some of it.
PARTS = {L3: 4, MEMORY: 1}
WORTH = 0.9  # of the estimate one after the other, that pieces must stay under
# The same where the first of two is a copy, wherever the rest is: the estimate of both apart is
# then further below what they take than that of pieces.
COPY_PARTS, COPY_WORTH = 4, 1.0
COPY_FITS = {False: 0.5, True: 1.0}  # parts of L2 that a whole copy may be: of a near L3, more
BEGUN = 400.0  # cycles to begin a piece
BEGINS = 2  # lines of a row that is read, which are waited for


class Pair(NamedTuple):
    """Two operations. reads: which input of the second is the output of the first."""

    first: TensorOp
    second: TensorOp
    reads: int

    def cut(self, along: str, size: int) -> Pair:
        """The same with so much of a dimension, what lies between being dense."""
        steps, step = {}, 1
        own = [(abs(d.strides[self.first.out]), d) for d in self.first.dimensions]
        for _, d in sorted([pair for pair in own if pair[0]], key=lambda pair: pair[0]):
            steps[d.name] = step
            step *= size if d.name == along else d.size

        def part(op: TensorOp, tensor: int) -> TensorOp:
            dims = []
            for d in op.dimensions:
                strides = list(d.strides)
                strides[tensor] = steps.get(d.name, 0)
                of = size if d.name == along else d.size
                dims.append(d._replace(size=of, strides=tuple(strides)))
            return op.with_dimensions(tuple(dims))

        return Pair(part(self.first, self.first.out), part(self.second, self.reads), self.reads)

    @property
    def is_whole(self) -> bool:
        """Whether the second reads all that the first has written: not a diagonal of it."""
        written = sorted((d.name, d.strides[self.first.out]) for d in self.first.dimensions)
        read = sorted((d.name, d.strides[self.reads]) for d in self.second.dimensions)
        return [w for w in written if w[1]] == [r for r in read if r[1]]

    @property
    def copies(self) -> bool:
        """Whether the first one is a copy."""
        return self.first.main == Primitive.COPY

    @property
    def between(self) -> int:
        """Bytes of what lies between them."""
        return bytes_of(self.first, self.first.out)

    @property
    def others(self) -> list[tuple[TensorOp, int]]:
        """All other tensors: the inputs of the first, those of the second, and its output."""
        inputs = [(self.first, t) for t in range(self.first.out)]
        inputs += [(self.second, t) for t in range(self.second.out) if t != self.reads]
        return [*inputs, (self.second, self.second.out)]


class Pieces(NamedTuple):
    """How a pair runs piece by piece.

    along: the dimension that is cut. piece: of one block, of which there are `number`. rest: of
    what is left, if anything. moves: bytes from one piece to the next in each of `Pair.others`.
    sums: the dimension is summed over, so pieces add to out. machines: as the two operations see
    it, whose other tensors come from further away than those of a piece would.
    """

    along: str
    piece: Pair
    number: int
    rest: Pair | None
    moves: tuple[int, ...]
    sums: bool
    machines: tuple[Machine, Machine]
    cycles: float
    apart: float

    @property
    def note(self) -> str:
        """What is done, and why."""
        pieces = f"in {self.number} pieces along {self.along}{' and a rest' if self.rest else ''}"
        kept = f"what lies between two steps stays in L2: {self.piece.between:,} bytes"
        threads = "each step of one" if self.sums else "the pieces"
        estimate = f"Estimated at {self.cycles:.3g} cycles, {self.apart:.3g} apart"
        return f"{pieces}, {kept}; threads divide {threads}. {estimate}"


def copied(parts: Realigned) -> Pair:
    """The copy of the only tensor that is held in another order, an input, and what reads it."""
    (tensor,) = parts.orders
    dims = parts.op.dimensions
    if len({d.name for d in dims}) < len(dims):  # an explicit operation need not name them
        named = [d._replace(name=f"dimension {i}") for i, d in enumerate(dims)]
        parts = parts._replace(op=parts.op.with_dimensions(tuple(named)))
    return Pair(parts.copy(tensor), parts.main(), tensor)


def in_pieces(pair: Pair, machine: Machine) -> Pieces | None:
    """How a pair had better run piece by piece, if it had."""
    fits = machine.l2 * (COPY_FITS[machine.near_l3] if pair.copies else 1)
    if pair.between <= fits or not pair.is_whole:
        return None
    apart = sum([_cycles(op, machine) for op in pair[:2]])
    names = [d.name for d in pair.first.dimensions if d.strides[pair.first.out] and d.size > 1]
    found = [pieces for name in names if (pieces := _along(pair, name, machine, apart))]
    worth = COPY_WORTH if pair.copies else WORTH
    best = min(found, key=lambda pieces: pieces.cycles, default=None)
    return best if best is not None and best.cycles < worth * apart else None


def _cycles(op: TensorOp, machine: Machine) -> float:
    """The estimate of an operation by itself, whatever is moved for it."""
    return realign(op, machine).cycles or cycles(_without_ones(op), machine)


def _without_ones(op: TensorOp) -> TensorOp:
    return op.with_dimensions(tuple([d for d in op.dimensions if d.size > 1]))


def _along(pair: Pair, name: str, machine: Machine, apart: float) -> Pieces | None:
    """How it runs cut along a dimension, if that leaves more than one piece."""
    (cut,) = [d for d in pair.second.dimensions if d.name == name]
    block = _block(pair, name, machine)
    number, left = divmod(cut.size, block)
    if number < 2:
        return None
    sums, piece = cut.type == DimType.K, pair.cut(name, block)
    if piece.between > 2 * machine.l2:  # more than whole lines add: no block is short enough
        return None
    rest = pair.cut(name, left) if left else None
    moves = tuple([block * _step(op, t, name) for op, t in pair.others])
    pieces = cut.size / block
    held = max([all_bytes(op) for op in pair[:2]])
    seen = machine._replace(from_memory=held > machine.l3 * 3 // 4)
    # Nothing is stored past the caches that later pieces add to, or that begins within a line.
    whole = moves[-1] != 0 and moves[-1] % LINE == 0
    far = seen._replace(l3=NEVER, kept=NEVER)
    if whole:
        l3, kept = machine.l3 / pieces, machine.kept / pieces
        far = seen._replace(l3=int(l3), kept=int(kept))
    price = pieces * (BEGUN + sum([cycles(_without_ones(op), machine) for op in piece[:2]]))
    price += _further(pair, piece, pieces, moves, machine)
    return Pieces(name, piece, number, rest, moves, sums, (seen, far), price, apart)


def _block(pair: Pair, name: str, machine: Machine) -> int:
    """How much of a dimension a piece has: about as much in each; whole lines of what lies between,
    and, if that is possible, of out."""
    first, second = pair.first, pair.second
    (size,) = [d.size for d in first.dimensions if d.name == name]
    level = max(L3, *[level_of(all_bytes(op), machine) for op in pair[:2]])
    parts = COPY_PARTS if pair.copies else PARTS[level]
    most = max(1, machine.l2 // parts * size // pair.between)
    block = ceil(size / ceil(size / most))
    written = _step(first, first.out, name), _step(second, second.out, name)
    unit = max(LINE // gcd(LINE, step) for step in written)
    if block < unit:
        return block
    longer = ceil(block / unit) * unit
    return longer if 2 * longer <= size else block // unit * unit


def _step(op: TensorOp, tensor: int, name: str) -> int:
    """Bytes from one position of a dimension to the next."""
    steps = [d.strides[tensor] for d in op.dimensions if d.name == name]
    return sum(steps) * element(op.tensors[tensor].dtype).size


def _further(
    pair: Pair, piece: Pair, pieces: float, moves: Sequence[int], machine: Machine
) -> float:
    """Cycles that what moves takes more than estimates of a piece say, which see a small one."""
    total = 0.0
    for (op, t), (part, _), moved in zip(pair.others, piece.others, moves, strict=True):
        if moved:
            written = op is pair.second and t == op.out
            each = transfer(bytes_of(part, t), all_bytes(part), machine, written=written)
            whole = transfer(bytes_of(op, t), all_bytes(op), machine, written=written)
            past = written and moved % LINE == 0 and leaves_caches(op, machine, sums_inside=True)
            total += whole * (PAST if past else 1.0) - pieces * each
            # Where others lie between the rows of a piece, the hardware has to find each of these.
            size = bytes_of(op, t)
            if abs(moved) * pieces < size:
                level = MEMORY if outgrows_l3(op, machine) else level_of(all_bytes(op), machine)
                lines = min(UNNOTICED if written else BEGINS, _lines(op, t, abs(moved)))
                begun = lines * LINE_CYCLES[level]
                if abs(moved) >= PAGE and not written and level == MEMORY:
                    begun = LONG_ROW_CYCLES
                total += size / abs(moved) * begun
    return total


def _lines(op: TensorOp, tensor: int, row: int) -> int:
    """Of how many lines rows of so many bytes of a tensor are parts."""
    size = element(op.tensors[tensor].dtype).size
    steps = [abs(d.strides[tensor]) * size for d in op.dimensions]
    cut = any(step % LINE for step in [row, *[step for step in steps if step >= row]])
    return row // LINE + 1 if cut else row // LINE
