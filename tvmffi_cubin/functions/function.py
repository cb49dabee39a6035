"""`Function`: what an exported function checks, computes and launches, bound to its kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Any, NamedTuple

from ..kernels.cubin import Kernel
from ..kernels.types import CxxType, Param
from ..launches.expression import Tree
from ..launches.form import launch_value
from ..launches.launch import Launch
from ..launches.tensor_map import TensorMap
from .exported import Exported


class KernelRef(NamedTuple):
    """A kernel of an image, with what is known of its parameters."""

    # Name of the image.
    image: str
    # What the image says.
    kernel: Kernel
    # The name as people write it.
    display: str
    # Names and types, None where they have to be declared.
    params: tuple[Param, ...] | None
    # Whether the names are the source's own; else they are ``arg0``, ``arg1``, ...
    names_known: bool = True
    # The architectures of the image that have this kernel, empty where all do.
    archs: tuple[str, ...] = ()
    # Whether it came without a source: declared types are checked against its sizes alone.
    opaque: bool = False
    # Of a kernel in a file, which is seen only when it is loaded, how many of the declared
    # parameters it has at least; None of one that is embedded.
    least_params: int | None = None
    # Whether the name of one in a file may be a part of its kernel's.
    by_part: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it from every other kernel of the module; in a file, how it is declared."""
        sizes = () if self.least_params is None else tuple(x.size for x in self.kernel.params)
        return self.image, self.kernel.name, self.least_params, self.by_part, sizes


class Formula(NamedTuple):
    """An expression or condition as it was written, and its tree over the function's parameters."""

    text: str
    tree: Tree


Figure = int | Formula


class Carried(NamedTuple):
    """An attribute of a launch, by its name in `ATTRIBUTES`, with its one to three values."""

    field: str
    values: tuple[Figure, ...]


class Target(NamedTuple):
    """Where the launches of a function go, as far as that is not the caller's or the tensors'.

    The stream is its handle, an address where it is that of a pointer; the device its ordinal.
    """

    stream: Figure | None
    device: Figure | None


class Computed(NamedTuple):
    """A kernel parameter that an expression gives."""

    type: CxxType
    size: int
    formula: Formula


class Constant(NamedTuple):
    """A kernel parameter that is always the same."""

    data: bytes


class Mapped(NamedTuple):
    """A kernel parameter that is a tensor's map; figures by place, such as ``"box_dim[0]"``."""

    name: str
    tensor: str
    map: TensorMap
    figures: Mapping[str, Figure]


class Scratched(NamedTuple):
    """A kernel parameter that is memory for the launch alone."""

    name: str
    align: int
    bytes: Figure
    bytes_per_block: Figure


class BoundParam(NamedTuple):
    """A kernel parameter that is bound: under the slot's name; `required`: something has to be."""

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


class BoundLaunch(NamedTuple):
    """One launch: its kernel, its figures and where the kernel's parameters come from."""

    launch: Launch
    kernel: KernelRef
    # For each kernel parameter in order.
    sources: tuple[Source, ...]
    # By field, such as ``"grid.x"``.
    figures: Mapping[str, Figure]
    # What must hold for the launch.
    when: Formula | None = None
    # What it carries; further ones, by number, are the launch's own.
    attributes: tuple[Carried, ...] = ()
    # Where it goes: the same for all launches of a function.
    target: Target | None = None

    def facts(self) -> dict[str, Any]:
        """Return the launch as JSON values, with the kernel and the image that it turned out."""
        bound = {"kernel": self.kernel.kernel.name, "image": self.kernel.image}
        return {**bound, **launch_value(self.launch), **bound}


