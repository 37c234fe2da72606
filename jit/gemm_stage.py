"""Tiles of C that are put together before they leave for memory past the caches.

Rows of C that are no whole cache lines cannot be stored past the caches one by one. But where
columns lie one after the other, those of every run of consecutive rows are a stretch of many lines.
Tiles put the columns of a few panels together on a stage in L1; as soon as all rows of a run are
there, and some more tiles have been computed, so that no load waits for a store, they are sent off:
whole lines past the caches.

Lines that a stretch has only a part of wait until the stretch before or behind it brings the rest:
that of the next panels, or of the next run. Only where none does is a part stored by itself,
through the caches (`gemm_parts.py`): a line is then read from memory.

The stage is a ring of `GemmWord.C_HELD` runs, each [column][row], for all rows of some columns.

Stores past the caches: Intel 64 and IA-32 Architectures Optimization Reference Manual, 9.6.
"""

from __future__ import annotations

from llvmlite import ir

from tensorop.jit.abi import WORD as WORD_BYTES
from tensorop.jit.abi import Frame
from tensorop.jit.arithmetic import Arithmetic, Number
from tensorop.jit.builder import BYTE, POINTER, VOID, WORD, Code, Value
from tensorop.jit.elements import Element
from tensorop.jit.gemm_abi import MOST_RUNS, STAGE_BYTES, GemmKernel, GemmWord, lag
from tensorop.jit.gemm_parts import Parts
from tensorop.jit.lines import LINE
from tensorop.jit.slots import AxisSlot

# Words of a stretch: where it begins in a run on the stage, where in C, and how long it is.
AT, OFFSET, BYTES, STRETCH = range(4)
# Words of the state: stretches of a run, the next run to be sent off, and its place on the stage;
# the number of the first stretch among those of all columns, that of the last, and where that ends.
COUNT, RUN, PLACE, FIRST, LAST, END, STATE = range(7)
# Lines of a stretch that may wait: the one that it ends in, and the one that it begins in. Those of
# so many stretches of a run have places of their own.
ENDS, BEGINS, EACH = range(3)
STRETCHES = 2
EACH_RUN = STRETCHES * EACH


