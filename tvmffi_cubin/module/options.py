"""`Options`: what a caller sets of a launch, and how streams, devices and shapes are read."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

DEFAULT_STREAMS = (0, 1, 2)  # null, legacy, per thread: those of whichever device is current

Dimensions = tuple[int, int, int]


class Options(NamedTuple):
    """What a caller sets; None leaves each as the function says."""

    stream: int | None = None
    grid: Dimensions | None = None
    block: Dimensions | None = None
    dynamic_smem_bytes: int | None = None
    attributes: bytes | None = None  # an array of CUlaunchAttribute

    def text(self) -> str:
        """Return what is written behind a function's name to set them."""
        shape = [str(x) for x in self[1:4] if x is not None]
        text = f"[{', '.join(shape)}]" if shape else ""
        if self.stream is not None:
            text += f".on({self.stream:#x})"
        return text + (" with attributes" if self.attributes else "")


def integer(what: str, value: Any) -> int:
    """Return a value of a call as an int."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{what}: got {value!r}, wanted an int") from None


def dimensions(what: str, value: Any) -> Dimensions:
    """Return one to three dimensions of a call, those left out being 1."""
    values = value if isinstance(value, tuple | list) else (value,)
    if not 1 <= len(values) <= 3:
        raise ValueError(f"{what} has 1 to 3 dimensions, got {len(values)}")
    x, y, z = (*(integer(what, item) for item in values), 1, 1)[:3]
    return x, y, z


def stream_handle(stream: Any) -> int:
    """Return the ``cudaStream_t`` of any library's stream; 0 for None."""
    handle = 0 if stream is None else stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        # The protocol began as an attribute and became a method.
        _, handle = protocol() if callable(protocol) else protocol
    else:
        for name in ("cuda_stream", "ptr"):  # torch's name, CuPy's name
            handle = getattr(handle, name, handle)
    try:
        number = operator.index(handle)
    except TypeError:
        raise TypeError(
            f"got a {type(stream).__name__} as a stream, wanted an int, a torch or CuPy stream, or "
            "an object with __cuda_stream__"
        ) from None
    # The driver reads at any address that it is given.
    if number not in DEFAULT_STREAMS and not 4096 <= number < 2**63:
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
    try:
        ordinal = operator.index(found)
    except TypeError:
        raise TypeError(
            f"got {device!r} as a device, wanted an int, a torch.device or the like, or None for "
            "the current one"
        ) from None
    if ordinal < 0:
        raise ValueError(f"device is {ordinal}, which is no device's number")
    return ordinal
