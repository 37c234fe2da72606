"""Products of records that lie end to end: the kernels between guard pages against numpy, what
fits them, and whole schedules."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tensorop
from tensorop.ir import Dimension, DimType, ExecType, Primitive, Tensor, TensorOp
from tensorop.jit.abi import CallRecord, Frame
from tensorop.jit.library import kernel_address
from tensorop.jit.planar_abi import PlanarKernel, RecordDim
from tensorop.jit.slots import AxisSlot, Slot
from tensorop.jit.target import Target
from tensorop.optimizer.machine import Machine, host_machine
from tensorop.optimizer.planar import MANY, SHORT, planar_of, planar_products
from tensorop.schedule import Call, Loop
from tests.stream_calls import TARGETS
from tests.test_blocked import does_the_same
from tests.test_gemm_kernel import CALL, guarded_bytes
from tests.test_tiny import UPDATES, product

Array = np.ndarray[Any, Any]
# Two terms and a result, outermost first, of dimensions with these sizes.
RECORDS = [
    ("ab,b->a", {"a": 3, "b": 3}),
    ("ab,bc->ac", {"a": 3, "b": 3, "c": 3}),
    ("ba,bc->ca", {"a": 2, "b": 5, "c": 3}),
    ("a,b->ab", {"a": 3, "b": 4}),
    ("a,a->", {"a": 7}),
    ("ab,ba->", {"a": 3, "b": 3}),
    (",a->a", {"a": 9}),
    ("abc,ca->b", {"a": 2, "b": 3, "c": 2}),
    ("cab,cb->ac", {"a": 2, "b": 3, "c": 2}),
    ("ab,b->ab", {"a": 3, "b": 3}),
    ("ab,b->a", {"a": 6, "b": 6}),
    ("b,ba->a", {"b": 7, "a": 5}),
    ("abc,bc->a", {"a": 4, "b": 3, "c": 3}),
    ("ab,ab->", {"a": 10, "b": 10}),
    ("a,b->ba", {"a": 6, "b": 5}),
    ("ab->a", {"a": 3, "b": 3}),
    ("ab->b", {"a": 6, "b": 6}),
    ("aa->", {"a": 3}),
    ("aab->b", {"a": 3, "b": 2}),
]


def terms_of(spec: str) -> list[str]:
    return spec.replace("->", ",").split(",")


def kernel_of(
    spec: str, sizes: dict[str, int], dtype: str, past: bool, gap: int = 0
) -> PlanarKernel:
    """gap: elements behind each record of in0."""
    terms = terms_of(spec)

    def step(label: str, term: str) -> int:
        """Of a label that a term has twice, along the diagonal."""
        places = [i for i, other in enumerate(term) if other == label]
        return sum(int(np.prod([sizes[x] for x in term[i + 1 :]])) for i in places)

    records = [int(np.prod([sizes[x] for x in term])) for term in terms]
    records[0] += gap
    dims = (RecordDim(sizes[x], tuple([step(x, term) for term in terms])) for x in sizes)
    return PlanarKernel(dtype, tuple(records), tuple(dims), past)


def check(
    spec: str,
    sizes: dict[str, int],
    kernel: PlanarKernel,
    target: Target,
    x: int,
    update: tuple[bool, float | None, float | None],
    at_end: bool,
) -> None:
    """Small integers, whose sums are exact; out holds NaN where it is not read. Of a gap behind the
    last record there is nothing."""
    rng, kind = np.random.default_rng([x, *sizes.values()]), np.dtype(kernel.dtype)
    first, alpha, beta = update
    arrays = []
    terms = terms_of(spec)
    for key, (term, record) in enumerate(zip(terms, kernel.records, strict=True)):
        shape = [sizes[label] for label in term]
        elements = (x - 1) * record + int(np.prod(shape))  # without records, those of one
        memory = guarded_bytes(elements * kind.itemsize, key, at_end).view(kind)
        memory[...] = rng.integers(-3, 4, elements)
        steps = [int(np.prod(shape[i + 1 :])) * kind.itemsize for i in range(len(shape))]
        steps = [record * kind.itemsize, *steps]
        arrays.append(np.lib.stride_tricks.as_strided(memory, (x, *shape), steps))
        terms[key] = f"x{term}"
        if kind.kind == "c":
            memory.imag = rng.integers(-3, 4, elements)
    *inputs, out = arrays
    if first and beta is None and kind.kind in "fc":
        out[...] = np.nan
    read = [a.conj() if conj else a for a, conj in zip(inputs, kernel.conj, strict=False)]
    result = np.einsum(f"{','.join(terms[:-1])}->{terms[-1]}", *read)
    result = result * kind.type(1 if alpha is None else alpha)
    if not first:
        result = result + out
    elif beta is not None:
        result = result + kind.type(beta) * out
    slots = [*[Slot.IN0, Slot.IN1][: len(inputs)], Slot.OUT]
    words, frame = np.array(slots, np.int64), np.zeros(Frame.WORDS, np.int64)
    call = np.zeros(CallRecord.WORDS, np.int64)
    frame[slots] = [array.ctypes.data for array in arrays]
    frame[Frame.SIZE + AxisSlot.X] = x
    frame[Frame.FIRST], frame[Frame.CALL] = first, call.ctypes.data
    for word, scalar in ((CallRecord.ALPHA, alpha), (CallRecord.BETA, beta)):
        raw = np.array([0 if scalar is None else scalar], kind).view(np.uint8)
        call.view(np.uint8)[8 * word : 8 * word + raw.size] = raw
    call[CallRecord.SCALES], call[CallRecord.READS_OUT] = alpha is not None, beta is not None
    CALL(kernel_address(kernel, target))(words.ctypes.data, frame.ctypes.data)
    np.testing.assert_array_equal(out, result, err_msg=f"{kernel.name} {x} {update}")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "complex64"])
@pytest.mark.parametrize(("spec", "sizes"), RECORDS, ids=str)
def test_kernel(spec: str, sizes: dict[str, int], dtype: str, target: Target) -> None:
    """Fewer records than lanes, whole vectors, and some left over, which are computed again."""
    plain = kernel_of(spec, sizes, dtype, False)
    if plain.terms > 18 and not plain.fits(target):
        pytest.skip("nobody asks for so much code there")
    kernels = [plain]
    if dtype == "float64":
        kernels.append(kernel_of(spec, sizes, dtype, False, gap=2))
    elif target.shifts_lines(4) and plain.long(target) != plain.inputs.stop:
        kernels.append(plain._replace(past=True))
    if dtype == "float32" and len(plain.records) == 3:
        same = [tuple(0 if t == i else n for t, n in enumerate(plain.records)) for i in range(2)]
        kernels += [plain._replace(records=records) for records in same if sum(records[:2])]
    if dtype == "complex64":
        kernels.append(plain._replace(conj=(True, False)))
        kernels.append(plain._replace(conj=(False, True)))
    for kernel in kernels:
        for i, x in enumerate((1, 7, 16, 17, 32, 48, 61)):
            check(spec, sizes, kernel, target, x, UPDATES[0], i % 2 == 0)
            check(spec, sizes, kernel, target, x, UPDATES[0], i % 2 == 1)
        for update, x in itertools.product(UPDATES, (5, 37)):
            check(spec, sizes, kernel, target, x, update, True)


def machine_with_lines() -> Machine:
    machine = host_machine()
    if not machine.target.free_masks or machine.target.vector_bytes < 64:
        pytest.skip("vectors are no lines, or masks no registers")
    return machine


def test_what_fits() -> None:
    machine = machine_with_lines()

    def fits(*arguments: Any) -> bool:
        return planar_of(product(*arguments), machine) is not None

    assert fits((3, 1, 3), 100, ("xmk", "xkn", "xmn"))
    assert fits((3, 3, 3), 300, ("xmk", "xnk", "xnm"), "float32")
    assert not fits((3, 3, 3), 200, ("xmk", "xnk", "xnm"), "float32")  # for so much code
    assert fits((3, 3, 1), 100, ("xm", "xn", "xnm"), "int64")
    assert not fits((3, 3, 3), MANY - 1, ("xmk", "xnk", "xnm"))
    assert not fits((3, 3, 3), 100, ("kmx", "xnk", "xnm"))
    assert not fits((3, 3, 3), 100, ("xnm", "mxk", "xnk"))
    assert fits((6, 1, 6), 1000, ("xmk", "xkn", "xmn"), "float32")
    assert fits((3, 3, 3), 1000, ("xmk", "xnk", "xnm"), "complex64")
    assert not fits((5, 5, 4), 5000, ("xmk", "xnk", "xnm"))  # two records are too long
    assert not fits((13, 1, 12), 5000, ("xmk", "xkn", "xmn"))  # too many products
    assert not fits((3, 1, 3), 100, ("xmk", "xkn", "xmn"), "int16")


@pytest.mark.parametrize(
    ("dtype", "inputs", "far", "most"),
    [
        ("float64", 1, False, 11), ("float32", 1, False, 16), ("float32", 2, False, 11),
        ("float32", 1, True, 7), ("float64", 2, True, 7),
    ],
)  # fmt: skip
def test_sums_of_whole_rows(dtype: str, inputs: int, far: bool, most: int) -> None:
    """Records are not taken apart where vectors along them take less; complex ones still are."""
    machine = machine_with_lines()._replace(l3=1 << (10 if far else 30))
    names, main = ["in0", "in1"][:inputs], (Primitive.SUM, Primitive.GEMM)[inputs - 1]

    def fits(size: int, of: str) -> bool:
        tensors = tuple(Tensor(name, of) for name in (*names, "out"))
        x = Dimension(DimType.C, 9000, (*[size] * inputs, 1))
        k = Dimension(DimType.K, size, (*[1] * inputs, 0))
        return planar_of(TensorOp(tensors, (x, k), main), machine) is not None

    assert fits(most, dtype) and not fits(most + 1, dtype)
    assert fits(most + 1, "complex64")


@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128"])
def test_records_beside_one_vector_for_all(dtype: str) -> None:
    """Of so many elements, whether these are one number or two."""
    machine = machine_with_lines()

    def fits(size: int) -> bool:
        tensors = tuple(Tensor(name, dtype) for name in ("in0", "in1", "out"))
        m = Dimension(DimType.M, 9000, (size, 0, 1))
        k = Dimension(DimType.K, size, (1, 1, 0))
        return planar_of(TensorOp(tensors, (m, k), Primitive.GEMM), machine) is not None

    assert fits(SHORT) and not fits(SHORT + 1)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_schedules(dtype: str, threads: int) -> None:
    rng, past = np.random.default_rng(threads), 0
    for i in range(30):
        m, n, k = (int(rng.integers(2, 4)) for _ in range(3))
        orders = (("xkm", "xnk", "xnm"), ("xmk", "xkn", "xmn"), ("xkm", "xkn", "xnm"))[i % 3]
        op = product((m, n, k), int(rng.integers(900, 3000)), orders, dtype)
        machine = machine_with_lines()._replace(l3=1 << (4 if i % 2 else 30))
        planar = planar_of(op, machine)
        assert planar is not None
        schedule = planar_products(op, planar, machine, threads)
        past += planar.kernel.past
        steps = [step for _, step in schedule.steps()]
        assert [s.kernel for s in steps if isinstance(s, Call)] == [planar.kernel]
        shared = [s for s in steps if isinstance(s, Loop) and s.exec == ExecType.SHARED]
        assert bool(shared) == (threads > 1)
        assert op.of_type(DimType.C) == (planar.along,)
        buffers = [rng.integers(-3, 4, op.reached(tensor)).astype(dtype) for tensor in range(3)]
        does_the_same(op, schedule, buffers, threads)
    assert past


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex128"])
@pytest.mark.parametrize(
    "spec",
    ["nij,nj->ni", "nji,nj->ni", "ni,nj->nij", "ni,nj->nji", "ni,ni->n", "nij,nij->n",
     "nij,nji->n", "n,nij->nij", "nij,njk->nik", "nji,njk->nki", "nijk,nkj->ni",
     "mnij,mnj->mni", "mnij,nmj->mni", "nij,nj->nij", "nij->ni", "nij->nj", "nii->n", "nij->n",
     "nij,nj->nji", "nii,ni->n", "nij,j->ni", "ij,nj->ni", "nj,ji->ni", "ni,i->n", "nij,ij->n",
     "nij,jk->nik", "kj,nij->nki", "mni,ij->mnj", "nij,i->nij"],
)  # fmt: skip
def test_points(spec: str, dtype: str) -> None:
    """Also added to what is there, next to batches that are too few, and strided records."""
    rng = np.random.default_rng(0)
    for count, size in itertools.product((1, 63, 64, 65, 1000), (2, 3, 5)):
        sizes = dict.fromkeys("ijk", size) | {"n": count, "m": 2}
        a, *b = (
            rng.integers(-9, 9, [sizes[label] for label in term]).astype(dtype)
            for term in terms_of(spec)[:-1]
        )
        expected = np.einsum(spec, a, *b)
        np.testing.assert_array_equal(tensorop.einsum(spec, a, *b), expected)
        out = np.ones_like(expected)
        tensorop.einsum(spec, a, *b, out=out, alpha=2, beta=3)
        np.testing.assert_array_equal(out, 2 * expected + 3)
        wider = np.zeros((*a.shape[:-1], a.shape[-1] + 1), dtype)[..., :-1]
        wider[...] = a
        np.testing.assert_array_equal(tensorop.einsum(spec, wider, *b), expected)


def test_the_host_uses_them() -> None:
    machine_with_lines()
    for spec, *shapes in (
        ("nij,nj->ni", (5000, 3, 3), (5000, 3)),
        ("ni,nj->nij", (5000, 3), (5000, 3)),
        ("nij,njk->nik", (5000, 2, 2), (5000, 2, 2)),
        ("nij,nj->nij", (5000, 3, 3), (5000, 3)),
        ("nij->nj", (5000, 6, 6)),
        ("nii->n", (5000, 3, 3)),
        ("ij,nj->ni", (3, 3), (5000, 3)),
    ):
        plan = tensorop.compile(spec, *shapes, dtypes="float32")
        assert "regime: planar" in plan.explain()
