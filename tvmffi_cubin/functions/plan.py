"""The plan of a module: tables for the launcher's body, laid out as launcher/plan.h has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..kernels.cubin import Kernel
from ..kernels.types import CxxType
from ..launches.tensor_map import DATA_TYPES, INTERLEAVES, L2_PROMOTIONS, OOB_FILLS, SWIZZLES
from .assembly import Layout, Text
from .function import (
    COMPUTED,
    MAP_WORD,
    WHEN,
    BoundLaunch,
    BoundParam,
    Computed,
    Exported,
    Figure,
    Function,
    Instance,
    KernelRef,
    Mapped,
    Scratched,
    Step,
    Target,
)

# As structs of plan.h, in its order. What the body fills in is left out: it begins as zeros.
_PARAM = Layout("P P P q  B B H B B H B B H B B H  I I i i B B B ? ?")
_STEP = Layout("P P q B B H I")
_IMAGE = Layout("P P P 40x")
_DECLARED = Layout("P i i ?")
_KERNEL = Layout("P P P P P 8x I I I I ? I 256x 64x i")
_SOURCE = Layout("B i P")
_LAUNCH = Layout("P P P i i i i i ? ?")
_MAP = Layout("P P i i  B b B B B B 2x i i i i" + 27 * " q")
_SCRATCH = Layout("P  P P q  P P q  I")
_TARGET = Layout("P P q  P P q  i ? ?")
_INSTANCE = Layout("P P P P P i i i i i i")
_FUNCTION = Layout("P P P i i P")
_MODULE = Layout("P P P P P P i i i 4x")
_SLOT = Layout("P P P ? 8x")
_BOUND_KERNEL = Layout("P P P i")
_BOUND_TABLE = Layout("P i i P i 8x")

_KINDS = {
    "pointer": 0, "int": 1, "uint": 2, "float": 3, "bool": 5, "struct": 6, "raw": 7
}  # fmt: skip
_BFLOAT, _MAP_KIND = 4, 8
_DTYPE_NAMES = (
    *("int", "uint", "float", "handle", "bfloat", "complex", "bool"),
    *("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"),
    *("float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
    *("float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"),
)
_DL_BOOL = 6
_NOTHING, _MULTIPLE, _VALUE = range(3)
_ARGUMENT, _COMPUTED, _CONSTANT, _TENSOR_MAP, _SCRATCH_MEMORY, _BOUND = range(6)

# The words of a `TensorMapSpec`: where each field begins.
_WORDS = {
    "box_dim": 0, "element_strides": 5, "lower_corner": 10, "upper_corner": 13,
    "channels_per_pixel": 16, "pixels_per_column": 17, "global_dim": 18, "global_strides": 23,
}  # fmt: skip

_SMALL_SMEM = 48 * 1024
_BLOCK_THREADS = 1024
_QUARTER_REGISTERS = 16 * 1024

_MODULE_NAME = "__tvmffi_cubin_module"
_BOUND_NAME = "__tvmffi_cubin_bound"
_MODULE_ENTRIES = ("configure", "preload", "unload", "occupancy", "manifest")
_SLOT_ENTRIES = ("bind", "bound")


def kernel_rows(functions: Sequence[Function]) -> tuple[KernelRef, ...]:
    """Return the kernels that functions launch, in the order of the module's table."""
    kernels = {bound.kernel.key: bound.kernel for f in functions for bound in f.launches}
    return tuple(kernels.values())


def write_plan(
    text: Text,
    functions: Sequence[Function],
    images: Sequence[str],
    *,
    slots: Sequence[BoundParam] = (),
    launched: Mapping[str, Sequence[Kernel]] | None = None,
    files: Mapping[str, str] | None = None,
) -> None:
    """Write a module's tables and stubs; the manifest is embedded by the same unit.

    `images` are the names of the embedded ones that functions use; `files` has the paths of others.
    What C++ functions launch are the kernels `launched`, by image, for which `slots` may be bound.
    """
    writer = _Writer(text)
    rows = [writer.image(name, None) for name in images]
    rows += [writer.image(name, path) for name, path in (files or {}).items()]
    labels = [text.table([row], is_writable=True) for row in rows]
    image_labels = dict(zip([*images, *(files or {})], labels, strict=True))
    kernels = kernel_rows(functions)
    kernel_table = text.table(
        [writer.kernel(ref, image_labels[ref.image]) for ref in kernels], is_writable=True
    )
    for number, ref in enumerate(kernels):
        writer.kernels[ref.key] = f"{kernel_table}+{number * _KERNEL.size}"
    all_slots = [(f.name, slot) for f in functions for slot in f.slots]
    for number, (name, slot) in enumerate(all_slots):
        writer.slots[name, slot.name] = number
    function_rows = [writer.function(function) for function in functions]
    table = text.table(function_rows)
    for number, function in enumerate(functions):
        label = f"{table}+{number * _FUNCTION.size}"
        text.stub(function.name, "tvmffi_cubin_call", label)
        text.stub(f"_doc_{function.name}", "tvmffi_cubin_doc", label)
    has_slots = bool(all_slots or slots)
    if has_slots:
        writer.bound([*all_slots, *((None, slot) for slot in slots)], len(slots), launched or {})
    row = _MODULE.row(
        text.table([f"    .quad {label}" for label in labels]),
        kernel_table,
        table,
        _BOUND_NAME if has_slots else None,
        ".Lmanifest",
        ".Lmanifest_end",
        len(labels),
        len(kernels),
        len(function_rows),
    )
    text.hidden(_MODULE_NAME, row)
    entries = [*_MODULE_ENTRIES, *(_SLOT_ENTRIES if has_slots else ())]
    for name in [*entries, "set_image_file"] if files else entries:
        text.stub(f"_tvmffi_cubin_{name}", f"tvmffi_cubin_{name}", _MODULE_NAME)


