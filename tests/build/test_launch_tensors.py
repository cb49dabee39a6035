"""Tensors of a launch: what is checked of each, and the address that reaches the driver."""

import numpy as np
import pytest
from stub.cuda_array import CPU, CUDA_HOST, CUDA_MANAGED, cuda_array


def pointers(stub):
    """The addresses that the one launch passed."""
    (launch,) = stub.launches()
    return launch.values("P" * len(launch.params))


def test_another_dtype_is_refused(ops, driver_stub, x):
    with pytest.raises(TypeError) as error:
        ops.two(x, cuda_array(driver_stub, 4, "int32"))
    assert str(error.value) == (
        "two: argument 2 (y: const float*): got a tensor of dtype int32 and rank 1 on cuda:0, "
        "expected float32"
    )


def test_a_vector_pointee_takes_its_scalar_s_dtype_and_needs_its_alignment(ops, driver_stub, x):
    ops.vector(x, x)
    assert pointers(driver_stub) == (x.data_ptr, x.data_ptr)
    with pytest.raises(TypeError, match=r"float4\*\): .* dtype float64 .*, expected float32"):
        ops.vector(cuda_array(driver_stub, 4, "float64"), x)
    for options in ({"byte_offset": 4}, {"address_offset": 8}):
        with pytest.raises(ValueError, match="address that is a multiple of 16"):
            ops.vector(cuda_array(driver_stub, 4, **options), x)


def test_a_declared_rank_is_checked(ops, driver_stub):
    ops.ranked(cuda_array(driver_stub, (2, 3)))
    for shape in ((), (6,), (1, 2, 3)):
        with pytest.raises(ValueError, match=f"rank {len(shape)} on .*, expected rank 2"):
            ops.ranked(cuda_array(driver_stub, shape))


@pytest.mark.parametrize(
    ("shape", "strides"),
    [((2, 3), None), ((), ()), ((2, 1, 3), (3, -5, 1)), ((2, 0, 3), (1, 2, 5))],
)
def test_dimensions_of_size_one_and_empty_tensors_may_have_any_strides(
    shape, strides, ops, driver_stub
):
    x = cuda_array(driver_stub, shape, strides=strides)
    ops.two(x, x)
    assert pointers(driver_stub) == (x.data_ptr, x.data_ptr)


@pytest.mark.parametrize(("shape", "strides"), [((2, 3), (1, 2)), ((2, 3), (4, 1)), ((3,), (0,))])
def test_a_tensor_that_is_not_contiguous_is_refused(shape, strides, ops, driver_stub):
    x = cuda_array(driver_stub, shape, strides=strides)
    with pytest.raises(ValueError, match=r"\(x: const float\*\): .* a contiguous one"):
        ops.two(x, x)


def test_strided_parameters_take_any_strides(ops, driver_stub):
    x = cuda_array(driver_stub, (4, 6), strides=(1, 9))
    ops.strided(x)
    ops.strides(x)
    last = driver_stub.launches()[-1]
    assert last.values("Pqq") == (x.data_ptr, 1, 9)
    assert last.grid == (6, 1, 1)


def test_a_pointer_is_data_plus_byte_offset(ops, driver_stub):
    x = cuda_array(driver_stub, 4, byte_offset=32, address_offset=16)
    ops.vector(x, x)
    assert pointers(driver_stub) == (x.data_ptr, x.data_ptr)


def test_a_cpu_tensor_is_refused_by_name(ops, driver_stub, x):
    for cpu in (np.zeros(4, np.float32), cuda_array(driver_stub, 4, device_type=CPU)):
        with pytest.raises(ValueError, match=r"\(y: .* on cpu, expected one on a CUDA"):
            ops.two(x, cpu)


@pytest.mark.parametrize("device_type", [CUDA_HOST, CUDA_MANAGED])
def test_pinned_and_managed_memory_is_accepted(device_type, ops, driver_stub):
    host = cuda_array(driver_stub, 4, device_type=device_type)
    x = cuda_array(driver_stub, 4, device=1)
    for pair in ((host, x), (x, host)):
        driver_stub.reset()
        ops.two(*pair)
        assert pointers(driver_stub) == tuple(item.data_ptr for item in pair)
        assert driver_stub.launches()[0].device == 1


def test_tensors_on_two_devices_are_refused_with_both_names(ops, driver_stub):
    x, y = cuda_array(driver_stub, 4), cuda_array(driver_stub, 4, device=1)
    with pytest.raises(ValueError, match=r"\(y: .* on cuda:1, expected one on cuda:0"):
        ops.two(x, y)
    assert not driver_stub.launches()


def test_args_are_constants_and_other_parameters(ops, driver_stub, x):
    ops.alias(x)
    ops.constants(x)
    ops.narrow(x, x, 5)
    alias, constants, narrow = driver_stub.launches()
    assert alias.values("PP") == (x.data_ptr, x.data_ptr)
    assert constants.values("fPPi") == (0.5, 0, x.data_ptr, -3)
    assert narrow.values("fPPi") == (5.0, x.data_ptr, x.data_ptr, 5)
