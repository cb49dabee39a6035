"""`Function`: what an exported function takes, computes and launches, bound to its kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any, NamedTuple

from ..kernels.types import CxxType, Pointee
from ..launches.expression import Field, Name
from ..launches.form import to_json
from ..launches.launch import Launch
from ..launches.tensor_map import TensorMap
from .signature import KernelSignature


class Exported(NamedTuple):
    """A parameter of an exported function."""

    name: str
    # Its size is known.
    type: CxxType
    # The rank of its tensor, where it was declared.
    ndim: int | None = None
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
    def declaration(self) -> str:
        """The parameter as C++ declares it."""
        return f"{self.type.text} {self.name}"

    def covers(self, other: Exported) -> bool:
        """Whether it takes every argument that another instance's parameter takes."""
        other_multiple = other.multiple_of if other.equal_to is None else other.equal_to
        return (
            other.stands_for(self.type)
            and (self.strided or not other.strided)
            and (other.in_expression or not self.in_expression)
            and self.ndim in (None, other.ndim)
            and self.min_rank <= (other.ndim or other.min_rank)
            and self.equal_to in (None, other.equal_to)
            and other_multiple % self.multiple_of == 0
        )

    def merged(self, other: Exported) -> Exported:
        """Return what fits another launch's parameter of this name too."""
        both = _common_type(self.type, other.type)
        if both is None or self.type.size != other.type.size:
            raise ValueError(
                f"is '{other.type.text}' of {other.type.size} bytes here and '{self.type.text}' of "
                f"{self.type.size} bytes in an earlier launch"
            )
        if None not in (self.ndim, other.ndim) and self.ndim != other.ndim:
            raise ValueError(
                f"has rank {other.ndim} here and rank {self.ndim} in an earlier launch"
            )
        return self._replace(type=both, ndim=other.ndim if self.ndim is None else self.ndim)

    def stands_for(self, type_: CxxType) -> bool:
        """Whether its argument, as it is, is a valid value of a kernel parameter of a type."""
        own = self.type
        if own.size != type_.size or type_.kind == "raw":
            return own.size == type_.size
        if not agree(own, type_):
            return False
        if own.kind == "struct":
            return own.text == type_.text
        if own.pointee is None or type_.pointee is None:
            return True
        given, wanted = set(own.pointee.dtypes), set(type_.pointee.dtypes)
        fits = not wanted or (bool(given) and given <= wanted)
        return fits and own.pointee.align >= type_.pointee.align

    def as_tensor(self) -> Exported:
        """Return a parameter that is known by its size, that of a pointer, as one for tensors."""
        if (self.type.kind, self.type.size) != ("raw", 8):
            return self
        return self._replace(type=self.type._replace(kind="pointer", pointee=Pointee("void")))

    def with_read(self, read: Name | Field) -> Exported:
        """Return it with what an expression needs of it; a ValueError says why it has that not."""
        type_ = self.type
        if isinstance(read, Name):
            if type_.kind == "pointer":
                raise ValueError(
                    f"{read.name!r} is a tensor; wanted one of its .shape[i], .stride[i], .numel"
                )
            if not is_integer(type_):
                raise ValueError(
                    f"{read.name!r} is '{type_.text}'; expressions are integer arithmetic"
                )
            return self._replace(in_expression=True)
        tensor = self.as_tensor()
        if tensor.type.kind != "pointer":
            raise ValueError(f"{read.tensor!r} is '{type_.text}', not a tensor")
        if type_.kind == "raw" and self.in_expression:
            raise ValueError(
                f"{read.tensor!r} cannot be a tensor, since an expression reads it as an int"
            )
        if read.field == "data_ptr":
            return tensor  # which None and addresses have too
        dim = -1 if read.dim is None else read.dim
        needed = 0 if read.dim is None else -dim if dim < 0 else dim + 1
        return tensor._replace(
            in_expression=True,
            min_rank=max(self.min_rank, needed),
            strided=self.strided or read.field == "stride",
        )


