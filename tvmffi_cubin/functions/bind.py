"""Launches bound to kernels: what a function takes, and where every kernel parameter comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..device.signature import check
from ..kernels.types import CxxType, Param, parse_params, parse_type
from ..launches import constant
from ..launches.attributes import ATTRIBUTES
from ..launches.expression import Name, parse
from ..launches.launch import Launch
from ..launches.tensor_map import TensorMap
from ..launches.values import Bound, ModuleParam, Scratch
from . import function as made
from .exported import Exported, contradicts, fits, is_integer
from .function import (
    BoundLaunch,
    Figure,
    Function,
    Instance,
    KernelRef,
    MapSource,
    ScratchSource,
    Source,
    Step,
    Target,
)
from .scope import ONCE_SHAPED, Scope

# What a tensor is exported as that kernels take by its map alone: another launch may say more.
_TENSOR = CxxType("void*", "raw", 8)
_MAP = parse_type("CUtensorMap")
# The words of a `TensorMapSpec` in core/tensor_map.h: where each field begins.
_WORDS = {
    "box_dim": 0, "element_strides": 5, "lower_corner": 10, "upper_corner": 13,
    "channels_per_pixel": 16, "pixels_per_column": 17, "global_dim": 18, "global_strides": 23,
}  # fmt: skip
_NUM_WORDS = 27
_BY_KIND = {
    "dimensions": made.DIMENSIONS, "integer": made.INTEGER, "flag": made.FLAG, "event": made.EVENT
}  # fmt: skip
_KINDS = {
    "pointer": 0, "int": 1, "uint": 2, "float": 3, "bool": 5, "struct": 6, "raw": 7
}  # fmt: skip
_BFLOAT_KIND, _MAP_KIND = 4, 8


class told:  # noqa: N801 - reads as a statement
    """Says in errors where they come from."""

    def __init__(self, where: str) -> None:
        self.where = where

    def __enter__(self) -> None:
        pass

    def __exit__(self, type_: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, TypeError | ValueError):
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{self.where}: {error}") from None


def bind(
    name: str,
    launches: Sequence[tuple[Launch, KernelRef]],
    *,
    trailing: Sequence[ModuleParam] = (),
) -> Instance:
    """Bind launches to kernels and work out what the function takes.

    The last parameters of each kernel are those of `trailing`, which the module binds.
    """
    exported: dict[str, Exported] = {}
    places = [told(f"function {name!r}, kernel {ref.signature.display!r}") for _, ref in launches]
    # All launches say what they export before any expression is read: one may use what another's
    # kernel takes.
    binders = []
    for (launch, ref), place in zip(launches, places, strict=True):
        with place:
            binders.append(_Binder(launch, ref, trailing, exported))
    bound, targets = [], []
    for binder, place in zip(binders, places, strict=True):
        others = {x.name for other in binders if other is not binder for x in other.declared}
        with place:
            bound.append(binder.bind(others))
            targets.append(binder.target())
            if targets[-1] != targets[0]:
                raise ValueError(
                    "one call goes to one stream of one device: give all launches of a function "
                    "the same stream= and device="
                )
    # Tensors may have any strides that kernels know by their maps alone.
    sources = [source for launch in bound for source in launch.sources]
    mapped = {x.number for x in sources if x.kind == made.FROM_MAP}
    mapped -= {x.number for x in sources if x.kind == made.FROM_ARGUMENT}
    params = [
        param._replace(strided=True) if number in mapped else param
        for number, param in enumerate(exported.values())
    ]
    return Instance(tuple(params), tuple(bound), targets[0])


def function(name: str, instances: Sequence[Instance], *, doc: str = "") -> Function:
    """Make one function of its instances."""
    for number, instance in enumerate(instances):
        for first, wider in enumerate(instances[:number], 1):
            if wider.covers(instance):
                raise ValueError(
                    f"function {name!r}: instance {number + 1} is never launched:\n"
                    f"  {instance.told}\ninstance {first} fits whatever it fits:\n  {wider.told}\n"
                    "give the latter a when=, put it last, or leave one out"
                )
    slots: dict[str, Exported] = {}
    for source in (x for i in instances for bound in i.launches for x in bound.sources):
        if isinstance(slot := source.data, Exported):
            with told(f"function {name!r}"):
                slots[slot.name] = slots.get(slot.name, slot).merged(slot)
    return Function(name, tuple(instances), doc, tuple(slots.values()))


def kind_of(type_: CxxType) -> int:
    """Return a type's `Kind`, as launcher/plan.h has it."""
    if type_.scalar == "bfloat16":
        return _BFLOAT_KIND
    is_map = type_.text in ("CUtensorMap", "CUtensorMap_st")
    return _MAP_KIND if is_map else _KINDS[type_.kind]


