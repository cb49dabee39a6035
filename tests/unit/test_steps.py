"""What is built: ninja's text, and what forwards CUDA's calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from tvmffi_cubin.host import build, forwarders, steps

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


def test_the_linker_is_given_neither_cuda_s_own_libraries_nor_a_runtime_that_nothing_needs(
    monkeypatch,
):
    monkeypatch.delenv("TVMFFI_CUBIN_CUDART", raising=False)
    flags = forwarders.link_flags(["-lcuda", "-L/x", "-lcudart", "-lfoo"])
    assert flags == ("-Wl,--gc-sections", "-L/x", "-lfoo")
    flags = forwarders.cudart_flags(Path("/a b/libcudart.so.12"))
    place = ("-Xlinker", "-rpath", "-Xlinker", "/a b")
    assert flags == (*place, "-Wl,--as-needed", "/a b/libcudart.so.12", "-Wl,--no-as-needed")


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("__tvm_ffi__cubin_k_end", "no image is embedded under 'k'; pass it as embed_cubin={'k'"),
        ("__tvm_ffi_add", "no kernel is called 'add' and no file exports such a function"),
        ("__wrap_cuLaunchKernel", "cuLaunchKernel would pass kernels less than they take"),
        ("__cudaRegisterLinkedBinary_1f_4_a_cu_2", 'compiler="nvcc"'),
    ],
)
@pytest.mark.parametrize("said", ["ld: undefined symbol: {}", "a.cc: undefined reference to `{}'"])
def test_an_undefined_symbol_that_is_ours_comes_with_a_remedy(said, name, remedy):
    (hint,) = build._hints("g++", f"{said.format(name)}\n" * 2)
    assert remedy in hint
    assert build._hints("g++", said.format("plain")) == []


# Ninja text


GOLDEN = Path(__file__).parent / "golden"
BUILDS = {
    "wrapper": [
        steps.compilation(
            "wrapper.cc",
            ("g++", "-std=c++17", "-O2", "-fPIC"),
            ("/opt/tvm ffi/include", "/opt/cuda/include"),
        ),
        steps.assembly("kernels.s", "as"),
        steps.link(
            "vec.so",
            ("wrapper.cc.o", "kernels.s.o", "/opt/lib/libtvm_ffi.so"),
            command=("g++",),
            flags=("-lm",),
        ),
    ],
    "odd": [
        steps.compilation("a b$c.cc", ("g++", '-DTEXT="it\'s $HOME"', "-DX=`id`"), ("/in clude",)),
        steps.assembly("sub/im.S", "/a s"),
        steps.merge("odd $name: é|x.o", ("a b$c.cc.o", "im.S.o"), "ld"),
    ],
}


@pytest.mark.parametrize("name", BUILDS)
def test_text_is_the_golden_file(name):
    assert steps.ninja_text(BUILDS[name]) == (GOLDEN / f"{name}.ninja").read_text()
