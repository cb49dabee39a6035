"""Arrays in host memory that claim, through DLPack, to be a CUDA device's."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from .driver_stub import DriverStub

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13

# DLPack's codes of types that numpy has not; their elements show as unsigned integers.
_FOREIGN = {"bfloat16": (4, 16, 1), "float8_e4m3fn": (10, 8, 1)}
_KIND = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}

# The driver's types of memory, for DLPack's types of devices; it does not know the CPU's.
_MEMORY_TYPE = {CUDA: 2, CUDA_MANAGED: 2, CUDA_HOST: 1}

_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]


class DLTensor(ctypes.Structure):
    """DLPack's description of a tensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Owner(np.ndarray):
    """What numpy keeps for as long as there is a tensor that it has exported."""

    kept: object


class CudaArray:
    """A zeroed array that tvm-ffi takes for a tensor of a device.

    `numpy` is a view of its elements for what tests compute and check. `dtype` is DLPack's or
    numpy's name, or DLPack's code, bits and lanes; `strides`, in elements, are passed on only if
    given; `byte_offset` is DLPack's field, and `address_offset` moves the data pointer itself off
    its 256-byte alignment.
    """

    def __init__(
        self,
        stub: DriverStub,
        shape: int | Sequence[int],
        dtype: str | tuple[int, int, int] = "float32",
        *,
        device: int = 0,
        device_type: int = CUDA,
        strides: Sequence[int] | None = None,
        byte_offset: int = 0,
        address_offset: int = 0,
    ) -> None:
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.strides, self.dtype, self.device = strides, _dlpack_type(dtype), (device_type, device)
        self._byte_offset = byte_offset
        steps = strides if strides is not None else _compact(self.shape)
        last = sum((n - 1) * step for n, step in zip(self.shape, steps, strict=True) if n > 0)
        element = max(1, (self.dtype[1] * self.dtype[2] + 7) // 8)
        empty = 0 in self.shape
        size = 0 if empty else (last + 1) * element
        total = address_offset + byte_offset + size
        raw = (ctypes.c_uint8 * (total + 256))()
        aligned = -ctypes.addressof(raw) % 256
        start = ctypes.addressof(raw) + aligned
        # The data pointer of an empty tensor is null, as torch has it.
        self._data = None if empty else start + address_offset
        self.data_ptr = 0 if empty else start + address_offset + byte_offset
        if device_type in _MEMORY_TYPE:
            stub.lib.stub_register_memory(start, max(total, 1), _MEMORY_TYPE[device_type])
            # Every view keeps `raw` alive, so the memory outlasts this object where one is kept.
            weakref.finalize(raw, stub.lib.stub_unregister_memory, start).atexit = False
        flat = np.frombuffer(memoryview(raw), np.uint8, size, aligned + total - size)
        self.numpy: np.ndarray[Any, Any] = np.ndarray(
            self.shape,
            _numpy_type(self.dtype),
            flat if size else None,
            0,
            [step * element for step in steps],
        )
        self._raw = raw

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **options: object) -> object:
        """Return a capsule of the unversioned kind, which tvm-ffi asks for without options."""
        del options
        ndim = len(self.shape)
        owner = _Owner(self.shape, np.uint8, self._raw, 0, [0] * ndim)
        strides = None if self.strides is None else (ctypes.c_int64 * ndim)(*self.strides)
        owner.kept = strides
        capsule = owner.__dlpack__()
        tensor = DLTensor.from_address(_pointer_of(capsule, b"dltensor"))
        tensor.data, tensor.byte_offset, tensor.strides = self._data, self._byte_offset, strides
        tensor.device_type, tensor.device_id = self.device
        tensor.code, tensor.bits, tensor.lanes = self.dtype
        return capsule


cuda_array = CudaArray


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
        return _FOREIGN[dtype]
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
