"""What the optimizer has decided, on disk, so that the next process need not ask it.

Files of `jit/store.py`, for each machine and source of the library, hold the stages of operations,
bound but without addresses, and the orders of results that operations prefer. Which file a record
is in, its key says: so the first plan of a process waits for a part of all that is known. A file is
read when something is looked for that it would have, and written when the process ends, with what
others have written meanwhile; where that would be too much, the records go that were written first.
Nothing that goes wrong here is an error: operations are then planned. What runs in several parts
(rearranged and not linked, divided, widened) is planned in every process; its parts may be kept. Of
processes that end at the same moment one may lose what the other has written.

At the debug levels everything is planned, so that it can be shown.
"""

from __future__ import annotations

import atexit
import contextlib
import marshal
import os
import sys
import zlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tensorop.config import CACHE, CACHE_DIR
from tensorop.debug import Level, wants
from tensorop.executable import Stage
from tensorop.ir import TensorOp
from tensorop.jit import store
from tensorop.jit.library import kept_address
from tensorop.optimizer import machine
from tensorop.optimizer.machine import host_machine
from tensorop.runtime import Bound

FILES = 16
MOST = 1 << 18  # bytes of the records of a file
MOST_NEW = 1 << 24  # bytes, about, that a process keeps to be written
_ENTRY = 4096  # of a record beside its words, as objects

Record = bytes | tuple[float, tuple[int, ...]]  # stages; price and order

_new: dict[str, list[tuple[tuple[Any, ...], Callable[[], Record]]]] = {}  # by folder
_process = 0  # that asked to save when it ends
_room = MOST_NEW


def find(
    op: TensorOp, threads: int | None, count: int, *beside: object
) -> tuple[Stage, ...] | None:
    """The stages of an operation that one executable runs; None where they, or kernels of theirs,
    are not kept.

    Parameters
    ----------
    op : TensorOp
    threads : int or None
        How many the caller allows; None: the setting in force.
    count : int
        How many may share it.
    *beside : object
        What else it runs with: the operation before it, and which input that writes.
    """
    record = _record_of(op, threads, count, *beside)
    return None if record is None else _stages(record)


def note(
    op: TensorOp, threads: int | None, count: int, stages: Sequence[Stage], *beside: object
) -> None:
    """Keep the stages of an operation; beside: see `find`."""
    size = sum(stage.bound.words.nbytes for stage in stages)
    _keep((op, threads, count, *beside), size, lambda: _record(stages))


def is_marked(op: TensorOp, *what: object) -> bool:
    """Whether `mark` was told this of an operation."""
    return _record_of(op, *what) is not None


def mark(op: TensorOp, *what: object) -> None:
    """Keep a decision that is all that there is to know."""
    _keep((op, *what), 0, lambda: (0.0, ()))


def find_order(op: TensorOp) -> tuple[float, tuple[int, ...]] | None:
    """What `note_order` was told of an operation."""
    found: tuple[float, tuple[int, ...]] | None = _record_of(op)
    return found


def note_order(op: TensorOp, price: float, order: tuple[int, ...]) -> None:
    """Keep what an operation costs, and the order that it would have its result in."""
    _keep((op,), 0, lambda: (price, order))


def save() -> None:
    """Write what was noted, each record to the folder that was in force."""
    global _room
    _room = MOST_NEW
    while _new:
        folder, added = _new.popitem()
        files: dict[int, dict[bytes, Record]] = {}
        for what, record in added:
            key = _key(*what)
            files.setdefault(_file(key), {})[key] = record()
        with CACHE(1), CACHE_DIR(folder), contextlib.suppress(OSError):
            for file, new in files.items():
                records = {key: old for key, old in _read(file).items() if key not in new} | new
                _drop(records)
                store.save(_what(file), marshal.dumps(records))
    forget()


def forget() -> None:
    """Look at the disk again."""
    _has_any.cache_clear()
    _kept.cache_clear()


def _drop(records: dict[bytes, Record]) -> None:
    """Those that were written first, where all are too much."""
    size = sum(map(_size, records.values()))
    for key in list(records):
        if size <= MOST:
            break
        size -= _size(records.pop(key))


