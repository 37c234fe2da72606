"""Every example of the documentation is run: Python blocks, doctests, command lines, links."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import runpy
import shlex
from pathlib import Path

import pytest

import tensorop
from tensorop.__main__ import main, parser

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MODULES = [
    module.name
    for module in pkgutil.walk_packages(tensorop.__path__, "tensorop.")
    if not module.name.endswith("__main__")
]


def has_examples(name: str) -> bool:
    tests = doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name))
    return any(test.examples for test in tests)


COMMAND = re.compile(r"python -m tensorop( [^\n`#;]*)?")

pages = pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])


@pages
def test_python_blocks_run(page: Path) -> None:
    """In order, in one namespace, so that a block may go on where the one before it ended."""
    text = page.read_text(encoding="utf-8")
    namespace: dict[str, object] = {}
    for match in re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        above = "\n" * text.count("\n", 0, match.start(1))  # so that a traceback names the line
        exec(compile(above + match[1], str(page), "exec"), namespace)


@pages
def test_command_lines_are_understood(page: Path) -> None:
    for match in COMMAND.finditer(page.read_text(encoding="utf-8")):
        arguments = shlex.split(match[1] or "")
        if arguments and arguments[0] in ("info", "explain"):
            assert main(arguments) == 0
        elif arguments:
            parser().parse_args(arguments)


@pages
def test_make_targets_and_links_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"(?:^    |`)make (\w+)", text, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"no target {target}"
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (page.parent / link).exists(), f"{page.name} links to {link}"
    for path in re.findall(r"`((?:tensorop|optimizer|jit|tests|bench|docs)/[\w/.]*)`", text):
        assert (ROOT / path).exists(), f"{page.name} names {path}"


def test_the_anchors_that_links_name_exist() -> None:
    for page in PAGES:
        for link, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text("utf-8")):
            target = page.parent / link if link else page
            headings = re.findall(r"^#+ (.*)$", target.read_text("utf-8"), re.MULTILINE)
            assert anchor in [heading.lower().replace(" ", "-") for heading in headings]


@pytest.mark.parametrize("name", [name for name in MODULES if has_examples(name)])
def test_doctests(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("name", tensorop.__all__)
def test_public_functions_have_an_example(name: str) -> None:
    public = getattr(tensorop, name)
    without = ("Plan", "cache_clear", "cache_info", "__version__")  # shown with `compile`, `einsum`
    assert name in without or ">>>" in public.__doc__


def test_the_reference_is_what_the_docstrings_say() -> None:
    """Of all names; `python docs/api.py` writes it."""
    written = runpy.run_path(str(ROOT / "docs" / "api.py"))
    assert (ROOT / "docs" / "api.md").read_text(encoding="utf-8") == written["page"]()
    named = {name for _, names in written["DOORS"] for name in names}
    assert named == set(tensorop.__all__) - {"__version__"}
