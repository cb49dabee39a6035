"""`load` and `build`: what becomes of each kind of file; what is said of those that cannot be."""

import ctypes
import os
import subprocess
from pathlib import Path

import pytest
from file_kit import ADD, EXPORT, MACRO, SCALE, compiled, include_flags, write
from stub.cuda_array import cuda_array
from wrapper_sources import DRIVER, KERNELS

import tvmffi_cubin as tc

# What each kind becomes


@pytest.mark.parametrize("suffix", [".cpp", ".cc", ".cxx", ".CPP", ".C"])
def test_a_cpp_file_exports_what_it_says(here, suffix):
    export = MACRO if suffix == ".cpp" else EXPORT
    write(f"add{suffix}", "int add(int a, int b) { return a + b; }\n" + export.format("add"))
    assert tc.load("add", sources=f"add{suffix}").add(1, 2) == 3


@pytest.mark.parametrize("argument", ["sources", "cpp_files", "cuda_files"])
def test_the_three_arguments_mean_the_same(here, argument):
    path = write("add.cc", ADD)
    assert tc.load("add", **{argument: [path]}).add(1, 2) == 3
    assert tc.load("add", **{argument: str(path)}).add(2, 2) == 4


def test_a_file_that_is_named_twice_counts_once(here):
    path = write("add.cc", ADD)
    assert tc.load("add", sources=["add.cc", path], cpp_files=path).add(1, 2) == 3


def test_each_cpp_file_is_a_unit_of_its_own(here):
    write("a.cc", "static int value = 1;\nint one() { return value; }\n" + EXPORT.format("one"))
    write("b.cc", "static int value = 2;\nint two() { return value; }\n" + EXPORT.format("two"))
    mod = tc.load("units", sources=["a.cc", "b.cc"])
    assert (mod.one(), mod.two()) == (1, 2)


def test_files_of_one_name_in_several_folders_do_not_collide(here):
    write("a/ops.cc", ADD)
    write("b/ops.cc", "int sub(int a, int b) { return a - b; }\n" + EXPORT.format("sub"))
    mod = tc.load("same", sources=["a/ops.cc", "b/ops.cc"])
    assert (mod.add(5, 2), mod.sub(5, 2)) == (7, 3)


def test_c_files_go_to_the_c_compiler(here, monkeypatch):
    write("new.c", "int new_(int class) { return class + (int)sizeof 'a'; }\n")
    declared = 'extern "C" int new_(int);\nint call(int x) { return new_(x); }\n'
    write("call.cc", declared + EXPORT.format("call"))
    assert tc.load("c", sources=["new.c", "call.cc"]).call(3) == 7
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(tc.ToolchainError, match="CC='no-such-compiler'"):
        tc.load("c", sources=["new.c", "call.cc"])


@pytest.mark.parametrize("flags", [["-std=c++20"], ["-std=c11"], ["-std=gnu++20", "-std=gnu11"]])
def test_a_standard_is_that_of_its_own_language(here, flags):
    wanted = "20" if "++20" in flags[0] else "17"
    write("ops.cc", f"static_assert(__cplusplus / 100 >= 20{wanted});\n" + ADD)
    write("more.c", "int more(void) { return __STDC_VERSION__; }\n")
    options = {"extra_cflags": ["-Werror", *flags]}
    assert tc.load("std", sources=["ops.cc", "more.c"], **options).add(1, 2) == 3


def test_c_files_see_tvm_ffi_and_cuda(here):
    write(
        "version.c",
        "#include <cuda.h>\n#include <cuda_runtime_api.h>\n#include <tvm/ffi/c_api.h>\n"
        "int version(void) { return CUDA_VERSION + (int)sizeof(TVMFFIAny); }\n",
    )
    declared = 'extern "C" int version();\nint call() { return version(); }\n'
    write("call.cc", declared + EXPORT.format("call"))
    assert tc.load("c_cuda", sources=["version.c", "call.cc"]).call() > 12000


def test_objects_and_archives_are_linked(here):
    write("twice.c", "int twice(int x) { return 2 * x; }\n")
    write("thrice.c", "int thrice(int x) { return 3 * x; }\n")
    twice, thrice = compiled("cc", "twice.c"), compiled("cc", "thrice.c")
    subprocess.run(["ar", "rcs", "libthrice.a", thrice], check=True)
    text = 'extern "C" int twice(int), thrice(int);\nint six(int x) { return twice(thrice(x)); }\n'
    write("six.cc", text + EXPORT.format("six"))
    assert tc.load("six", sources=["six.cc", twice, "libthrice.a"]).six(2) == 12