def _keep(what: tuple[Any, ...], size: int, record: Callable[[], Record]) -> None:
    """Keep a record of about so many bytes, and what it is of, until the process ends."""
    global _room
    size += _ENTRY
    if size > _room or (folder := _folder()) is None:
        return
    _room -= size
    _save_at_exit()
    _new.setdefault(folder, []).append((what, record))


def _save_at_exit() -> None:
    global _process
    if _process == os.getpid():
        return
    if not _process:  # a forked child has its parent's hooks
        atexit.register(save)
    # Workers of multiprocessing end without them. Another thread may be importing that just now.
    finalize = getattr(sys.modules.get("multiprocessing.util"), "Finalize", None)
    if finalize is not None:
        finalize(None, save, exitpriority=1)
    _process = os.getpid()


def _record_of(op: TensorOp, *more: object) -> Any:
    """What was on disk when its file was first looked at; nothing where all is to be planned."""
    folder = _folder()
    if folder is None or wants(Level.PLAN) or not _has_any(folder):
        return None
    key = _key(op, *more)
    return _kept(folder, _file(key)).get(key)


def _folder() -> str | None:
    """Where records are kept, None where nothing is."""
    if not CACHE.value:
        return None
    root = store.root()
    return root if os.path.isabs(root) else os.path.abspath(root)


@lru_cache(maxsize=4)
def _has_any(folder: str) -> bool:
    """Whether there was anything on disk when it was first looked at."""
    return store.can_have()


@lru_cache(maxsize=4 * FILES)
def _kept(folder: str, file: int) -> dict[bytes, Any]:
    return _read(file)


def _read(file: int) -> dict[bytes, Any]:
    content = None
    with contextlib.suppress(OSError):  # such as of sources that are in an archive
        content = store.load(_what(file)) if store.can_have() else None
    return {} if content is None else marshal.loads(content)


def _file(key: bytes) -> int:
    """The file that a record is in."""
    return key[0] % FILES


def _what(file: int) -> str:
    """What plans depend on, beside kernels: the machine, and the source of who makes them."""
    return f"plans {file} for {host_machine()!r} by {_source()}"


@lru_cache(maxsize=1)
def _source() -> str:
    folders = [os.path.dirname(module) for module in (__file__, machine.__file__)]
    return store.digest([path for folder in folders for path in store.modules(folder)])


def _key(op: TensorOp, *more: object) -> bytes:
    """The operations without their names."""
    texts = [_text(one) if isinstance(one, TensorOp) else str(one) for one in more]
    return store.hashed(f"{_text(op)} {texts}")


def _text(op: TensorOp) -> str:
    tensors = [(t.dtype, t.conj, t.begins) for t in op.tensors]
    dims = [f"{d.type}{d.exec}{d.size}{d.strides}" for d in op.dimensions]
    return f"{op.first_touch} {op.main} {op.last_touch} {tensors} {dims}"


def _size(record: Record) -> int:
    return 64 + (len(record) if isinstance(record, bytes) else 8 * len(record[1]))


def _record(stages: Sequence[Stage]) -> bytes:
    return marshal.dumps([_stage_record(stage) for stage in stages])


def _stage_record(stage: Stage) -> tuple[Any, ...]:
    node, frame, words, *plain = stage.bound
    # Most words are tables of offsets in even steps: their differences take a tenth of the space.
    steps = np.diff(words, prepend=np.int64(0))
    packed = (node, frame.tobytes(), zlib.compress(steps.tobytes(), 1), *plain)
    kernels = list(map(repr, stage.kernels))
    return packed, kernels, stage.operands, stage.scaled, stage.lines


def _stages(record: bytes) -> tuple[Stage, ...] | None:
    target, stages = host_machine().target, []
    for (node, frame, steps, *plain), kernels, operands, scaled, lines in marshal.loads(record):
        addresses = [kept_address(kernel, target) for kernel in kernels]
        known = [address for address in addresses if address is not None]
        if len(known) < len(kernels):
            return None
        words = np.cumsum(np.frombuffer(zlib.decompress(steps), np.int64))
        bound = Bound(node, np.frombuffer(frame, np.int64), words, *plain)
        stages.append(Stage(bound, known, operands, scaled, lines))
    return tuple(stages)
