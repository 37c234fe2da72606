"""Which tensors of an operation had better lie in another order, and in which.

Tensors that disagree about which dimension is fastest cannot be walked along together: one is read
an element a cache line, again and again, or stored so. Where that costs more than to permute it
first (or, the output, last), it goes through a dense temporary whose dimensions lie as another
tensor's do, or, for a matrix product, with the batch outermost or innermost. The estimates are
those of cost.py and stream_cost.py.

Transposing so that a product becomes a plain one is the way of TTGT; here it is one candidate among
others. Source: P. Springer, P. Bientinesi, "Design of a High-Performance GEMM-like Tensor-Tensor
Multiplication", ACM TOMS 44 (2018).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, ItemsView, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import product
from math import prod
from types import MappingProxyType

from tensorop.ir import CONTRACTIONS, Dimension, DimType, Primitive, Tensor, TensorOp
from tensorop.jit.elements import element
from tensorop.optimizer.choice import Orders
from tensorop.optimizer.cost import (
    bound_cycles,
    least_cycles,
    permuted_cycles,
    reordered_cycles,
)
from tensorop.optimizer.fuse import fused
from tensorop.optimizer.groups import narrows
from tensorop.optimizer.layouts import Layouts, Order
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.normalise import normalised
from tensorop.optimizer.regime import choose
from tensorop.optimizer.stand_in import largest, stand_in
from tensorop.optimizer.transfer import (
    BYTES_PER_CYCLE,
    L3,
    LINE_CYCLES,
    MEMORY,
    UNNOTICED,
    WRITTEN,
    read_cycles,
)
from tensorop.optimizer.vectors import least_stream_cycles
from tensorop.optimizer.widen import widen
from tensorop.tuples import NamedTuple

LEAST_POINTS = 4096  # below, a call more costs more than any layout
NEAR_BEST = 1.08  # times the least possible: not worth looking for better; NEW: for out, if new
NEW = 1.25
PIECES = 4  # of which L3 holds so many
MOST = 1 << 28  # bytes of temporaries; KEPT: that a process keeps from call to call
KEPT = 4 << 20
MOST_LINKED = 2  # temporaries of a plan
# Cycles that a byte of a temporary takes longer to be written and read in memory than in L3.
SPILLED = (1 + WRITTEN[MEMORY]) / BYTES_PER_CYCLE[MEMORY] - (1 + WRITTEN[L3]) / BYTES_PER_CYCLE[L3]
COPY = 12000.0  # cycles of a copy of its own, whatever it moves: calls from Python, its memory
LINK = 2000.0  # the same, where it is part of a plan
GAIN = 0.95  # of the estimate as it is, that another must stay under; FREE: if it copies nothing
FREE = 0.97
UNLIKE = 1.5  # times as long a product takes as its stand-in, if that is no likeness of it
LONG = 200_000  # cycles of a stand-in from which on this is made sure of
UNSURE = 1.5  # times the estimate of loops that nothing else speaks for, that another may take
FEWER = 0.9  # of the estimate with more tensors moved: one with fewer hardly ever stays under it


class Realigned(NamedTuple):
    """An operation and the tensors of it that go through dense temporaries.

    op: normalised. orders: for each tensor to be moved, the dimensions of its temporary. cycles: an
    estimate of all of it, 0 where nothing was to be asked; as_it_lies: with nothing moved.
    """

    op: TensorOp
    orders: Mapping[int, Order] = MappingProxyType({})
    cycles: float = 0.0
    as_it_lies: float = 0.0

    @property
    def note(self) -> str:
        """What is moved, and why."""
        moved = [
            f"{self.op.tensors[t].role} as {', '.join(self.op.dimensions[i].name for i in order)}"
            for t, order in self.orders.items()
        ]
        note = f"through temporaries, outermost first: {'; '.join(moved)}"
        if not self.cycles:
            return f"{note}. Chosen by a search"
        return f"{note}. Estimated at {self.cycles:.3g} cycles, {self.as_it_lies:.3g} as it lies"

    def strides(self, tensor: int) -> tuple[int, ...]:
        """Strides in elements of a temporary, one a dimension of the operation."""
        dims = self.op.dimensions
        steps, step = [0] * len(dims), 1
        for i in reversed(self.orders[tensor]):
            steps[i] = step
            step *= dims[i].size
        return tuple(steps)

    def size(self, tensor: int) -> int:
        """Elements of a temporary."""
        return self.op.reached(tensor)

    def main(self) -> TensorOp:
        """The operation on the temporaries."""
        op, steps = self.op, list(zip(*[d.strides for d in self.op.dimensions], strict=True))
        for tensor in self.orders:
            steps[tensor] = self.strides(tensor)
        each = zip(op.dimensions, zip(*steps, strict=True), strict=True)
        return op.with_dimensions(tuple([d.stepping(strides) for d, strides in each]))

    def copy(self, tensor: int) -> TensorOp:
        """The copy of an input to its temporary, or of an output from there."""
        steps, out, dtype = self.strides(tensor), tensor == self.op.out, self.op.dtype
        dimensions = []
        for i in self.orders[tensor]:
            d = self.op.dimensions[i]
            pair = (d.strides[tensor], steps[i])
            dimensions.append(
                Dimension(DimType.C, d.size, pair[::-1] if out else pair, name=d.name)
            )
        tensors = (Tensor("in0", dtype), Tensor("out", dtype))
        return TensorOp(tensors, tuple(dimensions), Primitive.COPY)

    def block(self, machine: Machine) -> tuple[int, int]:
        """The dimension along which to go through the operation piece by piece, so that what is
        moved is still in the cache when it is used, and its block; the whole of the first one where
        that fits anyway, or where pieces would cost more than memory does. Only what has no other
        dimension is cut along K: the sum of a piece is then added to what out holds."""
        held, limit, dims = self.held, machine.l3 // PIECES, self.op.dimensions
        if held <= 2 * limit:
            return 0, dims[0].size
        size = element(self.op.dtype).size
        large = [t for t in self.orders if self.size(t) * size > limit // 2]
        able = [
            i for i, d in enumerate(dims) if any(d.strides) and all(d.strides[t] for t in large)
        ]
        kept = [i for i in able if dims[i].type != DimType.K]
        if not kept and (self.op.out in self.orders or _keeps_out(self.op)):
            able = []
        blocks = {i: max(1, dims[i].size * limit // max(held, 1)) for i in kept or able}
        prices = {i: self._apart(i, n, machine) for i, n in blocks.items()}
        chosen = min(prices, key=prices.__getitem__, default=0)
        if not prices or (held <= MOST and prices[chosen] >= held * SPILLED):
            return 0, dims[0].size
        return chosen, blocks[chosen]

    def _apart(self, along: int, block: int, machine: Machine) -> float:
        """Cycles that pieces cost: inputs that all of them have are read again, and so is an out to
        which all are added; of the others a piece has runs, which the hardware has to find."""
        op, d = self.op, self.op.dimensions[along]
        pieces, cycles = -(-d.size // block), 0.0
        for t, stride in enumerate(d.strides):
            if stride:
                cycles += op.reached(t) / (block * abs(stride)) * UNNOTICED * LINE_CYCLES[MEMORY]
            else:
                again = 1 if t < op.out else 1 + WRITTEN[MEMORY]
                cycles += (pieces - 1) * again * read_cycles(op, t, machine)
        return cycles

    def links(self, machine: Machine) -> bool:
        """Whether all of it is a single plan (`tensorop/linked.py`): an operation that is a single
        schedule, in one piece, with temporaries that are kept from call to call."""
        if not (self._is_single and 0 < len(self.orders) <= MOST_LINKED and self.held <= KEPT):
            return False
        along, block = self.block(machine)
        return block >= self.op.dimensions[along].size

    @property
    def may_be_cut(self) -> bool:
        """Whether it may run piece by piece in a single plan (`tensorop/pieced.py`)."""
        return self._is_single and len(self.orders) == 1 and self.op.out not in self.orders

    @property
    def _is_single(self) -> bool:
        """Whether the operation itself is a single schedule."""
        op = self.op
        touched = op.first_touch != Primitive.NONE or op.last_touch != Primitive.NONE
        return len(op.tensors) == 3 and not touched and not element(op.dtype).half

    @property
    def held(self) -> int:
        """Bytes of all temporaries."""
        return sum([self.op.reached(t) for t in self.orders]) * element(self.op.dtype).size

    def fits(self, machine: Machine) -> bool:
        """Whether the temporaries of a piece take no more memory than one may take unasked."""
        if self.held <= MOST:
            return True
        along, block = self.block(machine)
        return self.held * block // self.op.dimensions[along].size <= MOST

    def in_pieces(self, machine: Machine) -> float:
        """Cycles that pieces cost more than they save."""
        along, block = self.block(machine)
        if block >= self.op.dimensions[along].size:
            return 0.0
        return max(0.0, self._apart(along, block, machine) - self.held * SPILLED)

    def part(self, dimension: int, size: int) -> Realigned:
        """The same of a piece: so much of a dimension."""
        dims = list(self.op.dimensions)
        dims[dimension] = dims[dimension]._replace(size=size)
        return self._replace(op=self.op.with_dimensions(tuple(dims)))


@lru_cache(maxsize=4096)  # candidates of several searches are the same operation
def cycles(op: TensorOp, machine: Machine, surely: bool = False) -> float:
    """Estimate an operation without touches, none of whose dimensions is of size 1, as the regime
    that it gets runs it.

    surely: as it is for layouts of which many are compared, the best of which is likely to be one
    that is estimated too low: without those loops straight from the operands that nothing but their
    estimate speaks for.
    """
    op = widen(op.with_dimensions(fused(op.dimensions)[0])).op
    regime = choose(op, machine, not surely)
    if regime.cycles is not None:
        return regime.cycles
    if regime.name in ("permute", "interleave"):
        return permuted_cycles(op, machine)
    if regime.name == "reorder":
        return reordered_cycles(op, machine)
    if not op.dimensions:
        return 0.0
    return least_stream_cycles(op, machine)


def realign(op: TensorOp, machine: Machine, *, out_is_new: bool = False) -> Realigned:
    """Decide which tensors to hold in another order.

    Those of contractions of two tensors, and the output of a sum over one. An output is moved if
    nothing but the sums goes into it, and if these are not rounded on the way (with beta, a half
    type would be rounded twice).

    Parameters
    ----------
    op : TensorOp
    out_is_new : bool
        Nobody has said how out lies, so that another order of it costs no copy.
    """
    as_given = Realigned(normalised(op))
    op = as_given.op
    points = prod([d.size for d in op.dimensions])
    if op.main == Primitive.SUM and points >= LEAST_POINTS and not out_is_new:
        # Over nothing it is a copy with an alpha or a beta.
        return _summed(op, machine) if op.size_of(DimType.K) > 1 else as_given
    if op.main not in CONTRACTIONS or len(op.tensors) != 3 or points < LEAST_POINTS:
        return as_given
    if narrows(op):  # packing reads every layout, and inputs are small
        return as_given
    found = _searched(stand_in(op), machine, out_is_new)
    if not found.cycles:
        return as_given
    part = points / prod([d.size for d in found.op.dimensions])
    found = Realigned(op, found.orders, found.cycles * part, found.as_it_lies * part)
    # A stand-in may be just small enough for what is not done with the largest it stands for.
    doubtful = not found.orders and found.cycles > LONG
    if (not doubtful or _are_alike(op, found, machine)) and found.fits(machine):
        return found
    return _searched(op, machine, out_is_new)._replace(op=op)  # whose names are its own


def _are_alike(op: TensorOp, found: Realigned, machine: Machine) -> bool:
    """Whether the largest operation with the same stand-in takes about as long for its size as what
    was found for this one."""
    most = _joined(largest(op))[0]
    part = prod([d.size for d in op.dimensions]) / prod([d.size for d in most.dimensions])
    return cycles(most, machine) * part <= UNLIKE * found.cycles


@lru_cache(maxsize=1024)  # many operations have the same stand-in
def _searched(op: TensorOp, machine: Machine, out_is_new: bool) -> Realigned:
    """What `realign` decides on a normalised product of two tensors: the cheapest candidate."""
    as_given = Realigned(op)
    joined, parts = _joined(op)
    as_it_lies, bound = cycles(joined, machine), bound_cycles(joined, machine)
    above = as_it_lies / least_cycles(joined, machine)
    if bound >= FREE * as_it_lies or above < NEAR_BEST:
        return as_given
    out_is_new &= above >= NEW
    may_copy = LINK + bound < GAIN * as_it_lies
    if not may_copy and not out_is_new:
        return as_given._replace(cycles=as_it_lies)
    movable = range(len(op.tensors)) if may_copy else (op.out,)
    surely = cycles(joined, machine, True)
    free = min(FREE * surely, UNSURE * as_it_lies)
    chosen, least, copying = as_given, surely, _copying(machine)
    estimates: list[tuple[ItemsView[int, Order], float]] = []
    for short in _candidates(joined, movable, machine, out_is_new):
        orders = short.orders
        if joined is not op:
            orders = {t: tuple([i for j in order for i in parts[j]]) for t, order in orders.items()}
        candidate = Realigned(op, orders)
        copied = [t for t in candidate.orders if not (out_is_new and t == op.out)]
        own = candidate._replace(orders={t: orders[t] for t in copied})
        limit = min(least, GAIN * as_it_lies if copied else free)
        price = _begun(own, machine)
        if price + bound >= limit:
            continue
        price += copying(short, copied)
        items = short.orders.items()
        floors = [FEWER * main for more, main in estimates if items <= more]
        if price + max([bound, *floors]) >= limit or not own.fits(machine):
            continue
        main = cycles(short.main(), machine, True) + own.in_pieces(machine)
        estimates.append((items, main))
        if price + main < limit:
            least = price + main
            chosen = candidate._replace(cycles=least, as_it_lies=as_it_lies)
    return chosen if chosen.orders else as_given._replace(cycles=as_it_lies)


def _summed(op: TensorOp, machine: Machine) -> Realigned:
    """A sum over one tensor, along whose rows vectors run: they are stored as they are read, and
    the result, which is smaller, is put into another order last."""
    as_given, layouts, out = Realigned(op), Layouts(op), op.out
    dims, lies = op.dimensions, layouts.lies(0) or ()
    if _keeps_out(op) or not lies or not dims[lies[-1]].strides[out]:
        return as_given
    order = layouts.like(0, out)
    candidate = Realigned(op, {out: order})
    if order == layouts.lies(out) or not candidate.fits(machine):
        return as_given
    joined = op.with_dimensions(fused(dims)[0])
    as_it_lies = cycles(joined, machine)
    price = _begun(candidate, machine) + cycles(candidate.copy(out), machine)
    price += cycles(candidate.main(), machine)
    if price >= GAIN * as_it_lies:
        return as_given
    return candidate._replace(cycles=price, as_it_lies=as_it_lies)


def _joined(op: TensorOp) -> tuple[TensorOp, list[Order]]:
    """The operation fused, which has the same orders, and for each of its dimensions those that it
    is made of, outermost first."""
    dimensions, merged = fused(op.dimensions)
    if not merged:
        return op, []
    parts: dict[int, Order] = {id(d): (i,) for i, d in enumerate(op.dimensions)}
    for outer, inner, both in merged:
        parts[id(both)] = parts[id(outer)] + parts[id(inner)]
    return op.with_dimensions(dimensions), [parts[id(d)] for d in dimensions]


def moved(op: TensorOp, orders: Mapping[int, Order]) -> Realigned:
    """The operation with temporaries in orders that somebody else has chosen.

    Raises
    ------
    ValueError
        An order is not one of all the dimensions that its tensor has.
    """
    op = normalised(op)
    for tensor, order in orders.items():
        has = [i for i, d in enumerate(op.dimensions) if tensor >= 0 and d.strides[tensor]]
        if sorted(order) != has or (tensor == op.out and _keeps_out(op)):
            raise ValueError(f"no order of tensor {tensor}: {order}")
    return Realigned(op, orders)


def moves(op: TensorOp, machine: Machine, most: int) -> list[Orders]:
    """What may be moved, by the estimate the cheapest first; nothing moved is always among them."""
    op = normalised(op)
    if op.main not in CONTRACTIONS or len(op.tensors) != 3:
        return [()]

    fitting = sorted(
        (c for c in _candidates(op, range(len(op.tensors)), machine) if c.fits(machine)),
        key=_pricing(machine),
    )
    return [(), *(tuple(sorted(c.orders.items())) for c in fitting[: most - 1])]


def _pricing(machine: Machine) -> Callable[[Realigned], float]:
    """Cycles of candidates of an operation, whatever they move being copied."""
    copying = _copying(machine)

    def price(candidate: Realigned) -> float:
        main = cycles(candidate.main(), machine, True) + candidate.in_pieces(machine)
        return _begun(candidate, machine) + copying(candidate, candidate.orders) + main

    return price


def _copying(machine: Machine) -> Callable[[Realigned, Collection[int]], float]:
    """Cycles of what moves when some tensors of a candidate are copied; a copy that several
    candidates of an operation have is looked at once."""
    known: dict[tuple[int, Order], float] = {}

    def price(candidate: Realigned, copied: Collection[int]) -> float:
        total = 0.0
        for tensor in copied:
            key = tensor, candidate.orders[tensor]
            if key not in known:
                known[key] = cycles(candidate.copy(tensor), machine)
            total += known[key]
        return total

    return price


def _begun(candidate: Realigned, machine: Machine) -> float:
    """Cycles of the copies of a candidate, whatever they move."""
    copies = len(candidate.orders)
    return copies * (LINK if candidate.links(machine) else COPY) if copies else 0.0


def _keeps_out(op: TensorOp) -> bool:
    """Whether something else than sums goes into out, or sums are rounded on the way."""
    touched = op.first_touch != Primitive.NONE or op.last_touch != Primitive.NONE
    return touched or bool(element(op.dtype).half)


def _candidates(
    op: TensorOp, movable: Iterable[int], machine: Machine, out_is_new: bool = False
) -> Iterator[Realigned]:
    """Every choice of tensors to be moved, of those that may be, for every plan of what order they
    then have; each once."""
    tensors = [t for t in movable if t != op.out or not _keeps_out(op)]
    layouts = Layouts(op, out_is_new=out_is_new)
    lie = {t: layouts.lies(t) for t in tensors}
    found = set()
    for plan in layouts.plans(machine.l2):
        orders = [(t, order) for t in tensors if (order := plan(t)) != lie[t]]
        for kept in product((False, True), repeat=len(orders)):
            chosen = tuple([o for o, keep in zip(orders, kept, strict=True) if not keep])
            if chosen and chosen not in found:
                found.add(chosen)
                yield Realigned(op, dict(chosen))