def test_a_shared_library_is_found_where_it_lies(here):
    write("lib/answer.c", "int answer(void) { return 42; }\n")
    compiled("cc", "lib/answer.c", "-shared")
    os.rename("lib/answer.o", "lib/libanswer.so")
    text = 'extern "C" int answer();\nint ask() { return answer(); }\n'
    write("ask.cc", text + EXPORT.format("ask"))
    assert tc.load("ask", sources=["ask.cc", "lib/libanswer.so"]).ask() == 42


def test_an_object_alone_may_export(here):
    write("add.cc", ADD)
    made = compiled("g++", "add.cc", "-std=c++17", *include_flags())
    assert tc.load("object", sources=made).add(1, 2) == 3


def test_an_archive_gives_the_functions_that_are_named(here):
    write("add.cc", ADD)
    subprocess.run(
        ["ar", "rcs", "libadd.a", compiled("g++", "add.cc", "-std=c++17", *include_flags())],
        check=True,
    )
    assert tc.load("archive", sources="libadd.a", functions=["add"]).add(1, 2) == 3


# Kernels


def test_every_kernel_of_a_cu_file_is_exported(here, driver_stub):
    write("scale.cu", SCALE)
    mod = tc.load("scale", sources="scale.cu", arch="sm_90")
    assert mod.scale.signature == "scale(float* x, float by, int n)"
    x = cuda_array(driver_stub, 8)
    mod.scale[2, 4](x, 3.0, 8)
    (launch,) = driver_stub.launches()
    assert launch.values("Pfi") == (x.data_ptr, 3.0, 8)


def test_kernels_of_files_are_launched_as_functions_says(here, driver_stub):
    write("scale.cu", SCALE)
    launch = tc.Launch(grid="ceil_div(n, 4)", block=4, args={"n": "x.numel"})
    mod = tc.load("scale", sources="scale.cu", functions={"scale": launch}, arch="sm_90")
    mod.scale(cuda_array(driver_stub, 10), 3.0)
    assert driver_stub.launches()[0].grid == (3, 1, 1)


def test_template_instances_of_files(here):
    write("fill.cu", "template <class T> __global__ void fill(T* x, T by) { x[0] = by; }")
    functions = {"fill_int": tc.Launch(kernel="fill<int>")}
    mod = tc.load("fill", sources="fill.cu", functions=functions, arch="sm_90")
    assert mod.fill_int.signature == "fill_int(int* x, int by)"


def test_a_wrapper_in_a_cc_file_launches_the_kernels_of_a_cu_file(here, driver_stub):
    write("kernels.cu", KERNELS)
    write("wrapper.cc", DRIVER)
    mod = tc.load("wrapped", sources=["kernels.cu", "wrapper.cc"], arch="sm_90")
    x, y = cuda_array(driver_stub, 300), cuda_array(driver_stub, 300)
    mod.add_one(x, y)
    (launch,) = driver_stub.launches()
    assert (launch.grid[0], launch.values("PPq")) == (2, (x.data_ptr, y.data_ptr, 300))


def test_a_cu_file_of_host_code_is_for_the_host_compiler_as_nvcc_reads_it(here):
    text = "#ifndef WIDTH\n#define WIDTH 1\n#endif\n"
    text += "int width() { return WIDTH * (int)sizeof(dim3); }\n"
    write("width.cu", text + EXPORT.format("width"))
    mod = tc.load("width", sources="width.cu", extra_cuda_cflags=["-DWIDTH=2", "-std=c++20"])
    assert mod.width() == 24


def test_generated_and_own_functions_live_in_one_module(here, driver_stub):
    write("scale.cu", SCALE)
    write("add.cc", ADD)
    mod = tc.load("both", sources=["scale.cu", "add.cc"], functions=["scale", "add"], arch="sm_90")
    assert mod.functions == ("scale",)
    assert mod.add(1, 2) == 3
    mod.scale[1, 1](cuda_array(driver_stub, 4), 1.0, 4)
    assert len(driver_stub.launches()) == 1