class _Binder:
    """One launch of a function: first what it adds to `exported`, then all that reads of it."""

    def __init__(
        self,
        launch: Launch,
        kernel: KernelRef,
        trailing: Sequence[ModuleParam],
        exported: dict[str, Exported],
    ) -> None:
        self.launch, self.kernel, self.exported = launch, kernel, exported
        self.declared = () if launch.params is None else parse_params(launch.params)
        count = len(kernel.signature.kernel.params)
        self.params = self.kernel_params(count - len(trailing))
        if trailing:
            last = self.params[count - len(trailing) :]
            bound = {param.name: x.bound for param, x in zip(last, trailing, strict=True)}
            self.launch = replace(launch, args={**bound, **launch.args})
        self.types = {param.name: param.type for param in self.params}
        for name in self.launch.args:
            if name not in self.types:
                raise ValueError(
                    f"args gives {name!r}, which is no parameter of the kernel; there are "
                    f"{_list(self.types)}"
                )
        self.export(self.params if launch.params is None else self.declared)

    # What it exports

    def kernel_params(self, own: int) -> tuple[Param, ...]:
        """Return the kernel's parameters with the names and types that hold in this launch."""
        signature, declared = self.kernel.signature, self.declared
        if self.launch.params is None:
            return signature.require().params
        by_name = {param.name: param for param in declared}
        needed = {p.name for p in signature.params[:own]} - {*self.launch.args}
        params = [by_name.get(param.name, param) for param in signature.params]
        if not params or not signature.names_known or not needed <= {*by_name}:
            count, last = len(signature.kernel.params), signature.params[own:]
            # Those who declare what callers pass need not know of what is bound, but may.
            if [p.name for p in declared[own:count]] != [p.name for p in last]:
                declared = (*declared[:own], *last, *declared[own:])
            params = [*declared[:count]]
        checked = check([as_map(self.launch, x) for x in params], signature.kernel, "params")
        for param, known in zip(checked, signature.params, strict=False):
            if not signature.opaque and contradicts(param.type, known.type):
                raise ValueError(
                    f"params declares '{param.type.text} {param.name}', the source has "
                    f"'{known.type.text}'"
                )
        return checked

    def export(self, order: Sequence[Param]) -> None:
        """Add what callers pass for this launch to what the function takes."""
        names = {param.name for param in order}
        for name, type_, ndim in order:
            map_ = self.launch.args.get(name)
            if not isinstance(map_, TensorMap):
                if name not in self.launch.args:
                    self.add(Exported(name, self.types.get(name, type_), ndim))
            elif map_.tensor in (None, name) and type_.kind == "pointer":
                self.add(Exported(name, type_, ndim))
            elif map_.tensor in (None, name) or map_.tensor not in names:
                self.add(Exported(map_.tensor or name, _TENSOR))

    def add(self, given: Exported) -> None:
        """Export a parameter, which another launch may take, too."""
        if given.type.size is None:
            raise ValueError(f"params declares {given.declaration!r}, a type of unknown size")
        before = self.exported.get(given.name)
        self.exported[given.name] = given if before is None else before.merged(given)

    # What reads it

    def bind(self, others: set[str]) -> BoundLaunch:
        """Return the launch over what the function takes; `others` is what other launches do."""
        self.scope = Scope(self.exported, self.launch.args, self.types)
        self.computed: list[Step] = []
        sources = tuple(map(self.source, self.params))
        steps = (*self.steps(), *self.computed)
        self.note_assumptions()
        kernel = self.kernel
        if kernel.least_params is not None:
            self.target()
            # What is declared last may be for expressions alone, as a stream is, or for the other
            # launches: only the file tells.
            may_be_others = (self.scope.read | others) - {*self.launch.args}
            own = [i for i, p in enumerate(self.params, 1) if p.name not in may_be_others]
            kernel = kernel._replace(least_params=max(own, default=0))
        return BoundLaunch(self.launch, kernel, sources, steps)

    def source(self, param: Param) -> Source:
        """Return where a parameter of the kernel comes from."""
        name, type_, ndim = param
        if name not in self.launch.args:
            return Source(made.FROM_ARGUMENT, self.scope.numbers[name])
        value, what = self.launch.args[name], f"args[{name!r}]"
        if isinstance(value, TensorMap):
            return self.mapped(value, param)
        if isinstance(value, Scratch):
            if type_.kind not in ("pointer", "raw") or type_.size != 8:
                raise ValueError(f"{what}: a Scratch is for a pointer, got '{type_.text} {name}'")
            fixed = self.scope.figure(f"bytes of {what}", value.bytes)
            each = self.scope.figure(f"bytes_per_block of {what}", value.bytes_per_block)
            scratch = ScratchSource(name, value.align, fixed, each)
            return Source(made.FROM_SCRATCH, data=scratch)
        if isinstance(value, Bound):
            strided = name in self.launch.strided
            key = value.name or name
            slot = Exported(key, type_, ndim, strided=strided, required=value.required)
            return Source(made.FROM_BOUND, data=slot)
        if not isinstance(value, str):
            return Source(made.FROM_CONSTANT, data=constant.encode(value, type_, what))
        tree = parse(value)
        other = self.exported.get(tree.name) if isinstance(tree, Name) else None
        if other is not None and fits(other.type, type_):
            self.scope.read.add(other.name)
            return Source(made.FROM_ARGUMENT, self.scope.numbers[other.name])
        if type_.kind != "float" and not is_integer(type_):
            raise ValueError(
                f"{what}: '{type_.text}' takes a parameter of the same type or a constant, got the "
                f"expression {value!r}"
            )
        is_bool = type_.kind == "bool"
        figure = self.scope.figure(
            what, value, reading=(name,), of_device=ONCE_SHAPED, is_bool=is_bool
        )
        number = len(self.computed)
        step = Step(made.COMPUTED, figure, kind_of(type_), number, type_.size or 0)
        self.computed.append(step)
        return Source(made.FROM_COMPUTED, number)

    def mapped(self, map_: TensorMap, param: Param) -> Source:
        """Return the map of one kernel parameter, and note what it asks of its tensor."""
        (name, type_, _), tensor = param, map_.tensor or param.name
        if type_.kind not in ("struct", "raw") or type_.size != _MAP.size:
            raise ValueError(
                f"args[{name!r}]: a TensorMap is for 'const __grid_constant__ CUtensorMap', got "
                f"'{type_.text} {name}'"
            )
        if tensor not in self.exported:
            raise ValueError(
                f"args[{name!r}]: the tensor {tensor!r} is none that callers pass; declare it, as "
                f'in params="..., const float* {tensor}"; there are {_list(self.exported)}'
            )
        exported = self.exported[tensor].as_tensor()
        if exported.type.kind != "pointer":
            raise ValueError(f"args[{name!r}]: {tensor!r} is '{exported.type.text}', not a tensor")
        if map_.global_dim is None:
            exported = exported.merged(exported._replace(ndim=map_.rank))
        # None and bare addresses have no shape, and no dtype.
        needs_tensor = map_.global_dim is None or map_.dtype is None
        self.exported[tensor] = exported._replace(
            in_expression=exported.in_expression or needs_tensor
        )
        self.scope.read.add(tensor)
        words: list[Figure] = [0] * _NUM_WORDS
        for what, x in map_.figures():
            field, _, index = what.rstrip("]").partition("[")
            figure = self.scope.figure(f"{what} of args[{name!r}]", x, reading=(name,))
            words[_WORDS[field] + int(index or 0)] = figure
        return Source(made.FROM_MAP, self.scope.numbers[tensor], MapSource(name, map_, words))

    def steps(self) -> Iterator[Step]:
        """Yield what is evaluated: conditions first, the grid last."""
        launch, figure = self.launch, self.scope.figure
        if launch.when:
            yield Step(made.WHEN, figure("when", launch.when))
        for axis, x in enumerate(launch.block or ()):
            yield Step(made.BLOCK, figure(f"block.{'xyz'[axis]}", x), axis)
        if launch.dynamic_smem_bytes != 0:
            yield Step(made.SMEM, figure("dynamic_smem_bytes", launch.dynamic_smem_bytes))
        for name, attribute in ATTRIBUTES.items():
            value = getattr(launch, name)
            if value is None or value is False:
                continue
            values = value if isinstance(value, tuple) else (value,)
            if attribute.kind == "dimensions":
                values += (1,) * (3 - len(values))
            what = f"{name} ({', '.join(attribute.choices)})" if attribute.choices else name
            for axis, x in enumerate(values):
                yield Step(_BY_KIND[attribute.kind], figure(what, x), axis, id=attribute.id)
        for number, data in (launch.attributes or {}).items():
            yield Step(made.RAW, data, id=number)
        # How many blocks can be resident depends on all else.
        for axis, x in enumerate(launch.grid or ()):
            yield Step(made.GRID, figure(f"grid.{'xyz'[axis]}", x, of_device=ONCE_SHAPED), axis)

    def note_assumptions(self) -> None:
        """Note with the function's parameters what a launch says of them beside its expressions."""
        launch, exported = self.launch, self.exported
        for name in launch.strided:
            if not isinstance(launch.args.get(name), Bound):
                before = self.named(name, "strided", ("pointer", "raw"))
                exported[name] = before._replace(strided=True)
        for name, number in (launch.multiple_of or {}).items():
            before = self.named(name, "multiple_of", ("pointer", "int", "uint"))
            # Of two powers of two the larger is a multiple of the smaller.
            exported[name] = before._replace(multiple_of=max(number, before.multiple_of))
        for name, number in (launch.equal_to or {}).items():
            before = self.named(name, "equal_to", ("int", "uint"))
            if before.equal_to not in (None, number):
                raise ValueError(f"equal_to[{name!r}] is {number}, and {before.equal_to} before")
            exported[name] = before._replace(equal_to=number)

    def named(self, name: str, what: str, kinds: tuple[str, ...]) -> Exported:
        """Return a parameter that the launch names, which is of one of some kinds."""
        fitting = [x.name for x in self.exported.values() if x.type.kind in kinds]
        if name not in fitting:
            raise ValueError(f"{what} names {name!r}, wanted one of {_list(fitting)}")
        return self.exported[name]

    def target(self) -> Target | None:
        """Return where the launch goes, where it says so."""
        stream, device = self.launch.stream, self.launch.device
        if stream is None and device is None:
            return None
        tree, pointer = parse(stream) if isinstance(stream, str) else None, -1
        exported = self.exported.get(tree.name) if isinstance(tree, Name) else None
        if exported is not None and exported.type.kind == "pointer":
            # An object of a stream arrives as an address.
            stream, pointer = f"{exported.name}.data_ptr", self.scope.numbers[exported.name]
        return Target(self.place("stream", stream), self.place("device", device), pointer)

    def place(self, what: str, figure: int | str | None) -> Figure | None:
        return None if figure is None else self.scope.figure(what, figure, of_device=())


def as_map(launch: Launch, param: Param) -> Param:
    """Return a kernel's parameter, which is a map where its tensor is declared under its name."""
    value = launch.args.get(param.name)
    is_tensor = isinstance(value, TensorMap) and value.tensor in (None, param.name)
    return Param(param.name, _MAP) if is_tensor and param.type.kind == "pointer" else param


def _list(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
