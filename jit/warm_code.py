"""The built-in functions that run calls seen before, as generated code on CPython's C API.

`warm(operands, out[, alpha, beta])` takes the tuple (key, a, b, ...) and an array or None, and
perhaps factors (`warm_scalars.py`: Python's floats and ints, where the plan's dtype is one of
floats). It looks for a record that says: for this key (an object, compared by identity), for arrays
of these dtypes, shapes and strides, run these plans, one after the other. If there is one, it runs
them and returns `out`, or a new array, or a scalar where the result has no dimensions; else it
returns None, and has done nothing. So a call that is repeated costs some tens of nanoseconds beside
its work; everything else goes the way of `tensorop/einsum.py`, by which the records come about
(`jit/warm.py`).

Before functions of the package, and before plans, stand two others (`jit/front.py`,
`jit/vectorcall.py`): they take what those take, look for the same records, and themselves call
Python for everything else.

Records are found by a hash of the key's address and the shapes, in a table of addresses. They are
read while the GIL is held; the one that is run is kept alive meanwhile, with all that it points to.
"""

from __future__ import annotations

from llvmlite import ir

from tensorop.jit import builtin_code
from tensorop.jit.abi import PREPARED_WORDS, CallRecord
from tensorop.jit.builder import BYTE, INT32, POINTER, VOID, WORD, Code, Value
from tensorop.jit.builtin import Foreign
from tensorop.jit.builtin_code import ITEMS_AT, argument_count, own_pair
from tensorop.jit.records import cell, function, null, symbol, words
from tensorop.jit.target import Target
from tensorop.jit.warm import (
    ANYWHERE,
    COUNT,
    COUNT_AT,
    DTYPE_AT,
    FIELDS,
    FLAGS_AT,
    MOST_OPERANDS,
    MOST_STEPS,
    PROBES,
    SCRATCH,
    SHAPE_AT,
    SLOTS,
    STRIDES_AT,
    Array,
    Record,
    Step,
    Table,
)
from tensorop.jit.warm_scalars import emit_number, factor, scalars_of

_ITEM = 8  # bytes of one
_READABLE = 0x100  # flags of an array: aligned; with the second one, writeable
_WRITEABLE = 0x400


def warm_module(target: Target) -> ir.Module:
    """The module of these functions; it calls `FROM_ENTRIES` of the driver's module."""
    module = ir.Module("warm")
    builtin_code.declare_entries(module)
    table = ir.GlobalVariable(module, ir.ArrayType(WORD, Table.WORDS), "warm_table")
    table.initializer = ir.Constant(table.value_type, None)
    code, _ = function(module, target, "entry.warm_table")
    code.finish(code.builder.ptrtoint(symbol("warm_table"), WORD))
    _emit_lies_as(module, target)
    _emit_has_threads(module, target)
    _emit_matches(module, target)
    _emit_find(module, target)
    _emit_overlaps(module, target)
    _emit_take(module, target)
    emit_number(module, target)
    _emit_serve(module, target)
    _emit_warm(module, target)
    _emit_function(module, target)
    _emit_plan(module, target)
    return module


def _count(code: Code, array: Value) -> Value:
    number = code.load(code.at(array, COUNT_AT), INT32, 4)
    return code.builder.zext(number, WORD)


def _field(code: Code, array: Value, at: int) -> Value:
    return code.word(code.at(array, at), 0)


