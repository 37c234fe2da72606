"""How long it takes to plan contractions that were never seen, when their kernels exist.

Usage: python bench/planning.py [--count 200] [--networks FILE ...] [--only TEXT] [--profile]

Every group of contractions is planned once, which makes its kernels; then all plans, and all that
planning remembers, are forgotten, and each is planned again, under the clock. The folder for what
is kept is a new one each time, so that no plan comes from there. Printed: for each group the
median, the 90th percentile and the mean, and where the mean goes, stage by stage (measured apart,
since that takes time itself). A network is a JSON file with a `format_string`, the einsum, and the
`shapes` of its operands; its path is searched for once, and is not part of the time.
"""

from __future__ import annotations

import argparse
import cProfile
import functools
import gc
import json
import os
import pstats
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from time import perf_counter
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from tensorop import calls, executable, linked, planning, plans, program
from tensorop.bench.random_cases import random_cases
from tensorop.calls import DEFAULT, call_for, contiguous
from tensorop.config import CACHE_DIR
from tensorop.errors import whole
from tensorop.layout import packed
from tensorop.program import Layout

SMALL = (1e2, 1e5)  # operations
LARGE = (1e5, 1e8)
RANKS = (5, 10, 20, 26)
FEW = 4  # entries of a cache
CHAINS = (5, 10, 20, 40, 80)

# What is timed on its own: where it is called from.
STAGES: dict[str, tuple[tuple[Any, str], ...]] = {
    "parse": ((calls, "parse"), (program, "resolved")),
    "steps": ((program, "plan_tree"),),
    "estimates": ((planning, "realign"),),
    "passes": ((planning, "plan_stages"), (linked, "optimise")),
    "bind": ((planning, "bind"), (linked, "bind_chain")),
    "place": ((executable.Executable, "_place"),),
}


class Unseen(NamedTuple):
    """A contraction to plan: a spec, the layouts of its operands, and the options of the call."""

    spec: str
    layouts: tuple[Layout, ...]
    options: tuple[Any, ...] = DEFAULT

    def plan(self) -> Any:
        """Everything that is done before a first call."""
        return call_for(self.spec, self.layouts, None, self.options, None)


def randoms(seed: int, count: int, operations: tuple[float, float]) -> Iterator[Unseen]:
    """The contractions of the suite `random`, of so many operations."""
    for case in random_cases(seed, count, operations):
        dtype, layouts = np.dtype(case.dtype), []
        for shape, steps in zip(case.shapes, case.layouts, strict=False):
            strides = steps or packed(range(len(shape))[::-1], shape, 1)
            layouts.append((shape, tuple(s * dtype.itemsize for s in strides), dtype, True))
        yield Unseen(case.spec, tuple(layouts))


def plain(spec: str, *shapes: tuple[int, ...], dtype: str = "float32") -> Unseen:
    """A contraction of arrays as numpy makes them."""
    return Unseen(spec, tuple(contiguous(shape, np.dtype(dtype)) for shape in shapes))


def matmuls(rng: random.Random, count: int) -> Iterator[Unseen]:
    """Matrix products of random sizes."""
    for _ in range(count):
        m, n, k = (rng.randint(2, 200) for _ in range(3))
        yield plain("ij,jk->ik", (m, k), (k, n))


def gates(rng: random.Random, count: int) -> Iterator[Unseen]:
    """Gates on one or two qubits of a state of 10 to 16."""
    letters = "abcdefghijklmnop"
    for _ in range(count):
        state = letters[: rng.randint(10, 16)]
        on = rng.sample(state, rng.randint(1, 2))
        to = state.translate(str.maketrans("".join(on), "".join(on).upper()))
        gate = "".join(on).upper() + "".join(on)
        shapes = (2,) * len(gate), (2,) * len(state)
        yield plain(f"{gate},{state}->{to}", *shapes, dtype=rng.choice(["complex64", "float64"]))


def ranked(rng: random.Random, count: int, rank: int) -> Iterator[Unseen]:
    """Two operands over so many labels of size 2, in any order."""
    letters = "abcdefghijklmnopqrstuvwxyz"[:rank]
    for _ in range(count):
        kinds = [rng.choice("MNKC") for _ in letters]
        terms = [[x for x, kind in zip(letters, kinds, strict=True) if kind != no] for no in "NMK"]
        for term in terms:
            rng.shuffle(term)
        a, b, out = map("".join, terms)
        yield plain(f"{a},{b}->{out}", (2,) * len(a), (2,) * len(b))


def chains(rng: random.Random, count: int, length: int) -> Iterator[Unseen]:
    """Products of so many matrices, from the left."""
    options = list(DEFAULT)
    options[program.Options._fields.index("optimize")] = False
    for _ in range(count):
        sizes = [rng.randint(4, 64) for _ in range(length + 1)]
        labels = [chr(192 + i) for i in range(length + 1)]
        spec = ",".join(map("".join, pairwise(labels)))
        unseen = plain(f"{spec}->{labels[0]}{labels[-1]}", *pairwise(sizes))
        yield unseen._replace(options=tuple(options))


