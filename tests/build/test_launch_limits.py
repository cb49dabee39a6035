"""Which limit a launch goes over that the driver refuses, in the device's own figures."""

import re

import pytest
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc

NUM_SMS = 16


@pytest.fixture
def x(driver_stub):
    return cuda_array(driver_stub, 4)


def refused(call):
    """Return the message of a launch that goes over a limit."""
    with pytest.raises(tc.LaunchLimitError) as error:
        call()
    return str(error.value)


def test_a_cooperative_grid_beyond_what_is_resident_is_told_with_the_number(
    attribute_module, driver_stub, x
):
    driver_stub.set_attribute(0, NUM_SMS, 3)
    together = attribute_module.together
    most = together.occupancy(device=0).max_cooperative_blocks
    assert most > 3
    assert most % 3 == 0
    assert refused(lambda: together[most + 1, 32](x, 1)) == (
        f"together: launch of k: the cooperative grid has {most + 1} blocks, device 0 can hold "
        f"{most} of this shape at once"
    )
    together[most, 32](x, 1)
    assert driver_stub.launches()[-1].grid == (most, 1, 1)


def test_a_device_without_clusters_is_told(driver_stub):
    mod = tc.load_inline(
        "old",
        'extern "C" __global__ void k(float* x) {}',
        arch="sm_80",
        functions={"k": tc.Launch(grid=4, block=32, cluster=2)},
    )
    assert refused(lambda: mod.k(cuda_array(driver_stub, 4, device=2))) == (
        "k: launch of k: the cluster has 2 blocks, device 2 allows 1 of this shape"
    )


@pytest.mark.parametrize(
    ("shape", "options", "message"),
    [
        ((1, 1025), {}, "block.x is 1025, device 0 allows 1024"),
        (
            (1, (1024, 2)),
            {},
            r"has 2048 threads, the kernel \(\d+ registers a thread\) allows 1024",
        ),
        ((2**31, 1), {}, "grid.x is 2147483648, device 0 allows 2147483647"),
        ((1, 1, 300_000), {}, "dynamic_smem_bytes is 300000, device 0 allows this kernel"),
        ((32, 32), {"cluster": 32}, "the cluster has 32 blocks, device 0 allows 16 of this shape"),
    ],
)
def test_a_limit_is_told(attribute_module, driver_stub, x, shape, options, message):
    function = attribute_module.k_free[shape].configure(**options)
    assert re.search(f"^k_free: launch of k: .*{message}", refused(lambda: function(x, 1)))
    assert not driver_stub.launches()


# Grids that fit


def test_a_grid_takes_all_that_is_resident_at_once(attribute_module, driver_stub, x):
    driver_stub.set_attribute(0, NUM_SMS, 5)
    attribute_module.resident(x, 1)
    attribute_module.resident_clusters(x, 1)
    one, two = driver_stub.launches()
    together = attribute_module.together
    assert one.grid == (together.occupancy(0).max_cooperative_blocks, 1, 1)
    clusters = together.configure(cluster=4).occupancy(0)
    assert two.grid[0] == clusters.max_cooperative_blocks
    assert two.grid[0] % 4 == 0


# Asking


def test_the_occupancy_of_a_kernel_is_told(attribute_module, driver_stub):
    driver_stub.set_attribute(1, NUM_SMS, 10)
    found = attribute_module.plain.occupancy(device=1)
    assert (found.device, found.threads, found.threads_per_sm) == (1, 32, 2048)
    assert found.max_cooperative_blocks == 10 * found.blocks_per_sm
    assert found.fraction == found.blocks_per_sm * 32 / 2048
    assert (found.max_cluster_blocks, found.max_active_clusters) == (16, 0)
    assert found.max_dynamic_smem_bytes == 232448
    in_clusters = attribute_module.plain[1, (64, 2), 1024].configure(cluster=2).occupancy()
    assert in_clusters.threads == 128
    assert in_clusters.max_active_clusters > 0


def test_a_bad_question_is_an_error(attribute_module, driver_stub):
    with pytest.raises(ValueError, match=r"block is \(0, 1, 1\), wanted 1 or more"):
        attribute_module.plain[1, 0].occupancy()
    with pytest.raises(TypeError, match=r"k_free\.occupancy: block is not known before a call"):
        attribute_module.k_free.occupancy()
    with pytest.raises(tc.LaunchError, match=r"occupancy: .*device 99.*cuDeviceGet"):
        attribute_module.plain.occupancy(99)
