"""What a pass gives back: the operation it made, and a sentence on what it did and why.

Every pass of the optimizer is a function from a `TensorOp` (and a few numbers) to a `PassResult`.
A pass that decides more than an operation can say returns a tuple with further fields. `Passes`
runs them: it collects their notes, which are what `plan.explain()` prints, and at debug level 2 it
prints the dimensions before and after each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from tensorop.debug import Level, show, wants
from tensorop.ir import Dimension, TensorOp
from tensorop.tuples import NamedTuple


class PassResult(NamedTuple):
    """The operation after a pass, and what the pass did and why."""

    op: TensorOp
    note: str


class Result(Protocol):
    """A `PassResult`, or one with more fields."""

    @property
    def op(self) -> TensorOp: ...
    @property
    def note(self) -> str: ...


R = TypeVar("R", bound=Result)


class Passes:
    """The passes that one operation goes through.

    notes: of all passes so far, in order.
    """

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._shows = wants(Level.PASSES)  # once: the setting may be looked up in the environment

    def run(self, step: Callable[..., R], op: TensorOp, *args: Any, quiet: bool = False) -> R:
        """Run a pass; quiet: where it changes nothing there is nothing to say."""
        result = step(op, *args)
        if not quiet or result.op is not op:
            self.notes.append(f"{step.__name__}: {result.note}")
        if self._shows:
            result.op.verify()
            show(Level.PASSES, lambda: _changes(step.__name__, op, result))
        return result


def _changes(name: str, before: TensorOp, result: Result) -> str:
    lines = [f"{name}: {result.note}"]
    for when, op in (("before", before), ("after", result.op)):
        dimensions = (f"{d.exec} {describe(d)} {d.strides}" for d in op.dimensions)
        lines.append(f"  {when:<6} {', '.join(dimensions) or 'one point'}")
    return "\n".join(lines)


def describe(dimension: Dimension) -> str:
    """How notes name a dimension: type, label and size, as in `M a=64`."""
    return f"{dimension.type} {dimension.name}={dimension.size}".replace(" =", "=")


def listing(dimensions: tuple[Dimension, ...] | list[Dimension]) -> str:
    """Several dimensions in a note."""
    return ", ".join(describe(d) for d in dimensions) or "none"
