"""Wrappers of this package's headers and of raw calls link, load and launch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import tvm_ffi
from stub.cuda_array import cuda_array
from stub.driver_stub import DriverStub
from wrapper_workshop import CPP, Workshop

import tvmffi_cubin.module  # noqa: F401 - registers LaunchError
from tvmffi_cubin import LaunchError


class TestOwnWrapper:
    def test_launches_on_the_chosen_device(
        self, own: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        x, y = (cuda_array(driver_stub, 300, device=1) for _ in range(2))
        own.add_one_on(x, y, 0, 1)
        (launch,) = driver_stub.launches()
        assert (launch.device, launch.grid, launch.block) == (1, (3, 1, 1), (128, 1, 1))
        assert launch.values("PPq") == (x.data_ptr, y.data_ptr, 300)
        assert driver_stub.object_counts().pushed_contexts == 0

    def test_opts_into_large_shared_memory_once_a_device(
        self, own: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        y = cuda_array(driver_stub, 1)
        for smem in (100 * 1024, 150 * 1024, 1024):
            own.shared(y, smem)
        assert [one.dynamic_smem_bytes for one in driver_stub.launches()] == [102400, 153600, 1024]
        assert driver_stub.launches()[0].grid == (1, 2, 3)
        sets = [call.args["attribute"] for call in driver_stub.calls("cuKernelSetAttribute")]
        assert sorted(sets) == [8, 14], "shared memory and clusters, once"

    def test_a_kernel_keeps_its_image_loaded(
        self, own: tvm_ffi.Module, driver_stub: DriverStub, workshop: Workshop
    ) -> None:
        before = driver_stub.object_counts().libraries
        own.outlives(workshop.image, cuda_array(driver_stub, 1))
        assert len(driver_stub.launches()) == 1
        assert driver_stub.object_counts().libraries == before + 1
        own.release()
        assert driver_stub.object_counts().libraries == before

    def test_an_image_is_judged_when_it_is_first_used(
        self, own: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        with pytest.raises(
            LaunchError, match="neither a cubin, a fatbin nor PTX, or damaged: cuLibraryGetKernel"
        ):
            own.bad_image()
        with pytest.raises(LaunchError, match="the CubinModule has no image"):
            own.empty()


class TestRawCalls:
    def test_driver_calls_reach_the_driver_with_every_argument(
        self, raw: tvm_ffi.Module, driver_stub: DriverStub, workshop: Workshop
    ) -> None:
        assert raw.driver_calls(workshop.image, 0x1234) == 0
        (launch,) = driver_stub.launches()
        assert (launch.grid, launch.block) == ((2, 3, 4), (5, 6, 7))
        assert (launch.dynamic_smem_bytes, launch.device) == (8, 1)
        assert launch.values("Pi") == (0x1234, 7)

    def test_a_function_that_the_driver_lacks_answers_not_found(self, raw: tvm_ffi.Module) -> None:
        assert raw.unknown_to_stub() == 500

    def test_errors_of_the_driver_pass_through(self, raw: tvm_ffi.Module) -> None:
        assert raw.one_call() == 201
        assert raw.driver_error_text(1).startswith("CUDA_ERROR_INVALID_VALUE: invalid argument")

    def test_runtime_calls_work_over_the_driver(self, raw: tvm_ffi.Module) -> None:
        assert raw.runtime_calls() == 0

    def test_of_cudas_libraries_the_static_runtime_alone_is_linked(
        self, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("TVMFFI_CUBIN_CUDART")
        library = workshop.link(
            "alone", [workshop._compile(CPP / "raw_calls.cc", name="alone")], ["-lcudart", "-lcuda"]
        )
        dynamic = subprocess.run(
            ["readelf", "-dW", "--dyn-syms", library], capture_output=True, text=True, check=True
        ).stdout
        assert "libcuda" not in dynamic
        assert not [row for row in dynamic.splitlines() if " cu" in row or "tvmffi_cubin" in row]


# A process of its own: the driver is opened once.
NO_DRIVER = """
import sys, tvm_ffi, tvmffi_cubin.module
guide, own, raw = map(tvm_ffi.load_module, sys.argv[1:])
def told(call, *args):
    try:
        call(*args)
    except tvmffi_cubin.LaunchError as error:
        return str(error)
print(told(own.bad_image))
print(told(guide.missing))
print(raw.one_call())
print(raw.driver_error_text(1))
"""


def test_wrappers_load_without_a_driver_and_every_call_says_so(
    guide_so: Path, own_so: Path, raw_so: Path
) -> None:
    environment = {**os.environ, "TVMFFI_CUBIN_DRIVER": "/nonexistent/libcuda.so.1"}
    done = subprocess.run(
        [sys.executable, "-c", NO_DRIVER, guide_so, own_so, raw_so],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    own_error, guide_error, code, driver_text = done.stdout.splitlines()
    for text in (own_error, guide_error, driver_text):
        assert "no CUDA driver: /nonexistent/libcuda.so.1" in text
    assert code == "100"
