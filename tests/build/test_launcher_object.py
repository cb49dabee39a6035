"""The object that all generated launchers share: where it is kept, and that it is made once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import tvmffi_cubin
from tvmffi_cubin import launcher_object, toolset
from tvmffi_cubin.cache import Cache

BESIDE = Path(tvmffi_cubin.__file__).parent / "__pycache__" / "launcher"


@pytest.fixture
def tools():
    return toolset.find(needs_cuda=True)


def test_it_lies_beside_the_package_whatever_the_cache_folder(tools, tmp_path):
    first = launcher_object.obtain(Cache(tmp_path / "one"), tools)
    second = launcher_object.obtain(Cache(tmp_path / "two"), tools)
    assert first.so == second.so
    assert BESIDE in first.so.parents
    assert not list(tmp_path.iterdir())


def test_it_lies_in_the_cache_where_the_package_cannot_be_written(tools, tmp_path, monkeypatch):
    may = os.access
    package = str(BESIDE.parent.parent)
    monkeypatch.setattr(
        os, "access", lambda path, mode: not str(path).startswith(package) and may(path, mode)
    )
    made = launcher_object.obtain(Cache(tmp_path), tools)
    assert tmp_path in made.so.parents
    assert launcher_object.obtain(Cache(tmp_path), tools).so == made.so


def test_it_depends_on_no_header_of_the_system(tools, tmp_path):
    read = launcher_object.obtain(Cache(tmp_path), tools).facts["dependencies"]
    assert any(path.endswith("launcher/plan.h") for path in read)
    assert any(path.endswith("tvm/ffi/c_api.h") for path in read)
    assert not [path for path in read if path.startswith("/usr/include/stdio")]
