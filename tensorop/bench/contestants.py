"""The contestants of one row: the roof, this library and its peers, on the same operands.

`CaseRun` is an einsum, `OperationRun` the explicit form. Operands are random,
the same for everyone (peers read them from files), and the result of each of our calls that is
timed is checked once, by the worker of the first peer, before anything is timed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

import tensorop
from tensorop.bench.cases import Case, Operation
from tensorop.bench.measure import Contestant
from tensorop.bench.peers import SHIPPED, SKYLAKEX, Peer, PeerError
from tensorop.bench.roof import ArithmeticRoof, MemoryRoof, pinned
from tensorop.bench.worker import timed

Array = np.ndarray[Any, np.dtype[Any]]

ROOF, OURS, OUT = "roof", "tensorop", " out="
PAGE = 4096  # bytes


def random_array(shape: Sequence[int], dtype: str, seed: int) -> Array:
    """Numbers between -1 and 1, integers between -9 and 9."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind in "iu":
        return rng.integers(0 if kind.kind == "u" else -9, 10, shape).astype(kind)
    parts = rng.random(shape, np.float32) * 2 - 1
    if kind.kind == "c":
        return (parts + 1j * (rng.random(shape, np.float32) * 2 - 1)).astype(kind)
    return parts.astype(kind)


def save(folder: Path, name: str, array: Array) -> str:
    """Write an array for the workers; returns the file's name."""
    file = folder / f"{name}.npy"
    np.save(file, array)
    return str(file)


def on(cpus: list[int], contestant: Contestant) -> Contestant:
    """The contestant, kept on the given CPUs while it has its turn."""

    def run(calls: int) -> float:
        with pinned(cpus):
            return contestant(calls)

    return run


def repeated(call: Callable[[], object]) -> Contestant:
    return lambda calls: timed(call, calls)


def with_threads(threads: int, contestant: Contestant) -> Contestant:
    """The limit is set around the timed calls, as that of the other libraries is."""

    def run(calls: int) -> float:
        with tensorop.threads(threads):
            return contestant(calls)

    return run


class CaseRun:
    """One einsum with its operands, ready for every contestant."""

    def __init__(self, case: Case, folder: Path, peers: Mapping[int, Sequence[Peer]]) -> None:
        self.case = case
        *shapes, self.output = case.shapes
        self._folder = folder
        self.operands, operands = [], []
        for i, (shape, strides) in enumerate(zip_longest(shapes, case.layouts)):
            data = random_array(
                shape if strides is None else (extent(shape, strides),), case.dtype, i
            )
            self.operands.append(data if strides is None else view(data, shape, strides))
            operands.append(
                {"file": save(folder, f"in{i}", data), "shape": shape, "strides": strides}
            )
        self.refused: dict[int, dict[str, str]] = {threads: {} for threads in peers}
        judge = next(iter(peers.values()))[0]
        self._peers = {
            threads: [peer for peer in group if self._takes_part(peer, operands, judge)]
            for threads, group in peers.items()
        }

    def _takes_part(self, peer: Peer, operands: list[dict[str, Any]], judge: Peer) -> bool:
        """Whether a peer has the contraction, and its result is right."""
        case = self.case
        if peer.label == SKYLAKEX and not case.uses_blas:
            return False
        try:
            peer.load(case.spec, operands, case.returns_view, list(self.output))
            if peer.library != judge.library:
                self._examine(peer, judge)
        except PeerError as error:
            # A library may lack a dtype; without numpy there would be no judge.
            if peer.label == SHIPPED:
                raise
            self._refuse(peer, error)
            return False
        return True

    def _refuse(self, peer: Peer, error: PeerError) -> None:
        self.refused[peer.threads][peer.label] = str(error)
        if not peer.alive:
            peer.restart()

    def _examine(self, peer: Peer, judge: Peer) -> None:
        file = str(self._folder / "result.npy")
        peer.save(file)
        if (error := judge.error(file)) > 1:
            raise PeerError(f"{peer.label}: its result is wrong, {error:.2g} times the bound")

    def call(self, out: bool) -> Callable[[], Array]:
        """Our call: into a new array, or into one that is kept, which is the only way to have a
        permutation done."""
        case, operands = self.case, self.operands
        if out or case.returns_view:
            kept = np.zeros(self.output, case.dtype)
            return lambda: tensorop.einsum(case.spec, *operands, out=kept)
        return lambda: tensorop.einsum(case.spec, *operands)

    def error(self, threads: int, judge: Peer) -> float:
        """The largest error of our results over its bound, with and without `out=`."""
        with tensorop.threads(threads):
            results = [np.asarray(self.call(out)()) for out in (False, True)]
        return max(judge.error(save(self._folder, "result", result)) for result in results)

    def contestants(self, threads: int) -> dict[str, Contestant]:
        ours: dict[str, Contestant] = {
            OURS: with_threads(threads, repeated(self.call(False))),
            OURS + OUT: with_threads(threads, repeated(self.call(True))),
        }
        for peer in self._peers[threads]:
            ours[peer.label] = partial(self._seconds, peer, False)
            if peer.has_out:
                ours[peer.label + OUT] = partial(self._seconds, peer, True)
        return ours

    def _seconds(self, peer: Peer, out: bool, calls: int) -> float:
        """Of a call of a peer; infinitely many from where it dies, or refuses after all."""
        if peer.label in self.refused[peer.threads]:
            return math.inf
        try:
            return peer.seconds(calls, out)
        except PeerError as error:
            self._refuse(peer, error)
            return math.inf


