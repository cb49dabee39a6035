"""What forwards CUDA's calls: names read from cuda.h, link flags, undefined symbols explained."""

from __future__ import annotations

from pathlib import Path

import pytest

from tvmffi_cubin.cuda.libraries import find_cuda
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

BFD = """\
/usr/bin/ld: a.o: in function `f()':
a.cc:(.text+0x28): undefined reference to `ns::g(int, char const*)'
/usr/bin/ld: a.cc:(.text+0x2f): undefined reference to `plain'
/usr/bin/ld: a.cc:(.text+0x31): undefined reference to `plain'
/usr/bin/ld: a.cc:(.text+0x44): undefined reference to `__tvm_ffi__cubin_image'
collect2: error: ld returned 1 exit status
"""
GOLD = """\
a.o:a.cc:function f(): error: undefined reference to 'ns::g(int, char const*)'
a.o:a.cc:function f(): error: undefined reference to 'plain'
/usr/bin/ld.gold: error: hidden symbol '__tvm_ffi__cubin_image' is not defined locally
a.o:a.cc:function f(): error: undefined reference to '__tvm_ffi__cubin_image'
"""
LLD = """\
ld.lld: error: undefined symbol: ns::g(int, char const*)
>>> referenced by a.cc
>>>               a.o:(f())

ld.lld: error: undefined symbol: plain
>>> referenced by a.cc
ld.lld: error: undefined hidden symbol: __tvm_ffi__cubin_image
"""
MOLD = """\
mold: error: undefined symbol: ns::g(int, char const*)
>>> referenced by a.o
mold: error: undefined symbol: plain
mold: error: undefined symbol: __tvm_ffi__cubin_image
"""


class TestDriverFunctions:
    def test_are_those_declared_and_every_form_that_a_macro_renames_them_to(self) -> None:
        assert forwarders.driver_functions(CUDA_H) == [
            "cuInit", "cuMemAlloc", "cuMemAlloc_v2", "cuMemcpyAsync", "cuMemcpyAsync_ptsz",
            "cuMemcpyHtoD_v2", "cuMemcpyHtoD_v2_ptds",
        ]  # fmt: skip

    def test_of_the_installed_header_are_hundreds(self) -> None:
        names = forwarders.driver_functions((find_cuda().require("runtime") / "cuda.h").read_text())
        assert len(names) > 500
        assert {"cuLaunchKernelEx", "cuMemAlloc_v2", "cuLaunchKernelEx_ptsz"} <= set(names)

    def test_each_is_forwarded_once(self, tmp_path: Path) -> None:
        header = tmp_path / "cuda.h"
        header.write_text(CUDA_H)
        unit = forwarders.forwarder_unit(header)
        assert unit.count("tvmffi_cubin_forward cuMemAlloc_v2\\n") == 1
        assert unit.count("tvmffi_cubin_forward ") == 7

    def test_a_text_without_any_is_refused(self, tmp_path: Path) -> None:
        header = tmp_path / "cuda.h"
        header.write_text("int main() {}")
        with pytest.raises(ValueError, match=r"wanted CUDA's cuda\.h"):
            forwarders.forwarder_unit(header)


class TestLinkFlags:
    def test_leave_cuda_s_own_libraries_out_and_keep_the_rest_in_order(self) -> None:
        flags = forwarders.link_flags(["-lcuda", "-L/x", "-lcudart", "-lfoo"])
        assert flags == ("-Wl,--gc-sections", "-L/x", "-lfoo")

    def test_link_the_wheel_s_runtime_only_as_needed(self, monkeypatch) -> None:
        monkeypatch.delenv("TVMFFI_CUBIN_CUDART", raising=False)
        flags = forwarders.cudart_flags(Path("/a b/libcudart.so.12"))
        at = flags.index("/a b/libcudart.so.12")
        assert (flags[at - 1], flags[at + 1]) == ("-Wl,--as-needed", "-Wl,--no-as-needed")
        assert flags[-1] == "/a b"


class TestUndefinedSymbols:
    @pytest.mark.parametrize("output", [BFD, GOLD, LLD, MOLD], ids=["bfd", "gold", "lld", "mold"])
    def test_are_found_once_each_in_every_linker_s_output(self, output: str) -> None:
        assert undefined.explain_undefined(output) == [
            "ns::g(int, char const*)", "plain", "__tvm_ffi__cubin_image",
        ]  # fmt: skip

    def test_are_demangled(self) -> None:
        assert undefined.explain_undefined("ld: undefined symbol: _ZN2ns1gEiPKc") == [
            "ns::g(int, char const*)"
        ]

    def test_other_failures_name_none(self) -> None:
        assert undefined.explain_undefined("/usr/bin/ld: cannot find -lfoo") == []

    @pytest.mark.parametrize(
        ("name", "remedy"),
        [
            ("__tvm_ffi__cubin_k_end", "no image is embedded under 'k'"),
            ("__tvmffi_cubin_image_k", "embed_cubin={'k': ...}"),
            ("__cudaRegisterLinkedBinary_1f_4_a_cu_2", 'compiler="nvcc"'),
            ("cudaFrobnicate", "libcudart is missing"),
            ("cuFrobnicate", "cuda.h declares no such function"),
            ("PyObject_GetAttrString", "extra_ldflags=['-Wl,-z,undefs']"),
            ("ns::g(int)", "add its source to cpp_sources"),
        ],
    )
    def test_come_with_a_remedy_each(self, name: str, remedy: str) -> None:
        (line,) = undefined.remedies([name])
        assert line.startswith(f"{name}: ")
        assert remedy in line
