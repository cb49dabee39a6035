"""Host arrays that claim to be a device's are tensors to tvm-ffi."""

from __future__ import annotations

import ctypes
import gc

import numpy as np
import pytest
import tvm_ffi
from stub.cuda_array import CPU, CUDA_HOST, CUDA_MANAGED, cuda_array, cuda_copy
from stub.driver_stub import DriverStub

DESCRIBE = tvm_ffi.convert(
    lambda t: (t.shape, t.strides, str(t.dtype), str(t.device), t.data_ptr())
)


def test_it_is_an_argument_of_an_ffi_function(driver_stub: DriverStub) -> None:
    array = cuda_array(driver_stub, (3, 4), "float16", device=1)
    shape, strides, dtype, device, pointer = DESCRIBE(array)
    assert (shape, strides) == ((3, 4), (4, 1))
    assert (dtype, device) == ("float16", "cuda:1")
    assert pointer == array.data_ptr
    assert pointer % 256 == 0


@pytest.mark.parametrize(
    "dtype", ["int8", "uint64", "bool", "float64", "bfloat16", "float8_e4m3fn", "float4_e2m1fn"]
)
def test_it_has_any_dtype(driver_stub: DriverStub, dtype: str) -> None:
    assert DESCRIBE(cuda_array(driver_stub, 8, dtype))[2] == dtype


def test_a_dtype_has_lanes(driver_stub: DriverStub) -> None:
    assert DESCRIBE(cuda_array(driver_stub, 8, (2, 32, 4)))[2] == "float32x4"


@pytest.mark.parametrize(
    ("device_type", "name"), [(CPU, "cpu:0"), (CUDA_HOST, "cuda_host:0"), (CUDA_MANAGED, None)]
)
def test_it_claims_any_device_type(
    driver_stub: DriverStub, device_type: int, name: str | None
) -> None:
    array = cuda_array(driver_stub, 8, device_type=device_type)
    assert array.__dlpack_device__() == (device_type, 0)
    assert name is None or DESCRIBE(array)[3] == name


def test_strides_and_offsets_place_the_elements(driver_stub: DriverStub) -> None:
    array = cuda_array(
        driver_stub, (2, 3), "int32", strides=(8, 2), byte_offset=64, address_offset=4
    )
    array.numpy[1, 2] = 77
    assert array.data_ptr % 256 == 68
    last = ctypes.c_int32.from_address(array.data_ptr + (8 + 2 * 2) * 4)
    assert last.value == 77
    assert DESCRIBE(array)[1] == (8, 2)


def test_an_empty_array_has_no_address(driver_stub: DriverStub) -> None:
    array = cuda_array(driver_stub, (0, 3))
    assert array.data_ptr == 0
    assert DESCRIBE(array)[0] == (0, 3)


def test_a_copy_has_the_values(driver_stub: DriverStub) -> None:
    values = np.arange(6, dtype=np.int16).reshape(2, 3)
    np.testing.assert_array_equal(cuda_copy(driver_stub, values).numpy, values)


def test_memory_outlasts_the_array_where_a_tensor_or_view_remains(driver_stub: DriverStub) -> None:
    array = cuda_copy(driver_stub, np.arange(4, dtype=np.int32))
    tensor, view, address = tvm_ffi.from_dlpack(array), array.numpy, array.data_ptr
    del array
    gc.collect()
    assert view.tolist() == [0, 1, 2, 3]
    del view
    gc.collect()
    assert ctypes.c_int32.from_address(address + 12).value == 3
    assert memory_type(driver_stub, address) == (0, 2)
    del tensor
    gc.collect()
    assert memory_type(driver_stub, address)[0] != 0


def test_a_capsule_that_nobody_took_frees_its_tensor(driver_stub: DriverStub) -> None:
    array = cuda_array(driver_stub, 4)
    address = array.data_ptr
    capsule = array.__dlpack__()
    del array
    gc.collect()
    assert memory_type(driver_stub, address) == (0, 2)
    del capsule
    gc.collect()
    assert memory_type(driver_stub, address)[0] != 0


def test_the_driver_knows_whose_memory_it_is(driver_stub: DriverStub) -> None:
    device = cuda_array(driver_stub, 4, device=1)
    pinned = cuda_array(driver_stub, 4, device_type=CUDA_HOST)
    host = cuda_array(driver_stub, 4, device_type=CPU)
    assert memory_type(driver_stub, device.data_ptr) == (0, 2)
    assert memory_type(driver_stub, pinned.data_ptr) == (0, 1)
    assert memory_type(driver_stub, host.data_ptr)[0] != 0


def memory_type(stub: DriverStub, address: int) -> tuple[int, int]:
    """Return the driver's answer about a pointer, and CU_MEMORYTYPE."""
    stub.call("cuInit", 0)
    value = ctypes.c_uint()
    result = stub.lib.cuPointerGetAttribute(ctypes.byref(value), 2, ctypes.c_uint64(address))
    return result, value.value
