"""What `tvm_ffi.cpp` builds from files, this package builds, by the same arguments."""

import inspect

import numpy as np
import pytest
import tvm_ffi
import tvm_ffi.cpp
from file_kit import linked, write

import tvmffi_cubin as tc

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


def test_files_of_cpp_and_c_become_a_module_a_library_or_an_object(here):
    write("include/offset.h", "#define OFFSET 0.5f\n")
    write("ops.cpp", OPS)
    write("scaled.c", SCALED)
    files = {"sources": ["ops.cpp", "scaled.c"], "extra_include_paths": [str(here / "include")]}
    path = tc.build("ops", **files, build_directory=str(here / "out"))
    made = tc.build("ops", **files, build_directory=str(here / "out"), output="my_ops.o")
    assert (path, made) == (str(here / "out" / "ops.so"), str(here / "out" / "my_ops.o"))
    x = np.arange(5, dtype=np.float32)
    for mod in (tc.load("ops", **files), *map(tvm_ffi.load_module, (path, linked(made)))):
        y = np.empty_like(x)
        mod.affine(tvm_ffi.from_dlpack(x), tvm_ffi.from_dlpack(y), 2.0)
        np.testing.assert_array_equal(y, 2 * x + 0.5)
        with pytest.raises(ValueError, match="differ in length"):
            mod.affine(tvm_ffi.from_dlpack(x), tvm_ffi.from_dlpack(y[1:]), 2.0)


@pytest.mark.parametrize("name", ["load", "build", "load_inline", "build_inline"])
def test_every_parameter_of_theirs_is_one_of_ours(name):
    theirs = inspect.signature(getattr(tvm_ffi.cpp, name)).parameters
    ours = inspect.signature(getattr(tc, name)).parameters
    assert theirs.keys() <= ours.keys()
    assert all(ours[x].default == theirs[x].default for x in theirs)
