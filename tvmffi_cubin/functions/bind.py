"""Launches bound to kernels: what a function takes, and where every kernel parameter comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..kernels.types import Param, parse_type
from ..launches.attributes import ATTRIBUTES
from ..launches.expression import Field, Name, names, parse
from ..launches.launch import Launch
from ..launches.values import Bound, ModuleParam
from ..launches.values import Figure as GivenFigure
from .function import (
    BoundLaunch,
    BoundParam,
    Carried,
    Exported,
    Figure,
    Formula,
    Function,
    Instance,
    KernelRef,
    Mapped,
    Target,
)
from .kernel_params import declared_params, kernel_params, launch_with, mapped_tensor
from .signature import suggestion
from .sources import Scope, merged, source

MAPPED_TENSOR = parse_type("void*")
"""What an exported tensor is declared as that a kernel takes by its map alone."""


def bind(
    name: str,
    launches: Sequence[tuple[Launch, KernelRef]],
    *,
    trailing: tuple[ModuleParam, ...] = (),
) -> Instance:
    """Bind launches to kernels and work out what the function takes.

    The last parameters of each kernel are those of `trailing`, which the module binds.
    """
    binder = _Binder(name, trailing)
    for number, (launch, ref) in enumerate(launches, 1):
        if len(launches) > 1 and launch.grid is None:
            raise ValueError(
                f"{binder.where(ref)}: launch {number} of {len(launches)} has no grid, and "
                "callers can give none to a function of several launches: give it grid= and block="
            )
    # All launches say what they export before any expression is read: one may use what another's
    # kernel takes.
    prepared = [binder.prepare(launch, ref) for launch, ref in launches]
    bound = tuple(binder.bind(*item) for item in prepared)
    binder.exempt_maps(bound)
    _check_targets(f"function {name!r}", bound)
    given = [x for launch in bound for x in launch.sources if isinstance(x, BoundParam)]
    slots = merged(given, f"function {name!r}")
    return Instance(name, tuple(binder.exported.values()), bound, slots)


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


class _Binder:
    """Collects the exported parameters over the launches of one function."""

    def __init__(self, function: str, trailing: tuple[ModuleParam, ...]) -> None:
        self.function = function
        self.trailing = trailing
        self.exported: dict[str, Exported] = {}

    def where(self, ref: KernelRef) -> str:
        return f"function {self.function!r}, kernel {ref.display!r}"

    def prepare(
        self, launch: Launch, ref: KernelRef
    ) -> tuple[Launch, KernelRef, tuple[Param, ...]]:
        """Export what one launch takes; return it with the kernel's parameters as they hold."""
        params = kernel_params(self.where(ref), launch, ref, self.trailing)
        launch = launch_with(launch, params, self.trailing)
        known = {p.name for p in params}
        unknown = [name for name in launch.args if name not in known]
        if unknown:
            raise ValueError(
                f"{self.where(ref)}: args gives {unknown[0]!r}, which is no parameter of the "
                f"kernel; there are {_list(p.name for p in params)}{_hint(launch, ref)}"
            )
        for param, size in self.exports(launch, ref, params):
            self.export(param, size, ref)
        return launch, ref, params

    def exports(
        self, launch: Launch, ref: KernelRef, params: tuple[Param, ...]
    ) -> Iterator[tuple[Param, int]]:
        sizes = {p.name: slot.size for p, slot in zip(params, ref.kernel.params, strict=True)}
        order = params
        if launch.params is not None:
            order = declared_params(self.where(ref), launch.params)
        known = {param.name for param in order}
        for param in order:
            tensor = mapped_tensor(launch, param.name)
            if tensor is not None and (tensor == param.name or tensor not in known):
                # A pointer that is declared under the map's name is the tensor.
                declared = launch.params is not None and param.type.kind == "pointer"
                yield param if declared else Param(tensor, MAPPED_TENSOR), 8
            if param.name in launch.args:
                continue
            size = sizes.get(param.name, param.type.size)
            if size is None:
                raise ValueError(
                    f"{self.where(ref)}: params declares '{param.type.text} {param.name}', a type "
                    "of unknown size that the kernel does not take"
                )
            yield param, size

    def export(self, param: Param, size: int, ref: KernelRef) -> None:
        before = self.exported.get(param.name)
        if before is None or before.param.type is MAPPED_TENSOR:
            self.exported[param.name] = Exported(param, size)
            return
        if param.type is MAPPED_TENSOR and before.param.type.kind == "pointer":
            return
        try:
            self.exported[param.name] = before.merged(param, size)
        except ValueError as error:
            raise ValueError(
                f"{self.where(ref)}: parameter {param.name!r} {error}: give it here by "
                f'args={{"{param.name}": ...}}, or another name by params='
            ) from None

    def bind(self, launch: Launch, ref: KernelRef, params: tuple[Param, ...]) -> BoundLaunch:
        types = {p.name: p.type for p in params}
        scope = Scope(self.exported, launch.args, types, self.where(ref), _hint(launch, ref))
        sources = tuple(
            source(launch, scope, param, slot.size)
            for param, slot in zip(params, ref.kernel.params, strict=True)
        )
        figures = {
            what: scope.formula(what, figure) if isinstance(figure, str) else figure
            for what, figure in launch.figures()
        }
        self.note_strided(launch, scope.where)
        self.note_assumptions(launch, scope.where)
        when = scope.formula("when", launch.when) if launch.when else None
        target = _target(launch, scope)
        carried = tuple(_carried(scope, launch))
        return BoundLaunch(launch, ref, sources, figures, when, carried, target)

    def exempt_maps(self, bound: Sequence[BoundLaunch]) -> None:
        """Let tensors have any strides that kernels know by their maps alone."""
        sources = [x for launch in bound for x in launch.sources]
        passed = {x for x in sources if isinstance(x, str)}
        for name in {x.tensor for x in sources if isinstance(x, Mapped)} - passed:
            self.exported[name] = self.exported[name]._replace(strided=True)

    def note_strided(self, launch: Launch, where: str) -> None:
        for name in launch.strided:
            if isinstance(launch.args.get(name), Bound):
                continue
            before = self.named(name, f"{where}: strided")
            type_ = before.param.type
            if type_.kind != "pointer" and (type_.kind, type_.size) != ("raw", 8):
                raise ValueError(
                    f"{where}: strided names {name!r}, which is '{type_.text}', not a tensor"
                )
            self.exported[name] = before._replace(strided=True)

    def note_assumptions(self, launch: Launch, where: str) -> None:
        """Note a launch's `multiple_of` and `equal_to` with the function's parameters."""
        for name, number in (launch.multiple_of or {}).items():
            before = self.named(name, f"{where}: multiple_of", ("pointer", "int", "uint"))
            # Of two powers of two the larger is a multiple of the smaller.
            number = max(number, before.multiple_of)
            self.exported[name] = before._replace(multiple_of=number)
        for name, number in (launch.equal_to or {}).items():
            before = self.named(name, f"{where}: equal_to", ("int", "uint"))
            if before.equal_to not in (None, number):
                raise ValueError(
                    f"{where}: equal_to[{name!r}] is {number}, an earlier launch says "
                    f"{before.equal_to}"
                )
            self.exported[name] = before._replace(equal_to=number)

    def named(self, name: str, what: str, kinds: tuple[str, ...] = ()) -> Exported:
        """Return a parameter that a launch names, which is of one of some kinds."""
        if name not in self.exported:
            raise ValueError(
                f"{what} names {name!r}; the function's parameters are {_list(self.exported)}"
            )
        type_ = self.exported[name].param.type
        if kinds and type_.kind not in kinds:
            wanted = "an integer" if "pointer" not in kinds else "a pointer or an integer"
            raise ValueError(f"{what} names {name!r}, which is '{type_.text}', not {wanted}")
        return self.exported[name]


