"""Launches in C++: the driver is given what was set; refusals, occupancy."""

import contextlib
import struct

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from launch_setters import expected_attributes, rows
from stub.cuda_array import cuda_array
from stub.driver_stub import DriverStub

from tvmffi_cubin import LaunchError, LaunchLimitError


@pytest.fixture
def arrays(driver_stub):
    return cuda_array(driver_stub, 64), cuda_array(driver_stub, 64)


def attributes(driver_stub: DriverStub) -> list[tuple[int, bytes]]:
    """The last launch's, in order, whatever came of it."""
    pairs = driver_stub.calls("cuLaunchKernelEx")[-1].args["attributes"]
    return [(number, bytes.fromhex(value)) for number, value in pairs]


_DIM3 = st.tuples(*[st.integers(1, 8)] * 3)
_INT = st.integers(-(2**31), 2**31 - 1)
_EVENT = st.sampled_from([0, 0x1000, 0xFFFF_F000])
_SETTERS = {
    "grid": st.tuples(*[st.sampled_from([1, 8, 840])] * 3),
    "block": _DIM3,
    "dynamic_smem_bytes": st.tuples(st.integers(0, 49152)),
    "cluster": _DIM3,
    "preferred_cluster": _DIM3,
    "cluster_scheduling_policy": st.tuples(st.integers(0, 2)),
    "programmatic_dependent_launch": st.tuples(st.integers(0, 1)),
    "programmatic_event": st.tuples(_EVENT, _INT, st.integers(0, 1)),
    "launch_completion_event": st.tuples(_EVENT, _INT),
    "cooperative": st.tuples(st.integers(0, 1)),
    # 900 is no attribute at all, which is the driver's to say.
    "raw": st.tuples(st.sampled_from([0, 1, 2, 4, 8, 11, 13, 14, 900]), _INT, _INT),
}
_SETTER = st.one_of(*[st.tuples(st.just(name), values) for name, values in _SETTERS.items()])


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(setters=st.lists(_SETTER, max_size=30))
def test_any_sequence_of_setters_ends_in_what_was_set_last(setters, launching, arrays, driver_stub):
    driver_stub.reset()
    with contextlib.suppress(LaunchError):  # what goes together is the driver's to say
        launching.run(rows(setters), *arrays)
    assert attributes(driver_stub) == list(expected_attributes(setters).items())
    last = dict(setters)
    record = driver_stub.calls("cuLaunchKernelEx")[-1].args
    assert record["grid"] == list(last.get("grid", (1, 1, 1)))
    assert record["block"] == list(last.get("block", (32, 1, 1)))
    assert [record["dynamic_smem_bytes"]] == [*last.get("dynamic_smem_bytes", (0,))]


def test_more_attributes_than_there_is_room_for_are_an_error(launching, arrays, driver_stub):
    most = [("raw", (900 + i, 0, 0)) for i in range(24)]
    with contextlib.suppress(LaunchError):
        launching.run(rows(most), *arrays)
    assert len(attributes(driver_stub)) == 24
    with pytest.raises(ValueError, match="LaunchConfig: more than 24 attributes"):
        launching.run(rows([*most, ("raw", (999, 0, 0))]), *arrays)


def test_each_way_to_launch_gives_the_driver_the_same(launching, arrays, driver_stub):
    with driver_stub.stream() as stream:
        for way in (2, 3):
            launching.run_shaped(way, *arrays, stream)
    for launch in driver_stub.launches():
        assert (launch.grid, launch.block, launch.stream) == ((8, 2, 2), (64, 1, 1), stream)
        assert [*launch.attributes] == [4, 5, 6]
        assert launch.values("PPq") == (arrays[0].data_ptr, arrays[1].data_ptr, 64)
    assert len(driver_stub.launches()) == 2


@pytest.mark.parametrize(
    "setters",
    [[("dynamic_smem_bytes", (1000,))], [("grid", (16, 1, 1)), ("cluster", (16, 1, 1))]],
    ids=["shared memory", "large cluster"],
)
def test_the_current_device_need_not_have_the_image(setters, launching, driver_stub):
    y = cuda_array(driver_stub, 8, device=1)
    with driver_stub.stream(device=1) as stream, driver_stub.current_device(2):
        launching.run_shared(rows([*setters, ("stream", (stream,))]), y)
    assert [launch.device for launch in driver_stub.launches()] == [1]
    assert driver_stub.object_counts().pushed_contexts == 0


class TestTypedLaunch:
    def test_a_value_of_128_bytes_is_passed_as_it_is(self, launching, driver_stub):
        y = cuda_array(driver_stub, 128)
        launching.typed(0, y)
        (launch,) = driver_stub.launches()
        assert launch.params == (bytes(range(128)), struct.pack("<Q", y.data_ptr))

    def test_what_the_kernel_does_not_take_is_a_type_error(self, launching, arrays, driver_stub):
        for way, message in (
            (1, "by_value: argument 1 of 2 has 8 bytes, but the kernel's parameter has 128"),
            (2, "add_one takes 3 arguments, but Launch got 2"),
            (3, "add_one: argument 3 of 3 has 4 bytes, but the kernel's parameter has 8"),
        ):
            with pytest.raises(TypeError, match=message):
                launching.typed(way, arrays[0])
        assert driver_stub.calls("cuLaunchKernelEx") == []

    @pytest.mark.parametrize("way", [8, 9], ids=["empty", "moved from"])
    def test_no_kernel_is_no_crash(self, way, launching, arrays):
        with pytest.raises(LaunchError, match="CUDA_ERROR_INVALID_HANDLE"):
            launching.typed(way, arrays[0])


class TestRefusals:
    """Which limits there are, generated launches tell."""

    def test_tells_the_limit(self, launching, arrays, driver_stub):
        asked = rows([("dynamic_smem_bytes", (300_000,))])
        told = "launch of add_one: .*_bytes is 300000, but device 0 allows this kernel 232448"
        with pytest.raises(LaunchLimitError, match=told):
            launching.run(asked, *arrays)
        assert driver_stub.object_counts().pushed_contexts == 0

    def test_a_grid_is_whole_clusters_of_the_kernel_s_own(self, launching, driver_stub):
        y = cuda_array(driver_stub, 32)
        with pytest.raises(LaunchLimitError, match=r"grid.x is 15, expected a multiple of .*, 16"):
            launching.run_wide(rows([("grid", (15, 1, 1))]), y)

    def test_an_event_with_timing_is_said_to_be_one(self, launching, arrays, driver_stub):
        with driver_stub.current_device(0), driver_stub.event(timed=True) as event:
            setters = [("programmatic_event", (event, 0, 0))]
            with pytest.raises(LaunchLimitError, match="require sm_90, and events without timing"):
                launching.run(rows(setters), *arrays)


class TestOccupancy:
    def test_counts_blocks_cooperative_grids_and_clusters(self, launching, driver_stub):
        table = rows([("block", (1024, 1, 1)), ("cluster", (2, 1, 1))])
        assert list(launching.occupancy(table, "add_one", 0)) == [2, 2 * 132, 16, 132]
        plain = launching.occupancy(rows([("block", (1024, 1, 1))]), "add_one", 0)
        assert list(plain) == [2, 2 * 132, 16, 0]

        # A device without clusters or cooperation has none.
        driver_stub.set_attribute(0, 120, 0)
        driver_stub.set_attribute(0, 95, 0)
        assert list(launching.occupancy(rows([]), "add_one", 0)) == [32, 0, 1, 0]
