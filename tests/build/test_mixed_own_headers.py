"""Headers of the user's in mixed sources: found, cut, read again, with kernels of their own."""

from __future__ import annotations

from pathlib import Path

from mixed_loader import load

import tvmffi_cubin as tc


def test_a_header_that_both_sides_read_is_cut_and_its_change_is_seen(tmp_path, driver_stub):
    header = tmp_path / "shape.h"
    text = "struct Shape { int n; __host__ __device__ int size() const { return n * 2; } };\n"
    header.write_text(text)
    source = """#include "shape.h"
    __global__ void k(Shape shape, int* x) { *x = shape.size(); }
    int f(int n) { Shape shape{n}; k<<<shape.size(), 1>>>(shape, nullptr); return shape.size(); }"""

    def result():
        return load(source, ["f"], extra_include_paths=[f"{tmp_path}/nearer", str(tmp_path)]).f(3)

    assert result() == 6
    header.write_text(text.replace("n * 2", "n * 5"))
    assert result() == 15
    # A text that the compilers are given a copy of, and what would be read in its place.
    header.write_text(f"{text}__device__ int one() {{ return 1; }}\nconstexpr int kMore = 4;\n")
    source = source.replace("return shape.size()", "return shape.size() + kMore")
    assert result() == 10
    header.write_text(header.read_text().replace("kMore = 4", "kMore = 7"))
    assert result() == 13
    nearer = tmp_path / "nearer"
    nearer.mkdir()
    (nearer / "shape.h").write_text(header.read_text().replace("kMore = 7", "kMore = 8"))
    assert result() == 14


def test_a_linked_file_finds_the_headers_beside_what_it_links_to(tmp_path, driver_stub):
    real, links = tmp_path / "real", tmp_path / "links"
    real.mkdir()
    links.mkdir()
    (real / "one.cuh").write_text("__device__ void one() {}\ninline int two() { return 2; }\n")
    (real / "plain.h").write_text("constexpr int kThree = 3;\n")
    (real / "ops.cu").write_text("""#include "one.cuh"
    #include "plain.h"
    __global__ void k(int* x) { one(); *x = kThree; }
    int five() { k<<<1, 1>>>(nullptr); return two() + kThree; }
    TVM_FFI_DLL_EXPORT_TYPED_FUNC(five, five);""")
    (links / "ops.cu").symlink_to("../real/ops.cu")
    assert tc.load(name="ops", sources=[links / "ops.cu"], arch="sm_90").five() == 5


def test_paths_and_headers_may_hold_what_is_no_utf_8(tmp_path, driver_stub):
    folder = tmp_path / "f\udcff"
    folder.mkdir()
    text = "__device__ void one() {}  // \xe9\ninline int two() { return 2; }  // \xe9\n"
    (folder / "one.cuh").write_bytes(text.encode("latin-1"))
    (folder / "ops.cu").write_text("""#include "one.cuh"
    __global__ void k(int* x) { one(); }
    int two_or_more() { k<<<1, 1>>>(nullptr); return two(); }
    TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, two_or_more);""")
    mod = tc.load(name="ops", sources=[folder / "ops.cu"], arch="sm_90")
    assert mod["run"]() == 2
    assert [launch.kernel for launch in driver_stub.launches()] == ["_Z1kPi"]


def test_a_source_whose_header_has_the_kernels_and_their_launches_is_mixed(tmp_path, driver_stub):
    (tmp_path / "twice.h").write_text('#include "twice_impl.hpp"\n')
    (tmp_path / "twice_impl.hpp").write_text(
        "template <typename T> __global__ void twice(T* x) { x[threadIdx.x] *= 2; }\n"
        "template <typename T> int run(T* x) { twice<<<1, 32>>>(x); return 7; }\n"
    )
    source = '#include "twice.h"\nint f() { return run<float>(nullptr); }\n'
    mod = load(source, ["f"], extra_include_paths=[str(tmp_path)])
    assert mod.f() == 7
    assert [launch.kernel for launch in driver_stub.launches()] == ["_Z5twiceIfEvPT_"]


def test_the_architecture_counts_where_the_kernels_are_in_a_header(tmp_path):
    (tmp_path / "kernel.h").write_text(
        "__global__ void k(int* x) { *x = 1; }\ninline void run() { k<<<1, 1>>>(nullptr); }\n"
    )
    source = '#include "kernel.h"\nvoid f() { run(); }'

    def image(arch):
        folders = [str(tmp_path)]
        mod = tc.load_inline(
            "in_header", source, functions=["f"], arch=arch, extra_include_paths=folders
        )
        return mod.cubins["kernels"].arch

    assert [image(arch) for arch in ("sm_80", "sm_90")] == ["sm_80", "sm_90"]


def test_a_header_may_use_names_of_the_c_library_that_nobody_includes(tmp_path):
    (tmp_path / "limited.cuh").write_text(
        "template <typename T, std::enable_if_t<std::is_same_v<T, int>, int> = 0>\n"
        "__device__ T limited(T x) { return std::min(x, SHRT_MAX); }\n"
    )
    source = """
    #include "limited.cuh"
    __global__ void k(int* x) { *x = limited(*x); }
    void run(int64_t x) { k<<<1, 1>>>((int*)x); }
    """
    path = tc.build_inline(
        "limits", source, functions=["run"], arch="sm_90", extra_include_paths=[str(tmp_path)]
    )
    assert Path(path).is_file()


def test_names_of_std_that_cuda_s_headers_may_bring_are_still_the_source_s_to_use():
    source = """
    #include <cuda_fp16.h>
    template <bool kUp> __global__ void k(int* x, std::bool_constant<kUp>) { *x += kUp ? 1 : -1; }
    void run(int64_t x) { k<<<1, 1>>>((int*)x, std::bool_constant<true>()); }
    """
    path = tc.build_inline("bools", source, functions=["run"], arch="sm_90")
    assert Path(path).is_file()
