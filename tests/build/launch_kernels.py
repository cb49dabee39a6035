"""The kernels that the launch tests launch over the driver stand-in, and how they are exported."""

from tvmffi_cubin import Launch

# What a first launch calls of the driver that can be refused.
FIRST_CALLS = (
    "cuDevicePrimaryCtxRetain",
    "cuCtxPushCurrent",
    "cuLibraryLoadData",
    "cuLibraryGetKernel",
    "cuLaunchKernelEx",
)
# Name of the function: C++ type, struct character of its bytes.
SCALAR_TYPES = {
    "c": ("char", "b"),
    "sc": ("signed char", "b"),
    "uc": ("unsigned char", "B"),
    "s": ("short", "h"),
    "us": ("unsigned short", "H"),
    "i": ("int", "i"),
    "u": ("unsigned int", "I"),
    "l": ("long", "q"),
    "ul": ("unsigned long", "Q"),
    "ll": ("long long", "q"),
    "ull": ("unsigned long long", "Q"),
    "size": ("size_t", "Q"),
    "i8": ("int8_t", "b"),
    "u16": ("uint16_t", "H"),
    "i64": ("int64_t", "q"),
    "h": ("__half", "e"),
    "bf": ("__nv_bfloat16", "H"),
    "f": ("float", "f"),
    "d": ("double", "d"),
    "flag": ("bool", "?"),
}

SCALARS = """
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
struct Pair { float a; double b; };
struct Odd { char c[3]; };
enum Mode { kOne, kTwo };
extern "C" __global__ void pair(Pair v) {}
extern "C" __global__ void odd(Odd v) {}
extern "C" __global__ void mode(Mode v) {}
extern "C" __global__ void pointer(const float* v) {}
extern "C" __global__ void many(char a, Odd b, double c, bool d, const float* e, short f) {}
""" + "\n".join(
    f'extern "C" __global__ void {name}({text} v) {{}}' for name, (text, _) in SCALAR_TYPES.items()
)

OPS = r"""
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
extern "C" __global__ void first(const float* x, float* t, int n) {}
extern "C" __global__ void second(const float* t, float* y, int n) {}
extern "C" __global__ void vector(const float4* x, float4* y) {}
extern "C" __global__ void untyped(const void* p) {}
extern "C" __global__ void strides(const float* x, long long s0, long long s1) {}
extern "C" __global__ void dynamic(float* y) {
  extern __shared__ float memory[];
  y[0] = memory[threadIdx.x];
}
extern "C" __global__ void nothing() {}
extern "C" __global__ void two(const float* x, const float* y) {}
template <typename T> __global__ void fill(T* x, T value) { x[threadIdx.x] = value; }
namespace ns {
__global__ void add(float* x, int n) { x[0] += n; }
namespace inner { __global__ void mul(float* x) { x[0] *= 2; } }
}
__global__ void over(float* x) { x[0] = 1; }
__global__ void over(int* x) { x[0] = 1; }
#define KERNEL(name) extern "C" __global__ void name(float* a, int b) { a[0] = b; }
KERNEL(made)
"""

OPS_FUNCTIONS: dict[str, str | Launch | list[Launch] | None] = {
    "saxpy": Launch(grid="ceil_div(x.numel, 256)", block=256, args={"n": "x.numel"}),
    "free": Launch(kernel="saxpy"),
    "pipeline": [
        Launch(kernel="first", grid="n", block=64),
        Launch(kernel="second", grid=("n", 2), block=(32, 2), dynamic_smem_bytes="n * 4"),
    ],
    "vector": Launch(grid="x.numel", block=1),
    "strides": Launch(
        grid="x.shape[-1]", block=1, args={"s0": "x.stride[0]", "s1": "x.stride[-1]"}
    ),
    "strided": Launch(kernel="untyped", grid=1, block=1, strided="p"),
    "ranked": Launch(kernel="untyped", grid=1, block=1, params="const float* p: ndim=2"),
    "dynamic": Launch(grid=1, block=32, dynamic_smem_bytes="size", params="float* y, long size"),
    "shape": Launch(
        kernel="nothing",
        grid=("gx", "gy", "gz"),
        block=("bx", "by", "bz"),
        dynamic_smem_bytes="smem",
        params="long gx, long gy, long gz, long bx, long by, long bz, long smem",
    ),
    "nothing": None,
    "blockless": Launch(kernel="nothing", grid=2),
    "two": Launch(grid=1, block=1),
    "fill": Launch(kernel="fill<float>", grid="x.numel", block=1),
    "add": Launch(kernel="ns::add", grid=1, block=1, args={"n": 7}),
    "mul": Launch(kernel="ns::inner::mul", grid=1, block=1),
    "over_float": Launch(kernel="over", grid=1, block=1, params="float* x"),
    "made": Launch(grid=1, block=1, params="float* x, int n"),
    "constants": Launch(kernel="saxpy", grid=1, block=1, args={"a": 0.5, "x": None, "n": -3}),
    "alias": Launch(kernel="two", grid=1, block=1, args={"y": "x"}),
    "narrow": Launch(
        kernel="saxpy", grid=1, block=1, args={"n": "wide", "a": "wide"},
        params="const float* x, float* y, unsigned long long wide",
    ),
}  # fmt: skip
