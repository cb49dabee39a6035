"""Wrappers of this package's headers and of raw calls link, load and launch."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tvm_ffi
from stub.cuda_array import cuda_array
from stub.driver_stub import DriverStub
from wrapper_workshop import Workshop, run

import tvmffi_cubin.module  # noqa: F401 - registers LaunchError
from tvmffi_cubin import LaunchError
from tvmffi_cubin.cuda.libraries import find_cuda


class MallInfo(ctypes.Structure):
    """What glibc's mallinfo2 returns."""

    _fields_ = [(name, ctypes.c_size_t) for name in "abcdefg"] + [
        ("uordblks", ctypes.c_size_t), ("i", ctypes.c_size_t), ("j", ctypes.c_size_t),
    ]  # fmt: skip


def allocated_bytes() -> int:
    mallinfo = ctypes.CDLL(None).mallinfo2
    mallinfo.restype = MallInfo
    return int(mallinfo().uordblks)


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

    def test_follows_the_stream_where_no_device_is_chosen(
        self, own: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        x, y = (cuda_array(driver_stub, 1, device=1) for _ in range(2))
        with driver_stub.stream(device=1) as stream:
            own.add_one_on(x, y, stream, -1)
        (launch,) = driver_stub.launches()
        assert (launch.device, launch.stream) == (1, stream)

    def test_opts_into_large_shared_memory_once_a_device(
        self, own: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        y = cuda_array(driver_stub, 1)
        for smem in (100 * 1024, 150 * 1024, 1024):
            own.shared(y, smem)
        assert [one.dynamic_smem_bytes for one in driver_stub.launches()] == [102400, 153600, 1024]
        assert driver_stub.launches()[0].grid == (1, 2, 3)
        assert len(driver_stub.calls("cuKernelSetAttribute")) == 1

    def test_more_shared_memory_than_there_is_gets_the_driver_s_own_answer(
        self, own: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        with pytest.raises(LaunchError, match=r"cuLaunchKernelEx failed: CUDA_ERROR_INVALID_VALUE"):
            own.shared(cuda_array(driver_stub, 1), 1 << 20)

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
            LaunchError, match="neither a cubin, a fatbin nor PTX, or damaged: cuLibraryLoadData"
        ):
            own.bad_image()
        with pytest.raises(LaunchError, match="the CubinModule has no image"):
            own.empty()

    def test_a_kernel_made_at_every_call_leaves_nothing_behind(
        self, own: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        y = cuda_array(driver_stub, 1)
        with driver_stub.unrecorded():
            own.fresh(y, 2000)
            before = allocated_bytes()
            own.fresh(y, 100_000)
        assert allocated_bytes() - before < 1_000_000

    def test_an_unknown_device_is_an_error(
        self, own: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        x = cuda_array(driver_stub, 1)
        with pytest.raises(LaunchError, match="cuDevicePrimaryCtxRetain failed: CUDA_ERROR_INV"):
            own.add_one_on(x, x, 0, 9)


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

    def test_neither_cuda_library_is_linked(self, raw_so: Path) -> None:
        dynamic = subprocess.run(
            ["readelf", "-dW", "--dyn-syms", raw_so], capture_output=True, text=True, check=True
        ).stdout
        assert "libcuda" not in dynamic
        assert not [row for row in dynamic.splitlines() if " cu" in row or "tvmffi_cubin" in row]

    def test_libcudart_is_linked_where_a_call_is_left_for_it(self, workshop: Workshop) -> None:
        source = workshop.folder / "left.cc"
        source.write_text(
            "#include <cuda_runtime.h>\n"
            'extern "C" __attribute__((visibility("default"))) int least() {\n'
            "  return cudaDeviceReset(); }\n"
        )
        library = workshop.link("left", [workshop._compile(source)], ["-lcudart", "-lcuda"])
        dynamic = subprocess.run(
            ["readelf", "-d", library], capture_output=True, text=True, check=True
        ).stdout
        assert f"libcudart.so.{find_cuda().major}" in dynamic


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
print(raw.one_call(), raw.device_count())
print(raw.driver_error_text(1))
print(raw.runtime_error_text(1))
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
    own_error, guide_error, codes, driver_text, runtime_text = done.stdout.splitlines()
    for text in (own_error, guide_error, driver_text, runtime_text):
        assert "no CUDA driver: /nonexistent/libcuda.so.1" in text
    assert codes == "100 -100"
    assert driver_text.startswith("CUDA_ERROR_NO_DEVICE: ")


# The stand-in with an eye on cuLibraryUnload.
SPY = r"""
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
typedef int (*Get)(const char*, void**, int, unsigned long long, void*);
static int Unload(void* library) { (void)library; return write(2, "unloaded\n", 9) != 9; }
int cuGetProcAddress_v2(const char* name, void** found, int version, unsigned long long flags,
                        void* status) {
  if (strcmp(name, "cuLibraryUnload") == 0) return *found = (void*)Unload, 0;
  void* driver = dlopen(getenv("SPIED_DRIVER"), RTLD_NOW | RTLD_LOCAL);
  return ((Get)dlsym(driver, "cuGetProcAddress_v2"))(name, found, version, flags, status);
}
"""
EXIT = """
import os, sys, tvm_ffi
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from stub.cuda_array import cuda_array
from stub.driver_stub import DriverStub
y = cuda_array(DriverStub(Path(os.environ["SPIED_DRIVER"])), 1)
own = tvm_ffi.load_module(sys.argv[2])
own.outlives(Path(sys.argv[3]).read_bytes(), y)
if sys.argv[4] == "release":
    own.release()
"""


@pytest.mark.parametrize(("action", "told"), [("release", "unloaded\n"), ("exit", "")])
def test_images_of_static_objects_are_left_to_the_process_s_end(
    own_so: Path,
    workshop: Workshop,
    fresh_driver_stub: DriverStub,
    tmp_path: Path,
    action: str,
    told: str,
) -> None:
    (tmp_path / "spy.c").write_text(SPY)
    run("cc", "-shared", "-fPIC", tmp_path / "spy.c", "-o", tmp_path / "spy.so", "-ldl")
    environment = {
        **os.environ,
        "SPIED_DRIVER": str(fresh_driver_stub.path),
        "TVMFFI_CUBIN_DRIVER": str(tmp_path / "spy.so"),
    }
    tests = Path(__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", EXIT, tests, own_so, workshop.folder / "kernels.cubin", action],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, told)
