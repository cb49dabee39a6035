"""`LaunchBinder`: one launch bound to its kernel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..device.image import KernelSignature, check
from ..kernels.types import CxxType, Param, parse_params
from ..launches.expression import lone_name
from ..launches.launch import ATTRIBUTES, Launch
from ..launches.tensor_map import TensorMap
from ..launches.values import Bound, Scratch
from .assembly import Layout
from .plan import NO_OPTION, STEP, Exported, Plan, fits, is_integer, kind_of
from .postfix import EVERYWHERE, ONCE_SHAPED, Expression

# As structs of launcher/plan.h, and its enumerations.
LAUNCH = Layout("P P P i i i i i")
_SOURCE = Layout("B i P")
_SCRATCH = Layout("P  P P q  P P q  I")
_TARGET = Layout("P P q  P P q  i ? ?")
_WHEN, _FIGURE = 0, 1
_RAW, _COMPUTED = 6, 7
_GRID, _BLOCK, _SMEM = 0, 3, 6  # figures
_FROM_ARGUMENT, _FROM_COMPUTED, _FROM_CONSTANT, _FROM_MAP, _FROM_SCRATCH, _FROM_BOUND = range(6)
_ATTRIBUTES = {"dimensions": 2, "integer": 3, "flag": 4, "event": 5}

# What a tensor is exported as that kernels take by its map alone: another launch may say more.
_TENSOR = CxxType("void*", "raw", 8)


class LaunchBinder:
    """One launch of a function: first what it adds to `exported`, then all that reads of it.

    `params` are the kernel's, of certain `types`; `args` give those that callers do not pass.
    """

    def __init__(
        self,
        plan: Plan,
        function: str,
        launch: Launch,
        kernel: KernelSignature,
        exported: dict[str, Exported],
    ) -> None:
        self.plan, self.function, self.launch, self.exported = plan, function, launch, exported
        self.num_attributes = 0
        self._computed: list[str] = []
        declared = None if launch.params is None else parse_params(launch.params)
        self.params = (*_own_params(launch, kernel, declared), *kernel.bound)
        self.args = {**{x.name: Bound() for x in kernel.bound}, **(launch.args or {})}
        self.types = {param.name: param.type for param in self.params}
        if unknown := self.args.keys() - self.types.keys():
            raise ValueError(f"args gives {min(unknown)!r}, wanted one of {_list(self.types)}")
        taken = kernel.params if declared is None else declared
        names = {param.name for param in taken}
        for param in taken:
            self._export(param, names)

    def _export(self, param: Param, names: set[str]) -> None:
        """Add to what the function takes what callers pass for a parameter, one of `names`."""
        name, declared, ndim = param
        # A tensor may have any strides that the kernel knows by its maps alone.
        mapped = {x.tensor for x in self.args.values() if isinstance(x, TensorMap)}
        is_strided = name in mapped - self.types.keys()
        new = Exported(name, self.types.get(name, declared), ndim, is_strided)
        value = self.args.get(name)
        if isinstance(value, TensorMap):
            tensor = value.tensor or name
            if tensor != name and tensor in names:
                return
            is_declared = tensor == name and declared.kind == "pointer"
            new = Exported(tensor, declared if is_declared else _TENSOR, ndim, strided=True)
        elif name in self.args:
            return
        if not new.type.size:
            raise ValueError(f"params declares '{declared.text} {name}', a type of unknown size")
        before = self.exported.get(new.name)
        self.exported[new.name] = new if before is None else before.merged(new)

    def number(self, name: str) -> int:
        """Return the number of one of the function's parameters."""
        return [*self.exported].index(name)

    def figure(
        self,
        what: str,
        value: int | str | bytes,
        of_device: tuple[str, ...] = EVERYWHERE,
        arg: str = "",
    ) -> tuple[str | None, str | None, int]:
        """Return the members of a `Figure`; `arg` is the one of `args` whose expression it is."""
        if isinstance(value, bytes):
            return None, self.plan.data(value), len(value)
        if not isinstance(value, str):
            return None, None, int(value)
        expression = Expression(self, what, value, of_device, (arg,) if arg else ())
        return self.plan.data(expression.code()), self.plan.string(value), 0

    def row(self) -> tuple[Any, ...]:
        """Return the row of the launch, but for its kernel."""
        launch, plan = self.launch, self.plan
        sources = [_SOURCE.row(*self._source(param)) for param in self.params]
        steps = []
        for what, value, target, number, attribute in self._steps():
            # How many blocks can be resident depends on all but the grid.
            is_grid = target == _FIGURE and number < _BLOCK
            figure = self.figure(what, value, ONCE_SHAPED if is_grid else EVERYWHERE)
            # By the bits of `CallOptions::given`.
            option = number if target == _FIGURE else 8 + attribute if attribute else NO_OPTION
            steps.append(STEP.row(*figure, target, 0, number, attribute, option))
        steps += self._computed
        self._assume()
        counts = len(sources), len(steps), launch.when is not None, len(self._computed)
        missing = (launch.grid is None) + 8 * (launch.block is None)
        return plan.table(sources), plan.table(steps), *counts, missing

    def _source(self, param: Param) -> tuple[int, int, str | None]:
        """Return where a parameter of the kernel comes from."""
        name, type_, ndim = param
        if name not in self.args:
            return _FROM_ARGUMENT, self.number(name), None
        value, what = self.args[name], f"args[{name!r}]"
        if isinstance(value, TensorMap):
            from .given import map_row

            return _FROM_MAP, 0, map_row(self, value, param)
        if isinstance(value, Scratch):
            if type_.kind not in ("pointer", "raw") or type_.size != 8:
                raise ValueError(f"{what}: a Scratch is for a pointer, got '{type_.text} {name}'")
            fixed = self.figure(f"bytes of {what}", value.bytes)
            each = self.figure(f"bytes_per_block of {what}", value.bytes_per_block)
            row = _SCRATCH.row(self.plan.string(name), *fixed, *each, value.align)
            return _FROM_SCRATCH, 0, self.plan.table([row])
        if isinstance(value, Bound):
            slot = Exported(value.name or name, type_, ndim, required=value.required)
            return _FROM_BOUND, self.plan.slot(self.function, slot), None
        if not isinstance(value, str):
            from .given import constant

            return _FROM_CONSTANT, 0, self.plan.data(constant(value, type_, what))
        other = lone_name(value)
        if other in self.exported and fits(self.exported[other].type, type_):
            if other not in self.types:  # the kernel knows it by more than a map
                self.exported[other] = self.exported[other]._replace(strided=False)
            return _FROM_ARGUMENT, self.number(other), None
        if type_.kind not in ("float", "bfloat") and not is_integer(type_):
            raise ValueError(f"{what}: {value!r} is no constant or parameter for '{type_.text}'")
        figure = self.figure(what, value, ONCE_SHAPED, arg=name)
        number = len(self._computed)
        step = STEP.row(*figure, _COMPUTED, kind_of(type_), number, type_.size, NO_OPTION)
        self._computed.append(step)
        return _FROM_COMPUTED, number, None

    def _steps(self) -> Iterator[tuple[str, int | str | bytes, int, int, int]]:
        """Yield what is evaluated: its name, value, target and number, and an attribute's id."""
        launch = self.launch
        if launch.when:
            yield "when", launch.when, _WHEN, 0, 0
        for axis, x in enumerate(launch.block or ()):
            yield f"block.{'xyz'[axis]}", x, _FIGURE, _BLOCK + axis, 0
        if launch.dynamic_smem_bytes != 0:
            yield "dynamic_smem_bytes", launch.dynamic_smem_bytes, _FIGURE, _SMEM, 0
        for name, attribute in ATTRIBUTES.items():
            value = getattr(launch, name)
            if value is None or value is False:
                continue
            self.num_attributes += 1
            values = value if isinstance(value, tuple) else (value,)
            if attribute.kind == "dimensions":
                values += (1,) * (3 - len(values))
            what = f"{name} ({', '.join(attribute.choices)})" if attribute.choices else name
            for axis, x in enumerate(values):
                yield what, x, _ATTRIBUTES[attribute.kind], axis, attribute.id
        for id_, data in (launch.attributes or {}).items():
            self.num_attributes += 1
            yield "attributes", data, _RAW, 0, id_
        for axis, x in enumerate(launch.grid or ()):
            yield f"grid.{'xyz'[axis]}", x, _FIGURE, _GRID + axis, 0

    def _assume(self) -> None:
        """Note with the function's parameters, as expressions left them, what the launch says."""
        launch = self.launch
        for field, given, kinds in (
            ("strided", dict.fromkeys(launch.strided, True), ("pointer", "raw")),
            ("multiple_of", launch.multiple_of or {}, ("pointer", "int", "uint")),
            ("equal_to", launch.equal_to or {}, ("int", "uint")),
        ):
            fitting = [x.name for x in self.exported.values() if x.type.kind in kinds]
            for name, value in given.items():
                if name not in fitting:
                    raise ValueError(f"{field} names {name!r}, wanted one of {_list(fitting)}")
                known = self.exported[name]
                # Of two powers of two the larger is a multiple of the smaller.
                value = max(value, known.multiple_of) if field == "multiple_of" else value
                new: dict[str, Any] = {field: value}
                self.exported[name] = known._replace(**new)

    def target(self) -> str | None:
        """Return where the launch goes, where it says so."""
        stream, device = self.launch.stream, self.launch.device
        if stream is None and device is None:
            return None
        name, pointer = lone_name(stream), -1
        if name in self.exported and self.exported[name].type.kind == "pointer":
            # An object of a stream arrives as an address.
            stream, pointer = f"{name}.data_ptr", self.number(name)
        row = _TARGET.row(
            *self.figure("device", device or 0, of_device=()),
            *self.figure("stream", stream or 0, of_device=()),
            *(pointer, device is not None, stream is not None),
        )
        return self.plan.table([row])


def _own_params(
    launch: Launch, kernel: KernelSignature, declared: Sequence[Param] | None
) -> tuple[Param, ...]:
    """Return a kernel's parameters with the names and types that hold in a launch."""
    if declared is None:
        # A number would be passed as bits of another type.
        if kernel.place is not None and any(param.type.kind == "raw" for param in kernel.params):
            raise ValueError(f"NVRTC does not tell the types of {kernel}: declare them by params=")
        return kernel.params
    by_name = {param.name: param for param in declared}
    args = launch.args or {}
    needed = {param.name for param in kernel.params} - args.keys()
    if needed <= by_name.keys():
        params = [by_name.get(param.name, param) for param in kernel.params]
    else:
        # Those who declare what callers pass need not know of what is bound, but may.
        bound = [param.name for param in kernel.bound]
        params = [param for param in declared if param.name not in bound][: len(kernel.params)]
    # What stands where a map does, if not the map, is its tensor.
    pairs = zip(params, kernel.params, strict=False)
    params = [
        x._replace(type=y.type) if isinstance(args.get(x.name), TensorMap) else x for x, y in pairs
    ]
    return check(params, kernel, "params")


def _list(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
