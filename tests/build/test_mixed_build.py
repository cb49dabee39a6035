"""Kernels and host functions in one source: built, launched, cached by sides, and refused."""

from __future__ import annotations

import re
import traceback

import pytest
from cache_crowd import counting_compiler
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc
from tvmffi_cubin import device_object
from tvmffi_cubin.host_object import HostCompiler

ADD = r"""
constexpr int kThreads = 128;

__global__ void add(const float* x, const float* y, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] + y[i];
}

void vec_add(tvm::ffi::TensorView x, tvm::ffi::TensorView y, tvm::ffi::TensorView out) {
  int n = static_cast<int>(x.numel());
  auto* stream = static_cast<cudaStream_t>(
      TVMFFIEnvGetStream(x.device().device_type, x.device().device_id));
  add<<<(n + kThreads - 1) / kThreads, kThreads, 0, stream>>>(
      static_cast<const float*>(x.data_ptr()), static_cast<const float*>(y.data_ptr()),
      static_cast<float*>(out.data_ptr()), n);
}
"""
SCALE = r"""
struct Twice { static constexpr int kFactor = 2; };
struct Thrice { static constexpr int kFactor = 3; };
template <typename T, typename By, int N>
__global__ void scale(T* x, int n) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * N;
  for (int k = 0; k < N && i + k < n; ++k) x[i + k] *= By::kFactor;
}
template <typename T, typename By>
void launch(tvm::ffi::TensorView x) {
  int n = static_cast<int>(x.numel());
  auto* data = static_cast<T*>(x.data_ptr());
  if (n % 4 == 0) scale<T, By, 4><<<1, n / 4>>>(data, n);
  else scale<T, By, 1><<<1, n>>>(data, n);
}
void twice(tvm::ffi::TensorView x) {
  if (x.dtype().bits == 64) launch<double, Twice>(x);
  else launch<float, Twice>(x);
}
void thrice(tvm::ffi::TensorView x) { launch<float, Thrice>(x); }
"""


def load(source, functions, *, name="mixed", **options):
    return tc.load_inline(name, source, functions=functions, arch="sm_90", **options)


INTEGERS = r"""
#include <cstdint>
template <typename T> __global__ void fill(T* x, T value) { *x = value; }
template <> __global__ void fill<int64_t>(int64_t* x, int64_t value) { *x = value + 1; }
__global__ void count(int64_t* n, uint64_t by) { *n += by; }
__global__ void count(long long* n, unsigned long long by) { *n -= by; }
template <typename T>
void run(void* data, T value) { fill<<<1, 1>>>(static_cast<T*>(data), value); }
void integers(tvm::ffi::TensorView x) {
  run<int64_t>(x.data_ptr(), 1);
  run<long long>(x.data_ptr(), 2);
  run(x.data_ptr(), x.size(0));
  count<<<1, 1>>>(static_cast<int64_t*>(x.data_ptr()), 3);
  count<<<1, 1>>>(static_cast<long long*>(x.data_ptr()), 4);
}
"""


# What is built


def test_a_host_function_launches_a_kernel_of_its_own_source(driver_stub):
    mod = load(ADD, ["vec_add"])
    arrays = [cuda_array(driver_stub, 1000) for _ in range(3)]
    mod.vec_add(*arrays)
    (launch,) = driver_stub.launches()
    assert (launch.kernel, launch.grid, launch.block) == (
        "_Z3addPKfS0_Pfi",
        (8, 1, 1),
        (128, 1, 1),
    )
    assert launch.values("PPPi") == (*(array.data_ptr for array in arrays), 1000)


def test_integers_of_64_bits_are_the_same_types_on_both_sides(driver_stub):
    mod = load(INTEGERS, ["integers"])
    mod.integers(cuda_array(driver_stub, 8, "int64"))
    assert [launch.kernel for launch in driver_stub.launches()] == [
        "_Z4fillIlEvPT_S0_", "_Z4fillIxEvPT_S0_", "_Z4fillIlEvPT_S0_", "_Z5countPlm", "_Z5countPxy",
    ]  # fmt: skip


