"""Which kind of schedule an operation gets: from sizes, strides and cache sizes alone."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

from tensorop.ir import CONTRACTIONS, DimType, Primitive, TensorOp
from tensorop.jit.elements import GATHERED, element
from tensorop.optimizer.cost import (
    COLUMNS,
    LONG_SUM,
    SHORT,
    batch_cycles,
    direct_cycles,
    dots_cycles,
    gathered_cycles,
    items_cycles,
    planar_cycles,
    product_cycles,
    tiny_cycles,
)
from tensorop.optimizer.direct import as_items, direct
from tensorop.optimizer.dots import dots_of
from tensorop.optimizer.gathered import gathered_of
from tensorop.optimizer.groups import narrows
from tensorop.optimizer.interleave import channels_of
from tensorop.optimizer.items import items_of
from tensorop.optimizer.lanes import as_batch
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.planar import planar_of
from tensorop.optimizer.reorder import reordered_of
from tensorop.optimizer.stand_in import stand_in
from tensorop.optimizer.straight import straight_cycles, work_cycles
from tensorop.optimizer.tiny import tiny_of
from tensorop.optimizer.transfer import L3, MEMORY, bytes_of, level_of
from tensorop.optimizer.vectors import least_stream_cycles
from tensorop.tuples import NamedTuple

STRAIGHT = 0.6  # of the cycles of another way that loops straight from the operands stay under,
AS_THEY_LIE = 0.9  # and of one that reads operands where they lie, too
APPLIED = 1.55  # times as long as vectors along its batch may a product with a small matrix be
MATRIX = 16  # estimated that takes less; elements of such a matrix at least
FEW_TIMES = 6  # that vectors are read again from the caches
SIDE_BY_SIDE = 32  # vectors, one for each step of a sum, that are read so at most
SHORT_RECORDS = "records are short, and lie end to end: vectors hold an element of many"
EVERYWHERE = frozenset({"blocked", "nest", "stream"})  # ways for products of whatever sizes


class Regime(NamedTuple):
    """Which kind of schedule an operation gets, why, and its estimate, if that decided it."""

    name: str
    why: str
    cycles: float | None = None


def choose(op: TensorOp, machine: Machine, loops: bool = True) -> Regime:
    """Pick the kind of schedule from static facts. loops: also where only their estimate speaks for
    them (`straight.py`)."""
    return _choose(op, machine, loops)


def choose_alike(op: TensorOp, machine: Machine) -> Regime:
    """What `choose` picks for the stand-in of a product, which searches have asked about, if it is
    a way for the operation itself."""
    if op.main in CONTRACTIONS:
        regime = choose(stand_in(op), machine)
        if regime.name in EVERYWHERE:
            return regime
    return choose(op, machine)


@lru_cache(maxsize=1024)  # estimates ask before the passes do
def _choose(op: TensorOp, machine: Machine, loops: bool) -> Regime:
    if op.main in CONTRACTIONS:
        return _contraction(op, machine, loops)
    if _moves(op) and (permutes(op) or _has_ends(op, machine)):
        channels, items = channels_of(op), reordered_of(op, machine)
        if items is not None and (items.fills or channels is None):
            return Regime("reorder", "elements change places within items that vectors hold")
        if channels is not None:
            return Regime("interleave", "a few elements lie beside one another on one side only")
        if _interleaves(op):
            return Regime("stream", "runs are short: elements are gathered or scattered")
        return Regime("permute", "source and target have different fastest dimensions")
    records = _as_records(op, machine) if op.main == Primitive.SUM else None
    return records or Regime("nest", "one pass over the elements")


def _as_records(op: TensorOp, machine: Machine) -> Regime | None:
    """How short records are taken apart in registers, if vectors along rows take longer."""
    planar = planar_of(op, machine)
    if planar is None:
        return None
    cycles = planar_cycles(planar, op, machine)
    if cycles >= least_stream_cycles(op, machine):
        return None
    return Regime("planar", SHORT_RECORDS, cycles)


def _contraction(op: TensorOp, machine: Machine, loops: bool) -> Regime:
    m, n, k = op.size_of(DimType.M), op.size_of(DimType.N), op.size_of(DimType.K)
    alike = op.tensors[0].dtype == op.tensors[1].dtype  # a stream has one type of inputs
    if narrows(op) and not (alike and min(m, n) == 1):
        return Regime("blocked", "an instruction multiplies groups of steps of K")
    if min(m, n) == 1 or k == 1:
        stream = Regime("stream", "no matrix product: nothing is used twice")
        return _as_records(op, machine) or stream
    along = as_batch(op)
    large, best = _large_and_best(op, machine)
    # Kernels of packed panels store better than others what is too large for the caches.
    few = bytes_of(op, op.out) <= machine.l2
    if loops and large.name == "blocked" and (few or best is not large):
        limit = (AS_THEY_LIE if best.name == "gathered" else STRAIGHT) * _estimate(best)
        if work_cycles(op, machine) < limit and (cycles := straight_cycles(op, machine)) < limit:
            return Regime("nest", "loops come back to what the caches have kept", cycles)
    if best is not large:
        return best
    if along is None and _prefers_batch(op, machine):
        return Regime("stream", "vectors along the batch dimension cost less than packing")
    if large.name == "blocked" and _in_blocks(op, machine):
        why = "the operands lie in blocks that a kernel reads as they are"
        return Regime("nest", why, direct_cycles(op, machine))
    return large


@lru_cache(maxsize=256)  # the same with and without loops
def _large_and_best(op: TensorOp, machine: Machine) -> tuple[Regime, Regime]:
    """The way for a large product, and the best of that and those for small ones."""
    large, along = _large(op, machine), as_batch(op)
    small = min(_small(op, along, machine), key=_estimate, default=large)
    best = min(large, small, key=_estimate)
    if along is not None and along != op and best.name in ("batch", "blocked"):
        tiled = _tiled(op, along, large, machine)
        if tiled is not None and _estimate(tiled) < APPLIED * _estimate(best):
            # It takes no longer than what it is preferred to, whatever its own estimate says.
            best = large = tiled._replace(cycles=best.cycles)
    return large, best


def _tiled(op: TensorOp, along: TensorOp, large: Regime, machine: Machine) -> Regime | None:
    """How tiles of a product apply a small matrix to many vectors that are stored side by side
    (`along`: as a batch), where it has elements enough for them to do so with fewer loads. They
    read vectors where they lie, again for every few columns, or from panels."""
    lane = next(d for d in op.dimensions if d not in along.dimensions)
    other, tensor = (DimType.N, 0) if lane.type == DimType.M else (DimType.M, 1)
    columns, k = op.size_of(other), op.size_of(DimType.K)
    if op.dtype not in GATHERED or lane.strides[op.out] != 1 or columns * k < MATRIX:
        return None
    level = level_of(sum([bytes_of(op, t) for t in range(3)]), machine)
    most = COLUMNS - 1 if level == MEMORY else FEW_TIMES * COLUMNS
    long = level >= L3 and lane.size >= 2 * machine.lanes(op.dtype)
    if long and columns <= most and lane.strides[tensor] == 1 and k <= SIDE_BY_SIDE:
        why = "a small matrix is applied to many vectors, which lie side by side"
        return Regime("nest", why, 0.0)
    return large if columns >= COLUMNS and k < LONG_SUM else None


def _estimate(regime: Regime) -> float:
    assert regime.cycles is not None
    return regime.cycles


def _large(op: TensorOp, machine: Machine) -> Regime:
    """How a product runs that is large enough for its calls not to show: as it lies, or packed."""
    why = direct(op, machine)
    straight = None if why is None else Regime("nest", why, direct_cycles(op, machine))
    if straight is not None and as_items(op) is op:
        return straight
    packed = Regime("blocked", "packed panels pay", product_cycles(op, machine))
    return packed if straight is None else min(straight, packed, key=_estimate)


def _small(op: TensorOp, along: TensorOp | None, machine: Machine) -> list[Regime]:
    """The ways for a small product, or a batch of them; along: see `as_batch`."""
    found = []
    if along is not None:
        why = "the batch is consecutive, and matrices are small"
        if along != op:
            why = "a small matrix is applied to many vectors, which lie near one another"
        found.append(Regime("batch", why, batch_cycles(op, machine)))
    if (gathered := gathered_of(op, machine)) is not None:
        why = "operands are small, and a kernel reads them wherever they lie"
        found.append(Regime("gathered", why, gathered_cycles(gathered, machine)))
    if (dots := dots_of(op, machine)) is not None:
        why = "few rows, and both sides lie along the sum: dot products cost less than packing"
        found.append(Regime("dots", why, dots_cycles(dots, machine)))
    if (planar := planar_of(op, machine)) is not None:
        found.append(Regime("planar", SHORT_RECORDS, planar_cycles(planar, op, machine)))
    if not op.of_type(DimType.C):
        return found
    if (items := items_of(op, machine)) is not None:
        why = "matrices are small, and a kernel fits them exactly"
        found.append(Regime("items", why, items_cycles(items, machine)))
    if (tiny := tiny_of(op, machine)) is not None:
        why = "matrices are tiny, and lie end to end"
        found.append(Regime("tiny", why, tiny_cycles(tiny, machine)))
    return found


def _in_blocks(op: TensorOp, machine: Machine) -> bool:
    """Whether the operands already lie as a kernel wants them: blocks without gaps, of some vectors
    along M, which hold an inner and an outer K; L2 keeps all that a row of tiles comes back to."""
    kind = element(op.dtype)
    if kind.parts > 1 or kind.half or any(t.conj for t in op.tensors):
        return False
    summed = sorted(op.of_type(DimType.K), key=lambda d: abs(d.strides[0]))
    sides = [
        min(op.of_type(t), key=lambda d: abs(d.strides[op.out])) for t in (DimType.M, DimType.N)
    ]
    if len(summed) != 2:
        return False
    for (vector, other), (tensor, broadcast) in ((sides, (0, 1)), (sides[::-1], (1, 0))):
        lies = [abs(d.strides[tensor]) for d in (vector, *summed)]
        dense = [1, vector.size, vector.size * summed[0].size]
        read = sorted((abs(d.strides[broadcast]), d.size) for d in (other, *summed))
        whole = all(a[0] * a[1] == b[0] for a, b in pairwise(read))
        fits = vector.size % machine.lanes(op.dtype) == 0 and vector.size <= LONGEST_BLOCK
        fits &= vector.size * op.size_of(DimType.K) * kind.size <= machine.l2 // 2
        if lies == dense and vector.strides[op.out] == 1 and read[0][0] == 1 and whole and fits:
            return other.size <= LONGEST_BLOCK
    return False


LONGEST_BLOCK = 128  # elements of M and N in a block that a kernel reads as it lies


# Prices in cycles of one core, as far as they do not depend on the dtype.
_ELEMENT = 1.5  # moving a lone element: packing it from, or storing it to, a strided tensor
_STREAM = 1.5  # a vector multiply-add whose operands come from the first-level cache
_CALL = 150.0  # a kernel call and the loop around it


def _prefers_batch(op: TensorOp, machine: Machine) -> bool:
    """Whether a product whose output is consecutive along a batch dimension is cheaper as vectors
    along it than as matrix products of strided elements; per multiply-add of one lane."""
    fastest = min(op.dimensions, key=lambda d: abs(d.strides[op.out]) or 1 << 62)
    if fastest.type != DimType.C:
        return False
    m, n, k = (op.size_of(t) for t in (DimType.M, DimType.N, DimType.K))
    lanes = machine.lanes(op.dtype)
    summed = max(d.size for d in op.of_type(DimType.K))
    vectors = -(-fastest.size // lanes)
    batch = (_STREAM * vectors + _CALL / summed) / fastest.size
    product = 0.5 / lanes + _ELEMENT * (1 / k + 1 / m + 1 / n)
    return batch < product


def _moves(op: TensorOp) -> bool:
    """Whether kernels that move elements may run it. They move the last ones of a row twice: not
    where these may be conjugated in place."""
    apart = any(d.strides[0] != d.strides[-1] for d in op.dimensions)
    return op.main == Primitive.COPY or (op.main == Primitive.CONJ and apart)


def permutes(op: TensorOp) -> bool:
    """Whether a copy has a fastest dimension in source and target, and more than rows of it."""
    if not op.dimensions:
        return False
    source = min(op.dimensions, key=lambda d: abs(d.strides[0]) or 1 << 62)
    target = min(op.dimensions, key=lambda d: abs(d.strides[1]))
    if source.strides[0] != 1 or target.strides[1] != 1:
        return False
    return source is not target or len(op.dimensions) > 2


def _has_ends(op: TensorOp, machine: Machine) -> bool:
    """Whether the rows of a copy end within vectors of a type that has no masks: stream kernels
    move what is left one by one."""
    kind, rows = element(op.dtype), [d for d in op.dimensions if d.strides == (1, 1)]
    if len(op.dimensions) != 2 or not rows or kind.size in machine.target.masked:
        return False
    lanes = machine.target.lanes(kind.size)
    return rows[0].size > lanes and rows[0].size % lanes > 0


def _interleaves(op: TensorOp) -> bool:
    """Whether a permutation has few consecutive elements on one side, and on the other many that
    lie within a few lines there: vectors are then gathered, or scattered, with less work than tiles
    that are mostly empty."""
    if op.dtype not in GATHERED or any(t.conj for t in op.tensors):
        return False
    source, target = (next(d for d in op.dimensions if d.strides[t] == 1) for t in (0, 1))
    short, long = sorted((source, target), key=lambda d: d.size)
    few = SHORT if short is source else SHORT_STORED
    return short.size < few and long.size >= LONG_RUN and max(long.strides) <= SHORT


LONG_RUN = 32  # elements that are worth gathering into vectors
SHORT_STORED = 4  # elements of a run of the target below which they are scattered one by one
