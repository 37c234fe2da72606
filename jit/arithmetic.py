"""Arithmetic on vectors of elements, as generators write it.

A value under construction is a tuple of LLVM values, its *parts*: one for real types, the real and
the imaginary part (each a vector of its own: planar) for complex ones. `Arithmetic(code, element,
lanes)` loads, computes and stores such values, so that one generator serves every dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from llvmlite import ir

from tensorop.jit.builder import INT32, Code, Value
from tensorop.jit.elements import FEW_LANES, NEAR_STEPS, Element
from tensorop.jit.half import narrow, widen
from tensorop.jit.instructions import Literal, Whole, vector_type
from tensorop.jit.lines import LINE
from tensorop.jit.types import computed, storage

Number = tuple[Value, ...]

SHORTEST_MASK = 8  # lanes of a mask that has a register of its own at least
_STEPS = 4  # elements that one pointer reaches when they are gathered


class Arithmetic:
    """Arithmetic on vectors of `lanes` elements (one lane: scalars).

    Addresses need no alignment. A `count` makes a load or store touch only the first `count` lanes
    (0 to `lanes`); the other lanes load as zero.
    """

    def __init__(self, code: Code, element_: Element, lanes: int) -> None:
        self.code, self.element, self.lanes = code, element_, lanes
        self.builder = code.builder
        self.type = self._vector(computed(element_))

    def _vector(self, scalar: ir.Type, lanes: int | None = None) -> ir.Type:
        return vector_type(scalar, self.lanes if lanes is None else lanes)

    def shaped(self, scalar: ir.Type) -> ir.Type:
        """`scalar`, in as many lanes as a part has."""
        return self._vector(scalar)

    # constants

    def constant(self, value: float) -> Number:
        """Every lane `value` (imaginary part zero)."""
        return (self._part(value), *[self._part(0)] * (self.element.parts - 1))

    def _part(self, value: float) -> Value:
        return _constant(computed(self.element), self.lanes, value)

    @property
    def zero(self) -> Number:
        return self.constant(0)

    def splat(self, scalar: Number) -> Number:
        """Every lane the given scalar."""
        return tuple(self._splat(part) for part in scalar)

    def _splat(self, part: Value) -> Value:
        if self.lanes == 1:
            return part
        return self._repeated(part, self.lanes)

    def _repeated(self, scalar: Value, lanes: int) -> Value:
        """A scalar in every lane."""
        key = (self.builder.block, scalar, lanes)
        if key not in self.code.made:
            nothing = Literal(vector_type(scalar.type, lanes), "poison")
            first = self.builder.insert_element(nothing, scalar, Whole(INT32, 0))
            every = Literal(vector_type(INT32, lanes), "zeroinitializer")
            self.code.made[key] = self.builder.shuffle_vector(first, nothing, every)
        return self.code.made[key]

    def repeated(self, few: Number) -> Number:
        """Fewer lanes again and again."""
        return tuple(
            self.builder.shuffle_vector(
                part, part, indices([lane % part.type.count for lane in range(self.lanes)])
            )
            for part in few
        )

    # memory

    def load(self, address: Value, count: Value | None = None, *, behind: bool = False) -> Number:
        """`lanes` consecutive elements; of `count` only the first ones, or those `behind` them."""
        if self.element.parts == 2 and self.lanes == 1:
            return self._load_pair(address)
        raw = self._load_parts(address, count, behind)
        if self.element.parts == 2:
            even = list(range(0, 2 * self.lanes, 2))
            return tuple(
                self.builder.shuffle_vector(raw, raw, indices([i + odd for i in even]))
                for odd in (0, 1)
            )
        return (self._widen(raw),)

    def _load_pair(self, address: Value) -> Number:
        parts = (address, self.code.at(address, self.element.part))
        return tuple(self.code.load(part, storage(self.element)) for part in parts)

    def _load_parts(self, address: Value, count: Value | None, behind: bool) -> Value:
        if not self.element.vectorises:
            return self.code.load(address, storage(self.element))
        type_ = self._vector(storage(self.element), self.lanes * self.element.parts)
        if count is None or self.lanes == 1:
            return self.code.load(address, type_)
        if self.element.part in self.code.target.masked:
            return self._masked("load", type_, address, count, behind)
        return self._load_some(type_, address, count)

    def gather(self, address: Value, step: Value, count: Value | None = None) -> Number:
        """`lanes` elements that are `step` bytes apart. With a count, the lanes behind hold zeros,
        or the last element that is read."""
        if self.lanes == 1:
            return self.load(address, count)
        planes = self._planes(address)
        return tuple([self._widen(one._gather(place, step, count)) for one, place in planes])

    def _planes(self, address: Value) -> Iterator[tuple[Arithmetic, Value]]:
        """Each part of elements as numbers of its own, as they are stored, and where it begins."""
        for plane in range(self.element.parts):
            place = self.code.at(address, plane * self.element.part)
            yield Arithmetic(self.code, self.element.stored, self.lanes), place

    def _gather(self, address: Value, step: Value, count: Value | None) -> Value:
        """The same of real elements: whole vectors taken apart, where they are as near."""
        chosen: Callable[[], Number] = partial(self.gather_singly, address, step, count)
        target, many = self.code.target, self.lanes > FEW_LANES
        masks = target.free_masks and self.element.part in target.masked and many
        for apart in NEAR_STEPS if masks or count is None else ():
            near = self.code.equal(step, apart * self.element.part)
            way = partial(self._gather_near, address, apart, count)
            chosen = partial(self._choose, near, way, chosen)
        return chosen()[0]

    def _choose(
        self, condition: Value, then: Callable[[], Number], otherwise: Callable[[], Number]
    ) -> Number:
        return tuple(self.code.choose(condition, then, otherwise))

    def gather_singly(self, address: Value, step: Value, count: Value | None) -> Number:
        """As `gather`, of real elements, for steps of any size only."""
        code, raw = self.code, Literal(self.type, "poison")
        for i, place in enumerate(self._places(address, step, count)):
            part = code.load(place, storage(self.element))
            raw = self.builder.insert_element(raw, part, Whole(INT32, i))
        return (raw,)

    def _gather_near(self, address: Value, apart: int, count: Value | None) -> Number:
        """Every `apart`-th element, out of so many vectors. They share an element where they meet:
        so the last one ends with the last element that is asked for. Of one vector, -1: the last
        one first."""
        code, part, lanes = self.code, self.element.part, self.lanes
        if apart < 0:
            first = code.at(address, (1 - lanes) * part)
            some = None if count is None else code.sub(lanes, count)
            (loaded,) = self.load(first, some, behind=True)
            return (self.builder.shuffle_vector(loaded, loaded, indices([*range(lanes)][::-1])),)
        reach = lanes - 1
        spots = [divmod(lane * apart, reach) for lane in range(reach)] + [(apart - 1, reach)]
        gathered: Value | None = None
        for vector in range(apart):
            some = None
            if count is not None:  # of the elements up to the last one that is asked for
                left = code.sub(code.mul(count, apart), apart - 1 + vector * reach)
                some = code.max(0, code.min(lanes, left))
            (loaded,) = self.load(code.at(address, vector * reach * part), some)
            if gathered is None:
                gathered = loaded
                continue
            earlier = [spot if vector == 1 else lane for lane, (_, spot) in enumerate(spots)]
            chosen = [
                lanes + spot if owner == vector else old if owner < vector else 0
                for (owner, spot), old in zip(spots, earlier, strict=True)
            ]
            gathered = self.builder.shuffle_vector(gathered, loaded, indices(chosen))
        assert gathered is not None
        return (gathered,)

    def scatter(self, value: Number, address: Value, step: Value) -> None:
        """Store `lanes` elements `step` bytes apart."""
        for part, (one, start) in zip(value, self._planes(address), strict=True):
            raw = self._narrow(part)
            for i, place in enumerate(one._places(start, step, None)):
                self.code.store(self.builder.extract_element(raw, Whole(INT32, i)), place)

    def _places(self, address: Value, step: Value, count: Value | None) -> Iterator[Value]:
        """The address of each lane: few registers hold them, as pointer + 0, 1, 2 or 3 steps."""
        code = self.code
        last = None if count is None else code.sub(count, 1)
        several = [code.mul(step, i) for i in range(_STEPS + 1)]
        for i in range(self.lanes):
            if last is not None:
                yield code.at(address, code.mul(code.min(i, last), step))
                continue
            if i and i % _STEPS == 0:
                address = code.at(address, several[_STEPS])
            yield code.at(address, several[i % _STEPS])

    def store_past_caches(self, value: Number, address: Value) -> None:
        """Store `lanes` consecutive elements, which are cache lines, or a part of one whose others
        are stored next, at a multiple of its size."""
        size = min(LINE, self.lanes * self.element.size)
        self.code.store_past_caches(self._join(value), address, size)

    def store(
        self, value: Number, address: Value, count: Value | None = None, *, behind: bool = False
    ) -> None:
        """Store `lanes` consecutive elements; of `count` only the first ones, or, where there are
        masks, those `behind` them."""
        if not self.element.vectorises:
            for i, part in enumerate(value):
                self.code.store(part, self.code.at(address, i * self.element.part))
            return
        raw = self._join(value)
        if count is None or self.lanes == 1:
            self.code.store(raw, address)
        elif behind or (
            self.code.target.free_masks and self.element.part in self.code.target.masked
        ):
            self._masked("store", raw.type, address, count, behind, raw)
        else:
            self._store_pieces(raw, address, self.code.mul(count, self.element.parts))

    def _join(self, value: Number) -> Value:
        """The parts of a value as they lie in memory."""
        if self.element.parts == 1:
            return self._narrow(value[0])
        if self.lanes == 1:
            pair: Value = Literal(vector_type(storage(self.element), 2), "poison")
            for i, part in enumerate(value):
                pair = self.builder.insert_element(pair, part, Whole(INT32, i))
            return pair
        order = [i + odd * self.lanes for i in range(self.lanes) for odd in (0, 1)]
        return self.builder.shuffle_vector(value[0], value[1], indices(order))

    def _widen(self, raw: Value) -> Value:
        if self.element.half:
            return widen(self.code, raw, self.element.half)
        if self.element.kind == "b":  # any non-zero byte is true
            truth = self.builder.icmp_unsigned("!=", raw, Literal(raw.type, _null(raw.type)))
            return self.builder.zext(truth, raw.type)
        return raw

    def _narrow(self, part: Value) -> Value:
        return narrow(self.code, part, self.element.half) if self.element.half else part

    def kept(self, count: Value) -> Value:
        """A count as something to be given in its place: where masks are free, a mask that stays in
        a register of its own. LLVM would otherwise make it anew in every turn of a loop."""
        if not self.code.target.free_masks:
            return count
        lanes = self.lanes * self.element.parts
        whole = max(lanes, SHORTEST_MASK)
        mask = self._mask(whole, self.code.mul(count, self.element.parts))
        kept = self.builder.asm(ir.FunctionType(mask.type, [mask.type]), "", "=k,0", [mask], False)
        if lanes == whole:
            return kept
        return self.builder.shuffle_vector(kept, kept, indices([*range(lanes)]))

    def blended(self, a: Number, b: Number, count: Value) -> Number:
        """The first `count` lanes of a, and of b those behind them; real numbers."""
        mask = self._mask(self.lanes, count)
        return (self.builder.select(mask, a[0], b[0]),)

    def every_second(self, count: Value) -> Value:
        """The even ones of the first `count` lanes: to be given for it where masks are free."""
        scalar = ir.IntType(8 * self.element.part)
        places = [127 if lane % 2 else lane for lane in range(self.lanes)]
        limit = self._repeated(self.builder.trunc(count, scalar), self.lanes)
        return self.builder.icmp_unsigned("<", numbers(scalar, places), limit)

    def _mask(self, lanes: int, count: Value, behind: bool = False) -> Value:
        if isinstance(count.type, ir.VectorType):
            return count
        scalar = ir.IntType(8 * min(self.element.part, 8))
        key = (self.builder.block, count, lanes, scalar.width, behind)
        if key not in self.code.made:
            short = self.builder.trunc(count, scalar)
            limit, places = self._repeated(short, lanes), numbers(scalar, range(lanes))
            self.code.made[key] = self.builder.icmp_unsigned(">=" if behind else "<", places, limit)
        return self.code.made[key]

    def _masked(
        self,
        what: str,
        type_: ir.Type,
        address: Value,
        count: Value,
        behind: bool,
        raw: Value | None = None,
    ) -> Value:
        lanes = type_.count
        if self.element.parts == 2 and not isinstance(count.type, ir.VectorType):
            count = self.code.mul(count, 2)
        mask = self._mask(lanes, count, behind)
        suffix = f"v{lanes}{_mangled(type_.element)}.p0"
        align = Whole(INT32, 1)
        if raw is None:
            nothing = Literal(type_, "zeroinitializer")
            return self.code.intrinsic(
                f"llvm.masked.load.{suffix}", type_, [address, align, mask, nothing]
            )
        return self.code.intrinsic(
            f"llvm.masked.store.{suffix}", ir.VoidType(), [raw, address, align, mask]
        )

    def _store_pieces(self, raw: Value, address: Value, count: Value) -> None:
        """The first elements of a vector, by halves of what is left of it: where masks are no
        registers, a masked store takes several times as long (20 cycles on Zen 3)."""
        code, lanes = self.code, raw.type.count
        with code.either(code.less(count, lanes)) as (some, all_):
            with all_:
                code.store(raw, address)
            with some:
                while lanes > 2:
                    lanes //= 2
                    low, high = (
                        self.builder.shuffle_vector(raw, raw, indices(list(half)))
                        for half in (range(lanes), range(lanes, 2 * lanes))
                    )
                    taken = code.nonzero(code.builder.and_(count, code.int(lanes)))
                    with code.when(taken):
                        code.store(low, address)
                    raw = self.builder.select(taken, high, low)
                    size = code.int(lanes * self.element.part)
                    address = code.at(address, self.builder.select(taken, size, code.int(0)))
                with code.when(code.nonzero(code.builder.and_(count, code.int(1)))):
                    code.store(self.builder.extract_element(raw, Whole(INT32, 0)), address)

    # Without masked instructions: through a buffer on the stack, element by element.

    def _load_some(self, type_: ir.Type, address: Value, count: Value) -> Value:
        buffer = self.code.stack(type_)
        self.code.store(Literal(type_, "zeroinitializer"), buffer)
        self._copy_elements(address, buffer, count)
        return self.code.load(buffer, type_)

    def _copy_elements(self, source: Value, target: Value, count: Value) -> None:
        code, size = self.code, self.element.size
        whole = ir.IntType(8 * size)
        with code.loop(code.mul(count, size), step=size) as offset:
            code.store(code.load(code.at(source, offset), whole), code.at(target, offset))

    def part(self, value: Number, start: int) -> Number:
        """`lanes` of the lanes of longer vectors, from `start` on."""
        lanes = indices(list(range(start, start + self.lanes)))
        return tuple(self.builder.shuffle_vector(x, x, lanes) for x in value)

    # arithmetic

    def add(self, a: Number, b: Number) -> Number:
        return tuple(self._add(x, y) for x, y in zip(a, b, strict=True))

    def sub(self, a: Number, b: Number) -> Number:
        op = self.builder.fsub if self.element.is_float else self.builder.sub
        return tuple(op(x, y) for x, y in zip(a, b, strict=True))

    def mul(self, a: Number, b: Number) -> Number:
        if self.element.parts == 1:
            return (self._mul(a[0], b[0]),)
        (ar, ai), (br, bi) = a, b
        real = self._fma(self.builder.fneg(ai), bi, self._mul(ar, br))
        return real, self._fma(ar, bi, self._mul(ai, br))

    def fma(self, a: Number, b: Number, c: Number) -> Number:
        """a * b + c."""
        if self.element.parts == 1:
            return (self._fma(a[0], b[0], c[0]),)
        (ar, ai), (br, bi), (cr, ci) = a, b, c
        real, imaginary = self._fma(ar, br, cr), self._fma(ar, bi, ci)
        return self._fma(self.builder.fneg(ai), bi, real), self._fma(ai, br, imaginary)

    # sums of products, which may have parts of their own while they grow

    @property
    def sum_parts(self) -> int:
        return self.element.parts

    @property
    def empty_sum(self) -> Number:
        return self.zero

    def accumulate(self, a: Number, b: Number, sums: Number) -> Number:
        """The sum with a * b added."""
        return self.fma(a, b, sums)

    def total(self, sums: Number) -> Number:
        """The number that a finished sum is."""
        return sums

    def neg(self, a: Number) -> Number:
        return tuple(
            self.builder.fneg(x) if self.element.is_float else self.builder.neg(x) for x in a
        )

    def conj(self, a: Number) -> Number:
        return a if self.element.parts == 1 else (a[0], self.builder.fneg(a[1]))

    def math(self, name: str, *parts: Value) -> Value:
        """An LLVM intrinsic of floating parts (`sqrt`, `fabs`, `copysign`) that is an instruction
        or a few on every machine, never a call."""
        lanes = "" if self.lanes == 1 else f"v{self.lanes}"
        name = f"llvm.{name}.{lanes}{_mangled(computed(self.element))}"
        return self.code.intrinsic(name, self.type, parts)

    def keep(self, count: Value, value: Number, other: Number) -> Number:
        """`value` in the first `count` lanes, `other` in those after them."""
        mask = self._mask(self.lanes, count)
        return tuple(self.builder.select(mask, a, b) for a, b in zip(value, other, strict=True))

    def picked(self, value: Number, places: Value) -> Number:
        """In each lane that of a value whose number is there, an integer as wide as an element:
        where `Target.shifts_lines`, of 4 or 8 bytes."""
        name = {4: "sf", 8: "df"}[self.element.size]
        name = f"llvm.x86.avx512.permvar.{name}.{8 * LINE}"
        return tuple(self.code.intrinsic(name, self.type, [part, places]) for part in value)

    def minimum(self, a: Number, b: Number) -> Number:
        """NaN where either is NaN, as numpy.minimum."""
        return (self._extremum("<", a[0], b[0]),)

    def maximum(self, a: Number, b: Number) -> Number:
        """NaN where either is NaN, as numpy.maximum."""
        return (self._extremum(">", a[0], b[0]),)

    def clamp(self, a: Number, low: Number) -> Number:
        """max(a, low) for a `low` that is no NaN: one instruction, where `maximum` takes four."""
        less = self._compare("<", a[0], low[0])
        return (self.builder.select(less, low[0], a[0]),)

    def _extremum(self, relation: str, a: Value, b: Value) -> Value:
        builder = self.builder
        chosen = builder.select(self._compare(relation, a, b), a, b)
        if not self.element.is_float:
            return chosen
        return builder.select(builder.fcmp_unordered("uno", a, a), a, chosen)

    def _compare(self, relation: str, a: Value, b: Value) -> Value:
        """No NaN is less or greater than anything."""
        builder = self.builder
        if self.element.is_float:
            return builder.fcmp_ordered(relation, a, b)
        signed = self.element.kind == "i"
        return (builder.icmp_signed if signed else builder.icmp_unsigned)(relation, a, b)

    def _add(self, a: Value, b: Value) -> Value:
        if self.element.kind == "b":
            return self.builder.or_(a, b)
        return self.builder.fadd(a, b) if self.element.is_float else self.builder.add(a, b)

    def _mul(self, a: Value, b: Value) -> Value:
        if self.element.kind == "b":
            return self.builder.and_(a, b)
        return self.builder.fmul(a, b) if self.element.is_float else self.builder.mul(a, b)

    def _fma(self, a: Value, b: Value, c: Value) -> Value:
        fused = self.element.is_float and self.element.vectorises and self.code.target.fma
        if not fused:
            return self._add(self._mul(a, b), c)
        return self.math("fma", a, b, c)


def _constant(scalar: ir.Type, lanes: int, value: float) -> Literal:
    """`value` in every lane."""
    number = int(value) if isinstance(scalar, ir.IntType) else float(value)
    text = ir.Constant(scalar, number).get_reference()
    return Literal(vector_type(scalar, lanes), text if lanes == 1 else f"splat ({scalar} {text})")


def numbers(scalar: ir.Type, values: Sequence[int]) -> Literal:
    """A vector of integers."""
    texts = (f"{scalar} {value}" for value in values)
    return Literal(vector_type(scalar, len(values)), f"<{', '.join(texts)}>")


def indices(lanes: list[int]) -> Literal:
    return numbers(INT32, lanes)


def _null(type_: ir.Type) -> str:
    return "zeroinitializer" if isinstance(type_, ir.VectorType) else "0"


def _mangled(scalar: ir.Type) -> str:
    """How LLVM spells a scalar type in the name of an intrinsic."""
    if isinstance(scalar, ir.IntType):
        return f"i{scalar.width}"
    names = {"float": "f32", "double": "f64", "half": "f16", "x86_fp80": "f80"}
    return names[str(scalar)]
