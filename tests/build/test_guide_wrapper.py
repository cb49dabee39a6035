"""The guide's wrapper: it launches, unloads, tells limits; and each C++ header alone."""

import shutil
from pathlib import Path

import pytest
from file_kit import write
from processes import run
from stub.cuda_array import cuda_array
from wrapper_workshop import (
    CPP,
    DRIVER_DIALECT,
    INCLUDE,
    RUNTIME_DIALECT,
    WARNINGS,
    include_flags,
    load_anew,
)

import tvmffi_cubin.module  # noqa: F401 - registers LaunchError
from tvmffi_cubin import LaunchError


class TestGuideWrapper:
    def test_a_device_guard_leads_the_launch_and_leaves_no_context_behind(self, guide, driver_stub):
        y = cuda_array(driver_stub, 8, device=1)
        with driver_stub.current_device(0):
            guide.guarded(y, 200 * 1024)
            assert driver_stub.object_counts().pushed_contexts == 1
        (launch,) = driver_stub.launches()
        assert (launch.device, launch.dynamic_smem_bytes) == (1, 200 * 1024)
        assert driver_stub.object_counts().pushed_contexts == 0

    def test_loads_an_image_at_run_time_and_launches_a_cluster(self, guide, driver_stub, workshop):
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
        guide.square(x, y)  # of an image that is bytes in the source
        assert driver_stub.launches()[-1].kernel == "square"

    def test_a_bad_image_is_refused_at_once_and_a_missing_kernel_named(self, guide, driver_stub):
        with pytest.raises(LaunchError, match="IMAGE.*not a cubin, fatbin or PTX"):
            guide.load(b"no image at all, but long enough to be looked into")
        with pytest.raises(LaunchError, match=r"no kernel 'no_such_kernel'; available: .*add_one"):
            guide.missing()

    def test_a_limit_is_not_lowered_for_those_who_launch_with_more(self, guide, driver_stub):
        y = cuda_array(driver_stub, 1)
        guide.guarded(y, 200 * 1024)
        guide.limit_smem(60_000)
        guide.guarded(y, 200 * 1024)
        assert [x.dynamic_smem_bytes for x in driver_stub.launches()] == [200 * 1024] * 2


class TestSeveralAttributes:
    """What tvm-ffi's issue 497 needs, in each dialect."""

    @pytest.fixture(params=[DRIVER_DIALECT, RUNTIME_DIALECT])
    def wrapper(self, request, workshop, driver_stub, tmp_path):
        name = f"guide_launching{request.param[-1]}"
        return load_anew(workshop.build("guide_launching.cc", request.param, name=name), tmp_path)

    def test_each_way_gives_the_driver_the_same(self, wrapper, driver_stub):
        x, y = cuda_array(driver_stub, 64), cuda_array(driver_stub, 64)
        with driver_stub.stream() as stream:
            for way in range(4):
                wrapper.run(way, x, y, stream)
        launches = driver_stub.launches()
        assert {(x.grid, x.block) for x in launches} == {((8, 2, 2), (64, 1, 1))}
        assert [x.stream for x in launches] == [stream, 0, stream, stream]
        assert [[*x.attributes] for x in launches] == [[], [], [], [4, 5, 6]]
        assert launches[3].cluster == (4, 2, 2)
        calls = driver_stub.calls("cuKernelSetAttribute")
        assert [x.args["attribute"] for x in calls].count(14) == 1, "16 blocks, allowed once"

    def test_the_macro_tells_the_limit_of_a_refused_launch(self, wrapper, driver_stub):
        x = cuda_array(driver_stub, 64)
        with pytest.raises(LaunchError, match=r"\(912\): .*; launch of add_one: grid.x is 6, e"):
            wrapper.run(4, x, x, 0)
        # Told once, for another call's failure may have the same code.
        driver_stub.fail("cuLaunchKernelEx", 912)
        driver_stub.fail("cuLaunchKernelEx", 912, nth=2)
        with pytest.raises(LaunchError, match=r"misconfiguration$"):
            wrapper.run(0, x, x, 0)


FOLDERS = ("", "core/", "mixed/", "compat/**/")
HEADERS = [
    str(path.relative_to(INCLUDE))
    for folder in FOLDERS
    for path in sorted(INCLUDE.glob(f"tvmffi_cubin/{folder}*.h"))
]
# A unit of mixed sources has a name.
NAMED = "#define TVMFFI_CUBIN_MIXED_TABLE alone\n"
# With CUB g++ 12 needs a flag, which the build gives it; the others are NVRTC's, and host.h's.
PARTS = ("mixed/cub.h", "mixed/device.h", "mixed/layout.h")
COOPERATIVE = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
COMPILERS = [name for name in ("g++", "clang++") if shutil.which(name)]


def check_syntax(compiler: str, unit: Path, *flags: str) -> None:
    run(compiler, "-fsyntax-only", "-std=c++17", *WARNINGS, *flags, *include_flags(), unit)


@pytest.mark.parametrize("compiler", COMPILERS)
class TestHeaders:
    @pytest.mark.parametrize("header", [x for x in HEADERS if not x.endswith(PARTS)])
    def test_compiles_alone_and_twice(self, header: str, compiler: str, tmp_path: Path) -> None:
        include = f"#include <{header.removeprefix('tvmffi_cubin/compat/')}>\n"
        check_syntax(compiler, write(tmp_path / "alone.cc", NAMED + include * 2))

    def test_host_code_may_name_cooperative_groups(self, compiler: str, tmp_path: Path) -> None:
        check_syntax(compiler, write(tmp_path / "named.cc", COOPERATIVE))

    @pytest.mark.parametrize("dialect", ["-UNONE", DRIVER_DIALECT, RUNTIME_DIALECT])
    def test_public_types_keep_their_promises(self, dialect: str, compiler: str) -> None:
        check_syntax(compiler, CPP / "static_asserts.cc", dialect)