class _Writer:
    def __init__(self, text: Text) -> None:
        self.text = text
        self.kernels: dict[tuple[object, ...], str] = {}
        self.slots: dict[tuple[str, str], int] = {}
        self.params: dict[Exported, str] = {}

    def image(self, name: str, path: str | None) -> str:
        text, table = self.text, f"__tvmffi_cubin_image_{name}"
        if path is None:
            return _IMAGE.row(table, text.string(name), None)
        empty = text.string("")
        nothing = text.table([f"    .quad 0,0,{empty},{empty}"])
        return _IMAGE.row(nothing, text.string(name), text.string(path))

    def kernel(self, ref: KernelRef, image: str | None) -> str:
        text, kernel, declared = self.text, ref.signature.kernel, None
        max_threads = _max_threads(kernel)
        if ref.least_params is not None:
            sizes, count = self.sizes(kernel), len(kernel.params)
            declared = text.table([_DECLARED.row(sizes, count, ref.least_params, ref.by_part)])
            # It is read when the file is loaded, which is before any launch.
            max_threads = 0
        return _KERNEL.row(
            image,
            text.string(kernel.name),
            text.string(ref.signature.display),
            text.string(", ".join(ref.archs)) if ref.archs else None,
            declared,
            max_threads,
            *(kernel.cluster or (0, 0, 0)),
            kernel.grid_in_clusters,
            # Of an image without registers it is not known: any dynamic part is opted into.
            max(0, _SMALL_SMEM - kernel.static_smem_bytes) if kernel.registers else 0,
            -1,
        )

    def sizes(self, kernel: Kernel) -> str | None:
        """Return the label of the sizes of a kernel's parameters; None where it has none."""
        data = b"".join(param.size.to_bytes(4, "little") for param in kernel.params)
        return self.text.data(data, align=4) if data else None

    def function(self, function: Function) -> str:
        text, signatures = self.text, function.signatures
        pairs = zip(function.instances, signatures, strict=True)
        rows = [_Instance(self, instance).row(signature) for instance, signature in pairs]
        return _FUNCTION.row(
            text.string(function.name),
            text.string("\n\n".join(filter(None, ["\n".join(signatures), function.doc]))),
            text.table(rows),
            len(rows),
            max(len(instance.params) for instance in function.instances),
            _MODULE_NAME,
        )

    def param(self, exported: Exported) -> str:
        # Many functions have the same ones.
        if exported not in self.params:
            self.params[exported] = self._param(exported)
        return self.params[exported]

    def _param(self, exported: Exported) -> str:
        text, type_ = self.text, exported.type
        pointee = type_.pointee
        dtypes = pointee.dtypes if pointee else ()
        cells = [x for code, bits in dtypes for x in (code, bits, 1)] + [0] * 3 * (4 - len(dtypes))
        names = [_DTYPE_NAMES[x] + ("" if x >= _DL_BOOL else str(bits)) for x, bits in dtypes]
        assumed, value = _NOTHING, 0
        if exported.equal_to is not None:
            assumed, value = _VALUE, exported.equal_to
        elif exported.multiple_of > 1 and pointee is None:
            assumed = _MULTIPLE
        return _PARAM.row(
            text.string(exported.name),
            text.string(type_.text),
            text.string(" or ".join(names)),
            value,
            *cells,
            type_.size,
            max(pointee.align if pointee else 1, exported.multiple_of),
            exported.min_rank,
            -1 if exported.ndim is None else exported.ndim,
            _kind(type_),
            assumed,
            len(dtypes),
            exported.strided,
            exported.in_expression,
        )

    def bound(
        self,
        slots: Sequence[tuple[str | None, BoundParam]],
        num_trailing: int,
        launched: Mapping[str, Sequence[Kernel]],
    ) -> None:
        """Write what may be bound: by functions' names, last for kernels that C++ launches."""
        text = self.text
        params = text.table([self.param(slot.slot) for _, slot in slots])
        zeros = text.data(bytes(max(8, *(slot.slot.type.size or 0 for _, slot in slots))), align=16)
        rows = [
            _SLOT.row(
                name and text.string(name), f"{params}+{n * _PARAM.size}", zeros, slot.required
            )
            for n, (name, slot) in enumerate(slots)
        ]
        kernels = [
            _BOUND_KERNEL.row(
                f"__tvmffi_cubin_image_{image}",
                text.string(kernel.name),
                self.sizes(kernel),
                len(kernel.params),
            )
            for image, members in launched.items()
            for kernel in members
        ]
        table = text.table(rows, is_writable=True)
        row = _BOUND_TABLE.row(table, len(rows), num_trailing, text.table(kernels), len(kernels))
        text.hidden(_BOUND_NAME, row, is_writable=True)


