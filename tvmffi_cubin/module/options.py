"""`Options`: what a caller sets of a launch, and how streams, devices and shapes are read."""

from __future__ import annotations

import operator
import struct
from typing import Any, NamedTuple

DEFAULT_STREAMS = (0, 1, 2)  # null, legacy, per thread: those of whichever device is current

_LEAST_ADDRESS = 4096
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
        from ..launches.attributes import ATTRIBUTES, encode

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
            if name not in ATTRIBUTES and name != "attributes":
                own = ("stream", "grid", "block", "dynamic_smem_bytes")
                known = ", ".join([*own, *ATTRIBUTES, "attributes"])
                raise TypeError(f"{function}: no option {name!r}; there are {known}")
            attributes.update(encode(name, value, where=function))
        packed = b"".join(_ATTRIBUTE.pack(number, data) for number, data in attributes.items())
        return options._replace(attributes=packed or None)

    def attribute_values(self) -> dict[int, bytes]:
        """Return the launch's attributes: ``CUlaunchAttributeID`` to the bytes of the value."""
        return dict(_ATTRIBUTE.iter_unpack(self.attributes or b""))

    def text(self) -> str:
        """Return what is written behind a function's name to set them."""
        text = ""
        if self.block_x is not None:
            smem = self.dynamic_smem_bytes
            text = f"[{self[1:4]}, {self[4:7]}{'' if smem is None else f', {smem}'}]"
        elif self.grid_x is not None:
            text = f"[{self[1:4]}]"
        if self.stream is not None:
            text += f".on({self.stream:#x})"
        if self.attributes is not None:
            from ..launches.attributes import ATTRIBUTES

            names = {attribute.id: name for name, attribute in ATTRIBUTES.items()}
            found = (names.get(x, f"attribute {x}") for x in self.attribute_values())
            text += f" with {', '.join(found)}"
        return text


NO_OPTIONS = Options()


def integer(what: str, value: Any) -> int:
    """Return a value of a call as an int that fits 64 bits."""
    number = _index(value)
    if number is None:
        raise TypeError(f"{what}: got {value!r}, wanted an int")
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"{what}: {number:#x} is beyond any device's limit")
    return number


def dimensions(what: str, value: Any) -> tuple[int, int, int]:
    """Return one to three dimensions of a call, those left out being 1."""
    if type(value) is int and -1 < value < 2**31:  # most are
        return value, 1, 1
    values = tuple(value) if isinstance(value, tuple | list) else (value,)
    if not 1 <= len(values) <= 3:
        raise ValueError(f"{what} has 1 to 3 dimensions, got {len(values)}")
    x, y, z = *(integer(what, item) for item in values), *[1] * (3 - len(values))
    return x, y, z


def stream_handle(stream: Any) -> int:
    """Return the ``cudaStream_t`` of any library's stream; 0 for None."""
    if stream is None:
        return 0
    handle = stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        # The protocol began as an attribute and became a method.
        version, handle = protocol() if callable(protocol) else protocol
        if version != 0:
            raise ValueError(
                f"__cuda_stream__ of the {type(stream).__name__} is of version {version}, this "
                "package knows version 0: pass the handle itself, as an int"
            )
    else:
        for name in ("cuda_stream", "ptr"):  # torch's name, CuPy's name
            handle = getattr(handle, name, handle)
    number = _index(handle)
    if number is None:
        raise TypeError(
            f"got a {type(stream).__name__} as a stream, wanted an int, a torch or CuPy stream, or "
            "an object with __cuda_stream__"
        )
    # The driver reads at any address that it is given.
    if number not in DEFAULT_STREAMS and not _LEAST_ADDRESS <= number < 2**63:
        raise ValueError(f"got {number} as a stream, which is no handle: an address, or 0, 1 or 2")
    return number


def device_ordinal(device: Any) -> int | None:
    """Return the ordinal of any library's device; None for the current one."""
    if getattr(device, "type", "cuda") != "cuda":
        raise ValueError(f"device is {device}, wanted a CUDA device")
    names = ("index", "id", "device_id")
    found = next((getattr(device, name) for name in names if hasattr(device, name)), device)
    if found is None:
        return None
    ordinal = _index(found)
    if ordinal is None:
        raise TypeError(
            f"got {device!r} as a device, wanted an int, a torch.device or the like, or None for "
            "the current one"
        )
    if not 0 <= ordinal < 2**31:
        raise ValueError(f"device is {ordinal}, which is no device's number")
    return ordinal


def _index(value: Any) -> int | None:
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None
