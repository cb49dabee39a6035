"""Files of every kind in one module: the numbers of their kernels are torch's."""

from __future__ import annotations

from pathlib import Path

import pytest
import wrapper_sources

import tvmffi_cubin as tc

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

BY = """
extern "C" __global__ void {name}(float* x, float by, int n) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] {operator} by;
}}
"""
LAUNCH = {"grid": "ceil_div(n, 256)", "block": 256, "args": {"n": "x.numel"}}


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """A .cu file with a header, a wrapper of its kernel; kernels in .ptx, .cubin and .fatbin."""
    (tmp_path / "kernels.cuh").write_text(wrapper_sources.KERNELS)
    (tmp_path / "ops.cu").write_text(
        '#include "kernels.cuh"\n' + BY.format(name="subtract", operator="-")
    )
    (tmp_path / "wrapper.cpp").write_text(wrapper_sources.DRIVER)
    (tmp_path / "three.c").write_text("int three(void) { return 3; }\n")
    (tmp_path / "call.cc").write_text(
        "#include <tvm/ffi/function.h>\n"
        'extern "C" int three();\nTVM_FFI_DLL_EXPORT_TYPED_FUNC(three, three);\n'
    )
    made = {
        "scale.ptx": tc.nvrtc.compile(BY.format(name="scale", operator="*"), arch="compute_80"),
        "shift.cubin": tc.nvrtc.compile(BY.format(name="shift", operator="+")),
        "divide.fatbin": tc.nvrtc.compile(
            BY.format(name="divide", operator="/"), arch=["sm_80", tc.nvrtc.resolve_arch()]
        ),
    }
    for name, cubin in made.items():
        (tmp_path / name).write_bytes(cubin.image)
    names = ("ops.cu", "wrapper.cpp", "three.c", "call.cc", *made)
    return [tmp_path / name for name in names]


def test_files_of_every_kind_make_one_module(files):
    declared = tc.Launch(**LAUNCH, params="float* x, float by, int n")
    functions = {
        "subtract": tc.Launch(**LAUNCH),
        "add_one": "",
        **dict.fromkeys(("scale", "shift", "divide"), declared),
    }
    mod = tc.load("gpu_files", sources=files, functions=functions)
    x = torch.arange(1000, dtype=torch.float32, device="cuda")
    y = torch.full_like(x, float("nan"))
    mod.add_one(x, y)
    torch.testing.assert_close(y, x + 1)
    mod.subtract(y, 2.0)
    torch.testing.assert_close(y, x - 1)
    mod.scale(y, 3.0)
    torch.testing.assert_close(y, 3 * (x - 1))
    mod.shift(y, 5.0)
    torch.testing.assert_close(y, 3 * (x - 1) + 5)
    mod.divide(y, 2.0)
    torch.testing.assert_close(y, (3 * (x - 1) + 5) / 2)
    assert mod.three() == 3


def test_a_changed_file_is_another_kernel(tmp_path):
    path = tmp_path / "ops.cu"
    launch = {"change": tc.Launch(**LAUNCH)}
    for operator, expected in (("+", 6.0), ("*", 9.0), ("+", 6.0)):
        path.write_text(BY.format(name="change", operator=operator))
        x = torch.full((100,), 3.0, device="cuda")
        tc.load("gpu_changed", sources=path, functions=launch).change(x, 3.0)
        assert x.unique().tolist() == [expected]


def test_ptx_for_several_architectures_runs_on_this_one(tmp_path):
    text = tc.nvrtc.compile(BY.format(name="scale", operator="*"), arch="compute_80")
    (tmp_path / "scale.ptx").write_bytes(text.image)
    own = tc.nvrtc.resolve_arch()
    declared = tc.Launch(**LAUNCH, params="float* x, float by, int n")
    mod = tc.load(
        "gpu_ptx",
        sources=tmp_path / "scale.ptx",
        functions={"scale": declared},
        arch=["sm_80", own, "compute_80"],
    )
    x = torch.full((100,), 3.0, device="cuda")
    mod.scale(x, 3.0)
    assert x.unique().tolist() == [9.0]
