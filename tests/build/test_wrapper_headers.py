"""The C++ headers: each compiles alone, wrappers in the guide's shapes link, load and launch."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import tvm_ffi
from stub.cuda_array import cuda_array
from stub.driver_stub import DriverStub

import tvmffi_cubin.module  # noqa: F401 - registers LaunchError
from tvmffi_cubin import LaunchError, codegen, forwarders, nvrtc
from tvmffi_cubin.cuda_wheels import find_cuda
from tvmffi_cubin.toolchain import find_host_compiler, include_dir, tvm_ffi_paths

CPP = Path(__file__).parent.parent / "cpp"
INCLUDE = include_dir()
HEADERS = sorted(
    str(path.relative_to(INCLUDE))
    for path in [
        *INCLUDE.glob("tvmffi_cubin/*.h"),
        *INCLUDE.glob("tvmffi_cubin/runtime/*.h"),
        *INCLUDE.glob("tvmffi_cubin/compat/**/*.h"),
    ]
)
COMPILERS = [name for name in ("g++", "clang++") if shutil.which(name)]
# Unused parameters are tvm-ffi's own: its export macro has one.
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter")
DRIVER_DIALECT = "-DTVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API=1"
RUNTIME_DIALECT = "-DTVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API=0"


def include_flags() -> list[str]:
    system = [tvm_ffi_paths().include, *find_cuda().include_dirs]
    ours = [INCLUDE / "tvmffi_cubin" / "compat", INCLUDE]
    return [f"-I{folder}" for folder in ours] + [
        word for folder in system for word in ("-isystem", str(folder))
    ]


def run(*command: str | Path, cwd: Path | None = None) -> None:
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


class MallInfo(ctypes.Structure):
    """What glibc's mallinfo2 returns."""

    _fields_ = [(name, ctypes.c_size_t) for name in "abcdefg"] + [
        ("uordblks", ctypes.c_size_t), ("i", ctypes.c_size_t), ("j", ctypes.c_size_t),
    ]  # fmt: skip


def allocated_bytes() -> int:
    mallinfo = ctypes.CDLL(None).mallinfo2
    mallinfo.restype = MallInfo
    return int(mallinfo().uordblks)


