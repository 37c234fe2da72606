"""A peer library in a process of its own: loads operands, times einsums, checks results.

A library reads its environment (thread counts, OPENBLAS_CORETYPE) when it is loaded, so each
setting that is compared needs a process. Run by file name with the library's name, never imported:
it needs nothing of ours. Requests and answers are lines of JSON on stdin and stdout.

    {"do": "load", "spec": ..., "operands": [{"file", "shape", "strides" or null}, ...]}
    {"do": "time", "calls": n, "out": false}     -> {"seconds": of one call}
    {"do": "check", "result": file, ...}         -> {"error": largest error over its bound}
    {"do": "save", "file": ...}                  writes a result of the library

The check is the only place where the benchmark needs a second opinion: numpy's einsum in higher
precision, with the a-priori bound (K + 8) eps (|A||B|) for a sum of K products.
"""

from __future__ import annotations

import importlib
import itertools
import json
import math
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

LONG = 0.05  # seconds of a call that needs no other to warm up
NAP = 0.004  # seconds in which it is seen whether threads are busy
MOST_NAPS = 250
BLOCK = 1 << 22  # elements of the result that are checked at a time, to bound the memory
SAMPLES = 1 << 12  # elements of a double result that are checked in extended precision
SAMPLE_WORK = 1 << 24

SHORT_LOOP = 1 << 20  # products that einsum's own loop may have: about a millisecond

Array = np.ndarray[Any, np.dtype[Any]]
Way = tuple[Callable[[], object], Callable[[], object]]  # into a new array, and into a given one


class Library(ABC):
    """What is asked of a library: `load` sets the calls up, one that returns a new array and, where
    there is such a thing, one that writes into a given array. What it refuses, it raises."""

    version = ""
    new: Callable[[], object]
    into: Callable[[], object] | None = None

    def __init__(self, threads: int) -> None:
        """Most libraries know the number of threads from the environment and the CPUs allowed."""
        self.threads = threads

    @abstractmethod
    def load(self, spec: str, operands: list[Array], view: bool, output: tuple[int, ...]) -> None:
        """Set the calls up."""


class Numpy(Library):
    """numpy in the fastest of its ways: einsum along a path, which goes through BLAS; where that is
    no long wait, einsum's own loop; and matmul, where the einsum is one over views."""

    version = np.__version__

    def load(self, spec: str, operands: list[Array], view: bool, output: tuple[int, ...]) -> None:
        out = np.zeros(output, operands[0].dtype)
        if view:  # einsum would only return a view: copy it, which is what numpy does fastest
            self.new = lambda: np.array(np.einsum(spec, *operands), order="C")
            self.into = lambda: np.copyto(out, np.einsum(spec, *operands))
            return
        ways = [self._einsum(spec, operands, out, True)]
        if math.prod(sizes_of(spec, operands).values()) <= SHORT_LOOP:
            ways.append(self._einsum(spec, operands, out, False))
        if (axes := matrix_axes(spec)) is not None:
            ways.append(self._matmul(axes, operands, out))
        self.new, self.into = (
            ways[0] if len(ways) == 1 else min(ways, key=lambda w: least_time(w[0]))
        )

    @staticmethod
    def _einsum(spec: str, operands: list[Array], out: Array, optimize: bool) -> Way:
        return (
            lambda: np.einsum(spec, *operands, optimize=optimize),
            lambda: np.einsum(spec, *operands, out=out, optimize=optimize),
        )

    @staticmethod
    def _matmul(axes: list[list[int]], operands: list[Array], out: Array) -> Way:
        a, b, c = (t.transpose(x) for t, x in zip((*operands, out), axes, strict=True))
        back = np.argsort(axes[2])
        return lambda: np.matmul(a, b).transpose(back), lambda: np.matmul(a, b, out=c)


class Torch(Library):
    """torch.einsum; there is no `out=`, but a view can be copied into an array."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self.torch = importlib.import_module("torch")
        self.torch.set_num_threads(threads)
        self.version = str(self.torch.__version__)

    def load(self, spec: str, operands: list[Array], view: bool, output: tuple[int, ...]) -> None:
        torch = self.torch
        tensors = [torch.from_numpy(operand) for operand in operands]
        self.new = lambda: torch.einsum(spec, *tensors)
        if view:
            out = torch.from_numpy(np.zeros(output, operands[0].dtype))
            self.new = lambda: torch.einsum(spec, *tensors).clone(
                memory_format=torch.contiguous_format
            )
            self.into = lambda: out.copy_(torch.einsum(spec, *tensors))


class Jax(Library):
    """jax.numpy.einsum, compiled before it is timed; there is no `out=`. Views become arrays of
    their own beforehand."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self.jax = importlib.import_module("jax")
        self.jax.config.update("jax_platforms", "cpu")
        self.jax.config.update("jax_enable_x64", True)
        self.version = str(self.jax.__version__)

    def load(self, spec: str, operands: list[Array], view: bool, output: tuple[int, ...]) -> None:
        tensors = [self.jax.device_put(operand) for operand in operands]
        einsum = self.jax.jit(lambda *args: self.jax.numpy.einsum(spec, *args))
        call = einsum.lower(*tensors).compile()
        self.new = lambda: call(*tensors).block_until_ready()


