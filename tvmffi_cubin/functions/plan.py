"""`Plan`: the tables of a module's launcher; `Exported`: a parameter of one of its functions."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..device.image import KernelSignature
from ..kernels.types import CxxType
from ..launches.expression import Read
from .assembly import Layout, Text

# The structs of launcher/plan.h, in its order. Members that the body fills in start as zeros.
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
_VALUE = 2  # in Param::Assumed, where 1 is a multiple

_MODULE_NAME = "__tvmffi_cubin_module"
BOUND_TABLE = "__tvmffi_cubin_bound"  # the table of bindable parameters
_ENTRIES = ("configure", "preload", "unload", "occupancy", "manifest")


class Exported(NamedTuple):
    """A parameter of an exported function, passed by callers or bound."""

    name: str
    type: CxxType  # of a known size
    ndim: int | None = None  # its tensor's rank, if declared
    strided: bool = False  # whether its tensor may have any strides
    in_expression: bool = False
    min_rank: int = 0  # from the dimensions that expressions read
    multiple_of: int = 1  # kernels assume that an integer or address is a multiple of it
    equal_to: int | None = None  # the value that they assume an integer to have
    required: bool = False  # for a bound parameter: whether something must be bound

    def merged(self, other: Exported) -> Exported:
        """Return a parameter that also suits another launch's parameter of this name."""
        ranks = {self.ndim, other.ndim} - {None}
        if len(ranks) > 1:
            raise ValueError(f"{self.name!r} has rank {other.ndim} here but {self.ndim} before")
        types = [a.type for a, b in ((self, other), (other, self)) if fits(a.type, b.type)]
        if not types:
            raise ValueError(
                f"{self.name!r} is '{other.type.text}' here but '{self.type.text}' before: rename "
                "it, or set its value with args="
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
        """Return it as a tensor parameter, which a raw parameter of a pointer's size may be."""
        if self.type.kind != "pointer" and (self.type.kind, self.type.size) != ("raw", 8):
            raise ValueError(f"{self.name!r} is '{self.type.text}', not a tensor")
        return self._replace(type=self.type._replace(kind="pointer"))

    def with_read(self, read: Read) -> Exported:
        """Return it with what an expression needs; raise a ValueError if it cannot be read."""
        if not read.field:
            if not is_integer(self.type):
                known = "integers, and .shape[i], .stride[i], .numel, .data_ptr of tensors"
                raise ValueError(f"{self.name!r} is '{self.type.text}'; expressions read {known}")
            return self._replace(in_expression=True)
        tensor = self.as_tensor()
        if read.field == "data_ptr":
            return tensor  # None and addresses have one, too
        needed = 0 if read.dim is None else max(-read.dim, read.dim + 1)
        return tensor._replace(
            in_expression=True,
            min_rank=max(self.min_rank, needed),
            strided=self.strided or read.field == "stride",
        )


def is_integer(type_: CxxType) -> bool:
    """Return whether expressions may read a type: an integer, a bool, or raw of integer size."""
    is_raw = type_.kind == "raw" and type_.size in (1, 2, 4, 8)
    return is_raw or type_.kind in ("int", "uint", "bool")


def fits(type_: CxxType, wanted: CxxType) -> bool:
    """Return whether any argument of one type is a valid value of another without conversion."""
    if type_.size != wanted.size or wanted.kind == "raw":
        return type_.size == wanted.size
    if type_.kind != wanted.kind or (type_.kind == "struct" and type_.text != wanted.text):
        return False
    dtypes, accepted = {*type_.dtypes}, {*wanted.dtypes}
    is_fitting = not accepted or (bool(dtypes) and dtypes <= accepted)
    return is_fitting and type_.align >= wanted.align


class Plan(Text):
    """The text of a module's unit: its tables and stubs, next to images and the manifest."""

    def __init__(self, files: Mapping[str, str], machine: str | None = None) -> None:
        super().__init__(machine)
        self.files = files  # the paths of images kept in files
        self.functions: dict[str, dict[str, Any]] = {}  # each one's entry in the manifest
        self.kernels: dict[KernelSignature, int] = {}  # the launched ones, numbered
        # Bindable parameters, by function (None: kernels that C++ launches) and name.
        self.slots: dict[tuple[str | None, str], Exported] = {}
        self.instances: dict[Any, Any] = {}  # see `exports`
        self._functions: list[str] = []  # rows

    def bound(self, function: str | None) -> list[list[str | bool]]:
        """Return the bindable parameters as JSON values: name, type and whether it is required."""
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
        """Return the number of a bindable parameter's slot, shared by a function's launches."""
        key = function, param.name
        self.slots[key] = self.slots.get(key, param).merged(param)
        return [*self.slots].index(key)

    def function(self, name: str, facts: dict[str, Any], rows: Sequence[str]) -> None:
        """Write a function with its instances' rows; `facts` is its entry in the manifest."""
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
            # The slots of kernels that C++ launches come last.
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
        """Return the row of a function's parameter."""
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
    """Return a type's `Kind` in launcher/plan.h."""
    is_map = type_.text in ("CUtensorMap", "CUtensorMap_st")
    return _KINDS.index("map" if is_map else type_.kind)
