"""Arrays in host memory that claim, through DLPack, to be a CUDA device's."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from .driver_stub import DriverStub

__all__ = ["CPU", "CUDA", "CUDA_HOST", "CUDA_MANAGED", "CudaArray", "cuda_array", "cuda_copy"]

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13

# DLPack's type codes; numpy has no such types, so their elements show as unsigned integers.
_FOREIGN = {
    "bfloat16": (4, 16),
    "float8_e3m4": (7, 8),
    "float8_e4m3": (8, 8),
    "float8_e4m3b11fnuz": (9, 8),
    "float8_e4m3fn": (10, 8),
    "float8_e4m3fnuz": (11, 8),
    "float8_e5m2": (12, 8),
    "float8_e5m2fnuz": (13, 8),
    "float8_e8m0fnu": (14, 8),
    "float6_e2m3fn": (15, 6),
    "float6_e3m2fn": (16, 6),
    "float4_e2m1fn": (17, 4),
}
_KIND = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class CudaArray:
    """A DLPack exporter, and a view of its elements (`numpy`) for what tests compute and check."""

    def __init__(
        self,
        stub: DriverStub,
        shape: tuple[int, ...],
        dtype: tuple[int, int, int],
        *,
        device: tuple[int, int],
        strides: tuple[int, ...] | None,
        byte_offset: int,
        address_offset: int,
    ) -> None:
        self.shape, self.strides, self.dtype, self.device = shape, strides, dtype, device
        self._lib, self._byte_offset = stub.lib, byte_offset
        steps = strides if strides is not None else _compact(shape)
        last = sum((n - 1) * step for n, step in zip(shape, steps, strict=True) if n > 0)
        element = max(1, (dtype[1] * dtype[2] + 7) // 8)
        empty = 0 in shape
        size = 0 if empty else (last + 1) * element
        total = address_offset + byte_offset + size
        self._buffer = stub.lib.stub_buffer_create(total, *device)
        start = stub.lib.stub_buffer_data(self._buffer)
        # The data pointer of an empty tensor is null, as torch has it.
        self._data = None if empty else start + address_offset
        self.data_ptr = 0 if empty else start + address_offset + byte_offset
        raw = (ctypes.c_uint8 * total).from_address(start)
        # Every view keeps `raw` alive, so the memory outlasts this object where one is kept.
        weakref.finalize(raw, stub.lib.stub_buffer_release, self._buffer).atexit = False
        flat = np.frombuffer(
            memoryview(raw), np.uint8, size, 0 if empty else address_offset + byte_offset
        )
        scalar = _numpy_type(dtype)
        self.numpy: np.ndarray[Any, Any] = np.ndarray(
            shape, scalar, flat if size else None, 0, [step * element for step in steps]
        )
        self._raw = raw

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **options: object) -> object:
        """Return a capsule of the unversioned kind, which tvm-ffi asks for without options."""
        del options
        export = self._lib.stub_dlpack
        export.restype = ctypes.c_void_p
        export.argtypes = [
            ctypes.c_void_p,
            ctypes.c_void_p,
            ctypes.c_uint64,
            *[ctypes.c_void_p] * 4,
        ]
        export.argtypes[4] = ctypes.c_int
        ndim = len(self.shape)
        longs = ctypes.c_int64 * ndim
        strides = longs(*self.strides) if self.strides is not None else None
        dtype = (ctypes.c_uint16 * 3)(*self.dtype)
        tensor = self._lib.stub_dlpack(
            self._buffer, self._data, self._byte_offset, dtype, ndim, longs(*self.shape), strides
        )
        return _new_capsule(tensor, b"dltensor", None)


def cuda_array(
    stub: DriverStub,
    shape: int | Sequence[int],
    dtype: str | tuple[int, int, int] = "float32",
    *,
    device: int = 0,
    device_type: int = CUDA,
    strides: Sequence[int] | None = None,
    byte_offset: int = 0,
    address_offset: int = 0,
) -> CudaArray:
    """Return a zeroed array that tvm-ffi takes for a tensor of a device.

    `dtype` is DLPack's or numpy's name, or DLPack's code, bits and lanes; `strides`, in elements,
    are passed on only if given; `byte_offset` is DLPack's field, and `address_offset` moves the
    data pointer itself off its 256-byte alignment.
    """
    lengths = (shape,) if isinstance(shape, int) else tuple(shape)
    return CudaArray(
        stub,
        lengths,
        _dlpack_type(dtype),
        device=(device_type, device),
        strides=None if strides is None else tuple(strides),
        byte_offset=byte_offset,
        address_offset=address_offset,
    )


def cuda_copy(
    stub: DriverStub, values: Any, *, device: int = 0, device_type: int = CUDA
) -> CudaArray:
    """Return a compact array with the shape, type and values of a numpy array."""
    source = np.asarray(values)
    made = cuda_array(stub, source.shape, str(source.dtype), device=device, device_type=device_type)
    made.numpy[...] = source
    return made


def _dlpack_type(dtype: str | tuple[int, int, int]) -> tuple[int, int, int]:
    if not isinstance(dtype, str):
        return dtype
    if dtype in _FOREIGN:
        return (*_FOREIGN[dtype], 1)
    known = np.dtype(dtype)
    return (_KIND[known.kind], known.itemsize * 8, 1)


def _numpy_type(dtype: tuple[int, int, int]) -> np.dtype[Any]:
    code, bits, lanes = dtype
    size = max(1, (bits * lanes + 7) // 8)
    kinds = {number: kind for kind, number in _KIND.items()}
    if lanes == 1 and code in kinds and bits >= 8:
        return np.dtype("bool" if code == _KIND["b"] else f"{kinds[code]}{size}")
    return np.dtype(f"u{size}" if size in (1, 2, 4, 8) else f"V{size}")


def _compact(shape: tuple[int, ...]) -> tuple[int, ...]:
    steps: list[int] = []
    step = 1
    for length in reversed(shape):
        steps.append(step)
        step *= max(1, length)
    return tuple(reversed(steps))
