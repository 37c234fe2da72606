"""Compiled code on disk: it is found again, and no state of the disk is an error."""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tensorop.__main__ import main
from tensorop.config import CACHE, CACHE_DIR
from tensorop.jit import library, store
from tensorop.jit.peak import PeakKernel
from tensorop.jit.target import current_target

# Contractions that need a GEMM with and without packing, a copy and a stream kernel; how many
# modules were generated for them is printed (a draft and its finished kernel are one).
PROGRAM = """
import numpy as np, tensorop
from tensorop.jit import compiler
made = []
parse = compiler.parse
compiler.parse = lambda module, target: (made.append(module.name), parse(module, target))[1]
rng = np.random.default_rng(0)
a, b, c = rng.random((70, 80)), rng.random((80, 90)), rng.random((5, 70, 6))
out = np.empty((6, 70, 5))
for spec, *operands in (("ij,jk->ik", a, b), ("ij,jk->ik", a.T.copy().T, b), ("aib,ij->abj", c, a)):
    np.testing.assert_allclose(tensorop.einsum(spec, *operands), np.einsum(spec, *operands))
np.testing.assert_array_equal(tensorop.einsum("aib->bia", c, out=out), c.T)
assert tensorop.einsum("ij->", a) > 0
print(len({name for name in made if name != "linked"}))
"""


def run(folder: Path, **environment: str) -> int:
    """How many modules a process generates."""
    settings = {"TENSOROP_CACHE": "1", "TENSOROP_CACHE_DIR": str(folder), **environment}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A cache folder, in force; what the process knows of itself is not kept there."""
    store._facts()
    current_target()
    store._waiting.clear()
    with CACHE(1), CACHE_DIR(str(tmp_path)):
        yield tmp_path / "code"


def test_the_second_process_compiles_nothing(tmp_path: Path) -> None:
    assert run(tmp_path) > 4
    files = sorted((tmp_path / "code").iterdir())
    assert run(tmp_path) == 0
    assert sorted((tmp_path / "code").iterdir()) == files
    assert (tmp_path / "code").stat().st_mode & 0o077 == 0


@pytest.mark.skipif(sys.platform != "linux" or platform.machine() != "x86_64", reason="no linker")
@pytest.mark.parametrize("level", ["0", "2"])
def test_the_second_process_does_without_llvmlite(tmp_path: Path, level: str) -> None:
    """It takes longer to import than everything else together."""
    program = PROGRAM.replace("from tensorop.jit import compiler", "import sys")
    program = "\n".join(line for line in program.splitlines() if "compiler" not in line)
    program = program.replace("print(", "made = ['llvmlite'] * ('llvmlite' in sys.modules)\nprint(")
    environment = {"TENSOROP_CACHE": "1", "TENSOROP_CACHE_DIR": str(tmp_path)}
    environment["TENSOROP_DEBUG"] = level
    loaded = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    ]
    assert loaded == ["1\n", "0\n"]


@pytest.mark.skipif(sys.platform != "linux", reason="platformdirs knows")
def test_where_there_is_no_home_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    with CACHE_DIR(None), CACHE(1):
        assert os.path.isabs(store.root()) and not os.path.exists(store.root())
        store.save("something", b"code")
        assert store.load("something") is None
    assert not os.path.exists(os.path.expanduser("~"))


def test_without_a_cache_nothing_is_written(tmp_path: Path) -> None:
    assert run(tmp_path, TENSOROP_CACHE="0") > 4
    assert not list(tmp_path.iterdir())


def test_damaged_files_are_compiled_anew(tmp_path: Path) -> None:
    """Cut off, empty, a byte changed, a file in the place of another one."""
    many = run(tmp_path)
    files = sorted((tmp_path / "code").glob("*.bin"))
    contents = [file.read_bytes() for file in files]
    for i, (file, content) in enumerate(zip(files, contents, strict=True)):
        flipped = content[:-9] + bytes([content[-9] ^ 1]) + content[-8:]
        file.write_bytes((content[: len(content) // 2], b"", flipped, contents[i - 1])[i % 4])
    assert run(tmp_path) == many
    assert [file.read_bytes() for file in files] == contents
    assert run(tmp_path) == 0


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners and modes")
def test_what_others_could_have_written_is_not_run(tmp_path: Path) -> None:
    many = run(tmp_path)
    for file in (tmp_path / "code").iterdir():
        file.chmod(0o666)
    assert run(tmp_path) == many  # which replaces the files
    assert run(tmp_path) == 0
    (tmp_path / "code").chmod(0o777)
    assert run(tmp_path) == many
    assert run(tmp_path) == many


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    assert run(tmp_path / "file") > 4


def test_many_processes_begin_at_once(tmp_path: Path) -> None:
    settings = {"TENSOROP_CACHE": "1", "TENSOROP_CACHE_DIR": str(tmp_path)}
    environment = {**os.environ, **settings}
    command = [sys.executable, "-c", PROGRAM]
    running = [subprocess.Popen(command, env=environment, stdout=-1) for _ in range(4)]
    assert [process.wait() for process in running] == [0] * 4
    for process in running:
        process.communicate()
    assert run(tmp_path) == 0
    assert not list((tmp_path / "code").glob("*.part"))


def test_the_key_is_everything_that_code_depends_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.save("this", b"code")
    assert store.load("this") == b"code"
    assert store.load("that") is None
    monkeypatch.setattr(store, "_facts", lambda: "another source")
    assert store.load("this") is None
    assert len(list(folder.iterdir())) == 1


def test_every_source_file_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    names = {Path(path).name for path in store._sources()}
    assert {"gemm.py", "store.py", "ir.py", "driver.py"} <= names
    before = store._facts.__wrapped__()
    changed = tmp_path / "gemm.py"
    changed.write_text("# something else")
    monkeypatch.setattr(store, "_sources", lambda: [str(changed)])
    assert store._facts.__wrapped__() != before


def test_the_oldest_go_where_there_are_too_many(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "LIMIT", 5000)
    monkeypatch.setattr(store, "LOOK_EVERY", 2)
    monkeypatch.setattr(store, "_written", 0)
    for i in range(12):
        store.save(str(i), bytes(1000))
        os.utime(store.files()[-1], (i, i))
    kept = [i for i in range(12) if store.load(str(i)) is not None]
    assert 11 in kept and 0 not in kept
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 7000


def test_a_kernel_that_is_loaded_computes_the_same(folder: Path) -> None:
    kernel, target = PeakKernel("float32"), current_target()
    library._kept.clear()
    first = library.load_kernel(kernel, target)
    assert len(list(folder.iterdir())) == 1
    assert library.load_kernel(kernel, target) == first
    library._kept.clear()
    second = library.load_kernel(kernel, target)
    assert first != second
    size = len(next(folder.iterdir()).read_bytes()) - len(store.FORMAT) - 32 - 8
    assert ctypes.string_at(first, size) == ctypes.string_at(second, size)
    assert np.frombuffer(ctypes.string_at(first, size), np.uint8).any()


def test_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store.save("this", b"code")
    assert main(["cache", "info"]) == 0
    assert f"1 files, 0.0 MiB, in {folder}" in capsys.readouterr().out
    assert main(["cache", "clear"]) == 0
    assert "1 files removed" in capsys.readouterr().out
    assert not store.files()


def test_sources_that_cannot_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in an archive: nothing is kept, and nothing is raised."""
    monkeypatch.setattr(store, "_sources", lambda: [str(folder / "nothing.py")])
    store._facts.cache_clear()
    try:
        store.save("this", b"code")
        assert store.load("this") is None
    finally:
        store._facts.cache_clear()
    assert not folder.exists()
