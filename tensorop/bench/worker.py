"""A peer library in a process of its own: loads operands, times einsums, checks results.

A library reads its environment (thread counts, OPENBLAS_CORETYPE) when it is loaded, so each
setting that is compared needs a process. Run by file name with the library's name, never imported:
it needs nothing of ours. Requests and answers are lines of JSON on stdin and stdout.

    {"do": "load", "spec": ..., "operands": [{"file", "shape", "strides" or null}, ...]}
    {"do": "time", "calls": n, "out": false}     -> {"seconds": of one call}
    {"do": "check", "result": file, ...}         -> {"error": largest error over its bound}
    {"do": "drop"}                               forgets the operands

The check is the only place where the benchmark needs a second opinion: numpy's einsum in higher
precision, with the a-priori bound (K + 8) eps (|A||B|) for a sum of K products.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

LONG = 0.05  # seconds of a call that needs no other to warm up
NAP = 0.004  # seconds in which it is seen whether threads are busy
MOST_NAPS = 250
BLOCK = 1 << 22  # elements of the result that are checked at a time, to bound the memory
SAMPLES = 1 << 12  # elements of a double result that are checked in extended precision
SAMPLE_WORK = 1 << 24

Array = np.ndarray[Any, np.dtype[Any]]


class Numpy:
    """numpy.einsum, with its default contraction path (which goes through BLAS)."""

    version = np.__version__

    def __init__(self, threads: int) -> None:
        pass  # the thread counts are in the environment

    def load(self, spec: str, operands: list[Array], view: bool, output: tuple[int, ...]) -> None:
        out = np.zeros(output, operands[0].dtype)
        self.new: Callable[[], object] = lambda: np.einsum(spec, *operands, optimize=True)
        self.into: Callable[[], object] | None = lambda: np.einsum(
            spec, *operands, out=out, optimize=True
        )
        if view:  # einsum would only return a view: copy it, which is what numpy does fastest
            self.new = lambda: np.array(np.einsum(spec, *operands), order="C")
            self.into = lambda: np.copyto(out, np.einsum(spec, *operands))


class Torch:
    """torch.einsum; there is no `out=`."""

    def __init__(self, threads: int) -> None:
        self.torch = importlib.import_module("torch")
        self.torch.set_num_threads(threads)
        self.version = str(self.torch.__version__)

    def load(self, spec: str, operands: list[Array], view: bool, output: tuple[int, ...]) -> None:
        torch = self.torch
        tensors = [torch.from_numpy(operand) for operand in operands]
        self.new: Callable[[], object] = lambda: torch.einsum(spec, *tensors)
        self.into: Callable[[], object] | None = None
        if view:
            self.new = lambda: torch.einsum(spec, *tensors).clone(
                memory_format=torch.contiguous_format
            )


class Pytblis:
    """pytblis.einsum, which contracts in place of transposing."""

    def __init__(self, threads: int) -> None:
        self.tblis = importlib.import_module("pytblis")
        self.tblis.set_num_threads(threads)
        self.version = str(getattr(self.tblis, "__version__", ""))

    def load(self, spec: str, operands: list[Array], view: bool, output: tuple[int, ...]) -> None:
        out = np.zeros(output, operands[0].dtype)
        tblis = self.tblis
        self.new: Callable[[], object] = lambda: tblis.einsum(spec, *operands)
        self.into: Callable[[], object] | None = lambda: tblis.einsum(spec, *operands, out=out)


LIBRARIES: dict[str, type[Numpy] | type[Torch] | type[Pytblis]] = {
    "numpy": Numpy,
    "torch": Torch,
    "pytblis": Pytblis,
}


def strided(file: str, shape: list[int], strides: list[int] | None) -> Array:
    """An operand from its file: an array, or elements of which it is a strided view."""
    data: Array = np.load(file)
    if strides is None:
        return data
    steps = [stride * data.itemsize for stride in strides]
    return np.lib.stride_tricks.as_strided(data, shape, steps)


def timed(call: Callable[[], object], calls: int) -> float:
    """Seconds of one of so many calls, after one that warms up; a call so long that warming up
    makes no difference counts at once."""
    start = time.perf_counter()
    call()
    first = time.perf_counter() - start
    if calls == 1 and first > LONG:
        return first
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls


def fall_asleep() -> None:
    """Return when no thread of this process is busy. Those of some libraries wait for the next call
    in a loop, for tens of milliseconds, on a CPU that somebody else has the next turn on."""
    for _ in range(MOST_NAPS):
        before = time.process_time()
        time.sleep(NAP)
        if time.process_time() - before < NAP / 4:
            return


def wider(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type of the reference: double for what is shorter, integers as they are."""
    if dtype.kind == "c":
        return np.dtype(np.complex128)
    return np.dtype(np.float64) if dtype.kind == "f" else dtype


