"""CUDA source of the tensor map tests: loads, stores and copies by TMA, one box or pixel block."""

from __future__ import annotations

_HEAD = r"""
#include <cuda.h>
#define MAP const __grid_constant__ CUtensorMap
typedef unsigned char byte;

__device__ unsigned place_of(const void* shared) {
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

// The first address of dynamic shared memory that every swizzle takes.
__device__ byte* tile() {
  extern __shared__ byte memory[];
  return memory + (1024 - place_of(memory) % 1024) % 1024;
}

__device__ void expect(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

// False after two seconds: what never arrives must not hang the test.
__device__ bool arrived(unsigned barrier) {
  const long long start = clock64();
  while (clock64() - start < 4000000000ll) {
    unsigned done = 0;
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; "
        "selp.u32 %0, 1, 0, p; }"
        : "=r"(done)
        : "r"(barrier)
        : "memory");
    if (done) return true;
  }
  return false;
}
"""

_LOAD = r"""
extern "C" __global__ void @NAME@(MAP x, byte* out, int bytes, @PARAMETERS@) {
  __shared__ alignas(8) unsigned long long barrier;
  byte* box = tile();
  if (threadIdx.x == 0) {
    expect(place_of(&barrier), bytes);
    asm volatile(
        "cp.async.bulk.tensor.@RANK@d.shared::cluster.global.@MODE@.mbarrier::complete_tx::bytes "
        "[%0], [%1, {@PLACES@}], [%2]@OFFSETS@;"
        ::"r"(place_of(box)), "l"(&x), "r"(place_of(&barrier)), @OPERANDS@
        : "memory");
  }
  __syncthreads();
  if (!arrived(place_of(&barrier))) return;
  for (int i = threadIdx.x; i < bytes; i += blockDim.x) out[i] = box[i];
}
"""

_COPY = r"""
extern "C" __global__ void copy(MAP x, MAP y, int rows, int columns, int bytes) {
  __shared__ alignas(8) unsigned long long barrier;
  byte* box = tile();
  const int column = blockIdx.x * columns, row = blockIdx.y * rows;
  if (threadIdx.x == 0) {
    expect(place_of(&barrier), bytes);
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4}], [%2];"
        ::"r"(place_of(box)), "l"(&x), "r"(place_of(&barrier)), "r"(column), "r"(row)
        : "memory");
    if (arrived(place_of(&barrier))) {
      asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group "
                   "[%0, {%2, %3}], [%1];"
                   ::"l"(&y), "r"(place_of(box)), "r"(column), "r"(row)
                   : "memory");
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
      asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
  }
}
"""


def _load(rank: int, offsets: int = 0) -> str:
    """Return a kernel that loads a box, or with offsets the pixels of an image."""
    words = {
        "NAME": f"pixels_{rank}" if offsets else f"load_{rank}",
        "MODE": "im2col" if offsets else "tile",
        "RANK": str(rank),
        "PARAMETERS": ", ".join(
            [f"int c{i}" for i in range(rank)] + [f"unsigned short o{i}" for i in range(offsets)]
        ),
        "PLACES": ", ".join(f"%{3 + i}" for i in range(rank)),
        "OFFSETS": f", {{%{3 + rank}, %{4 + rank}}}" if offsets else "",
        "OPERANDS": ", ".join(
            [f'"r"(c{i})' for i in range(rank)] + [f'"h"(o{i})' for i in range(offsets)]
        ),
    }
    text = _LOAD
    for word, value in words.items():
        text = text.replace(f"@{word}@", value)
    return text


SOURCE = "".join([_HEAD, *(_load(rank) for rank in range(1, 6)), _load(4, 2), _COPY])
"""``load_1`` to ``load_5``, ``pixels_4`` and ``copy``.

Coordinates, and the offsets of pixels, are innermost first, as PTX has them.
"""

WRAPPER = r"""
#include <tvm/ffi/container/tensor.h>
#include <tvmffi_cubin/tvmffi_cubin.h>
using namespace tvmffi_cubin;
EMBED_CUBIN(kernels);
void Copy(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  static auto kernel = EMBED_CUBIN_GET_KERNEL(kernels, "copy");
  const auto options = TensorMapOptions::Tiled({32, 32}).SetSwizzle(CU_TENSOR_MAP_SWIZZLE_128B);
  TensorMap from(x, options), to(y, options);
  int rows = 32, columns = 32, bytes = 4096;
  void* args[] = {&from, &to, &rows, &columns, &bytes};
  LaunchConfig config({static_cast<uint32_t>(x.size(1) / 32),
                       static_cast<uint32_t>(x.size(0) / 32)}, 32);
  config.SetDynamicSmemBytes(5120).SetStream(static_cast<CUstream>(
      TVMFFIEnvGetStream(x.device().device_type, x.device().device_id)));
  CheckDriver(kernel.Launch(args, config.SetDevice(x.device().device_id)));
}
"""
"""``Copy(x, y)``: a matrix in boxes of 32 x 32 floats, by maps that C++ makes."""
