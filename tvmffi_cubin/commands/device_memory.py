"""Arrays in a device's memory through the driver alone: for the demo, which has no torch."""

from __future__ import annotations

import array
import ctypes

from ..cuda.driver import Driver
from ..errors import LaunchError

__all__ = ["DeviceMemory"]


class DeviceMemory:
    """A device's memory inside a ``with`` statement, at whose end every array is freed.

    Parameters
    ----------
    driver : Driver
        The driver.
    ordinal : int
        The device. Its primary context is retained and current meanwhile.
    """

    def __init__(self, driver: Driver, ordinal: int = 0) -> None:
        self._driver = driver
        self._ordinal = ordinal
        self._device = ctypes.c_int()
        self._addresses: list[ctypes.c_uint64] = []

    def __enter__(self) -> DeviceMemory:
        context = ctypes.c_void_p()
        self._call("cuInit", 0)
        self._call("cuDeviceGet", ctypes.byref(self._device), self._ordinal)
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self._device)
        try:
            self._call("cuCtxPushCurrent_v2", context)
        except LaunchError:
            self._driver.library.cuDevicePrimaryCtxRelease_v2(self._device)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        # Unchecked: after a kernel has failed each of these fails too, and would hide that error.
        for address in self._addresses:
            self._driver.library.cuMemFree_v2(address)
        self._addresses.clear()
        self._driver.library.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
        self._driver.library.cuDevicePrimaryCtxRelease_v2(self._device)

    def upload(self, values: array.array[float]) -> ctypes.c_void_p:
        """Copy an array to the device; its address there is what a launcher takes.

        Raises
        ------
        LaunchError
            The driver refused.
        """
        data, size = values.buffer_info()[0], len(values) * values.itemsize
        address = ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        self._addresses.append(address)
        self._call("cuMemcpyHtoD_v2", address, ctypes.c_void_p(data), ctypes.c_size_t(size))
        return ctypes.c_void_p(address.value)

    def download(self, address: ctypes.c_void_p, into: array.array[float]) -> None:
        """Fill an array from an address on the device, after what runs on the default stream.

        Raises
        ------
        LaunchError
            The driver refused, or a kernel before this call has failed.
        """
        data, size = into.buffer_info()[0], len(into) * into.itemsize
        source = ctypes.c_uint64(address.value or 0)
        self._call("cuMemcpyDtoH_v2", ctypes.c_void_p(data), source, ctypes.c_size_t(size))

    def _call(self, function: str, *arguments: object) -> None:
        result = getattr(self._driver.library, function)(*arguments)
        if result != 0:
            raise LaunchError(f"{function} answers error {result}")
