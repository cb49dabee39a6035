"""Launches bound to kernels: what a function takes, and where every kernel parameter comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from ..kernels.types import CxxType, Param, parse_params, parse_type
from ..launches import constant
from ..launches.attributes import ATTRIBUTES
from ..launches.expression import Name, parse
from ..launches.launch import Launch
from ..launches.tensor_map import TensorMap
from ..launches.values import Bound, ModuleParam, Scratch
from . import function as made
from .exported import Exported, contradicts, is_integer
from .function import (
    BoundLaunch,
    Computed,
    Figure,
    Function,
    Instance,
    KernelRef,
    Mapped,
    Scratched,
    Source,
    Step,
    Target,
)
from .scope import ONCE_SHAPED, Scope
from .signature import check

# What a tensor is exported as that kernels take by its map alone: another launch may say more.
_TENSOR = CxxType("void*", "raw", 8)
_MAP = parse_type("CUtensorMap")
_BY_KIND = {
    "dimensions": made.DIMENSIONS, "integer": made.INTEGER, "flag": made.FLAG, "event": made.EVENT
}  # fmt: skip


@contextmanager
def told(where: str) -> Iterator[None]:
    """Say in errors where they come from."""
    try:
        yield
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{where}: {error}") from None


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
    places = [f"function {name!r}, kernel {ref.signature.display!r}" for _, ref in launches]
    # All launches say what they export before any expression is read: one may use what another's
    # kernel takes.
    binders = []
    for (launch, ref), place in zip(launches, places, strict=True):
        with told(place):
            binders.append(_Binder(launch, ref, trailing, exported))
    bound, targets = [], []
    for binder, place in zip(binders, places, strict=True):
        others = {x.name for other in binders if other is not binder for x in other.declared}
        with told(place):
            bound.append(binder.bind(others))
            targets.append(binder.target())
            if targets[-1] != targets[0]:
                raise ValueError(
                    "one call goes to one stream of one device: give all launches of a function "
                    "the same stream= and device="
                )
    sources = [source for launch in bound for source in launch.sources]
    # Tensors may have any strides that kernels know by their maps alone.
    passed = {x for x in sources if isinstance(x, str)}
    for tensor in {x.tensor for x in sources if isinstance(x, Mapped)} - passed:
        exported[tensor] = exported[tensor]._replace(strided=True)
    return Instance(name, tuple(exported.values()), tuple(bound), targets[0])


def function(
    name: str, instances: Sequence[Instance], *, doc: str = "", is_dispatch: bool = False
) -> Function:
    """Make one function of an instance or, of a dispatch, several."""
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
        if isinstance(source, Exported):
            with told(f"function {name!r}"):
                slots[source.name] = slots.get(source.name, source).merged(source)
    return Function(name, tuple(instances), doc, tuple(slots.values()), is_dispatch)


class _Binder:
    """One launch of a function: first what it adds to `exported`, then all that reads of it."""

    def __init__(
        self,
        launch: Launch,
        kernel: KernelRef,
        trailing: Sequence[ModuleParam],
        exported: dict[str, Exported],
    ) -> None:
        self.kernel, self.exported = kernel, exported
        signature = kernel.signature
        self.declared = () if launch.params is None else parse_params(launch.params)
        self.params = self.kernel_params(launch, len(signature.kernel.params) - len(trailing))
        last = self.params[len(self.params) - len(trailing) :]
        bound = {param.name: x.bound for param, x in zip(last, trailing, strict=True)}
        self.launch = replace(launch, args={**bound, **launch.args}) if trailing else launch
        self.types = {param.name: param.type for param in self.params}
        for name in launch.args:
            if name not in self.types:
                raise ValueError(
                    f"args gives {name!r}, which is no parameter of the kernel; there are "
                    f"{_list(self.types)}"
                )
        self.export(self.params if launch.params is None else self.declared)

    # What it exports

    def kernel_params(self, launch: Launch, own: int) -> tuple[Param, ...]:
        """Return the kernel's parameters with the names and types that hold in this launch."""
        signature, declared = self.kernel.signature, self.declared
        if launch.params is None:
            return signature.require().params
        by_name = {param.name: param for param in declared}
        needed = {p.name for p in signature.params[:own]} - {*launch.args}
        params = [by_name.get(param.name, param) for param in signature.params]
        if not params or not signature.names_known or not needed <= {*by_name}:
            count, last = len(signature.kernel.params), signature.params[own:]
            # Those who declare what callers pass need not know of what is bound, but may.
            if [p.name for p in declared[own:count]] != [p.name for p in last]:
                declared = (*declared[:own], *last, *declared[own:])
            params = [*declared[:count]]
        checked = check([as_map(launch, x) for x in params], signature.kernel, "params")
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
        self.exported[given.name] = self.exported.get(given.name, given).merged(given)

    # What reads it

    def bind(self, others: set[str]) -> BoundLaunch:
        """Return the launch over what the function takes; `others` is what other launches do."""
        self.scope = Scope(self.exported, self.launch.args, self.types)
        sources = tuple(map(self.source, self.params))
        steps = tuple(self.steps())
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
            return name
        value, what = self.launch.args[name], f"args[{name!r}]"
        if isinstance(value, TensorMap):
            return self.mapped(value, param)
        if isinstance(value, Scratch):
            if type_.kind not in ("pointer", "raw") or type_.size != 8:
                raise ValueError(f"{what}: a Scratch is for a pointer, got '{type_.text} {name}'")
            fixed = self.scope.figure(f"bytes of {what}", value.bytes)
            each = self.scope.figure(f"bytes_per_block of {what}", value.bytes_per_block)
            return Scratched(name, value.align, fixed, each)
        if isinstance(value, Bound):
            strided = name in self.launch.strided
            return Exported(
                value.name or name, type_, ndim, strided=strided, required=value.required
            )
        if not isinstance(value, str):
            return constant.encode(value, type_, what)
        tree = parse(value)
        other = self.exported.get(tree.name) if isinstance(tree, Name) else None
        if other is not None and other.stands_for(type_):
            self.scope.read.add(other.name)
            return other.name
        if type_.kind != "float" and (type_.kind == "bool" or not is_integer(type_)):
            raise ValueError(
                f"{what}: '{type_.text}' takes a parameter of the same type or a constant, got the "
                f"expression {value!r}"
            )
        figure = self.scope.figure(what, value, reading=(name,), of_device=ONCE_SHAPED)
        return Computed(type_, figure)

    def mapped(self, map_: TensorMap, param: Param) -> Mapped:
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
        figures = {
            what: self.scope.figure(f"{what} of args[{name!r}]", figure, reading=(name,))
            for what, figure in map_.figures()
        }
        return Mapped(name, tensor, map_, figures)

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
        launch = self.launch
        for name in launch.strided:
            if not isinstance(launch.args.get(name), Bound):
                before = self.named(name, "strided", ("pointer", "raw"))
                self.exported[name] = before._replace(strided=True)
        for name, number in (launch.multiple_of or {}).items():
            before = self.named(name, "multiple_of", ("pointer", "int", "uint"))
            # Of two powers of two the larger is a multiple of the smaller.
            number = max(number, before.multiple_of)
            self.exported[name] = before._replace(multiple_of=number)
        for name, number in (launch.equal_to or {}).items():
            before = self.named(name, "equal_to", ("int", "uint"))
            if before.equal_to not in (None, number):
                raise ValueError(f"equal_to[{name!r}] is {number}, and {before.equal_to} before")
            self.exported[name] = before._replace(equal_to=number)

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
