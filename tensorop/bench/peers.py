"""The libraries beside ours, each in a process of its own (`worker.py`).

`find_peers` says which there are; `Peer` runs one: it hands over the operands as files, asks for
times and has results checked. numpy appears twice where that makes a difference: as shipped, and
with OPENBLAS_CORETYPE=SkylakeX, because its OpenBLAS takes an AVX2 kernel on AVX-512 machines that
it does not know. Every worker gets the same thread count through the variables that its library
reads.
"""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from tensorop.bench.roof import cores, pinned
from tensorop.jit.target import host_targets

THREAD_VARIABLES = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
# What would make a library other than "as shipped".
CORE_TYPE_VARIABLES = ("OPENBLAS_CORETYPE", "MKL_DEBUG_CPU_TYPE", "BLIS_ARCH_TYPE")
SHIPPED = "numpy"
SKYLAKEX = "numpy SkylakeX"
PEERS = ("torch", "jax", "etops", "pytblis", "opt_einsum", "cotengra")


class PeerError(RuntimeError):
    """A peer library refused or died; the message is its own."""


@dataclass
class Peer:
    """One library in one setting with one thread count.

    Use it as a context manager: the process lives as long as the block.
    """

    label: str
    library: str
    threads: int
    environment: dict[str, str] = field(default_factory=dict)
    version: str = ""
    has_out: bool = False
    _process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Peer:
        self.start()
        return self

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the process, on as many of this one's CPUs as it has threads: some libraries have
        no other limit."""
        environment = {k: v for k, v in os.environ.items() if k not in CORE_TYPE_VARIABLES}
        environment |= dict.fromkeys(THREAD_VARIABLES, str(self.threads)) | self.environment
        # -P: the worker's folder is no place to import from.
        command = [sys.executable, "-P", str(Path(__file__).with_name("worker.py"))]
        with pinned(cores()[: self.threads]):
            self._process = subprocess.Popen(
                [*command, self.library, str(self.threads)],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        try:
            self.version = self.ask("hello")["version"]
        except PeerError:
            self.__exit__(None, None, None)
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self._process.kill()
            with suppress(BrokenPipeError):  # of a request that a dead process did not take
                self._process.communicate()
            self._process = None

    def restart(self) -> None:
        self.__exit__(None, None, None)
        self.start()

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Send one request and wait for its answer."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise PeerError(f"{self.label} is not running")
        try:
            print(json.dumps({"do": do, **arguments}), file=process.stdin, flush=True)
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise PeerError(f"{self.label}: the process ended ({process.wait()})")
        answer: dict[str, Any] = json.loads(line)
        if "failed" in answer:
            raise PeerError(f"{self.label}: {answer['failed']}")
        return answer

    def load(self, spec: str, operands: list[dict[str, Any]], view: bool, out: list[int]) -> None:
        self.has_out = self.ask("load", spec=spec, operands=operands, view=view, output=out)["out"]

    def seconds(self, calls: int, out: bool) -> float:
        """Seconds of one of so many calls, returning a new array or writing into `out`."""
        return float(self.ask("time", calls=calls, out=out)["seconds"])

    def save(self, file: str) -> None:
        """Write a result to a file."""
        self.ask("save", file=file)

    def error(self, result: str, initial: str | None = None, relu: bool = False) -> float:
        """The largest error of the result in a file over its bound: at most 1 where it is right.

        initial: a file with what the result was added to. relu: whether negatives became zero.
        """
        return float(self.ask("check", result=result, initial=initial, relu=relu)["error"])


def find_peers(threads: int, others: tuple[str, ...] = ()) -> list[Peer]:
    """numpy in its settings, and those of `others` (some of `PEERS`) that are installed."""
    peers = [Peer(SHIPPED, "numpy", threads)]
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    wide = x86 and any(target.name == "avx512" for target in host_targets())
    if wide:
        peers.append(Peer(SKYLAKEX, "numpy", threads, {"OPENBLAS_CORETYPE": "SkylakeX"}))
    for name in others:
        if importlib.util.find_spec(name):
            # Not knowing an AVX-512 machine, BLIS would take kernels without vectors.
            variables = {"BLIS_ARCH_TYPE": "skx"} if wide and name == "pytblis" else {}
            peers.append(Peer(name, name, threads, variables))
    return peers
