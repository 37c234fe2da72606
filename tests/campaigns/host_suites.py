"""Other people's test suites with numpy's contractions replaced by ours: a pytest plugin.

    PYTHONPATH=<this repository> pytest -p tests.campaigns.host_suites --pyargs tensorly
    PYTHONPATH=<this repository> pytest -p tests.campaigns.host_suites tests    # in a clone

A test that fails with it and passes without is a finding, unless it contracts objects, asks what
only a ufunc has, or matches the words of an error. HOST_SUITES names other functions than the
usual ones (`HOST_SUITES=matmul` for numpy's own tests; the operator `@` stays numpy's).

Run with it: cotengra, einops, Dask (routines and linear algebra), tensorly, numpy's tests of
multiarray, numeric, ufuncs, linalg, ma and matrixlib, and quimb. Of quimb's, a few compress an MPO
in float32 and want a difference of squared norms below 1e-6 of these: they take the norms from BLAS
and the inner product from us, and lose what the errors of BLAS have in common when it does both.
"""

from __future__ import annotations

import os

import numpy as np

import tensorop

USUAL = "einsum tensordot inner outer vecdot"

for _name in os.environ.get("HOST_SUITES", USUAL).split():
    setattr(np, _name, getattr(tensorop, _name))
