"""Constructs of mixed sources that only nvcc compiles are named, with their lines."""

from __future__ import annotations

import pytest
from mixed_kit import cut

from tvmffi_cubin.torch_sources import torch_hint

KERNEL = "__global__ void k(int* x) { *x = 1; }\n"


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("__managed__ int total;", "a.cu:2: total is a __managed__ variable"),
        ("texture<float, 2> tex;", "a.cu:2: tex is a texture reference, which nvcc has up"),
        ("surface<void, 2> to;", "CUDA 12 wants a surface object (cudaCreateSurfaceObject)"),
        (
            "void f() {\n  auto g = [=] __device__(int i) { return i; };\n}",
            "a.cu:3: an extended lambda: __device__ in a function of the host",
        ),
        (
            "void f() {\n  run([=] __host__ __device__(int i) { return i; });\n}",
            "a.cu:3: an extended lambda: __host__ __device__ in a function of the host",
        ),
        (
            "__global__ void p(int* x) {\n  k<<<1, 1>>>(x);\n}",
            "a.cu:3: p, device code, launches a kernel",
        ),
        (
            "void f(int* x) {\n  thrust::sort(thrust::device, x, x + 1);\n}",
            "a.cu:3: thrust::sort is host code that launches kernels of its own",
        ),
        (
            "void f(int* x) {\n  cub::DeviceReduce::Sum(x);\n}",
            "a.cu:3: cub::DeviceReduce launches kernels of its own",
        ),
        (
            "using namespace cub;\nvoid f(int* x) {\n  DeviceReduce::Sum(x);\n}",
            "a.cu:4: cub::DeviceReduce launches kernels of its own",
        ),
        (
            "extern __device__ int other;\n__device__ int f() { return other; }",
            "a.cu:2: other is defined in another object",
        ),
        (
            "extern __device__ int other;\n#define USE other",
            "a.cu:2: other is defined in another object",
        ),
    ],
)
def test_what_needs_nvcc_is_named_with_its_line(source, told):
    with pytest.raises(ValueError, match='compiler="nvcc"') as caught:
        cut(KERNEL + source)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    "source",
    [
        "__global__ void g(int* x) { auto f = [] __device__(int i) { return i; }; *x = f(1); }",
        "void f(int* x) {\n  DeviceReduce::Sum(x);\n}",
        "thrust::complex<float> f(thrust::pair<int, int> x);",
        "extern __shared__ int tile[];",
        "extern __device__ int own;\n__device__ int own = 3;",
        "extern __device__ int unused;\nextern __constant__ float also[64];",
        '// thrust::sort(x)\nvoid f() { run("cub::DeviceReduce"); }',
    ],
)
def test_what_does_not_need_it_is_cut(source):
    assert cut(KERNEL + source).kernels


@pytest.mark.parametrize(
    ("declarations", "told"),
    [
        ("", "a.cu:3: torch::Tensor is a name of torch's"),
        ("namespace other { struct torch_at {}; }", "a.cu:3: torch::Tensor is a name of torch's"),
        ("namespace torch { struct Tensor {}; }", None),
        ("namespace own { struct Tensor {}; }  namespace torch = own;", None),
    ],
)
def test_a_source_for_torch_s_load_inline_is_known_by_its_names(declarations, told):
    source = f"{KERNEL}{declarations}\nvoid f(torch::Tensor x) {{}}"
    if told is None:
        assert cut(source).kernels
        return
    with pytest.raises(ValueError, match="docs/mixed_sources.md") as caught:
        cut(source)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("use", "name"),
    [
        ("auto s = at::cuda::getCurrentCUDAStream();", "at::cuda"),
        ("c10::optional<int> n;", "c10::optional"),
        ("PYBIND11_MODULE(a, b) {}", "PYBIND11_MODULE"),
        ("own::torch::Tensor x; y.at(3); at::own z; /* torch::Tensor */", None),
    ],
)
def test_names_of_torch_are_its_namespaces_and_macros(use, name):
    source = f"{KERNEL}void f() {{ {use} }}"
    if name is None:
        assert cut(source).kernels
        return
    with pytest.raises(ValueError, match=f"a.cu:2: {name} is a name of torch's"):
        cut(source)


@pytest.mark.parametrize("header", ["torch/extension.h", "ATen/ATen.h", "c10/cuda/CUDAStream.h"])
def test_a_source_for_torch_is_told_what_to_change(header):
    with pytest.raises(ValueError, match="docs/mixed_sources.md") as caught:
        cut(f"#include <{header}>\n{KERNEL}void f(torch::Tensor x) {{}}")
    assert f"a.cu:1: <{header}> is a header of torch's" in str(caught.value)
    assert "tvm::ffi::TensorView" in str(caught.value)


def test_pybind11_is_not_called_torch_s():
    with pytest.raises(ValueError, match="<pybind11/pybind11.h> is a header of pybind11's"):
        cut(f"#include <pybind11/pybind11.h>\n{KERNEL}")


def test_device_code_that_launches_is_told_of_both_ways():
    with pytest.raises(ValueError, match="p, device code, launches a kernel") as caught:
        cut(f"{KERNEL}__global__ void p(int* x) {{ k<<<1, 1>>>(x); }}")
    assert 'device_libraries=["cudadevrt"], or pass compiler="nvcc"' in str(caught.value)


@pytest.mark.parametrize(
    "said",
    [
        'a.cu(1): error: name followed by "::" must be a class or namespace name\n'
        "  void g(torch::Tensor x) {}\n",
        'a.cu(1): error: explicit type is missing ("int" assumed)\n  void g(const at::Tensor& x);',
        "a.cu(9): error: this declaration has no storage class or type specifier\n"
        "  PYBIND11_MODULE(a, m) {}",
    ],
)
def test_nvccs_words_for_torch_s_names_are_known(said):
    assert torch_hint(said)
    assert not torch_hint(said.replace("torch", "own").replace("at::", "b::").replace("PYB", "X"))
