"""`LaunchBinder`: one launch bound to its kernel."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from typing import Any

from ..device.image import KernelSignature
from ..kernels.types import CxxType, Param, parse_params
from ..launches.expression import lone_name
from ..launches.launch import ATTRIBUTES, Launch
from ..launches.tensor_map import FIGURES, MODES, TensorMap
from ..launches.values import Bound, Scratch
from .assembly import Layout
from .kernels import listed, params_of
from .plan import NO_OPTION, STEP, Exported, Plan, fits, is_integer, kind_of
from .postfix import EVERYWHERE, ONCE_SHAPED, Expression, Names

# The structs and enumerations of launcher/plan.h.
LAUNCH = Layout("P P P i i i i i")
_SOURCE = Layout("B i P")
_SCRATCH = Layout("P  P P q  P P q  I")
_TARGET = Layout("P P q  P P q  i ? ?")
_MAP = Layout("P P i i  B b B B B B B B i" + 27 * " q")
_WHEN, _FIGURE, _RAW, _COMPUTED, _MAP_WORD = 0, 1, 6, 7, 8
_GRID, _BLOCK, _SMEM = 0, 3, 6  # figures
_FROM_ARGUMENT, _FROM_COMPUTED, _FROM_CONSTANT, _FROM_MAP, _FROM_SCRATCH, _FROM_BOUND = range(6)
_ATTRIBUTES = {"dimensions": 2, "integer": 3, "flag": 4, "event": 5}


class LaunchBinder:
    """One launch of a function: the constructor extends `exported`, which the methods read."""

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
        self.params = (*params_of(kernel, launch), *kernel.bound)  # all kernel parameters
        self.args = {**{x.name: Bound() for x in kernel.bound}, **(launch.args or {})}
        self.types = {param.name: param.type for param in self.params}
        if unknown := self.args.keys() - self.types.keys():
            raise ValueError(f"args: unknown key {min(unknown)!r}; available: {listed(self.types)}")
        self._export(kernel.params if launch.params is None else parse_params(launch.params))

    def _export(self, params: Sequence[Param]) -> None:
        """Add what callers pass for the parameters to the function's parameters."""
        names = {param.name for param in params}
        tensors = {x.tensor for x in self.args.values() if isinstance(x, TensorMap)}
        for name, declared, ndim in params:
            # A tensor that the kernel accesses only through maps may have any strides.
            is_strided = name in tensors - self.types.keys()
            new = Exported(name, self.types.get(name, declared), ndim, is_strided)
            value = self.args.get(name)
            if isinstance(value, TensorMap) and value.tensor not in names - {name}:
                # If this kernel takes only the map, another launch may say more about the tensor.
                type_ = declared if declared.kind == "pointer" else CxxType("void*", "raw", 8)
                new = Exported(value.tensor or name, type_, ndim, strided=True)
            elif name in self.args:
                continue
            if not new.type.size:
                raise ValueError(f"params: the size of '{declared.text} {name}' is unknown")
            self.exported[new.name] = self.exported.get(new.name, new).merged(new)

    def number(self, name: str) -> int:
        """Return the index of one of the function's parameters."""
        return [*self.exported].index(name)

    def figure(
        self, what: str, value: Any, of_device: Names = EVERYWHERE, reading: Names = ()
    ) -> tuple[str | None, str | None, int]:
        """Return the members of a `Figure`; see `Expression` for what it may read."""
        if isinstance(value, bytes):
            return None, self.plan.data(value), len(value)
        if not isinstance(value, str):
            return None, None, int(value)
        expression = Expression(self, what, value, of_device, reading)
        return self.plan.data(expression.code()), self.plan.string(value), 0

    def row(self) -> tuple[Any, ...]:
        """Return the launch's row, without its kernel."""
        launch, plan = self.launch, self.plan
        sources = [_SOURCE.row(*self._source(param)) for param in self.params]
        steps = []
        for what, value, target, number, attribute in self._steps():
            is_grid = target == _FIGURE and number < _BLOCK
            figure = self.figure(what, value, ONCE_SHAPED if is_grid else EVERYWHERE)
            # The bit in `CallOptions::given`.
            option = number if target == _FIGURE else 8 + attribute if attribute else NO_OPTION
            steps.append(STEP.row(*figure, target, 0, number, attribute, option))
            self.num_attributes += attribute != 0 and number == 0
        steps += self._computed
        self._assume()
        counts = len(sources), len(steps), launch.when is not None, len(self._computed)
        missing = (launch.grid is None) + 8 * (launch.block is None)
        return plan.table(sources), plan.table(steps), *counts, missing

    def _source(self, param: Param) -> tuple[int, int, str | None]:
        """Return where the value of a kernel parameter comes from."""
        name, type_, ndim = param
        if name not in self.args:
            return _FROM_ARGUMENT, self.number(name), None
        value, what = self.args[name], f"args[{name!r}]"
        if isinstance(value, TensorMap):
            return _FROM_MAP, 0, self._map(value, param)
        if isinstance(value, Scratch):
            if type_.kind not in ("pointer", "raw") or type_.size != 8:
                raise ValueError(f"{what}: Scratch requires a pointer, got '{type_.text} {name}'")
            fixed = self.figure(f"bytes of {what}", value.bytes)
            each = self.figure(f"bytes_per_block of {what}", value.bytes_per_block)
            row = _SCRATCH.row(self.plan.string(name), *fixed, *each, value.align)
            return _FROM_SCRATCH, 0, self.plan.table([row])
        if isinstance(value, Bound):
            is_strided = name in self.launch.strided
            slot = Exported(value.name or name, type_, ndim, is_strided, required=value.required)
            return _FROM_BOUND, self.plan.slot(self.function, slot), None
        if not isinstance(value, str):
            return _FROM_CONSTANT, 0, self.plan.data(constant(value, type_, what))
        other = lone_name(value)
        if other in self.exported and fits(self.exported[other].type, type_):
            if other not in self.types:  # the kernel gets more than its map
                self.exported[other] = self.exported[other]._replace(strided=False)
            return _FROM_ARGUMENT, self.number(other), None
        if type_.kind not in ("float", "bfloat") and not is_integer(type_):
            raise ValueError(f"{what}: {value!r} is not a constant or parameter for '{type_.text}'")
        figure = self.figure(what, value, ONCE_SHAPED, (name,))
        number = len(self._computed)
        step = STEP.row(*figure, _COMPUTED, kind_of(type_), number, type_.size, NO_OPTION)
        self._computed.append(step)
        return _FROM_COMPUTED, number, None

    def _map(self, map_: TensorMap, param: Param) -> str | None:
        """Return the label of a parameter's map; record what it requires of its tensor."""
        tensor, what = map_.tensor or param.name, f"args[{param.name!r}]"
        if param.type.size != 128:
            raise ValueError(f"{what}: TensorMap requires a CUtensorMap, got '{param.type.text}'")
        if tensor not in self.exported:
            raise ValueError(f"{what}: callers pass no tensor {tensor!r}: declare it in params=")
        exported = self.exported[tensor].as_tensor()
        if map_.global_dim is None:
            exported = exported.merged(exported._replace(ndim=map_.rank))
        # None and bare addresses have no shape or dtype.
        if map_.global_dim is None or map_.dtype is None:
            exported = exported._replace(in_expression=True)
        self.exported[tensor] = exported
        words, steps = list[int](), list[str]()
        for field, most in FIGURES.items():
            given = getattr(map_, field) or ()
            figures = given if isinstance(given, tuple) else (given,)
            for number, x in enumerate(figures):
                code, text, word = self.figure(f"{field}[{number}] of {what}", x)
                if code is not None:
                    steps.append(STEP.row(code, text, 0, _MAP_WORD, 0, len(words), 0, NO_OPTION))
                words.append(word)
            words += [field == "element_strides"] * (most - len(figures))
        modes = [(known, getattr(map_, mode)) for mode, known in MODES.items()]
        row = _MAP.row(
            *(self.plan.string(param.name), self.plan.table(steps), len(steps)),
            *(self.number(tensor), map_.is_im2col),
            *(-1 if mode is None else known.index(mode) for known, mode in modes),
            *(map_.global_dim is not None, map_.global_strides is not None, map_.rank),
            *words,
        )
        return self.plan.table([row])

    def _steps(self) -> Iterator[tuple[str, int | str | bytes, int, int, int]]:
        """Yield the steps to evaluate: name, value, target and number, and an attribute's ID."""
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
            values = value if isinstance(value, tuple) else (value,)
            if attribute.kind == "dimensions":
                values += (1,) * (3 - len(values))
            what = f"{name} ({', '.join(attribute.choices)})" if attribute.choices else name
            for axis, x in enumerate(values):
                yield what, x, _ATTRIBUTES[attribute.kind], axis, attribute.id
        for id_, data in (launch.attributes or {}).items():
            yield "attributes", data, _RAW, 0, id_
        for axis, x in enumerate(launch.grid or ()):
            yield f"grid.{'xyz'[axis]}", x, _FIGURE, _GRID + axis, 0

    def _assume(self) -> None:
        """Record the launch's assumptions in the parameters, once expressions have updated them."""
        launch = self.launch
        strided = {x: True for x in launch.strided if not isinstance(self.args.get(x), Bound)}
        for field, given, kinds in (
            ("strided", strided, ("pointer", "raw")),
            ("multiple_of", launch.multiple_of or {}, ("pointer", "int", "uint")),
            ("equal_to", launch.equal_to or {}, ("int", "uint")),
        ):
            fitting = [x.name for x in self.exported.values() if x.type.kind in kinds]
            for name, value in given.items():
                if name not in fitting:
                    raise ValueError(f"{field}: cannot use {name!r}; available: {listed(fitting)}")
                known = self.exported[name]
                # The larger of two powers of two is a multiple of the smaller.
                value = max(value, known.multiple_of) if field == "multiple_of" else value
                new: dict[str, Any] = {field: value}
                self.exported[name] = known._replace(**new)

    def target(self) -> str | None:
        """Return the label of the launch's stream and device; None if it names neither."""
        stream, device = self.launch.stream, self.launch.device
        if stream is None and device is None:
            return None
        name, pointer = lone_name(stream), -1
        if name in self.exported and self.exported[name].type.kind == "pointer":
            # A stream object arrives as an address.
            stream, pointer = f"{name}.data_ptr", self.number(name)
        row = _TARGET.row(
            *self.figure("device", device or 0, of_device=()),
            *self.figure("stream", stream or 0, of_device=()),
            *(pointer, device is not None, stream is not None),
        )
        return self.plan.table([row])


