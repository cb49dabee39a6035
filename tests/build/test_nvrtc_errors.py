"""NVRTC: what is said of sources that fail, of bad arguments and of releases that are too old."""

import logging
import pickle

import pytest
from nvrtc_kernel import KERNEL, compile_it

from tvmffi_cubin import nvrtc
from tvmffi_cubin.errors import CompileError, ToolchainError


def test_a_failure_shows_the_offending_lines_and_keeps_log_source_and_options(tmp_path, capfd):
    source = (
        '#include "broken.h"\n'
        'extern "C" __global__ void first(float* x) {\n'
        "\tx[0] = undefined_name;\n"
        "}\n"
    )
    (tmp_path / "broken.h").write_text("int f() {\n  return header_name;\n}\n")
    with pytest.raises(CompileError) as caught:
        compile_it(source, name="my kernel.cu", include_paths=[tmp_path])
    error = caught.value
    assert 'my kernel.cu(3): error: identifier "undefined_name" is undefined' in str(error)
    assert 'broken.h(2): error: identifier "header_name" is undefined' in str(error)
    assert "undefined_name" in error.log
    assert "/dev/null" not in error.log
    assert error.source == source
    assert "-arch=sm_80" in error.options
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.log, again.options) == (str(error), error.log, error.options)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("header", ["cub/device/device_scan.cuh", "thrust/sort.h"])
def test_a_header_of_host_algorithms_is_explained(header):
    with pytest.raises(CompileError, match="Hint: the device-wide algorithms of CUB and"):
        compile_it(f"#include <{header}>\n" + KERNEL)


def test_a_warning_about_cuda_s_own_headers_is_the_cubin_s_alone(caplog):
    source = """
        #include <cub/block/block_reduce.cuh>
        extern "C" __global__ void k(float* x) {
          __shared__ cub::BlockReduce<float, 64>::TempStorage space;
          x[0] = cub::BlockReduce<float, 64>(space).Sum(x[threadIdx.x]);
        }"""
    cubin = compile_it(source)
    if nvrtc.version() == (12, 9):  # CCCL's of that release uses what is deprecated
        assert ": warning" in cubin.log
    assert caplog.records == []


def test_what_the_compiler_says_goes_to_the_logger_and_into_the_cubin(caplog):
    caplog.set_level(logging.INFO, logger="tvmffi_cubin")
    cubin = compile_it('extern "C" __global__ void k() { int unused; }', name="k.cu")
    assert "k.cu(1): warning" in cubin.log
    assert "registers" in compile_it(options=["-Xptxas", "-v"]).log
    records = [(record.name, record.levelname) for record in caplog.records]
    assert records == [("tvmffi_cubin", "WARNING"), ("tvmffi_cubin", "INFO")]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"source": b""}, TypeError, "source is a string, got bytes"),
        ({"options": "abc"}, TypeError, "options must be a sequence"),
        ({"options": ["--no-such-thing"]}, ValueError, "unrecognized option --no-such-thing"),
        ({"target_type": "fatbin"}, ValueError, "'cubin', 'relocatable', 'ltoir', 'ptx'"),
        ({"arch": "sm_150"}, ToolchainError, "sm_150 is not an arch.*for .*sm_8.*--upgrade"),
    ],
)
def test_a_bad_argument_is_named(arguments, error, message):
    with pytest.raises(error, match=message):
        compile_it(**arguments)
