"""Launches bound to kernels: what a function takes, and where every kernel parameter comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from . import constant, expr
from .assumption_binding import note_assumptions
from .bound import Bound
from .bound_binding import bind_parameter, merged
from .bound_params import ModuleParam
from .exported import Exported
from .function import (
    BoundLaunch,
    BoundParam,
    Carried,
    Computed,
    Constant,
    Formula,
    Function,
    KernelRef,
    Requirement,
    Source,
)
from .kernel_params import declared_params, kernel_params
from .kernel_signature import suggestion
from .kernels.types import CxxType, Param
from .launch import Launch
from .launch_attributes import ATTRIBUTES, Attribute
from .map_binding import MAPPED_TENSOR, bind_map, mapped_tensor
from .scope import Scope
from .scratch import Scratch
from .scratch_binding import bind_scratch
from .target_binding import bind_target, check_targets
from .trailing import launch_with

__all__ = ["bind"]


def bind(
    name: str,
    launches: Sequence[tuple[Launch, KernelRef]],
    *,
    doc: str = "",
    trailing: tuple[ModuleParam, ...] = (),
) -> Function:
    """Bind launches to kernels and work out what the function takes.

    The last parameters of each kernel are those of `trailing`, which the module binds.

    Raises
    ------
    TypeError, ValueError
        A name is unknown, types conflict, a value does not fit; the message names function,
        parameter and remedy.
    """
    binder = _Binder(name, trailing)
    for number, (launch, ref) in enumerate(launches, 1):
        if len(launches) > 1 and not launch.is_shaped:
            raise ValueError(
                f"{binder.where(ref)}: launch {number} of {len(launches)} has no grid, and "
                "callers can give none to a function of several launches: give it grid= and block="
            )
    # All launches say what they export before any expression is read: one may use what another's
    # kernel takes.
    prepared = [binder.prepare(launch, ref) for launch, ref in launches]
    bound = tuple(binder.bind(*item) for item in prepared)
    binder.exempt_maps(bound)
    check_targets(f"function {name!r}", bound)
    given = [x for launch in bound for x in launch.sources if isinstance(x, BoundParam)]
    slots = merged(given, f"function {name!r}")
    return Function(name, tuple(binder.exported.values()), bound, doc, slots)


@dataclass
class _Binder:
    """Collects the exported parameters over the launches of one function."""

    function: str
    trailing: tuple[ModuleParam, ...] = ()
    exported: dict[str, Exported] = field(default_factory=dict)

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
                f"kernel; there are {_list(p.name for p in params)}{self.hint(launch, ref)}"
            )
        for param, size in self.exports(launch, ref, params):
            self.export(param, size, ref)
        return launch, ref, params

    def bind(self, launch: Launch, ref: KernelRef, params: tuple[Param, ...]) -> BoundLaunch:
        types = {p.name: p.type for p in params}
        scope = Scope(self.exported, launch.args, types, self.where(ref), self.hint(launch, ref))
        sources = tuple(
            self.source(launch, scope, param, slot.size)
            for param, slot in zip(params, ref.kernel.params, strict=True)
        )
        figures = {
            what: Formula(figure, scope.resolve(what, figure))
            if isinstance(figure, str)
            else figure
            for what, figure in launch.figures()
        }
        for name in launch.strided:
            if isinstance(launch.args.get(name), Bound):
                continue
            if name not in self.exported:
                raise ValueError(
                    f"{self.where(ref)}: strided names {name!r}; the function's parameters are "
                    f"{_list(self.exported)}"
                )
            type_ = self.exported[name].param.type
            if type_.kind != "pointer" and (type_.kind, type_.size) != ("raw", 8):
                raise ValueError(
                    f"{self.where(ref)}: strided names {name!r}, which is '{type_.text}', not a "
                    "tensor"
                )
            self.exported[name] = replace(self.exported[name], strided=True)
        note_assumptions(self.exported, launch, self.where(ref))
        when = _condition(scope, "when", launch.when) if launch.when else None
        target = bind_target(launch, scope)
        carried = tuple(_carried(scope, launch))
        return BoundLaunch(launch, ref, sources, figures, when, carried, target)

    def exempt_maps(self, bound: Sequence[BoundLaunch]) -> None:
        """Let tensors have any strides that kernels know by their maps alone."""
        passed = {x for launch in bound for x in launch.sources if isinstance(x, str)}
        mapped = {x.tensor for launch in bound for x in launch.maps}
        for name in mapped - passed:
            self.exported[name] = replace(self.exported[name], strided=True)

    def where(self, ref: KernelRef) -> str:
        return f"function {self.function!r}, kernel {ref.display!r}"

    def hint(self, launch: Launch, ref: KernelRef) -> str:
        if ref.names_known or ref.params is None or launch.params is not None:
            return ""
        reason = "are not in the source as written, through a macro or a template"
        if ref.opaque:
            reason = "are not in an image"
        return f" (the names {reason}: declare them with {suggestion(ref.kernel, ref.params)})"

    def exports(
        self, launch: Launch, ref: KernelRef, kernel_params: tuple[Param, ...]
    ) -> Iterator[tuple[Param, int]]:
        sizes = {
            p.name: slot.size for p, slot in zip(kernel_params, ref.kernel.params, strict=True)
        }
        order = kernel_params
        if launch.params is not None:
            order = declared_params(self.where(ref), launch.params)
        names = {param.name for param in order}
        for param in order:
            tensor = mapped_tensor(launch, param.name)
            if tensor is not None and (tensor == param.name or tensor not in names):
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

    def source(self, launch: Launch, scope: Scope, param: Param, size: int) -> Source:
        if param.name not in launch.args:
            return param.name
        if mapped_tensor(launch, param.name) is not None:
            return bind_map(launch, scope, param.name, param.type, size)
        value = launch.args[param.name]
        what = f"args[{param.name!r}]"
        if isinstance(value, Scratch):
            return bind_scratch(value, scope, param, size)
        if isinstance(value, Bound):
            return bind_parameter(value, param, size, strided=param.name in launch.strided)
        if not isinstance(value, str):
            return Constant(constant.encode(value, param.type, size, f"{scope.where}: {what}"))
        tree = expr.parse(value)
        other = self.exported.get(tree.name) if isinstance(tree, expr.Name) else None
        if other is not None and other.stands_for(param.type, size):
            return other.name
        if param.type.kind not in ("int", "uint", "float") and not _is_raw_integer(param.type):
            raise ValueError(
                f"{scope.where}: {what}: '{param.type.text}' takes a parameter of the same type or "
                f"a constant, got the expression {value!r}"
            )
        tree = scope.resolve(what, value, reading=(param.name,))
        return Computed(param.type, size, Formula(value, tree))


def _is_raw_integer(type_: CxxType) -> bool:
    return type_.kind == "raw" and type_.size in (1, 2, 4, 8)


def _condition(scope: Scope, what: str, text: str) -> Requirement:
    return Requirement(text, scope.resolve_condition(what, text))


def _carried(scope: Scope, launch: Launch) -> Iterator[Carried]:
    """Yield the attributes that a launch has, but for those that are off."""
    for name, attribute in ATTRIBUTES.items():
        value = getattr(launch, name)
        if value is None or value is False:
            continue
        values = value if isinstance(value, tuple) else (value,)
        yield Carried(name, tuple(_value(scope, attribute, x) for x in values))


def _value(scope: Scope, attribute: Attribute, value: int | str) -> int | Formula | Requirement:
    if not isinstance(value, str):
        return int(value)
    if attribute.kind == "flag":
        return _condition(scope, attribute.field, value)
    try:
        return Formula(value, scope.resolve(attribute.field, value))
    except ValueError as error:
        if not attribute.choices:
            raise
        names = ", ".join(map(repr, attribute.choices))
        raise ValueError(f"{error}\n{attribute.field} has the values {names}") from None


def _list(names: Sequence[str] | Iterator[str] | Mapping[str, object]) -> str:
    return ", ".join(names) or "none"
