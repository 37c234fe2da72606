"""What a pass gives back: the operation it made, and a sentence on what it did and why.

Every pass of the optimizer is a function from a `TensorOp` (and a few numbers) to a `PassResult`.
A pass that decides more than an operation can say returns a subclass with further fields. The
notes of all passes, in order, are what `plan.explain()` prints."""

from __future__ import annotations

from dataclasses import dataclass

from tensorop.ir import Dimension, TensorOp


@dataclass(frozen=True, slots=True)
class PassResult:
    """The operation after a pass, and what the pass did and why."""

    op: TensorOp
    note: str


def describe(dimension: Dimension) -> str:
    """How notes name a dimension: type, label and size, as in `M a=64`."""
    return f"{dimension.type} {dimension.name}={dimension.size}".replace(" =", "=")


def listing(dimensions: tuple[Dimension, ...] | list[Dimension]) -> str:
    """Several dimensions in a note."""
    return ", ".join(describe(d) for d in dimensions) or "none"
