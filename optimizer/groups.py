"""Products of groups: a few steps of K an instruction, where the machine has one.

The panels of such a kernel hold groups of consecutive steps of K: pairs of bfloat16, quads of bytes
that are summed in int32. They are made as fast as those of single elements where an input is
consecutive along the lanes of its panels, or along K and groups are no parts of two dimensions;
other layouts are moved an element at a time.

bfloat16 goes through float32 instead where that is so, and where tables do not hold the whole of a
sum. Bytes are then cast to int32 by whoever asks for the product (`multiplies_bytes`): an operation
whose inputs are bytes, and its out is not, is always one of groups, or a matrix times a vector,
whose bytes a stream kernel widens as it loads them.
"""

from __future__ import annotations

from tensorop.ir import DimType, TensorOp
from tensorop.jit.gemm_abi import BYTES, multiplies, multiplies_matrices
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.window import LONGEST
from tensorop.schedule import Axis

LEAST_OF_VECTOR = 1 << 12  # elements of a matrix of bytes that is not cast for a vector
LEAST_OF_BATCH = 16**3  # products of bytes below which other kernels go through a batch faster


def inputs_in_groups(
    op: TensorOp, machine: Machine, lanes: tuple[Axis, Axis], k: Axis, *, matrices: bool = False
) -> tuple[str, ...]:
    """The dtypes of the inputs of a matrix product from panels, if it is one of groups; else none.

    Parameters
    ----------
    op : TensorOp
    machine : Machine
    lanes : (M, N)
        The axes along the lanes of either side's panels.
    k : Axis
        What tables hold of K.
    matrices : bool
        By registers that hold matrices: panels of in1 have lines along K then, which any layout is
        copied into.
    """
    inputs = (op.tensors[0].dtype, op.tensors[1].dtype)
    can = multiplies_matrices if matrices else multiplies
    if not can(machine.target, inputs, op.dtype):
        return ()
    if narrows(op):
        return inputs
    if k.size < op.size_of(DimType.K):
        return ()
    sides = lanes[:1] if matrices else lanes
    lie = all(_unit(axis, t) or lie_in_groups(k, t, 2) for t, axis in enumerate(sides))
    return inputs if lie else ()


def narrows(op: TensorOp) -> bool:
    """Whether inputs of a product are narrower than the numbers it is summed in."""
    return len(op.tensors) == 3 and op.tensors[0].dtype in BYTES and op.dtype not in BYTES


def multiplies_bytes(op: TensorOp, machine: Machine) -> bool:
    """Whether a product of bytes into int32 had better be one of quads than of inputs that are cast
    to int32 before, or a stream: any one that uses inputs twice and whose sums tables hold, but for
    batches of small ones, and those whose elements lie side by side along the batch, which panels
    are not made along; and a large matrix times a vector.

    Parameters
    ----------
    op : TensorOp
        As it was given: a dimension a label.
    """
    m, n, k = (op.size_of(t) for t in (DimType.M, DimType.N, DimType.K))
    inputs, target = [t.dtype for t in op.tensors[:2]], machine.target
    if not any(can(target, inputs, op.dtype) for can in (multiplies, multiplies_matrices)):
        return False
    batch = [d for d in op.of_type(DimType.C) if d.size > 1]
    if min(m, n) == 1 < k:
        return inputs[0] == inputs[1] and not batch and m * n * k >= LEAST_OF_VECTOR
    if k == 1 or k > LONGEST:
        return False
    return not batch or (m * n * k >= LEAST_OF_BATCH and not any(1 in d.strides for d in batch))


def lie_in_groups(k: Axis, tensor: int, together: int) -> bool:
    """Whether every so many steps of K are neighbours in a tensor, the last ones, too."""
    if not _unit(k, tensor):
        return False
    size = k.dimensions[-1].size
    return size % together == 0 or (size == k.size and size > together)


def _unit(axis: Axis, tensor: int) -> bool:
    """Whether the fastest dimension steps from neighbour to neighbour."""
    return bool(axis.dimensions) and axis.dimensions[-1].strides[tensor] == 1
