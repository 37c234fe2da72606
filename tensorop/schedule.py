"""A tensor operation fully decided: what the optimizer makes of a `TensorOp`.

A `Schedule` groups the operation's dimensions into `Axis`es and has a loop nest over them: `Loop`s
around `Pack`s and `Call`s of kernels. As in `ir.py` all of it is plain, immutable data that can be
compared, printed and checked. What only runs operations needs nothing of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tensorop.ir import Dimension, DimType, ExecType, TensorOp
from tensorop.tuples import NamedTuple


class Axis(NamedTuple):
    """An ordered group of dimensions of one type, flattened: the last dimension runs fastest.

    name: how loops refer to it ("M", "N", "K", "BR", "C0", ...).
    turned: (by, length) where every `length` positions, which lie side by side, begin with their
    element `by` and end with the one before it.
    """

    name: str
    type: DimType
    dimensions: tuple[Dimension, ...]
    turned: tuple[int, int] = (0, 1)

    @property
    def size(self) -> int:
        return math.prod([d.size for d in self.dimensions])

    def stride(self, tensor: int) -> int | None:
        """The one stride (in elements) that the whole axis has in a tensor, or None."""
        dims = [d for d in self.dimensions if d.size > 1]
        if not dims:
            return 0
        if self.turned[0]:
            return None
        expected = dims[-1].strides[tensor]
        step = expected
        for d in reversed(dims):
            if d.strides[tensor] != expected:
                return None
            expected *= d.size
        return step

    def unit_run(self, tensor: int) -> int:
        """How many consecutive positions of the axis lie at consecutive addresses of a tensor."""
        return self.even_run(tensor, 1)

    def even_run(self, tensor: int, step: int) -> int:
        """How many consecutive positions of the axis lie so many elements apart in a tensor."""
        run = 1
        for _, size, strides, *_ in reversed(self.dimensions):
            if size == 1:
                continue
            if strides[tensor] != step * run:
                break
            run *= size
        return run


class Loop(NamedTuple):
    """`for axis in blocks of `block`: body`. Blocks are in elements of the axis, the last may be
    short. An axis looped over twice is cut finer by the inner loop. SHARED loops that lie directly
    inside one another form one flat space divided among `shares` threads. anew: positions in the
    body are counted from the beginning of the block, as if the axis began there."""

    axis: str
    block: int
    exec: ExecType
    body: tuple[Step, ...]
    anew: bool = False


class Pack(NamedTuple):
    """Copy the current block of `tensor` into panels: [panel of `lanes` axis][other axis][lane].

    tensor: index of the source tensor; lanes: name of the axis across a panel; width: lanes of a
    panel; depth: name of the axis along a panel. Padding lanes hold zeros. ahead: whether the
    product asks memory meanwhile for what is packed next. asks: whether the copy itself asks for
    what it reads next, which comes from beyond L2.
    """

    tensor: int
    lanes: str
    width: int
    depth: str
    ahead: bool = False
    asks: bool = False


class Call(NamedTuple):
    """Run a kernel on the current blocks.

    kernel: its description (`tensorop.jit`). tensors: which tensor of the operation (or `BIAS`) is
    the kernel's in0, [in1,] out. axes: the axes it runs over: M, N, K[, BR] for a matrix product,
    those of its descriptor for everything else. when: "always", "first" (before the first K block
    of an output block) or "last" (after its last). together: of so many blocks, where those of one
    call after the other lie beside one another, a kernel that asks for the next one asks at once.
    """

    kernel: Any
    tensors: tuple[int, ...]
    axes: tuple[str, ...]
    when: str = "always"
    together: int = 1


Step = Loop | Pack | Call
BIAS = -1  # in `Call.tensors`: the tensor that a bias copy reads, laid out as the output


class Schedule(NamedTuple):
    """A `TensorOp` fully decided: its axes, the loop nest over them and the number of shares that
    a parallel region is divided into. `notes` says what each pass did and why."""

    op: TensorOp
    axes: tuple[Axis, ...]
    body: tuple[Step, ...]
    shares: int = 1
    swapped: bool = False  # in0 and in1 of `op` are the caller's in1 and in0
    notes: tuple[str, ...] = ()

    def axis(self, name: str) -> Axis:
        for axis in self.axes:
            if axis.name == name:
                return axis
        raise KeyError(f"no axis {name!r} in this schedule")

    def steps(self) -> Iterator[tuple[int, Step]]:
        """Every step with its depth, outermost first."""

        def walk(body: tuple[Step, ...], depth: int) -> Iterator[tuple[int, Step]]:
            for step in body:
                yield depth, step
                if isinstance(step, Loop):
                    yield from walk(step.body, depth + 1)

        return walk(self.body, 0)

    def verify(self) -> None:
        """Every dimension lies on exactly one axis, every loop names an axis, blocks nest."""
        self.op.verify()
        names = [a.name for a in self.axes]
        if len(set(names)) != len(names):
            raise ValueError(f"two axes share a name: {names}")
        on_axes = sorted(str(d) for a in self.axes for d in a.dimensions)
        if on_axes != sorted(str(d) for d in self.op.dimensions):
            raise ValueError("the axes do not hold exactly the operation's dimensions")
        for axis in self.axes:
            if any(d.type != axis.type for d in axis.dimensions):
                raise ValueError(f"axis {axis.name} mixes dimension types")
            if axis.size % axis.turned[1]:
                raise ValueError(f"axis {axis.name} is turned in parts that do not make it up")
        self._verify_body(self.body, {a.name: a.size for a in self.axes})

    def _verify_body(self, body: tuple[Step, ...], room: dict[str, int]) -> None:
        for step in body:
            if isinstance(step, Loop):
                if step.axis not in room:
                    raise ValueError(f"a loop over {step.axis!r}, which is no axis")
                if not 0 < step.block <= room[step.axis]:
                    raise ValueError(
                        f"loop over {step.axis}: block {step.block} of {room[step.axis]} elements"
                    )
                self._verify_body(step.body, {**room, step.axis: step.block})
            elif isinstance(step, Pack) and not {step.lanes, step.depth} <= room.keys():
                raise ValueError(f"a pack names axes {step.lanes}, {step.depth} that do not exist")
