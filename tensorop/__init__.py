"""tensorop: tensor contractions compiled at run time.

    >>> import numpy as np, tensorop
    >>> a, b = np.ones((2, 3)), np.ones((3, 4))
    >>> tensorop.einsum("ij,jk->ik", a, b).shape
    (2, 4)

Three doors, each a thin layer on the one below: `einsum` and its relatives behave as numpy's;
`compile` plans once what is called often; `TensorOperation` takes dimensions, strides and primitives
as they are.
"""

from tensorop._version import __version__

__all__ = ["__version__"]
