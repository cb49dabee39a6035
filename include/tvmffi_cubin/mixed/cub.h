// CUB for host code that needs the sizes of its types; included before unit.h.
#pragma once

#include <cuda_fp16.h>
#include <cuda/std/version>

#include "host.h"

// Type names go to NVRTC as well, whose CUB has its own architecture in them.
#define CUB_DISABLE_NAMESPACE_MAGIC
#define CUB_IGNORE_NAMESPACE_MAGIC_ERROR

// CCCL declares these only for CUDA compilers.
namespace cuda::ptx {
uint32_t get_sreg_laneid(), get_sreg_lanemask_le(), get_sreg_lanemask_lt();
uint32_t get_sreg_lanemask_gt(), get_sreg_lanemask_ge();
}  // namespace cuda::ptx
namespace cuda::device {
template <int, typename T>
T warp_shuffle_idx(T, ...);
template <int, typename T>
T warp_shuffle_up(T, ...);
}  // namespace cuda::device
// Its argument may be a template parameter, which g++ before 14 rejects.
#undef _CCCL_PRAGMA_UNROLL
#define _CCCL_PRAGMA_UNROLL(n)

#include "../nvrtc/cub/cub.cuh"
