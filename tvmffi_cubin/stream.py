"""CUDA streams from whatever library: their handles, and `use_stream`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from numbers import Integral
from typing import Any

from . import driver
from .ordinal import device_ordinal

__all__ = ["stream_handle", "use_stream"]

_DEFAULT_STREAMS = (0, 1, 2)  # null, legacy, per thread: those of whichever device is current
_LEGACY = 1
_LEAST_ADDRESS = 4096  # the driver reads at any that it is given
_PROTOCOL_VERSION = 0


def stream_handle(stream: Any) -> int:
    """Return the ``cudaStream_t`` of a stream as an int.

    Parameters
    ----------
    stream : int or object
        A handle; a stream of torch or CuPy; anything with ``__cuda_stream__`` (the protocol of
        cuda.core); None for CUDA's legacy default stream. That a stream still exists is the
        caller's to see to: of a handle nothing can tell it.

    Raises
    ------
    TypeError
        It is none of these, or its ``__cuda_stream__`` gives something else than two ints.
    ValueError
        The int can be no handle, or ``__cuda_stream__`` is of an unknown version.
    """
    if stream is None:
        return 0
    if isinstance(stream, Integral) and not isinstance(stream, bool):
        return _checked(stream)
    if not isinstance(stream, type):
        protocol = getattr(stream, "__cuda_stream__", None)
        if protocol is not None:
            return _handle_of(stream, protocol)
        for name in ("cuda_stream", "ptr"):  # torch's name, CuPy's name
            handle = getattr(stream, name, None)
            if isinstance(handle, int) and not isinstance(handle, bool):
                return _checked(handle)
    what = f"the class {stream.__name__}" if isinstance(stream, type) else type(stream).__name__
    raise TypeError(
        f"got a {what} as a stream, wanted an int, a torch or CuPy stream, or an object with "
        "__cuda_stream__"
    )


def _handle_of(stream: Any, protocol: Any) -> int:
    # The protocol began as an attribute and became a method.
    answer = protocol() if callable(protocol) else protocol
    is_pair = isinstance(answer, tuple | list) and len(answer) == 2
    if not is_pair or any(isinstance(x, bool) or not isinstance(x, Integral) for x in answer):
        raise TypeError(
            f"__cuda_stream__ of the {type(stream).__name__} gives {answer!r}, wanted its version "
            "and a handle, two ints"
        )
    version, handle = answer
    if version != _PROTOCOL_VERSION:
        raise ValueError(
            f"__cuda_stream__ of the {type(stream).__name__} is of version {version}, this package "
            f"knows version {_PROTOCOL_VERSION}: pass the handle itself, as an int"
        )
    return _checked(handle)


def _checked(handle: Any) -> int:
    number = int(handle)
    if number not in _DEFAULT_STREAMS and not _LEAST_ADDRESS <= number < 2**63:
        raise ValueError(f"got {number} as a stream, which is no handle: an address, or 0, 1 or 2")
    return number


def _device_of(stream: Any, handle: int) -> int | None:
    """Return the ordinal of a stream's device; None where it is the current one's."""
    for name in ("device_id", "device_index"):  # CuPy's name, torch's name
        ordinal = getattr(stream, name, None)
        if isinstance(ordinal, int) and 0 <= ordinal < 2**31:
            return ordinal
    found = driver.open()
    return None if found is None or handle in _DEFAULT_STREAMS else found.stream_device(handle)


def _chosen_device(stream: Any, handle: int, device: Any) -> int:
    own, asked = _device_of(stream, handle), device_ordinal(device)
    if own is not None and asked is not None and own != asked:
        raise ValueError(f"the stream is of cuda:{own}, device says cuda:{asked}")
    known = asked if own is None else own
    if known is not None:
        return known
    return driver.current_device() if driver.open() is not None else 0


def _of_torch(torch: Any, stream: Any, handle: int, ordinal: int) -> Any:
    if isinstance(stream, torch.cuda.Stream):
        return stream
    if handle == _LEGACY:  # torch tells the streams of others by their addresses, which are even
        return torch.cuda.default_stream(ordinal)
    return torch.cuda.ExternalStream(handle, device=f"cuda:{ordinal}")


@contextlib.contextmanager
def use_stream(stream: Any, *, device: Any = None) -> Iterator[None]:
    """Launch on `stream` inside a ``with`` block, whichever library the tensors come from.

    Sets this thread's tvm-ffi stream and, where torch has been imported, torch's current stream,
    which tvm-ffi takes for torch's tensors; torch makes the stream's device current, too. Holds for
    tensors on the stream's device. At the end what was before is back.

    Parameters
    ----------
    stream
        As in `stream_handle`.
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
    ordinal = _chosen_device(stream, handle, device)
    torch = sys.modules.get("torch")
    with contextlib.ExitStack() as stack:
        if torch is not None and torch.cuda.is_available():
            theirs = _of_torch(torch, stream, handle, ordinal)
            stack.enter_context(torch.cuda.stream(theirs))
        stack.enter_context(tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", ordinal), handle))
        yield
