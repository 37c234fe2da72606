"""Dimension fusion: two dimensions that step through memory as one become one.

In goes a `TensorOp`, out comes one with fewer, longer dimensions. X and Y of one type fuse if
stride(X) = |Y| * stride(Y) in every tensor: X starts again where Y ends. A long dimension fills
the register tile and the vector of a kernel where two short ones leave remainders, and each loop
less is loop overhead less. With a minimum kernel size only dimensions smaller than it look for a
partner: the others can already feed a kernel, and stay apart for the loops and the threads."""

from __future__ import annotations

from collections.abc import Sequence

from tensorop.ir import Dimension, TensorOp
from tensorop.optimizer.result import PassResult, describe


def fuse(op: TensorOp, min_kernel: int | None = None) -> PassResult:
    """Fuse dimensions.

    Parameters
    ----------
    op : TensorOp
    min_kernel : int, optional
        Only dimensions smaller than this look for a partner (of any size), the smallest first.
        None: everything that can fuse does.

    Returns
    -------
    PassResult
        The operation with fused dimensions, each where its inner part was. Only dimensions of one
        type and one execution type fuse.
    """
    dimensions, merged = fused(op.dimensions, min_kernel)
    notes = [f"{describe(a)} and {describe(b)} into {describe(both)}" for a, b, both in merged]
    why = "" if min_kernel is None else f" (of those below {min_kernel})"
    note = f"fused {'; '.join(notes)}{why}" if notes else f"nothing to fuse{why}"
    return PassResult(op.with_dimensions(dimensions), note)


def fused(
    dimensions: Sequence[Dimension], min_kernel: int | None = None
) -> tuple[tuple[Dimension, ...], list[tuple[Dimension, Dimension, Dimension]]]:
    """The dimensions after fusion, and what was merged: (outer, inner, both as one)."""
    left, merged = list(dimensions), []
    if len({d.type for d in left}) == len(left):  # only dimensions of one type fuse
        return tuple(left), []
    begins = [(d.strides, d.type, d.exec) for d in left]
    ends = [(tuple([d.size * step for step in d.strides]), d.type, d.exec) for d in left]
    if min_kernel is None and len(set(begins)) == len(set(ends)) == len(left):
        return _chained(left, begins, ends)
    while (pair := _find(left, begins, ends, min_kernel)) is not None:
        i, j = pair
        outer, inner = left[i], left[j]
        left[j] = _both(outer, inner)
        ends[j] = ends[i]
        merged.append((outer, inner, left[j]))
        del left[i], begins[i], ends[i]
    return tuple(left), merged


def _both(outer: Dimension, inner: Dimension) -> Dimension:
    size, name = outer.size * inner.size, outer.name + inner.name
    return Dimension(inner.type, size, inner.strides, inner.exec, name)


def _chained(
    dimensions: list[Dimension], begins: Sequence[object], ends: Sequence[object]
) -> tuple[tuple[Dimension, ...], list[tuple[Dimension, Dimension, Dimension]]]:
    """What `fused` gives where no two dimensions begin alike, or end alike: everything that can
    fuse does, along chains, each from its outermost dimension."""
    ending = {end: i for i, end in enumerate(ends)}
    inside = {i: j for i, begin in enumerate(begins) if (j := ending.get(begin, i)) != i}
    merged, left = [], list(dimensions)
    for i in sorted(inside.keys() - inside.values()):
        outer = dimensions[i]
        while i in inside:
            i = inside[i]
            inner = dimensions[i]
            left[i] = _both(outer, inner)
            merged.append((outer, inner, left[i]))
            outer = left[i]
    return tuple([d for i, d in enumerate(left) if i not in inside]), merged


def _find(
    dimensions: list[Dimension],
    begins: Sequence[tuple[object, ...]],
    ends: Sequence[tuple[object, ...]],
    min_kernel: int | None,
) -> tuple[int, int] | None:
    """Positions of the next (outer, inner) to fuse: the smallest seeker with its smallest partner.
    What the outer one begins with is what the inner one ends with."""
    all_begins, all_ends = set(begins), set(ends)
    if all_begins.isdisjoint(all_ends):
        return None
    by_size = sorted(range(len(dimensions)), key=lambda i: dimensions[i].size)
    for seeker in by_size:
        if min_kernel is not None and dimensions[seeker].size >= min_kernel:
            break
        begin, end = begins[seeker], ends[seeker]
        if end not in all_begins and begin not in all_ends:
            continue
        for other in by_size:
            if other == seeker:
                continue
            if begins[other] == end:
                return other, seeker
            if ends[other] == begin:
                return seeker, other
    return None
