"""Named tuples that take next to no time to define.

`typing.NamedTuple` compiles the constructor and every annotation of a class when that is defined:
0.2 ms each, which for the hundred classes of this package, its optimizer and its generators was a
quarter of a first call. Here a constructor is compiled when it is first called, and annotations
stay as they are written. All else is as there, and type checkers take it for that.

>>> class Point(NamedTuple):
...     x: int
...     y: int = 0
>>> Point(3)._replace(y=4)
Point(x=3, y=4)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

try:  # as the standard library does
    from _collections import _tuplegetter as _field  # type: ignore[import-not-found]
except ImportError:
    from operator import itemgetter

    def _field(index: int, doc: str) -> Any:
        return property(itemgetter(index), doc=doc)


class _Definition(type):
    """Makes classes: from the annotations of a class body, one whose instances are tuples."""

    _fields: tuple[str, ...]
    _field_defaults: dict[str, Any]

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> _Definition:
        if not any(isinstance(base, cls) and base.__bases__ == (tuple,) for base in bases):
            # The first of all, or one with the fields of its base.
            return super().__new__(cls, name, bases, body)
        fields = tuple(body.get("__annotations__", ()))
        defaults = {field: body[field] for field in fields if field in body}
        if tuple(defaults) != fields[len(fields) - len(defaults) :]:
            raise TypeError(f"{name}: fields without a default follow such with one")
        body.update((field, _field(i, f"Field number {i}")) for i, field in enumerate(fields))
        body.update(__slots__=(), __match_args__=fields, _fields=fields, _field_defaults=defaults)
        made = super().__new__(cls, name, bases, body)

        def construct(given: type, *args: Any, **named: Any) -> Any:
            setattr(made, "__new__", staticmethod(made._constructor()))  # noqa: B010
            return made.__new__(given, *args, **named)

        setattr(made, "__new__", staticmethod(construct))  # noqa: B010
        return made

    def _constructor(cls) -> Callable[..., Any]:
        names = ", ".join(cls._fields)
        code = f"lambda _cls, {names}: _new(_cls, ({names}{',' if names else ''}))"
        made: Any = eval(code, {"_new": tuple.__new__, "__name__": f"namedtuple_{cls.__name__}"})
        made.__name__, made.__qualname__ = "__new__", f"{cls.__qualname__}.__new__"
        made.__defaults__ = tuple(cls._field_defaults.values()) or None
        made.__annotations__ = dict(cls.__annotations__)
        return made  # type: ignore[no-any-return]

    @property
    def __signature__(cls) -> Any:
        from inspect import signature  # it takes long to import

        whole = signature(cls._constructor())
        return whole.replace(parameters=list(whole.parameters.values())[1:])


if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:

    class NamedTuple(tuple, metaclass=_Definition):
        """What classes of named tuples inherit."""

        __slots__ = ()
        _fields = ()

        @classmethod
        def _make(cls, values: Iterable[Any]) -> Any:
            """An instance of the values of its fields, one after the other."""
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
            return made

        def _replace(self, /, **named: Any) -> Any:
            """The same but for the fields that are named."""
            made = self._make(map(named.pop, self._fields, self))
            if named:
                raise TypeError(f"Got unexpected field names: {list(named)!r}")
            return made

        def _asdict(self) -> dict[str, Any]:
            """The values by the names of their fields."""
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self) -> str:
            fields = ", ".join([f"{n}={v!r}" for n, v in zip(self._fields, self, strict=True)])
            return f"{type(self).__name__}({fields})"

        def __getnewargs__(self) -> tuple[Any, ...]:
            return tuple(self)

        __replace__ = _replace
