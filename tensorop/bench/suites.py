"""The suites: which cases, beside whom; each row measured on every thread count in the same run.

`run` yields a `Row` for each case and thread count as soon as it is measured. A row keeps the
seconds of every round of every contestant; rates, percentages and ratios are derived from them.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from tensorop.bench.cases import (
    Case,
    Operation,
    batch_cases,
    gemm_cases,
    matrix_cases,
    permute_cases,
    program_cases,
    quick_cases,
    seed_operations,
    tccg_cases,
)
from tensorop.bench.circuit_cases import circuit_cases
from tensorop.bench.contestants import OURS, OUT, ROOF, CaseRun, OperationRun, on, roof_of
from tensorop.bench.measure import MIN_ROUNDS, Contestant, interleave, ratio
from tensorop.bench.peers import Peer, PeerError, find_peers
from tensorop.bench.random_cases import random_cases, small_cases
from tensorop.bench.roof import ArithmeticRoof, MemoryRoof, cores, pinned

CASES = {
    "quick": quick_cases,
    "gemm": gemm_cases,
    "permute": permute_cases,
    "tccg": tccg_cases,
    "batch": batch_cases,
    "matrices": matrix_cases,
    "programs": program_cases,
}
# With dtypes of their own.
DRAWN = {"random": random_cases, "small": small_cases, "circuits": circuit_cases}
SUITES = (*CASES, *DRAWN, "seed")
DEFAULT_PEERS = dict.fromkeys(SUITES, ("torch",)) | {"quick": (), "seed": ()}


@dataclass(frozen=True)
class Options:
    """What the command line asks for."""

    suite: str = "quick"
    threads: tuple[int, ...] = (1,)
    dtype: str = "float32"
    rounds: int = MIN_ROUNDS
    peers: tuple[str, ...] | None = None
    only: str = ""
    seed: int = 0


@dataclass(frozen=True)
class Row:
    """One case on one thread count: seconds a call, a list of rounds for each contestant.

    work: what the rate counts; flops and moved: operations, and bytes read and written once each.
    error: the largest error of the result over its bound; right is at most 1. refused: the peers
    that do not take part, and why.
    """

    name: str
    spec: str
    sizes: str
    dtype: str
    threads: int
    work: float
    unit: str
    flops: int
    moved: int
    roof_work: float
    error: float
    seconds: Mapping[str, Sequence[float]] = field(repr=False)
    refused: Mapping[str, str] = field(default_factory=dict)

    @property
    def time(self) -> float:
        """Seconds a call, the median of the rounds."""
        return statistics.median(self.seconds[OURS])

    @property
    def rate(self) -> float:
        """Operations or bytes a second."""
        return self.work / self.time

    @property
    def roof(self) -> float:
        """The same for the roof, in its best round."""
        return self.roof_work / min(self.seconds[ROOF])

    @property
    def part_of_roof(self) -> float:
        return self.rate / self.roof

    @property
    def right(self) -> bool:
        return self.error <= 1

    def ratios(self, out: str = "") -> dict[str, float]:
        """How many times as long each peer takes as our call for a new array, in whichever way the
        peer is faster; with `OUT`, of those who have it, everyone writing into a given array."""
        ours = self.seconds.get(OURS + out, ())
        peers = [n for n in self.seconds if n not in (ROOF, OURS) and not n.endswith(OUT)]
        ways = {name: {name + out, name + OUT} & self.seconds.keys() for name in peers}
        return {n: min(ratio(self.seconds[way], ours) for way in ways[n]) for n in peers if ways[n]}

    def best_peer(self, out: str = "") -> tuple[str, float] | None:
        """The fastest peer and how many times as long it takes, as `ratios`; None where there is
        none."""
        ratios = self.ratios(out)
        return min(ratios.items(), key=lambda item: item[1]) if ratios else None

    def peer_time(self, name: str) -> float:
        """Seconds a call of a peer, in the way it is faster."""
        ways = {name, name + OUT} & self.seconds.keys()
        return min(statistics.median(self.seconds[way]) for way in ways)


def cases_of(options: Options) -> list[Case] | list[Operation]:
    """The cases of a suite whose names contain `only`."""
    if options.suite == "seed":
        return [op for op in seed_operations(options.dtype) if options.only in op.name]
    drawn = DRAWN.get(options.suite)
    cases = drawn(options.seed) if drawn else CASES[options.suite](options.dtype)
    return [case for case in cases if options.only in case.name]


def measure_roofs(options: Options) -> dict[int, tuple[float, float]]:
    """Operations and bytes a second on each thread count, the best of the rounds, in turn."""
    cpus = cores()
    roofs: dict[int, tuple[float, float]] = {}
    for threads in options.threads:
        kind = options.dtype
        with ArithmeticRoof(kind, threads) as peak, MemoryRoof(threads) as copy:
            where = cpus[:threads]
            contestants = {"peak": on(where, peak), "copy": on(where, copy)}
            seconds = interleave(contestants, options.rounds)
        best = {name: min(rounds) for name, rounds in seconds.items()}
        roofs[threads] = (peak.work / best["peak"], copy.work / best["copy"])
    return roofs


class Bench:
    """A run of a suite: holds the peers' processes, the folder of operands and the CPUs."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.cases = cases_of(options)
        self.missing: list[str] = []
        self.peers: dict[int, list[Peer]] = {}
        self._cpus = cores()
        self._stack = ExitStack()

    def __enter__(self) -> Bench:
        self._folder = Path(self._stack.enter_context(TemporaryDirectory(prefix="tensorop-bench-")))
        wanted = self.options.peers
        others = DEFAULT_PEERS.get(self.options.suite, ()) if wanted is None else wanted
        for threads in self.options.threads:
            found = find_peers(threads, others)
            self.peers[threads] = [peer for peer in found if self._started(peer)]
        present = {peer.library for group in self.peers.values() for peer in group}
        self.missing += [name for name in others if name not in present]
        return self

    def _started(self, peer: Peer) -> bool:
        try:
            self._stack.enter_context(peer)
        except PeerError as error:
            self.missing.append(str(error))
            return False
        return True

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def rows(self) -> Iterator[Row]:
        """Measure every case."""
        for case in self.cases:
            yield from self._measure(case)

    def _measure(self, case: Case | Operation) -> list[Row]:
        judge = self.peers[self.options.threads[0]][0]
        if isinstance(case, Case):
            run: CaseRun | OperationRun = CaseRun(case, self._folder, self.peers)
        else:
            run = OperationRun(case, self._folder, [judge])
        errors: dict[int, float] = {}
        roofs: dict[int, ArithmeticRoof | MemoryRoof] = {}
        contestants: dict[tuple[int, str], Contestant] = {}
        with ExitStack() as stack:
            # Most threads first: a team that is started now may use all their CPUs from then on.
            for threads in sorted(self.options.threads, reverse=True):
                cpus = self._cpus[:threads]
                with pinned(cpus):
                    errors[threads] = run.error(threads, judge)
                roofs[threads] = roof_of(case, threads)
                stack.enter_context(roofs[threads])
                contestants[threads, ROOF] = on(cpus, roofs[threads])
                for name, contestant in run.contestants(threads).items():
                    contestants[threads, name] = on(cpus, contestant)
            seconds = self._in_turn(contestants)
        return [
            self._row(
                case, threads, roofs[threads].work, errors[threads], seconds, run.refused[threads]
            )
            for threads in self.options.threads
        ]

    def _in_turn(
        self, contestants: Mapping[tuple[int, str], Contestant]
    ) -> dict[tuple[int, str], list[float]]:
        keys = {f"{threads} {name}": (threads, name) for threads, name in contestants}
        named = {text: contestants[key] for text, key in keys.items()}
        ours = [text for text, (_, name) in keys.items() if name in (OURS, OURS + OUT)]
        seconds = interleave(named, self.options.rounds, pace=ours)
        return {keys[text]: rounds for text, rounds in seconds.items()}

    def _row(
        self,
        case: Case | Operation,
        threads: int,
        roof_work: float,
        error: float,
        seconds: Mapping[tuple[int, str], Sequence[float]],
        refused: Mapping[str, str],
    ) -> Row:
        mine = {
            name: rounds
            for (count, name), rounds in seconds.items()
            if count == threads and math.inf not in rounds
        }
        return Row(
            name=case.name,
            spec=case.spec,
            sizes=case.extents,
            dtype=case.dtype,
            threads=threads,
            work=case.work,
            unit=case.unit,
            flops=case.flops,
            moved=case.moved,
            roof_work=roof_work,
            error=error,
            seconds=mine,
            refused=refused,
        )
