"""`use_stream`: the stream of all launches in a ``with`` block."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from ..errors import ToolchainError
from .options import DEFAULT_STREAMS, device_ordinal, stream_handle

_LEGACY = 1


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


def _stream_device(stream: Any, handle: int, asked: int | None) -> int:
    from ..cuda import driver

    own: int | None = None
    for name in ("device_id", "device_index"):  # CuPy's name, torch's name
        ordinal = getattr(stream, name, -1)
        if isinstance(ordinal, int) and ordinal >= 0:
            own = ordinal
    try:
        found = driver.load()
    except ToolchainError:
        found = None
    if own is None and found is not None and handle not in DEFAULT_STREAMS:
        own = found.stream_device(handle)
    if own is not None and asked is not None and own != asked:
        raise ValueError(f"the stream is of cuda:{own}, device says cuda:{asked}")
    known = asked if own is None else own
    if known is not None:
        return known
    return 0 if found is None else found.current_device()


def _of_torch(torch: Any, stream: Any, handle: int, ordinal: int) -> Any:
    if isinstance(stream, torch.cuda.Stream):
        return stream
    if handle == _LEGACY:  # torch tells the streams of others by their addresses, which are even
        return torch.cuda.default_stream(ordinal)
    return torch.cuda.ExternalStream(handle, device=f"cuda:{ordinal}")
