"""What a `Launch` is given under parameters' names, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from . import expr
from .bound import Bound
from .figures import is_unordered
from .scratch import Scratch
from .tensor_map import TensorMap

__all__ = ["checked_args", "checked_names"]

_ARGS = (bool, int, float, bytes, TensorMap, Scratch, Bound)


def checked_names(field: str, value: object) -> tuple[str, ...]:
    """Return one parameter's name, or several, as a tuple.

    Raises
    ------
    TypeError, ValueError
        It is something else; the message has the field.
    """
    names = (value,) if isinstance(value, str) else value
    if is_unordered(names) or not isinstance(names, Iterable):
        raise TypeError(f"Launch: {field} is a sequence of names, got {type(value).__name__}")
    names = tuple(names)
    for item in names:
        _check_name(field, item)
    return names


def checked_args(args: object) -> dict[str, Any]:
    """Return what kernel parameters are given, by their names.

    Raises
    ------
    TypeError, ValueError
        A name is none, or a value none that a parameter can be given.
    """
    if not isinstance(args, Mapping):
        raise TypeError(f"Launch: args maps parameter names to values, got {type(args).__name__}")
    for name, value in args.items():
        _check_name("args", name)
        if isinstance(value, str):
            try:
                expr.parse(value)
            except ValueError as error:
                raise ValueError(f"Launch: args[{name!r}]: {error}") from None
        elif value is not None and not isinstance(value, _ARGS):
            raise TypeError(
                f"Launch: args[{name!r}] is an expression, a parameter's name or a constant (int, "
                "float, bool, bytes, None), a TensorMap, a Scratch or a Bound, got "
                f"{type(value).__name__}"
            )
    return dict(args)


def _check_name(field: str, name: object) -> None:
    if not isinstance(name, str):
        raise TypeError(f"Launch: {field}: a name is a str, got {type(name).__name__}")
    if not name.isidentifier():
        raise ValueError(f"Launch: {field}: {name!r} is not a parameter's name")
