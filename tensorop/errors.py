"""The error that a wrong spec or wrong sizes raise. Ground floor: imports nothing of ours.

Everything that the language can reject for its *text* or its *sizes* is an `EinsumError`, a
`ValueError` as in numpy. It keeps the spec and the place of the fault, and prints the spec with a
caret under that place, so that the reader sees which label of which operand is meant. Wrong *types*
(object arrays, unsafe casts, an `out` that is no array) are plain `TypeError`s, again as in numpy.
"""

from __future__ import annotations

from types import ModuleType


class EinsumError(ValueError):
    """A contraction that cannot be: a malformed spec, or sizes that disagree.

    Parameters
    ----------
    message : str
        What is wrong, and what to do.
    spec : str
        The spec as the caller wrote it; empty where there is none.
    at, length : int
        The part of `spec` that is at fault.

    Examples
    --------
    >>> print(EinsumError("label 'j' has size 4 in operand 1, but 3 in operand 0", "ij,jk", 3))
    label 'j' has size 4 in operand 1, but 3 in operand 0
      ij,jk
         ^
    """

    def __init__(self, message: str, spec: str = "", at: int = 0, length: int = 1) -> None:
        # The whole text is the only entry of `args`, as in any ValueError: callers may rewrite it.
        super().__init__(_render(message, spec, at, length))
        self.message = message
        self.spec = spec
        self.at = at
        self.length = length

    def __reduce__(self) -> tuple[type[EinsumError], tuple[str, str, int, int]]:
        return EinsumError, (self.message, self.spec, self.at, self.length)


def _render(message: str, spec: str, at: int, length: int) -> str:
    if not spec:
        return message
    line = "".join(" " if c.isspace() else c for c in spec)
    return f"{message}\n  {line}\n  {' ' * at}{'^' * max(length, 1)}"


def whole(module: ModuleType) -> ModuleType:
    """A module that was just imported.

    Raises
    ------
    RuntimeError
        Its import is not done: a signal handler interrupted it, and called.
    """
    if getattr(module.__spec__, "_initializing", False):
        raise RuntimeError("called by a signal handler in the middle of the first call's imports")
    return module
