"""Functions with launch options set: what ``k[...]``, `on` and `configure` return."""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from numbers import Integral
from typing import Any

from ..errors import bare
from ..launches.launch import ATTRIBUTES, checked, checked_raw
from ..launches.values import told
from .function import Function, Options
from .stream import stream_handle

_ATTRIBUTE = struct.Struct("<I4x64s")  # a CUlaunchAttribute
# For each kind of attribute: its struct format, and the range of its numbers. A cluster of 0 would
# be a divisor; the driver dereferences any event address, even one in the first page.
_VALUES = {
    "dimensions": ("<3I", 1, 2**32 - 1),
    "event": ("<Q8x", 4096, 2**63 - 1),
    "flag": ("<i", 0, 1),
    "integer": ("<i", -(2**31), 2**31 - 1),
}
_MOST_KEPT = 512  # entries, a kilobyte each


@bare
def shaped(function: Function, shape: Any) -> Callable[..., Any]:
    """Return ``function[shape]`` and cache it."""
    if function._takes_grid and callable(shape):
        return partial(call_by_grid, function, shape)
    if function._takes_grid:
        given = {"grid": shape}
    elif isinstance(shape, tuple) and len(shape) in (2, 3):
        given = dict(zip(("grid", "block", "dynamic_smem_bytes"), shape, strict=False))
    else:
        wanted = "[grid, block] or [grid, block, dynamic_smem_bytes] (.on(stream) sets a stream)"
        raise TypeError(f"{function.name}[...]: expected {wanted}, got {shape!r}")
    made = configured(function, given)
    with suppress(TypeError):  # unhashable: it contains a list
        function._kept[shape] = made
    return made


@bare
def configured(function: Function, given: Mapping[str, Any]) -> Function:
    """Return the function with additional options, given by name."""
    if given.keys() - {"stream"} and any(len(x["launches"]) != 1 for x in function._instances):
        raise TypeError(f"{function.name} has several launches, each with its own shape")
    options = dict(function._options)
    for name, value in given.items():
        with told(f"{function.name}: {name}"):
            options |= _option(name, value)
    return with_options(function, options)


def _option(name: str, value: Any) -> Options:
    if name == "stream":
        return {name: stream_handle(value)}
    if name in ("grid", "block"):
        values = value if isinstance(value, tuple | list) else (value,)
        # Not a tensor, whose value may have changed by the time its shape is looked up again.
        if not 1 <= len(values) <= 3 or not all(isinstance(x, Integral) for x in values):
            raise TypeError(f"expected one to three integers (divide with //), got {value!r}")
        return {name: (*map(int, values), 1, 1)[:3]}
    if name == "dynamic_smem_bytes":
        return {name: operator.index(value)}
    if name == "attributes":
        return checked_raw(value)
    if name not in ATTRIBUTES:
        known = ("stream", "grid", "block", "dynamic_smem_bytes", *ATTRIBUTES, "attributes")
        raise TypeError(f"unknown option; available: {', '.join(known)}")
    attribute = ATTRIBUTES[name]
    given = checked(attribute, value)
    numbers = (*given, 1, 1)[:3] if isinstance(given, tuple) else (given,)
    layout, least, most = _VALUES[attribute.kind]
    if not all(isinstance(x, int) and least <= x <= most for x in numbers):
        raise ValueError(f"must be {least} to {most} at a call, got {value!r}")
    return {attribute.id: struct.pack(layout, *numbers)}


def with_options(function: Function, options: Options) -> Function:
    """Return the function with these options, from the cache if possible."""
    key = tuple(options.items())
    made = function._kept.get(key)
    if made is None:
        # For a C++ function this raises TypeError: the launcher does not know it.
        kind = WithKeywords if function._takes_grid else Function
        none = (None, None, None)
        shape = (*options.get("grid", none), *options.get("block", none))
        smem = options.get("dynamic_smem_bytes")
        attributes = (_ATTRIBUTE.pack(x, y) for x, y in options.items() if isinstance(x, int))
        configure = function._module._entry("configure")
        raw = configure(function.name, options.get("stream"), *shape, smem, b"".join(attributes))
        made = kind._wrap(raw, function._module, function.name, options)
        if len(function._kept) >= _MOST_KEPT:
            function._kept.clear()
        function._kept[key] = made
    return made


class WithKeywords(Function):
    """A function given only its grid; calls take keywords, as Triton's do."""

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Call with positional or keyword arguments."""
        super().__call__(*(self._ordered(args, kwargs) if kwargs else args))


def call_by_grid(
    function: Function, grid: Callable[[Mapping[str, Any]], Any], /, *args: Any, **kwargs: Any
) -> None:
    """Call with the grid that the caller's function computes from the arguments."""
    args = function._ordered(args, kwargs)
    names = function._common_names
    meta, *others = (x.get("meta", {}) for x in function._launches)
    if len(names) < len(function.params) or any(x != meta for x in others):
        raise TypeError(f"{function.name}: its instances differ in what the grid function reads")
    # The call itself reports missing arguments.
    shape = grid({**meta, **dict(zip(names, args, strict=False))}) if len(args) >= len(names) else 1
    function[shape](*args)
