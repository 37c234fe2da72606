"""Writes docs/api.md: what the package offers, from its docstrings.

Usage: python docs/api.py

`tests/test_docs.py` compares the page with what this makes.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import tensorop

PAGE = Path(__file__).with_suffix(".md")
HEAD = """# Reference

All that `import tensorop` offers, as `help(...)` shows it; written by `docs/api.py`. Other modules
are the back end's own, and may change.
"""
DOORS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Contractions", ("einsum", "einsum_path")),
    ("Products and views", (
        "matmul", "tensordot", "inner", "outer", "vecdot", "permute_dims", "transpose",
    )),
    ("Plans", ("compile", "Plan")),
    ("Explicit operations", ("TensorOperation",)),
    ("Threads", ("threads", "set_num_threads", "get_num_threads")),
    ("Caches", ("cache_info", "cache_clear")),
    ("Errors", ("EinsumError",)),
)  # fmt: skip
OBJECTS = {"Plan": "plan", "TensorOperation": "operation"}  # whose members are shown, of what name
NOT_CALLED = {"Plan", "EinsumError"}  # are made elsewhere


def page() -> str:
    """The text of the page."""
    parts = [HEAD]
    for door, names in DOORS:
        parts.append(f"## {door}\n")
        for name in names:
            parts += _entry(name, getattr(tensorop, name))
    return "\n".join(parts)


def _entry(name: str, entry: Any) -> list[str]:
    """A function, or a class with its methods and properties."""
    called = "" if name in NOT_CALLED else _signature(entry)
    lines = [f"### {name}\n", _block(f"{name}{called}", entry)]
    for member, value in vars(entry).items() if name in OBJECTS else ():
        function = value.fget if isinstance(value, property) else value
        public = not member.startswith("_") or member == "__call__"
        if public and inspect.isfunction(function) and function.__doc__:
            called = "" if function is not value else _signature(function)
            shown = OBJECTS[name] + ("" if member == "__call__" else f".{member}")
            lines.append(_block(f"{shown}{called}", function))
    return lines


def _signature(entry: Any) -> str:
    """Names and defaults: what they may be is said below."""
    bare = inspect.Signature.empty
    given = inspect.signature(entry)
    parameters = [
        p.replace(annotation=bare, default=_shown(p.default))
        for p in given.parameters.values()
        if p.name != "self"
    ]
    return str(given.replace(parameters=parameters, return_annotation=bare))


class _Shown:
    """A default as one writes it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _shown(default: Any) -> Any:
    value = getattr(default, "value", None)  # of an enumeration, which may be given as a string
    return _Shown(repr(value)) if isinstance(value, str) else default


def _block(head: str, entry: Any) -> str:
    text = inspect.cleandoc(entry.__doc__)
    body = "\n".join(f"    {line}".rstrip() for line in text.splitlines())
    return f"```text\n{head}\n\n{body}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
