"""`Function`: what an exported function checks, computes and launches, bound to its kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Any, NamedTuple

from ..kernels.cubin import Kernel
from ..kernels.types import CxxType, Param, Pointee
from ..launches.expression import Field, Name, Tree
from ..launches.form import to_json
from ..launches.launch import Launch
from ..launches.tensor_map import TensorMap


class Exported(NamedTuple):
    """A parameter of an exported function."""

    # Its name, type and, where it was declared, its tensor's rank.
    param: Param
    # Of the kernel parameter, in bytes.
    size: int
    # Whether its tensor may have any strides.
    strided: bool = False
    # Whether an expression reads it.
    in_expression: bool = False
    # Least rank of its tensor, from the dimensions that expressions read.
    min_rank: int = 0
    # What the kernels assume that an integer, or a pointer's address, is a multiple of.
    multiple_of: int = 1
    # The one value that they assume of an integer.
    equal_to: int | None = None

    @property
    def name(self) -> str:
        """The parameter's name."""
        return self.param.name

    @property
    def known_multiple(self) -> int:
        """A number that every argument is a multiple of."""
        return self.multiple_of if self.equal_to is None else self.equal_to

    def covers(self, other: Exported) -> bool:
        """Whether it takes every argument that another parameter of its type takes."""
        mine, theirs = self.param, other.param
        return (
            mine.type == theirs.type
            and self.size == other.size
            and (self.strided or not other.strided)
            and (other.in_expression or not self.in_expression)
            and mine.ndim in (None, theirs.ndim)
            and self.min_rank <= (theirs.ndim or other.min_rank)
            and self.equal_to in (None, other.equal_to)
            and other.known_multiple % self.multiple_of == 0
        )

    def merged(self, param: Param, size: int) -> Exported:
        """Return what fits another launch's parameter of this name too."""
        both = _common_type(self.param.type, param.type)
        if both is None or self.size != size:
            raise ValueError(
                f"is '{param.type.text}' of {size} bytes here and '{self.param.type.text}' of "
                f"{self.size} bytes in an earlier launch"
            )
        ranks = {self.param.ndim, param.ndim} - {None}
        if len(ranks) > 1:
            raise ValueError(
                f"has rank {param.ndim} here and rank {self.param.ndim} in an earlier launch"
            )
        ndim = next(iter(ranks), None)
        return self._replace(param=Param(self.name, both, ndim))

    def stands_for(self, type_: CxxType, size: int) -> bool:
        """Whether its argument, as it is, is a valid value of another kernel parameter."""
        own = self.param.type
        if type_.kind == "raw":
            return self.size == size
        if self.size != size or not agree(own, type_):
            return False
        if own.kind == "struct":
            return own.text == type_.text
        if own.pointee is None or type_.pointee is None:
            return True
        given, wanted = set(own.pointee.dtypes), set(type_.pointee.dtypes)
        fits = not wanted or (bool(given) and given <= wanted)
        return fits and own.pointee.align >= type_.pointee.align

    def misread(self, read: Name | Field) -> str | None:
        """Return what is wrong with an expression that reads it so; None where nothing is."""
        type_ = self.param.type
        if isinstance(read, Field):
            if type_.kind == "pointer":
                return None
            if type_.kind == "raw" and type_.size == 8:
                if not self.in_expression:
                    return None
                return f"{read.tensor!r} cannot be a tensor, since an expression reads it as an int"
            return f"{read.tensor!r} is '{type_.text}', not a tensor"
        if type_.kind in ("int", "uint", "bool") or (
            type_.kind == "raw" and type_.size in (1, 2, 4, 8)
        ):
            return None
        if type_.kind == "pointer":
            return f"{read.name!r} is a tensor; wanted one of its .shape[i], .stride[i], .numel"
        return f"{read.name!r} is '{type_.text}'; expressions are integer arithmetic"

    def as_tensor(self) -> Exported:
        """Return a parameter that is known by its size, that of a pointer, as one for tensors."""
        type_ = self.param.type._replace(kind="pointer", pointee=Pointee("void"))
        return self._replace(param=self.param._replace(type=type_))

    def with_read(self, read: Name | Field) -> Exported:
        """Return it with what an expression needs of it noted."""
        if isinstance(read, Field) and self.param.type.kind == "raw":
            return self.as_tensor().with_read(read)
        if isinstance(read, Field) and read.field == "data_ptr":
            return self  # which None and addresses have too
        if isinstance(read, Name) or read.dim is None:
            return self._replace(in_expression=True)
        needed = -read.dim if read.dim < 0 else read.dim + 1
        return self._replace(
            in_expression=True,
            min_rank=max(self.min_rank, needed),
            strided=self.strided or read.field == "stride",
        )


def agree(one: CxxType, other: CxxType) -> bool:
    """Whether two types are of one kind, such as two pointers, whatever they point to."""
    return one.kind == other.kind and (one.kind != "float" or one.scalar == other.scalar)


def contradicts(declared: CxxType, real: CxxType) -> bool:
    """Whether a declaration says something else than what the source is known to have.

    A struct's name tells nothing, nor does a size, nor does a pointer to a type without dtypes,
    such as ``void*``.
    """
    if {"struct", "raw"} & {declared.kind, real.kind}:
        return False
    if not agree(declared, real):
        return True
    if declared.pointee is None or real.pointee is None:
        return False
    one, other = set(declared.pointee.dtypes), set(real.pointee.dtypes)
    return bool(one and other and not one & other)


def _common_type(one: CxxType, other: CxxType) -> CxxType | None:
    """Return the type that does for both: the same, or a pointer that one launch only reads."""
    if "raw" in (one.kind, other.kind):
        return other if one.kind == "raw" else one
    if one.pointee is None or other.pointee is None:
        # However they are spelled, `long long` and `int64_t` are one type; structs are their names.
        same = one.kind != "struct" and one._replace(text=other.text) == other
        return one if same or one == other else None
    first, second = (x.text.removeprefix("const ") for x in (one.pointee, other.pointee))
    if "*" in first + second:
        return one if one == other else None
    is_known = bool(one.pointee.dtypes) and one.pointee.align == other.pointee.align
    if first != second and not (is_known and one.pointee.dtypes == other.pointee.dtypes):
        return None
    writes = not other.pointee.text.startswith("const ")
    return other if one.pointee.text.startswith("const ") and writes else one


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
        return {**bound, **to_json(self.launch), **bound}


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
