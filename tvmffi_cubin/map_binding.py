"""Tensor maps of a launch: the tensors that they are of, and their expressions resolved."""

from __future__ import annotations

from dataclasses import replace

from . import expr
from .exported import Exported
from .function import Formula, Mapped
from .kernels.types import CxxType, Param, parse_type
from .launch import Launch
from .scope import Scope
from .tensor_map import TensorMap

__all__ = ["MAP", "MAPPED_TENSOR", "bind_map", "is_for_map", "mapped_tensor"]

MAPPED_TENSOR = parse_type("void*")
"""What an exported tensor is declared as that a kernel takes by its map alone."""

MAP = parse_type("CUtensorMap")
"""What a kernel takes a map as."""


def mapped_tensor(launch: Launch, name: str) -> str | None:
    """Return the tensor of which a kernel parameter is given the map; None where it is given none.

    What `args` say is another name for a parameter is followed.
    """
    value = launch.args.get(name)
    if not isinstance(value, TensorMap):
        return None
    tensor = value.tensor or name
    other = launch.args.get(tensor)
    if isinstance(other, str):
        tree = expr.parse(other)
        tensor = tree.name if isinstance(tree, expr.Name) else tensor
    return tensor


def is_for_map(launch: Launch, param: Param) -> bool:
    """Whether a tensor is declared under the name of a kernel parameter that takes its map."""
    return param.type.kind == "pointer" and mapped_tensor(launch, param.name) == param.name


def bind_map(launch: Launch, scope: Scope, name: str, type_: CxxType, size: int) -> Mapped:
    """Bind the map of one kernel parameter, and note what it asks of its tensor.

    Raises
    ------
    ValueError
        The parameter is none for a map, the tensor is not there or not one, or its rank differs.
    """
    map_ = launch.args[name]
    where = f"{scope.where}: args[{name!r}]"
    if type_.kind not in ("struct", "raw") or size != MAP.size:
        raise ValueError(
            f"{where}: a TensorMap is for a parameter 'const __grid_constant__ CUtensorMap', "
            f"{name!r} is '{type_.text}' of {size} bytes"
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
    if exported.param.type.kind == "raw" and exported.size == 8:
        exported = exported.as_tensor()
    if exported.param.type.kind != "pointer":
        raise ValueError(f"{where}: {tensor!r} is '{exported.param.type.text}', not a tensor")
    scope.exported[tensor] = _with_demands(exported, map_, where)
    figures = {
        what: Formula(figure, scope.resolve(f"{what} of args[{name!r}]", figure, reading=(name,)))
        if isinstance(figure, str)
        else figure
        for what, figure in map_.figures()
    }
    return Mapped(name, tensor, map_, figures)


def _with_demands(exported: Exported, map_: TensorMap, where: str) -> Exported:
    """Return the parameter with what a map needs of it."""
    if map_.global_dim is not None:
        # None and bare addresses have no dtype.
        return replace(exported, in_expression=exported.in_expression or map_.dtype is None)
    known = exported.param.ndim
    if known not in (None, map_.rank):
        raise ValueError(
            f"{where}: the map is for tensors of rank {map_.rank}, {exported.name!r} has rank "
            f"{known}, as params or another map say"
        )
    param = Param(exported.name, exported.param.type, map_.rank)
    # None and bare addresses have no shape.
    return replace(exported, param=param, in_expression=True)
