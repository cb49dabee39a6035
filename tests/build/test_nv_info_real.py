"""The reader of cubins, against what the assembler reports; a function's code as text."""

from __future__ import annotations

import os
import re

import pytest

import tvmffi_cubin as tc
from tvmffi_cubin import CubinError, nvrtc
from tvmffi_cubin.kernels.cubin import Cubin, read_image

SOURCE = r"""
struct Odd { int a; char b[20]; };
struct Large { char bytes[5000]; };
extern "C" __global__ void __launch_bounds__(256, 2)
shared(const float* x, double d, Odd o, char c) {
  __shared__ float s[100];
  s[threadIdx.x] = x[threadIdx.x] + o.a + c + d;
  __syncthreads();
  ((float*)x)[0] = s[3];
}
extern "C" __global__ void large(Large a, int n, float* x) { x[0] = a.bytes[n]; }
extern "C" __global__ void local(int* x, int n) {
  volatile int q[300];
  for (int i = 0; i < 300; i++) q[i] = x[i];
  x[0] = q[n];
}
extern "C" __global__ void none() {}
#if __CUDA_ARCH__ >= 900
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster(int* x) { x[0] = 1; }
#endif
"""
REPORT = re.compile(
    r"entry function '(\w+)'.*?(\d+) bytes stack frame.*?Used (\d+) registers([^\n]*)", re.DOTALL
)


@pytest.mark.parametrize("arch", ["sm_75", "sm_90a", "sm_120"])
def test_kernels_are_what_the_assembler_reports_and_the_source_says(arch):
    compiled = nvrtc.compile(SOURCE, arch=arch, options=["--ptxas-options=-v"])
    assert read_image(compiled).arch == arch
    kernels = {kernel.name: kernel for kernel in compiled.kernels}
    reported = {match[1]: match for match in REPORT.finditer(compiled.log)}
    assert set(kernels) == set(reported) >= {"shared", "large", "local", "none"}
    for name, match in reported.items():
        shared = re.search(r"(\d+) bytes smem", match[4])
        kernel = kernels[name]
        assert kernel.registers == int(match[3]), name
        assert kernel.static_smem_bytes == (int(shared[1]) if shared else 0), name
        assert kernel.local_bytes == int(match[2]), name
    assert kernels["shared"].param_sizes == (8, 8, 24, 1)
    assert kernels["large"].param_sizes[1:] == (4, 8)
    assert (kernels["shared"].max_threads, kernels["none"].max_threads) == (256, 1024)
    fixed = {name: kernel.cluster for name, kernel in kernels.items() if kernel.cluster}
    assert fixed == ({} if arch == "sm_75" else {"cluster": (2, 1, 1)})


def test_wherever_an_image_is_cut_off_it_is_refused():
    image = nvrtc.compile(SOURCE, arch="sm_90a").image
    for size in {*range(0, len(image), 97), *range(len(image) - 400, len(image))}:
        with pytest.raises(CubinError, match="truncated|not an image"):
            read_image(Cubin(image[:size], ""))


def test_what_may_never_end_is_no_image(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", "/dev/zero"):
        for use in (
            tc.inspect,
            lambda path: tc.load_inline("m", embed_cubin={"k": path}),
            lambda path: tc.nvjitlink.link([path], arch="sm_90"),
        ):
            with pytest.raises(OSError, match="not a regular file: write its content to one"):
                use(path)


TWO = """
__global__ void one(float* x) { x[0] = 1; }
__global__ void two(float* x) { x[0] = 2; }
"""


def test_the_code_of_a_function_as_text_is_that_of_its_kernels_and_image():
    mod = tc.load_inline("disassembly", TWO, arch=["sm_80", "sm_90a"])
    assert "EF_CUDA" not in mod.one.sass
    assert "_Z3onePf:" in mod.one.sass
    assert "EXIT ;" in mod.one.sass
    assert "_Z3twoPf" not in mod.one.sass
    with pytest.raises(
        AttributeError, match=r"one: its embedded images have no PTX; .*\"compute_90\"\]"
    ):
        _ = mod.one.ptx
    mod = tc.load_inline("disassembly", TWO, arch=["sm_90a", "compute_90"])
    assert ".visible .entry _Z3onePf(" in mod.one.ptx
