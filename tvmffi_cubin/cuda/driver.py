"""The CUDA driver from Python, through the seam `TVMFFI_CUBIN_DRIVER`; it never makes a context."""

from __future__ import annotations

import ctypes
from functools import cache

from .. import config
from ..errors import ToolchainError


class Driver:
    """A loaded driver library: its name, as the seam has it, and its handle."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.library = ctypes.CDLL(name)

    def current_device(self) -> int:
        """Return the ordinal of the calling thread's current context, 0 where it has none."""
        device = ctypes.c_int()
        self.call("cuInit", 0)
        return device.value if self.library.cuCtxGetDevice(ctypes.byref(device)) == 0 else 0

    def stream_device(self, handle: int) -> int:
        """Return the ordinal of a stream's device; of the current one where it does not say."""
        context = ctypes.c_void_p()
        self.call("cuInit", 0)
        if self.library.cuStreamGetCtx(ctypes.c_void_p(handle), ctypes.byref(context)) != 0:
            return self.current_device()
        self.call("cuCtxPushCurrent_v2", context)
        try:
            return self.number("cuCtxGetDevice")
        finally:
            self.library.cuCtxPopCurrent_v2(ctypes.byref(context))

    def device_arch(self, ordinal: int) -> str:
        """Return a device's architecture without suffix, such as ``"sm_90"``."""
        device = self._device(ordinal)
        # The attributes of the compute capability's major and minor number.
        numbers = (self.number("cuDeviceGetAttribute", x, device) for x in (75, 76))
        return f"sm_{''.join(map(str, numbers))}"

    def device_name(self, ordinal: int) -> str:
        """Return a device's name, such as ``"NVIDIA H200"``."""
        text = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", text, len(text), self._device(ordinal))
        return text.value.decode("utf-8", "replace")

    def _device(self, ordinal: int) -> int:
        # Not remembered: a forked child must see the driver's refusal, not its parent's success.
        self.call("cuInit", 0)
        return self.number("cuDeviceGet", ordinal)

    def number(self, function: str, *arguments: object) -> int:
        """Return the number that an entry point tells first; raises as `call` does."""
        value = ctypes.c_int()
        self.call(function, ctypes.byref(value), *arguments)
        return value.value

    def call(self, function: str, *arguments: object) -> None:
        """Call an entry point; raises ToolchainError where it fails."""
        result = getattr(self.library, function)(*arguments)
        if result == 0:
            return
        name = ctypes.c_char_p()
        self.library.cuGetErrorName(result, ctypes.byref(name))
        error = (name.value or b"error").decode()
        remedy = ""
        if function == "cuInit" and error == "CUDA_ERROR_NOT_INITIALIZED":
            remedy = (
                ". This process was forked from one that had already used CUDA: start it with "
                "the multiprocessing method 'spawn' (or 'forkserver')"
            )
        raise ToolchainError(f"{function} of the CUDA driver ({self.name}) fails: {error}{remedy}")


_opened = cache(Driver)


def load() -> Driver:
    """Return the driver that the seam names now; raises ToolchainError where there is none."""
    try:
        return _opened(config.get("TVMFFI_CUBIN_DRIVER") or "")
    except OSError as error:
        raise ToolchainError(
            f"the CUDA driver could not be opened: {error}; a GPU and NVIDIA's driver are needed "
            "for this"
        ) from None


def version() -> int | None:
    """Return the newest CUDA version of the driver, 12040 for 12.4; None without one; no cuInit."""
    try:
        return load().number("cuDriverGetVersion")
    except ToolchainError:
        return None


def device_count() -> int:
    """Return how many devices this process can use, 0 without a driver."""
    try:
        load().call("cuInit", 0)
        return load().number("cuDeviceGetCount")
    except ToolchainError:
        return 0
