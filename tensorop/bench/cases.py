"""What is measured: contractions with their sizes, read from the tables beside this file.

A `Case` is an einsum; an `Operation` is the explicit form with its dimensions, execution types and
strides. Both say how much work they are (`flops`, `moved`), which is what rates are made of. The
tables state where their rows come from.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import pairwise, product

import numpy as np

# Below so many operations an element moved, memory is the roof on any machine.
MEMORY_BOUND = 8


@dataclass(frozen=True, slots=True)
class Case:
    """An einsum to be measured. `spec` has an explicit output; `sizes` has every label once.

    layouts: for each operand that is a view its strides in elements, None for the others; empty
    where none is a view.
    """

    name: str
    spec: str
    sizes: tuple[tuple[str, int], ...]
    dtype: str
    group: str = ""
    layouts: tuple[tuple[int, ...] | None, ...] = ()

    @property
    def terms(self) -> tuple[str, ...]:
        """The labels of each operand, then of the output."""
        inputs, output = self.spec.split("->")
        return (*inputs.split(","), output)

    def shape(self, term: str) -> tuple[int, ...]:
        sizes = dict(self.sizes)
        return tuple(sizes[label] for label in term)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape of each operand, then of the output."""
        return tuple(self.shape(term) for term in self.terms)

    @property
    def points(self) -> int:
        """Iterations of the loop nest over all labels."""
        return math.prod(size for _, size in self.sizes)

    @property
    def flops(self) -> int:
        """Multiplies and adds (a complex pair counts as eight); of one operand, additions only."""
        if self.returns_view:
            return 0
        operations = self.points * (2 if len(self.terms) > 2 else 1)
        return operations * (4 if self.dtype.startswith("complex") else 1)

    @property
    def elements(self) -> int:
        """Elements read and written once each; of a diagonal, only those that lie on it."""
        sizes = dict(self.sizes)
        return sum(math.prod(sizes[label] for label in set(term)) for term in self.terms)

    @property
    def moved(self) -> int:
        """Bytes read and written once each."""
        return self.elements * np.dtype(self.dtype).itemsize

    @property
    def memory_bound(self) -> bool:
        """Whether the rate is one of bytes rather than of operations."""
        return self.flops < MEMORY_BOUND * self.elements

    @property
    def work(self) -> int:
        """What the rate counts: operations, or bytes where memory is the bound."""
        return self.moved if self.memory_bound else self.flops

    @property
    def unit(self) -> str:
        """The unit of the rate, in billions a second."""
        if self.memory_bound:
            return "GB/s"
        return "GFLOP/s" if np.dtype(self.dtype).kind in "fc" else "GOP/s"

    @property
    def extents(self) -> str:
        """The sizes as text."""
        return " ".join(f"{label}={size}" for label, size in self.sizes)

    @property
    def uses_blas(self) -> bool:
        """Whether numpy has a BLAS for it: two operands of a floating type."""
        return len(self.terms) > 2 and np.dtype(self.dtype).kind in "fc"

    @property
    def returns_view(self) -> bool:
        """A permutation or a diagonal: einsum returns a view, so only `out=` does any work."""
        return len(self.terms) == 2 and set(self.terms[0]) == set(self.terms[1])


@dataclass(frozen=True, slots=True)
class Operation:
    """A `tensorop.TensorOperation` to be measured, with its arguments as they are."""

    name: str
    dtype: str
    dim_types: tuple[str, ...]
    exec_types: tuple[str, ...] | None
    sizes: tuple[int, ...]
    strides_in0: tuple[int, ...]
    strides_in1: tuple[int, ...]
    strides_out: tuple[int, ...]
    first_touch: str
    main: str
    last_touch: str
    optimize: bool

    @property
    def flops(self) -> int:
        """Multiplies and adds."""
        return 2 * math.prod(self.sizes)

    @property
    def moved(self) -> int:
        """Bytes read and written once each."""
        shapes = [self.view(tensor)[1] for tensor in range(3)]
        return sum(math.prod(shape) for shape in shapes) * np.dtype(self.dtype).itemsize

    @property
    def work(self) -> int:
        """What the rate counts."""
        return self.flops

    @property
    def unit(self) -> str:
        return "GFLOP/s"

    @property
    def memory_bound(self) -> bool:
        return False

    @property
    def extents(self) -> str:
        return ",".join(map(str, self.sizes))

    def shared(self) -> Operation:
        """The same with the first M dimension divided among threads."""
        execs = list(self.exec_types or ())
        execs[self.dim_types.index("M")] = "shared"
        return replace(self, exec_types=tuple(execs))

    def view(self, tensor: int) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
        """Labels, shape and element strides of in0, in1 or out, dimension by dimension."""
        absent = "NMK"[tensor]
        strides = (self.strides_in0, self.strides_in1, self.strides_out)[tensor]
        kept = [i for i, kind in enumerate(self.dim_types) if kind != absent]
        labels = "".join("abcdefghijklmnop"[i] for i in kept)
        return labels, tuple(self.sizes[i] for i in kept), tuple(strides[i] for i in kept)

    @property
    def spec(self) -> str:
        """The einsum of the main step over the three views."""
        in0, in1, out = (self.view(tensor)[0] for tensor in range(3))
        return f"{in0},{in1}->{out}"


