"""Where a kernel parameter comes from that callers do not pass, and what expressions may read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..kernels.types import CxxType, Param
from ..launches import constant
from ..launches.expression import Field, Name, Number, Op, Tree, failure, names, parse
from ..launches.launch import Launch
from ..launches.tensor_map import TensorMap
from ..launches.values import Bound, Scratch
from ..launches.values import Figure as GivenFigure
from .function import (
    BoundParam,
    Computed,
    Constant,
    Exported,
    Figure,
    Formula,
    Mapped,
    Scratched,
    Source,
)
from .kernel_params import MAP, mapped_tensor

_POINTER = 8
_COOPERATIVE = "max_cooperative_blocks"
_OF_DEVICE = ("num_sms", _COOPERATIVE)


class Scope:
    """The function's parameters first, then what the launch's `args` give, then the device's."""

    def __init__(
        self,
        exported: dict[str, Exported],
        args: Mapping[str, object],
        types: Mapping[str, CxxType],
        where: str,
        hint: str = "",
    ) -> None:
        self.exported = exported
        self.args = args
        self.types = types
        self.where = where
        self.hint = hint

    def formula(self, what: str, text: str, *, reading: tuple[str, ...] = ()) -> Formula:
        """Return an expression over the function's parameters and the device's figures."""
        return Formula(text, self._checked(parse(text), what, text, reading))

    def _checked(self, tree: Tree, what: str, text: str, reading: tuple[str, ...]) -> Tree:
        tree = self._over(tree, what, text, reading)
        is_late = what.startswith(("grid", "args")) or _COOPERATIVE in self.exported
        if not is_late and any(isinstance(x, Name) and x.name == _COOPERATIVE for x in names(tree)):
            raise ValueError(
                f"{self.where}: {what}: {text!r} reads {_COOPERATIVE}, which depends on the block, "
                "its shared memory and the cluster: only a grid or args can read it"
            )
        return tree

    def _over(self, tree: Tree, what: str, text: str, reading: tuple[str, ...]) -> Tree:
        if isinstance(tree, Number):
            return tree
        if isinstance(tree, Op):
            return Op(tree.op, tuple(self._over(x, what, text, reading) for x in tree.parts))
        try:
            return self._read(tree, reading)
        except _ReadError as error:
            raise failure(text, tree.column, f"{self.where}: {what}: {error}") from None

    def _read(self, read: Name | Field, reading: tuple[str, ...]) -> Tree:
        name = read.name if isinstance(read, Name) else read.tensor
        if name in self.exported:
            problem = self.exported[name].misread(read)
            if problem:
                raise _ReadError(problem)
            self.exported[name] = self.exported[name].with_read(read)
            return read
        if name in self.args:
            return self._read_arg(name, read, reading)
        if isinstance(read, Name) and name in _OF_DEVICE:
            return read
        given = (arg for arg in self.args if arg not in reading)
        known = [*self.exported, *given, *_OF_DEVICE]
        raise _ReadError(f"unknown name {name!r}; there are {', '.join(known)}{self.hint}")

    def _read_arg(self, name: str, read: Name | Field, reading: tuple[str, ...]) -> Tree:
        value, type_ = self.args[name], self.types[name]
        if isinstance(value, Bound):
            raise _ReadError(f"{name!r} is bound, and expressions are worked out without that")
        if name in reading:
            raise _ReadError(f"{name!r} is what this expression gives")
        if isinstance(read, Field):
            tree = parse(value) if isinstance(value, str) else None
            if type_.kind in ("pointer", "raw") and isinstance(tree, Name):
                return self._read(read._replace(tensor=tree.name), (*reading, name))
            raise _ReadError(f"{name!r} is given by args as {value!r}, not as a tensor")
        if (
            type_.kind in ("int", "uint", "bool", "raw")
            and isinstance(value, int)
            and abs(value) < 2**63
        ):
            return Number(int(value))
        if type_.kind in ("int", "uint", "raw") and isinstance(value, str):
            return self.formula(f"args[{name!r}]", value, reading=(*reading, name)).tree
        raise _ReadError(
            f"{name!r} is '{type_.text}', given by args as {value!r}; expressions are integer "
            "arithmetic"
        )


class _ReadError(Exception):
    """What is wrong with one read; its place in the expression is added further out."""


