"""What kernels for tiny matrix products there are: for the generator (jit/tiny.py), and for whoever
chooses kernels. Their descriptor is `batch_abi.BatchWord`, of which they read slots only."""

from __future__ import annotations

from tensorop.jit.elements import element
from tensorop.jit.lines import LEAST_PART
from tensorop.jit.target import Target
from tensorop.tuples import NamedTuple

MOST = 64  # multiply-adds of vectors in the code of a product
SUMS = 12  # vectors of sums that are worked on at once


class Pieces(NamedTuple):
    """How a column is covered by vectors: their width, the first element of each, and how many
    elements the last one goes beyond the column."""

    width: int
    starts: tuple[int, ...]
    beyond: int


class TinyKernel(NamedTuple):
    """Products of one size and dtype, one after the other; each tensor has them end to end.

    m, n, k: sizes. M is consecutive in in0, m x k, and in out, m x n, whose columns follow one
    another. down: columns of in1, k x n, are consecutive, else rows. past: vectors are stored past
    the caches where out is not read and begins where such stores may.
    """

    dtype: str
    m: int
    n: int
    k: int
    down: bool
    past: bool = False

    def pieces(self, target: Target) -> Pieces:
        """A column as whole vectors, of which the last two may overlap; or one that is not full."""
        lanes = target.lanes(element(self.dtype).part)
        if self.m >= lanes:
            whole = tuple(range(0, self.m - lanes + 1, lanes))
            rest = (self.m - lanes,) if self.m % lanes else ()
            return Pieces(lanes, whole + rest, 0)
        width = 1 << (self.m - 1).bit_length()
        return Pieces(width, (0,), width - self.m)

    def fills_lines(self, target: Target) -> bool:
        """Whether vectors of out follow one another, so that whole lines come about."""
        width, starts, beyond = self.pieces(target)
        size = width * element(self.dtype).size
        return not beyond and self.m == width * len(starts) and size >= LEAST_PART

    @property
    def name(self) -> str:
        """The name of the generated function."""
        sizes = f"{self.m}x{self.n}x{self.k}"
        return f"tiny_{self.dtype}_{sizes}{'_down' * self.down}{'_past' * self.past}"
