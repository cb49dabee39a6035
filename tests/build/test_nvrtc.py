"""CUDA source to an image, with the NVRTC that is installed; what is said of sources that fail."""

import logging
import pickle
import subprocess
import sys

import pytest
from nvrtc_kernel import KERNEL, compile_it

from tvmffi_cubin import nvrtc
from tvmffi_cubin.errors import CompileError, ToolchainError

HIDDEN = """
namespace { __global__ void k(float* x) { x[threadIdx.x] = 1; } }
static __global__ void s(float* x) { x[threadIdx.x] = 2; }
"""

needs_random_seed = pytest.mark.skipif(
    nvrtc.version() < (12, 9),
    reason="needs NVRTC 12.9 or newer",
)


@needs_random_seed
@pytest.mark.parametrize(
    ("include", "target_type"),
    [("", "relocatable"), ("", "ptx"), ("#include <cuda/std/array>\n", "cubin")],
)
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
    options = ["-DVALUE=3", "-std=c++20", "-lineinfo", "--device-as-default-execution-space"]
    assert b"k.cu" in compile_it(source, name="k.cu", options=options).image


def test_the_callers_headers_come_before_cudas(tmp_path):
    (tmp_path / "cuda_fp16.h").write_text("#define MINE 1\n")
    source = "#include <cuda_fp16.h>\n#if !MINE\n#error no\n#endif\n" + KERNEL
    assert compile_it(source, include_paths=[tmp_path]).image
    assert compile_it(source, options=[f"-I{tmp_path}"]).image


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
    with pytest.raises(RuntimeError):
        nvrtc.nvrtc_compile("broken", arch="sm_80")


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
        ("unsigned long long t", "surf1Dwrite(1.0f, t, 0);"),
        ("CUuuid t", "x[0] = t.bytes[0];"),
        ("int t", "x[0] = cudaErrorInvalidValue == t;"),
        ("int t", 'printf("%d", t); assert(t); x[0] = __ldg(x + t) + atomicAdd(x, 1.0f);'),
    ],
)
def test_what_small_sources_seldom_use_is_at_hand(parameters, body):
    source = f'extern "C" __global__ void k(float* x, {parameters}) {{ {body} }}'
    assert compile_it(source).image


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


def test_a_failure_shows_the_offending_lines_and_keeps_log_source_and_options(tmp_path, capfd):
    source = '#include "broken.h"\n__global__ void first(float* x) {\n\tx[0] = undefined_name;\n}\n'
    (tmp_path / "broken.h").write_text("int f() {\n  return header_name;\n}\n")
    with pytest.raises(CompileError) as caught:
        compile_it(source, name="my kernel.cu", include_paths=[tmp_path])
    error = caught.value
    assert 'my kernel.cu(3): error: identifier "undefined_name" is undefined' in str(error)
    assert 'broken.h(2): error: identifier "header_name" is undefined' in str(error)
    assert "/dev/null" not in error.log
    assert error.source == source
    assert "-arch=sm_80" in error.options
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.log, again.options) == (str(error), error.log, error.options)
    assert capfd.readouterr() == ("", "")


def test_a_header_that_is_not_included_or_of_host_algorithms_is_explained():
    with pytest.raises(CompileError, match=r"Hint: half and half2 need #include <cuda_fp16"):
        compile_it("__global__ void k(__half* x) {}")
    with pytest.raises(CompileError, match="Hint: the device-wide algorithms of CUB and"):
        compile_it("#include <cub/device/device_scan.cuh>\n" + KERNEL)


def test_what_the_compiler_says_goes_to_the_logger_and_into_the_cubin(caplog):
    caplog.set_level(logging.INFO, logger="tvmffi_cubin")
    cubin = compile_it('extern "C" __global__ void k() { int unused; }', name="k.cu")
    assert "k.cu(1): warning" in cubin.log
    assert "registers" in compile_it(options=["-Xptxas", "-v"]).log
    # Nobody can mend NVIDIA's headers.
    assert "thrust/tuple.h(" in compile_it(f"#include <thrust/tuple.h>\n{KERNEL}").log
    records = [(record.name, record.levelname) for record in caplog.records]
    assert records == [("tvmffi_cubin", "WARNING"), *[("tvmffi_cubin", "INFO")] * 2]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"source": b""}, TypeError, "source must be a str, got bytes"),
        ({"options": "abc"}, TypeError, "options must be a sequence"),
        ({"options": ["--no-such-thing"]}, ValueError, "unrecognized option --no-such-thing"),
        ({"target_type": "fatbin"}, ValueError, "'cubin', 'relocatable', 'ltoir', 'ptx'"),
        ({"arch": "sm_150"}, ToolchainError, "not support sm_150; avail.*sm_8.*--upgrade"),
    ],
)
def test_a_bad_argument_is_named(arguments, error, message):
    with pytest.raises(error, match=message):
        compile_it(**arguments)