def test_the_instances_that_host_code_comes_to_are_compiled(driver_stub):
    mod = load(SCALE, ["twice", "thrice"])
    names = {symbol: name for name, symbol in mod.cubins["kernels"].lowered_names.items()}
    assert {*names.values()} == {
        f"scale<{kind}, {n}>" for kind in ("float, Twice", "double, Twice", "float, Thrice")
        for n in (1, 4)
    }  # fmt: skip
    for call, count in ((mod.twice, 8), (mod.twice, 7), (mod.thrice, 8)):
        call(cuda_array(driver_stub, count))
    launched = [(names[x.kernel], x.block[0]) for x in driver_stub.launches()]
    assert launched == [
        ("scale<float, Twice, 4>", 2),
        ("scale<float, Twice, 1>", 7),
        ("scale<float, Thrice, 4>", 2),
    ]


def test_overloads_and_what_has_no_linkage_are_told_apart(driver_stub):
    source = r"""
    __global__ void k(float* x) {}
    __global__ void k(int* x) {}
    namespace { __global__ void k(double* x) {} }
    static __global__ void own(int n) {}
    template <typename T> __global__ void t(T x) {}
    template <typename T> __global__ void t(T x, int n) {}
    void f() {
      k<<<1, 1>>>(static_cast<float*>(nullptr)); k<<<1, 1>>>(static_cast<int*>(nullptr));
      k<<<1, 1>>>(static_cast<double*>(nullptr)); own<<<1, 1>>>(3);
      t<<<1, 1>>>(1.5f); t<<<1, 1>>>(1.5f, 2);
    }"""
    load(source, ["f"]).f()
    launched = [x.kernel for x in driver_stub.launches()]
    assert [launched[n] for n in (0, 1, 4, 5)] == ["_Z1kPf", "_Z1kPi", "_Z1tIfEvT_", "_Z1tIfEvT_i"]
    assert re.fullmatch(r"_ZN\d+_GLOBAL__N_\w+1kEPd", launched[2])
    assert launched[3].endswith("3owni")


def test_device_variables_are_known_by_name(driver_stub):
    source = r"""
    __constant__ float coefficients[4];
    __global__ void k(float* x) { x[0] = coefficients[0]; }
    int set(float value) {
      return cudaMemcpyToSymbol(coefficients, &value, sizeof(value), 4);
    }"""
    mod = load(source, ["set"])
    assert mod.set(1.5) == 0
    assert mod.cubins["kernels"].lowered_names == {"&coefficients": "coefficients"}


def test_kernels_are_exported_beside_host_functions_and_share_their_image(driver_stub):
    launch = tc.Launch(kernel="add", grid="ceil_div(n, 64)", block=64, args={"n": "x.numel"})
    mod = load(ADD, {"vec_add": "Adds.", "add_64": launch})
    arrays = [cuda_array(driver_stub, 128) for _ in range(3)]
    mod.vec_add(*arrays)
    mod.add_64(*arrays)
    assert [x.block[0] for x in driver_stub.launches()] == [128, 64]
    assert {x.kernel for x in driver_stub.launches()} == {"_Z3addPKfS0_Pfi"}
    assert [*mod.cubins] == ["kernels"]


def test_several_sources_are_one_unit_beside_cpp_and_kernel_sources(driver_stub):
    kernel = "__global__ void k(int* x, int n = 7) { *x = n; }"
    host = "void f() { k<<<2, 1>>>(nullptr); }"
    cpp = "void f(); int one() { return 1; }"
    other = 'extern "C" __global__ void other(int n) {}'
    mod = load([kernel, host], ["f", "one", "other"], cpp_sources=cpp, kernel_sources=other)
    mod.f()
    mod.other[3, 1](5)
    assert [(x.kernel, x.grid[0]) for x in driver_stub.launches()] == [("_Z1kPii", 2), ("other", 3)]
    assert driver_stub.launches()[0].values("Pi") == (0, 7)
    assert mod.one() == 1


