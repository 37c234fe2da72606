"""What a pass gives back: the operation it made, and a sentence on what it did and why.

Every pass of the optimizer is a function from a `TensorOp` (and a few numbers) to a `PassResult`.
A pass that decides more than an operation can say returns a tuple with further fields. The
notes of all passes, in order, are what `plan.explain()` prints. A pass is marked `traced`: at debug
level 2 it prints the dimensions before and after."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, Protocol, TypeVar, cast

from tensorop.debug import Level, show
from tensorop.ir import Dimension, TensorOp


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


Pass = TypeVar("Pass", bound=Callable[..., Result])


def traced(step: Pass) -> Pass:
    """The pass, showing its work at debug level 2."""

    @wraps(step)
    def run(op: TensorOp, *args: Any, **kwargs: Any) -> Result:
        result = step(op, *args, **kwargs)
        show(Level.PASSES, lambda: _changes(step.__name__, op, result))
        return result

    return cast(Pass, run)


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
