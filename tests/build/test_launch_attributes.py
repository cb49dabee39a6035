"""What launches carry, and which limit they go over, in the device's own figures."""

import re
import struct

import pytest

import tvmffi_cubin as tc

CLUSTER, POLICY, PDL, EVENT, COOPERATIVE = 4, 5, 6, 7, 2
PRIORITY, DOMAIN, PREFERRED, COMPLETION, CARVEOUT = 8, 10, 11, 12, 14


def value(layout, *numbers):
    return struct.pack(layout, *numbers).ljust(64, b"\0")


def dims(x, y=1, z=1):
    return value("<3I", x, y, z)


def flag(on=1):
    return value("<i", on)


KERNELS = r"""
extern "C" __global__ void k(float* x, int n) {}
extern "C" __global__ void __cluster_dims__(2, 2, 1) fixed(int n) {}
"""


def _launch(**fields: object) -> tc.Launch:
    return tc.Launch(kernel="k", grid=fields.pop("grid", 16), block=32, **fields)


_PARAMS = "float* x, int n, int cx, int cy, int cz, int policy, bool early, bool together"

# Name of the function: what its launch says, the attributes that it has then.
SAID = {
    "plain": ({}, {}),
    "largest": ({"cluster": 16}, {CLUSTER: dims(16)}),
    "preferred": ({"cluster": 2, "preferred_cluster": 8}, {CLUSTER: dims(2), PREFERRED: dims(8)}),
    "early": ({"programmatic_dependent_launch": True}, {PDL: flag()}),
    "together": ({"cooperative": True}, {COOPERATIVE: flag()}),
    "urgent": ({"priority": -5}, {PRIORITY: flag(-5)}),
    "remote": ({"mem_sync_domain": "remote"}, {DOMAIN: flag()}),
    "carveout": ({"attributes": {14: (50).to_bytes(4, "little")}}, {CARVEOUT: flag(50)}),
}
FUNCTIONS = {name: _launch(**fields) for name, (fields, _) in SAID.items()} | {
    "k_free": tc.Launch(kernel="k"),
    "events": _launch(
        params="float* x, int n, int64_t one, int64_t two",
        programmatic_event="one",
        launch_completion_event="two",
    ),
    "computed": _launch(
        grid=("cx * 4", "cy", "cz"),
        params=_PARAMS + ", int urgency, int domain",
        cluster=("cx", "cy", "cz"),
        cluster_scheduling_policy="policy",
        programmatic_dependent_launch="early",
        cooperative="together and n > 0",
        priority="-urgency",
        mem_sync_domain="domain",
    ),
    "fixed": tc.Launch(grid="n", block=32),
    "resident": _launch(grid="max_cooperative_blocks", cooperative=True),
    "resident_clusters": _launch(grid="max_cooperative_blocks", cluster=4, cooperative=True),
}


@pytest.fixture(scope="module")
def mod(_own_environment: None) -> tc.Module:
    return tc.load_inline("attributes", KERNELS, functions=FUNCTIONS, arch="sm_90")


@pytest.mark.parametrize("function", SAID)
def test_a_launch_carries_exactly_what_it_says(mod, driver_stub, x, function):
    mod[function](x, 1)
    (launch,) = driver_stub.launches()
    assert launch.attributes == SAID[function][1]


def test_expressions_and_conditions_give_attributes(mod, driver_stub, x):
    mod.computed(x, 5, 2, 3, 1, 1, True, True, 4, 1)
    mod.computed(x, 0, 1, 1, 2, 2, False, True, 0, 0)
    one, two = driver_stub.launches()
    assert one.attributes == {
        CLUSTER: dims(2, 3),
        POLICY: flag(1),
        PDL: flag(),
        COOPERATIVE: flag(),
        PRIORITY: flag(-4),
        DOMAIN: flag(1),
    }
    assert one.grid == (8, 3, 1)
    last = {PRIORITY: flag(0), DOMAIN: flag(0)}
    assert two.attributes == {CLUSTER: dims(1, 1, 2), POLICY: flag(2), **last}


def test_events_are_passed_by_their_handles(mod, driver_stub, x):
    mod.events(x, 1, 0x1234567890, 0)
    mod.events(x, 1, 0, 0x7700)
    one, two = driver_stub.launches()
    assert one.attributes == {EVENT: value("<Qii", 0x1234567890, 0, 0)}
    assert two.attributes == {COMPLETION: value("<Qi", 0x7700, 0)}
    mod.plain.configure(launch_completion_event=0x7700)(x, 1)
    assert driver_stub.launches()[2].attributes == two.attributes
    with pytest.raises(ValueError, match="events: one is 7, expected 4096 to 9223372"):
        mod.events(x, 1, 7, 0)