class OptEinsum(Library):
    """An opt_einsum expression, made before it is timed."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self.opt_einsum = importlib.import_module("opt_einsum")
        self.version = str(self.opt_einsum.__version__)

    def load(self, spec: str, operands: list[Array], view: bool, output: tuple[int, ...]) -> None:
        call = self.opt_einsum.contract_expression(spec, *[operand.shape for operand in operands])
        out = np.zeros(output, operands[0].dtype)
        self.new = lambda: call(*operands)
        self.into = lambda: call(*operands, out=out)
        if view:
            self.new = lambda: np.array(call(*operands), order="C")
            self.into = lambda: np.copyto(out, call(*operands))


class Cotengra(Library):
    """A cotengra expression, made before it is timed; there is no `out=`."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self.cotengra = importlib.import_module("cotengra")
        self.version = str(self.cotengra.__version__)

    def load(self, spec: str, operands: list[Array], view: bool, output: tuple[int, ...]) -> None:
        call = self.cotengra.einsum_expression(spec, *[operand.shape for operand in operands])
        self.new = lambda: call(*operands)
        if view:
            self.new = lambda: np.array(call(*operands), order="C")


class Pytblis(Library):
    """pytblis.einsum, which contracts in place of transposing."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self.tblis = importlib.import_module("pytblis")
        self.tblis.set_num_threads(threads)
        self.version = str(getattr(self.tblis, "__version__", ""))

    def load(self, spec: str, operands: list[Array], view: bool, output: tuple[int, ...]) -> None:
        out = np.zeros(output, operands[0].dtype)
        tblis = self.tblis
        self.new = lambda: tblis.einsum(spec, *operands)
        self.into = lambda: tblis.einsum(spec, *operands, out=out)
        if view:
            self.new = lambda: np.array(tblis.einsum(spec, *operands), order="C")


class Etops(Library):
    """An etops operation: of its default schedule and a search over block sizes, the fastest. It
    has contractions of two float32 operands only (with doubles the process ends), and writes into
    given arrays, so that a new one is one that was just allocated."""

    BLOCKS = tuple(itertools.product((16, 32, 64), (12, 24, 48), (64, 256)))

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self.etops = importlib.import_module("etops")
        self.version = str(self.etops.__version__)

    def load(self, spec: str, operands: list[Array], view: bool, output: tuple[int, ...]) -> None:
        if [operand.dtype for operand in operands] != [np.dtype(np.float32)] * 2:
            raise TypeError("etops contracts two float32 operands")
        *terms, result = spec.replace("->", ",").split(",")
        if result and result[-1] not in terms[0]:  # where out is consecutive, the first must be
            terms, operands = terms[::-1], operands[::-1]
        out = np.zeros(output, np.float32)
        given = self._given(terms, operands, result, out)
        run = self._fastest(given, operands, out)
        self.new = lambda: run(np.empty_like(out))
        self.into = lambda: run(out)

    def _given(self, terms: list[str], operands: list[Array], result: str, out: Array) -> Any:
        """The operation, its loops as they come."""
        etops = self.etops
        first, second = terms
        if (set(first) ^ set(second)) - set(result) or any(len(set(t)) < len(t) for t in terms):
            raise ValueError("etops has no sum over one operand, and no diagonal")
        labels = tuple(dict.fromkeys(result + first))
        tensors = list(zip((first, second, result), (*operands, out), strict=True))
        strides = [
            tuple(t.strides[term.index(k)] // t.itemsize if k in term else 0 for k in labels)
            for term, t in tensors
        ]
        sizes = {k: n for term, t in tensors for k, n in zip(term, t.shape, strict=True)}

        def kind(label: str) -> Any:
            if label not in result:
                return etops.dim.k
            if label in first:
                return etops.dim.c if label in second else etops.dim.m
            return etops.dim.n

        return etops.TensorOperationConfig(
            backend="tpp",
            data_type=etops.float32,
            prim_first=etops.prim.zero,
            prim_main=etops.prim.gemm,
            prim_last=etops.prim.none,
            dim_types=tuple(map(kind, labels)),
            exec_types=(etops.exec.seq,) * len(labels),
            dim_sizes=tuple(sizes[k] for k in labels),
            strides=(tuple(strides),),
        )

    def _fastest(self, given: Any, operands: list[Array], out: Array) -> Callable[[Array], object]:
        etops = self.etops
        default = etops.backend.tpp.get_default_optimization_config()
        default["num_threads"] = self.threads
        searched = [
            default | {"target_m": m, "target_n": n, "target_k": k} for m, n, k in self.BLOCKS
        ]
        best, least = None, math.inf
        for options in (default, *searched):
            try:
                operation = etops.TensorOperation(etops.optimize(given, options))
            except RuntimeError:
                continue  # blocks that it does not have

            def run(out: Array, operation: Any = operation) -> Array:
                operation.execute(*operands, out)
                return out

            start = time.perf_counter()
            run(out)
            if time.perf_counter() - start < 3 * least:
                seconds = timed(lambda run=run: run(out), 1)  # type: ignore[misc]
                if seconds < least:
                    best, least = run, seconds
        if best is None:
            raise RuntimeError("etops has no schedule")
        return best


LIBRARIES: dict[str, type[Library]] = {
    "numpy": Numpy,
    "torch": Torch,
    "jax": Jax,
    "etops": Etops,
    "pytblis": Pytblis,
    "opt_einsum": OptEinsum,
    "cotengra": Cotengra,
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


def least_time(call: Callable[[], object]) -> float:
    """Seconds of a call, the least of a few."""
    return min(timed(call, 1) for _ in range(3))


def sizes_of(spec: str, operands: list[Array]) -> dict[str, int]:
    """The size of each label."""
    terms = spec.split("->")[0].split(",")
    return {
        k: n for t, o in zip(terms, operands, strict=True) for k, n in zip(t, o.shape, strict=True)
    }


def matrix_axes(spec: str) -> list[list[int]] | None:
    """Where the einsum is one batched matrix product over transposed views: the axes of each view
    of the operands and the result, matrices last; None where it is not.

    >>> matrix_axes("ibj,jbk->ikb")
    [[1, 0, 2], [1, 0, 2], [2, 0, 1]]
    """
    *terms, output = spec.replace("->", ",").split(",")
    if len(terms) != 2 or any(len(set(term)) < len(term) for term in (*terms, output)):
        return None
    first, second = terms
    batch = [k for k in output if k in first and k in second]
    rows, columns = ([k for k in output if k in t and k not in batch] for t in terms)
    summed = [k for k in first if k in second and k not in output]
    if not len(rows) == len(columns) == len(summed) == 1:
        return None
    if len(first) != len(batch) + 2 or len(second) != len(batch) + 2:
        return None  # labels of one operand alone are summed
    tensors = {first: rows + summed, second: summed + columns, output: rows + columns}
    return [[term.index(k) for k in batch + matrix] for term, matrix in tensors.items()]


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


def items(spec: str, operands: list[Array]) -> Iterator[tuple[str, list[Array], tuple[Any, ...]]]:
    """The operation item by item of its batch, where an item is much work: the spec of an item, its
    operands, and where in the result it lies. einsum goes through BLAS for an item, but not for a
    batch of them."""
    *terms, output = spec.replace("->", ",").split(",")
    sizes = sizes_of(spec, operands)
    batch = [k for k in output if all(k in term for term in terms)] if len(terms) == 2 else []
    if math.prod(sizes[k] for k in sizes if k not in batch) < SHORT_LOOP:
        batch = []
    kept = ["".join(k for k in term if k not in batch) for term in (*terms, output)]
    for item in np.ndindex(*[sizes[k] for k in batch]):
        index = dict(zip(batch, item, strict=True))
        *parts, where = ([index.get(k, slice(None)) for k in term] for term in (*terms, output))
        cut = [operand[tuple(part)] for operand, part in zip(operands, parts, strict=True)]
        yield f"{','.join(kept[:-1])}->{kept[-1]}", cut, tuple(where)


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
    output = spec.split("->")[1]
    sizes = sizes_of(spec, operands)
    summed = int(np.prod([n for label, n in sizes.items() if label not in output], dtype=np.int64))
    exact_kind = result.dtype.kind not in "fc"
    factor = 0.0 if exact_kind else (summed + 8) * float(np.finfo(result.dtype).eps)

    def judge(spec: str, parts: list[Array], got: Array, before: Array) -> float:
        wide = [part.astype(kind) for part in parts]
        exact = before + np.asarray(np.einsum(spec, *wide, optimize=True))
        size = np.abs(before) + np.asarray(np.einsum(spec, *map(np.abs, wide), optimize=True))
        return worst(got, np.maximum(exact, 0) if relu else exact, np.abs(size) * factor)

    kind = wider(result.dtype)
    start = np.broadcast_to(np.zeros((), kind) if initial is None else initial, result.shape)
    error = 0.0
    for each, own, item in items(spec, operands):
        got, before = np.asarray(result[item]), np.asarray(start[item])
        for parts, where in blocks(each, own, got):
            error = max(error, judge(each, parts, got[where], before[where]))
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

    def save(self, file: str) -> dict[str, Any]:
        np.save(file, np.asarray(self.library.new()))
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