def test_a_kernel_that_only_a_header_of_the_file_defines_is_found(here):
    write("scale.cuh", SCALE)
    write("scale.cu", '#include "scale.cuh"\n')
    assert tc.load("header", sources="scale.cu", arch="sm_90").functions == ("scale",)


def test_a_mixed_file_is_named(here):
    path = here / write("mixed.cu", SCALE + "void run(float* x) { scale<<<1, 1>>>(x, 1.0f, 1); }\n")
    with pytest.raises(ValueError, match="mixes kernels and host code") as caught:
        tc.load("mixed", sources="mixed.cu", arch="sm_90")
    assert str(caught.value).startswith(f"{path} mixes")
    assert "line 6" in str(caught.value)
    assert ".cc file" in str(caught.value)


def test_a_launch_that_only_nvcc_compiles_is_named(here):
    write("run.cu", "__global__ void k(int* x);\nvoid run(int* x) { k<<<1, 1>>>(x); }\n")
    with pytest.raises(ValueError, match=r"run\.cu mixes(.|\n)*line 2: k<<<\.\.\.>>> in host code"):
        tc.load("run", sources="run.cu")


# Images


@pytest.fixture
def image():
    return tc.nvrtc.nvrtc_compile(KERNELS, arch="sm_90")


def test_a_cubin_s_kernels_are_launched_by_declared_parameters(here, driver_stub, image):
    Path("lib.cubin").write_bytes(image)
    launch = tc.Launch(
        grid=1, block=32, params="const float* x, float* y, int64_t n", args={"n": "x.numel"}
    )
    mod = tc.load("cubin", sources="lib.cubin", functions={"add_one": launch})
    x, y = cuda_array(driver_stub, 8), cuda_array(driver_stub, 8)
    mod.add_one(x, y)
    assert driver_stub.launches()[0].values("PPq") == (x.data_ptr, y.data_ptr, 8)


def test_a_fatbin_s_kernels_are_launched(here, driver_stub):
    fatbin = tc.nvrtc.compile(SCALE, arch=["sm_80", "sm_90"])
    Path("lib.fatbin").write_bytes(fatbin.image)
    launch = tc.Launch(grid=1, block=1, params="float* x, float by, int n")
    mod = tc.load("fatbin", sources="lib.fatbin", functions={"scale": launch})
    mod.scale(cuda_array(driver_stub, 4), 2.0, 4)
    assert len(driver_stub.launches()) == 1


@pytest.mark.parametrize("suffix", [".cubin", ".fatbin"])
def test_a_wrapper_embeds_an_image_by_its_file_s_name(here, driver_stub, image, suffix):
    Path(f"kernels{suffix}").write_bytes(image)
    write("wrapper.cc", DRIVER)
    mod = tc.load("embedded", sources=["wrapper.cc", f"kernels{suffix}"])
    mod.add_one(cuda_array(driver_stub, 8), cuda_array(driver_stub, 8))
    assert len(driver_stub.launches()) == 1


def test_an_image_s_file_must_have_a_name_that_c_can_have(here, image):
    Path("add-one.cubin").write_bytes(image)
    with pytest.raises(ValueError, match=r"'add-one' is not a name that C can have.*embed_cubin="):
        tc.load("name", sources="add-one.cubin", functions=["add_one"])
    launch = tc.Launch(grid=1, block=1, params="const float* x, float* y, int64_t n")
    mod = tc.load(
        "name", sources=[write("add.cc", ADD)], embed_cubin={"add_one": "add-one.cubin"},
        functions={"one": tc.Launch(kernel="add_one", params=launch.params)},
    )  # fmt: skip
    assert mod.functions == ("one",)


def test_images_of_one_name_are_refused(here, image):
    for folder in ("a", "b"):
        (here / folder).mkdir()
        (here / folder / "lib.cubin").write_bytes(image)
    with pytest.raises(ValueError, match=r"a/lib\.cubin and .*b/lib\.cubin would both be embedded"):
        tc.load("twice", sources=["a/lib.cubin", "b/lib.cubin"], functions=["add_one"])
    with pytest.raises(ValueError, match=r"embed_cubin\['lib'\] and the file .*a/lib\.cubin"):
        tc.load("twice", sources="a/lib.cubin", embed_cubin={"lib": image}, functions=["add_one"])


