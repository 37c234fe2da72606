"""GEMM and BRGEMM macro-kernels: C[m, n] = sum over k (and batch-reduce) of A[m, k] * B[k, n].

One call computes a block of C of any size, from a block of A and of B. M is the vector side, N the
broadcast side. The kernel walks the block in register tiles of `vectors` vectors by `columns`
columns, N outside, M inside, so that a panel of B stays in the first-level cache while the panels
of A stream through. What is left over at the right and lower edge is walked in narrower tiles.

An operand is *packed* (panels as wide as the tile, padded with zeros, see jit/copy.py), *direct*
(where it lies) or, for B, *consecutive*: where it lies, at consecutive addresses along K. A small A
may be *gathered*: the kernel puts its panels together itself (`gemm_gather.py`). Complex numbers
are packed or gathered, planar; half types are packed, as float32.
`gemm_tile.py` has the loop over K, `gemm_store.py` the combination with C.
"""

from __future__ import annotations

from functools import partial

from llvmlite import ir

from tensorop.jit.abi import Frame
from tensorop.jit.arithmetic import Arithmetic, Number
from tensorop.jit.builder import VOID, WORD, Code, Value
from tensorop.jit.elements import element
from tensorop.jit.gemm_abi import GemmKernel, GemmWord
from tensorop.jit.gemm_ahead import Ahead, Following, NextStrip
from tensorop.jit.gemm_gather import Gathering
from tensorop.jit.gemm_store import Buffer, Flush, Place, Result, Sums
from tensorop.jit.gemm_strided import Strided
from tensorop.jit.gemm_tile import (
    SEGMENT,
    Columns,
    Errand,
    Multiples,
    PackedColumns,
    Rows,
    Step,
    StridedColumns,
    TileProduct,
    multiples_of,
)
from tensorop.jit.groups import Starts, grouped, moves
from tensorop.jit.long_integers import LongIntegers
from tensorop.jit.slots import AxisSlot
from tensorop.jit.target import Target
from tensorop.jit.tiles import in_halves, middle_columns, split_columns, tail_columns

AHEAD = 16  # steps of K that a panel of A is asked for ahead
LONG_ROW = 4096  # bytes of a row of B along K
LEAST_AHEAD = 1024  # bytes that A is asked for ahead, at least, where it lies
# Of a row, along which it is: into L2, since L1 waits for few lines of memory at a time.
AHEAD_ALONG = 512
AHEAD_DIRECT = 8  # the same where it lies: less runs on past its end


