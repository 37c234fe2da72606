"""What searches have found, on disk: a small JSON file for each operation.

    <cache folder>/tuning/<hash>.json

The hash covers everything that a choice depends on: the normalised operation (sizes, strides,
dtypes, primitives), the threads, all that the machine model has, and the version of the library.
Files are replaced as a whole, so that any number of processes may read and write; one that cannot
be read, or says nothing sensible, is as if it were not there, and is written anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from tensorop._version import __version__
from tensorop.ir import TensorOp
from tensorop.jit.store import root
from tensorop.optimizer.choice import Choice, check
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.realign import moved

FORMAT = 1


def folder() -> Path:
    """Where the files are; it need not exist."""
    return Path(root(), "tuning")


def load(op: TensorOp, threads: int, machine: Machine) -> Choice | None:
    """What was found for a normalised operation, None where nothing was."""
    try:
        found = json.loads(_path(op, threads, machine).read_text(encoding="utf-8"))
        choice = Choice.from_json(found["choice"])
        check(op, choice, machine)
        moved(op, dict(choice.orders or ()))
    except (OSError, ValueError, TypeError, LookupError):
        return None
    return choice


def save(op: TensorOp, threads: int, machine: Machine, choice: Choice, facts: Any) -> bool:
    """Keep a choice, and facts about it for whoever reads the file; whether that was possible."""
    path = _path(op, threads, machine)
    content = {"operation": _text(op), "threads": threads, "choice": choice.as_json(), **facts}
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
    except OSError:
        return False
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
        os.replace(name, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(name)
        return False
    return True


def _path(op: TensorOp, threads: int, machine: Machine) -> Path:
    facts = [FORMAT, __version__, repr(machine), threads, _text(op)]
    digest = hashlib.sha256(json.dumps(facts).encode()).hexdigest()
    return folder() / f"{digest[:32]}.json"


def _text(op: TensorOp) -> str:
    """The operation without its names."""
    touches = f"{op.first_touch} {op.main} {op.last_touch}"
    tensors = " ".join(f"{t.role}:{t.dtype}{'*' * t.conj}" for t in op.tensors)
    dims = " ".join(f"{d.type}{d.size}({','.join(map(str, d.strides))})" for d in op.dimensions)
    return f"{touches} | {tensors} | {dims}"
