"""Modules that several files of launch tests share: built once a session."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from dispatch_kernels import DISPATCH, DISPATCH_FUNCTIONS
from launch_kernels import OPS, OPS_FUNCTIONS, SCALARS
from stub.driver_stub import DriverStub

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


@pytest.fixture(scope="session")
def instances(_own_environment: None) -> tc.Module:
    """The functions of DISPATCH_FUNCTIONS."""
    return tc.load_inline("instances", DISPATCH, functions=DISPATCH_FUNCTIONS, arch="sm_90")


@pytest.fixture
def launched(instances: tc.Module, driver_stub: DriverStub) -> Callable[[], list[str]]:
    """The kernels of `instances` launched since the last call of this, as people write them."""
    names = {symbol: name for name, symbol in instances.cubins["kernels"].lowered_names.items()}

    def take() -> list[str]:
        kernels = [names.get(x.kernel or "", x.kernel or "") for x in driver_stub.launches()]
        driver_stub.reset()
        return kernels

    return take
