"""A cache on a file system that is mounted noexec: copies are loaded, and it is named."""

from __future__ import annotations

import os
from pathlib import Path

import mounts
import pytest
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc
from tvmffi_cubin import executable

SOURCE = 'extern "C" __global__ void k(float* x) { x[0] = 1; }'
LAUNCH = {"k": tc.Launch(grid="x.numel", block=1)}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "noexec"))
    return tmp_path / "noexec"


def loaded() -> tc.Module:
    return tc.load_inline("noexec", SOURCE, functions=LAUNCH, arch="sm_90")


def copies(folder: Path) -> list[Path]:
    return sorted(folder.glob("tvmffi_cubin-*/noexec.so"))


def test_a_copy_is_loaded_and_one_warning_names_the_folder(
    folder, tmp_path, monkeypatch, caplog, fresh_driver_stub
):
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    def work():
        mod = loaded()
        mod.k(cuda_array(fresh_driver_stub, 3))
        again = loaded()
        again.k(cuda_array(fresh_driver_stub, 2))
        same = os.fspath(mod.path) == again.path and mod.path.startswith(str(folder))
        grids = [launch.grid for launch in fresh_driver_stub.launches()]
        said = [record.getMessage() for record in caplog.records]
        return same, grids, said, len(copies(tmp_path)), mod.cubins["kernels"].arch

    same, grids, said, count, arch = mounts.with_mount(work, folder, flags=mounts.NOEXEC)
    assert same
    assert grids == [(3, 1, 1), (2, 1, 1)]
    assert count == 1
    assert arch == "sm_90"
    (text,) = said
    assert "mounted noexec" in text
    assert str(folder) in text
    assert "TVMFFI_CUBIN_CACHE_DIR" in text


def test_where_no_folder_takes_it_a_file_in_memory_is_loaded(
    folder, monkeypatch, fresh_driver_stub
):
    monkeypatch.setattr(executable, "_places", lambda: iter(["/nowhere", str(folder)]))

    def work():
        loaded().k(cuda_array(fresh_driver_stub, 3))
        return [launch.grid for launch in fresh_driver_stub.launches()]

    assert mounts.with_mount(work, folder, flags=mounts.NOEXEC) == [(3, 1, 1)]


def test_where_nothing_can_be_loaded_the_error_has_the_remedy(folder, monkeypatch):
    monkeypatch.setattr(executable, "_places", lambda: iter(()))
    with pytest.raises(tc.CacheError, match=r"mounted noexec.*TVMFFI_CUBIN_CACHE_DIR"):
        mounts.with_mount(loaded, folder, flags=mounts.NOEXEC)


def test_a_shared_object_of_ones_own_there_is_refused_by_name(folder):
    def work():
        path = tc.build_inline("noexec", SOURCE, functions=LAUNCH, arch="sm_90")
        return tc.load_module(path)

    with pytest.raises(tc.BuildError, match=r"(?s)noexec\.so does not load: .*mounted noexec"):
        mounts.with_mount(work, folder, flags=mounts.NOEXEC)
