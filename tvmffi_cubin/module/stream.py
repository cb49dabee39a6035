"""CUDA streams and devices from whatever library: handles, ordinals, and `use_stream`."""

from __future__ import annotations

import contextlib
import operator
import sys
from collections.abc import Iterator
from typing import Any

_DEFAULT_STREAMS = (0, 1, 2)  # null, legacy, per thread: those of whichever device is current
_LEGACY = 1
_LEAST_ADDRESS = 4096


def stream_handle(stream: Any) -> int:
    """Return the ``cudaStream_t`` of a stream as an int.

    Parameters
    ----------
    stream : int or object
        A handle; a stream of torch or CuPy; anything with ``__cuda_stream__`` (the protocol of
        cuda.core); None for CUDA's legacy default stream. It must still exist.

    Raises
    ------
    TypeError
        It is none of these.
    ValueError
        The int can be no handle, or ``__cuda_stream__`` is of an unknown version.
    """
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
    if number not in _DEFAULT_STREAMS and not _LEAST_ADDRESS <= number < 2**63:
        raise ValueError(f"got {number} as a stream, which is no handle: an address, or 0, 1 or 2")
    return number


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


@contextlib.contextmanager
def use_stream(stream: Any, *, device: Any = None) -> Iterator[None]:
    """Launch on `stream` inside a ``with`` block, whichever library the tensors come from.

    Sets this thread's tvm-ffi stream and, where torch has been imported, torch's current stream,
    which tvm-ffi takes for torch's tensors; torch makes the stream's device current, too. Holds for
    tensors on the stream's device. At the end what was before is back.

    Parameters
    ----------
    stream : int or object
        A handle, a stream of torch or CuPy, anything with ``__cuda_stream__``, or None for CUDA's
        legacy default stream.
    device : int, torch.device or the like, optional
        The stream's device. Default: what the stream or the driver says; for a default stream the
        current device.

    Raises
    ------
    TypeError
        It is no stream, or no device.
    ValueError
        The stream is of another device than `device`, or its handle is none.
    """
    import tvm_ffi

    handle = stream_handle(stream)
    ordinal = _stream_device(stream, handle, device_ordinal(device))
    torch = sys.modules.get("torch")
    with contextlib.ExitStack() as stack:
        if torch is not None and torch.cuda.is_available():
            theirs = _of_torch(torch, stream, handle, ordinal)
            stack.enter_context(torch.cuda.stream(theirs))
        stack.enter_context(tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", ordinal), handle))
        yield


def _index(value: Any) -> int | None:
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def _stream_device(stream: Any, handle: int, asked: int | None) -> int:
    from .. import driver

    own: int | None = None
    for name in ("device_id", "device_index"):  # CuPy's name, torch's name
        ordinal = getattr(stream, name, -1)
        if isinstance(ordinal, int) and ordinal >= 0:
            own = ordinal
    found = driver.open()
    if own is None and found is not None and handle not in _DEFAULT_STREAMS:
        own = found.stream_device(handle)
    if own is not None and asked is not None and own != asked:
        raise ValueError(f"the stream is of cuda:{own}, device says cuda:{asked}")
    known = asked if own is None else own
    if known is not None:
        return known
    return 0 if found is None else driver.current_device()


def _of_torch(torch: Any, stream: Any, handle: int, ordinal: int) -> Any:
    if isinstance(stream, torch.cuda.Stream):
        return stream
    if handle == _LEGACY:  # torch tells the streams of others by their addresses, which are even
        return torch.cuda.default_stream(ordinal)
    return torch.cuda.ExternalStream(handle, device=f"cuda:{ordinal}")
