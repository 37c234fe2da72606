"""A tensor operation as a plain loop nest: what its execution types say, and nothing else.

SEQ and SHARED dimensions become loops in the order given, PRIM dimensions the axes of one kernel
call, with first and last touch around it. Kernels that need consecutive addresses along M get them
from the operands where these have them, else from panels packed right before the call. Both the
explicit `TensorOperation` and everything too small for cache blocks run this way. For a team that
its SHARED loops leave idle, an axis of the kernel becomes one too, in a part for each thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tensorop.ir import CONTRACTIONS, Dimension, DimType, ExecType, Primitive, TensorOp
from tensorop.jit.elements import Element, element
from tensorop.jit.gemm_abi import GemmKernel, Store, left_over, masks_stores
from tensorop.jit.lines import LONG_ROW
from tensorop.jit.stream import stream_kernel
from tensorop.jit.stream_abi import Access
from tensorop.jit.tiles import Tile, choose_tile
from tensorop.optimizer import walk
from tensorop.optimizer.ahead import asked_as_it_lies, is_far, together
from tensorop.optimizer.balance import LONGEST_SUM, balanced, call_work, longest_sum
from tensorop.optimizer.direct import FEW, Part, blocks, in_strips
from tensorop.optimizer.identify import vector_side
from tensorop.optimizer.joined import spread
from tensorop.optimizer.kernel_kind import epilogue_of, kernel_dtype
from tensorop.optimizer.machine import Machine
from tensorop.optimizer.orient import exchange
from tensorop.optimizer.past import LONG_CALL, leaves_caches, tiles_leave_caches
from tensorop.optimizer.shared_axis import Cut, Team, longest_kept, longest_side
from tensorop.optimizer.strands import strands
from tensorop.optimizer.transfer import outgrows_l3
from tensorop.optimizer.vectors import vectors_and_rows
from tensorop.optimizer.window import tabled_part, windowed
from tensorop.schedule import BIAS, Axis, Call, Loop, Pack, Schedule, Step
from tensorop.tuples import NamedTuple


def nest(
    op: TensorOp, machine: Machine, shares: int, *, paired: bool = False, threads: int = 1
) -> Schedule:
    """The operation as written.

    Parameters
    ----------
    op : TensorOp
        Loops outermost first, then the PRIM dimensions.
    shares : int
        Number of shares of the SHARED loops.
    paired : bool
        The PRIM dimensions are rows and vectors of a stream kernel, chosen before.
    threads : int
        Of a team for which an axis of the kernel is cut, if SHARED loops leave it idle.
    """
    op = _absorbed(op)
    prim = [d for d in op.dimensions if d.exec == ExecType.PRIM]
    swapped, space = False, prod([d.size for d in op.dimensions if d.exec == ExecType.SHARED])
    team = Team(threads, space)
    if is_product(op):
        if vector_side(prim) == DimType.N:
            op, swapped = exchange(op), True
        axes, body, note, cut = _matrix_product(op, machine, team)
    else:
        op = op if paired else _two_prims(op, machine)
        if op.main in CONTRACTIONS and _exchanges(op, machine):
            op, swapped = exchange(op), True
        axes, body, note, cut = _stream(op, machine, team)
    loops = [d for d in op.dimensions if d.exec != ExecType.PRIM]
    outer = [Axis(f"{d.type}{i}", d.type, (d,)) for i, d in enumerate(loops)]
    around, innermost = outer, [d for d in loops[-1:] if d.exec == ExecType.SEQ]
    if axes[-1].name == "Y" and strands(op, *walk.stream_order(op), innermost, machine):
        around, body = outer[:-1], _going_on(outer[-1], body)
    for axis in reversed(around):
        body = (Loop(axis.name, 1, axis.dimensions[0].exec, body),)
    notes = (note,)
    every = (*outer, *axes)
    if cut is not None:
        body, shares = (cut.loop(body),), min(threads, space * cut.parts)
        notes = (f"{note}; {cut.axis} in parts of {cut.part}, shared",)
    return windowed(Schedule(op, every, body, shares=shares, swapped=swapped, notes=notes))


def is_product(op: TensorOp) -> bool:
    """Whether the PRIM dimensions are those of a matrix product."""
    kinds = {d.type for d in op.dimensions if d.exec == ExecType.PRIM}
    return op.main in CONTRACTIONS and {DimType.M, DimType.N, DimType.K} <= kinds


class _Body(NamedTuple):
    """A kernel's axes, the steps that call it, a note, and what threads share of the axes."""

    axes: tuple[Axis, ...]
    steps: tuple[Step, ...]
    note: str
    cut: Cut | None


