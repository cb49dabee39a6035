"""The plan of a module: tables for the launcher's body, laid out as launcher/plan.h has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..kernels.cubin import Kernel
from ..kernels.types import CxxType
from ..launches.attributes import ATTRIBUTES
from ..launches.expression import Field, Name, names
from ..launches.tensor_map import DATA_TYPES, INTERLEAVES, L2_PROMOTIONS, OOB_FILLS, SWIZZLES
from .assembly import Layout, Text
from .function import (
    BoundLaunch,
    BoundParam,
    Carried,
    Computed,
    Constant,
    Exported,
    Figure,
    Formula,
    Function,
    Instance,
    KernelRef,
    Mapped,
    Scratched,
    Target,
)
from .postfix import postfix

_PARAM = Layout("PPPq" + "BBH" * 4 + "IIiiBBB??")
_STEP = Layout("PPqBBHI")
_IMAGE = Layout("PPP24s8sP")
_DECLARED = Layout("Pii?")
_KERNEL = Layout("PPPPPPI3I?I256s64si")
_SOURCE = Layout("BiP")
_LAUNCH = Layout("PPPiiiii??")
_MAP = Layout("PPii" + "BbBBBB2xiiii" + "27q")
_SCRATCH = Layout("P" + "PPq" * 2 + "I")
_TARGET = Layout("PPq" * 2 + "i??")
_INSTANCE = Layout("PPPPP6i")
_FUNCTION = Layout("PPPiiP")
_SLOT = Layout("PPP?P")
_BOUND_KERNEL = Layout("PPPi")
_BOUND_TABLE = Layout("PiiPi8s")
_MODULE = Layout("PPPPPP4i")

_KINDS = {
    "pointer": 0, "int": 1, "uint": 2, "float": 3, "bool": 5, "struct": 6, "raw": 7
}  # fmt: skip
_BFLOAT, _MAP_KIND = 4, 8
_TENSOR_MAPS = ("CUtensorMap", "CUtensorMap_st")
_DTYPE_NAMES = (
    *("int", "uint", "float", "handle", "bfloat", "complex", "bool"),
    *("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"),
    *("float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
    *("float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"),
)
_DL_BOOL = 6
_NOTHING, _MULTIPLE, _VALUE = range(3)
_ARGUMENT, _COMPUTED, _CONSTANT, _TENSOR_MAP, _SCRATCH_MEMORY, _BOUND = range(6)
_WHEN, _GRID, _BLOCK, _SMEM, _DIMENSIONS, _INTEGER, _FLAG, _EVENT, _RAW, _COMPUTE, _MAP_WORD = (
    range(11)
)
_BY_KIND = {"dimensions": _DIMENSIONS, "integer": _INTEGER, "flag": _FLAG, "event": _EVENT}

# The words of a `TensorMapSpec`: where each field begins.
_WORDS = {
    "box_dim": 0, "element_strides": 5, "lower_corner": 10, "upper_corner": 13,
    "channels_per_pixel": 16, "pixels_per_column": 17, "global_dim": 18, "global_strides": 23,
}  # fmt: skip

_SMALL_SMEM = 48 * 1024
_BLOCK_THREADS = 1024
_QUARTER_REGISTERS = 16 * 1024

_MODULE_ENTRIES = ("configure", "preload", "unload", "occupancy", "manifest")
_SLOT_ENTRIES = ("bind", "bound")


class Contents(NamedTuple):
    """What a launcher has."""

    # What it exports.
    functions: Sequence[Function]
    # Names of the embedded images that the functions use.
    images: Sequence[str]
    # What may be bound for the kernels that C++ functions launch.
    trailing: Sequence[BoundParam] = ()
    # Those kernels, by the name of their image.
    launched: Mapping[str, Sequence[Kernel]] = {}
    # Images that lie in files: names and paths.
    files: Mapping[str, str] = {}


def write_plan(text: Text, contents: Contents) -> None:
    """Write a module's tables and stubs; the manifest is embedded by the same unit."""
    _Writer(text, contents).write()


def kernel_rows(functions: Sequence[Function]) -> tuple[KernelRef, ...]:
    """Return the kernels that functions launch, in the order of the module's table."""
    kernels: dict[tuple[object, ...], KernelRef] = {}
    for function in functions:
        for bound in function.launches:
            kernels.setdefault(bound.kernel.key, bound.kernel)
    return tuple(kernels.values())


