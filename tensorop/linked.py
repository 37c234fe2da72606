"""An operation on temporaries as a single plan: its copies and itself, linked one after the other.

`rearranged.py` runs these parts from Python, each as an executable of its own, and is what this is
tested against. Bound together they cost no more than their work: the temporaries are scratch of the
plan, and a warm call is one call of generated code. `Realigned.links` says what is left to
`rearranged.py`; so are calls with an alpha or a beta, of which each is for one part only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tensorop.bind import bind_chain
from tensorop.bind_tables import OPERANDS, TEMPORARIES, Around, Part
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


class InParts:
    """What `Planner`s of several parts in a single plan have in common. apart: makes what runs the
    parts one by one, with an alpha or a beta, too."""

    def __init__(self, apart: Callable[[], Runnable]) -> None:
        self._apart = apart
        self._scaled: Runnable | None = None

    @property
    def scaled(self) -> Runnable:
        """As `Planner.scaled`."""
        # Without a lock, as in `Executable`: a `cached_property` has one in Python 3.11.
        if self._scaled is None:
            self._scaled = self._apart()
        return self._scaled


class Linked(InParts):
    """A `Planner`. parts: of the operation. choice: decisions on the operation itself, in place of
    the model's."""

    def __init__(self, parts: Realigned, choice: Choice, apart: Callable[[], Runnable]) -> None:
        super().__init__(apart)
        self._parts, self._choice = parts, choice

    @property
    def note(self) -> str:
        """As `Planner.note`."""
        return self._parts.note

    def stages(self, threads: int) -> tuple[Stage, ...]:
        """As `Planner.stages`: a single one."""
        return (chained(self._parts.op, self._linked(threads), room(self._parts)),)

    def schedules(self, threads: int) -> tuple[Schedule, ...]:
        """As `Planner.schedules`."""
        return tuple(part.schedule for part in self._linked(threads))

    def of(self, op: TensorOp) -> Linked:
        """As `Planner.of`."""
        parts = self._parts._replace(op=normalised(op))
        return Linked(parts, self._choice, self._apart)

    def _linked(self, threads: int) -> list[Part]:
        return link(self._parts, threads, self._choice)


def chained(
    op: TensorOp,
    parts: list[Part],
    temporaries: Mapping[Slot, int],
    around: Around | None = None,
) -> Stage:
    """A stage of parts of an operation that run one after the other, with temporaries of so many
    bytes; around: the loop that they are in."""
    show_planned(op, [part.schedule for part in parts])
    target = host_machine().target
    bound, kernels = bind_chain(parts, temporaries, target, around)
    addresses = kernel_addresses(kernels, target, bound.brief)
    lines = any(isinstance(kernel, GemmKernel) and kernel.past for kernel in kernels)
    in1 = 1 if op.out == 2 else NO_OPERAND
    return Stage(bound, addresses, (0, in1, op.out, NO_OPERAND), False, lines, kernels)


def link(
    parts: Realigned,
    threads: int,
    choice: Choice = MODEL,
    out: Slot = Slot.OUT,
    free: tuple[Slot, ...] = TEMPORARIES,
) -> list[Part]:
    """The parts of an operation whose output is in a slot, with temporaries in others: inputs are
    copied first, an output last."""
    op, temporary = parts.op, dict(zip(parts.orders, free, strict=False))
    own = dict(enumerate((*OPERANDS[: op.out], out)))
    copies = {t: scheduled(parts.copy(t), threads, MODEL) for t in temporary}
    linked = [Part(copy, (own[t], temporary[t])) for t, copy in copies.items() if t != op.out]
    main = scheduled(parts.main(), threads, choice)
    linked.append(placed(main, [temporary.get(t, slot) for t, slot in own.items()]))
    if op.out in copies:
        linked.append(Part(copies[op.out], (temporary[op.out], out)))
    return linked


def placed(schedule: Schedule, slots: Sequence[Slot], further: Sequence[int] = ()) -> Part:
    """The part of an operation whose tensors are in slots, so many bytes further than these say."""
    if not schedule.swapped:
        return Part(schedule, tuple(slots), tuple(further))
    return Part(schedule, (slots[1], slots[0], *slots[2:]), (*further[1::-1], *further[2:]))


def room(parts: Realigned, free: tuple[Slot, ...] = TEMPORARIES) -> dict[Slot, int]:
    """Bytes of the temporaries of `link`."""
    size = element(parts.op.dtype).size
    return {slot: parts.size(t) * size for t, slot in zip(parts.orders, free, strict=False)}


def scheduled(op: TensorOp, threads: int, choice: Choice = MODEL) -> Schedule:
    """The schedule of a part."""
    return optimise(op, host_machine(), threads_for(op, threads) or threads, choice)
