"""`Scratch`: memory for one launch alone, from the tensors' allocator or from the driver."""

import struct

import pytest
from stub.cuda_array import cuda_array
from tensor_allocator import tensor_allocator

import tvmffi_cubin as tc
from tvmffi_cubin import Launch, Scratch

SOURCE = """
extern "C" __global__ void one(float* x, char* s, int n) {}
extern "C" __global__ void two(float* x, char* s, int* t, int n) {}
"""
ARGS = {"s": Scratch(bytes_per_block=96, align=128)}


@pytest.fixture(scope="module")
def module():
    shape = {"grid": ("n", 2), "block": 32}
    functions = {
        "per_block": Launch(kernel="one", args=ARGS, **shape),
        "none": Launch(kernel="one", args={"s": Scratch()}, **shape),
        "early": Launch(kernel="one", args=ARGS, programmatic_dependent_launch=True, **shape),
        "both": [
            Launch(kernel="one", args=ARGS, **shape),
            Launch(kernel="two", args={"s": Scratch(64), "t": Scratch(256)}, **shape),
        ],
    }
    return tc.load_inline("scratch", SOURCE, functions=functions, arch="sm_90")


def order(stub):
    """Return the calls that make, use and give back memory."""
    return [c.function for c in stub.log() if "Async" in c.function or "Launch" in c.function]


def pointer_of(launch, index=1):
    return struct.unpack("<Q", launch.params[index])[0]


def test_the_driver_gives_memory_where_the_tensors_have_no_allocator(module, driver_stub, x):
    before = driver_stub.object_counts()
    module.per_block(x, 3)
    (allocation,) = driver_stub.calls("cuMemAllocAsync")
    (launch,) = driver_stub.launches()
    (freed,) = driver_stub.calls("cuMemFreeAsync")
    assert allocation.args["size"] == 96 * 3 * 2
    assert pointer_of(launch) == freed.args["pointer"] != 0
    assert pointer_of(launch) % 128 == 0
    assert order(driver_stub) == ["cuMemAllocAsync", "cuLaunchKernelEx", "cuMemFreeAsync"]
    after = driver_stub.object_counts()
    assert after.allocations == before.allocations
    assert after.pushed_contexts == before.pushed_contexts


def test_nothing_is_allocated_for_no_bytes_or_no_blocks(module, driver_stub, x):
    module.none(x, 3)
    module.per_block(x, 0)
    assert driver_stub.calls("cuMemAllocAsync") == []
    (launch,) = driver_stub.launches()
    assert pointer_of(launch) == 0


def test_several_launches_have_memory_of_their_own_until_the_last(module, driver_stub, x):
    module.both(x, 2)
    one, two = driver_stub.launches()
    pointers = {pointer_of(one), pointer_of(two), pointer_of(two, 2)}
    assert len(pointers) == 3
    expected = ["cuMemAllocAsync"] * 3 + ["cuLaunchKernelEx"] * 2 + ["cuMemFreeAsync"] * 3
    assert order(driver_stub) == expected


def test_memory_comes_from_the_tensors_own_allocator(module, driver_stub, x):
    with tensor_allocator(driver_stub) as allocator:
        module.per_block(x, 3)
        module.both(x, 1)
    assert allocator.sizes == [96 * 6, 96 * 2, 64, 256]
    assert allocator.alive == 0
    first, *_ = driver_stub.launches()
    assert pointer_of(first) == allocator.pointers[0]
    assert driver_stub.calls("cuMemAllocAsync") == []


def test_a_side_stream_has_memory_in_its_own_order(module, driver_stub, x):
    module.none(x, 1)  # retains the device's context, which a stream needs
    with driver_stub.stream() as stream, tensor_allocator(driver_stub) as allocator:
        module.per_block.on(stream)(x, 3)
        assert allocator.sizes == []
        with tc.use_stream(stream, device=0):
            module.per_block.on(stream)(x, 3)
        assert allocator.sizes == [96 * 6]
    (allocation,) = driver_stub.calls("cuMemAllocAsync")
    (freed,) = driver_stub.calls("cuMemFreeAsync")
    assert allocation.args["stream"] == freed.args["stream"] == stream


def test_a_launch_that_may_overlap_has_memory_in_the_drivers_order(module, driver_stub, x):
    with tensor_allocator(driver_stub) as allocator:
        module.early(x, 3)
        module.per_block.configure(programmatic_dependent_launch=True)(x, 3)
        assert allocator.sizes == []
    assert len(driver_stub.calls("cuMemAllocAsync")) == 2


def test_a_refusal_by_the_driver_names_the_parameter_and_gives_all_back(module, driver_stub, x):
    before = driver_stub.object_counts().allocations
    driver_stub.fail("cuMemAllocAsync", 2, nth=2)
    with pytest.raises(
        tc.LaunchError, match=r"both: launch 2 of 2: 64 bytes of scratch memory for s: .*MEMORY"
    ):
        module.both(x, 3)
    assert driver_stub.launches() == []
    assert driver_stub.object_counts().allocations == before
    driver_stub.fail("cuLaunchKernelEx", 719)
    with pytest.raises(tc.LaunchError):
        module.both(x, 3)
    assert driver_stub.object_counts().allocations == before


@pytest.mark.parametrize(("n", "what"), [(1, "bytes_per_block -1"), (2**62, "overflows 64 bits")])
def test_sizes_that_cannot_be_are_refused(module, driver_stub, n, what):
    args = {"s": Scratch("m * 4", bytes_per_block="m - 2")}
    params = "float* x, char* s, int n, int64_t m"
    launch = Launch(kernel="one", grid=1, block=1, args=args, params=params)
    made = tc.load_inline("scratch_sizes", SOURCE, functions={"k": launch}, arch="sm_90")
    with pytest.raises(ValueError, match=what):
        made.k(cuda_array(driver_stub, 4), 1, n)
    assert driver_stub.launches() == []