def _hint(launch: Launch, ref: KernelRef) -> str:
    if ref.names_known or ref.params is None or launch.params is not None:
        return ""
    reason = "are not in the source as written, through a macro or a template"
    if ref.opaque:
        reason = "are not in an image"
    return f" (the names {reason}: declare them with {suggestion(ref.kernel, ref.params)})"


def _carried(scope: Scope, launch: Launch) -> Iterator[Carried]:
    """Yield the attributes that a launch has, but for those that are off."""
    for name, attribute in ATTRIBUTES.items():
        value = getattr(launch, name)
        if value is None or value is False:
            continue
        values = value if isinstance(value, tuple) else (value,)
        try:
            yield Carried(name, tuple(_figure(scope, name, x) for x in values))
        except ValueError as error:
            if not attribute.choices:
                raise
            choices = ", ".join(map(repr, attribute.choices))
            raise ValueError(f"{error}\n{name} has the values {choices}") from None


def _figure(scope: Scope, what: str, value: GivenFigure) -> Figure:
    return scope.formula(what, value) if isinstance(value, str) else int(value)


# Where launches go


def _target(launch: Launch, scope: Scope) -> Target | None:
    if launch.stream is None and launch.device is None:
        return None
    return Target(_place(scope, "stream", launch.stream), _place(scope, "device", launch.device))


def _place(scope: Scope, what: str, figure: GivenFigure | None) -> Figure | None:
    if not isinstance(figure, str):
        return figure
    tree = parse(figure)
    if what == "stream" and isinstance(tree, Name) and tree.name in scope.exported:
        type_ = scope.exported[tree.name].param.type
        if type_.kind == "pointer":
            # An object of a stream arrives as an address, which no other expression can use.
            return Formula(figure, Field(tree.name, "data_ptr", None, tree.column))
    formula = scope.formula(what, figure)
    for read in names(formula.tree):
        if isinstance(read, Name) and read.name not in scope.exported:
            raise ValueError(
                f"{scope.where}: {what}: {figure!r} reads {read.name}, which depends on the device "
                "that the launch goes to"
            )
    return formula


def _check_targets(where: str, launches: Sequence[BoundLaunch]) -> None:
    """Check that all launches of a function go to one stream of one device."""
    for number, bound in enumerate(launches[1:], 2):
        if bound.target != launches[0].target:
            one, other = _said(launches[0].launch), _said(bound.launch)
            raise ValueError(
                f"{where}: launch {number} of {len(launches)} has {other}, the first has {one}: "
                "one call goes to one stream of one device, so give all its launches the same"
            )


def _said(launch: Launch) -> str:
    given = {"stream": launch.stream, "device": launch.device}
    return " and ".join(f"{name}={x!r}" for name, x in given.items() if x is not None) or "none"


def _list(given: Iterable[str] | Mapping[str, object]) -> str:
    return ", ".join(given) or "none"
