"""The generated code of the entries from Python into the driver (see `jit/entry.py`)."""

from __future__ import annotations

from llvmlite import ir

from tensorop.jit.abi import FRAME_AT, PREPARED_WORDS, SCALAR_WORDS, CallRecord, Frame
from tensorop.jit.builder import WORD
from tensorop.jit.builtin import ARGUMENTS
from tensorop.jit.builtin_code import emit_python
from tensorop.jit.driver import emit_driver
from tensorop.jit.records import cell, copy_words, function, null, words
from tensorop.jit.slots import Slot
from tensorop.jit.target import Target

_TENSORS = (Slot.IN0, Slot.IN1, Slot.OUT, Slot.AUX)
_SCRATCH = (Slot.PACK0, Slot.PACK1, Slot.SPARE0, Slot.SPARE1)


def driver_module(target: Target, *, python: bool) -> ir.Module:
    """The module of the driver and the entries."""
    module = ir.Module("driver")
    emit_driver(module, target)
    _emit_execute(module, target)
    _emit_prepare(module, target)
    _emit_launch(module, target)
    if python:
        emit_python(module, target)
    _hurry(module)
    return module


# What every call runs through. The rest runs once a region or less, or waits.
_HOT = frozenset(
    {"driver.run", "driver.chain", "entry.execute", "entry.prepare", "entry.launch", "entry.python"}
    | {"entry.plan"}
)


def _hurry(module: ir.Module) -> None:
    """Leave the functions that are not hot unoptimised: the first call waits for this module."""
    for function_ in module.functions:
        if not function_.is_declaration and function_.name not in _HOT:
            function_.attributes.add("noinline")
            function_.attributes.add("optnone")


# the plain entries


def _emit_execute(module: ir.Module, target: Target) -> None:
    code, (record,) = function(module, target, "entry.execute", "record")
    body = [code.pointer(record, CallRecord.NODE), code.pointer(record, CallRecord.FRAME)]
    code.finish(code.call("driver.run", WORD, body))


def _emit_prepare(module: ir.Module, target: Target) -> None:
    """The call record and frame of one call, from the prepared ones and the call's addresses."""
    code, (own, prepared, in0, in1, out, aux, scalars, scratch) = function(
        module, target, "entry.prepare", "own", "prepared", *ARGUMENTS
    )
    copy_words(code, own, prepared, PREPARED_WORDS)
    frame = cell(code, own, FRAME_AT)
    code.set_word(frame, Frame.CALL, code.builder.ptrtoint(own, WORD))
    code.set_word(own, CallRecord.FRAME, code.builder.ptrtoint(frame, WORD))
    bases = [(slot, scratch) for slot in _SCRATCH]
    for slot, base in [*zip(_TENSORS, (in0, in1, out, aux), strict=True), *bases]:
        code.set_word(frame, slot, code.add(code.word(frame, slot), base))
    with code.when(code.builder.not_(null(code, scalars))):
        copy_words(code, own, scalars, SCALAR_WORDS)
    code.finish(code.int(0))


def _emit_launch(module: ir.Module, target: Target) -> None:
    code, arguments = function(module, target, "entry.launch", "prepared", *ARGUMENTS)
    own = words(code, PREPARED_WORDS)
    code.call("entry.prepare", WORD, [own, *arguments])
    code.finish(code.call("entry.execute", WORD, [own]))
