"""The object that goes with precompiled headers, in a cache folder that has none yet."""

from __future__ import annotations

from pathlib import Path

import pytest
from header_stock import HeaderStock

import tvmffi_cubin as tc
from tvmffi_cubin import builder, cold_object, host_pch
from tvmffi_cubin.cache import Cache
from tvmffi_cubin.plan import BuildPlan, Cxx

SOURCE = """
__global__ void k(int* x) { *x = 1; }
void throws() { TVM_FFI_THROW(ValueError) << "thrown"; }
int last() { k<<<1, 1>>>(nullptr); return cudaGetLastError() == cudaSuccess; }
"""
DECLARED = "-DTVMFFI_CUBIN_COLD_COMPILED"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory, header_stock: HeaderStock) -> Path:
    """Return a folder that stands for the package's, where an object was kept."""
    folder = tmp_path_factory.mktemp("package")
    with pytest.MonkeyPatch.context() as patch:
        use(folder, patch)
        patch.setattr(host_pch, "find", header_stock.genuine)
        patch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(folder / "cache"))
        tc.build_inline("first", SOURCE, functions=["last"], arch="sm_90")
        host_pch.settle()
    return folder


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[BuildPlan]:
    """Return the plans that are built from now on."""
    seen: list[BuildPlan] = []
    run = builder.run
    monkeypatch.setattr(builder, "run", lambda plan, *rest: (seen.append(plan), run(plan, *rest)))
    return seen


def use(folder: Path, patch: pytest.MonkeyPatch) -> None:
    def beside(name: str, cache: Cache, tools) -> Cache:
        return Cache(folder / name, roots=tools.roots, mode=cache.mode)

    patch.setattr(cold_object, "beside_package", beside)


def host_flags(plans: list[BuildPlan]) -> list[str]:
    (flags,) = (x.flags for plan in plans for x in plan.units if isinstance(x, Cxx))
    return list(flags)


def test_the_first_build_in_a_new_cache_folder_is_linked_with_it(
    package, plans, own_headers, tmp_path, monkeypatch, driver_stub
):
    use(package, monkeypatch)
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(host_pch, "has_room", lambda folder: False)
    mod = tc.load_inline("second", SOURCE, functions=["last", "throws"], arch="sm_90")
    assert DECLARED in host_flags(plans)
    assert mod.last() == 1
    with pytest.raises(ValueError, match="thrown"):
        mod.throws()


def test_other_flags_have_their_own(package, plans, own_headers, tmp_path, monkeypatch):
    use(package, monkeypatch)
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(host_pch, "has_room", lambda folder: False)
    tc.build_inline(
        "other", SOURCE, functions=["last"], arch="sm_90", extra_cuda_cflags=["-DMINE=1"]
    )
    assert DECLARED not in host_flags(plans)


def test_there_are_few(package):
    assert len(list((package / "cold").glob("entries/*/*/cold.o"))) == 1
