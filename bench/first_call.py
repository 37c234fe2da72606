"""What a process pays before it has its first results.

Usage: python bench/first_call.py [--rounds 9]

Every figure is the median over fresh processes, one of each kind in turn. `import`: of tensorop,
beyond that of numpy. `warm`: the first call, where another process left its kernels on disk.
`empty`: import and first call, a 96x100x88 product in float32, with nothing on disk, beyond the
import of llvmlite.binding in a process of its own. `six`: until the last of six different
contractions is there, with nothing on disk.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from statistics import median

_BEGIN = "import time; begin = time.perf_counter()\n"
_END = "print(1e3 * (time.perf_counter() - begin))\n"
_OPERANDS = "import numpy as np\na, b = np.ones((96, 100), 'f4'), np.ones((100, 88), 'f4')\n"
_SIX = """
import numpy as np
random = np.random.default_rng(0).random
calls = [
    ("ij,jk->ik", random((96, 100), "f4"), random((100, 88), "f4")),
    ("ij,jk->ik", random((30, 40)), random((40, 20))),
    ("bij,bjk->bik", random((50, 4, 4), "f4"), random((50, 4, 4), "f4")),
    ("ij->j", random((300, 200))),
    ("abc,abc->cab", random((20, 30, 40), "f4"), random((20, 30, 40), "f4")),
    ("ij,ij->i", random((100, 50)), random((100, 50))),
]
"""
_CALL = "tensorop.matmul(a, b)\n"
PROGRAMS = {
    "numpy": f"{_BEGIN}import numpy\n{_END}",
    "tensorop": f"{_BEGIN}import tensorop\n{_END}",
    "llvmlite": f"import numpy\n{_BEGIN}import llvmlite.binding\n{_END}",
    "warm": f"{_OPERANDS}import tensorop\n{_BEGIN}{_CALL}{_END}",
    "empty": f"{_OPERANDS}{_BEGIN}import tensorop\n{_CALL}{_END}",
    "six": f"{_SIX}{_BEGIN}import tensorop\nfor call in calls: tensorop.einsum(*call)\n{_END}",
}


def milliseconds(program: str, folder: str) -> float:
    """What a process says that has this cache folder, and Python's own cache of modules."""
    environment = {**os.environ, "TENSOROP_CACHE": "1", "TENSOROP_CACHE_DIR": folder}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", program]
    return float(subprocess.run(command, env=environment, stdout=-1, check=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    times: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    with tempfile.TemporaryDirectory() as kept:
        milliseconds(PROGRAMS["warm"], kept)
        for _ in range(rounds + 1):
            for name, program in PROGRAMS.items():
                with tempfile.TemporaryDirectory() as fresh:
                    folder = fresh if name in ("empty", "six") else kept
                    times[name].append(milliseconds(program, folder))
    # The first round may have compiled Python's own files.
    found = {name: median(measured[1:]) for name, measured in times.items()}
    print(
        f"import {found['tensorop'] - found['numpy']:6.1f} ms beyond numpy ({found['numpy']:.1f})"
    )
    print(f"warm   {found['warm']:6.1f} ms")
    print(f"empty  {found['empty'] - found['llvmlite']:6.1f} ms beyond llvmlite.binding")
    print(f"six    {found['six'] - found['llvmlite']:6.1f} ms beyond llvmlite.binding")


if __name__ == "__main__":
    main()
