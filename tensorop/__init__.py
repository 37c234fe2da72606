"""tensorop: tensor contractions compiled at run time.

    >>> import numpy as np, tensorop
    >>> a, b = np.ones((2, 3)), np.ones((3, 4))
    >>> tensorop.einsum("ij,jk->ik", a, b).shape
    (2, 4)

Three doors, each a thin layer on the one below: `einsum` and its relatives behave as numpy's;
`compile` plans once what is called often; `TensorOperation` takes dimensions, strides and
primitives as they are.
"""

from typing import TYPE_CHECKING, Any

from tensorop._version import __version__
from tensorop.einsum import cache_info, einsum
from tensorop.errors import EinsumError
from tensorop.functions import (
    einsum_path,
    inner,
    matmul,
    outer,
    permute_dims,
    tensordot,
    transpose,
    vecdot,
)
from tensorop.jit.guard import importing
from tensorop.threads import get_num_threads, set_num_threads, threads

if TYPE_CHECKING:
    from tensorop.operation import TensorOperation
    from tensorop.plan import Plan, cache_clear, compile

__all__ = [
    "EinsumError",
    "Plan",
    "TensorOperation",
    "__version__",
    "cache_clear",
    "cache_info",
    "compile",
    "einsum",
    "einsum_path",
    "get_num_threads",
    "inner",
    "matmul",
    "outer",
    "permute_dims",
    "set_num_threads",
    "tensordot",
    "threads",
    "transpose",
    "vecdot",
]

# These two doors open into the back end, which takes llvmlite and all generators with it: several
# times what the rest of the package takes to import. They are loaded when they are first used.
_LATER = {
    "Plan": "tensorop.plan",
    "TensorOperation": "tensorop.operation",
    "cache_clear": "tensorop.plan",
    "compile": "tensorop.plan",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'tensorop' has no attribute {name!r}")
    from importlib import import_module

    with importing:
        value = globals()[name] = getattr(import_module(_LATER[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
