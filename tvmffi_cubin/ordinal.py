"""`device_ordinal`: the number of a CUDA device, from whatever library names it."""

from __future__ import annotations

from typing import Any

__all__ = ["device_ordinal"]


def device_ordinal(device: Any) -> int | None:
    """Return the ordinal of a device; None where it is the current one.

    Parameters
    ----------
    device : int, object or None
        An ordinal; a device of torch, tvm-ffi, CuPy or anything with an int ``index``, ``id`` or
        ``device_id``; None, or a device without an index (``torch.device("cuda")``), for the
        current one.

    Raises
    ------
    TypeError
        It is none of these.
    ValueError
        It is no CUDA device, or its number is none. (Whether there is that device, the driver
        knows.)
    """
    if device is None:
        return None
    kind = getattr(device, "type", None)
    if isinstance(kind, str) and kind != "cuda":
        raise ValueError(f"device is {device}, wanted a CUDA device")
    ordinal = _ordinal(device)
    if ordinal is not None and not 0 <= ordinal < 2**31:
        raise ValueError(f"device is {ordinal}, which is no device's number")
    return ordinal


def _ordinal(device: Any) -> int | None:
    if not isinstance(device, bool | str):
        if hasattr(device, "__index__"):
            return int(device.__index__())
        for name in ("index", "id", "device_id"):
            number = getattr(device, name, "")
            if isinstance(number, int) or (number is None and name == "index"):
                return number
    raise TypeError(
        f"got {device!r} as a device, wanted an int, a torch.device or the like, or None for the "
        "current one"
    )