class _Writer:
    def __init__(self, text: Text, contents: Contents) -> None:
        self.text = text
        self.contents = contents
        self.kernels = kernel_rows(contents.functions)
        self.kernel_table = text.label()
        self.kernel_labels = {
            ref.key: f"{self.kernel_table}+{number * _KERNEL.size}"
            for number, ref in enumerate(self.kernels)
        }
        self.images = {name: text.label() for name in (*contents.images, *contents.files)}
        self.slots = [(f.name, slot) for f in contents.functions for slot in f.slots]
        self.bound = "__tvmffi_cubin_bound" if self.slots or contents.trailing else None
        self.module = "__tvmffi_cubin_module"
        self.params: dict[Exported, str] = {}

    def write(self) -> None:
        """Write everything."""
        text, contents = self.text, self.contents
        for name, label in self.images.items():
            text.put(label, [self.image(name)], is_writable=True)
        if self.kernels:
            kernels = map(self.kernel, self.kernels)
            text.put(self.kernel_table, kernels, is_writable=True)
        functions = text.label()
        rows = [self.function(function) for function in contents.functions]
        for number, function in enumerate(contents.functions):
            table = f"{functions}+{number * _FUNCTION.size}"
            text.stub(function.name, "tvmffi_cubin_call", table)
            text.stub(f"_doc_{function.name}", "tvmffi_cubin_doc", table)
        text.put(functions, rows)
        if self.bound is not None:
            self.write_bound()
        text.hidden(
            self.module,
            _MODULE.row(
                text.table([f"    .quad {','.join(self.images.values())}"] if self.images else []),
                self.kernel_table if self.kernels else None,
                functions if rows else None,
                self.bound,
                ".Lmanifest",
                ".Lmanifest_end",
                len(self.images),
                len(self.kernels),
                len(rows),
                0,
            ),
        )
        entries = [*_MODULE_ENTRIES, *(_SLOT_ENTRIES if self.bound else ())]
        entries += ["set_image_file"] if contents.files else []
        for name in entries:
            text.stub(f"_tvmffi_cubin_{name}", f"tvmffi_cubin_{name}", self.module)

    def image(self, name: str) -> str:
        path = self.contents.files.get(name)
        table: str | None = f"__tvmffi_cubin_image_{name}"
        if path is not None:
            empty = self.text.string("")
            table = self.text.table([f"    .quad 0,0,{empty},{empty}"])
        return _IMAGE.row(
            table, self.text.string(name), path and self.text.string(path), b"", b"", None
        )

    def kernel(self, ref: KernelRef) -> str:
        text, kernel, declared = self.text, ref.kernel, None
        if ref.least_params is not None:
            sizes = self.sizes(kernel)
            count = len(kernel.params)
            row = _DECLARED.row(sizes, count, ref.least_params, ref.by_part)
            declared = text.table([row])
        return _KERNEL.row(
            self.images[ref.image],
            text.string(kernel.name),
            text.string(ref.display),
            text.string(", ".join(ref.archs)) if ref.archs else None,
            declared,
            None,
            # Of one in a file it is read when it is loaded, which is before any launch.
            _max_threads(kernel) if declared is None else 0,
            *(kernel.cluster or (0, 0, 0)),
            kernel.grid_in_clusters,
            # Of an image without registers it is not known: any dynamic part is opted into.
            max(0, _SMALL_SMEM - kernel.static_smem_bytes) if kernel.registers else 0,
            b"",
            b"",
            -1,
        )

    def sizes(self, kernel: Kernel) -> str | None:
        """Return the label of the sizes of a kernel's parameters; None where it has none."""
        if not kernel.params:
            return None
        data = b"".join(param.size.to_bytes(4, "little") for param in kernel.params)
        return self.text.data(data, align=4)

    def function(self, function: Function) -> str:
        instances, signatures = function.instances, function.signatures
        slots = {slot.name: n for n, (name, slot) in enumerate(self.slots) if name == function.name}
        rows = [
            _Instance(self, instance, slots).row(signature)
            for instance, signature in zip(instances, signatures, strict=True)
        ]
        doc = "\n\n".join(filter(None, ["\n".join(signatures), function.doc]))
        return _FUNCTION.row(
            self.text.string(function.name),
            self.text.string(doc),
            self.text.table(rows),
            len(rows),
            max(len(instance.params) for instance in instances),
            self.module,
        )

    def param(self, exported: Exported) -> str:
        # Many functions have the same ones.
        if exported not in self.params:
            self.params[exported] = self._param(exported)
        return self.params[exported]

    def _param(self, exported: Exported) -> str:
        text, param, type_ = self.text, exported.param, exported.param.type
        pointee = type_.pointee
        dtypes = pointee.dtypes if pointee else ()
        cells = [x for code, bits in dtypes for x in (code, bits, 1)] + [0] * 3 * (4 - len(dtypes))
        assumed, value = _NOTHING, 0
        if exported.equal_to is not None:
            assumed, value = _VALUE, exported.equal_to
        elif exported.multiple_of > 1 and pointee is None:
            assumed = _MULTIPLE
        return _PARAM.row(
            text.string(param.name),
            text.string(type_.text),
            text.string(" or ".join(_dtype_name(code, bits) for code, bits in dtypes)),
            value,
            *cells,
            exported.size,
            max(pointee.align if pointee else 1, exported.multiple_of),
            exported.min_rank,
            -1 if param.ndim is None else param.ndim,
            _kind(type_),
            assumed,
            len(dtypes),
            exported.strided,
            exported.in_expression,
        )

    def write_bound(self) -> None:
        text, contents = self.text, self.contents
        rows: list[tuple[str | None, BoundParam]] = []
        rows += [(text.string(name), slot) for name, slot in self.slots]
        rows += [(None, slot) for slot in contents.trailing]
        params = text.table([self.param(slot.slot) for _, slot in rows])
        zeros = text.data(bytes(max(8, *(slot.slot.size for _, slot in rows))), align=16)
        slots = text.label()
        lines = [
            _SLOT.row(name, f"{params}+{number * _PARAM.size}", zeros, slot.required, None)
            for number, (name, slot) in enumerate(rows)
        ]
        text.put(slots, lines, is_writable=True)
        kernels = [
            _BOUND_KERNEL.row(
                f"__tvmffi_cubin_image_{image}",
                text.string(kernel.name),
                self.sizes(kernel),
                len(kernel.params),
            )
            for image, members in contents.launched.items()
            for kernel in members
        ]
        table = text.table(kernels)
        row = _BOUND_TABLE.row(slots, len(rows), len(contents.trailing), table, len(kernels), b"")
        text.hidden("__tvmffi_cubin_bound", row, is_writable=True)


