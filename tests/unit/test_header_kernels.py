"""Sources without kernels: what the user's headers that they include make of them."""

import pytest

from tvmffi_cubin.inline.files import read_files
from tvmffi_cubin.inline.request import make_request
from tvmffi_cubin.sources import Source
from tvmffi_cubin.sources.sort import HeaderCode, header_code, sort_sources

KERNEL = "template <typename T> __global__ void k(T* x) { *x = 1; }\n"
LAUNCHER = "template <typename T> void run(T* x) { k<<<1, 1>>>(x); }\n"
COMPATIBILITY = """#ifndef __CUDACC__
#define __global__
#endif
#define KERNEL __global__ void
// __global__ void k() {}  k<<<1, 1>>>();
"""
HOST = '#include "k.h"\nvoid f() { run(static_cast<float*>(nullptr)); }\n'
BY_ADDRESS = '#include "k.h"\nvoid f() { cudaLaunchKernel((void*)k<int>, 1, 1, nullptr, 0, 0); }\n'


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def inline(here, *sources, **options):
    made = make_request("m", cuda_sources=sources, extra_include_paths=[str(here)], **options)
    return made, sort_sources(made)


def of_files(here, **texts):
    for name, text in texts.items():
        (here / f"{name}.cu").write_text(text)
    files = read_files(sources=[here / f"{name}.cu" for name in texts])
    return sort_sources(make_request("m", files=files))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (KERNEL, HeaderCode(True, False)),
        (KERNEL + LAUNCHER, HeaderCode(True, True)),
        (COMPATIBILITY, HeaderCode(False, False)),
        (COMPATIBILITY + "KERNEL k() {}", HeaderCode(True, False)),
        ("#define MAKE(name) \\\n  __global__ void name() {}\nMAKE(a)", HeaderCode(True, False)),
        ("__global__ void a(int* x) { b<<<1, 1>>>(x); }", HeaderCode(True, False)),
        ('const char* text = "__global__ <<<";', HeaderCode(False, False)),
    ],
)
def test_what_headers_have_is_found_whoever_includes_them(here, text, found):
    (here / "deep.hpp").write_text(text)
    (here / "k.h").write_text('#include "deep.hpp"\n')
    made, _ = inline(here, "int f();")
    assert header_code(Source('#include "k.h"\n'), made) == found


def test_a_source_that_hands_its_kernels_to_a_header_s_launch_is_mixed(here):
    (here / "k.h").write_text("template <typename K> void run(K kernel) { kernel<<<1, 1>>>(); }\n")
    kernel = '#include "k.h"\n__global__ void k() {}\n'
    function = "void f() { run(k); }\n"
    assert [len(inline(here, x)[1].mixed) for x in (kernel + function, kernel)] == [1, 0]
    found = of_files(here, a=kernel + function, b=kernel)
    assert (len(found.mixed), len(found.device)) == (1, 1)
    (here / "k.h").write_text("template <typename K> void run(K kernel);\n")
    assert not inline(here, kernel + function)[1].mixed


@pytest.mark.parametrize("source", [HOST, BY_ADDRESS])
def test_a_source_whose_kernels_are_in_a_header_of_any_name_is_mixed(here, source):
    (here / "k.h").write_text(KERNEL + LAUNCHER)
    assert len(inline(here, source)[1].mixed) == 1
    assert of_files(here, a=source).mixed


def test_a_source_that_instantiates_a_header_s_host_function_is_mixed(here):
    launch = "cudaLaunchKernel((void*)k<T>, 1, 1, nullptr, 0, 0);"
    (here / "k.h").write_text(f"{KERNEL}template <typename T> void run(T* x) {{ {launch} }}\n")
    source = '#include "k.h"\ntemplate void run<float>(float*);\n'
    assert len(inline(here, source)[1].mixed) == 1
    assert of_files(here, a=source).mixed


def test_a_file_that_launches_by_the_runtime_s_call_alone_is_mixed(here):
    launch = "void* args[] = {&x}; cudaLaunchKernel((void*)k<int>, 1, 1, args, 0, 0);"
    assert of_files(here, a=f"{KERNEL}int main() {{ int* x; {launch} }}\n").mixed


def test_host_code_that_shares_a_header_with_kernels_stays_host_code(here):
    (here / "k.h").write_text(KERNEL)
    _, found = inline(here, BY_ADDRESS, kernel_sources='#include "k.h"\n')
    assert not found.mixed
    found = of_files(here, a=BY_ADDRESS, b='#include "k.h"\ntemplate __global__ void k(int*);\n')
    assert (len(found.mixed), len(found.device), len(found.files)) == (0, 1, 1)
