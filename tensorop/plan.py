"""`compile`: plan a contraction once, call it often.

A `Plan` is everything that was decided for one spec and one set of layouts: the steps, their
schedules and kernels. It is immutable, callable from any thread, can be read (`explain()`,
`llvm_ir()`, `asm()`) and pickled: where it is loaded, it plans anew.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np

from tensorop.call import Call
from tensorop.calls import Shape, contiguous
from tensorop.dtypes import dtype_of
from tensorop.einsum import cache_clear as einsum_cache_clear
from tensorop.einsum import call_for, check_plain, contract, layout_of, positions
from tensorop.errors import EinsumError, whole
from tensorop.explain import describe
from tensorop.ir import TensorOp
from tensorop.jit.guard import importing
from tensorop.jit.library import assembly, llvm_ir
from tensorop.jit.target import current_target
from tensorop.jit.vectorcall import Vectorcalled
from tensorop.memory import release
from tensorop.path import freeze
from tensorop.program import Layout, Options, check_options
from tensorop.runnable import Runnable
from tensorop.schedule import Call as KernelCall
from tensorop.schedule import Pack, Schedule
from tensorop.threads import checked
from tensorop.tree import Step

Array = np.ndarray[Any, Any]


@cache
def _binding() -> Any:
    # Imported where kernels are listed: with it comes most of the optimizer.
    with importing:
        from tensorop import bind_copies

    return whole(bind_copies)


_ONE, _ZERO = 1, 0  # the defaults of alpha and beta


class Plan:
    """A contraction planned for operands of given shapes, strides and dtypes.

    Calling it with arrays of that shape and dtype gives what `einsum` gives; arrays with other
    strides are planned for as they come. Made by `compile`.

    Attributes
    ----------
    spec : str
    threads : int or None
        How many share the work; None: as many as are in force when it is called.
    flops : int
        Arithmetic operations: a multiply and an add are two, complex ones eight.
    bytes : int
        Operands and result, each once.
    steps : tuple of Step
        The operations that it runs, in order.
    """

    spec: str
    threads: int | None
    _layouts: tuple[Layout, ...]
    _options: Options
    _call: Call
    _python: _PythonCall

    def __new__(cls, *arguments: Any) -> Plan:
        native = _native() if cls is Plan else None
        return super().__new__(cls if native is None else native.kind)

    def __init__(
        self, spec: str, layouts: tuple[Layout, ...], options: Options, threads: int | None
    ) -> None:
        call = call_for(spec, layouts, None, tuple(options), threads)
        python = _PythonCall(spec, layouts, options, threads, call)
        vars(self).update(
            spec=spec,
            threads=threads,
            _layouts=layouts,
            _options=options,
            _call=call,
            _python=python,
        )
        native = _native()
        if native is not None and type(self) is native.kind:
            native.bind(self, (python.key, python))

    def __setattr__(self, name: str, value: Any) -> None:
        """Another spec would need another plan."""
        raise AttributeError(f"a Plan is immutable; its {name} is not set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Plan is immutable; its {name} is not deleted")

    def __call__(
        self, *operands: Any, out: Array | None = None, alpha: Any = 1, beta: Any = 0
    ) -> Any:
        """Contract.

        Parameters
        ----------
        *operands : array_like
            Of the shapes and dtypes that were planned for.
        out, alpha, beta
            As in `einsum`.

        Raises
        ------
        EinsumError
            An operand has another shape than was planned for, or their number differs.
        TypeError
            An operand has another dtype.
        """
        return self._python(*operands, out=out, alpha=alpha, beta=beta)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The operations that it runs, in order."""
        return self._call.program.steps

    @property
    def executables(self) -> tuple[Runnable, ...]:
        """One for every step, or for two that run piece by piece, in order."""
        return tuple(run.executable for run in self._call.runs)

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        """The schedules of all steps, in order."""
        return tuple(s for executable in self.executables for s in executable.schedules)

    @property
    def schedule(self) -> Schedule:
        """The schedule with the most arithmetic.

        Raises
        ------
        ValueError
            Nothing is computed: the result is a view, or empty.
        """
        if not self.schedules:
            raise ValueError("nothing is computed: the result is a view, or has no elements")
        return max(self.schedules, key=lambda s: (s.op.flops, prod(a.size for a in s.axes)))

    @property
    def flops(self) -> int:
        return sum(step.op.flops for step in self._call.program.steps)

    @property
    def bytes(self) -> int:
        operands = sum(prod(shape) * dtype.itemsize for shape, _, dtype, _ in self._layouts)
        result = self._call.program.result
        return operands + prod(result.shape) * result.dtype.itemsize

    def explain(self) -> str:
        """How it runs, and why: dimensions, what each pass did, the loop nest, the kernels."""
        program = self._call.program
        shapes = ", ".join(f"{'x'.join(map(str, s)) or '()'} {d}" for s, _, d, _ in self._layouts)
        lines = [f"{self.spec}   {shapes}", self._work()]
        if program.view is not None:
            lines.append("a view of the operand: nothing is computed")
        for i, copy in enumerate(program.copies):
            if copy is not None:
                lines.append(f"operand {i} is copied to {copy.storage.dtype} first")
        if program.through is not None:
            lines.append(f"the result goes through a temporary of {program.through.dtype}")
        for steps, executable, *_ in self._call.runs:
            lines += [
                "",
                *[f"step {step.text}" for step in steps],
                *_other_labels(steps[-1].op, executable.op),
                *([f"  {executable.note}"] if executable.note else []),
            ]
            for schedule in executable.schedules:
                lines += [f"  {line}" for line in describe(schedule)]
        return "\n".join(lines)

    def _work(self) -> str:
        """Arithmetic, memory, and how much of the one there is for the other: what a roofline
        asks."""
        intensity = f", {self.flops / self.bytes:.3g} flops a byte" if self.bytes else ""
        return f"{self.flops:,} flops, {self.bytes:,} bytes{intensity}"

    def kernels(self) -> tuple[Any, ...]:
        """The descriptions of all kernels it calls, each once."""
        found: dict[Any, None] = {}
        for schedule in self.schedules:
            for _, step in schedule.steps():
                if isinstance(step, KernelCall):
                    found[step.kernel] = None
                elif isinstance(step, Pack):
                    found[_binding().pack_kernel(schedule, step, current_target())] = None
        return tuple(found)

    def llvm_ir(self) -> str:
        """The generated LLVM IR of all its kernels."""
        return "\n".join(llvm_ir(kernel, current_target()) for kernel in self.kernels())

    def asm(self) -> str:
        """The machine code of all its kernels, as assembly text."""
        return "\n".join(assembly(kernel, current_target()) for kernel in self.kernels())

    def __repr__(self) -> str:
        shapes = ", ".join("x".join(map(str, shape)) or "()" for shape, *_ in self._layouts)
        dtype = self._call.program.dtype
        return f"<Plan {self.spec} of {shapes} in {dtype}, {self.flops:,} flops>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Plan, (self.spec, self._layouts, self._options, self.threads)