def test_nothing_is_exported_but_what_the_source_exports_where_no_function_is_named():
    source = "__global__ void k() {}\nint one() { k<<<1, 1>>>(); return 1; }\n"
    mod = load(f"{source}TVM_FFI_DLL_EXPORT_TYPED_FUNC(uno, one);", None)
    assert mod.functions == ()
    assert mod["uno"] is not None
    with pytest.raises(AttributeError):
        mod.k  # noqa: B018


# The cache


def test_a_change_of_one_side_compiles_that_side_alone(tmp_path, monkeypatch, driver_stub):
    compiled = []
    compile_device = device_object.compile_device

    def counted(*args):
        compiled.append(args)
        return compile_device(*args)

    monkeypatch.setattr(device_object, "compile_device", counted)
    with counting_compiler(tmp_path / "bin", monkeypatch) as compiler:

        def built(source):
            """Return how often each side was compiled for a source."""
            before = (compiler.runs("mixed_host.cc"), len(compiled))
            path = tc.build_inline(
                "sides", source, functions=["vec_add"], arch="sm_90", use_pch=False
            )
            after = (compiler.runs("mixed_host.cc"), len(compiled))
            return path, tuple(new - old for new, old in zip(after, before, strict=True))

        first, counts = built(ADD)
        assert counts == (1, 1)
        # Lines of the kernel move the host's code, and change nothing of it.
        device, counts = built(ADD.replace("x[i] + y[i]", "\n      x[i] +\n      2 * y[i]"))
        assert counts == (0, 1)
        # Lines that only the host's code has move the kernel, and change nothing of it.
        text = ADD.replace("(n + kThreads - 1) / kThreads", "(n + 127) / 128 + 1")
        host, counts = built(f"int before() {{\n  return 1;\n}}\n{text}")
        assert counts == (1, 0)
        assert len({first, device, host}) == 3
        calls = len(compiler.log.read_text().splitlines())
        assert built(ADD) == (first, (0, 0))
        assert len(compiler.log.read_text().splitlines()) == calls


def test_what_was_compiled_in_another_line_says_the_line_that_it_is_in_now(
    monkeypatch, driver_stub
):
    source = """__global__ void k(int* x) {
      *x = 1;
    }
    void launch(int threads) { k<<<1, threads>>>(nullptr); }
    int positive(int n) {
      TVM_FFI_ICHECK(n > 0) << n;
      return n;
    }"""
    compiled = []
    compile_host = HostCompiler._compile

    def counted(*args):
        compiled.append(args)
        return compile_host(*args)

    monkeypatch.setattr(HostCompiler, "_compile", counted)

    def lines(text):
        mod = load(text, ["launch", "positive"], name="lines")
        with pytest.raises(ValueError, match="launch of k") as refused:
            mod.launch(5000)
        with pytest.raises(RuntimeError, match="Check failed") as thrown:
            mod.positive(-1)
        told = "".join(traceback.format_exception(thrown.value))
        found = (re.search(r"lines\.cu:(\d+)", str(refused.value)),)
        found += (re.search(r'lines\.cu", line (\d+), in int positive', told),)
        return tuple(int(match[1]) for match in found)

    assert lines(source) == (4, 6)
    assert lines(source.replace("*x = 1;", "\n\n *x = 2;")) == (6, 8)
    assert len(compiled) == 1


def test_a_macro_of_a_header_tells_the_line_that_it_is_in_now(tmp_path, driver_stub):
    (tmp_path / "line.h").write_text("#define hereabouts(x) ((x) + __LINE__)\n")
    source = """#include "line.h"
    __global__ void k(int* x) {
      *x = 1;
    }
    int f(int n) { k<<<1, 1>>>(nullptr); return hereabouts(n); }"""

    def line(text):
        return load(text, ["f"], name="there", extra_include_paths=[str(tmp_path)]).f(0)

    assert (line(source), line(source.replace("*x = 1", "\n*x = 2"))) == (5, 6)


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


