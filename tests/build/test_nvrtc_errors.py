"""NVRTC: what is said of sources that fail, of bad arguments and of releases that are too old."""

import logging
import pickle

import pytest
from nvrtc_kernel import KERNEL, compile_it

import tvmffi_cubin as tc
from tvmffi_cubin import nvrtc
from tvmffi_cubin.cuda import arch
from tvmffi_cubin.errors import CompileError, ToolchainError


class TestFailure:
    SOURCE = (
        '#include "broken.h"\n'
        'extern "C" __global__ void first(float* x) {\n'
        "\tx[0] = undefined_name;\n"
        "}\n"
    )

    @pytest.fixture
    def error(self, tmp_path):
        (tmp_path / "broken.h").write_text("int f() {\n  return header_name;\n}\n")
        with pytest.raises(CompileError) as caught:
            compile_it(self.SOURCE, name="my kernel.cu", include_paths=[tmp_path])
        return caught.value

    def test_the_message_shows_the_offending_lines(self, error):
        assert 'my kernel.cu(3): error: identifier "undefined_name" is undefined' in str(error)
        assert 'broken.h(2): error: identifier "header_name" is undefined' in str(error)

    def test_log_source_and_options_are_kept(self, error):
        assert "undefined_name" in error.log
        assert "/dev/null" not in error.log
        assert error.source == self.SOURCE
        assert "-arch=sm_80" in error.options

    def test_it_pickles(self, error):
        again = pickle.loads(pickle.dumps(error))
        assert (str(again), again.log, again.options) == (str(error), error.log, error.options)

    def test_nothing_is_printed(self, capfd):
        with pytest.raises(CompileError):
            compile_it("__global__ void k() { x }")
        assert capfd.readouterr() == ("", "")

    def test_ptxas_errors_are_compile_errors_with_the_remedy(self):
        source = '__global__ void k() { asm volatile("wgmma.fence.sync.aligned;"); }'
        with pytest.raises(CompileError, match='arch="sm_90a"'):
            compile_it(source, arch="sm_90")

    @pytest.mark.parametrize("header", ["cub/device/device_scan.cuh", "thrust/sort.h"])
    def test_a_header_of_host_algorithms_is_named_and_nothing_else(self, header):
        with pytest.raises(CompileError, match="Include the header of a block") as caught:
            compile_it(f"#include <{header}>\n" + KERNEL)
        assert f"<{header}> needs a host compiler" in str(caught.value)
        assert len(str(caught.value)) < 600
        assert " error" in caught.value.log

    def test_a_header_of_the_hosts_library_says_so(self):
        with pytest.raises(CompileError, match="<vector> belongs to the host's C"):
            compile_it("#include <vector>\n" + KERNEL)


class TestLog:
    UNUSED = 'extern "C" __global__ void k() { int unused; }'

    def test_warnings_go_to_the_logger_and_into_the_cubin(self, caplog):
        caplog.set_level(logging.INFO, logger="tvmffi_cubin")
        cubin = compile_it(self.UNUSED, name="k.cu")
        assert "k.cu(1): warning" in cubin.log
        assert [(r.name, r.levelname) for r in caplog.records] == [("tvmffi_cubin", "WARNING")]
        assert '"unused"' in caplog.text

    def test_information_is_no_warning(self, caplog):
        caplog.set_level(logging.INFO, logger="tvmffi_cubin")
        assert "registers" in compile_it(options=["-Xptxas", "-v"]).log
        assert [record.levelname for record in caplog.records] == ["INFO"]


class TestBadInput:
    @pytest.mark.parametrize("source", ["", " \n\t"])
    def test_an_empty_source(self, source):
        with pytest.raises(ValueError, match="source is empty"):
            compile_it(source)

    def test_a_source_that_is_no_string(self):
        with pytest.raises(TypeError, match="source must be a string, got bytes"):
            compile_it(b"x")

    @pytest.mark.parametrize("name", ["source", "epilogue"])
    def test_a_nul_in_what_is_compiled(self, name):
        with pytest.raises(ValueError, match="holds a NUL"):
            compile_it(**{name: "a\0b"})

    @pytest.mark.parametrize("name", ["name_expressions", "include_paths", "options"])
    def test_one_string_where_several_are_wanted(self, name):
        with pytest.raises(TypeError, match=f"{name} must be a sequence"):
            compile_it(**{name: "abc"})

    def test_a_file_name_that_is_no_unicode_is_taken(self):
        assert compile_it(name="caf\udce9.cu").image

    def test_an_option_that_nvrtc_does_not_know(self):
        with pytest.raises(ValueError, match="unrecognized option --no-such-thing"):
            compile_it(options=["--no-such-thing"])

    def test_an_option_that_makes_no_image(self):
        with pytest.raises(ValueError, match=r"made no image.*-dlto"):
            compile_it(options=["-dlto"])


class TestUnknownArchitectures:
    @pytest.mark.parametrize("capability", [150, 217])
    def test_for_such_a_device_ptx_for_it_is_made(self, driver_stub, capability, caplog):
        arch._warn.cache_clear()
        driver_stub.set_devices(capability)
        made = nvrtc.compile(KERNEL)
        assert made.kind == "ptx"
        assert f"sm_{capability}" in caplog.text

    @pytest.mark.parametrize(
        ("name", "remedy"),
        [("sm_150", "pip install --upgrade"), ("compute_217", "upgrade"), ("sm_30", "cu12")],
    )
    def test_named_ones_list_those_known(self, name, remedy):
        match = rf"{name} is no architecture that NVRTC .* knows, .*{remedy}.*for .*sm_80.*sm_90"
        with pytest.raises(ToolchainError, match=match):
            compile_it(arch=name)

    def test_one_that_there_is_not_says_nothing_of_the_cache(self):
        with pytest.raises(ToolchainError, match="sm_900 is no architecture that") as caught:
            tc.load_inline("k", KERNEL, arch="sm_900")
        assert "cache" not in str(caught.value)
