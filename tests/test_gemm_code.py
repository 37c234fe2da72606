"""The code of GEMM kernels, as assembly, and the register tiles that it is made of."""

from __future__ import annotations

import re

import pytest

from tensorop.jit.compiler import assembly
from tensorop.jit.elements import element
from tensorop.jit.gemm_abi import GemmKernel
from tensorop.jit.generate import generate
from tensorop.jit.lines import LINE
from tensorop.jit.target import Target
from tensorop.jit.tiles import Tile, choose_tile, cycles, tallest_tile, tiles
from tests.stream_calls import TARGETS


@pytest.mark.parametrize("target", TARGETS)
def test_accumulators_stay_in_registers(target: Target) -> None:
    """No loop over K of a float32 kernel moves a vector to or from the stack."""
    for access in ("packed", "direct", "consecutive"):
        for n in (32, 2048):
            tile = choose_tile(target, element("float32"), n, n)
            a = "packed" if access == "packed" else "direct"
            kernel = GemmKernel("float32", *tile, a, access, batch_reduce=access != "packed")
            text = assembly(generate(kernel, target), target)
            loops = innermost_products(text)
            assert target.triple.split("-")[0] != "x86_64" or len(loops) >= 2
            for loop in loops:
                assert not re.search(r"mm\d+.*\(%rsp\)|\(%rsp\).*mm\d+", loop), loop


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("left", [1, 2, 3])
@pytest.mark.parametrize("halved", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_loop_makes_its_mask(dtype: str, halved: bool, left: int, target: Target) -> None:
    """Half a vector is one of half the length, and multiplied as such."""
    if not target.free_masks:
        pytest.skip("masks are no registers")
    kernel = GemmKernel(dtype, 3, 8, "direct", "direct", left=left, halved=halved)
    loops = innermost_products(assembly(generate(kernel, target), target))
    masked = [loop for loop in loops if "{%k" in loop]
    assert masked
    assert not any("vpcmp" in loop for loop in loops)
    products = [line for loop in masked for line in loop.splitlines() if "vfmadd" in line]
    short = [line for line in products if "%ymm" in line]
    assert len(short) == (len(products) // left if halved else 0)


@pytest.mark.parametrize("target", TARGETS)
def test_lines_are_stored_past_the_caches(target: Target) -> None:
    if target.triple.split("-")[0] != "x86_64":
        pytest.skip("other instructions")
    tile = tiles(target, element("float32"))[0]
    for past in (False, True):
        kernel = GemmKernel("float32", *tile, past=past)
        text = assembly(generate(kernel, target), target)
        assert ("movnt" in text) == past
        assert ("mfence" in text or "lock" in text) == past


def innermost_products(text: str) -> list[str]:
    """The loops of one basic block in x86 assembly that multiply vectors."""
    found = []
    for block in text.split("\n.LBB")[1:]:
        label = ".LBB" + block.split(":")[0]
        body, jump, _ = (block + "\n").partition(f"\t{label}\n")
        if jump and ("vfmadd" in body or "mulps" in body):
            found.append(body)
    return found


@pytest.mark.parametrize("target", TARGETS)
def test_tile_choice_wastes_little(target: Target) -> None:
    """The chosen tile costs at most 3 % more than the best, and small sides get small tiles."""
    kind = element("float32")
    lanes = target.lanes(4)
    assert choose_tile(target, kind, 2048, 2048) == tiles(target, kind)[0]
    assert choose_tile(target, kind, lanes, 100).vectors == 1
    assert choose_tile(target, element("longdouble"), 1, 1).vectors == 1
    long = 11 * lanes  # of which no tall tile is a part
    assert choose_tile(target, kind, 100 * long, 96, long).vectors == 1
    if target.registers == 32:
        assert choose_tile(target, kind, 100 * long, 96, long, whole=True) == Tile(3, 8)
        assert choose_tile(target, kind, 2 * lanes, 1024) == Tile(2, 12)
        assert choose_tile(target, kind, 2 * lanes, 1024, binary=True) == Tile(2, 8)
        run, m, tall = 4 * 5 * lanes, 4000 * lanes, Tile(4, 4)
        target = target._replace(half_units=False)
        halves = target._replace(half_units=True)  # L2 has twice the time
        assert choose_tile(target, kind, m, 20, run) == tall
        assert choose_tile(halves, kind, m, 20, run, busy=True) == tall
        assert choose_tile(target, kind, m, 6, run, busy=True) == tall  # of 8 columns two were lost
        assert tallest_tile(halves, kind, m, m) == tall
        if target.vector_bytes == LINE:
            assert choose_tile(target, kind, m, 20, run, busy=True).columns > tall.columns
            assert tallest_tile(target, kind, m, m) == Tile(3, 8)
    for tile in tiles(target, kind):
        assert cycles(target, kind, tile) >= tile.vectors * tile.columns / 2
