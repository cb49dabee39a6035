"""What a driver allows while a stream is captured, part of `conformance`."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .conformance import Driver

__all__ = ["captures"]

MODES = {"global": 0, "thread-local": 1, "relaxed": 2}
C = ctypes
RELAXED, CLUSTER = 2, 4
Action = Callable[[], int]


def captures(d: Driver) -> None:
    """Ask what each call answers in a capture, and what becomes of the capture."""
    for mode, number in MODES.items():
        for action in ("load", "get a kernel", "get a function", "load a function", "unload",
                       "retain a context", "allocate"):  # fmt: skip
            ask(d, f"{action} in a {mode} capture", action, number)
            if mode != "relaxed":
                ask(d, f"{action} in a {mode} capture, relaxed", action, number, relaxed=True)
    refused_launches(d)
    mode_now = C.c_int(RELAXED)
    d.need("cuThreadExchangeStreamCaptureMode", C.byref(mode_now))
    d.answers["a thread's own capture mode"] = str(mode_now.value)
    d.need("cuThreadExchangeStreamCaptureMode", C.byref(mode_now))


def refused_launches(d: Driver) -> None:
    """Ask what becomes of a capture in which a launch is refused."""
    kernel, one = d.kernel(d.library(), "plain"), d.params(d.memory())
    for label, smem, cluster in (("too large a cluster", 0, 16), ("too much memory", 60000, 1)):
        stream, graph = d.handle("cuStreamCreate", 1), C.c_void_p()
        d.need("cuStreamBeginCapture_v2", stream, 0)
        shape, attributes = ((16, 1, 1), (32, 1, 1)), [(CLUSTER, (cluster, 1, 1))]
        results = [
            d.launch(kernel, *shape, one, smem=smem, stream=stream.value, attributes=attributes),
            d.launch(kernel, *shape, one, stream=stream.value),
        ]
        end = d.lib.cuStreamEndCapture(stream, C.byref(graph))
        d.ask(f"{label} in a capture", results[0], "then", *map(d.name, (results[1], end)))
        d.need("cuStreamDestroy_v2", stream)


def ask(d: Driver, question: str, action: str, mode: int, *, relaxed: bool = False) -> None:
    """Capture a stream in a mode, make one call, and end the capture."""
    act = prepared(d, action)
    stream, graph, own = d.handle("cuStreamCreate", 1), C.c_void_p(), C.c_int(RELAXED)
    d.need("cuStreamBeginCapture_v2", stream, mode)
    if relaxed:
        d.need("cuThreadExchangeStreamCaptureMode", C.byref(own))
    result = act()
    if relaxed:
        d.need("cuThreadExchangeStreamCaptureMode", C.byref(own))
    end = d.lib.cuStreamEndCapture(stream, C.byref(graph))
    d.ask(question, result, "and", d.name(end))
    d.need("cuStreamDestroy_v2", stream)


def prepared(d: Driver, action: str) -> Action:
    """Return a call that needs nothing more, on an image that nothing was done with."""
    made, code = C.c_void_p(), (d.images / "sm_90.cubin").read_bytes()
    library = d.library()
    if action == "load":
        return lambda: d.load(code)[0]
    if action == "unload":
        return lambda: int(d.lib.cuLibraryUnload(library))
    if action == "get a kernel":
        return lambda: int(d.lib.cuLibraryGetKernel(C.byref(made), library, b"plain"))
    if action == "retain a context":
        return lambda: int(d.lib.cuDevicePrimaryCtxRetain(C.byref(made), 0))
    if action == "allocate":
        pointer = C.c_uint64()
        return lambda: int(d.lib.cuMemAlloc_v2(C.byref(pointer), C.c_size_t(64)))
    kernel = d.kernel(library, "plain")
    if action == "get a function":
        return lambda: int(d.lib.cuKernelGetFunction(C.byref(made), kernel))
    function = d.handle("cuKernelGetFunction", kernel)
    return lambda: int(d.lib.cuFuncLoad(function))
