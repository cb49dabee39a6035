"""What forwards CUDA's calls: names read from cuda.h, link flags, undefined symbols explained."""

from __future__ import annotations

from pathlib import Path

import pytest

from tvmffi_cubin.host import forwarders, undefined

CUDA_H = """
#define __CUDA_API_PTSZ(api) api ## _ptsz
#define cuMemAlloc cuMemAlloc_v2
#define cuMemcpyAsync   __CUDA_API_PTSZ(cuMemcpyAsync)
#define cuMemcpyHtoD __CUDA_API_PTDS(cuMemcpyHtoD_v2)
#define CU_STREAM_LEGACY ((CUstream)0x1)
typedef void (CUDA_CB *CUstreamCallback)(CUstream hStream);
CUresult CUDAAPI cuInit(unsigned int Flags);
CUresult CUDAAPI cuMemAlloc(CUdeviceptr *dptr, size_t bytesize);
    CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr dst,
                                   CUdeviceptr src);
"""


def test_driver_functions_are_those_declared_and_every_form_that_a_macro_renames_them_to(tmp_path):
    names = ["cuInit", "cuMemAlloc", "cuMemAlloc_v2", "cuMemcpyAsync", "cuMemcpyAsync_ptsz"]
    names += ["cuMemcpyHtoD_v2", "cuMemcpyHtoD_v2_ptds"]
    assert forwarders.driver_functions(CUDA_H) == names
    (tmp_path / "cuda.h").write_text(CUDA_H)
    unit = forwarders.forwarder_unit(tmp_path / "cuda.h")
    assert [unit.count(f"tvmffi_cubin_forward {name}\\n") for name in names] == [1] * len(names)


def test_the_linker_is_given_neither_cuda_s_own_libraries_nor_a_runtime_that_nothing_needs():
    flags = forwarders.link_flags(["-lcuda", "-L/x", "-lcudart", "-lfoo"])
    assert flags == ("-Wl,--gc-sections", "-L/x", "-lfoo")
    flags = forwarders.cudart_flags(Path("/a b/libcudart.so.12"))
    assert flags == ("-Wl,--as-needed", "/a b/libcudart.so.12", "-Wl,--no-as-needed")


OUTPUTS = {
    "bfd": """\
/usr/bin/ld: a.o: in function `f()':
a.cc:(.text+0x28): undefined reference to `ns::g(int, char const*)'
/usr/bin/ld: a.cc:(.text+0x2f): undefined reference to `plain'
/usr/bin/ld: a.cc:(.text+0x31): undefined reference to `plain'
collect2: error: ld returned 1 exit status
""",
    "gold": """\
a.o:a.cc:function f(): error: undefined reference to 'ns::g(int, char const*)'
a.o:a.cc:function f(): error: undefined reference to 'plain'
""",
    "lld": """\
ld.lld: error: undefined symbol: ns::g(int, char const*)
>>> referenced by a.cc
>>>               a.o:(f())

ld.lld: error: undefined hidden symbol: plain
""",
    "mold": """\
mold: error: undefined symbol: _ZN2ns1gEiPKc
>>> referenced by a.o
mold: error: undefined symbol: plain
""",
    "none": "/usr/bin/ld: cannot find -lfoo",
}


@pytest.mark.parametrize("linker", OUTPUTS)
def test_undefined_symbols_are_found_once_each_in_every_linker_s_output(linker):
    wanted = [] if linker == "none" else ["ns::g(int, char const*)", "plain"]
    lines = undefined.explain_undefined(OUTPUTS[linker])
    assert [line.partition(": ")[0] for line in lines] == wanted


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("__tvm_ffi__cubin_k_end", "no image is embedded under 'k'"),
        ("__cudaRegisterLinkedBinary_1f_4_a_cu_2", 'compiler="nvcc"'),
        ("cuFrobnicate", "cuda.h declares no such function"),
        ("PyObject_GetAttrString", "extra_ldflags=['-Wl,-z,undefs']"),
        ("ns::g(int)", "add its source to cpp_sources"),
    ],
)
def test_an_undefined_symbol_comes_with_a_remedy(name, remedy):
    (line,) = undefined.explain_undefined(f"ld: undefined symbol: {name}")
    assert line.startswith(f"{name}: ")
    assert remedy in line