class MacroKernel:
    """The walk over a block of C."""

    def __init__(self, kernel: GemmKernel, target: Target) -> None:
        self.kernel, self.target = kernel, target
        self.code = code = Code(target, kernel.name)
        self.element = element(kernel.dtype)
        self.accumulator = self.element.accumulator
        self.part = self.accumulator.part
        self.lanes, self.mr = kernel.lanes(target), kernel.rows(target)
        self.m, self.n, self.k, self.blocks = (
            code.word(code.frame, Frame.SIZE + axis)
            for axis in (AxisSlot.M, AxisSlot.N, AxisSlot.K, AxisSlot.BR)
        )
        if kernel.together > 1:
            together = kernel.together
            self.k = code.builder.udiv(code.add(self.k, together - 1), code.int(together))
        starts = moves(kernel.inputs) and not kernel.matrices
        self.starts = Starts(code, kernel.columns, kernel.inputs) if starts else None
        self.result = Result(
            code, self.element, kernel.epilogue, past=kernel.past, joined=kernel.joined
        )
        self.buffer = Buffer(code, self.accumulator, self.mr, kernel.columns, self.lanes)
        self.flush = Flush(
            code, self.element, kernel.epilogue, self.mr, self.lanes, kernel.store == "columns"
        )

    def word(self, word: GemmWord) -> Value:
        return self.code.word(self.code.descriptor, word)

    def operand(self, word: GemmWord) -> Value:
        """Address of an operand's block."""
        return self.code.pointer(self.code.frame, self.word(word))

    def generate(self) -> ir.Module:
        self.flush.generate()
        self._read_operands()
        self.ahead = self._next_blocks()
        code = self.code
        self._enter()
        if isinstance(self.ahead, NextStrip):
            with code.loop(self.m, step=self.mr) as first:
                self.ahead.begin(code.mul(first, self.part))
                self._walk(first, code.min(self.mr, code.sub(self.m, first)))
        else:
            self._walk(code.int(0), self.m)
        self._leave()
        return code.finish()

    def _walk(self, first: Value, rows: Value) -> None:
        """All columns of so many rows, from the first one on."""
        code, kernel = self.code, self.kernel
        self.first, self.rows = first, rows
        nr, tail = kernel.columns, tail_columns(kernel.columns)
        panels = self._full_panels(code.builder.udiv(self.n, code.int(nr)))
        self._panels(panels)
        if nr > 1:
            whole = code.mul(panels, nr)
            last_panel = code.at(self.b, code.mul(panels, self.b_panel))
            if self.starts is not None:
                with code.when(code.less(whole, self.n)):
                    self._begin(last_panel)
            begin = self._middle_tiles(last_panel, whole)
            with code.loop(self.n, start=begin, step=tail) as n:
                valid = code.min(tail, code.sub(self.n, n))
                inside = code.mul(code.sub(n, whole), self.b_column)
                address = code.at(last_panel, inside)
                self._rows(self._columns(address, tail, valid, inside=inside), n, valid)

    def _panels(self, panels: Value) -> None:
        """All tiles of so many full panels."""
        code, nr = self.code, self.kernel.columns
        with code.loop(panels) as panel:
            address = code.at(self.b, code.mul(panel, self.b_panel))
            self._begin(address)
            self._rows(self._columns(address, nr, None, panel), code.mul(panel, nr), None)

    def _enter(self) -> None:
        """What comes before the first panel."""

    def _leave(self) -> None:
        """What comes after the last one."""
        if self.kernel.past:
            self.code.fence()

    def _begin(self, panel: Value) -> None:
        """Find what the sums of the columns of a panel begin with."""
        if self.starts is not None:
            self.starts.fill(panel, self.k)

    def _next_blocks(self) -> Ahead | Following | NextStrip | None:
        """What is asked for in every segment of K of every full tile."""
        code, kernel = self.code, self.kernel
        if not kernel.asks:
            return None
        turns = code.builder.udiv(self.k, code.int(SEGMENT))
        if kernel.strips:
            return NextStrip(
                code,
                code.pointer(code.descriptor, GemmWord.AHEAD),
                self.a,
                size=code.mul(self.m, self.part),
                bytes_=self.mr * self.part,
                depth=self.k,
                step=self.word(GemmWord.A_K),
                turns=code.mul(turns, code.builder.udiv(self.n, code.int(kernel.columns))),
            )
        rows = code.add(self.m, self.mr - 1) if kernel.left else self.m
        for size, tile in ((rows, self.mr), (self.n, kernel.columns)):
            turns = code.mul(turns, code.builder.udiv(size, code.int(tile)))
        records = code.pointer(code.descriptor, GemmWord.AHEAD)
        if kernel.a == "direct":
            operands = (self.a, self.b, self.result.out)[: kernel.asks]
            return Following(code, records, operands, turns)
        return Ahead(code, records, kernel.asks, turns)

    def _full_panels(self, panels: Value) -> Value:
        """So many of them, or one less where tiles of the middle width then do all of the rest."""
        code, nr, packed = self.code, self.kernel.columns, self.kernel.b == "packed"
        split = split_columns(nr, packed) if self.kernel.batch_reduce else 0
        if not split:
            return panels
        left = code.sub(self.n, code.mul(panels, nr))
        splits = code.builder.and_(code.equal(left, split), code.less(0, panels))
        return code.sub(panels, code.builder.zext(splits, WORD))

    def _middle_tiles(self, panel: Value, start: Value) -> Value:
        """Tiles of the middle width from column `start` on, which is where a panel begins, as long
        as so many columns are left; returns where to go on.

        Only in batch-reduce, whose blocks are small: there what is left over counts.
        """
        code, width = self.code, middle_columns(self.kernel.columns, self.kernel.b == "packed")
        if not self.kernel.batch_reduce or not width:
            return start
        tiles = code.builder.udiv(code.sub(self.n, start), code.int(width))
        stop = code.add(start, code.mul(tiles, width))
        with code.loop(stop, start=start, step=width) as n:
            address = code.at(panel, code.mul(code.sub(n, start), self.b_column))
            self._rows(self._columns(address, width, None), n, None)
        return stop

    def _read_operands(self) -> None:
        """Addresses, and the bytes between panels, steps of K, columns and batch-reduce blocks."""
        code, kernel = self.code, self.kernel
        self.a, self.b = self.operand(GemmWord.A_SLOT), self.operand(GemmWord.B_SLOT)
        batch = kernel.batch_reduce
        self.a_block = self.word(GemmWord.A_BR) if batch else 0
        self.b_block = self.word(GemmWord.B_BR) if batch else 0
        self.a_panel: Value | int = self.mr * self.part
        self.a_step: Value | int = self.mr * self.accumulator.size
        self.a_multiples: Multiples | None = None
        self.a_ahead: Value | int = AHEAD * self.mr * self.accumulator.size
        self.b_column: Value | int = self.part
        if kernel.a == "packed":
            self.a_panel = self.word(GemmWord.A_PANEL)
        elif kernel.a == "gathered":
            self._gather()
        else:
            self.a_step = self.word(GemmWord.A_K)
            self.a_multiples = multiples_of(code, self.a_step)
            steps = code.max(code.mul(self.a_step, AHEAD_DIRECT), LEAST_AHEAD)
            self.a_ahead = AHEAD_ALONG if kernel.along else steps
        if kernel.b == "packed":
            self.b_panel = self.word(GemmWord.B_PANEL)
        else:
            self.b_step: Value | int = self.part
            if kernel.b == "direct":
                self.b_step = self.word(GemmWord.B_K)
            self.b_column = self.word(GemmWord.B_N)
            self.b_panel = code.mul(self.b_column, kernel.columns)
            self.multiples = multiples_of(code, self.b_column)

    def _gather(self) -> None:
        """Put the panels of A together."""
        code = self.code
        gathering = Gathering(code, self.element, self.mr, self.lanes)
        steps = self.word(GemmWord.A_M), self.word(GemmWord.A_K)
        gathering.generate(self.a, self.m, self.k, *steps)
        self.a, self.a_ahead = gathering.address, 0
        self.a_panel = code.mul(self.k, self.a_step)

    def _columns(
        self,
        address: Value,
        columns: int,
        valid: Value | None,
        panel: Value | None = None,
        inside: Value | int = 0,
    ) -> Columns:
        """panel: the number of the panel that they are. inside: bytes from where their panel begins
        to the first of them."""
        code, nr = self.code, self.kernel.columns
        if self.kernel.b == "packed":
            step = nr * self.accumulator.size
            plane = nr * self.part if self.accumulator.parts == 2 else 0
            starts = None if self.starts is None else code.at(self.starts.address, inside)
            return PackedColumns(columns, address, step, self.b_block, plane, starts=starts)
        offsets: list[Value] = []
        if valid is not None:  # columns that do not exist repeat the last one that does
            last = code.sub(valid, 1)
            offsets = [code.mul(code.min(n, last), self.b_column) for n in range(columns)]
        stream, block, step = self._asked(address, columns, panel)
        return StridedColumns(
            columns,
            address,
            self.b_step,
            self.b_block,
            self.multiples,
            tuple(offsets),
            stream,
            block,
            step,
            self.part if self.accumulator.parts == 2 else 0,
        )

    def _asked(
        self, address: Value, columns: int, panel: Value | None
    ) -> tuple[Value | None, Step, Step]:
        """What full columns ask for meanwhile, as the next panel or call will read it: where it
        begins, and the bytes from one batch-reduce block, and from one step of K, to the next."""
        code, select, step = self.code, self.code.builder.select, columns * self.part
        if panel is not None and self.kernel.batch_reduce:
            block = code.mul(self.k, step)
            done = code.mul(code.mul(panel, self.blocks), block)
            return code.at(code.at(self.b, self.word(GemmWord.B_NEXT)), done), block, step
        if panel is None or self.kernel.b == "direct":
            return None, 0, 0
        # Long rows are streams that the hardware notices.
        short = code.less(code.mul(self.k, self.part), LONG_ROW)
        ahead = code.at(address, select(short, self.b_panel, code.int(0)))
        return ahead, 0, select(short, code.int(step), code.int(0))

    def _rows(self, columns: Columns, n: Value, valid: Value | None) -> None:
        """All tiles of some columns: full ones, then the remaining rows: as a tile whose last
        vector is masked, or as single vectors."""
        code, kernel = self.code, self.kernel
        stored = valid if valid is not None else code.int(columns.columns)
        panels = code.builder.udiv(self.rows, code.int(self.mr))
        block = code.at(self.a, code.mul(self.first, self.part)) if kernel.strips else self.a
        with code.loop(panels) as panel:
            tile = self._asking(columns, panel, panels) if valid is None else columns
            address = code.at(block, code.mul(panel, self.a_panel))
            m = code.add(self.first, code.mul(panel, self.mr))
            if kernel.store in ("columns", "runs") or (kernel.store == "pieces" and valid is None):
                self._tile(address, tile, m, n, valid)
            else:
                self._put(address, kernel.vectors, tile, 0)
                self._store_rows(m, code.int(self.mr), n, stored)
        if self.mr > 1:
            whole = code.mul(panels, self.mr)
            address = code.at(block, code.mul(panels, self.a_panel))
            with code.when(code.less(whole, self.rows)):
                left, m = code.sub(self.rows, whole), code.add(self.first, whole)
                if kernel.left:
                    self._tile(address, columns, m, n, valid, left)
                else:
                    self._left_rows(address, columns, left)
                    self._store_rows(m, left, n, stored)

    def _asking(
        self, columns: Columns, tile: Value, tiles: Value, panels: Value | int = 1
    ) -> Columns:
        """Packed columns that ask for their tile's part of the panel that comes so many panels
        after theirs."""
        if not isinstance(columns, PackedColumns):
            return columns
        code = self.code
        step = code.add(code.builder.udiv(code.int(columns.step), tiles), 1)
        part = code.mul(tile, code.mul(step, self.k))
        following = code.mul(self.b_panel, panels)
        stream = code.at(columns.address, code.add(following, part))
        return columns._replace(stream=stream, stream_step=step)

    def _tile(
        self,
        address: Value,
        columns: Columns,
        m: Value,
        n: Value,
        valid: Value | None,
        left: Value | None = None,
    ) -> None:
        """One tile, to C. valid: columns that exist, left: rows that do, if not all."""
        code, kernel, lanes = self.code, self.kernel, self.lanes
        vectors, count, loaded = kernel.vectors, None, None
        if left is not None:
            vectors = kernel.left
            rest = code.sub(left, (vectors - 1) * lanes)
            count = Arithmetic(code, self.accumulator, lanes).kept(rest)
            if kernel.a != "gathered":  # whose vectors are whole
                loaded = count
                if kernel.halved:
                    loaded = Arithmetic(code, self.accumulator, lanes // 2).kept(rest)
        edge, result, wide = valid is not None or left is not None, self.result, columns.columns
        find = partial(result.places, m, vectors, lanes, kernel.store, count, kernel.piece)
        found = None if kernel.piece else find()

        def places() -> list[Place]:
            """Pieces are too many to be kept in registers meanwhile."""
            return find() if found is None else found

        if kernel.past and kernel.store == "runs" and not edge:
            result.ask_for_ends(places(), code.add(n, wide), wide, lanes, self.n)

        def prefetch(column: Value, count: int) -> None:
            self._prefetch(places(), code.add(n, column), count)

        # Where K is short and nothing is packed, C is small, and in the cache already.
        far = not kernel.near and (kernel.a == "packed" or kernel.batch_reduce or kernel.asks)
        errand = prefetch if far and not edge else None
        halved = left is not None and kernel.halved
        sums = self._product(address, vectors, columns, lanes, loaded, errand, halved=halved)
        self._store(Sums(sums, places(), n, lanes), m, valid, left)

    def _prefetch(self, places: list[Place], column: Value, columns: int) -> None:
        """Ask for a tile of C."""
        self.result.prefetch(places, column, columns, self.lanes)

    def _store(
        self,
        tile: Sums,
        m: Value,
        valid: Value | None,
        left: Value | None,
        rows: Value | None = None,
    ) -> None:
        """Straight from the accumulators to C where nothing has to be multiplied, nor added at the
        edges of C. rows: how many a tile has that may be full, where that is not known."""
        code, result, columns = self.code, self.result, len(tile.numbers) // len(tile.places)
        edge, buffered = valid is not None or left is not None, result.needs_scalars()
        if edge:
            buffered = code.builder.or_(buffered, code.builder.not_(result.first))
        if rows is None:
            rows = left if left is not None else code.int(self.mr)
        else:
            buffered = code.builder.or_(buffered, code.less(rows, self.mr))
        with code.either(buffered) as (then, otherwise):
            with then:
                self.buffer.put(tile.numbers, 0, columns, tile.lanes)
                stored = valid if valid is not None else code.int(columns)
                self._flush(m, rows, tile.column, stored)
            with otherwise:
                if edge:
                    result.overwrite(tile, valid)
                else:
                    result.store(tile)

    def _left_rows(self, address: Value, columns: Columns, left: Value) -> None:
        """Fewer rows than a tile has, into the buffer. A panel is padded, so that its vectors are
        whole; elsewhere the last one is masked, or rows go one by one."""
        code, packed = self.code, self.kernel.a != "direct"
        lanes = self.lanes if packed or self.part in self.target.masked else 1
        parts = Arithmetic(code, self.accumulator.real, lanes)
        with code.loop(left, step=lanes) as row:
            valid = code.min(lanes, code.sub(left, row))
            count = None if packed or lanes == 1 else parts.kept(valid)
            place = code.at(address, code.mul(row, self.part))
            sums = self._product(place, 1, columns, lanes, count)
            self.buffer.put(sums, row, columns.columns, lanes)

    def _put(self, address: Value, vectors: int, columns: Columns, row: int) -> None:
        sums = self._product(address, vectors, columns, self.lanes)
        self.buffer.put(sums, row, columns.columns, self.lanes)

    def _product(
        self,
        address: Value,
        vectors: int,
        columns: Columns,
        lanes: int,
        count: Value | None = None,
        errand: Errand | None = None,
        *,
        halved: bool = False,
    ) -> list[Number]:
        """The sums of a tile. halved: the last of its vectors is half as wide."""
        accumulator = self.accumulator
        tail = tail_columns(self.kernel.columns)
        full = columns.columns > tail
        whole = full and (vectors == self.kernel.vectors or (vectors > 1 and count is not None))
        rows = Rows(
            vectors,
            address,
            self.a_step,
            self.a_block,
            plane=self.mr * self.part if accumulator.parts == 2 else 0,
            valid=count,
            ahead=self.a_ahead if whole or self.kernel.a == "direct" else 0,
            near=not (self.kernel.along or self.kernel.far),
            multiples=self.a_multiples,
        )
        of = [self._arithmetic(lanes)] * vectors
        if halved:
            of[-1] = self._arithmetic(lanes // 2)
        blocks = self.blocks if self.kernel.batch_reduce else None
        # Of a masked tile of several vectors a step is long enough.
        unrolls = vectors == (self.kernel.vectors if count is None else 1)
        unroll = self._unroll(vectors * columns.columns) if full and unrolls else 1
        asks = whole or (full and self.kernel.strips)  # the last strip for the next call's first
        turns = [self.ahead] if self.ahead is not None and asks else []
        product = TileProduct(self._arithmetic(lanes), of, rows, columns, turns)
        return product.compute(self.k, blocks, unroll, errand)

    def _arithmetic(self, lanes: int) -> Arithmetic:
        """On vectors of the accumulator."""
        code, accumulator = self.code, self.accumulator
        if self.kernel.inputs:
            return grouped(code, accumulator, lanes, self.kernel.inputs)
        halves = lanes > 1 and in_halves(self.target, accumulator)
        return (LongIntegers if halves else Arithmetic)(code, accumulator, lanes)

    def _unroll(self, positions: int) -> int:
        """Steps of K in the loop: enough to hide its overhead, few enough to compile fast."""
        products = positions * self.accumulator.parts**2
        if products < 24:
            return 4
        return 2 if self.kernel.batch_reduce else 1

    def _store_rows(self, m: Value, rows: Value, column: Value, columns: Value) -> None:
        """The buffer to C."""
        if self.kernel.store != "strided":
            self._flush(m, rows, column, columns)
            return
        code, result = self.code, self.result
        with code.either(result.is_plain()) as (then, otherwise):
            with then:
                Strided(result, self.buffer, self.word(GemmWord.C_M), self.lanes).store(
                    m, rows, column, columns
                )
            with otherwise:
                self._flush(m, rows, column, columns)

    def _flush(
        self, m: Value, rows: Value, column: Value, columns: Value, buffer: Value | None = None
    ) -> None:
        code, buffer = self.code, self.buffer.address if buffer is None else buffer
        arguments = [code.descriptor, code.frame, buffer, m, rows, column, columns]
        code.call(self.flush.name, VOID, arguments)
