"""A `Program` with its kernels: what a warm call of einsum runs.

In go the arrays of one call, out comes the result. Everything was decided before, so that the usual
call, one step on the caller's own arrays, is an allocation and a call of the back end. A `Call` may
be run by many threads at once: temporaries belong to the run, and all that it changes is a count of
how often it was asked for, which may be off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from math import prod
from typing import Any

import numpy as np

from tensorop import plans
from tensorop.dtypes import DType, cast_into, is_half, name_of, scalar
from tensorop.errors import EinsumError, whole
from tensorop.executable import PlanFor
from tensorop.ir import SCALED
from tensorop.jit.guard import importing
from tensorop.memory import LARGE, vector
from tensorop.program import Array, Program
from tensorop.runnable import Runnable
from tensorop.threads import get_num_threads
from tensorop.tuples import NamedTuple

MOST_KEPT = 1 << 14  # elements of all intermediate results that need not be given back early
_FLOATS = frozenset({"float32", "float64", "complex64", "complex128"})


@cache
def _tuning() -> Any:
    """As `plans`, of what a search has found."""
    with importing:
        from tensorop import tuning

    return whole(tuning)


class _Link(NamedTuple):
    """A step: what runs it on in0, in1 and out, the slots of its operands (the same one twice where
    there is one), and elements of its result, None where that is the call's."""

    run: Callable[..., None]
    first: int
    second: int
    size: int | None


