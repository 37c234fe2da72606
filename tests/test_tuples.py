"""Named tuples are what those of `typing` are."""

from __future__ import annotations

import copy
import inspect
import pickle
import threading
import typing
from typing import Any

import pytest

from tensorop import ir
from tensorop.tuples import NamedTuple


class Ours(NamedTuple):
    """A pair and more."""

    first: int
    second: tuple[int, ...] = ()
    third: Unknown | None = None  # type: ignore[name-defined]  # noqa: F821

    @property
    def total(self) -> int:
        """Of all numbers."""
        return self.first + sum(self.second)

    @staticmethod
    def zero() -> Ours:
        return Ours(0)


class Theirs(typing.NamedTuple):
    """A pair and more."""

    first: int
    second: tuple[int, ...] = ()
    third: Unknown | None = None  # type: ignore[name-defined]  # noqa: F821

    @property
    def total(self) -> int:
        """Of all numbers."""
        return self.first + sum(self.second)

    @staticmethod
    def zero() -> Theirs:
        return Theirs(0)


class Inherits(Ours):
    """Without fields of its own."""

    def twice(self) -> int:
        return 2 * self.total


class Nothing(NamedTuple):
    """No fields."""


def outcome(call: Any) -> Any:
    try:
        return call()
    except (TypeError, ValueError) as error:
        return str(error)


@pytest.mark.parametrize(
    "use",
    [
        lambda c: tuple(c(1)),
        lambda c: tuple(c(1, (2, 3), third=4)),
        lambda c: tuple(c(second=(), first=5)),
        lambda c: c(),
        lambda c: c(1, 2, 3, 4),
        lambda c: c(1, fourth=2),
        lambda c: c(1, first=2),
        lambda c: repr(c(1, (2,))),
        lambda c: c(1, (2, 3)).total,
        lambda c: tuple(c.zero()),
        lambda c: tuple(c(1)._replace(second=(7,))),
        lambda c: c(1)._replace(fourth=2),
        lambda c: c(1)._asdict(),
        lambda c: tuple(c._make([1, 2, 3])),
        lambda c: c._make([1, 2]),
        lambda c: (c._fields, c._field_defaults, c.__match_args__, c.__doc__),
        lambda c: (c(1) == c(1), c(1) == (1, (), None), hash(c(1)) == hash((1, (), None))),
        lambda c: c(1) < c(2),
        lambda c: (lambda first, *_: first)(*c(3)),
        lambda c: hasattr(c(1), "__dict__"),
        lambda c: copy.deepcopy(c(1, (2,))).second,
        lambda c: (pickle.loads(pickle.dumps(c(1, (2,)))) == c(1, (2,)), c.__name__, c.__module__),
        lambda c: [(p.name, p.default) for p in inspect.signature(c).parameters.values()],
        lambda c: sorted(c.__annotations__),
        lambda c: (issubclass(c, tuple), isinstance(c(1), c), c.__bases__ != (object,)),
    ],
)
def test_they_do_what_the_library_s_do(use: Any) -> None:
    theirs = outcome(lambda: use(Theirs))
    if isinstance(theirs, str):
        theirs = theirs.replace("Theirs", "Ours")
    ours = outcome(lambda: use(Ours))
    if isinstance(ours, tuple) and isinstance(ours[-1], str):
        theirs = tuple("Ours" if part == "Theirs" else part for part in theirs)
    assert str(ours).replace("'", "") == str(theirs).replace("'", "")


def test_one_is_matched() -> None:
    match Ours(1, (2,)):
        case Ours(first, second):
            assert (first, second) == (1, (2,))
        case _:
            pytest.fail("no match")


def test_classes_that_inherit_fields() -> None:
    one = Inherits(1, (2,))
    assert (one.twice(), one._replace(first=5), type(one._replace(first=5))) == (
        6,
        Inherits(5, (2,)),
        Inherits,
    )
    assert pickle.loads(pickle.dumps(one)) == one


def test_no_fields() -> None:
    assert Nothing() == () and repr(Nothing()) == "Nothing()"


def test_fields_without_a_default_come_first() -> None:
    with pytest.raises(TypeError, match="without a default"):

        class Wrong(NamedTuple):
            first: int = 0
            second: int  # type: ignore[misc]


def test_threads_construct_the_first_ones() -> None:
    class Fresh(NamedTuple):
        value: int

    made: list[Fresh] = []
    threads = [threading.Thread(target=lambda i=i: made.append(Fresh(i))) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == [(i,) for i in range(8)]


def test_public_ones_explain_themselves() -> None:
    assert "strides" in str(inspect.signature(ir.Dimension))
