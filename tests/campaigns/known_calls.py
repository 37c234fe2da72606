"""Many random calls that come again, by generated code and by Python alone: `python -m
tests.campaigns.known_calls COUNT [SEED]`. Prints where they differ."""

from __future__ import annotations

import sys
from itertools import islice

from tests.known_calls import Calls, differs


def main(count: int, seed: int) -> int:
    wrong = 0
    for i, call in enumerate(islice(Calls(seed), count)):
        said = differs(call)
        if said:
            wrong += 1
            print(f"[{seed}, {i}] {said}", flush=True)
    print(f"{count} calls, {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    given = [int(x) for x in sys.argv[1:]]
    sys.exit(main(*(given + [10_000, 0][len(given) :])))
