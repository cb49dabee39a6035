"""Launches bound to kernels: what a function takes, and where every kernel parameter comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..kernels.cubin import Kernel, Parameter
from ..kernels.types import CxxType, Param, parse_params, parse_type, sized_type
from ..launches import constant
from ..launches.attributes import ATTRIBUTES
from ..launches.expression import Name, parse
from ..launches.launch import Launch
from ..launches.tensor_map import TensorMap
from ..launches.values import Bound, ModuleParam, Scratch
from .function import (
    BLOCK,
    DIMENSIONS,
    EVENT,
    FLAG,
    GRID,
    INTEGER,
    RAW,
    SMEM,
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
    Source,
    Step,
    Target,
    contradicts,
    is_integer,
)
from .scope import ONCE_SHAPED, Scope
from .signature import KernelSignature, check, suggestion

MAPPED_TENSOR = parse_type("void*")
"""What an exported tensor is declared as that a kernel takes by its map alone."""

_MAP = parse_type("CUtensorMap")
_MOST_THREADS = 1024
_BY_KIND = {"dimensions": DIMENSIONS, "integer": INTEGER, "flag": FLAG, "event": EVENT}


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
    # All launches say what they export before any expression is read: one may use what another's
    # kernel takes.
    binders = [_Binder(name, launch, ref, trailing, exported) for launch, ref in launches]
    for number, binder in enumerate(binders, 1):
        if len(launches) > 1 and binder.launch.grid is None:
            raise ValueError(
                f"{binder.where}: launch {number} of {len(launches)} has no grid, and callers can "
                "give none to a function of several launches: give it grid= and block="
            )
    bound, targets = [], []
    for binder in binders:
        others = {x.name for other in binders if other is not binder for x in other.declared}
        bound.append(binder.bind(others))
        targets.append(binder.target)
        if targets[-1] != targets[0]:
            one, other = _said(launches[0][0]), _said(binder.launch)
            raise ValueError(
                f"function {name!r}: launch {len(targets)} of {len(launches)} has {other}, the "
                f"first has {one}: one call goes to one stream of one device, so give all its "
                "launches the same"
            )
    sources = [source for launch in bound for source in launch.sources]
    # Tensors may have any strides that kernels know by their maps alone.
    passed = {x for x in sources if isinstance(x, str)}
    for tensor in {x.tensor for x in sources if isinstance(x, Mapped)} - passed:
        exported[tensor] = exported[tensor]._replace(strided=True)
    slots = merged([x for x in sources if isinstance(x, BoundParam)], f"function {name!r}")
    return Instance(name, tuple(exported.values()), tuple(bound), slots, targets[0])


def dispatched(name: str, instances: Iterable[Instance], *, doc: str = "") -> Function:
    """Make one function of several instances."""
    found = tuple(instances)
    for position, instance in enumerate(found):
        first = next((i for i in range(position) if found[i].covers(instance)), None)
        if first is not None:
            raise ValueError(
                f"function {name!r}: instance {position + 1} is never launched:\n"
                f"  {instance.told}\n"
                f"instance {first + 1} fits whatever it fits:\n"
                f"  {found[first].told}\n"
                "give the latter a when=, put it last, or leave one out"
            )
    slots = [slot for instance in found for slot in instance.slots]
    return Function(name, found, doc, merged(slots, f"function {name!r}"), is_dispatch=True)


def merged(params: Iterable[BoundParam], where: str) -> tuple[BoundParam, ...]:
    """Return one slot for each name, which takes what is right for all parameters of that name."""
    slots: dict[str, BoundParam] = {}
    for given in params:
        before = slots.setdefault(given.name, given)
        try:
            both = before.slot.merged(given.slot)
        except ValueError as error:
            raise ValueError(
                f"{where}: the bound parameter {given.name!r} {error}: give it another name here, "
                f'as in Bound("{given.name}_2")'
            ) from None
        both = both._replace(strided=before.slot.strided and given.slot.strided)
        slots[given.name] = BoundParam(both, before.required or given.required)
    return tuple(slots.values())


def in_file(function: str, image: str, launch: Launch) -> KernelRef:
    """Return a kernel of an image in a file, as its launch declares it."""
    wanted = (launch.kernel or function).strip()
    where = f"function {function!r}, kernel {wanted!r}"
    if launch.params is None:
        raise ValueError(
            f"{where}: image {image!r} is a file of its own, which is seen only when it is loaded: "
            'declare all that the kernel takes, as in Launch(params="const float* x, int n")'
        )
    params = [_as_map(launch, p) for p in declared_params(where, launch.params)]
    for param in params:
        if param.type.size is None:
            raise ValueError(
                f"{where}: params declares '{param.type.text} {param.name}', a type of unknown "
                f"size, and image {image!r} is a file of its own, which does not tell it here"
            )
    slots = tuple(Parameter(i, 0, param.type.size or 0) for i, param in enumerate(params))
    kernel = Kernel(wanted, slots, 0, 0, 0, _MOST_THREADS)
    signature = KernelSignature(
        *(wanted, wanted, wanted, wanted), tuple(params), True, None, kernel, opaque=True
    )
    # As of images that are seen: a function's own name is the kernel's whole name.
    return KernelRef(image, signature, least_params=0, by_part=launch.kernel is not None)


def declared_params(where: str, text: str) -> tuple[Param, ...]:
    """Parse what a launch declares; raises ValueError, whose message begins with `where`."""
    try:
        return parse_params(text)
    except ValueError as error:
        raise ValueError(f"{where}: params: {error}") from None


def own_count(signature: KernelSignature, trailing: Sequence[ModuleParam]) -> int:
    """Return how many parameters of a kernel are its callers'; the module binds the others."""
    count = len(signature.kernel.params)
    if count < len(trailing):
        names = ", ".join(param.name for param in trailing)
        raise ValueError(
            f"bound_params are the last parameters of every kernel, {names}, and kernel "
            f"{signature.display} has {count} parameter{'' if count == 1 else 's'}"
        )
    return count - len(trailing)


