"""The CUDA driver API from Python, loaded from `TVMFFI_CUBIN_DRIVER`; never creates a context."""

from __future__ import annotations

import ctypes
from functools import cache

from .. import config
from ..errors import ToolchainError

_opened = cache(ctypes.CDLL)


def load() -> ctypes.CDLL:
    """Load the driver that the variable currently names; raise ToolchainError if it is missing."""
    try:
        return _opened(config.get("TVMFFI_CUBIN_DRIVER") or "")
    except OSError as error:
        needed = "this requires a GPU and NVIDIA's driver"
        raise ToolchainError(f"cannot open the CUDA driver: {error}; {needed}") from None


def call(function: str, *arguments: object) -> None:
    """Call an entry point; raise ToolchainError if it fails."""
    driver = load()
    result = getattr(driver, function)(*arguments)
    if result == 0:
        return
    name = ctypes.c_char_p()
    driver.cuGetErrorName(result, ctypes.byref(name))
    error = (name.value or b"error").decode()
    if error == "CUDA_ERROR_NOT_INITIALIZED":  # cuInit's result in a forked child
        error += (
            ". This process was forked from one that had already used CUDA: use the "
            "multiprocessing start method 'spawn' (or 'forkserver')"
        )
    raise ToolchainError(f"{function} of the CUDA driver ({driver._name}) failed: {error}")


def number(function: str, *arguments: object) -> int:
    """Call an entry point and return its first output, an int; raise as `call` does."""
    value = ctypes.c_int()
    call(function, ctypes.byref(value), *arguments)
    return value.value


def current_device() -> int:
    """Return the ordinal of the calling thread's current device, 0 if it has no context."""
    device = ctypes.c_int()
    # Not cached: a forked child must see the driver's error, not its parent's success.
    call("cuInit", 0)
    return device.value if load().cuCtxGetDevice(ctypes.byref(device)) == 0 else 0


def stream_device(handle: int) -> int:
    """Return the ordinal of a stream's device, or the current device's if the query fails."""
    context = ctypes.c_void_p()
    if load().cuStreamGetCtx(ctypes.c_void_p(handle), ctypes.byref(context)) != 0:
        return current_device()
    call("cuCtxPushCurrent_v2", context)
    device = number("cuCtxGetDevice")
    call("cuCtxPopCurrent_v2", ctypes.byref(context))
    return device


def device_arch(ordinal: int) -> str:
    """Return a device's architecture without a suffix, such as ``"sm_90"``."""
    # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR.
    major, minor = (number("cuDeviceGetAttribute", x, ordinal) for x in (75, 76))
    return f"sm_{major}{minor}"


def device_name(ordinal: int) -> str:
    """Return a device's name, such as ``"NVIDIA H200"``."""
    text = ctypes.create_string_buffer(256)
    call("cuDeviceGetName", text, len(text), ordinal)
    return text.value.decode("utf-8", "replace")


def version() -> int | None:
    """Return the driver's newest CUDA version (12040: 12.4), None without one; needs no cuInit."""
    try:
        return number("cuDriverGetVersion")
    except ToolchainError:
        return None


def device_count() -> int:
    """Return the number of devices this process can use, 0 without a driver."""
    try:
        call("cuInit", 0)
        return number("cuDeviceGetCount")
    except ToolchainError:
        return 0