def extent(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Elements from the first to the last that a view reaches."""
    return 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))


def view(data: Array, shape: Sequence[int], strides: Sequence[int]) -> Array:
    """A view of one-dimensional data, strides in elements."""
    return as_strided(data, shape, [stride * data.itemsize for stride in strides])


def placed(array: Array, tensor: int) -> Array:
    """A copy of a one-dimensional array at a cache line of its own part of a page.

    Those who write explicit operations place their operands so: numpy's large arrays all begin 16
    bytes behind a page, where their lines straddle and stores to one alias loads from another.
    """
    room = np.empty(array.size + 2 * PAGE // array.itemsize, array.dtype)
    skip = (-room.ctypes.data % PAGE + tensor * PAGE // 4) // array.itemsize
    result = room[skip : skip + array.size]
    result[...] = array
    return result


class OperationRun:
    """One explicit operation with its arrays. Peers only judge: they have nothing like it."""

    def __init__(self, operation: Operation, folder: Path, judges: Sequence[Peer]) -> None:
        self.operation = operation
        self._folder = folder
        self.refused: dict[int, dict[str, str]] = defaultdict(dict)
        self._arrays = [
            placed(
                random_array((extent(*operation.view(tensor)[1:]),), operation.dtype, tensor),
                tensor,
            )
            for tensor in range(3)
        ]
        operands = [
            {
                "file": save(folder, f"in{tensor}", self._arrays[tensor]),
                "shape": operation.view(tensor)[1],
                "strides": operation.view(tensor)[2],
            }
            for tensor in range(2)
        ]
        for judge in judges:
            judge.load(operation.spec, operands, False, list(operation.view(2)[1]))

    def call(self, threads: int) -> Callable[[], object]:
        """Set up for so many threads: as written, the first M dimension is divided among them."""
        given = self.operation
        written = given.shared() if threads > 1 and not given.optimize else given
        operation = tensorop.TensorOperation(
            dtype=written.dtype,
            first_touch=written.first_touch,
            main=written.main,
            last_touch=written.last_touch,
            dim_types=written.dim_types,
            exec_types=written.exec_types,
            sizes=written.sizes,
            strides_in0=written.strides_in0,
            strides_in1=written.strides_in1,
            strides_out=written.strides_out,
            optimize=written.optimize,
            threads=threads,
        )
        operation.setup()
        return lambda: operation.execute(*self._arrays)

    def _out(self) -> Array:
        """The result as an array with a dimension for each of out's."""
        _, shape, strides = self.operation.view(2)
        return view(self._arrays[2], shape, strides).copy()

    def error(self, threads: int, judge: Peer) -> float:
        operation = self.operation
        before = None if operation.first_touch == "zero" else self._out()
        self.call(threads)()
        return judge.error(
            save(self._folder, "result", self._out()),
            None if before is None else save(self._folder, "initial", before),
            relu=operation.last_touch == "relu",
        )

    def contestants(self, threads: int) -> dict[str, Contestant]:
        return {OURS: repeated(self.call(threads))}


def roof_of(case: Case | Operation, threads: int) -> ArithmeticRoof | MemoryRoof:
    """What a case is held against: a copy where memory bounds it, else multiply-adds."""
    return MemoryRoof(threads) if case.memory_bound else ArithmeticRoof(case.dtype, threads)
