"""Which tensors of a matrix product are asked for while it multiplies (`jit/gemm_ahead.py`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tensorop.ir import Dimension, TensorOp
from tensorop.jit.elements import element
from tensorop.jit.lines import LINE
from tensorop.optimizer.direct import DENSE
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.transfer import L3, MEMORY, PAGE, all_bytes, level_of

OFTEN = 640  # products of an element that take 16 times as long as reading it from memory, about


def is_far(op: TensorOp, tensor: int, machine: Machine) -> bool:
    """Whether a tensor comes from beyond L2."""
    return op.reached(tensor) * element(op.tensors[tensor].dtype).size > machine.l2


def is_slow(op: TensorOp, tensor: int, partners: int, machine: Machine) -> bool:
    """Whether a tensor comes from beyond L2, and takes part in so few products, `partners` for each
    element, that the time to read it shows."""
    return is_far(op, tensor, machine) and partners <= OFTEN


def asked_as_it_lies(op: TensorOp, kernel: Sequence[Dimension], machine: Machine) -> int:
    """Of how many tensors the part that the next call of a kernel takes, where it lies, is asked
    for: of in1 only with in0, and of out, whose lines are read before they are written, only with
    both. Such parts move, are rows of whole lines or have few gaps, and L2 holds two beside what
    else there is; those of at most a page the hardware follows from one to the next, and where an
    L3 that is near holds all, larger ones, too.

    Parameters
    ----------
    kernel : sequence of Dimension
        M, N and K of it.
    """
    asked, held = 0, all_bytes(op)
    if level_of(held, machine) < (MEMORY if machine.near_l3 else L3):
        return 0
    for tensor, (sides, partners) in enumerate(_parts(kernel)):
        count = sides[0].size * sides[1].size
        fits = PAGE < count * element(op.dtype).size <= machine.l2 // 4
        forward = all(d.strides[tensor] >= 0 for d in sides)  # lines are counted from the first
        dense = _near(sides, tensor) or _row(op, sides, tensor) >= LINE
        moves = forward and dense and op.reached(tensor) > count
        follows = tensor < 2 or asked == tensor
        if follows and fits and moves and is_slow(op, tensor, partners.size, machine):
            asked = tensor + 1
    return asked


def read_ahead(op: TensorOp, kernel: Sequence[Dimension], machine: Machine) -> range:
    """The tensors that are asked for in few rows, so that memory keeps up with them: what it takes
    to begin many is another matter."""
    asked = asked_as_it_lies(op, kernel, machine)
    far = [t for t, (sides, _) in enumerate(_parts(kernel)) if not _near(sides, t)]
    return range(min([asked, *far]))


def together(op: TensorOp, kernel: Sequence[Dimension], asked: int, machine: Machine) -> int:
    """How many parts that lie beside one another are asked for at once, so that their rows are no
    longer than a page, which is as far as the hardware reads ahead by itself, and L2 holds them."""
    parts = [(t, sides) for t, (sides, _) in enumerate(_parts(kernel))][:asked]
    rows = [_row(op, sides, t) for t, sides in parts if not _near(sides, t)]
    held = sum([sides[0].size * sides[1].size for _, sides in parts]) * element(op.dtype).size
    return max(1, min([PAGE // row for row in rows if row] + [machine.l2 // held])) if rows else 1


def _near(sides: Sequence[Dimension], tensor: int) -> bool:
    """Whether a part of a tensor has few gaps."""
    one, other = sides
    reach = max(abs(one.strides[tensor]) * one.size, abs(other.strides[tensor]) * other.size)
    return reach <= DENSE * one.size * other.size


def _parts(kernel: Sequence[Dimension]) -> Iterator[tuple[tuple[Dimension, Dimension], Dimension]]:
    """Of each tensor the sides of its part, and the dimension of the others along which every
    element takes part in so many products."""
    m, n, k = kernel
    yield from (((m, k), n), ((n, k), m), ((m, n), k))


def _row(op: TensorOp, sides: Sequence[Dimension], tensor: int) -> int:
    """Bytes of a row of a part, 0 if its elements are apart."""
    rows = [d.size for d in sides if d.strides[tensor] == 1]
    return max(rows, default=0) * element(op.dtype).size
