"""An operation on temporaries as a single plan: its copies and itself, linked one after the other.

`rearranged.py` runs these parts from Python, each as an executable of its own, and is what this is
tested against. Bound together they cost no more than their work: the temporaries are scratch of the
plan, and a warm call is one call of generated code. `Realigned.links` says what is left to
`rearranged.py`; so are calls with an alpha or a beta, of which each is for one part only.
"""

from __future__ import annotations

from collections.abc import Callable

from tensorop.bind import bind_chain
from tensorop.bind_tables import OPERANDS, TEMPORARIES, Part
from tensorop.executable import NO_OPERAND, Stage, threads_for
from tensorop.explain import show_planned
from tensorop.ir import TensorOp
from tensorop.jit.elements import element
from tensorop.jit.entry import kernel_addresses
from tensorop.jit.gemm_abi import GemmKernel
from tensorop.jit.slots import Slot
from tensorop.optimizer.choice import MODEL, Choice
from tensorop.optimizer.machine import host_machine
from tensorop.optimizer.normalise import normalised
from tensorop.optimizer.pipeline import optimise
from tensorop.optimizer.realign import Realigned
from tensorop.runnable import Runnable
from tensorop.schedule import Schedule


class Linked:
    """A `Planner`. parts: of the operation. choice: decisions on the operation itself, in place of
    the model's. apart: makes what runs the parts one by one."""

    def __init__(self, parts: Realigned, choice: Choice, apart: Callable[[], Runnable]) -> None:
        self._parts, self._choice, self._apart = parts, choice, apart
        self._scaled: Runnable | None = None

    @property
    def note(self) -> str:
        """As `Planner.note`."""
        return self._parts.note

    @property
    def scaled(self) -> Runnable:
        """As `Planner.scaled`."""
        # Without a lock, as in `Executable`: a `cached_property` has one in Python 3.11.
        if self._scaled is None:
            self._scaled = self._apart()
        return self._scaled

    def stages(self, threads: int) -> tuple[Stage, ...]:
        """As `Planner.stages`: a single one."""
        bound_parts = self._linked(threads)
        show_planned(self._parts.op, [part.schedule for part in bound_parts])
        target, parts = host_machine().target, self._parts
        size = element(parts.op.dtype).size
        temporaries = {slot: parts.size(t) * size for t, slot in self._slots().items()}
        bound, kernels = bind_chain(bound_parts, temporaries, target)
        addresses = kernel_addresses(kernels, target, bound.brief)
        lines = any(isinstance(kernel, GemmKernel) and kernel.past for kernel in kernels)
        return (Stage(bound, addresses, (0, 1, 2, NO_OPERAND), False, lines, kernels),)

    def schedules(self, threads: int) -> tuple[Schedule, ...]:
        """As `Planner.schedules`."""
        return tuple(part.schedule for part in self._linked(threads))

    def of(self, op: TensorOp) -> Linked:
        """As `Planner.of`."""
        parts = self._parts._replace(op=normalised(op))
        return Linked(parts, self._choice, self._apart)

    def _slots(self) -> dict[int, Slot]:
        """Of the temporaries, by the tensors that they stand for."""
        return dict(zip(self._parts.orders, TEMPORARIES, strict=False))

    def _linked(self, threads: int) -> list[Part]:
        """Inputs are copied first, an output last."""
        parts, temporary = self._parts, self._slots()
        own = dict(enumerate((*OPERANDS, Slot.OUT)))
        copies = {t: _scheduled(parts.copy(t), threads, MODEL) for t in temporary}
        linked = [
            Part(copy, (own[t], temporary[t])) for t, copy in copies.items() if t != parts.op.out
        ]
        main = _scheduled(parts.main(), threads, self._choice)
        in0, in1, out = (temporary.get(t, slot) for t, slot in own.items())
        linked.append(Part(main, (in1, in0, out) if main.swapped else (in0, in1, out)))
        if parts.op.out in copies:
            linked.append(Part(copies[parts.op.out], (out, own[parts.op.out])))
        return linked


def _scheduled(op: TensorOp, threads: int, choice: Choice) -> Schedule:
    return optimise(op, host_machine(), threads_for(op, threads) or threads, choice)