def constant(value: object, type_: CxxType, what: str) -> bytes:
    """Return the bytes of a constant for a parameter whose type has a known size."""
    kind, size = type_.kind, type_.size or 0
    is_raw, is_bool = kind == "raw", isinstance(value, bool)
    if isinstance(value, bytes) and kind in ("raw", "struct") and len(value) == size:
        return value
    if value is None and (kind == "pointer" or (is_raw and size == 8)):
        return bytes(8)
    if is_bool and kind == "bool":
        return bytes([bool(value)])
    try:
        if isinstance(value, int | float) and not is_bool:
            if kind == "bfloat":
                return _bfloat16(float(value))
            if kind == "float" or (is_raw and isinstance(value, float) and size in (4, 8)):
                return struct.pack({2: "<e", 4: "<f", 8: "<d"}[size], float(value))
        if isinstance(value, int) and (kind in ("int", "uint") or (is_raw and size <= 8)):
            signed = kind == "int" or (is_raw and value < 0)
            return int(value).to_bytes(size, "little", signed=signed)
    except OverflowError:
        raise ValueError(f"{what}: {value} is out of range for {type_.text}") from None
    raise TypeError(f"{what}: expected a constant for '{type_.text}' ({size} bytes), got {value!r}")


def _bfloat16(value: float) -> bytes:
    if math.isfinite(value):
        # bfloat16 has an 8-bit significand and fp32's exponents; going via fp32 could round twice.
        bits = 8 - max(math.frexp(value)[1], -125)
        value = math.copysign(math.ldexp(round(math.ldexp(value, bits)), -bits), value)
    return struct.pack("<f", value)[2:]
