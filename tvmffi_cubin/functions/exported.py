"""`Exported`: a parameter of an exported function, and how C++ types go together."""

from __future__ import annotations

from typing import NamedTuple

from ..kernels.types import CxxType, Pointee
from ..launches.expression import Field, Name


class Exported(NamedTuple):
    """What an exported function takes, or what may be bound for it."""

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
    # Of one that is bound by its name and not passed, whether something has to be.
    required: bool = False

    @property
    def declaration(self) -> str:
        """The parameter as C++ declares it."""
        return f"{self.type.text} {self.name}"

    @property
    def bound_facts(self) -> list[str | bool]:
        """Of one that is bound, name, type and whether it is required, as JSON values."""
        return [self.name, self.type.text, self.required]

    def covers(self, other: Exported) -> bool:
        """Whether it takes every argument that another instance's parameter takes."""
        other_multiple = other.multiple_of if other.equal_to is None else other.equal_to
        is_wider = self.type.kind != "raw" and other.stands_for(self.type)
        return (
            (is_wider or self.type == other.type)
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
        if None not in (self.ndim, other.ndim) and self.ndim != other.ndim:
            here, before = f"of rank {other.ndim}", f"of rank {self.ndim}"
        elif both is None or self.type.size != other.type.size:
            here, before = (f"'{x.type.text}' of {x.type.size} bytes" for x in (other, self))
        else:
            return self._replace(
                type=both,
                ndim=other.ndim if self.ndim is None else self.ndim,
                strided=self.strided and other.strided,
                required=self.required or other.required,
            )
        raise ValueError(
            f"{self.name!r} is {here} here and {before} before: give it another name, or a value "
            "by args="
        )

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
        """Return it with what an expression needs of it; a ValueError says why that cannot be."""
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
        dim = read.dim
        needed = 0 if dim is None else -dim if dim < 0 else dim + 1
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
    (first, *known), (second, *wanted) = one.pointee, other.pointee
    same = first.removeprefix("const ") == second.removeprefix("const ")
    if not same and (known != wanted or not one.pointee.dtypes):
        return None
    return other if first.startswith("const ") and not second.startswith("const ") else one
