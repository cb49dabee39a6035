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

    from ..cuda import driver

    handle, ordinal = stream_handle(stream), device_ordinal(device)
    try:
        found = driver.load()
    except ToolchainError:  # there is none, and nothing to launch
        found = None
    # CuPy's name, torch's name; CuPy's default streams have -1.
    known = (getattr(stream, name, -1) for name in ("device_id", "device_index"))
    own = next((x for x in known if x >= 0), None)
    if own is None and found and handle not in DEFAULT_STREAMS:
        own = found.stream_device(handle)
    if own is not None and ordinal not in (None, own):
        raise ValueError(f"the stream is of cuda:{own}, device says cuda:{ordinal}")
    ordinal = own if ordinal is None else ordinal
    if ordinal is None:
        ordinal = found.current_device() if found else 0
    torch = sys.modules.get("torch")
    with contextlib.ExitStack() as stack:
        if torch is not None and torch.cuda.is_available():
            # torch tells the streams of others by their addresses, which are even.
            theirs = stream
            if handle == _LEGACY:
                theirs = torch.cuda.default_stream(ordinal)
            elif not isinstance(stream, torch.cuda.Stream):
                theirs = torch.cuda.ExternalStream(handle, device=f"cuda:{ordinal}")
            stack.enter_context(torch.cuda.stream(theirs))
        stack.enter_context(tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", ordinal), handle))
        yield
