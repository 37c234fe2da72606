"""Many random operations against the plain reference, with all thresholds of sharing so low that
threads share nearly all of them: `python -m tests.campaigns.random_operations COUNT [SEED]`. Ends
with the first that is wrong, as small as it can be made."""

from __future__ import annotations

import sys
from unittest.mock import patch

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tensorop import plan_store
from tensorop.optimizer import transfer
from tensorop.optimizer.identify import identify
from tests import strategies
from tests.strategies import Case
from tests.test_operation import check_operation

LONG = [61, 64, 97, 128, 251, 1031]  # sizes besides those that tests draw, which are up to 40
POINTS = 1 << 17


def main(count: int, first: int) -> int:
    small = strategies.sizes
    longer = {"sizes": lambda: st.one_of(small(), st.sampled_from(LONG)), "POINTS": POINTS}
    shared = {"SHARE_WORK": 1, "SHARE_BYTES": 1}
    no_plans = {"_folder": lambda: None}  # on disk: others know nothing of these
    with (
        patch.multiple(strategies, **longer),
        patch.multiple(transfer, **shared),
        patch.multiple(plan_store, **no_plans),
    ):
        run(count, first)
    print(f"{count} random operations: none wrong")
    return 0


def run(count: int, first: int) -> None:
    @seed(first)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(
        strategies.cases(scalars=False, conjugates=False),
        st.booleans(),
        st.sampled_from([1, 2, 3, 5]),
    )
    def check(case: Case, optimize: bool, threads: int) -> None:
        op = case.op if optimize else identify(case.op).op
        check_operation(case, op, optimize=optimize, threads=threads)

    check()


if __name__ == "__main__":
    with np.errstate(all="ignore"):
        given_ = [int(x) for x in sys.argv[1:]]
        sys.exit(main(*(given_ + [1000, 0][len(given_) :])))