class Stage:
    """The stage of a kernel, and which of its runs have been sent off.

    first: of the columns on the stage the one that a tile begins with.
    """

    def __init__(
        self, code: Code, element: Element, kernel: GemmKernel, column_table: Value
    ) -> None:
        self.code, self.column_table = code, column_table
        self.lag, columns = lag(kernel.panels), kernel.panels * kernel.columns
        self.first: Value | int = 0
        # Lines are read that reach past both ends.
        self.address = code.at(code.stack(BYTE, STAGE_BYTES + 2 * LINE), LINE)
        self.stretches = code.stack(WORD, columns * STRETCH)
        self.state = code.stack(WORD, STATE)
        self.lines = code.stack(BYTE, (MOST_RUNS + 1) * EACH_RUN * LINE)
        self.waiting = code.stack(WORD, (MOST_RUNS + 1) * EACH_RUN)
        self.leaving = code.stack(BYTE, Parts.BYTES)
        self.rows = code.word(code.descriptor, GemmWord.C_RUN)
        self.run_bytes = code.mul(self.rows, element.size)
        self.start = code.word(code.frame, Frame.START + AxisSlot.M)
        self.first_run = self._runs(self.start)
        stop = code.add(self.start, code.word(code.frame, Frame.SIZE + AxisSlot.M))
        self.stop = self._runs(stop)
        self.parts = Parts(code, element)
        self.sending = _Sending(code, element, columns, self.parts)

    def clear(self) -> None:
        """Before the first columns: no line waits."""
        code = self.code
        with code.loop(code.mul(self._count(), EACH_RUN)) as i:
            code.set_word(self.waiting, i, 0)
        for word in (LAST, END):
            code.set_word(self.state, word, 0)
        self.parts.clear(code, self.leaving)

    def begin(self, column: Value, columns: Value) -> None:
        """Of so many columns from the given one on, find those that lie one after the other."""
        code = self.code
        table = code.at(self.column_table, code.mul(column, WORD_BYTES))
        nowhere = code.add(code.word(table, 0), 1)

        def stretch(number: Value) -> Value:
            return code.at(self.stretches, code.mul(number, STRETCH * WORD_BYTES))

        with code.reduce(columns, [code.int(0), nowhere]) as carried:
            count, end = carried.values
            offset = code.word(table, carried.index)
            follows = code.equal(offset, end)
            with code.either(follows) as (then, otherwise):
                with then:
                    last = stretch(code.sub(count, 1))
                    code.set_word(last, BYTES, code.add(code.word(last, BYTES), self.run_bytes))
                with otherwise:
                    new, at = stretch(count), code.mul(carried.index, self.run_bytes)
                    for word, value in ((AT, at), (OFFSET, offset), (BYTES, self.run_bytes)):
                        code.set_word(new, word, value)
            more = code.builder.select(follows, code.int(0), code.int(1))
            carried.update([code.add(count, more), code.add(offset, self.run_bytes)])
        held = code.word(code.descriptor, GemmWord.C_HELD)
        count, end = carried.values
        goes_on = code.equal(code.word(table, 0), code.word(self.state, END))
        before = code.word(self.state, LAST)
        first = code.builder.select(goes_on, before, code.add(before, 1))
        last = code.sub(code.add(first, count), 1)
        for word, value in ((COUNT, count), (FIRST, first), (LAST, last), (END, end)):
            code.set_word(self.state, word, value)
        code.set_word(self.state, RUN, self.first_run)
        code.set_word(self.state, PLACE, code.builder.urem(self.first_run, held))

    def column(self, n: int) -> Value:
        """Where the n-th column of a tile begins in every run."""
        return self.code.at(
            self.address, self.code.mul(self.run_bytes, self.code.add(self.first, n))
        )

    def send(self, row: Value, rows: int) -> None:
        """The tiles of some rows are there, from one on that is counted from the block's first:
        send off the runs that were complete some tiles ago."""
        before = self.code.max(0, self.code.sub(row, (self.lag - 1) * rows))
        self._send(self._runs(self.code.add(self.start, before)))

    def end(self) -> None:
        """Send off what there is of these columns."""
        self._send(self.stop)

    def flush(self) -> None:
        """After the last columns: store the lines that wait."""
        code = self.code
        with code.loop(code.mul(self._count(), EACH_RUN)) as slot:
            line = code.at(self.lines, code.mul(slot, LINE))
            self.parts.leave(code, self.leaving, line, code.word(self.waiting, slot))
        self.parts.end(code, self.leaving)

    def _count(self) -> Value:
        """Runs of the block, and one that none of its own precedes."""
        return self.code.add(self.code.sub(self.stop, self.first_run), 1)

    def _runs(self, row: Value) -> Value:
        return self.code.builder.udiv(row, self.rows)

    def _send(self, stop: Value) -> None:
        code = self.code
        memory = self.address, self.stretches, self.state, self.lines, self.waiting, self.leaving
        arguments = [code.descriptor, code.frame, *memory, self.first_run, stop]
        code.call(self.sending.name, VOID, arguments)


