"""A `Program` with its kernels: what a warm call of einsum runs.

In go the arrays of one call, out comes the result. Everything was decided before, so that the usual
call, one step on the caller's own arrays, is an allocation and a call of the back end. A `Call` may
be run by many threads at once: temporaries belong to the run, and all that it changes is a count of
how often it was asked for, which may be off.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tensorop import plans
from tensorop.dtypes import cast_into, scalar
from tensorop.errors import EinsumError
from tensorop.ir import SCALED
from tensorop.jit.lines import LINE
from tensorop.known import Link
from tensorop.memory import LARGE, vector
from tensorop.program import Array, Program
from tensorop.runs import runs_of
from tensorop.threads import get_num_threads

MOST_KEPT = 1 << 20  # bytes of all intermediate results that need not be given back early
_BYTE = np.dtype(np.uint8)
_FLOATS = frozenset({"float32", "float64", "complex64", "complex128"})


class Call:
    """A program bound to its kernels.

    threads: how many share the work, None for the setting in force. tune: search for the fastest
    schedules. three_m: multiply complex matrices by three real products.
    """

    __slots__ = (
        "_allocate",
        "_chain",
        "_direct",
        "_has_axes",
        "_launch",
        "_links",
        "_rounding",
        "_seen",
        "program",
        "runs",
    )

    def __init__(
        self, program: Program, threads: int | None, tune: bool = False, three_m: bool = False
    ) -> None:
        self.program = program
        self.runs = runs_of(program, threads, tune, three_m)
        self._direct = self.runs[0].executable.run if program.is_direct else None
        rounding = program.rounding
        self._rounding = None if rounding is None else plans.plan_for(rounding, threads)
        self._allocate = program.result.allocator()
        self._has_axes = bool(program.result.shape)
        self._links, _ = self._linked(None, None)
        direct = self._links[0].plan if len(self._links) == 1 else None
        self._launch = None if direct is None or direct.scratch_bytes else direct.launch
        self._chain = self._links if len(self._links) > 1 else ()
        self._seen = 0

    def _linked(self, threads: int | None, begins: int | None) -> tuple[tuple[Link, ...], bool]:
        """The plans that all of the call runs one after the other, for so many threads in force
        (None: whatever is) and a result that begins so many bytes behind the start of a cache line
        (None: anywhere), none where it is more than that; and whether the last one takes alpha and
        beta."""
        program, links, scaled = self.program, list[Link](), False
        if not program.is_plain or any(r.factor is not None for r in self.runs):
            return (), False
        item = program.work.itemsize
        steps = [(run.executable, run.inputs, run.size) for run in self.runs]
        if self._rounding is not None:  # reads what the last step has then written
            steps[-1] = (*steps[-1][:2], prod(program.result.shape))
            written = program.steps[0].output + len(self.runs) - 1
            steps.append((self._rounding, (written,), None))
        if sum([elements or 0 for *_, elements in steps]) * item > MOST_KEPT:
            return (), False
        for executable, inputs, elements in steps:
            single = plans.single_plan(executable, threads, begins if elements is None else None)
            if single is None or len(inputs) > 2:
                return (), False
            plan, (first, *_), scaled = single
            ordered = inputs[::-1] if first == 1 else inputs  # its in0 is the second
            size = None if elements is None else elements * item
            links.append(Link(plan, ordered[0], ordered[-1], size))
        return tuple(links), scaled and self._rounding is None

    def pair(self, a: Array, b: Array) -> Any:
        """`new` for two operands."""
        launch = self._launch
        if launch is None:
            return self.new((a, b))
        result = self._allocate()
        plan, first, *_ = self._links[0]
        if first:
            a, b = b, a
        launch(plan.address, a, b, result, 0, 0, 0)
        return result if self._has_axes else result[()]

    def learn(
        self, key: Any, operands: Sequence[Array], out: Array | None, scaled: bool = False
    ) -> None:
        """Let the generated code remember this call (`known.py`), if it is one that single plans
        serve, and comes again: it is learnt when it comes for the second, fourth, eighth time, so
        that calls which keep losing their places cost little. scaled: alpha is not 1."""
        self._seen += 1
        if self._seen == 1 or self._seen & (self._seen - 1):
            return
        result, begins = self.program.result, None
        large = prod(result.shape) * result.dtype.itemsize >= LARGE
        if out is not None:
            begins = out.ctypes.data % LINE
        elif large:
            begins = 0  # its memory is a mapping
        threads = None if self._links else get_num_threads()
        links, takes = self._linked(threads, None)
        if links:
            begins = None
        elif begins is not None:
            links, takes = self._linked(threads, begins)
        factor = self._factor_bytes() if takes else 0
        if not links or (scaled and not factor):
            return
        made = result if out is None else out
        plans.learn(
            key,
            [(x.shape, x.strides, x.dtype) for x in (*operands, made)],
            links,
            makes=out is None,
            maker=self._allocate if out is None and large else None,
            begins=begins,
            scaled=scaled,
            factor=factor,
            threads=threads,
        )

    def _factor_bytes(self) -> int:
        """Of alpha and beta, or of their real parts: where generated code can write them."""
        op, dtype = self.program.steps[-1].op, self.program.work
        if op.main not in SCALED or op.dtype not in _FLOATS:
            return 0
        return dtype.itemsize // (2 if dtype.kind == "c" else 1)

    def new(self, arrays: Sequence[Array]) -> Any:
        """Run it without `out`, alpha or beta: the hot path."""
        direct = self._direct
        if direct is None:
            return self.run(arrays, None, None, None)
        result = self._allocate()
        direct((*arrays, result), None, None)
        return result if self._has_axes else result[()]

    def run(self, arrays: Sequence[Array], out: Array | None, alpha: Any, beta: Any) -> Any:
        """Run it on arrays of the program's layouts.

        alpha, beta: scalars of the compute dtype, or None for 1 and 0. Returns `out` where it is
        given, else a new array, or a scalar where the result has no dimensions, or a view.
        """
        program = self.program
        if program.view is not None:
            return program.view.apply(arrays[0])
        result = self._allocate() if out is None else out
        if self._direct is not None:
            self._direct((*arrays, result), alpha, beta)
        elif self._chain and alpha is None and beta is None:
            self._run_chain([*arrays], result)
        elif program.steps:
            target = result
            if program.through is not None:
                target = program.through.allocator()()
                if beta is not None:
                    cast_into(target, result)
            self._run_steps(self._operands(arrays), target, alpha, beta)
            if self._rounding is not None:
                self._rounding.run((target, result))
            elif target is not result:
                cast_into(result, target)
        return result if out is not None or result.ndim else result[()]

    def _run_chain(self, slots: list[Array], result: Array) -> None:
        for plan, first, second, size in self._chain:
            made = result if size is None else np.empty(size, _BYTE)
            plans.run(plan, slots[first], slots[second], made)
            slots.append(made)

    def _operands(self, arrays: Sequence[Array]) -> list[Array | None]:
        """The slots that the caller's operands fill."""
        program = self.program
        if program.sums_nothing:
            return [np.zeros((), program.work)]
        pairs = zip(arrays, program.copies, strict=True)
        return [array if copy is None else copy.apply(array) for array, copy in pairs]

    def _run_steps(self, slots: list[Any], target: Array, alpha: Any, beta: Any) -> None:
        for _, executable, inputs, size, factor in self.runs:
            arrays = [slots[slot] for slot in inputs]
            for slot in inputs:
                slots[slot] = None  # every slot is read once: give its memory back
            if size is None:
                executable.run((*arrays, target), _product(alpha, factor), beta)
            else:
                slots.append(vector(size, self.program.work))
                executable.run((*arrays, slots[-1]), None, None)


def _product(alpha: Any, factor: Any) -> Any:
    if alpha is None or factor is None:
        return factor if alpha is None else alpha
    with np.errstate(all="ignore"):
        return np.multiply(np.asarray(alpha), np.asarray(factor))[()]


def scalars(call: Call, out: Array | None, alpha: Any, beta: Any, casting: Any) -> tuple[Any, Any]:
    """alpha and beta as the back end takes them.

    Raises
    ------
    EinsumError
        beta is not 0, but there is no `out` to add to.
    TypeError
        They may not become the compute dtype.
    """
    dtype = call.program.dtype
    first = None if _is(alpha, 1) else scalar("alpha", alpha, dtype, casting)
    second = None if _is(beta, 0) else scalar("beta", beta, dtype, casting)
    if second is not None and second == 0:
        second = None
    if second is not None and out is None:
        raise EinsumError(f"beta = {beta!r} scales what out holds, but no out was given")
    return first, second


def _is(value: Any, number: int) -> bool:
    return type(value) is int and value == number