def test_an_image_called_as_that_of_the_kernels_is_refused(here, image):
    Path("kernels.cubin").write_bytes(image)
    write("scale.cu", SCALE)
    with pytest.raises(ValueError, match=r"kernels\.cubin is an image called 'kernels'"):
        tc.load("kernels", sources=["kernels.cubin", "scale.cu"], arch="sm_90")


def test_images_alone_need_functions(here, image):
    Path("lib.cubin").write_bytes(image)
    with pytest.raises(ValueError, match=r"images alone \(lib\): name their kernels"):
        tc.load("alone", sources="lib.cubin")


def test_a_file_that_is_no_image_is_named(here):
    path = write("lib.cubin", "text")
    with pytest.raises(ValueError, match="is no cubin") as caught:
        tc.load("none", sources="lib.cubin", functions=["k"])
    assert str(path) in str(caught.value)


# PTX


def write_ptx(path, source=SCALE, arch="compute_80"):
    Path(path).write_bytes(tc.nvrtc.compile(source, arch=arch, target_type="ptx").image)


def test_ptx_is_assembled_for_the_architecture(here, driver_stub):
    write_ptx("lib.ptx")
    launch = tc.Launch(grid=1, block=32, params="float* x, float by, int n", args={"n": "x.numel"})
    mod = tc.load("ptx", sources="lib.ptx", functions={"scale": launch}, arch="sm_90")
    assert mod.cubins["lib"].arch == "sm_90"
    assert mod.cubins["lib"].image.startswith(b"\x7fELF")
    x = cuda_array(driver_stub, 8)
    mod.scale(x, 2.0)
    assert driver_stub.launches()[0].values("Pfi") == (x.data_ptr, 2.0, 8)


def test_a_wrapper_embeds_ptx_by_its_file_s_name(here, driver_stub):
    write_ptx("kernels.ptx", KERNELS)
    write("wrapper.cc", DRIVER)
    mod = tc.load("ptx_wrapper", sources=["kernels.ptx", "wrapper.cc"], arch="sm_90")
    mod.add_one(cuda_array(driver_stub, 8), cuda_array(driver_stub, 8))
    assert len(driver_stub.launches()) == 1


def test_ptx_is_assembled_for_several_architectures(here, driver_stub):
    write_ptx("lib.ptx")
    launch = tc.Launch(grid=1, block=1, params="float* x, float by, int n")
    archs = ["sm_80", "sm_90", "compute_80"]
    mod = tc.load("ptx_archs", sources="lib.ptx", functions={"scale": launch}, arch=archs)
    assert mod.cubins["lib"].archs == ("sm_80", "sm_90", "compute_80")
    mod.scale(cuda_array(driver_stub, 4), 2.0, 4)
    assert len(driver_stub.launches()) == 1


def test_ptx_stays_text_where_ptx_is_asked_for(here, driver_stub):
    write_ptx("lib.ptx")
    launch = tc.Launch(grid=1, block=1, params="float* x, float by, int n")
    options = {"sources": "lib.ptx", "functions": {"scale": launch}, "arch": "compute_80"}
    assert tc.load("ptx_text", **options).cubins["lib"].kind == "ptx"
    text = Path("lib.ptx").read_text()
    write("lib.ptx", text.replace(".target sm_80", ".target sm_90a").rstrip("\0"))
    with pytest.raises(ValueError, match=r"lib\.ptx is for sm_90a alone, and PTX is wanted"):
        tc.load("ptx_text", **options)


def test_ptx_for_a_newer_architecture_is_named(here):
    write_ptx("lib.ptx", arch="compute_90")
    with pytest.raises(ValueError, match=r"lib\.ptx is for sm_90 and .* for sm_80"):
        tc.load("newer", sources="lib.ptx", functions=["scale"], arch="sm_80")


def test_ptx_that_is_wrong_is_named(here):
    write("broken.ptx", ".version 8.0\n.target sm_80\n.address_size 64\nnonsense\n")
    with pytest.raises(tc.CompileError, match=r"broken\.ptx"):
        tc.load("broken", sources="broken.ptx", functions=["k"], arch="sm_90")
    write("text.ptx", "text")
    with pytest.raises(ValueError, match=r"text\.ptx is no PTX: it begins with"):
        tc.load("text", sources="text.ptx", functions=["k"], arch="sm_90")