class Workshop:
    """Builds wrappers as the build stage does, with plain compiler calls."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.image = nvrtc.compile((CPP / "kernels.cu").read_text(), arch="sm_90").image
        (folder / "kernels.cubin").write_bytes(self.image)
        (folder / "kernel_bytes.inc").write_text(",".join(map(str, self.image)))
        unit = codegen.image_unit("kernels", "kernels.cubin", len(self.image), os.uname().machine)
        (folder / "kernels.s").write_text(unit)
        cuda_h = (find_cuda().include / "cuda.h").read_text()
        (folder / "forwarders.cc").write_text(forwarders.forwarder_unit(cuda_h))
        (folder / "exports.map").write_text(
            "{ local: cu[A-Z]*; cuda[A-Z]*; __tvm_ffi__cubin_*; __tvmffi_cubin_*; "
            "_Z*tvmffi_cubin*; };\n"
        )
        self.compiler = find_host_compiler().command
        self._compile("kernels.s")
        self._compile("forwarders.cc")

    def _compile(self, source: str | Path, *flags: str, name: str | None = None) -> str:
        made = f"{name or Path(source).name}.o"
        run(
            *self.compiler, "-c", "-std=c++17", "-O1", "-fPIC", *flags, *include_flags(),
            f"-I{self.folder}", source, "-o", made, cwd=self.folder,
        )  # fmt: skip
        return made

    def link(self, name: str, objects: Sequence[str], extra: Sequence[str] = ()) -> Path:
        paths = tvm_ffi_paths()
        run(
            *self.compiler, "-shared", "-o", f"{name}.so", *objects, "kernels.s.o",
            "forwarders.cc.o", "-Wl,-z,now", "-Wl,-z,defs", "-Wl,--version-script=exports.map",
            paths.library, *forwarders.link_flags(extra, find_cuda().cudart), cwd=self.folder,
        )  # fmt: skip
        return self.folder / f"{name}.so"

    def build(self, source: str, *flags: str, name: str | None = None) -> Path:
        name = name or Path(source).stem
        made = self._compile(CPP / source, *WARNINGS, *flags, name=name)
        return self.link(name, [made])


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("wrappers"))


@pytest.fixture(scope="module")
def guide_so(workshop: Workshop) -> Path:
    return workshop.build("guide_wrapper.cc")


@pytest.fixture(scope="module")
def own_so(workshop: Workshop) -> Path:
    return workshop.build("own_wrapper.cc")


@pytest.fixture(scope="module")
def raw_so(workshop: Workshop) -> Path:
    return workshop.build("raw_calls.cc")


@pytest.fixture
def guide(guide_so: Path, driver_stub: DriverStub) -> tvm_ffi.Module:
    return tvm_ffi.load_module(guide_so)


@pytest.fixture
def own(own_so: Path, driver_stub: DriverStub) -> tvm_ffi.Module:
    return tvm_ffi.load_module(own_so)


@pytest.fixture
def raw(raw_so: Path, driver_stub: DriverStub) -> tvm_ffi.Module:
    return tvm_ffi.load_module(raw_so)


class TestHeaders:
    @pytest.mark.parametrize("compiler", COMPILERS)
    @pytest.mark.parametrize("header", HEADERS)
    def test_compiles_alone_and_twice(self, header: str, compiler: str, tmp_path: Path) -> None:
        name = header.removeprefix("tvmffi_cubin/compat/")
        unit = tmp_path / "alone.cc"
        unit.write_text(f"#include <{name}>\n#include <{name}>\n")
        run(compiler, "-fsyntax-only", "-std=c++17", *WARNINGS, *include_flags(), unit)

    @pytest.mark.parametrize("compiler", COMPILERS)
    @pytest.mark.parametrize("dialect", ["-UNONE", DRIVER_DIALECT, RUNTIME_DIALECT])
    def test_public_types_keep_their_promises(self, dialect: str, compiler: str) -> None:
        unit = CPP / "static_asserts.cc"
        run(compiler, "-fsyntax-only", "-std=c++17", *WARNINGS, dialect, *include_flags(), unit)

    @pytest.mark.parametrize("header", HEADERS)
    def test_is_short(self, header: str) -> None:
        assert len((INCLUDE / header).read_text().splitlines()) < 250


class TestGuideWrapper:
    def test_launches_with_the_shape_and_parameters_that_it_gives(
        self, guide: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        x, y = cuda_array(driver_stub, 1000), cuda_array(driver_stub, 1000)
        guide.add_one(x, y)
        (launch,) = driver_stub.launches()
        assert (launch.kernel, launch.grid, launch.block) == ("add_one", (4, 1, 1), (256, 1, 1))
        assert launch.values("PPq") == (x.data_ptr, y.data_ptr, 1000)
        assert launch.dynamic_smem_bytes == 0

    def test_embeds_an_array_of_bytes_and_passes_dummy_arguments(
        self, guide: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        x, y = cuda_array(driver_stub, 5), cuda_array(driver_stub, 5)
        guide.square(x, y)
        (launch,) = driver_stub.launches()
        assert (launch.kernel, launch.grid, launch.block) == ("square", (2, 3, 4), (8, 4, 1))
        assert launch.values("PPiPP") == (x.data_ptr, y.data_ptr, 5, 0, 0)

    def test_a_device_guard_leads_the_launch_and_leaves_no_context_behind(
        self, guide: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        y = cuda_array(driver_stub, 8, device=1)
        with driver_stub.current_device(0):
            guide.guarded(y, 200 * 1024)
            assert driver_stub.object_counts().pushed_contexts == 1
        (launch,) = driver_stub.launches()
        assert (launch.device, launch.dynamic_smem_bytes) == (1, 200 * 1024)
        assert driver_stub.object_counts().pushed_contexts == 0

    def test_a_stream_decides_the_device_whichever_is_current(
        self, guide: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        x, y = (cuda_array(driver_stub, 8, device=1) for _ in range(2))
        with (
            driver_stub.stream(device=1) as stream,
            driver_stub.current_device(0),
            tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", 1), stream),
        ):
            guide.add_one(x, y)
        (launch,) = driver_stub.launches()
        assert (launch.device, launch.stream) == (1, stream)

    def test_a_thread_without_a_context_launches_on_device_0(
        self, guide: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        x, y = cuda_array(driver_stub, 8), cuda_array(driver_stub, 8)
        guide.add_one(x, y)
        (launch,) = driver_stub.launches()
        assert launch.device == 0
        assert driver_stub.object_counts().pushed_contexts == 0

    def test_loads_an_image_at_run_time_and_launches_a_cluster(
        self, guide: tvm_ffi.Module, driver_stub: DriverStub, workshop: Workshop
    ) -> None:
        x, y = cuda_array(driver_stub, 64), cuda_array(driver_stub, 64)
        before = driver_stub.object_counts().libraries
        guide.load(workshop.image)
        assert driver_stub.object_counts().libraries == before + 1
        guide.loaded_clustered(x, y, 2)
        guide.loaded_clustered(x, y, 1)
        clustered, plain = driver_stub.launches()
        assert (clustered.grid, clustered.block) == ((4, 1, 1), (64, 1, 1))
        assert clustered.cluster == (2, 1, 1)
        assert clustered.values("PPq") == (x.data_ptr, y.data_ptr, 64)
        assert plain.attributes == {}
        guide.unload()
        assert driver_stub.object_counts().libraries == before

    def test_a_bad_image_is_refused_at_once(
        self, guide: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        with pytest.raises(
            LaunchError, match=r"neither a cubin, a fatbin nor PTX: cuLibraryLoadData"
        ):
            guide.load(b"no image at all, but long enough to be looked into")

    def test_a_missing_kernel_is_named_beside_those_that_there_are(
        self, guide: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        with pytest.raises(LaunchError, match=r"no kernel 'no_such_kernel'; it has .*add_one"):
            guide.missing()

    def test_the_largest_dynamic_shared_memory_is_the_opt_in_limit(
        self, guide: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        guide.limit_smem(-1)
        calls = driver_stub.calls("cuKernelSetAttribute")
        values = {call.args["device"]: call.args["value"] for call in calls}
        assert values.keys() == {0, 1}, "device 2 is of another architecture than the image"
        assert min(values.values()) > 200 * 1024

    def test_a_limit_that_no_device_allows_is_an_error(
        self, guide: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        with pytest.raises(LaunchError, match="no device allows the kernel 1000000 bytes"):
            guide.limit_smem(1_000_000)

    def test_a_refused_launch_reaches_macro_and_last_error(
        self, guide: tvm_ffi.Module, driver_stub: DriverStub
    ) -> None:
        with pytest.raises(RuntimeError, match=r"CUDA Error: \w+ \(1\): invalid argument"):
            guide.over_limit(cuda_array(driver_stub, 1))

    @pytest.mark.parametrize("dialect", [DRIVER_DIALECT, RUNTIME_DIALECT, "-UNONE"])
    def test_a_wrapper_may_ask_which_dialect_it_has(
        self, workshop: Workshop, driver_stub: DriverStub, dialect: str
    ) -> None:
        library = workshop.build("two_dialects.cc", dialect, name=f"dialect{dialect[-1]}")
        x, y = cuda_array(driver_stub, 8), cuda_array(driver_stub, 8)
        assert tvm_ffi.load_module(library).add_one(x, y) == 3
        first, second, *rest = driver_stub.launches()
        assert (first.grid, first.block, first.cluster) == ((6, 1, 1), (32, 1, 1), (2, 1, 1))
        assert (second.grid, second.block, second.cluster) == ((1, 1, 1), (1, 1, 1), None)
        by_runtime = [((3, 1, 1), (4, 1, 1))]
        wanted = {DRIVER_DIALECT: [[]], RUNTIME_DIALECT: [by_runtime]}
        # Unnamed, it is the runtime's from CUDA 12.8 on.
        assert [(one.grid, one.block) for one in rest] in wanted.get(dialect, [[], by_runtime])


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
            LaunchError, match="neither a cubin, a fatbin nor PTX: cuLibraryLoadData"
        ):
            own.bad_image()
        with pytest.raises(LaunchError, match="the CubinModule has no image"):
            own.empty()

    @pytest.mark.parametrize("image", [b"", b"\x7fELF", b"\x7fELF" + bytes(59)], ids=len)
    def test_a_few_bytes_are_no_image(
        self, own: tvm_ffi.Module, driver_stub: DriverStub, image: bytes
    ) -> None:
        with pytest.raises(LaunchError, match="neither a cubin, a fatbin nor PTX"):
            own.outlives(image, cuda_array(driver_stub, 1))
        assert driver_stub.calls("cuLibraryLoadData") == []

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
        with pytest.raises(LaunchError, match="cuDeviceGet failed: CUDA_ERROR_INVALID_DEVICE"):
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
            "  int least, most; return cudaDeviceGetStreamPriorityRange(&least, &most); }\n"
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
