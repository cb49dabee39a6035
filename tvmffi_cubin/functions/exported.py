"""`Exported`: one parameter of an exported function, and what its arguments must be."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from ..kernels.types import CxxType, Param, Pointee
from ..launches.expression import Field, Name


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
        if type_.kind in ("int", "uint") or (type_.kind == "raw" and type_.size in (1, 2, 4, 8)):
            return None
        if type_.kind == "pointer":
            return f"{read.name!r} is a tensor; wanted one of its .shape[i], .stride[i], .numel"
        return f"{read.name!r} is '{type_.text}'; expressions are integer arithmetic"

    def as_tensor(self) -> Exported:
        """Return a parameter that is known by its size, that of a pointer, as one for tensors."""
        type_ = replace(self.param.type, kind="pointer", pointee=Pointee("void"))
        return self._replace(param=replace(self.param, type=type_))

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
        same = one.kind != "struct" and replace(one, text=other.text) == other
        return one if same or one == other else None
    first, second = (x.text.removeprefix("const ") for x in (one.pointee, other.pointee))
    if "*" in first + second:
        return one if one == other else None
    is_known = bool(one.pointee.dtypes) and one.pointee.align == other.pointee.align
    if first != second and not (is_known and one.pointee.dtypes == other.pointee.dtypes):
        return None
    writes = not other.pointee.text.startswith("const ")
    return other if one.pointee.text.startswith("const ") and writes else one
