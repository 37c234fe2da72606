"""Many random contractions against numpy in higher precision: `python -m
tests.campaigns.random_contractions COUNT [SEED]`. Stops at nothing: prints what was wrong."""

from __future__ import annotations

import sys
import time

import numpy as np

from tensorop.jit.library import kernels_loaded
from tests.random_einsums import check, draw


def main(count: int, seed: int) -> int:
    wrong, started = 0, time.monotonic()
    for i in range(count):
        call = draw(np.random.default_rng([seed, i]))
        try:
            check(call)
        except Exception as error:
            wrong += 1
            print(f"[{seed}, {i}] {type(error).__name__}: {error}", flush=True)
        if (i + 1) % 5000 == 0:
            elapsed = time.monotonic() - started
            print(f"{i + 1} contractions, {wrong} wrong, {elapsed:.0f} s", flush=True)
    print(f"{count} random contractions, {wrong} wrong, {kernels_loaded()} kernels")
    return 1 if wrong else 0


if __name__ == "__main__":
    with np.errstate(all="ignore"):
        given = [int(x) for x in sys.argv[1:]]
        sys.exit(main(*(given + [1000, 0][len(given) :])))
