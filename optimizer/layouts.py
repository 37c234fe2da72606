"""Orders in which the dimensions of a tensor may lie, so that a contraction can walk along it.

An order is that of another tensor, that of a plain matrix product, or that in which vectors run
along a batch of small ones: which of them is worth a copy, `realign.py` compares. In go a
normalised operation and the number of a tensor, out come positions of dimensions, outermost first,
of those that the tensor has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import prod

from tensorop.ir import DimType, TensorOp
from tensorop.jit.elements import GATHERED, element

Order = tuple[int, ...]  # dimensions of a temporary, outermost first, as positions in the operation
_VECTORS = {DimType.M: 0, DimType.N: 1}
SMALL = 1024  # multiply-adds of a product at most that vectors along a batch are a way for


class Layouts:
    """The orders of an operation's tensors; out_is_new: any order of out costs no copy."""

    def __init__(self, op: TensorOp, *, out_is_new: bool = False) -> None:
        self._op, self._types = op, [d.type for d in op.dimensions]
        self._sizes = [d.size for d in op.dimensions]
        each = range(len(op.tensors))
        self._steps = [[abs(d.strides[t]) for d in op.dimensions] for t in each]
        self._own = [self._as_it_lies(steps) for steps in self._steps]
        # Where out may have any order, items follow one another as they do in what is read most of.
        leads = max(range(op.out), key=op.reached) if out_is_new else op.out
        self._batch_steps = self._steps[leads]

    @staticmethod
    def _as_it_lies(steps: list[int]) -> list[int]:
        """The dimensions that a tensor has, as they lie in it."""
        return sorted([i for i, step in enumerate(steps) if step], key=lambda i: -steps[i])

    def lies(self, tensor: int) -> Order | None:
        """The order of a tensor as it lies, None where it is not dense."""
        dense = 1
        for i in reversed(self._own[tensor]):
            if self._op.dimensions[i].strides[tensor] != dense:
                return None
            dense *= self._sizes[i]
        return tuple(self._own[tensor])

    def plans(self, near: int = 0) -> Iterator[Callable[[int], Order]]:
        """Functions from a tensor to the order that it might have. near: bytes of a cache in which
        it makes no difference where the columns of a result lie."""
        if {DimType.M, DimType.N, DimType.K} <= {*self._types}:
            for plan in (self._as_matrices, self._as_read):
                yield partial(plan, DimType.M)
                yield partial(plan, DimType.N)
            if self._has_lanes():
                yield self._as_lanes
        yield from (partial(self.like, leader) for leader in range(len(self._steps)))
        if self._streams(near):
            yield partial(self._as_summed, DimType.M)
            yield partial(self._as_summed, DimType.N)

    def _as_matrices(self, last: DimType, tensor: int) -> Order:
        """The batch outermost, then one side after the other: of out the one that is to be fastest
        last, of an input its sum first where that is how it lies now."""
        own, types, batch = self._own[tensor], self._types, DimType.C
        outer = [i for i in own if types[i] == batch]
        inner = [i for i in own if types[i] != batch]
        if tensor == self._op.out:
            steps = [self._steps[_VECTORS.get(type_, tensor)] for type_ in types]
            outer.sort(key=lambda i: -self._batch_steps[i])
            inner.sort(key=lambda i: (types[i] == last, -steps[i][i]))
        return (*outer, *inner)

    def _has_lanes(self) -> bool:
        """Whether there is a batch, of matrices that are small for vectors along it; those of real
        floats have kernels of their own, whatever is innermost (items.py, tiny.py)."""
        if self._op.dtype in GATHERED:
            return False
        points = [
            n for n, type_ in zip(self._sizes, self._types, strict=True) if type_ != DimType.C
        ]
        return len(points) < len(self._sizes) and prod(points) <= SMALL

    def _as_lanes(self, tensor: int) -> Order:
        """The batch innermost, as it lies in out; the matrices outside of it as they lie."""
        own, out = self._own[tensor], self._steps[self._op.out]
        batch = [i for i in own if self._types[i] == DimType.C]
        outer = [i for i in own if self._types[i] != DimType.C]
        return (*outer, *sorted(batch, key=lambda i: -out[i]))

    def _as_read(self, last: DimType, tensor: int) -> Order:
        """For a product straight from the operands, one side being that of the vectors: its input
        has the sum as the other input has it, then the vectors; that other one lies as it does."""
        vectors, types = _VECTORS[last], self._types
        if tensor != vectors:
            return self._as_matrices(last, tensor)
        guides = self._steps[1 - vectors], self._steps[vectors]

        def key(i: int) -> tuple[bool, bool, int]:
            type_ = types[i]
            return type_ != DimType.C, type_ == last, -guides[type_ != DimType.K][i]

        return tuple(sorted(self._own[tensor], key=key))

    def _streams(self, near: int) -> bool:
        """Whether it is one product, not a batch of them, whose result is for memory."""
        out = self._op.out
        size = self._op.reached(out) * element(self._op.tensors[out].dtype).size
        return {*self._types} == {DimType.M, DimType.N, DimType.K} and size > near

    def _as_summed(self, last: DimType, tensor: int) -> Order:
        """Of out the dimensions of one side as they lie in its input, and those of the other where
        that input has the innermost of its sums: what a product writes lies as what it reads."""
        own, types, side = self._own[tensor], self._types, _VECTORS[last]
        if tensor != self._op.out:
            return tuple(own)
        reads, other = self._steps[side], self._steps[1 - side]
        inside = min([step for step, type_ in zip(reads, types, strict=True) if type_ == DimType.K])
        return tuple(sorted(own, key=lambda i: (-(reads[i] or inside), -other[i])))

    def like(self, leader: int, tensor: int) -> Order:
        """The order of a tensor as the leader lies; what it does not have is outermost."""
        steps = self._steps[leader]
        has = [i for i in self._own[tensor] if steps[i]]
        lacks = [i for i in self._own[tensor] if not steps[i]]
        has.sort(key=lambda i: -steps[i])
        return (*lacks, *has)
