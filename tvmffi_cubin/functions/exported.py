"""`Exported`: a parameter of an exported function, and how C++ types go together."""

from __future__ import annotations

from typing import NamedTuple

from ..kernels.types import CxxType
from ..launches.expression import Read


class Exported(NamedTuple):
    """What an exported function takes, or what may be bound for it."""

    name: str
    type: CxxType  # of a known size
    ndim: int | None = None  # the rank of its tensor, where it was declared
    strided: bool = False  # whether its tensor may have any strides
    in_expression: bool = False
    min_rank: int = 0  # from the dimensions that expressions read
    multiple_of: int = 1  # what kernels assume that an integer, or an address, is a multiple of
    equal_to: int | None = None  # the one value that they assume of an integer
    required: bool = False  # of one that is bound and not passed, whether something has to be

    @property
    def declaration(self) -> str:
        """The parameter as C++ declares it."""
        return f"{self.type.text} {self.name}"

    @property
    def facts(self) -> list[str | bool]:
        """Of one that is bound, name, type and whether it is required, as JSON values."""
        return [self.name, self.type.text, self.required]

    def merged(self, other: Exported) -> Exported:
        """Return what is valid as another launch's parameter of this name too."""
        ranks = {self.ndim, other.ndim} - {None}
        types = [a.type for a, b in ((self, other), (other, self)) if fits(a.type, b.type)]
        if not types or len(ranks) > 1:
            raise ValueError(
                f"{self.name!r} is {other._typed} here and {self._typed} before: give it another "
                "name, or a value by args="
            )
        text = types[0].text
        if not (self.type.text.startswith("const ") and other.type.text.startswith("const ")):
            text = text.removeprefix("const ")
        return self._replace(
            type=types[0]._replace(text=text),
            ndim=next(iter(ranks), None),
            strided=self.strided and other.strided,
            required=self.required or other.required,
        )

    @property
    def _typed(self) -> str:
        rank = "" if self.ndim is None else f" and rank {self.ndim}"
        return f"'{self.type.text}' of {self.type.size} bytes{rank}"

    def as_tensor(self) -> Exported:
        """Return a parameter that is known by its size, that of a pointer, as one for tensors."""
        if (self.type.kind, self.type.size) != ("raw", 8):
            return self
        return self._replace(type=self.type._replace(kind="pointer"))

    def with_read(self, read: Read) -> Exported:
        """Return it with what an expression needs of it; a ValueError says why that cannot be."""
        text, tensor = self.type.text, self.as_tensor()
        if not read.field:
            if is_integer(self.type):
                return self._replace(in_expression=True)
            if self.type.kind == "pointer":
                raise ValueError(
                    f"{self.name!r} is a tensor; wanted one of its .shape[i], .stride[i], .numel"
                )
            raise ValueError(f"{self.name!r} is '{text}'; expressions are integer arithmetic")
        # Of a raw one that is read as an integer, no tensor can be made any more.
        if tensor.type.kind != "pointer" or (tensor is not self and self.in_expression):
            raise ValueError(f"{self.name!r} is '{text}', not a tensor")
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


def fits(type_: CxxType, wanted: CxxType) -> bool:
    """Whether any argument of one type is, as it is, a valid value of another."""
    if type_.size != wanted.size or wanted.kind == "raw":
        return type_.size == wanted.size
    if type_.kind != wanted.kind:
        return False
    if type_.kind != "pointer":
        return type_.kind != "struct" or type_.text == wanted.text
    dtypes, accepted = {*type_.dtypes}, {*wanted.dtypes}
    is_fitting = not accepted or (bool(dtypes) and dtypes <= accepted)
    return is_fitting and type_.align >= wanted.align
