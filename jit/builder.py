"""Structured code over llvmlite's builder: loops and conditions as `with` blocks, records as words.

A generator should read like the algorithm it generates. `Code` is one function under construction:

    code = Code(target, "scale")                      # void scale(i64 *descriptor, i64 *frame)
    n = code.word(code.frame, Frame.SIZE)
    with code.loop(n) as i:
        ...

Integers are i64, addresses are opaque pointers, strides are in bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TypeAlias

from llvmlite import ir

from tensorop.jit.instructions import INT32, POINTER, VOID, Builder, Whole
from tensorop.jit.lines import LINE
from tensorop.jit.target import Target

__all__ = [
    "BYTE",
    "INT32",
    "KERNEL",
    "POINTER",
    "VOID",
    "WORD",
    "Carried",
    "Code",
    "Integer",
    "Value",
]

WORD = ir.IntType(64)
BYTE = ir.IntType(8)
KERNEL = ir.FunctionType(VOID, [POINTER, POINTER])  # (descriptor, frame)

Value: TypeAlias = ir.Value
Integer: TypeAlias = ir.Value | int  # a generated i64, or a constant
Count: TypeAlias = int  # inside `Code` the name int is a method
Branch: TypeAlias = AbstractContextManager[object]


class Carried:
    """The loop-carried values of `Code.reduce`: `values` inside the loop are this iteration's,
    after it the results. The body hands on the next ones by `update`."""

    def __init__(self, index: Value, values: list[Value]) -> None:
        self.index, self.values = index, values
        self._next: list[Value] = []

    def update(self, values: Sequence[Value]) -> None:
        self._next = list(values)


class Code:
    """One function under construction, and the builder to write it with."""

    def __init__(
        self,
        target: Target,
        name: str,
        type_: ir.FunctionType = KERNEL,
        module: ir.Module | None = None,
        arguments: Sequence[str] = ("descriptor", "frame"),
    ) -> None:
        self.target = target
        self.module = module if module is not None else ir.Module(name)
        # A function that another one already calls exists as a declaration.
        self.function = self.module.globals.get(name) or ir.Function(self.module, type_, name)
        for argument, label in zip(self.function.args, arguments, strict=False):
            argument.name = label
        self.entry = self.function.append_basic_block("entry")
        self.made: dict[tuple[object, ...], Value] = {}  # what a block need not compute again
        self.builder = Builder(self.function.append_basic_block("body"))

    @property
    def descriptor(self) -> Value:
        return self.function.args[0]

    @property
    def frame(self) -> Value:
        return self.function.args[1]

    def finish(self, result: Value | None = None) -> ir.Module:
        """Return from the function and give back its module."""
        if result is None:
            self.builder.ret_void()
        else:
            self.builder.ret(result)
        with self.builder.goto_block(self.entry):
            self.builder.branch(self.function.basic_blocks[1])
        return self.module

    # constants and integer arithmetic, which costs no instruction where the result is known

    def int(self, value: int) -> Value:
        return Whole(WORD, value)

    def _word(self, value: Integer) -> Value:
        return Whole(WORD, value) if isinstance(value, int) else value

    def add(self, a: Integer, b: Integer) -> Value:
        x, y = _known(a), _known(b)
        if x is not None and y is not None:
            return self.int(x + y)
        if x == 0 or y == 0:
            return self._word(b if x == 0 else a)
        return self.builder.add(self._word(a), self._word(b))

    def sub(self, a: Integer, b: Integer) -> Value:
        x, y = _known(a), _known(b)
        if x is not None and y is not None:
            return self.int(x - y)
        return self._word(a) if y == 0 else self.builder.sub(self._word(a), self._word(b))

    def mul(self, a: Integer, b: Integer) -> Value:
        x, y = _known(a), _known(b)
        if x is not None and y is not None:
            return self.int(x * y)
        if x == 0 or y == 0:
            return self.int(0)
        if x == 1 or y == 1:
            return self._word(b if x == 1 else a)
        return self.builder.mul(self._word(a), self._word(b))

    def less(self, a: Integer, b: Integer) -> Value:
        return self.builder.icmp_signed("<", self._word(a), self._word(b))

    def equal(self, a: Integer, b: Integer) -> Value:
        return self.builder.icmp_signed("==", self._word(a), self._word(b))

    def nonzero(self, a: Value) -> Value:
        return self.builder.icmp_signed("!=", a, Whole(a.type, 0))

    def min(self, a: Integer, b: Integer) -> Value:
        a, b = self._word(a), self._word(b)
        return self.builder.select(self.less(a, b), a, b)

    def max(self, a: Integer, b: Integer) -> Value:
        a, b = self._word(a), self._word(b)
        return self.builder.select(self.less(a, b), b, a)

    # memory

    def at(self, base: Value, offset: Integer) -> Value:
        """The address `offset` bytes after `base`."""
        if _known(offset) == 0:
            return base
        return self.builder.gep(base, [self._word(offset)], source_etype=BYTE)

    def load(self, address: Value, type_: ir.Type, align: Count = 1) -> Value:
        return self.builder.load(address, typ=type_, align=align)

    def store(self, value: Value, address: Value, align: Count = 1) -> None:
        self.builder.store(value, address, align=align)

    def store_past_caches(self, value: Value, address: Value, size: Count = LINE) -> None:
        """Store a whole cache line, or `size` bytes of one of which the others are stored next, at
        a multiple of the size, without reading what was there. A `fence` has to follow before
        another thread may know."""
        self.builder.store(value, address, size, past_caches=True)

    def within_line(self, place: Value) -> Value:
        """Bytes of an address, or of a distance, behind the last whole line."""
        if place.type == POINTER:
            place = self.builder.ptrtoint(place, WORD)
        return self.builder.and_(place, self.int(LINE - 1))

    def fence(self) -> None:
        """What is stored before is seen by others before what is stored after."""
        self.builder.fence("seq_cst")

    def prefetch(self, address: Value, *, near: bool = True, write: bool = False) -> None:
        """Ask for a line that will be read, or written, soon, in every cache, or in all but the
        nearest; any address will do."""
        flags = [Whole(INT32, flag) for flag in (1 if write else 0, 3 if near else 2, 1)]  # 1: data
        self.intrinsic("llvm.prefetch.p0", VOID, [address, *flags])

    def _word_address(self, record: Value, index: Integer) -> Value:
        return self.builder.gep(record, [self._word(index)], source_etype=WORD)

    def word(self, record: Value, index: Integer) -> Value:
        """Word `index` of a record, as an integer."""
        return self.load(self._word_address(record, index), WORD, 8)

    def pointer(self, record: Value, index: Integer) -> Value:
        """Word `index` of a record, as an address."""
        return self.load(self._word_address(record, index), POINTER, 8)

    def set_word(self, record: Value, index: Integer, value: Integer) -> None:
        self.store(self._word(value), self._word_address(record, index), 8)

    def stack(self, type_: ir.Type, count: Count = 1, align: Count = 64) -> Value:
        """A block on the stack that lives as long as the call."""
        with self.builder.goto_block(self.entry):
            return self.builder.reserve(type_, count, align)

    # control flow

    @contextmanager
    def loop(self, stop: Integer, start: Integer = 0, step: Integer = 1) -> Iterator[Value]:
        """`for index in range(start, stop, step)`."""
        with self.reduce(stop, [], start, step) as carried:
            yield carried.index

    @contextmanager
    def reduce(
        self,
        stop: Integer,
        initial: Sequence[Value],
        start: Integer = 0,
        step: Integer = 1,
    ) -> Iterator[Carried]:
        """A loop with carried values: `update` hands them on; after the block `values` holds the
        results. The test is at the bottom, behind a guard, as a compiler would rotate it."""
        builder, start, stop, step = self.builder, *map(self._word, (start, stop, step))
        guard = builder.block
        body = builder.append_basic_block("loop")
        done = builder.append_basic_block("done")
        builder.cbranch(self.less(start, stop), body, done)
        builder.position_at_end(body)
        index = builder.phi(WORD)
        index.add_incoming(start, guard)
        phis = [builder.phi(value.type) for value in initial]
        for phi, value in zip(phis, initial, strict=True):
            phi.add_incoming(value, guard)
        carried = Carried(index, list(phis))
        yield carried
        latch = builder.block
        after = self.add(index, step)
        builder.cbranch(self.less(after, stop), body, done)
        index.add_incoming(after, latch)
        for phi, value in zip(phis, carried._next, strict=True):
            phi.add_incoming(value, latch)
        builder.position_at_end(done)
        carried.values = []
        for value, following in zip(initial, carried._next, strict=True):
            result = builder.phi(value.type)
            result.add_incoming(value, guard)
            result.add_incoming(following, latch)
            carried.values.append(result)

    @contextmanager
    def repeat(self, count: Value, initial: Sequence[Value]) -> Iterator[Carried]:
        """As `reduce` from 0 on, for a `count` of at least 1: needs no guard and no second set of
        carried values behind it, and so compiles faster."""
        builder, before = self.builder, self.builder.block
        body = builder.append_basic_block("repeat")
        builder.branch(body)
        builder.position_at_end(body)
        incoming = [self.int(0), *initial]
        phis = [builder.phi(value.type) for value in incoming]
        for phi, value in zip(phis, incoming, strict=True):
            phi.add_incoming(value, before)
        carried = Carried(phis[0], list(phis[1:]))
        yield carried
        done = builder.append_basic_block("done")
        following = [self.add(phis[0], 1), *carried._next]
        for phi, value in zip(phis, following, strict=True):
            phi.add_incoming(value, builder.block)
        builder.cbranch(self.less(following[0], count), body, done)
        builder.position_at_end(done)
        carried.values = following[1:]

    @contextmanager
    def when(self, condition: Value) -> Iterator[None]:
        """`if condition:`"""
        with self.builder.if_then(condition):
            yield

    @contextmanager
    def either(self, condition: Value) -> Iterator[tuple[Branch, Branch]]:
        """`if condition: (then) else: (otherwise)`, each entered with `with`."""
        with self.builder.if_else(condition) as branches:
            yield branches

    def choose(
        self,
        condition: Value,
        then: Callable[[], Sequence[Value]],
        otherwise: Callable[[], Sequence[Value]],
    ) -> list[Value]:
        """The values of one of two branches; only the chosen one runs."""
        ways: list[tuple[Sequence[Value], ir.Block]] = []
        with self.builder.if_else(condition) as branches:
            for branch, way in zip(branches, (then, otherwise), strict=True):
                with branch:
                    values = way()
                    ways.append((values, self.builder.block))
        results = []
        for alternatives in zip(*(values for values, _ in ways), strict=True):
            phi = self.builder.phi(alternatives[0].type)
            for value, (_, block) in zip(alternatives, ways, strict=True):
                phi.add_incoming(value, block)
            results.append(phi)
        return results

    @contextmanager
    def forever(self) -> Iterator[Callable[[], object]]:
        """`while True:`; calling what it yields is `break`."""
        builder = self.builder
        body = builder.append_basic_block("forever")
        done = builder.append_basic_block("done")
        builder.branch(body)
        builder.position_at_end(body)
        yield lambda: builder.branch(done)
        if not builder.block.is_terminated:
            builder.branch(body)
        builder.position_at_end(done)

    def leave(self, result: Integer) -> None:
        """`return result`, inside a `when`."""
        self.builder.ret(self._word(result))

    # what several threads share: every access is sequentially consistent

    def atomic_load(self, address: Value, type_: ir.Type = WORD) -> Value:
        return self.builder.load_atomic(address, "seq_cst", type_.width // 8, typ=type_)

    def atomic(self, operation: str, address: Value, value: Integer) -> Value:
        """Read, modify (add, sub, and, xchg), write; returns what was there before."""
        return self.builder.atomic_rmw(operation, address, self._word(value), "seq_cst")

    def compare_exchange(self, address: Value, expected: Integer, value: Integer) -> Value:
        """Store `value` if `expected` is there; returns whether it was."""
        result = self.builder.cmpxchg(
            address, self._word(expected), self._word(value), "seq_cst", "seq_cst"
        )
        return self.builder.extract_value(result, 1)

    # calls

    def call(self, name: str, result: ir.Type, arguments: Sequence[Value]) -> Value:
        """Call a function by its name: of this module, of the process, or an LLVM intrinsic by its
        full mangled name."""
        function = self.module.globals.get(name)
        if function is None:
            type_ = ir.FunctionType(result, [a.type for a in arguments])
            function = ir.Function(self.module, type_, name)
        return self.builder.call(function, list(arguments))

    def call_address(self, address: Value, result: ir.Type, arguments: Sequence[Value]) -> Value:
        """Call the function at an address."""
        return self.builder.call_as(result, address, arguments)

    intrinsic = call


def _known(value: Integer) -> int | None:
    """The number, where it is one already."""
    if isinstance(value, int):
        return value
    return value.value if isinstance(value, Whole) else None
