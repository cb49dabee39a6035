"""CUDA streams from whatever library: their handles, and `use_stream`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from . import driver

__all__ = ["stream_handle", "use_stream"]


def stream_handle(stream: Any) -> int:
    """Return the ``cudaStream_t`` of a stream as an int.

    Parameters
    ----------
    stream : int or object
        A handle; a stream of torch or CuPy; anything with ``__cuda_stream__`` (the protocol of
        cuda.core); None for CUDA's legacy default stream.

    Raises
    ------
    TypeError
        It is none of these.
    """
    if stream is None:
        return 0
    if isinstance(stream, int) and not isinstance(stream, bool):
        return stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        # The protocol began as an attribute and became a method.
        version_and_handle = protocol() if callable(protocol) else protocol
        return int(version_and_handle[1])
    for name in ("cuda_stream", "ptr"):  # torch's name, CuPy's name
        handle = getattr(stream, name, None)
        if isinstance(handle, int):
            return handle
    raise TypeError(
        f"got a {type(stream).__name__} as a stream, wanted an int, a torch or CuPy stream, or an "
        "object with __cuda_stream__"
    )


def _device_of(stream: Any) -> int:
    """Return the ordinal of a stream's device; the current device where the stream does not say."""
    for name in ("device_id", "device_index"):
        ordinal = getattr(stream, name, None)
        if isinstance(ordinal, int) and ordinal >= 0:
            return ordinal
    return driver.current_device() if driver.open() is not None else 0


@contextlib.contextmanager
def use_stream(stream: Any, *, device: int | None = None) -> Iterator[None]:
    """Launch on `stream` inside a ``with`` block, whichever library the tensors come from.

    Sets this thread's tvm-ffi stream and, where torch has been imported, torch's current stream,
    which tvm-ffi takes for torch's tensors.

    Parameters
    ----------
    stream
        As in `stream_handle`.
    device : int, optional
        Ordinal of the stream's device. Default: what the stream says, else the current device.

    Raises
    ------
    TypeError
        It is no stream.
    """
    import tvm_ffi

    handle = stream_handle(stream)
    ordinal = _device_of(stream) if device is None else device
    torch = sys.modules.get("torch")
    with contextlib.ExitStack() as stack:
        if torch is not None and torch.cuda.is_available():
            external = torch.cuda.ExternalStream(handle, device=f"cuda:{ordinal}")
            stack.enter_context(torch.cuda.stream(external))
        stack.enter_context(tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", ordinal), handle))
        yield
