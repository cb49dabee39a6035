"""CUDA source to an image, with the NVRTC that is installed."""

import logging
import pickle
import subprocess
import sys
import threading

import pytest

from tvmffi_cubin import arch, cuda_wheels, nvrtc
from tvmffi_cubin.errors import CompileError, ToolchainError
from tvmffi_cubin.nvrtc_library import NvrtcLibrary

KERNEL = 'extern "C" __global__ void store(float* x) { x[threadIdx.x] = 1; }\n'


def compile_it(source=KERNEL, **arguments):
    return nvrtc.compile(source, **{"arch": "sm_80", **arguments})


def test_an_image_is_made():
    cubin = compile_it(arch="sm_90a")
    assert cubin.image.startswith(b"\x7fELF")
    assert cubin.arch == "sm_90a"
    assert [kernel.name for kernel in cubin.kernels] == ["store"]
    assert cubin.log == ""


def test_the_same_source_gives_the_same_bytes():
    assert compile_it().image == compile_it().image


HIDDEN = """
namespace { __global__ void k(float* x) { x[threadIdx.x] = 1; } }
static __global__ void s(float* x) { x[threadIdx.x] = 2; }
"""

needs_random_seed = pytest.mark.skipif(
    not NvrtcLibrary.load(cuda_wheels.find_cuda().nvrtc).has_random_seed,
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


def test_a_byte_order_mark_is_passed_over():
    source = 'extern "C" __global__ void k() {}'
    marked = nvrtc.compile("\ufeff" + source, arch="sm_90").image
    assert marked == nvrtc.compile(source, arch="sm_90").image


def test_the_current_device_is_compiled_for(driver_stub):
    driver_stub.set_devices(80)
    assert nvrtc.compile(KERNEL).arch == "sm_80"
    driver_stub.set_devices(90)
    assert nvrtc.compile(KERNEL).arch == "sm_90a"


def test_options_of_the_assembler_may_be_in_one():
    assert "ptxas info" in compile_it(options=["-Xptxas=-v,-dlcm=ca"]).log
    assert "ptxas info" in compile_it(options=["-Xptxas", "-dlcm=ca,-v"]).log


def test_options_may_name_the_architecture():
    assert nvrtc.compile(KERNEL, options=["-arch=sm_75"]).arch == "sm_75"


def test_templates_get_their_symbols():
    source = "namespace n { template <class T, int N> __global__ void scale(T* x) { *x *= N; } }"
    names = ["n::scale<float, 4>", "n::scale<double, 2>"]
    cubin = compile_it(source, name_expressions=names)
    assert list(cubin.lowered_names) == names
    assert set(cubin.lowered_names.values()) == {kernel.name for kernel in cubin.kernels}


def test_a_name_expression_that_names_nothing_is_a_compile_error():
    with pytest.raises(CompileError, match="nothing_like_it"):
        compile_it(name_expressions=["nothing_like_it<float>"])


def test_options_reach_nvrtc():
    source = "#if VALUE != 3 || __cplusplus < 202002L\n#error no\n#endif\n" + KERNEL
    assert compile_it(source, options=["-DVALUE=3", "-std=c++20"]).image
    assert b"k.cu" in compile_it(name="k.cu", options=["-lineinfo"]).image


def test_functions_without_a_space_are_device_functions():
    assert compile_it("int twice(int x) { return 2 * x; }" + KERNEL).image


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


def test_an_epilogue_is_compiled_and_is_not_part_of_messages():
    epilogue = "__device__ int more = missing;"
    with pytest.raises(CompileError, match=r"k\.cu\(2\): error: .*missing") as caught:
        compile_it(KERNEL.rstrip() + " // no newline", name="k.cu", epilogue=epilogue)
    assert "more" not in caught.value.source
    assert "> 2" not in str(caught.value)


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

    def test_an_include_path_with_a_nul(self):
        with pytest.raises(ValueError, match="include_paths holds 'a.x00b'"):
            compile_it(include_paths=["a\0b"])

    @pytest.mark.parametrize("name", ["source", "name", "prologue", "epilogue"])
    def test_text_that_is_no_unicode(self, name):
        with pytest.raises(ValueError, match=rf"{name} holds '.ud800' at offset 3"):
            compile_it(**{"source": KERNEL, name: "// \ud800"})

    def test_options_and_expressions_that_are_no_unicode(self):
        with pytest.raises(ValueError, match="the option '-D.ud800' is no Unicode"):
            compile_it(options=["-D\ud800"])
        with pytest.raises(ValueError, match="a name expression holds '.ud800'"):
            compile_it(name_expressions=["\ud800"])

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
        monkeypatch.setattr(NvrtcLibrary, "version", lambda self: (12, 2))
        monkeypatch.setattr(NvrtcLibrary, "supported_archs", lambda self: (60, 80, 90))

    @pytest.mark.parametrize("capability", [100, 137])
    def test_for_the_device_makes_ptx_for_it(self, driver_stub, capability, caplog):
        arch._warn.cache_clear()
        driver_stub.set_devices(capability)
        made = nvrtc.compile(KERNEL)
        assert (made.kind, made.arch) == ("ptx", "compute_90")
        assert f"sm_{capability}" in caplog.text

    def test_for_the_device_where_none_will_do(self, driver_stub, monkeypatch):
        monkeypatch.setattr(NvrtcLibrary, "supported_archs", lambda self: (120,))
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


class TestNvrtcCompile:
    def test_it_returns_bytes_and_takes_options_as_strings_or_bytes(self):
        source = "#if A + B != 3\n#error no\n#endif\n" + KERNEL
        image = nvrtc.nvrtc_compile(
            source, name="k.cu", arch="sm_80", extra_opts=["-DA=1", b"-DB=2"]
        )
        assert type(image) is bytes
        assert image.startswith(b"\x7fELF")

    def test_it_raises_a_runtime_error_as_tvm_ffis_does(self):
        with pytest.raises(RuntimeError):
            nvrtc.nvrtc_compile("broken", arch="sm_80")


def test_the_version_is_that_of_the_family_in_use():
    assert nvrtc.version()[0] == cuda_wheels.find_cuda().major


def test_a_file_that_is_no_library_is_a_toolchain_error(tmp_path):
    file = tmp_path / "libnvrtc.so.12"
    file.write_text("nothing")
    with pytest.raises(ToolchainError, match=r"NVRTC could not be loaded .*force-reinstall"):
        NvrtcLibrary.load(file)


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


def test_programs_are_freed_on_every_way_out(monkeypatch):
    alive = 0
    library = NvrtcLibrary.load(cuda_wheels.find_cuda().nvrtc)
    create, destroy = library.library.nvrtcCreateProgram, library.library.nvrtcDestroyProgram

    def counted(function, step):
        def call(*arguments):
            nonlocal alive
            alive += step
            return function(*arguments)

        return call

    monkeypatch.setattr(library.library, "nvrtcCreateProgram", counted(create, 1))
    monkeypatch.setattr(library.library, "nvrtcDestroyProgram", counted(destroy, -1))
    compile_it()
    for broken in ({"source": "broken"}, {"options": ["--none"]}, {"options": ["-dlto"]}):
        with pytest.raises((CompileError, ValueError)):
            compile_it(**broken)
    assert alive == 0


@pytest.mark.parametrize(
    ("target_type", "start"),
    [("relocatable", b"\x7fELF"), ("ltoir", b"\xed\x43\x4e\x7f"), ("cubin", b"\x7fELF")],
)
def test_a_source_compiles_to_what_is_asked_for(target_type: str, start: bytes):
    source = "extern __device__ int other(int);\n__global__ void k(int* x) { x[0] = other(1); }"
    if target_type == "cubin":
        source = source.replace("(int);", "(int x) { return x; }").replace("extern ", "")
    made = nvrtc.compile(source, arch="sm_90", target_type=target_type)
    assert made.kind == target_type
    assert made.image.startswith(start)


def test_ptx_is_text_for_the_base_architecture():
    for name in ("sm_90", "compute_90"):
        made = nvrtc.compile(KERNEL, arch=name, target_type="ptx")
        assert (made.kind, made.arch) == ("ptx", "compute_90")
        assert b".target sm_90\n" in made.image
        assert made.image.endswith(b"}\n\n")
    assert nvrtc.compile(KERNEL, arch="compute_90").image == made.image


def test_ptx_for_the_device_leaves_out_what_is_that_devices_alone(driver_stub):
    assert nvrtc.compile(KERNEL, target_type="ptx").arch == "compute_90"


@pytest.mark.parametrize(
    ("archs", "target_type", "message"),
    [
        ("sm_90a", "ptx", 'PTX is compiled by newer devices.*pass arch="compute_90"'),
        ("compute_90a", "cubin", "PTX of an architecture with 'a' runs on that one alone"),
        ("compute_90", "ltoir", 'pass arch="sm_90"'),
        (["sm_80", "sm_90"], "relocatable", "one architecture at a time, got sm_80, sm_90"),
    ],
)
def test_an_architecture_that_does_not_go_with_the_target_is_refused(archs, target_type, message):
    with pytest.raises(ValueError, match=message):
        nvrtc.compile(KERNEL, arch=archs, target_type=target_type)


def test_an_unknown_target_type_lists_those_that_there_are():
    with pytest.raises(ValueError, match="'fatbin'.*'cubin', 'relocatable', 'ltoir', 'ptx'"):
        nvrtc.compile("__global__ void k() {}", arch="sm_90", target_type="fatbin")
