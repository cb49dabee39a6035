"""What is on a file system that is mounted noexec cannot be loaded, and says so."""

from __future__ import annotations

import mounts
import pytest

import tvmffi_cubin as tc


def test_a_cache_that_is_mounted_noexec_is_told_with_the_remedy(tmp_path, monkeypatch):
    folder = tmp_path / "noexec"
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(folder))
    source = 'extern "C" __global__ void k(float* x) { x[0] = 1; }'

    def load():
        tc.load_inline("noexec", source, arch="sm_90")

    told = r"(?s)noexec\.so does not load: .*mounted noexec.*TVMFFI_CUBIN_CACHE_DIR"
    with pytest.raises(tc.BuildError, match=told):
        mounts.with_mount(load, folder, flags=mounts.NOEXEC)
