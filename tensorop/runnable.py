"""What every executable is, whatever it runs an operation as."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from tensorop.ir import TensorOp

if TYPE_CHECKING:
    from tensorop.schedule import Schedule

Operand: TypeAlias = (
    Any  # an array, of which the address of the first element counts, or an address
)


def address(operand: Operand) -> int:
    """Where the first element of an operand is."""
    return operand if isinstance(operand, int) else int(operand.ctypes.data)


class Runnable(Protocol):
    """An operation that can be run any number of times, from any thread.

    op: the operation. note: how it is run, where that is not as one schedule. schedules: those that
    run it, for the setting of threads in force.
    """

    op: TensorOp

    @property
    def note(self) -> str: ...

    @property
    def schedules(self) -> tuple[Schedule, ...]: ...

    def run(
        self,
        arrays: Sequence[Operand],
        alpha: Any = None,
        beta: Any = None,
        bias: Operand | None = None,
    ) -> None:
        """Run it: out = alpha * main(in0, in1) + beta * out.

        Parameters
        ----------
        arrays : in0[, in1], out
            Plain arrays, or addresses, of what the operation was made for.
        alpha, beta : scalar of the compute dtype, or None
            None: 1 and 0. Where beta is 0, out is not read. A first touch decides beta: what it
            leaves in out is added to as it is.
        bias : array, optional
            What a first touch `copy` starts from, laid out as out.
        """


Plan: TypeAlias = Callable[[TensorOp], Runnable]  # makes an operation runnable
