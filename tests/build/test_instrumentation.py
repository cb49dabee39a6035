"""The example that instruments a source: what its callers' launches pass, over the stand-in."""

import importlib.util
import sys
from pathlib import Path

import pytest
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def example(driver_stub, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_ARCH", "sm_90")
    monkeypatch.syspath_prepend(EXAMPLES)
    # The example's own module of that name is meant, and not the package of the tests.
    monkeypatch.delitem(sys.modules, "gpu", raising=False)
    spec = importlib.util.spec_from_file_location("instrument", EXAMPLES / "instrument_blocks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules.pop("gpu", None)
    return module


def test_callers_are_unchanged_with_and_without_a_buffer(example, driver_stub):
    x, y = (cuda_array(driver_stub, 1024) for _ in range(2))
    counters = cuda_array(driver_stub, 16, "uint64")

    def call():
        driver_stub.reset()
        example.mod.saxpy(2.0, x, y)
        example.mod.halve_in_place(y)
        saxpy, halve = driver_stub.launches()
        assert (saxpy.grid, halve.grid) == ((4, 1, 1), (16, 1, 1))
        assert saxpy.values("fPPiPII")[:4] == (2.0, x.data_ptr, y.data_ptr, 1024)
        assert halve.values("PPII")[0] == y.data_ptr
        return saxpy.values("fPPiPII")[4:], halve.values("PPII")[1:]

    example.mod.bind(counters=None, limit=None, seed=None)
    assert call() == ((0, 0, 0),) * 2
    example.mod.bind(counters=counters, limit=16, seed=3)
    assert call() == ((counters.data_ptr, 16, 3),) * 2
    example.mod.bind(counters=None)
    assert call() == ((0, 16, 3),) * 2


def test_every_kernel_of_a_source_has_them_appended(example):
    source = example.instrument("""
    namespace a { template <typename T> __global__ void fill(T* x, int n) { x[0] = n; } }
    template __global__ void a::fill<float>(float* x, int n);
    extern "C" __global__ void nothing(void);
    extern "C" __global__ void nothing(void) { }
    """)
    kernels = tc.nvrtc.compile(source, arch="sm_90").kernels
    sizes = {kernel.name: [param.size for param in kernel.params] for kernel in kernels}
    assert sizes["nothing"] == [8, 4, 4]
    assert sorted(sizes.values()) == [[8, 4, 4], [8, 4, 8, 4, 4]]