@cache
def _native() -> Vectorcalled | None:
    """Plans that are called without a frame of Python, where there can be such."""
    # Imported with the first plan, as all of the back end.
    with importing:
        from tensorop import known

    native: Vectorcalled | None = whole(known).plans_of("tensorop.plan.NativePlan", Plan)
    if native is not None:
        native.kind.__signature__ = property(_signature)  # type: ignore[attr-defined]
        native.kind.__doc__ = Plan.__doc__
    return native


def _signature(plan: Plan) -> Any:
    with importing:
        import inspect  # costs as much as this package, and is asked by those who have it

    return inspect.signature(plan._python)


def _calls_of_a_plan(function: Any) -> Any:
    """Let errors in a call's arguments name what was called."""
    function.__qualname__ = "Plan.__call__"
    return function


def _other_labels(op: TensorOp, planned: TensorOp) -> list[str]:
    """What the labels mean, where an operation that differs in nothing else was planned before."""
    if op != planned:
        return []
    pairs = zip(op.dimensions, planned.dimensions, strict=True)
    other = [f"{theirs.name} is {own.name}" for own, theirs in pairs if theirs.name != own.name]
    return [f"  as planned before for other labels: {', '.join(other)}"] if other else []


class _PythonCall:
    """What a plan does by Python: all calls, or those that generated code does not know yet. It
    does not know its plan, which would then be its own owner's."""

    __slots__ = ("_call", "_layouts", "_options", "_pair", "_spec", "_threads", "key")

    def __init__(
        self,
        spec: str,
        layouts: tuple[Layout, ...],
        options: Options,
        threads: int | None,
        call: Call,
    ) -> None:
        self._spec, self._layouts, self._options, self._threads = spec, layouts, options, threads
        self._call = call
        self.key = object()  # by which the short way knows its calls
        # Two arrays as most are: their flag and these say the same as their layouts, in less time.
        self._pair = None
        if len(layouts) == 2 and layouts == tuple([contiguous(s, d) for s, _, d, _ in layouts]):
            self._pair = (*layouts[0][::2], *layouts[1][::2])

    @_calls_of_a_plan
    def __call__(
        self, *operands: Any, out: Array | None = None, alpha: Any = 1, beta: Any = 0
    ) -> Any:
        plain = alpha is _ONE and beta is _ZERO
        if plain and out is None and len(operands) == 2:
            a, b = operands
            if (
                type(a) is type(b) is np.ndarray
                and a.flags.carray
                and b.flags.carray
                and (a.shape, a.dtype, b.shape, b.dtype) == self._pair
            ):
                result = self._call.pair(a, b)
                self._call.learn(self.key, operands, None)
                return result
        check_plain("a plan", *operands)
        arrays = tuple(map(np.asarray, operands))
        layouts = tuple(map(layout_of, arrays))
        if layouts != self._layouts:
            self._check(layouts)
        elif plain and out is None:
            result = self._call.new(arrays)
            self._call.learn(self.key, arrays, None)
            return result
        scaled = not (type(alpha) is int and alpha == 1)
        options = self._options._replace(scaled=scaled)
        return contract(self._spec, arrays, out, options, alpha, beta, self._threads, self.key)

    def _check(self, layouts: Sequence[Layout]) -> None:
        if len(layouts) != len(self._layouts):
            raise EinsumError(
                f"planned for {len(self._layouts)} operands, called with {len(layouts)}", self._spec
            )
        for i, (given, planned) in enumerate(zip(layouts, self._layouts, strict=True)):
            if given[0] != planned[0]:
                raise EinsumError(
                    f"operand {i} has shape {given[0]}, planned for {planned[0]}", self._spec
                )
            if given[2] != planned[2]:
                raise TypeError(f"operand {i} has dtype {given[2]}, planned for {planned[2]}")


