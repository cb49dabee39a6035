"""Modules that several files of launch tests share: built once a session."""

from __future__ import annotations

import pytest
from launch_kernels import OPS, OPS_FUNCTIONS, SCALARS

import tvmffi_cubin as tc


@pytest.fixture(scope="session")
def scalars(_own_environment: None) -> tc.Module:
    """One function for each kernel of SCALARS, launched in the shape 1, 1."""
    return tc.load_inline("scalars", SCALARS, arch="sm_90")


@pytest.fixture(scope="session")
def ops(_own_environment: None) -> tc.Module:
    """The functions of OPS_FUNCTIONS, for the stub's devices 0 and 1."""
    return tc.load_inline("ops", OPS, functions=OPS_FUNCTIONS, arch="sm_90")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The current folder, empty."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder
