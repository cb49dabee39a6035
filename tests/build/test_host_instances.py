"""Which kernels host code uses: what its object has stubs of, as NVRTC is asked for them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tvmffi_cubin import host_instances, nvrtc
from tvmffi_cubin.host_instances import Instance

# What host units get in place of kernels, without what launches them.
STUBS = r"""
#include <type_traits>
#include <typeinfo>
namespace tvmffi_cubin {
inline namespace v0_1 __attribute__((visibility("hidden"))) {
int Register(const char* name, const void* stub);
template <auto Kernel> struct KernelStub { static int slot __attribute__((used)); };
template <auto Kernel>
int KernelStub<Kernel>::slot = Register(typeid(KernelStub<Kernel>).name(), (const void*)Kernel);
}
}
#define __global__ __attribute__((noinline))
#define __device__
#define STUB(self, ...) { (void)::tvmffi_cubin::KernelStub<self>::slot; }
#define SELF(type, ...) (static_cast<void (*) type>(&__VA_ARGS__))
"""
DEVICE = "#define STUB(...) {}\n"
KERNELS = r"""
namespace math {
enum class Mode { kMin = -3, kMax = 7 };
enum Old { P, Q };
template <typename... Ts> struct Pack {};
template <Mode m, Old o, bool b, char c, long l, unsigned long long u, short s, signed char d>
__global__ void values(int* p) STUB(SELF((int*), values<m, o, b, c, l, u, s, d>), p)
template <typename... Ts> __global__ void packs(Ts... xs) STUB(SELF((Ts...), packs<Ts...>), xs...)
template <template <typename...> class C, typename T> __global__ void outer(C<T>* p)
    STUB(SELF((C<T>*), outer<C, T>), p)
__global__ void plain(double* x) STUB(SELF((double*), plain), x)
__global__ void plain(int* x) STUB(SELF((int*), plain), x)
}
struct half { unsigned short bits; };
struct Holder {
  template <typename T> struct Inner {};
  __device__ float get() const { return 1; }
};
template <typename T, int N> __global__ void scale(T* x, int n)
    STUB(SELF((T*, int), scale<T, N>), x, n)
template <typename T> __global__ void both(T* x) STUB(SELF((T*), both<T>), x)
template <typename T> __global__ void both(T* x, int n) STUB(SELF((T*, int), both<T>), x, n)
extern "C" __global__ void in_c(float* x) STUB(SELF((float*), in_c), x)
namespace {
struct Hidden {};
__global__ void unnamed(float* x) STUB(SELF((float*), unnamed), x)
template <typename T> __global__ void unnamed_for(T* x) STUB(SELF((T*), unnamed_for<T>), x)
}
static __global__ void own(float* x) STUB(SELF((float*), own), x)
__device__ float twice(float x) { return 2 * x; }
namespace math { template <int N> __device__ float times(float x) { return N * x; } }
template <float (*F)(float)> __global__ void apply(float* x) STUB(SELF((float*), apply<F>), x)
template <float (Holder::*F)() const> __global__ void ask(float* x)
    STUB(SELF((float*), ask<F>), x)
template <typename F> __global__ void call(F f) STUB(SELF((F), call<F>), f)
template <bool, typename T> struct If {};
template <typename T> struct If<true, T> { using type = T; };
template <typename T> __global__ typename If<sizeof(T) == 4, void>::type only_4(T* x)
    STUB(SELF((T*), only_4<T>), x)
