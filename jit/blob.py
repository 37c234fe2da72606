"""Flatten an ELF object file into one position-independent block of memory.

Keeps the allocated sections and resolves the relocations between them. A kernel has to be *leaf
code*: `flatten` refuses everything that would make the block depend on the outside, so that it can
be copied or mapped anywhere. `link` takes code that calls functions of the process and has data of
its own: behind the code it lays out the memory that is to be writable, with slots for addresses
that are known only where the block lies; calls go through stubs that jump to what a slot holds.

Source: System V ABI, chapters 4 (object files) and the x86-64 and AArch64 supplements.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from tensorop.jit.arena import Linked
from tensorop.tuples import NamedTuple

PAGE = 4096  # of memory that is protected in one way
_PROGBITS, _SYMTAB, _RELA, _NOBITS = 1, 2, 4, 8
_WRITE, _ALLOC = 1, 2
_X86_PC32 = 2
_X86_PC_RELATIVE = {_X86_PC32, 4}  # R_X86_64_PC32, R_X86_64_PLT32
_X86_SLOT_RELATIVE = {9, 41, 42}  # R_X86_64_GOTPCREL, _GOTPCRELX, _REX_GOTPCRELX
_X86_JUMP = b"\xff\x25"  # jmp [rip + offset of 32 bits]
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
    """The block of leaf code, and the offset of every function in it.

    Raises
    ------
    ValueError
        The object has writable data, an undefined symbol, or a relocation that is not relative.
    """
    file = _Object(data)
    for section in file.sections:
        if section.flags & _ALLOC and section.flags & _WRITE and section.size:
            raise ValueError(f"writable data in section {file.name(section)}")
    block, bases = file.lay_out()
    for place, kind, symbol, addend in file.relocations(bases):
        if symbol.section not in bases:
            raise ValueError(f"undefined symbol {file.name_of(symbol)!r}")
        value = bases[symbol.section] + symbol.value + addend
        _relocate(block, file.machine, kind, place, value)
    return bytes(block), file.functions(bases)


def link(data: bytes) -> Linked:
    """The block of code for x86-64 that calls functions of the process, or has writable data that
    begins as zeros.

    Raises
    ------
    ValueError
        It is for another machine, its data does not begin as zeros, or it is not
        position-independent.
    """
    file = _Object(data)
    if file.machine != _X86_64:
        raise ValueError("only code for x86-64 is linked")
    block, bases = file.lay_out()
    relocations = list(file.relocations(bases))
    outside = dict.fromkeys(
        file.name_of(symbol) for _, _, symbol, _ in relocations if not symbol.section
    )
    stubs = {name: len(block) + 8 * i for i, name in enumerate(outside)}
    block += bytes(8 * len(outside))
    block += bytes(-len(block) % PAGE)
    start = len(block)
    slots: dict[str | int, int] = {name: start + 8 * i for i, name in enumerate(outside)}
    for name, stub in stubs.items():
        block[stub : stub + 6] = _X86_JUMP + struct.pack("<i", slots[name] - stub - 6)
    # Every section has a place before addresses inside the block get slots: these come last.
    end = start + 8 * len(outside)
    for i, section in enumerate(file.sections):
        if section.flags & _ALLOC and section.flags & _WRITE and section.size:
            if section.type != _NOBITS:
                raise ValueError(f"data in section {file.name(section)} that are not zeros")
            bases[i] = -(-end // section.align) * section.align
            end = bases[i] + section.size
    end = -(-end // 8) * 8
    for place, kind, symbol, addend in relocations:
        what: str | int = file.name_of(symbol)
        if symbol.section:
            what = bases[symbol.section] + symbol.value
        if kind in _X86_SLOT_RELATIVE:
            if what not in slots:
                slots[what], end = end, end + 8
            _relocate(block, _X86_64, _X86_PC32, place, slots[what] + addend)
        else:
            value = what if isinstance(what, int) else stubs[what]
            _relocate(block, _X86_64, kind, place, value + addend)
    places = [(at, key) for key, at in slots.items()]
    return Linked(bytes(block), end, file.functions(bases), places)


def behind_jump(code: bytes, start: int) -> Linked:
    """The block of leaf code for x86-64 whose function, at `start`, is called through a jump, the
    function "jump" of the block: to where its only slot says, which can be changed."""
    jump, end = len(code), -(-(len(code) + 6) // PAGE) * PAGE
    block = code + _X86_JUMP + struct.pack("<i", end - jump - 6)
    return Linked(block + bytes(end - len(block)), end + 8, {"jump": jump}, [(end, start)])


class _Object:
    """An ELF object file."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        (offset,) = struct.unpack_from("<Q", data, 40)
        (self.machine,) = struct.unpack_from("<H", data, 18)
        count, self._names = struct.unpack_from("<HH", data, 60)
        self.sections = [
            _Section(*struct.unpack_from("<IIQQQQIIQQ", data, offset + 64 * i))
            for i in range(count)
        ]
        table = next(s for s in self.sections if s.type == _SYMTAB)
        self._strings = table.link
        self._symbols = [
            _Symbol(*struct.unpack_from("<IBBHQQ", data, table.offset + 24 * i))
            for i in range(table.size // 24)
        ]

    def name(self, section: _Section) -> str:
        return self._text(self._names, section.name)

    def name_of(self, symbol: _Symbol) -> str:
        return self._text(self._strings, symbol.name)

    def _text(self, table: int, offset: int) -> str:
        start = self.sections[table].offset + offset
        return self._data[start : self._data.index(b"\0", start)].decode()

    def lay_out(self) -> tuple[bytearray, dict[int, int]]:
        """The read-only sections one after the other, and where each begins."""
        block, bases = bytearray(), dict[int, int]()
        for i, section in enumerate(self.sections):
            if not section.flags & _ALLOC or self.name(section).startswith(".eh_frame"):
                continue
            if section.type == _PROGBITS and not section.flags & _WRITE:
                block += b"\0" * (-len(block) % max(section.align, 1))
                bases[i] = len(block)
                block += self._data[section.offset : section.offset + section.size]
        return block, bases

    def relocations(self, bases: dict[int, int]) -> Iterator[tuple[int, int, _Symbol, int]]:
        """Place in the block, kind, symbol and addend of those in sections that are kept."""
        for section in self.sections:
            if section.type == _RELA and section.info in bases:
                table = self._data[section.offset : section.offset + section.size]
                for offset, info, addend in struct.iter_unpack("<QQq", table):
                    place = bases[section.info] + offset
                    yield place, info & 0xFFFFFFFF, self._symbols[info >> 32], addend

    def functions(self, bases: dict[int, int]) -> dict[str, int]:
        """Offsets of all functions."""
        return {
            self.name_of(s): bases[s.section] + s.value
            for s in self._symbols
            if s.info & 15 == 2 and s.section in bases
        }


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
            raise ValueError(f"relocation type {kind} is not known")
        struct.pack_into("<I", block, place, word)
        return
    raise ValueError(f"relocation type {kind} is not known")
