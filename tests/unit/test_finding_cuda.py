"""Which CUDA family is used, of what is installed; played with empty files in folders."""

import platform
import sys

import pytest

from tvmffi_cubin.cuda import libraries
from tvmffi_cubin.cuda.libraries import find_cuda
from tvmffi_cubin.errors import ToolchainError

FILES = {
    12: {
        "nvrtc": "cuda_nvrtc/lib/libnvrtc.so.12",
        "runtime": "cuda_runtime/include/cuda_fp16.h",
        "cccl": "cuda_cccl/include/cuda/std/cstdint",
    },
    13: {
        "nvrtc": "cu13/lib/libnvrtc.so.13",
        "runtime": "cu13/include/cuda_fp16.h",
        "crt": "cu13/include/crt/mma.h",
        "cccl": "cu13/include/cccl/cuda/std/cstdint",
    },
}


def touch(*files):
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()


def install(site, major, *parts):
    touch(*(site / "nvidia" / FILES[major][part] for part in parts or FILES[major]))


@pytest.fixture
def site(tmp_path, monkeypatch):
    """An empty folder that is the only one with wheels; no driver, no override."""
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])
    monkeypatch.setenv("TVMFFI_CUBIN_DRIVER", str(tmp_path / "libnone.so"))
    monkeypatch.setattr(libraries, "TOOLKIT", str(tmp_path / "toolkit"))
    for name in ("CUDA_HOME", "CUDA_PATH", "TVMFFI_CUBIN_CUDA"):
        monkeypatch.delenv(name, raising=False)
    libraries._find.cache_clear()
    yield tmp_path / "site"
    libraries._find.cache_clear()


@pytest.mark.parametrize(
    ("major", "nvrtc", "folders"),
    [
        (12, "cuda_nvrtc/lib/libnvrtc.so.12", ("cuda_runtime/include", "cuda_cccl/include")),
        (13, "cu13/lib/libnvrtc.so.13", ("cu13/include", "cu13/include/cccl")),
    ],
)
def test_the_parts_of_a_family_are_found(site, major, nvrtc, folders):
    install(site, major)
    cuda = find_cuda()
    assert (cuda.major, cuda.require("nvrtc")) == (major, site / "nvidia" / nvrtc)
    assert cuda.include_dirs == tuple(site / "nvidia" / folder for folder in folders)
    assert "cudart" not in cuda.parts


@pytest.mark.parametrize(("version", "major"), [(None, 12), (12090, 12), (13000, 13)])
def test_of_two_families_the_driver_decides(site, driver_stub, monkeypatch, version, major):
    install(site, 12)
    install(site, 13, "nvrtc", "runtime")
    assert find_cuda().major == 12  # the complete one
    libraries._find.cache_clear()
    install(site, 13)
    if version is not None:
        monkeypatch.setenv("TVMFFI_CUBIN_DRIVER", str(driver_stub.path))
        driver_stub.set_driver_version(version)
    assert find_cuda().major == major


def test_the_override_decides_and_may_change(site, monkeypatch):
    install(site, 12)
    monkeypatch.setenv("TVMFFI_CUBIN_CUDA", "13")
    with pytest.raises(ToolchainError, match=r"has NVRTC 13; .*install 'tvmffi-cubin\[cu13"):
        find_cuda()
    install(site, 13)
    libraries._find.cache_clear()
    for value, major in (("13", 13), ("12", 12), ("", 12)):
        monkeypatch.setenv("TVMFFI_CUBIN_CUDA", value)
        assert find_cuda().major == major
    monkeypatch.setenv("TVMFFI_CUBIN_CUDA", "12.9")
    with pytest.raises(ValueError, match="set it to 12 or 13"):
        find_cuda()


def test_what_is_missing_is_named_where_it_is_needed(site):
    with pytest.raises(ToolchainError, match=r"pip install 'tvmffi-cubin\[cu12\]'"):
        find_cuda()
    install(site, 13, "nvrtc")
    cuda = find_cuda()
    assert (cuda.major, cuda.include_dirs) == (13, ())
    with pytest.raises(ToolchainError, match="pip install nvidia-nvjitlink$"):
        cuda.require("nvjitlink")
    library = site / "nvidia/cu13/lib/libnvJitLink.so.13"
    touch(library)  # by a notebook that goes on
    assert find_cuda().require("nvjitlink") == library


@pytest.mark.parametrize("inner", ["", f"targets/{platform.machine()}-linux"])
def test_what_wheels_lack_a_toolkit_of_their_major_version_has(site, tmp_path, monkeypatch, inner):
    install(site, 13, "nvrtc", "runtime")
    root = tmp_path / "toolkit" / inner
    files = ("include/crt/mma.h", "include/cccl/cuda/std/cstdint", "include/cuda_fp16.h")
    touch(*(root / file for file in (*files, "lib/libnvrtc.so.13", "lib/libcudart.so.13")))
    touch(root / "lib/libnvJitLink.so.12")
    cuda = find_cuda()
    assert cuda.require("nvrtc") == site / "nvidia/cu13/lib/libnvrtc.so.13"
    own = site / "nvidia/cu13/include"
    assert cuda.include_dirs == (own, root / "include/cccl", root / "include")
    assert "nvjitlink" not in cuda.parts
