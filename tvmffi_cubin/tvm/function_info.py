"""`FunctionInfo`: what TVM's table says of one kernel; validated when made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .dtypes import parse_dtype
from .launch_fields import read_fields
from .tags import read_tags

if TYPE_CHECKING:
    from ..launch import Launch

__all__ = ["FunctionInfo"]

_EXTRA_TAGS = (0, 1)


@dataclass(frozen=True)
class FunctionInfo:
    """A kernel of TVM's: what it takes, and what its launch takes after that.

    Parameters
    ----------
    name : str
        The kernel, and the function that is exported for it.
    arg_types : sequence of str
        Types of the kernel's parameters: ``"handle"``, ``"int32"``, ``"float32"``, ...
    launch_param_tags : sequence of str
        What a call passes after the kernel's arguments, in order (``"blockIdx.x"``,
        ``"threadIdx.x"``, ``"clusterCtaIdx.x"``, at the end ``"tir.use_dyn_shared_memory"``), and
        flags for which it passes nothing (``"tir.use_programtic_dependent_launch"``, as TVM spells
        it, ``"tir.use_cooperative_launch"``). The prefix may be ``"tirx."``, as in newer TVMs.
    arg_extra_tags : sequence of int
        1 for each parameter that is a tensor map, else 0; may be shorter than `arg_types`.
    cuda_launch_fields : sequence of str
        In the newest tables, in place of tags: ``"grid.x"``, ``"cooperative"``, ...
    cuda_kernel_attrs : mapping of str to int
        What the kernel was compiled for: ``"required_block_size"``, ``"max_registers"``, ...
    extra : mapping of str to object
        Fields of its JSON form that are not known here; written again with it.
    is_named : bool
        Whether its fields have its name, too, by which the table calls it: older TVMs leave it
        empty there. No part of equality.

    Raises
    ------
    TypeError, ValueError
        A value is of another type; a type or a tag is unknown, or there twice; the message names
        function and field.
    """

    name: str
    arg_types: tuple[str, ...] = ()
    launch_param_tags: tuple[str, ...] = ()
    arg_extra_tags: tuple[int, ...] = ()
    cuda_launch_fields: tuple[str, ...] = ()
    cuda_kernel_attrs: Mapping[str, int] = field(default_factory=dict, hash=False)
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    is_named: bool = field(default=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise TypeError(f"FunctionInfo: name is a str, got {type(self.name).__name__}")
        if not self.name:
            raise ValueError("FunctionInfo: name is empty")
        where = f"function {self.name[:200]!r}"
        for name in ("arg_types", "launch_param_tags", "cuda_launch_fields"):
            _set(self, name, _strings(f"{where}: {name}", getattr(self, name)))
        _set(self, "arg_extra_tags", _extra_tags(where, self.arg_extra_tags))
        _set(self, "cuda_kernel_attrs", _attributes(where, self.cuda_kernel_attrs))
        if not isinstance(self.extra, Mapping):
            raise TypeError(f"{where}: extra is a mapping, got {type(self.extra).__name__}")
        try:
            types = tuple(str(parse_dtype(text)) for text in self.arg_types)
            read_tags(self.launch_param_tags)
            read_fields(self.cuda_launch_fields)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
        _set(self, "arg_types", types)
        if len(self.arg_extra_tags) > len(types):
            raise ValueError(
                f"{where}: arg_extra_tags has {len(self.arg_extra_tags)} tags for {len(types)} "
                "arg_types"
            )
        if self.launch_param_tags and self.cuda_launch_fields:
            raise ValueError(
                f"{where}: there are launch_param_tags and cuda_launch_fields; a launch is told by "
                "the ones or the others"
            )

    @property
    def written_name(self) -> str:
        """The name as its fields have it."""
        return self.name if self.is_named else ""

    def is_tensor_map(self, index: int) -> bool:
        """Whether a parameter is a tensor map, passed by value."""
        tags = self.arg_extra_tags
        return self.arg_types[index] == "grid_constant" or (index < len(tags) and tags[index] == 1)

    def launch(self) -> Launch:
        """Return how the function launches, in TVM's calling convention.

        See `FunctionTable.launches`.
        """
        from .made_launch import made_launch

        return made_launch(self)


def _set(info: FunctionInfo, name: str, value: object) -> None:
    object.__setattr__(info, name, value)


def _strings(what: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise TypeError(f"{what} is a sequence of str, got {type(value).__name__}")
    items = tuple(value)
    for index, item in enumerate(items):
        if not isinstance(item, str):
            raise TypeError(f"{what}[{index}] is a str, got {type(item).__name__}")
    return items


def _extra_tags(where: str, value: Any) -> tuple[int, ...]:
    what = f"{where}: arg_extra_tags"
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise TypeError(f"{what} is a sequence of int, got {type(value).__name__}")
    items = tuple(value)
    for index, item in enumerate(items):
        if isinstance(item, bool) or not isinstance(item, int):
            raise TypeError(f"{what}[{index}] is an int, got {type(item).__name__}")
        if item not in _EXTRA_TAGS:
            raise ValueError(f"{what}[{index}] is {item}, which is unknown: 0, or 1 for a map")
    return items


def _attributes(where: str, value: Any) -> dict[str, int]:
    what = f"{where}: cuda_kernel_attrs"
    if not isinstance(value, Mapping):
        raise TypeError(f"{what} maps names to int, got {type(value).__name__}")
    for name, number in value.items():
        if not isinstance(name, str):
            raise TypeError(f"{what}: a name is a str, got {type(name).__name__}")
        if isinstance(number, bool) or not isinstance(number, int):
            raise TypeError(f"{what}[{name!r}] is an int, got {type(number).__name__}")
        if not -(2**63) <= number < 2**63:
            raise ValueError(f"{what}[{name!r}] is {number}, beyond 64 bits")
    return dict(value)
