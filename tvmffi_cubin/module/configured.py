"""A function with options of the launch set."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any

from .function import Function
from .options import Options, dimensions, integer, stream_handle

ATTRIBUTE = struct.Struct("<I4x64s")
"""A CUlaunchAttribute: its ID, and the bytes of its value."""

_MOST_KEPT = 512  # of a kilobyte each

GridFunction = Callable[[Mapping[str, Any]], Any]


def shaped(function: Function, shape: Any) -> Function | ByGrid:
    """Return what ``function[shape]`` is, and keep it for the next time."""
    callers_grid, options = function._callers_grid, function._options or Options()
    if callers_grid is not None and callable(shape):
        return ByGrid(function, shape)
    if callers_grid is not None:
        x, y, z = dimensions("grid", shape)
        options = options._replace(grid=(x * callers_grid["unit"], y, z))
    elif isinstance(shape, tuple) and 2 <= len(shape) <= 3:
        options = options._replace(
            grid=dimensions("grid", shape[0]), block=dimensions("block", shape[1])
        )
        if len(shape) == 3:
            smem = integer("dynamic_smem_bytes", shape[2])
            options = options._replace(dynamic_smem_bytes=smem)
    else:
        raise TypeError(
            f"{function.name}[...]: wanted [grid, block] or [grid, block, dynamic_smem_bytes], got "
            f"{shape!r}"
        )
    made = configured(function, options)
    if _is_fixed(shape):
        function._kept[shape] = made
    return made


def on(function: Function, stream: Any) -> Function:
    """Return a function with a stream."""
    return configured(
        function, (function._options or Options())._replace(stream=stream_handle(stream))
    )


def configure(function: Function, stream: Any, given: dict[str, Any]) -> Function:
    """Return a function with options by name; see `Function.configure`."""
    options = function._options or Options()
    if stream is not None:
        options = options._replace(stream=stream_handle(stream))
    given = {name: value for name, value in given.items() if value is not None}
    if given:
        function._require_one_launch()
    alone = "grid" in given and function._generated()["fixes_block"]
    if ("grid" in given) != ("block" in given) and not alone:
        raise TypeError(f"{function.name}: grid and block go together, give both")
    if "grid" in given:
        options = options._replace(grid=dimensions("grid", given.pop("grid")))
    if "block" in given:
        options = options._replace(block=dimensions("block", given.pop("block")))
    if "dynamic_smem_bytes" in given:
        smem = integer("dynamic_smem_bytes", given.pop("dynamic_smem_bytes"))
        options = options._replace(dynamic_smem_bytes=smem)
    if given:
        from ..launches.attributes import ATTRIBUTES, encode

        attributes = dict(ATTRIBUTE.iter_unpack(options.attributes or b""))
        for name, value in given.items():
            if name not in ATTRIBUTES and name != "attributes":
                own = ("stream", "grid", "block", "dynamic_smem_bytes")
                known = ", ".join([*own, *ATTRIBUTES, "attributes"])
                raise TypeError(f"{function.name}: no option {name!r}; there are {known}")
            attributes.update(encode(name, value, where=function.name))
        packed = b"".join(ATTRIBUTE.pack(*item) for item in attributes.items())
        options = options._replace(attributes=packed)
    return configured(function, options)


def configured(function: Function, options: Options) -> Function:
    """Return a function with other options: the one that was made before, if it is kept."""
    made = function._kept.get(options)
    if made is None:
        kind = Function if function._generated()["callers_grid"] is None else WithKeywords
        stream, grid, block, *rest = options
        none = (None, None, None)
        raw = function._module._configure(
            function.name, stream, *(grid or none), *(block or none), *rest
        )
        made = kind._wrap(raw, function._module, function.name, options)
        if len(function._kept) >= _MOST_KEPT:
            function._kept.clear()
        function._kept[options] = made
    return made


class WithKeywords(Function):
    """One that is called as Triton's functions are: with a grid alone, and keywords."""

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Call with arguments by position or by name."""
        super().__call__(*(self._ordered(args, kwargs) if kwargs else args))


class ByGrid:
    """A function whose grid a function of the caller's gives, at each call."""

    __slots__ = ("_function", "_grid")

    def __init__(self, function: Function, grid: GridFunction) -> None:
        self._function = function
        self._grid = grid

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Call with arguments by position or by name."""
        function = self._function
        if kwargs:
            args = function._ordered(args, kwargs)
        names, meta = function._common_names, (function._callers_grid or {})["meta"]
        if names is None or meta is None:
            raise TypeError(
                f"{function.name}: its instances differ in what a grid's function would get, and "
                "which of them a call takes is known later: give numbers, or each Launch a grid="
            )
        grid = self._grid({**meta, **dict(zip(names, args, strict=False))})
        function[grid](*args)

    call = __call__

    def on(self, stream: Any) -> ByGrid:
        """Set the stream."""
        return ByGrid(self._function.on(stream), self._grid)

    def configure(self, **options: Any) -> ByGrid:
        """Set whatever else a launch can carry."""
        return ByGrid(self._function.configure(**options), self._grid)


def _is_fixed(shape: Any) -> bool:
    """Whether a shape stays what it is; a tensor is a key, and may hold another number later."""
    if isinstance(shape, tuple):
        return all(map(_is_fixed, shape))
    return isinstance(shape, Integral)
