"""`Plan`: the tables of a module's launcher; `Exported`: a parameter of one of its functions."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..device.image import KernelSignature
from ..kernels.types import CxxType
from ..launches.expression import Read
from .assembly import Layout, Text

# As structs of launcher/plan.h, in its order. What the body fills in begins as zeros.
STEP = Layout("P P q B B H H B")
NO_OPTION = 63
_PARAM = Layout("P P q  B B H B B H B B H B B H  I I i i B B B ? ?")
_IMAGE = Layout("P P P P P P P P P")
_KERNEL = Layout("P P P P P P Q I I I I")
_FUNCTION = Layout("P P P i i")
_MODULE = Layout("P P P P P P i i i")
_SLOT = Layout("P P P ? P")
_BOUND_TABLE = Layout("P i i P")

_KINDS = ("pointer", "int", "uint", "float", "bfloat", "bool", "struct", "raw", "map")
_VALUE = 2  # of Param::Assumed, which is 1 for a multiple

_MODULE_NAME = "__tvmffi_cubin_module"
BOUND_TABLE = "__tvmffi_cubin_bound"  # of what may be bound
_ENTRIES = ("configure", "preload", "unload", "occupancy", "manifest")


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

    def merged(self, other: Exported) -> Exported:
        """Return what is valid as another launch's parameter of this name too."""
        ranks = {self.ndim, other.ndim} - {None}
        if len(ranks) > 1:
            raise ValueError(f"{self.name!r} has rank {other.ndim} here and {self.ndim} before")
        types = [a.type for a, b in ((self, other), (other, self)) if fits(a.type, b.type)]
        if not types:
            raise ValueError(
                f"{self.name!r} is '{other.type.text}' here and '{self.type.text}' before: give it "
                "another name, or a value by args="
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

    def as_tensor(self) -> Exported:
        """Return a parameter for tensors, which one that is known by a pointer's size may be."""
        if self.type.kind != "pointer" and (self.type.kind, self.type.size) != ("raw", 8):
            raise ValueError(f"{self.name!r} is '{self.type.text}', not a tensor")
        return self._replace(type=self.type._replace(kind="pointer"))

    def with_read(self, read: Read) -> Exported:
        """Return it with what an expression needs of it; a ValueError says why that cannot be."""
        if not read.field:
            if not is_integer(self.type):
                known = "integers, and .shape[i], .stride[i], .numel, .data_ptr of tensors"
                raise ValueError(f"{self.name!r} is '{self.type.text}'; expressions read {known}")
            return self._replace(in_expression=True)
        tensor = self.as_tensor()
        if read.field == "data_ptr":
            return tensor  # which None and addresses have too
        needed = 0 if read.dim is None else max(-read.dim, read.dim + 1)
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
    if type_.kind != wanted.kind or (type_.kind == "struct" and type_.text != wanted.text):
        return False
    dtypes, accepted = {*type_.dtypes}, {*wanted.dtypes}
    is_fitting = not accepted or (bool(dtypes) and dtypes <= accepted)
    return is_fitting and type_.align >= wanted.align


class Plan(Text):
    """The text of a module's unit: its tables and stubs, beside images and the manifest."""

    def __init__(self, files: Mapping[str, str], machine: str | None = None) -> None:
        super().__init__(machine)
        self.files = files  # the paths of images that lie in files
        self.functions: dict[str, dict[str, Any]] = {}  # what a manifest says of each
        self.kernels: dict[KernelSignature, int] = {}  # those that are launched, numbered
        # What may be bound, by function (None: kernels that C++ launches) and name.
        self.slots: dict[tuple[str | None, str], Exported] = {}
        self.instances: dict[Any, Any] = {}  # see `exports`
        self._functions: list[str] = []  # rows

    def bound(self, function: str | None) -> list[list[str | bool]]:
        """Return what may be bound: name, type and whether it is required, as JSON values."""
        found = [slot for (owner, _), slot in self.slots.items() if owner == function]
        return [[x.name, x.type.text, x.required] for x in found]

    @property
    def is_empty(self) -> bool:
        """Whether nothing needs the launcher."""
        return not self.functions and not self.slots

    def kernel(self, signature: KernelSignature) -> str:
        """Return the label of a kernel's row."""
        number = self.kernels.setdefault(signature, len(self.kernels))
        return f".Lkernels+{number * _KERNEL.size}"

    def slot(self, function: str | None, param: Exported) -> int:
        """Return the number of what may be bound by a name, for all launches of a function."""
        key = function, param.name
        self.slots[key] = self.slots.get(key, param).merged(param)
        return [*self.slots].index(key)

    def function(self, name: str, facts: dict[str, Any], rows: Sequence[str]) -> None:
        """Write a function of some instances; `facts` is what a manifest says of it."""
        label = f".Lfunctions+{len(self._functions) * _FUNCTION.size}"
        text = "\n\n".join(filter(None, [facts["signature"], facts["doc"]]))
        counts = len(rows), len(facts["params"])
        row = _FUNCTION.row(self.string(name), self.string(text), self.table(rows), *counts)
        self._functions.append(row)
        self.functions[name] = facts
        self.stub(name, "tvmffi_cubin_call", label)
        self.stub(f"_doc_{name}", "tvmffi_cubin_doc", label)

    def close(self) -> None:
        """Write the module's own tables."""
        images = [*dict.fromkeys([*(x.image for x in self.kernels), *self.files])]
        kernels = [self._kernel_row(x, images.index(x.image)) for x in self.kernels]
        self.named(".Limages", map(self._image_row, images), is_writable=True)
        self.named(".Lkernels", kernels, is_writable=True)
        self.named(".Lfunctions", self._functions)
        if self.slots:
            slots = []
            for (function, _), slot in self.slots.items():
                owner, param = function and self.string(function), self.table([self.param(slot)])
                zeros = self.data(bytes(slot.type.size or 0))
                slots.append(_SLOT.row(owner, param, zeros, slot.required, None))
            self.named(".Lslots", slots, is_writable=True)
            # Those of kernels that C++ launches come last.
            bound = _BOUND_TABLE.row(".Lslots", len(slots), len(self.bound(None)), None)
            self.named(BOUND_TABLE, [bound], is_writable=True)
        row = _MODULE.row(
            *(".Limages", ".Lkernels", ".Lfunctions", BOUND_TABLE if self.slots else None),
            *(".Lmanifest", ".Lmanifest_end"),
            *(len(images), len(kernels), len(self._functions)),
        )
        self.named(_MODULE_NAME, [row])
        others = {"bind": self.slots, "set_image_file": self.files}
        for name in (*_ENTRIES, *(entry for entry, needed in others.items() if needed)):
            self.stub(f"_tvmffi_cubin_{name}", f"tvmffi_cubin_{name}", _MODULE_NAME)

    def _image_row(self, name: str) -> str:
        path = self.files.get(name)
        table = None if path else f"__tvmffi_cubin_image_{name}"
        place = self.string(path) if path else None
        return _IMAGE.row(table, *[None] * 3, self.string(name), place, *[None] * 3)

    def _kernel_row(self, signature: KernelSignature, image: int) -> str:
        kernel, archs = signature.kernel, ", ".join(signature.archs)
        sizes = kernel.param_sizes if signature.image in self.files else ()
        return _KERNEL.row(
            *(f".Limages+{image * _IMAGE.size}", self.string(kernel.name)),
            *(self.string(signature.name.display), self.string(archs) if archs else None),
            *(self.data(struct.pack(f"<{len(sizes)}I", *sizes)) if sizes else None, None, 0),
            *((kernel.grid_in_clusters and kernel.cluster) or (0, 0, 0)),
            len(sizes),
        )

    def param(self, exported: Exported) -> str:
        """Return the row of what a function takes."""
        type_, dtypes = exported.type, exported.type.dtypes
        cells = [x for code, bits in dtypes for x in (code, bits, 1)] + [0] * 3 * (4 - len(dtypes))
        assumed = _VALUE if exported.equal_to is not None else exported.multiple_of > 1
        align = max(type_.align, exported.multiple_of)
        rank = -1 if exported.ndim is None else exported.ndim
        return _PARAM.row(
            *(self.string(exported.name), self.string(type_.text)),
            *(exported.equal_to, *cells, type_.size, align, exported.min_rank, rank),
            *(kind_of(type_), assumed, len(dtypes), exported.strided, exported.in_expression),
        )


def kind_of(type_: CxxType) -> int:
    """Return a type's `Kind`, as launcher/plan.h has it."""
    is_map = type_.text in ("CUtensorMap", "CUtensorMap_st")
    return _KINDS.index("map" if is_map else type_.kind)
