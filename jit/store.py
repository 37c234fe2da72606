"""Compiled code, and what else takes long to make, on disk for the next process.

    <cache folder>/code/<hash>.bin

The hash covers everything that code depends on: what it is, for which target, the source of the
generators, and which llvmlite and LLVM are installed (and what is kept may name more: see
`tensorop/plan_store.py`). A file holds a digest of its content. Files
are replaced as a whole, so that any number of processes may read and write; one that is damaged,
that cannot be read or that somebody else may have written is as if it were not there. Nothing that
goes wrong here is an error: what was to be found is then made.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import threading
from collections.abc import Sequence
from functools import lru_cache
from importlib.machinery import PathFinder

try:
    # All of hashlib takes 4 ms to import: it loads OpenSSL.
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

from tensorop import ir
from tensorop._version import __version__
from tensorop.config import CACHE, CACHE_DIR
from tensorop.jit.guard import importing

FORMAT = b"tensorop code 2\n"
LIMIT = 64 << 20  # bytes of all files; where they are more, the oldest go until half are left
LOOK_EVERY = 32  # files written by a process between two looks at how many there are
_DIGEST = 32  # bytes
_written = 0
_waiting: list[tuple[str, bytes]] = []


def root() -> str:
    """The folder of everything that is kept on disk; it need not exist."""
    chosen = CACHE_DIR.value
    if chosen:
        return chosen
    return _usual_root(os.environ.get("XDG_CACHE_HOME", ""), os.environ.get("HOME"))


@lru_cache(maxsize=4)
def _usual_root(named: str, home: str | None) -> str:
    """The folder where no setting names one; home: what the environment says of it."""
    if sys.platform == "linux":  # as platformdirs has it, which takes 10 ms to import
        named = named.strip()
        chosen = named if os.path.isabs(named) else os.path.expanduser("~/.cache")
        if not os.path.isabs(chosen):  # nobody's home: a place where nothing can be kept
            chosen = os.devnull
        return os.path.join(chosen, "tensorop")
    with importing:
        import platformdirs

    return platformdirs.user_cache_dir("tensorop")


def folder() -> str:
    """Where the files are; it need not exist."""
    return os.path.join(root(), "code")


def files() -> list[str]:
    """All files, the oldest first."""
    found = []
    with contextlib.suppress(OSError):
        for name in os.listdir(folder()):
            path = os.path.join(folder(), name)
            with contextlib.suppress(OSError):  # another process may have removed it
                found.append((os.stat(path).st_mtime, path))
    return [path for _, path in sorted(found)]


def clear() -> int:
    """Remove all files; how many there were."""
    return sum(map(_remove, files()))


def load(what: str) -> bytes | None:
    """What was kept under a description, None where nothing was."""
    with contextlib.suppress(OSError):
        return _load(_key(what)) if can_have() else None
    return None


def can_have() -> bool:
    """Whether anything was ever kept: else nobody needs to find out what keys depend on, for which
    all sources are read."""
    return bool(CACHE.value) and os.path.isdir(folder())


def _load(key: bytes) -> bytes | None:
    try:
        if not _ours(os.stat(folder())):
            return None
        with open(_path(key), "rb") as file:
            if not _ours(os.fstat(file.fileno())):
                return None
            data = file.read()
    except OSError:
        return None
    head, content = data[: len(FORMAT) + _DIGEST], data[len(FORMAT) + _DIGEST :]
    return content if head == _head(key, content) else None


def save(what: str, content: bytes) -> None:
    """Keep something under a description, if that is possible. The description says what code
    depends on, beside the generators and llvmlite: the target."""
    with contextlib.suppress(OSError):
        if CACHE.value:
            _save(_key(what), content)
            while _waiting:
                what, content = _waiting.pop()
                _save(_key(what), content)


def save_next(what: str, content: bytes) -> None:
    """Keep something as soon as something else is kept: the first time takes long, since it reads
    all sources."""
    _waiting.append((what, content))


def promise() -> bool:
    """Say that something will be kept before the process ends. False: another one has said so, and
    is still at it, or ended before it was."""
    if not CACHE.value:
        return True
    try:
        os.makedirs(root(), exist_ok=True)
        os.close(os.open(_promise(), os.O_CREAT | os.O_EXCL, 0o600))
    except OSError:
        return not os.path.exists(_promise())  # where nothing can be kept, nothing is missed
    return True


def keep_promise() -> None:
    """All that was promised is kept."""
    with contextlib.suppress(OSError):
        if CACHE.value:
            os.unlink(_promise())


def _promise() -> str:
    return os.path.join(root(), "promise")


def _save(key: bytes, content: bytes) -> None:
    with contextlib.suppress(OSError):
        os.makedirs(root(), exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder(), mode=0o700)
        if not _ours(os.stat(folder())):
            return
        part = os.path.join(folder(), f"{os.getpid()}-{threading.get_ident()}.part")
        try:
            with open(part, "xb", opener=_private) as file:
                file.write(_head(key, content) + content)
            os.replace(part, _path(key))
        except OSError:
            _remove(part)
            raise
        _keep_within_limit()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _head(key: bytes, content: bytes) -> bytes:
    return FORMAT + blake2b(key + content, digest_size=_DIGEST).digest()


def _path(key: bytes) -> str:
    return os.path.join(folder(), f"{blake2b(key, digest_size=16).hexdigest()}.bin")


def _ours(status: os.stat_result) -> bool:
    """Whether nobody but this user can have written it: what is in it will be run."""
    if not hasattr(os, "geteuid"):
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _key(what: str) -> bytes:
    return f"{_facts()}\n{what}".encode()


def digest(paths: Sequence[str]) -> str:
    """A digest of the content of files. They are read once: it is kept on disk for as long as
    nobody touches them."""
    states = [os.stat(path) for path in paths]
    touched = [
        (path, s.st_size, s.st_mtime_ns, s.st_ctime_ns)
        for path, s in zip(paths, states, strict=True)
    ]
    key = f"digest of {touched}".encode()
    kept = _load(key) if CACHE.value else None
    if kept is not None:
        return kept.decode()
    content = blake2b(digest_size=_DIGEST)
    for path in paths:
        with open(path, "rb") as file:
            content.update(file.read())
    if CACHE.value:
        _save(key, content.hexdigest().encode())
    return content.hexdigest()


def modules(folder: str) -> list[str]:
    """The Python files of a folder."""
    names = [n for n in sorted(os.listdir(folder)) if n.endswith(".py") and not n.startswith(".")]
    return [os.path.join(folder, name) for name in names]


def hashed(text: str) -> bytes:
    """A short digest of a text."""
    return blake2b(text.encode(), digest_size=16).digest()


@lru_cache(maxsize=1)
def _facts() -> str:
    """What all code of this process depends on."""
    return f"{digest(_sources())} {__version__} {_llvmlite()}"


def _sources() -> list[str]:
    """The files of the generators, and of the descriptions that they read."""
    return [*modules(os.path.dirname(__file__)), ir.__file__]


def _llvmlite() -> str:
    """Which llvmlite is installed, without importing it: its version, and the size and time of the
    library that has LLVM in it."""
    spec = PathFinder.find_spec("llvmlite")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("llvmlite is not a folder of files")
    place = os.path.dirname(spec.origin)
    with open(os.path.join(place, "_version.py"), encoding="utf-8") as file:
        facts = [file.read()]
    for name in sorted(os.listdir(os.path.join(place, "binding"))):
        if "llvmlite" in name:
            path = os.path.join(place, "binding", name)
            facts.append(f"{path} {os.stat(path).st_size} {os.stat(path).st_mtime_ns}")
    return "\n".join(facts)


def _keep_within_limit() -> None:
    global _written
    _written += 1
    if _written % LOOK_EVERY != 1:
        return
    oldest = files()
    sizes = [os.stat(path).st_size for path in oldest]
    total = sum(sizes)
    if total <= LIMIT:
        return
    for path, size in zip(oldest, sizes, strict=True):
        if total <= LIMIT // 2:
            return
        total -= size
        _remove(path)


def _remove(path: str) -> bool:
    with contextlib.suppress(OSError):
        os.unlink(path)
        return True
    return False
