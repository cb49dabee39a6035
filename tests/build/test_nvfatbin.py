"""nvFatbin, and fatbins and PTX that were made elsewhere."""

from __future__ import annotations

import os
import struct

import pytest
from alive import Alive
from fatbin_builder import PTX, SPECIFIC, Row, fatbin
from several_architectures import (
    EVERYTHING,
    SOURCE,
    THREE,
    as_new_as_nvrtc,
    launched,
    needs_sm_100a,
)
from stub.cuda_array import cuda_array
from stub.driver_stub import DriverStub

import tvmffi_cubin as tc
from tvmffi_cubin import nvrtc
from tvmffi_cubin.cuda import libraries, nvfatbin
from tvmffi_cubin.errors import CompileError, ToolchainError

pytestmark = needs_sm_100a


@pytest.fixture
def driver_stub(driver_stub: DriverStub) -> DriverStub:
    return as_new_as_nvrtc(driver_stub)


# Fatbins and PTX that were made elsewhere


def embedded(image, **kernels: str) -> tc.Module:
    functions = {k: tc.Launch(grid=1, block=1, params=v) for k, v in kernels.items()}
    images = {"image": image}
    return tc.load_inline("embedded", embed_cubin=images, functions=functions, ptx="keep")


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
        (b".version 8.8\n.target sm_90\nnonsense", "the PTX has no kernel"),
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
    return nvfatbin.join(cubins, cuda=libraries.find_cuda())


def test_images_are_joined_in_one_order_with_what_is_known_of_them():
    new, old = (nvrtc.compile(SOURCE, arch=arch) for arch in ("sm_90a", "sm_80"))
    whole = join(new, old)
    assert whole == join(old, new)
    assert (whole.arch, whole.cuda_version) == ("sm_80, sm_90a", new.cuda_version)


@pytest.mark.skipif(nvrtc.version() < (12, 9), reason="needs NVRTC 12.9 for its seed")
def test_a_kernel_of_an_unnamed_namespace_is_one_kernel_in_all_members():
    source = "namespace { __global__ void hidden(int* x) { x[0] = 1; } }"

    def made(arch, seed):
        options = [f"-frandom-seed={seed}"]
        return nvrtc.compile(source, arch=arch, options=options, name_expressions=["hidden"])

    assert len(join(made("sm_80", 1), made("compute_90", 1)).kernels) == 1
    # As NVRTC before 12.9 names them, a second apart.
    with pytest.raises(CompileError) as caught:
        join(made("sm_80", 1), made("sm_90", 2))
    assert "gave kernel (anonymous namespace)::hidden(int*) one symbol for sm_80 and" in (
        str(caught.value)
    )
    assert "sm_90: name the namespace, make the kernel extern" in str(caught.value)
    assert "pip install --upgrade 'nvidia-cuda-nvrtc" in str(caught.value)


def test_containers_are_freed_on_every_way_out(monkeypatch):
    library = nvfatbin.NvFatbin.of(libraries.find_cuda().require("nvfatbin"))
    alive = Alive(monkeypatch, library.calls, "nvFatbinCreate", "nvFatbinDestroy")
    cubins = [nvrtc.compile(SOURCE, arch=arch) for arch in ("sm_80", "sm_90")]
    join(*cubins)
    monkeypatch.setattr(library.calls, "nvFatbinGet", lambda *_: 1)
    with pytest.raises(tc.CubinError, match="nvFatbinGet of .* failed with error 1"):
        join(*cubins)
    assert alive.count == 0


def test_its_version_is_that_of_the_family():
    cuda = libraries.find_cuda()
    library = nvfatbin.NvFatbin.of(cuda.require("nvfatbin"))
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
        nvfatbin.NvFatbin.of(file)


def test_hand_made_fatbins_are_what_nvfatbin_makes(driver_stub):
    new, ptx = nvrtc.compile(SOURCE, arch="sm_90a"), nvrtc.compile(SOURCE, arch="compute_80")
    made = fatbin(Row(90, new.image, flags=SPECIFIC), Row(80, ptx.image, PTX))
    embedded(made, add="float* x, int n").add(cuda_array(driver_stub, 4), 9)
    assert launched(driver_stub) == [(0, "sm_90a")]
    assert os.path.exists(embedded(made, add="float* x, int n").path)
