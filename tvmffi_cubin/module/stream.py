"""Streams and devices of any library, and `use_stream`: the stream for a ``with`` block."""

from __future__ import annotations

import contextlib
import operator
import sys
from collections.abc import Iterator
from typing import Any

import tvm_ffi

from ..cuda import driver

_LEGACY = 1  # CUDA's handle for the legacy default stream; 0 is the null stream, 2 each thread's


def stream_handle(stream: Any) -> int:
    """Return the ``cudaStream_t`` of any library's stream; 0 for None."""
    handle = 0 if stream is None else stream
    if hasattr(stream, "__cuda_stream__"):
        _, handle = stream.__cuda_stream__()
    for name in ("cuda_stream", "ptr"):  # torch's name, CuPy's name
        handle = getattr(handle, name, handle)
    handle = operator.index(handle)
    # The driver dereferences any address.
    if handle not in (0, _LEGACY, 2) and not 4096 <= handle < 2**63:
        raise ValueError(f"expected a stream handle (an address, or 0, 1 or 2), got {handle}")
    return handle


def device_ordinal(device: Any) -> int:
    """Return the ordinal of any library's device; -1, the current device, for None."""
    if isinstance(device, str):
        device = tvm_ffi.device(device)
    for name in ("index", "id", "device_id"):  # torch's name, CuPy's, cuda.core's
        device = getattr(device, name, device)
    return -1 if device is None else operator.index(device)


@contextlib.contextmanager
def use_stream(stream: Any, *, device: Any = None) -> Iterator[None]:
    """Launch on `stream` inside a ``with`` block, whichever library the tensors come from.

    Sets this thread's tvm-ffi stream for the stream's device and, if torch is imported, torch's
    current stream, which tvm-ffi uses for torch tensors. Restores both on exit.

    Parameters
    ----------
    stream : int or object
        A handle, a torch or CuPy stream, any object with ``__cuda_stream__``, or None for CUDA's
        legacy default stream.
    device : int, torch.device or the like, optional
        The stream's device. Default: the stream's own, or the current one for a default stream.
    """
    handle = stream_handle(stream)
    # torch's default streams have a device, which their handle does not identify.
    own = getattr(stream, "device_index", None)
    ordinal = device_ordinal(own if device is None else device)
    if ordinal < 0:
        ordinal = driver.stream_device(handle)
    torch = sys.modules.get("torch")
    with contextlib.ExitStack() as stack:
        if torch is not None and torch.cuda.is_available():
            # torch recognizes external streams by their addresses, which are even.
            theirs = stream
            if handle == _LEGACY:
                theirs = torch.cuda.default_stream(ordinal)
            elif not isinstance(stream, torch.cuda.Stream):
                theirs = torch.cuda.ExternalStream(handle, device=f"cuda:{ordinal}")
            stack.enter_context(torch.cuda.stream(theirs))
        stack.enter_context(tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", ordinal), handle))
        yield
