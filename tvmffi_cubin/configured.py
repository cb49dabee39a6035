"""A function with options set for its calls: `Configured`."""

from __future__ import annotations

import operator
import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .launch_attributes import ATTRIBUTES, RAW, encode

if TYPE_CHECKING:
    from .callers_grid import GridFunction
    from .module_function import Function

__all__ = ["Configured", "dimensions", "integer"]

Dimensions = tuple[int, int, int]

Words = tuple[Any, ...]
"""What a launcher takes in front of the arguments; None leaves each as the function says."""

_NO_WORDS: Words = (None,) * 9
_STREAM, _GRID, _BLOCK, _SMEM, _ATTRIBUTES = 0, slice(1, 4), slice(4, 7), 7, 8
_ATTRIBUTE = struct.Struct("<I4x64s")  # CUlaunchAttribute


class Configured:
    """A function with options of the launch set for its calls.

    What is not set stays as the function says. Each way to set something returns another
    `Configured`, so that one can be kept and called many times.
    """

    __slots__ = ("_attributes", "_function", "_grid", "_words")

    # A launch may be configured for one call, so that making this counts: no more than two tuples.
    def __init__(
        self,
        function: Function,
        words: Words = _NO_WORDS,
        attributes: Mapping[int, bytes] | None = None,
        grid: GridFunction | None = None,
    ) -> None:
        function._generated()
        self._function = function
        self._words = words
        self._attributes = attributes
        self._grid = grid

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Call with arguments by position or, as Triton's functions are called, by name."""
        if kwargs:
            args = tuple(self._function._ordered(args, kwargs))
        words = self._words if self._grid is None else self._words_for(self._grid, args)
        self._function._with_options(*words, *args)

    def call(self, *args: Any, **kwargs: Any) -> None:
        """Call with keywords, by the parameters' names."""
        self(*self._function._ordered(args, kwargs))

    def __getitem__(self, shape: Any) -> Configured:
        """Set grid, block and, optionally, the dynamic shared memory in bytes.

        Of a function whose launch has a block and no grid, the grid alone: one to three numbers, or
        a function of a mapping that has the arguments, and the launch's `meta`, by name.
        """
        self._require_one_launch()
        facts = self._function._generated()["callers_grid"]
        if facts is not None:
            return self._with_grid(facts, shape)
        if not isinstance(shape, tuple) or not 2 <= len(shape) <= 3:
            raise TypeError(
                f"{self._function.name}[...]: wanted [grid, block] or "
                f"[grid, block, dynamic_smem_bytes], got {shape!r}"
            )
        grid, block = dimensions("grid", shape[0]), dimensions("block", shape[1])
        smem = self._words[_SMEM]
        if len(shape) == 3:
            smem = integer("dynamic_smem_bytes", shape[2])
        words = (self._words[_STREAM], *grid, *block, smem, self._words[_ATTRIBUTES])
        return Configured(self._function, words, self._attributes)

    def _with_grid(self, facts: Mapping[str, Any], grid: Any) -> Configured:
        """Set the grid alone, which counts programs: of `unit` blocks in x."""
        if callable(grid):
            return Configured(self._function, self._words, self._attributes, grid)
        x, y, z = dimensions("grid", grid)
        blocks = integer("grid", x * facts["unit"])
        words = (self._words[_STREAM], blocks, y, z, *self._words[_BLOCK.start :])
        return Configured(self._function, words, self._attributes)

    def _words_for(self, grid: GridFunction, args: tuple[Any, ...]) -> Words:
        from .callers_grid import counted

        function = self._function
        facts = function._generated()["callers_grid"]
        numbers = counted(function.name, facts, grid, function._common_names, args)
        return self._with_grid(facts, numbers)._words

    def on(self, stream: Any) -> Configured:
        """Set the stream: an int, a torch or CuPy stream, anything with ``__cuda_stream__``."""
        from .stream import stream_handle

        words = (stream_handle(stream), *self._words[1:])
        return Configured(self._function, words, self._attributes, self._grid)

    def configure(self, *, stream: Any = None, **options: Any) -> Configured:
        """Set whatever a launch can carry.

        Parameters
        ----------
        stream : object, optional
            As of `on`.
        **options
            `grid` and `block` (together, or a grid alone where the function has a block, counted in
            blocks), `dynamic_smem_bytes`, and the attributes of a `Launch`
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
        return changed._with(given)

    def _with(self, given: dict[str, Any]) -> Configured:
        words, name = list(self._words), self._function.name
        is_known = self._function._generated()["fixes_block"]
        if ("grid" in given) != ("block" in given) and not (is_known and "grid" in given):
            raise TypeError(f"{name}: grid and block go together, give both")
        kept = None if "grid" in given else self._grid
        if "grid" in given:
            words[_GRID] = dimensions("grid", given.pop("grid"))
        if "block" in given:
            words[_BLOCK] = dimensions("block", given.pop("block"))
        if "dynamic_smem_bytes" in given:
            words[_SMEM] = integer("dynamic_smem_bytes", given.pop("dynamic_smem_bytes"))
        attributes = dict(self._attributes or {})
        for option, value in given.items():
            if option not in ATTRIBUTES and option != RAW:
                known = ", ".join([*_OPTIONS, *ATTRIBUTES, RAW])
                raise TypeError(f"{name}: no option {option!r}; there are {known}")
            attributes.update(encode(option, value, where=name))
        packed = [_ATTRIBUTE.pack(number, data) for number, data in attributes.items()]
        words[_ATTRIBUTES] = b"".join(packed) or None
        return Configured(self._function, tuple(words), attributes, kept)

    def __repr__(self) -> str:
        """Name and the options that are set, as they would be written."""
        stream, *shape, smem, _ = self._words
        text = self._function.name
        if None not in shape:
            text += f"[{tuple(shape[:3])}, {tuple(shape[3:])}{'' if smem is None else f', {smem}'}]"
        elif self._grid is not None or None not in shape[:3]:
            text += f"[{self._grid or tuple(shape[:3])}]"
        if stream is not None:
            text += f".on({stream:#x})"
        names = {attribute.id: name for name, attribute in ATTRIBUTES.items()}
        if self._attributes:
            text += f" with {', '.join(names.get(x, f'attribute {x}') for x in self._attributes)}"
        return f"<tvmffi_cubin.Function {text}>"

    def _require_one_launch(self) -> None:
        if any(len(instance["launches"]) != 1 for instance in self._function._instances()):
            raise TypeError(f"{self._function.name} has several launches, each with its own shape")


_OPTIONS = ("stream", "grid", "block", "dynamic_smem_bytes")


def integer(what: str, value: Any) -> int:
    """Return a value of a call as an int.

    Raises
    ------
    TypeError, ValueError
        It is none, or beyond 64 bits.
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise TypeError(f"{what}: got {value!r}, wanted an int")
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"{what}: {number:#x} is beyond any device's limit")
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
