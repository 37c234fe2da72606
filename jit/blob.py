"""Flatten an ELF object file into one position-independent block of code and constants.

Keeps the allocated, read-only sections, resolves the relative relocations between them, and refuses
everything that would make the block depend on the outside: undefined symbols, absolute addresses
and writable data. So a kernel that flattens is leaf code, and can be copied or mapped anywhere.

Source: System V ABI, chapters 4 (object files) and the x86-64 and AArch64 supplements.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

_PROGBITS, _SYMTAB, _RELA = 1, 2, 4
_WRITE, _ALLOC = 1, 2
_X86_PC_RELATIVE = {2, 4}  # R_X86_64_PC32, R_X86_64_PLT32
_X86_64, _AARCH64 = 62, 183


class _Section(NamedTuple):
    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry_size: int


class _Symbol(NamedTuple):
    name: int
    info: int
    other: int
    section: int
    value: int
    size: int


def flatten(data: bytes) -> tuple[bytes, dict[str, int]]:
    """The block, and the offset of every function in it.

    Raises
    ------
    ValueError
        The object has writable data, an undefined symbol, or a relocation that is not relative.
    """
    (section_offset,) = struct.unpack_from("<Q", data, 40)
    count, names = struct.unpack_from("<HH", data, 60)
    sections = [
        _Section(*struct.unpack_from("<IIQQQQIIQQ", data, section_offset + 64 * i))
        for i in range(count)
    ]

    def text(table: int, offset: int) -> str:
        start = sections[table].offset + offset
        return data[start : data.index(b"\0", start)].decode()

    block, bases = _lay_out(data, sections, lambda s: text(names, s.name))
    symbol_table = next(s for s in sections if s.type == _SYMTAB)
    symbols = [
        _Symbol(*struct.unpack_from("<IBBHQQ", data, symbol_table.offset + 24 * i))
        for i in range(symbol_table.size // 24)
    ]
    (machine,) = struct.unpack_from("<H", data, 18)
    for section in sections:
        if section.type == _RELA and section.info in bases:
            for offset, info, addend in struct.iter_unpack(
                "<QQq", data[section.offset : section.offset + section.size]
            ):
                symbol = symbols[info >> 32]
                if symbol.section not in bases:
                    raise ValueError(f"undefined symbol {text(symbol_table.link, symbol.name)!r}")
                place = bases[section.info] + offset
                value = bases[symbol.section] + symbol.value + addend
                _relocate(block, machine, info & 0xFFFFFFFF, place, value)
    functions = {
        text(symbol_table.link, s.name): bases[s.section] + s.value
        for s in symbols
        if s.info & 15 == 2 and s.section in bases
    }
    return bytes(block), functions


def _lay_out(
    data: bytes, sections: list[_Section], name: Callable[[_Section], str]
) -> tuple[bytearray, dict[int, int]]:
    """The read-only sections one after the other, and where each begins."""
    block, bases = bytearray(), dict[int, int]()
    for i, section in enumerate(sections):
        if not section.flags & _ALLOC or name(section).startswith(".eh_frame"):
            continue
        if section.flags & _WRITE and section.size:
            raise ValueError(f"writable data in section {name(section)}")
        if section.type == _PROGBITS:
            block += b"\0" * (-len(block) % max(section.align, 1))
            bases[i] = len(block)
            block += data[section.offset : section.offset + section.size]
    return block, bases


def _relocate(block: bytearray, machine: int, kind: int, place: int, value: int) -> None:
    if machine == _X86_64 and kind in _X86_PC_RELATIVE:
        struct.pack_into("<i", block, place, value - place)
        return
    if machine == _AARCH64:
        (word,) = struct.unpack_from("<I", block, place)
        if kind == 275:  # R_AARCH64_ADR_PREL_PG_HI21; blocks are placed at page boundaries
            pages = (value >> 12) - (place >> 12)
            word |= ((pages & 3) << 29) | (((pages >> 2) & 0x7FFFF) << 5)
        elif kind == 277:  # R_AARCH64_ADD_ABS_LO12_NC
            word |= (value & 0xFFF) << 10
        elif kind in (278, 284, 285, 286, 299):  # R_AARCH64_LDST{8,16,32,64,128}_ABS_LO12_NC
            shift = {278: 0, 284: 1, 285: 2, 286: 3, 299: 4}[kind]
            word |= ((value & 0xFFF) >> shift) << 10
        else:
            raise ValueError(f"relocation type {kind} in leaf code")
        struct.pack_into("<I", block, place, word)
        return
    raise ValueError(f"relocation type {kind} in leaf code")