def test_a_grid_that_the_cluster_does_not_divide_is_an_error(mod, driver_stub, x):
    with pytest.raises(ValueError, match=r"grid\.y is 1, expected a multiple of cluster\.y, 2"):
        mod.plain.configure(cluster=(2, 2))(x, 1)
    with pytest.raises(ValueError, match=r"grid\.x is 3, expected a multiple of cluster\.x, 2"):
        mod.fixed(3)


def test_a_cluster_that_the_kernel_fixes_needs_no_attribute(mod, driver_stub):
    fixed = mod.fixed
    fixed[(4, 2), 32](4)
    fixed[(4, 2), 32].configure(cluster=(2, 2))(4)
    assert [launch.attributes for launch in driver_stub.launches()] == [{}, {CLUSTER: dims(2, 2)}]


def test_a_bad_option_is_an_error_that_names_it(mod):
    for options, message in (
        ({"clusters": 2}, "plain: clusters: unknown option; available: stream, grid, block"),
        ({"cluster": 0}, "plain: cluster: must be 1 to .*, got 0"),
        (
            {"priority": 2**31},
            "priority: must be -2147483648 to 2147483647 at a call, got 2147483648",
        ),
        ({"attributes": {0: b"x"}}, "attributes: expected 1 to 64 bytes for 1 to 54, got b'x' for"),
        ({"launch_completion_event": 0}, "completion_event: must be 4096 to .*, got 0"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            mod.plain.configure(**options)


# Which limit a launch goes over that the driver refuses, in the device's own figures


NUM_SMS = 16


def refused(call):
    """Return the message of a launch that goes over a limit."""
    with pytest.raises(tc.LaunchLimitError) as error:
        call()
    return str(error.value)


def test_a_cooperative_grid_beyond_what_is_resident_is_told_with_the_number(mod, driver_stub, x):
    driver_stub.set_attribute(0, NUM_SMS, 3)
    together = mod.together
    most = together.occupancy(device=0).max_cooperative_blocks
    told = f"together: launch of k: the cooperative grid has {most + 1} blocks, .* can hold {most} "
    assert re.match(told, refused(lambda: together[most + 1, 32](x, 1)))
    together[most, 32](x, 1)
    assert driver_stub.launches()[-1].grid == (most, 1, 1)


@pytest.mark.parametrize(
    ("shape", "options", "message"),
    [
        ((1, 1025), {}, "block.x is 1025, but device 0 allows 1024"),
        ((1, (1024, 2)), {}, r"2048 threads, but the kernel \(\d+ registers/thread\) allows 1024"),
        ((2**31, 1), {}, "grid.x is 2147483648, but device 0 allows 2147483647"),
        ((1, 1, 300_000), {}, "dynamic_smem_bytes is 300000, but device 0 allows this kernel"),
        ((32, 32), {"cluster": 32}, "the cluster has 32 blocks, but device 0 allows 16 of this"),
    ],
)
def test_a_limit_is_told(mod, driver_stub, x, shape, options, message):
    function = mod.k_free[shape].configure(**options)
    assert re.search(f"^k_free: launch of k: .*{message}", refused(lambda: function(x, 1)))
    assert not driver_stub.launches()


def test_a_grid_takes_all_that_is_resident_at_once(mod, driver_stub, x):
    driver_stub.set_attribute(0, NUM_SMS, 5)
    mod.resident(x, 1)
    mod.resident_clusters(x, 1)
    mod.resident.configure(cluster=1)(x, 1)  # of which a multiprocessor holds fewer blocks
    one, two, _ = driver_stub.launches()
    together = mod.together
    assert one.grid == (together.occupancy(0).max_cooperative_blocks, 1, 1)
    assert two.grid[0] == together.configure(cluster=4).occupancy(0).max_cooperative_blocks


def test_the_occupancy_of_a_kernel_is_told(mod, driver_stub):
    driver_stub.set_attribute(1, NUM_SMS, 10)
    found = mod.plain.occupancy(device=1)
    assert (found.device, found.threads, found.threads_per_sm) == (1, 32, 2048)
    assert found.max_cooperative_blocks == 10 * found.blocks_per_sm
    assert found.fraction == found.blocks_per_sm * 32 / 2048
    assert (found.max_cluster_blocks, found.max_active_clusters) == (16, 0)
    assert found.max_dynamic_smem_bytes == 232448
    in_clusters = mod.plain[1, (64, 2), 1024].configure(cluster=2).occupancy()
    assert in_clusters.threads == 128
    assert in_clusters.max_active_clusters > 0
    with pytest.raises(TypeError, match=r"k_free\.occupancy: block is unknown before a call"):
        mod.k_free.occupancy()
    with pytest.raises(tc.LaunchError, match=r"occupancy: .*device 99.*cuDeviceGet"):
        mod.plain.occupancy(99)
