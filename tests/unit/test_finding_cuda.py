"""Which CUDA family is used, of what is installed; played with empty files in folders."""

import platform
import sys

import pytest

from tvmffi_cubin.cuda import libraries
from tvmffi_cubin.cuda.libraries import find_cuda
from tvmffi_cubin.errors import ToolchainError

FILES = {
    12: {
        "nvidia_cuda_nvrtc_cu12": "cuda_nvrtc/lib/libnvrtc.so.12",
        "nvidia_cuda_runtime_cu12": "cuda_runtime/include/cuda_fp16.h",
        "nvidia_cuda_cccl_cu12": "cuda_cccl/include/cuda/std/cstdint",
    },
    13: {
        "nvidia_cuda_nvrtc": "cu13/lib/libnvrtc.so.13",
        "nvidia_cuda_runtime": "cu13/include/cuda_fp16.h",
        "nvidia_cuda_crt": "cu13/include/crt/mma.h",
        "nvidia_cuda_cccl": "cu13/include/cccl/cuda/std/cstdint",
    },
}


def install(site, major, *wheels):
    for wheel in wheels or FILES[major]:
        file = site / "nvidia" / FILES[major][wheel]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()


@pytest.fixture
def site(tmp_path, monkeypatch):
    """An empty folder that is the only one with wheels; no driver, no override."""
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])
    monkeypatch.setenv("TVMFFI_CUBIN_DRIVER", str(tmp_path / "libnone.so"))
    monkeypatch.delenv("TVMFFI_CUBIN_CUDA", raising=False)
    monkeypatch.setattr(libraries, "_TOOLKIT", str(tmp_path / "toolkit"))
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    libraries._find.cache_clear()
    yield tmp_path / "site"
    libraries._find.cache_clear()


def test_the_parts_of_cuda_12_are_found(site):
    install(site, 12)
    cuda = find_cuda()
    assert cuda.major == 12
    assert cuda.nvrtc == site / "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"
    assert cuda.require("runtime") == site / "nvidia/cuda_runtime/include"
    assert cuda.require("cccl") == site / "nvidia/cuda_cccl/include"
    assert "cudart" not in cuda.parts
    assert cuda.include_dirs == (cuda.require("runtime"), cuda.require("cccl"))


def test_the_parts_of_cuda_13_are_found(site):
    install(site, 13)
    cuda = find_cuda()
    assert cuda.major == 13
    assert cuda.nvrtc == site / "nvidia/cu13/lib/libnvrtc.so.13"
    assert cuda.require("runtime") == site / "nvidia/cu13/include"
    assert cuda.require("cccl") == site / "nvidia/cu13/include/cccl"
    assert cuda.include_dirs == (cuda.require("runtime"), cuda.require("cccl"))


def test_headers_of_further_wheels_are_found_where_they_are_installed(site):
    install(site, 12)
    for file in ("cuda_nvcc/include/crt/mma.h", "curand/include/curand_kernel.h"):
        (site / "nvidia" / file).parent.mkdir(parents=True)
        (site / "nvidia" / file).touch()
    assert find_cuda().include_dirs[2:] == (
        site / "nvidia/cuda_nvcc/include",
        site / "nvidia/curand/include",
    )


@pytest.mark.parametrize(
    ("version", "major"), [(None, 12), (11080, 12), (12090, 12), (13000, 13), (14000, 13)]
)
def test_of_two_families_the_driver_decides(site, driver_stub, monkeypatch, version, major):
    install(site, 12)
    install(site, 13)
    if version is None:
        monkeypatch.setenv("TVMFFI_CUBIN_DRIVER", str(site / "libnone.so"))
    else:
        driver_stub.set_driver_version(version)
    assert find_cuda().major == major


def test_a_family_that_is_alone_is_used_without_a_question_to_the_driver(site, driver_stub):
    driver_stub.set_driver_version(12000)
    install(site, 13)
    assert find_cuda().major == 13
    assert not driver_stub.log()


def test_a_complete_family_comes_before_an_incomplete_one(site, driver_stub):
    driver_stub.set_driver_version(13000)
    install(site, 12)
    install(site, 13, "nvidia_cuda_nvrtc", "nvidia_cuda_runtime")
    assert find_cuda().major == 12


def test_the_override_decides_and_may_change(site, monkeypatch):
    install(site, 12)
    install(site, 13)
    for value, major in (("13", 13), ("12", 12), ("", 12)):
        monkeypatch.setenv("TVMFFI_CUBIN_CUDA", value)
        assert find_cuda().major == major


