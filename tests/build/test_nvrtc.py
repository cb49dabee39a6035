"""CUDA source to an image, with the NVRTC that is installed."""

import subprocess
import sys
import threading

import pytest
from nvrtc_kernel import KERNEL, compile_it

from tvmffi_cubin import nvrtc
from tvmffi_cubin.errors import CompileError

HIDDEN = """
namespace { __global__ void k(float* x) { x[threadIdx.x] = 1; } }
static __global__ void s(float* x) { x[threadIdx.x] = 2; }
"""

needs_random_seed = pytest.mark.skipif(
    nvrtc.version() < (12, 9),
    reason="needs NVRTC 12.9 or newer",
)


@needs_random_seed
@pytest.mark.parametrize("include", ["", "#include <cuda/std/array>\n"])
@pytest.mark.parametrize("target_type", ["cubin", "relocatable", "ptx"])
def test_another_process_makes_the_same_bytes_with_and_without_pch(include, target_type):
    made = {compile_hidden(include + HIDDEN, target_type=target_type).image}
    made.add(compile_hidden(include + HIDDEN, target_type=target_type, use_pch=False).image)
    script = f"""
import sys
from tvmffi_cubin import nvrtc
image = nvrtc.compile({include + HIDDEN!r}, arch="sm_80", name_expressions=["k", "s"],
                      target_type={target_type!r}).image
sys.stdout.buffer.write(image)
"""
    made.add(subprocess.run([sys.executable, "-c", script], check=True, capture_output=True).stdout)
    assert len(made) == 1


@needs_random_seed
def test_a_hidden_kernel_has_one_symbol_for_every_architecture_and_another_in_another_unit():
    symbols = {compile_hidden(arch=arch).lowered_names["k"] for arch in ("sm_80", "sm_90a")}
    assert len(symbols) == 1
    others = [
        compile_hidden(name="other.cu"),
        compile_hidden("\n" + HIDDEN),
        compile_hidden(options=["-DX"]),
    ]
    assert len({*symbols, *(other.lowered_names["k"] for other in others)}) == 4


def compile_hidden(source=HIDDEN, **arguments):
    return compile_it(source, name_expressions=["k", "s"], **arguments)


def test_options_reach_nvrtc():
    source = "#if VALUE != 3 || __cplusplus < 202002L\n#error no\n#endif\n" + KERNEL
    assert compile_it(source, options=["-DVALUE=3", "-std=c++20"]).image
    assert b"k.cu" in compile_it(name="k.cu", options=["-lineinfo"]).image


def test_the_callers_headers_come_before_cudas(tmp_path):
    folder = tmp_path / "with space"
    folder.mkdir()
    (folder / "cuda_fp16.h").write_text("#define MINE 1\n")
    source = "#include <cuda_fp16.h>\n#if !MINE\n#error no\n#endif\n" + KERNEL
    assert compile_it(source, include_paths=[folder]).image
    assert compile_it(source, options=[f"-I{folder}"]).image


def test_the_current_folder_does_not_decide_what_a_source_means(tmp_path, monkeypatch):
    (tmp_path / "mine.h").write_text("")
    monkeypatch.chdir(tmp_path)
    source = '#include "mine.h"\n' + KERNEL
    with pytest.raises(CompileError, match=r'cannot open source file "mine\.h"'):
        compile_it(source)
    assert compile_it(source, source_include=True).image
    assert nvrtc.nvrtc_compile(source, arch="sm_80")


def test_nvrtc_compile_is_as_tvm_ffis():
    source = "#if A + B != 3\n#error no\n#endif\n" + KERNEL
    options = ["-DA=1", b"-DB=2"]
    image = nvrtc.nvrtc_compile(source, name="k.cu", arch="sm_80", extra_opts=options)
    assert type(image) is bytes
    assert image.startswith(b"\x7fELF")
    with pytest.raises(RuntimeError):
        nvrtc.nvrtc_compile("broken", arch="sm_80")


def test_threads_may_compile_at_once():
    images = {}

    def work(number):
        source = f'extern "C" __global__ void k{number}(int* x) {{ *x = {number}; }}'
        images[number] = compile_it(source)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {n: cubin.kernels[0].name for n, cubin in images.items()} == {
        n: f"k{n}" for n in range(8)
    }


def test_a_small_source_is_compiled_without_what_it_does_not_use():
    source = "#ifndef __CUDACC_RTC_MINIMAL__\n#error no\n#endif\n" + KERNEL
    assert compile_it(source).image
    with pytest.raises(CompileError, match="#error no"):
        compile_it("#include <cstdint>\n" + source)
    assert compile_it(source, options=["-minimal"]).image  # asked for, and said once


@pytest.mark.parametrize(
    ("parameters", "body"),
    [
        ("cudaTextureObject_t t", "x[0] = tex1Dfetch<float>(t, 0);"),
        ("unsigned long long t", "x[0] = tex1Dfetch<float>(t, 0);"),
        ("unsigned long long t", "surf1Dwrite(1.0f, t, 0);"),
        ("CUuuid t", "x[0] = t.bytes[0];"),
        ("int t", "x[0] = cudaErrorInvalidValue == t;"),
        ("int t", 'printf("%d", t); assert(t); x[0] = __ldg(x + t) + atomicAdd(x, 1.0f);'),
    ],
)
def test_what_small_sources_seldom_use_is_at_hand(parameters, body):
    source = f'extern "C" __global__ void k(float* x, {parameters}) {{ {body} }}'
    assert compile_it(source).image


def test_an_instance_may_be_of_a_type_that_its_source_does_not_name():
    source = "template <class T> __global__ void k(T x) {}"
    assert compile_it(source, name_expressions=["k<cudaTextureObject_t>"]).image


def test_a_kernel_may_launch_another():
    source = KERNEL + "__global__ void launch(float* x) { launch<<<1, 1>>>(x); }"
    assert compile_it(source, target_type="relocatable").image


@pytest.mark.parametrize("option", ["-default-device", "--device-as-default-execution-space"])
def test_what_is_the_default_may_be_said_and_is_passed_once(option):
    with pytest.raises(CompileError) as caught:
        compile_it("wrong", options=[option])
    assert [x for x in caught.value.options if "-default-" in x] == [option]


@needs_random_seed  # older ones' ptxas works on one kernel at a time
def test_the_caller_may_say_how_many_kernels_are_assembled_side_by_side():
    source = KERNEL + KERNEL.replace("store", "other")
    made = compile_it(source, options=["--ptxas-options=--split-compile=2"])
    assert (len(made.kernels), made.log) == (2, "")
    assert compile_it(source).kernels == made.kernels


def test_the_text_of_an_error_is_bounded_and_its_log_whole():
    with pytest.raises(CompileError) as caught:
        compile_it(f"/*{'a' * 10**6}*/ wrong")
    assert len(str(caught.value)) < 20_000 < 10**6 < len(caught.value.log)


def test_ptx_is_text_for_the_base_architecture():
    for name in ("sm_90", "compute_90"):
        made = nvrtc.compile(KERNEL, arch=name, target_type="ptx")
        assert (made.kind, made.arch) == ("ptx", "compute_90")
        assert b".target sm_90\n" in made.image
        assert made.image.endswith(b"}\n\n")
    assert nvrtc.compile(KERNEL, arch="compute_90").image == made.image
