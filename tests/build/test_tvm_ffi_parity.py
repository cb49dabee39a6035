"""What `tvm_ffi.cpp` builds from files, this package builds, by the same arguments."""

import inspect
import os
import re

import numpy as np
import pytest
import tvm_ffi
import tvm_ffi.cpp
from file_kit import linked, write
from tvm_ffi.libinfo import find_include_path

import tvmffi_cubin as tc
from tvmffi_cubin.host.tools import find_ninja

# tvm-ffi writes its paths into commands unquoted.
TVM_FFI_BUILDS = pytest.mark.skipif(
    re.search(r"""[\s'"$`\\&;|<>()*?]""", find_include_path()) is not None,
    reason="tvm-ffi builds nothing where its own path has a character that a shell reads",
)


OPS = """
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>

#include "offset.h"

extern "C" float Scaled(float x, float by);

void Affine(tvm::ffi::TensorView x, tvm::ffi::TensorView y, double by) {
  TVM_FFI_CHECK(x.size(0) == y.size(0), ValueError) << "x and y differ in length";
  const float* in = static_cast<const float*>(x.data_ptr());
  float* out = static_cast<float*>(y.data_ptr());
  for (int64_t i = 0; i < x.size(0); ++i) out[i] = Scaled(in[i], by) + OFFSET;
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(affine, Affine);
"""
SCALED = "float Scaled(float x, float by) { return x * by; }\n"


@pytest.fixture
def files(here, monkeypatch):
    """A C++ and a C file, a header in a folder of its own, and what tvm-ffi itself builds with."""
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(here / "cache"))
    ninja = os.path.dirname(find_ninja())
    monkeypatch.setenv("PATH", f"{ninja}{os.pathsep}{os.environ['PATH']}")
    write("include/offset.h", "#define OFFSET 0.5f\n")
    write("ops.cpp", OPS)
    write("scaled.c", SCALED)
    return {"sources": ["ops.cpp", "scaled.c"], "extra_include_paths": [str(here / "include")]}


def check(mod):
    x = np.arange(5, dtype=np.float32)
    y = np.empty_like(x)
    mod.affine(tvm_ffi.from_dlpack(x), tvm_ffi.from_dlpack(y), 2.0)
    np.testing.assert_array_equal(y, 2 * x + 0.5)
    with pytest.raises(ValueError, match="differ in length"):
        mod.affine(tvm_ffi.from_dlpack(x), tvm_ffi.from_dlpack(y[1:]), 2.0)


@pytest.mark.parametrize(
    "package",
    [
        pytest.param(tvm_ffi.cpp, id="tvm_ffi.cpp", marks=TVM_FFI_BUILDS),
        pytest.param(tc, id="tvmffi_cubin"),
    ],
)
class TestBoth:
    def test_load(self, package, files):
        check(package.load("ops", **files))

    def test_build_in_a_folder(self, package, files, here):
        path = package.build("ops", **files, build_directory=str(here / "out"))
        assert path == str(here / "out" / "ops.so")
        check(tvm_ffi.load_module(path))

    def test_build_an_object(self, package, files, here):
        path = package.build("ops", **files, build_directory=str(here / "out"), output="my_ops.o")
        assert path == str(here / "out" / "my_ops.o")
        check(tvm_ffi.load_module(linked(path)))


@pytest.mark.parametrize("name", ["load", "build", "load_inline", "build_inline"])
def test_every_parameter_of_theirs_is_one_of_ours(name):
    theirs = inspect.signature(getattr(tvm_ffi.cpp, name)).parameters
    ours = inspect.signature(getattr(tc, name)).parameters
    assert theirs.keys() <= ours.keys()
    assert all(ours[x].default == theirs[x].default for x in theirs)
