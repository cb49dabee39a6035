"""Launch overhead: CPU time to issue an empty kernel (3 pointers, 1 int), peers side by side.

    python benchmarks/launch.py

Prints JSON: peer to median microseconds a launch. Peers that are not installed are left out.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable

KERNEL = 'extern "C" __global__ void empty(float* a, float* b, float* c, int n) {}'
# The floor: a C++ loop over cuLaunchKernelEx with nothing else in it.
FLOOR = r"""
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/cuda/cubin_launcher.h>
#include <tvm/ffi/function.h>
#include <cuda.h>
TVM_FFI_EMBED_CUBIN(image);
void floor_loop(tvm::ffi::TensorView x, int64_t count) {
  static auto kernel = TVM_FFI_EMBED_CUBIN_GET_KERNEL(image, "empty");
  void* p = x.data_ptr();
  int n = 1;
  void* args[] = {&p, &p, &p, &n};
  CUlaunchConfig config = {};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 32, config.blockDimY = config.blockDimZ = 1;
  for (int64_t i = 0; i < count; ++i)
    cuLaunchKernelEx(&config, (CUfunction)kernel.GetHandle(), args, nullptr);
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(floor_loop, floor_loop);
"""
WRAPPER = r"""
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/cuda/cubin_launcher.h>
#include <tvm/ffi/function.h>
TVM_FFI_EMBED_CUBIN(image);
void run(tvm::ffi::TensorView a, tvm::ffi::TensorView b, tvm::ffi::TensorView c, int n) {
  static auto kernel = TVM_FFI_EMBED_CUBIN_GET_KERNEL(image, "empty");
  void *pa = a.data_ptr(), *pb = b.data_ptr(), *pc = c.data_ptr();
  void* args[] = {&pa, &pb, &pc, &n};
  auto stream = static_cast<tvm::ffi::cuda_api::StreamHandle>(
      TVMFFIEnvGetStream(a.device().device_type, a.device().device_id));
  TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(
      kernel.Launch(args, tvm::ffi::dim3(1), tvm::ffi::dim3(32), stream));
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, run);
"""
CALLS = 500
ROUNDS = 60


def peers() -> dict[str, tuple[Callable[[], None], int]]:
    """Return what to time: a callable and how many launches one call of it is."""
    import torch

    import tvmffi_cubin as tc

    major, minor = torch.cuda.get_device_capability()
    image = tc.nvrtc.nvrtc_compile(KERNEL, arch=f"sm_{major}{minor}")
    x = torch.zeros(16, device="cuda")
    found: dict[str, tuple[Callable[[], None], int]] = {}
    floor = tc.load_inline("bench_floor", FLOOR, embed_cubin={"image": image}).floor_loop
    found["C++ loop of cuLaunchKernelEx (floor)"] = (lambda: floor(x, CALLS), 1)
    shaped = {"empty": tc.Launch(grid=1, block=32)}
    ours = tc.load_inline("bench_shaped", KERNEL, functions=shaped).empty
    found["tvmffi_cubin, no wrapper"] = (lambda: ours(x, x, x, 1), CALLS)
    configured = tc.load_inline("bench_open", KERNEL).empty[1, 32]
    found["tvmffi_cubin, k[grid, block]"] = (lambda: configured(x, x, x, 1), CALLS)
    wrapped = tc.load_inline("bench_wrapper", WRAPPER, embed_cubin={"image": image}).run
    found["tvmffi_cubin, own wrapper"] = (lambda: wrapped(x, x, x, 1), CALLS)
    try:
        import tvm_ffi.cpp

        theirs = tvm_ffi.cpp.load_inline(
            "bench_theirs", cuda_sources=WRAPPER, embed_cubin={"image": image}
        ).run
        found["tvm_ffi, hand-written wrapper"] = (lambda: theirs(x, x, x, 1), CALLS)
    except Exception as error:
        print(f"left out: tvm_ffi's wrapper ({type(error).__name__})")
    try:
        import cupy

        raw = cupy.RawKernel(KERNEL, "empty")
        y = cupy.zeros(16, dtype=cupy.float32)
        n = cupy.int32(1)
        found["CuPy RawKernel"] = (lambda: raw((1,), (32,), (y, y, y, n)), CALLS)
    except ImportError:
        print("left out: CuPy is not installed")
    return found


def measure(found: dict[str, tuple[Callable[[], None], int]]) -> dict[str, float]:
    """Return the median of the rounds; the peers take turns, so that drift meets all alike."""
    import torch

    samples: dict[str, list[float]] = {name: [] for name in found}
    for _ in range(ROUNDS):
        for name, (call, repeat) in found.items():
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(repeat):
                call()
            samples[name].append((time.perf_counter() - start) / CALLS * 1e6)
    return {name: statistics.median(values) for name, values in samples.items()}


if __name__ == "__main__":
    print(json.dumps(measure(peers()), indent=1))
