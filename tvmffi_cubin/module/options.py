"""`Options`: what a caller sets of a launch, in the form that a launcher takes."""

from __future__ import annotations

import operator
import struct
from typing import Any, NamedTuple

_ATTRIBUTE = struct.Struct("<I4x64s")  # CUlaunchAttribute


class Options(NamedTuple):
    """What a caller sets; None leaves each as the function says."""

    stream: int | None = None
    grid_x: int | None = None
    grid_y: int | None = None
    grid_z: int | None = None
    block_x: int | None = None
    block_y: int | None = None
    block_z: int | None = None
    dynamic_smem_bytes: int | None = None
    attributes: bytes | None = None

    def on(self, stream: int) -> Options:
        """Return them with a stream."""
        return Options(stream, *self[1:])

    def with_grid(self, grid: Any, unit: int = 1) -> Options:
        """Return them with a grid that counts `unit` blocks in x as one."""
        x, y, z = dimensions("grid", grid)
        return Options(self.stream, integer("grid", x * unit), y, z, *self[4:])

    def with_shape(self, function: str, shape: Any) -> Options:
        """Return them with ``[grid, block]`` or ``[grid, block, dynamic_smem_bytes]``."""
        if not isinstance(shape, tuple) or not 2 <= len(shape) <= 3:
            raise TypeError(
                f"{function}[...]: wanted [grid, block] or [grid, block, dynamic_smem_bytes], got "
                f"{shape!r}"
            )
        grid, block, smem = *shape[:2], self.dynamic_smem_bytes
        if len(shape) == 3:
            smem = integer("dynamic_smem_bytes", shape[2])
        numbers = (*dimensions("grid", grid), *dimensions("block", block))
        return Options(self.stream, *numbers, smem, self.attributes)

    def with_given(self, function: str, given: dict[str, Any], *, grid_alone: bool) -> Options:
        """Return them with those of `Function.configure`; `grid_alone`: the block is known."""
        from ..launch_attributes import ATTRIBUTES, RAW, encode

        options = self
        if ("grid" in given) != ("block" in given) and not (grid_alone and "grid" in given):
            raise TypeError(f"{function}: grid and block go together, give both")
        if "grid" in given:
            options = options.with_grid(given.pop("grid"))
        if "block" in given:
            x, y, z = dimensions("block", given.pop("block"))
            options = options._replace(block_x=x, block_y=y, block_z=z)
        if "dynamic_smem_bytes" in given:
            smem = integer("dynamic_smem_bytes", given.pop("dynamic_smem_bytes"))
            options = options._replace(dynamic_smem_bytes=smem)
        attributes = self.attribute_values()
        for name, value in given.items():
            if name not in ATTRIBUTES and name != RAW:
                own = ("stream", "grid", "block", "dynamic_smem_bytes")
                known = ", ".join([*own, *ATTRIBUTES, RAW])
                raise TypeError(f"{function}: no option {name!r}; there are {known}")
            attributes.update(encode(name, value, where=function))
        packed = b"".join(_ATTRIBUTE.pack(number, data) for number, data in attributes.items())
        return options._replace(attributes=packed or None)

    def attribute_values(self) -> dict[int, bytes]:
        """Return the launch's attributes: ``CUlaunchAttributeID`` to the bytes of the value."""
        return dict(_ATTRIBUTE.iter_unpack(self.attributes or b""))

    def text(self, grid: Any = None) -> str:
        """Return what is written behind a function's name to set them; `grid` is a callable."""
        text = ""
        if self.block_x is not None:
            smem = self.dynamic_smem_bytes
            text = f"[{self[1:4]}, {self[4:7]}{'' if smem is None else f', {smem}'}]"
        elif grid is not None or self.grid_x is not None:
            text = f"[{grid or self[1:4]}]"
        if self.stream is not None:
            text += f".on({self.stream:#x})"
        if self.attributes is not None:
            from ..launch_attributes import ATTRIBUTES

            names = {attribute.id: name for name, attribute in ATTRIBUTES.items()}
            found = (names.get(x, f"attribute {x}") for x in self.attribute_values())
            text += f" with {', '.join(found)}"
        return text


NO_OPTIONS = Options()


def integer(what: str, value: Any) -> int:
    """Return a value of a call as an int that fits 64 bits."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise TypeError(f"{what}: got {value!r}, wanted an int")
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"{what}: {number:#x} is beyond any device's limit")
    return number


def dimensions(what: str, value: Any) -> tuple[int, int, int]:
    """Return one to three dimensions of a call, those left out being 1."""
    values = tuple(value) if isinstance(value, tuple | list) else (value,)
    if not 1 <= len(values) <= 3:
        raise ValueError(f"{what} has 1 to 3 dimensions, got {len(values)}")
    x, y, z = *(integer(what, item) for item in values), *[1] * (3 - len(values))
    return x, y, z
