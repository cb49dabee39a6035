"""What launches carry: the driver stand-in records the exact configuration."""

import struct

import pytest
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc

CLUSTER, POLICY, PDL, EVENT, COOPERATIVE = 4, 5, 6, 7, 2
PRIORITY, DOMAIN, PREFERRED, COMPLETION, CARVEOUT = 8, 10, 11, 12, 14
NON_PORTABLE = 14  # CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED


def value(layout, *numbers):
    return struct.pack(layout, *numbers).ljust(64, b"\0")


def dims(x, y=1, z=1):
    return value("<3I", x, y, z)


def flag(on=1):
    return value("<i", on)


@pytest.fixture
def x(driver_stub):
    return cuda_array(driver_stub, 4)


def only(stub):
    (launch,) = stub.launches()
    return launch


@pytest.mark.parametrize(
    ("function", "attributes"),
    [
        ("plain", {}),
        ("cluster", {CLUSTER: dims(4)}),
        ("largest", {CLUSTER: dims(16)}),
        ("cluster_3d", {CLUSTER: dims(2, 4, 2)}),
        ("preferred", {CLUSTER: dims(2), PREFERRED: dims(8)}),
        ("early", {PDL: flag()}),
        ("together", {COOPERATIVE: flag()}),
        ("urgent", {PRIORITY: flag(-5)}),
        ("remote", {DOMAIN: flag()}),
        ("carveout", {CARVEOUT: flag(50)}),
    ],
)
def test_a_launch_carries_exactly_what_it_says(
    attribute_module, driver_stub, x, function, attributes
):
    attribute_module[function](x, 1)
    launch = only(driver_stub)
    assert launch.attributes == attributes
    assert launch.block == (32, 1, 1)
    assert launch.grid == ((8, 4, 2) if function == "cluster_3d" else (16, 1, 1))


def test_expressions_and_conditions_give_attributes(attribute_module, driver_stub, x):
    attribute_module.computed(x, 5, 2, 3, 1, 1, True, True, 4, 1)
    attribute_module.computed(x, 0, 1, 1, 2, 2, False, True, 0, 0)
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
    assert two.attributes == {
        CLUSTER: dims(1, 1, 2),
        POLICY: flag(2),
        PRIORITY: flag(0),
        DOMAIN: flag(0),
    }


def test_events_are_passed_by_their_handles(attribute_module, driver_stub, x):
    attribute_module.events(x, 1, 0x1234567890, 0)
    attribute_module.events(x, 1, 0, 0x7700)
    one, two = driver_stub.launches()
    assert one.attributes == {EVENT: value("<Qii", 0x1234567890, 0, 0)}
    assert two.attributes == {COMPLETION: value("<Qi", 0x7700, 0)}
    with pytest.raises(ValueError, match="events: launch attribute 7 is 7, wanted 4096 to 9223372"):
        attribute_module.events(x, 1, 7, 0)
    with pytest.raises(ValueError, match="launch attribute 12 is -1, wanted 4096"):
        attribute_module.events(x, 1, 0, -1)


# Clusters and grids


def test_a_grid_that_the_cluster_does_not_divide_is_an_error(attribute_module, driver_stub, x):
    with pytest.raises(
        ValueError,
        match=r"plain: launch of k: grid\.x is 16, wanted a multiple of cluster\.x, 3",
    ):
        attribute_module.plain.configure(cluster=3)(x, 1)
    with pytest.raises(ValueError, match=r"grid\.y is 1, wanted a multiple of cluster\.y, 2"):
        attribute_module.plain.configure(cluster=(2, 2))(x, 1)
    with pytest.raises(ValueError, match=r"grid\.x is 3, wanted a multiple of cluster\.x, 2"):
        attribute_module.fixed(3)


def test_a_cluster_that_the_kernel_fixes_needs_no_attribute(attribute_module, driver_stub):
    fixed = attribute_module.fixed
    fixed[(4, 2), 32](4)
    fixed[(4, 2), 32].configure(cluster=(2, 2))(4)
    assert [launch.attributes for launch in driver_stub.launches()] == [{}, {CLUSTER: dims(2, 2)}]


def test_clusters_beyond_the_portable_size_are_opted_into_once_a_device(driver_stub):
    mod = tc.load_inline(
        "large",
        'extern "C" __global__ void large(float* x) {}',
        functions={"large": tc.Launch(grid=16, block=32, cluster=16)},
        arch="sm_90",
    )
    for device in (0, 1, 0, 1):
        mod.large(cuda_array(driver_stub, 4, device=device))

    def opted():
        sets = [call.args for call in driver_stub.calls("cuKernelSetAttribute")]
        return [x["device"] for x in sets if x["attribute"] == NON_PORTABLE]

    assert opted() == [0, 1]
    mod.unload()
    mod.large(cuda_array(driver_stub, 4))
    assert opted() == [0, 1, 0]
    assert len(driver_stub.launches()) == 5


# At the call


def test_an_event_at_the_call_is_a_handle(attribute_module, driver_stub, x):
    attribute_module.plain.configure(launch_completion_event=0x7700)(x, 1)
    assert only(driver_stub).attributes == {COMPLETION: value("<Qi", 0x7700, 0)}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"clusters": 2}, TypeError, "plain: no option 'clusters'; there are stream, grid, block"),
        ({"cluster": 0}, ValueError, "plain: cluster is 0, wanted 1 or more"),
        ({"cluster": "n"}, ValueError, "plain: cluster is 'n', at a call a number"),
        ({"priority": 2**31}, ValueError, "priority is 2147483648, at a call"),
        ({"attributes": {0: b"x"}}, ValueError, r"attributes\[0\] is b'x', wanted 1 to 64 bytes"),
        ({"attributes": {55: b"x"}}, ValueError, "wanted 1 to 64 bytes for 1 to 54"),
        ({"attributes": [14]}, TypeError, "maps numbers of CUlaunchAttributeID"),
        ({"programmatic_event": object()}, TypeError, "object"),
        ({"launch_completion_event": 0}, ValueError, "completion_event is 0, wanted 4096 or more"),
    ],
)
def test_a_bad_option_is_an_error_that_names_it(attribute_module, options, error, message):
    with pytest.raises(error, match=message):
        attribute_module.plain.configure(**options)
