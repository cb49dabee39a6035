"""Modules for several architectures: built without a GPU, each device takes what fits it."""

from __future__ import annotations

import os
import struct
import subprocess
import sys

import pytest
from fatbin_builder import PTX, SPECIFIC, Row, fatbin
from stub.cuda_array import cuda_array
from stub.driver_stub import DriverStub

import tvmffi_cubin as tc
from tvmffi_cubin import cuda_wheels, nvfatbin, nvrtc, obtain
from tvmffi_cubin.errors import LaunchError, ToolchainError
from tvmffi_cubin.nvrtc_library import NvrtcLibrary

NOT_SUPPORTED_PTX, INVALID_IMAGE, INVALID_PTX = 222, 200, 218
INVALID_HANDLE = 400

SOURCE = r"""
extern "C" __global__ void add(float* x, int n) {
  __shared__ float s[64];
  s[threadIdx.x % 64] = n;
  __syncthreads();
  x[0] = s[(threadIdx.x + 1) % 64];
}
extern "C" __global__ void dynamic(float* x) {
  extern __shared__ float d[];
#if __CUDA_ARCH__ >= 900
  __shared__ float own[1024];
  own[threadIdx.x] = d[threadIdx.x];
  __syncthreads();
  d[0] = own[threadIdx.x ^ 1];
#endif
  x[0] = d[threadIdx.x];
}
#if __CUDA_ARCH__ >= 900
extern "C" __global__ void newer(float* x) { x[0] = 1; }
#else
extern "C" __global__ void older(float* x) { x[0] = 2; }
#endif
"""
THREE = ("sm_80", "sm_90a", "sm_100a")
EVERYTHING = (*THREE, "compute_80")


def load(arch, source: str = SOURCE, name: str = "several", **options) -> tc.Module:
    # One architecture alone has not both of these.
    names = ("add", "newer", "older") if arch == EVERYTHING else ("add",)
    options.setdefault("functions", dict.fromkeys(names, tc.Launch(grid=1, block=32)))
    return tc.load_inline(name, source, arch=arch, **options)


@pytest.fixture(autouse=True)
def _new_enough() -> None:
    if nvrtc.version() < (12, 8):
        pytest.skip("sm_100a needs NVRTC 12.8")


@pytest.fixture
def driver_stub(driver_stub: DriverStub) -> DriverStub:
    """A driver that is as new as NVRTC, which older ones compile no PTX of."""
    major, minor = nvrtc.version()
    driver_stub.set_driver_version(max(12090, 1000 * major + 10 * minor))
    return driver_stub


def launched(driver_stub) -> list[tuple[int, str | None]]:
    return [(launch.device, launch.image) for launch in driver_stub.launches()]


# What is made