def _going_on(axis: Axis, body: tuple[Step, ...]) -> tuple[Step, ...]:
    """A loop inside of that over blocks of rows, where that is all of the body."""
    match body:
        case (Loop("Y") as rows,):
            inside = (Loop(axis.name, 1, ExecType.SEQ, rows.body),)
            return (rows._replace(body=inside),)
    return (Loop(axis.name, 1, ExecType.SEQ, body),)


def _absorbed(op: TensorOp) -> TensorOp:
    """A sequential K loop directly around a matrix product becomes its batch-reduce dimension: the
    same products in the same order, but sums stay in registers from block to block."""
    loops = [d for d in op.dimensions if d.exec != ExecType.PRIM]
    prim = [d for d in op.dimensions if d.exec == ExecType.PRIM]
    types = sorted(d.type for d in prim)
    if types != [DimType.K, DimType.M, DimType.N] or not loops or op.main not in CONTRACTIONS:
        return op
    innermost = loops[-1]
    if innermost.type != DimType.K or innermost.exec != ExecType.SEQ:
        return op
    return op.with_dimensions((*loops[:-1], innermost._replace(exec=ExecType.PRIM), *prim))


def _matrix_product(op: TensorOp, machine: Machine, team: Team) -> _Body:
    prim = [d for d in op.dimensions if d.exec == ExecType.PRIM]
    m, n = (next(d for d in prim if d.type == t) for t in (DimType.M, DimType.N))
    summed = [d for d in prim if d.type == DimType.K]
    kind = element(op.dtype)
    plain = kind.parts == 1 and not kind.half and not any(t.conj for t in op.tensors)
    direct = plain and m.strides[0] == 1
    reduces = direct and len(summed) > 1
    store: Store = "columns" if m.strides[2] == 1 else "scatter"
    masked = direct and store == "columns" and masks_stores(op.dtype, machine.target)
    target, sizes = machine.target, (m.size, n.size)
    tile = choose_tile(target, kind, *sizes, batch_reduce=reduces, masked=masked)
    rows = GemmKernel(op.dtype, tile.vectors, tile.columns).rows(target)
    if direct:
        return _direct(op, (m, n, summed), tile, rows, store, machine, team, masked=masked)
    return _packed(op, (m, n, summed), tile, rows, store, kind, machine, team)


