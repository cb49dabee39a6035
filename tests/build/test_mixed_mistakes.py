"""Mistakes in mixed sources are shown where the user made them."""

from __future__ import annotations

import pytest
from mixed_loader import ADD, SCALE, load

import tvmffi_cubin as tc


@pytest.mark.parametrize(
    ("old", "new", "kind", "where"),
    [
        ("x[i] + y[i]", "x[i] + z[i]", tc.CompileError, r"mixed\.cu\(6\): .*\"z\" is undefined"),
        ("x.numel()", "x.nummel()", tc.BuildError, r"mixed\.cu:10:30: error: .*nummel"),
        (", n);\n}", ");\n}", tc.BuildError, r"mixed\.cu:13:62: error: too few arguments"),
        (", 0, stream", ", stream", tc.BuildError, r"mixed\.cu:13:50: error: .*CUstream_st"),
        ("  add<<<", "\tadd_up<<<", tc.BuildError, r"mixed\.cu:13:9: error: 'add_up' was not"),
        ("__global__ void add", "void add", ValueError, r"mixed\.cu:13: add is launched but not"),
    ],
)
def test_a_mistake_is_shown_where_the_user_made_it(old, new, kind, where):
    assert old in ADD
    with pytest.raises(kind, match=where) as caught:
        load(ADD.replace(old, new), ["vec_add"])
    assert "unrecognized" not in str(caught.value)


def test_a_launch_of_what_is_called_as_a_host_function_is_no_mistake(tmp_path, driver_stub):
    (tmp_path / "cutlass").mkdir()
    (tmp_path / "cutlass" / "k.h").write_text("namespace lib { __global__ void run(int) {} }\n")
    source = """#include <cutlass/k.h>
void run(int n) { lib::run<<<1, 1>>>(n); }
__global__ void one(int n) {}
template <typename Kernel> void launch(Kernel run) { run<<<1, 1>>>(2); }
void f() { launch(one); run(3); }"""
    load(source, ["f"], extra_include_paths=[str(tmp_path)]).f()


def test_a_mistake_that_only_an_instance_has_is_shown_in_the_kernel_with_its_types():
    source = SCALE.replace("int i = (b", 'static_assert(sizeof(T) == 8, "wide"); int i = (b')
    with pytest.raises(tc.CompileError, match=r'mixed\.cu\(6\): .*"wide"(?s:.*)with T=float'):
        load(source, ["thrice"])


def test_a_host_function_that_a_kernel_calls_wants_to_be_declared_for_the_device():
    source = """int twice(int n) { return 2 * n; }
__global__ void k(int* x) { *x = twice(*x); }
void f() { k<<<1, 1>>>(nullptr); }"""
    with pytest.raises(tc.CompileError, match=r"Hint: twice has no device code: .*__device__"):
        load(source, ["f"])


def test_so_does_one_of_a_class_that_names_types_of_the_host():
    source = """#include <string>
struct S { int x; std::string name() const { return ""; } };
__global__ void k(int* x, S s) { *x = s.name().size(); }
void f() { k<<<1, 1>>>(nullptr, S{}); }"""
    with pytest.raises(tc.CompileError, match=r"Hint: name has no device code: .*__device__"):
        load(source, ["f"])


def test_nvcc_is_no_remedy_for_what_is_no_c_plus_plus():
    with pytest.raises(tc.CompileError, match='expected a ";"') as caught:
        load(ADD.replace("+ y[i];", "+ y[i]"), ["vec_add"])
    assert "Hint" not in str(caught.value)


def test_a_mistake_behind_what_was_cut_is_shown_at_its_line():
    skipped = "#if 0\n" + "\n" * 20 + "#endif\n"
    source = f"""int helper(int n) {{
{skipped}  return n;
}}
__global__ void k(int* x) {{ *x = y; }}
int f() {{ k<<<1, 1>>>(nullptr); return helper(1); }}"""
    with pytest.raises(tc.CompileError, match=r"mixed\.cu\(26\): .*\"y\" is undefined"):
        load(source, ["f"])


def test_host_code_of_a_library_that_only_nvcc_compiles_is_told(tmp_path):
    (tmp_path / "cutlass").mkdir()
    (tmp_path / "cutlass" / "adapter.h").write_text("inline int adapt() { return SmId(); }\n")
    source = """#include <cutlass/adapter.h>
__global__ void k() {}
int f() { k<<<1, 1>>>(); return adapt(); }"""
    with pytest.raises(tc.BuildError, match=r"only nvcc compiles .* CUTLASS.*compiler=\"nvcc\""):
        load(source, ["f"], extra_include_paths=[str(tmp_path)])


BY_ACCIDENT = """#include <string>
struct text { std::string words; };
__global__ void k(int* x) { int text = 1; *x = text; }
int f() { text hello{"hello"}; k<<<1, 1>>>(nullptr); return hello.words.size(); }"""


def test_what_names_what_was_left_out_is_left_out_as_well(driver_stub):
    source = """#include <string>
namespace theirs {
struct text { std::string words; };
struct line { text words; };
struct page { line first; };
}
__global__ void k(int* x) { int page = 1; *x = page; }
int f() {
  theirs::page own{{{"hello"}}};
  k<<<1, 1>>>(nullptr);
  return own.first.words.words.size();
}"""
    assert load(source, ["f"], name="accident").f() == 5


def test_of_several_errors_those_are_shown_that_are_the_user_s():
    with pytest.raises(tc.CompileError, match=r'"z" is undefined') as caught:
        load(BY_ACCIDENT.replace("*x = text", "*x = z"), ["f"], name="accident")
    assert "std" not in str(caught.value)


def test_an_error_within_what_kernels_need_is_shown_and_not_its_absence():
    source = """template <int N> struct Vector { static_assert(N < 9, "too wide"); int x[N]; };
__global__ void k(int* x) { Vector<16> v; *x = v.x[0]; }
void f() { k<<<1, 1>>>(nullptr); }"""
    with pytest.raises(tc.CompileError, match="too wide") as caught:
        load(source, ["f"])
    assert "Vector is not" not in str(caught.value)


def test_very_many_mistakes_are_shown_in_part_and_kept_whole():
    lines = "".join(f"int x{number} = unknown_{number};\n" for number in range(500))
    source = f"__global__ void k() {{}}\n{lines}void f() {{ k<<<1, 1>>>(); }}"
    with pytest.raises(tc.BuildError, match=":2:.* 'unknown_0' was not declared") as caught:
        load(source, ["f"])
    assert "unknown_250" in caught.value.output
    assert len(str(caught.value)) < 20_000
