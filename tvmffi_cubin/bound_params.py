"""`ModuleParam`: a last parameter of all kernels of a module that is bound, as it was asked for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .bound import Bound
from .figures import is_unordered

__all__ = ["ModuleParam", "module_params"]


@dataclass(frozen=True)
class ModuleParam:
    """One of `bound_params`.

    Attributes
    ----------
    bound : Bound
        Its name and whether something has to be bound.
    declared : str
        Its C++ declaration; empty where the kernels tell its type.
    """

    bound: Bound
    declared: str = ""

    @property
    def name(self) -> str:
        """What it is bound by."""
        return self.bound.name or ""

    @property
    def given(self) -> str | Bound:
        """What `module_params` makes it of."""
        return self.bound if self.bound.required else self.declared or self.name

    def value(self) -> Any:
        """Return it as a JSON value, as a description has it."""
        from .launch_json import argument_value

        return argument_value(self.given)


def module_params(value: Any) -> tuple[ModuleParam, ...]:
    """Return `bound_params` in one form.

    Raises
    ------
    TypeError, ValueError
        One is neither a name, nor a declaration, nor a Bound with a name; or two have one name.
    """
    if value is None:
        return ()
    given = (value,) if isinstance(value, str | Bound) else value
    if isinstance(given, bytes) or is_unordered(given) or not isinstance(given, Iterable):
        raise TypeError(
            f"bound_params is a sequence of names in the kernels' order, got {type(value).__name__}"
        )
    params = tuple(map(_param, given))
    names = [param.name for param in params]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"bound_params names {twice!r} twice")
    return params


def _param(value: Any) -> ModuleParam:
    if isinstance(value, Bound):
        if value.name is None:
            raise ValueError('bound_params: a Bound there has a name, as in Bound("counters")')
        return ModuleParam(value)
    if not isinstance(value, str):
        raise TypeError(f"bound_params holds str and Bound, got {type(value).__name__}")
    if value.isidentifier():
        return ModuleParam(Bound(value))
    from .kernels.types import parse_params

    try:
        declared = parse_params(value)
    except ValueError as error:
        raise ValueError(f"bound_params: {value!r}: {error}") from None
    if len(declared) != 1 or not declared[0].name:
        raise ValueError(
            f"bound_params: {value!r} is neither a name nor one parameter's declaration, such as "
            '"unsigned long long* counters"'
        )
    return ModuleParam(Bound(declared[0].name), value)