def _emit_lies_as(module: ir.Module, target: Target) -> None:
    """Whether an array has a dtype, a shape and strides, and some flags."""
    code, (described, array, flags) = function(
        module, target, "warm.lies_as", "described", "array", "flags:"
    )
    differs = code.sub(_field(code, array, DTYPE_AT), code.word(described, Array.DTYPE))
    rank = _count(code, array)
    differs = code.builder.or_(differs, code.sub(rank, code.word(described, Array.RANK)))
    given = code.builder.zext(code.load(code.at(array, FLAGS_AT), INT32, 4), WORD)
    lacks = code.sub(code.builder.and_(given, flags), flags)
    with code.when(code.nonzero(code.builder.or_(differs, lacks))):
        code.leave(0)
    shape, strides = code.pointer(array, SHAPE_AT // 8), code.pointer(array, STRIDES_AT // 8)
    with code.reduce(rank, [code.int(0)]) as each:
        i = each.index
        size = code.word(described, code.add(i, Array.SHAPE))
        stride = code.word(described, code.add(i, Array.STRIDES))
        other = code.builder.or_(
            code.sub(code.word(shape, i), size), code.sub(code.word(strides, i), stride)
        )
        each.update([code.builder.or_(each.values[0], other)])
    code.finish(code.builder.zext(code.equal(each.values[0], 0), WORD))


def _emit_matches(module: ir.Module, target: Target) -> None:
    """Whether a record is one of a key, a form of call and arrays; `out` may be null."""
    code, (record, key, form, operands, count, out) = function(
        module, target, "warm.matches", "record", "key:", "form:", "operands", "count:", "out"
    )
    other = code.builder.or_(
        code.sub(code.word(record, Record.KEY), key),
        code.sub(code.word(record, Record.FORM), form),
    )
    with code.when(code.nonzero(other)):
        code.leave(0)
    with code.repeat(count, []) as each:
        i = each.index
        given = [_operand(code, record, i), code.pointer(operands, i), code.int(_READABLE)]
        with code.when(code.equal(code.call("warm.lies_as", WORD, given), 0)):
            code.leave(0)
    with code.when(code.builder.not_(null(code, out))):
        described, flags = cell(code, record, Record.OUT), code.int(_READABLE | _WRITEABLE)
        fits = code.call("warm.lies_as", WORD, [described, out, flags])
        with code.when(code.equal(fits, 0)):
            code.leave(0)
        with code.when(code.builder.not_(_begins_well(code, record, _field(code, out, FIELDS)))):
            code.leave(0)
    wanted = code.word(record, Record.THREADS)
    with code.when(code.equal(wanted, 0)):
        code.leave(1)
    code.finish(code.call("warm.has_threads", WORD, [wanted]))


def _begins_well(code: Code, record: Value, place: Value) -> Value:
    """Whether an address is one at which the result may begin."""
    begins = code.word(record, Record.BEGINS)
    here = code.equal(code.within_line(place), begins)
    return code.builder.or_(code.equal(begins, ANYWHERE), here)


def _operand(code: Code, record: Value, i: Value) -> Value:
    """What a record says of an operand."""
    return cell(code, record, code.add(code.mul(i, Array.WORDS), Record.OPERANDS))


def _emit_has_threads(module: ir.Module, target: Target) -> None:
    """Whether a number of threads is the one in force; see `tensorop/threads.py`."""
    code, (wanted,) = function(module, target, "warm.has_threads", "wanted:")
    place, nothing = words(code, 1), ir.Constant(POINTER, None)
    code.set_word(place, 0, 0)
    scoped = builtin_code.foreign(code, Foreign.SCOPED)
    code.call("PyContextVar_Get", INT32, [scoped, nothing, place])
    value = code.pointer(place, 0)
    is_none = _is(code, value, builtin_code.foreign(code, Foreign.NONE))
    code.call("Py_DecRef", VOID, [value])
    whole = code.word(symbol("foreign"), Foreign.THREADS)
    number = code.builder.select(is_none, whole, code.builder.ptrtoint(value, WORD))
    code.finish(code.builder.zext(code.equal(number, wanted), WORD))


def _emit_find(module: ir.Module, target: Target) -> None:
    """The address of the record of a call, 0 where there is none."""
    code, (key, form, operands, count, out) = function(
        module, target, "warm.find", "key:", "form:", "operands", "count:", "out"
    )
    start = code.add(code.builder.lshr(key, code.int(4)), form)
    with code.repeat(count, [start]) as every:
        array = code.pointer(operands, every.index)
        shape = code.pointer(array, SHAPE_AT // 8)
        with code.reduce(_count(code, array), every.values) as each:
            each.update([code.add(code.mul(each.values[0], 31), code.word(shape, each.index))])
        every.update(each.values)
    (value,) = every.values
    value = code.builder.xor(value, code.builder.lshr(value, code.int(15)))
    table = symbol("warm_table")
    with code.loop(PROBES) as probe:
        slot = code.builder.and_(code.add(value, probe), code.int(SLOTS - 1))
        record = code.pointer(table, slot)
        with code.when(code.builder.not_(null(code, record))):
            found = code.call("warm.matches", WORD, [record, key, form, operands, count, out])
            with code.when(code.nonzero(found)):
                code.leave(code.builder.ptrtoint(record, WORD))
    code.finish(code.int(0))


def _emit_overlaps(module: ir.Module, target: Target) -> None:
    """Whether two arrays may share memory, judged by where they begin and end."""
    code, (one, at, other, there) = function(
        module, target, "warm.overlaps", "one", "at:", "other", "there:"
    )
    ends = [
        code.add(base, code.word(described, word))
        for described, base in ((one, at), (other, there))
        for word in (Array.LOW, Array.HIGH)
    ]
    low, high, lower, higher = ends
    both = code.builder.and_(code.less(low, higher), code.less(lower, high))
    code.finish(code.builder.zext(both, WORD))


def _emit_take(module: ir.Module, target: Target) -> None:
    """The place in the table of a buffer that no call uses, from now on this one's; null: none."""
    code, _ = function(module, target, "warm.take", result=POINTER)
    first = cell(code, symbol("warm_table"), Table.BUFFERS)
    with code.loop(COUNT) as i:
        place = cell(code, first, code.mul(i, 2))
        free = code.equal(code.word(place, 1), 0)
        with code.when(code.builder.and_(free, code.nonzero(code.word(place, 0)))):
            code.set_word(place, 1, 1)
            code.leave(place)
    code.finish(ir.Constant(POINTER, None))


def _emit_serve(module: ir.Module, target: Target) -> None:
    """Run a call of at most MOST_OPERANDS, if it is known: its result, None (no reference) where it
    is not, or null after an exception. alpha, beta: null for the defaults."""
    code, (key, given, count, asked, alpha, beta) = function(
        module,
        target,
        "warm.serve",
        "key:",
        "given",
        "count:",
        "asked",
        "alpha",
        "beta",
        result=POINTER,
    )
    none = builtin_code.foreign(code, Foreign.NONE)
    makes = _is(code, asked, none)
    out = code.builder.select(makes, ir.Constant(POINTER, None), asked)
    places = words(code, MOST_OPERANDS + MOST_STEPS)
    with code.repeat(count, []) as each:
        array = code.pointer(given, each.index)
        with code.when(code.builder.not_(builtin_code.is_array(code, array))):
            code.leave(none)
        code.set_word(places, each.index, _field(code, array, FIELDS))
    with (
        code.when(code.builder.not_(makes)),
        code.when(code.builder.not_(builtin_code.is_array(code, asked))),
    ):
        code.leave(none)
    # 1 and 0 as ints are what a call without them means; as floats, other dtypes have a say.
    first, one = factor(code, alpha, 1.0, none)
    second, zero = factor(code, beta, 0.0, none)
    scaled = code.builder.zext(code.builder.not_(one), WORD)
    form = code.add(code.builder.zext(makes, WORD), code.mul(scaled, 2))
    form = code.add(form, code.mul(count, 4))
    record_at = code.call("warm.find", WORD, [key, form, given, count, out])
    with code.when(code.equal(record_at, 0)):
        code.leave(none)
    record = code.builder.inttoptr(record_at, POINTER)
    default = code.builder.and_(one, zero)
    scalars = scalars_of(code, record, makes, (first, second), default, none)
    last = code.sub(code.word(record, Record.COUNT), 1)
    keep = code.pointer(record, Record.KEEP)
    code.call("Py_IncRef", VOID, [keep])
    result, place = _result(code, record, makes, asked, (places, count), none)
    own, buffer = words(code, PREPARED_WORDS), _buffer(code, record, result, none)
    scratch, rank = code.word(buffer, 0), code.word(record, Record.OUT + Array.RANK)
    inner = code.add(scratch, code.word(record, Record.KEPT))
    first_step = cell(code, record, Record.STEPS)
    with code.repeat(code.add(last, 1), []) as each:
        i = each.index
        step = cell(code, first_step, code.mul(i, Step.WORDS))
        to, ends = code.word(step, Step.TO), code.equal(i, last)
        to = code.builder.select(ends, place, code.add(scratch, to))
        code.set_word(places, code.add(count, i), to)
        in0, in1 = (code.word(places, code.word(step, w)) for w in (Step.IN0, Step.IN1))
        factors = code.builder.select(ends, scalars, ir.Constant(POINTER, None))
        plan, nothing = code.pointer(step, Step.PREPARED), code.int(0)
        arguments = [own, plan, in0, in1, to, nothing, factors, inner]
        code.call("entry.prepare", WORD, arguments)
        builtin_code.run_prepared(code, own)
        with code.when(code.nonzero(code.word(own, CallRecord.CANCEL))):
            code.set_word(buffer, 1, 0)
            _drop(code, keep, result)
            builtin_code.raise_cancelled(code, module)
    code.set_word(buffer, 1, 0)
    _drop(code, keep)
    with code.when(code.builder.and_(makes, code.equal(rank, 0))):
        scalar = builtin_code.foreign(code, Foreign.AS_SCALAR)
        code.leave(code.call_address(scalar, POINTER, [result]))
    code.finish(result)


def _buffer(code: Code, record: Value, result: Value, none: Value) -> Value:
    """Scratch of a call: its address, and a word to clear when it is not used any more."""
    stacked, on_stack = code.stack(BYTE, SCRATCH), words(code, 2)
    code.set_word(on_stack, 0, code.builder.ptrtoint(stacked, WORD))

    def taken() -> list[Value]:
        place = code.call("warm.take", POINTER, [])
        with code.when(null(code, place)):
            _drop(code, code.pointer(record, Record.KEEP), result)
            code.leave(none)
        return [place]

    little = code.less(code.word(record, Record.SCRATCH), SCRATCH + 1)
    (place,) = code.choose(little, lambda: [on_stack], taken)
    return place


def _emit_warm(module: ir.Module, target: Target) -> None:
    code, (_, given, count) = function(
        module, target, "entry.warm", "self", "given", "count:", result=POINTER
    )
    scaled = code.equal(count, 4)
    with code.when(code.builder.not_(code.builder.or_(code.equal(count, 2), scaled))):
        usage = builtin_code.text(module, "warm_usage", "(operands, out[, alpha, beta])")
        builtin_code.raise_error(code, Foreign.TYPE_ERROR, usage)
    none = builtin_code.foreign(code, Foreign.NONE)
    operands, asked = code.pointer(given, 0), code.pointer(given, 1)
    nothing = ir.Constant(POINTER, None)
    factors = code.choose(
        scaled,
        lambda: [code.pointer(given, 2), code.pointer(given, 3)],
        lambda: [nothing, nothing],
    )
    count, items = code.sub(_length(code, operands), 1), code.at(operands, ITEMS_AT)
    with code.when(code.builder.not_(_may_be_known(code, count))):
        code.call("Py_IncRef", VOID, [none])
        code.leave(none)
    arguments = [code.word(items, 0), code.at(items, _ITEM), count, asked, *factors]
    result = code.call("warm.serve", POINTER, arguments)
    with code.when(_is(code, result, none)):
        code.call("Py_IncRef", VOID, [none])
    code.finish(result)


def _emit_function(module: ir.Module, target: Target) -> None:
    """What stands before a function of the package (`jit/front.py`). With a key its operands are
    the first arguments, and a third one is `out`; without, they follow the key."""
    code, (owner, given, count, keywords) = function(
        module, target, "entry.function", "self", "given", "count:", "keywords", result=POINTER
    )
    none, own = builtin_code.foreign(code, Foreign.NONE), own_pair(code, owner, Foreign.FUNCTION_AT)
    key, named = code.word(own, 0), code.builder.not_(null(code, keywords))
    by_spec = code.equal(key, code.builder.ptrtoint(none, WORD))
    other = [code.pointer(own, 1), given, count, keywords]
    with code.when(code.equal(count, 0)):
        code.leave(code.call("PyObject_Vectorcall", POINTER, other))
    before = code.builder.zext(by_spec, WORD)
    key = code.builder.select(by_spec, code.word(given, 0), key)
    third = code.builder.and_(code.equal(count, 3), code.builder.not_(by_spec))
    third = code.builder.and_(third, code.builder.not_(named))
    (out,) = code.choose(third, lambda: [code.pointer(given, 2)], lambda: [none])
    many = code.sub(code.sub(count, before), code.builder.zext(third, WORD))
    operands = code.at(given, code.mul(before, _ITEM))
    _finish_call(code, [key, operands, many, out], other, by_spec)


def _emit_plan(module: ir.Module, target: Target) -> None:
    """What stands before a plan, as PEP 590 has it, behind `entry.plan`."""
    code, (plan, given, count, keywords) = function(
        module, target, "warm.plan", "plan", "given", "count:", "keywords", result=POINTER
    )
    none, own = builtin_code.foreign(code, Foreign.NONE), own_pair(code, plan, Foreign.PLAN_AT)
    with code.when(null(code, own)):  # the garbage collector has cleared it
        gone = builtin_code.text(module, "plan_gone", "this plan is being destroyed")
        builtin_code.raise_error(code, Foreign.RUNTIME_ERROR, gone)
    count = argument_count(code, count)
    other = [code.pointer(own, 1), given, count, keywords]
    call, factors = [code.word(own, 0), given, count, none], ir.Constant(ir.IntType(1), 1)
    _finish_call(code, call, other, factors)


def _finish_call(code: Code, call: list[Value], other: list[Value], factors: Value) -> None:
    """Run a call (key, operands, how many, out) if it is known, else the other callable on its own
    arguments: also where there are other keywords than `out`, and alpha and beta if it takes such
    factors."""
    key, operands, many, out = call
    _, given, count, keywords = other
    none = builtin_code.foreign(code, Foreign.NONE)
    nothing = ir.Constant(POINTER, None)

    def named() -> list[Value]:
        names, total = code.at(keywords, ITEMS_AT), _length(code, keywords)
        with code.reduce(total, [code.int(0), out, nothing, nothing]) as each:
            matched, *values = each.values
            name = code.pointer(names, each.index)
            value = code.pointer(given, code.add(count, each.index))
            for i, keyword in enumerate((Foreign.OUT, Foreign.ALPHA, Foreign.BETA)):
                meant = _is(code, name, builtin_code.foreign(code, keyword))
                meant = code.builder.and_(meant, factors) if i else meant
                values[i] = code.builder.select(meant, value, values[i])
                matched = code.add(matched, code.builder.zext(meant, WORD))
            each.update([matched, *values])
        matched, *values = each.values
        return [code.builder.zext(code.equal(matched, total), WORD), *values]

    plain, *values = code.choose(
        null(code, keywords), lambda: [code.int(1), out, nothing, nothing], named
    )
    with code.when(code.builder.and_(code.nonzero(plain), _may_be_known(code, many))):
        result = code.call("warm.serve", POINTER, [key, operands, many, *values])
        with code.when(code.builder.not_(_is(code, result, none))):
            code.leave(result)
    code.finish(code.call("PyObject_Vectorcall", POINTER, other))


def _length(code: Code, items: Value) -> Value:
    """Of a tuple."""
    return code.word(code.at(items, object.__basicsize__), 0)


def _may_be_known(code: Code, count: Value) -> Value:
    """Whether a call has so many operands as one that is known may have."""
    return code.builder.icmp_unsigned("<", code.sub(count, 1), code.int(MOST_OPERANDS))


def _is(code: Code, one: Value, other: Value) -> Value:
    return code.equal(code.builder.ptrtoint(one, WORD), code.builder.ptrtoint(other, WORD))


def _result(
    code: Code,
    record: Value,
    makes: Value,
    asked: Value,
    operands: tuple[Value, Value],
    none: Value,
) -> tuple[Value, Value]:
    """The result, a reference of the caller's own, and its address: a new array, or `out` unless
    it may overlap an operand. operands: where they begin, and how many there are."""
    described, keep = cell(code, record, Record.OUT), code.pointer(record, Record.KEEP)
    nothing, maker = ir.Constant(POINTER, None), code.pointer(record, Record.MAKER)

    def new() -> list[Value]:
        (made,) = code.choose(
            null(code, maker),
            lambda: [_new_array(code, described)],
            lambda: [
                code.call("PyObject_Vectorcall", POINTER, [maker, nothing, code.int(0), nothing])
            ],
        )
        with code.when(null(code, made)):
            _drop(code, keep)
            code.leave(nothing)
        with code.when(code.builder.not_(_begins_well(code, record, _field(code, made, FIELDS)))):
            _drop(code, keep, made)
            code.leave(none)
        return [made]

    def given() -> list[Value]:
        (places, count), place = operands, _field(code, asked, FIELDS)
        with code.repeat(count, []) as each:
            i = each.index
            pair = [_operand(code, record, i), code.word(places, i), described, place]
            with code.when(code.nonzero(code.call("warm.overlaps", WORD, pair))):
                _drop(code, keep)
                code.leave(none)
        code.call("Py_IncRef", VOID, [asked])
        return [asked]

    (result,) = code.choose(makes, new, given)
    return result, _field(code, result, FIELDS)


def _new_array(code: Code, described: Value) -> Value:
    """A new array of numpy's of a layout; null after an exception."""
    dtype = code.pointer(described, Array.DTYPE)
    code.call("Py_IncRef", VOID, [dtype])  # which the function takes
    layout = (cell(code, described, Array.SHAPE), cell(code, described, Array.STRIDES))
    nothing = ir.Constant(POINTER, None)
    rank = code.builder.trunc(code.word(described, Array.RANK), INT32)
    make = builtin_code.foreign(code, Foreign.NEW_ARRAY)
    kind = builtin_code.foreign(code, Foreign.ARRAY)
    flags = code.builder.trunc(code.int(0), INT32)
    return code.call_address(make, POINTER, [kind, dtype, rank, *layout, nothing, flags, nothing])


def _drop(code: Code, *objects: Value) -> None:
    """Give references back."""
    for thing in objects:
        code.call("Py_DecRef", VOID, [thing])