def network(path: str) -> Iterator[Unseen]:
    """A tensor network from a file, one two-operand step after the other as they are run."""
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    shapes = [tuple(shape) for shape in found["shapes"]]
    spec = "".join(found["format_string"].split())
    call = plain(spec, *shapes).plan()
    options = list(DEFAULT)
    groups = _groups(call.program, len(shapes))
    options[program.Options._fields.index("optimize")] = groups
    yield plain(spec, *shapes)._replace(options=tuple(options))


def _groups(decided: program.Program, operands: int) -> tuple[tuple[int, ...], ...]:
    """The path of a program: for each product the positions of its operands."""
    waiting, groups = list(range(operands)), []
    for step in decided.steps:
        if len(step.inputs) == 1:
            waiting[waiting.index(step.inputs[0])] = step.output
            continue
        groups.append(tuple(sorted(waiting.index(slot) for slot in step.inputs)))
        waiting = [slot for slot in waiting if slot not in step.inputs] + [step.output]
    return tuple(groups)


def forget() -> None:
    """Forget all plans, and all that planning remembers of operations: caches of a few entries are
    of the machine, and stay, as kernels do."""
    calls.cache_clear()
    for name, module in list(sys.modules.items()):
        if name.startswith("tensorop.") and not name.startswith("tensorop.jit"):
            for value in vars(module).values():
                cached = isinstance(value, functools._lru_cache_wrapper)
                if cached and (value.cache_info().maxsize or 0) > FEW:
                    value.cache_clear()


def timed(group: list[Unseen]) -> list[float]:
    """Seconds of each, planned anew."""
    forget()
    seconds = []
    with new_folder():
        for unseen in group:
            start = perf_counter()
            unseen.plan()
            seconds.append(perf_counter() - start)
    return seconds


@contextmanager
def new_folder() -> Iterator[None]:
    """Keep what is kept in a folder in which there is nothing yet."""
    with tempfile.TemporaryDirectory() as folder, CACHE_DIR(folder):
        yield


@contextmanager
def staged(spent: Counter[str]) -> Iterator[None]:
    """Add up the seconds of the stages, each without those inside it."""
    inside = [0.0]

    def wrap(stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **keywords: Any) -> Any:
            inside.append(0.0)
            start = perf_counter()
            try:
                return function(*arguments, **keywords)
            finally:
                took = perf_counter() - start
                spent[stage] += took - inside.pop()
                inside[-1] += took

        return wrapped

    with ExitStack() as stack:
        for stage, places in STAGES.items():
            for place, name in places:
                wrapped = wrap(stage, getattr(place, name))
                stack.enter_context(mock.patch.object(place, name, wrapped))
        yield


def report(name: str, group: list[Unseen], rounds: int, per: int = 1) -> None:
    """Measure a group and print its line. per: what a contraction's time is divided by."""
    for unseen in group:
        unseen.plan()
    each = zip(*[timed(group) for _ in range(rounds)], strict=True)
    taken = np.array([min(seconds) for seconds in each]) * 1e6 / per
    spent: Counter[str] = Counter()
    with staged(spent):
        whole_time = sum(timed(group))
    spent["rest"] = whole_time - sum(spent.values())
    parts = "".join(f"{spent[s] / len(group) / per * 1e6:10.0f}" for s in (*STAGES, "rest"))
    shown = f"{np.median(taken):9.0f}{np.percentile(taken, 90):9.0f}{taken.mean():9.0f}"
    print(f"{name:<28}{len(group):6}{shown} |{parts}", flush=True)


def groups(count: int, networks: list[str]) -> Iterator[tuple[str, list[Unseen], int]]:
    """All groups: name, contractions, and the products that each consists of."""
    yield "random, 1e2 to 1e5", list(randoms(7, count, SMALL)), 1
    yield "random, 1e5 to 1e8", list(randoms(8, count, LARGE)), 1
    yield "matmul, 2 to 200", list(matmuls(random.Random(0), count)), 1
    yield "gates on 10 to 16 qubits", list(gates(random.Random(1), count // 2)), 1
    for rank in RANKS:
        yield f"rank {rank}", list(ranked(random.Random(2), count // 4, rank)), 1
    for length in CHAINS:
        group = list(chains(random.Random(3), max(1, count // 20), length))
        yield f"chain of {length}, a product", group, length - 1
    for path in networks:
        found = list(network(path))
        products = found[0].spec.count(",")
        yield f"{os.path.basename(path)[:20]}, a product", found, products


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--networks", nargs="*", default=[])
    parser.add_argument("--only", default="")
    parser.add_argument("--profile", action="store_true", help="print what functions take")
    arguments = parser.parse_args()
    head = "".join(f"{stage:>10}" for stage in (*STAGES, "rest"))
    print(f"{'us':<28}{'count':>6}{'median':>9}{'90th':>9}{'mean':>9} |{head}")
    with new_folder():
        whole(plans._planning())
        gc.disable()  # of objects that live on, as in a process that has run for a while
        for name, group, per in groups(arguments.count, arguments.networks):
            if arguments.only in name:
                report(name, group, arguments.rounds, per)
                if arguments.profile:
                    profile(group)


def profile(group: list[Unseen]) -> None:
    """Print the functions that planning a group spends most time in."""
    forget()
    profiler = cProfile.Profile()
    with new_folder():
        profiler.enable()
        for unseen in group:
            unseen.plan()
        profiler.disable()
    pstats.Stats(profiler).sort_stats("tottime").print_stats(45)


if __name__ == "__main__":
    main()