def source(launch: Launch, scope: Scope, param: Param, size: int) -> Source:
    """Return where a kernel parameter of `size` bytes comes from."""
    if param.name not in launch.args:
        return param.name
    value = launch.args[param.name]
    what = f"args[{param.name!r}]"
    if isinstance(value, TensorMap):
        return _mapped(value, launch, scope, param, size)
    if isinstance(value, Scratch):
        return _scratched(value, scope, param, size)
    if isinstance(value, Bound):
        slot = Param(value.name or param.name, param.type, param.ndim)
        is_strided = param.name in launch.strided
        return BoundParam(Exported(slot, size, strided=is_strided), value.required)
    if not isinstance(value, str):
        return Constant(constant.encode(value, param.type, size, f"{scope.where}: {what}"))
    tree = parse(value)
    other = scope.exported.get(tree.name) if isinstance(tree, Name) else None
    if other is not None and other.stands_for(param.type, size):
        return other.name
    if param.type.kind not in ("int", "uint", "float") and not _is_raw_integer(param.type):
        raise ValueError(
            f"{scope.where}: {what}: '{param.type.text}' takes a parameter of the same type or "
            f"a constant, got the expression {value!r}"
        )
    return Computed(param.type, size, scope.formula(what, value, reading=(param.name,)))


def merged(params: Iterable[BoundParam], where: str) -> tuple[BoundParam, ...]:
    """Return one slot for each name, which takes what is right for all parameters of that name."""
    slots: dict[str, BoundParam] = {}
    for given in params:
        before = slots.get(given.name)
        if before is None:
            slots[given.name] = given
            continue
        try:
            both = before.slot.merged(given.slot.param, given.slot.size)
        except ValueError as error:
            raise ValueError(
                f"{where}: the bound parameter {given.name!r} {error}: give it another name here, "
                f'as in Bound("{given.name}_2")'
            ) from None
        both = both._replace(strided=before.slot.strided and given.slot.strided)
        slots[given.name] = BoundParam(both, before.required or given.required)
    return tuple(slots.values())


def _is_raw_integer(type_: CxxType) -> bool:
    return type_.kind == "raw" and type_.size in (1, 2, 4, 8)


def _figure(scope: Scope, what: str, value: GivenFigure, reading: tuple[str, ...] = ()) -> Figure:
    return scope.formula(what, value, reading=reading) if isinstance(value, str) else value


def _scratched(value: Scratch, scope: Scope, param: Param, size: int) -> Scratched:
    if param.type.kind not in ("pointer", "raw") or size != _POINTER:
        raise ValueError(
            f"{scope.where}: args[{param.name!r}]: a Scratch is for a pointer, {param.name!r} is "
            f"'{param.type.text}' of {size} bytes"
        )
    # It is known after the whole shape, so it cannot read what depends on that.
    total, per_block = (
        _figure(scope, f"{what} of args[{param.name!r}]", getattr(value, what))
        for what in ("bytes", "bytes_per_block")
    )
    return Scratched(param.name, value.align, total, per_block)


def _mapped(map_: TensorMap, launch: Launch, scope: Scope, param: Param, size: int) -> Mapped:
    """Bind the map of one kernel parameter, and note what it asks of its tensor."""
    name = param.name
    where = f"{scope.where}: args[{name!r}]"
    if param.type.kind not in ("struct", "raw") or size != MAP.size:
        raise ValueError(
            f"{where}: a TensorMap is for a parameter 'const __grid_constant__ CUtensorMap', "
            f"{name!r} is '{param.type.text}' of {size} bytes"
        )
    tensor = mapped_tensor(launch, name) or name
    exported = scope.exported.get(tensor)
    if exported is None and tensor in launch.args:
        raise ValueError(
            f"{where}: the tensor {tensor!r} is none that callers pass, since args give {tensor!r} "
            "a value; name the one that they pass"
        )
    if exported is None:
        raise ValueError(
            f"{where}: the tensor {tensor!r} is no parameter of the function; declare it, as in "
            f'params="..., const float* {tensor}"; there are {", ".join(scope.exported) or "none"}'
        )
    if exported.param.type.kind == "raw" and exported.size == _POINTER:
        exported = exported.as_tensor()
    if exported.param.type.kind != "pointer":
        raise ValueError(f"{where}: {tensor!r} is '{exported.param.type.text}', not a tensor")
    scope.exported[tensor] = _with_demands(exported, map_, where)
    figures = {
        what: _figure(scope, f"{what} of args[{name!r}]", figure, (name,))
        for what, figure in map_.figures()
    }
    return Mapped(name, tensor, map_, figures)


def _with_demands(exported: Exported, map_: TensorMap, where: str) -> Exported:
    """Return the parameter with what a map needs of it."""
    if map_.global_dim is not None:
        # None and bare addresses have no dtype.
        return exported._replace(in_expression=exported.in_expression or map_.dtype is None)
    known = exported.param.ndim
    if known not in (None, map_.rank):
        raise ValueError(
            f"{where}: the map is for tensors of rank {map_.rank}, {exported.name!r} has rank "
            f"{known}, as params or another map say"
        )
    param = Param(exported.name, exported.param.type, map_.rank)
    # None and bare addresses have no shape.
    return exported._replace(param=param, in_expression=True)