template <auto V> __global__ void any(int n) STUB(SELF((int), any<V>), n)
"""
USES = r"""
void use() {
  using namespace math;
  values<Mode::kMin, Q, true, 'A', -5L, 9ull, -3, -4>(0);
  packs<int, float>(1, 2); packs<>(); packs<Pack<int, Pack<>>>({});
  outer<Pack, float>(0);
  math::plain((double*)0); math::plain((int*)0);
  scale<half, -2>(0, 1); scale<const float, 8>(0, 1); scale<unsigned long, 1>(0, 0);
  scale<void (*)(int, float), 2>(0, 0); scale<int[3], 1>(0, 0);
  both<float>(0); both<float>(0, 1);
  in_c(0); unnamed(0); unnamed_for<Hidden>(0); own(0);
  ask<&Holder::get>(0); apply<twice>(0); apply<math::times<3>>(0);
  call(Holder::Inner<long>{}); call(twice); only_4<int>(0); any<true>(1); any<Mode::kMax>(1);
}
"""
FOUND = {
    "math::values<(math::Mode)-3, (math::Old)1, true, (char)65, -5l, 9ull, (short)-3, "
    "(signed char)-4>": ("int*",),
    "math::packs<int, float>": ("int", "float"),
    "math::packs<>": (),
    "math::packs<math::Pack<int, math::Pack<> > >": ("math::Pack<int, math::Pack<> >",),
    "math::outer<math::Pack, float>": ("math::Pack<float>*",),
    "ask<&Holder::get>": ("float*",),
    "scale<half, -2>": ("half*", "int"),
    "scale<float const, 8>": ("float const*", "int"),
    "scale<unsigned long, 1>": ("unsigned long*", "int"),
    "scale<void (*)(int, float), 2>": ("void (**)(int, float)", "int"),
    "scale<int [3], 1>": ("int (*) [3]", "int"),
    "in_c": None,
    "unnamed": ("float*",),
    "unnamed_for<Hidden>": ("Hidden*",),
    "own": ("float*",),
    "apply<&twice>": ("float*",),
    "apply<&math::times<3>>": ("float*",),
    "call<Holder::Inner<long> >": ("Holder::Inner<long>",),
    "call<float (*)(float)>": ("float (*)(float)",),
    "only_4<int>": ("int*",),
    "any<true>": ("int",),
    "any<(math::Mode)7>": ("int",),
}
OVERLOADED = {
    "both<float>": {("float*",), ("float*", "int")},
    "math::plain": {("double*",), ("int*",)},
}


def compiled(folder: Path, text: str, *, standard: int = 17) -> bytes:
    (folder / "host.cc").write_text(f"{STUBS}{text}")
    flags = (f"-std=c++{standard}", "-O2", "-fPIC", "-w", "-c")
    subprocess.run(["g++", *flags, "-o", "host.o", "host.cc"], cwd=folder, check=True)
    return (folder / "host.o").read_bytes()


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> tuple[Instance, ...]:
    return host_instances.find(compiled(tmp_path_factory.mktemp("host"), KERNELS + USES))


def test_an_object_tells_which_kernels_host_code_uses(found):
    lone = {x.expression: x.params for x in found if x.expression not in OVERLOADED}
    assert lone == FOUND
    for name, params in OVERLOADED.items():
        assert {x.params for x in found if x.expression == name} == params


def test_stubs_are_told_apart_by_the_names_of_their_types(found):
    stubs = {x.expression: x.stub for x in found}
    assert stubs["in_c"] == "N12tvmffi_cubin4v0_110KernelStubIXadL_Z4in_cEEEE"
    assert len({x.stub for x in found}) == len(found)


def test_only_instances_of_templates_count_as_such(found):
    lone = {x.expression.rpartition("::")[2] for x in found if not x.is_template}
    assert lone == {"in_c", "unnamed", "own", "plain"}
    assert {x.qualified for x in found if x.expression.startswith("math::packs")} == {"math::packs"}


def test_nvrtc_takes_every_expression(found):
    names = [x.cast if x.expression in OVERLOADED else x.expression for x in found]
    image = nvrtc.compile(DEVICE + KERNELS, arch="sm_90", name_expressions=names)
    assert {*image.lowered_names} == {*names}
    kernels = {kernel.name for kernel in image.kernels}
    assert len(kernels) == len(found)
    assert {*image.lowered_names.values()} == kernels


def test_nvrtc_takes_arguments_that_are_floats_and_structs(tmp_path):
    kernels = r"""
    struct Config { int a, b; };
    template <Config c, float f, double d> __global__ void k(int n)
        STUB(SELF((int), k<c, f, d>), n)
    """
    use = "void use() { k<Config{1, 2}, 1.5f, -0.1>(1); }"
    (instance,) = host_instances.find(compiled(tmp_path, kernels + use, standard=20))
    assert instance.expression == ("k<Config{1, 2}, 0x1.8000000000000p+0f, -0x1.999999999999ap-4>")
    image = nvrtc.compile(
        DEVICE + kernels,
        arch="sm_90",
        name_expressions=[instance.expression],
        options=["-std=c++20"],
    )
    assert [kernel.name for kernel in image.kernels] == [image.lowered_names[instance.expression]]


@pytest.mark.parametrize(
    ("use", "message"),
    [
        ("call([](int) { return 1; });", r"'call' .* a lambda, .* struct with operator\(\)"),
        ("struct Local {}; call(Local{});", r"for use\(\)::Local, a type of that function alone"),
        ("enum { kOne }; call(kOne);", "a type without a name: give it one"),
    ],
)
def test_types_that_no_other_code_can_name_are_refused(tmp_path, use, message):
    data = compiled(tmp_path, f"{KERNELS}void use() {{ {use} }}")
    with pytest.raises(ValueError, match=f'{message}.*compiler="nvcc"'):
        host_instances.find(data)


def test_an_object_without_kernels_has_none(tmp_path):
    assert host_instances.find(compiled(tmp_path, "int f() { return 1; }")) == ()


def test_what_is_no_object_is_refused():
    with pytest.raises(ValueError, match="no ELF object"):
        host_instances.find(b"\x7fCUBIN")
