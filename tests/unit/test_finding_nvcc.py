"""nvcc: where it is found, what it is, its flags, what does not go with it; with none installed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tvmffi_cubin.cache import memo
from tvmffi_cubin.cuda import nvcc
from tvmffi_cubin.errors import ToolchainError
from tvmffi_cubin.inline.request import Request, make_request

FAKE = """#!/bin/sh
echo "$1" >> {folder}/asked
case "$1" in
--version) echo "Cuda compilation tools, release {version}, V{version}.1"; echo "Build {build}" ;;
--dryrun) echo '#$ _HERE_={folder}/bin'; echo '#$ TOP={folder}/bin/..'
  echo '#$ INCLUDES="-I{folder}/bin/../include"'
  echo '#$ SYSTEM_INCLUDES="-isystem" "{folder}/bin/../include/cccl"'
  echo '#$ LIBRARIES= "-L{folder}/bin/../lib/stubs" "-L{folder}/bin/../lib"' ;;
esac
"""
SOURCE = "int one() { return 1; }"


def fake(folder: Path, *, version: str = "13.1", build: str = "1") -> Path:
    path = folder / "bin" / "nvcc"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(FAKE.format(folder=folder, version=version, build=build))
    path.chmod(0o755)
    (folder / "lib").mkdir(exist_ok=True)
    (folder / "lib" / "libcudart_static.a").write_bytes(b"!<arch>\n")
    return path


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch):
    """No nvcc anywhere."""
    for name in ("TVMFFI_CUBIN_NVCC", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    for name in ("NVCC_CCBIN", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "TVMFFI_CUBIN_ARCH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "/bin:/usr/bin")
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(nvcc, "_DEFAULT", str(tmp_path / "usr_local_cuda"))
    monkeypatch.setattr(sys, "path", [])
    memo._answers.clear()
    yield
    memo._answers.clear()


# Finding


def test_the_variable_comes_first_then_homes_path_wheels_and_the_usual_folder(
    tmp_path, monkeypatch
):
    site = tmp_path / "site"
    places = {name: fake(tmp_path / name) for name in ("named", "home", "path", "path_dir")}
    wheel, usual = fake(site / "nvidia" / "cu13"), fake(tmp_path / "usr_local_cuda")
    assert nvcc.locate() == usual
    monkeypatch.setattr(sys, "path", ["", str(site)])
    assert nvcc.locate() == wheel
    monkeypatch.setenv("PATH", f"{places['path'].parent}:/bin")
    assert nvcc.locate() == places["path"]
    monkeypatch.setenv("CUDA_PATH", str(tmp_path / "path_dir"))
    assert nvcc.locate() == places["path_dir"]
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
    assert nvcc.locate() == places["home"]
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "nothing here"))
    assert nvcc.locate() == places["path_dir"]
    monkeypatch.setenv("TVMFFI_CUBIN_NVCC", str(places["named"]))
    assert nvcc.locate() == places["named"]


def test_where_there_is_none_the_error_says_what_to_do(tmp_path, monkeypatch):
    with pytest.raises(ToolchainError, match=r"CUDA_HOME.*on PATH.*pip install nvidia-cuda-nvcc"):
        nvcc.locate()
    fake(tmp_path / "usr_local_cuda")
    monkeypatch.setenv("TVMFFI_CUBIN_NVCC", "/no/nvcc")
    with pytest.raises(ToolchainError, match="TVMFFI_CUBIN_NVCC='/no/nvcc': there is no such"):
        nvcc.locate()


def test_it_says_where_its_headers_and_its_runtime_are(tmp_path):
    found = nvcc.describe(fake(tmp_path / "cuda"))
    folder = tmp_path / "cuda"
    assert (found.version, found.major) == ("13.1", 13)
    assert found.includes == (f"{folder}/include", f"{folder}/include/cccl")
    assert nvcc.runtime(found, ())[0] == (f"{folder}/lib/libcudart_static.a",)
    assert found.root == str(folder)


def test_what_it_says_is_remembered_until_it_changes(tmp_path):
    path = fake(tmp_path / "cuda")
    first = nvcc.describe(path)
    asked = tmp_path / "cuda" / "asked"
    memo._answers.clear()
    before = os.stat(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns - 10**11))
    nvcc.describe(path)
    asked.unlink()
    assert nvcc.describe(path) == first
    assert not asked.exists()
    fake(tmp_path / "cuda", build="2")
    assert nvcc.describe(path).identity != first.identity


def test_what_is_no_nvcc_is_refused(tmp_path):
    path = fake(tmp_path / "cuda")
    path.write_text("#!/bin/sh\necho gcc 12\n")
    with pytest.raises(ToolchainError, match="says no CUDA release, so it is no nvcc: 'gcc 12'"):
        nvcc.describe(path)
    path.write_text("#!/bin/sh\necho broken; exit 3\n")
    with pytest.raises(ToolchainError, match="failed: broken"):
        nvcc.describe(path)


# Requests


def request(source: str = SOURCE, **options: object) -> Request:
    options.setdefault("functions", ["one"])
    return make_request("m", cuda_sources=source, compiler="nvcc", **options)


@pytest.mark.parametrize(
    "options",
    [
        {"kernel_sources": "__global__ void k() {}"},
        {"name_expressions": "k<int>"},
        {"lto": True},
        {"bound_params": "int* p"},
        {"device_libraries": [b"\x7fELF"]},
    ],
)
def test_what_is_for_nvrtc_alone_is_refused_by_name(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} is for NVRTC"):
        request(**options)


# Errors


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        (
            "host_config.h:139:2: error: #error -- unsupported GNU version! gcc versions later "
            "than 15 are not supported!",
            "-allow-unsupported-compiler",
        ),
        ("sh: 1: cicc: not found", "pip install nvidia-nvvm"),
        ("a.cu:1:10: fatal error: cub/cub.cuh: No such file or directory", "nvidia-cuda-cccl"),
    ],
)
def test_what_nvcc_says_is_explained(said: str, hint: str):
    (found,) = nvcc.hints(said)
    assert hint in found
    assert nvcc.hints('a.cu(3): error: identifier "x" is undefined') == []
