"""Choices, the search among them, and what it keeps on disk."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tensorop
from tensorop import reference, tuning, tuning_store
from tensorop.__main__ import main
from tensorop.config import CACHE_DIR, TUNE
from tensorop.ir import TensorOp
from tensorop.jit.tiles import Tile
from tensorop.optimizer.choice import (
    DECISIONS,
    MODEL,
    Choice,
    alternatives,
    check,
    every,
    is_product,
)
from tensorop.optimizer.machine import host_machine
from tensorop.optimizer.normalise import normalise
from tensorop.optimizer.realign import moves
from tensorop.planning import executable_of
from tensorop.plans import plan_for
from tests.test_blocked import draw
from tests.test_realign import contraction

MACHINE = host_machine()
PRODUCT = normalise(contraction("ik,kj->ij", i=70, j=41, k=33)).op


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path) -> Iterator[Path]:
    tensorop.cache_clear()
    with CACHE_DIR(str(tmp_path)):
        yield tmp_path
    tensorop.cache_clear()


def choices(op: TensorOp) -> list[Choice]:
    """Choices that differ from the model's in one decision, and what may be moved."""
    start = Choice((), "blocked")
    found = [a for decision in DECISIONS for a in alternatives(op, start, decision, MACHINE)]
    return [*found, *(MODEL._replace(orders=orders) for orders in moves(op, MACHINE, 6))]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "complex64", "int32", "float16"])
def test_every_choice_means_the_same(dtype: str, threads: int) -> None:
    rng = np.random.default_rng(11)
    tried = 0
    for _ in range(5):
        op, buffers = draw(rng, dtype)
        op = normalise(op).op
        expected = [b.copy() for b in buffers]
        reference.run(op, expected, 2, 3)
        for choice in choices(op):
            check(op, choice, MACHINE)
            arrays = [b.copy() for b in buffers]
            executable_of(op, threads, plan_for, choice=choice).run(arrays, 2, 3)
            np.testing.assert_allclose(arrays[-1], expected[-1], rtol=1e-2, atol=1e-3)
            tried += 1
    assert tried > 60


def test_a_campaign_has_hundreds_of_schedules() -> None:
    found = list(every(PRODUCT, (), MACHINE))
    assert len(found) == len(set(found)) >= 200
    for choice in found[:: len(found) // 20]:
        check(PRODUCT, choice, MACHINE)


def test_a_choice_is_what_its_json_says() -> None:
    choice = Choice(((1, (2, 0)),), "blocked", True, Tile(1, 4), False, (0.5, 1.0, 2.0))
    assert Choice.from_json(json.loads(json.dumps(choice.as_json()))) == choice
    assert MODEL.as_json() == {} and str(MODEL) == "the model's"
    assert "tile 1x4" in str(choice)


@pytest.mark.parametrize(
    "wrong",
    [
        Choice(regime="fast"),
        Choice(tile=Tile(50, 50)),
        Choice(scales=(3.0, 1.0, 1.0)),
        Choice(swapped=7),  # type: ignore[arg-type]
    ],
)
def test_choices_that_no_search_makes_are_refused(wrong: Choice) -> None:
    assert is_product(PRODUCT)
    with pytest.raises(ValueError, match="no choice for this operation"):
        check(PRODUCT, wrong, MACHINE)


def test_what_was_found_is_kept_for_the_next_process(
    own_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((60, 50), np.float32), rng.random((50, 70), np.float32)
    assert np.allclose(tensorop.einsum("ij,jk->ik", a, b, tune=True), a @ b, rtol=1e-5)
    (file,) = (own_folder / "tuning").iterdir()
    content = json.loads(file.read_text())
    assert content["threads"] == tensorop.get_num_threads()
    assert content["milliseconds"] <= content["model's milliseconds"]
    content["choice"] = {"regime": "blocked", "tile": [1, 4]}
    file.write_text(json.dumps(content))
    monkeypatch.setattr(tuning, "tune", lambda *_: pytest.fail("searched again"))
    tensorop.cache_clear()
    tuned = tensorop.compile("ij,jk->ik", a, b, tune=True)
    assert "a search has found: regime blocked, tile 1x4" in tuned.explain()
    assert np.allclose(tuned(a, b), a @ b, rtol=1e-5)
    assert "a search" not in tensorop.compile("ij,jk->ik", a, b).explain()
    monkeypatch.setenv(TUNE.name, "1")
    tensorop.cache_clear()
    assert "a search" in tensorop.compile("ij,jk->ik", a, b).explain()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"choice": 3}',
        '{"choice": {"speed": 1}}',
        '{"choice": {"regime": "fast"}}',
        '{"choice": {"tile": [9, 9]}}',
        '{"choice": {"scales": [[], 1, 1]}}',
        '{"choice": {"orders": [[0, [0, 0]]]}}',
        '{"choice": {"orders": [[9, [0]]]}}',
        '{"choice": {"orders": [["x", "yz"]]}}',
        '{"choice": {"orders": 5}}',
    ],
)
def test_files_without_sense_are_as_if_not_there(text: str) -> None:
    assert tuning_store.save(PRODUCT, 1, MACHINE, Choice((), "stream"), {})
    assert tuning_store.load(PRODUCT, 1, MACHINE) == Choice((), "stream")
    (file,) = tuning_store.folder().iterdir()
    file.write_text(text)
    assert tuning_store.load(PRODUCT, 1, MACHINE) is None


def test_other_sizes_and_threads_have_files_of_their_own() -> None:
    tuning_store.save(PRODUCT, 1, MACHINE, Choice((), "stream"), {})
    other = normalise(contraction("ik,kj->ij", i=70, j=41, k=34)).op
    assert tuning_store.load(other, 1, MACHINE) is None
    assert tuning_store.load(PRODUCT, 2, MACHINE) is None
    assert tuning_store.load(PRODUCT, 1, MACHINE._replace(l2=1)) is None


def test_a_folder_that_cannot_be_made_fails_no_call(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    a = np.ones((40, 40), np.float32)
    with CACHE_DIR(str(tmp_path / "file")):
        assert (tensorop.einsum("ij,jk->ik", a, a, tune=True) == 40).all()


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["tune", "ij,jk,kl->il", "i=40,j=50,k=60,l=9", "--threads", "1", "--seconds", "0.2"]
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("1 thread, results in ")
    assert len(lines) == 3 and all("schedules timed" in line for line in lines[1:])
    assert main(["tune", "ij,jk->ik", "i=2,j=2,k=2"]) == 0
    assert "too small" in capsys.readouterr().out