class Call:
    """A program bound to its kernels.

    threads: how many share the work, None for the setting in force. tune: search for the fastest
    schedules. three_m: multiply complex matrices by three real products.
    """

    __slots__ = (
        "_allocate",
        "_chain",
        "_direct",
        "_executables",
        "_factors",
        "_has_axes",
        "_launch",
        "_plan",
        "_seen",
        "_swaps",
        "program",
    )

    def __init__(
        self, program: Program, threads: int | None, tune: bool = False, three_m: bool = False
    ) -> None:
        self.program = program
        plan: PlanFor = _tuning().plan_for if tune else plans.plan_for
        by_three = plans.plan_three_m if three_m and program.work.kind == "c" else None
        self._executables = tuple(
            (by_three and by_three(step.op, threads)) or plan(step.op, threads)
            for step in program.steps
        )
        self._factors = tuple([_factor(step.factor, program.work) for step in program.steps])
        self._direct = self._executables[0].run if program.is_direct else None
        self._allocate = program.result.allocator()
        self._has_axes = bool(program.result.shape)
        self._plan, self._swaps, _ = self._single_plan(None)
        scratch = 0 if self._plan is None else self._plan.scratch_bytes
        self._launch = None if self._plan is None or scratch else self._plan.launch
        self._chain = None if self._direct is not None else self._chained()
        self._seen = 0

    def _single_plan(self, threads: int | None) -> tuple[Any, bool, bool]:
        """The plan that all of the call runs as it is, whether it takes the operands exchanged, and
        whether it takes alpha and beta: for one or two operands, and so many threads in force
        (None: whatever is)."""
        if self._direct is None or len(self.program.steps[0].inputs) > 2:
            return None, False, False
        single = plans.single_plan(self._executables[0], threads)
        if single is None:
            return None, False, False
        plan, (first, *_), scaled = single
        return plan, first == 1, scaled

    def _chained(self) -> tuple[_Link, ...] | None:
        """Several small steps on the caller's own arrays, each a single plan: what runs them, one
        after the other."""
        program = self.program
        sizes = [step.size or 0 for step in program.steps]
        scaled = any(factor is not None for factor in self._factors)
        if not program.is_plain or scaled or sum(sizes) > MOST_KEPT:
            return None
        chain = []
        for step, executable in zip(program.steps, self._executables, strict=True):
            single = plans.single_plan(executable)
            if single is None:
                return None
            plan, (first, *_), _ = single
            inputs = step.inputs[::-1] if first == 1 else step.inputs
            run = partial(plans.run, plan)
            chain.append(_Link(run, inputs[0], inputs[-1], step.size))
        return tuple(chain)

    def pair(self, a: Array, b: Array) -> Any:
        """`new` for two operands."""
        launch = self._launch
        if launch is None:
            return self.new((a, b))
        result = self._allocate()
        if self._swaps:
            launch(self._plan.address, b, a, result, 0, 0, 0)
        else:
            launch(self._plan.address, a, b, result, 0, 0, 0)
        return result if self._has_axes else result[()]

    def learn(
        self, key: Any, operands: Sequence[Array], out: Array | None, scaled: bool = False
    ) -> None:
        """Let the generated code remember this call (`known.py`), if it is one that a single plan
        serves, and comes again: it is learnt when it comes for the second, fourth, eighth time, so
        that calls which keep losing their places cost little. scaled: alpha is not 1."""
        self._seen += 1
        result = self.program.result
        large = out is None and prod(result.shape) * result.dtype.itemsize >= LARGE
        if self._seen == 1 or self._seen & (self._seen - 1) or large:
            return
        threads = None if self._plan is not None else get_num_threads()
        plan, swaps, takes = self._single_plan(threads)
        if plan is None:
            return
        factor = self._factor_bytes() if takes else 0
        if scaled and not factor:
            return
        one, other = operands[0], operands[-1]
        layouts = [(x.shape, x.strides, x.dtype) for x in (one, other)]
        made = result if out is None else out
        layouts.append((made.shape, made.strides, made.dtype))
        plans.learn(
            key,
            layouts,
            plan,
            makes=out is None,
            swaps=swaps,
            single=len(operands) == 1,
            scaled=scaled,
            factor=factor,
            threads=threads,
        )

    def _factor_bytes(self) -> int:
        """Of alpha and beta, or of their real parts: where generated code can write them."""
        op, dtype = self.program.steps[0].op, self.program.work
        if op.main not in SCALED or op.dtype not in _FLOATS:
            return 0
        return dtype.itemsize // (2 if dtype.kind == "c" else 1)

    @property
    def executables(self) -> tuple[Runnable, ...]:
        """One for every step of the program."""
        return self._executables

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
        elif self._chain is not None and alpha is None and beta is None:
            self._run_chain(self._chain, [*arrays], result)
        elif program.steps:
            target = result
            if program.through is not None:
                target = program.through.allocator()()
                if beta is not None:
                    cast_into(target, result)
            self._run_steps(self._operands(arrays), target, alpha, beta)
            if target is not result:
                cast_into(result, target)
        return result if out is not None or result.ndim else result[()]

    def _run_chain(self, chain: tuple[_Link, ...], slots: list[Array], result: Array) -> None:
        work = self.program.work
        for run, first, second, size in chain:
            made = result if size is None else np.empty(size, work)
            run(slots[first], slots[second], made)
            slots.append(made)

    def _operands(self, arrays: Sequence[Array]) -> list[Array | None]:
        """The slots that the caller's operands fill."""
        program = self.program
        if program.sums_nothing:
            return [np.zeros((), program.work)]
        pairs = zip(arrays, program.copies, strict=True)
        return [array if copy is None else copy.apply(array) for array, copy in pairs]

    def _run_steps(self, slots: list[Any], target: Array, alpha: Any, beta: Any) -> None:
        steps = zip(self.program.steps, self._executables, self._factors, strict=True)
        for step, executable, factor in steps:
            inputs = [slots[slot] for slot in step.inputs]
            for slot in step.inputs:
                slots[slot] = None  # every slot is read once: give its memory back
            if step.size is None:
                executable.run((*inputs, target), _product(alpha, factor), beta)
            else:
                slots.append(vector(step.size, self.program.work))
                executable.run((*inputs, slots[-1]), None, None)


def _factor(factor: int, dtype: DType) -> Any:
    """A step's factor as a scalar that the back end takes, None for 1. Integers wrap."""
    if factor == 1:
        return None
    if dtype.kind in "iu":
        return np.array(factor % 2**64, np.uint64).astype(dtype)[()]
    largest = int(np.finfo(np.float64).max)
    value = np.array(float(factor) if factor <= largest else np.inf)
    with np.errstate(over="ignore"):
        return value.astype(np.float32 if is_half(name_of(dtype)) else dtype)[()]


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
