"""An allocator of tensors as a library of arrays registers it with tvm-ffi, over the stand-in."""

import contextlib
import ctypes
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import tvm_ffi
from stub.cuda_array import DLTensor
from stub.driver_stub import DriverStub


class _Managed(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = (
    ("major", ctypes.c_uint32),
    ("minor", ctypes.c_uint32),
    ("manager_ctx", ctypes.c_void_p),
    ("deleter", _Deleter),
    ("flags", ctypes.c_uint64),
    ("tensor", DLTensor),
)
_SetError = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
_Allocate = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.POINTER(DLTensor),
    ctypes.POINTER(ctypes.POINTER(_Managed)),
    ctypes.c_void_p,
    _SetError,
)


@dataclass
class TensorAllocator:
    """What was asked of it: bytes of each allocation, where it is; how many were not given back."""

    sizes: list[int] = field(default_factory=list)
    pointers: list[int] = field(default_factory=list)
    alive: int = 0


@contextlib.contextmanager
def tensor_allocator(stub: DriverStub) -> Iterator[TensorAllocator]:
    """Let this thread's calls find an allocator, as calls with torch's tensors do."""
    known = TensorAllocator()
    kept = []

    def delete(managed: object) -> None:
        known.alive -= 1

    deleter = _Deleter(delete)

    def allocate(prototype, out, error_context, set_error):  # type: ignore[no-untyped-def]
        wanted = prototype.contents
        extents = wanted.shape[: wanted.ndim]
        size = math.prod(extents) * wanted.bits * wanted.lanes // 8
        data = ctypes.c_uint64()
        with stub.current_device(wanted.device_id):  # as libraries of arrays do
            stub.call("cuMemAlloc_v2", ctypes.byref(data), ctypes.c_size_t(size))
        made = _Managed(1, 3, None, deleter, 0, wanted)
        made.tensor.data = data.value
        made.tensor.shape = (ctypes.c_int64 * wanted.ndim)(*extents)
        kept.append(made)
        known.sizes.append(size)
        known.pointers.append(data.value)
        known.alive += 1
        out[0] = ctypes.pointer(made)
        return 0

    library = ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi())
    set_allocator = library.TVMFFIEnvSetDLPackManagedTensorAllocator
    set_allocator.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
    function = _Allocate(allocate)
    before = ctypes.c_void_p()
    address = ctypes.cast(function, ctypes.c_void_p)
    assert set_allocator(address, 0, ctypes.addressof(before)) == 0
    try:
        yield known
    finally:
        assert set_allocator(before, 0, None) == 0
