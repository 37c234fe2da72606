"""Lines of C of which only a part is known, and that are stored by themselves.

A store that waits for memory holds up all that come after it. A part leaves in two steps: its line
is asked for, and the part stored as soon as some more have been asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from tensorop.jit.abi import WORD as WORD_BYTES
from tensorop.jit.arithmetic import Arithmetic
from tensorop.jit.builder import POINTER, VOID, WORD, Code, Value
from tensorop.jit.elements import Element
from tensorop.jit.lines import LINE

LEAVING = 16  # parts that have been asked for: a power of two
# Words of the memory of those: where the next one goes, and the limit of each, 0 for none; the
# lines are behind them.
NEXT, LIMITS, WORDS = 0, 1, LEAVING + 1


class Parts:
    """Parts of lines that leave by themselves: what is before an address, the limit of a part, or,
    where that is given as a negative number, what is behind it."""

    BYTES = WORDS * WORD_BYTES + LEAVING * LINE  # of their memory

    def __init__(self, caller: Code, element: Element) -> None:
        self.caller, self.element = caller, element
        self.storing = self._generate("part", [POINTER, WORD], self._store)
        self.leaving = self._generate("leave", [POINTER, POINTER, WORD], self._leave)

    def clear(self, code: Code, leaving: Value) -> None:
        """Before the first part."""
        with code.loop(WORDS) as word:
            code.set_word(leaving, word, 0)

    def leave(self, code: Code, leaving: Value, line: Value, limit: Value) -> None:
        """Let a part leave, unless its limit is 0."""
        with code.when(code.nonzero(limit)):
            code.call(self.leaving, VOID, [leaving, line, limit])

    def end(self, code: Code, leaving: Value) -> None:
        """After the last part: store those that are left."""
        with code.loop(LEAVING) as place:
            self._let_go(code, leaving, place)

    def _generate(
        self, suffix: str, kinds: Sequence[ir.Type], body: Callable[[Code, Arithmetic], None]
    ) -> str:
        """A function of the kernel's module, and its name."""
        caller = self.caller
        name = f"{caller.function.name}_{suffix}"
        code = Code(caller.target, name, ir.FunctionType(VOID, kinds), caller.module)
        code.function.linkage = "internal"
        body(code, Arithmetic(code, self.element, LINE // self.element.size))
        code.finish()
        return name

    def _store(self, code: Code, whole: Arithmetic) -> None:
        """`part(line, limit)`: store what is known."""
        line, limit = code.function.args
        number = whole.load(line)
        for behind, address in ((False, limit), (True, code.sub(0, limit))):
            with code.when(code.less(0, address)):
                within = code.within_line(address)
                target = code.builder.inttoptr(code.sub(address, within), POINTER)
                count = code.builder.udiv(within, code.int(self.element.size))
                whole.store(number, target, count, behind=behind)

    def _leave(self, code: Code, whole: Arithmetic) -> None:
        """`leave(leaving, line, limit)`: ask for a line in C, in the place of the oldest one."""
        leaving, line, limit = code.function.args
        place = code.word(leaving, NEXT)
        self._let_go(code, leaving, place)
        code.set_word(leaving, code.add(place, LIMITS), limit)
        whole.store(whole.load(line), self._line(code, leaving, place))
        address = code.max(limit, code.sub(0, limit))
        code.prefetch(code.builder.inttoptr(address, POINTER), write=True)
        following = code.builder.and_(code.add(place, 1), code.int(LEAVING - 1))
        code.set_word(leaving, NEXT, following)

    def _let_go(self, code: Code, leaving: Value, place: Value) -> None:
        """Store the part at a place, if there is one."""
        limit = code.word(leaving, code.add(place, LIMITS))
        with code.when(code.nonzero(limit)):
            code.call(self.storing, VOID, [self._line(code, leaving, place), limit])

    def _line(self, code: Code, leaving: Value, place: Value) -> Value:
        return code.at(code.at(leaving, WORDS * WORD_BYTES), code.mul(place, LINE))
