"""NVRTC: what is said of sources that fail, of bad arguments and of releases that are too old."""

import logging
import pickle

import pytest
from nvrtc_kernel import KERNEL, compile_it

from tvmffi_cubin import nvrtc
from tvmffi_cubin.cuda import arch, program
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

    def test_the_message_shows_the_offending_line_with_its_number(self, error):
        assert 'my kernel.cu(3): error: identifier "undefined_name" is undefined' in str(error)
        assert "> 3 | \tx[0] = undefined_name;\n    | \t       ^" in str(error)

    def test_lines_of_headers_are_left_as_nvrtc_shows_them(self, error):
        assert 'broken.h(2): error: identifier "header_name" is undefined' in str(error)
        assert "> 2 |" not in str(error)

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

    @pytest.mark.parametrize("source", [None, b"x", 3, [KERNEL]])
    def test_a_source_that_is_no_string(self, source):
        with pytest.raises(
            TypeError, match=f"source must be a string, got {type(source).__name__}"
        ):
            compile_it(source)

    def test_a_name_that_is_none(self):
        with pytest.raises(TypeError, match="name must be a string, got NoneType"):
            compile_it(name=None)
        with pytest.raises(ValueError, match="name expression is empty"):
            compile_it(name_expressions=[""])

    def test_a_nul_in_the_source(self):
        with pytest.raises(ValueError, match="source holds a NUL character at offset 2"):
            compile_it("ab\0c")

    @pytest.mark.parametrize("name", ["name", "epilogue"])
    def test_a_nul_elsewhere(self, name):
        with pytest.raises(ValueError, match=f"{name} holds a NUL"):
            compile_it(**{name: "a\0b"})

    @pytest.mark.parametrize("name", ["name_expressions", "include_paths", "options"])
    def test_one_string_where_several_are_wanted(self, name):
        with pytest.raises(TypeError, match=f"{name} must be a sequence"):
            compile_it(**{name: "abc"})

    @pytest.mark.parametrize("name", ["name_expressions", "include_paths", "options"])
    @pytest.mark.parametrize("wrong", [None, 3])
    def test_nothing_where_several_are_wanted(self, name, wrong):
        with pytest.raises(TypeError, match=f"{name} must be a sequence"):
            compile_it(**{name: wrong})

    @pytest.mark.parametrize("wrong", [None, b"x", 3])
    def test_an_include_path_that_is_none(self, wrong):
        with pytest.raises(TypeError, match=f"must hold paths, got {type(wrong).__name__}"):
            compile_it(include_paths=[wrong])

    def test_a_file_name_that_is_no_unicode_is_taken(self):
        assert compile_it(name="caf\udce9.cu").image

    def test_an_option_that_nvrtc_does_not_know(self):
        with pytest.raises(ValueError, match="unrecognized option --no-such-thing"):
            compile_it(options=["--no-such-thing"])

    def test_an_option_that_makes_no_image(self):
        with pytest.raises(ValueError, match=r"made no image.*-dlto"):
            compile_it(options=["-dlto"])

    def test_an_architecture_that_nobody_knows_lists_those_known(self):
        with pytest.raises(ValueError, match=r"sm_77.*it knows .*sm_80.*sm_90"):
            compile_it(arch="sm_77")


class TestNvrtcTooOld:
    @pytest.fixture(autouse=True)
    def _old(self, monkeypatch):
        monkeypatch.setattr(program.Nvrtc, "version", lambda self: (12, 2))
        monkeypatch.setattr(program.Nvrtc, "supported_archs", lambda self: (60, 80, 90))

    @pytest.mark.parametrize("capability", [100, 137])
    def test_for_the_device_makes_ptx_for_it(self, driver_stub, capability, caplog):
        arch._warn.cache_clear()
        driver_stub.set_devices(capability)
        made = nvrtc.compile(KERNEL)
        assert (made.kind, made.arch) == ("ptx", "compute_90")
        assert f"sm_{capability}" in caplog.text

    def test_for_the_device_where_none_will_do(self, driver_stub, monkeypatch):
        monkeypatch.setattr(program.Nvrtc, "supported_archs", lambda self: (120,))
        driver_stub.set_devices(100)
        match = r"NVRTC 12\.2 cannot compile for sm_100a of this device.*TVMFFI_CUBIN_CUDA=12"
        with pytest.raises(ToolchainError, match=match):
            nvrtc.compile(KERNEL)

    def test_for_a_named_architecture_that_exists(self):
        with pytest.raises(ToolchainError, match=r"NVRTC 12\.2 cannot compile for sm_100a:"):
            compile_it(arch="sm_100a")

    def test_or_too_new(self):
        with pytest.raises(ToolchainError, match=r"TVMFFI_CUBIN_CUDA=12"):
            compile_it(arch="sm_52")