def scaled(sizes: Sequence[int], flops: float, multiple: int = 4) -> tuple[int, ...]:
    """Sizes of the same proportions that keep 2 x their product within `flops`.

    Every size times one common factor f <= 1, rounded down to a multiple of `multiple` but not
    under it, with the largest such f; sizes that are already within `flops` stay as they are.

    >>> scaled((384, 384, 24, 384), 1e9)
    (312, 312, 16, 312)
    """

    def at(factor: float) -> tuple[int, ...]:
        return tuple(max(multiple, int(s * factor + 1e-9) // multiple * multiple) for s in sizes)

    if 2 * math.prod(sizes) <= flops:
        return tuple(sizes)
    # The rounded sizes change only where f x size is a multiple: try those factors, largest first.
    steps = {k / size for size in sizes for k in range(multiple, size + 1, multiple)}
    for factor in sorted(steps, reverse=True):
        if 2 * math.prod(at(factor)) <= flops:
            return at(factor)
    return (multiple,) * len(sizes)


def scaled_case(case: Case, gflop: float) -> Case:
    """The case with its sizes scaled to so many GFLOP."""
    labels = [label for label, _ in case.sizes]
    sizes = scaled([size for _, size in case.sizes], gflop * 1e9)
    return replace(case, sizes=tuple(zip(labels, sizes, strict=True)))


def rows(table: str) -> Iterator[list[str]]:
    """The fields of each row of a table, without its comments."""
    text = (files("tensorop.bench") / f"{table}.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line and not line.startswith("#"):
            yield line.split("|")


def _sizes(text: str) -> tuple[tuple[str, int], ...]:
    return tuple((label, int(size)) for label, size in (pair.split("=") for pair in text.split()))


def quick_cases(dtype: str = "float32") -> list[Case]:
    """The suite `quick`; `dtype` stands where a row leaves its type open."""
    cases = []
    for name, spec, sizes, kind, gflop in rows("quick"):
        case = Case(name, spec, _sizes(sizes), dtype if kind == "float" else kind)
        cases.append(scaled_case(case, float(gflop)) if float(gflop) else case)
    return cases


def program_cases(dtype: str = "float32") -> list[Case]:
    """Contractions of one operand or two that real programs consist of, at everyday sizes."""
    return [Case(name, spec, _sizes(sizes), dtype) for name, spec, sizes in rows("programs")]


def tccg_cases(dtype: str = "float32", gflop: float = 2.0) -> list[Case]:
    """The 48 contractions of the TCCG benchmark for C-ordered arrays, scaled to `gflop`.

    The table has sizes of their own for float32 and float64; other dtypes take float32's.
    """
    wanted = "f64" if dtype == "float64" else "f32"
    return [
        scaled_case(Case(original, spec, _sizes(sizes), dtype, group), gflop)
        for kind, group, _set, original, _column, spec, sizes, _gflop in rows("tccg")
        if kind == wanted
    ]


def gemm_cases(dtype: str = "float32") -> list[Case]:
    """Square products of two orders, each operand as it lies or transposed."""
    terms = {"plain": "ik,kj", "A transposed": "ki,kj", "B transposed": "ik,jk", "both": "ki,jk"}
    return [
        Case(f"{n}^3, {name}", f"{inputs}->ij", tuple((label, n) for label in "ijk"), dtype)
        for n in (1024, 2048)
        for name, inputs in terms.items()
    ]


def batch_cases(dtype: str = "float32", gflop: float = 5.0) -> list[Case]:
    """Contractions with a batch label in every place, others in layouts that were chosen for them,
    and fully connected layers in blocks; scaled to `gflop`."""
    listed = [
        Case(f"{group} {number} {spec}", spec, _sizes(sizes), dtype, group)
        for number, (group, spec, sizes) in enumerate(rows("batch"))
    ]
    return [scaled_case(case, gflop) for case in listed + _layers(dtype)]


def _layers(dtype: str) -> list[Case]:
    """Layers of 2048 x 2048 with 2048 inputs, all in blocks (samples/tensor_layers/fc.cfg)."""
    cases = []
    for m, n, k in product(range(4, 9), range(4, 9), range(4, 11)):
        blocks = {"m": 1 << m, "n": 1 << n, "k": 1 << k}
        sizes = [(label, 2048 // size) for label, size in blocks.items()]
        sizes += [(label.upper(), size) for label, size in blocks.items()]
        name = "layer " + " ".join(f"{label}{size}" for label, size in blocks.items())
        cases.append(Case(name, "mkKM,nkNK->nmNM", tuple(sizes), dtype, "layer"))
    return cases


MATRICES = (2, 3, 4, 8, 16, 24, 32, 48, 64)
BATCHED = {"first": "bij,bjk->bik", "middle": "ibj,jbk->ibk", "last": "ijb,jkb->ikb"}
BATCHED_BYTES = {"256 KB": 1 << 18, "32 MB": 1 << 25}  # all three tensors together


def matrix_cases(dtype: str = "float32") -> list[Case]:
    """Batches of products of small square matrices, the batch label in each place; data that lie
    close to a core, and data that fill the last cache of most machines."""
    cases = []
    for (text, room), n, (place, spec) in product(BATCHED_BYTES.items(), MATRICES, BATCHED.items()):
        count = room // (3 * n * n * np.dtype(dtype).itemsize)
        sizes = {"b": count} | dict.fromkeys("ijk", n)
        cases.append(Case(f"{n}^3, batch {place}, {text}", spec, tuple(sizes.items()), dtype, text))
    return cases


PERMUTED_BYTES = 1 << 26
PERMUTATIONS = 30  # at random, of which
MOVED = 20  # have another last axis for certain


def permute_cases(dtype: str = "float32") -> list[Case]:
    """Permutations over 64 MiB: two known ones and random ones, always the same. Axes that would
    stay together are one, so that the rank says how hard it is."""
    elements = PERMUTED_BYTES // np.dtype(dtype).itemsize
    side = round(elements ** (1 / 4))
    known = [Case(f"{a} -> {b}", f"{a}->{b}", tuple((label, side) for label in a), dtype)
             for a, b in (("trus", "turs"), ("abcd", "dcba"))]  # fmt: skip
    rng = np.random.default_rng(0)
    cases: list[Case] = []
    while len(cases) < PERMUTATIONS:
        rank = int(rng.integers(2, 7))
        axes = rng.permutation(rank).tolist()
        if any(b == a + 1 for a, b in pairwise(axes)):
            continue
        if len(cases) < MOVED and axes[-1] == rank - 1:
            continue
        parts = rng.dirichlet(np.full(rank, 4.0))
        sizes = [max(2, round(elements**part)) for part in parts.tolist()]
        source = "abcdef"[:rank]
        target = "".join(source[axis] for axis in axes)
        extents = tuple(zip(source, sizes, strict=True))
        cases.append(Case(f"random {len(cases)}", f"{source}->{target}", extents, dtype))
    return known + cases


def seed_operations(dtype: str = "float32") -> list[Operation]:
    """The suite `seed`: each configuration as written and optimised, as its row asks."""

    def numbers(text: str) -> tuple[int, ...]:
        return tuple(int(number) for number in text.split(","))

    return [
        Operation(
            f"{name}, as written" if run == "written" else f"{name}, optimised",
            dtype,
            tuple(types.split(",")),
            None if execs == "-" else tuple(execs.split(",")),
            numbers(sizes),
            numbers(in0),
            numbers(in1),
            numbers(out),
            first,
            main,
            last,
            run == "optimised",
        )
        for name, types, execs, sizes, in0, in1, out, first, main, last, runs in rows("seed")
        for run in runs.split(",")
    ]
