"""What holds for the source as a whole: nobody else multiplies, imports point one way, and nothing
outside of the repository is referred to."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = {"tensorop": "tensorop", "optimizer": "tensorop.optimizer", "jit": "tensorop.jit"}
# It runs in a process without tensorop: the other libraries that the benchmark compares with.
PEERS = "tensorop.bench.worker"

CONTRACTIONS = {
    "einsum", "matmul", "dot", "tensordot", "inner", "vdot", "vecdot", "matvec", "vecmat",
    "kron", "outer", "linalg", "multi_dot", "correlate", "convolve",
}  # fmt: skip
GROUND = tuple(
    f"tensorop.{name}"
    for name in ("ir", "schedule", "config", "debug", "errors", "tuples", "_version")
)


def sources() -> Iterator[tuple[str, Path]]:
    """Every module of the package with its file, the links not followed."""
    for folder, package in FOLDERS.items():
        for file in sorted((ROOT / folder).rglob("*.py")):
            inside = file.relative_to(ROOT / folder).with_suffix("").parts
            if folder == "tensorop" and inside[0] in ("optimizer", "jit"):
                continue
            yield ".".join((package, *inside)).removesuffix(".__init__"), file


MODULES = dict(sources())


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


def imported(node: ast.AST) -> Iterator[str]:
    """Modules of ours that an import statement names."""
    names = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, "a relative import"
        inside = (f"{node.module}.{alias.name}" for alias in node.names)
        names = [name if name in MODULES else str(node.module) for name in inside]
    yield from (name for name in dict.fromkeys(names) if name.split(".")[0] == "tensorop")


def imports(module: str) -> set[str]:
    return {name for node in ast.walk(tree(module)) for name in imported(node)}


def borrowed(module: ast.Module) -> Iterator[str]:
    """Contractions that are not ours: numpy's functions, methods of its arrays, the operator."""
    numpy = {"numpy", "np"}
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] in numpy:
            yield from (a.name for a in node.names if a.name in CONTRACTIONS)
        elif isinstance(node, ast.Attribute) and node.attr in CONTRACTIONS:
            of_numpy = isinstance(node.value, ast.Name) and node.value.id in numpy
            if of_numpy or node.attr == "dot":
                yield ast.unparse(node)
        elif isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, ast.MatMult):
            yield ast.unparse(node)


def test_every_folder_is_looked_at() -> None:
    assert {"tensorop.ir", "tensorop.jit.gemm", "tensorop.optimizer.fuse", PEERS} <= MODULES.keys()
    assert not any(name.startswith("tensorop.jit.jit") for name in MODULES)


@pytest.mark.parametrize("module", [name for name in MODULES if name != PEERS])
def test_nobody_else_contracts(module: str) -> None:
    assert not list(borrowed(tree(module)))


@pytest.mark.parametrize(
    "code",
    [
        "np.einsum('ij->j', a)",
        "from numpy import tensordot",
        "from numpy.linalg import multi_dot",
        "a @ b",
        "a @= b",
        "x.dot(y)",
        "f = np.linalg.norm",
        "f = numpy.matmul",
    ],
)
def test_the_scan_finds_what_it_looks_for(code: str) -> None:
    assert list(borrowed(ast.parse(code)))


def test_the_scan_leaves_ours_alone() -> None:
    code = "from tensorop.matmul import matmul\nmatmul(a, b)\ntensorop.einsum(spec)\nnp.add(a, b)"
    assert not list(borrowed(ast.parse(code)))


def level(module: str) -> int:
    """API 3, optimizer 2, jit 1, ground floor 0."""
    if module in GROUND:
        return 0
    folder = module.split(".")[1:2]
    return {"jit": 1, "optimizer": 2}.get(folder[0] if folder else "", 3)


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_one_way(module: str) -> None:
    upwards = {name for name in imports(module) if level(name) > level(module)}
    assert not upwards


def test_the_ground_floor_imports_nothing_of_ours() -> None:
    assert not imports("tensorop.tuples") and not imports("tensorop.config")
    assert imports("tensorop.ir") == {"tensorop.tuples"}
    assert imports("tensorop.debug") <= {"tensorop.config"}


def test_no_circles() -> None:
    """Of all imports, also those inside of functions: none is there to dodge a circle."""
    TopologicalSorter({name: imports(name) - {name} for name in MODULES}).prepare()


def test_nothing_outside_of_the_repository_is_named() -> None:
    outside = ["../" + "shared", "/" + "work/"]
    ours = (*FOLDERS, "tests", "bench", "docs", ".ci")
    files = [file for folder in ours for file in (ROOT / folder).rglob("*")]
    for file in [*files, *(file for file in ROOT.iterdir() if file.name != ".git")]:
        if file.suffix in ("", ".py", ".md", ".txt", ".toml", ".in", ".ll") and file.is_file():
            text = file.read_text(encoding="utf-8", errors="replace")
            assert not [name for name in outside if name in text], file
