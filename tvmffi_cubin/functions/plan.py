"""The plan of a module: tables for the launcher's body, laid out as launcher/plan.h has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..kernels.cubin import Kernel
from ..launches.tensor_map import DATA_TYPES, INTERLEAVES, L2_PROMOTIONS, OOB_FILLS, SWIZZLES
from . import function as made
from .assembly import Layout, Text
from .bind import kind_of
from .exported import Exported
from .function import (
    BoundLaunch,
    Figure,
    Formula,
    Function,
    Instance,
    KernelRef,
    MapSource,
    ScratchSource,
    Source,
    Step,
    Target,
)

# As structs of plan.h, in its order. What the body fills in is left out: it begins as zeros.
_PARAM = Layout("P P P q  B B H B B H B B H B B H  I I i i B B B ? ?")
_STEP = Layout("P P q B B H I")
_IMAGE = Layout("P P P 40x")
_DECLARED = Layout("P i i ?")
_KERNEL = Layout("P P P P P 8x I I I I ? I")
# ... with its limits on each device, which begin as zeros, and its own cluster, -1: not read.
_LIMITS = "    .zero 320\n" + Layout("i").row(-1)
_KERNEL_SIZE = _KERNEL.size + 320 + 8
_SOURCE = Layout("B i P")
_LAUNCH = Layout("P P P i i i i i ? ?")
_MAP = Layout("P P i i  B b B B B B 2x i i i i" + 27 * " q")
_SCRATCH = Layout("P  P P q  P P q  I")
_TARGET = Layout("P P q  P P q  i ? ?")
_INSTANCE = Layout("P P P P P i i i i i i")
_FUNCTION = Layout("P P P i i")
_MODULE = Layout("P P P P P P i i i 4x")
_SLOT = Layout("P P P ? 8x")
_BOUND_TABLE = Layout("P i i 8x")

_DTYPE_NAMES = (
    *("int", "uint", "float", "handle", "bfloat", "complex", "bool"),
    *("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"),
    *("float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
    *("float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"),
)
_DL_BOOL = 6
_NOTHING, _MULTIPLE, _VALUE = range(3)

_SMALL_SMEM = 48 * 1024
_BLOCK_THREADS = 1024
_QUARTER_REGISTERS = 16 * 1024

_MODULE_NAME = "__tvmffi_cubin_module"
_BOUND_NAME = "__tvmffi_cubin_bound"


def kernel_rows(functions: Sequence[Function]) -> dict[tuple[object, ...], KernelRef]:
    """Return the kernels that functions launch, by their keys, in the order of their table."""
    return {bound.kernel.key: bound.kernel for f in functions for bound in f.launches}


class Plan(Text):
    """The text of a module's unit: its tables and stubs, beside images and the manifest."""

    def write(
        self,
        functions: Sequence[Function],
        images: Sequence[str],
        *,
        slots: Sequence[Exported] = (),
        files: Mapping[str, str] | None = None,
    ) -> None:
        """Write functions, the embedded images that they use, and those that lie in `files`.

        Of all kernels that C++ functions launch the last parameters are `slots`.
        """
        paths = {**dict.fromkeys(images), **(files or {})}
        labels = {x: self.table([self._image(x, paths[x])], is_writable=True) for x in paths}
        kernels = kernel_rows(functions)
        kernel_table = self.table(
            [self._kernel(ref, labels[ref.image]) for ref in kernels.values()], is_writable=True
        )
        self.kernels = {x: f"{kernel_table}+{n * _KERNEL_SIZE}" for n, x in enumerate(kernels)}
        bound: list[tuple[str | None, Exported]] = [(f.name, x) for f in functions for x in f.slots]
        self.slots = {(name, slot.name): number for number, (name, slot) in enumerate(bound)}
        bound += [(None, slot) for slot in slots]
        # Many functions have the same ones.
        params = dict.fromkeys(x for f in functions for i in f.instances for x in i.params)
        self.params = {param: self._param(param) for param in params}
        table = self.table([self._function(function) for function in functions])
        for number, function in enumerate(functions):
            label = f"{table}+{number * _FUNCTION.size}"
            self.stub(function.name, "tvmffi_cubin_call", label)
            self.stub(f"_doc_{function.name}", "tvmffi_cubin_doc", label)
        if bound:
            self._bound(bound, len(slots))
        image_table = self.table([f"    .quad {label}" for label in labels.values()])
        counts = len(labels), len(kernels), len(functions)
        bound_table = _BOUND_NAME if bound else None
        manifest = ".Lmanifest", ".Lmanifest_end"
        row = _MODULE.row(image_table, kernel_table, table, bound_table, *manifest, *counts)
        self.hidden(_MODULE_NAME, row)
        entries = ["configure", "preload", "unload", "occupancy", "manifest"]
        entries += ["bind", "bound"] if bound else []
        entries += ["set_image_file"] if files else []
        for name in entries:
            self.stub(f"_tvmffi_cubin_{name}", f"tvmffi_cubin_{name}", _MODULE_NAME)

    # Images and kernels

    def _image(self, name: str, path: str | None) -> str:
        label = self.string(name)
        if path is None:
            return _IMAGE.row(f"__tvmffi_cubin_image_{name}", label, None)
        empty = self.string("")
        return _IMAGE.row(self.table([f"    .quad 0,0,{empty},{empty}"]), label, self.string(path))

    def _kernel(self, ref: KernelRef, image: str | None) -> str:
        kernel, declared = ref.signature.kernel, None
        if ref.least_params is not None:
            data = b"".join(param.size.to_bytes(4, "little") for param in kernel.params)
            sizes, count = self.data(data, align=4) if data else None, len(kernel.params)
            declared = self.table([_DECLARED.row(sizes, count, ref.least_params, ref.by_part)])
        # Of an image without registers it is not known: any dynamic part is opted into.
        smem = max(0, _SMALL_SMEM - kernel.static_smem_bytes) if kernel.registers else 0
        row = _KERNEL.row(
            *(image, self.string(kernel.name), self.string(ref.signature.display)),
            *(self.string(", ".join(ref.archs)) if ref.archs else None, declared),
            # Of one in a file it is read when it is loaded, which is before any launch.
            _max_threads(kernel) if declared is None else 0,
            *(kernel.cluster or (0, 0, 0)),
            *(kernel.grid_in_clusters, smem),
        )
        return f"{row}\n{_LIMITS}"

    # What may be bound

    def _bound(
        self,
        slots: Sequence[tuple[str | None, Exported]],
        num_trailing: int,
    ) -> None:
        """Write what may be bound: by functions' names, last for kernels that C++ launches."""
        params = self.table([self._param(slot) for _, slot in slots])
        zeros = self.data(bytes(max(8, *(slot.type.size or 0 for _, slot in slots))), align=16)
        rows = []
        for number, (name, slot) in enumerate(slots):
            param = f"{params}+{number * _PARAM.size}"
            rows.append(_SLOT.row(name and self.string(name), param, zeros, slot.required))
        table = self.table(rows, is_writable=True)
        row = _BOUND_TABLE.row(table, len(rows), num_trailing)
        self.hidden(_BOUND_NAME, row, is_writable=True)

    # Functions

    def _function(self, function: Function) -> str:
        pairs = zip(function.instances, function.signatures, strict=True)
        rows = [self._instance(function.name, *pair) for pair in pairs]
        doc = "\n\n".join(filter(None, ["\n".join(function.signatures), function.doc]))
        most_params = max(len(instance.params) for instance in function.instances)
        texts = self.string(function.name), self.string(doc)
        return _FUNCTION.row(*texts, self.table(rows), len(rows), most_params)

    def _instance(self, name: str, instance: Instance, signature: str) -> str:
        launches = instance.launches
        kinds = [source.kind for bound in launches for source in bound.sources]
        return _INSTANCE.row(
            self.string(signature),
            self.table([self.params[param] for param in instance.params]),
            self.table([self._launch(name, bound) for bound in launches]),
            self._target(instance.target) if instance.target else None,
            _BOUND_NAME if made.FROM_BOUND in kinds else None,
            len(instance.params),
            len(launches),
            sum(max(1, len(bound.sources)) for bound in launches),
            kinds.count(made.FROM_MAP),
            sum(_num_attributes(bound) for bound in launches),
            kinds.count(made.FROM_SCRATCH),
        )

    def _param(self, exported: Exported) -> str:
        type_ = exported.type
        pointee = type_.pointee
        dtypes = pointee.dtypes if pointee else ()
        cells = [x for code, bits in dtypes for x in (code, bits, 1)] + [0] * 3 * (4 - len(dtypes))
        names = [_DTYPE_NAMES[x] + ("" if x >= _DL_BOOL else str(bits)) for x, bits in dtypes]
        assumed = _NOTHING
        if exported.equal_to is not None:
            assumed = _VALUE
        elif exported.multiple_of > 1 and pointee is None:
            assumed = _MULTIPLE
        align = max(pointee.align if pointee else 1, exported.multiple_of)
        rank = -1 if exported.ndim is None else exported.ndim
        return _PARAM.row(
            *map(self.string, (exported.name, type_.text, " or ".join(names))),
            *(exported.equal_to or 0, *cells, type_.size, align, exported.min_rank, rank),
            *(kind_of(type_), assumed, len(dtypes), exported.strided, exported.in_expression),
        )

    def _launch(self, name: str, bound: BoundLaunch) -> str:
        targets = [step.target for step in bound.steps]
        return _LAUNCH.row(
            self.kernels[bound.kernel.key],
            self.table([self._source(name, source) for source in bound.sources]),
            self.table([self._step(step) for step in bound.steps]),
            len(bound.sources),
            len(targets),
            targets.count(made.WHEN),
            targets.count(made.COMPUTED),
            _num_attributes(bound),
            bound.launch.grid is not None,
            bound.launch.block is not None,
        )

    def _source(self, name: str, source: Source) -> str:
        data, number, label = source.data, source.number, None
        if isinstance(data, bytes):
            label = self.data(data, align=16)
        elif isinstance(data, MapSource):
            number, label = 0, self._map(data, number)
        elif isinstance(data, ScratchSource):
            figures = *self._figure(data.bytes), *self._figure(data.bytes_per_block)
            label = self.table([_SCRATCH.row(self.string(data.name), *figures, data.align)])
        elif isinstance(data, Exported):
            number = self.slots[name, data.name]
        return _SOURCE.row(source.kind, number, label)

    def _step(self, step: Step) -> str:
        return _STEP.row(*self._figure(step.figure), step.target, step.axis, step.number, step.id)

    def _figure(self, figure: Figure | bytes | None) -> tuple[str | None, str | None, int]:
        """Return a figure's members: its code, its text, its value."""
        if isinstance(figure, bytes):
            return None, self.data(figure, align=8), len(figure)
        if figure is None or isinstance(figure, int):
            return None, None, figure or 0
        return self.data(figure.code), self.string(figure.text), 0

    def _target(self, target: Target) -> str | None:
        figures = *self._figure(target.device), *self._figure(target.stream)
        given = target.device is not None, target.stream is not None
        return self.table([_TARGET.row(*figures, target.pointer, *given)])

    def _map(self, mapped: MapSource, argument: int) -> str | None:
        map_, words = mapped.map, mapped.words
        steps = [
            self._step(Step(made.MAP_WORD, x, number=number))
            for number, x in enumerate(words)
            if isinstance(x, Formula)
        ]
        row = _MAP.row(
            *(self.string(mapped.name), self.table(steps), len(steps), argument),
            map_.is_im2col,
            -1 if map_.dtype is None else DATA_TYPES.index(map_.dtype),
            SWIZZLES.index(map_.swizzle),
            INTERLEAVES.index(map_.interleave),
            L2_PROMOTIONS.index(map_.l2_promotion),
            OOB_FILLS.index(map_.oob_fill),
            map_.rank,
            *(len(x or ()) for x in (map_.element_strides, map_.global_dim, map_.global_strides)),
            *(0 if isinstance(x, Formula) else x for x in words),
        )
        return self.table([row])


def _num_attributes(bound: BoundLaunch) -> int:
    """Return the most attributes that a launch can carry."""
    return len([x for x in bound.steps if made.DIMENSIONS <= x.target <= made.RAW and x.axis == 0])


def _max_threads(kernel: Kernel) -> int:
    """Return how many threads of a block no device refuses; a few more may do."""
    most = min(_BLOCK_THREADS, kernel.max_threads or _BLOCK_THREADS)
    if not kernel.registers:
        return most
    # Registers come in units of 8 a thread, a warp at a time, from one quarter of the file.
    warp = 32 * (-(-kernel.registers // 8) * 8)
    return min(most, 4 * (_QUARTER_REGISTERS // warp) * 32)
