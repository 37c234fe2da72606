"""Compiled code on disk, so that the next process need not compile it.

    <cache folder>/code/<hash>.bin

The hash covers everything that code depends on: what it is, for which target, the source of the
generators, and which llvmlite and LLVM are installed. A file holds a digest of its content. Files
are replaced as a whole, so that any number of processes may read and write; one that is damaged,
that cannot be read or that somebody else may have written is as if it were not there. Nothing that
goes wrong here is an error: the code is then compiled.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import threading
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import platformdirs

from tensorop import ir
from tensorop._version import __version__
from tensorop.config import CACHE, CACHE_DIR

FORMAT = b"tensorop code 1\n"
LIMIT = 64 << 20  # bytes of all files; where they are more, the oldest go until half are left
LOOK_EVERY = 32  # files written by a process between two looks at how many there are
_DIGEST = hashlib.sha256().digest_size
_written = 0


def root() -> Path:
    """The folder of everything that is kept on disk; it need not exist."""
    return Path(CACHE_DIR.value or platformdirs.user_cache_dir("tensorop"))


def folder() -> Path:
    """Where the files are; it need not exist."""
    return root() / "code"


def files() -> list[Path]:
    """All files, the oldest first."""
    found = []
    for path in folder().glob("*"):
        with contextlib.suppress(OSError):  # another process may have removed it
            found.append((path.stat().st_mtime, path))
    return [path for _, path in sorted(found)]


def clear() -> int:
    """Remove all files; how many there were."""
    return sum(map(_remove, files()))


def load(what: str) -> bytes | None:
    """What was kept under a description, None where nothing was."""
    if not CACHE.value:
        return None
    try:
        key = _key(what)
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
    if not CACHE.value:
        return
    with contextlib.suppress(OSError):
        key = _key(what)
        folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _ours(os.stat(folder())):
            return
        part = folder() / f"{os.getpid()}-{threading.get_ident()}.part"
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
    return FORMAT + hashlib.sha256(key + content).digest()


def _path(key: bytes) -> Path:
    return folder() / f"{hashlib.sha256(key).hexdigest()[:32]}.bin"


def _ours(status: os.stat_result) -> bool:
    """Whether nobody but this user can have written it: what is in it will be run."""
    if not hasattr(os, "geteuid"):
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _key(what: str) -> bytes:
    return f"{_facts()}\n{what}".encode()


@lru_cache(maxsize=1)
def _facts() -> str:
    """What all code of this process depends on."""
    source = hashlib.sha256()
    for path in _sources():
        source.update(path.read_bytes())
    return f"{source.hexdigest()} {__version__} {_llvmlite()}"


def _llvmlite() -> str:
    """Which llvmlite is installed, without importing it: its version, and the size and time of the
    library that has LLVM in it."""
    spec = find_spec("llvmlite")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("llvmlite is not a folder of files")
    place = Path(spec.origin).parent
    facts = [(place / "_version.py").read_text(encoding="utf-8")]
    for path in sorted((place / "binding").glob("*llvmlite*")):
        status = path.stat()
        facts.append(f"{path} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(facts)


def _sources() -> Iterator[Path]:
    """The files of the generators, and of the descriptions that they read."""
    here = Path(__file__).parent
    yield from sorted(here.glob("*.py"))
    yield Path(ir.__file__)


def _keep_within_limit() -> None:
    global _written
    _written += 1
    if _written % LOOK_EVERY != 1:
        return
    oldest = files()
    sizes = [path.stat().st_size for path in oldest]
    total = sum(sizes)
    if total <= LIMIT:
        return
    for path, size in zip(oldest, sizes, strict=True):
        if total <= LIMIT // 2:
            return
        total -= size
        _remove(path)


def _remove(path: Path) -> bool:
    with contextlib.suppress(OSError):
        path.unlink()
        return True
    return False
