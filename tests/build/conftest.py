"""Modules and wrappers that several files of tests share: built once a session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import tvm_ffi
from attribute_kernels import ATTRIBUTE_FUNCTIONS, ATTRIBUTE_KERNELS
from dispatch_kernels import DISPATCH, DISPATCH_FUNCTIONS
from header_stock import HeaderStock
from launch_kernels import OPS, OPS_FUNCTIONS, SCALARS
from mixed_workshop import MixedWorkshop
from stub.driver_stub import DriverStub
from wrapper_workshop import Workshop, load_anew

import tvmffi_cubin as tc
from tvmffi_cubin import host_pch
from tvmffi_cubin.later import Begun


@pytest.fixture(scope="session")
def header_stock(run_folder: Path) -> HeaderStock:
    """Wrappers' precompiled headers, for all workers."""
    return HeaderStock(run_folder / "stock")


# Before any fixture that builds.
@pytest.fixture(scope="package", autouse=True)
def _header_stock(header_stock: HeaderStock) -> Iterator[int]:
    """Have builds take precompiled headers from the stock: most would make some for themselves.

    Yields how many a cache keeps outside the tests.
    """
    most = host_pch._MOST
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host_pch, "find", header_stock.find)
        # Who wants the next has none of these removed.
        patch.setattr(host_pch, "_MOST", 12)
        yield most


@pytest.fixture
def own_headers(header_stock: HeaderStock, _header_stock: int) -> Iterator[None]:
    """Precompiled headers as they are outside the tests: in the build's cache, made at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host_pch, "find", header_stock.genuine)
        patch.setattr(host_pch, "_MOST", _header_stock)
        # Else what is made for the stock meanwhile, or was tried in vain, is not made for this one.
        patch.setattr(host_pch, "_begun", Begun())
        yield


@pytest.fixture(scope="session")
def scalars(_own_environment: None) -> tc.Module:
    """One function for each kernel of SCALARS, launched in the shape 1, 1."""
    return tc.load_inline("scalars", SCALARS, arch="sm_90")


@pytest.fixture(scope="session")
def ops(_own_environment: None) -> tc.Module:
    """The functions of OPS_FUNCTIONS, for the stub's devices 0 and 1."""
    return tc.load_inline("ops", OPS, functions=OPS_FUNCTIONS, arch="sm_90")


@pytest.fixture(scope="session")
def attribute_module(_own_environment: None) -> tc.Module:
    """The functions of ATTRIBUTE_FUNCTIONS."""
    return tc.load_inline(
        "attributes", ATTRIBUTE_KERNELS, functions=ATTRIBUTE_FUNCTIONS, arch="sm_90"
    )


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


@pytest.fixture(scope="session")
def workshop(run_folder: Path) -> Workshop:
    return Workshop(run_folder / "wrappers")


@pytest.fixture(scope="session")
def guide_so(workshop: Workshop) -> Path:
    return workshop.build("guide_wrapper.cc")


@pytest.fixture(scope="session")
def own_so(workshop: Workshop) -> Path:
    return workshop.build("own_wrapper.cc")


@pytest.fixture(scope="session")
def raw_so(workshop: Workshop) -> Path:
    return workshop.build("raw_calls.cc")


@pytest.fixture(scope="session")
def launching_so(workshop: Workshop) -> Path:
    return workshop.build("launching.cc")


@pytest.fixture(scope="session")
def mixed_so(run_folder: Path) -> Path:
    """What mixed_launches.cc and mixed_kernels.cu are, built as a mixed source's two texts are."""
    return MixedWorkshop(run_folder / "wrappers").build_mixed(
        "mixed_launches.cc", "mixed_kernels.cu", ["weights", "shapes::counter"]
    )


@pytest.fixture
def mixed(mixed_so: Path, driver_stub: DriverStub, tmp_path: Path) -> tvm_ffi.Module:
    return load_anew(mixed_so, tmp_path)


@pytest.fixture
def guide(guide_so: Path, driver_stub: DriverStub, tmp_path: Path) -> tvm_ffi.Module:
    return load_anew(guide_so, tmp_path)


@pytest.fixture
def own(own_so: Path, driver_stub: DriverStub, tmp_path: Path) -> tvm_ffi.Module:
    return load_anew(own_so, tmp_path)


@pytest.fixture
def raw(raw_so: Path, driver_stub: DriverStub, tmp_path: Path) -> tvm_ffi.Module:
    return load_anew(raw_so, tmp_path)


@pytest.fixture
def launching(launching_so: Path, driver_stub: DriverStub, tmp_path: Path) -> tvm_ffi.Module:
    return load_anew(launching_so, tmp_path)


@pytest.fixture
def shadow(tmp_path) -> Path:
    """A folder of the user's in which headers may appear before others."""
    folder = tmp_path / "include"
    folder.mkdir()
    return folder