def _direct(
    op: TensorOp,
    dims: tuple[Dimension, Dimension, list[Dimension]],
    tile: Tile,
    rows: int,
    store: Store,
    machine: Machine,
    team: Team,
    *,
    masked: bool,
) -> _Body:
    m, n, summed = dims
    axes = [Axis("M", DimType.M, (m,)), Axis("N", DimType.N, (n,))]
    axes += [
        Axis(name, DimType.K, (d,))
        for name, d in zip(("BR", "K") if len(summed) > 1 else ("K",), summed, strict=True)
    ]
    k, reduces = summed[-1], len(summed) > 1
    windows = tabled_part(axes[0]).size < m.size  # whose last one is as long as it happens to be
    left, halved = left_over(m.size % rows if masked and not windows else 0, rows // tile.vectors)
    kind = element(op.dtype)
    asks = 0 if reduces else asked_as_it_lies(op, (m, n, k), machine)
    # Where rows lie end to end, whole blocks are asked for as they follow one another.
    dense = abs(k.strides[0]) == m.size
    strips = masked and not (asks and dense) and in_strips(op, (m, n, *summed), machine)
    along = not (reduces or strips) and blocks(m, n, k, kind.size, machine).along
    # L1 waits for few lines of memory at a time, L2 for many; to many columns L1 is worth more.
    near = not machine.near_l3 or n.size > FEW or not is_far(op, 0, machine)
    far = dense and not near and outgrows_l3(op, machine)
    kernel = GemmKernel(
        kernel_dtype(op),
        tile.vectors,
        tile.columns,
        "direct",
        "consecutive" if k.strides[1] == 1 else "direct",
        store,
        batch_reduce=reduces,
        epilogue=epilogue_of(op),
        left=left,
        halved=halved,
        asks=1 if strips else asks,
        along=along,
        strips=strips,
        far=far,
        past=strips and tiles_leave_caches(op, axes[0], rows, machine),
    )
    call = Call(kernel, (0, 1, 2), ("M", "N", "K", "BR") if reduces else ("M", "N", "K"))
    call = call._replace(together=together(op, (m, n, k), asks, machine))
    steps: tuple[Step, ...] = (call,)
    longest = longest_sum(kind, prod(d.size for d in summed))
    apart = any(_touches_apart(op, call))
    cut = None if apart else longest_side(tuple(axes), (rows, 1), team)
    m_part, n_part = (d.sized(cut.part) if cut and cut.axis == d.type else d for d in (m, n))
    part = Part(m_part.size, k.size)
    if strips:  # so that a call does not last
        most = call_work(machine, kind) // (n.size * k.size)
        part = part._replace(rows=min(m_part.size, max(1, most // rows) * rows))
    elif not reduces:
        part = blocks(m_part, n_part, k, kind.size, machine)
    mc, kc, _ = part
    m_size, n_size = (  # of a thread's part of a window
        min(d.size, tabled_part(axis).size) for d, axis in zip((m_part, n_part), axes, strict=False)
    )
    # So that a call does not last, it has few columns, and, if need be, only a part of the sum.
    work, brc = call_work(machine, kind) // max(mc, rows // tile.vectors), 1
    if reduces:
        most = min(work // min(n_size, tile.columns), longest)
        kc = balanced(k.size, most, 4)
        brc = balanced(summed[0].size, most // kc, 1)
        if brc < summed[0].size:
            steps = (Loop("BR", brc, ExecType.SEQ, steps),)
    kc = min(kc, longest)
    nc = work // (kc * brc)
    if nc < n_size:
        nc = balanced(n_size, max(nc, tile.columns), tile.columns)
        steps = (Loop("N", nc, ExecType.SEQ, steps),)
    if kc < k.size:
        steps = (Loop("K", balanced(k.size, kc, 4), ExecType.SEQ, steps),)
    if mc < m_size:
        steps = (Loop("M", balanced(m_size, mc, rows), ExecType.SEQ, steps),)
    name = "brgemm" if reduces else "gemm"
    steps = _touched(op, call, ("M", "N"), steps)
    return _Body(tuple(axes), steps, f"{name} straight from the operands", cut)


def _packed(
    op: TensorOp,
    dims: tuple[Dimension, Dimension, list[Dimension]],
    tile: Tile,
    rows: int,
    store: Store,
    kind: Element,
    machine: Machine,
    team: Team,
) -> _Body:
    m, n, summed = dims
    axes = (
        Axis("M", DimType.M, (m,)),
        Axis("N", DimType.N, (n,)),
        Axis("K", DimType.K, tuple(summed)),
    )
    kernel = GemmKernel(
        kernel_dtype(op),
        tile.vectors,
        tile.columns,
        "packed",
        "packed",
        store,
        epilogue=epilogue_of(op),
    )
    call = Call(kernel, (0, 1, 2), ("M", "N", "K"))
    steps: tuple[Step, ...] = (
        Pack(0, "M", rows, "K"),
        Pack(1, "N", tile.columns, "K"),
        *_touched(op, call, ("M", "N"), (call,)),
    )
    k = axes[2].size
    kc = k if kind.half else balanced(k, machine.l1 // 2 // (tile.columns * kind.size), 4)
    if kc < k:
        steps = (Loop("K", kc, ExecType.SEQ, steps),)
    apart = any(_touches_apart(op, call))
    cut = None if apart else longest_side(axes, (rows, tile.columns), team)
    why = "such numbers are packed" if m.strides[0] == 1 else "M is not consecutive in in0"
    return _Body(axes, steps, f"gemm from packed blocks: {why}", cut)


def _stream(op: TensorOp, machine: Machine, team: Team) -> _Body:
    """Elementwise operations, reductions, and products that are no matrix product."""
    outer, inner = walk.stream_order(op)
    x, y = (
        Axis(name, d.type if d else DimType.C, (d,) if d else ())
        for name, d in (("X", inner), ("Y", outer))
    )
    main = Primitive.GEMM if op.main in CONTRACTIONS else op.main
    row = x.size * element(op.dtype).size
    past = row >= LONG_ROW and row * y.size >= LONG_CALL and leaves_caches(op, machine)
    width = walk.width(op, x, y, machine)
    tensors = tuple(range(len(op.tensors)))
    joined = spread(op, outer, inner, machine.target) is not None
    asks = walk.asked(op, x, y, machine)
    in_turn = walk.in_turn(op, x, y, machine)
    call = stream_call(
        op, main, tensors, (x, y), asks, joined=joined, past=past, width=width, in_turn=in_turn
    )
    steps = _touched(op, call, ("X", "Y"), (call,))
    rows, columns = walk.rows_and_columns(op, x, y, machine, call.kernel)
    if y.size > rows:
        steps = (Loop("Y", rows, ExecType.SEQ, steps),)
    if x.size > columns:
        steps = (Loop("X", balanced(x.size, columns, 64), ExecType.SEQ, steps),)
    label = "one element" if inner is None else f"along {inner.name or inner.type}"
    note = f"{op.main} streaming {label}{', past the caches' if past else ''}"
    return _Body((x, y), steps, note, longest_kept((x, y), call.kernel, team))


def _two_prims(op: TensorOp, machine: Machine) -> TensorOp:
    """A stream kernel runs over two axes; further PRIM dimensions become loops around it."""
    prim = [d for d in op.dimensions if d.exec == ExecType.PRIM]
    kept = vectors_and_rows(op, prim, machine) if op.main in CONTRACTIONS else prim[-2:]
    extra = [d._replace(exec=ExecType.SEQ) for d in prim if not any(d is k for k in kept)]
    loops = [d for d in op.dimensions if d.exec != ExecType.PRIM]
    return op.with_dimensions((*loops, *extra, *kept))


def _exchanges(op: TensorOp, machine: Machine) -> bool:
    """Whether in0 and in1 change places: what rows share is to be in1, which a kernel reads once
    for several sums; else what is consecutive along the vectors in0, and what repeats in1, so that
    one kernel serves both orders."""
    rows, inner = walk.stream_order(op)
    if inner is None:
        return False
    is_spread = spread(op, rows, inner, machine.target)
    if is_spread is not None:
        return is_spread == 0
    in0, in1 = (_BETTER.index(_access(s)) for s in inner.strides[: op.out])
    if inner.type != DimType.K and in0 != in1:
        return in0 > in1
    return rows is not None and rows.type == DimType.N


_BETTER = ("unit", "strided", "zero")  # accesses of in0, best first


def _access(step: int | None) -> Access:
    return "unit" if step == 1 else "zero" if step == 0 else "strided"


def stream_call(
    op: TensorOp,
    main: Primitive,
    tensors: tuple[int, ...],
    axes: tuple[Axis, Axis],
    asks: Sequence[bool] = (),
    when: str = "always",
    joined: bool = False,
    past: bool = False,
    width: int = 0,
    in_turn: bool = False,
) -> Call:
    """A call of the stream kernel for `main` over two axes that are affine in every tensor; asks:
    whether what each input has further on is asked for."""
    x, y = axes
    steps = [x.stride(op.out if t == BIAS else t) for t in tensors]
    if x.size == 1:  # all steps are the same: no kernel of its own
        steps = [1] * len(steps)
    access = [_access(step) for step in steps]
    if x.type == DimType.K:
        access[-1] = "reduced"
    conj = [op.tensors[t].conj if t != BIAS else False for t in tensors[:-1]]
    kernel = stream_kernel(
        main.value,
        op.dtype,
        source=op.tensors[tensors[0]].dtype if main in (Primitive.CAST, Primitive.GEMM) else None,
        in0=access[0],
        in1=access[1] if len(access) > 2 else None,
        out=access[-1],
        outer_reduced=y.type == DimType.K,
        conj0=conj[0],
        conj1=conj[1] if len(conj) > 1 else False,
        joined=joined,
        one_row=joined and y.stride(0) == 0,
        past=past,
        width=width,
        in_turn=in_turn,
        in_blocks=prod([axis.size for axis in axes if axis.type == DimType.K]) > LONGEST_SUM,
        asks0=any(asks[:1]),
        asks1=any(asks[1:]),
    )
    return Call(kernel, tensors, (x.name, y.name), when)


def _touched(
    op: TensorOp, call: Call, block: tuple[str, str], body: tuple[Step, ...]
) -> tuple[Step, ...]:
    """The body, which is a call and the loops that it is in, with the first and the last touch of
    its output block around it.

    A zero needs no step of its own: the first K block overwrites."""
    first, last = _touches_apart(op, call)
    if not (first or last):
        return body
    steps: list[Step] = []
    axes = _touch_axes(op, block)
    if first:
        steps.append(stream_call(op, Primitive.COPY, (BIAS, op.out), axes, when="first"))
    steps.extend(body)
    if last:
        plain = op._replace(tensors=tuple(t._replace(conj=False) for t in op.tensors))
        steps.append(stream_call(plain, op.last_touch, (op.out, op.out), axes, when="last"))
    return tuple(steps)


def _touches_apart(op: TensorOp, call: Call) -> tuple[bool, bool]:
    """Whether the first and the last touch are calls of their own. Where a product finds its part
    of out in tables, they do not: they begin where out does, so that all of it is theirs."""
    fused = getattr(call.kernel, "epilogue", "none") != "none"
    return op.first_touch == Primitive.COPY, op.last_touch != Primitive.NONE and not fused


def _touch_axes(op: TensorOp, block: tuple[str, str]) -> tuple[Axis, Axis]:
    """The kept axes of a call's output block; a summed one counts as a single position."""
    prim = [d for d in op.dimensions if d.exec == ExecType.PRIM]
    axes = []
    for name, streamed in zip(block, reversed(walk.stream_order(op)), strict=True):
        of_product = name in ("M", "N")
        chosen = next(d for d in prim if d.type == name) if of_product else streamed
        kept = (chosen,) if chosen is not None and chosen.type != DimType.K else ()
        axes.append(Axis(name if kept else "", DimType.C, kept))
    return axes[0], axes[1]