def test_without_a_gpu_ptx_needs_an_architecture(here, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_DRIVER", str(here / "none.so"))
    write_ptx("lib.ptx")
    with pytest.raises(tc.ToolchainError, match="no GPU to compile for"):
        tc.load("no_gpu", sources="lib.ptx", functions=["scale"])


# What is exported


def test_a_function_that_no_file_exports_is_an_error_with_the_macro(here):
    write("add.cc", ADD)
    with pytest.raises(tc.BuildError, match=r"'sub'.*TYPED_FUNC\(sub, sub\)"):
        tc.load("missing", sources="add.cc", functions=["add", "sub"])


def test_a_file_s_own_function_comes_before_a_kernel_of_its_name(here):
    write("add.cu", 'extern "C" __global__ void add(int* x) {}')
    write("add.cc", ADD)
    mod = tc.load("own", sources=["add.cu", "add.cc"], functions=["add"], arch="sm_90")
    assert (mod.functions, mod.add(1, 2)) == ((), 3)
    with pytest.raises(ValueError, match="is a Launch, and a file exports a function of that name"):
        tc.load("own", sources=["add.cu", "add.cc"], functions={"add": tc.Launch()}, arch="sm_90")


def test_docstrings_of_own_functions_belong_in_the_file(here):
    write("add.cc", ADD)
    with pytest.raises(ValueError, match="TYPED_FUNC_DOC"):
        tc.load("doc", sources="add.cc", functions={"add": "Adds."})


# Messages and places


@pytest.mark.parametrize("suffix", [".cu", ".cc", ".c"])
def test_messages_show_the_user_s_path_and_line(here, suffix):
    path = write(
        f"wrong{suffix}", "\n\n__device__ wrong;\n" if suffix == ".cu" else "\n\nwrong wrong;\n"
    )
    with pytest.raises((tc.CompileError, tc.BuildError)) as caught:
        tc.load("wrong", sources=path, arch="sm_90")
    mark = "(3)" if suffix == ".cu" else ":3:"
    assert f"{path}{mark}" in str(caught.value)


ODD = ["a b", "it's", 'quo"te', "$HOME", "münchen", "co:lon", "hash#", "per%cent", "pi|pe", "a\\b"]


@pytest.mark.parametrize("odd", ODD)
def test_odd_paths_work(here, driver_stub, odd):
    folder = Path(odd)
    write(folder / "answer.h", "#define ANSWER 42\n")
    include = '#include "answer.h"\n'
    answer = "int answer() { return ANSWER; }\n" + EXPORT.format("answer")
    sources = [
        write(folder / f"{odd}.cc", include + answer),
        write(folder / f"{odd}.c", include + "int unused(void) { return ANSWER; }\n"),
        write(folder / f"{odd}.cu", include + "__global__ void k(int* x) { x[0] = ANSWER; }\n"),
    ]
    sources.append(compiled("cc", write(folder / f"{odd} o.c", "int object(void) { return 1; }\n")))
    mod = tc.load("odd", sources=sources, functions=["k", "answer"], arch="sm_90")
    assert mod.answer() == 42
    mod.k[1, 1](cuda_array(driver_stub, 1, "int32"))


def test_a_file_s_own_folder_is_searched_first(here, tmp_path):
    write("in/answer.h", "#define ANSWER 1\n")
    write("other/answer.h", "#define ANSWER 2\n")
    text = '#include "answer.h"\n'
    write("in/k.cu", text + "static_assert(ANSWER == 1);\n__global__ void k(int* x) {}\n")
    write("in/answer.cc", text + "int answer() { return ANSWER; }\n" + EXPORT.format("answer"))
    sources = ["in/k.cu", "in/answer.cc"]
    mod = tc.load("first", sources=sources, extra_include_paths=["other"], arch="sm_90")
    assert mod.answer() == 1


def test_a_link_finds_headers_beside_itself_and_then_beside_what_it_leads_to(here):
    write("real/near.h", "#define NEAR 1\n")
    write("real/far.h", "#define FAR 1\n")
    write("links/near.h", "#define NEAR 2\n")
    text = '#include "near.h"\n#include "far.h"\n'
    write("real/k.cu", text + "static_assert(NEAR == 2 && FAR == 1);\n__global__ void k() {}\n")
    write("real/f.cc", text + "int f() { return NEAR + FAR; }\n" + EXPORT.format("f"))
    for name in ("k.cu", "f.cc"):
        os.symlink(f"../real/{name}", f"links/{name}")
    mod = tc.load("links", sources=["links/k.cu", "links/f.cc"], arch="sm_90")
    assert mod.f() == 3


def test_the_file_itself_is_compiled(here):
    text = "int line() { return __FILE__[0] == '/' ? __LINE__ : 0; }\n"
    write("line.cc", text + EXPORT.format("line"))
    assert tc.load("line", sources="line.cc").line() == 1


def test_any_encoding_is_the_host_compiler_s_affair(here):
    Path("latin.cc").write_bytes(b"// caf\xe9\n" + ADD.encode())
    assert tc.load("latin", sources="latin.cc").add(1, 2) == 3


def test_build_returns_what_load_loads(here):
    write("add.cc", ADD)
    path = tc.build("add", sources="add.cc")
    assert path == tc.load("add", sources="add.cc").path
    copy = tc.build("add", sources="add.cc", build_directory="out")
    assert copy == str(here / "out" / "add.so")
    assert ctypes.CDLL(copy) is not None


# What cannot be


@pytest.mark.parametrize(
    ("sources", "error", "text"),
    [
        ([], ValueError, "sources is empty"),
        ("none.cu", FileNotFoundError, "there is no such source.*none.cu"),
        ("none.py", FileNotFoundError, "there is no such source.*none.py"),
        (".", IsADirectoryError, "a source is a file, this is a folder"),
        ("folder.cu", IsADirectoryError, "a source is a file, this is a folder"),
        ("folder.o", IsADirectoryError, "a source is a file, this is a folder"),
        ("pipe.cu", ValueError, "pipe.cu is a device or a pipe"),
        ("pipe.so", ValueError, "pipe.so is a device or a pipe"),
        ("notes.txt", ValueError, r"notes.txt has the suffix '.txt': known are .cu .cpp"),
        ("noname", ValueError, r"noname has the suffix '': known are"),
        ("ops.cuh", ValueError, r"ops.cuh is a header: leave it out.*extra_include_paths"),
        ("latin.cu", ValueError, r"latin.cu is no UTF-8 text: line 2 holds the byte 0xe9; convert"),
        ("wide.cu", ValueError, r"wide.cu (is no UTF-8|holds a NUL)"),
        (3, TypeError, "sources is a path or a sequence of paths, got int"),
        (b"a.cc", TypeError, "sources is a path or a sequence of paths, got bytes"),
        ([3], TypeError, "sources holds paths, got int"),
        ([""], ValueError, "sources holds an empty path"),
        (["a\nb.cc"], ValueError, "line breaks"),
        ({"a.cc": 1}, TypeError, "got dict"),
    ],
    ids=str,
)
def test_what_is_no_source_is_refused_by_name(here, sources, error, text):
    for name in ("folder.cu", "folder.o"):
        (here / name).mkdir()
    for name in ("pipe.cu", "pipe.so"):
        os.mkfifo(name)
    for name in ("notes.txt", "noname", "ops.cuh"):
        write(name, "")
    Path("latin.cu").write_bytes(b"\n// caf\xe9\n")
    Path("wide.cu").write_bytes(SCALE.encode("utf-16"))
    with pytest.raises(error, match=text):
        tc.load("refused", sources=sources)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_that_cannot_be_read_is_named(here):
    for suffix in (".cu", ".o"):
        path = write(f"secret{suffix}", SCALE)
        path.chmod(0)
        with pytest.raises(PermissionError, match=f"secret{suffix}"):
            tc.load("secret", sources=path)


def test_a_shared_object_without_sources_is_for_load_module(here):
    for function in (tc.load, tc.build):
        with pytest.raises(TypeError, match=r"load_module\('dist/ops.so'\)"):
            function("dist/ops.so")
        with pytest.raises(TypeError, match=r"needs source files(?!.*load_module)"):
            function("ops")


def test_unknown_arguments_are_refused(here):
    with pytest.raises(TypeError, match="unexpected keyword argument 'cuda_sources'"):
        tc.load("ops", cuda_sources=SCALE)
