"""Words without addresses: wherever they are placed, references lead to what was kept."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tensorop.jit.image import Image, placed

LARGEST = 1 << 57  # of all that is no reference: addresses have fewer bits


def read(address: int, count: int) -> list[int]:
    """Words in memory."""
    interface = {"data": (address, True), "shape": (count,), "typestr": "<i8", "version": 3}
    return np.asarray(type("Words", (), {"__array_interface__": interface})()).tolist()


@given(
    st.lists(st.lists(st.integers(-LARGEST, LARGEST), min_size=1, max_size=5), min_size=1),
    st.lists(st.sampled_from("abc")),
    st.randoms(use_true_random=False),
)
def test_references_become_addresses(parts, kernels, random) -> None:
    image: Image[str] = Image()
    kept = [image.keep(np.array(part, np.int64)) for part in parts]
    wanted = [random.randrange(len(kept)) for _ in range(5)]
    last = image.keep(np.array([kept[i] for i in wanted] + [image.kernel(k) for k in kernels]))
    words = image.words()
    assert sorted(image.kernels) == sorted(set(kernels))
    numbers = [ord(k) for k in image.kernels]
    for _ in range(2):
        result = placed(words, numbers)
        base = result.ctypes.data
        pointers = read(base + last - kept[0], len(wanted) + len(kernels))
        assert [
            read(p, len(parts[i])) for i, p in zip(wanted, pointers[: len(wanted)], strict=True)
        ] == [parts[i] for i in wanted]
        assert pointers[len(wanted) :] == [ord(k) for k in kernels]
        assert read(base, sum(map(len, parts))) == [word for part in parts for word in part]
