"""Functions with launch options set: what ``k[...]``, `on` and `configure` return."""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Mapping
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

from ..launches.launch import ATTRIBUTES, checked, checked_raw
from .function import Function
from .stream import stream_handle

_ATTRIBUTE = struct.Struct("<I4x64s")  # a CUlaunchAttribute
_MOST_KEPT = 512  # of a kilobyte each

Dimensions = tuple[int, int, int]


class Options(NamedTuple):
    """What a caller sets; None leaves each as the function says."""

    stream: int | None = None
    grid: Dimensions | None = None
    block: Dimensions | None = None
    dynamic_smem_bytes: int | None = None
    attributes: tuple[tuple[int, bytes], ...] = ()  # numbers and the bytes of values


def dimensions(what: str, value: Any) -> Dimensions:
    """Return one to three dimensions as three."""
    values = value if isinstance(value, tuple | list) else (value,)
    if not 1 <= len(values) <= 3:
        raise ValueError(f"{what} has 1 to 3 dimensions, got {len(values)}")
    try:
        x, y, z = (*map(operator.index, values), 1, 1)[:3]
    except TypeError:
        remedy = ": divide with //" if any(isinstance(x, float) for x in values) else ""
        raise TypeError(f"{what} must be one to three integers, got {value!r}{remedy}") from None
    return x, y, z


def shaped(function: Function, shape: Any) -> Callable[..., Any]:
    """Return ``function[shape]``, and keep it for next time."""
    if function._takes_grid and callable(shape):
        return partial(call_by_grid, function, shape)
    if function._takes_grid:
        given = {"grid": shape}
    elif isinstance(shape, tuple) and len(shape) in (2, 3):
        given = dict(zip(("grid", "block", "dynamic_smem_bytes"), shape, strict=False))
    else:
        wanted = "[grid, block] or [grid, block, dynamic_smem_bytes], and .on(stream) for a stream"
        raise TypeError(f"{function.name}[...]: wanted {wanted}; got {shape!r}")
    made = configured(function, given)
    if _is_fixed(shape):
        function._kept[shape] = made
    return made


def _is_fixed(shape: Any) -> bool:
    """Whether a shape is immutable; a tensor hashes, and may hold another number later."""
    if isinstance(shape, tuple):
        return all(map(_is_fixed, shape))
    return isinstance(shape, Integral)


def configured(function: Function, given: Mapping[str, Any]) -> Function:
    """Return a function with further options, by name."""
    launches = [x["launches"] for x in function._instances]
    if given.keys() - {"stream"} and any(len(x) != 1 for x in launches):
        raise TypeError(f"{function.name} has several launches, each with its own shape")
    options = function._options or Options()
    changed: dict[str, Any] = {}
    attributes = dict(options.attributes)
    for name, value in given.items():
        if name == "stream":
            changed[name] = stream_handle(value)
        elif name in ("grid", "block"):
            changed[name] = dimensions(name, value)
        elif name == "dynamic_smem_bytes":
            changed[name] = operator.index(value)
        else:
            attributes.update(_encode(name, value, where=function.name))
            changed["attributes"] = tuple(attributes.items())
    return with_options(function, options._replace(**changed))


def _encode(name: str, value: Any, *, where: str) -> dict[int, bytes]:
    """Return the attributes that a value of a call stands for: numbers and the bytes of values."""
    what = f"{where}: {name}"
    if name == "attributes":
        return checked_raw(what, value)
    if name not in ATTRIBUTES:
        known = ("stream", "grid", "block", "dynamic_smem_bytes", *ATTRIBUTES, "attributes")
        raise TypeError(f"{where}: no option {name!r}; there are {', '.join(known)}")
    attribute = ATTRIBUTES[name]
    given = checked(what, value, attribute=attribute)
    numbers = (*given, 1, 1)[:3] if isinstance(given, tuple) else (given,)
    layout = {"event": "<Q8x", "dimensions": "<3I"}.get(attribute.kind, "<i")
    try:
        found = {attribute.id: struct.pack(layout, *numbers)}
    except struct.error as error:
        raise ValueError(f"{what} is {value!r}, at a call a number: {error}") from None
    # The launcher would divide by 0; the driver reads an event at any address, also in the first
    # page. A torch.cuda.Event has 0 until it is recorded.
    least = {"event": 4096, "dimensions": 1}.get(attribute.kind)
    if least is not None and min(numbers) < least:
        raise ValueError(f"{what} is {value!r}, wanted {least} or more")
    return found


def with_options(function: Function, options: Options) -> Function:
    """Return a function with these options, made before or now."""
    made = function._kept.get(options)
    if made is None:
        kind = WithKeywords if function._takes_grid else Function
        stream, grid, block, smem, attributes = options
        packed = b"".join(_ATTRIBUTE.pack(*item) for item in attributes) or None
        none = (None, None, None)
        configure = function._module._entry("configure")
        raw = configure(function.name, stream, *(grid or none), *(block or none), smem, packed)
        made = kind._wrap(raw, function._module, function.name, options)
        if len(function._kept) >= _MOST_KEPT:
            function._kept.clear()
        function._kept[options] = made
    return made


class WithKeywords(Function):
    """A function whose grid alone was given, called with keywords as Triton's are."""

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Call with arguments by position or by name."""
        super().__call__(*(self._ordered(args, kwargs) if kwargs else args))


def call_by_grid(
    function: Function, grid: Callable[[Mapping[str, Any]], Any], /, *args: Any, **kwargs: Any
) -> None:
    """Call with the grid that the caller's function computes of the arguments."""
    args = function._ordered(args, kwargs)
    names = function._common_names
    meta, *others = (x["launches"][0].get("meta", {}) for x in function._instances)
    if names is None or any(x != meta for x in others):
        raise TypeError(f"{function.name}: its instances differ in what the grid would read")
    is_short = len(args) < len(names)  # which the call says
    shape = 1 if is_short else grid({**meta, **dict(zip(names, args, strict=False))})
    function[shape](*args)