def test_three_architectures_are_built_without_a_gpu(monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_DRIVER", "/nonexistent/libcuda.so.1")
    image = load(THREE).cubins["kernels"]
    assert (image.kind, image.arch) == ("fatbin", "sm_80, sm_90a, sm_100a")
    assert image.archs == THREE
    assert image.cuda_version == ".".join(map(str, nvrtc.version()))
    assert [[k.name for k in sorted(m.kernels, key=str)] for m in image.members] == [
        ["add", "dynamic", "older"],
        ["add", "dynamic", "newer"],
        ["add", "dynamic", "newer"],
    ]


def test_the_manifest_tells_of_each_member():
    (facts,) = load(EVERYTHING).manifest["images"].values()
    assert (facts["file"], facts["kind"]) == ("kernels.fatbin", "fatbin")
    assert [(m["arch"], m["kind"]) for m in facts["members"]] == [
        *((arch, "cubin") for arch in THREE),
        ("compute_80", "ptx"),
    ]
    assert set(facts["members"][0]["kernels"]) == {"add", "dynamic", "older"}
    assert facts["members"][1]["kernels"]["dynamic"]["static_smem_bytes"] == 4096
    assert facts["kernels"]["dynamic"]["static_smem_bytes"] == 4096


def test_the_order_of_architectures_and_repetitions_change_nothing():
    made = {load(archs).path for archs in (THREE, THREE[::-1], [*THREE, "sm_80"])}
    assert len(made) == 1
    first, second = (nvrtc.compile(SOURCE, arch=archs) for archs in (THREE, THREE[::-1]))
    assert first == second


def test_a_list_of_one_is_that_one():
    assert load(["sm_90a"]).path == load("sm_90a").path
    assert load("sm_90a").cubins["kernels"].kind == "cubin"
    assert load(["sm_90a", "sm_80"]).path != load("sm_90a").path


def test_members_are_what_each_architecture_alone_gives():
    whole = nvrtc.compile(SOURCE, arch=EVERYTHING)
    for member in whole.members:
        alone = nvrtc.compile(SOURCE, arch=member.arch)
        assert (member.kind, member.kernels) == (alone.kind, alone.kernels)
        # Of PTX, nvFatbin drops the comments.
        assert member.image == alone.image or member.kind == "ptx"


def test_ptx_alone_is_text_and_needs_no_nvfatbin(monkeypatch):
    monkeypatch.setattr(nvfatbin.NvFatbinLibrary, "load", None)
    image = load("compute_90").cubins["kernels"]
    assert (image.kind, image.archs) == ("ptx", ("compute_90",))
    assert {kernel.name for kernel in image.kernels} == {"add", "dynamic", "newer"}


def test_the_environment_names_architectures_for_sources_with_kernels(monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_ARCH", "sm_90a,sm_80")
    assert load(None).path == load(["sm_80", "sm_90a"]).path
    assert nvrtc.compile(SOURCE).archs == ("sm_80", "sm_90a")


def test_nvccs_gencode_means_the_same():
    flags = ["-gencode=arch=compute_80,code=[sm_80,compute_80]", "-gencode", "arch=compute_90a"]
    flags[-1] += ",code=sm_90a"
    image = load(None, extra_cuda_cflags=flags).cubins["kernels"]
    assert image.archs == ("sm_80", "sm_90a", "compute_80")


def test_without_nvfatbin_the_package_is_named_and_one_architecture_is_still_built(monkeypatch):
    cuda = cuda_wheels.find_cuda()
    bare = cuda_wheels.Cuda(**{**vars(cuda), "nvfatbin": None})
    monkeypatch.setattr(obtain.toolset.toolchain, "find_cuda", lambda: bare)
    with pytest.raises(ToolchainError, match=f"pip install {cuda.wheels['nvfatbin']}"):
        load(["sm_80", "sm_89"])
    assert load("sm_89").functions


def test_another_nvfatbin_makes_only_fatbins_anew(monkeypatch):
    several, one = load(THREE).path, load("sm_90").path
    monkeypatch.setattr(obtain.toolset, "library_identity", lambda *_: "another build")
    assert load("sm_90").path == one
    assert load(THREE).path != several


# What is wrong with the source


def test_a_kernel_whose_parameters_depend_on_the_architecture_is_refused():
    source = """
    #if __CUDA_ARCH__ >= 900
    extern "C" __global__ void k(float* x, int n) { x[0] = n; }
    #else
    extern "C" __global__ void k(float* x) { x[0] = 1; }
    #endif
    """
    with pytest.raises(ValueError, match=r"'k' takes .*\[8\] bytes for sm_80 .*\[8, 4\] for sm_90"):
        load(["sm_80", "sm_90"], source, functions=None)


def test_a_kernel_whose_types_depend_on_the_architecture_is_refused():
    source = """
    #if __CUDA_ARCH__ >= 900
    using T = int;
    #else
    using T = float;
    #endif
    extern "C" __global__ void k(float* x, T t) { x[0] = t; }
    """
    with pytest.raises(
        ValueError, match=r"k\(float\* x, float t\) .* sm_80 and k\(float\* x, int t"
    ):
        load(["sm_80", "sm_90"], source, functions=None)


def test_code_that_only_one_architecture_compiles_names_the_other():
    # PTX is assembled, too, before it is embedded: on a newer device it would be too late.
    source = """
    extern "C" __global__ void k(float* x) { asm volatile("setmaxnreg.inc.sync.aligned.u32 240;"); }
    """
    message = r"does not compile for compute_90(.|\n)*setmaxnreg(.|\n)*leave that out of arch="
    with pytest.raises(tc.CompileError, match=message):
        load(["sm_90a", "compute_90"], source, functions=None)


# What is launched


def test_each_device_takes_its_own_image(driver_stub):
    mod = load(EVERYTHING)
    driver_stub.set_devices(90, 80, 86, 100, 89, 120, 103)
    for device in range(7):
        mod.add(cuda_array(driver_stub, 4, device=device), device)
    assert launched(driver_stub) == [
        *((0, "sm_90a"), (1, "sm_80"), (2, "sm_80"), (3, "sm_100a"), (4, "sm_80")),
        *((5, "compute_80"), (6, "compute_80")),
    ]
    assert [struct.unpack("<i", launch.params[1])[0] for launch in driver_stub.launches()] == [
        *range(7)
    ]


def test_the_most_specific_of_those_that_fit_is_taken(driver_stub):
    mod = load(["sm_90", "sm_90a", "compute_90", "sm_100", "sm_100f"], name="specific")
    driver_stub.set_devices(90, 100, 103)
    for device in range(3):
        mod.add(cuda_array(driver_stub, 4, device=device), 0)
    assert [image for _, image in launched(driver_stub)] == ["sm_90a", "sm_100f", "sm_100f"]


def test_where_none_fits_the_error_lists_what_is_there(driver_stub):
    mod = load(["sm_80", "sm_100a"], name="none_fits")
    with pytest.raises(LaunchError) as error:
        mod.add(cuda_array(driver_stub, 4), 0)
    assert str(error.value).startswith(
        "add: the image kernels is for sm_80, sm_100a, device 0 is sm_90: compile it for that arch "
        "(cuLaunchKernelEx failed: CUDA_ERROR_NO_BINARY_FOR_GPU (209)"
    )


def test_ptx_alone_is_launched_on_what_is_no_older(driver_stub):
    mod = load("compute_90")
    mod.add(cuda_array(driver_stub, 4), 7)
    assert launched(driver_stub) == [(0, "compute_90")]
    with pytest.raises(LaunchError, match="is for compute_90, device 2 is sm_80"):
        mod.add(cuda_array(driver_stub, 4, device=2), 7)


def test_a_kernel_that_its_device_lacks_says_which_have_it(driver_stub):
    mod = load(EVERYTHING)
    mod.newer(cuda_array(driver_stub, 4))
    with pytest.raises(LaunchError) as error:
        mod.older(cuda_array(driver_stub, 4))
    assert str(error.value).startswith(
        "older: kernel older is in the image kernels for sm_80, compute_80 alone, device 0 is "
        "sm_90: a condition on the architecture leaves it out for others "
        "(cuLibraryGetKernel failed: CUDA_ERROR_NOT_FOUND (500)"
    )


@pytest.mark.parametrize(
    ("kernel", "capability", "lacks"),
    [
        ("newer", 90, False),  # sm_90a
        ("newer", 80, True),
        ("older", 80, False),
        ("older", 89, False),  # takes sm_80
        ("older", 90, True),
        ("older", 120, False),  # takes compute_80
        ("newer", 120, True),
    ],
)
def test_an_invalid_handle_is_for_want_of_the_kernel_only_where_the_device_lacks_it(
    kernel, capability, lacks, driver_stub
):
    driver_stub.set_devices(capability)
    mod = load(EVERYTHING, name="invalid_handle")
    mod.unload()
    x = cuda_array(driver_stub, 4)
    driver_stub.fail("cuLibraryGetKernel" if lacks else "cuLaunchKernelEx", INVALID_HANDLE)
    with pytest.raises(LaunchError, match=r"CUDA_ERROR_INVALID_HANDLE \(400\)") as error:
        mod[kernel](x)
    assert ("a condition on the architecture" in str(error.value)) == lacks


def test_shared_memory_counts_as_in_the_member_that_uses_most(driver_stub):
    shape = tc.Launch(grid=1, block=32, dynamic_smem_bytes=48 * 1024 - 2048)
    mod = load(["sm_80", "sm_90"], name="smem", functions={"dynamic": shape})
    mod.dynamic(cuda_array(driver_stub, 4))  # beside 4 KB of its own it has to be asked for
    assert len(driver_stub.calls("cuKernelSetAttribute")) == 1
    assert len(driver_stub.launches()) == 1


# Drivers that are too old


def test_ptx_that_is_too_new_for_the_driver_names_both_versions(driver_stub):
    mod = load("compute_90")
    made_by = ".".join(map(str, nvrtc.version()))
    driver_stub.set_driver_version(12040)
    with pytest.raises(LaunchError) as error:
        mod.add(cuda_array(driver_stub, 4), 0)
    assert f"the image kernels was made by CUDA {made_by}, the driver supports CUDA 12.4: " in str(
        error.value
    )
    assert "UNSUPPORTED_PTX_VERSION (222)" in str(error.value)


@pytest.mark.parametrize("result", [NOT_SUPPORTED_PTX, INVALID_IMAGE, INVALID_PTX])
@pytest.mark.parametrize("function", ["cuLibraryLoadData", "cuLibraryGetKernel"])
def test_an_image_of_a_newer_cuda_names_the_remedy(result, function, driver_stub, monkeypatch):
    monkeypatch.setattr(NvrtcLibrary, "version", lambda self: (14, 1))
    mod = load("sm_90", name="newer_cuda")
    mod.unload()
    driver_stub.fail(function, result, nth=0)
    driver_stub.set_driver_version(13000)
    with pytest.raises(LaunchError) as error:
        mod.add(cuda_array(driver_stub, 4), 0)
    assert (
        "add: the image kernels was made by CUDA 14.1, the driver supports CUDA 13.0: update the "
        "driver, or compile with its CUDA: pip install 'tvmffi-cubin[cu13]' and set "
        f"TVMFFI_CUBIN_CUDA=13 ({function} failed: "
    ) in str(error.value)


def test_a_damaged_image_is_no_matter_of_versions(driver_stub):
    mod = load("sm_90", name="damaged")
    mod.unload()
    driver_stub.fail("cuLibraryLoadData", INVALID_IMAGE)
    with pytest.raises(LaunchError) as error:
        mod.add(cuda_array(driver_stub, 4), 0)
    assert str(error.value).startswith(
        "add: kernel add of image kernels on device 0: cuLibraryLoad"
    )


# Devices that are too new


@pytest.mark.parametrize(
    ("capability", "arch", "image"),
    [(104, "sm_103", "sm_103"), (130, "compute_121", "compute_121")],
)
def test_a_device_that_nvrtc_does_not_know_is_launched_on_all_the_same(
    capability, arch, image, driver_stub, caplog
):
    if nvrtc.version() < (12, 9):
        pytest.skip("sm_103 and sm_121 need NVRTC 12.9")
    driver_stub.set_devices(capability)
    mod = load(None, name="too_new")
    assert mod.cubins["kernels"].arch == arch
    mod.add(cuda_array(driver_stub, 4), 0)
    assert launched(driver_stub) == [(0, image)]
    assert load(arch, name="too_new").path == mod.path
    assert f"does not know the current device's sm_{capability}" in caplog.text


@pytest.mark.usefixtures("driver_stub")
def test_what_nvrtc_knows_is_remembered_between_processes(tmp_path):
    code = """
import sys
import tvmffi_cubin as tc
print(tc.nvrtc.resolve_archs())
print("libnvrtc" in open("/proc/self/maps").read())
"""
    environment = {**os.environ, "STUB_DEVICES": "100", "TVMFFI_CUBIN_CACHE_DIR": str(tmp_path)}
    for loads in ("True", "False"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.split("\n")[:2] == ["('sm_100a',)", loads]


# Wrappers


WRAPPER = r"""
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>
#include <tvmffi_cubin/tvmffi_cubin.h>

EMBED_CUBIN(kernels);

void Run(tvm::ffi::TensorView x, tvm::ffi::String name) {
  auto kernel = EMBED_CUBIN_GET_KERNEL(kernels, name.c_str());
  void* data = x.data_ptr();
  int n = 5;
  void* args[] = {&data, &n};
  tvmffi_cubin::LaunchConfig config(1, 32);
  tvmffi_cubin::CheckDriver(kernel.Launch(args, config, x.device().device_id));
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, Run);
"""
GUIDE_WRAPPER = r"""
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/cuda/cubin_launcher.h>
#include <tvm/ffi/function.h>

TVM_FFI_EMBED_CUBIN(kernels);

void Run(tvm::ffi::TensorView x, tvm::ffi::String name) {
  auto kernel = TVM_FFI_EMBED_CUBIN_GET_KERNEL(kernels, name.c_str());
  void* data = x.data_ptr();
  int n = 5;
  void* args[] = {&data, &n};
  tvm::ffi::dim3 grid(1), block(32);
  TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(kernel.Launch(args, grid, block, nullptr));
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, Run);
"""


@pytest.fixture(params=[WRAPPER, GUIDE_WRAPPER], ids=["own", "guide"])
def wrapped(request, driver_stub):
    def make(arch):
        return tc.load_inline(
            "wrapped", [SOURCE, request.param], arch=arch, keep_module_alive=False
        )

    return make


def test_a_wrapper_launches_what_fits(wrapped, driver_stub):
    wrapped(EVERYTHING).run(cuda_array(driver_stub, 4), "add")
    assert launched(driver_stub) == [(0, "sm_90a")]


def test_a_wrappers_image_that_does_not_fit_lists_what_is_there(wrapped, driver_stub):
    mod = wrapped(["sm_75", "sm_100a"])
    with pytest.raises(LaunchError, match="the image is for sm_75, sm_100a, device 0 is sm_90: "):
        mod.run(cuda_array(driver_stub, 4), "add")


def test_a_wrappers_image_that_is_too_new_names_both_versions(wrapped, driver_stub):
    mod = wrapped("compute_90")
    driver_stub.set_driver_version(12040)
    with pytest.raises(LaunchError, match=r"was made by CUDA .*, the driver supports CUDA 12\.4: "):
        mod.run(cuda_array(driver_stub, 4), "add")


# Fatbins and PTX that were made elsewhere


def embedded(image, **kernels: str) -> tc.Module:
    functions = {k: tc.Launch(grid=1, block=1, params=v) for k, v in kernels.items()}
    return tc.load_inline("embedded", embed_cubin={"image": image}, functions=functions)


@pytest.mark.parametrize("arch", [THREE, "compute_80", EVERYTHING])
def test_kernels_of_a_given_image_are_launched_by_declared_parameters(arch, driver_stub):
    given = nvrtc.compile(SOURCE, arch=arch)
    mod = embedded(given.image, add="float* x, int n")
    assert mod.cubins["image"].archs == given.archs
    mod.add(cuda_array(driver_stub, 4), 9)
    assert struct.unpack("<i", driver_stub.launches()[0].params[1]) == (9,)


def test_declared_parameters_are_checked_against_a_fatbin():
    given = nvrtc.compile(SOURCE, arch=THREE)
    with pytest.raises(ValueError, match="'double n' of 8 bytes, in the image it has 4"):
        embedded(given, add="float* x, double n")


def test_a_kernel_that_cannot_be_read_says_why():
    data = fatbin(Row(80, b"\x28\xb5\x2f\xfd", flags=0x8000, full=99))
    with pytest.raises(
        ValueError, match="no kernel 'add'.*; image 'image': the member for sm_80: "
    ):
        embedded(data, add="float* x")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (fatbin(), "the fatbin is empty"),
        (fatbin(Row(80, bytes(64)))[:-9], "it is truncated"),
        (b".version 8.8\n.entry k", "not PTX"),
    ],
)
def test_a_damaged_image_is_named(data, message):
    with pytest.raises(ValueError, match=rf"embed_cubin\['image'\]: .*{message}"):
        embedded(data, k="float* x")


@pytest.mark.parametrize("kinds", [("relocatable",), ("ltoir",), ("relocatable", "ltoir")])
def test_a_fatbin_of_code_that_is_yet_to_be_linked_is_refused(kinds):
    made = [nvrtc.compile(SOURCE, arch="sm_90", target_type=kind).image for kind in kinds]
    rows = [Row(90, x, kind=8 if x.startswith(b"\xed") else 2) for x in made]
    with pytest.raises(ValueError, match="embed_cubin.*yet to be linked.*device_libraries"):
        embedded(fatbin(*rows), add="float* x, int n")


# nvFatbin itself


def join(*cubins: tc.Cubin) -> tc.Cubin:
    return nvfatbin.join(cubins, cuda=cuda_wheels.find_cuda())


def test_images_are_joined_in_one_order_with_what_is_known_of_them():
    new, old = (nvrtc.compile(SOURCE, arch=arch) for arch in ("sm_90a", "sm_80"))
    whole = join(new, old)
    assert whole == join(old, new)
    assert (whole.arch, whole.cuda_version) == ("sm_80, sm_90a", new.cuda_version)


def test_an_image_is_not_joined_under_another_architecture():
    image = nvrtc.compile(SOURCE, arch="sm_90a").image
    ptx = nvrtc.compile(SOURCE, arch="compute_80").image
    for wrong in (tc.Cubin(image, "sm_90"), tc.Cubin(ptx, "compute_90", kind="ptx")):
        with pytest.raises(ValueError, match=f"the image for {wrong.arch} is one for "):
            join(nvrtc.compile(SOURCE, arch="sm_75"), wrong)


@pytest.mark.parametrize(
    ("kind", "message"), [("relocatable", "not 'relocatable'"), ("ltoir", "not 'ltoir'")]
)
def test_what_is_not_linked_is_not_joined(kind, message):
    unlinked = nvrtc.compile(SOURCE, arch="sm_90", target_type=kind)
    with pytest.raises(ValueError, match=f"cubins and PTX, {message}"):
        join(nvrtc.compile(SOURCE, arch="sm_80"), unlinked)


def test_an_unlinked_image_is_not_joined_as_a_cubin():
    unlinked = nvrtc.compile(SOURCE, arch="sm_90", target_type="relocatable")
    with pytest.raises(ValueError, match="the image for sm_90 is not linked yet"):
        join(tc.Cubin(unlinked.image, "sm_90"))


def test_two_images_for_one_architecture_are_not_joined():
    cubin = nvrtc.compile(SOURCE, arch="sm_80")
    with pytest.raises(ValueError, match="two images are for sm_80"):
        join(cubin, nvrtc.compile(SOURCE, arch="sm_80"))


def test_containers_are_freed_on_every_way_out(monkeypatch):
    library = nvfatbin.NvFatbinLibrary.load(cuda_wheels.find_cuda().require("nvfatbin"))
    alive = 0
    create, destroy = library.library.nvFatbinCreate, library.library.nvFatbinDestroy

    def counted(function, step):
        def call(*arguments):
            nonlocal alive
            alive += step
            return function(*arguments)

        return call

    monkeypatch.setattr(library.library, "nvFatbinCreate", counted(create, 1))
    monkeypatch.setattr(library.library, "nvFatbinDestroy", counted(destroy, -1))
    cubins = [nvrtc.compile(SOURCE, arch=arch) for arch in ("sm_80", "sm_90")]
    join(*cubins)
    monkeypatch.setattr(library.library, "nvFatbinGet", lambda *_: 1)
    with pytest.raises(tc.CubinError, match="nvFatbinGet of .* failed: .*internal error"):
        join(*cubins)
    assert alive == 0


def test_its_version_is_that_of_the_family():
    cuda = cuda_wheels.find_cuda()
    library = nvfatbin.NvFatbinLibrary.load(cuda.require("nvfatbin"))
    assert library.version()[0] == cuda.major


@pytest.mark.parametrize(
    "options", [[b"-compress-all"], [b"-compress-all", b"-compress-mode=size"]]
)
def test_what_nvfatbin_compresses_is_read_or_the_reason_given(options, monkeypatch):
    monkeypatch.setattr(nvfatbin, "_OPTIONS", tuple(options))
    plain = [nvrtc.compile(SOURCE, arch=arch) for arch in ("sm_80", "sm_90a", "compute_80")]
    packed = join(*plain)
    assert packed.archs == ("sm_80", "sm_90a", "compute_80")
    if packed.unreadable:
        assert "zstandard" in packed.unreadable[0]
        return
    assert packed.kernels == join(*plain).kernels
    assert [member.image for member in packed.members[:2]] == [x.image for x in plain[:2]]


def test_a_file_that_is_no_library_is_a_toolchain_error(tmp_path):
    file = tmp_path / "libnvfatbin.so.12"
    file.write_text("nothing")
    with pytest.raises(ToolchainError, match=r"nvFatbin could not be loaded .*force-reinstall"):
        nvfatbin.NvFatbinLibrary.load(file)


def test_hand_made_fatbins_are_what_nvfatbin_makes(driver_stub):
    new, ptx = nvrtc.compile(SOURCE, arch="sm_90a"), nvrtc.compile(SOURCE, arch="compute_80")
    made = fatbin(Row(90, new.image, flags=SPECIFIC), Row(80, ptx.image, PTX))
    embedded(made, add="float* x, int n").add(cuda_array(driver_stub, 4), 9)
    assert launched(driver_stub) == [(0, "sm_90a")]
    assert os.path.exists(embedded(made, add="float* x, int n").path)
