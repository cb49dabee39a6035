"""Clusters beyond the portable size, the limits of a launch, and occupancy, in C++."""

from __future__ import annotations

import pytest
from launch_setters import rows
from stub.cuda_array import cuda_array
from stub.driver_stub import DriverStub

from tvmffi_cubin import LaunchLimitError

NON_PORTABLE = 14


@pytest.fixture
def arrays(driver_stub: DriverStub) -> tuple[object, object]:
    return cuda_array(driver_stub, 64), cuda_array(driver_stub, 64)


def opted_in(driver_stub: DriverStub) -> list[int]:
    """The devices on which clusters beyond the portable size were allowed, in order."""
    calls = driver_stub.calls("cuKernelSetAttribute")
    return [x.args["device"] for x in calls if x.args["attribute"] == NON_PORTABLE]


class TestLargeClusters:
    WIDE = (("grid", (32, 1, 1)), ("cluster", (16, 1, 1)))

    def test_are_opted_into_once_a_device(self, launching, driver_stub):
        for device in (0, 1, 1, 0):
            y = cuda_array(driver_stub, 8, device=device)
            launching.run(rows([*self.WIDE, ("device", (device,))]), y, y)
        assert opted_in(driver_stub) == [0, 1]
        assert [x.device for x in driver_stub.launches()] == [0, 1, 1, 0]

    @pytest.mark.parametrize("device", [-1, 1])
    def test_that_a_kernel_was_compiled_for_are_opted_into(self, device, launching, driver_stub):
        y = cuda_array(driver_stub, 32, device=1)
        with driver_stub.current_device(1):
            for _ in range(2):
                launching.run_wide(rows([("device", (device,))]), y)
        assert [x.device for x in driver_stub.launches()] == [1, 1]
        assert opted_in(driver_stub) == [1]


class TestRefusals:
    """Each names the kernel, what was asked, and the limit."""

    CASES = (
        ([("grid", (10, 1, 1)), ("cluster", (4, 1, 1))],
         r"grid.x is 10, wanted a multiple of cluster.x, 4"),
        ([("grid", (32, 1, 1)), ("cluster", (32, 1, 1))],
         r"the cluster has 32 blocks, device 0 allows 16"),
        ([("grid", (65536, 1, 1)), ("cooperative", (1,)), ("cluster", (2, 1, 1))],
         r"cooperative grid has 65536 blocks, device 0 can hold \d+ of this shape at once"),
        ([("grid", (1, 70_000, 1))], r"grid.y is 70000, device 0 allows 65535"),
        ([("dynamic_smem_bytes", (300_000,))],
         r"dynamic_smem_bytes is 300000, device 0 allows this kernel 232448"),
    )  # fmt: skip

    @pytest.mark.parametrize(("setters", "message"), CASES, ids=[x[1][:30] for x in CASES])
    def test_tells_the_limit(self, setters, message, launching, arrays, driver_stub):
        with pytest.raises(LaunchLimitError, match="launch of add_one: .*" + message) as error:
            launching.run(rows(setters), *arrays)
        assert "cuLaunchKernelEx failed: CUDA_ERROR_" in str(error.value)
        assert driver_stub.object_counts().pushed_contexts == 0

    def test_a_grid_is_whole_clusters_of_the_kernel_s_own(self, launching, driver_stub):
        y = cuda_array(driver_stub, 32)
        with pytest.raises(LaunchLimitError, match=r"grid.x is 15, wanted a multiple of cl.*, 16"):
            launching.run_wide(rows([("grid", (15, 1, 1))]), y)

    def test_an_event_with_timing_is_said_to_be_one(self, launching, arrays, driver_stub):
        with driver_stub.current_device(0):
            with driver_stub.event(timed=True) as event:
                setters = [("programmatic_event", (event, 0, 0))]
                with pytest.raises(LaunchLimitError, match="CUDA_ERROR_NOT_SUPPORTED") as error:
                    launching.run(rows(setters), *arrays)
            with driver_stub.event(timed=False) as event:
                setters = [("programmatic_event", (event, 0, 0))]
                launching.run(rows(setters), *arrays)
        wanted = "launch of add_one: programmatic launches need sm_90, and events without timing"
        assert wanted in str(error.value)


class TestOccupancy:
    def test_counts_blocks_cooperative_grids_and_clusters(self, launching, driver_stub):
        table = rows([("block", (1024, 1, 1)), ("cluster", (2, 1, 1))])
        assert list(launching.occupancy(table, "add_one", 0)) == [2, 2 * 132, 16, 132]
        plain = launching.occupancy(rows([("block", (1024, 1, 1))]), "add_one", 0)
        assert list(plain) == [2, 2 * 132, 16, 0]

    def test_a_device_without_clusters_or_cooperation_has_none(self, launching, driver_stub):
        driver_stub.set_attribute(0, 120, 0)
        driver_stub.set_attribute(0, 95, 0)
        assert list(launching.occupancy(rows([]), "add_one", 0)) == [32, 0, 1, 0]
        assert driver_stub.calls("cuOccupancyMaxPotentialClusterSize") == []
