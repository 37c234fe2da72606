"""Kernels of AVX-512 on a machine that has only AVX2: a pytest plugin (`-p tests.wide_vectors`), or
an import before all else. LLVM makes two vectors of each, and branches of masks of bytes: too slow
for timing, but what the generators and the optimizer do for that target is run and checked.
"""

from __future__ import annotations

from tensorop.jit import target

_wide, _avx2 = target._X86[0][1], target._X86[1]
target._X86 = ((_avx2[0], _wide._replace(cpu=_avx2[1].cpu)), *target._X86[1:])
target.host_targets.cache_clear()