def test_an_override_for_what_is_not_installed_says_what_to_install(site, monkeypatch):
    install(site, 12)
    monkeypatch.setenv("TVMFFI_CUBIN_CUDA", "13")
    with pytest.raises(ToolchainError) as caught:
        find_cuda()
    assert "TVMFFI_CUBIN_CUDA=13" in str(caught.value)
    assert "pip install 'tvmffi-cubin[cu13]'" in str(caught.value)


@pytest.mark.parametrize("value", ["11", "12.9", "cu13", "/usr/local/cuda"])
def test_an_override_that_is_no_family_is_a_value_error(site, monkeypatch, value):
    monkeypatch.setenv("TVMFFI_CUBIN_CUDA", value)
    with pytest.raises(ValueError, match="set it to 12 or 13"):
        find_cuda()


def test_nothing_installed_says_what_to_install(site):
    with pytest.raises(ToolchainError, match=r"pip install 'tvmffi-cubin\[cu12\]'"):
        find_cuda()


def test_what_is_installed_later_is_found(site):
    with pytest.raises(ToolchainError):
        find_cuda()
    install(site, 12)
    assert find_cuda().major == 12


def test_what_nobody_needs_is_not_asked_for(site, monkeypatch):
    install(site, 13, "nvidia_cuda_nvrtc")
    cuda = find_cuda()
    assert (cuda.major, cuda.include_dirs) == (13, ())
    with pytest.raises(ToolchainError, match="pip install nvidia-cuda-runtime$"):
        cuda.require("runtime")
    with pytest.raises(ToolchainError, match="pip install nvidia-nvjitlink$"):
        cuda.require("nvjitlink")


def toolkit(folder, major, *files):
    for file in (f"lib/libcudart.so.{major}", *files):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).touch()
    return folder


@pytest.mark.parametrize("inner", ["", f"targets/{platform.machine()}-linux"])
def test_what_wheels_lack_a_toolkit_of_their_major_version_has(site, tmp_path, monkeypatch, inner):
    install(site, 13, "nvidia_cuda_nvrtc", "nvidia_cuda_runtime")
    headers = ("include/crt/mma.h", "include/cccl/cuda/std/cstdint", "include/cuda_fp16.h")
    root = toolkit(tmp_path / "toolkit" / inner, 13, *headers, "lib/libnvrtc.so.13")
    cuda = find_cuda()
    assert cuda.nvrtc == site / "nvidia/cu13/lib/libnvrtc.so.13"
    own = site / "nvidia/cu13/include"
    assert cuda.include_dirs == (own, root / "include/cccl", root / "include")
    monkeypatch.setenv("CUDA_HOME", str(toolkit(tmp_path / "home", 13, "include/crt/mma.h")))
    assert find_cuda().require("crt") == tmp_path / "home/include"


def test_a_toolkit_of_another_major_version_has_no_part_in_it(site, tmp_path):
    install(site, 12)
    toolkit(tmp_path / "toolkit", 13, "lib/libnvJitLink.so.12", "include/crt/mma.h")
    cuda = find_cuda()
    assert "nvjitlink" not in cuda.parts
    assert "crt" not in cuda.parts


def test_a_toolkit_alone_will_do(site, tmp_path):
    toolkit(tmp_path / "toolkit", 13, "lib/libnvrtc.so.13", "include/cuda_fp16.h")
    assert find_cuda().nvrtc == tmp_path / "toolkit/lib/libnvrtc.so.13"


def test_missing_cccl_is_no_error(site):
    install(site, 12, "nvidia_cuda_nvrtc_cu12", "nvidia_cuda_runtime_cu12")
    assert "cccl" not in find_cuda().parts


def test_the_parts_may_lie_in_several_folders_and_the_first_wins(site, tmp_path):
    other = tmp_path / "other"
    sys.path.append(str(other))
    install(site, 12, "nvidia_cuda_nvrtc_cu12")
    install(other, 12)
    cuda = find_cuda()
    assert site in cuda.nvrtc.parents
    assert other in cuda.require("runtime").parents


@pytest.mark.parametrize("relative", ["", "lib"])
def test_a_current_folder_that_is_deleted_has_no_wheels(site, tmp_path, monkeypatch, relative):
    install(site, 12)
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    sys.path.insert(0, relative)
    assert site in find_cuda().nvrtc.parents