class _Sending:
    """Generator of the function that sends off runs.

    `send(descriptor, frame, stage, stretches, state, lines, waiting, leaving, block, stop)`: the
    runs up to before `stop`; `block`: the first run of the block. From slot EACH_RUN * r of `lines`
    on are those of the stretches of run r. `waiting` has the limits of these parts, 0 for
    none (see `Parts`).
    """

    TYPE = ir.FunctionType(VOID, [POINTER] * 8 + [WORD] * 2)

    def __init__(self, caller: Code, element: Element, columns: int, parts: Parts) -> None:
        self.name, self.element, self.columns = f"{caller.function.name}_send", element, columns
        self.parts = parts
        self.code = code = Code(caller.target, self.name, self.TYPE, caller.module)
        code.function.linkage = "internal"
        self.whole = Arithmetic(code, element, LINE // element.size)
        self.lines, self.waiting, self.leaving = code.function.args[5:8]
        self._generate()

    def _generate(self) -> None:
        code = self.code
        _, _, stage, stretches, state, *_, block, stop = code.function.args
        out = code.pointer(code.frame, code.word(code.descriptor, GemmWord.C_SLOT))
        table = code.pointer(code.descriptor, GemmWord.C_M_TABLE)
        rows, held = (code.word(code.descriptor, w) for w in (GemmWord.C_RUN, GemmWord.C_HELD))
        run_bytes = code.mul(rows, self.columns * self.element.size)
        count, first, place, number = (code.word(state, i) for i in (COUNT, RUN, PLACE, FIRST))
        with code.reduce(stop, [place], start=first) as carried:
            (place,), run = carried.values, carried.index
            source = code.at(stage, code.mul(place, run_bytes))
            target = code.at(out, code.word(table, code.mul(run, rows)))
            with code.loop(count) as i:
                stretch = code.at(stretches, code.mul(i, STRETCH * WORD_BYTES))
                at, offset, length = (code.word(stretch, word) for word in (AT, OFFSET, BYTES))
                slot = code.builder.and_(code.add(number, i), code.int(STRETCHES - 1))
                here = code.add(code.mul(code.sub(run, block), EACH_RUN), code.mul(slot, EACH))
                self._stretch(code.at(source, at), code.at(target, offset), length, here)
            after = code.add(place, 1)
            wraps = code.equal(after, held)
            carried.update([code.builder.select(wraps, code.int(0), after)])
        code.set_word(state, RUN, code.max(first, stop))
        code.set_word(state, PLACE, carried.values[0])
        code.finish()

    def _stretch(self, source: Value, target: Value, length: Value, here: Value) -> None:
        """Send off a stretch, which is longer than a line, of the run whose words begin there."""
        code, whole = self.code, self.whole
        address = code.builder.ptrtoint(target, WORD)
        head = code.within_line(code.sub(0, address))
        with code.when(code.nonzero(head)):
            self._begin(source, address, head, here)
        source, target = (code.at(start, head) for start in (source, target))
        left = code.sub(length, head)
        tail = code.within_line(left)
        lines = code.sub(left, tail)
        with code.loop(lines, step=LINE) as i:
            whole.store_past_caches(whole.load(code.at(source, i)), code.at(target, i))
        with code.when(code.nonzero(tail)):
            self._end(code.at(source, lines), code.add(address, length), tail, here)

    def _begin(self, source: Value, address: Value, head: Value, here: Value) -> None:
        """The rest of a line that waits: where this run ended in panels before, or where the run
        before has just ended; or it waits for one of them."""
        code = self.code
        begun = code.sub(LINE, head)
        number = self.whole.load(code.at(source, code.sub(0, begun)))
        before = code.max(code.sub(here, EACH_RUN), 0)
        own, before = (code.add(run, ENDS) for run in (here, before))
        same = code.equal(code.word(self.waiting, own), address)
        slot = code.builder.select(same, own, before)
        line = code.at(self.lines, code.mul(slot, LINE))
        with code.either(code.equal(code.word(self.waiting, slot), address)) as (then, otherwise):
            with then:
                self._whole_line(self.whole.load(line), number, begun, code.sub(address, begun))
                code.set_word(self.waiting, slot, 0)
            with otherwise:
                self._wait(number, code.add(here, BEGINS), code.sub(0, address))

    def _end(self, source: Value, end: Value, tail: Value, here: Value) -> None:
        """What is before the rest of a line that waits, where the next run began in panels before;
        or it waits for the next panels, or the next run."""
        code, following = self.code, self.code.add(here, EACH_RUN + BEGINS)
        number = self.whole.load(source)
        waits = code.equal(code.word(self.waiting, following), code.sub(0, end))
        with code.either(waits) as (then, otherwise):
            with then:
                line = code.at(self.lines, code.mul(following, LINE))
                self._whole_line(number, self.whole.load(line), tail, code.sub(end, tail))
                code.set_word(self.waiting, following, 0)
            with otherwise:
                self._wait(number, code.add(here, ENDS), end)

    def _whole_line(self, first: Number, second: Number, length: Value, address: Value) -> None:
        """Store so many bytes of one and what is behind them of the other."""
        code = self.code
        count = code.builder.udiv(length, code.int(self.element.size))
        number = self.whole.blended(first, second, count)
        self.whole.store_past_caches(number, code.builder.inttoptr(address, POINTER))

    def _wait(self, number: Number, slot: Value, limit: Value) -> None:
        """Keep a line until the rest comes; what waited in that place gives up."""
        code = self.code
        line = code.at(self.lines, code.mul(slot, LINE))
        self.parts.leave(code, self.leaving, line, code.word(self.waiting, slot))
        self.whole.store(number, line)
        code.set_word(self.waiting, slot, limit)