def is_integer(type_: CxxType) -> bool:
    """Whether an expression may read it: an integer, a bool, or what has the size of one."""
    is_raw = type_.kind == "raw" and type_.size in (1, 2, 4, 8)
    return is_raw or type_.kind in ("int", "uint", "bool")


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
    """A kernel of an image."""

    # Name of the image.
    image: str
    # What is known of the kernel; of one in a file, what its launch declares.
    signature: KernelSignature
    # The architectures of the image that have this kernel, empty where all do.
    archs: tuple[str, ...] = ()
    # Of a kernel in a file, which is seen only when it is loaded, how many of the declared
    # parameters it has at least; None of one that is embedded.
    least_params: int | None = None
    # Whether the name of one in a file may be a part of its kernel's.
    by_part: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it from every other kernel of the module; in a file, how it is declared."""
        sizes = () if self.least_params is None else self.signature.kernel.params
        return self.image, self.signature.symbol, self.least_params, self.by_part, sizes


class Formula(NamedTuple):
    """An expression or condition as it was written, and as postfix code over the parameters."""

    text: str
    code: bytes


Figure = int | Formula

# The targets of steps, as `Step` in launcher/plan.h has them.
WHEN, GRID, BLOCK, SMEM, DIMENSIONS, INTEGER, FLAG, EVENT, RAW, COMPUTED, MAP_WORD = range(11)


class Step(NamedTuple):
    """One step of evaluating a launch, as launcher/plan.h has it; of a raw attribute its bytes."""

    target: int
    figure: Figure | bytes
    axis: int = 0
    number: int = 0
    id: int = 0


class Computed(NamedTuple):
    """A kernel parameter that an expression gives."""

    type: CxxType
    figure: Figure


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
        return [self.name, self.slot.type.text, self.required]


Source = str | bytes | Computed | Mapped | Scratched | BoundParam
"""Where a kernel parameter comes from: an exported one by its name, a constant's bytes, ..."""


class BoundLaunch(NamedTuple):
    """One launch: its kernel, where the kernel's parameters come from, and what is evaluated."""

    launch: Launch
    kernel: KernelRef
    # For each kernel parameter in order.
    sources: tuple[Source, ...]
    # In the order in which they are done.
    steps: tuple[Step, ...]

    @property
    def conditions(self) -> list[str]:
        """What must hold for the launch."""
        return [self.launch.when] if self.launch.when else []

    @property
    def num_attributes(self) -> int:
        """The most attributes that it can carry."""
        return sum(DIMENSIONS <= x.target <= RAW and x.axis == 0 for x in self.steps)

    def facts(self) -> dict[str, Any]:
        """Return the launch as JSON values, with the kernel and the image that it turned out."""
        bound = {"kernel": self.kernel.signature.symbol, "image": self.kernel.image}
        return {**bound, **to_json(self.launch), **bound}


class Target(NamedTuple):
    """Where the launches of a function go, as far as that is not the caller's or the tensors'.

    The stream is its handle, or that of the parameter `pointer`; the device its ordinal.
    """

    stream: Figure | None
    device: Figure | None
    pointer: int = -1


class Instance(NamedTuple):
    """One way to launch under a name: its parameters, its launches, what is bound for them."""

    name: str
    params: tuple[Exported, ...]
    launches: tuple[BoundLaunch, ...]
    slots: tuple[BoundParam, ...] = ()
    # Where its launches go, where that is said.
    target: Target | None = None

    @property
    def declared_params(self) -> str:
        """The parameters as C++ would declare them."""
        return ", ".join(p.declaration for p in self.params)

    @property
    def signature(self) -> str:
        """The function as C++ would declare it."""
        return f"{self.name}({self.declared_params})"

    @property
    def told(self) -> str:
        """What tells it from other instances: its kernels, its parameters, when it fits."""
        kernels = " + ".join(bound.kernel.signature.display for bound in self.launches)
        conditions = [text for bound in self.launches for text in bound.conditions]
        if len(conditions) > 1:
            conditions = [f"({text})" for text in conditions]
        when = f" when {' and '.join(conditions)}" if conditions else ""
        assumed = ", ".join(self._assumptions())
        where = f" where {assumed}" if assumed else ""
        return f"{kernels}({self.declared_params}){where}{when}"

    def _assumptions(self) -> Iterator[str]:
        """Yield what tells instances of the same types apart."""
        for param in self.params:
            if param.ndim is not None:
                yield f"{param.name} has rank {param.ndim}"
            if param.equal_to is not None:
                yield f"{param.name} is {param.equal_to}"
            elif param.multiple_of > 1:
                yield f"{param.name} is a multiple of {param.multiple_of}"

    def covers(self, other: Instance) -> bool:
        """Whether it fits whatever another one fits."""
        if any(bound.conditions for bound in self.launches) or len(self.params) != len(
            other.params
        ):
            return False
        return all(one.covers(two) for one, two in zip(self.params, other.params, strict=True))

    def facts(self) -> dict[str, Any]:
        """Return what a shared object says of it, as JSON values."""
        return {
            "launches": [bound.facts() for bound in self.launches],
            "params": [[p.name, p.type.text] for p in self.params],
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


def _common_grid(grids: list[dict[str, Any] | None]) -> dict[str, Any] | None:
    """Return what a caller's grid means for all instances; None where it is not all theirs.

    ``"meta"`` is None where they differ in it: which instance a call takes is not known before.
    """
    first, *others = grids
    if first is None or any(x is None or x["unit"] != first["unit"] for x in others):
        return None
    return first if all(x == first for x in others) else {**first, "meta": None}
