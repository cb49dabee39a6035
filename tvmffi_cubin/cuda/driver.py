"""The CUDA driver from Python, through the seam `TVMFFI_CUBIN_DRIVER`; it never makes a context."""

from __future__ import annotations

import ctypes

from .. import config
from ..errors import ToolchainError

_SUCCESS = 0
_COMPUTE_CAPABILITY = (75, 76)  # the attributes of its major and of its minor number
_NAME_BYTES = 256
_NOT_INITIALIZED = 3

# By library name: the driver, or why it could not be opened.
_opened: dict[str, Driver | str] = {}


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
        if self._try("cuInit", 0) != _SUCCESS:
            return 0
        self._call("cuDeviceGetCount", ctypes.byref(value))
        return value.value

    def current_device(self) -> int:
        """Return the ordinal of the calling thread's current context, 0 where it has none."""
        value = ctypes.c_int()
        self._initialise()
        return value.value if self._try("cuCtxGetDevice", ctypes.byref(value)) == _SUCCESS else 0

    def stream_device(self, handle: int) -> int | None:
        """Return the ordinal of the device of a stream that was created; None: it does not say."""
        context, device = ctypes.c_void_p(), ctypes.c_int()
        self._initialise()
        stream = ctypes.c_void_p(handle)
        if self._try("cuStreamGetCtx", stream, ctypes.byref(context)) != _SUCCESS:
            return None
        if self._try("cuCtxPushCurrent_v2", context) != _SUCCESS:
            return None
        result = self._try("cuCtxGetDevice", ctypes.byref(device))
        self._try("cuCtxPopCurrent_v2", ctypes.byref(context))
        return device.value if result == _SUCCESS else None

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

    def _initialise(self) -> None:
        # Not remembered: a forked child must see the driver's refusal, not its parent's success.
        self._call("cuInit", 0)

    def _device(self, ordinal: int) -> ctypes.c_int:
        self._initialise()
        count, device = ctypes.c_int(), ctypes.c_int()
        self._call("cuDeviceGetCount", ctypes.byref(count))
        if not 0 <= ordinal < count.value:
            raise ValueError(f"no CUDA device {ordinal}: the driver shows {count.value} device(s)")
        self._call("cuDeviceGet", ctypes.byref(device), ordinal)
        return device

    def _try(self, function: str, *arguments: object) -> int:
        try:
            return int(getattr(self.library, function)(*arguments))
        except AttributeError:
            raise ToolchainError(
                f"{self.name} has no function {function}: it is no CUDA driver; "
                "unset TVMFFI_CUBIN_DRIVER, or let it name a library with the driver's functions"
            ) from None

    def _call(self, function: str, *arguments: object) -> None:
        result = self._try(function, *arguments)
        if result != _SUCCESS:
            remedy = (
                ". This process was forked from one that had already used CUDA: start it with "
                "the multiprocessing method 'spawn' (or 'forkserver')"
            )
            forked = function == "cuInit" and result == _NOT_INITIALIZED
            raise ToolchainError(
                f"{function} of the CUDA driver ({self.name}) failed: {self._error_name(result)}"
                f"{remedy if forked else ''}"
            )

    def _error_name(self, result: int) -> str:
        text = ctypes.c_char_p()
        if self._try("cuGetErrorName", result, ctypes.byref(text)) == _SUCCESS and text.value:
            return f"{text.value.decode()} ({result})"
        return f"error {result}"


def _open() -> Driver | str:
    name = config.get("TVMFFI_CUBIN_DRIVER") or ""
    known = _opened.get(name)
    if known is None:
        try:
            known = Driver(name)
        except OSError as error:
            known = f"the CUDA driver could not be opened: {error}"
        _opened[name] = known
    return known


def open() -> Driver | None:  # noqa: A001
    """Return the driver that the seam names now; None where there is none, see `missing_reason`."""
    found = _open()
    return found if isinstance(found, Driver) else None


def missing_reason() -> str:
    """Return why `open` returned None, empty where it returned a driver."""
    found = _open()
    return found if isinstance(found, str) else ""


def version() -> int | None:
    """Return the newest CUDA version that the driver supports, 12040 for 12.4; None without one."""
    driver = open()
    return None if driver is None else driver.version()


def device_count() -> int:
    """Return how many devices this process can use, 0 without a driver."""
    driver = open()
    return 0 if driver is None else driver.device_count()


def require() -> Driver:
    """Return the driver; raises ToolchainError where there is none."""
    found = _open()
    if isinstance(found, str):
        raise ToolchainError(f"{found}; a GPU and NVIDIA's driver are needed for this")
    return found
