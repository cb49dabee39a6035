"""Kernels and host functions in one source: what is built of them, and launched."""

from __future__ import annotations

import threading

import pytest
from mixed_loader import ADD, SCALE, load
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc
from tvmffi_cubin.inline import mixed

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


def test_without_kernel_templates_nvrtc_does_not_wait_for_the_host_compiler(monkeypatch):
    begun = threading.Event()
    device_code, host_object = mixed.device_code, mixed.host_object

    def compiled_late(*args):
        assert begun.wait(60)
        return host_object(*args)

    monkeypatch.setattr(mixed, "device_code", lambda *args: begun.set() or device_code(*args))
    monkeypatch.setattr(mixed, "host_object", compiled_late)
    source = "__constant__ int by;\n" + ADD.replace("vec_add(", "vec_sum(").replace(
        "int n = ", "cudaMemcpyToSymbol(by, &x, 4);\n  int n = "
    )
    tc.build_inline("side_by_side", source, functions=["vec_sum"], arch="sm_90a")


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


def test_kernels_are_exported_beside_host_functions_and_share_their_image(driver_stub):
    launch = tc.Launch(kernel="add", grid="ceil_div(n, 64)", block=64, args={"n": "x.numel"})
    mod = load(ADD, {"vec_add": "Adds.", "add_64": launch})
    arrays = [cuda_array(driver_stub, 128) for _ in range(3)]
    mod.vec_add(*arrays)
    mod.add_64(*arrays)
    assert [x.block[0] for x in driver_stub.launches()] == [128, 64]
    assert {x.kernel for x in driver_stub.launches()} == {"_Z3addPKfS0_Pfi"}
    values = (*(array.data_ptr for array in arrays), 128)
    assert {x.values("PPPi") for x in driver_stub.launches()} == {values}
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


def test_kernels_that_launch_kernels_get_the_device_runtime(driver_stub):
    source = """__global__ void child(int* x) { *x = 1; }
    __global__ void parent(int* x) { child<<<1, 1>>>(x); }
    void f() { parent<<<1, 1>>>(nullptr); }"""
    load(source, ["f"]).f()
    assert [launch.kernel for launch in driver_stub.launches()] == ["_Z6parentPi"]


def test_flags_go_to_the_side_that_knows_them_and_macros_to_both(driver_stub):
    source = "__global__ void k(int* x) { *x = BY; }\nint f() { k<<<BY, 1>>>(nullptr); return BY; }"
    flags = ["-DBY=3", "--use_fast_math", "-lineinfo", "-Xcompiler", "-Wall"]
    archs = ["sm_80", "sm_90", "compute_90"]
    options = {"extra_cuda_cflags": flags, "extra_cflags": ["-O1", "-flto"]}
    mod = tc.load_inline("flags", source, functions=["f"], arch=archs, **options)
    assert mod.f() == 3
    (launch,) = driver_stub.launches()
    assert launch.grid == (3, 1, 1)
    assert mod.cubins["kernels"].archs == tuple(archs)


def test_a_kernel_is_asked_for_by_the_name_that_it_has():
    source = """
namespace ns { __global__ void k(int* k); }
__global__ void ns::k(int* k) { *k = 1; }
namespace ns::inline v1 { __global__ void versioned(int* k) { *k = 1; } }
__global__ void any(auto x) {}
int f() {
  ns::versioned<<<1, 1>>>(nullptr);
  return ns::k<<<1, 1>>>(nullptr), any<<<1, 1>>>(2.0), 0;
}"""
    flags = ["-std=c++20"]
    tc.build_inline("named", source, functions=["f"], arch="sm_90a", extra_cuda_cflags=flags)


def test_templates_with_constraints_are_cut_behind_these():
    source = """
template <int N> constexpr bool is_any = true;
template <int N> requires (N > 0) && (N < 9) struct V { int x[N]; };
template <int N> requires is_any<N> __device__ int first(V<N> v) { return v.x[0]; }
template <int N> requires is_any<N> && (N < 9) __global__ void k(V<N> v, int* x) { *x = first(v); }
int f() { int first = 0; k<<<1, 1>>>(V<3>{}, nullptr); return first; }"""
    flags = ["-std=c++20"]
    tc.build_inline("constraints", source, functions=["f"], arch="sm_90a", extra_cuda_cflags=flags)
