"""From n operands to a sequence of one- and two-operand steps, each a `TensorOp`.

In go a `Contraction`, the operands' strides, the strides of the result and a path; out come the
`Step`s to run one after the other. Operands are numbered slots: first the caller's, then one an
intermediate result, and the last step writes the result. No arrays are needed.

A label that only one operand has, and that nothing later needs, is summed before the operand is
multiplied, so that the product is smaller by that label's size; a last product of few elements
takes the sum in itself, since a step more would take longer. Intermediate results are dense,
with batch labels outermost, then those of the first and those of the second operand, which is the
order in which a matrix product writes; but a batch label that is the fastest of both operands stays
so, since nothing can then be read and written along another one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

from tensorop.contraction import Contraction
from tensorop.errors import EinsumError
from tensorop.ir import Dimension, DimType, ExecType, Primitive, Tensor, TensorOp
from tensorop.layout import Operand
from tensorop.path import Path
from tensorop.tuples import NamedTuple

BRIEF = 4096  # multiplications that take no longer than a step more


class Step(NamedTuple):
    """One operation of a tree.

    op: what it does, with strides in elements. inputs: the slots it reads. output: the slot it
    writes. size: elements of the intermediate result, None for the last step, which writes the
    result itself. factor: what its alpha is multiplied by, because summing over labels that no
    operand moves along is multiplication. terms: the names of the labels of the inputs and of the
    output.
    """

    op: TensorOp
    inputs: tuple[int, ...]
    output: int
    size: int | None
    factor: int
    terms: tuple[tuple[str, ...], ...]

    @property
    def text(self) -> str:
        """The step as a spec, for readers."""
        separator = "" if all(len(name) == 1 for term in self.terms for name in term) else " "
        shown = [separator.join(term) for term in self.terms]
        return f"{','.join(shown[:-1])}->{shown[-1]}"


def plan_tree(
    contraction: Contraction,
    operands: Sequence[Operand],
    out_strides: Sequence[int],
    path: Path,
    dtype: str,
    conj: Sequence[bool],
) -> tuple[Step, ...]:
    """The steps of a contraction, none of whose labels has size 0.

    operands: strides in elements. out_strides: of the result, in elements, an entry a dimension.
    path: groups of positions, as opt_einsum writes them. dtype: the back end's name.
    conj: for each operand, whether its conjugate is meant.

    Raises
    ------
    EinsumError
        A position of the path that does not exist.
    RuntimeError
        The path ends before everything is contracted.
    """
    planner = _Planner(contraction, operands, out_strides, dtype, conj)
    for group in path:
        planner.run_group(group)
    return planner.finish()


def cast_first(casts: Sequence[Step], steps: Sequence[Step]) -> tuple[Step, ...]:
    """Steps on operands some of which are cast: those steps come first, and each writes a slot of
    its own, which the others read in place of the operand's. A cast's output is given as the
    operand's slot.

    >>> from tensorop.ir import Primitive
    >>> cast = Step(TensorOp((), (), Primitive.CAST), (1,), 1, 4, 1, ())
    >>> step = Step(TensorOp((), (), Primitive.GEMM), (0, 1), 2, None, 1, ())
    >>> [(step.inputs, step.output) for step in cast_first([cast], [step])]
    [((1,), 2), ((0, 2), 3)]
    """
    first = steps[0].output  # behind the operands
    slots = {cast.output: first + i for i, cast in enumerate(casts)}
    slots |= {step.output: step.output + len(casts) for step in steps}
    own = [
        step._replace(
            inputs=tuple([slots.get(slot, slot) for slot in step.inputs]),
            output=slots[step.output],
        )
        for step in steps
    ]
    return (*[cast._replace(output=slots[cast.output]) for cast in casts], *own)


class _Planner:
    """The state of a tree under construction: which slots still wait to be contracted."""

    def __init__(
        self,
        contraction: Contraction,
        operands: Sequence[Operand],
        out_strides: Sequence[int],
        dtype: str,
        conj: Sequence[bool],
    ) -> None:
        self.contraction = contraction
        self.dtype = dtype
        self.tensors = list(operands)
        self.conj = list(conj)
        self.live = list(range(len(operands)))
        self.steps: list[Step] = []
        sizes = contraction.sizes
        axes = zip(contraction.output, out_strides, strict=True)
        self.result = {label: stride for label, stride in axes if sizes[label] > 1}
        # How many waiting operands, and the result, need each label.
        self.uses = [0] * len(sizes)
        for labels in (self.result, *(o.labels for o in operands)):
            for label in labels:
                self.uses[label] += 1
        unmoved = [label for label in contraction.summed if not self.uses[label]]
        # Of n equal bools the sum (or) is the bool itself.
        self.factor = 1 if dtype == "bool" else math.prod(sizes[label] for label in unmoved)
        self.products_left = len(self.live) - 1

    def run_group(self, group: tuple[int, ...]) -> None:
        """Contract the operands at some positions of the waiting list, two at a time."""
        self._check_group(group)
        slots = [self.live[position] for position in group]
        for position in sorted(group, reverse=True):
            del self.live[position]
        slot = slots[0]
        if len(slots) == 1 and self.products_left:
            slot = self._reduce(slot)
        for other in slots[1:]:
            slot = self._multiply(slot, other)
        self.live.append(slot)

    def _check_group(self, group: tuple[int, ...]) -> None:
        n = len(self.live)
        if not group or len(set(group)) < len(group) or not all(0 <= p < n for p in group):
            raise EinsumError(
                f"step {group} of the path does not fit: its positions must be different "
                f"and below {n}, the number of operands left at that step",
                self.contraction.spec.text,
            )

    def finish(self) -> tuple[Step, ...]:
        if self.products_left:
            raise RuntimeError(
                f"invalid path: {self.products_left} more operand(s) would have to be contracted"
            )
        if not self.steps or self.steps[-1].size is not None:
            self._emit((self.live[0],), self.result, last=True)
        return tuple(self.steps)

    def _multiply(self, first: int, second: int) -> int:
        """A two-operand step; returns the slot of its result."""
        last = self.products_left == 1
        inputs = (first, second)
        if not (last and self._is_brief(inputs)):
            inputs = (self._reduce(first), self._reduce(second))
        self.products_left -= 1
        operands = [self._take(slot) for slot in inputs]
        if not self.products_left:
            return self._emit(inputs, self.result, last=True)
        a, b = (operand.labels for operand in operands)
        common, fastest = set(a) & set(b), {_fastest(operand) for operand in operands}
        inner = [label for label in common if fastest == {label}]
        shared = [label for label in a if label in common and label not in inner]
        lone = [label for label in (*a, *b) if label not in common]
        return self._emit(inputs, self._dense([*shared, *lone, *inner]))

    def _is_brief(self, slots: tuple[int, int]) -> bool:
        """Whether so little is multiplied that sums over one operand alone are no steps before the
        product, but part of it."""
        labels = {label for slot in slots for label in self.tensors[slot].labels}
        return math.prod([self.contraction.sizes[label] for label in labels]) <= BRIEF

    def _reduce(self, slot: int) -> int:
        """Sum the labels that only this operand has; returns the slot to go on with."""
        labels = self.tensors[slot].labels
        if all(self.uses[label] > 1 for label in labels):
            return slot
        self._take(slot)
        return self._emit((slot,), self._dense(labels))

    def _take(self, slot: int) -> Operand:
        for label in self.tensors[slot].labels:
            self.uses[label] -= 1
        return self.tensors[slot]

    def _dense(self, labels: Sequence[int]) -> dict[int, int]:
        """Strides of an intermediate result that keeps, of these labels, what is still needed."""
        strides: dict[int, int] = {}
        step = 1
        for label in reversed(labels):
            if self.uses[label]:
                strides[label] = step
                step *= self.contraction.sizes[label]
        return dict(reversed(strides.items()))

    def _emit(self, inputs: tuple[int, ...], target: dict[int, int], last: bool = False) -> int:
        """Append the step that computes the labels of `target`, with these strides."""
        # The sum of an intermediate step leaves the conjugation to the step that reads it.
        waits = len(inputs) == 1 and not last
        conj = [self.conj[slot] and not waits for slot in inputs]
        sizes, names = self.contraction.sizes, self.contraction.names
        operands = [self.tensors[slot] for slot in inputs]
        result = Operand(tuple(target), tuple(target.values()))
        step = Step(
            self._operation(operands, target, conj),
            inputs,
            len(self.tensors),
            None if last else math.prod([sizes[label] for label in target]),
            self.factor if last else 1,
            tuple([tuple([names[i] for i in t.labels]) for t in (*operands, result)]),
        )
        self.steps.append(step)
        self.tensors.append(result)
        self.conj.append(waits and self.conj[inputs[0]])
        for label in target:
            self.uses[label] += 1
        return step.output

    def _operation(
        self, operands: Sequence[Operand], target: dict[int, int], conj: Sequence[bool]
    ) -> TensorOp:
        """The `TensorOp` of a step: one dimension a label, its type by which tensors have it."""
        sizes, names = self.contraction.sizes, self.contraction.names
        summed = dict.fromkeys([i for t in operands for i in t.labels if i not in target])
        strides = [dict(zip(t.labels, t.strides, strict=True)).get for t in operands]
        dimensions = []
        for label in (*target, *summed):
            moves = [stride(label) for stride in strides]
            kept = target.get(label)
            type_ = _dim_type(moves, kept is not None)
            steps = (*[move or 0 for move in moves], kept or 0)
            dimensions.append(Dimension(type_, sizes[label], steps, ExecType.SEQ, names[label]))
        main = Primitive.GEMM
        if len(operands) == 1:
            main = Primitive.SUM if summed else Primitive.COPY
        return TensorOp(_tensors(self.dtype, tuple(conj)), tuple(dimensions), main)


def _fastest(operand: Operand) -> int | None:
    """The label along which neighbours in memory lie."""
    steps = zip(map(abs, operand.strides), operand.labels, strict=True)
    return min((pair for pair in steps if pair[0]), default=(0, None))[1]


@cache
def _tensors(dtype: str, conj: tuple[bool, ...]) -> tuple[Tensor, ...]:
    """The inputs and the result of a step."""
    inputs = [Tensor(f"in{i}", dtype, flag) for i, flag in enumerate(conj)]
    return (*inputs, Tensor("out", dtype))


def _dim_type(moves: Sequence[int | None], kept: bool) -> DimType:
    """The type of a dimension, by the inputs that move along it and whether the result does."""
    if not kept:
        return DimType.K
    if (moves[0] is None) == (moves[-1] is None):
        return DimType.C
    return DimType.N if moves[0] is None else DimType.M