def cache_clear() -> None:
    """Forget all plans and what they were made of, and return kept memory to the system. Plans and
    results that exist stay valid."""
    einsum_cache_clear()
    release()


def compile(
    spec: str,
    *operands: Any,
    dtypes: Any = "float64",
    strides: Sequence[Sequence[int] | None] | None = None,
    dtype: Any = None,
    casting: Any = "safe",
    order: str = "K",
    optimize: Any = "auto",
    conj: Sequence[int] = (),
    threads: int | None = None,
    tune: bool | None = None,
    three_m: bool | None = None,
) -> Plan:
    """Plan a contraction once, to call it often.

    Parameters
    ----------
    spec : str
        As in `einsum`.
    *operands : tuple of int, or array_like
        Shapes, or arrays whose shapes, strides and dtypes are planned for.
    dtypes : dtype or sequence of dtypes
        For operands given as shapes: one for all, or one each.
    strides : sequence, optional
        For operands given as shapes: strides in bytes, one tuple an operand; None: C order.
    dtype, casting, order, optimize, conj, threads, tune, three_m
        As in `einsum`.

    Returns
    -------
    Plan

    Raises
    ------
    EinsumError, ValueError, TypeError
        As `einsum`; and the number of dtypes or strides is not that of the operands.

    Examples
    --------
    >>> plan = compile("ij,jk->ik", (64, 32), (32, 16), dtypes="float32")
    >>> plan.flops
    65536
    >>> plan(np.ones((64, 32), "f4"), np.ones((32, 16), "f4")).shape
    (64, 16)
    """
    if not isinstance(spec, str):
        raise TypeError(f"the spec is a str, not {type(spec).__name__}")
    if threads is not None:
        threads = checked(threads)
    count = len(operands)
    kinds, steps = _each("dtypes", dtypes, count), _each("strides", strides, count)
    given = zip(operands, kinds, steps, strict=True)
    layouts = tuple(_layout(operand, dtype_of(kind), step) for operand, kind, step in given)
    kind = None if dtype is None else dtype_of(dtype)
    options = Options(
        kind, casting, order, freeze(optimize), positions(conj), tune=tune, three_m=three_m
    )
    check_options(options)
    return Plan(spec, layouts, options, threads)


def _each(name: str, given: Any, count: int) -> Sequence[Any]:
    """What holds for each of the operands: one entry for all, or one each."""
    if not isinstance(given, (list, tuple)):
        return [given] * count
    if len(given) != count:
        raise ValueError(f"{len(given)} {name} for {count} operands")
    return given


def _layout(operand: Any, dtype: np.dtype[Any], strides: Sequence[int] | None) -> Layout:
    """The layout of an array, or of an array of a given shape."""
    is_shape = isinstance(operand, tuple) and all(isinstance(n, (int, np.integer)) for n in operand)
    if isinstance(operand, (tuple, int, float)) and not is_shape:
        raise TypeError(f"a shape is a tuple of ints, not {operand!r}")
    if isinstance(operand, list):
        raise TypeError(
            "a list is no shape, which is a tuple; for its elements pass an array of it"
        )
    if not is_shape:
        check_plain("compile", operand)
        return layout_of(np.asarray(operand))
    shape = tuple(int(n) for n in operand)
    if any(n < 0 for n in shape) or prod(shape) * dtype.itemsize > sys.maxsize:
        raise ValueError(f"no array has the shape {shape}")
    if strides is None:
        steps, step = [], dtype.itemsize
        for n in reversed(shape):
            steps.append(step)
            step *= max(n, 1)
        strides = steps[::-1]
    return shape, _steps_of(shape, strides, dtype), dtype, True


def _steps_of(shape: Shape, strides: Any, dtype: np.dtype[Any]) -> tuple[int, ...]:
    """Strides in bytes that an array of the shape may have."""
    if not isinstance(strides, Iterable):
        raise TypeError(f"strides: a tuple for each operand, in bytes, is needed, got {strides!r}")
    if not all(isinstance(s, (int, np.integer)) for s in strides):
        raise TypeError(f"strides are ints, in bytes, not {tuple(strides)!r}")
    steps = tuple(int(s) for s in strides)
    if len(steps) != len(shape):
        raise ValueError(f"{len(steps)} strides for the shape {shape}")
    reached = sum(abs(s) * max(n - 1, 0) for s, n in zip(steps, shape, strict=True))
    if max([reached + dtype.itemsize, *map(abs, steps)]) > sys.maxsize:
        raise ValueError(f"no array has the strides {steps}, in bytes, and the shape {shape}")
    return steps
