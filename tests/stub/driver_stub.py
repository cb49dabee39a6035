"""The driver stand-in as tests see it: what was called and launched, and how it is to behave."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from .record import Call, Launch

_POINTER = ctypes.c_void_p
_PROTOTYPES: dict[str, tuple[Any, list[Any]]] = {
    "stub_log": (_POINTER, []),
    "stub_free": (None, [_POINTER]),
    "stub_register_memory": (None, [_POINTER, ctypes.c_size_t, ctypes.c_int]),
    "stub_unregister_memory": (None, [_POINTER]),
}


@dataclass(frozen=True)
class ObjectCounts:
    """What is alive in the driver; `retained_contexts` counts every retain of a primary one."""

    libraries: int
    retained_contexts: int
    pushed_contexts: int
    allocations: int


class DriverStub:
    """One loaded stand-in; every launcher that the same process loads calls into this one.

    Attributes
    ----------
    path : Path
        The shared library, as TVMFFI_CUBIN_DRIVER names it.
    lib : ctypes.CDLL
        The same, for calls of driver functions by their exported names.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lib = ctypes.CDLL(str(path))
        for name, (result, arguments) in _PROTOTYPES.items():
            function = getattr(self.lib, name)
            function.restype, function.argtypes = result, arguments

    # ---- What happened ----

    def log(self) -> list[Call]:
        """Return every driver call since the last reset, in order."""
        text = self.lib.stub_log()
        try:
            rows = json.loads(ctypes.string_at(text))
        finally:
            self.lib.stub_free(text)
        return [Call(**row) for row in rows]

    def calls(self, *names: str) -> list[Call]:
        """Return the calls of these functions, by base names such as ``"cuMemAlloc"``."""
        return [call for call in self.log() if call.function in names]

    def launches(self, *, failed: bool = False) -> list[Launch]:
        """Return the launches that succeeded or, with `failed`, those that did not."""
        calls = (call for call in self.log() if call.function.startswith("cuLaunch"))
        return [Launch.of(call) for call in calls if (call.result != 0) == failed]

    def object_counts(self) -> ObjectCounts:
        """Return what is alive now."""
        values = (ctypes.c_int * len(fields(ObjectCounts)))()
        self.lib.stub_object_counts(values)
        return ObjectCounts(*values)

    # ---- How it is to behave ----

    def reset(self) -> None:
        """Empty the log and undo every setting; what loaded launchers hold on to stays."""
        self.lib.stub_reset()

    def fail(self, function: str, result: int, *, nth: int = 1) -> None:
        """Make the `nth` next call of a function return `result`; 0: every one until reset."""
        self.lib.stub_fail(function.encode(), nth, result)

    def set_devices(self, *capabilities: int) -> None:
        """Play devices of these capabilities (90 for 9.0) until reset; none is allowed."""
        count = len(capabilities)
        self.lib.stub_set_devices(count, (ctypes.c_int * count)(*capabilities))

    def set_attribute(self, device: int, attribute: int, value: int) -> None:
        """Set a device attribute, by CU_DEVICE_ATTRIBUTE number, until reset."""
        self.lib.stub_set_attribute(device, attribute, value)

    def set_driver_version(self, version: int) -> None:
        """Play a driver of that CUDA version (11080 for 11.8), without what came later."""
        self.lib.stub_set_driver_version(version)

    @contextmanager
    def capture(self, stream: int, mode: int = 0) -> Iterator[None]:
        """Capture a stream, in a CUstreamCaptureMode; `RuntimeError` where the graph is lost."""
        graph = ctypes.c_void_p()
        self.call("cuStreamBeginCapture_v2", ctypes.c_void_p(stream), mode)
        try:
            yield
        finally:
            self.call("cuStreamEndCapture", ctypes.c_void_p(stream), ctypes.byref(graph))

    # ---- What other users of the driver in the process do ----

    def call(self, function: str, *args: Any) -> None:
        """Call a driver function by its exported name; `RuntimeError` if it fails."""
        result = getattr(self.lib, function)(*args)
        if result != 0:
            raise RuntimeError(f"{function} failed: {result}")

    @contextmanager
    def current_device(self, ordinal: int) -> Iterator[int]:
        """Have a device's primary context current on this thread; yields the context."""
        context = ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), ordinal)
        self.call("cuCtxPushCurrent_v2", context)
        try:
            yield context.value or 0
        finally:
            self.call("cuCtxPopCurrent_v2", ctypes.byref(context))
            self.call("cuDevicePrimaryCtxRelease_v2", ordinal)

    @contextmanager
    def stream(self, device: int = 0) -> Iterator[int]:
        """Make a stream on a device's primary context, which stays retained meanwhile."""
        handle = ctypes.c_void_p()
        with self.current_device(device):
            self.call("cuStreamCreate", ctypes.byref(handle), 1)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(ctypes.c_void_p()), device)
        try:
            yield handle.value or 0
        finally:
            self.call("cuStreamDestroy_v2", handle)
            self.call("cuDevicePrimaryCtxRelease_v2", device)

    @contextmanager
    def event(self, *, timed: bool) -> Iterator[int]:
        """Make an event in the current context."""
        handle = ctypes.c_void_p()
        self.call("cuEventCreate", ctypes.byref(handle), 0 if timed else 2)
        try:
            yield handle.value or 0
        finally:
            self.call("cuEventDestroy_v2", handle)
