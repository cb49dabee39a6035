"""The CUDA driver from Python, through the seam `TVMFFI_CUBIN_DRIVER`; it never makes a context."""

from __future__ import annotations

import ctypes

from .. import config
from ..errors import ToolchainError

_COMPUTE_CAPABILITY = (75, 76)  # the attributes of its major and of its minor number
_NAME_BYTES = 256
_NOT_INITIALIZED = 3

_loaded: dict[str, Driver] = {}


class Driver:
    """A loaded driver library: its name, as the seam has it, and its handle."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.library = ctypes.CDLL(name)

    def version(self) -> int:
        """Return the newest CUDA version that the driver supports, 12040 for 12.4; no cuInit."""
        value = ctypes.c_int()
        self._call("cuDriverGetVersion", ctypes.byref(value))
        return value.value

    def device_count(self) -> int:
        """Return the number of devices visible to this process; 0 where the driver finds none."""
        value = ctypes.c_int()
        if self.library.cuInit(0) == 0:
            self._call("cuDeviceGetCount", ctypes.byref(value))
        return value.value

    def current_device(self) -> int:
        """Return the ordinal of the calling thread's current context, 0 where it has none."""
        value = ctypes.c_int()
        self._call("cuInit", 0)
        return value.value if self.library.cuCtxGetDevice(ctypes.byref(value)) == 0 else 0

    def stream_device(self, handle: int) -> int | None:
        """Return the ordinal of the device of a stream that was created; None: it does not say."""
        context, device = ctypes.c_void_p(), ctypes.c_int()
        self._call("cuInit", 0)
        if self.library.cuStreamGetCtx(ctypes.c_void_p(handle), ctypes.byref(context)) != 0:
            return None
        if self.library.cuCtxPushCurrent_v2(context) != 0:
            return None
        result = self.library.cuCtxGetDevice(ctypes.byref(device))
        self.library.cuCtxPopCurrent_v2(ctypes.byref(context))
        return device.value if result == 0 else None

    def device_arch(self, ordinal: int) -> str:
        """Return a device's architecture without suffix, such as ``"sm_90"``."""
        device, value = self._device(ordinal), ctypes.c_int()
        arch = "sm_"
        for attribute in _COMPUTE_CAPABILITY:
            self._call("cuDeviceGetAttribute", ctypes.byref(value), attribute, device)
            arch += str(value.value)
        return arch

    def device_name(self, ordinal: int) -> str:
        """Return a device's name, such as ``"NVIDIA H200"``."""
        text = ctypes.create_string_buffer(_NAME_BYTES)
        self._call("cuDeviceGetName", text, _NAME_BYTES, self._device(ordinal))
        return text.value.decode("utf-8", "replace")

    def _device(self, ordinal: int) -> ctypes.c_int:
        # Not remembered: a forked child must see the driver's refusal, not its parent's success.
        self._call("cuInit", 0)
        count, device = ctypes.c_int(), ctypes.c_int()
        self._call("cuDeviceGetCount", ctypes.byref(count))
        if not 0 <= ordinal < count.value:
            raise ValueError(f"no CUDA device {ordinal}: the driver shows {count.value} device(s)")
        self._call("cuDeviceGet", ctypes.byref(device), ordinal)
        return device

    def _call(self, function: str, *arguments: object) -> None:
        result = getattr(self.library, function)(*arguments)
        if result == 0:
            return
        name = ctypes.c_char_p()
        self.library.cuGetErrorName(result, ctypes.byref(name))
        remedy = ""
        if function == "cuInit" and result == _NOT_INITIALIZED:
            remedy = (
                ". This process was forked from one that had already used CUDA: start it with "
                "the multiprocessing method 'spawn' (or 'forkserver')"
            )
        raise ToolchainError(
            f"{function} of the CUDA driver ({self.name}) failed: "
            f"{(name.value or b'error').decode()} ({result}){remedy}"
        )


def load() -> Driver:
    """Return the driver that the seam names now; raises ToolchainError where there is none."""
    name = config.get("TVMFFI_CUBIN_DRIVER") or ""
    found = _loaded.get(name)
    if found is None:
        try:
            found = _loaded[name] = Driver(name)
        except OSError as error:
            raise ToolchainError(
                f"the CUDA driver could not be opened: {error}; a GPU and NVIDIA's driver are "
                "needed for this"
            ) from None
    return found


def version() -> int | None:
    """Return the newest CUDA version that the driver supports, 12040 for 12.4; None without one."""
    try:
        return load().version()
    except ToolchainError:
        return None


def device_count() -> int:
    """Return how many devices this process can use, 0 without a driver."""
    try:
        return load().device_count()
    except ToolchainError:
        return 0
