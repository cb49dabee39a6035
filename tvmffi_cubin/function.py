"""`Function`: what an exported function checks, computes and launches, bound to its kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import condition, expr
from .exported import Exported
from .kernels.cubin import Kernel
from .kernels.types import CxxType, Param
from .launch import Launch
from .launch_json import launch_value
from .tensor_map import TensorMap

__all__ = [
    "BoundLaunch",
    "BoundParam",
    "Carried",
    "Computed",
    "Constant",
    "Formula",
    "Function",
    "KernelRef",
    "Mapped",
    "Requirement",
    "Scratched",
    "Source",
    "Target",
]


@dataclass(frozen=True)
class KernelRef:
    """A kernel of an embedded image, with what is known of its parameters.

    Attributes
    ----------
    image : str
        Name under which the image is embedded.
    kernel : Kernel
        What the image says.
    display : str
        The name as people write it.
    params : tuple of Param or None
        Names and types, None where they have to be declared.
    names_known : bool
        Whether the names are the source's own; else they are ``arg0``, ``arg1``, ...
    archs : tuple of str
        The architectures of the image that have this kernel, empty where all do.
    opaque : bool
        Whether it came without a source: declared types are checked against its sizes alone.
    least_params : int or None
        Of a kernel in a file, which is seen only when it is loaded, how many of the declared
        parameters it has at least; None of one that is embedded.
    by_part : bool
        Whether the name of one in a file may be a part of its kernel's.
    """

    image: str
    kernel: Kernel
    display: str
    params: tuple[Param, ...] | None
    names_known: bool = True
    archs: tuple[str, ...] = ()
    opaque: bool = False
    least_params: int | None = None
    by_part: bool = False

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells it from every other kernel of the module: its image and its symbol.

        Where it is only declared, with what is declared.
        """
        declared = ""
        if self.least_params is not None:
            sizes = [param.size for param in self.kernel.params]
            declared = f"{self.least_params} of {sizes}{', by part' if self.by_part else ''}"
        return self.image, self.kernel.name, declared


@dataclass(frozen=True)
class Formula:
    """An expression as it was written, and its tree over the function's parameters alone."""

    text: str
    tree: expr.Expr


@dataclass(frozen=True)
class Requirement:
    """A condition as it was written, and its tree over the function's parameters alone."""

    text: str
    tree: condition.Condition


@dataclass(frozen=True)
class Carried:
    """An attribute of a launch, by its name in `ATTRIBUTES`, with its one to three values."""

    field: str
    values: tuple[int | Formula | Requirement, ...]


@dataclass(frozen=True)
class Target:
    """Where the launches of a function go, as far as that is not the caller's or the tensors'.

    Attributes
    ----------
    stream, device : int, Formula or None
        The stream's handle, an address where it is that of a pointer; the device's ordinal.
    """

    stream: int | Formula | None
    device: int | Formula | None


@dataclass(frozen=True)
class Computed:
    """A kernel parameter that an expression gives."""

    type: CxxType
    size: int
    formula: Formula


@dataclass(frozen=True)
class Constant:
    """A kernel parameter that is always the same."""

    data: bytes


class _Figured:
    figures: Mapping[str, int | Formula]

    @property
    def formulas(self) -> dict[str, Formula]:
        """The figures that are expressions."""
        return {what: x for what, x in self.figures.items() if isinstance(x, Formula)}


@dataclass(frozen=True)
class Mapped(_Figured):
    """A kernel parameter that is a tensor's map.

    Attributes
    ----------
    name : str
        The kernel parameter's.
    tensor : str
        The exported parameter that the map is of.
    map : TensorMap
        What it is asked to be.
    figures : mapping of str to int or Formula
        By place, such as ``"box_dim[0]"``.
    """

    name: str
    tensor: str
    map: TensorMap
    figures: Mapping[str, int | Formula]


@dataclass(frozen=True)
class Scratched(_Figured):
    """A kernel parameter that is memory for the launch alone.

    Attributes
    ----------
    name : str
        The kernel parameter's.
    align : int
        What its address is a multiple of, in bytes.
    figures : mapping of str to int or Formula
        ``"bytes"`` and ``"bytes_per_block"``.
    """

    name: str
    align: int
    figures: Mapping[str, int | Formula]


@dataclass(frozen=True)
class BoundParam:
    """A kernel parameter that is neither passed nor computed, but bound.

    Attributes
    ----------
    slot : Exported
        What may be bound, under the name that it is bound by.
    required : bool
        Whether something has to be.
    """

    slot: Exported
    required: bool

    @property
    def name(self) -> str:
        """The name that it is bound by."""
        return self.slot.name

    def facts(self) -> list[Any]:
        """Return name, type and whether it is required, as JSON values."""
        return [self.name, self.slot.param.type.text, self.required]


Source = str | Computed | Constant | Mapped | Scratched | BoundParam
"""Where a kernel parameter comes from; a str is the name of an exported parameter."""


@dataclass(frozen=True)
class BoundLaunch:
    """One launch: its kernel, its figures and where the kernel's parameters come from.

    Attributes
    ----------
    sources : tuple of Source
        For each kernel parameter in order.
    figures : mapping of str to int or Formula
        By field, such as ``"grid.x"``.
    when : Requirement or None
        What must hold for the launch.
    attributes : tuple of Carried
        What it carries; further ones, by number, are the launch's own.
    target : Target or None
        Where it goes: the same for all launches of a function.
    """

    launch: Launch
    kernel: KernelRef
    sources: tuple[Source, ...]
    figures: Mapping[str, int | Formula]
    when: Requirement | None = None
    attributes: tuple[Carried, ...] = ()
    target: Target | None = None

    @property
    def maps(self) -> tuple[Mapped, ...]:
        """The tensor maps, in the order of the parameters."""
        return tuple(source for source in self.sources if isinstance(source, Mapped))

    @property
    def scratch(self) -> tuple[Scratched, ...]:
        """The parameters that are memory for the launch alone, in order."""
        return tuple(source for source in self.sources if isinstance(source, Scratched))

    @property
    def num_attributes(self) -> int:
        """The most attributes that the launch can carry."""
        return len(self.attributes) + len(self.launch.attributes or {})

    def facts(self) -> dict[str, Any]:
        """Return the launch as JSON values, with the kernel and the image that it turned out."""
        bound = {"kernel": self.kernel.kernel.name, "image": self.kernel.image}
        return {**bound, **launch_value(self.launch), **bound}


@dataclass(frozen=True)
class Function:
    """An exported function."""

    name: str
    params: tuple[Exported, ...]
    launches: tuple[BoundLaunch, ...]
    doc: str = ""
    slots: tuple[BoundParam, ...] = ()

    @property
    def target(self) -> Target | None:
        """Where its launches go, where that is said."""
        return self.launches[0].target

    @property
    def signature(self) -> str:
        """The function as C++ would declare it."""
        return f"{self.name}({self.declared_params})"

    @property
    def declared_params(self) -> str:
        """The parameters as C++ would declare them."""
        return ", ".join(f"{p.param.type.text} {p.name}" for p in self.params)

    def facts(self) -> dict[str, Any]:
        """Return what a shared object says of the function, as JSON values."""
        return {
            "launches": [bound.facts() for bound in self.launches],
            "doc": self.doc,
            "signature": self.signature,
            "params": [[p.name, p.param.type.text] for p in self.params],
            "bound": [slot.facts() for slot in self.slots],
            "fixes_block": all(bound.launch.block is not None for bound in self.launches),
            "callers_grid": self.launches[0].launch.callers_grid,
        }
