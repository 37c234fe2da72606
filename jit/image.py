"""The words of a plan before they have addresses.

Nodes, descriptors and tables point to one another, and nodes to kernels. While a plan is bound they
are gathered in an `Image`. A word of it that will be an address holds a reference: a number above
all those that sizes, strides and offsets can be. `placed` turns references into addresses. So the
same image can be kept on disk, and run by another process.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tensorop.jit.kernel import Kernel
from tensorop.jit.tables import Words

REFERENCE = 1 << 62  # and the bytes from the beginning of the image
KERNEL = REFERENCE | 1 << 61  # and the number of the kernel


class Image:
    """Words gathered one after the other, and the kernels that they name."""

    def __init__(self) -> None:
        self._parts: list[Words] = []
        self._size = 0
        self._kernels: dict[tuple[type, Kernel], int] = {}  # tuples of two types may be equal

    def keep(self, words: Words) -> int:
        """Append words; a reference to them.

        >>> image = Image()
        >>> first = image.keep(np.array([7], np.int64))
        >>> second = image.keep(np.array([first, 8], np.int64))
        >>> second - first, image.words()[0]
        (8, np.int64(7))
        """
        part = np.ascontiguousarray(words, np.int64).reshape(-1)
        reference = REFERENCE + self._size
        self._parts.append(part)
        self._size += part.nbytes
        return reference

    def kernel(self, kernel: Kernel) -> int:
        """A reference to a kernel."""
        return KERNEL + self._kernels.setdefault((type(kernel), kernel), len(self._kernels))

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels, by their numbers."""
        return tuple(kernel for _, kernel in self._kernels)

    def words(self) -> Words:
        """All that was kept."""
        return np.concatenate(self._parts)


def placed(words: Words, kernels: Sequence[int]) -> Words:
    """A copy of an image with addresses in place of references: those of its own words, where they
    now are, and those of kernels, by their numbers."""
    result = words.copy()
    at = np.flatnonzero(words >= REFERENCE)
    references = words[at]
    calls = references >= KERNEL
    result[at] += result.ctypes.data - REFERENCE
    result[at[calls]] = np.array(kernels, np.int64)[references[calls] - KERNEL]
    return result