def declared_type(param: ModuleParam) -> CxxType | None:
    """Return the type that a parameter is declared as; None where it is a name alone."""
    return parse_params(param.declared)[0].type if param.declared else None


class _Binder:
    """One launch of a function: first what it adds to `exported`, then all that reads of it."""

    target: Target | None = None

    def __init__(
        self,
        function: str,
        launch: Launch,
        kernel: KernelRef,
        trailing: Sequence[ModuleParam],
        exported: dict[str, Exported],
    ) -> None:
        self.where = f"function {function!r}, kernel {kernel.signature.display!r}"
        self.launch, self.kernel, self.exported = launch, kernel, exported
        self.signature = kernel.signature
        if launch.params is None and not trailing:
            self.signature.require()
        last = self.last_params(trailing) if trailing else ()
        self.declared: tuple[Param, ...] = ()
        if launch.params is not None:
            self.declared = declared_params(self.where, launch.params)
        self.params = self.kernel_params(last)
        self.hint = ""
        if self.signature.params and not self.signature.names_known and launch.params is None:
            self.hint = (
                " (the names are not known here: declare them with "
                f"{suggestion(self.signature.kernel, self.signature.params)})"
            )
        names = {param.name: param for param in self.params}
        if trailing:
            bound = zip(self.params[-len(trailing) :], trailing, strict=True)
            args = {param.name: x.bound for param, x in bound}
            self.launch = launch = replace(launch, args={**args, **launch.args})
        for name in launch.args:
            if name not in names:
                raise ValueError(
                    f"{self.where}: args gives {name!r}, which is no parameter of the kernel; "
                    f"there are {_list(names)}{self.hint}"
                )
        self.export(names)

    # What it exports

    def last_params(self, trailing: Sequence[ModuleParam]) -> tuple[Param, ...]:
        """Return the last parameters, which the module binds, with the types that it declares."""
        signature = self.signature
        own = own_count(signature, trailing)
        params = list(signature.params)
        names = [param.name for param in params[own:]]
        found = []
        for index, given in enumerate(trailing, own):
            real = (
                params[index]
                if params
                else Param(given.name, sized_type(signature.kernel.params[index].size))
            )
            # Of one type, those in another order would be mixed up.
            if given.name != real.name and given.name in names:
                raise ValueError(
                    f"{self.where}: bound_params names {given.name!r} where the kernel has "
                    f"{real.name!r}: give them in the kernel's order, {', '.join(names)}"
                )
            type_ = declared_type(given) or real.type
            if type_.size not in (None, real.type.size) or (
                not signature.opaque and contradicts(type_, real.type)
            ):
                raise ValueError(
                    f"{self.where}: bound_params declares {given.declared!r}, the kernel has "
                    f"'{real.type.text} {real.name}' of {real.type.size} bytes"
                )
            name = real.name if signature.names_known else given.name
            found.append(Param(name, type_._replace(size=real.type.size)))
        if params:
            self.signature = signature._replace(params=(*params[:own], *found))
        return tuple(found)

    def kernel_params(self, last: tuple[Param, ...]) -> tuple[Param, ...]:
        """Return the kernel's parameters with the names and types that hold in this launch."""
        signature, declared = self.signature, self.declared
        if self.launch.params is None:
            return signature.require().params
        count = len(signature.kernel.params)
        own = count - len(last)
        by_name = {param.name: param for param in declared}
        needed = {p.name for p in signature.params[:own]} - {*self.launch.args}
        if signature.params and signature.names_known and needed <= {*by_name}:
            params = [by_name.get(param.name, param) for param in signature.params]
        else:
            # Those who declare what callers pass need not know of what is bound, but may.
            if [p.name for p in declared[own:count]] != [p.name for p in last]:
                declared = (*declared[:own], *last, *declared[own:])
            params = [*declared[:count]]
        checked = check(
            [_as_map(self.launch, param) for param in params],
            signature.kernel,
            f"{self.where}: params",
        )
        for param, known in zip(checked, signature.params, strict=False):
            if not signature.opaque and contradicts(param.type, known.type):
                raise ValueError(
                    f"{self.where}: params declares '{param.type.text} {param.name}', the source "
                    f"has '{known.type.text}'"
                )
        return checked

    def export(self, params: dict[str, Param]) -> None:
        """Add what callers pass for this launch to what the function takes."""
        order = self.params if self.launch.params is None else self.declared
        names = {param.name for param in order}
        for param in order:
            value = self.launch.args.get(param.name)
            if isinstance(value, TensorMap):
                tensor = value.tensor or param.name
                if tensor == param.name and param.type.kind == "pointer":
                    self.add(param)
                elif tensor == param.name or tensor not in names:
                    self.add(Param(tensor, MAPPED_TENSOR))
            elif param.name not in self.launch.args:
                known = params.get(param.name, param)
                if known.type.size is None:
                    raise ValueError(
                        f"{self.where}: params declares '{param.type.text} {param.name}', a type "
                        "of unknown size that the kernel does not take"
                    )
                self.add(known)

    def add(self, param: Param) -> None:
        """Export a parameter, which another launch may take, too."""
        given = Exported(param.name, param.type, param.ndim)
        before = self.exported.get(param.name)
        if before is None or before.type is MAPPED_TENSOR:
            self.exported[param.name] = given
        elif param.type is not MAPPED_TENSOR or before.type.kind != "pointer":
            try:
                self.exported[param.name] = before.merged(given)
            except ValueError as error:
                raise ValueError(
                    f"{self.where}: parameter {param.name!r} {error}: give it here by "
                    f'args={{"{param.name}": ...}}, or another name by params='
                ) from None

    # What reads it

    def bind(self, others: set[str]) -> BoundLaunch:
        """Return the launch over what the function takes; `others` is what other launches do."""
        types = {param.name: param.type for param in self.params}
        self.scope = Scope(self.exported, self.launch.args, types, self.where, self.hint)
        sources = tuple(map(self.source, self.params))
        steps = tuple(self.steps())
        self.note_assumptions()
        self.target = self.bind_target()
        kernel = self.kernel
        if kernel.least_params is not None:
            # What is declared last may be for expressions alone, as a stream is, or for the other
            # launches: only the file tells.
            may_be_others = (self.scope.read | others) - {*self.launch.args}
            own = [i for i, p in enumerate(self.params, 1) if p.name not in may_be_others]
            kernel = kernel._replace(least_params=max(own, default=0))
        return BoundLaunch(self.launch, kernel, sources, steps)

    def source(self, param: Param) -> Source:
        """Return where a parameter of the kernel comes from."""
        name, type_ = param.name, param.type
        if name not in self.launch.args:
            return name
        value = self.launch.args[name]
        what = f"args[{name!r}]"
        if isinstance(value, TensorMap):
            return self.mapped(value, param)
        if isinstance(value, Scratch):
            if type_.kind not in ("pointer", "raw") or type_.size != 8:
                raise ValueError(
                    f"{self.where}: {what}: a Scratch is for a pointer, {name!r} is "
                    f"'{type_.text}' of {type_.size} bytes"
                )
            fixed = self.scope.figure(f"bytes of {what}", value.bytes)
            each = self.scope.figure(f"bytes_per_block of {what}", value.bytes_per_block)
            return Scratched(name, value.align, fixed, each)
        if isinstance(value, Bound):
            strided = name in self.launch.strided
            slot = Exported(value.name or name, type_, param.ndim, strided)
            return BoundParam(slot, value.required)
        if not isinstance(value, str):
            return constant.encode(value, type_, type_.size or 0, f"{self.where}: {what}")
        tree = parse(value)
        other = self.exported.get(tree.name) if isinstance(tree, Name) else None
        if other is not None and other.stands_for(type_):
            self.scope.read.add(other.name)
            return other.name
        if type_.kind != "float" and (type_.kind == "bool" or not is_integer(type_)):
            raise ValueError(
                f"{self.where}: {what}: '{type_.text}' takes a parameter of the same type or a "
                f"constant, got the expression {value!r}"
            )
        figure = self.scope.figure(what, value, reading=(name,), of_device=ONCE_SHAPED)
        return Computed(type_, figure)

    def mapped(self, map_: TensorMap, param: Param) -> Mapped:
        """Return the map of one kernel parameter, and note what it asks of its tensor."""
        name, tensor = param.name, map_.tensor or param.name
        where = f"{self.where}: args[{name!r}]"
        if param.type.kind not in ("struct", "raw") or param.type.size != _MAP.size:
            raise ValueError(
                f"{where}: a TensorMap is for a parameter 'const __grid_constant__ CUtensorMap', "
                f"{name!r} is '{param.type.text}' of {param.type.size} bytes"
            )
        if tensor not in self.exported:
            raise ValueError(
                f"{where}: the tensor {tensor!r} is none that callers pass; declare it, as in "
                f'params="..., const float* {tensor}"; there are {_list(self.exported)}'
            )
        exported = self.exported[tensor].as_tensor()
        if exported.type.kind != "pointer":
            raise ValueError(f"{where}: {tensor!r} is '{exported.type.text}', not a tensor")
        if map_.global_dim is not None:
            # None and bare addresses have no dtype.
            needs_tensor = exported.in_expression or map_.dtype is None
            exported = exported._replace(in_expression=needs_tensor)
        elif exported.ndim not in (None, map_.rank):
            raise ValueError(
                f"{where}: the map is for tensors of rank {map_.rank}, {tensor!r} has rank "
                f"{exported.ndim}, as params or another map say"
            )
        else:
            exported = exported._replace(ndim=map_.rank, in_expression=True)
        self.exported[tensor] = exported
        self.scope.read.add(tensor)
        figures = {
            what: self.scope.figure(f"{what} of args[{name!r}]", figure, reading=(name,))
            for what, figure in map_.figures()
        }
        return Mapped(name, tensor, map_, figures)

    def steps(self) -> Iterator[Step]:
        """Yield what is evaluated: conditions first, the grid last."""
        launch, scope = self.launch, self.scope
        if launch.when:
            yield Step(WHEN, scope.figure("when", launch.when))
        for axis, figure in enumerate(launch.block or ()):
            yield Step(BLOCK, scope.figure(f"block.{'xyz'[axis]}", figure), axis)
        if launch.dynamic_smem_bytes != 0:
            yield Step(SMEM, scope.figure("dynamic_smem_bytes", launch.dynamic_smem_bytes))
        for name, attribute in ATTRIBUTES.items():
            value = getattr(launch, name)
            if value is None or value is False:
                continue
            values = value if isinstance(value, tuple) else (value,)
            if attribute.kind == "dimensions":
                values += (1,) * (3 - len(values))
            what = f"{name} ({', '.join(attribute.choices)})" if attribute.choices else name
            for axis, x in enumerate(values):
                yield Step(_BY_KIND[attribute.kind], scope.figure(what, x), axis, id=attribute.id)
        for number, data in (launch.attributes or {}).items():
            yield Step(RAW, data, id=number)
        # How many blocks can be resident depends on all else.
        for axis, figure in enumerate(launch.grid or ()):
            what = f"grid.{'xyz'[axis]}"
            yield Step(GRID, scope.figure(what, figure, of_device=ONCE_SHAPED), axis)

    def note_assumptions(self) -> None:
        """Note with the function's parameters what a launch says of them beside its expressions."""
        launch, where = self.launch, self.where
        for name in launch.strided:
            if not isinstance(launch.args.get(name), Bound):
                before = self.named(name, "strided", ("pointer", "raw"), "a tensor")
                self.exported[name] = before._replace(strided=True)
        for name, number in (launch.multiple_of or {}).items():
            kinds = ("pointer", "int", "uint")
            before = self.named(name, "multiple_of", kinds, "a pointer or an integer")
            # Of two powers of two the larger is a multiple of the smaller.
            number = max(number, before.multiple_of)
            self.exported[name] = before._replace(multiple_of=number)
        for name, number in (launch.equal_to or {}).items():
            before = self.named(name, "equal_to", ("int", "uint"), "an integer")
            if before.equal_to not in (None, number):
                raise ValueError(
                    f"{where}: equal_to[{name!r}] is {number}, an earlier launch says "
                    f"{before.equal_to}"
                )
            self.exported[name] = before._replace(equal_to=number)

    def named(self, name: str, what: str, kinds: tuple[str, ...], wanted: str) -> Exported:
        """Return a parameter that the launch names, which is of one of some kinds."""
        if name not in self.exported:
            raise ValueError(
                f"{self.where}: {what} names {name!r}; the function's parameters are "
                f"{_list(self.exported)}"
            )
        type_ = self.exported[name].type
        if type_.kind not in kinds:
            raise ValueError(
                f"{self.where}: {what} names {name!r}, which is '{type_.text}', not {wanted}"
            )
        return self.exported[name]

    def bind_target(self) -> Target | None:
        """Return where the launch goes, where it says so."""
        stream, device = self.launch.stream, self.launch.device
        if stream is None and device is None:
            return None
        tree = parse(stream) if isinstance(stream, str) else None
        name = tree.name if isinstance(tree, Name) else ""
        if name in self.exported and self.exported[name].type.kind == "pointer":
            # An object of a stream arrives as an address, which no other expression can use.
            handle = self.scope.figure("stream", f"{name}.data_ptr")
            number = self.scope.numbers[name]
            return Target(handle, self.place("device", device), number)
        return Target(self.place("stream", stream), self.place("device", device))

    def place(self, what: str, figure: int | str | None) -> Figure | None:
        return None if figure is None else self.scope.figure(what, figure, of_device=())


def _as_map(launch: Launch, param: Param) -> Param:
    """Return a kernel's parameter, which is a map where its tensor is declared under its name."""
    value = launch.args.get(param.name)
    is_tensor = isinstance(value, TensorMap) and value.tensor in (None, param.name)
    return Param(param.name, _MAP) if is_tensor and param.type.kind == "pointer" else param


def _said(launch: Launch) -> str:
    given = {"stream": launch.stream, "device": launch.device}
    return " and ".join(f"{name}={x!r}" for name, x in given.items() if x is not None) or "none"


def _list(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
