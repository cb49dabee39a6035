"""Modules and wrappers that several files of tests share: built once a session."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tvm_ffi
from launch_kernels import OPS, OPS_FUNCTIONS, SCALARS
from stub.cuda_array import CudaArray, cuda_array
from stub.driver_stub import DriverStub
from wrapper_workshop import Workshop, load_anew

import tvmffi_cubin as tc
from tvmffi_cubin.cache.store import Cache
from tvmffi_cubin.host import precompiled
from tvmffi_cubin.host.steps import Step, compilation
from tvmffi_cubin.host.units import host_flags
from tvmffi_cubin.inline.tools import Toolset


# Before any fixture that builds.
@pytest.fixture(scope="package", autouse=True)
def _runtime_stand_in(_stub_library: Path) -> Iterator[None]:
    """Have modules call the stand-in's runtime: NVIDIA's own wants a driver of NVIDIA's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TVMFFI_CUBIN_CUDART", str(_stub_library))
        yield


@pytest.fixture(scope="package", autouse=True)
def _header_stock(run_folder: Path) -> Iterator[Callable[..., Any]]:
    """Have builds of all workers share precompiled headers, of the usual flags alone."""
    genuine = precompiled._find

    def find(cache: Cache, tools: Toolset, step: Step) -> Any:
        usual = compilation("", (*tools.compiler.command, *host_flags(tools, ())))
        if cache.mode != "on" or step.command != usual.command:
            return None
        return genuine(Cache(run_folder / "stock", roots=lambda: tools.roots), tools, step)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(precompiled, "_find", find)
        yield genuine


@pytest.fixture
def own_headers(_header_stock: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Precompiled headers as they are outside the tests: in the build's cache."""
    monkeypatch.setattr(precompiled, "_find", _header_stock)


@pytest.fixture(scope="session")
def scalars(_own_environment: None) -> tc.Module:
    """One function for each kernel of SCALARS, launched in the shape 1, 1."""
    return tc.load_inline("scalars", SCALARS, arch="sm_90")


@pytest.fixture(scope="session")
def ops(_own_environment: None) -> tc.Module:
    """The functions of OPS_FUNCTIONS, for the stub's devices 0 and 1."""
    return tc.load_inline("ops", OPS, functions=OPS_FUNCTIONS, arch="sm_90")


@pytest.fixture
def x(driver_stub: DriverStub) -> CudaArray:
    """A tensor of four float32 on device 0."""
    return cuda_array(driver_stub, 4)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The current folder, empty."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="package")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("wrappers"))


def _wrapper(source: str) -> Any:
    @pytest.fixture
    def loaded(workshop: Workshop, driver_stub: DriverStub, tmp_path: Path) -> tvm_ffi.Module:
        return load_anew(workshop.build(source), tmp_path)

    return loaded


guide = _wrapper("guide_wrapper.cc")
own = _wrapper("own_wrapper.cc")
raw = _wrapper("raw_calls.cc")
launching = _wrapper("launching.cc")
