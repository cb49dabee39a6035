"""Which of the runtime's calls need no libcudart, and which a mixed source cannot make."""

from __future__ import annotations

import subprocess

import pytest
from mixed.cases import CASES

import tvmffi_cubin as tc
from tvmffi_cubin.cuda import libraries

NO_LIBRARY = ["arrays_and_textures", "graphs_and_peers", "streams_and_copies"]


@pytest.mark.parametrize("name", NO_LIBRARY)
def test_the_calls_of_a_source_need_no_libcudart(name: str) -> None:
    case = CASES[name]
    path = tc.build_inline(name, case.sources(), functions=case.functions, arch="sm_90a")
    command = ["readelf", "-dW", "--dyn-syms", path]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "libcudart" not in told
    assert " cuda" not in told


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("cudaGraphKernelNodeGetParams", "cudaGraphKernelNodeGetParams((cudaGraphNode_t)n, &of)"),
        ("cudaGraphNodeSetParams", "cudaGraphNodeSetParams((cudaGraphNode_t)n, nullptr)"),
        (
            "cudaGraphAddNode_v2",
            "cudaGraphAddNode_v2((cudaGraphNode_t*)n, nullptr, nullptr, nullptr, 0, nullptr)",
        ),
    ],
)
def test_a_call_that_libcudart_would_make_of_a_kernel_is_refused_by_name(
    name: str, call: str
) -> None:
    if name.endswith("_v2") and libraries.find_cuda().major != 12:
        pytest.skip("CUDA 12 alone has it")
    source = f"""
__global__ void k(int* x) {{ *x = 1; }}
int64_t told(int64_t n) {{
  cudaKernelNodeParams of{{}};
  return {call} + (of.func != nullptr);
}}
void run() {{ k<<<1, 1>>>(nullptr); }}"""
    with pytest.raises(tc.BuildError, match=r"libcudart's, .*compiler=\"nvcc\"") as caught:
        tc.build_inline("refused", source, functions=["told", "run"], arch="sm_90a")
    assert "refused.cu:5:" in str(caught.value)
    assert f"'{name}'" in str(caught.value)
