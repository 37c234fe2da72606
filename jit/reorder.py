"""Copies of small items whose elements change places: 2x2 and 3x3 matrices that are transposed, the
axes of a few qubits, the bytes of a pixel.

    for x, e:  target[x, e] = source[x, order[e]]

As many items as fit go through a vector at once, by one shuffle. Where they do not fill it, what is
stored behind them is overwritten with the next ones; the last items, behind which nothing may be
read or written, are moved one element after the other. A call that is more than the caches hold
goes through a stage, of which whole lines are stored past them.
"""

from __future__ import annotations

from llvmlite import ir

from tensorop.jit.abi import Frame
from tensorop.jit.arithmetic import indices
from tensorop.jit.builder import BYTE, WORD, Code, Value
from tensorop.jit.copy_parts import move_end, move_line
from tensorop.jit.instructions import vector_type
from tensorop.jit.lines import LINE
from tensorop.jit.reorder_abi import ReorderKernel, ReorderWord
from tensorop.jit.slots import AxisSlot
from tensorop.jit.target import Target

STAGE = 1 << 12  # bytes: lines that are not stored whole, at both ends of it, are few


def generate(kernel: ReorderKernel, target: Target) -> ir.Module:
    """The module of a kernel."""
    return _Reorder(kernel, target).generate()


class _Reorder:
    """The generator of one kernel."""

    def __init__(self, kernel: ReorderKernel, target: Target) -> None:
        self.code = code = Code(target, kernel.name)
        self.kernel, self.count, self.size = kernel, len(kernel.order), kernel.size
        whole = target.vector_bytes // kernel.size
        self.lanes = -(-self.count // whole) * whole  # of one vector, or of a few side by side
        self.element = ir.IntType(8 * kernel.size)
        self.vector = vector_type(self.element, self.lanes)
        self.source, self.target = (
            code.pointer(code.frame, code.word(code.descriptor, slot))
            for slot in (ReorderWord.SOURCE_SLOT, ReorderWord.TARGET_SLOT)
        )
        self.x = code.word(code.frame, Frame.SIZE + AxisSlot.X)

    def generate(self) -> ir.Module:
        if self.kernel.past:
            self._past_caches()
        else:
            self._move(self.source, self.target, self.x)
        return self.code.finish()

    def _move(self, source: Value, target: Value, items: Value) -> None:
        """So many items, in vectors as long as these do not go beyond them."""
        code, count, lanes = self.code, self.count, self.lanes
        together, reached = lanes // count, -(-lanes // count)
        fitting = code.max(0, code.sub(items, reached - 1))
        with code.reduce(fitting, [], step=together) as carried:
            self._shuffle(*self._places(source, target, carried.index))
        rounds = code.builder.udiv(code.add(fitting, together - 1), code.int(together))
        done = code.mul(rounds, together)
        with code.loop(items, start=done) as item:
            self._one_by_one(*self._places(source, target, item))

    def _places(self, source: Value, target: Value, item: Value) -> tuple[Value, Value]:
        offset = self.code.mul(item, self.count * self.size)
        return self.code.at(source, offset), self.code.at(target, offset)

    def _shuffle(self, source: Value, target: Value) -> None:
        """The items of a vector."""
        code, order, count = self.code, self.kernel.order, self.count
        vector = code.load(source, self.vector)
        whole = self.lanes // count * count
        # What is behind the items stays, whatever it is.
        places = [i // count * count + order[i % count] for i in range(whole)]
        places += range(whole, self.lanes)
        code.store(code.builder.shuffle_vector(vector, vector, indices(places)), target)

    def _one_by_one(self, source: Value, target: Value) -> None:
        code = self.code
        elements = [
            code.load(code.at(source, i * self.size), self.element) for i in self.kernel.order
        ]
        for i, element in enumerate(elements):
            code.store(element, code.at(target, i * self.size))

    def _past_caches(self) -> None:
        """Block after block into the stage, and from there."""
        code, item = self.code, self.count * self.size
        block = max(1, STAGE // item)
        stage = code.stack(BYTE, STAGE + self.lanes * self.size)
        with code.loop(self.x, step=block) as first:
            items = code.min(block, code.sub(self.x, first))
            source, target = self._places(self.source, self.target, first)
            self._move(source, stage, items)
            self._store(stage, target, code.mul(items, item))
        code.fence()

    def _store(self, stage: Value, target: Value, count: Value) -> None:
        """So many bytes, the lines that are whole past the caches."""
        code, builder = self.code, self.code.builder
        before = code.min(code.within_line(code.sub(0, builder.ptrtoint(target, WORD))), count)
        move_end(code, stage, target, before)
        lines = builder.and_(code.sub(count, before), code.int(-LINE))
        behind = code.add(before, lines)
        with code.loop(behind, start=before, step=LINE) as place:
            move_line(code, code.at(stage, place), code.at(target, place))
        move_end(code, code.at(stage, behind), code.at(target, behind), code.sub(count, behind))