# Errors


@pytest.mark.parametrize(
    ("old", "new", "kind", "where"),
    [
        ("x[i] + y[i]", "x[i] + z[i]", tc.CompileError, r"mixed\.cu\(6\): .*\"z\" is undefined"),
        ("x.numel()", "x.nummel()", tc.BuildError, r"mixed\.cu:10:30: error: .*nummel"),
        (", n);\n}", ", &n);\n}", tc.BuildError, r"mixed\.cu:15:44: error: .*int\*"),
        (", n);\n}", ");\n}", tc.BuildError, r"mixed\.cu:13:\d+: error: too few arguments"),
        (", 0, stream", ", stream", tc.BuildError, r"mixed\.cu:13:6: error: the third operand"),
    ],
)
def test_a_mistake_is_shown_where_the_user_made_it(old, new, kind, where):
    assert old in ADD
    with pytest.raises(kind, match=where):
        load(ADD.replace(old, new), ["vec_add"])


def test_a_mistake_that_only_an_instance_has_is_shown_in_the_kernel_with_its_types():
    source = SCALE.replace("int i = (b", 'static_assert(sizeof(T) == 8, "wide"); int i = (b')
    with pytest.raises(tc.CompileError, match=r'mixed\.cu\(6\): .*"wide"(?s:.*)with T=float'):
        load(source, ["thrice"])


def test_of_mistakes_on_both_sides_nvrtc_s_are_shown_and_no_folder_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path))
    source = ADD.replace("x[i] + y[i]", "x[i] + z[i]").replace("x.numel()", "x.nummel()")
    with pytest.raises(tc.CompileError, match='"z" is undefined'):
        load(source, ["vec_add"], use_pch=False)
    assert [*(tmp_path / "tmp").iterdir()] == []


@pytest.mark.parametrize(
    ("before", "kind", "told"),
    [
        ("", tc.BuildError, r"none\.cu:1:\d+: error: 'k' was not declared"),
        (
            '#include "k.cuh"\n',
            ValueError,
            "none of the sources and of the headers .* defines one",
        ),
    ],
)
def test_launches_without_a_kernel_are_told(before, kind, told, tmp_path, monkeypatch):
    (tmp_path / "k.cuh").write_text("__global__ void k() {}")
    monkeypatch.setenv("CPATH", str(tmp_path))
    with pytest.raises(kind, match=told):
        load(f"{before}void f() {{ k<<<1, 1>>>(); }}", ["f"], name="none")


OF_OTHER_SIDES = """struct S { int n; __device__ int half() { return n / 2; } };
__device__ int on_device(int x) { return x; }
__device__ __forceinline__ int named(int x) { return 2 * x; }
int on_host(int x) { return x; }
template <int (*F)(int)> __global__ void k(int* x) { *x = on_device(F(*x)); }
int (*volatile named_one)(int) = named;
int f(int n) { S s{n}; k<named><<<1, 1>>>(nullptr); return named_one(n); }"""


@pytest.mark.parametrize(
    ("old", "new", "kind", "told"),
    [
        ("= on_device(", "= on_host(", tc.CompileError, r"\"on_host\" is undefined"),
        ("named_one(n)", "on_device(n)", tc.BuildError, r"'on_device' was not declared"),
        ("named_one(n)", "named(n)", tc.BuildError, r":7:\d+: error: 'named' is a __device__"),
        ("named_one(n)", "s.half()", tc.BuildError, r":7:\d+: error: 'S::half' is a __device__"),
    ],
)  # fmt: skip
def test_a_call_of_the_other_side_s_function_is_told(old, new, kind, told):
    assert OF_OTHER_SIDES.count(old) == 1
    with pytest.raises(kind, match=rf"(?s){told}.*\nHint: .*: put __host__ "):
        load(OF_OTHER_SIDES.replace(old, new), ["f"], name="others")


