"""The command line: `python -m tensorop bench`, `report`, `tune`, `cache`, `info` and `explain`.

    python -m tensorop bench [--suite NAME] [--threads 1,2] [--dtype f64] [--json FILE]
    python -m tensorop report FILE.json ... [--charts FOLDER] [--out performance.md]
    python -m tensorop report NEW.json ... --against OLD.json ...
    python -m tensorop tune "ij,jk->ik" i=512,j=512,k=512 [--dtype f64] [--seconds 5]
    python -m tensorop cache info|clear
    python -m tensorop cache warm ["ij,jk->ik" i=512,j=512,k=512] [--dtype f64]
    python -m tensorop info
    python -m tensorop explain "ij,jk->ik" i=512,j=512,k=512
    python -m tensorop explain "ij,jk->ik" 512x512,512x512

Exit status 0: done, and every result was right; 1: a result was wrong; 2: the request, or a setting
in the environment, made no sense.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import re
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np

import tensorop
from tensorop import plan_store, tuning, tuning_store
from tensorop.bench.against import against
from tensorop.bench.charts import draw
from tensorop.bench.document import Run, document
from tensorop.bench.measure import MIN_ROUNDS
from tensorop.bench.peers import PEERS
from tensorop.bench.report import Table, as_json, heading, json_text, machine_facts, summary
from tensorop.bench.roofline import FLOPS, limits
from tensorop.bench.suites import SUITES, Bench, Options, measure_roofs
from tensorop.config import CACHE, FLAGS
from tensorop.dtypes import dtype_of, name_of
from tensorop.jit import store
from tensorop.jit.target import current_target
from tensorop.optimizer.machine import host_machine
from tensorop.tuning import SECONDS, worthwhile


class UsageError(ValueError):
    """The request makes no sense; the message says why."""


def thread_counts(text: str) -> tuple[int, ...]:
    """`1,2` -> (1, 2)."""
    counts = tuple([positive(part) for part in text.split(",")])
    if len(set(counts)) < len(counts):
        raise argparse.ArgumentTypeError(f"{text!r} names a thread count twice")
    return counts


def positive(text: str) -> int:
    """A number above 0."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)


