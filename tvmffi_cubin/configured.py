"""A function with options set for its calls: `Configured`."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .launch_attributes import ATTRIBUTES, RAW, encode

if TYPE_CHECKING:
    from .module_function import Function

__all__ = ["Configured", "dimensions", "integer"]

Dimensions = tuple[int, int, int]

_ATTRIBUTE = struct.Struct("<I4x64s")  # CUlaunchAttribute


@dataclass(frozen=True)
class _Options:
    """What calls are made with; None leaves each as the function says."""

    stream: int | None = None
    grid: Dimensions | None = None
    block: Dimensions | None = None
    smem: int | None = None
    attributes: Mapping[int, bytes] = field(default_factory=dict)

    def words(self) -> tuple[int | bytes | None, ...]:
        """Return what a launcher takes in front of the arguments."""
        nothing = (None, None, None)
        packed = [_ATTRIBUTE.pack(number, data) for number, data in self.attributes.items()]
        return (
            self.stream,
            *(self.grid or nothing),
            *(self.block or nothing),
            self.smem,
            b"".join(packed) or None,
        )


class Configured:
    """A function with options of the launch set for its calls.

    What is not set stays as the function says. Each way to set something returns another
    `Configured`, so that one can be kept and called many times.
    """

    __slots__ = ("_function", "_options", "_words")

    def __init__(self, function: Function, options: _Options | None = None) -> None:
        function._generated()
        self._function = function
        self._options = options or _Options()
        self._words = self._options.words()

    def __call__(self, *args: Any) -> None:
        """Call with positional arguments."""
        self._function._with_options(*self._words, *args)

    def call(self, *args: Any, **kwargs: Any) -> None:
        """Call with keywords, by the parameters' names."""
        self(*self._function._ordered(args, kwargs))

    def __getitem__(self, shape: Any) -> Configured:
        """Set grid, block and, optionally, the dynamic shared memory in bytes."""
        self._require_one_launch()
        if not isinstance(shape, tuple) or not 2 <= len(shape) <= 3:
            raise TypeError(
                f"{self._function.name}[...]: wanted [grid, block] or "
                f"[grid, block, dynamic_smem_bytes], got {shape!r}"
            )
        changes: dict[str, Any] = {
            "grid": dimensions("grid", shape[0]),
            "block": dimensions("block", shape[1]),
        }
        if len(shape) == 3:
            changes["smem"] = integer("dynamic_smem_bytes", shape[2])
        return self._with(**changes)

    def on(self, stream: Any) -> Configured:
        """Set the stream: an int, a torch or CuPy stream, anything with ``__cuda_stream__``."""
        from .stream import stream_handle

        return self._with(stream=stream_handle(stream))

    def configure(self, *, stream: Any = None, **options: Any) -> Configured:
        """Set whatever a launch can carry.

        Parameters
        ----------
        stream : object, optional
            As of `on`.
        **options
            `grid` and `block` (together), `dynamic_smem_bytes`, and the attributes of a `Launch`
            (``cluster``, ``programmatic_dependent_launch``, ``cooperative``, ``priority``, ...) by
            the same names, as values; an event may be torch's, CuPy's or cuda.core's own. None
            leaves what was set before.

        Raises
        ------
        TypeError, ValueError
            There is no such option, a value is not what it wants, or the function has several
            launches, each with its own.
        """
        changed = self if stream is None else self.on(stream)
        given = {name: value for name, value in options.items() if value is not None}
        if not given:
            return changed
        self._require_one_launch()
        if ("grid" in given) != ("block" in given):
            raise TypeError(f"{self._function.name}: grid and block go together, give both")
        set_: dict[str, Any] = {
            name: dimensions(name, given.pop(name)) for name in _SHAPE & given.keys()
        }
        if "dynamic_smem_bytes" in given:
            set_["smem"] = integer("dynamic_smem_bytes", given.pop("dynamic_smem_bytes"))
        attributes = dict(self._options.attributes)
        for name, value in given.items():
            if name not in ATTRIBUTES and name != RAW:
                known = ", ".join(
                    ["stream", *sorted(_SHAPE), "dynamic_smem_bytes", *ATTRIBUTES, RAW]
                )
                raise TypeError(f"{self._function.name}: no option {name!r}; there are {known}")
            attributes.update(encode(name, value, where=self._function.name))
        return changed._with(attributes=attributes, **set_)

    def __repr__(self) -> str:
        """Name and the options that are set, as they would be written."""
        options = self._options
        text = self._function.name
        if options.grid is not None:
            smem = "" if options.smem is None else f", {options.smem}"
            text += f"[{options.grid}, {options.block}{smem}]"
        if options.stream is not None:
            text += f".on({options.stream:#x})"
        return f"<tvmffi_cubin.Function {text}>"

    def _with(self, **changes: Any) -> Configured:
        return Configured(self._function, replace(self._options, **changes))

    def _require_one_launch(self) -> None:
        if self._function._generated()["launches"] != 1:
            raise TypeError(f"{self._function.name} has several launches, each with its own shape")


_SHAPE = {"grid", "block"}


def integer(what: str, value: Any) -> int:
    """Return a value of a call as an int.

    Raises
    ------
    TypeError, ValueError
        It is none, or beyond 64 bits.
    """
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{what}: got {value!r}, wanted an int")
    number = int(value.__index__())
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"{what}: {number} is beyond any device's limit")
    return number


def dimensions(what: str, value: Any) -> Dimensions:
    """Return one to three dimensions of a call, those left out being 1.

    Raises
    ------
    TypeError, ValueError
        They are not as many, or not of integers.
    """
    values = tuple(value) if isinstance(value, tuple | list) else (value,)
    if not 1 <= len(values) <= 3:
        raise ValueError(f"{what} has 1 to 3 dimensions, got {len(values)}")
    numbers = [integer(what, item) for item in values]
    x, y, z = numbers + [1] * (3 - len(numbers))
    return x, y, z