class _Instance:
    """One way to launch under a name, as it is written."""

    def __init__(self, module: _Writer, instance: Instance) -> None:
        self.module = module
        self.text = module.text
        self.instance = instance
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
            _BOUND_NAME if instance.slots else None,
            len(instance.params),
            len(launches),
            sum(max(1, len(bound.sources)) for bound in launches),
            sum(isinstance(source, Mapped) for source in sources),
            sum(bound.num_attributes for bound in launches),
            sum(isinstance(source, Scratched) for source in sources),
        )

    def launch(self, bound: BoundLaunch) -> str:
        computed = [x for x in bound.sources if isinstance(x, Computed)]
        steps = [*bound.steps]
        for n, x in enumerate(computed):
            steps.append(Step(COMPUTED, x.figure, _kind(x.type), n, x.type.size or 0))
        return _LAUNCH.row(
            self.module.kernels[bound.kernel.key],
            self.text.table([*self.sources(bound)]),
            self.text.table([self.step(step) for step in steps]),
            len(bound.sources),
            len(steps),
            sum(step.target == WHEN for step in steps),
            len(computed),
            bound.num_attributes,
            bound.launch.grid is not None,
            bound.launch.block is not None,
        )

    def sources(self, bound: BoundLaunch) -> Iterator[str]:
        computed = 0
        for source in bound.sources:
            if isinstance(source, str):
                yield _SOURCE.row(_ARGUMENT, self.numbers[source], None)
            elif isinstance(source, bytes):
                yield _SOURCE.row(_CONSTANT, 0, self.text.data(source, align=16))
            elif isinstance(source, Computed):
                yield _SOURCE.row(_COMPUTED, computed, None)
                computed += 1
            elif isinstance(source, Mapped):
                yield _SOURCE.row(_TENSOR_MAP, 0, self.map(source))
            elif isinstance(source, Scratched):
                yield _SOURCE.row(_SCRATCH_MEMORY, 0, self.scratch(source))
            else:
                slot = self.module.slots[self.instance.name, source.name]
                yield _SOURCE.row(_BOUND, slot, None)

    def step(self, step: Step) -> str:
        figure = step.figure
        return _STEP.row(*self.figure(figure), step.target, step.axis, step.number, step.id)

    def figure(self, figure: Figure | bytes | None) -> tuple[str | None, str | None, int]:
        """Return a figure's members: its code, its text, its value."""
        if isinstance(figure, bytes):
            return None, self.text.data(figure, align=8), len(figure)
        if figure is None or isinstance(figure, int):
            return None, None, figure or 0
        return self.text.data(figure.code), self.text.string(figure.text), 0

    def scratch(self, scratched: Scratched) -> str | None:
        row = _SCRATCH.row(
            self.text.string(scratched.name),
            *self.figure(scratched.bytes),
            *self.figure(scratched.bytes_per_block),
            scratched.align,
        )
        return self.text.table([row])

    def target(self, target: Target) -> str | None:
        row = _TARGET.row(
            *self.figure(target.device),
            *self.figure(target.stream),
            target.pointer,
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
                steps.append(self.step(Step(MAP_WORD, figure, number=number)))
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


def _kind(type_: CxxType) -> int:
    if type_.scalar == "bfloat16":
        return _BFLOAT
    is_map = type_.kind == "struct" and type_.text in ("CUtensorMap", "CUtensorMap_st")
    return _MAP_KIND if is_map else _KINDS[type_.kind]


def _max_threads(kernel: Kernel) -> int:
    """Return how many threads of a block no device refuses; a few more may do."""
    most = min(_BLOCK_THREADS, kernel.max_threads or _BLOCK_THREADS)
    if not kernel.registers:
        return most
    # Registers come in units of 8 a thread, a warp at a time, from one quarter of the file.
    warp = 32 * (-(-kernel.registers // 8) * 8)
    return min(most, 4 * (_QUARTER_REGISTERS // warp) * 32)