def blocks(spec: str, operands: list[Array], result: Array) -> Iterator[tuple[list[Array], Any]]:
    """The operation cut along the longest label of its result, a piece at a time: the operands of
    the piece, and where in the result it lies."""
    *terms, output = spec.replace("->", ",").split(",")
    if not output:
        yield operands, ...
        return
    axis = int(np.argmax(result.shape))
    step = max(1, BLOCK * result.shape[axis] // max(1, result.size))
    for start in range(0, result.shape[axis], step):
        piece = slice(start, start + step)

        def cut(operand: Array, labels: str, piece: slice = piece) -> Array:
            where = [piece if label == output[axis] else slice(None) for label in labels]
            return operand[tuple(where)]

        yield (
            [cut(o, t) for o, t in zip(operands, terms, strict=True)],
            (slice(None),) * axis + (piece,),
        )


def worst(got: Array, exact: Array, bound: Array) -> float:
    """The largest error as a part of its bound; infinite where a NaN is on one side only."""
    error = np.abs(got.astype(exact.dtype) - exact)
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = np.where(error == 0, 0, error / bound)
    return float(np.nan_to_num(parts, nan=np.inf, posinf=np.inf).max(initial=0))


def check(
    spec: str, operands: list[Array], result: Array, initial: Array | None, relu: bool
) -> float:
    """The largest error of a result over its bound: at most 1 where the result is right."""
    *terms, output = spec.replace("->", ",").split(",")
    sizes = {
        k: n for t, o in zip(terms, operands, strict=True) for k, n in zip(t, o.shape, strict=True)
    }
    summed = int(np.prod([n for label, n in sizes.items() if label not in output], dtype=np.int64))
    exact_kind = result.dtype.kind not in "fc"
    factor = 0.0 if exact_kind else (summed + 8) * float(np.finfo(result.dtype).eps)

    def judge(parts: list[Array], where: Any, kind: np.dtype[Any]) -> float:
        wide = [part.astype(kind) for part in parts]
        exact = np.asarray(np.einsum(spec, *wide, optimize=True))
        size = np.asarray(np.einsum(spec, *map(np.abs, wide), optimize=True))
        if initial is not None:
            exact, size = exact + initial[where], size + np.abs(initial[where])
        if relu:
            exact = np.maximum(exact, 0)
        return worst(np.asarray(result[where]), exact, np.abs(size) * factor)

    kind = wider(result.dtype)
    error = max(judge(parts, where, kind) for parts, where in blocks(spec, operands, result))
    if result.dtype.itemsize >= kind.itemsize and not exact_kind and initial is None:
        error = max(error, sampled(spec, operands, result, factor, summed, relu))
    return error


def sampled(
    spec: str, operands: list[Array], result: Array, factor: float, summed: int, relu: bool
) -> float:
    """`check` in extended precision, for double results, at a few random indices of each axis."""
    *terms, output = spec.replace("->", ",").split(",")
    points = max(1, min(SAMPLES, SAMPLE_WORK // summed))
    each = max(1, round(points ** (1 / max(1, len(output)))))
    rng = np.random.default_rng(0)
    chosen = {
        label: rng.integers(0, size, min(size, each))
        for label, size in zip(output, result.shape, strict=True)
    }
    kind = np.dtype(np.clongdouble if result.dtype.kind == "c" else np.longdouble)
    wide = [
        operand[
            np.ix_(*(chosen.get(k, np.arange(n)) for k, n in zip(t, operand.shape, strict=True)))
        ]
        for t, operand in zip(terms, operands, strict=True)
    ]
    wide = [part.astype(kind) for part in wide]
    exact = np.asarray(np.einsum(spec, *wide))
    exact = np.maximum(exact, 0) if relu else exact
    size = np.asarray(np.einsum(spec, *map(np.abs, wide)))
    got = result[np.ix_(*(chosen[label] for label in output))] if output else result
    return worst(np.asarray(got), exact, size * factor)


class Worker:
    """Answers requests, one at a time."""

    def __init__(self, library: str, threads: int) -> None:
        self.library = LIBRARIES[library](threads)
        self.spec = ""
        self.operands: list[Array] = []

    def hello(self) -> dict[str, Any]:
        return {"version": self.library.version}

    def load(
        self, spec: str, operands: list[dict[str, Any]], view: bool, output: list[int]
    ) -> dict[str, Any]:
        self.spec, self.operands = spec, [strided(**operand) for operand in operands]
        self.library.load(spec, self.operands, view, tuple(output))
        return {"out": self.library.into is not None}

    def time(self, calls: int, out: bool) -> dict[str, Any]:
        call = self.library.into if out else self.library.new
        if call is None:
            raise ValueError("the library has no out=")
        seconds = timed(call, calls)
        fall_asleep()
        return {"seconds": seconds}

    def check(self, result: str, initial: str | None, relu: bool) -> dict[str, Any]:
        before = None if initial is None else np.load(initial)
        return {"error": check(self.spec, self.operands, np.load(result), before, relu)}

    def drop(self) -> dict[str, Any]:
        # The library's closures hold the operands, too.
        self.library.load("->", [np.zeros(())], False, ())
        self.operands = []
        return {}


def main() -> None:
    """Answer requests until stdin ends. What a library prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    worker = Worker(sys.argv[1], int(sys.argv[2]))
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(worker, request.pop("do"))(**request)
        except Exception as error:  # reported to the driver, which raises it there
            answer = {"failed": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