def seed_number(text: str) -> int:
    """What a generator of random numbers begins with."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0 on")
    return int(text)


def duration(text: str) -> float:
    """Seconds."""
    with contextlib.suppress(ValueError):
        if 0 < float(text) < math.inf:
            return float(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no time in seconds")


SHORT = {  # by bits; numpy's own f16 counts bytes
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "c64": "complex64",
    "c128": "complex128",
}
MEASURED = ("float32", "float64", "complex64", "complex128", "int8")  # bytes, for permutations


def suite_dtype(text: str) -> str:
    """The name of a dtype that the suites can be run in."""
    name = SHORT.get(text, text)
    if name not in MEASURED:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(MEASURED)}")
    return name


def any_dtype(text: str) -> np.dtype[np.generic]:
    """A dtype that contractions take."""
    try:
        dtype = dtype_of(SHORT.get(text, text))
        name_of(dtype)
    except TypeError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return dtype


def parser() -> argparse.ArgumentParser:
    """The command line as argparse sees it."""
    about = "Tensor contractions compiled to machine code at run time: measure, inspect, explain."
    top = argparse.ArgumentParser(prog="python -m tensorop", description=about)
    top.add_argument("--version", action="version", version=f"tensorop {tensorop.__version__}")
    commands = top.add_subparsers(dest="command", required=True)
    bench = commands.add_parser(
        "bench", help="measure a suite beside the machine's roofs and numpy"
    )
    bench.add_argument("--suite", choices=SUITES, default="quick")
    bench.add_argument(
        "--threads",
        type=thread_counts,
        default=(1,),
        metavar="N[,N...]",
        help="thread counts, all measured in one run (default 1)",
    )
    bench.add_argument(
        "--dtype", type=suite_dtype, default="float32", metavar="DTYPE", help="default float32"
    )
    bench.add_argument(
        "--rounds", type=positive, default=MIN_ROUNDS, metavar="N", help="default %(default)s"
    )
    bench.add_argument("--only", default="", metavar="TEXT", help="cases whose name contains TEXT")
    bench.add_argument(
        "--peers",
        type=lambda text: () if text == "none" else tuple(filter(None, text.split(","))),
        metavar="NAMES",
        help=f"libraries besides numpy, of {', '.join(PEERS)}; or none (default: torch, but none "
        "for quick and seed)",
    )
    bench.add_argument(
        "--seed",
        type=seed_number,
        default=0,
        metavar="N",
        help="of the suites random, small and circuits",
    )
    bench.add_argument("--json", metavar="FILE", help="write every figure to FILE")
    report = commands.add_parser("report", help="a document on runs of bench, from their JSON")
    report.add_argument("files", nargs="+", metavar="FILE", help="what bench --json wrote")
    report.add_argument("--out", metavar="FILE", help="where to write it (default: print it)")
    report.add_argument("--charts", metavar="FOLDER", help="draw charts there (with matplotlib)")
    report.add_argument(
        "--against", nargs="+", metavar="OLD", help="instead: which rows got slower since these"
    )
    commands.add_parser("info", help="the machine, the versions and the settings in force")
    cache = commands.add_parser(
        "cache", help="the compiled code and the plans that are kept on disk"
    )
    cache.add_argument(
        "action",
        choices=("info", "clear", "warm"),
        help="say how much it is; remove it; or compile ahead of time, for other processes, what a "
        "contraction needs, or what most do",
    )
    tune = commands.add_parser(
        "tune",
        help="search for the fastest schedule, and keep it on disk, for calls with tune=True and "
        "processes with TENSOROP_TUNE=1",
    )
    tune.add_argument(
        "--seconds", type=duration, default=SECONDS, help="default %(default)s a step"
    )
    explain = commands.add_parser("explain", help="how a contraction would be run, and why")
    for command in (tune, explain, cache):
        given = "?" if command is cache else None
        command.add_argument("spec", nargs=given, help='an einsum, such as "ij,jk->ik"')
        command.add_argument(
            "sizes", nargs=given, help="sizes i=512,j=512,k=512 or shapes 512x512,512x512"
        )
        float32 = np.dtype(np.float32)
        command.add_argument(
            "--dtype", type=any_dtype, default=float32, metavar="DTYPE", help="default float32"
        )
        command.add_argument("--threads", type=positive, metavar="N")
    return top


def bench(arguments: argparse.Namespace) -> int:
    """Run a suite and print its table."""
    options = Options(
        suite=arguments.suite,
        threads=arguments.threads,
        dtype=arguments.dtype,
        rounds=arguments.rounds,
        peers=arguments.peers,
        only=arguments.only,
        seed=arguments.seed,
    )
    run, rows = Bench(options), []
    if not run.cases:
        raise UsageError(f"no case of suite {options.suite} has {options.only!r} in its name")
    if arguments.json:
        _can_be_written(arguments.json)
    roofs = measure_roofs(options)
    with run:
        print(heading(options, roofs, (peer for peers in run.peers.values() for peer in peers)))
        for missing in run.missing:
            print(f"not beside: {missing}")
        table = Table([case.name for case in run.cases])
        print(f"\n{table.header()}", flush=True)
        for row in run.rows():
            print(table.line(row), flush=True)
            rows.append(row)
        missing_peers = run.missing
    print(f"\n{summary(rows)}")
    if arguments.json:
        figures = as_json(options, roofs, rows, missing_peers)
        Path(arguments.json).write_text(json_text(figures), encoding="utf-8")
    return 0 if all(row.right for row in rows) else 1


def _can_be_written(file: str) -> None:
    """Said before the work whose result is to be written there."""
    path = Path(file)
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"{file} cannot be written")


def report(arguments: argparse.Namespace) -> int:
    """Write a document on runs of suites."""
    runs = [_figures(file) for file in arguments.files]
    if arguments.out:
        _can_be_written(arguments.out)
    charts = Path(arguments.charts) if arguments.charts else None
    if arguments.against:
        text = against(runs, [_figures(file) for file in arguments.against])
    else:
        text = document(runs, charts)
    if charts is not None:
        charts.mkdir(parents=True, exist_ok=True)
        try:
            draw(runs, charts)
        except ModuleNotFoundError as error:
            raise UsageError(f"charts: {error} (the extra `bench` has it)") from None
    if arguments.out:
        Path(arguments.out).write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return 0


def _figures(file: str) -> Run:
    """What `bench --json` wrote to a file."""
    try:
        run: Run = json.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"{file}: {reason}") from None
    try:
        document([run], None)
    except (KeyError, TypeError, AttributeError):
        raise UsageError(f"{file}: not what bench --json writes") from None
    return run


def info() -> int:
    """Print the machine, the versions and the settings in force."""
    facts, machine = machine_facts(), host_machine()
    target = machine.target
    lines = {
        "tensorop": facts["tensorop"],
        "python": f"{facts['python']}, {facts['system']}",
        "cpu": f"{facts['cpu']}, {facts['cpus']} CPUs",
        "target": f"{target.name}: {target.registers} registers of {target.vector_bytes} bytes, "
        + ("fused multiply-add" if target.fma else "no fused multiply-add"),
        "caches": ", ".join(
            f"L{level} {size >> 10} KiB"
            for level, size in enumerate((machine.l1, machine.l2, machine.l3), start=1)
        ),
        "threads": str(tensorop.get_num_threads()),
        "packages": ", ".join(f"{name} {found}" for name, found in facts["packages"].items()),
    }
    for name, text in lines.items():
        print(f"{name:<10}{text}")
    for flag in FLAGS:
        print(f"{flag.name:<22}{facts['environment'].get(flag.name, 'not set')}")
    return 0


def shapes_of(spec: str, text: str) -> list[tuple[int, ...]]:
    """Shapes of the operands from `i=512,j=256` or from `512x256,256x512` (`-` for a scalar)."""
    terms = re.sub(r"\s", "", spec).split("->")[0].split(",")
    entries = [entry.strip() for entry in text.split(",")]
    if not re.fullmatch(r"\S=\d+(,\s*\S=\d+)*|(-|\d+(x\d+)*)(,\s*(-|\d+(x\d+)*))*", text):
        raise UsageError(f"{text!r}: sizes are as in i=512,j=512, shapes as in 512x512,512x512")
    if "=" in text:
        sizes = {label: int(size) for label, size in (e.split("=", 1) for e in entries)}
        labels = {label for term in terms for label in term}
        if missing := sorted(labels - sizes.keys()):
            hint = "; give shapes for `...`" if "..." in spec else ""
            raise UsageError(f"no size for {', '.join(missing)} of {spec!r}{hint}")
        if others := sorted(sizes.keys() - labels):
            raise UsageError(f"{spec!r} has no {', '.join(others)}")
        if len(sizes) < len(entries):
            raise UsageError(f"{text!r}: a label has one size")
        return [tuple(sizes[label] for label in term) for term in terms]
    if len(entries) != len(terms):
        raise UsageError(
            f"{len(terms)} operands in {spec!r}, but {len(entries)} shapes in {text!r}"
        )
    return [() if e == "-" else tuple(int(size) for size in e.split("x")) for e in entries]


def planned(arguments: argparse.Namespace, tune: bool | None = False) -> tensorop.Plan:
    """The plan of the contraction that a command names; tune: None: as the environment says."""
    try:
        shapes = shapes_of(arguments.spec, arguments.sizes)
        dtypes = [arguments.dtype] * len(shapes)
        return tensorop.compile(
            arguments.spec, *shapes, dtypes=dtypes, threads=arguments.threads, tune=tune
        )
    except (ValueError, TypeError, MemoryError) as error:
        raise UsageError(str(error) or type(error).__name__) from None


def explain(arguments: argparse.Namespace) -> int:
    """Print the plan of a contraction, and what it takes at least."""
    plan, dtype = planned(arguments, tune=None), arguments.dtype.name
    print(plan.explain())
    if plan.flops and dtype in FLOPS:
        threads = arguments.threads or tensorop.get_num_threads()
        print("", *limits(plan.flops, plan.bytes, dtype, threads), sep="\n")
    return 0


def tune(arguments: argparse.Namespace) -> int:
    """Search for the fastest schedule of every step of a contraction."""
    threads = arguments.threads or tensorop.get_num_threads()
    print(f"{threads} thread{'s' * (threads > 1)}, results in {tuning_store.folder()}")
    for step in planned(arguments).steps:
        if not worthwhile(step.op):
            print(f"{step.text}: too small, or nothing to choose")
            continue
        try:
            found = tuning.tune(step.op, threads, arguments.seconds)
        except MemoryError as error:
            raise UsageError(f"{step.text}: {error or 'more memory than there is'}") from None
        print(
            f"{step.text}: {found.seconds * 1e3:.3f} ms, {found.model_seconds * 1e3:.3f} ms as the "
            f"model has it, {found.tried} schedules timed: {found.choice}"
        )
    return 0


def cache(arguments: argparse.Namespace) -> int:
    """Say what is kept on disk, remove it, or add to it."""
    if arguments.action != "warm" and arguments.spec is not None:
        raise UsageError(f"cache {arguments.action} takes no contraction")
    if arguments.action == "warm":
        warm(arguments)
    if arguments.action == "clear":
        print(f"{store.clear()} files removed from {store.folder()}")
        return 0
    files = store.files()
    size = sum(os.stat(path).st_size for path in files)
    off = "" if CACHE.value else " (TENSOROP_CACHE=0: not used)"
    print(f"{len(files)} files, {size / 2**20:.1f} MiB, in {store.folder()}{off}")
    if found := len(list(tuning_store.folder().glob("*.json"))):
        print(f"{found} choices of searches, which clear leaves, in {tuning_store.folder()}")
    return 0


USUAL = (
    "ij,jk->ik", "ij,kj->ik", "ji,jk->ik", "bij,bjk->bik", "bij,jk->bik", "ij,j->i", "i,i->",
    "i,j->ij", "ij,ij->ij", "ij->i", "ij->j", "ij->ji",
)  # fmt: skip


def warm(arguments: argparse.Namespace) -> None:
    """Compile what a contraction needs, or the usual ones of all kinds of sizes and floats."""
    if arguments.spec is not None and arguments.sizes is None:
        raise UsageError(f"cache warm {arguments.spec!r}: of which sizes?")
    if arguments.spec is not None:
        planned(arguments)
    else:
        for dtype, spec, size in product(("f4", "f8", "c8", "c16"), USUAL, (3, 12, 48, 400)):
            shapes = [(size,) * len(term) for term in spec.split("->")[0].split(",")]
            if size ** max(map(len, shapes)) < 1 << 20:
                tensorop.compile(spec, *shapes, dtypes=dtype, threads=arguments.threads)
    plan_store.save()
    if CACHE.value and not store.files():
        raise UsageError(f"nothing can be kept in {store.folder()}")


def check_settings() -> None:
    """Said before anything else, whichever command it is that would come upon it."""
    try:
        for flag in FLAGS:
            _ = flag.value
        current_target()
    except ValueError as error:
        raise UsageError(str(error)) from None


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    arguments = parser().parse_args(argv)
    try:
        check_settings()
        if arguments.command == "bench":
            return bench(arguments)
        if arguments.command == "report":
            return report(arguments)
        if arguments.command == "tune":
            return tune(arguments)
        if arguments.command == "cache":
            return cache(arguments)
        return info() if arguments.command == "info" else explain(arguments)
    except UsageError as error:
        print(f"tensorop: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # who read the output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


if __name__ == "__main__":
    sys.exit(main())