class _Instance:
    """One way to launch under a name, as it is written."""

    def __init__(self, module: _Writer, instance: Instance, slots: Mapping[str, int]) -> None:
        self.module = module
        self.text = module.text
        self.instance = instance
        self.slots = slots
        self.numbers = {param.name: number for number, param in enumerate(instance.params)}

    def row(self, signature: str) -> str:
        instance, text = self.instance, self.text
        launches = instance.launches
        sources = [source for bound in launches for source in bound.sources]
        return _INSTANCE.row(
            text.string(signature),
            text.table([self.module.param(param) for param in instance.params]),
            text.table([self.launch(bound) for bound in launches]),
            None if instance.target is None else self.target(instance.target),
            self.module.bound if instance.slots else None,
            len(instance.params),
            len(launches),
            sum(max(1, len(bound.sources)) for bound in launches),
            sum(isinstance(source, Mapped) for source in sources),
            sum(map(_num_attributes, launches)),
            sum(isinstance(source, Scratched) for source in sources),
        )

    def launch(self, bound: BoundLaunch) -> str:
        steps = [*self.steps(bound)]
        computed = [x for x in bound.sources if isinstance(x, Computed)]
        return _LAUNCH.row(
            self.module.kernel_labels[bound.kernel.key],
            self.text.table(self.sources(bound)),
            self.text.table(steps),
            len(bound.sources),
            len(steps),
            bound.when is not None,
            len(computed),
            _num_attributes(bound),
            bound.launch.grid is not None,
            bound.launch.block is not None,
        )

    def sources(self, bound: BoundLaunch) -> Iterator[str]:
        computed = 0
        for source in bound.sources:
            if isinstance(source, Computed):
                yield _SOURCE.row(_COMPUTED, computed, None)
                computed += 1
            elif isinstance(source, Constant):
                yield _SOURCE.row(_CONSTANT, 0, self.text.data(source.data, align=16))
            elif isinstance(source, Scratched):
                yield _SOURCE.row(_SCRATCH_MEMORY, 0, self.scratch(source))
            elif isinstance(source, Mapped):
                yield _SOURCE.row(_TENSOR_MAP, 0, self.map(source))
            elif isinstance(source, BoundParam):
                yield _SOURCE.row(_BOUND, self.slots[source.name], None)
            else:
                yield _SOURCE.row(_ARGUMENT, self.numbers[source], None)

    def steps(self, bound: BoundLaunch) -> Iterator[str]:
        if bound.when is not None:
            yield self.step(bound.when, _WHEN)
        # How many blocks can be resident depends on all else.
        grid_is_last = any(
            isinstance(read, Name) and read.name == "max_cooperative_blocks"
            for what, figure in bound.figures.items()
            if what.startswith("grid.") and isinstance(figure, Formula)
            for read in names(figure.tree)
        )
        if not grid_is_last:
            yield from self.shape(bound, "grid", _GRID)
        yield from self.shape(bound, "block", _BLOCK)
        smem = bound.figures.get("dynamic_smem_bytes", 0)
        if smem != 0:
            yield self.step(smem, _SMEM)
        for carried in bound.attributes:
            yield from self.attribute(carried)
        for number, data in (bound.launch.attributes or {}).items():
            label = self.text.data(data, align=8)
            yield _STEP.row(None, label, len(data), _RAW, 0, 0, number)
        if grid_is_last:
            yield from self.shape(bound, "grid", _GRID)
        computed = [source for source in bound.sources if isinstance(source, Computed)]
        for number, source in enumerate(computed):
            yield self.step(
                source.formula,
                _COMPUTE,
                axis=_kind(source.type),
                number=number,
                id_=source.size,
            )

    def shape(self, bound: BoundLaunch, name: str, target: int) -> Iterator[str]:
        for what, figure in bound.figures.items():
            field, _, axis = what.partition(".")
            if field == name:
                yield self.step(figure, target, axis="xyz".index(axis))

    def attribute(self, carried: Carried) -> Iterator[str]:
        attribute = ATTRIBUTES[carried.field]
        values = list(carried.values)
        if attribute.kind == "dimensions":
            values += [1] * (3 - len(values))
        for axis, value in enumerate(values):
            yield self.step(value, _BY_KIND[attribute.kind], axis=axis, id_=attribute.id)

    def step(
        self, figure: Figure, target: int, *, axis: int = 0, number: int = 0, id_: int = 0
    ) -> str:
        return _STEP.row(*self.figure(figure), target, axis, number, id_)

    def figure(self, figure: Figure | None) -> tuple[str | None, str | None, int]:
        """Return a figure's members: its code, its text, its value."""
        if figure is None or isinstance(figure, int):
            return None, None, int(figure or 0)
        try:
            code = postfix(figure.tree, self.numbers)
        except ValueError as error:
            raise ValueError(f"function {self.instance.name!r}: {figure.text!r}: {error}") from None
        return self.text.data(code), self.text.string(figure.text), 0

    def scratch(self, scratched: Scratched) -> str | None:
        row = _SCRATCH.row(
            self.text.string(scratched.name),
            *self.figure(scratched.bytes),
            *self.figure(scratched.bytes_per_block),
            scratched.align,
        )
        return self.text.table([row])

    def target(self, target: Target) -> str | None:
        pointer = -1
        tree = target.stream.tree if isinstance(target.stream, Formula) else None
        if isinstance(tree, Field) and tree.field == "data_ptr":
            pointer = self.numbers[tree.tensor]
        row = _TARGET.row(
            *self.figure(target.device),
            *self.figure(target.stream),
            pointer,
            target.device is not None,
            target.stream is not None,
        )
        return self.text.table([row])

    def map(self, mapped: Mapped) -> str | None:
        map_, words, steps = mapped.map, [0] * 27, []
        for what, figure in mapped.figures.items():
            name, _, index = what.rstrip("]").partition("[")
            number = _WORDS[name] + int(index or 0)
            if isinstance(figure, int):
                words[number] = figure
            else:
                steps.append(self.step(figure, _MAP_WORD, number=number))
        row = _MAP.row(
            self.text.string(mapped.name),
            self.text.table(steps),
            len(steps),
            self.numbers[mapped.tensor],
            map_.is_im2col,
            -1 if map_.dtype is None else DATA_TYPES.index(map_.dtype),
            SWIZZLES.index(map_.swizzle),
            INTERLEAVES.index(map_.interleave),
            L2_PROMOTIONS.index(map_.l2_promotion),
            OOB_FILLS.index(map_.oob_fill),
            map_.rank,
            len(map_.element_strides or ()),
            len(map_.global_dim or ()),
            len(map_.global_strides or ()),
            *words,
        )
        return self.text.table([row])


def _num_attributes(bound: BoundLaunch) -> int:
    """Return the most attributes that a launch can carry."""
    return len(bound.attributes) + len(bound.launch.attributes or {})


def _kind(type_: CxxType) -> int:
    if type_.scalar == "bfloat16":
        return _BFLOAT
    if type_.text in _TENSOR_MAPS and type_.kind == "struct":
        return _MAP_KIND
    return _KINDS[type_.kind]


def _dtype_name(code: int, bits: int) -> str:
    return _DTYPE_NAMES[code] if code >= _DL_BOOL else f"{_DTYPE_NAMES[code]}{bits}"


def _max_threads(kernel: Kernel) -> int:
    """Return how many threads of a block no device refuses; a few more may do."""
    most = min(_BLOCK_THREADS, kernel.max_threads or _BLOCK_THREADS)
    if not kernel.registers:
        return most
    # Registers come in units of 8 a thread, a warp at a time, from one quarter of the file.
    warp = 32 * (-(-kernel.registers // 8) * 8)
    return min(most, 4 * (_QUARTER_REGISTERS // warp) * 32)