def test_a_device_function_that_host_code_calls_by_its_address_says_so(driver_stub):
    mod = load(OF_OTHER_SIDES, ["f"], name="others")
    with pytest.raises(RuntimeError, match="named is a __device__ function, and host code called"):
        mod.f(1)


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        (
            "__global__ void k(int* x) {}\nvoid g() { k<<<1, 1>>>(nullptr); }",
            "functions names 'f', and the source has no function f",
        ),
        (
            "#include <thrust/sort.h>\nusing namespace thrust;\n__global__ void k(int* x) {}\n"
            "void f() { int* x = nullptr; sort(device, x, x); k<<<1, 1>>>(x); }",
            r"what is in <thrust/sort.h>, only nvcc compiles that: compiler=\"nvcc\"",
        ),
    ],
)
def test_what_host_code_lacks_is_told_with_what_to_do(source, hint):
    with pytest.raises(tc.BuildError, match=f"Hint: .*{hint}"):
        load(source, ["f"])


def test_torch_s_declarations_beside_a_mixed_source_are_told_what_to_change():
    source = "__global__ void k() {}\nvoid f() { k<<<1, 1>>>(); }"
    with pytest.raises(tc.BuildError, match=r"(?s)'torch' .*docs/mixed_sources\.md"):
        load(source, ["f"], cpp_sources="torch::Tensor f(torch::Tensor x);")


def test_kernels_that_launch_kernels_take_the_device_runtime(driver_stub):
    source = """__global__ void child(int* x) { *x = 1; }
    __global__ void parent(int* x) { child<<<1, 1>>>(x); }
    void f() { parent<<<1, 1>>>(nullptr); }"""
    load(source, ["f"], device_libraries=["cudadevrt"]).f()
    assert [launch.kernel for launch in driver_stub.launches()] == ["_Z6parentPi"]


BY_ACCIDENT = """#include <string>
struct text { std::string words; };
__global__ void k(int* x) { int text = 1; *x = text; }
int f() { text hello{"hello"}; k<<<1, 1>>>(nullptr); return hello.words.size(); }"""


def test_what_device_code_names_by_accident_is_left_out_of_it(driver_stub):
    assert load(BY_ACCIDENT, ["f"], name="accident").f() == 5


def test_of_several_errors_those_are_shown_that_are_the_user_s():
    with pytest.raises(tc.CompileError, match=r'"z" is undefined') as caught:
        load(BY_ACCIDENT.replace("*x = text", "*x = z"), ["f"], name="accident")
    assert "std" not in str(caught.value)


def test_an_instance_of_a_local_type_says_how_to_name_it():
    source = """template <typename T> __global__ void k(T x) {}
    void f() { struct Local {}; k<<<1, 1>>>(Local{}); }"""
    with pytest.raises(ValueError, match="'k' is launched for f.*::Local, a type of that function"):
        load(source, ["f"])


def test_an_instance_of_a_type_that_device_code_cannot_have_is_named():
    source = """#include <vector>
    template <typename T> __global__ void k(T* x) {}
    void f() { std::vector<int>* none = nullptr; k<<<1, 1>>>(none); }"""
    with pytest.raises(ValueError, match=r"host code launches 'k<std::vector<int.*\"nvcc\""):
        load(source, ["f"])


# Options


def test_flags_go_to_the_side_that_knows_them_and_macros_to_both(driver_stub):
    source = "__global__ void k(int* x) { *x = BY; }\nint f() { k<<<BY, 1>>>(nullptr); return BY; }"
    flags = ["-DBY=3", "--use_fast_math", "-lineinfo", "-Xcompiler", "-Wall"]
    archs = ["sm_80", "sm_90", "compute_90"]
    mod = tc.load_inline(
        "flags",
        source,
        functions=["f"],
        arch=archs,
        extra_cuda_cflags=flags,
        extra_cflags=["-O1", "-flto"],
    )
    assert mod.f() == 3
    (launch,) = driver_stub.launches()
    assert launch.grid == (3, 1, 1)
    assert mod.cubins["kernels"].archs == tuple(archs)


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