class Instance(NamedTuple):
    """One way to launch under a name: its parameters, its launches, what is bound for them."""

    name: str
    params: tuple[Exported, ...]
    launches: tuple[BoundLaunch, ...]
    slots: tuple[BoundParam, ...] = ()

    @property
    def target(self) -> Target | None:
        """Where its launches go, where that is said."""
        return self.launches[0].target

    @property
    def declared_params(self) -> str:
        """The parameters as C++ would declare them."""
        return ", ".join(f"{p.param.type.text} {p.name}" for p in self.params)

    @property
    def signature(self) -> str:
        """The function as C++ would declare it."""
        return f"{self.name}({self.declared_params})"

    @property
    def told(self) -> str:
        """What tells it from other instances: its kernels, its parameters, when it fits."""
        kernels = " + ".join(bound.kernel.display for bound in self.launches)
        conditions = [bound.when.text for bound in self.launches if bound.when]
        if len(conditions) > 1:
            conditions = [f"({text})" for text in conditions]
        when = f" when {' and '.join(conditions)}" if conditions else ""
        assumed = ", ".join(_assumptions(self.params))
        where = f" where {assumed}" if assumed else ""
        return f"{kernels}({self.declared_params}){where}{when}"

    def covers(self, other: Instance) -> bool:
        """Whether it fits whatever another one fits."""
        if any(bound.when for bound in self.launches) or len(self.params) != len(other.params):
            return False
        return all(one.covers(two) for one, two in zip(self.params, other.params, strict=True))

    def facts(self) -> dict[str, Any]:
        """Return what a shared object says of it, as JSON values."""
        return {
            "launches": [bound.facts() for bound in self.launches],
            "params": [[p.name, p.param.type.text] for p in self.params],
            "fixes_block": all(bound.launch.block is not None for bound in self.launches),
            "callers_grid": self.launches[0].launch.callers_grid,
        }


class Function(NamedTuple):
    """An exported function: one instance or, where `is_dispatch`, several that are tried in order.

    `slots` is what is bound, for all instances alike.
    """

    name: str
    instances: tuple[Instance, ...]
    doc: str = ""
    slots: tuple[BoundParam, ...] = ()
    is_dispatch: bool = False

    @property
    def launches(self) -> tuple[BoundLaunch, ...]:
        """The launches of all instances, in order."""
        return tuple(bound for instance in self.instances for bound in instance.launches)

    @property
    def signatures(self) -> tuple[str, ...]:
        """Each instance as C++ would declare it; of several with what tells it from the others."""
        if self.is_dispatch:
            return tuple(instance.told for instance in self.instances)
        return (self.instances[0].signature,)

    def facts(self) -> dict[str, Any]:
        """Return what a shared object says of the function, as JSON values."""
        instances = [instance.facts() for instance in self.instances]
        common = {
            "doc": self.doc,
            "signature": "\n".join(self.signatures),
            "bound": [slot.facts() for slot in self.slots],
        }
        if not self.is_dispatch:
            return {**instances[0], **common}
        for facts, signature in zip(instances, self.signatures, strict=True):
            facts["signature"] = signature
        columns = zip_longest(*(facts["params"] for facts in instances), fillvalue=())
        return {
            **common,
            "instances": instances,
            "params": [
                [" | ".join(dict.fromkeys(x[part] for x in column if x)) for part in (0, 1)]
                for column in columns
            ],
            "fixes_block": all(facts["fixes_block"] for facts in instances),
            "callers_grid": _common_grid([facts["callers_grid"] for facts in instances]),
        }


def _assumptions(params: Iterable[Exported]) -> Iterator[str]:
    """Yield what tells instances of the same types apart."""
    multiples: dict[int, list[str]] = {}
    for param in params:
        if param.param.ndim is not None:
            yield f"{param.name} has rank {param.param.ndim}"
        if param.equal_to is not None:
            yield f"{param.name} is {param.equal_to}"
        elif param.multiple_of > 1:
            multiples.setdefault(param.multiple_of, []).append(param.name)
    for number, names in multiples.items():
        verb = "is a multiple" if len(names) == 1 else "are multiples"
        yield f"{' and '.join(names)} {verb} of {number}"


def _common_grid(grids: list[dict[str, Any] | None]) -> dict[str, Any] | None:
    """Return what a caller's grid means for all instances; None where it is not all theirs.

    ``"meta"`` is None where they differ in it: which instance a call takes is not known before.
    """
    first, *others = grids
    if first is None or any(x is None or x["unit"] != first["unit"] for x in others):
        return None
    return first if all(x == first for x in others) else {**first, "meta": None}
