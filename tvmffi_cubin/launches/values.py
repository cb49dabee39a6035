"""What `Launch(args=...)` gives besides expressions, constants and tensor maps: `Scratch`, `Bound`.

And `ModuleParam`, a parameter that the module binds in all its kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, NamedTuple

from .figures import Figure, check_figure, plain

_MOST = 2**48
_MOST_ALIGN = 2**20

# What `Module.bind` has keywords for.
_TAKEN = ("device",)


@dataclass(frozen=True)
class Scratch:
    """Device memory that is allocated for one launch and given back after it, in stream order.

    It is ``bytes + bytes_per_block * (blocks of the grid)`` large, and not initialised; where that
    is 0, the kernel gets a null pointer. It comes from the allocator of the tensors that the
    function is called with, where they have one (torch's), and from ``cuMemAllocAsync`` otherwise:
    where they have none, where the launch goes to another stream than the one that is current for
    them, and where it may overlap with the launch before it (programmatic dependent launch).

    Parameters
    ----------
    bytes : int or str
        Size in bytes, or an expression that gives it.
    bytes_per_block : int or str
        Size in bytes for each block of the grid, or an expression.
    align : int
        What its address is a multiple of, in bytes; a power of two.

    Raises
    ------
    TypeError, ValueError
        A figure is of the wrong type or no expression, or `align` is no power of two.
    """

    bytes: Figure = 0
    bytes_per_block: Figure = 0
    align: int = 256

    def __post_init__(self) -> None:
        for name, figure in self.figures():
            object.__setattr__(self, name, plain(figure))
            check_figure(f"Scratch: {name}", plain(figure), most=_MOST)
        align = plain(self.align)
        if isinstance(align, bool) or not isinstance(align, int):
            raise TypeError(f"Scratch: align is an int, got {type(align).__name__}")
        if not 1 <= align <= _MOST_ALIGN or align & (align - 1):
            raise ValueError(
                f"Scratch: align is {align}, wanted a power of two from 1 to {_MOST_ALIGN}"
            )
        object.__setattr__(self, "align", align)

    def figures(self) -> Iterator[tuple[str, Figure]]:
        """Yield each figure with its field's name."""
        yield "bytes", self.bytes
        yield "bytes_per_block", self.bytes_per_block

    def with_figures(self, change: Callable[[str, Figure], Figure]) -> Scratch:
        """Return it with each figure changed; `change` gets its field's name and the figure."""
        changed: dict[str, Any] = {name: change(name, x) for name, x in self.figures()}
        return replace(self, **changed)


@dataclass(frozen=True)
class Bound:
    """A kernel parameter that callers do not pass: ``Launch(args={"counters": Bound()})``.

    ``mod.bind("k", counters=tensor)`` sets it, for as long as nothing else is bound. Until then a
    null pointer or zero is passed.

    Parameters
    ----------
    name : str, optional
        What it is bound by. Default: the parameter's own name.
    required : bool
        A call that finds nothing bound is a LaunchError.

    Raises
    ------
    TypeError, ValueError
        The name is none.
    """

    name: str | None = None
    _: KW_ONLY
    required: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str | None):
            raise TypeError(f"Bound: name is a str, got {type(self.name).__name__}")
        if self.name is not None and not self.name.isidentifier():
            raise ValueError(f"Bound: {self.name!r} is no name that mod.bind could take")
        if self.name in _TAKEN:
            raise ValueError(
                f"Bound: {self.name!r} has a meaning of its own in mod.bind({self.name}=...): "
                "choose another name"
            )
        if not isinstance(self.required, bool):
            raise TypeError(f"Bound: required is a bool, got {type(self.required).__name__}")


class ModuleParam(NamedTuple):
    """One of `bound_params`: the last parameters of all kernels of a module, which it binds."""

    # Its name and whether something has to be bound.
    bound: Bound
    # Its C++ declaration; empty where the kernels tell its type.
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
        from .form import argument_value

        return argument_value(self.given)


def module_params(value: Any) -> tuple[ModuleParam, ...]:
    """Return `bound_params` in one form."""
    if value is None:
        return ()
    given = (value,) if isinstance(value, str | Bound) else value
    if isinstance(given, Set | Mapping) or not isinstance(given, Iterable):
        raise TypeError(
            f"bound_params is a sequence of names in the kernels' order, got {type(value).__name__}"
        )
    params = tuple(map(_module_param, given))
    names = [param.name for param in params]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"bound_params names {twice!r} twice")
    return params


def _module_param(value: Any) -> ModuleParam:
    if isinstance(value, Bound):
        if value.name is None:
            raise ValueError('bound_params: a Bound there has a name, as in Bound("counters")')
        return ModuleParam(value)
    if not isinstance(value, str):
        raise TypeError(f"bound_params holds str and Bound, got {type(value).__name__}")
    if value.isidentifier():
        return ModuleParam(Bound(value))
    from ..kernels.types import parse_params

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
